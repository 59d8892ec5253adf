// @ts-check
// What hangs under a button: opened and closed by it, closed by Escape, by a press elsewhere, and when the keyboard
// goes on to what it would cover.

import { h } from "../dom.js";

/**
 * The button in its anchor, and how to close what hangs there.
 * @param {HTMLButtonElement} button
 * @param {HTMLElement} element
 * @param {{opening: () => void, opened: () => void}} tell before it is placed, and after
 */
export function popover(button, element, { opening, opened }) {
  const anchor = h("span.anchor", {}, button);
  button.setAttribute("aria-haspopup", "dialog");
  button.setAttribute("aria-expanded", "false");
  button.addEventListener("click", () => (element.isConnected ? close() : open()));

  function open() {
    opening();
    anchor.append(element);
    button.setAttribute("aria-expanded", "true");
    const { style } = element;
    style.left = "0px";
    const box = element.getBoundingClientRect();
    const over = box.right - (document.documentElement.clientWidth - 12);
    if (over > 0) style.left = `${-Math.min(over, box.left - 12)}px`;
    style.maxHeight = `${Math.max(300, innerHeight - Math.max(0, box.top) - 16)}px`;
    opened();
    addEventListener("pointerdown", outside);
  }

  function close() {
    element.remove();
    button.setAttribute("aria-expanded", "false");
    removeEventListener("pointerdown", outside);
  }

  /** @param {PointerEvent} event */
  function outside(event) {
    if (event.target instanceof Node && !anchor.contains(event.target)) close();
  }

  anchor.addEventListener("focusout", ({ relatedTarget }) => {
    if (element.isConnected && relatedTarget instanceof Node && !anchor.contains(relatedTarget)) close();
  });
  anchor.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !element.isConnected) return;
    event.stopPropagation();
    close();
    button.focus();
  });
  return { anchor, close };
}
