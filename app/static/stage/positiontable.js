// @ts-check
// The same position in every method, in words and numbers: what the score shows, for eyes and ears that need a table.

import { columns, nameOf } from "../columns.js";
import { h } from "../dom.js";
import { fmt, importance, nats, pieceOf, prob, SIGNS, stateOf } from "../draw.js";
import { tcrOf } from "../numbers.js";
import { draftOf } from "../run/canvas.js";
import { stepOf } from "../run/steps.js";
import { across } from "../run.js";
import { partsAt, referenceOf } from "./bands.js";

/**
 * @typedef {import("../types/store.js").Store} Store
 * @typedef {import("../types/store.js").Run} Run
 */

/** What a run has at a position. @param {Store} store @param {Run} run @param {number} pos */
export function entryAt(store, run, pos) {
  const column = columns(run)[pos];
  const parts = partsAt(store, run, referenceOf(store));
  const other = parts !== null && pos >= parts;
  if (!column || column.round >= store.visibleRounds(run)) {
    const ended = run.end && !column;
    const why =
      pos < 0 ? "given: this beginning was forced" : ended ? `ended at ${run.tokens.length}` : "not there yet";
    return { column: null, words: why, other };
  }
  const round = run.rounds[column.round];
  const { node, token } = column;
  const state = column.ghost && node?.state === "vetoed" ? "vetoed" : stateOf(token, column.ghost ? null : node);
  return { column, round, node, token, state, other, tcr: draftOf(round) ? tcrOf(round) : null };
}

/** One line of a method at a position: "accepted, p 0.44, draft rank 2".
 * @param {Store} store @param {Run} run @param {number} pos @returns {string} */
export function lineAt(store, run, pos) {
  const entry = entryAt(store, run, pos);
  if (!entry.column) return entry.words;
  const { column, node, token, state, other } = entry;
  const parts = [];
  if (column.ghost && node) {
    const p = node.p != null ? `, p ${prob(node.p)}` : "";
    parts.push(`${pieceOf(run, node.token, 12)} ${node.state}${p}, ${pieceOf(run, token.token, 12)} instead`);
  } else {
    parts.push(SIGNS[state]?.label ?? state);
    if (node?.p != null) parts.push(`p ${prob(node.p)}`);
    if (node?.q != null) parts.push(`q ${prob(node.q)}`);
    if (node?.rank != null && entry.round.drafted > entry.round.levels) parts.push(`draft rank ${node.rank}`);
  }
  const step = node && stepOf(entry.round);
  if (step) parts.push(`step score ${prob(step.score)}`);
  if (node?.judge != null) parts.push(`judge ${importance(node.judge)}`);
  if (other) parts.push("another text");
  return parts.join(", ");
}

/** A rank among a round's draft tokens, of which its root is none, as the details have it: "5 of 5".
 * @param {Pick<import("../types/trace.js").Round, "drafted">} round @param {number | null} rank */
export const rankSaid = ({ drafted }, rank) => (rank === null ? "–" : `${rank} of ${drafted}`);

/** @param {Store} store @param {() => string[]} order */
export function positionTable(store, order) {
  const summary = h("summary", {}, "Table of a position");
  const body = h("tbody");
  const names = [
    "Method",
    "Token",
    "Decision",
    "H draft, nats",
    "H target, nats",
    "Overlap",
    "P(accept)",
    "Terminal confidence rank",
    "Importance",
  ];
  const element = h(
    "details.position",
    { ontoggle: () => update() },
    summary,
    h(
      "table",
      {},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          names.map((name) => h("th", { scope: "col" }, name)),
        ),
      ),
      body,
    ),
  );
  const focus = () => store.cursor ?? store.hover;

  function update() {
    const at = focus();
    const pos = at?.pos;
    const from = at && store.runs.get(at.run);
    summary.textContent = pos == null ? "Table of a position" : `Table of position ${pos}`;
    if (!element.open) return;
    if (pos == null) {
      body.replaceChildren(h("tr", {}, h("td", { colspan: names.length }, "Choose a position.")));
      return;
    }
    const runs = order().flatMap((key) => store.runs.get(key) ?? []);
    body.replaceChildren(...runs.map((run) => row(run, from ? across(from, run, pos) : pos)));
  }

  /** @param {Run} run @param {number} pos */
  function row(run, pos) {
    const entry = entryAt(store, run, pos);
    const name = h("th", { scope: "row" }, nameOf(store, run));
    if (!entry.column) return h("tr", {}, name, h("td", { colspan: names.length - 1 }, entry.words));
    const { node, token, state, tcr, round } = entry;
    const cells = [
      pieceOf(run, token.token),
      `${SIGNS[state]?.label ?? state}${entry.other ? ", another text" : ""}`,
      nats(token.h_draft ?? node?.h_draft),
      nats(token.h_target ?? node?.h_target),
      fmt(node?.overlap ?? null),
      prob(node?.accept_prob),
      rankSaid(round, tcr),
      importance(node?.judge),
    ];
    return h(
      "tr",
      {},
      name,
      cells.map((cell) => h("td", {}, cell)),
    );
  }

  return {
    element,
    update,
    /** @param {import("../types/store.js").Selection} sel @returns {string} */
    sentence({ run: key, pos }) {
      const run = store.runs.get(key);
      const token = pos === null ? null : run?.tokens[pos];
      if (!run || !token) return `position ${pos}`;
      return `${nameOf(store, run)}, position ${pos}: ${pieceOf(run, token.token)}, ${lineAt(store, run, token.pos)}`;
    },
  };
}
