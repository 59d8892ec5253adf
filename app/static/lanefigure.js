// @ts-check
// The lanes as a figure: what stands in each lane's window now, redrawn as SVG text at the same places.

import { s } from "./dom.js";
import { svgText } from "./figure.js";

/** @typedef {{x: number, y: number, width: number, height: number}} Box  the lanes on the page */
/** @typedef {{left: number, right: number, top: number, bottom: number}} Spot */

const HEAD = 64;

/** An SVG document of the lanes. @param {HTMLElement} element the mount point of the lanes */
export function lanesFigure(element) {
  const lanes = [...element.querySelectorAll(".lane")];
  const home = lanes[0].getBoundingClientRect();
  const last = lanes[lanes.length - 1].getBoundingClientRect();
  const box = { x: home.left, y: home.top, width: last.right - home.left, height: home.height };
  const root = s("svg", {
    viewBox: `0 0 ${box.width} ${box.height}`,
    width: box.width,
    height: box.height,
    "font-family": "system-ui, 'DejaVu Sans', sans-serif",
  });
  for (const lane of lanes) drawLane(root, lane, box);
  return svgText(root, element);
}

/** @param {SVGSVGElement} root @param {Element} lane @param {Box} box */
function drawLane(root, lane, box) {
  const frame = lane.getBoundingClientRect();
  const x = frame.left - box.x;
  const said = (/** @type {string} */ part) => lane.querySelector(part)?.textContent ?? "";
  /** @param {number} at @param {number} top @param {string} words @param {import("./types/dom.js").Attributes} attrs */
  const text = (at, top, words, attrs) =>
    root.append(s("text", { x: x + at, y: top, text: words, "font-size": 12, fill: "var(--ink-2)", ...attrs }));
  root.append(
    s("rect", {
      x: x + 0.5,
      y: 0.5,
      width: frame.width - 1,
      height: box.height - 1,
      rx: 8,
      fill: "var(--panel)",
      stroke: "var(--line)",
    }),
  );
  text(14, 26, said(".lane-title button"), {
    "font-size": 14,
    "font-weight": 600,
    fill: "var(--ink)",
  });
  text(14, 44, `${said(".badge")} · ${said(".lane-knobs > span")}`, { "font-size": 11 });
  const figures = [...lane.querySelectorAll(".figures > div")].map(
    (item) => `${item.querySelector("dd span")?.textContent} ${item.querySelector("dt")?.textContent}`,
  );
  text(14, HEAD, figures.join(" · "), { "font-size": 12, fill: "var(--ink)" });
  const rule = (lane.querySelector("header") ?? lane).getBoundingClientRect().bottom - box.y;
  root.append(s("line", { x1: x, x2: x + frame.width, y1: rule, y2: rule, stroke: "var(--line)" }));
  const view = (lane.querySelector(".flow") ?? lane).getBoundingClientRect();
  for (const chip of lane.querySelectorAll(".k, .g")) {
    const spot = chip.getBoundingClientRect();
    if (spot.height && spot.top >= view.top && spot.bottom <= view.bottom + 2) drawChip(root, chip, box);
  }
}

/** @param {SVGSVGElement} root @param {Element} chip @param {Box} box */
function drawChip(root, chip, box) {
  const has = (/** @type {string} */ name) => chip.classList.contains(name);
  const boxed = chip.querySelector("b");
  for (const part of boxed ? boxed.getClientRects() : []) {
    const stroke = has("correction") ? "var(--target-2)" : "none";
    root.append(
      s("rect", {
        x: part.left - box.x,
        y: part.top - box.y,
        width: part.width,
        height: part.height,
        rx: 3,
        stroke,
        fill: has("bonus") ? "var(--target-soft)" : "none",
      }),
    );
    if (has("bonus"))
      root.append(
        s("text", {
          x: part.left - box.x + 1,
          y: part.top - box.y + 11,
          text: "+",
          "font-size": 11,
          "font-weight": 700,
          fill: "var(--target)",
        }),
      );
  }
  const walker = document.createTreeWalker(chip, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode())
    for (const [words, spot] of lines(/** @type {Text} */ (node))) drawWords(root, chip, words, spot, box);
}

/** The pieces of a text node, one a line of the page. @param {Text} node */
function lines(node) {
  const range = document.createRange();
  /** @type {[string, Spot][]} */
  const out = [];
  for (let i = 0; i < node.length; i++) {
    range.setStart(node, i);
    range.setEnd(node, i + 1);
    const spot = range.getClientRects()[0];
    if (!spot?.width) continue;
    const before = out.at(-1);
    if (before && Math.abs(before[1].top - spot.top) < 4) {
      before[0] += node.data[i];
      before[1].right = spot.right;
    } else out.push([node.data[i], { left: spot.left, right: spot.right, top: spot.top, bottom: spot.bottom }]);
  }
  return out;
}

/** @param {SVGSVGElement} root @param {Element} chip @param {string} words @param {Spot} spot @param {Box} box */
function drawWords(root, chip, words, spot, box) {
  const has = (/** @type {string} */ name) => chip.classList.contains(name);
  const [x, width, y] = [spot.left - box.x, spot.right - spot.left, spot.bottom - box.y];
  const ghost = has("g");
  const fill = has("vetoed") ? "var(--target)" : ghost ? "var(--ink-3)" : "var(--ink)";
  root.append(
    s("text", {
      x,
      y: y - 4.5,
      text: words,
      "font-size": ghost ? 13 : 14,
      fill,
      textLength: width,
      lengthAdjust: "spacingAndGlyphs",
      "xml:space": "preserve",
    }),
  );
  /** @param {number} at @param {string} stroke @param {string} [dash] */
  const line = (at, stroke, dash) =>
    root.append(
      s("line", { x1: x, x2: x + width, y1: at, y2: at, stroke, "stroke-width": 1.4, "stroke-dasharray": dash }),
    );
  if (has("draft")) line(y + 1, "var(--draft-2)");
  if (has("relaxed")) for (const at of [y, y + 3]) line(at, "var(--judge)");
  if (has("rejected") || has("vetoed")) line(y - 9, has("vetoed") ? "var(--target)" : "var(--ink-3)");
  if (has("discarded")) line(y + 1, "var(--line-2)", "1.5 2.5");
}
