// @ts-check
// The score: one band a method on one axis of positions. Views of store data only; what it draws stands in
// scorepaint.js.

import { columnSelection, nameOf, nodeSelection, samples, visibleColumns } from "../columns.js";
import { h } from "../dom.js";
import { fmt } from "../draw.js";
import { download, figureBlob, offer, palette, SvgContext, svgText } from "../figure.js";
import { makeFilter } from "../filters.js";
import { toggleProof } from "../run/proof.js";
import { linesOf } from "../thresholds.js";
import { autoWidth, keepAnchor, stepWidth } from "./axis.js";
import { bandOf, partsAt, referenceOf, sorted } from "./bands.js";
import { buildHead, figuresOf, updateHead } from "./heads.js";
import { layoutBands, placeAt, shownPlaces } from "./layout.js";
import { numbersIn, upper } from "./numbertracks.js";
import { positionTable } from "./positiontable.js";
import { paintBands, paintHead, paintRuler } from "./scorepaint.js";
import { scoreTools } from "./scoretools.js";
import { trackOf } from "./tracks.js";

const RULER = 26;
const NARROW = 640; // below this a band's title stands on a line of its own
const TITLE_LINE = 20;

/**
 * @typedef {import("../types/store.js").Store} Store
 * @typedef {import("../types/store.js").Run} Run
 * @typedef {import("../types/pen.js").Ink} Ink
 * @typedef {import("../columns.js").Column} Column
 * @typedef {import("./scorepaint.js").Lane} Lane
 * @typedef {import("./layout.js").Place} Place
 */

/** @param {HTMLElement} element @param {Store} store @param {import("../types/lab.js").Lab} [lab] */
export function mount(element, store, lab) {
  const base = h("canvas", { "aria-hidden": "true" });
  const over = h("canvas.over", {
    tabindex: "0",
    role: "slider",
    "aria-label": "Score: positions of all methods",
    "aria-valuemin": "0",
  });
  const ruler = h("canvas.ruler", { "aria-hidden": "true" });
  const heads = h("div.heads");
  const clip = h("div.headclip", {}, heads);
  const corner = h("div.corner");
  const pin = h("div.pin", {}, corner, ruler, clip, base, over);
  const spacer = h("div.spacer", {}, pin);
  const scroll = h("div.scroller", {}, spacer);
  const empty = h("p.v-empty", { text: "One band a method appears here once a run has tokens." });
  const table = positionTable(store, () => state.order);
  const state = {
    px: 12,
    auto: true,
    stick: true,
    room: 0,
    tall: 0,
    headWidth: 260,
    order: /** @type {string[]} */ ([]),
    lanes: /** @type {Map<string, Lane>} */ (new Map()),
    places: /** @type {Place[]} */ ([]),
    height: 0,
    count: 0,
    narrow: false,
    own: /** @type {Map<string, boolean>} */ (new Map()), // bands folded or opened one by one
    elements: /** @type {Map<string, import("./heads.js").Head>} */ (new Map()),
    brush: /** @type {number[]|null} */ (null),
    over: /** @type {string|null} */ (null),
  };

  const active = () => store.options.stage === "score" && !element.hidden;
  const draw = () => active() && paint();
  const later = () => store.frame("score", draw);
  const overlay = () => store.frame("score-over", () => active() && paintOver());
  const folded = (/** @type {string} */ key) => state.own.get(key) ?? store.options.folded;
  const tools = scoreTools(store, {
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
  element.replaceChildren(tools.element, scroll, empty, table.element);

  /** What every band shows now. */
  function gather() {
    const reference = referenceOf(store);
    state.order = sorted(store, store.options.sort).filter((key) => store.runs.get(key)?.head);
    state.lanes = new Map(
      state.order.flatMap((key) => {
        const run = store.runs.get(key);
        if (!run) return [];
        const whatif = store.options.whatif?.run === key ? store.options.whatif : null;
        const passes =
          store.filters.size === 0
            ? null
            : (/** @type {Column} */ column) => store.passes(run, run.rounds[column.round], column.node, column.token);
        /** @type {Lane} */
        const lane = {
          key,
          run,
          band: bandOf(run),
          list: visibleColumns(store, run),
          parts: partsAt(store, run, reference),
          sampled: samples(run),
          knobs: whatif?.knobs,
          whatif,
          passes,
        };
        return [[key, lane]];
      }),
    );
    state.count = Math.max(0, ...[...state.lanes.values()].map((lane) => lane.list.length));
    const ids = tracks();
    const { places, height } = layoutBands(
      state.order,
      () => ids.map((id) => ({ id, height: trackOf(id).height })),
      folded,
      { head: state.narrow ? TITLE_LINE : 0 },
    );
    Object.assign(state, { places, height });
  }

  /** @returns {string[]} */
  const tracks = () => ["spans", ...store.options.tracks.filter((id) => id !== "spans")];

  /** Upper ends of the scales, the same in all bands. */
  function tops() {
    const runs = [...state.lanes.values()].map((lane) => lane.run);
    return new Map(
      tracks().map((id) => {
        const top = Math.max(...runs.map((run) => trackOf(id).top(run)).filter(Number.isFinite), 0);
        return [id, id === "entropy" ? Math.max(1, Math.ceil(top)) : top || 1];
      }),
    );
  }

  const look = (/** @type {number} */ offset, /** @type {number} */ width, /** @type {Ink} */ ink) => ({
    px: state.px,
    scroll: offset,
    width,
    ink,
    tops: tops(),
    widest: Math.max(1, ...[...state.lanes.values()].map((lane) => lane.band.widest)),
  });

  function paint() {
    state.narrow = state.room < NARROW;
    state.headWidth = state.narrow ? 86 : store.options.folded ? 392 : 316;
    gather();
    tools.update(store, tracks());
    const none = state.count === 0;
    empty.hidden = !none;
    scroll.hidden = table.element.hidden = none;
    if (none) return;
    const room = Math.max(40, state.room - state.headWidth);
    const growing = [...state.lanes.values()].some((lane) => !lane.run.end);
    if (state.auto) state.px = autoWidth(room - 12, state.count, growing);
    const wide = Math.max(room, Math.ceil(state.count * state.px) + 8);
    spacer.style.width = `${state.headWidth + wide}px`;
    spacer.style.height = `${RULER + state.height}px`;
    if (growing && state.stick) scroll.scrollLeft = scroll.scrollWidth;
    const tall = Math.max(40, Math.min(state.tall || Infinity, RULER + state.height) - RULER);
    pin.style.width = `${state.room}px`;
    for (const canvas of [base, over]) {
      size(canvas, room, tall);
      canvas.style.left = `${state.headWidth}px`;
      canvas.style.top = `${RULER}px`;
    }
    size(ruler, room, RULER);
    ruler.style.left = `${state.headWidth}px`;
    corner.style.width = clip.style.width = `${state.headWidth}px`;
    clip.style.height = `${tall}px`;
    drawHeads(tall);
    const ink = palette(element);
    const view = look(scroll.scrollLeft, room, ink);
    paintRuler(clear(ruler), RULER, view);
    const ctx = clear(base);
    ctx.save();
    ctx.translate(0, -scroll.scrollTop);
    paintBands(ctx, shownPlaces(state.places, scroll.scrollTop, tall), state.lanes, view);
    ctx.restore();
    paintOver();
  }

  function drawHeads(/** @type {number} */ tall) {
    heads.style.transform = `translateY(${-scroll.scrollTop}px)`;
    heads.style.height = `${state.height}px`;
    corner.textContent = state.narrow ? "position" : "";
    if (!state.narrow)
      corner.replaceChildren(
        ...(store.options.folded
          ? [
              h("span.wide"),
              h("span", { text: "calls" }),
              h("span", { text: "tokens/call" }),
              h("span", { text: "speed" }),
            ]
          : [h("span.wide"), h("span.last", { text: "position in the response" })]),
      );
    corner.classList.toggle("folded", store.options.folded && !state.narrow);
    for (const [key, item] of state.elements) {
      if (state.order.includes(key)) continue;
      item.element.remove();
      state.elements.delete(key);
    }
    const reference = referenceOf(store);
    const scale = tops();
    for (const place of state.places) {
      const lane = state.lanes.get(place.key);
      if (!lane) continue;
      let item = state.elements.get(place.key);
      if (!item || item.run !== lane.run) {
        item?.element.remove();
        item = buildHead(lane.run, {
          fold: () => turn(place.key),
          card: () => lab?.ui.open("methods", lane.run.card.name),
          proof: (anchor) => toggleProof(anchor, store, lane.run),
        });
        state.elements.set(place.key, item);
      }
      if (item.element.parentElement !== heads) heads.append(item.element);
      const near = place.top + place.height > scroll.scrollTop - 400 && place.top < scroll.scrollTop + tall + 400;
      item.element.style.top = `${place.top}px`;
      item.element.style.height = `${place.height}px`;
      if (!near) continue;
      updateHead(item, {
        place,
        name: nameOf(store, lane.run),
        figures: figuresOf(store, lane.run, reference, lane.parts),
        labels: place.tracks.map(({ id }) => labelOf(id, lane.run, scale)),
        narrow: state.narrow,
        width: state.headWidth,
        room: state.room,
        focus: (store.cursor?.run ?? null) === place.key,
      });
    }
    state.order.forEach((key, i) => {
      const item = state.elements.get(key);
      if (item && heads.children[i] !== item.element) heads.insertBefore(item.element, heads.children[i] ?? null);
    });
  }

  /** @param {string} id @param {Run} run @param {Map<string, number>} scale */
  function labelOf(id, run, scale) {
    const track = trackOf(id);
    if (!track.has(run)) return track.label(run);
    const top = id.includes(".") || id === "entropy" ? ` 0–${upper(scale.get(id) ?? 0)}` : "";
    const lines = linesOf(run, id === "importance" ? "judge" : id).map((line) => `, τ ${fmt(line.value, 2)}`);
    return `${track.label(run)}${top}${lines.slice(0, 1).join("")}`;
  }

  function paintOver() {
    const ctx = clear(over);
    const ink = palette(element);
    const tall = over.height / (window.devicePixelRatio || 1);
    const x = (/** @type {number} */ pos) => pos * state.px - scroll.scrollLeft;
    const range = state.brush ?? store.filters.get("range")?.range;
    if (range) {
      ctx.fillStyle = ink("--draft");
      ctx.globalAlpha = 0.1;
      ctx.fillRect(x(range[0]), 0, (range[1] - range[0] + 1) * state.px, tall);
      ctx.globalAlpha = 0.7;
      for (const at of [x(range[0]), x(range[1] + 1)]) ctx.fillRect(at - 0.5, 0, 1, tall);
      ctx.globalAlpha = 1;
    }
    for (const [selection, locked] of /** @type {const} */ ([
      [store.hover, false],
      [store.cursor, true],
    ])) {
      if (selection?.pos == null) continue;
      const width = Math.max(2, state.px);
      ctx.fillStyle = ink("--ink");
      ctx.globalAlpha = locked ? 0.09 : 0.06;
      ctx.fillRect(x(selection.pos), 0, width, tall);
      ctx.globalAlpha = 1;
      const place = state.places.find((one) => one.key === selection.run);
      const round = store.runs.get(selection.run)?.rounds[selection.round ?? -1];
      if (!place) continue;
      const top = place.top - scroll.scrollTop;
      if (round) {
        ctx.fillStyle = ink("--select");
        ctx.globalAlpha = locked ? 0.6 : 0.35;
        const emitted = round.tokens?.length ?? round.emitted;
        ctx.fillRect(x(round.start), top + 1, Math.max(2, emitted * state.px), 1.5);
        ctx.globalAlpha = 1;
      }
      ctx.strokeStyle = ink("--select");
      ctx.globalAlpha = locked ? 1 : 0.5;
      ctx.lineWidth = locked ? 1.5 : 1;
      ctx.strokeRect(x(selection.pos) - 0.5, top + 1.5, width + 1, place.height - 4);
      ctx.globalAlpha = 1;
    }
    say();
  }

  /** What stands at the focused place, for those who do not see the canvas. */
  function say() {
    const focus = store.cursor ?? store.focus();
    over.setAttribute("aria-valuemax", String(Math.max(0, state.count - 1)));
    over.setAttribute("aria-valuenow", String(focus?.pos ?? 0));
    over.setAttribute("aria-valuetext", focus?.pos == null ? "no position chosen" : table.sentence(focus));
    table.update();
  }

  /** @param {number} by @param {number=} anchor pixels from the plot's left edge */
  function zoom(by, anchor) {
    const room = Math.max(40, state.room - state.headWidth);
    const cursor = store.cursor?.pos == null ? -1 : (store.cursor.pos + 0.5) * state.px - scroll.scrollLeft;
    const at = anchor ?? (cursor >= 0 && cursor <= room ? cursor : room / 2);
    const next = stepWidth(state.px, by);
    const offset = keepAnchor(scroll.scrollLeft, at, state.px, next);
    state.auto = false;
    state.px = next;
    spacer.style.width = `${state.headWidth + Math.max(room, Math.ceil(state.count * next) + 8)}px`;
    scroll.scrollLeft = offset;
    later();
  }

  const plot = (/** @type {PointerEvent|WheelEvent} */ event) => {
    const box = scroll.getBoundingClientRect();
    return { x: event.clientX - box.left - state.headWidth, y: event.clientY - box.top - RULER };
  };
  /** The column under a pointer. @param {PointerEvent} event */
  function under(event) {
    const { x, y } = plot(event);
    const pos = Math.floor((x + scroll.scrollLeft) / state.px);
    const place = y < 0 || x < 0 ? null : placeAt(state.places, y + scroll.scrollTop);
    const lane = place ? state.lanes.get(place.key) : null;
    return { x, y, pos, lane, column: lane?.list[pos] ?? null };
  }

  /** @type {{x: number, pos: number, pan: boolean, from: number}|null} */
  let down = null;
  scroll.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || /** @type {HTMLElement} */ (event.target).closest("button")) return;
    const { x, y, pos } = under(event);
    if (x < 0 || x > state.room - state.headWidth || y > scroll.clientHeight - RULER) return;
    over.focus({ preventScroll: true });
    down = { x: event.clientX, pos, pan: y < 0 || event.shiftKey, from: scroll.scrollLeft };
  });
  scroll.addEventListener("pointermove", (event) => {
    const at = under(event);
    if (down && Math.abs(event.clientX - down.x) > 4) {
      scroll.setPointerCapture(event.pointerId);
      store.setHover(null);
      if (down.pan) {
        state.auto = false;
        scroll.scrollLeft = down.from + down.x - event.clientX;
      } else {
        const pos = Math.max(0, Math.min(state.count - 1, at.pos));
        state.brush = [Math.min(down.pos, pos), Math.max(down.pos, pos)];
        overlay();
      }
      return;
    }
    scroll.classList.toggle("panning", at.y < 0 && at.x >= 0);
    store.setHover(at.column && at.lane ? columnSelection(at.lane.run, at.column) : null);
  });
  scroll.addEventListener("pointerup", (event) => {
    const { lane, column } = under(event);
    if (down && state.brush) store.setFilter("range", makeFilter({ kind: "range", range: state.brush }));
    else if (down && !down.pan && column && lane) store.setCursor(choose(lane.run, column));
    down = state.brush = null;
    overlay();
  });
  scroll.addEventListener("pointercancel", () => (down = state.brush = null));
  scroll.addEventListener("pointerleave", () => down || store.setHover(null));
  scroll.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoom(event.deltaY > 0 ? -1 : 1, Math.max(0, plot(event).x));
    },
    { passive: false },
  );
  scroll.addEventListener("scroll", () => {
    state.stick = scroll.scrollLeft + scroll.clientWidth >= scroll.scrollWidth - 40;
    later();
  });
  clip.addEventListener("focusin", (event) => {
    const target = /** @type {Element} */ (event.target);
    const band = target.closest("[data-band]")?.getAttribute("data-band");
    const place = state.places.find((one) => one.key === band);
    if (place) show(place);
  });
  scroll.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== over) return;
    const room = state.room - state.headWidth;
    const pan = (/** @type {number} */ by) => (scroll.scrollLeft += by * room * 0.25);
    /** @type {Record<string, () => void>} */
    const moves = {
      "+": () => zoom(1),
      "=": () => zoom(1),
      "-": () => zoom(-1),
      w: () => zoom(1),
      s: () => zoom(-1),
      a: () => pan(-1),
      d: () => pan(1),
      ArrowUp: () => band(-1),
      ArrowDown: () => band(1),
      Enter: () => turn(store.cursor?.run ?? ""),
    };
    if (event.key === "Escape" && store.filters.has("range")) store.setFilter("range", null);
    else if (moves[event.key]) moves[event.key]();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  /** Up or down a band, as they are here. */
  function band(/** @type {number} */ by) {
    const at = state.order.indexOf(store.cursor?.run ?? "");
    const key = state.order[Math.max(0, Math.min(state.order.length - 1, at + by))];
    const lane = state.lanes.get(key);
    const column = lane?.list[Math.min(store.cursor?.pos ?? 0, lane.list.length - 1)];
    if (lane && column) store.setCursor(choose(lane.run, column));
  }

  /** Fold a band, or open it. */
  function turn(/** @type {string} */ key) {
    if (!state.lanes.has(key)) return;
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
    const x = cursor.pos * state.px - scroll.scrollLeft;
    if (x < 0 || x + state.px > room) scroll.scrollLeft = cursor.pos * state.px - room / 2;
    const place = state.places.find((one) => one.key === cursor.run);
    if (place) show(place);
  }

  /** The whole score as an SVG document. */
  function picture() {
    gather();
    const ink = palette(element);
    const left = 250;
    const px = Math.max(4, Math.min(28, 1400 / Math.max(1, state.count)));
    const width = Math.ceil(state.count * px) + 40;
    const ctx = new SvgContext(left + width, RULER + state.height);
    const view = { ...look(0, width, ink), px };
    const scale = view.tops;
    const reference = referenceOf(store);
    ctx.translate(left, 0);
    paintRuler(ctx, RULER, view);
    ctx.translate(0, RULER);
    paintBands(ctx, state.places, state.lanes, view);
    ctx.translate(-left, 0);
    for (const place of state.places) {
      const lane = state.lanes.get(place.key);
      if (!lane) continue;
      const figures = figuresOf(store, lane.run, reference, lane.parts);
      const words = place.folded
        ? `${figures.calls} calls · ${fmt(figures.tau)}`
        : `${figures.calls} calls, ${fmt(figures.tau)} tokens a call`;
      const labels = place.folded ? [] : place.tracks.map(({ id }) => labelOf(id, lane.run, scale));
      paintHead(ctx, place, { title: nameOf(store, lane.run), figures: words, labels }, left, ink);
    }
    return svgText(ctx.figure, element);
  }

  const live = () => store.seldom("score", draw, 100);
  store.on("data", live);
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

/** What a click on a column selects: the draft token that was rejected there, else the token.
 * @param {Run} run @param {Column} column */
const choose = (run, column) =>
  column.ghost && column.index !== null ? nodeSelection(run, column.round, column.index) : columnSelection(run, column);

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

/** @param {HTMLCanvasElement} canvas */
function clear(canvas) {
  const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const ratio = window.devicePixelRatio || 1;
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.clearRect(0, 0, canvas.width, canvas.height);
  return ctx;
}
