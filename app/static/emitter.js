// @ts-check
// Topics and who listens to them. Emission is synchronous; a listener that fails does not keep others from hearing.

/**
 * @template M topics and their payloads
 * @returns {import("./types/store.js").Emitter<M>}
 */
export function createEmitter() {
  /** @type {Map<keyof M, Set<(detail: any) => void>>} */
  const listeners = new Map();
  return {
    on(topic, hear) {
      const hearing = listeners.get(topic) ?? new Set();
      listeners.set(topic, hearing.add(hear));
      return () => {
        hearing.delete(hear);
      };
    },
    emit(topic, ...[detail]) {
      for (const hear of listeners.get(topic) ?? []) {
        try {
          hear(detail);
        } catch (error) {
          console.error(`a listener to ${String(topic)} failed`, error);
        }
      }
    },
  };
}
