// @ts-check
// What is read out: not what a run, or playing it, says anew with each round, but what is said when it has ended.

import { going } from "./run/waiting.js";

/** Whether the runs on the stage do not change by themselves. @param {import("./types/store.js").Store} store */
export const still = (store) => !store.time.playing && !going(store.status.phase);

/** Have a region, whose words follow the runs on the stage, be read out only while these do not change.
 * @param {import("./types/store.js").Store} store @param {Element} region
 * @param {() => boolean} [wanted] what else it hangs on
 * @returns {() => void} look again whether it is to be read out */
export function hush(store, region, wanted = () => true) {
  const set = () => region.setAttribute("aria-live", still(store) && wanted() ? "polite" : "off");
  for (const topic of /** @type {const} */ (["status", "time"])) store.on(topic, set);
  set();
  return set;
}
