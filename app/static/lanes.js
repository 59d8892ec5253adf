// @ts-check
// The lanes: all methods side by side, growing while they decode, marked by cursor, hover, filters and time.

import { captionOf } from "./caption.js";
import { h } from "./dom.js";
import { Lane } from "./lanes/lane.js";
import { showPassages } from "./lanes/passages.js";
import { linkScrolling } from "./lanes/scroll.js";
import { pictureOf } from "./picture.js";
import { madeFrom } from "./run/continue.js";
import { placeAcross } from "./run.js";

/**
 * @typedef {import("./types/store.js").Store} Store
 * @typedef {import("./types/store.js").Place} Place
 * @typedef {import("./types/store.js").Selection} Selection
 */

/** @param {HTMLElement} element @param {Store} store @param {import("./types/lab.js").Lab} [lab] */
export function mount(element, store, lab) {
  /** @type {Map<string, Lane>} */
  const lanes = new Map();
  /** @type {[Element, string][]} */
  let marked = [];
  let width = 0;
  let following = false;
  let stale = false; // something changed while another view of the stage was open

  const active = () => store.options.stage === "text";
  linkScrolling(element, store, lanes);

  function rebuild() {
    stale = !active();
    if (stale) return;
    const held = [...lanes.values()].find((lane) => lane.element.contains(document.activeElement))?.run;
    lanes.clear();
    marked = [];
    const onTitle = (/** @type {import("./types/card.js").Card} */ card) => lab?.ui.open("methods", card.name);
    for (const [key, run] of store.runs) lanes.set(key, new Lane(store, run, onTitle));
    element.replaceChildren(...[...lanes.values()].map((lane) => lane.element));
    element.style.setProperty("--lanes", String(lanes.size));
    element.classList.toggle("many", lanes.size > 4);
    if (!lanes.size) element.append(h("p.empty", {}, emptyWords(lab)));
    for (const lane of lanes.values()) {
      lane.grow();
      lane.text.half();
    }
    if (held) (lanes.get(held.key) ?? lanes.get(madeFrom(held)))?.text.element.focus({ preventScroll: true });
    cut();
    mark();
    settle();
  }

  /** While text grows the lanes keep one height; afterwards they are as tall as their text, within bounds.
   * Sections that were never painted have an estimated height, so it is asked for again once they were. */
  function settle(again = true) {
    const done = store.status.phase === "done" && lanes.size > 0;
    element.classList.toggle("settled", done);
    const most = Math.max(0, ...[...lanes.values()].map((lane) => lane.text.height));
    element.style.setProperty("--flow", done ? `${most}px` : "40vh");
    element.closest("[data-lab]")?.classList.toggle("blank", store.lanes.length === 0);
    if (done && again) requestAnimationFrame(() => requestAnimationFrame(() => settle(false)));
  }

  /** Scroll all lanes at once after they grew: one layout a frame, not one a lane. */
  function follow() {
    if (following) return;
    following = true;
    queueMicrotask(() => {
      following = false;
      for (const lane of lanes.values()) lane.text.follow();
      cut();
    });
  }

  /** Read where lines start in all lanes, then cut: the other way round each lane would have the page laid out
   * again. */
  function cut() {
    const found = [...lanes.values()].map((lane) => ({ lane, chips: lane.text.cuts() }));
    for (const { lane, chips } of found) lane.text.cut(chips);
  }

  const later = () => store.frame("lanes:rebuild", rebuild);
  const each = (/** @type {string} */ name, /** @type {(lane: Lane) => void} */ change) => () =>
    store.frame(`lanes:${name}`, () => {
      if (active()) for (const lane of lanes.values()) change(lane);
      else stale = true;
    });

  store.on("runs", rebuild);
  for (const topic of /** @type {const} */ (["catalogue", "opening"]))
    lab?.session.on(topic, () => {
      if (!lanes.size) rebuild();
    });
  store.on("data", (key) => {
    if (!active()) {
      stale = true;
      return;
    }
    store.frame(`lane:${key}`, () => {
      lanes.get(key)?.grow();
      follow();
    });
    if (store.status.phase === "done") store.frame("lanes:settle", () => settle());
  });
  store.on("status", () => {
    element.closest("[data-lab]")?.classList.toggle("blank", store.lanes.length === 0);
    if (!active()) {
      stale = true;
      return;
    }
    store.frame("lanes:status", () => {
      for (const lane of lanes.values()) lane.grow();
      settle();
    });
  });
  store.on("options", (name) => name === "stage" && active() && stale && later());
  store.on(
    "time",
    each("scrub", (lane) => lane.scrub()),
  );
  store.on(
    "filters",
    each("dim", (lane) => lane.text.dim()),
  );
  store.on("options", (name) => (name === "ghosts" || name === "whitespace") && later());
  /** Flags take room: where they come or go, lines break elsewhere. */
  function flag() {
    stale ||= !active();
    if (stale) return;
    const changed = [...lanes.values()].map((lane) => lane.text.flag());
    if (!changed.some(Boolean)) return;
    if (store.status.phase === "done") {
      for (const lane of lanes.values()) lane.text.again();
      cut();
      mark();
    }
    settle();
  }
  const flagLater = () => store.frame("lanes:flag", flag);
  store.on("options", (name) => name === "flags" && flagLater());
  store.on("flags", flagLater);
  /** On paper lines are as long as a sheet lets them, and begin nowhere by themselves. @param {boolean} whole */
  function again(whole) {
    if (!active() || store.status.phase !== "done") return;
    for (const lane of lanes.values()) lane.text.again();
    if (!whole) cut();
    mark();
  }
  addEventListener("beforeprint", () => again(true));
  addEventListener("afterprint", () => again(false));
  store.on("hover", mark);
  store.on("cursor", () => {
    if (active()) for (const lane of lanes.values()) lane.turn();
    mark();
    follows();
    store.frame("lanes:reveal", reveal);
  });

  /** Mark the focus, its twins in the other lanes and the round they belong to. */
  function mark() {
    for (const [item, name] of marked) item.classList.remove(name);
    marked = [];
    /** @param {Element | null | undefined} item @param {string} name */
    const add = (item, name) => {
      if (!item) return;
      item.classList.add(name);
      marked.push([item, name]);
    };
    /** @param {Selection} sel @param {"sel" | "hov"} name */
    const sign = (sel, name) => {
      const lane = lanes.get(sel.run);
      if (!lane) return;
      add(chipOf(lane, sel), name);
      for (const part of lane.text.rounds[sel.round ?? -1] ?? []) add(part, "lit");
    };
    const focus = store.focus();
    if (store.cursor) sign(store.cursor, "sel");
    if (store.hover) sign(store.hover, "hov");
    for (const lane of lanes.values()) lane.text.point(told(lane));
    for (const [key, lane] of focus ? lanes : []) {
      const twin = store.twin(focus, key);
      if (twin?.pos != null) add(lane.text.chips[twin.pos], "twin");
      else if (twin) for (const part of lane.text.rounds[twin.round ?? -1] ?? []) add(part, "twin-round");
    }
  }

  /** The token of a lane that is told where the keyboard comes to it: the chosen one, else that of its place, from
   * where keys go on. @param {Lane} lane */
  function told(lane) {
    const { cursor } = store;
    if (cursor?.run === lane.run.key) return chipOf(lane, cursor);
    return cursor ? lane.text.chips[placeAcross(store, cursor, lane.run)] : undefined;
  }

  /** The keyboard goes with the cursor from lane to lane. */
  function follows() {
    const { activeElement } = document;
    const from = [...lanes.values()].find((lane) => lane.text.element === activeElement);
    const to = lanes.get(store.cursor?.run ?? "");
    if (from && to && from !== to) to.text.element.focus({ preventScroll: true });
  }

  /** What stands for a place: its token, or the draft token itself where that is a ghost.
   * @param {Lane} lane @param {Selection} sel @returns {HTMLElement | undefined} */
  function chipOf(lane, sel) {
    const own = lane.text.chips[sel.pos ?? -1];
    if (sel.node == null || !own?.dataset.i || store.token(sel)?.node === sel.node) return own;
    for (const part of lane.text.rounds[sel.round ?? -1] ?? []) {
      /** @type {HTMLElement | null} */
      const ghost = part.querySelector(`[data-n="${sel.node}"]`);
      if (ghost) return ghost;
    }
    return own;
  }

  function reveal() {
    const { cursor } = store;
    if (!cursor) return;
    const home = lanes.get(cursor.run)?.element;
    if (
      home &&
      (home.offsetLeft < element.scrollLeft ||
        home.offsetLeft + home.offsetWidth > element.scrollLeft + element.clientWidth + 1)
    )
      element.scrollLeft = home.offsetLeft;
    for (const [key, lane] of lanes) {
      const place = key === cursor.run ? cursor : store.twin(cursor, key);
      const { chips, rounds } = lane.text;
      lane.text.reveal(place?.pos != null ? chips[place.pos] : rounds[place?.round ?? -1]?.[0]?.firstElementChild);
    }
  }

  /** What an element of the lanes stands for. @param {EventTarget | null} target @returns {Place | null} */
  function selection(target) {
    if (!(target instanceof Element)) return null;
    /** @type {HTMLElement | null} */
    const flow = target.closest(".flow");
    /** @type {HTMLElement | null} */
    const item = flow && target.closest(".k, .g, .round");
    if (!flow || !item) return null;
    const run = flow.dataset.key;
    if (item.dataset.i !== undefined) return { run, pos: Number(item.dataset.i) };
    const round = Number(item.dataset.r);
    if (item.dataset.p !== undefined) return { run, round, pos: Number(item.dataset.p), node: null };
    return item.dataset.n === undefined ? { run, round, node: null } : { run, round, node: Number(item.dataset.n) };
  }

  showPassages(element, store, lanes, lab, selection);
  element.addEventListener("pointerover", (event) => store.setHover(selection(event.target)));
  element.addEventListener("pointerleave", () => store.setHover(null));
  element.addEventListener("click", (event) => {
    const sel = selection(event.target);
    if (sel) store.setCursor(sel);
  });
  lab?.ui.figures.set("lanes", () => pictureOf(element, captionOf(store, lab), true));
  new ResizeObserver(([entry]) => {
    const now = Math.round(entry.contentRect.width);
    if (width && now && now !== width) setTimeout(() => store.frame("lanes:rebuild", rebuild), 120);
    width = now || width;
  }).observe(element);
  rebuild();
}

/** What stands where no lanes do. @param {import("./types/lab.js").Lab} [lab] */
function emptyWords(lab) {
  if (!lab?.session.catalogue) return "";
  const { opening } = lab.session;
  return opening ? `Opening ${opening} …` : "Choose a case or write a prompt, then press Run.";
}
