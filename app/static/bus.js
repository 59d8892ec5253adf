// @ts-check
// The way to the engine: asks for runs and stops them, puts what comes back into the store, repairs gaps.

import { createEmitter } from "./emitter.js";
import { visitor } from "./visitor.js";

/**
 * @typedef {import("./types/lab.js").Bus} Bus
 * @typedef {import("./types/wire.js").RunMessage} RunMessage
 * @typedef {import("./types/trace.js").Event} Event
 * @typedef {{trigger: Parameters<Bus["attach"]>[1], server: Parameters<Bus["attach"]>[2]}} Gate
 * @typedef {import("./types/lab.js").Config} Config
 */

const SILENCE = 20_000; // milliseconds without a message after which the page asks
const PATIENCE = 5_000; // milliseconds for an answer, which a server that is gone never gives
const LOST = "The connection to the engine was lost; what arrived so far is kept.";
const UNHEARD = "The server was not heard of for 20 seconds, and this run was given up. Press Run to try again.";

/** The answer; or else `otherwise`, where there is none or it does not come in time.
 * @template T, E @param {Promise<T> | undefined} answer @param {E} otherwise @returns {Promise<T | E>} */
const soon = (answer, otherwise) =>
  new Promise((resolve) => {
    const late = setTimeout(resolve, PATIENCE, otherwise);
    Promise.resolve(answer ?? otherwise)
      .catch(() => otherwise)
      .then((found) => {
        clearTimeout(late);
        resolve(found);
      });
  });

/** The run that this page asked for last, with its settings, also as text; `stage` is what the page shows, until it
 * shows something else. @param {string} id @param {boolean} step @param {unknown} stage
 * @param {Config | null} [config] @param {string} [what] */
const asked = (id, step, stage, config = null, what = "") => ({
  id,
  step,
  stage,
  config: structuredClone(config),
  what,
  have: 0,
  heard: Date.now(),
  started: false,
  begun: false,
  ended: id === "",
});

/**
 * @param {import("./types/store.js").Store} store
 * @param {(text: string) => void} notify
 * @returns {Bus}
 */
export function createBus(store, notify) {
  /** @type {import("./types/store.js").Emitter<import("./types/lab.js").BusTopics>} */
  const { on, emit } = createEmitter();
  /** @type {Gate | null} the hidden component: trigger and server functions */
  let gate = null;
  let current = asked("", false, null);
  let starts = 0;
  let repairing = ""; // the run whose gap is being filled
  /** @type {((gate: Gate) => void)[]} */
  const waiting = [];

  /** @type {Bus} */
  const bus = {
    on,
    attach(props, trigger, server, watch) {
      gate = { trigger, server };
      watch("value", () => bus.receive(String(props.value ?? "")));
      for (const go of waiting.splice(0)) go(gate);
    },
    get busy() {
      return !current.ended;
    },
    async start(config, { step = false } = {}) {
      const what = JSON.stringify(config);
      const { id: before, started } = current;
      if (bus.busy && !started && current.what === what && current.step === step && !left()) return before;
      const mine = ++starts;
      await halt();
      if (mine !== starts) return ""; // the later of two is the one that is wanted
      const id = freshId();
      current = asked(id, step, store.runs, config, what);
      const request = JSON.stringify({ ...config, id, visitor: visitor() });
      /** @param {Gate} open */
      const go = (open) => open.trigger("run", { request });
      store.setStatus({ phase: "queued", line: null, step }); // what is shown stays until its lanes are replaced
      if (gate) go(gate);
      else waiting.push(go);
      return id;
    },
    stop() {
      starts++; // a run that waits for the one before to end is not asked for either
      return halt();
    },
    receive(text) {
      const message = parsed(text);
      if (!message || (message.id && message.id !== current.id) || left()) return;
      if (message.notice) {
        notify(message.notice);
        return finish();
      }
      current.started = true;
      current.heard = Date.now();
      if (message.phase) store.setStatus({ phase: message.phase, line: message.line ?? null });
      if (message.lanes) {
        store.begin(message.lanes, { phase: "running", step: current.step });
        current.stage = store.runs;
        current.begun = true;
        current.ended = false; // one that was given up may come after all
        if (current.config) emit("begun", current.config);
      }
      if (message.methods) emit("methods", message.methods);
      if (message.ev || message.done) take(message);
    },
  };

  /** End the run that was sent. One that the server has not begun is taken from the queue. @returns {Promise<void>} */
  async function halt() {
    if (!bus.busy) return;
    const { id, started } = current;
    const known = await soon(gate?.server.stop(id), null);
    if ((started && known) || current.id !== id || left()) return;
    if (!started && current.started) return halt(); // it began meanwhile
    // what the server does not know waits in the queue; only now, as nothing can be taken out before it has its place
    if (!started && !known) gate?.trigger("halt", {});
    if (started && known === null) lost();
    else finish();
  }

  /** Whether other runs took the stage: what this one still sends has no place any more. */
  function left() {
    if (!current.id || store.runs === current.stage) return false;
    current.ended = true;
    return true;
  }

  /** @param {RunMessage} message */
  function take(message) {
    if (message.seq > current.have) return void repair();
    if (message.ev?.length && !current.begun) return lost(); // their lanes were missed, which nobody tells again
    const fresh = (message.ev ?? []).slice(current.have - message.seq);
    current.have += fresh.length;
    /** @type {Map<string, Event[]>} */
    const lanes = new Map();
    for (const [key, event] of fresh) {
      const events = lanes.get(key);
      if (events) events.push(event);
      else lanes.set(key, [event]);
    }
    for (const [key, events] of lanes) store.push(key, events);
    if (message.done) finish(message.compared);
  }

  /** A message was missed: ask for everything from the first missing event on. */
  async function repair() {
    const { id, have } = current;
    if (repairing === id || !gate) return;
    repairing = id;
    const text = await soon(gate.server.resync([id, have]), "");
    const message = typeof text === "string" ? parsed(text) : null;
    if (current.id !== id) return; // another was sent meanwhile
    repairing = "";
    if (left()) return;
    if (message && message.id === id) return take(message);
    lost();
  }

  /** Not even that it waits was said: on a slow link Gradio may close what would tell of a run with the one before. */
  async function giveUp() {
    const { id } = current;
    await halt();
    if (current.id === id && !current.started && !left()) notify(UNHEARD);
  }

  setInterval(() => {
    if (!bus.busy || !gate || Date.now() - current.heard <= SILENCE) return;
    current.heard = Date.now();
    if (current.started) repair();
    else giveUp();
  }, 5000);

  function lost() {
    if (current.ended) return;
    finish();
    notify(LOST);
  }

  /**
   * What the lanes say about each other comes with the last message (engine/analysis/compared.py).
   * @param {import("./types/analysis.js").Compared | null=} compared
   */
  function finish(compared = null) {
    current.ended = true;
    const phase = store.lanes.length ? "done" : "empty";
    // a run that never began leaves what is shown alone
    store.setStatus(current.begun ? { phase, compared } : { phase });
  }
  return bus;
}

/** A message, or null where the text holds none. @param {string | null} text @returns {RunMessage | null} */
function parsed(text) {
  try {
    return JSON.parse(text || "null");
  } catch {
    return null;
  }
}

/** 128 random bits in hexadecimal digits. */
export function freshId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
