// @ts-check
// In a page that makes this frame as tall as its content (iframe-resizer, as huggingface.co has it) nothing scrolls in
// here: it is told how tall the content is, and what floats at an edge of the window keeps to the edge of what is seen.

const SOON = 150; // ms, so that one drawing is told once
const LEAST = 240; // pixels: of less nothing is made

/** What the page around says of itself, in pixels.
 * @typedef {{scrollTop: number, offsetTop: number, clientHeight: number}} Around */
/** @typedef {{size?: (height: number) => void, getPageInfo?: (hear: (around: Around) => void) => void}} Resizer */
/** @typedef {Window & {parentIFrame?: Resizer}} Framed */

/** How much of a frame is out of sight above and below; nothing where too little would be left.
 * @param {Around} around @param {number} height of the frame */
export function unseen({ scrollTop, offsetTop, clientHeight }, height) {
  const above = Math.max(0, scrollTop - offsetTop);
  const below = Math.max(0, height - (scrollTop - offsetTop + clientHeight));
  return height - above - below < LEAST ? { above: 0, below: 0 } : { above, below };
}

/** @param {Element} element the page */
export function watchFrame(element) {
  if (parent === window) return;
  const resizer = () => /** @type {Framed} */ (window).parentIFrame;
  const root = document.documentElement;
  root.toggleAttribute("data-framed", true);
  /** @type {Around | null} */
  let around = null;
  let asked = false;
  let soon = 0;
  /** Gradio tells it too, but no more once a page has grown a few times; that it shrank is told by Gradio alone. */
  function tell() {
    soon = 0;
    if (root.scrollHeight > innerHeight + 1) resizer()?.size?.(root.scrollHeight);
    if (asked) return;
    asked = Boolean(resizer()?.getPageInfo);
    resizer()?.getPageInfo?.((found) => {
      around = found;
      place();
    });
  }
  function place() {
    if (!around) return;
    const { above, below } = unseen(around, innerHeight);
    root.style.setProperty("--above", `${above}px`);
    root.style.setProperty("--below", `${below}px`);
  }
  const later = () => {
    if (!soon) soon = setTimeout(tell, SOON);
  };
  new ResizeObserver(later).observe(element);
  addEventListener("gradio:iframe-resizer-ready", later);
  addEventListener("resize", place);
}
