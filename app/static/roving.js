// @ts-check
// One tab stop for many marks of a figure: arrow keys lead from one to the next, Home and End to the ends.

const MARKS = "svg [tabindex]";

/** @param {HTMLElement} root what holds the marks; `settle` is called whenever they are drawn anew
 * @param {(mark: Element) => string} groupOf what shares a tab stop */
export function roving(root, groupOf) {
  /** The name of the mark where the keyboard was, by group. @type {Map<string, string>} */
  const last = new Map();
  const marks = () => /** @type {SVGElement[]} */ ([...root.querySelectorAll(MARKS)]);
  const nameOf = (/** @type {Element} */ mark) => mark.getAttribute("aria-label") ?? "";

  /** @param {readonly SVGElement[]} group @param {SVGElement} stop */
  const stopAt = (group, stop) => {
    for (const mark of group) mark.setAttribute("tabindex", mark === stop ? "0" : "-1");
  };
  function settle() {
    /** @type {Map<string, SVGElement[]>} */
    const groups = new Map();
    for (const mark of marks()) groups.set(groupOf(mark), [...(groups.get(groupOf(mark)) ?? []), mark]);
    for (const [key, group] of groups) stopAt(group, group.find((mark) => nameOf(mark) === last.get(key)) ?? group[0]);
  }
  /** @param {EventTarget | null} target */
  const markIn = (target) => marks().find((mark) => mark === target);

  root.addEventListener("focusin", ({ target }) => {
    const mark = markIn(target);
    if (!mark) return;
    const key = groupOf(mark);
    last.set(key, nameOf(mark));
    stopAt(
      marks().filter((one) => groupOf(one) === key),
      mark,
    );
  });
  root.addEventListener("keydown", (event) => {
    const mark = markIn(event.target);
    if (!mark || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const group = marks().filter((one) => groupOf(one) === groupOf(mark));
    const at = group.indexOf(mark);
    const to = {
      ArrowRight: at + 1,
      ArrowLeft: at - 1,
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      Home: 0,
      End: group.length - 1,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    group[Math.max(0, Math.min(group.length - 1, to))].focus();
  });
  return { settle };
}
