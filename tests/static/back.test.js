// Back and Forward of the browser: what an entry of its history shows again, and which changes make one.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { createEmitter } from "../../app/static/emitter.js";
import "../../app/static/filterkinds.js";
import { makeFilter } from "../../app/static/filters.js";
import { createLink } from "../../app/static/link.js";
import { createContinuing } from "../../app/static/run/continue.js";
import { createSession } from "../../app/static/session.js";
import { createStore } from "../../app/static/store.js";
import { card, round, trace } from "./runs.js";

const rounds = [round({ drafted: 2, accepted: 2 }), round({ drafted: 2, accepted: 1 })];
const lanes = (...names) => names.map((name) => trace(name, rounds));
const CASES = { apples: lanes("chain"), pears: lanes("plain", "chain") };
const preset = (name) => ({
  ...{ name, title: name, story: "", point: "", models: "tiny", prompt: `prompt of ${name}` },
  ...{
    lanes: [{ method: "chain", knobs: {} }],
    sampling: {},
    seed: 0,
    max_new_tokens: 32,
    chat: false,
    recorded: true,
  },
});
const CATALOGUE = {
  methods: [card("chain"), card("plain")],
  presets: Object.keys(CASES).map(preset),
  models: ["tiny"],
  first: "apples",
  limits: { tokens: 512, lanes: 2, upload: 1_000_000, nodes: 100 },
};

/** The browser's history. */
let entries;
let at;
let popped;
/** What a case waits for before it comes, by name. @type {Record<string, Promise<void>>} */
let slow;
globalThis.window = globalThis;
globalThis.parent = globalThis;
const here = () => {
  globalThis.location = new URL(entries[at].url);
  globalThis.history.state = entries[at].state;
};
globalThis.history = {
  state: null,
  pushState(state, _title, url) {
    entries = [...entries.slice(0, ++at), { state, url: String(url) }];
    here();
  },
  replaceState(state, _title, url) {
    entries[at] = { ...entries[at], state, url: String(url) };
    here();
  },
};
globalThis.document = {
  get title() {
    return entries[at].title ?? "";
  },
  set title(name) {
    entries[at] = { ...entries[at], title: name }; // the browser calls by it the entry that it stands at
  },
};
globalThis.addEventListener = (topic, hear) => {
  if (topic === "popstate") popped = hear;
};
const settled = () => new Promise((done) => setTimeout(done, 200)); // the address follows a moment later
async function go(by) {
  at += by;
  here();
  popped();
  await settled();
}

beforeEach(() => {
  slow = {};
  entries = [{ state: null, url: "http://127.0.0.1/?" }];
  at = 0;
  here();
});

/** Make a case slow to come; gives what lets it. @param {string} name @returns {() => void} */
function held(name) {
  let come;
  slow[name] = new Promise((done) => (come = done));
  return come;
}

/** A page that shows the first case; the server gives cases, the engine a run of each lane that is asked for. */
async function page({ ended = true, ready = true } = {}) {
  const [said, asked] = [[], []];
  const store = createStore();
  const api = {
    get: async (path, { name, models }) => {
      asked.push(name ?? models);
      if (path === "catalogue") return CATALOGUE;
      await slow[name];
      if (!CASES[name]) throw new Error(`There is no case ${name}.`);
      return { recorded: name, lanes: CASES[name], compared: null };
    },
    post: async () => ({
      lanes: [trace("chain", rounds), trace("plain", rounds, { prompt: "Twice" })],
      compared: null,
    }),
    async *lines() {
      asked.push("continue");
      yield { kind: "begin", card: card("chain") };
      const forced = { prompt_ids: [1, 5], extras: { forced: 1 }, reason: "eos" };
      yield { kind: "events", events: trace("chain", rounds, forced).events };
    },
  };
  const bus = {
    ...createEmitter(),
    stop: async () => asked.push("stop"),
    start: async (config) => {
      const { lanes } = config;
      asked.push("start");
      store.begin(lanes.map(({ method }) => ({ key: method, card: card(method) })));
      bus.emit("begun", config);
      for (const { method } of lanes) store.push(method, trace(method, rounds).events.slice(0, ended ? 9 : 2));
      if (ended) store.setStatus({ phase: "done", compared: { verdicts: ["of the run"] } });
    },
  };
  const ui = { ...createEmitter(), notify: (text) => said.push(text), clearNotices: () => said.splice(0) };
  const session = createSession({ store, api, bus, ui });
  const link = createLink(store, session, ui.notify);
  const continuing = createContinuing(store, { api, session, ui });
  session.take(CATALOGUE, null);
  await session.openRecorded("apples");
  if (ready) link.restore(link.read().view);
  await settled();
  asked.splice(0);
  return { store, session, link, continuing, said, asked };
}
const place = ({ cursor }) => cursor && [cursor.run, cursor.pos];

test("an entry of the history has the title of its own room, however that is left, also while runs play", async () => {
  const { store } = await page();
  const titles = () => entries.map(({ title }) => title);
  store.setOption("room", "learn");
  await settled();
  assert.deepEqual(titles(), ["Draftscope", "Learn · Draftscope"]);
  store.setOption("room", "compare");
  await settled();
  await go(-1);
  await go(-1);
  assert.deepEqual([at, ...titles()], [0, "Draftscope", "Learn · Draftscope", "Draftscope"]);
  store.setTime({ playing: true });
  store.setOption("room", "papers");
  await settled();
  assert.deepEqual(titles(), ["Draftscope", "Papers · Draftscope"]);
  store.setTime({ playing: false });
  await settled();
});

test("Back shows the case before, with its token, view, time and filters; Forward the later one", async () => {
  const { store, session } = await page();
  store.setCursor({ run: "chain", pos: 2 });
  store.setOption("stage", "trees");
  store.setFilter("sign", makeFilter({ kind: "sign", sign: "rejected" }));
  store.setTime({ mode: "clock", at: 1 });
  await settled();
  await session.openRecorded("pears");
  await settled();
  assert.equal(entries.length, 2, "another case is a step, a token is none");
  store.setCursor({ run: "plain", pos: 4 });
  store.setOption("stage", "score");
  await settled();
  assert.equal(entries.length, 2);
  const [before, after] = entries.map(({ url }) => url);
  await go(-1);
  assert.deepEqual([store.status.recorded, place(store), store.options.stage], ["apples", ["chain", 2], "trees"]);
  assert.deepEqual([store.time.mode, store.time.at, [...store.filters.keys()]], ["clock", 1, ["sign"]]);
  assert.equal(session.config.prompt, "prompt of apples");
  await go(1);
  assert.deepEqual([store.status.recorded, place(store), store.options.stage], ["pears", ["plain", 4], "score"]);
  assert.deepEqual([store.time.mode, store.time.at, store.filters.size], ["clock", Infinity, 0]);
  assert.deepEqual(
    entries.map(({ url }) => url),
    [before, after],
    "to restore writes nothing new",
  );
});

test("Back out of a room leaves the runs alone, also those that still come", async () => {
  const { store, session, asked } = await page({ ended: false });
  await session.run();
  await settled();
  store.setOption("room", "judge");
  await settled();
  const { runs } = store;
  asked.splice(0);
  await go(-1);
  assert.deepEqual([store.options.room, store.runs === runs, store.status.phase], ["compare", true, "running"]);
  assert.deepEqual(asked, []);
});

test("Back to runs of this page shows them again; of one that was ended it says so", async () => {
  const { store, session, said, asked } = await page({ ended: false });
  session.configure({ seed: 5 });
  await session.run();
  await settled();
  const { runs } = store;
  await session.openRecorded("pears");
  await settled();
  assert.equal(entries.length, 3);
  asked.splice(0);
  await go(-1);
  assert.equal(store.runs, runs);
  assert.deepEqual(
    [store.status.phase, store.status.recorded, session.ran.seed, session.stale],
    ["done", null, 5, false],
  );
  assert.deepEqual(asked, ["stop"], "nothing runs anew");
  assert.match(said.join(), /ended when others took its place/);
  await go(-1);
  assert.equal(store.status.recorded, "apples");
  await go(1);
  assert.equal(store.runs, runs);
  assert.equal(entries.length, 3);
});

test("runs of files come back, though their address names none", async () => {
  const { store, session, said } = await page();
  const opened = () => session.openGiven(Promise.resolve({ lanes: CASES.pears, compared: null }));
  const file = Object.assign(new Blob(["x"]), { name: "a" });
  await session.openFiles([file]);
  await settled();
  const first = store.runs;
  await session.openFiles([file]);
  await settled();
  await opened();
  await settled();
  assert.equal(entries.length, 4);
  await go(-2);
  assert.equal(store.runs, first);
  assert.deepEqual(said, [], "they had ended");
});

test("runs of a prompt too long for an address have one without it, and Back finds them", async () => {
  const { store, session, said } = await page();
  session.configure({ prompt: "long ".repeat(2000), preset: "" });
  await session.run();
  await settled();
  const long = store.runs;
  assert.equal(new URL(entries[at].url).search, "", "not that of the runs before");
  session.configure({ prompt: "short" });
  await session.run();
  await settled();
  assert.equal(entries.length, 3);
  await go(-1);
  assert.equal(store.runs, long);
  history.state.stage = "of a page before~0";
  await go(1);
  await go(-1);
  assert.match(said.at(-1), /too long for an address/);
});

test("a page whose address names no run says why it no longer shows those of before a reload", async () => {
  for (const [unnamed, words] of [
    ["files", /came from files/],
    ["long", /too long for an address/],
  ]) {
    Object.assign(entries[at], { state: { stage: "of a page before~0", unnamed } });
    here();
    const { said } = await page();
    assert.match(said[0], words);
    assert.equal(said.length, 1);
  }
});

test("runs that this page no longer has are told, with their settings to run again, and what is shown stays", async () => {
  const { store, session, said, asked } = await page();
  entries.unshift({
    state: { stage: "of a page before~1" },
    url: "http://127.0.0.1/?models=tiny&prompt=x&m=plain&seed=3",
  });
  entries.unshift({ state: { stage: "of a page before~0" }, url: "http://127.0.0.1/?at=chain~0~0~" });
  at += 2;
  await go(-1);
  assert.match(said.at(-1), /no longer on this page.*press Run/);
  assert.deepEqual([session.config.prompt, session.config.seed, store.status.recorded], ["x", 3, "apples"]);
  assert.deepEqual(asked, [], "and nothing runs without being asked");
  await go(-1);
  assert.match(said.at(-1), /came from files/);
  assert.equal(store.cursor, null, "of its place nothing is taken");
  assert.equal(entries.length, 3);
  for (const { url } of entries) assert.equal(new URL(url).search, "?trace=apples", "addresses tell what is shown");
});

test("entries of the page before a reload lead to runs made again, and to settings of other models", async () => {
  const models = ["tiny", "second"];
  const address = "http://127.0.0.1/?models=tiny&prompt=prompt+of+apples&m=chain&max=32&seed=0";
  const { store, session, link, said, asked } = await page();
  session.catalogue.models.splice(0, 1, ...models);
  await session.run();
  await settled();
  const { runs } = store;
  const old = { state: { stage: "of a page before~1", unnamed: "" } };
  const again = { ...old, url: `${link.url()}&at=chain~0~1~` };
  entries = [{ ...old, url: `${address.replace("tiny", "second")}` }, again, entries[at]];
  at = 2;
  asked.splice(0);
  await go(-1);
  assert.deepEqual([said, asked, store.runs === runs, place(store)], [[], [], true, ["chain", 1]]);
  await go(-1);
  assert.match(said.at(-1), /press Run/);
  assert.deepEqual([session.config.models, asked], ["second", ["second"]], "with the methods of these models");
  session.catalogue.models.splice(0, 2, "tiny");
});

test("an entry of the page before a reload that names the case that is shown asks for nothing", async () => {
  const { store, said, asked } = await page();
  entries.unshift({ state: { stage: "of a page before~1" }, url: "http://127.0.0.1/?trace=apples&at=chain~0~1~" });
  entries.unshift({ state: null, url: "http://127.0.0.1/?room=judge" });
  at += 2;
  await go(-1);
  assert.deepEqual([said, asked, place(store)], [[], [], ["chain", 1]]);
  await go(-1);
  assert.deepEqual([said, asked, store.options.room], [[], [], "judge"], "nor one that names no runs");
});

test("Back in the same runs takes filters, time and what is under the pointer as its entry has them", async () => {
  const { store, said } = await page();
  const shown = () => ["ghosts", "whitespace", "flags", "distribution", "order"].map((name) => store.options[name]);
  const usual = shown();
  store.setOption("room", "learn");
  await settled();
  for (const [name, value] of Object.entries({ ghosts: true, whitespace: true, flags: false, order: "draft" }))
    store.setOption(name, value);
  store.setOption("distribution", "raw");
  store.setCursor({ run: "chain", pos: 0 });
  await settled();
  store.setFilter("sign", makeFilter({ kind: "sign", sign: "rejected" }));
  store.setTime({ mode: "clock", at: 1 });
  await settled();
  store.setHover({ run: "chain", pos: 1 });
  store.setTime({ playing: true });
  await go(-1);
  assert.deepEqual([store.filters.size, store.hover, store.cursor, store.time.playing], [0, null, null, false]);
  assert.deepEqual(shown(), usual);
  assert.deepEqual([store.time.mode, store.time.at, said], ["calls", Infinity, []]);
  await go(1);
  assert.deepEqual([[...store.filters.keys()], store.time.mode, store.time.at], [["sign"], "clock", 1]);
});

test("Back out of a room to runs of files says nothing", async () => {
  const { store, session, said } = await page();
  await session.openFiles([Object.assign(new Blob(["x"]), { name: "a" })]);
  await settled();
  const { runs } = store;
  store.setOption("room", "judge");
  await settled();
  await go(-1);
  assert.deepEqual([said, store.runs === runs, store.options.room], [[], true, "compare"]);
});

test("the entry of a live run says that its address names it", async () => {
  const { session } = await page();
  await session.run();
  await settled();
  assert.equal(history.state.unnamed, "");
});

test("runs come back with what was said of them, and with the settings that were theirs", async () => {
  const { store, session } = await page();
  await session.openGiven(Promise.resolve({ lanes: CASES.pears, compared: null }));
  await settled();
  session.configure({ prompt: "other" });
  await session.run();
  await settled();
  assert.equal(entries.length, 3);
  await session.openRecorded("pears");
  await settled();
  await go(-1);
  assert.deepEqual([store.status.compared, session.config.prompt], [{ verdicts: ["of the run"] }, "other"]);
  await go(-1);
  assert.deepEqual([store.status.compared, session.config.prompt], [null, "Once"]);
});

test("cases, which the server gives again, take no room from runs that are kept", async () => {
  const { store, session } = await page();
  await session.openFiles([Object.assign(new Blob(["x"]), { name: "a" })]);
  await settled();
  const { runs } = store;
  for (const name of ["pears", "apples", "pears", "apples", "pears"]) {
    await session.openRecorded(name);
    await settled();
  }
  assert.equal(entries.length, 7);
  await go(-5);
  assert.equal(store.runs, runs);
});

test("Back that is pressed before the page is ready counts once it is", async () => {
  const { store, link } = await page({ ready: false });
  const { view } = link.read();
  entries.unshift({ state: null, url: "http://127.0.0.1/?room=judge&trace=pears" });
  await go(0);
  assert.deepEqual([store.options.room, store.status.recorded], ["judge", "apples"]);
  link.restore(view);
  await settled();
  assert.deepEqual([store.status.recorded, store.options.room], ["pears", "judge"]);
});

test("nothing is written into the entry that Back went to before its runs have come", async () => {
  const { store, session } = await page();
  await session.openRecorded("pears");
  await settled();
  const before = entries.map(({ url }) => url);
  const come = held("apples");
  store.setCursor({ run: "plain", pos: 1 }); // written a moment later
  await go(-1);
  assert.deepEqual([entries.map(({ url }) => url), store.status.recorded], [before, "pears"]);
  come();
  await settled();
  assert.deepEqual([entries.map(({ url }) => url), store.status.recorded], [before, "apples"]);
});

test("Forward that is pressed before what Back asked for has come leaves the runs and both entries alone", async () => {
  const { store, session } = await page();
  await session.openRecorded("pears");
  await settled();
  store.setCursor({ run: "plain", pos: 1 });
  await settled();
  const before = entries.map(({ url }) => url);
  const come = held("apples");
  await go(-1);
  await go(1);
  assert.deepEqual([store.status.recorded, place(store)], ["pears", ["plain", 1]]);
  store.setCursor({ run: "plain", pos: 2 });
  come();
  await settled();
  assert.deepEqual([store.status.recorded, place(store), entries[0].url], ["pears", ["plain", 2], before[0]]);
  assert.match(entries[1].url, /at=plain%7E0%7E2/, "the address follows again");
});

test("runs that are asked for before Back's have come are a step after its entry, which stays", async () => {
  for (const others of [(session) => session.run(), (session) => session.openRecorded("plums")]) {
    CASES.plums = CASES.pears;
    const { store, session } = await page();
    await session.openRecorded("pears");
    await settled();
    const come = held("apples");
    await go(-1);
    await others(session);
    come();
    await settled();
    const trace = ({ url }) => new URL(url).searchParams.get("trace");
    assert.deepEqual([at, entries.length, trace(entries[0])], [1, 2, "apples"]);
    assert.equal(trace(entries[1]), store.status.recorded);
    await go(-1);
    assert.equal(store.status.recorded, "apples");
    entries = entries.slice(0, 1);
    delete CASES.plums;
  }
});

test("of two steps back the first's runs, which come too late, change nothing", async () => {
  const { store, session } = await page();
  await session.openRecorded("pears");
  await settled();
  await session.run();
  await settled();
  const before = entries.map(({ url }) => url);
  const [pears, apples] = [held("pears"), held("apples")];
  await go(-1);
  await go(-1);
  pears();
  await settled();
  assert.deepEqual([entries.map(({ url }) => url), store.status.recorded], [before, null]);
  apples();
  await settled();
  assert.deepEqual([entries.map(({ url }) => url), store.status.recorded], [before, "apples"]);
});

test("a case that was chosen before Back out of a room is shown once it comes, as one step more", async () => {
  const { store, session } = await page();
  store.setOption("room", "judge");
  await settled();
  const come = held("pears");
  const opening = session.openRecorded("pears");
  await go(-1);
  come();
  await opening;
  await settled();
  assert.deepEqual([store.status.recorded, store.options.room], ["pears", "compare"]);
  assert.match(entries[1].url, /trace=pears/);
});

test("Back closes a lesson that was opened beside the stage; its further steps are none of the history's", async () => {
  const { store } = await page();
  store.setOption("beside", "target_call~0");
  await settled();
  store.setOption("beside", "target_call~1");
  await settled();
  assert.equal(entries.length, 2);
  await go(-1);
  assert.equal(store.options.beside, "");
  await go(1);
  assert.equal(store.options.beside, "target_call~1");
});

test("a case that the server does not have is told in plain words", async () => {
  const { session, said } = await page();
  await session.openRecorded("plums");
  assert.deepEqual(said, ['This link names a case that this server does not have, "plums". Choose one from the list.']);
});

test("of several steps back the last counts", async () => {
  const { store, session } = await page();
  await session.openRecorded("pears");
  await settled();
  store.setOption("room", "judge");
  await settled();
  go(-2);
  at += 1;
  here();
  popped();
  await settled();
  assert.deepEqual([store.status.recorded, store.options.room, entries.length], ["pears", "compare", 3]);
});

test("the same request run again, or a case opened again, is no step", async () => {
  const { session } = await page();
  await session.openRecorded("apples");
  await settled();
  assert.equal(entries.length, 1);
  await session.run();
  await settled();
  await session.run();
  await settled();
  assert.equal(entries.length, 2);
});

test("of a request that was run again Back shows the runs that were made last, and they are kept once", async () => {
  const { store, session } = await page();
  await session.openFiles([Object.assign(new Blob(["x"]), { name: "a" })]);
  await settled();
  const opened = store.runs;
  session.configure({ seed: 5 });
  await session.run();
  await settled(); // its entry of the history is written
  for (let i = 0; i < 5; i++) await session.run();
  await settled();
  const { runs } = store;
  await session.openRecorded("pears");
  await settled();
  assert.equal(entries.length, 4);
  await go(-1);
  assert.equal(store.runs, runs);
  await go(-1);
  assert.equal(store.runs, opened);
});

test("the last four runs that were left are kept, each once", async () => {
  const { store, session, said } = await page();
  const made = [];
  for (let seed = 1; seed <= 6; seed++) {
    session.configure({ seed });
    await session.run();
    await settled();
    made.push(store.runs);
  }
  for (const by of [-1, 1, -4, 4, -4]) await go(by);
  assert.deepEqual([said, store.runs === made[1]], [[], true]);
  await go(-1);
  assert.match(said.at(-1), /no longer on this page/);
});

test("an entry of a page before a reload does not lead to other runs of this one", async () => {
  const opened = async () => {
    const made = await page();
    await made.session.openFiles([Object.assign(new Blob(["x"]), { name: "a" })]);
    await settled();
    return made;
  };
  await opened();
  const { stage } = history.state;
  const { store, session, said } = await opened();
  const { runs } = store;
  entries.unshift({ state: { stage, unnamed: "files" }, url: "http://127.0.0.1/?" });
  at += 1;
  await session.openGiven(Promise.resolve({ lanes: CASES.pears, compared: null }));
  await settled();
  await go(1 - entries.length);
  assert.notEqual(store.runs, runs);
  assert.match(said.at(-1), /came from files/);
});

test("the entry of a recorded case that the catalogue does not list says that its address names it", async () => {
  const { session } = await page();
  CASES.plums = CASES.pears;
  await session.openRecorded("plums");
  await settled();
  assert.deepEqual([session.ran, history.state.unnamed], [null, ""]);
  delete CASES.plums;
});

test("a case that was opened again, a lane of it having been closed, comes back whole", async () => {
  const { store, session } = await page();
  await session.openRecorded("pears");
  await settled();
  store.remove("plain");
  await session.openRecorded("pears");
  await settled();
  await session.openRecorded("apples");
  await settled();
  await go(-1);
  assert.deepEqual(store.lanes, ["plain", "chain"]);
});

test("Back takes away a lane that was made beside the others, and Forward puts it there again", async () => {
  const { store, session, continuing, asked } = await page();
  session.catalogue.models.push(store.runs.get("chain").head.preset);
  await continuing.start(store.runs.get("chain"), 0, 5);
  await settled();
  assert.equal(entries.length, 2, "one more lane is a step");
  store.setCursor({ run: "chain~1", pos: 1 });
  await settled();
  assert.equal(entries.length, 2);
  await go(-1);
  assert.deepEqual([store.lanes, store.cursor, store.status.recorded], [["chain"], null, "apples"]);
  await go(1);
  assert.deepEqual([store.lanes, place(store), asked], [["chain", "chain~1"], ["chain~1", 1], ["continue"]]);
  assert.equal(entries.length, 2);
  await session.openRecorded("pears");
  await settled();
  await go(-2);
  assert.deepEqual([store.lanes, store.status.recorded], [["chain"], "apples"], "over other runs too");
  await go(1);
  assert.deepEqual([store.lanes, asked.filter((one) => one === "continue").length], [["chain", "chain~1"], 1]);
});
