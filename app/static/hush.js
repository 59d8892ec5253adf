// @ts-check
// What is read out: not what a run, or playing it, says anew with each round, but what is said when it has ended.

import { going } from "./run/waiting.js";

/** Have a region, whose words follow the runs on the stage, be read out only while these do not change.
 * @param {import("./types/store.js").Store} store @param {Element} region */
export function hush(store, region) {
  const set = () => {
    const still = !store.time.playing && !going(store.status.phase);
    region.setAttribute("aria-live", still ? "polite" : "off");
  };
  for (const topic of /** @type {const} */ (["status", "time"])) store.on(topic, set);
  set();
}
