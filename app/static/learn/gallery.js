// @ts-check
// The recorded cases as cards, grouped by what they teach; a click opens a case on its point.

import { signName } from "../chips.js";
import { count, h, s } from "../dom.js";
import { signFigure } from "../stage/scorelegend.js";
import { notHere } from "./places.js";
import { show } from "./show.js";

/**
 * @typedef {import("../types/wire.js").GalleryCase} GalleryCase
 * @typedef {import("../types/store.js").Store} Store
 * @typedef {import("../types/lab.js").Lab} Lab
 */

const INK = new Map([
  ["draft", "--draft-2"],
  ["relaxed", "--judge"],
  ["correction", "--target"],
  ["bonus", "--target-2"],
]);
const [WIDTH, ROW, GAP] = [300, 9, 4];
const [FEW, THIN] = [6, 3]; // of more runs the rows are thin lines
const MOST_LOSSES = 2; // told on a card

/** @param {HTMLElement} element @param {Store} store @param {Lab} lab */
export async function drawGallery(element, store, lab) {
  const { cases } = await lab.api.get("gallery");
  /** @type {Map<string, GalleryCase[]>} */
  const groups = new Map();
  for (const one of cases) groups.set(one.group, [...(groups.get(one.group) ?? []), one]);
  const { name } = store.options;
  element.append(
    notHere(
      "case",
      name,
      cases.some((one) => one.name === name),
    ),
    h(
      "p.quiet.lead",
      {},
      ...["draft", "relaxed", "correction", "bonus", "target"].map((origin) =>
        h("span.gallery-key", {}, signFigure(origin), signName(origin)),
      ),
      "One row a method, one column a token.",
    ),
    ...[...groups].map(([group, members]) =>
      h(
        "section.gallery-group",
        {},
        h("h3", {}, group || "Others"),
        h(
          "div.gallery",
          {},
          members.map((one) => drawCase(one, store, lab)),
        ),
      ),
    ),
  );
  element.querySelector(`#case-${CSS.escape(name)}`)?.scrollIntoView({ block: "center" });
}

/** @param {GalleryCase} one @param {Store} store @param {Lab} lab */
function drawCase(one, store, lab) {
  const open = async () => {
    const shown = await show({ case: one.name, view: one.view, track: one.track, lane: null, at: one.at }, store, lab);
    if (shown) store.setOption("beside", one.name);
  };
  return h(
    "article.gallery-case",
    { id: `case-${one.name}`, class: store.options.name === one.name ? "gallery-case chosen" : "gallery-case" },
    thumbnail(one),
    h("h4", {}, h("button.link", { type: "button", onclick: open }, one.title)),
    h(
      "div",
      {},
      h("p", {}, one.point),
      one.losses.slice(0, MOST_LOSSES).map((text) => h("p.lost", {}, h("b", {}, "Loses: "), text)),
      one.losses.length > MOST_LOSSES ? h("p.lost", {}, `and ${one.losses.length - MOST_LOSSES} more`) : null,
      h("p.quiet", {}, calls(one)),
    ),
  );
}

/** @param {GalleryCase} one */
export function calls({ lanes }) {
  if (lanes.length > 4) return count(lanes.length, "method");
  const asked = lanes.filter(({ iterations }) => !iterations).map(({ title, calls: needed }) => `${title} ${needed}`);
  const placed = lanes.filter(({ iterations }) => iterations);
  return [
    ...(asked.length ? [`${asked.join(", ")} target calls`] : []),
    ...placed.map(({ title, iterations }) => `${title} ${count(iterations, "iteration")}`),
  ].join("; ");
}

/** The score of a case in small. @param {Pick<GalleryCase, "lanes" | "title">} one */
export function thumbnail({ lanes, title }) {
  const [row, gap] = lanes.length > FEW ? [THIN, 1] : [ROW, GAP];
  const longest = Math.max(1, ...lanes.map(({ tokens }) => tokens));
  const height = lanes.length * (row + gap);
  const figure = s("svg.thumbnail", {
    viewBox: `0 0 ${WIDTH} ${height}`,
    role: "img",
    "aria-label": `Score of ${title}`,
  });
  lanes.forEach(({ spans }, lane) => {
    for (const { x, width, origin } of boxes(spans, longest))
      figure.append(box(origin, x, lane * (row + gap), width, row));
  });
  return figure;
}

/** A span in the sign of the score: a correction is a frame, where there is room for one.
 * @param {string} origin @param {number} x @param {number} y @param {number} width @param {number} height */
function box(origin, x, y, width, height) {
  const colour = `var(${INK.get(origin) ?? "--neutral"})`;
  const framed = origin === "correction" && width > 2.5 && height > THIN;
  const inner = { x: x + 0.5, y: y + 0.5, width: width - 1, height: height - 1 };
  return framed
    ? s("rect", { ...inner, style: `fill: none; stroke: ${colour}` })
    : s("rect", { x, y, width, height, style: `fill: ${colour}` });
}

/** Spans as boxes on one axis of positions. @param {readonly (readonly [string, number])[]} spans
 * @param {number} longest */
export function boxes(spans, longest) {
  let start = 0;
  return spans.map(([origin, length]) => {
    const x = (WIDTH * start) / longest;
    start += length;
    return { origin, x, width: Math.max(0.4, (WIDTH * length) / longest - 0.4) };
  });
}
