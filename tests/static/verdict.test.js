// Which sentence of the engine is shown, and what is said while there is none.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createStore } from "../../app/static/store.js";
import { verdict } from "../../app/static/verdict.js";
import { round, trace } from "./runs.js";

const CHAIN = {
  line: "Chain is **1.50x** as fast.",
  why: "Each call gives more than it costs.",
  unsaid: "",
  cause: "pays off",
  speedup: 1.5,
};
const rounds = (drafted) => Array.from({ length: 4 }, () => round({ drafted, accepted: drafted, draft_ms: 1 }));
const times = (list, verify_ms) => list.map((one) => ({ ...one, verify_ms }));

/** Two finished lanes on one machine, with what the engine said of them. */
function page(verdicts, head = {}, status = {}) {
  const store = createStore();
  const [plain, chain] = [trace("ar", times(rounds(0), 10)), trace("chain", times(rounds(2), 11))];
  const lanes = [plain, chain].map(({ events: [first, ...rest], ...lane }, i) => ({
    ...lane,
    events: [{ ...first, extras: { process: "one" }, ...(i === 0 ? head : {}) }, ...rest],
  }));
  store.load(lanes, { compared: { verdicts, divergences: [] }, ...status });
  return store;
}

test("the engine's sentence, its cause and how it was measured", () => {
  const said = verdict(page({ chain: CHAIN }));
  assert.deepEqual([said.line, said.cause, said.id], [CHAIN.line, `${CHAIN.why} `, "pays-off"]);
  assert.match(said.how, /^Measured with rounds in turns, never two at once, on cpu, float32; prefill and drawing/);
});

test("the number of calls is told once, and who else needed as few", () => {
  const lanes = ["chain", "other", "third"].map((name) => trace(name, times(rounds(2), 11)));
  const said = (why, cause, ...more) => {
    const store = createStore();
    store.load([...lanes.slice(0, 2), ...more], { compared: { verdicts: { chain: { ...CHAIN, why, cause } } } });
    store.setCursor({ run: "chain", pos: 0 });
    return verdict(store).cause.trim();
  };
  assert.equal(said("It pays.", "pays off"), "It pays. 4 target calls, as few as other.");
  assert.equal(said("Only 4 target calls.", "too early"), "Only 4 target calls. As few as other.");
  assert.match(said("It pays.", "pays off", lanes[2]), /4 target calls, as few as other and third\.$/);
  const longer = trace("other", [...times(rounds(2), 11), round({ drafted: 2, accepted: 0 })]);
  const store = createStore();
  const verdicts = { chain: { ...CHAIN, why: "Only 4 target calls.", cause: "too early" } };
  store.load([lanes[0], longer], { compared: { verdicts } });
  store.setCursor({ run: "chain", pos: 0 });
  assert.match(verdict(store).cause, /^Only 4 target calls\. The fewest here: drafts of 2\.0 tokens/);
});

test("where no speed is claimed, the reason is told instead", () => {
  const unsaid = "Plain decoding has another device";
  const said = verdict(page({ chain: { ...CHAIN, speedup: null, unsaid } }, { device: "cuda" }));
  assert.equal(said.how, `No speed is claimed: ${unsaid}.`);
});

test("a speed that is told needs no excuse", () => {
  const said = verdict(page({ chain: { ...CHAIN, unsaid: "measured once" } }));
  assert.match(said.how, /^Measured with rounds in turns/);
});

test("while time is scrubbed there are numbers so far and no cause", () => {
  const store = page({ chain: CHAIN });
  store.setTime({ at: 2 });
  const said = verdict(store);
  assert.match(
    said.line,
    /2 target calls: \*\*3\.00\*\* tokens a target call, \*\*2\.75×\*\* the speed of .* so far \(once\)/,
  );
  assert.deepEqual([said.cause, said.id], ["", "so-far"]);
  store.setTime({ at: 0 });
  assert.equal(verdict(store).id, "empty");
});

test("lossy is said of a run whose text may differ, as its badge says it, not where the exact rule decides", () => {
  const said = (threshold, sampling) => {
    const store = page({ chain: CHAIN });
    const run = store.runs.get("chain");
    Object.assign(run.card, { guarantee: "lossy", threshold });
    Object.assign(run.head, { guarantee: "lossy", sampling });
    return verdict(store).how.includes("Lossy");
  };
  const draws = { effect: "decide", says: "", sampled_only: true };
  assert.equal(said(null, { temperature: 0 }), true);
  assert.equal(said(draws, { temperature: 0 }), false);
  assert.equal(said(draws, { temperature: 1 }), true);
});

test("another device gives no quotient of speeds", () => {
  const store = page({}, { device: "cuda" });
  assert.doesNotMatch(verdict(store).line, /speed/);
});

test("recorded and opened runs say so; without a run there is nothing to say", () => {
  const recorded = page({ chain: CHAIN }, {}, { recorded: "case" });
  assert.match(verdict(recorded).how, /^Recorded on cpu, float32/);
  recorded.runs.get("chain").head.created = "2026-11-23T06:57:31+00:00";
  assert.match(verdict(recorded).how, /^Recorded 2026\u201111\u201123 on cpu/, "a day in one line");
  recorded.runs.get("chain").head.extras.trajectory = 3;
  assert.match(verdict(recorded).how, /Run draws first trajectories/);
  assert.match(verdict(page({ chain: CHAIN }, {}, { opened: true })).how, /^Opened from a file on cpu/);
  globalThis.draftscopeAnswers = {};
  const alone = verdict(page({ chain: CHAIN }, {}, { opened: true })).how;
  delete globalThis.draftscopeAnswers;
  assert.match(alone, /^Recorded on cpu/, "nobody opened the runs that came with a page, as in a notebook");
  assert.equal(verdict(createStore()).id, "empty");
});

test("it speaks of the lane under the cursor if that drafts, else of the fastest that does", () => {
  const store = page({ chain: CHAIN, ar: { ...CHAIN, line: "Plain." } });
  store.setCursor({ run: "ar", pos: 0 });
  assert.equal(verdict(store).line, CHAIN.line);
});

test("with nothing chosen it speaks of the fastest that changes nothing, while runs grow of the first that drafts", () => {
  const store = createStore();
  const lanes = ["slow", "fast"].map((name, i) => trace(name, times(rounds(2), 20 - 10 * i)));
  store.load(lanes, { compared: { verdicts: {}, divergences: [] } });
  assert.match(verdict(store).line, /^fast/);
  store.status = { ...store.status, phase: "running" };
  assert.match(verdict(store).line, /^slow/);
  const lossy = trace("lossy", times(rounds(2), 1), { guarantee: "lossy" });
  store.load([...lanes, lossy], { compared: { verdicts: {}, divergences: [] } });
  assert.match(verdict(store).line, /^fast/, "another text is no gain");
  store.load([lossy], { compared: { verdicts: {}, divergences: [] } });
  assert.match(verdict(store).line, /^lossy/);
});

test("recorded lanes ran one after the other where the earlier had ended when the later began", () => {
  const how = (/** @type {number[]} */ seconds, total_ms = 2000) => {
    const store = page({ chain: CHAIN }, {}, { recorded: "case" });
    ["ar", "chain"].forEach((key, i) => {
      const run = store.runs.get(key);
      run.head.created = `2026-11-23T06:57:0${seconds[i]}+00:00`;
      run.end = { ...run.end, prefill_ms: 500, total_ms };
    });
    return verdict(store).how;
  };
  for (const order of [
    [0, 3],
    [3, 0],
  ])
    assert.match(how(order), /, one lane after the other; prefill/, `${order}`);
  assert.doesNotMatch(how([0, 1]), /one lane after/, "at once");
  assert.doesNotMatch(how([0, 1]), /Run draws first/);
  assert.doesNotMatch(how([0, 3], NaN), /one lane after/, "nobody knows when the first ended");
});

test("short runs that were just measured may be repeated; longer ones need not be", () => {
  const how = (/** @type {number[]} */ ends, status = {}) => {
    const store = page({ chain: CHAIN }, {}, status);
    ["ar", "chain"].forEach((key, i) => {
      store.runs.get(key).end.total_ms = ends[i];
    });
    return verdict(store).how;
  };
  assert.match(how([10, 10]), / A short run: Repeat gives a range\.$/);
  assert.match(how([10, 10], { opened: true }), /; prefill excluded\. A short run\.$/);
  for (const ends of [
    [10, 60_000],
    [60_000, 10],
  ])
    assert.match(how(ends), /; prefill and drawing excluded\.$/, `${ends}`);
});

test("few calls that made a wrong answer are no praise beside a right one", () => {
  const store = stopped(["eos", "eos", "eos"]);
  const answered = (key, right) => {
    store.runs.get(key).end = { ...store.runs.get(key).end, checked: { right, answer: "40", reference: "38" } };
  };
  answered("tree", false);
  assert.match(verdict(store).cause, /where this needed 3\. $/, "of this one's answer nothing is known");
  answered("chain", true);
  assert.match(verdict(store).cause, /where this needed 3, but its answer is wrong\./);
});

/** Three lanes; how each ended. @param {string[]} reasons */
function stopped(reasons) {
  const store = createStore();
  const lanes = ["ar", "chain", "tree"].map((name, i) => {
    const lane = trace(name, times(rounds(i).slice(0, 4 - i), 10));
    const events = lane.events.map((event) => (event.kind === "end" ? { ...event, reason: reasons[i] } : event));
    return { ...lane, events };
  });
  store.load(lanes, { compared: { verdicts: { chain: CHAIN }, divergences: [] } });
  store.setCursor({ run: "chain", pos: 0 });
  return store;
}

test("lanes that were stopped have no fewest calls, and that they were stopped is told", () => {
  assert.match(
    verdict(stopped(["eos", "eos", "eos"])).cause,
    /tree needed the fewest target calls: 2, where this needed 3/,
  );
  const said = verdict(stopped(["eos", "eos", "stopped"]));
  assert.doesNotMatch(said.cause, /fewest/);
  assert.doesNotMatch(said.how, /Stopped/, "of neither of the two that are compared");
  const cut = verdict(stopped(["eos", "stopped", "stopped"]));
  assert.doesNotMatch(cut.cause, /fewest|as few/);
  assert.match(cut.how, /Stopped: told is what ran until then/);
  const broken = stopped(["eos", "eos", "eos"]);
  broken.runs.get("chain").end = null;
  assert.match(verdict(broken).how, /Unfinished: told is what arrived/);
});

test("of a file, too, it is told that its runs did not come to their end", () => {
  const opened = stopped(["eos", "stopped", "eos"]);
  opened.status.opened = true;
  assert.match(
    verdict(opened).how,
    /^Opened from a file.*; prefill excluded\. Stopped: told is what ran until then\.$/,
  );
});
