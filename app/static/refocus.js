// @ts-check
// Focus across a redraw: the element that had it is another one afterwards, of the same name.

/** @param {Element | null} element */
const nameOf = (element) => element?.getAttribute("aria-label") ?? element?.textContent ?? "";

/** @param {Element | undefined} element @returns {element is HTMLInputElement | HTMLTextAreaElement} */
const isText = (element) =>
  element instanceof HTMLTextAreaElement || (element instanceof HTMLInputElement && element.type === "text");

/** Draw `root` anew; what had the focus in it, and where one was writing, is found again.
 * @param {HTMLElement} root @param {() => void} draw */
export function refocused(root, draw) {
  const was = document.activeElement;
  const held = was && was !== root && root.contains(was) ? nameOf(was) : "";
  draw();
  if (!was || !held || was === document.activeElement) return;
  const again = [...root.querySelectorAll("button, input, textarea")].find((one) => nameOf(one) === held);
  if (!(again instanceof HTMLElement)) return root.focus();
  again.focus();
  if (isText(again) && isText(was)) again.setSelectionRange(was.selectionStart, was.selectionEnd);
}
