// @ts-check
// The dock: every lane's rounds on one axis of target calls or wall clock; scrub, play, speed, step.

import { captionOf } from "./caption.js";
import { lockedRun, nameOf } from "./columns.js";
import { duration, h, ink } from "./dom.js";
import { offer, SvgContext, svgText } from "./figure.js";
import { hush } from "./hush.js";
import { icon } from "./icons.js";
import { callWords } from "./run/calls.js";
import { mainLine, SAYS, stepped } from "./run/phases.js";
import { AXIS, clockParts, fitted, fontOf, HEAD, KEY, paintKey, paintTimeline } from "./timelinepaint.js";
import { chorded } from "./typing.js";

const ROW = 10;
const GAP = 4;
const FEW = 8; // more lanes than this are drawn as thin lines without names
const LABEL = 250; // pixels that names take at most
const LEAST = 720; // pixels of a saved timeline
const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4];
const MODES = /** @type {const} */ (["calls", "clock"]);
const PLAYS = ["Play (space)", "Pause (space)"];
/** @type {Record<string, number>} */
const STEPS = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 };

/** @type {import("./types/lab.js").Mount} */
export function mount(element, store, lab) {
  const canvas = h("canvas", { role: "slider", tabindex: 0, "aria-label": "Time shown", "aria-valuemin": 0 });
  const readout = h("output.readout");
  hush(store, readout, () => document.activeElement !== canvas); // which tells its own value
  const label = h("span.stripename", { hidden: true, "aria-hidden": "true" });
  const clockKey = h("span.clockkey", { hidden: true });
  /** @param {Parameters<typeof icon>[0]} name @param {string} label @param {() => void} onclick */
  const button = (name, label, onclick) =>
    h("button.plain", { "aria-label": label, title: label, onclick }, icon(name));
  const play = button("play", PLAYS[0], toggle);
  const modes = MODES.map((mode) =>
    h(
      "button",
      {
        "aria-pressed": "false",
        title: mode === "calls" ? "One column a target call: who needs fewer" : "Recorded round times: who is faster",
        onclick: () => setMode(mode),
      },
      mode === "calls" ? "target calls" : "wall clock",
    ),
  );
  /** @type {HTMLSelectElement} */
  const speed = h(
    "select",
    { "aria-label": "Speed", onchange: () => store.setTime({ speed: Number(speed.value) }) },
    SPEEDS.map((value) => h("option", { value, selected: value === 1 }, `${value}×`)),
  );
  element.append(
    h(
      "div.buttons",
      {},
      button("first", "To the start", () => seek(0)),
      button("back", "One step back (,)", () => stepBy(-1)),
      play,
      button("forward", "One step on (.)", () => stepBy(1)),
      button("last", "To the end", () => seek(Infinity)),
      h(
        "span.events",
        { role: "group", "aria-label": "Inside a round" },
        button("eventback", "One event back (<): draft, verify, decide", () => stepEvent(-1)),
        button("event", "One event on (>): draft, verify, decide", () => stepEvent(1)),
      ),
    ),
    canvas,
    label,
    h(
      "div.modes",
      {},
      readout,
      clockKey,
      h("div.row", {}, h("div.segments", { role: "group", "aria-label": "Axis" }, modes), speed),
    ),
  );
  let width = 0;
  let last = 0;

  const lanes = () => [...store.runs.values()];
  const now = () => Math.min(store.time.at, store.span());
  const thin = () => store.lanes.length > FEW;
  const sizes = () => (thin() ? [2, 1] : [ROW, GAP]); // pixels of a row, and of the gap below it
  let left = 0; // pixels that the names of the lanes take
  /** where the pointer is over the canvas @type {{x: number, y: number} | null} */
  let pointer = null;

  /** @param {number} at rounds or milliseconds */
  function seek(at) {
    const end = store.span();
    store.setTime({ at: at >= end ? Infinity : Math.max(0, at), playing: false });
  }

  /** Forward or back by a target call; on the clock, to where the next round of any lane ends. @param {number} n */
  function stepBy(n) {
    const { mode, at } = store.time;
    const live = at === Infinity;
    if (mode === "calls") return seek(n > 0 && live ? 1 : Math.floor(now()) + n);
    const ends = [...new Set(lanes().flatMap((run) => run.sums.clock))].sort((a, b) => a - b);
    const here = n > 0 && live ? 0 : now();
    seek(
      n > 0 ? (ends.find((end) => end > here + 1e-6) ?? Infinity) : (ends.findLast((end) => end < here - 1e-6) ?? 0),
    );
  }

  /** Forward or back by an event of a round: the draft, the target's call, the decision. The details follow.
   * @param {1 | -1} by */
  function stepEvent(by) {
    const { mode, at, inside } = store.time;
    const from = at === Infinity && by > 0 ? 0 : mode === "calls" ? Math.min(at, store.span()) : 0;
    const to = stepped({ at: from, inside }, by, store.span("calls"));
    store.setTime({ mode: "calls", playing: false, ...to });
    const run = lockedRun(store);
    const half = run && store.halfRound(run);
    const round = half ?? run?.rounds[store.visibleRounds(run) - 1];
    if (!run || !round) return;
    const node = half ? (mainLine(half)[0] ?? null) : null;
    store.setHover(null);
    store.setCursor(
      node === null
        ? { run: run.key, round: round.index, pos: round.start }
        : { run: run.key, round: round.index, node },
    );
  }

  /** @param {typeof MODES[number]} mode */
  function setMode(mode) {
    const { time } = store;
    const share = time.at === Infinity ? null : now() / (store.span() || 1);
    store.setTime({ mode, at: share === null ? Infinity : share * store.span(mode) });
  }

  function toggle() {
    const { playing, at } = store.time;
    if (!playing && !store.span()) return;
    store.setTime({ playing: !playing, at: !playing && at === Infinity ? 0 : at });
    last = performance.now();
    if (store.time.playing) requestAnimationFrame(tick);
  }

  /** @param {number} at milliseconds */
  function tick(at) {
    if (!store.time.playing) return;
    const rate = store.time.mode === "clock" ? 1000 : store.CALLS_PER_SECOND;
    const next = store.time.at + (Math.max(0, at - last) / 1000) * rate * store.time.speed;
    last = at;
    if (next >= store.span()) store.setTime({ at: Infinity, playing: false });
    else store.setTime({ at: next });
    if (store.time.playing) requestAnimationFrame(tick);
  }

  /** How the lanes lie, and their names beside them. @param {CanvasRenderingContext2D} c
   * @param {boolean} named each as tall as its name, on an axis that leaves room for it */
  function layout(c, named) {
    const rows = lanes();
    const [row, gap] = named ? [ROW, GAP] : sizes();
    const wide = named ? Math.max(LEAST, width) : width;
    c.font = fontOf(ink);
    const widthOf = (/** @type {string} */ text) => c.measureText(text).width;
    const names = rows.map((run) => nameOf(store, run));
    const room = Math.min(LABEL, wide / 4, Math.max(0, ...names.map(widthOf)) + 14);
    const aside = named || (wide > 440 && !thin()) ? room : 0;
    return {
      ...{ width: wide, row, gap, left: aside, rows },
      names: aside ? fitted(names, widthOf, aside - 12) : names,
      height: HEAD + Math.max(1, rows.length) * (row + gap) + AXIS,
      over: !named && thin() ? rowOver() : -1,
      head: store.time.at !== Infinity || store.status.phase !== "running" ? now() : null,
    };
  }

  function draw() {
    const c = canvas.getContext("2d");
    if (!c) return;
    const sheet = layout(c, false);
    const { height } = sheet;
    left = sheet.left;
    const ratio = devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.height = `${height}px`;
    }
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, width, height);
    paintTimeline(c, store, sheet, ink);
    words();
    nameStripe();
  }

  /** As an SVG document, with what its axis is and what its colours mean. */
  function picture() {
    const c = canvas.getContext("2d");
    if (!c || !store.runs.size) return null;
    const sheet = layout(c, true);
    const context = new SvgContext(sheet.width, sheet.height + KEY);
    paintTimeline(context, store, sheet, ink);
    context.translate(0, sheet.height);
    paintKey(context, store, sheet, ink);
    return svgText(context.figure, canvas, captionOf(store, lab));
  }

  /** The place of the lane whose stripe the pointer is over, or -1. */
  function rowOver() {
    const [row, gap] = sizes();
    const at = pointer ? Math.floor((pointer.y - HEAD + gap / 2) / (row + gap)) : -1;
    return at < store.runs.size ? at : -1;
  }

  /** The name of that lane, and its calls so far, beside the pointer. */
  function nameStripe() {
    const [row, gap] = sizes();
    const at = rowOver();
    const run = lanes()[at];
    label.hidden = !pointer || !run;
    if (!pointer || !run) return;
    const text = `${nameOf(store, run)}: ${callWords(store.stats(run))}`;
    if (label.textContent !== text) label.textContent = text;
    const { style } = label;
    style.left = `${canvas.offsetLeft + pointer.x}px`;
    style.top = `${canvas.offsetTop + HEAD + at * (row + gap) - 4}px`;
    label.classList.toggle("before", pointer.x > width / 2);
  }

  function words() {
    const { mode, at, playing } = store.time;
    const span = store.span();
    const value = mode === "clock" ? `${duration(now())} of ${duration(span)}` : `call ${Math.floor(now())} of ${span}`;
    const { inside } = store.time;
    const text =
      inside && at < span // a link may name a call that these runs do not reach
        ? `call ${Math.floor(at) + 1} of ${span}: ${SAYS[inside]}`
        : at === Infinity && store.status.phase === "running"
          ? `live · ${mode === "clock" ? duration(span) : `call ${span}`}`
          : value;
    if (readout.textContent !== text) readout.textContent = text;
    canvas.setAttribute("aria-valuemax", String(Math.round(span)));
    canvas.setAttribute("aria-valuenow", String(Math.round(now())));
    canvas.setAttribute("aria-valuetext", text);
    modes.forEach((item, i) => item.setAttribute("aria-pressed", String(mode === MODES[i])));
    if (play.dataset.on !== String(playing)) {
      play.dataset.on = String(playing);
      play.replaceChildren(icon(playing ? "pause" : "play"));
      play.ariaLabel = play.title = PLAYS[Number(playing)];
    }
    speed.value = String(store.time.speed);
    const parts = mode === "clock" ? clockParts(lanes()) : [];
    clockKey.hidden = !parts.length;
    if (clockKey.dataset.parts !== String(parts))
      clockKey.replaceChildren(
        ...parts.flatMap(([colour, text]) => [h("i", { style: `background: var(${colour})` }), text]),
      );
    clockKey.dataset.parts = String(parts);
  }

  const point = (/** @type {PointerEvent} */ event) => {
    const box = canvas.getBoundingClientRect();
    const share = (event.clientX - box.left - left - 1) / (width - left - 10);
    const at = share * store.span();
    seek(store.time.mode === "calls" ? Math.round(at) : at);
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    point(event);
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = rowOver();
    pointer = { x: event.offsetX, y: event.offsetY };
    if (rowOver() === before) nameStripe();
    else later();
    if (canvas.hasPointerCapture(event.pointerId)) point(event);
  });
  canvas.addEventListener("pointerleave", () => {
    pointer = null;
    later();
  });
  canvas.addEventListener("keydown", (event) => {
    if (chorded(event)) return;
    if (STEPS[event.key]) stepBy(STEPS[event.key]);
    else if (event.key === "Home") seek(0);
    else if (event.key === "End") seek(Infinity);
    else return;
    event.preventDefault();
  });
  const later = () => store.frame("timeline", draw);
  store.on("data", () => store.seldom("timeline", draw, 120));
  for (const topic of /** @type {const} */ (["runs", "time", "cursor", "hover", "theme", "status"]))
    store.on(topic, later);
  let runs = store.runs;
  store.on("runs", () => {
    if (store.runs === runs) return; // a lane came or went
    runs = store.runs;
    if (store.status.step) store.setTime({ mode: "calls", at: 1 });
  });
  new ResizeObserver(([entry]) => {
    width = Math.floor(entry.contentRect.width);
    later();
  }).observe(canvas);
  offer(element, lab, picture);
  lab.ui.on("step", stepBy);
  lab.ui.on("event", stepEvent);
  lab.ui.on("play", toggle);
}
