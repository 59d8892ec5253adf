// @ts-check
// The draft tree of one round: accepted path thick, rejected siblings stay, untested dotted, pruned candidates as
// stubs.

import { captionOf } from "./caption.js";
import { nameOf, nodeSelection, resolve } from "./columns.js";
import { count, h } from "./dom.js";
import { hideTip, legend, pieceOf, prob, SIGNS, showTip } from "./draw.js";
import { offer, svgText } from "./figure.js";
import { givenOf } from "./looks.js";
import { passageOf, passageText } from "./passage.js";
import { sourceOf, sourceWords } from "./source.js";
import { chainFigure, isChain } from "./tree/chain.js";
import { buildTree } from "./tree/figure.js";
import { led, point } from "./tree/walk.js";
import { chorded, TOKENS } from "./typing.js";

/**
 * @typedef {import("./types/store.js").Store} Store
 * @typedef {import("./types/store.js").Run} Run
 * @typedef {import("./types/store.js").Selection} Selection
 * @typedef {import("./types/trace.js").Round} Round
 * @typedef {ReturnType<typeof build>} Parts
 *
 * @typedef {object} View
 * @property {number} room pixels
 * @property {string} key of what is drawn
 * @property {Round | null} version which round is drawn
 * @property {number} scale
 * @property {boolean} chosen somebody zoomed
 * @property {SVGSVGElement | null} figure
 * @property {Round | null} round
 * @property {Run | null} run
 * @property {number} roundIndex
 * @property {string} seen what the view was last scrolled to
 *
 * @typedef {View & import("./tree/figure.js").TreeState} State
 */

const LIVE_MS = 250;

/** The elements that are filled anew. */
function build() {
  return {
    about: h("span.v-sub"),
    key: h("span.v-keys"),
    back: h("button.v-button", { type: "button", text: "‹ round", "aria-label": "Previous round" }),
    next: h("button.v-button", { type: "button", text: "round ›", "aria-label": "Next round" }),
    fold: h("button.v-button", { type: "button" }),
    fit: h("button.v-button", { type: "button", text: "Fit" }),
    full: h("button.v-button", { type: "button", text: "1:1" }),
    box: h("div.v-treebox", { tabindex: "0", role: "tree", [TOKENS]: true, "aria-label": "Draft tree of the round" }),
    empty: h("p.v-empty"),
  };
}

/** @param {HTMLElement} element @param {Store} store @param {import("./types/lab.js").Lab} [lab] */
export function mount(element, store, lab) {
  /** @type {State} */
  const state = {
    room: 600,
    key: "",
    version: null,
    open: new Set(),
    shut: new Set(),
    all: false,
    scale: 1,
    chosen: false,
    figure: null,
    groups: new Map(),
    plan: null,
    round: null,
    run: null,
    roundIndex: -1,
    seen: "",
  };
  const parts = build();
  element.classList.add("v-view", "v-tree");
  element.replaceChildren(
    h(
      "header.v-head",
      {},
      h("h3", { text: "Draft of the round" }),
      parts.about,
      parts.key,
      h("span.v-tools", {}, parts.back, parts.next, parts.fold, parts.full, parts.fit),
    ),
    parts.box,
    parts.empty,
  );

  const now = () => show(store, state, parts);
  const later = () => store.frame("tree", now);
  const live = () => store.seldom("tree", now, LIVE_MS);
  const redraw = () => {
    state.key = "";
    later();
  };
  parts.fold.onclick = () => {
    state.all = !state.all;
    state.open.clear();
    state.shut.clear();
    redraw();
  };
  parts.fit.onclick = () => zoom(state, parts.box, Math.min(1.4, (state.room - 8) / (state.plan?.wide || 1)));
  parts.full.onclick = () => zoom(state, parts.box, 1);
  const turn = (/** @type {number} */ by) => {
    const index = state.roundIndex + by;
    if (state.run?.rounds[index])
      store.setCursor({ run: state.run.key, round: index, pos: state.run.rounds[index].start, node: null });
  };
  parts.back.onclick = () => turn(-1);
  parts.next.onclick = () => turn(1);
  listen(store, state, parts.box, redraw);
  for (const topic of /** @type {const} */ (["runs", "cursor", "time"])) store.on(topic, later);
  store.on("hover", later);
  store.on("data", live);
  store.on("filters", () => store.frame("tree-marks", () => marks(store, state, parts)));
  // The width comes from the observer: reading it here would force a layout of the tree that is about to go.
  new ResizeObserver(([entry]) => {
    state.room = Math.floor(entry.contentRect.width);
    later();
  }).observe(parts.box);
  offer(element, lab, () => (state.figure ? svgText(state.figure, element, captionOf(store, lab)) : null));
  later();
}

/** @param {Store} store @param {State} state @param {Parts} parts */
function show(store, state, parts) {
  const at = resolve(store);
  const round = at?.round ?? null;
  const drafted = Boolean(round?.nodes?.length);
  parts.empty.hidden = drafted;
  parts.box.hidden = !drafted;
  parts.back.disabled = !at || at.roundIndex <= 0;
  parts.next.disabled = !at || at.run.rounds.length <= at.roundIndex + 1;
  Object.assign(state, { run: at?.run ?? null, round, roundIndex: at?.roundIndex ?? -1 });
  if (!at || !round || !drafted) {
    state.key = "";
    parts.about.textContent = at?.round ? `${nameOf(store, at.run)}, round ${at.roundIndex}` : "";
    parts.fold.hidden = true;
    parts.empty.textContent = !at?.round
      ? "The draft of the chosen round appears here."
      : at.round.drafted
        ? `${count(at.round.drafted, "draft token")} made; this trace was recorded lightly, without drafts.`
        : "This round has no draft: the target made its one token alone.";
    return;
  }
  const key = `${at.run.key}/${at.roundIndex}/${state.room}`;
  if (state.version !== round || state.key !== key) {
    if (state.version !== round) {
      state.open.clear();
      state.shut.clear();
    }
    state.version = round;
    state.key = key;
    draw(store, state, parts, at.run, round);
  }
  marks(store, state, parts);
}

/** Draws the tree of the round.
 * @param {Store} store @param {State} state @param {Parts} parts @param {Run} run @param {Round} round */
function draw(store, state, parts, run, round) {
  state.groups = new Map();
  if (isChain(round)) state.plan = chainFigure({ run, round, width: state.room, groups: state.groups });
  else buildTree(state, state.room, run, round);
  if (!state.plan) return;
  const { figure, places, wide, tall } = state.plan;
  if (!state.chosen) state.scale = 1; // smaller, its text would be below 11 pixels
  figure.setAttribute("width", String(wide * state.scale));
  figure.setAttribute("height", String(tall * state.scale));
  parts.box.replaceChildren(figure);
  state.figure = figure;
  const deepest = Math.max(...round.nodes.map((node) => node.depth));
  const title = `${nameOf(store, run)}, round ${state.roundIndex}`;
  const rank = round.tcr ? `, the last of rank ${round.tcr}` : "";
  const tail = round.pruned?.length ? `, ${count(round.pruned.length, "candidate")} pruned` : "";
  const size = `${count(round.nodes.length, "draft token")}, depth ${deepest}`;
  const decided = store.halfRound(run) === round ? store.time.inside : `${round.accepted} accepted`;
  parts.about.textContent = `${title}: ${size}, ${decided}${rank}${tail}`;
  /** @type {Set<string>} */
  const states = new Set(round.nodes.map((node) => node.state));
  parts.key.replaceChildren(legend(Object.keys(SIGNS).filter((name) => states.has(name))));
  const hidden = places.reduce((sum, place) => sum + place.hidden, 0);
  parts.fold.hidden = !state.all && hidden === 0;
  parts.fold.textContent = state.all ? "Fold unlikely" : `Unfold ${hidden}`;
}

/** Focus and filter marks, without drawing the tree again.
 * @param {Store} store @param {State} state @param {Parts} parts */
function marks(store, state, parts) {
  const { run, round } = state;
  if (!run || !round) return;
  const mine = (/** @type {Selection | null} */ selection) =>
    selection?.run === state.run?.key && selection?.round === state.roundIndex ? (selection.node ?? null) : null;
  const hover = mine(store.hover);
  const cursor = mine(store.cursor);
  for (const [index, group] of state.groups) {
    const ring = group.firstElementChild;
    if (!ring) continue;
    const stroke = index === cursor ? "var(--select)" : index === hover ? "var(--ink-3)" : "none";
    if (ring.getAttribute("stroke") !== stroke) {
      ring.setAttribute("stroke", stroke);
      ring.setAttribute("stroke-width", index === cursor ? "1.75" : "1.25");
    }
    if (store.filters.size)
      group.setAttribute("opacity", store.passes(run, round, round.nodes[index], null) ? "1" : "0.25");
    else if (group.hasAttribute("opacity")) group.removeAttribute("opacity");
  }
  const group = point(parts.box, state.groups, cursor);
  if (group && state.seen !== `${state.key}/${cursor}`) {
    state.seen = `${state.key}/${cursor}`;
    const place = state.plan?.places.find(({ index }) => index === cursor);
    if (place) reveal(parts.box, place, state.scale);
  }
}

/** @param {HTMLElement} box @param {{x: number, y: number}} place @param {number} scale */
function reveal(box, place, scale) {
  const [x, y] = [place.x * scale, place.y * scale];
  if (x < box.scrollLeft || x > box.scrollLeft + box.clientWidth - 90) box.scrollLeft = x - box.clientWidth / 2;
  if (y < box.scrollTop || y > box.scrollTop + box.clientHeight - 40) box.scrollTop = y - box.clientHeight / 2;
}

/** @param {State} state @param {HTMLElement} box @param {number} scale */
function zoom(state, box, scale) {
  Object.assign(state, { scale, chosen: true });
  if (!state.figure || !state.plan) return;
  state.figure.setAttribute("width", String(state.plan.wide * scale));
  state.figure.setAttribute("height", String(state.plan.tall * scale));
  box.scrollTo(0, 0);
}

/** The pointer and the keys.
 * @param {Store} store @param {State} state @param {HTMLElement} box @param {() => void} redraw */
function listen(store, state, box, redraw) {
  const target = (/** @type {Event} */ event) => /** @type {Element} */ (event.target);
  const over = (/** @type {Event} */ event) =>
    Number(target(event).closest("[data-node]")?.getAttribute("data-node") ?? -1);
  box.addEventListener("pointermove", (event) => {
    const { run, round } = state;
    if (!run || !round) return;
    const index = over(event);
    const stub = target(event).closest("[data-stub]")?.getAttribute("data-stub");
    if (stub) {
      /** @type {{token: number, score?: number, cause?: string}[]} */
      const left = JSON.parse(stub);
      const told = left.map(({ token, score, cause }) => {
        const share = score == null ? "" : prob(Math.exp(score));
        return `${pieceOf(run, token)}  ${share}  ${cause ?? ""}`;
      });
      return showTip(event.clientX, event.clientY, ["Left out of the draft", ...told]);
    }
    if (index < 0) {
      hideTip();
      return store.setHover(null);
    }
    const node = round.nodes[index];
    store.setHover(nodeSelection(run, state.roundIndex, index));
    const passage = passageOf(run, node);
    showTip(event.clientX, event.clientY, [
      `${pieceOf(run, node.token)}  ${SIGNS[node.state].label}`,
      `draft ${prob(node.q)}, target ${prob(node.p)}`,
      node.score != null
        ? `probability of the path ${prob(Math.exp(node.score))}${node.rank ? `, rank ${node.rank}` : ""}`
        : "",
      node.source ? `from: ${sourceWords(sourceOf(node), givenOf(run))}` : "",
      passage ? passageText(passage) : "",
      passage ? "click, then s: go there" : "",
    ]);
  });
  box.addEventListener("pointerleave", () => {
    hideTip();
    store.setHover(null);
  });
  box.addEventListener("click", (event) => {
    const index = over(event);
    if (index >= 0 && target(event).closest("[data-unfold]")) fold(index);
    else if (index >= 0 && state.run) store.setCursor(nodeSelection(state.run, state.roundIndex, index));
  });
  const fold = (/** @type {number} */ index) => {
    const place = state.plan?.places.find((one) => one.index === index);
    if (!place || place.kids === 0) return;
    state[place.hidden ? "open" : "shut"].add(index);
    state[place.hidden ? "shut" : "open"].delete(index);
    redraw();
  };
  box.addEventListener("dblclick", (event) => fold(over(event)));
  box.addEventListener("keydown", (event) => {
    const next = chorded(event) ? null : move(store, state, event.key, fold);
    if (next === null) return;
    event.preventDefault();
    event.stopPropagation();
    if (next >= 0 && state.run) store.setCursor(nodeSelection(state.run, state.roundIndex, next));
  });
}

/** The node that a key leads to; -1 for none, null when the key is not the tree's.
 * @param {Store} store @param {State} state @param {string} key @param {(index: number) => void} fold */
function move(store, state, key, fold) {
  const { cursor } = store;
  const here = cursor?.round === state.roundIndex && cursor?.run === state.run?.key ? (cursor?.node ?? -1) : -1;
  return led(state, here, key, fold);
}
