// @ts-check
// A card beside the pointer for the token under it, in any view of the stage: its numbers and why it came out so.

import { columns, nameOf, samples } from "../columns.js";
import { h } from "../dom.js";
import { hideTip, nats, pieceOf, prob, rich, SIGNS, showTip, stateOf } from "../draw.js";
import { flagsAt } from "../flags.js";
import { passageOf, passageText } from "../passage.js";
import { cellAt, isFresh } from "../run/canvas.js";
import { stepOf, stepWords } from "../run/steps.js";
import { partsAt, referenceOf } from "./bands.js";

const WAIT = 90; // ms, so that a pointer on its way shows nothing

/** @typedef {import("../types/store.js").Store} Store */

/** The lines of a selection. @param {Store} store @param {import("../types/store.js").Place} sel
 * @returns {(string|Node)[]} */
export function cardLines(store, sel) {
  const run = sel.run && store.runs.get(sel.run);
  if (!run) return [];
  const column = sel.pos == null ? null : columns(run)[sel.pos];
  const round = run.rounds[sel.round ?? column?.round ?? -1];
  if (!round) return [];
  const cell = cellAt(round, sel.pos ?? null);
  if (cell) return canvasLines(store, run, round, sel.pos ?? 0, cell);
  const token = sel.node == null || column?.token.node === sel.node ? (column?.token ?? null) : null;
  const node = sel.node != null ? round.nodes?.[sel.node] : (column?.node ?? null);
  const id = (token ?? node)?.token;
  const state = token ? stateOf(token, column?.ghost ? null : node) : node?.state;
  const why = token?.why ?? node?.why;
  const h1 = token?.h_draft ?? node?.h_draft;
  const h2 = token?.h_target ?? node?.h_target;
  const passage = passageOf(run, node);
  const parts = partsAt(store, run, referenceOf(store));
  const step = stepOf(round);
  const kind = samples(run) ? "sampled distribution" : "raw distribution";
  const numbers = [
    node?.p != null ? `p ${prob(node.p)}` : "",
    node?.q != null ? `q ${prob(node.q)}` : "",
    node?.accept_prob != null ? `P(accept) ${prob(node.accept_prob)}` : "",
  ].filter(Boolean);
  const entropies = [h1 != null ? `draft ${nats(h1)}` : "", h2 != null ? `target ${nats(h2)}` : ""].filter(Boolean);
  return [
    `${id === undefined ? "?" : pieceOf(run, id)}  ${SIGNS[state ?? ""]?.label ?? state ?? ""}`,
    `${nameOf(store, run)}, position ${sel.pos}, round ${sel.round ?? column?.round}`,
    column?.ghost && token && node ? `${node.state} there: ${pieceOf(run, node.token)}` : "",
    step ? stepWords(step) : "",
    numbers.length ? `${numbers.join(", ")} (${kind})` : "",
    entropies.length ? `entropy: ${entropies.join(", ")} nats` : "",
    ...(token && sel.pos != null ? flagsAt(run, sel.pos).map((flag) => flag.words) : []),
    parts !== null && sel.pos != null && sel.pos >= parts
      ? `another text than the reference since position ${parts}`
      : "",
    why ? h("span.why", {}, ...rich(why)) : "",
    passage ? h("span", {}, passageText(passage), " (s: go there)") : "",
  ].filter(Boolean);
}

/** The lines of a place of a text that is written in place. @param {Store} store
 * @param {import("../types/store.js").Run} run @param {import("../types/trace.js").Round} round @param {number} pos
 * @param {import("../types/trace.js").Cell} cell */
function canvasLines(store, run, round, pos, cell) {
  const past = run.rounds.slice(0, round.index + 1).flatMap((one) => {
    const there = cellAt(one, pos);
    const fresh = there && isFresh(one, there) && one.canvas?.length === round.canvas?.length;
    return fresh
      ? [`${there.iteration}: ${pieceOf(run, there.token)}${there.q == null ? "" : ` ${prob(there.q)}`}`]
      : [];
  });
  return [
    `${cell.iteration ? pieceOf(run, cell.token) : "nothing yet"}  ${SIGNS.placed.label}`,
    `${nameOf(store, run)}, position ${pos}, iteration ${round.extras.iteration}`,
    past.length > 1 ? `written here: ${past.join(" → ")}` : "",
    cell.why ? h("span.why", {}, ...rich(cell.why)) : "",
  ].filter(Boolean);
}

/** @param {Store} store */
export function watchCards(store) {
  let [x, y] = [0, 0];
  let inside = false;
  let timer = 0;
  let shown = false;
  addEventListener(
    "pointermove",
    (event) => {
      [x, y] = [event.clientX, event.clientY];
      const target = /** @type {HTMLElement} */ (event.target);
      inside =
        event.pointerType !== "touch" &&
        Boolean(target.closest?.("[data-stage]")) &&
        !target.closest(".v-treebox, .shares, .v-aggregates");
    },
    { passive: true, capture: true },
  );
  const hide = () => {
    clearTimeout(timer);
    if (shown) hideTip();
    shown = false;
  };
  store.on("hover", () => {
    clearTimeout(timer);
    if (!store.hover || !inside) return hide();
    timer = setTimeout(
      () => {
        const lines = store.hover && inside ? cardLines(store, store.hover) : [];
        if (!lines.length) return hide();
        showTip(x, y, lines);
        shown = true;
      },
      shown ? 0 : WAIT,
    );
  });
  for (const topic of /** @type {const} */ (["cursor", "runs", "options"])) store.on(topic, hide);
}
