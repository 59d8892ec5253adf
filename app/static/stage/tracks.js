// @ts-check
// The tracks of a band: what each reads of a run, its scale, and who paints it.

import { flagged, unflagged } from "../flags.js";
import { drafted } from "../numbers.js";
import { iterations } from "../run/canvas.js";
import { overlapN } from "../thresholds.js";
import { bandOf } from "./bands.js";
import { extent, numberTrack } from "./numbertracks.js";
import {
  bars,
  base,
  judged,
  levels,
  paintImportance,
  paintIterations,
  paintSpans,
  paintSteps,
  paintTcr,
  paintTree,
  thresholds,
} from "./trackpaint.js";

/**
 * @typedef {import("../types/store.js").Run} Run
 * @typedef {import("../columns.js").Column} Column
 * @typedef {{id: string, name: string, title: string, height: number, none: string, still?: string,
 *   label: (run: Run) => string, unit?: string, tall?: (run: Run) => number, rare?: boolean,
 *   word?: import("../words.js").Anchor, has: (run: Run) => boolean, top: (run: Run) => number,
 *   paint: (ctx: import("../types/pen.js").Pen, view: import("./trackpaint.js").View) => void}} Track
 *   `still`: `none` in a picture; `unit`: told where no limit takes its room; `tall`: the height in a run's band, where
 *   runs differ; `rare`: left out of all bands while no run on the stage has it; `word`: its entry in the glossary
 */

const hTarget = (/** @type {Column} */ column) => column.token.h_target ?? column.node?.h_target ?? null;
const hDraft = (/** @type {Column} */ column) => column.token.h_draft ?? column.node?.h_draft ?? null;
const higher = (/** @type {Column} */ column) => Math.max(hTarget(column) ?? -Infinity, hDraft(column) ?? -Infinity);
const keep = (/** @type {Column} */ column) => column.node?.accept_prob ?? null;
const common = (/** @type {Column} */ column) => column.node?.overlap ?? null;
const hasOverlap = (/** @type {Run} */ run) => extent(run, "overlap", common) >= 0;

const ROW = 10; // pixels of an iteration
const IN_ALL = 80; // and of all of them, at most

/** @type {Track[]} */
export const TRACKS = [
  {
    id: "spans",
    name: "Spans",
    title:
      "Accepted runs, corrections, bonus, relaxed, vetoed; below: rejected draft tokens, and a bracket under each " +
      "drafted step that a reward model scored (dashed: rejected)",
    height: 18,
    none: "no tokens",
    label: () => "",
    has: () => true,
    top: () => 1,
    paint: paintSpans,
  },
  {
    id: "iterations",
    name: "Iterations",
    title:
      "Of a text that is written in place, a row an iteration: full colour where it wrote, pale where an earlier one " +
      "had, a frame where nothing stands yet",
    height: 18,
    tall: (run) => Math.round(Math.min(IN_ALL, ROW * Math.max(1, iterations(run)))),
    none: "not written in place",
    label: () => "iterations",
    rare: true,
    has: (run) => run.rounds.some((round) => round.canvas?.length),
    top: () => 1,
    paint: paintIterations,
  },
  {
    id: "entropy",
    name: "Entropies",
    title:
      "Entropy of both distributions at the token's place, nats, one scale in all bands: " +
      "draft filled, target as a line",
    height: 28,
    none: "no entropies",
    label: () => "entropy",
    unit: "nats",
    word: "entropy",
    has: (run) => extent(run, "h", higher) >= 0,
    top: (run) => extent(run, "h", higher),
    paint(ctx, view) {
      base(ctx, view);
      bars(ctx, view, hDraft, "--draft-soft");
      levels(ctx, view, hDraft, "--draft-2");
      levels(ctx, view, hTarget, "--target");
      thresholds(ctx, view, "entropy");
    },
  },
  {
    id: "overlap",
    name: "Overlap",
    title: "Share of tokens that the first n choices of draft and target have in common",
    height: 12,
    none: "no overlap",
    label: (run) => (hasOverlap(run) ? `overlap@${overlapN(run)}` : "overlap"),
    word: "overlap",
    has: hasOverlap,
    top: () => 1,
    paint(ctx, view) {
      base(ctx, view);
      bars(ctx, view, common, "--overlap");
      thresholds(ctx, view, "overlap");
    },
  },
  {
    id: "keep",
    name: "P(accept)",
    title: "Probability that the rule accepts the draft token; the dark stroke is the number drawn",
    height: 16,
    none: "no tests",
    label: () => "P(accept)",
    word: "acceptance-probability",
    has: (run) => extent(run, "keep", keep) >= 0,
    top: () => 1,
    paint(ctx, view) {
      base(ctx, view);
      bars(ctx, view, keep, (column) => (column.ghost ? "--target-2" : "--draft-2"));
      if (view.sampled) levels(ctx, view, (column) => column.node?.u, "--ink");
    },
  },
  {
    id: "steps",
    name: "Step scores",
    title:
      "Score of each drafted step by the reward model, dashed line: what it had to reach. " +
      "Filled: accepted without a target call. Empty: rejected, the target writes the step",
    height: 18,
    none: "no steps",
    label: () => "step score",
    word: "drafted-step",
    rare: true,
    has: (run) => bandOf(run).steps.length > 0,
    top: () => 1,
    paint: paintSteps,
  },
  {
    id: "tree",
    name: "Trees",
    title: "Draft tokens at each depth of a round, one logarithmic scale in all bands; the line is the accepted path",
    height: 26,
    none: "no drafts",
    label: () => "draft breadth",
    word: "draft-tree",
    has: (run) => run.rounds.some((round) => round.drafted > 0), // what beams hold has a breadth, too
    top: () => 1,
    paint: paintTree,
  },
  {
    id: "tcr",
    name: "Terminal confidence rank",
    title:
      "Terminal confidence rank (TCR) of a round: the rank of its last accepted draft token, over N; " +
      "dark within the first quarter",
    height: 14,
    none: "no drafts",
    label: () => "TCR, rank / N",
    word: "tcr",
    has: (run) => drafted(run.rounds),
    top: () => 1,
    paint: paintTcr,
  },
  {
    id: "importance",
    name: "Importance",
    title: "Flags: what swapping the token did to the answer (mined). Bars and triangles: what a judge thought",
    height: 20,
    get none() {
      return unflagged();
    },
    get still() {
      return unflagged(true);
    },
    label: () => "importance",
    word: "importance",
    has: (run) => extent(run, "judge", judged) >= 0 || flagged(run),
    top: () => 1,
    paint: paintImportance,
  },
];

/** The track of an id; ids that are no track of the table name a recorded number. @param {string} id
 * @returns {Track} */
export function trackOf(id) {
  return TRACKS.find((track) => track.id === id) ?? numberTrack(id);
}
