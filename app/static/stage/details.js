// @ts-check
// The details dock: right or below, as wide or tall as somebody drags it, hidden by one key.

import { h } from "../dom.js";

const KEPT = "draftscope.details";
const LEAST = 300;
const MOST = 760;

/** @param {HTMLElement} element @param {import("../types/store.js").Store} store */
export function mount(element, store) {
  const dock = /** @type {HTMLElement} */ (element.closest(".details"));
  const main = /** @type {HTMLElement} */ (dock.parentElement);
  const wide = () => main.clientWidth >= 1180;
  let size = read();
  const grip = h("div.grip", {
    role: "separator",
    tabindex: "0",
    "aria-orientation": "vertical",
    "aria-label": "Width of the details",
    "aria-valuemin": LEAST,
    "aria-valuemax": MOST,
  });
  const hide = h("button.v-button", {
    type: "button",
    text: "Hide",
    title: "Hide the details (h)",
    onclick: () => toggle(),
  });
  const side = h("button.v-button", {
    type: "button",
    onclick: () => store.setOption("details", place() === "right" ? "bottom" : "right"),
  });
  const show = h("button.v-button.showdetails", {
    type: "button",
    text: "Details",
    title: "Show the details (h)",
    onclick: () => toggle(),
  });
  element.append(grip, h("b", {}, "Details"), h("span.v-view", {}, side, hide));
  main.append(h("span.v-view.showspot", {}, show));

  /** Where the dock is: what was chosen, else by the room there is. */
  function place() {
    return store.options.details === "auto" ? (wide() ? "right" : "bottom") : store.options.details;
  }

  function toggle() {
    store.setOption("details", store.options.details === "hidden" ? "auto" : "hidden");
  }

  function draw() {
    const at = place();
    main.dataset.details = at;
    main.style.setProperty("--details", `${size}px`);
    side.textContent = at === "right" ? "Below" : "Beside";
    side.title = at === "right" ? "Put the details below" : "Put the details at the right";
    grip.hidden = at !== "right";
    grip.setAttribute("aria-valuenow", String(size));
  }

  function resize(/** @type {number} */ to) {
    size = Math.round(Math.max(LEAST, Math.min(MOST, to)));
    draw();
    try {
      localStorage.setItem(KEPT, String(size));
    } catch {
      // storage may be switched off; the width then lasts until the page is closed
    }
  }

  grip.addEventListener("pointerdown", (event) => grip.setPointerCapture(event.pointerId));
  grip.addEventListener("pointermove", (event) => {
    if (grip.hasPointerCapture(event.pointerId)) resize(main.getBoundingClientRect().right - event.clientX);
  });
  grip.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: 24, ArrowRight: -24 }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    resize(size + by);
  });
  store.on("options", (name) => name === "details" && draw());
  new ResizeObserver(draw).observe(main);
  draw();
}

function read() {
  try {
    return Number(localStorage.getItem(KEPT)) || 400;
  } catch {
    return 400;
  }
}
