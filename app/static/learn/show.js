// @ts-check
// "Show me": the page as a step of a lesson, or a case of the gallery, wants it.

/**
 * @typedef {import("../types/store.js").Store} Store
 * @typedef {import("../types/lab.js").Lab} Lab
 * @typedef {{case: string, room?: string, view: Store["options"]["stage"], track?: string,
 *   lane: number | null, at: import("../types/wire.js").LearnPlace | null}} Scene
 */

const SETTLED_MS = 250; // until lanes have brought their tokens into view
const HIGH = 0.28; // of the window: where a token that was hidden comes to be
const ROOM_OF = new Map([["many", "runs"]]); // lessons name a room by what it is for

/** Take a step of a lesson beside the stage, unless another was taken, the lesson closed or the room left before its
 * case came. @param {string} lesson @param {number} at
 * @param {import("../types/wire.js").PageStep} step @param {Store} store @param {Lab} lab */
export async function take(lesson, at, step, store, lab) {
  const { beside, room } = store.options;
  if (store.status.recorded !== step.case) await lab.session.openRecorded(step.case); // with it one step for Back
  if (store.options.beside !== beside || store.options.room !== room) return;
  store.setOption("beside", `${lesson}~${at}`);
  await showStep(step, store, lab);
}

/** The page as a step wants it; a task about a knob has its sliders in view.
 * @param {import("../types/wire.js").PageStep} step @param {Store} store @param {Lab} lab */
export async function showStep(step, store, lab) {
  if (!(await show(step, store, lab))) return;
  if (step.task?.kind !== "set") {
    const { at, lane } = step;
    if (!at && lane !== null) setTimeout(() => reveal(store.lanes[lane]), SETTLED_MS);
    return;
  }
  if (!step.at) store.setCursor({ run: store.lanes[step.task.lane ?? 0], pos: 0 });
  document.querySelector('[data-view="whatif"]')?.scrollIntoView({ block: "center" });
}

/** Tells whether it is shown: not where the case was refused, which the visitor has been told, nor where the room was
 * left before it came. @param {Scene} scene @param {Store} store @param {Lab} lab */
export async function show({ case: name, room = "compare", view, track, lane, at }, store, lab) {
  const { room: before } = store.options;
  if (store.status.recorded !== name) await lab.session.openRecorded(name);
  if (store.status.recorded !== name || store.options.room !== before) return false;
  store.setTime({ at: Infinity, playing: false });
  store.setOption("room", ROOM_OF.get(room) ?? room);
  store.setOption("stage", view);
  const { tracks } = store.options;
  if (track && !tracks.includes(track)) store.setOption("tracks", [...tracks, track]);
  if (!at) {
    store.clear();
    return true;
  }
  const run = store.lanes[at.lane ?? lane ?? 0];
  store.setOption("ghosts", true); // a rejected draft token is not in the text
  store.setCursor({ run, round: at.round, pos: at.pos, node: at.node });
  if (view === "text") setTimeout(uncover, SETTLED_MS);
  if (view === "score") setTimeout(() => reveal(run), SETTLED_MS);
  return true;
}

/** Bring the head of a lane, or of its band in the score, into sight where it is hidden. @param {string} run */
function reveal(run) {
  const heads = [...document.querySelectorAll(`[data-lane="${run}"] header, [data-band="${run}"]`)];
  const head = heads.find((one) => one.checkVisibility());
  const box = head?.getBoundingClientRect();
  if (!head || !box || head.contains(document.elementFromPoint(box.left + 12, box.bottom - 12))) return;
  head.scrollIntoView({ block: "center", inline: "nearest", behavior: "instant" });
}

/** Scroll the page where the chosen token lies below its edge, or behind what floats there (Details, the timeline). */
function uncover() {
  const chip = document.querySelector(".lane .sel");
  const spot = chip?.getClientRects()[0];
  if (!chip || !spot) return;
  const over = document.elementFromPoint(spot.left + spot.width / 2, spot.top + spot.height / 2);
  if (over && (chip.contains(over) || over.contains(chip))) return;
  window.scrollBy({ top: spot.top - HIGH * window.innerHeight, behavior: "instant" });
}
