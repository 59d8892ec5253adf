// @ts-check
// Line icons, 16 by 16, drawn here so that no font is needed.

import { s } from "./dom.js";

const PATHS = {
  play: "M5 3.2v9.6l7.6-4.8z",
  pause: "M5 3.5v9M11 3.5v9",
  stop: "M4.5 4.5h7v7h-7z",
  first: "M4 3.5v9M12 3.5L6 8l6 4.5z",
  last: "M12 3.5v9M4 3.5L10 8l-6 4.5z",
  back: "M10.5 3.5L5 8l5.5 4.5",
  forward: "M5.5 3.5L11 8l-5.5 4.5",
  event: "M3.5 8h1M7.5 8h1M11 5l3 3l-3 3",
  eventback: "M12.5 8h-1M8.5 8h-1M5 5l-3 3l3 3",
  check: "M3.5 8.5l3 3l6-7",
  close: "M4.5 4.5l7 7M11.5 4.5l-7 7",
  plus: "M8 3.5v9M3.5 8h9",
  sun:
    "M8 5.2a2.8 2.8 0 1 0 0 5.6a2.8 2.8 0 0 0 0-5.6M8 1.6v1.6M8 12.8v1.6M1.6 8h1.6M12.8 8h1.6" +
    "M3.5 3.5l1.1 1.1M11.4 11.4l1.1 1.1M12.5 3.5l-1.1 1.1M4.6 11.4l-1.1 1.1",
  again: "M12.6 6.2A5 5 0 1 0 13 8.6M12.8 3v3.4H9.4",
  sliders: "M3 5h6M12 5h1M3 11h1M7 11h6M9 3.5v3M5.5 9.5v3",
};

/** @typedef {keyof typeof PATHS} IconName */

/** An icon by name; buttons that hold only an icon need an aria-label. @param {IconName} name */
export const icon = (name) =>
  s(
    "svg.icon",
    {
      viewBox: "0 0 16 16",
      width: 16,
      height: 16,
      "aria-hidden": "true",
      fill: name === "play" || name === "stop" ? "currentColor" : "none",
      stroke: "currentColor",
      "stroke-width": 1.4,
      "stroke-linecap": "round",
      "stroke-linejoin": "round",
    },
    s("path", { d: PATHS[name] }),
  );

/** The mark of the lab: three candidates, the last one struck. */
export const mark = () =>
  s(
    "svg",
    { viewBox: "0 0 28 28", width: 28, height: 28, "aria-hidden": "true" },
    s("rect", { x: 1, y: 1, width: 26, height: 26, rx: 7, fill: "var(--ink)" }),
    s("path", { d: "M7 10.5h14M7 14.5h9", stroke: "var(--panel)", "stroke-width": 2, "stroke-linecap": "round" }),
    s("path", { d: "M7 18.8h5", stroke: "var(--draft-2)", "stroke-width": 2.4, "stroke-linecap": "round" }),
    s("rect", {
      x: 15.5,
      y: 16.4,
      width: 5.6,
      height: 4.8,
      rx: 1.4,
      fill: "none",
      stroke: "var(--target-2)",
      "stroke-width": 1.8,
    }),
  );
