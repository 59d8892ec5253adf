// @ts-check
// Focus across a redraw: the element that had it is another one afterwards, of the same name.

/** What the keyboard may come to. */
export const CONTROLS = "a, button, input, select, summary, textarea, [tabindex]";

/** @param {Element} element */
const nameOf = (element) => element.getAttribute("aria-label") ?? element.textContent ?? "";

/** The controls in `root` of this kind and name that may be used, in order. Kinds come first: the name of a lane's text
 * is all of it. @param {Element} root @param {string} kind @param {string} name */
const namesakes = (root, kind, name) =>
  [...root.querySelectorAll(CONTROLS)].filter(
    (one) => one.localName === kind && nameOf(one) === name && !one.matches(":disabled"),
  );

/** @param {Element | undefined} element @returns {element is HTMLInputElement | HTMLTextAreaElement} */
const isText = (element) =>
  element instanceof HTMLTextAreaElement || (element instanceof HTMLInputElement && element.type === "text");

/** Draw `root` anew; what had the focus in it, and where one was writing, is found again, or else `root` has it.
 * @param {Element} root @param {() => void} draw */
export function refocused(root, draw) {
  const was = document.activeElement;
  const held = was && was !== root && root.contains(was) ? nameOf(was) : "";
  const nth = was && held ? namesakes(root, was.localName, held).indexOf(was) : -1;
  draw();
  const now = document.activeElement;
  if (!was || !held || (now !== document.body && now !== was)) return;
  if (was.isConnected && !was.matches(":disabled")) return; // a browser takes the focus from what is switched off
  const again = namesakes(root, was.localName, held)[nth];
  if (again instanceof HTMLElement || again instanceof SVGElement) again.focus({ preventScroll: true });
  else if (root instanceof HTMLElement) enter(root);
  if (isText(again) && isText(was)) again.setSelectionRange(was.selectionStart, was.selectionEnd);
}

/** Give a place the focus that holds controls and is none itself, for keys to go on from there.
 * @param {HTMLElement} place */
function enter(place) {
  if (place.tabIndex < 0) place.tabIndex = -1;
  place.focus({ preventScroll: true });
}

/** Let views draw; where one of them takes away or switches off what has the focus, the focus stays in that view.
 * @param {() => void} draw */
export function keepingFocus(draw) {
  const was = typeof document === "undefined" ? null : document.activeElement;
  const view = was?.closest("[data-view]");
  if (!was || !view) return draw();
  const seen = was.matches(":focus-visible") && inSight(was);
  refocused(view, draw);
  const now = document.activeElement;
  // what came above it, such as flags that were fetched, pushed it out of sight
  if (seen && now && now !== document.body && !inSight(now)) now.scrollIntoView({ block: "nearest" });
}

/** Whether an element lies whole in the window, above the timeline at its foot. @param {Element} element */
function inSight(element) {
  const { top, bottom } = element.getBoundingClientRect();
  return top >= 0 && bottom <= (document.querySelector(".dock")?.getBoundingClientRect().top ?? innerHeight);
}
