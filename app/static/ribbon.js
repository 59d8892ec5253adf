/** The ribbon: one column a response position of one run; charts line up on it. */

import { columnSelection, nodeSelection, samples, selectedRun, visibleColumns } from "./columns.js";
import { h } from "./dom.js";
import { SIGNS, fmt, hideTip, legend, pieceOf, showTip } from "./draw.js";
import { SvgContext, offer, palette, svgText } from "./figure.js";
import { makeFilter } from "./filters.js";
import { paintColumns, signOf } from "./ribbonpaint.js";
import { flagVersion } from "./flags.js";
import { heightOf, paintAxis, rowsOf } from "./ribbonrows.js";
import { overlapAt, overlapN } from "./thresholds.js";

const AXIS = 104;
const WIDTHS = [0.5, 1, 2, 3, 5, 8, 12, 18, 28, 44, 64];

/** @param {HTMLElement} element @param {any} store @param {any=} lab */
export function mount(element, store, lab) {
  const state = { width: 12, auto: true, run: null, list: [], rows: [], brush: null, stick: true };
  const title = h("h3", { text: "Ribbon" });
  const about = h("span.v-sub");
  const key = h("span.v-keys");
  const zoomOut = h("button.v-button", { type: "button", text: "−", "aria-label": "Narrower columns" });
  const zoomIn = h("button.v-button", { type: "button", text: "+", "aria-label": "Wider columns" });
  const fit = h("button.v-button", { type: "button", text: "Fit" });
  const axis = h("canvas.v-axis", { "aria-hidden": "true" });
  const base = h("canvas", { "aria-hidden": "true" });
  const over = h("canvas.v-over", { "aria-hidden": "true" });
  const stage = h("div.v-stage", {}, base, over);
  const spacer = h("div.v-spacer", {}, stage);
  const scroll = h(
    "div.v-scroll",
    { tabindex: "0", role: "slider", "aria-label": "Response positions", "aria-valuemin": "0" },
    spacer,
  );
  const empty = h("p.v-empty", { text: "One column a response position appears here once a run has tokens." });
  element.classList.add("v-view", "v-ribbon");
  element.replaceChildren(
    h("header.v-head", {}, title, about, key, h("span.v-tools", {}, zoomOut, zoomIn, fit)),
    h("div.v-body", {}, axis, scroll),
    empty,
  );

  const draw = () => paint(element, store, state, { about, key, axis, base, over, stage, spacer, scroll, empty });
  const later = () => store.frame("ribbon", draw);
  const overlay = () => store.frame("ribbon-over", () => paintOverlay(store, state, over, scroll));
  const zoom = (step, anchor = scroll.clientWidth / 2) => {
    const at = (scroll.scrollLeft + anchor) / state.width;
    const near = WIDTHS.findIndex((width) => width >= state.width - 1e-6);
    setWidth(WIDTHS[Math.max(0, Math.min(WIDTHS.length - 1, (near < 0 ? WIDTHS.length - 1 : near) + step))]);
    scroll.scrollLeft = at * state.width - anchor;
  };
  const setWidth = (width) => {
    state.auto = false;
    state.width = width;
    spacer.style.width = `${Math.max(1, state.list.length * width)}px`;
    later();
  };
  zoomOut.onclick = () => zoom(-1);
  zoomIn.onclick = () => zoom(1);
  fit.onclick = () => setWidth(Math.max(0.3, Math.min(64, scroll.clientWidth / Math.max(1, state.list.length))));
  scroll.addEventListener("scroll", () => {
    state.stick = scroll.scrollLeft + scroll.clientWidth >= scroll.scrollWidth - 40;
    later();
  });
  scroll.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      zoom(event.deltaY > 0 ? -1 : 1, event.clientX - scroll.getBoundingClientRect().left);
    },
    { passive: false },
  );
  listenPointer(store, state, scroll, overlay);
  scroll.addEventListener("keydown", (event) => {
    if (event.key === "+" || event.key === "=") zoom(1);
    else if (event.key === "-") zoom(-1);
    else if (event.key === "Escape" && store.filters.has("range")) store.setFilter("range", null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  store.on("data", () => store.seldom("ribbon", draw, 120));
  for (const topic of ["runs", "time", "filters", "options", "theme", "flags"]) store.on(topic, later);
  for (const topic of ["cursor", "hover"]) {
    store.on(topic, () => {
      if (selectedRun(store) !== state.run) later();
      if (topic === "cursor") reveal(store, state, scroll);
      overlay();
    });
  }
  new ResizeObserver(later).observe(element);
  offer(element, lab, () => (state.list.length ? exportRibbon(element, store, state) : null));
  later();
}

function paint(element, store, state, parts) {
  const run = selectedRun(store);
  state.run = run;
  state.list = run ? visibleColumns(store, run) : [];
  const none = state.list.length === 0;
  parts.empty.hidden = !none;
  element.classList.toggle("v-none", none);
  if (none) return;
  const { scroll, spacer, stage } = parts;
  if (state.auto) {
    const exact = parts.scroll.clientWidth / state.list.length;
    state.width = run.end ? Math.max(12, Math.min(28, exact)) : ([28, 18, 12].find((width) => width <= exact) ?? 12);
  }
  const stamp = `${run.key}/${state.list.length}/${state.list[0].token.token}/${state.width >= 24}/${flagVersion()}`;
  if (state.stamp !== stamp || state.seen !== run)
    Object.assign(state, { stamp, seen: run, rows: rowsOf(run, state.list, state.width), told: false });
  const height = heightOf(state.rows);
  const wide = scroll.clientWidth;
  const stuck = state.stick;
  spacer.style.width = `${Math.max(wide, state.list.length * state.width)}px`;
  spacer.style.height = `${height}px`;
  if (stuck && !store.run(run.key).end) scroll.scrollLeft = scroll.scrollWidth;
  stage.style.width = `${wide}px`;
  size(parts.axis, AXIS, height);
  size(parts.base, wide, height);
  size(parts.over, wide, height);
  const ink = palette(element);
  paintAxis(
    clear(parts.axis),
    state.rows,
    AXIS,
    ink,
    run,
    store.options.whatif?.run === run.key ? store.options.whatif.knobs : undefined,
  );
  const ctx = clear(parts.base);
  ctx.save();
  ctx.translate(-(scroll.scrollLeft % state.width), 0);
  paintColumns(ctx, viewOf(store, state, scroll, ink));
  ctx.restore();
  if (!state.told) describe(run, state, parts);
  state.told = true;
  paintOverlay(store, state, parts.over, scroll);
}

function viewOf(store, state, scroll, ink) {
  const first = Math.min(state.list.length, Math.floor(scroll.scrollLeft / state.width));
  const last = Math.min(state.list.length, first + Math.ceil(scroll.clientWidth / state.width) + 1);
  const option = store.options.whatif;
  const whatif = option?.run === state.run.key ? option : null;
  const { run } = state;
  const passes =
    store.filters.size === 0
      ? () => true
      : (column) => store.passes(run, run.rounds[column.round], column.node, column.token);
  return {
    run,
    list: state.list,
    rows: state.rows,
    first,
    last,
    width: state.width,
    ink,
    whatif,
    passes,
    sampled: samples(run),
  };
}

function describe(run, state, { about, key, scroll }) {
  about.textContent = `${run.card?.title ?? run.head?.title ?? run.key}, ${state.list.length} positions`;
  const states = new Set(state.list.map(signOf));
  const wanted = Object.keys(SIGNS).filter((name) => states.has(name));
  const drafted = state.rows.some((row) => row.key === "keep" || row.key === "rank");
  if (key.dataset.states !== `${wanted}${drafted}`) {
    key.dataset.states = `${wanted}${drafted}`;
    key.replaceChildren(
      legend(wanted),
      h(
        "span.v-legend",
        {},
        ...(drafted ? [h("span.v-area", { text: "H(draft)" })] : []),
        h("span.v-line", { text: "H(target)" }),
      ),
    );
  }
  scroll.setAttribute("aria-valuemax", String(state.list.length - 1));
}

/** Sentences of one column. @param {any} run @param {any} column @returns {string[]} */
function words(run, column) {
  const { token, node } = column;
  const sign = SIGNS[signOf(column)]?.label ?? "";
  return [
    `${pieceOf(run, token.token)}  ${sign}`,
    `position ${column.pos}, round ${column.round}`,
    column.ghost ? `refused guess: ${pieceOf(run, node.token)} (${SIGNS[node.state].label})` : "",
    `H draft ${fmt(token.h_draft ?? node?.h_draft)}, target ${fmt(token.h_target ?? node?.h_target)} nats`,
    overlapAt(run, node) !== null ? `overlap@${overlapN(run)} ${fmt(overlapAt(run, node))}` : "",
    node?.accept_prob !== undefined && node?.accept_prob !== null
      ? `kept with probability ${fmt(node.accept_prob)}${samples(run) && node.u !== undefined && node.u !== null ? `, drew ${fmt(node.u)}` : ""}`
      : "",
    node?.judge !== undefined && node?.judge !== null ? `importance ${fmt(node.judge)}` : "",
  ];
}

function listenPointer(store, state, scroll, overlay) {
  const at = (event) =>
    Math.max(
      0,
      Math.min(
        state.list.length - 1,
        Math.floor((event.clientX - scroll.getBoundingClientRect().left + scroll.scrollLeft) / state.width),
      ),
    );
  let down = null;
  scroll.addEventListener("pointerdown", (event) => {
    if (event.button === 0 && event.offsetY < scroll.clientHeight) down = { from: at(event), x: event.clientX };
  });
  scroll.addEventListener("pointermove", (event) => {
    const column = state.list[at(event)];
    if (!column) return;
    if (down && Math.abs(event.clientX - down.x) > 5) {
      scroll.setPointerCapture(event.pointerId);
      state.brush = [Math.min(down.from, column.pos), Math.max(down.from, column.pos)];
      hideTip();
      overlay();
      return;
    }
    store.setHover(columnSelection(state.run, column));
    showTip(event.clientX, event.clientY, words(state.run, column));
  });
  scroll.addEventListener("pointerup", (event) => {
    const column = state.list[at(event)];
    if (down && state.brush) setRange(store, state.brush);
    else if (down && column) store.setCursor(choose(state.run, column));
    down = null;
    state.brush = null;
    overlay();
  });
  scroll.addEventListener("pointercancel", () => (down = state.brush = null));
  scroll.addEventListener("pointerleave", () => {
    hideTip();
    if (!down) store.setHover(null);
  });
}

const choose = (run, column) =>
  column.ghost ? nodeSelection(run, column.round, column.index) : columnSelection(run, column);

function setRange(store, [low, high]) {
  store.setFilter("range", makeFilter({ kind: "range", range: [low, high] }));
}

function paintOverlay(store, state, canvas, scroll) {
  if (!state.run || !canvas.width) return;
  const ctx = clear(canvas);
  const ink = palette(canvas);
  const height = heightOf(state.rows) - 16;
  const x = (pos) => pos * state.width - scroll.scrollLeft;
  const range = state.brush ?? store.filters.get("range")?.range;
  if (range) {
    ctx.globalAlpha = 0.14;
    ctx.fillStyle = ink("--draft");
    ctx.fillRect(x(range[0]), 0, (range[1] - range[0] + 1) * state.width, height);
    ctx.globalAlpha = 1;
  }
  for (const [selection, locked] of [
    [store.hover, false],
    [store.cursor, true],
  ]) {
    const other = selection && selection.run !== state.run.key ? store.twin?.(selection, state.run.key) : selection;
    const pos = other?.pos ?? state.run.rounds[other?.round]?.start;
    if (pos === undefined || pos === null) continue;
    const width = Math.max(2, state.width);
    ctx.globalAlpha = locked ? 0.1 : 0.07;
    ctx.fillStyle = ink("--ink");
    ctx.fillRect(x(pos), 0, width, height);
    ctx.globalAlpha = locked ? 0.9 : 0.4;
    ctx.strokeStyle = ink("--select");
    ctx.lineWidth = locked ? 1.5 : 1;
    ctx.strokeRect(x(pos) + 0.5, 0.75, width - 1, height - 1.5);
    ctx.globalAlpha = 1;
  }
  const focus = store.focus();
  const column = state.list[focus?.run === state.run.key ? focus.pos : -1];
  if (!column) return;
  scroll.setAttribute("aria-valuenow", String(column.pos));
  scroll.setAttribute("aria-valuetext", words(state.run, column).filter(Boolean).join("; "));
}

function reveal(store, state, scroll) {
  const pos = store.cursor?.run === state.run?.key ? store.cursor?.pos : null;
  if (pos === null || pos === undefined) return;
  const x = pos * state.width;
  if (x < scroll.scrollLeft || x + state.width > scroll.scrollLeft + scroll.clientWidth)
    scroll.scrollLeft = x - scroll.clientWidth / 2;
}

function size(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  if (canvas.width === Math.round(width * ratio) && canvas.height === Math.round(height * ratio)) return;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
}

function clear(canvas) {
  const ctx = canvas.getContext("2d");
  const ratio = window.devicePixelRatio || 1;
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.clearRect(0, 0, canvas.width, canvas.height);
  return ctx;
}

function exportRibbon(element, store, state) {
  const width = Math.max(5, Math.min(state.width, 1400 / Math.max(1, state.list.length)));
  const all = { clientWidth: state.list.length * width, scrollLeft: 0 };
  const ctx = new SvgContext(AXIS + all.clientWidth + 8, heightOf(state.rows) || 60);
  const ink = palette(element);
  const rows = rowsOf(state.run, state.list, width);
  paintAxis(ctx, rows, AXIS, ink, state.run);
  ctx.translate(AXIS, 0);
  paintColumns(ctx, viewOf(store, { ...state, rows, width }, all, ink));
  return svgText(ctx.figure, element);
}
