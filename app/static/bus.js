// The way to the engine: asks for runs and stops them, puts what comes back into the store, repairs gaps.

const SILENCE = 20_000; // milliseconds without a message after which the page asks
const EMPTY = { id: "", have: 0, started: false };

/** @param {ReturnType<import("./store.js").createStore>} store @param {(text: string) => void} notify */
export function createBus(store, notify) {
  let gate = null; // the hidden component: trigger and server functions
  let current = { ...EMPTY };
  let repairing = null;
  const waiting = [];

  const bus = {
    /** Called by the hidden component once it is on the page. */
    attach(props, trigger, server, watch) {
      gate = { trigger, server };
      watch("value", () => bus.receive(String(props.value ?? "")));
      for (const go of waiting.splice(0)) go();
    },
    get busy() {
      return current.id !== "" && !current.ended;
    },
    /** Start a comparison; whatever ran before in this page is stopped first. */
    async start(config, { step = false } = {}) {
      await bus.stop();
      const id = [...crypto.getRandomValues(new Uint8Array(16))]
        .map((byte) => byte.toString(16).padStart(2, "0"))
        .join("");
      current = { ...EMPTY, id, step };
      const request = JSON.stringify({ ...config, id });
      const go = () => gate.trigger("run", { request });
      store.setStatus({ phase: "queued", recorded: null, step });
      gate ? go() : waiting.push(go);
      return id;
    },
    /** End the run after the round in progress. A run that still waits for its turn is taken from the queue. */
    async stop() {
      if (!bus.busy) return;
      const { id, started } = current;
      if (!started && gate) gate.trigger("halt", {});
      const known = await gate?.server.stop(id).catch(() => false);
      if ((!started || !known) && current.id === id) finish();
    },
    catalogue: (models) => gate?.server.catalogue(models),
    receive(text) {
      if (!text) return;
      let message;
      try {
        message = JSON.parse(text);
      } catch {
        return;
      }
      if (message.id && message.id !== current.id) return;
      if (message.notice) {
        notify(message.notice);
        return finish();
      }
      current.started = true;
      current.heard = Date.now();
      if (message.phase) store.setStatus({ phase: message.phase });
      if (message.lanes) store.begin(message.lanes, { phase: "running", step: current.step });
      if (message.methods) store.emit("methods", message.methods);
      if (message.ev || message.done) take(message);
    },
  };

  function take(message) {
    if (message.seq > current.have) return void repair();
    const fresh = (message.ev ?? []).slice(current.have - message.seq);
    current.have += fresh.length;
    const lanes = new Map();
    for (const [key, event] of fresh) lanes.has(key) ? lanes.get(key).push(event) : lanes.set(key, [event]);
    for (const [key, events] of lanes) store.push(key, events);
    if (message.done) finish();
  }

  /** A message was missed: ask for everything from the first missing event on. */
  async function repair() {
    if (repairing) return;
    repairing = gate.server.resync([current.id, current.have]);
    const message = JSON.parse((await repairing.catch(() => "null")) ?? "null");
    repairing = null;
    if (message && message.id === current.id) return take(message);
    finish();
    notify("The connection to the engine was lost; what arrived so far is kept.");
  }

  setInterval(() => {
    if (bus.busy && current.started && Date.now() - current.heard > SILENCE) (current.heard = Date.now()), repair();
  }, 5000);

  function finish() {
    current.ended = true;
    store.setStatus({ phase: store.lanes.length ? "done" : "empty" });
  }
  return bus;
}
