import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import { createBus } from "../../app/static/bus.js";
import { createStore } from "../../app/static/store.js";
import { card, round, trace } from "./runs.js";

let listen; // what the bus does every five seconds
globalThis.setInterval = (go) => {
  listen = go;
  return 0;
};

const EVENTS = trace(
  "chain",
  [1, 0, 1].map((n) => round({ drafted: 1, accepted: n })),
).events;
let store;
let bus;
let sent;
let said;
let server;
const receive = (message) => bus.receive(JSON.stringify(message));

beforeEach(() => {
  store = createStore();
  said = [];
  sent = [];
  server = { stop: async () => true, resync: async () => "null" };
  bus = createBus(store, (text) => said.push(text));
});
const attach = () =>
  bus.attach(
    {},
    (event, data) => sent.push([event, data]),
    server,
    () => {},
  );
/** Start a run; gives its id. */
async function started() {
  attach();
  const id = await bus.start({ prompt: "x" });
  receive({ id, seq: 0, lanes: [{ key: "chain", card: card("chain") }] });
  return id;
}
const pairs = (events) => events.map((event) => ["chain", event]);

test("a run that was asked for before the engine's entry was there starts with it", async () => {
  const id = await bus.start({ prompt: "x" });
  assert.deepEqual(sent, []);
  assert.equal(store.status.phase, "queued");
  attach();
  const { visitor, ...request } = JSON.parse(sent[0][1].request);
  assert.deepEqual(request, { prompt: "x", id });
  assert.match(visitor, /^[0-9a-f]{32}$/);
  assert.match(id, /^[0-9a-f]{32}$/);
});

test("what the engine's entry holds is heard", async () => {
  const props = {};
  let changed;
  const watch = (name, hear) => {
    if (name === "value") changed = hear;
  };
  bus.attach(props, (event, data) => sent.push([event, data]), server, watch);
  const id = await bus.start({ prompt: "x" });
  changed();
  const heard = [];
  bus.on("methods", (methods) => heard.push(methods));
  const line = { place: 2, seconds: null };
  const tell = (message) => {
    props.value = JSON.stringify({ id, seq: 0, ...message });
    changed();
    return [store.status.phase, store.status.line];
  };
  assert.deepEqual(tell({ phase: "queued", line }), ["queued", line]);
  assert.deepEqual(tell({ phase: "loading" }), ["loading", null]);
  tell({ lanes: [{ key: "chain", card: card("chain") }], methods: [card("chain")] });
  tell({ ev: pairs(EVENTS.slice(0, 2)) });
  assert.deepEqual([store.lanes, store.runs.get("chain").rounds.length], [["chain"], 1]);
  assert.deepEqual(heard, [[card("chain")]]);
});

test("events go to their lanes in order; what comes twice is taken once", async () => {
  const id = await started();
  receive({ id, seq: 0, ev: pairs(EVENTS.slice(0, 2)) });
  receive({ id, seq: 1, ev: pairs(EVENTS.slice(1, 4)) });
  assert.deepEqual(
    store.runs.get("chain").rounds.map((one) => one.index),
    [0, 1, 2],
  );
  receive({ id, seq: 4, ev: pairs(EVENTS.slice(4)), done: true });
  assert.equal(store.status.phase, "done");
  assert.equal(bus.busy, false);
});

test("messages of another run are not this run's", async () => {
  await started();
  receive({ id: "f".repeat(32), seq: 0, ev: pairs(EVENTS) });
  assert.equal(store.runs.get("chain").rounds.length, 0);
  assert.equal(bus.busy, true);
});

test("a gap is repaired from the first event that is missing", async () => {
  const id = await started();
  const asked = [];
  server.resync = async (given) => {
    asked.push(given);
    return JSON.stringify({ id, seq: 2, ev: pairs(EVENTS.slice(2)), done: true });
  };
  receive({ id, seq: 0, ev: pairs(EVENTS.slice(0, 2)) });
  receive({ id, seq: 3, ev: pairs(EVENTS.slice(3)) });
  receive({ id, seq: 3, ev: pairs(EVENTS.slice(3)) });
  await new Promise((done) => setTimeout(done));
  assert.deepEqual(asked, [[id, 2]]);
  assert.equal(store.runs.get("chain").rounds.length, 3);
  assert.equal(store.status.phase, "done");
});

test("each gap is repaired, and a run that is heard of is not asked for", async () => {
  mock.timers.enable({ apis: ["Date"] });
  try {
    const id = await started();
    const asked = [];
    server.resync = async ([, have]) => {
      asked.push(have);
      return JSON.stringify({ id, seq: have, ev: pairs(EVENTS.slice(have, have + 2)) });
    };
    const settled = () => new Promise((done) => setImmediate(done));
    receive({ id, seq: 1, ev: [] });
    await settled();
    receive({ id, seq: 3, ev: [] });
    await settled();
    assert.deepEqual(asked, [0, 2]);
    mock.timers.tick(15_000);
    receive({ id, seq: 4, ev: [] });
    mock.timers.tick(15_000);
    listen();
    assert.equal(asked.length, 2);
    mock.timers.tick(6000);
    listen();
    await settled();
    mock.timers.tick(5000);
    listen();
    await settled();
    assert.deepEqual([asked, said, bus.busy], [[0, 2, 4], [], true], "once in 20 seconds of silence");
  } finally {
    mock.timers.reset();
  }
});

test("a gap that nobody can fill ends the run and says so", async () => {
  const id = await started();
  receive({ id, seq: 9, ev: [] });
  await new Promise((done) => setTimeout(done));
  assert.match(said[0], /connection to the engine was lost/);
  assert.equal(bus.busy, false);
});

test("a notice ends the run; text that is no message is passed over", async () => {
  const id = await started();
  bus.receive("{");
  bus.receive("");
  assert.equal(bus.busy, true);
  receive({ id, seq: -1, notice: "The prompt is too long.", done: true });
  assert.deepEqual(said, ["The prompt is too long."]);
  assert.equal(bus.busy, false);
});

test("a run that waits for its turn is taken from the queue; one that runs is asked to end", async () => {
  attach();
  server.stop = async () => {
    sent.push(["stop"]);
    return false;
  };
  await bus.start({ prompt: "x" });
  await bus.stop();
  assert.deepEqual(
    sent.map(([event]) => event),
    ["run", "stop", "halt"], // the server's answer first: a run that was just sent has no place in the queue yet
  );
  assert.equal(bus.busy, false);
  server.stop = async () => true;
  await started();
  sent.splice(0);
  await bus.stop();
  assert.deepEqual(sent, []);
  assert.equal(bus.busy, true); // its last message ends it
});

test("a run that waits is stopped without a word where the server does not answer", async () => {
  attach();
  server.stop = async () => Promise.reject(new TypeError("Failed to fetch"));
  await bus.start({ prompt: "x" });
  await bus.stop();
  assert.deepEqual([bus.busy, said], [false, []]);
});

test("a run that the server knows and the page has heard nothing of ends by itself", async () => {
  attach();
  await bus.start({ prompt: "x" });
  await bus.stop();
  assert.deepEqual(
    sent.map(([event]) => event),
    ["run"],
  );
  assert.equal(bus.busy, false);
});

test("a run that begins while it is asked to end is asked again", async () => {
  attach();
  const id = await bus.start({ prompt: "x" });
  const asked = [];
  server.stop = async (run) => {
    receive({ id, seq: 0, phase: "queued" });
    return asked.push(run) > 1;
  };
  await bus.stop();
  assert.deepEqual(asked, [id, id]);
  assert.equal(sent.length, 1);
  assert.equal(bus.busy, true);
});

test("a recording stays one, with what its lanes say, until the lanes of a run replace it", async () => {
  const compared = { verdicts: {} };
  store.load([trace("chain", [round()])], { recorded: "apples", compared });
  attach();
  const heard = [];
  bus.on("begun", () => heard.push(store.lanes));
  let id = await bus.start({ prompt: "x" });
  assert.deepEqual([store.status.phase, store.status.recorded], ["queued", "apples"]);
  receive({ id, seq: -1, notice: "It cannot run.", done: true });
  assert.deepEqual([store.status.phase, store.status.recorded], ["done", "apples"]);
  assert.equal(store.status.compared, compared);
  id = await bus.start({ prompt: "x" });
  receive({ id, seq: 0, lanes: [{ key: "plain", card: card("plain") }] });
  assert.equal(store.status.recorded, null);
  assert.deepEqual(heard, [["plain"]]);
});

test("what a run still sends when other runs took the stage goes nowhere", async () => {
  const id = await started();
  receive({ id, seq: 0, ev: pairs(EVENTS.slice(0, 2)) });
  await bus.stop();
  store.load([trace("chain", [round()])], { recorded: "case", compared: { verdicts: [] } });
  receive({ id, seq: 2, ev: pairs(EVENTS.slice(2)) });
  receive({ id, seq: EVENTS.length, done: true, compared: { verdicts: ["of the run"] } });
  assert.equal(store.runs.get("chain").rounds.length, 1);
  assert.deepEqual(store.status.compared, { verdicts: [] });
  assert.equal(bus.busy, false);
});

test("a run whose lanes come after other runs took the stage does not begin", async () => {
  attach();
  const id = await bus.start({ prompt: "x" });
  receive({ id, seq: 0, phase: "loading" });
  store.load([trace("plain", [round()])]);
  receive({ id, seq: 0, lanes: [{ key: "chain", card: card("chain") }] });
  assert.deepEqual(store.lanes, ["plain"]);
});

test("a stopped run that stays on the stage gets its end and what is said of it", async () => {
  const id = await started();
  await bus.stop();
  receive({ id, seq: 0, ev: pairs(EVENTS), done: true, compared: { verdicts: ["of the run"] } });
  assert.equal(store.runs.get("chain").rounds.length, 3);
  assert.deepEqual(store.status.compared, { verdicts: ["of the run"] });
});

test("of two runs asked for while one goes the last is sent", async () => {
  await started();
  sent.length = 0;
  const ids = await Promise.all([bus.start({ prompt: "one" }), bus.start({ prompt: "two" })]);
  assert.equal(ids[0], "");
  assert.deepEqual(
    sent.filter(([event]) => event === "run").map(([, data]) => JSON.parse(data.request).prompt),
    ["two"],
  );
});

test("a run that waits for the one before to end is not sent once it was stopped too", async () => {
  await started();
  sent.length = 0;
  const answers = [];
  server.stop = () => new Promise((answer) => answers.push(answer));
  const asked = [bus.start({ prompt: "one" }), bus.stop()];
  for (const answer of answers) answer(true);
  assert.equal((await Promise.all(asked))[0], "");
  assert.deepEqual(sent, []);
});

test("a run that begins while the next is asked for is told with its own settings", async () => {
  attach();
  const heard = [];
  bus.on("begun", ({ prompt }) => heard.push(prompt));
  const first = await bus.start({ prompt: "one" });
  server.stop = async (id) => {
    if (!heard.length) receive({ id: first, seq: 0, lanes: [{ key: "chain", card: card("chain") }] });
    return id === first;
  };
  const second = await bus.start({ prompt: "two" });
  receive({ id: second, seq: -1, notice: "It cannot run.", done: true });
  assert.deepEqual(heard, ["one"]);
});

test("a run that the server has forgotten and the page has left ends without a word about the stage", async () => {
  await started();
  server.stop = async () => false;
  store.load([trace("plain", [round()])], { compared: { verdicts: [] } });
  await bus.stop();
  assert.deepEqual(store.status.compared, { verdicts: [] });
});

test("what was missed is not taken up once other runs took the stage", async () => {
  const id = await started();
  server.resync = async () => {
    store.load([trace("chain", [round()])]);
    return JSON.stringify({ id, seq: 0, ev: pairs(EVENTS), done: true, compared: { verdicts: ["of the run"] } });
  };
  receive({ id, seq: 2, ev: pairs(EVENTS.slice(2)) });
  await new Promise((done) => setImmediate(done));
  assert.equal(store.runs.get("chain").rounds.length, 1);
  assert.equal(store.status.compared, null);
  assert.deepEqual(said, []);
});

test("what was missed of a run, asked for and not given, says nothing of the run after it", async () => {
  const id = await started();
  const answers = [];
  server.resync = (given) => new Promise((answer) => answers.push([given, answer]));
  receive({ id, seq: 2, ev: pairs(EVENTS.slice(2)) });
  const next = await bus.start({ prompt: "y" });
  receive({ id: next, seq: 0, lanes: [{ key: "chain", card: card("chain") }] });
  receive({ id: next, seq: 1, ev: pairs(EVENTS.slice(1, 2)) });
  answers[0][1]("null");
  await new Promise((done) => setImmediate(done));
  assert.deepEqual([bus.busy, store.status.phase, said], [true, "running", []]);
  assert.deepEqual(answers[1][0], [next, 0], "its own gap is asked for beside");
  receive({ id: next, seq: 2, ev: pairs(EVENTS.slice(2)) });
  assert.equal(answers.length, 2, "once");
  answers[1][1](JSON.stringify({ id: next, seq: 0, ev: pairs(EVENTS), done: true }));
  await new Promise((done) => setImmediate(done));
  assert.equal(store.runs.get("chain").rounds.length, 3);
});

test("a run that ended while the server was asked for more of it was not lost", async () => {
  mock.timers.enable({ apis: ["Date"] });
  try {
    const id = await started();
    let answer;
    server.resync = () => new Promise((given) => (answer = given));
    mock.timers.tick(21_000);
    listen();
    receive({ id, seq: 0, ev: pairs(EVENTS), done: true, compared: { verdicts: ["of the run"] } });
    answer("null");
    await new Promise((done) => setImmediate(done));
    assert.deepEqual([said, store.status.compared], [[], { verdicts: ["of the run"] }]);
  } finally {
    mock.timers.reset();
  }
});

test("events of a run whose lanes were missed do not go into the runs that are shown", async () => {
  store.load([trace("chain", [round()])], { recorded: "apples" });
  attach();
  const id = await bus.start({ prompt: "x" });
  server.resync = async () => JSON.stringify({ id, seq: 0, ev: pairs(EVENTS), done: true });
  receive({ id, seq: 0, phase: "queued" });
  receive({ id, seq: 2, ev: pairs(EVENTS.slice(2, 3)) });
  await new Promise((done) => setImmediate(done));
  receive({ id, seq: 0, ev: pairs(EVENTS.slice(0, 3)) });
  assert.equal(store.runs.get("chain").rounds.length, 1);
  assert.deepEqual([bus.busy, store.status.phase, store.status.recorded], [false, "done", "apples"]);
  assert.equal(said.length, 1);
  assert.match(said[0], /connection to the engine was lost/);
});

test("a server that is gone ends the run on the page, and that is said", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    await started();
    server.stop = () => new Promise(() => {}); // it never answers
    const stopping = bus.stop();
    await Promise.resolve();
    mock.timers.tick(60_000);
    await stopping;
    assert.deepEqual([bus.busy, store.status.phase, said.length], [false, "done", 1]);
    assert.match(said[0], /connection to the engine was lost/);
  } finally {
    mock.timers.reset();
  }
});

test("a run that is asked for twice before it is heard of is sent once", async () => {
  attach();
  const ids = await Promise.all([bus.start({ prompt: "x" }), bus.start({ prompt: "x" })]);
  const later = await bus.start({ prompt: "x" });
  const runs = sent.filter(([event]) => event === "run");
  assert.equal(runs.length, 1);
  assert.deepEqual(ids, ["", later]);
  assert.equal(JSON.parse(runs[0][1].request).id, later);
  await bus.start({ prompt: "y" });
  assert.equal(sent.filter(([event]) => event === "run").length, 2);
});

test("a run that nothing is heard of is given up, and that is said", async () => {
  mock.timers.enable({ apis: ["Date"] });
  try {
    attach();
    await bus.start({ prompt: "x" });
    mock.timers.tick(19_000);
    listen();
    await new Promise((done) => setImmediate(done));
    assert.equal(bus.busy, true);
    mock.timers.tick(2000);
    listen();
    await new Promise((done) => setImmediate(done));
    assert.deepEqual([bus.busy, store.status.phase, said.length], [false, "empty", 1]);
    assert.match(said[0], /not heard of for 20 seconds/);
    receive({ id: JSON.parse(sent[0][1].request).id, seq: 0, lanes: [{ key: "chain", card: card("chain") }] });
    assert.deepEqual([bus.busy, store.status.phase], [true, "running"], "it comes after all, and can be stopped");
  } finally {
    mock.timers.reset();
  }
});

test("a run that begins while it is given up goes on to its end, and nothing is said", async () => {
  mock.timers.enable({ apis: ["Date"] });
  try {
    attach();
    const id = await bus.start({ prompt: "x" });
    server.stop = async () => {
      receive({ id, seq: 0, phase: "queued" });
      return true;
    };
    mock.timers.tick(21_000);
    listen();
    assert.deepEqual(said, []);
    await new Promise((done) => setImmediate(done));
    assert.deepEqual([bus.busy, said], [true, []]);
  } finally {
    mock.timers.reset();
  }
});

test("a run that is asked for once more, but to be stepped through, is another", async () => {
  attach();
  await bus.start({ prompt: "x" });
  assert.equal(store.status.step, false);
  await bus.start({ prompt: "x" }, { step: true });
  assert.equal(sent.filter(([event]) => event === "run").length, 2);
  assert.equal(store.status.step, true);
});

test("only a run that was sent and goes on can be given up", async () => {
  mock.timers.enable({ apis: ["Date"] });
  try {
    const asked = [];
    server.stop = async (id) => asked.push(id) > 0;
    mock.timers.tick(60_000);
    listen();
    await bus.start({ prompt: "x" });
    mock.timers.tick(60_000);
    listen();
    await new Promise((done) => setImmediate(done));
    assert.deepEqual([asked, said, bus.busy], [[], [], true], "the engine's entry is not there yet");
  } finally {
    mock.timers.reset();
  }
});
