// @ts-check
// Traces as flat tables; column names are those of engine.analysis.tables.

/**
 * @typedef {import("./types/store.js").Run} Run
 * @typedef {{columns: string[], rows: (runs: Run[]) => unknown[][]}} Table
 */

/** @param {object} item @param {string[]} names */
const value = (item, names) => names.map((name) => /** @type {Record<string, unknown>} */ (item)[name]);
const NODE = [
  ..."depth rank q score h_draft h_target overlap p accept_prob u state rule reason source".split(" "),
  ..."judge confidence margin top_draft top_target".split(" "),
];
const ROUND = "start drafted fed levels accepted emitted tcr draft_ms verify_ms other_ms".split(" ");

/** @type {Record<string, Table>} */
export const tables = {
  tokens: {
    columns: "method pos token piece origin round node h_draft h_target".split(" "),
    rows: (runs) =>
      runs.flatMap((run) =>
        run.tokens.map((token) => [
          run.head?.method,
          ...value(token, "pos token piece origin round node h_draft h_target".split(" ")),
        ]),
      ),
  },
  nodes: {
    columns: ["method", "round", "node", "token", "piece", "parent", ...NODE],
    rows: (runs) =>
      runs.flatMap((run) =>
        run.rounds.flatMap((round) =>
          round.nodes.map((node, i) => [
            run.head?.method,
            round.index,
            i,
            node.token,
            run.pieces.get(node.token),
            node.parent,
            ...value(node, NODE),
          ]),
        ),
      ),
  },
  rounds: {
    columns: ["method", "round", ...ROUND, "extras"],
    rows: (runs) =>
      runs.flatMap((run) =>
        run.rounds.map((round) => [run.head?.method, round.index, ...value(round, ROUND), round.extras]),
      ),
  },
};
