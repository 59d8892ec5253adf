// @ts-check
// Where a letter that is pressed belongs to a control, and is no key of the page.

const TYPING = [
  "input, textarea, select, [contenteditable]:not([contenteditable=false]), dialog",
  ..."dialog menu menubar listbox combobox tree grid searchbox textbox spinbutton"
    .split(" ")
    .map((of) => `[role=${of}]`),
].join();
/** Lists and trees of tokens, to which the page's keys belong. */
export const TOKENS = "data-tokens";

/** Whether a key is pressed with one of those that make it the browser's own. @param {KeyboardEvent} event */
export const chorded = ({ ctrlKey, metaKey, altKey }) => ctrlKey || metaKey || altKey;

/** Whether what is typed here belongs to a control, not to the page. @param {EventTarget | null} target */
export const typesInto = (target) =>
  target instanceof Element && target.closest(TYPING)?.hasAttribute(TOKENS) === false;
