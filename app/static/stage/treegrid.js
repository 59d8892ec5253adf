// @ts-check
// Trees: the drafts of all methods that cover the position under the cursor, small; one can be maximised.

import { captionOf } from "../caption.js";
import { signOf } from "../chips.js";
import { columns, nameOf, nodeSelection, rejectedNode, shownPlace } from "../columns.js";
import { count, h } from "../dom.js";
import { legend, rich, SIGNS } from "../draw.js";
import { offer } from "../figure.js";
import { pictureOf } from "../picture.js";
import { inPlace, isSearch } from "../run/canvas.js";
import { SAYS } from "../run/phases.js";
import { across, cutFirst, neverRan, unrunSaid } from "../run.js";
import { buildTree } from "../tree/figure.js";
import { led, point } from "../tree/walk.js";
import { TOKENS } from "../typing.js";
import { partsAt, referenceOf } from "./bands.js";

/**
 * @typedef {import("../types/store.js").Store} Store
 * @typedef {import("../types/store.js").Run} Run
 * @typedef {import("../types/store.js").Selection} Selection
 * @typedef {import("../types/trace.js").Round} Round
 *
 * @typedef {object} Card a small tree
 * @property {HTMLElement} element
 * @property {HTMLElement} name
 * @property {HTMLElement} words
 * @property {HTMLElement} lost why nothing of the draft was accepted
 * @property {HTMLElement} grow
 * @property {HTMLElement} box
 * @property {Round | null} round on show
 * @property {number} roundIndex
 * @property {Round | null} drawn which round the figure is of
 * @property {string} stamp
 * @property {number | null} chosen the node that is marked
 * @property {import("../tree/figure.js").TreeState} state
 */

const NEAR = 116; // pixels that the chosen node needs at the edge of its box
const ROW = 20;
const ROWS = 12; // rows of a small tree before its least probable branches fold

/** Why no draft covers a position of a run at the time that is shown; an empty string when one does.
 * @param {Run} run @param {Round | null} round @param {number} pos */
export function whyNone(run, round, pos) {
  if (inPlace(run)) return "Written in place, all places at once: no drafts. Text and Score show its iterations.";
  if (cutFirst(run)) return `It ${unrunSaid(run)}.`;
  if (neverRan(run)) return "Did not run. Text tells why.";
  if (!round && run.end && !run.tokens.length) return "It ended before its first token.";
  if (!round && run.end && pos >= run.tokens.length) return `The text ended at position ${run.tokens.length - 1}.`;
  if (!round) return "Not decoded yet.";
  if (round.nodes?.length) return "";
  if (isSearch(round)) return "All that the beams hold here has settled: there is no tree.";
  if (round.drafted)
    return `${count(round.drafted, "draft token")} made; this trace was recorded lightly, without drafts.`;
  if (run.tokens.length && run.tokens.every((token) => signOf(token) === "alone"))
    return "The draft model writes alone: its tokens are the text, and no target checks them.";
  if (run.head?.drafter === "none") return "Plain decoding: the target makes each token alone, without a draft.";
  return "No draft in this round: the drafter found nothing to propose, so the target made its one token alone.";
}

/** Why nothing of a draft was accepted, an empty string where something was.
 * @param {import("../types/trace.js").Round | null} round */
export function whyLost(round) {
  if (!round?.nodes?.length || round.accepted > 0 || isSearch(round)) return "";
  const index = rejectedNode(round);
  const why = (index === null ? null : round.nodes[index].why) ?? round.tokens?.[0]?.why ?? "";
  return `Nothing accepted. ${why}`;
}

/** @param {HTMLElement} element @param {Store} store @param {import("../types/lab.js").Lab} [lab] */
export function mount(element, store, lab) {
  const about = h("h3");
  const key = h("span.v-keys");
  const grid = h("div.grid");
  const back = h("button.v-button", {
    type: "button",
    text: "All trees",
    hidden: true,
    onclick: () => maximise(null),
  });
  const steps = [-1, 1].map((by) =>
    h("button.v-button", {
      type: "button",
      text: by < 0 ? "‹ position" : "position ›",
      "aria-label": by < 0 ? "One position back" : "One position on",
      onclick: () => move(by),
    }),
  );
  element.classList.add("v-view", "treegrid");
  element.replaceChildren(
    h("header.v-head", {}, about, key, h("span.v-tools", {}, ...steps, back)),
    h("p.v-sub", {
      text:
        "Number beside a token: the draft's probability; orange: the target's, where the drafter gives none. " +
        "A +number opens a folded branch.",
    }),
    grid,
  );
  const single = /** @type {HTMLElement|null} */ (element.parentElement?.querySelector('[data-view="tree"]') ?? null);
  /** @type {Map<string, Card>} */
  const cards = new Map();
  /** @type {string|null} */
  let big = null;
  /** Where one is taken once the grid, or the tree that was asked for, is drawn. @type {(() => void) | null} */
  let arrive = null;

  const active = () => store.options.stage === "trees";

  /** Where the grid looks: the cursor, else the token that the details show.
   * @returns {Selection & {pos: number}} */
  function place() {
    const at = shownPlace(store) ?? { run: store.lanes[0], round: 0, pos: 0, node: null };
    return { ...at, pos: at.pos ?? 0 };
  }

  function move(/** @type {number} */ by) {
    const at = place();
    const run = store.runs.get(at.run);
    const pos = Math.max(0, Math.min((run?.tokens.length ?? 1) - 1, at.pos + by));
    if (run) store.setCursor({ run: at.run, pos });
  }

  function draw() {
    if (!active()) return;
    const at = place();
    about.textContent = store.lanes.length ? `Drafts at position ${at.pos}` : "Drafts at a position";
    if (big && store.cursor?.run && store.cursor.run !== big) big = store.cursor.run;
    back.hidden = big === null;
    for (const step of steps) step.hidden = big !== null;
    grid.hidden = key.hidden = big !== null; // the large tree has a key of its own
    if (single) single.hidden = big === null;
    if (big === null) fillAll(at);
    arrive?.();
    arrive = null;
  }

  /** @param {Selection & {pos: number}} at */
  function fillAll(at) {
    for (const [lane, card] of cards)
      if (!store.runs.has(lane)) {
        card.element.remove();
        cards.delete(lane);
      }
    /** @type {Set<string>} */
    const states = new Set();
    for (const [lane, run] of store.runs) {
      const card = cards.get(lane) ?? make(lane);
      fill(card, run, at);
      for (const node of card.round?.nodes ?? []) states.add(node.state);
    }
    const shown = Object.keys(SIGNS).filter((name) => states.has(name));
    if (key.dataset.states !== shown.join()) {
      key.dataset.states = shown.join();
      key.replaceChildren(legend(shown));
    }
  }

  function make(/** @type {string} */ lane) {
    const name = h("b");
    const words = h("span.v-sub");
    const lost = h("p.lost", { hidden: true });
    const grow = h("button.v-button", { type: "button", text: "Maximise", onclick: () => maximise(lane) });
    const box = h("div.box", { tabindex: "0", [TOKENS]: true });
    /** @type {Card} */
    const card = {
      element: h("article.card", { "data-tree": lane }, h("header", {}, name, words, grow), lost, box),
      name,
      words,
      lost,
      grow,
      box,
      round: null,
      roundIndex: -1,
      drawn: null,
      stamp: "",
      chosen: null,
      state: {
        all: false,
        open: new Set(),
        shut: new Set(),
        groups: new Map(),
        plan: null,
        prefix: `t-${lane}-`,
      },
    };
    const target = (/** @type {Event} */ event) => /** @type {Element} */ (event.target);
    const over = (/** @type {Event} */ event) =>
      Number(target(event).closest("[data-node]")?.getAttribute("data-node") ?? -1);
    const select = (/** @type {number} */ index) => {
      const run = store.runs.get(lane);
      return run ? nodeSelection(run, card.roundIndex, index) : { run: lane };
    };
    box.addEventListener("pointermove", (event) => {
      const index = over(event);
      store.setHover(index < 0 ? null : select(index));
    });
    box.addEventListener("pointerleave", () => store.setHover(null));
    box.addEventListener("click", (event) => {
      const index = over(event);
      if (index < 0) return;
      if (target(event).closest("[data-unfold]")) return fold(index);
      store.setCursor(select(index));
    });
    const fold = (/** @type {number} */ index) => {
      const place = card.state.plan?.places.find((one) => one.index === index);
      if (!place?.kids) return;
      card.state[place.hidden ? "open" : "shut"].add(index);
      card.state[place.hidden ? "shut" : "open"].delete(index);
      card.stamp = "";
      later();
    };
    box.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
      const next = led({ plan: card.state.plan, round: card.drawn }, card.chosen ?? -1, event.key, fold);
      if (next === null) return;
      event.preventDefault();
      event.stopPropagation();
      if (next >= 0) store.setCursor(select(next));
    });
    cards.set(lane, card);
    grid.append(card.element);
    return card;
  }

  /** @param {Card} card @param {Run} run @param {Selection & {pos: number}} at */
  function fill(card, run, at) {
    const from = store.runs.get(at.run);
    const pos = from ? across(from, run, at.pos) : at.pos;
    const column = columns(run)[pos];
    const own = at.run === run.key ? at.round : null;
    const index = own ?? column?.round ?? -1;
    const seen = store.visibleRounds(run);
    const half = index === seen ? store.halfRound(run) : null;
    const round = half ?? (index < seen ? (run.rounds[index] ?? null) : null);
    const why = whyNone(run, round, pos);
    const parts = partsAt(store, run, referenceOf(store));
    const other = parts !== null && pos >= parts ? `; another text since ${parts}` : "";
    card.name.textContent = nameOf(store, run);
    card.element.classList.toggle("focus", at.run === run.key);
    card.grow.hidden = Boolean(why);
    card.grow.setAttribute("aria-label", `Maximise the tree of ${nameOf(store, run)}`);
    card.box.setAttribute("role", why ? "group" : "tree");
    card.box.tabIndex = why ? -1 : 0; // no keys lead anywhere in words
    card.box.setAttribute("aria-label", `Draft of ${nameOf(store, run)}`);
    const { inside } = store.time;
    const held = round !== null && isSearch(round);
    const decided = half && inside ? SAYS[inside] : `${round?.accepted} ${held ? "settled" : "accepted"}`;
    const nodes = count(round?.nodes?.length ?? 0, held ? "token" : "draft token");
    card.words.textContent = round?.nodes?.length
      ? `round ${index}: ${nodes}${held ? " of the beams" : ""}, ${decided}${other}`
      : "";
    const said = whyLost(round);
    card.lost.hidden = !said;
    card.lost.replaceChildren(...rich(said));
    card.round = round;
    card.roundIndex = index;
    if (why || !round) {
      if (card.stamp !== why) card.box.replaceChildren(h("p.v-empty", { text: why }));
      card.stamp = why;
      card.drawn = card.state.plan = null;
      point(card.box, new Map(), null);
      return;
    }
    const stamp = `${index}/${round.nodes.length}`;
    if (card.stamp !== stamp || card.drawn !== round) {
      if (card.drawn !== round) for (const turned of [card.state.open, card.state.shut]) turned.clear();
      card.drawn = round;
      card.stamp = stamp;
      card.state.groups = new Map();
      buildTree(card.state, 0, run, round, { row: ROW, limit: ROWS });
      if (!card.state.plan) return;
      const { figure, wide, tall } = card.state.plan;
      figure.setAttribute("width", String(wide));
      figure.setAttribute("height", String(tall));
      card.box.replaceChildren(figure);
    }
    const here = column?.index ?? null;
    mark(card, run.key === at.run, run.key === at.run ? (at.node ?? here) : here, round.path?.at(-1) ?? null);
  }

  /** Ring the chosen node, else the one on the path at this position, and bring it into view; for a token that the
   * target wrote after the draft, the last that was accepted.
   * @param {Card} card @param {boolean} own the cursor is in this run @param {number | null} chosen
   * @param {number | null} last */
  function mark(card, own, chosen, last) {
    for (const [index, group] of card.state.groups) {
      const on = index === chosen;
      group.toggleAttribute("data-here", on);
      group.firstElementChild?.setAttribute("stroke", on ? "var(--select)" : "none");
      group.firstElementChild?.setAttribute("stroke-width", own ? "1.75" : "1");
    }
    card.chosen = chosen;
    point(card.box, card.state.groups, chosen);
    const spot = card.state.plan?.places.find((one) => one.index === (chosen ?? last));
    if (!spot) return;
    const { box } = card;
    if (spot.x <= box.clientWidth - NEAR) box.scrollLeft = 0;
    else if (spot.x < box.scrollLeft || spot.x > box.scrollLeft + box.clientWidth - NEAR)
      box.scrollLeft = Math.max(0, spot.x - NEAR);
    if (spot.y <= box.clientHeight - 2 * ROW) box.scrollTop = 0;
    else if (spot.y < box.scrollTop || spot.y > box.scrollTop + box.clientHeight - 2 * ROW)
      box.scrollTop = Math.max(0, spot.y - ROW * 2);
  }

  function maximise(/** @type {string|null} */ lane) {
    const at = place();
    const left = cards.get(big ?? "");
    arrive = lane ? toTree : left ? () => toCard(left) : null;
    big = lane;
    if (lane) {
      const card = cards.get(lane);
      const same = at.run === lane ? at : { run: lane, round: card?.roundIndex, pos: at.pos };
      store.setCursor(same);
    }
    later();
  }

  /** The tree from its top, with the way back in focus. */
  function toTree() {
    element.scrollIntoView({ block: "start" });
    back.focus({ preventScroll: true });
  }

  /** Back at the card of the tree that was left. @param {Card} card */
  function toCard(card) {
    card.element.scrollIntoView({ block: "center" });
    (card.grow.hidden ? card.box : card.grow).focus({ preventScroll: true });
  }

  /** All trees whole, for which each card takes its room as long as this lasts. */
  function picture() {
    const all = [...cards.values()];
    const places = all.map(({ box }) => ({ left: box.scrollLeft, top: box.scrollTop }));
    grid.classList.add("whole");
    const drawn = pictureOf(element, captionOf(store, lab), true);
    grid.classList.remove("whole");
    all.forEach(({ box }, i) => box.scrollTo(places[i]));
    return drawn;
  }

  element.closest("[data-room]")?.addEventListener("leave", (event) => {
    if (event.defaultPrevented || big === null || !active()) return;
    event.preventDefault(); // Escape goes back to the grid first
    maximise(null);
  });

  const later = () => store.frame("treegrid", draw);
  for (const topic of /** @type {const} */ (["runs", "cursor", "time", "options"])) store.on(topic, later);
  store.on("data", () => store.seldom("treegrid", draw, 250));
  new ResizeObserver(later).observe(grid); // what is in view hangs on the width
  store.on("runs", () => {
    big = null;
    cards.clear();
    grid.replaceChildren();
  });
  offer(element, lab, () => (store.lanes.length ? picture() : null));
  later();
}
