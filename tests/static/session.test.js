import assert from "node:assert/strict";
import { test } from "node:test";
import { createEmitter } from "../../app/static/emitter.js";
import { createSession, framed } from "../../app/static/session.js";
import { createStore } from "../../app/static/store.js";
import { card, round, trace } from "./runs.js";

const preset = (name, recorded) => ({
  name,
  title: name,
  story: "",
  point: "",
  models: "tiny",
  prompt: `prompt of ${name}`,
  lanes: [{ method: "chain", knobs: {} }],
  sampling: {},
  seed: 0,
  max_new_tokens: 32,
  chat: false,
  recorded,
});
const CATALOGUE = {
  methods: [card("chain"), card("plain")],
  presets: [preset("apples", true), preset("pears", false)],
  models: ["tiny"],
  first: "apples",
  limits: { tokens: 512, lanes: 2, upload: 1_000_000, nodes: 100 },
};

const RECORDED = { recorded: "apples", lanes: [trace("chain", [round()])], compared: null };

/** A session whose server and engine are lists of what they were asked. */
function made(answers = {}) {
  const asked = [];
  const said = [];
  const store = createStore();
  const api = {
    get: async (path, query) => {
      asked.push([path, query]);
      if (!(path in answers)) throw new Error(`no ${path}`);
      return answers[path];
    },
    post: async (path, body) => {
      asked.push([path, await body.text()]);
      return answers[path];
    },
  };
  const bus = {
    ...createEmitter(),
    start: async (config, how) => asked.push(["start", config.prompt, how]),
    stop: async () => asked.push(["stop"]),
  };
  const ui = { ...createEmitter(), notify: (text) => said.push(text), clearNotices: () => said.splice(0) };
  const session = createSession({ store, api, bus, ui });
  session.take(CATALOGUE, null);
  return { api, asked, said, store, session, bus, ui };
}

test("the page opens with the first preset's settings", () => {
  const { session } = made();
  assert.equal(session.config.preset, "apples");
  const heard = [];
  session.on("catalogue", () => heard.push("catalogue"));
  session.on("config", ({ by }) => heard.push(by));
  session.take(CATALOGUE, { ...session.config, prompt: "of a link" });
  assert.equal(session.config.prompt, "of a link");
  assert.deepEqual(heard, ["catalogue", "catalogue"]);
});

test("a case without recorded runs is told and set to be run; for one that there is not the first comes", async () => {
  const { session, said, store } = made();
  assert.equal(await session.openRecorded("pears"), false);
  assert.deepEqual(said, [
    "No runs of “pears” are recorded here. Its settings are in the run bar: press Run to make them.",
  ]);
  assert.deepEqual([session.config.preset, store.lanes, session.opening], ["pears", [], ""]);
  const other = made();
  const answers = { apples: RECORDED };
  other.api.get = async (_path, { name }) => answers[name || "apples"] ?? Promise.reject(new Error("no such case"));
  assert.equal(await other.session.openRecorded("plums"), false);
  assert.match(other.said[0], /^This link names a case that this server does not have, "plums"/);
  assert.deepEqual([other.said.length, other.store.status.recorded], [1, "apples"]);
  assert.equal(await other.session.openRecorded("apples"), true);
  const { runs } = other.store;
  await other.session.openRecorded("plums");
  assert.equal(other.store.runs, runs, "what is shown stays");
});

test("where nothing is recorded an address that names nothing asks for nothing", async () => {
  const { session, asked, said } = made();
  session.take({ ...CATALOGUE, presets: [preset("pears", false)] }, null);
  assert.equal(await session.openRecorded(""), false);
  assert.deepEqual([asked, said], [[], []]);
});

test("a problem's task and answer stay with its prompt", () => {
  const { session } = made();
  session.configure({ prompt: "2 + 2 =", task: "arithmetic", answer: "4" });
  session.configure({ seed: 9 });
  assert.equal(session.config.answer, "4");
  session.configure({ prompt: "of a link" });
  assert.deepEqual([session.config.task, session.config.answer], [undefined, undefined]);
});

test("settings are replaced, never edited, and what is shown stays what it was", async () => {
  const { session, store } = made({ trace: RECORDED });
  await session.openRecorded("apples");
  const before = session.config;
  const shown = session.ran;
  assert.equal(session.stale, false);
  const heard = [];
  session.on("config", ({ by }) => heard.push(by));
  session.configure({ seed: 9 }, "me");
  assert.equal(before.seed, 0);
  assert.equal(session.config.seed, 9);
  assert.equal(store.status.recorded, "apples");
  assert.equal(session.ran, shown);
  assert.equal(session.stale, true);
  assert.deepEqual(heard, ["me"]);
  session.configure({ seed: 0, preset: "" });
  assert.equal(session.stale, false);
});

test("what is asked for is what is shown as soon as its lanes begin, not before", async () => {
  const { session, store, bus } = made({ trace: RECORDED });
  await session.openRecorded("apples");
  let heard = 0;
  session.on("ran", () => heard++);
  session.configure({ prompt: "mine" });
  const mine = session.config;
  await session.run();
  assert.equal(session.ran.prompt, "prompt of apples");
  session.configure({ prompt: "typed while it loads" });
  store.begin([{ key: "chain", card: card("chain") }]);
  bus.emit("begun", mine);
  assert.equal(session.ran.prompt, "mine");
  assert.equal(session.stale, true);
  assert.equal(heard, 1);
});

test("files of several prompts have no one request, and editing makes them stale all the same", async () => {
  const lanes = [trace("chain", [round()]), trace("plain", [round()], { prompt: "Twice" })];
  const { session, store } = made({ open: { lanes, compared: null } });
  await session.openFiles([file("a.jsonl", "x")]);
  assert.equal(session.ran, null);
  assert.deepEqual([store.status.opened, session.stale], [true, false]);
  session.configure({ seed: 4 });
  assert.equal(session.stale, true);
});

test("a preset that was recorded opens its runs; another only sets", async () => {
  const lanes = [trace("chain", [round({ drafted: 1, accepted: 1 })])];
  const { session, store, asked } = made({ trace: { recorded: "apples", lanes } });
  session.choosePreset("pears");
  assert.equal(session.config.prompt, "prompt of pears");
  assert.deepEqual(asked, []);
  session.choosePreset("apples");
  await new Promise((done) => setTimeout(done));
  assert.deepEqual(asked, [["trace", { name: "apples" }], ["stop"]]);
  assert.equal(store.status.recorded, "apples");
  assert.deepEqual(store.lanes, ["chain"]);
});

test("an answer that does not come is told, and the page goes on", async () => {
  const { session, said } = made();
  await session.openRecorded("apples");
  await session.openRecorded("");
  assert.deepEqual(said, ["no trace", "no trace"]);
});

test("nothing runs without a prompt", async () => {
  const { session, said, asked } = made();
  session.configure({ prompt: "  \n" });
  assert.equal(await session.run(), false);
  assert.match(said[0], /prompt is empty/);
  assert.deepEqual(asked, []);
  session.configure({ prompt: "x" });
  assert.equal(await session.run(), true);
  assert.deepEqual([asked, said], [[["start", "x", { step: false }]], []]);
});

test("what is being made beside the runs on the stage ends before another run is asked for", async () => {
  const { session, asked, ui } = made();
  ui.on("halt", () => asked.push("halt"));
  session.configure({ prompt: "" });
  await session.run();
  assert.deepEqual(asked, []);
  session.configure({ prompt: "x" });
  await session.run();
  assert.deepEqual(asked, ["halt", ["start", "x", { step: false }]]);
});

test("a step goes on in what is shown, and runs anew when the settings have changed since", async () => {
  const { session, store, asked, ui, bus } = made({ trace: RECORDED });
  const steps = [];
  ui.on("step", (by) => steps.push(by));
  await session.step();
  assert.deepEqual(asked.at(-1), ["start", "prompt of apples", { step: true }]);
  assert.equal(store.options.ghosts, true);
  store.load([trace("chain", [round()])]);
  bus.emit("begun", session.config);
  store.setOption("ghosts", false);
  await session.step();
  assert.deepEqual([steps, store.options.ghosts], [[1], true]);
  session.configure({ seed: 2 });
  await session.step();
  assert.equal(asked.length, 2);
  session.configure({ seed: 3 });
  await session.openRecorded("apples");
  await session.step();
  assert.deepEqual(steps, [1, 1]);
});

/** An answer, and what gives it. */
function later() {
  let resolve;
  return [new Promise((give) => (resolve = give)), resolve];
}

const file = (name, text) => Object.assign(new Blob([text]), { name });

test("files travel in one body, each after a line with its name and size", async () => {
  const text = await framed([file("a.jsonl", "ü\n"), file("b", "")]).text();
  assert.equal(text, '{"file":"a.jsonl","bytes":3}\nü\n{"file":"b","bytes":0}\n');
});

test("files that are too large are refused here; others replace what is shown, and the settings are theirs", async () => {
  const lanes = [trace("chain", [round()], { knobs: { gamma: 3 }, preset: "tiny" })];
  const { session, store, said, asked } = made({ open: { lanes, compared: [] } });
  await session.openFiles([file("big.jsonl", "x".repeat(600_000)), file("more.jsonl", "x".repeat(400_001))]);
  assert.match(said[0], /larger than 1 MB together/);
  assert.deepEqual([asked, store.lanes], [[], []]);
  await session.openFiles([file("a.jsonl", "x")]);
  assert.deepEqual(said, []);
  assert.deepEqual(store.lanes, ["chain"]);
  assert.deepEqual(session.config.lanes, [{ method: "chain", knobs: { gamma: 3 } }]);
  assert.equal(session.ran, session.config);
});

test("methods that loaded models can run replace the catalogue's", async () => {
  const { session, bus } = made({ catalogue: { ...CATALOGUE, methods: [card("other")] } });
  const before = session.catalogue;
  await session.run();
  bus.emit("begun", session.config);
  bus.emit("methods", [card("new")]);
  assert.deepEqual(
    session.catalogue.methods.map(({ name }) => name),
    ["new"],
  );
  assert.equal(before.methods.length, 2);
  await session.chooseModels("tiny");
  assert.deepEqual(
    session.catalogue.methods.map(({ name }) => name),
    ["other"],
  );
});

test("of two cases the one that was chosen last is shown, however the answers come", async () => {
  const { session, store } = made();
  const answer = (prompt) => ({ recorded: "", compared: null, lanes: [trace("chain", [round()], { prompt })] });
  const [slow, resolve] = later();
  const first = session.openRecorded("apples", slow);
  await session.openRecorded("pears", Promise.resolve(answer("second")));
  resolve(answer("first"));
  await first;
  assert.equal(store.run("chain").head.prompt, "second");
});

test("a case that comes after a run was asked for does not replace it", async () => {
  const { session, store } = made();
  const [slow, resolve] = later();
  const opening = session.openRecorded("apples", slow);
  await session.run();
  resolve(RECORDED);
  await opening;
  assert.deepEqual(store.lanes, []);
});

test("the methods are those of the models that a case is of", async () => {
  const other = { ...preset("plums", true), models: "second" };
  const catalogue = { ...CATALOGUE, presets: [...CATALOGUE.presets, other], models: ["tiny", "second"] };
  const answers = { catalogue: { ...catalogue, methods: [card("other")] }, trace: { ...RECORDED, recorded: "plums" } };
  const { session, asked } = made(answers);
  session.take(catalogue, null);
  await session.openRecorded("plums");
  await new Promise((done) => setTimeout(done));
  assert.deepEqual(asked.at(-1), ["catalogue", { models: "second" }]);
  assert.deepEqual(
    session.catalogue.methods.map(({ name }) => name),
    ["other"],
  );
});

test("methods of a run's models are not those of others that were chosen meanwhile", async () => {
  const { session, bus } = made();
  session.take({ ...CATALOGUE, models: ["tiny", "second"] }, null);
  await session.run();
  bus.emit("begun", session.config);
  session.configure({ models: "second" });
  bus.emit("methods", [card("late")]);
  assert.ok(session.catalogue.methods.every(({ name }) => name !== "late"));
});

test("methods that could not be fetched are asked for again", async () => {
  const answers = { trace: RECORDED };
  const { session, asked } = made(answers);
  session.take({
    ...CATALOGUE,
    presets: [{ ...preset("apples", true), models: "second" }],
    models: ["tiny", "second"],
  });
  const requests = () => asked.filter(([path]) => path === "catalogue").length;
  await new Promise((done) => setTimeout(done));
  assert.equal(requests(), 1);
  answers.catalogue = { ...CATALOGUE, methods: [card("other")] };
  await session.openRecorded("apples");
  await new Promise((done) => setTimeout(done));
  assert.equal(requests(), 2);
  assert.equal(session.catalogue.methods[0].name, "other");
});

test("runs of models that are not here have no link, and their settings are shown", async () => {
  const lanes = [trace("chain", [round()], { prompt: "far", preset: "elsewhere" })];
  const { session } = made({ open: { lanes, compared: null } });
  await session.openFiles([file("a.jsonl", "x")]);
  assert.equal(session.ran, null);
  assert.deepEqual([session.config.prompt, session.config.models], ["far", "tiny"]);
});

test("runs that were asked for in a way that the run bar cannot ask have no link, and that is said", async () => {
  for (const [more, words] of [
    [{ stop: ["\n\n"] }, 'end at "\\n\\n", which the run bar does not set'],
    [{ chat: true, extras: { turn: 1 } }, "a chat, of whose turns"],
  ]) {
    const lanes = [trace("chain", [round()], { preset: "tiny", ...more })];
    const { session, said } = made({ open: { lanes, compared: null } });
    await session.openFiles([file("a.jsonl", "x")]);
    assert.equal(session.ran, null);
    assert.equal(session.config.prompt, "Once");
    assert.equal(said.length, 1);
    assert.ok(said[0].includes(words), said[0]);
  }
});

test("what the run bar does not set is not said where nothing can run, nor of runs of several requests", async () => {
  for (const [models, prompts] of [
    [[], ["Once"]],
    [["tiny"], ["Once", "Twice"]],
  ]) {
    const lanes = prompts.map((prompt, i) => trace(["chain", "plain"][i], [round()], { prompt, stop: ["."] }));
    const { session, said } = made({ open: { lanes, compared: null } });
    session.take({ ...CATALOGUE, models }, null);
    await session.openFiles([file("a.jsonl", "x")]);
    assert.deepEqual(said, []);
  }
});

test("a page without a server says what a run needs", async () => {
  const { session, said, asked } = made();
  session.take({ ...CATALOGUE, models: [] }, null);
  assert.equal(await session.run(), true);
  assert.match(said[0], /serve the lab/);
  assert.deepEqual(asked, []);
});

test("of two openings of files the last is shown, with the methods of its models", async () => {
  const catalogue = { ...CATALOGUE, models: ["tiny", "second"] };
  const { session, store, asked } = made({ catalogue });
  session.take(catalogue, null);
  const given = (prompt) => ({ compared: null, lanes: [trace("chain", [round()], { prompt, preset: "second" })] });
  const [slow, resolve] = later();
  const first = session.openGiven(slow);
  await session.openGiven(Promise.resolve(given("second")));
  resolve(given("first"));
  await first;
  assert.equal(store.run("chain").head.prompt, "second");
  assert.deepEqual(asked.at(-1), ["catalogue", { models: "second" }]);
});

test("of two models chosen after another the methods are the last's, however the answers come", async () => {
  const catalogue = { ...CATALOGUE, models: ["tiny", "second", "third"] };
  const answers = {};
  const { session } = made(answers);
  session.take(catalogue, null);
  const [slow, resolve] = later();
  answers.catalogue = slow;
  const first = session.chooseModels("second");
  answers.catalogue = { ...catalogue, methods: [card("of third")] };
  await session.chooseModels("third");
  resolve({ ...catalogue, methods: [card("of second")] });
  await first;
  assert.deepEqual(
    session.catalogue.methods.map(({ name }) => name),
    ["of third"],
  );
});

test("runs that are brought back do not replace what was asked for after them, and their settings come with them", async () => {
  const { session, store, bus, asked } = made({ trace: RECORDED });
  store.load([trace("plain", [round()])]);
  const { runs, lanes, status } = store;
  const stage = { id: "a", runs, lanes, status, ran: session.config, config: { ...session.config, seed: 8 } };
  await session.openRecorded("apples");
  const [stopped, resolve] = later();
  bus.stop = () => stopped;
  const back = session.reopen(stage);
  bus.stop = async () => {};
  await session.openRecorded("apples");
  resolve();
  await back;
  assert.deepEqual(store.lanes, ["chain"]);
  await session.reopen(stage);
  assert.deepEqual([store.lanes, session.config.seed, store.runs === runs], [["plain"], 8, true]);
  assert.ok(asked.every(([what]) => what !== "start"));
});

test("while a case is fetched its settings stand there, nothing is stale, and its title is told", async () => {
  const { session, store } = made({ trace: RECORDED });
  session.take({ ...CATALOGUE, presets: [preset("pears", false), preset("apples", true)] }, null);
  const heard = [];
  session.on("opening", () => heard.push(session.opening));
  const come = session.openRecorded("apples");
  assert.equal(session.opening, "apples");
  assert.equal(session.config.prompt, "prompt of apples");
  await come;
  session.configure({ seed: 9 });
  assert.equal(session.stale, true);
  const again = session.openRecorded("apples");
  assert.equal(session.stale, false);
  await again;
  assert.deepEqual(heard, ["apples", "", "apples", ""]);
  assert.equal(store.status.recorded, "apples");
});

test("a case that does not come is waited for no longer, nor one that others took the stage from", async () => {
  const { session } = made();
  await session.openRecorded("apples");
  assert.equal(session.opening, "");
  const come = session.openRecorded("apples");
  session.stay();
  assert.equal(session.opening, "");
  await come;
});

/** A session whose catalogue has a case of other models, and what it tells of its settings. */
function withPlums() {
  const plums = { ...preset("plums", true), models: "second" };
  const catalogue = { ...CATALOGUE, presets: [...CATALOGUE.presets, plums], models: ["tiny", "second"] };
  const found = made({
    catalogue: { ...catalogue, methods: [card("other")] },
    trace: { ...RECORDED, recorded: "plums" },
  });
  found.session.take(catalogue, null);
  const heard = [];
  found.session.on("config", ({ by }) => heard.push(by));
  return { ...found, heard };
}

test("a case that is chosen has its settings and methods in the run bar before its runs come", async () => {
  const { session, store, asked, heard } = withPlums();
  store.load([trace("plain", [round()])]);
  session.choosePreset("plums", "me");
  assert.deepEqual([session.config.prompt, heard], ["prompt of plums", ["me"]]);
  assert.deepEqual(asked[0], ["catalogue", { models: "second" }]);
  assert.deepEqual(store.lanes, ["plain"]);
  session.choosePreset("no such case");
  assert.equal(session.config.prompt, "prompt of plums");
  await new Promise((done) => setTimeout(done));
  assert.deepEqual([store.lanes, heard], [["chain"], ["me", "recording"]]);
});

test("the settings of a case that is opened stand there at once on an empty stage, else with its runs", async () => {
  const { session, store, heard } = withPlums();
  const first = session.openRecorded("plums");
  assert.deepEqual([session.config.prompt, heard], ["prompt of plums", ["recording"]]);
  await first;
  session.configure({ prompt: "mine" });
  const again = session.openRecorded("plums");
  assert.equal(session.config.prompt, "mine");
  await again;
  assert.deepEqual([session.config.prompt, store.lanes], ["prompt of plums", ["chain"]]);
});

test("runs that come take the stage once the run that goes on has ended", async () => {
  const stage = { id: "a", runs: new Map(), lanes: [], status: {}, ran: null, config: null };
  for (const come of [
    (session) => session.openRecorded("apples"),
    (session) => session.openFiles([file("a.jsonl", "x")]),
    (session) => session.reopen(stage),
  ]) {
    const { session, store, bus } = made({ trace: RECORDED, open: RECORDED });
    const { runs } = store;
    const [stopped, resolve] = later();
    bus.stop = () => stopped;
    const opening = come(session);
    await new Promise((done) => setTimeout(done));
    assert.equal(store.runs, runs);
    resolve();
    await opening;
    assert.notEqual(store.runs, runs);
  }
});

test("what comes after a run was asked for does not stop it; a case that is still to come stays told", async () => {
  for (const come of ["openRecorded", "openGiven"]) {
    const { session, asked } = made({ trace: RECORDED });
    const [slow, resolve] = later();
    const opening = come === "openGiven" ? session.openGiven(slow) : session.openRecorded("apples", slow);
    await session.run();
    resolve(RECORDED);
    await opening;
    assert.deepEqual(asked, [["start", "prompt of apples", { step: false }]]);
  }
  const { session } = made();
  const [slow, resolve] = later();
  const [slower] = later();
  const first = session.openRecorded("apples", slow);
  session.openRecorded("pears", slower);
  resolve(RECORDED);
  await first;
  assert.equal(session.opening, "pears");
});

test("runs of files and runs that come back tell their settings, and have the methods of their models", async () => {
  const { session, store, asked, heard } = withPlums();
  await session.openGiven(Promise.resolve({ lanes: [trace("chain", [round()])], compared: null }));
  const { runs, lanes, status } = store;
  const config = { ...session.config, models: "second" };
  await session.reopen({ id: "a", runs, lanes, status, ran: config, config });
  assert.deepEqual(heard, ["files", "recording"]);
  assert.deepEqual(asked.at(-1), ["catalogue", { models: "second" }]);
});

test("models that were loaded are chosen, with the lanes that they can run, else with others", async () => {
  const catalogue = {
    ...CATALOGUE,
    models: ["tiny", "mine"],
    methods: [card("plain"), card("never", { unavailable: "no" })],
  };
  const { session, asked } = made({ catalogue });
  session.configure({ prompt: "kept", lanes: [{ method: "chain", knobs: {} }] });
  await session.openedModels("mine");
  assert.deepEqual(asked, [["catalogue", { models: "mine" }]], "once");
  const names = () => session.config.lanes.map(({ method }) => method);
  assert.deepEqual([session.config.models, session.config.prompt, names()], ["mine", "kept", ["plain"]]);
  assert.deepEqual(
    session.catalogue.methods.map(({ name }) => name),
    ["plain", "never"],
  );
  session.configure({ lanes: ["chain", "plain", "never"].map((method) => ({ method, knobs: { gamma: 2 } })) });
  await session.openedModels("mine");
  assert.deepEqual(session.config.lanes, [{ method: "plain", knobs: { gamma: 2 } }]);
});

test("models that another page had opened in the place of others are offered once methods are asked for", async () => {
  const catalogue = { ...CATALOGUE, models: ["tiny", "theirs"], families: { theirs: "seq2seq" }, taught: ["tiny"] };
  const { session } = made({ catalogue });
  session.take({ ...CATALOGUE, models: ["tiny", "old"], families: {}, taught: [] }, null);
  const heard = [];
  for (const topic of ["catalogue", "config", "methods"]) session.on(topic, () => heard.push(topic));
  await session.chooseModels("old");
  const { models, families, taught } = session.catalogue;
  assert.deepEqual([models, families, taught], [catalogue.models, catalogue.families, catalogue.taught]);
  assert.deepEqual([session.config.models, heard], ["old", ["config", "catalogue", "config", "methods"]]);
  await session.chooseModels("tiny");
  assert.deepEqual(heard.slice(4), ["config", "methods"], "they are as known");
});

test("models that are chosen are set at once, and their methods once they have come", async () => {
  const { session, heard } = withPlums();
  const chosen = session.chooseModels("second", "me");
  assert.deepEqual([session.config.models, heard], ["second", ["me"]]);
  session.on("methods", () => heard.push("methods"));
  await chosen;
  assert.deepEqual(heard, ["me", "methods"]);
  assert.equal(session.catalogue.methods[0].name, "other");
});
