// @ts-check
// That a case is being fetched, in the rooms where no run bar tells it.

import { h } from "./dom.js";
import { ROOMS } from "./rooms/rooms.js";

const LATE = 300; // milliseconds after which it is told, as in the run bar

/** @param {Element} page @param {import("./types/store.js").Store} store
 * @param {Pick<import("./types/lab.js").Session, "opening" | "on">} session */
export function watchComing(page, store, session) {
  const spot = page.querySelector(".notices");
  const notice = h("p.notice.coming");
  let waits = 0;
  const show = () => {
    clearTimeout(waits);
    const told = session.opening && store.options.room !== ROOMS[0].id;
    if (!told) notice.remove();
    else waits = setTimeout(say, LATE);
  };
  const say = () => {
    notice.textContent = `Opening ${session.opening} …`;
    spot?.append(notice);
  };
  session.on("opening", show);
  store.on("options", (name) => {
    if (name === "room") show();
  });
}
