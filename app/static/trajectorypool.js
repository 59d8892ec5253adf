// Pooled results of many problems: means with 95 % intervals by trajectory, and the tables; or how to make them.

import { h } from "./dom.js";

export function drawPool(results) {
  return h("section.pool", {}, h("h3", {}, "Over many problems"), results ? "" : h("p.quiet", {}, "Not measured yet."));
}
