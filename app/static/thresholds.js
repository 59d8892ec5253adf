/** Rules that compare a recorded number with a knob: one table for the lines in charts and for what-if.
 * A rule applies when the run's knobs have all of `needs`; nothing here knows a method by name. */

const known = (...values) => values.every((value) => value !== null && value !== undefined);
const TINY = 1e-9;

/** The n of the recorded overlap@n where the rule has none of its own (docs 0003). */
const OVERLAP_N = 5;

/** The n of a run's overlap@n. @param {any} run @returns {number} */
export const overlapN = (run) => run?.head?.knobs?.overlap_n ?? OVERLAP_N;

/** A guess's overlap@n; older traces recorded it at 5 whatever the rule's n. @param {any} run @param {any} node @returns {number|null} */
export function overlapAt(run, node) {
  const n = overlapN(run);
  return !node || n === OVERLAP_N ? (node?.overlap ?? null) : overlapOf(node, n);
}

/** The share of common tokens in both first-n lists, from the lists where they are there. */
function overlapOf(node, given) {
  if (!node.top_draft?.length || !node.top_target?.length) return node.overlap ?? null;
  const n = Math.min(given ?? OVERLAP_N, node.top_draft.length, node.top_target.length);
  const draft = new Set(node.top_draft.slice(0, n).map((entry) => entry[0]));
  return node.top_target.slice(0, n).filter((entry) => draft.has(entry[0])).length / n;
}

function vetoes(node, knobs) {
  const reason = node.reason ?? {};
  const h_draft = reason.h_draft ?? node.h_draft;
  const h_target = reason.h_target ?? node.h_target;
  const overlap = reason.overlap ?? overlapOf(node, knobs.overlap_n);
  if (!known(h_draft, h_target, overlap)) return null;
  if ((knobs.entropy_temperature ?? 1) !== 1 && !known(reason.h_draft)) return null; // the node's own are at temperature 1
  const tau = knobs.tau_entropy_draft >= 0 ? knobs.tau_entropy_draft : knobs.tau_entropy;
  const without = knobs.ablation ?? "none";
  const agree =
    without === "no_overlap" ||
    without === "target_entropy_only" ||
    (knobs.overlap_cmp === "gt" ? overlap > knobs.tau_overlap : overlap >= knobs.tau_overlap - TINY);
  const unsure = without === "no_draft_entropy" || without === "target_entropy_only" || h_draft > tau;
  return h_target > knobs.tau_entropy && unsure && agree;
}

function withinGap(node, knobs) {
  const { rank, gap, confidence } = node.reason ?? {};
  if (!known(rank, gap)) return null;
  const moved = !known(confidence)
    ? 0
    : knobs.tau_gamma * (knobs.threshold_mode === "text" ? confidence : 1 - confidence);
  return rank <= knobs.top_beta && gap <= knobs.tau_base + moved;
}

const strictlyKept = (node) => node.state === "accepted" || node.state === "vetoed";

/** @typedef {{id: string, needs: string[], sliders: string[], lines: {row: string, knob: string}[], says: string,
 *   fires: (node: any, knobs: any) => boolean|null, matters: (node: any, greedy: boolean, knobs: any) => boolean}} Threshold
 * `fires`: what the rule says of a guess under some knobs, null when the trace cannot tell; `matters`: whether that decides its fate. */

/** @type {Threshold[]} */
export const THRESHOLDS = [
  {
    id: "veto",
    needs: ["tau_entropy", "tau_overlap"],
    sliders: ["tau_entropy", "tau_overlap"],
    lines: [
      { row: "entropy", knob: "tau_entropy" },
      { row: "overlap", knob: "tau_overlap" },
    ],
    says: "vetoed where both entropies exceed tau_entropy and the overlap reaches tau_overlap",
    fires: vetoes,
    // When greedy a veto of a guess that is refused anyway changes nothing; when sampling it changes the law of the correction.
    matters: (node, greedy, knobs) => !greedy || (knobs.penalize ?? "proposed") !== "proposed" || strictlyKept(node),
  },
  {
    id: "gap",
    needs: ["top_beta", "tau_base", "tau_gamma"],
    sliders: ["top_beta", "tau_base", "tau_gamma"],
    lines: [],
    says: "kept where the guess is among the target's first top_beta and within the gap threshold",
    fires: withinGap,
    matters: () => true,
  },
  {
    id: "top",
    needs: ["accept_k"],
    sliders: ["accept_k"],
    lines: [],
    says: "kept where the guess is among the target's first accept_k",
    fires: (node, knobs) => (known(node.reason?.rank) ? node.reason.rank <= knobs.accept_k : null),
    matters: (node) => !strictlyKept(node),
  },
  {
    id: "symbols",
    needs: ["math_k"],
    sliders: ["math_k"],
    lines: [],
    says: "kept where no symbol matters and the guess is among the target's first math_k (0: any)",
    fires: (node, knobs) =>
      known(node.reason?.rank) && node.reason.found !== undefined
        ? node.reason.found === null && (knobs.math_k === 0 || node.reason.rank <= knobs.math_k)
        : null,
    matters: (node) => !strictlyKept(node),
  },
  {
    id: "judge",
    needs: ["judge_threshold"],
    sliders: ["judge_threshold"],
    lines: [{ row: "judge", knob: "judge_threshold" }],
    says: "kept although the target prefers another, where the judge's importance lies below the threshold",
    fires: (node, knobs) =>
      known(node.reason?.score ?? node.judge) ? (node.reason?.score ?? node.judge) < knobs.judge_threshold : null,
    matters: (node) => !strictlyKept(node),
  },
];

/** The knobs as they acted: a judge's own threshold (-1) is replaced by the one its decisions recorded.
 * @param {any} run @returns {any} */
export function knobsOf(run) {
  const knobs = run?.head?.knobs ?? {};
  if (!(knobs.judge_threshold < 0)) return knobs;
  const told = run.rounds.find((round) => known(round.extras?.judge_threshold))?.extras.judge_threshold;
  return known(told) ? { ...knobs, judge_threshold: told } : knobs;
}

/** The rules of the table that a run uses. @param {any} run @returns {Threshold[]} */
export function rulesOf(run) {
  const knobs = run?.head?.knobs ?? {};
  return THRESHOLDS.filter((rule) => rule.needs.every((name) => typeof knobs[name] === "number"));
}

/** The lines to draw in a row of numbers. @param {any} run @param {string} row @param {any=} knobs @returns {{knob: string, value: number}[]} */
export function linesOf(run, row, knobs = knobsOf(run)) {
  return rulesOf(run)
    .flatMap((rule) => rule.lines)
    .filter((line) => line.row === row && typeof knobs[line.knob] === "number")
    .map((line) => ({ knob: line.knob, value: knobs[line.knob] }));
}

/** What a run's recorded guesses would have met under other knobs, up to the first decision that changes.
 * @param {any} run @param {any} knobs the moved knobs @param {number=} upto rounds to look at
 * @returns {{marks: number[], was: number[], known: number, changed: {pos: number, round: number, node: number}|null}} */
export function replay(run, knobs, upto = run.rounds.length) {
  const greedy = !((run.head?.sampling?.temperature ?? 0) > 0);
  const first = knobsOf(run);
  const result = { marks: [], was: [], known: 0, changed: null };
  for (let r = 0; r < upto; r += 1) {
    const round = run.rounds[r];
    (round.nodes ?? []).forEach((node, i) => {
      if (node.state === "discarded") return;
      for (const rule of rulesOf(run)) {
        const now = rule.fires(node, knobs);
        if (now === null) continue;
        const before = rule.fires(node, first);
        const pos = round.start + node.depth - 1;
        result.known += 1;
        if (before) result.was.push(pos);
        if (now) result.marks.push(pos);
        if (!result.changed && now !== before && rule.matters(node, greedy, first))
          result.changed = { pos, round: r, node: i };
      }
    });
  }
  return result;
}
