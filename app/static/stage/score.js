// @ts-check
// The score: one band a method on one axis of positions. What it shows is in scorecontent.js, what it draws in
// scorepaint.js, its pointer and keys in scoreinput.js.

import { h } from "../dom.js";
import { download, figureBlob, offer, palette } from "../figure.js";
import { autoWidth, keepAnchor, stepWidth } from "./axis.js";
import { shownPlaces } from "./layout.js";
import { numbersIn } from "./numbertracks.js";
import { peakTable } from "./peaktable.js";
import { positionTable } from "./positiontable.js";
import { contentOf, EMPTY, lookOf, tracksOf } from "./scorecontent.js";
import { scoreHeads } from "./scoreheads.js";
import { listen } from "./scoreinput.js";
import { paintBands, paintFocus, paintRange, paintRuler } from "./scorepaint.js";
import { scorePicture } from "./scorepicture.js";
import { scoreTools } from "./scoretools.js";

const RULER = 26;
const NARROW = 640; // below this a band's title has a line of its own
const TITLE_LINE = 20;

/** @typedef {import("./layout.js").Place} Place */

/** @param {HTMLElement} element @param {import("../types/store.js").Store} store
 * @param {import("../types/lab.js").Lab} [lab] */
export function mount(element, store, lab) {
  const base = h("canvas", { "aria-hidden": "true" });
  const over = h("canvas.over", {
    tabindex: "0",
    role: "slider",
    "aria-label": "Score: positions of all methods",
    "aria-valuemin": "0",
  });
  const ruler = h("canvas.ruler", { "aria-hidden": "true" });
  const heads = scoreHeads(store, { fold: turn, card: (method) => lab?.ui.open("methods", method) });
  const pin = h("div.pin", {}, heads.corner, ruler, heads.clip, base, over);
  const spacer = h("div.spacer", {}, pin);
  const scroll = h("div.scroller", {}, spacer);
  const empty = h("p.v-empty", { text: "One band a method appears here once a run has tokens." });
  const table = positionTable(store, () => content.order);
  const peaks = peakTable(store, () => content.order);
  const state = {
    px: 12,
    auto: true, // the width of a position follows the room
    stick: true, // the end of a growing text stays in view
    room: 0,
    tall: 0,
    headWidth: 260,
    narrow: false,
    own: /** @type {Map<string, boolean>} */ (new Map()), // bands folded or opened one by one
    brush: /** @type {[number, number] | null} */ (null),
  };
  let content = EMPTY;

  const active = () => store.options.stage === "score" && !element.hidden;
  const draw = () => active() && paint();
  const later = () => store.frame("score", draw);
  const overlay = () => store.frame("score-over", () => active() && paintOver());
  const folded = (/** @type {string} */ key) => state.own.get(key) ?? store.options.folded;
  const gather = () => contentOf(store, folded, state.narrow ? TITLE_LINE : 0);
  const plotRoom = () => Math.max(40, state.room - state.headWidth);
  const tools = scoreTools(store, {
    peaks: peaks.button,
    zoom: (by) => zoom(by),
    fit: () => {
      state.auto = true;
      later();
    },
    refold: () => state.own.clear(),
    numbers: () => [...new Set([...store.runs.values()].flatMap((run) => [...numbersIn(run)]))].sort(),
    save: async (kind) => download(await figureBlob(picture(), kind), `draftscope-score.${kind}`),
  });
  element.classList.add("v-view", "score");
  element.replaceChildren(tools.element, peaks.element, scroll, empty, table.element);

  function paint() {
    state.narrow = state.room < NARROW;
    state.headWidth = state.narrow ? 86 : store.options.folded ? 392 : 316;
    content = gather();
    tools.update(store, tracksOf(store));
    const none = content.count === 0;
    empty.hidden = !none;
    scroll.hidden = table.element.hidden = none;
    if (none) return;
    const room = plotRoom();
    const growing = [...content.lanes.values()].some((lane) => !lane.run.end);
    if (state.auto) state.px = autoWidth(room - 12, content.count, growing);
    const wide = Math.max(room, Math.ceil(content.count * state.px) + 8);
    spacer.style.width = `${state.headWidth + wide}px`;
    spacer.style.height = `${RULER + content.height}px`;
    if (growing && state.stick) scroll.scrollLeft = scroll.scrollWidth;
    const tall = Math.max(40, Math.min(state.tall || Infinity, RULER + content.height) - RULER);
    pin.style.width = `${state.room}px`;
    for (const canvas of [base, over]) {
      size(canvas, room, tall);
      canvas.style.left = `${state.headWidth}px`;
      canvas.style.top = `${RULER}px`;
    }
    size(ruler, room, RULER);
    ruler.style.left = `${state.headWidth}px`;
    const { narrow, headWidth: width } = state;
    heads.draw(content, { scrollTop: scroll.scrollTop, tall, narrow, width, room: state.room });
    const look = lookOf(content, { px: state.px, scroll: scroll.scrollLeft, width: room, ink: palette(element) });
    const marks = clear(ruler);
    const ctx = clear(base);
    if (!marks || !ctx) return;
    paintRuler(marks, RULER, look);
    ctx.save();
    ctx.translate(0, -scroll.scrollTop);
    paintBands(ctx, shownPlaces(content.places, scroll.scrollTop, tall), content.lanes, look);
    ctx.restore();
    paintOver();
  }

  /** By how many positions a selection's band stands to the right. @param {{readonly run: string}} selection */
  const shiftOf = ({ run }) => content.lanes.get(run)?.shift ?? 0;

  /** The brushed range, what is hovered and what is selected. */
  function paintOver() {
    const ctx = clear(over);
    if (!ctx) return;
    const view = {
      px: state.px,
      scroll: scroll.scrollLeft,
      tall: over.height / (window.devicePixelRatio || 1),
      ink: palette(element),
    };
    const range = state.brush ?? store.filters.get("range")?.range;
    if (range) paintRange(ctx, range, view);
    for (const locked of [false, true]) {
      const selection = locked ? store.cursor : store.hover;
      if (selection?.pos == null) continue;
      const place = content.places.find((one) => one.key === selection.run);
      const round = store.runs.get(selection.run)?.rounds[selection.round ?? -1] ?? null;
      const at = place ? { top: place.top - scroll.scrollTop, height: place.height, round } : null;
      const shift = shiftOf(selection);
      paintFocus(ctx, selection.pos, locked, at, { ...view, scroll: view.scroll - shift * view.px });
    }
    say();
  }

  /** What is at the focused place, for those who do not see the canvas. */
  function say() {
    const focus = store.cursor ?? store.focus();
    over.setAttribute("aria-valuemax", String(Math.max(0, content.count - 1)));
    over.setAttribute("aria-valuenow", String(focus?.pos ?? 0));
    over.setAttribute("aria-valuetext", focus?.pos == null ? "no position chosen" : table.sentence(focus));
    table.update();
  }

  /** @param {number} by @param {number} [anchor] pixels from the plot's left edge */
  function zoom(by, anchor) {
    const room = plotRoom();
    const at = store.cursor;
    const cursor = at?.pos == null ? -1 : (at.pos + shiftOf(at) + 0.5) * state.px - scroll.scrollLeft;
    const fixed = anchor ?? (cursor >= 0 && cursor <= room ? cursor : room / 2);
    const next = stepWidth(state.px, by);
    const offset = keepAnchor(scroll.scrollLeft, fixed, state.px, next);
    state.auto = false;
    state.px = next;
    spacer.style.width = `${state.headWidth + Math.max(room, Math.ceil(content.count * next) + 8)}px`;
    scroll.scrollLeft = offset;
    later();
  }

  /** Fold a band, or open it. @param {string} key */
  function turn(key) {
    if (!content.lanes.has(key)) return;
    state.own.set(key, !folded(key));
    later();
  }

  /** @param {Place} place */
  function show(place) {
    const tall = scroll.clientHeight - RULER;
    if (place.top < scroll.scrollTop) scroll.scrollTop = place.top;
    else if (place.top + place.height > scroll.scrollTop + tall)
      scroll.scrollTop = Math.min(place.top, place.top + place.height - tall);
  }

  function reveal() {
    const { cursor } = store;
    if (!active() || cursor?.pos == null) return;
    const room = state.room - state.headWidth;
    const left = (cursor.pos + shiftOf(cursor)) * state.px;
    const x = left - scroll.scrollLeft;
    if (x < 0 || x + state.px > room) scroll.scrollLeft = left - room / 2;
    const place = content.places.find((one) => one.key === cursor.run);
    if (place) show(place);
  }

  /** The whole score as an SVG document. */
  function picture() {
    content = gather();
    return scorePicture(element, store, content);
  }

  const plot = () => ({
    px: state.px,
    room: state.room - state.headWidth,
    left: state.headWidth,
    top: RULER,
    content,
  });
  listen(scroll, over, store, plot, {
    zoom,
    turn,
    brush: (range) => {
      state.brush = range;
      overlay();
    },
    pan: () => {
      state.auto = false;
    },
  });
  scroll.addEventListener("scroll", () => {
    state.stick = scroll.scrollLeft + scroll.clientWidth >= scroll.scrollWidth - 40;
    later();
  });
  heads.clip.addEventListener("focusin", (event) => {
    const key = /** @type {Element} */ (event.target).closest("[data-band]")?.getAttribute("data-band");
    const place = content.places.find((one) => one.key === key);
    if (place) show(place);
  });
  store.on("data", () => store.seldom("score", draw, 100));
  for (const topic of /** @type {const} */ (["runs", "time", "filters", "options", "theme", "flags", "status"]))
    store.on(topic, later);
  store.on("runs", () => {
    state.own.clear();
    state.auto = state.stick = true;
  });
  for (const topic of /** @type {const} */ (["cursor", "hover"])) store.on(topic, overlay);
  store.on("cursor", () => store.frame("score-reveal", reveal));
  new ResizeObserver(([entry]) => {
    state.room = Math.floor(entry.contentRect.width);
    state.tall = Math.floor(entry.contentRect.height);
    later();
  }).observe(scroll);
  offer(element, lab, () => (store.lanes.length ? picture() : null));
  later();
}

/** @param {HTMLCanvasElement} canvas @param {number} width @param {number} height */
function size(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const [w, t] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width === w && canvas.height === t) return;
  canvas.width = w;
  canvas.height = t;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
}

/** An empty canvas to draw on. @param {HTMLCanvasElement} canvas */
function clear(canvas) {
  const ctx = canvas.getContext("2d");
  const ratio = window.devicePixelRatio || 1;
  ctx?.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx?.clearRect(0, 0, canvas.width, canvas.height);
  return ctx;
}
