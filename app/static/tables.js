// @ts-check
// Traces as flat tables; column names are those of engine.analysis.tables. Lanes of one method are told apart by
// `lane`, the key of the run, and by `label`, the name that the page shows.

/**
 * @typedef {import("./types/store.js").Run} Run
 * @typedef {(run: Run) => string} Label what the page calls a lane
 * @typedef {readonly Run[]} Runs
 * @typedef {{columns: (runs: Runs) => string[], rows: (runs: Runs, label: Label) => unknown[][]}} Table
 */

/** @param {object} item @param {string[]} names */
const value = (item, names) => names.map((name) => /** @type {Record<string, unknown>} */ (item)[name]);
const LANE = ["lane", "label", "method"];
/** @param {Run} run @param {Label} label */
const lane = (run, label) => [run.key, label(run), run.head?.method];
const TOKEN = "pos token piece origin round node h_draft h_target".split(" ");
const NODE = [
  ..."depth rank q score h_draft h_target overlap p accept_prob u state rule reason source".split(" "),
  ..."judge confidence margin top_draft top_target".split(" "),
];
const ROUND = "start drafted fed levels accepted emitted tcr draft_ms verify_ms other_ms".split(" ");

/** The names of all extras of the rounds. @param {Runs} runs */
const extras = (runs) => [...new Set(runs.flatMap((run) => run.rounds.flatMap((round) => Object.keys(round.extras))))];

/** @type {Record<string, Table>} */
export const tables = {
  tokens: {
    columns: () => [...LANE, ...TOKEN],
    rows: (runs, label) =>
      runs.flatMap((run) => {
        const own = lane(run, label);
        return run.tokens.map((token) => [...own, ...value(token, TOKEN)]);
      }),
  },
  nodes: {
    columns: () => [...LANE, "round", "node", "token", "piece", "parent", ...NODE],
    rows: (runs, label) =>
      runs.flatMap((run) => {
        const own = lane(run, label);
        return run.rounds.flatMap((round) =>
          round.nodes.map((node, i) => [
            ...own,
            round.index,
            i,
            node.token,
            run.pieces.get(node.token),
            node.parent,
            ...value(node, NODE),
          ]),
        );
      }),
  },
  rounds: {
    columns: (runs) => [...LANE, "round", ...ROUND, ...extras(runs).map((name) => `x_${name}`)],
    rows: (runs, label) => {
      const names = extras(runs);
      return runs.flatMap((run) => {
        const own = lane(run, label);
        return run.rounds.map((round) => [...own, round.index, ...value(round, ROUND), ...value(round.extras, names)]);
      });
    },
  },
};
