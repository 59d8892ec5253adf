/** Rules that compare a recorded number with a knob: one table for the lines in charts and for what-if.
 * A rule applies when the run's knobs have all of `needs`; nothing here knows a method by name. */

/** @typedef {{id: string, needs: string[], lines: {row: string, knob: string, above: string}[], words: string,
 *   fires: (node: any, knobs: any) => boolean|null, changes: (node: any, fires: boolean, fired: boolean) => boolean}} Threshold */

const has = (...values) => values.every((value) => value !== null && value !== undefined);
const on = (value) => value !== false;

/** @type {Threshold[]} */
export const THRESHOLDS = [
  {
    id: "entropy",
    needs: ["tau_entropy"],
    lines: [{ row: "entropy", knob: "tau_entropy" }, { row: "overlap", knob: "tau_overlap" }],
    words: "the veto fires where the entropies exceed their threshold and the overlap reaches its own",
    fires: (node, knobs) => {
      if (!has(node.h_target)) return null;
      const draft = !on(knobs.use_draft_entropy) || !has(node.h_draft) || node.h_draft > knobs.tau_entropy;
      const overlap = !on(knobs.use_overlap) || !has(knobs.tau_overlap) || !has(node.overlap) || node.overlap >= knobs.tau_overlap - 1e-9;
      return draft && node.h_target > knobs.tau_entropy && overlap;
    },
    // A veto matters where the strict rule would have kept the guess; a refused guess stays refused.
    changes: (node, fires) => (node.state === "vetoed" ? !fires : node.state !== "rejected" && fires),
  },
  {
    id: "judge",
    needs: ["threshold"],
    lines: [{ row: "judge", knob: "threshold" }],
    words: "a mismatch is kept where the judge's importance lies below the threshold",
    fires: (node, knobs) => (has(node.judge) ? node.judge < knobs.threshold : null),
    changes: (node, fires, fired) => fires !== fired,
  },
];

/** The rules of the table that a run uses. @param {any} run @returns {Threshold[]} */
export function rulesOf(run) {
  const knobs = run?.head?.knobs ?? {};
  const recorded = { entropy: "h_target", judge: "judge" };
  return THRESHOLDS.filter((rule) => rule.needs.every((name) => typeof knobs[name] === "number"))
    .filter((rule) => rule.id !== "judge" || run.rounds.some((round) => round.nodes?.some((node) => has(node[recorded.judge]))));
}

/** The lines to draw in a row of the ribbon. @param {any} run @param {string} row @param {any=} knobs @returns {{knob: string, value: number}[]} */
export function linesOf(run, row, knobs = run?.head?.knobs ?? {}) {
  return rulesOf(run).flatMap((rule) => rule.lines)
    .filter((line) => line.row === row && typeof knobs[line.knob] === "number")
    .map((line) => ({ knob: line.knob, value: knobs[line.knob] }));
}

/** What a run's recorded guesses would have met under other knobs, up to the first decision that changes.
 * @param {any} run @param {any} knobs the moved knobs @param {number} upto rounds to look at
 * @returns {{marks: number[], was: number[], changed: {pos: number, round: number, node: number}|null, known: number}} */
export function replay(run, knobs, upto = run.rounds.length) {
  const rules = rulesOf(run);
  const result = { marks: [], was: [], changed: null, known: 0 };
  const first = run.head.knobs;
  for (let r = 0; r < upto; r += 1) {
    const round = run.rounds[r];
    for (let i = 0; i < (round.nodes?.length ?? 0); i += 1) {
      const node = round.nodes[i];
      if (node.state === "discarded") continue;
      for (const rule of rules) {
        const now = rule.fires(node, knobs);
        if (now === null) continue;
        const before = rule.fires(node, first);
        const pos = round.start + node.depth - 1;
        result.known += 1;
        if (before) result.was.push(pos);
        if (now) result.marks.push(pos);
        if (!result.changed && now !== before && rule.changes(node, now, before)) result.changed = { pos, round: r, node: i };
      }
    }
  }
  return result;
}
