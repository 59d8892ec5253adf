// @ts-check
// A draft tree under the keyboard: where keys lead, and which of its tokens is told.

/** @typedef {import("./figure.js").Drawn} Drawn */

const KEYS = ["ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown", "Enter"];

/** The node that a key leads to; -1 for none, null when the key is not the tree's. Right leads to the first child and
 * unfolds what hides it, left to the parent, up and down to the other tokens of one place, Enter folds what follows.
 * @param {{plan: Drawn | null, round: import("../types/trace.js").Round | null}} tree
 * @param {number} at the node to go on from, or -1 @param {string} key @param {(index: number) => void} fold
 * @returns {number | null} */
export function led({ plan, round }, at, key, fold) {
  if (!plan || !round || !KEYS.includes(key)) return null;
  const { kids, places } = plan;
  if (key === "Enter") {
    fold(at);
    return -1;
  }
  if (key === "ArrowRight" || at < 0) {
    if (places.find((place) => place.index === at)?.hidden) fold(at);
    return kids[at + 1][0] ?? -1;
  }
  const { parent } = round.nodes[at];
  if (key === "ArrowLeft") return parent;
  const siblings = kids[parent + 1];
  return siblings[siblings.indexOf(at) + (key === "ArrowDown" ? 1 : -1)] ?? -1;
}

/** Mark the token of a tree that is told while the tree has the focus. @param {HTMLElement} box
 * @param {ReadonlyMap<number, SVGElement>} groups of its tokens @param {number | null} chosen
 * @returns {SVGElement | undefined} it */
export function point(box, groups, chosen) {
  const group = groups.get(chosen ?? -2);
  const before = box.querySelector("[aria-selected=true]");
  if (before !== (group ?? null)) {
    before?.setAttribute("aria-selected", "false");
    group?.setAttribute("aria-selected", "true");
  }
  if (group) box.setAttribute("aria-activedescendant", group.id);
  else box.removeAttribute("aria-activedescendant");
  return group;
}
