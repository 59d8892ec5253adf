// @ts-check
// The score: one band a method on one axis of positions. What it shows is in scorecontent.js, what it draws in
// scorepaint.js, its pointer and keys in scoreinput.js.

import { captionOf } from "../caption.js";
import { h, ink, tell } from "../dom.js";
import { download, figureBlob, offer } from "../figure.js";
import { inPlace } from "../run/canvas.js";
import { autoWidth, keepAnchor, stepWidth } from "./axis.js";
import { numbersIn } from "./numbertracks.js";
import { peakTable } from "./peaktable.js";
import { positionTable } from "./positiontable.js";
import { answered, contentOf, EMPTY, lookOf, missingWords, tracksOf } from "./scorecontent.js";
import { scoreHeads } from "./scoreheads.js";
import { listen } from "./scoreinput.js";
import { scoreLegend } from "./scorelegend.js";
import { scoreMarks } from "./scoremarks.js";
import { NUMBER, paintBand, paintRuler } from "./scorepaint.js";
import { scorePicture } from "./scorepicture.js";
import { scoreSheet } from "./scoresheet.js";
import { scoreTools } from "./scoretools.js";
import { zoomIn, zoomOf } from "./stagelink.js";
import { createTiles } from "./tiles.js";

const RULER = 26;
const NARROW = 640; // below this a band's title has a line of its own
const TITLE_LINE = 20;
const NEAR = 160; // pixels beyond the window that are painted, so that panning finds them there
const SETTLED_MS = 250; // until a zoom is told to the link, once nothing moves
const HEADS_MS = 250; // figures beside a growing band change at most so often

/** @typedef {import("./layout.js").Place} Place */
/** @typedef {import("./tiles.js").Part} Part */

/** @param {HTMLElement} element @param {import("../types/store.js").Store} store
 * @param {import("../types/lab.js").Lab} [lab] */
export function mount(element, store, lab) {
  const over = h("div.over", {
    tabindex: "0",
    role: "slider",
    "aria-label": "Score: positions of all methods",
    "aria-valuemin": "0",
    "aria-valuenow": "0",
    "aria-valuetext": "no position chosen",
  });
  const [ruler, tiles] = [createTiles("ruler"), createTiles("tiles")];
  const marks = scoreMarks();
  const heads = scoreHeads(store, { fold: turn, card: (method) => lab?.ui.open("methods", method) });
  const spacer = h("div.spacer", {}, heads.corner, ruler.element, heads.heads, tiles.element, marks.element, over);
  const scroll = h("div.scroller", {}, spacer);
  const empty = h("p.v-empty", { text: "One band a method appears here once a run has tokens." });
  const missing = h("p.missing");
  const sheet = h("div.sheet");
  const table = positionTable(store, () => content.order);
  const peaks = peakTable(store, () => content.order);
  const state = {
    px: 12,
    auto: true, // the width of a position follows the room
    stick: true, // the end of a growing text stays in view
    left: 0, // where the scroller is: kept here, since asking has the page laid out
    top: 0,
    room: 0,
    tall: 0,
    headWidth: 260,
    narrow: false,
    epoch: 0, // counts what changes how columns look
    going: false, // the scroller is not at `left` yet
    told: "", // the zoom that the link knows
    telling: 0,
    held: 0, // until when a selection does not move what a link has put in the window
    zooms: 0, // how often somebody has zoomed
    hurry: false, // somebody just has: what the window shows is painted first
    headsAt: 0,
    shape: "",
    own: /** @type {Map<string, boolean>} */ (new Map()), // bands folded or opened one by one
    brush: /** @type {[number, number] | null} */ (null),
  };
  let content = EMPTY;

  const active = () => store.options.stage === "score" && !element.hidden;
  const later = () => store.frame("score", () => active() && draw());
  const moved = () => store.frame("score-window", () => active() && content.count && paint());
  const marked = () => store.frame("score-marks", () => active() && mark());
  const folded = (/** @type {string} */ key) => state.own.get(key) ?? store.options.folded;
  const gather = () => contentOf(store, folded, state.narrow ? TITLE_LINE : 0);
  const plotRoom = () => Math.max(40, state.room - state.headWidth);
  const wideAt = (/** @type {number} */ px) => Math.max(plotRoom(), Math.ceil(content.count * px) + 8);
  const growing = () => [...content.lanes.values()].some((lane) => !lane.run.end);
  const tools = scoreTools(store, {
    peaks: peaks.button,
    zoom: (by) => zoom(by),
    fit: () => {
      state.auto = true;
      told("");
      later();
    },
    refold: () => state.own.clear(),
    numbers: () => [...new Set([...store.runs.values()].flatMap((run) => [...numbersIn(run)]))].sort(),
    save: async (kind) => download(await figureBlob(picture(), kind), `draftscope-score.${kind}`),
  });
  element.classList.add("v-view", "score");
  const legend = scoreLegend();
  element.replaceChildren(tools.element, legend.element, peaks.element, scroll, sheet, empty, missing, table.element);

  /** What is shown has changed: runs, their order, their places. */
  function draw() {
    state.narrow = state.room < NARROW;
    const shape = content.places;
    content = gather();
    state.headWidth = state.narrow ? 86 : store.options.folded ? (answered(content) ? 462 : 424) : 316;
    const none = content.count === 0;
    tools.update(store, tracksOf(store), !none && content.places.every((place) => place.folded));
    empty.hidden = !none;
    tell(missing, missingWords(store));
    scroll.hidden = table.element.hidden = legend.element.hidden = none;
    if (none) return;
    const live = growing();
    if (state.auto) state.px = autoWidth(plotRoom() - 12, content.count, live);
    if (!live || !sameShape(shape, content.places)) drawBeside();
    else if (performance.now() - state.headsAt > HEADS_MS) store.frame("score-heads", () => active() && drawBeside());
    if (live && state.stick) goTo(wideAt(state.px) - plotRoom());
    paint();
    mark();
  }

  /** Heads and signs. While bands grow that is a frame of its own, behind that of the columns. */
  function drawBeside() {
    state.headsAt = performance.now();
    if (state.room) legend.draw(content, state.narrow);
    drawHeads();
  }

  const drawHeads = () => heads.draw(content, { narrow: state.narrow, width: state.headWidth, room: state.room });

  /** Scroll sideways when what is painted next is as wide as that takes. @param {number} left */
  function goTo(left) {
    state.left = Math.max(0, left);
    state.going = true;
  }

  /** The columns in the window. */
  function paint() {
    const { px, left, top, headWidth } = state;
    const [wide, room] = [wideAt(px), plotRoom()];
    const tall = Math.max(40, Math.min(state.tall || Infinity, RULER + content.height) - RULER);
    const shape =
      `grid-template:${RULER}px ${content.height}px / ${headWidth}px ${wide}px;` +
      `--head:${headWidth}px;--room:${room}px;--tall:${tall}px`;
    if (state.shape !== shape) spacer.style.cssText = state.shape = shape;
    if (state.going && state.room)
      // after this frame's other changes: at once would have the page laid out twice
      queueMicrotask(() => {
        scroll.scrollLeft = state.left;
        state.going = false;
      });
    const near = state.hurry ? 0 : NEAR;
    const seen = {
      left: left - near,
      right: Math.min(left + room + near, wide),
      top: top - near,
      bottom: top + tall + near,
    };
    const paper = ink("--panel");
    const look = lookOf(content, { px, scroll: 0, width: 0, ink });
    tiles.draw(
      content.places.flatMap((place) => partOf(place, look) ?? []),
      seen,
      paper,
      state.hurry,
    );
    const stamp = [px, state.epoch].join("/");
    const count = Math.max(0, wide - 2 * NUMBER); // pixels that stay as they are when the ruler grows
    /** @type {Part["paint"]} */
    const ticks = (ctx, from, width) => paintRuler(ctx, RULER, { ...look, scroll: from, width }, wide);
    ruler.draw(
      [{ key: "", top: 0, height: RULER, stamp, count, px: 1, paint: ticks }],
      { ...seen, top: 0, bottom: 1 },
      paper,
    );
  }

  /** A band for the tiles. @param {Place} place @param {import("./scorepaint.js").Look} look @returns {Part | null} */
  function partOf(place, look) {
    const lane = content.lanes.get(place.key);
    if (!lane) return null;
    const { px } = look;
    const written = inPlace(lane.run) ? lane.list.at(-1)?.round : ""; // an iteration changes columns that are there
    const tops = place.tracks.map(({ id, y }) => `${id}:${y - place.top}:${content.tops.get(id)}`);
    return {
      key: place.key,
      top: place.top,
      height: place.height,
      stamp: [px, state.epoch, place.height, look.widest, lane.parts, lane.run.head?.id, written, tops].join("/"),
      count: lane.shift + lane.list.length,
      px,
      paint: (ctx, left, width, from) => paintBand(ctx, place, lane, { ...look, scroll: left, width }, from),
    };
  }

  /** By how many positions a selection's band stands to the right. @param {{readonly run: string}} selection */
  const shiftOf = ({ run }) => content.lanes.get(run)?.shift ?? 0;

  /** The brushed range, what is hovered and what is selected. */
  function mark() {
    const spots = [store.hover, store.cursor].map((selection) => {
      if (selection?.pos == null) return null;
      const band = content.places.find((one) => one.key === selection.run) ?? null;
      const round = store.runs.get(selection.run)?.rounds[selection.round ?? -1] ?? null;
      const shift = shiftOf(selection);
      return { at: selection.pos + shift, shift, band, round };
    });
    const range = state.brush ?? store.filters.get("range")?.range;
    marks.draw(state.px, content.height, range, [spots[0], spots[1]]);
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
    const cursor = at?.pos == null ? -1 : (at.pos + shiftOf(at) + 0.5) * state.px - state.left;
    const fixed = anchor ?? (cursor >= 0 && cursor <= room ? cursor : room / 2);
    const next = stepWidth(state.px, by);
    const left = keepAnchor(state.left, fixed, state.px, next);
    state.auto = false;
    state.px = next;
    goTo(Math.min(left, wideAt(next) - room));
    tellZoom();
    // at once, since the frame is near; what lies around the window follows when that frame is out
    state.hurry = true;
    if (content.count) paint();
    marked();
    state.zooms += 1;
    const now = state.zooms;
    const rest = () => {
      if (now !== state.zooms) return;
      state.hurry = false;
      if (active() && content.count) paint();
    };
    requestAnimationFrame(() => requestAnimationFrame(rest));
  }

  /** @param {string} zoom */
  function told(zoom) {
    clearTimeout(state.telling);
    state.told = zoom;
    store.setOption("zoom", zoom);
  }

  /** The link has the zoom once it has come to rest. */
  function tellZoom() {
    clearTimeout(state.telling);
    if (state.auto) return;
    state.telling = setTimeout(() => {
      if (!state.auto) told(zoomOf(state.px, state.left));
    }, SETTLED_MS);
  }

  /** The zoom that a link asks for, unless it is what was told to it. */
  function zoomed() {
    const { zoom } = store.options;
    if (zoom === state.told) return;
    state.told = zoom;
    const asked = zoomIn(zoom);
    state.auto = !asked;
    if (asked) {
      state.px = asked.px;
      state.held = performance.now() + SETTLED_MS;
      goTo(asked.first * asked.px);
    }
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
    if (place.top < state.top) scroll.scrollTop = place.top;
    else if (place.top + place.height > state.top + tall)
      scroll.scrollTop = Math.min(place.top, place.top + place.height - tall);
  }

  function reveal() {
    const { cursor } = store;
    if (!active() || cursor?.pos == null || performance.now() < state.held) return;
    const room = state.room - state.headWidth;
    const left = (cursor.pos + shiftOf(cursor)) * state.px;
    const x = left - state.left;
    if (x < 0 || x + state.px > room) scroll.scrollLeft = left - room / 2;
    const place = content.places.find((one) => one.key === cursor.run);
    if (place) show(place);
  }

  /** The whole score as an SVG document. */
  function picture() {
    content = gather();
    return scorePicture(element, store, content, captionOf(store, lab));
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
      marked();
    },
    pan: () => {
      state.auto = false;
      tellZoom();
    },
  });
  scroll.addEventListener("scroll", () => {
    if (!state.going) state.left = scroll.scrollLeft;
    state.top = scroll.scrollTop;
    state.stick = state.left + plotRoom() >= wideAt(state.px) - 40;
    moved();
    tellZoom();
  });
  heads.heads.addEventListener("focusin", (event) => {
    const key = /** @type {Element} */ (event.target).closest("[data-band]")?.getAttribute("data-band");
    const place = content.places.find((one) => one.key === key);
    if (place) show(place);
  });
  store.on("data", later);
  const anew = () => {
    state.epoch += 1;
    later();
  };
  for (const topic of /** @type {const} */ (["runs", "filters", "theme", "flags"])) store.on(topic, anew);
  store.on("options", (name) => (name === "zoom" ? zoomed() : anew()));
  for (const topic of /** @type {const} */ (["time", "status"])) store.on(topic, later);
  store.on("runs", () => {
    state.own.clear();
    state.auto = state.stick = true;
    told("");
  });
  for (const topic of /** @type {const} */ (["cursor", "hover"])) store.on(topic, marked);
  store.on("cursor", () => store.frame("score-heads", () => active() && drawHeads()));
  store.on("cursor", () => store.frame("score-reveal", reveal));
  new ResizeObserver(([entry]) => {
    const opened = !state.room;
    state.room = Math.floor(entry.contentRect.width);
    state.tall = Math.floor(entry.contentRect.height);
    later();
    if (opened) store.frame("score-reveal", reveal);
  }).observe(scroll);
  addEventListener("beforeprint", () => {
    if (active()) sheet.replaceChildren(...scoreSheet(store, gather()));
  });
  addEventListener("afterprint", () => sheet.replaceChildren());
  lab?.ui.on("zoom", (by) => zoom(by));
  offer(element, lab, () => (store.lanes.length ? picture() : null));
  later();
}

/** Whether bands lie as they did. @param {readonly Place[]} a @param {readonly Place[]} b */
const sameShape = (a, b) =>
  a.length === b.length && a.every((place, i) => place.key === b[i].key && place.height === b[i].height);
