// @ts-check
// Tables of pooled runs: methods compared, mechanisms added one by one, granularity, bins, time. Each is columns and
// rows.

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

/** Share of the rounds whose last accepted token ranks within a quarter of N.
 * @param {import("../types/measured.js").PoolTree} drawn @returns {number} */
const within = (drawn) => drawn.quantiles.share[drawn.quantiles.quantile.indexOf(0.25)];

/** The tables of a section that have rows. @param {Section} section
 * @param {string} label of the method whose bins are shown @returns {Table[]} */
export function tablesOf(section, label) {
  return [
    methods(section),
    quality(section),
    ablation(section),
    granularity(section),
    time(section),
    bins(section, label),
  ]
    .filter((table) => table.rows.length)
    .map(told);
}

/** @param {Section} section @returns {Table} */
function methods(section) {
  const ranked = section.methods.some((row) => Object.hasOwn(section.figures, row.label));
  return {
    name: "Methods",
    columns: [
      "method",
      "calls",
      "calls a prompt",
      "tokens checked",
      "tokens checked a prompt",
      "tokens a call",
      "tokens/s against AR",
      "within N/4",
    ],
    caption:
      "Calls: target calls, prefill outside. Tokens checked: fed to the target, roots included. In brackets 95 % " +
      "over prompts (t; for quotients that of the logarithm, with a prompt left out at a time)." +
      (ranked ? " Within N/4: rounds whose last accepted token ranks in the first quarter." : ""),
    rows: section.methods.map((row) => [
      row.label,
      whole(row.calls),
      spread(row.calls_each, 1),
      whole(row.tokens),
      spread(row.tokens_each, 0),
      spread(row.tau),
      spread(row.speedup),
      Object.hasOwn(section.figures, row.label) ? percent(within(section.figures[row.label])) : "–",
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
/** @param {Interval | null | undefined} value */
const shares = (value) =>
  !value
    ? "–"
    : value.low === null
      ? saved(value.mean)
      : `${saved(value.mean)} (${saved(value.low)} to ${saved(value.high)})`;

/** @param {Section} section @returns {Table} */
function quality(section) {
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
      ...MEASURES.map(([name, , share]) => (share ? shares(row.quality?.[name]) : spread(row.quality?.[name], 1))),
    ]),
  };
}

const PAYS = { true: "yes", false: "no", null: "not known" };

/** What to use for which kind of prompt.
 * @param {readonly import("../types/measured.js").AdviceKind[]} kinds @param {string} where @returns {Table} */
export function adviceTable(kinds, where) {
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
      spread(best.speedup),
      best.computed_from_gamma ? `computed from drafts of ${best.computed_from_gamma}` : "measured",
      PAYS[/** @type {"true" | "false" | "null"} */ (String(pays))],
      close
        .map((call) => `${call.label} (${call.prompts === null ? "as good" : `${call.prompts} prompts`})`)
        .join("; "),
    ]),
  });
}

/** What engines report beside own runs, in the lab's names.
 * @param {readonly import("../types/measured.js").Served[]} rows @returns {Table} */
export function servedTable(rows) {
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
      whole(row.rounds),
      whole(row.drafted),
      whole(row.accepted),
      spread(row.tau),
      shares(row.accept_rate_drafted),
      row.tokens_per_s === null ? "–" : num(row.tokens_per_s, 1),
      row.lacks.join(", "),
    ]),
  });
}

/** @param {Section} section @returns {Table} */
function ablation(section) {
  return {
    name: "Mechanisms, one after the other",
    columns: ["with", "tokens a call", "calls", "calls saved", "tokens checked", "tokens saved", "tokens/s against AR"],
    caption:
      "DED: sure stretches are drafted deeper. TNP: and fewer nodes checked. DCA: prepared buffers are kept, which " +
      "changes times only. Saved: against the first row.",
    rows: section.ablation.map((row) => [
      row.method,
      num(row.tau),
      whole(row.calls),
      saved(row.calls_saved),
      whole(row.tokens),
      saved(row.tokens_saved),
      spread(row.speedup),
    ]),
  };
}

/** @param {Section} section @returns {Table} */
function granularity(section) {
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
      whole(row.samples),
      whole(row.full),
      row.rounds ?? "",
      ...(row.overlap
        ? names.map((name) => num(row.overlap?.[name]))
        : [row.missing ?? "–", ...names.slice(1).map(() => "")]),
    ]),
  };
}

/** @param {Section} section @returns {Table} */
function time(section) {
  return {
    name: "Where the time goes",
    columns: ["method", "draft, s", "target, s", "other, s", "target's share", "other's share"],
    caption:
      "Seconds over all runs; other is neither drafter nor target: the decision of the bin, the rule, bookkeeping.",
    rows: section.methods.map((row) => {
      const draft = row.guarantee === "reference" ? 0 : row.draft_s; // without a drafter it is no draft's time
      const other = row.other_s + row.draft_s - draft;
      const total = draft + row.verify_s + other;
      return [
        row.label,
        num(draft),
        num(row.verify_s),
        num(other),
        percent(row.verify_s / total),
        percent(other / total),
      ];
    }),
  };
}

/** @param {Section} section @param {string} label @returns {Table} */
function bins(section, label) {
  const columns = section.figures[label]?.bins;
  return {
    name: `Bins of ${label}`,
    columns: ["bin", "rounds", "share", "mean entropy, nats", "tokens a call", "levels d′", "checked N′"],
    caption:
      "Bins by cumulative entropy, lowest first; the low bins draft deeper and check fewer nodes. Tokens a call: " +
      "accepted and one, also where the text ended with a draft token.",
    rows: (columns?.bin ?? []).map((bin, i) => [
      bin,
      whole(columns.rounds[i]),
      percent(columns.share[i]),
      num(columns.phi[i]),
      num(columns.tau[i]),
      num(columns.levels[i], 1),
      num(columns.n_verify[i], 1),
    ]),
  };
}
