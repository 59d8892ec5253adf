// The keys of the cursor, without a page.

import assert from "node:assert/strict";
import { test } from "node:test";
import { KEYS } from "../../app/static/help.js";
import { bindKeys } from "../../app/static/keys.js";
import { createStore } from "../../app/static/store.js";
import { round, trace } from "./runs.js";

/** Presses a key on a page where nothing has the focus. */
function keyboard(store, told = []) {
  /** @type {(event: object) => void} */
  let hear = () => {};
  Object.assign(globalThis, {
    addEventListener: (/** @type {string} */ _type, /** @type {typeof hear} */ given) => {
      hear = given;
    },
    document: { querySelector: () => null },
    Element: class {},
    HTMLInputElement: class {},
  });
  const ui = Object.fromEntries(
    ["notify", "emit", "open"].map((what) => [what, (/** @type {unknown[]} */ ...of) => told.push([what, ...of])]),
  );
  bindKeys(store, /** @type {any} */ ({ ui }));
  return (key, more = {}) => {
    let used = false;
    hear({ key, target: null, preventDefault: () => (used = true), ...more });
    return used;
  };
}

test("arrows go from a lane to what stands at the same place of one that goes on from it, and back", () => {
  const store = createStore();
  const forced = { prompt_ids: [1, 10, 11, 99], extras: { forced: 3 } }; // two tokens of the lane, then another
  store.load([
    trace("chain", [round({ ids: [10] }), round({ ids: [11] }), round({ ids: [12] }), round({ ids: [13] })]),
    trace("chain~1", [round({ ids: [20] }), round({ ids: [21] })], forced),
  ]);
  const press = keyboard(store);
  const at = () => [store.cursor?.run, store.cursor?.pos];
  store.setCursor({ run: "chain", pos: 3 });
  press("ArrowDown");
  assert.deepEqual(at(), ["chain~1", 0]);
  press("ArrowUp");
  assert.deepEqual(at(), ["chain", 3]);
  press("ArrowDown");
  press("ArrowRight");
  assert.deepEqual(at(), ["chain~1", 1]);
  press("ArrowUp");
  assert.deepEqual(at(), ["chain", 3], "its text ends before that place");
  store.setCursor({ run: "chain", pos: 1 });
  press("ArrowDown");
  assert.deepEqual(at(), ["chain~1", 0], "what was forced has no tokens of its own");
  press("ArrowDown");
  assert.deepEqual(at(), ["chain~1", 0], "there is no lane below");
});

test("in a lane that has the focus keys go on from the place of the cursor in it", () => {
  const store = createStore();
  store.load([
    trace("chain", [round({ ids: [10] }), round({ ids: [11] }), round({ ids: [12] }), round({ ids: [13] })]),
    trace("wary", [round({ ids: [10, 11] }), round({ ids: [12] })]),
  ]);
  const press = keyboard(store);
  const at = () => [store.cursor?.run, store.cursor?.pos];
  const within = (/** @type {string} */ key) => ({
    target: Object.assign(new Element(), {
      closest: (/** @type {string} */ what) => (what === ".flow" ? { getAttribute: () => key } : null),
    }),
  });
  press("ArrowRight", within("wary"));
  assert.deepEqual(at(), ["wary", 0], "without a cursor from its start");
  store.setCursor({ run: "chain", pos: 1 });
  press("]", within("wary"));
  assert.deepEqual(at(), ["wary", 2], "the round after that of the second token");
  store.setCursor({ run: "chain", pos: 3 });
  press("ArrowLeft", within("wary"));
  assert.deepEqual(at(), ["wary", 1], "its last token is the third");
  press("ArrowUp", within("wary"));
  assert.deepEqual(at(), ["chain", 1]);
  press("ArrowRight", within("chain"));
  assert.deepEqual(at(), ["chain", 2]);
  press("ArrowUp", within("wary"));
  assert.deepEqual(at(), ["chain", 2], "the lane above that of the focus");
});

test("Shift and an arrow mark a range from the token on, of the axis of all lanes, and Esc clears it before the choice", () => {
  const store = createStore();
  const forced = { prompt_ids: [1, 10, 11, 99], extras: { forced: 3 } };
  const five = [10, 11, 12, 13, 14].map((id) => round({ ids: [id] }));
  store.load([trace("chain", five), trace("chain~1", five, forced)]);
  const press = keyboard(store);
  const after = (/** @type {string} */ key) => {
    assert.equal(press(key, { shiftKey: true }), true);
    return [store.cursor?.run, store.cursor?.pos, ...(store.filters.get("range")?.range ?? [])];
  };
  store.setCursor({ run: "chain", pos: 2 });
  assert.deepEqual(after("ArrowRight"), ["chain", 3, 2, 3]);
  assert.deepEqual(after("ArrowRight"), ["chain", 4, 2, 4]);
  assert.deepEqual(after("ArrowRight"), ["chain", 4, 2, 4], "there is no further token");
  for (const range of [
    [2, 3],
    [2, 2],
    [1, 2],
    [0, 2],
  ]) // back over where it began
    assert.deepEqual(after("ArrowLeft").slice(2), range);
  press("ArrowRight");
  press("ArrowRight");
  assert.deepEqual(store.filters.get("range")?.range, [0, 2], "an arrow alone leaves it");
  press("ArrowRight");
  assert.deepEqual(after("ArrowRight"), ["chain", 4, 3, 4], "and from elsewhere another begins");
  assert.equal(press("Escape"), true);
  assert.deepEqual([store.filters.size, store.cursor?.pos], [0, 4]);
  store.setCursor({ run: "chain~1", pos: 0 });
  assert.deepEqual(after("ArrowRight"), ["chain~1", 1, 3, 4], "what was forced counts");
  press("Escape");
  press("Escape");
  assert.equal(store.cursor, null);
  assert.deepEqual(after("ArrowRight").slice(1), [0, 0, 0], "without a choice it begins with the first token");
  assert.equal(press("ArrowRight", { shiftKey: true, ctrlKey: true }), false);
});

/** Three lanes: the first is the reference, the second parts from it at its third token, the third at its second. */
function lanes() {
  const store = createStore();
  const veto = round({ drafted: 2, accepted: 0, ids: [30] });
  veto.nodes[0] = { ...veto.nodes[0], state: "vetoed" };
  const judged = (/** @type {any} */ one, /** @type {string} */ state, judge = 0.9) => ({
    ...one,
    nodes: one.nodes.map((node, i) => (i ? node : { ...node, state, judge })),
  });
  store.load([
    trace(
      "ar",
      [10, 11, 12, 13].map((id) => round({ ids: [id] })),
      { guarantee: "reference" },
    ),
    trace("sd", [
      round({ drafted: 2, accepted: 1, ids: [10, 11], verify_ms: 10 }),
      round({ drafted: 1, accepted: 1, ids: [20, 21], verify_ms: 10 }),
      round({ drafted: 2, accepted: 0, ids: [22], verify_ms: 10 }),
    ]),
    trace("judge", [
      judged(round({ drafted: 1, accepted: 1, ids: [10, 31] }), "relaxed"),
      judged(round({ drafted: 1, accepted: 0, ids: [32] }), "rejected"),
      veto,
    ]),
    trace(
      "same",
      [10, 11, 12, 13].map((id) => round({ ids: [id] })),
    ),
    trace(
      "after",
      [12, 40].map((id) => round({ ids: [id] })),
      { prompt_ids: [1, 10, 11], extras: { forced: 2 } },
    ),
  ]);
  store.setOption("room", "compare");
  return store;
}

test("a key goes to the next token of its kind in this lane, from its end to its start, else to another lane's", () => {
  const store = lanes();
  /** @type {unknown[][]} */
  const told = [];
  const press = keyboard(store, told);
  const at = () => [store.cursor?.run, store.cursor?.round, store.cursor?.pos, store.cursor?.node];
  const goes = (/** @type {string} */ keys) =>
    [...keys].map((key) => {
      press(key);
      return at();
    });
  store.setCursor({ run: "sd", pos: 0 });
  const rejected = [
    ["sd", 2, 4, 0],
    ["sd", 0, 1, 1],
    ["sd", 2, 4, 0],
  ];
  assert.deepEqual(goes("rrr"), rejected, "the one of its own round was passed");
  assert.deepEqual(goes("v"), [["judge", 2, 3, 0]]);
  assert.deepEqual(goes("vr"), [
    ["judge", 2, 3, 0],
    ["judge", 1, 2, 0],
  ]);
  store.setCursor({ run: "sd", pos: 0 });
  assert.deepEqual(goes("ii"), [
    ["judge", 1, 2, null],
    ["judge", 1, 2, null],
  ]);
  assert.deepEqual(told, []);
  store.load([trace("plain", [round()])]);
  goes("rvid");
  assert.deepEqual(
    told.map(([what, words]) => [what, String(words).split(" ").slice(0, 2).join(" ")]),
    [
      ["notify", "No draft"],
      ["notify", "No draft"],
      ["notify", "No token"],
      ["notify", "No lane"],
    ],
  );
  told.length = 0;
  store.load([]);
  goes("rvid");
  assert.deepEqual(told, [], "without lanes there is nothing to miss");
});

test("the ends of a lane, its rounds, and the place where each lane parts from the reference", () => {
  const store = lanes();
  const press = keyboard(store);
  const at = () => [store.cursor?.run, store.cursor?.round, store.cursor?.pos];
  const after = (/** @type {string[]} */ ...keys) => {
    for (const key of keys) press(key);
    return at();
  };
  store.setCursor({ run: "sd", pos: 1 });
  assert.deepEqual(after("End"), ["sd", 2, 4]);
  assert.deepEqual(after("ArrowRight"), ["sd", 2, 4]);
  assert.deepEqual(after("["), ["sd", 1, 2]);
  assert.deepEqual(after("]", "]"), ["sd", 2, 4], "there is no round behind it");
  assert.deepEqual(after("Home"), ["sd", 0, 0]);
  assert.deepEqual(after("ArrowLeft", "["), ["sd", 0, 0]);
  store.setCursor({ run: "ar", pos: 0 });
  assert.deepEqual(after("d"), ["sd", 1, 2]);
  assert.deepEqual(after("d"), ["judge", 0, 1]);
  assert.deepEqual(after("d"), ["after", 1, 1], "one is the reference's text, and is passed over");
  assert.deepEqual(after("d"), ["sd", 1, 2]);
  assert.deepEqual(after("ArrowRight", "d"), ["sd", 1, 2], "first of all to the place of the lane that one is in");
  store.setCursor({ run: "sd", pos: 0 });
  store.setTime({ at: 1, playing: true });
  assert.deepEqual(after("]"), ["sd", 1, 2]);
  assert.deepEqual([store.time.at, store.time.playing], [2, false], "time goes on to the place, and no farther");
  store.setTime({ at: 0, mode: "clock" });
  assert.deepEqual([after("]")[1], store.time.at], [2, 30]);
  store.setTime({ at: 1, mode: "calls" });
  after("End");
  assert.equal(store.time.at, 3, "time runs on to what is not shown yet");
  assert.deepEqual(after("Home"), ["sd", 0, 0]);
  assert.equal(store.time.at, 3, "and stays where the place is shown");
  assert.deepEqual(after("Escape"), [undefined, undefined, undefined]);
  assert.deepEqual(after("]"), ["sd", 0, 0], "without a cursor from before the start of the first that drafts");
  store.clear();
  assert.deepEqual(after("ArrowRight"), ["sd", 0, 0]);
});

test("keys that belong to a control, to the browser or to another room do nothing", () => {
  const store = lanes();
  /** @type {unknown[][]} */
  const told = [];
  const press = keyboard(store, told);
  store.setCursor({ run: "sd", pos: 1 });
  for (const held of ["defaultPrevented", "ctrlKey", "metaKey", "altKey"])
    assert.equal(press("End", { [held]: true }), false, held);
  const control = (/** @type {string[]} */ ...names) =>
    Object.assign(new globalThis.Element(), {
      closest: (/** @type {string} */ list) =>
        names.some((name) => list.split(/, ?/).includes(name))
          ? { hasAttribute: () => names.includes("tokens") }
          : null,
    });
  assert.equal(press("g", { target: control("textarea") }), false);
  assert.equal(press("g", { target: control("[role=tree]", "tokens") }), true, "a list of tokens leaves them the page");
  assert.equal(press(" ", { target: control("button") }), false, "it presses the button");
  assert.equal(press("g", { target: control("button") }), true);
  assert.equal(press(" "), true);
  assert.equal(press("+"), false);
  const { ghosts, whitespace } = store.options;
  for (const key of "gwh") press(key);
  assert.deepEqual(
    [store.options.ghosts, store.options.whitespace, store.options.details],
    [!ghosts, !whitespace, "hidden"],
  );
  press("h");
  assert.equal(store.options.details, "auto");
  for (const [key, stage] of [
    ["1", "text"],
    ["3", "trees"],
    ["4", "shares"],
    ["2", "score"],
  ]) {
    press(key);
    assert.equal(store.options.stage, stage);
  }
  for (const key of ["+", "=", "-", ".", ",", ">", "<", "?"]) assert.equal(press(key), true, key);
  store.setOption("room", "learn");
  assert.equal(press("End"), false);
  assert.equal(press("?"), true);
  assert.deepEqual(told, [
    ["emit", "play"],
    ["emit", "zoom", 1],
    ["emit", "zoom", 1],
    ["emit", "zoom", -1],
    ["emit", "begin", "step"],
    ["emit", "step", -1],
    ["emit", "event", 1],
    ["emit", "event", -1],
    ["open", "help"],
    ["open", "help"],
  ]);
  assert.equal(store.cursor?.pos, 1);
});

test("Ctrl and Enter run what is set, outside fields and in Compare alone; other keys with Ctrl are the browser's", () => {
  const store = createStore();
  const told = [];
  const press = keyboard(store, told);
  for (const held of [{ ctrlKey: true }, { metaKey: true }]) assert.equal(press("Enter", held), true);
  assert.deepEqual(told, [
    ["emit", "begin", "run"],
    ["emit", "begin", "run"],
  ]);
  for (const key of ["r", "+", "ArrowRight", "1"]) assert.equal(press(key, { ctrlKey: true }), false);
  assert.equal(press("Enter"), false);
  store.setOption("room", "judge");
  assert.equal(press("Enter", { ctrlKey: true }), false);
  assert.equal(told.length, 2);
});

test("the help has the keys that there are, and no other", () => {
  const store = createStore();
  store.setOption("stage", "score");
  const press = keyboard(store);
  globalThis.document.querySelector = (of) => (of.includes("dialog") ? null : { dispatchEvent: () => true });
  const names = { "←": "ArrowLeft", "→": "ArrowRight", "↑": "ArrowUp", "↓": "ArrowDown", space: " ", Esc: "Escape" };
  const held = ["Ctrl", "Shift"]; // with another key, of which tests above tell
  const told = KEYS.flatMap(([keys]) => (held.includes(keys[0]) ? [] : keys.map((key) => names[key] ?? key)));
  const printed = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i));
  const known = [...printed, ...Object.values(names), "Home", "End", "PageUp", "PageDown", "Enter", "Tab", "Delete"];
  const used = known.filter((key) => press(key) && key !== "="); // which has the + of most keyboards
  assert.deepEqual([...new Set(used)].sort(), told.sort());
});
