import assert from "node:assert/strict";
import { test } from "node:test";
import { noPool } from "../../app/static/pooled/choice.js";
import { apart, tablesOf } from "../../app/static/pooled/tables.js";

const span = (mean, low, high) => ({ mean, low, high, n: 9 });
const row = (label, quality) => ({
  label,
  calls: 4,
  tokens: 9,
  calls_each: span(2, 1, 3),
  tokens_each: span(4, 3, 5),
  tau: span(2, 1, 3),
  speedup: null,
  draft_s: 1,
  verify_s: 2,
  other_s: 1,
  quality,
});
const section = (...methods) => ({ methods, figures: {}, ablation: [], granularity: [] });

test("quality has a column for each measure that some method has, shares in per cent", () => {
  const tables = tablesOf(
    section(
      row("AR", { accuracy: span(0.9, 0.8, 0.95), same_as_ar: span(1, 0.9, 1) }),
      row("Lossy", { accuracy: span(0.7, 0.6, 0.8), accuracy_difference: span(-0.2, -0.3, -0.1) }),
    ),
    "",
  );
  const quality = tables.find((table) => table.name === "Quality");
  assert.deepEqual(quality?.columns, ["method", "right answers", "right, less AR's", "same output as AR"]);
  assert.deepEqual(quality?.rows[1], ["Lossy", "70 % (60 % to 80 %)", "−20 % (−30 % to −10 %)", "–"]);
});

test("in a file the same tables have numbers, and an interval three columns", () => {
  const methods = [
    { ...row("AR", { accuracy: span(0.9, 0.8, 0.95) }), calls: 5012, tau: { mean: 1, low: null, high: null } },
    row("Lossy", { accuracy: span(0.7, 0.6, 0.8), accuracy_difference: span(-0.2, -0.3, -0.1) }),
  ];
  const [said, plain] = [false, true].map((numbers) => tablesOf(section(...methods), "", numbers));
  assert.deepEqual(
    plain.map(({ name, caption, columns }) => [name, caption, columns]),
    said.map(({ name, caption, columns }) => [name, caption, columns]),
  );
  const [counts, quality, times] = plain.map(apart);
  assert.deepEqual(counts.columns.slice(0, 5), [
    "method",
    "calls",
    "calls a prompt",
    "calls a prompt low",
    "calls a prompt high",
  ]);
  assert.deepEqual(counts.rows[0].slice(0, 5), ["AR", 5012, 2, 1, 3]);
  assert.deepEqual(counts.rows[0].slice(-3), [1, null, null], "tokens a call");
  assert.deepEqual(quality.rows, [
    ["AR", 0.9, 0.8, 0.95, null, null, null],
    ["Lossy", 0.7, 0.6, 0.8, -0.2, -0.3, -0.1],
  ]);
  assert.deepEqual(times.rows[1], ["Lossy", 1, 2, 1, 0.5, 0.25]);
  for (const table of plain.map(apart))
    for (const cells of table.rows) assert.equal(cells.length, table.columns.length, table.name);
});

test("a share below 0 is told with the digits of one above", () => {
  const same = row("SD", { accuracy: span(0.96, 0.9, 0.98), accuracy_difference: span(0, -0.0267, 0.0267) });
  const less = row("Lossy", { accuracy: span(0.95, 0.9, 0.98), accuracy_difference: span(-0.003, -0.12, 0.003) });
  const quality = tablesOf(section(same, less), "").find(({ name }) => name === "Quality");
  assert.deepEqual(
    quality?.rows.map((cells) => cells[2]),
    ["0 % (−2.7 % to 2.7 %)", "−0.3 % (−12 % to 0.3 %)"],
  );
});

test("runs that nobody marked, or that an older program pooled, have no table of quality", () => {
  for (const quality of [undefined, { response_tokens: span(4, 3, 5) }])
    assert.ok(!tablesOf(section(row("AR", quality)), "").some((table) => table.name === "Quality"));
});

test("the caption of methods tells of ranks only where a column does", () => {
  const [plain] = tablesOf(section(row("AR")), "");
  assert.ok(!plain.columns.includes("within N/4") && !plain.caption.includes("N/4"), plain.caption);
  const ranked = { quantiles: { quantile: [0.25], share: [0.5] } };
  const [trees] = tablesOf({ ...section(row("AR"), row("EAGLE")), figures: { EAGLE: ranked } }, "");
  assert.ok(trees.columns.includes("within N/4") && trees.caption.includes("N/4"), trees.caption);
});

test("no two columns of a table have the same name", () => {
  const step = { method: "+A", tau: 2, calls: 4, calls_saved: 0, tokens: 9, tokens_saved: 0, speedup: null };
  for (const { name, columns } of tablesOf({ ...section(row("AR")), ablation: [step] }, ""))
    assert.equal(new Set(columns).size, columns.length, name);
});

test("seconds have as many decimals down a column", () => {
  const rows = [row("AR"), { ...row("SD"), draft_s: 0.123, verify_s: 48, other_s: 1.7 }];
  const time = tablesOf(section(...rows), "").find((table) => table.name === "Where the time goes");
  assert.deepEqual(
    time?.rows.map((cells) => cells.slice(1, 4)),
    [
      ["1.00", "2.00", "1.00"],
      ["0.12", "48.00", "1.70"],
    ],
  );
});

test("what never asks the target has no calls, and what writes in place its iterations", () => {
  const placed = { ...row("Placed"), calls: 0, tokens: 0, iterations: 40, tau: null };
  const alone = { ...row("Alone"), calls: 0, tokens: 0, iterations: 0, tau: null };
  const [{ columns, caption, rows }] = tablesOf(section(row("AR"), placed, alone), "");
  assert.deepEqual(columns.slice(1, 6), [
    "calls",
    "calls a prompt",
    "iterations",
    "tokens checked",
    "tokens checked a prompt",
  ]);
  assert.deepEqual(
    rows.map((cells) => cells.slice(1, 5)),
    [
      ["4", "2.0 (1.0 to 3.0)", "–", "9"],
      ["–", "–", "40", "–"],
      ["–", "–", "–", "–"],
    ],
  );
  assert.match(caption, /the target is never asked.*Iterations/);
  const [usual] = tablesOf(section(row("AR")), "");
  assert.ok(!usual.columns.includes("iterations") && !/never asked|Iterations/.test(usual.caption));
});

test("a method may be called as what every object has", () => {
  for (const name of ["__proto__", "constructor", "toString"])
    assert.equal(tablesOf(section(row(name)), "")[0].rows[0][0], name);
});

test("each measure has its own kind of number, and one without an interval no bracket", () => {
  const one = { mean: 40.5, low: null, high: null, n: 1 };
  const found = tablesOf(
    section(
      row("AR", { rougeL: span(30, 20, 40), response_tokens: span(9, 8, 10), majority: span(0.5, 0.25, 0.75) }),
      row("SD", { bleu: one, bleu_relative: span(98, 90, 99), majority_difference: { ...one, mean: -0.25 } }),
    ),
    "",
  ).find(({ name }) => name === "Quality");
  assert.deepEqual(found.rows, [
    ["AR", "50 % (25 % to 75 %)", "–", "–", "–", "30.0 (20.0 to 40.0)", "9.0 (8.0 to 10.0)"],
    ["SD", "–", "−25 %", "40.5", "98.0 (90.0 to 99.0)", "–", "–"],
  ]);
});

test("methods are compared by calls and tokens a prompt, and by the shares of their time", () => {
  const one = { ...row("SD"), calls: 1234.4, speedup: { mean: 1.5, low: null, high: null, n: 1 } };
  const tables = tablesOf(section(one), "");
  const of = (/** @type {string} */ name) => tables.find((table) => table.name === name)?.rows[0];
  assert.deepEqual(of("Methods"), [
    ...["SD", "1,234", "2.0 (1.0 to 3.0)", "9", "4 (3 to 5)", "2.00 (1.00 to 3.00)", "1.50"],
  ]);
  assert.deepEqual(of("Where the time goes"), ["SD", "1.00", "2.00", "1.00", "50 %", "25 %"]);
});

test("time of a method that drafts nothing is no draft's, in the table as in the figures of a run", () => {
  const rows = [
    { ...row("AR"), guarantee: "reference" },
    { ...row("SD"), guarantee: "lossless" },
  ];
  const time = tablesOf(section(...rows), "").find(({ name }) => name === "Where the time goes");
  assert.deepEqual(time?.rows, [
    ["AR", "0.00", "2.00", "2.00", "50 %", "50 %"],
    ["SD", "1.00", "2.00", "1.00", "50 %", "25 %"],
  ]);
});

test("the table of bins says that it counts a token that the end of a text left out", () => {
  const bins = { bin: [0], rounds: [3], share: [1], phi: [1], tau: [4], levels: [8], n_verify: [60] };
  const figures = { EAGLE: { bins, quantiles: { quantile: [0.25], share: [0.5] } } };
  const table = tablesOf({ ...section(row("EAGLE")), figures }, "EAGLE").find(({ name }) => name === "Bins of EAGLE");
  assert.match(table?.caption ?? "", /Tokens a call: accepted and one, also where the text ended/);
});

test("what a link asks of pooled runs that they do not have is told with what they have", () => {
  const sections = [
    { task: "sums", figures: { "EAGLE-2": {}, "a~b": {} } },
    { task: "plain", figures: {} },
  ];
  for (const pool of ["", "sums", "sums~", "sums~EAGLE-2", "sums~a~b", "plain~"])
    assert.equal(noPool(sections, pool), "");
  assert.equal(noPool(sections, "prose~EAGLE-2"), 'There is no "prose" here: a link\'s pool is one of sums, plain.');
  const none = 'There is no "b" here: a link\'s pool of sums is one of "EAGLE-2", "a~b".';
  assert.equal(noPool(sections, "sums~b"), none);
});
