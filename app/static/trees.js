// Draft trees.

import { h } from "./dom.js";

export function drawTrees(body) {
  body.append(h("p.quiet", {}, "Draft trees."));
}
