// @ts-check
// The rooms of the page: one is shown at a time, the choice is an option of the store and so part of the link.
// A room other than Compare is a module beside this one, loaded and drawn when it is first opened.

import { AWAY } from "../api.js";
import { h, said } from "../dom.js";
import { carries } from "../packed.js";

/**
 * @typedef {import("../types/store.js").Store} Store
 * @typedef {import("../types/lab.js").Lab} Lab
 * @typedef {(element: HTMLElement, store: Store, lab: Lab, name: string, ...rest: unknown[]) => void} Draw
 *   what a room's module exports as `draw`
 *
 * @typedef {object} Room
 * @property {string} id
 * @property {string} name
 * @property {string} question what the room answers
 * @property {readonly string[]} holds names that `ui.open` knows and this room shows
 * @property {string} [needs] the answer without which it is empty: a page that does not carry it has no such room
 */

/** @type {readonly Room[]} */
export const ROOMS = [
  { id: "compare", name: "Compare", question: "What do these methods do on this prompt?", holds: [] },
  { id: "runs", name: "Many runs", question: "Does it hold over many prompts?", holds: ["pooled"], needs: "pooled" },
  {
    id: "trajectories",
    name: "Trajectories",
    question: "What do several answers to one problem share?",
    holds: ["trajectories", "trees"],
    needs: "trajectories",
  },
  { id: "judge", name: "Judge", question: "Which mismatches matter?", holds: ["workshop"] },
  { id: "papers", name: "Papers", question: "Does it come out as the papers say?", holds: [], needs: "papers" },
  { id: "learn", name: "Learn", question: "What do the words, the methods and the cases mean?", holds: ["methods"] },
];

/** The rooms that this page can fill. */
export const roomsHere = () => ROOMS.filter(({ needs }) => !needs || carries(needs));

/** The room of a name that `ui.open` was given, or null. @param {string} name */
export const roomOf = (name) => roomsHere().find(({ id, holds }) => id === name || holds.includes(name)) ?? null;

/** The room that an address asks for; the first where it asks for none that exists. @param {URLSearchParams} query */
export const roomIn = (query) => roomsHere().find(({ id }) => id === query.get("room"))?.id ?? ROOMS[0].id;

/** What the page is called while a room is shown. @param {string} room */
export const titleOf = (room) => (room === ROOMS[0].id ? "Draftscope" : `${roomOf(room)?.name} · Draftscope`);

/** Why an address that asks for a room gets another; nothing where it does not. @param {URLSearchParams} query */
export function noRoom(query) {
  const asked = query.get("room");
  if (!asked || roomIn(query) === asked) return "";
  const known = roomsHere().map(({ id }) => id);
  return `This page has no room "${asked.slice(0, 40)}": a link's room is one of ${known.join(", ")}.`;
}

/**
 * @param {HTMLElement} element the page
 * @param {import("../types/store.js").Store} store
 * @param {import("../types/lab.js").Lab} lab
 */
export function mountRooms(element, store, lab) {
  const sections = new Map(
    ROOMS.map(({ id }) => [id, /** @type {HTMLElement | null} */ (element.querySelector(`[data-room="${id}"]`))]),
  );
  /** @type {Map<string, Promise<{draw: Draw}>>} */
  const modules = new Map();

  /** Draw a room, for what was asked of it. @param {string} id @param {string} name @param {readonly unknown[]} rest */
  async function draw(id, name = "", rest = []) {
    const section = sections.get(id);
    if (!section || id === ROOMS[0].id) return;
    if (!modules.has(id)) modules.set(id, import(`./${id}.js`));
    try {
      const module = await modules.get(id)?.catch(() => Promise.reject(new Error(AWAY)));
      if (store.options.room !== id) return; // left before it came
      empty(section);
      section.append(h("h2.unseen", {}, roomOf(id)?.name ?? ""));
      module?.draw(section, store, lab, name, ...rest);
      section.focus({ preventScroll: true });
    } catch (error) {
      modules.delete(id);
      if (store.options.room !== id) return;
      const again = h("button", { type: "button", onclick: () => draw(id, name, rest) }, "Try again");
      section.replaceChildren(h("p.row", { role: "alert" }, `This room could not be opened. ${said(error)}`, again));
    }
  }

  /** The focus went with the room that was left: keys go on from the stage. Firefox takes it from what was hidden only
   * when it draws. */
  function onStage() {
    const { activeElement } = document;
    if (activeElement === document.body || activeElement?.closest("[hidden]"))
      document.getElementById("stage")?.focus({ preventScroll: true });
  }

  /** What a room holds goes; work that it started hears "close", as in a dialog. @param {HTMLElement} section */
  function empty(section) {
    if (!section.firstChild) return;
    section.dispatchEvent(new Event("close"));
    section.replaceChildren();
  }

  /** Show the chosen room. @param {string} [name] @param {readonly unknown[]} [rest] */
  function show(name, rest) {
    const { room } = store.options;
    for (const [id, section] of sections) {
      if (!section) continue;
      section.hidden = id !== room;
      if (id !== room && id !== ROOMS[0].id) empty(section);
    }
    draw(room, name, rest);
  }

  /** @type {{name: string, rest: readonly unknown[]} | null} */
  let asked = null;
  store.on("options", (name) => {
    if (name !== "room") return;
    show(asked?.name, asked?.rest);
    if (store.options.room === ROOMS[0].id) onStage();
    scrollTo({ top: 0 });
  });
  lab.ui.on("open", ({ name, rest }) => {
    const room = roomOf(name);
    if (!room) return;
    asked = { name, rest };
    if (room.id === store.options.room) show(name, rest);
    else store.setOption("room", room.id);
    asked = null;
  });
  lab.ui.on("close", () => store.setOption("room", ROOMS[0].id));
  show();
}
