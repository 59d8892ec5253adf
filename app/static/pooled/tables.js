// @ts-check
// Tables of pooled runs: methods compared, mechanisms added one by one, granularity, bins, time. Each is columns and
// rows, whose cells are written for people, or are numbers for a file.

import { num } from "../dom.js";
import { percent } from "../draw.js";
import { told } from "./choice.js";

/**
 * @typedef {import("./choice.js").Table} Table
 * @typedef {import("../types/measured.js").PoolSection} Section
 * @typedef {import("../types/analysis.js").Interval} Interval
 * @typedef {import("../types/measured.js").Quality} Quality
 */

/** @param {Interval | null | undefined} value */
const spread = (value, digits = 2) =>
  !value
    ? "–"
    : value.low === null
      ? num(value.mean, digits)
      : `${num(value.mean, digits)} (${num(value.low, digits)} to ${num(value.high, digits)})`;
/** A share that may be below 0, with the digits of one above. @param {number | null} share */
const saved = (share) => (share !== null && share < 0 ? `−${percent(-share)}` : percent(share));
/** @param {number | null} value */
const whole = (value) => (value === null ? "–" : Math.round(value).toLocaleString("en"));

/** @param {Interval | null | undefined} value */
const shares = (value) =>
  !value
    ? "–"
    : value.low === null
      ? saved(value.mean)
      : `${saved(value.mean)} (${saved(value.low)} to ${saved(value.high)})`;

/** For people. */
const WORDS = { spread, shares, whole, saved, percent, num, none: "–" };

/** @param {Interval | null | undefined} value */
const ends = (value) => (value ? [value.mean, value.low, value.high] : null);
const same = (/** @type {number | null | undefined} */ value) => value ?? null;
/** For files: numbers as they are, shares as fractions, an interval as its mean and ends. */
const NUMBERS = { spread: ends, shares: ends, whole: same, saved: same, percent: same, num: same, none: null };
/** @typedef {typeof WORDS | typeof NUMBERS} Writing */

/** A table of numbers for a file: an interval has three columns. @param {Table} table @returns {Table} */
export function apart({ name, caption, columns, rows }) {
  const three = columns.map((_, i) => rows.some((row) => Array.isArray(row[i])));
  const parts = (/** @type {import("./choice.js").Cell} */ cell) => (Array.isArray(cell) ? cell : [cell, null, null]);
  return {
    name,
    caption,
    columns: columns.flatMap((column, i) => (three[i] ? [column, `${column} low`, `${column} high`] : [column])),
    rows: rows.map((row) => row.flatMap((cell, i) => (three[i] ? parts(cell) : [cell]))),
  };
}

/** Share of the rounds whose last accepted token ranks within a quarter of N.
 * @param {import("../types/measured.js").PoolTree} drawn @returns {number} */
const within = (drawn) => drawn.quantiles.share[drawn.quantiles.quantile.indexOf(0.25)];

/** The tables of a section that have rows. @param {Section} section
 * @param {string} label of the method whose bins are shown
 * @param {boolean} [plain] their cells are numbers @returns {Table[]} */
export function tablesOf(section, label, plain = false) {
  const as = plain ? NUMBERS : WORDS;
  return [
    methods(section, as),
    quality(section, as),
    ablation(section, as),
    granularity(section, as),
    time(section, as),
    bins(section, label, as),
  ]
    .filter((table) => table.rows.length)
    .map(told);
}

/** @param {Section} section @param {Writing} as @returns {Table} */
function methods(section, as) {
  const ranked = section.methods.some((row) => Object.hasOwn(section.figures, row.label));
  const placed = section.methods.some((row) => row.iterations);
  const asked = section.methods.every((row) => row.calls);
  return {
    name: "Methods",
    columns: [
      "method",
      "calls",
      "calls a prompt",
      ...(placed ? ["iterations"] : []),
      "tokens checked",
      "tokens checked a prompt",
      "tokens a call",
      "tokens/s against AR",
      "within N/4",
    ],
    caption:
      "Calls: target calls, prefill outside. Tokens checked: fed to the target, roots included. In brackets 95 % " +
      "over prompts (t; for quotients that of the logarithm, with a prompt left out at a time)." +
      (asked ? "" : " No calls: the target is never asked.") +
      (placed ? " Iterations: passes over all places of a text that is written in place." : "") +
      (ranked ? " Within N/4: rounds whose last accepted token ranks in the first quarter." : ""),
    rows: section.methods.map((row) => [
      row.label,
      as.whole(row.calls || null),
      as.spread(row.calls ? row.calls_each : null, 1),
      ...(placed ? [as.whole(row.iterations || null)] : []),
      as.whole(row.calls ? row.tokens : null),
      as.spread(row.calls ? row.tokens_each : null, 0),
      as.spread(row.tau),
      as.spread(row.speedup),
      Object.hasOwn(section.figures, row.label) ? as.percent(within(section.figures[row.label])) : as.none,
    ]),
  };
}

/** Measures as columns: name, words, whether a share.
 * @type {[Exclude<keyof Quality, "responses" | "prompts" | "repeats">, string, boolean][]} */
const MEASURES = [
  ["accuracy", "right answers", true],
  ["accuracy_difference", "right, less AR's", true],
  ["majority", "right by majority", true],
  ["majority_difference", "majority, less AR's", true],
  ["bleu", "BLEU", false],
  ["bleu_relative", "BLEU, % of AR's", false],
  ["chrf", "chrF", false],
  ["rouge1", "ROUGE-1", false],
  ["rouge2", "ROUGE-2", false],
  ["rougeL", "ROUGE-L", false],
  ["same_as_ar", "same output as AR", true],
  ["response_tokens", "tokens a response", false],
];
/** @param {Section} section @param {Writing} as @returns {Table} */
function quality(section, as) {
  const rows = section.methods.filter((row) => row.quality?.accuracy || row.quality?.bleu || row.quality?.rougeL);
  return {
    name: "Quality",
    columns: ["method", ...MEASURES.map(([, words]) => words)],
    caption:
      "What fits the task: right answers (mean over repeats; with repeats also the answer of the majority), BLEU " +
      "and chrF of translations, ROUGE of summaries. In brackets 95 % over prompts: Wilson's score for shares, " +
      "Bonett and Price's for their differences, t for all else (of BLEU and chrF with a prompt left out at a time); " +
      "differences are paired by prompt.",
    rows: rows.map((row) => [
      row.label,
      ...MEASURES.map(([name, , share]) =>
        share ? as.shares(row.quality?.[name]) : as.spread(row.quality?.[name], 1),
      ),
    ]),
  };
}

const PAYS = { true: "yes", false: "no", null: "not known" };

/** What to use for which kind of prompt.
 * @param {readonly import("../types/measured.js").AdviceKind[]} kinds @param {string} where
 * @param {boolean} [plain] see `tablesOf` @returns {Table} */
export function adviceTable(kinds, where, plain = false) {
  const as = plain ? NUMBERS : WORDS;
  return told({
    name: "Advice",
    columns: ["prompts", "number", "method", "tokens/s against AR", "how", "pays", "close calls"],
    caption:
      `Times: ${where}. Among methods that keep the output. Computed: from recorded longer drafts, with the ` +
      "times of these runs; what they cost at other batch sizes is not in them. In brackets 95 % over prompts. " +
      "Close: rivals that these prompts do not tell from the best, and how many prompts would.",
    rows: kinds.map(({ kind, prompts, best, pays, close }) => [
      kind,
      prompts,
      best.label,
      as.spread(best.speedup),
      best.computed_from_gamma ? `computed from drafts of ${best.computed_from_gamma}` : "measured",
      PAYS[/** @type {"true" | "false" | "null"} */ (String(pays))],
      close
        .map((call) => `${call.label} (${call.prompts === null ? "as good" : `${call.prompts} prompts`})`)
        .join("; "),
    ]),
  });
}

/** What engines report beside own runs, in the lab's names.
 * @param {readonly import("../types/measured.js").Served[]} rows
 * @param {boolean} [plain] see `tablesOf` @returns {Table} */
export function servedTable(rows, plain = false) {
  const as = plain ? NUMBERS : WORDS;
  return told({
    name: "Serving engines",
    columns: [
      "",
      "of",
      "calls with a draft",
      "drafted",
      "accepted",
      "tokens a call",
      "accepted / drafted",
      "tokens/s",
      "not told",
    ],
    caption:
      "Calls that verified a draft, as engines count; tokens a call: accepted and one over these. In brackets " +
      "95 % over requests (t for calls, Wilson's score for shares); of one count, which does not tell its requests " +
      "apart, over its calls and draft tokens, as if these were independent, which is too " +
      "narrow. Not told: numbers of this lab that the file leaves open.",
    rows: rows.map((row) => [
      row.label,
      `${row.reports} ${row.of}`,
      as.whole(row.rounds),
      as.whole(row.drafted),
      as.whole(row.accepted),
      as.spread(row.tau),
      as.shares(row.accept_rate_drafted),
      row.tokens_per_s === null ? as.none : as.num(row.tokens_per_s, 1),
      row.lacks.join(", "),
    ]),
  });
}

/** @param {Section} section @param {Writing} as @returns {Table} */
function ablation(section, as) {
  return {
    name: "Mechanisms, one after the other",
    columns: ["with", "tokens a call", "calls", "calls saved", "tokens checked", "tokens saved", "tokens/s against AR"],
    caption:
      "DED: sure stretches are drafted deeper. TNP: and fewer nodes checked. DCA: prepared buffers are kept, which " +
      "changes times only. Saved: against the first row.",
    rows: section.ablation.map((row) => [
      row.method,
      as.num(row.tau),
      as.whole(row.calls),
      as.saved(row.calls_saved),
      as.whole(row.tokens),
      as.saved(row.tokens_saved),
      as.spread(row.speedup),
    ]),
  };
}

/** @param {Section} section @param {Writing} as @returns {Table} */
function granularity(section, as) {
  const names = [...new Set(section.granularity.flatMap((row) => Object.keys(row.overlap ?? {})))];
  return {
    name: "How fine the bins",
    columns: [
      "method",
      "rounds with an entropy",
      "accepted to the end",
      "learnt from",
      ...names.map((name) => `Jaccard ${name}`),
    ],
    caption:
      "Do regression trees of 4, 5, 6 layers call the same rounds low-entropy as one of 3? Jaccard overlap of the " +
      "two sets, 1 = the same; learnt from rounds whose surest path was accepted to its end (full), or from all " +
      "where these are fewer than 64.",
    rows: section.granularity.map((row) => [
      row.label,
      as.whole(row.samples),
      as.whole(row.full),
      row.rounds ?? "",
      ...(row.overlap
        ? names.map((name) => as.num(row.overlap?.[name]))
        : [row.missing ?? as.none, ...names.slice(1).map(() => "")]),
    ]),
  };
}

/** @param {Section} section @param {Writing} as @returns {Table} */
function time(section, as) {
  return {
    name: "Where the time goes",
    columns: ["method", "draft, s", "target, s", "other, s", "target's share", "other's share"],
    caption:
      "Seconds over all runs; other is neither drafter nor target: the decision of the bin, the rule, bookkeeping, " +
      "a reward model, a network that writes in place.",
    rows: section.methods.map((row) => {
      const draft = row.guarantee === "reference" ? 0 : row.draft_s; // without a drafter it is no draft's time
      const other = row.other_s + row.draft_s - draft;
      const total = draft + row.verify_s + other;
      return [
        row.label,
        as.num(draft),
        as.num(row.verify_s),
        as.num(other),
        as.percent(row.verify_s / total),
        as.percent(other / total),
      ];
    }),
  };
}

/** @param {Section} section @param {string} label @param {Writing} as @returns {Table} */
function bins(section, label, as) {
  const columns = section.figures[label]?.bins;
  return {
    name: `Bins of ${label}`,
    columns: ["bin", "rounds", "share", "mean entropy, nats", "tokens a call", "levels d′", "checked N′"],
    caption:
      "Bins by cumulative entropy, lowest first; the low bins draft deeper and check fewer nodes. Tokens a call: " +
      "accepted and one, also where the text ended with a draft token.",
    rows: (columns?.bin ?? []).map((bin, i) => [
      bin,
      as.whole(columns.rounds[i]),
      as.percent(columns.share[i]),
      as.num(columns.phi[i]),
      as.num(columns.tau[i]),
      as.num(columns.levels[i], 1),
      as.num(columns.n_verify[i], 1),
    ]),
  };
}
