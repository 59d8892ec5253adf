// @ts-check
// Figures that the server built (app/figures): shown by plotly.js, which is loaded with the first of them.

import { h, ink } from "./dom.js";
import { download, figureBlob, svgText } from "./figure.js";
import { library as address } from "./packed.js";
import { LOCALE, recoloured } from "./recolour.js";
import { inLines } from "./titlelines.js";

/**
 * @typedef {import("./recolour.js").Figure} Figure
 * @typedef {import("./types/measured.js").Captioned} Captioned
 * @typedef {{name?: string, x0?: number, x1?: number}} Shape
 * @typedef {{title?: {text?: string}, height?: number, shapes?: Shape[], meta?: {least?: number}}} Layout what is read
 *   of a figure's layout; `least`: pixels of width below which its words lie over each other
 * @typedef {object} Plotly what is used of the library
 * @property {(spot: HTMLElement, data: unknown, layout: unknown, config: object) => Promise<unknown>} react
 * @property {(spot: HTMLElement, changes: object) => Promise<unknown>} relayout
 * @property {(spot: HTMLElement, changes: object, traces: number[]) => Promise<unknown>} restyle
 * @property {(spot: HTMLElement) => void} purge
 * @property {(drawn: HTMLElement, how: object) => Promise<string>} toImage as the address of its data
 * @property {{camera: object}} Icons
 *
 * @typedef {object} Saved what a figure that is saved says besides what is drawn
 * @property {string} [source] what was measured, and whose numbers they are
 * @property {string} [caption] what stands below the figure on the page
 * @property {string} [stem] how its file's name begins, where titles are not one of a kind
 */

const SHEET = 720; // pixels that a figure on paper is wide at most, so that its words can be read
const onPaper = () => document.body.classList.contains("paper"); // top.js

/** @param {Figure} figure */
const layoutOf = (figure) => /** @type {Layout} */ (/** @type {unknown} */ (figure.layout));

/** @param {Figure} figure */
const titleOf = (figure) => layoutOf(figure).title?.text ?? "Figure";

/** @type {Promise<Plotly> | null} */
let library = null;
/** The library once it is here. */
const here = () => /** @type {typeof window & {Plotly?: Plotly}} */ (window).Plotly;
/** Figures on show and what they were made from. @type {Map<HTMLElement, Figure>} */
const shown = new Map();

/** When a figure stands drawn. @type {WeakMap<HTMLElement, Promise<unknown>>} */
const drawing = new WeakMap();

/** @type {WeakMap<Figure, object>} */
const settings = new WeakMap();

/** How the page looked when a figure was drawn. @type {WeakMap<HTMLElement, string>} */
const looked = new WeakMap();
const look = () => document.body.className;

/** What figures say once they are saved. @type {WeakMap<HTMLElement, Saved>} */
const words = new WeakMap();

/** The title of a figure, in the lines in which it was drawn. @type {WeakMap<HTMLElement, string>} */
const titled = new WeakMap();
const SETTLED = 200; // ms after the last change of the window

/** Whether a figure stands drawn, so that it may be moved. @param {HTMLElement} spot */
export const stands = (spot) => drawing.has(spot);

/** On what a room keeps while it is closed, with its figures as they are. */
export const KEPT = "data-kept";

/** The library, loaded once. @returns {Promise<Plotly>} */
function plotly() {
  library ??= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = address(document.baseURI);
    script.onload = () => done(/** @type {Plotly} */ (here()));
    script.onerror = () => {
      library = null;
      failed(new Error("The library of the figures could not be loaded."));
    };
    document.head.append(script);
  });
  return library;
}

/** Draw a figure, or draw it anew; those that have gone since another was drawn are forgotten.
 * @param {HTMLElement} spot @param {Figure} figure @param {Saved} [saved] @returns {Promise<void>} */
export async function plot(spot, figure, saved) {
  if (saved) words.set(spot, saved);
  for (const other of shown.keys()) if (!other.isConnected && !other.closest(`[${KEPT}]`)) forget(other);
  shown.set(spot, figure);
  spot.setAttribute("role", "group");
  spot.setAttribute("aria-label", titleOf(figure));
  const Plotly = await plotly();
  if (spot.isConnected && shown.get(spot) === figure) await draw(Plotly, spot, figure);
}

/** What the library is told besides a figure, the same object each time: for another it would build the figure anew.
 * @param {Plotly} Plotly @param {Figure} figure @returns {object} */
function settingsOf(Plotly, figure) {
  const known = settings.get(figure);
  if (known) return known;
  const button = (/** @type {"svg" | "png"} */ kind) => ({
    name: kind,
    title: `Save as ${kind.toUpperCase()}`,
    icon: Plotly.Icons.camera,
    click: (/** @type {HTMLElement} */ drawn) => save(Plotly, drawn, figure, kind),
  });
  const made = {
    responsive: true,
    _baseUrl: "", // else its references name this moment's address, which the browser fetches once it is another
    displaylogo: false,
    locales: LOCALE,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "sendChartToCloud", "toImage"], // nothing leaves
    modeBarButtonsToAdd: [button("svg"), button("png")],
  };
  settings.set(figure, made);
  return made;
}

/** Save a figure as it is drawn, with what it shows and of what at its foot.
 * @param {Plotly} Plotly @param {HTMLElement} drawn @param {Figure} figure @param {"svg" | "png"} kind */
async function save(Plotly, drawn, figure, kind) {
  const { source = "", caption = "", stem = "" } = words.get(drawn) ?? {};
  const address = await Plotly.toImage(drawn, { format: "svg", width: null, height: null }); // as on the page
  const text = decodeURIComponent(address.slice(address.indexOf(",") + 1));
  const { documentElement } = new DOMParser().parseFromString(text, "image/svg+xml");
  const root = /** @type {SVGSVGElement} */ (/** @type {unknown} */ (document.importNode(documentElement, true)));
  const sheet = svgText(root, drawn, [source, caption].filter(Boolean).join(" "));
  const name = [stem, titleOf(figure)].filter(Boolean).join(" ").toLowerCase();
  download(await figureBlob(sheet, kind), `${name.replaceAll(/[^a-z0-9]+/g, "-")}.${kind}`);
}

/** In the colours and the width of this moment. @param {Plotly} Plotly @param {HTMLElement} spot
 * @param {Figure} figure @returns {Promise<unknown>} */
function draw(Plotly, spot, figure) {
  const { data, layout } = recoloured(figure, ink);
  Object.assign(layout, {
    paper_bgcolor: ink("--panel"), // what is saved lies elsewhere
    modebar: { bgcolor: ink("--panel"), color: ink("--ink-3"), activecolor: ink("--ink") },
  });
  const width = onPaper() ? Math.min(spot.clientWidth, SHEET) : spot.clientWidth;
  if (onPaper()) Object.assign(layout, { width });
  titled.set(spot, inLines(layout, width));
  const drawn = Plotly.react(spot, data, layout, settingsOf(Plotly, figure));
  drawing.set(spot, drawn);
  looked.set(spot, look());
  fit(spot); // a sheet is laid out before the library says that it is done
  return drawn;
}

/** Figures with their captions, drawn once they are on the page. @param {readonly Captioned[]} figures
 * @param {string} [source] what was measured, for those that are saved @returns {HTMLElement[]} */
export const plots = (figures, source) => figures.map(({ figure, caption }) => plotted(figure, { source, caption }));

/** One figure with its caption. @param {Figure} figure @param {Saved} [saved] @returns {HTMLElement} */
export function plotted(figure, saved = {}) {
  const { caption } = saved;
  const note = h("p.quiet", { role: "status" }, "Drawing …");
  const { height = 320, meta, title } = layoutOf(figure);
  const least = meta?.least ?? 0;
  const spot = h("div.plot", { style: `min-height:${height}px;min-width:${least}px` });
  const scrolls = least ? { tabindex: "0", "aria-label": title?.text ?? "Figure" } : {};
  shown.set(spot, figure);
  requestAnimationFrame(() =>
    plot(spot, figure, saved).then(
      () => note.remove(),
      (error) => {
        note.textContent = error.message;
      },
    ),
  );
  return h("figure.plotted", scrolls, spot, note, caption ? h("figcaption", {}, caption) : null);
}

/**
 * Move the mark of a threshold: the shape of that name, and the point of a trace of that name.
 * @param {Iterable<HTMLElement>} spots @param {number} threshold @param {{x: number | null, y: number | null}} point
 */
export async function moveThreshold(spots, threshold, point) {
  const Plotly = await plotly();
  for (const spot of spots) {
    const figure = shown.get(spot);
    if (!figure) continue;
    await drawing.get(spot); // one still to come takes the mark from its figure
    const shapes = layoutOf(figure).shapes ?? [];
    const shape = shapes.findIndex((one) => one.name === "threshold");
    const trace = figure.data.findIndex((one) => one.name === "threshold");
    if (shape >= 0) {
      Object.assign(shapes[shape], { x0: threshold, x1: threshold });
      if (drawing.has(spot))
        await Plotly.relayout(spot, { [`shapes[${shape}].x0`]: threshold, [`shapes[${shape}].x1`]: threshold });
    }
    if (trace >= 0) {
      Object.assign(figure.data[trace], { x: [point.x], y: [point.y] });
      if (drawing.has(spot)) await Plotly.restyle(spot, { x: [[point.x]], y: [[point.y]] }, [trace]);
    }
  }
}

/** On paper a figure takes the room that there is: what is drawn has a frame that scales. @param {HTMLElement} spot */
function fit(spot) {
  for (const drawn of spot.querySelectorAll(".main-svg"))
    if (onPaper()) drawn.setAttribute("viewBox", `0 0 ${drawn.getAttribute("width")} ${drawn.getAttribute("height")}`);
    else drawn.removeAttribute("viewBox");
}

/** Light, dark or on paper: all figures on show take its colours and its width; those that are gone are forgotten. */
function repaint() {
  for (const [spot, figure] of shown) {
    if (spot.isConnected) {
      if (looked.get(spot) !== look()) plot(spot, figure);
    } else forget(spot);
  }
}

/** The library holds what it drew until it is told. @param {HTMLElement} spot */
function forget(spot) {
  if (drawing.has(spot)) here()?.purge(spot);
  drawing.delete(spot);
  shown.delete(spot);
}

/** The library fits figures to another width, but not their titles: those that break elsewhere now are drawn anew. */
function rewrap() {
  for (const [spot, figure] of shown) {
    if (!spot.isConnected || !drawing.has(spot)) continue;
    const { layout } = recoloured(figure, ink);
    if (inLines(layout, spot.clientWidth) !== titled.get(spot)) plot(spot, figure);
  }
}
if (typeof document !== "undefined") {
  let settling = 0;
  addEventListener("resize", () => {
    clearTimeout(settling);
    settling = setTimeout(rewrap, SETTLED);
  });
  new MutationObserver(repaint).observe(document.body, { attributeFilter: ["class"] });
  addEventListener("beforeprint", () => {
    const Plotly = here();
    if (!Plotly) return;
    for (const [spot, figure] of shown) // Firefox has printed before an observer is called
      if (spot.isConnected && drawing.has(spot)) draw(Plotly, spot, figure);
  });
}
