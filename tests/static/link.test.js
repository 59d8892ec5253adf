import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { createEmitter } from "../../app/static/emitter.js";
import "../../app/static/filterkinds.js";
import { makeFilter } from "../../app/static/filters.js";
import { createLink } from "../../app/static/link.js";
import { noTab, placeOf, turned } from "../../app/static/rooms/address.js";
import { createStore } from "../../app/static/store.js";
import { card, round, trace } from "./runs.js";

const CONFIG = {
  preset: "",
  models: "tiny",
  prompt: "a b",
  lanes: [{ method: "chain", knobs: { gamma: 3 } }],
  max_new_tokens: 128,
  temperature: 0,
  top_p: 1,
  top_k: 0,
  seed: 0,
  chat: false,
};
const LANES = [trace("chain", [round({ drafted: 2, accepted: 2 }), round({ drafted: 2, accepted: 1 })])];

const replaced = []; // addresses that the link wrote into the address bar
globalThis.window = globalThis;
globalThis.parent = globalThis;
globalThis.history = { replaceState: (_state, _title, url) => replaced.push(url) };
beforeEach(() => {
  globalThis.location = new URL("http://127.0.0.1/?");
});
/** A store, the link of it and a session, and what the visitor is told. */
function made() {
  const store = createStore();
  const told = [];
  const session = {
    ...createEmitter(),
    config: { ...CONFIG, seed: 7 },
    ran: CONFIG,
    catalogue: { methods: [card("chain")], models: ["tiny"] },
  };
  return { store, session, told, link: createLink(store, session, (text) => told.push(text)) };
}
/** What another browser shows that opens the address. */
function reopened(url) {
  globalThis.location = new URL(url);
  const { store, link } = made();
  const { trace: name, config, view } = link.read();
  store.load(LANES);
  link.restore(view);
  return { store, name, config };
}

test("a room that the page does not have is told once", () => {
  globalThis.location = new URL("http://127.0.0.1/?room=many");
  const { told, link } = made();
  link.restore(link.read().view);
  link.read();
  assert.deepEqual(told, [
    'This page has no room "many": a link\'s room is one of compare, runs, trajectories, judge, papers, learn.',
  ]);
  for (const room of ["?room=runs", "?"]) {
    globalThis.location = new URL(`http://127.0.0.1/${room}`);
    const one = made();
    one.link.read();
    assert.deepEqual(one.told, []);
  }
});

test("a view, an order or a place of the details that the page does not have is told once", () => {
  const asked = (/** @type {string} */ query) => {
    globalThis.location = new URL(`http://127.0.0.1/?${query}`);
    const { told, link } = made();
    link.restore(link.read().view);
    link.read();
    return told;
  };
  assert.deepEqual(asked("trace=first_look&v=nope&sort=x"), [
    'There is no "nope" here: a link\'s v is one of text, score, trees, shares.',
  ]);
  assert.deepEqual(asked("v=score&sort=fast"), [
    'There is no "fast" here: a link\'s sort is one of given, calls, tau, speed, agreement, name.',
  ]);
  assert.deepEqual(asked(`dock=${"y".repeat(99)}`), [
    `There is no "${"y".repeat(40)}" here: a link's dock is one of auto, right, bottom, hidden.`,
  ]);
  for (const well of ["v=text&sort=tau&dock=hidden", "dock=auto", "v="]) assert.deepEqual(asked(well), []);
});

test("a place that no run has is told, and one that is still to come is waited for", () => {
  const asked = (/** @type {string} */ at, begun = false) => {
    globalThis.location = new URL(`http://127.0.0.1/?at=${at}`);
    const { told, link, store } = made();
    if (begun) store.begin(LANES);
    else store.load(LANES);
    link.restore(link.read().view);
    return { told, store };
  };
  for (const well of ["chain~1~~", "chain~~2~", "chain", ""]) assert.deepEqual(asked(well).told, [], well);
  for (const at of ["nope~1~~", "nope", "12"])
    assert.deepEqual(asked(at).told, [`There is no "${at.split("~")[0]}" here: a link's lane in at is one of chain.`]);
  const beyond = ['"chain" ends before the place that this link\'s at asks for.'];
  for (const at of ["chain~9~~", "chain~~99~"]) {
    assert.deepEqual(asked(at).told, beyond);
    const { told, store } = asked(at, true);
    assert.deepEqual(told, [], "it may come");
    store.push("chain", LANES[0].events);
    assert.deepEqual([told, store.cursor], [beyond, null]);
  }
  const { told, store } = asked("chain~~2~", true);
  store.push("chain", LANES[0].events);
  assert.deepEqual([told, store.cursor?.round, store.cursor?.pos], [[], 0, 2]);
});

test("a link restores cursor, time, filters and options", () => {
  const { store, link } = made();
  store.load(LANES);
  store.setCursor({ run: "chain", round: 1, node: 1 });
  store.setTime({ mode: "clock", at: 12.4 });
  store.setFilter("sign", makeFilter({ kind: "sign", sign: "rejected" }));
  store.setFilter("brush", makeFilter({ kind: "range", range: [1, 4] }));
  store.setOption("ghosts", true);
  store.setOption("distribution", "raw");
  store.setOption("order", "draft");
  store.setOption("stage", "score");
  store.setOption("zoom", "18~40.5");
  const again = reopened(link.url());
  assert.deepEqual(again.store.cursor, store.cursor);
  assert.deepEqual([again.store.time.mode, again.store.time.at], ["clock", 12.4]);
  assert.deepEqual([...again.store.filters.keys()], ["sign", "brush"]);
  assert.equal(again.store.filters.get("sign").label, "rejected");
  assert.deepEqual(again.store.options, store.options);
  assert.deepEqual(again.config, CONFIG);
  assert.equal(again.name, null);
});

test("the open tab of a room is in its link and comes back; an old link opens the first", () => {
  const { store, link } = made();
  store.load(LANES);
  const shown = (/** @type {string} */ room, name, value) => {
    store.setOption("room", room);
    store.setOption(name, value);
    return placeOf(new URL(link.url()).searchParams)[name];
  };
  assert.equal(shown("judge", "judge", "curves"), "curves");
  assert.equal(shown("judge", "mismatch", "functions~functions 3~14~5"), "functions~functions 3~14~5");
  assert.equal(shown("runs", "pool", "arithmetic~Tree (a~b)"), "arithmetic~Tree (a~b)");
  assert.equal(shown("trajectories", "trajectories", "trees"), "trees");
  assert.equal(shown("trajectories", "tree", "heuristic"), "heuristic");
  assert.doesNotMatch(link.url(), /method=/);
  store.setOption("trajectories", "trajectories");
  assert.equal(shown("trajectories", "method", "pld"), "pld");
  assert.doesNotMatch(link.url(), /tree=/, "what is chosen is in the link where it is seen");
  assert.equal(shown("judge", "by", "-judge score"), "", "there is no table on show");
  store.setOption("judge", "table");
  assert.equal(shown("judge", "by", "-judge score"), "-judge score");
  assert.equal(shown("judge", "only", "label=important&token=%C3%BC+"), "label=important&token=%C3%BC+");
  assert.equal(shown("judge", "set", "functions"), "functions");
  store.setOption("judge", "curves");
  assert.doesNotMatch(link.url(), /only=|by=/);
  assert.equal(shown("compare", "figure", "entropy"), "entropy");
  assert.doesNotMatch(
    link.url(),
    /judge=|mismatch=|pool=|trajectories=|tree=|method=|set=|only=|by=/,
    "each only in its own room",
  );
  store.setOption("figure", "position");
  assert.doesNotMatch(link.url(), /figure=/, "it is the first");
  store.setOption("figure", "entropy");
  store.setOption("room", "judge");
  assert.doesNotMatch(link.url(), /figure=/);
  assert.deepEqual(placeOf(new URLSearchParams("room=judge")), {
    tab: "lessons",
    name: "",
    beside: "",
    judge: "mismatches",
    figure: "position",
    pool: "",
    mismatch: "",
    trajectories: "trajectories",
    method: "",
    tree: "",
    set: "",
    only: "",
    by: "",
  });
  const odd = placeOf(new URLSearchParams({ judge: "<b>", figure: "x".repeat(99), pool: "y".repeat(999) }));
  assert.deepEqual([odd.judge, odd.figure, odd.pool], ["mismatches", "position", "y".repeat(160)]);
  assert.equal(noTab("judge", "table", ["mismatches", "table"]), "");
  assert.equal(
    noTab("judge", "tables", ["mismatches", "table"]),
    'There is no "tables" here: a link\'s judge is one of mismatches, table.',
  );
  const judge = { ...store.options, room: "judge" };
  assert.equal(turned(placeOf(new URLSearchParams("room=judge")), judge), true);
  assert.equal(turned({ ...judge }, judge), false);
  const trees = { ...judge, room: "trajectories", trajectories: "trees" };
  assert.equal(turned({ ...trees, trajectories: "trajectories" }, trees), true);
  const page = { ...judge, room: "learn", tab: "methods", name: "sd" };
  assert.equal(turned({ ...page }, page), false);
  for (const was of [{ tab: "lessons" }, { name: "ar" }]) assert.equal(turned({ ...page, ...was }, page), true);
});

test("the link of a recording names it and asks for no run", () => {
  const { store, link } = made();
  store.load(LANES, { recorded: "apples" });
  const again = reopened(link.url());
  assert.equal(again.name, "apples");
  assert.equal(again.config, null);
  assert.equal(again.store.time.at, Infinity);
});

test("settings that have not run are in no link; where nothing has run, there is nothing else to link to", () => {
  const { store, link } = made();
  assert.match(link.url(), /seed=7/);
  store.load(LANES);
  assert.doesNotMatch(link.url(), /seed=7/);
});

test("live on the clock is live again", () => {
  const { store, link } = made();
  store.load(LANES);
  store.setTime({ mode: "clock" });
  const again = reopened(link.url());
  assert.deepEqual([again.store.time.mode, again.store.time.at], ["clock", Infinity]);
});

test("a cursor of a run that is still to come is set as soon as its round is there", () => {
  globalThis.location = new URL("http://127.0.0.1/?at=chain~1~~1");
  const { store, link } = made();
  store.begin(LANES);
  link.restore(link.read().view);
  store.push("chain", LANES[0].events.slice(0, 2));
  assert.equal(store.cursor, null);
  store.push("chain", LANES[0].events.slice(2));
  assert.deepEqual(store.cursor, { run: "chain", round: 1, pos: 4, node: 1 });
  store.clear();
  store.push("chain", LANES[0].events.slice(2, 3));
  assert.equal(store.cursor, null, "once");
});

test("what is damaged or unknown in an address is left out", () => {
  globalThis.location = new URL(
    "http://127.0.0.1/?at=chain~x&view=days~3&f={&f={%22kind%22:%22colour%22}&show=all&distribution=own",
  );
  const { store, link } = made();
  store.load(LANES);
  const before = structuredClone(store.options);
  link.restore(link.read().view);
  assert.deepEqual([store.cursor, store.filters.size, store.time.mode], [null, 0, "calls"]);
  assert.deepEqual(store.options, before);
});

test("the address follows what is shown, once for many changes, but not while it plays", async () => {
  const { store, link } = made();
  store.load(LANES);
  link.restore(link.read().view);
  await new Promise((done) => setTimeout(done, 200));
  replaced.splice(0);
  for (const pos of [0, 1, 2]) store.setCursor({ run: "chain", pos });
  await new Promise((done) => setTimeout(done, 200));
  assert.equal(replaced.length, 1);
  assert.match(replaced[0], /at=chain%7E0%7E2/);
  globalThis.location = new URL(`${replaced[0]}#part`);
  assert.equal(link.url(), replaced[0], "what the address named of a page goes");
  globalThis.location = new URL(replaced[0]);
  link.update();
  await new Promise((done) => setTimeout(done, 200));
  assert.equal(replaced.length, 1, "nothing new");
  store.setFilter("x".repeat(9000), makeFilter({ kind: "sign", sign: "rejected" }));
  await new Promise((done) => setTimeout(done, 200));
  assert.equal(replaced.length, 1, "too long for servers");
  store.setFilter("x".repeat(9000), null);
  await new Promise((done) => setTimeout(done, 200));
  store.setTime({ playing: true });
  store.setCursor({ run: "chain", pos: 0 });
  await new Promise((done) => setTimeout(done, 200));
  assert.equal(replaced.length, 1);
});

test("an address that the browser refuses, too many having come, is written later", async (t) => {
  const { store, link } = made();
  store.load(LANES);
  link.restore(link.read().view);
  await new Promise((done) => setTimeout(done, 200));
  replaced.splice(0);
  const around = []; // what the page around a frame hears
  globalThis.parent = { postMessage: (...given) => around.push(given) };
  t.after(() => (globalThis.parent = globalThis));
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const refuses = t.mock.method(history, "replaceState", () => {
    throw new Error("Attempt to use history.replaceState() more than 100 times per 10 seconds");
  });
  store.setCursor({ run: "chain", pos: 2 });
  t.mock.timers.tick(200);
  assert.equal(refuses.mock.callCount(), 1);
  assert.equal(around.length, 0);
  refuses.mock.restore();
  for (let i = 0; i < 20; i++) t.mock.timers.tick(200);
  assert.equal(replaced.length, 1);
  assert.match(replaced[0], /at=chain%7E0%7E2/);
  const queryString = new URL(replaced[0]).searchParams.toString();
  assert.deepEqual(around, [[{ queryString, hash: "" }, "https://huggingface.co"]]);
});

test("the first runs on an empty stage are no step", async () => {
  const { store, link } = made();
  link.restore(link.read().view);
  await new Promise((done) => setTimeout(done, 200));
  replaced.splice(0);
  store.load(LANES);
  await new Promise((done) => setTimeout(done, 200));
  assert.equal(replaced.length, 1);
});

test("the cursor of a lane that goes on from another is restored", () => {
  const { store, link } = made();
  const lane = { ...LANES[0], key: "chain~1" };
  store.load([...LANES, lane]);
  store.setOption("continued", [{ lane: "chain~1", run: "chain", pos: 2, token: 1 }]);
  store.setCursor({ run: "chain~1", round: 1, pos: 3, node: 0 });
  globalThis.location = new URL(link.url());
  const again = made();
  again.link.restore(again.link.read().view);
  again.store.load([...LANES]);
  again.store.add(lane);
  again.store.push("chain~1", lane.events);
  assert.deepEqual([again.store.cursor, again.told], [{ run: "chain~1", round: 1, pos: 3, node: 0 }, []]);
});

test("a cursor that was never reached does not come up in other runs", () => {
  const { store, link } = made();
  store.load(LANES);
  store.setCursor({ run: "chain", round: 1, pos: 3, node: 0 });
  globalThis.location = new URL(link.url());
  const again = made();
  again.store.begin(LANES.map(({ key, card }) => ({ key, card })));
  again.link.restore(again.link.read().view);
  again.store.push("chain", LANES.find(({ key }) => key === "chain").events.slice(0, 2)); // and stopped
  assert.equal(again.store.cursor, null);
  again.store.load([...LANES]);
  assert.equal(again.store.cursor, null);
});

test("a link shows the same rounds: of a call that is being played, of one inside, and on the clock; flags stay off", () => {
  const { store, link } = made();
  store.load(LANES);
  const at = (/** @type {object} */ time) => {
    store.setTime(time);
    const { mode, at, inside } = reopened(link.url()).store.time;
    return [mode, at, inside];
  };
  assert.deepEqual(at({ mode: "calls", at: 1.7 }), ["calls", 1, null]);
  assert.deepEqual(at({ mode: "calls", at: 1, inside: "drafted" }), ["calls", 1, "drafted"]);
  assert.deepEqual(at({ mode: "clock", at: 123.3742 }), ["clock", 123.375, null]);
  const before = new URL(link.url());
  before.searchParams.set("view", "calls~-5");
  assert.equal(reopened(before.href).store.time.at, 0, "nothing is before the first call");
  store.setOption("flags", false);
  assert.equal(reopened(link.url()).store.options.flags, false);
});

test("a filter that its kind does not take is left out, and that is told", () => {
  const good = ['{"kind":"range","range":[1,4]}', '{"kind":"depth","depth":2}', '{"kind":"tcr","low":0,"high":3}'];
  const bad = [
    ...['{"kind":"range"}', '{"kind":"range","range":"x"}', '{"kind":"range","range":[1,null]}', '{"kind":"sign"}'],
    ...['{"kind":"entropy","low":0,"high":1}', '{"kind":"probability"}', '{"kind":"kept"}', '{"kind":"tcr","low":1}'],
    ...['{"kind":"colour"}', "5", "null", "{"],
  ];
  const opened = (...filters) => {
    globalThis.location = new URL(`http://127.0.0.1/?${new URLSearchParams(filters.map((text) => ["f", text]))}`);
    const { store, link, told } = made();
    store.load(LANES);
    link.restore(link.read().view);
    return { kinds: [...store.filters.keys()], told };
  };
  assert.deepEqual(opened(...good), { kinds: ["range", "depth", "tcr"], told: [] });
  for (const text of bad) {
    const { kinds, told } = opened(text);
    assert.deepEqual([kinds, told.length], [[], 1], text);
  }
  const mixed = opened(...good, ...bad);
  assert.deepEqual(mixed.kinds, ["range", "depth", "tcr"]);
  assert.deepEqual(mixed.told, ["What this link filters by cannot be read in full, and is left out."]);
});

const LIVE =
  "http://127.0.0.1/?m=chain:gamma%3D3&models=tiny&prompt=a+b&at=chain~1~~1&view=calls~1&v=text&fold=0" +
  '&f={"kind":"sign","sign":"rejected"}';

test("what a link shows of a live run is shown once the run has begun", () => {
  globalThis.location = new URL(LIVE);
  const { store, session, link } = made();
  const { view } = link.read();
  store.setStatus({ phase: "queued" });
  store.setOption("stage", "trees");
  link.restoreInRun(view, CONFIG);
  assert.equal(store.options.stage, "text", "its view at once");
  store.on("runs", () => {
    store.setOption("folded", true); // as the stage does with many lanes
    store.setOption("stage", "score");
  });
  store.begin(LANES);
  session.emit("ran");
  assert.deepEqual([store.time.at, [...store.filters.keys()]], [1, ["sign"]]);
  assert.deepEqual([store.options.stage, store.options.folded], ["text", false]);
  store.push("chain", LANES[0].events);
  assert.deepEqual(store.cursor, { run: "chain", round: 1, pos: 4, node: 1 });
  store.begin(LANES);
  session.emit("ran");
  assert.deepEqual([store.time.at, store.filters.size], [Infinity, 0], "a later run begins as any other");
});

test("a run of other settings is not shown as the link says; nor is one that never came", async () => {
  await new Promise((done) => setTimeout(done, 200)); // what other links still write
  globalThis.location = new URL(LIVE);
  const { store, session, link } = made();
  store.setStatus({ phase: "queued" });
  link.restoreInRun(link.read().view, CONFIG);
  replaced.splice(0);
  store.setOption("ghosts", true);
  await new Promise((done) => setTimeout(done, 200));
  assert.equal(replaced.length, 0, "until the run comes the address keeps what it asks for");
  store.setStatus({ phase: "empty" });
  await new Promise((done) => setTimeout(done, 200));
  assert.equal(replaced.length, 1);
  store.begin(LANES);
  session.ran = { ...CONFIG, seed: 9 };
  session.emit("ran");
  assert.deepEqual([store.time.at, store.filters.size], [Infinity, 0]);
});

test("a run that was refused before it was sent leaves an address that tells what is shown", async () => {
  await new Promise((done) => setTimeout(done, 200)); // what other links still write
  globalThis.location = new URL(LIVE);
  const { store, link } = made();
  link.restoreInRun(link.read().view, CONFIG);
  replaced.splice(0);
  store.setOption("ghosts", true);
  await new Promise((done) => setTimeout(done, 200));
  assert.match(replaced.at(-1), /show=ghosts/);
});

test("other runs whose address was refused are a step all the same once it is written", async (t) => {
  const { store, session, link } = made();
  store.load(LANES);
  link.restore(link.read().view);
  await new Promise((done) => setTimeout(done, 200));
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const pushed = [];
  let refuses = true;
  history.pushState = (_state, _title, url) => {
    if (refuses) throw new Error("Attempt to use history.pushState() more than 100 times per 10 seconds");
    pushed.push(url);
  };
  session.ran = { ...CONFIG, seed: 9 };
  session.emit("ran");
  t.mock.timers.tick(200);
  refuses = false;
  for (let i = 0; i < 20; i++) t.mock.timers.tick(200);
  assert.equal(pushed.length, 1);
  assert.match(pushed[0], /seed=9/);
  delete history.pushState;
});

test("runs that no request repeats have a link without one", () => {
  const { store, session, link } = made();
  store.load(LANES, { opened: true });
  session.ran = null;
  const { searchParams } = new URL(link.url());
  assert.deepEqual(
    [searchParams.has("m"), searchParams.has("prompt"), searchParams.has("trace")],
    [false, false, false],
  );
  session.ran = CONFIG;
  assert.equal(new URL(link.url()).searchParams.get("prompt"), "a b");
});
