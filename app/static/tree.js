/** The draft tree of one round: kept path thick, refused siblings stay, untested dotted, pruned candidates as stubs. */

import { chainFigure, isChain } from "./chain.js";
import { nodeSelection, resolve } from "./columns.js";
import { h } from "./dom.js";
import { hideTip, legend, pieceOf, prob, SIGNS, showTip } from "./draw.js";
import { offer, svgText } from "./figure.js";
import { passageOf, passageText } from "./passage.js";
import { sourceWords } from "./source.js";
import { buildTree } from "./treefigure.js";

const LIVE_MS = 250;
const LEAST = 0.96; // scale of a tree that nobody zoomed: text of at least 11 pixels

/** @param {HTMLElement} element @param {any} store @param {any=} lab */
export function mount(element, store, lab) {
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
  };
  const parts = {
    about: h("span.v-sub"),
    key: h("span.v-keys"),
    back: h("button.v-button", { type: "button", text: "‹ round", "aria-label": "Previous round" }),
    next: h("button.v-button", { type: "button", text: "round ›", "aria-label": "Next round" }),
    fold: h("button.v-button", { type: "button" }),
    fit: h("button.v-button", { type: "button", text: "Fit" }),
    full: h("button.v-button", { type: "button", text: "1:1" }),
    box: h("div.v-treebox", { tabindex: "0", role: "tree", "aria-label": "Draft tree of the round" }),
    empty: h("p.v-empty"),
  };
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

  const draw = () => show(store, state, parts);
  const later = () => store.frame("tree", draw);
  const live = () => store.seldom("tree", draw, LIVE_MS);
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
  const turn = (by) => {
    const index = state.roundIndex + by;
    if (state.run?.rounds[index])
      store.setCursor({ run: state.run.key, round: index, pos: state.run.rounds[index].start, node: null });
  };
  parts.back.onclick = () => turn(-1);
  parts.next.onclick = () => turn(1);
  listen(store, state, parts.box, redraw);
  for (const topic of ["runs", "cursor", "time"]) store.on(topic, later);
  store.on("hover", later);
  store.on("data", live);
  store.on("filters", () => store.frame("tree-marks", () => marks(store, state, parts)));
  // The width comes from the observer: reading it here would force a layout of the tree that is about to go.
  new ResizeObserver(([entry]) => {
    state.room = Math.floor(entry.contentRect.width);
    later();
  }).observe(parts.box);
  offer(element, lab, () => (state.figure ? svgText(state.figure, element) : null));
  later();
}

function show(store, state, parts) {
  const at = resolve(store);
  const drafted = at?.round?.nodes?.length > 0;
  parts.empty.hidden = drafted;
  parts.box.hidden = !drafted;
  parts.back.disabled = !(at?.roundIndex > 0);
  parts.next.disabled = !(at?.run.rounds.length > at?.roundIndex + 1);
  Object.assign(state, { run: at?.run ?? null, round: at?.round ?? null, roundIndex: at?.roundIndex ?? -1 });
  if (!drafted) {
    state.key = "";
    parts.about.textContent = at?.round ? `${at.run.card?.title ?? at.run.key}, round ${at.roundIndex}` : "";
    parts.fold.hidden = true;
    parts.empty.textContent = !at?.round
      ? "The draft of the chosen round appears here."
      : at.round.drafted
        ? `${at.round.drafted} draft tokens were made; this trace was recorded lightly and does not hold them.`
        : "This round has no draft: the target made its one token alone.";
    return;
  }
  const key = `${at.run.key}/${at.roundIndex}/${state.room}`;
  if (state.version !== at.round || state.key !== key) {
    if (state.version !== at.round) {
      state.open.clear();
      state.shut.clear();
    }
    state.version = at.round;
    state.key = key;
    build(store, state, parts, at);
  }
  marks(store, state, parts);
}

/** Draws the tree of the round. */
function build(store, state, parts, { run, round, roundIndex }) {
  state.groups = new Map();
  if (isChain(round)) state.plan = chainFigure({ run, round, width: state.room, groups: state.groups });
  else buildTree(state, state.room, run, round);
  const { figure, places, wide, tall } = state.plan;
  if (!state.chosen) state.scale = isChain(round) ? 1 : Math.min(1, Math.max(LEAST, (state.room - 8) / wide)); // all levels in view, where that stays legible
  figure.setAttribute("width", wide * state.scale);
  figure.setAttribute("height", tall * state.scale);
  parts.box.replaceChildren(figure);
  state.figure = figure;
  const count = round.nodes.length;
  const deepest = Math.max(...round.nodes.map((node) => node.depth));
  const tail = round.pruned?.length ? `, ${round.pruned.length} candidates pruned` : "";
  parts.about.textContent = `${run.card?.title ?? run.key}, round ${roundIndex}: ${count} draft token${count === 1 ? "" : "s"}, depth ${deepest}, ${store.halfRound(run) === round ? store.time.inside : `${round.accepted} accepted`}${round.tcr ? `, the last of rank ${round.tcr}` : ""}${tail}`;
  const states = new Set(round.nodes.map((node) => node.state));
  parts.key.replaceChildren(legend(Object.keys(SIGNS).filter((name) => states.has(name))));
  const hidden = places.reduce((sum, place) => sum + place.hidden, 0);
  parts.fold.hidden = !state.all && hidden === 0;
  parts.fold.textContent = state.all ? "Fold unlikely" : `Unfold ${hidden}`;
}

/** Focus and filter marks, without drawing the tree again. */
function marks(store, state, parts) {
  const mine = (selection) =>
    selection?.run === state.run?.key && selection?.round === state.roundIndex ? (selection.node ?? null) : null;
  const hover = mine(store.hover);
  const cursor = mine(store.cursor);
  for (const [index, group] of state.groups) {
    const ring = group.firstChild;
    const stroke = index === cursor ? "var(--select)" : index === hover ? "var(--ink-3)" : "none";
    if (ring.getAttribute("stroke") !== stroke) {
      ring.setAttribute("stroke", stroke);
      ring.setAttribute("stroke-width", index === cursor ? 1.75 : 1.25);
    }
    if (store.filters.size)
      group.setAttribute("opacity", store.passes(state.run, state.round, state.round.nodes[index], null) ? 1 : 0.25);
    else if (group.hasAttribute("opacity")) group.removeAttribute("opacity");
  }
  const group = state.groups.get(cursor);
  parts.box.setAttribute("aria-activedescendant", group ? group.id : "");
  if (group && state.seen !== `${state.key}/${cursor}`) {
    state.seen = `${state.key}/${cursor}`;
    reveal(
      parts.box,
      state.plan.places.find((place) => place.index === cursor),
      state.scale,
    );
  }
}

function reveal(box, place, scale) {
  const [x, y] = [place.x * scale, place.y * scale];
  if (x < box.scrollLeft || x > box.scrollLeft + box.clientWidth - 90) box.scrollLeft = x - box.clientWidth / 2;
  if (y < box.scrollTop || y > box.scrollTop + box.clientHeight - 40) box.scrollTop = y - box.clientHeight / 2;
}

function zoom(state, box, scale) {
  Object.assign(state, { scale, chosen: true });
  if (!state.figure) return;
  state.figure.setAttribute("width", state.plan.wide * scale);
  state.figure.setAttribute("height", state.plan.tall * scale);
  box.scrollTo(0, 0);
}

function listen(store, state, box, redraw) {
  const over = (event) => Number(event.target.closest?.("[data-node]")?.getAttribute("data-node") ?? -1);
  box.addEventListener("pointermove", (event) => {
    const index = over(event);
    const stub = event.target.closest?.("[data-stub]");
    if (stub)
      return showTip(event.clientX, event.clientY, [
        "Left out of the draft",
        ...JSON.parse(stub.getAttribute("data-stub")).map(
          (one) =>
            `${pieceOf(state.run, one.token)}  ${one.score == null ? "" : prob(Math.exp(one.score))}  ${one.cause ?? ""}`,
        ),
      ]);
    if (index < 0) {
      hideTip();
      return store.setHover(null);
    }
    const node = state.round.nodes[index];
    store.setHover(nodeSelection(state.run, state.roundIndex, index));
    const passage = passageOf(state.run, node);
    showTip(event.clientX, event.clientY, [
      `${pieceOf(state.run, node.token)}  ${SIGNS[node.state].label}`,
      `draft ${prob(node.q)}, target ${prob(node.p)}`,
      node.score != null
        ? `probability of the path ${prob(Math.exp(node.score))}${node.rank ? `, rank ${node.rank}` : ""}`
        : "",
      node.source ? `from: ${sourceWords(node.source)}` : "",
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
    if (index >= 0 && event.target.closest("[data-unfold]")) fold(index);
    else if (index >= 0) store.setCursor(nodeSelection(state.run, state.roundIndex, index));
  });
  const fold = (index) => {
    const place = state.plan.places.find((one) => one.index === index);
    if (!place || place.kids === 0) return;
    state[place.hidden ? "open" : "shut"].add(index);
    state[place.hidden ? "shut" : "open"].delete(index);
    redraw();
  };
  box.addEventListener("dblclick", (event) => fold(over(event)));
  box.addEventListener("keydown", (event) => {
    const next = move(store, state, event.key, fold);
    if (next === null) return;
    event.preventDefault();
    event.stopPropagation();
    if (next >= 0) store.setCursor(nodeSelection(state.run, state.roundIndex, next));
  });
}

/** The node an arrow key leads to; -1 for none, null when the key is not ours. */
function move(store, state, key, fold) {
  if (!state.plan || !["ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown", "Enter"].includes(key)) return null;
  const { kids } = state.plan;
  const at =
    store.cursor?.round === state.roundIndex && store.cursor?.run === state.run.key ? (store.cursor.node ?? -1) : -1;
  if (key === "Enter") {
    fold(at);
    return -1;
  }
  if (key === "ArrowRight" || at < 0) {
    if (state.plan.places.find((place) => place.index === at)?.hidden) fold(at);
    return kids[at + 1][0] ?? -1;
  }
  const parent = state.round.nodes[at].parent;
  if (key === "ArrowLeft") return parent;
  const siblings = kids[parent + 1];
  return siblings[siblings.indexOf(at) + (key === "ArrowDown" ? 1 : -1)] ?? -1;
}
