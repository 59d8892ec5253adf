// What if the temperature were another: bounds from the first n of a distribution, against the engine's whole ones.

import assert from "node:assert/strict";
import { test } from "node:test";
import { acceptanceAt, distributionAt, reheated, temperable, temperatureWords } from "../../app/static/temperature.js";
import { recordedRun, vectorsOf } from "./recorded.js";

const { samplings, cases } = vectorsOf("temperature");
const NEAR = 2e-4; // models in single precision, run another way than when the trace was recorded
const runs = new Map([...new Set(cases.map(({ run }) => run))].map((name) => [name, recordedRun(name)]));
const sampled = runs.get("sampled-1-sd");
const AT = { temperature: 0.8, top_k: 0, top_p: 1 };

test("the engine's acceptance probability lies within the page's range, under every sampling", () => {
  const widths = samplings.map(() => []);
  for (const { run: name, round, node, ratios } of cases) {
    const run = runs.get(name);
    ratios.forEach((ratio, i) => {
      const range = acceptanceAt(run, run.rounds[round], node, samplings[i]);
      const place = `${name}, round ${round}, node ${node}, ${JSON.stringify(samplings[i])}`;
      if (ratio === null) return void assert.ok(!range || range[1] === 1, `${place}: it could not have been drawn`);
      assert.ok(range, place);
      assert.ok(range[0] - NEAR <= ratio && ratio <= range[1] + NEAR, `${place}: ${ratio} is not within ${range}`);
      widths[i].push(range[1] - range[0]);
    });
  }
  const narrow = (list) => list.filter((width) => width < 0.02).length / list.length;
  samplings.forEach(({ temperature, top_k }, i) => {
    if (temperature <= 0.8 || top_k === 3)
      assert.ok(narrow(widths[i]) > 0.95, `${temperature}: the first 10 carry all`);
    if (temperature === 2) assert.ok(narrow(widths[i]) < 0.5, "at 2 they do not, and the page must not claim so");
  });
});

test("a decision that the recorded lists settle is the engine's, and at the run's own temperature the recorded one", () => {
  let settled = 0;
  const plain = samplings.flatMap(({ temperature, top_k, top_p }, i) => (top_k || top_p < 1 ? [] : [[temperature, i]]));
  for (const [name, run] of runs)
    for (const [temperature, i] of plain) {
      const { marks, known, tested } = reheated(run, temperature);
      assert.ok(known <= tested);
      for (const { run: of, round, node, ratios } of cases) {
        const { [node]: one, length } = run.rounds[round]?.nodes ?? { length: 0 };
        if (of !== name || !length || ratios[i] === null || Math.abs(one.u - ratios[i]) < 1e-3) continue;
        const range = acceptanceAt(run, run.rounds[round], node, samplings[i]);
        if (one.u >= range[0] && one.u < range[1]) continue;
        settled += 1;
        assert.equal(one.u < range[0], one.u < ratios[i], `${name} at ${temperature}`);
        if (one.u < range[0]) assert.ok(marks.includes(run.rounds[round].start + one.depth - 1));
      }
    }
  assert.ok(settled > 150, `${settled} decisions`);
  const { marks, was, known, tested, changed } = reheated(sampled, 0.8);
  assert.deepEqual([marks, changed], [was, null]);
  assert.ok(known > 0.9 * tested, `${known} of ${tested}`);
  assert.equal(
    reheated(sampled, 0.8, 2).tested,
    sampled.rounds
      .slice(0, 2)
      .flatMap(({ nodes }) => nodes)
      .filter(({ state }) => state !== "discarded").length,
  );
});

test("the first decision to change is the first in the order of the rounds", () => {
  const { changed } = reheated(sampled, 0.1);
  const { state, u } = sampled.rounds[changed.round].nodes[changed.node];
  const range = acceptanceAt(sampled, sampled.rounds[changed.round], changed.node, {
    temperature: 0.1,
    top_k: 0,
    top_p: 1,
  });
  assert.equal(u < range[0], state !== "accepted");
  assert.deepEqual(reheated(sampled, 0.1, changed.round).changed, null);
});

test("a whole distribution leaves nothing open, and top-k and top-p keep what the engine keeps", () => {
  const whole = [
    [7, 0.5],
    [8, 0.3],
    [9, 0.15],
    [6, 0.05],
  ];
  const share = (sampling, id) => {
    const { weigh, total } = distributionAt(whole, 4, sampling);
    const [low, high] = weigh(id);
    assert.equal(low, high);
    assert.ok(Math.abs(total[1] - total[0]) < 1e-12);
    return low / total[0];
  };
  const near = (found, wanted) => assert.ok(Math.abs(found - wanted) < 1e-9, `${found}, not ${wanted}`);
  near(share({ temperature: 1, top_k: 0, top_p: 1 }, 7), 0.5);
  near(share({ temperature: 0.5, top_k: 0, top_p: 1 }, 7), 0.25 / (0.25 + 0.09 + 0.0225 + 0.0025));
  near(share({ temperature: 1, top_k: 2, top_p: 1 }, 8), 0.3 / 0.8);
  near(share({ temperature: 1, top_k: 2, top_p: 1 }, 9), 0);
  near(share({ temperature: 1, top_k: 0, top_p: 0.8 }, 8), 0.3 / 0.8);
  near(share({ temperature: 1, top_k: 0, top_p: 0.81 }, 9), 0.15 / 0.95);
});

test("what is said counts what the lists settle and names the first change; a greedy run has no temperature to move", () => {
  assert.ok(temperable(sampled) && !temperable(recordedRun("code-1-sd")));
  assert.ok(!temperable({ ...sampled, head: { ...sampled.head, rule: "beams" } }), "a search draws nothing");
  assert.ok(!temperable({ ...sampled, head: { ...sampled.head, drafter: "none" } }), "there is no draft to decide on");
  const say = (temperature) => temperatureWords(sampled, reheated(sampled, temperature), temperature);
  assert.match(
    say(0.8),
    /^The recorded first 10 of each distribution decide \d+ of \d+ tested .* Move the temperature/,
  );
  assert.match(
    say(0.1),
    /at temperature 0\.1 \d+ would be accepted, \d+ as run\..* first decision to change is at position/,
  );
  assert.match(say(2), /For the other \d+ the 10 are not enough/);
  const light = { ...sampled, rounds: [] };
  assert.match(
    temperatureWords(light, reheated(light, 1), 1),
    /does not hold the probabilities .* \(.*lightly, or nothing was tested\)/,
  );
  const stand = recordedRun("fourth_try-1-stand");
  assert.match(
    temperatureWords(stand, reheated(stand, 1), 1),
    /does not hold the probabilities that would decide on its 79 tested draft tokens at another temperature\.$/,
  );
});

test("a draft token has a chance at another temperature where the recorded numbers give its own decision back", () => {
  const index = sampled.rounds.findIndex(({ nodes }) => nodes[0]?.reason && acceptanceAt(sampled, { nodes }, 0, AT));
  const { nodes } = sampled.rounds[index];
  const found = (/** @type {object} */ more) =>
    acceptanceAt(sampled, { nodes: [{ ...nodes[0], ...more }, ...nodes.slice(1)] }, 0, AT);
  assert.ok(found({}));
  const { reason, accept_prob: was } = nodes[0];
  for (const more of [
    { u: null },
    { accept_prob: null },
    { reason: null },
    { reason: { ...reason, fired: true } },
    { reason: { ...reason, q: undefined } },
    { top_target: [] },
    { top_draft: [] },
    { accept_prob: was > 0.5 ? was - 0.4 : was + 0.4 },
  ])
    assert.equal(found(more), null, Object.keys(more)[0]);
  const second = { nodes: [nodes[0], { ...nodes[0], parent: nodes[0].parent }] };
  assert.equal(acceptanceAt(sampled, second, 1, AT), null, "a rejected sibling took some of p with it");
});

test("what the recording does not decide is counted as tested alone, and said to be open", () => {
  const light = {
    ...sampled,
    rounds: sampled.rounds.map((one) => ({ ...one, nodes: one.nodes.map((node) => ({ ...node, reason: null })) })),
  };
  const { known, tested, changed } = reheated(light, 0.1);
  assert.deepEqual([known, tested, changed], [0, reheated(sampled, 0.1).tested, null]);
  const said = (/** @type {number} */ known) =>
    temperatureWords(sampled, { ...reheated(sampled, 0.1), known, tested: 7 }, 0.1);
  assert.match(said(0), /^This trace does not hold the probabilities/);
  assert.match(said(5), / For the other 2 the 10 are not enough/);
  assert.doesNotMatch(said(7), /not enough/);
});

test("what lies beyond the list weighs between what it would in equal parts and in as few as can be", () => {
  const top = [
    [0, 0.5],
    [1, 0.25],
  ];
  const near = (/** @type {number[]} */ found, /** @type {number[]} */ wanted) =>
    found.forEach((one, i) => assert.ok(Math.abs(one - wanted[i]) < 1e-3, `${found}, not ${wanted}`));
  for (const temperature of [0.5, 2]) {
    const power = 1 / temperature;
    const sampling = { temperature, top_k: 0, top_p: 1 };
    const known = 0.5 ** power + 0.25 ** power;
    const range = (/** @type {number} */ own, /** @type {number} */ even, /** @type {number} */ few) => [
      known + own + Math.min(even, few),
      known + own + Math.max(even, few),
    ];
    const none = distributionAt(top, 10, sampling);
    near(none.total, range(0, 8 * (0.25 / 8) ** power, 0.25 ** power));
    near(none.weigh(0), [0.5 ** power, 0.5 ** power]);
    near(none.weigh(5), [0, 0.25 ** power]);
    const one = distributionAt(top, 10, sampling, [5, 0.125]);
    near(one.total, range(0.125 ** power, 7 * (0.125 / 7) ** power, 0.125 * 0.25 ** (power - 1)));
    near(one.weigh(5), [0.125 ** power, 0.125 ** power]);
    near(one.weigh(6), [0, 0.25 ** power]);
    const cut = distributionAt(top, 10, { ...sampling, top_k: 5 }, [5, 0.125]);
    near(cut.weigh(5), [0, 0.125 ** power], "it may be cut off");
    const listed = distributionAt(top, 10, sampling, [1, 0.25]);
    near(listed.total, none.total, "what is in the list is counted once");
  }
});
