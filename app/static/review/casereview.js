// @ts-check
// Case review: verdict, note and star of a token, a round or a whole run; what was reviewed; agreement of two
// reviewers.

import { nameOf as laneName, shownPlace } from "../columns.js";
import { count, h, visible } from "../dom.js";
import { rich } from "../draw.js";
import { MAX_URL } from "../link.js";
import { refocused } from "../refocus.js";
import { reviewPanel } from "./panel.js";
import { drawReviewers, leadTo, reviewedLink, reviewedPlace } from "./reviewers.js";
import { change, keep, load, onReviews, PLACES } from "./reviews.js";
import { keyOf, placeOf, unended } from "./runreviews.js";

/**
 * @typedef {import("../types/store.js").Store} Store
 * @typedef {import("../types/store.js").Run} Run
 * @typedef {import("../types/store.js").Selection} Selection
 * @typedef {import("../types/lab.js").Lab} Lab
 * @typedef {import("../types/workshop.js").ReviewedPlace} ReviewedPlace
 * @typedef {{lab: Lab, store: Store, draw: () => void, save: () => void}} Room
 */

const MOST = 200; // reviews listed
const NAMES = { token: "This token", round: "This round", run: "The whole run" };
const QUESTIONS = {
  token: "Do you agree with this decision?",
  round: "Do you agree with this round?",
  run: "Do you agree with this answer?",
};
/** What is reviewed, as it was left. @type {ReviewedPlace["place"]} */
let chosen = "token";
/** The review that was deleted last. @type {{key: string, review: import("../types/workshop.js").Review} | null} */
let deleted = null;
/** What keeps the review that was opened last up to date. @type {(() => void)[]} */
let watching = [];

/** @param {HTMLElement} body @param {Store} store @param {Lab} lab */
export function drawCaseReview(body, store, lab) {
  const spots = { here: h("div.reviewed"), list: h("div"), others: h("div") };
  body.append(spots.here, spots.list, spots.others);
  const reviews = load();
  /** @type {Room} */
  const room = { lab, store, draw, save };

  function save() {
    if (!keep(reviews)) lab.ui.notify("This browser keeps no data: export your reviews before you close the page.");
  }
  function draw() {
    refocused(body, fill);
  }
  function fill() {
    spots.here.replaceChildren(...here(room, draw));
    spots.list.replaceChildren(...list(room));
    spots.others.replaceChildren();
    drawReviewers(spots.others, {
      lab,
      store,
      reviews,
      all: [...lab.mined.sets.values()].flatMap((set) => set.items),
      save,
      draw,
      select: (key) => lab.ui.open("workshop", key),
    });
  }
  draw();
  for (const stop of watching) stop();
  watching = [
    onReviews((elsewhere) => {
      if (elsewhere && spots.here.isConnected) draw();
    }),
    store.on("cursor", () => {
      if (!spots.here.isConnected || spots.here.contains(document.activeElement)) return;
      spots.here.replaceChildren(...here(room, draw));
    }),
  ];
  queueMicrotask(() => body.querySelector("textarea")?.focus());
}

/** What can be reviewed now. @param {Room} room @param {() => void} draw */
function here({ lab, store, save }, draw) {
  const at = store.cursor ?? store.focus() ?? shownPlace(store);
  const run = at && store.runs.get(at.run);
  if (!at || !run?.head) return [h("p.quiet", {}, "Select a token to review it, its round or its run.")];
  const key = keyOf(run, chosen, at);
  const of = key && placeOf(run, chosen, at, about(store, lab, run));
  return [
    h(
      "div.segments",
      { role: "group", "aria-label": "What is reviewed" },
      PLACES.map((place) => {
        const onclick = () => {
          chosen = place;
          draw();
        };
        return h("button", { type: "button", "aria-pressed": String(place === chosen), onclick }, NAMES[place]);
      }),
    ),
    ...(key && of ? asked(key, of, run, { lab, store, save, draw }) : [h("p.quiet", {}, unended(store.status))]),
  ];
}

/** @param {string} key @param {ReviewedPlace} of @param {Run} run @param {Room} room */
function asked(key, of, run, { store, save, draw }) {
  const reviews = load();
  const { round, position } = of;
  const where = { token: `position ${position}, ${of.state}`, round: `round ${round}, ${of.state}`, run: of.state };
  return [
    h("p", {}, shown(of.draft || of.piece), ` ${laneName(store, run)}, ${where[of.place]}`, ...instead(of)),
    of.why ? h("p.quiet", {}, ...rich(of.why)) : "",
    reviewPanel(
      {
        key,
        question: QUESTIONS[of.place],
        note: "Note",
        told: of.view ? "Kept in this browser." : NO_LINK,
        keys: false,
      },
      {
        reviews,
        review(name, given, quiet) {
          change(reviews, name, { ...given, of });
          save();
          if (!quiet) draw();
        },
      },
    ),
  ];
}

/** @param {string} piece */
const shown = (piece) => h("b.piece", {}, visible(piece.slice(0, 80)));

/** Of a draft token that is not in the text: what is there. @param {ReviewedPlace} of */
const instead = ({ draft, piece }) =>
  draft && piece && draft !== piece ? [h("span.quiet", {}, "; the text has "), shown(piece)] : [];

const NO_LINK =
  "Kept in this browser. No link leads here, since these runs came from a file or were continued on this page: " +
  "open the same file again and the review is there.";

/** What a review keeps of the page. @param {Store} store @param {Lab} lab @param {Run} run */
function about(store, lab, run) {
  const { search } = new URL(lab.link.url());
  const linked = !store.status.opened && search.length <= MAX_URL;
  return {
    recorded: store.status.recorded,
    view: linked ? search : "",
    piece: (/** @type {number} */ id) => store.piece(run, id),
  };
}

const UNDO = "undo-review";

/** To have the review again that was deleted last, unless its place has one again.
 * @param {Pick<Room, "save" | "draw">} room */
function undo({ save, draw }) {
  const reviews = load();
  if (!deleted || reviews.items[deleted.key]) return [];
  const { key, review } = deleted;
  const onclick = () => {
    reviews.items[key] = review;
    save();
    draw();
  };
  const what = review.of ? reviewedPlace(review.of) : key;
  const words = h("span", {}, `Deleted: the review of ${what}. Until this page is closed it can be had back.`);
  return [h("p.quiet.row", { role: "status" }, words, h("button", { type: "button", id: UNDO, onclick }, "Undo"))];
}

/** What was reviewed in runs: starred first, then the newest. @param {Room} room */
function list({ lab, store, save, draw }) {
  const reviews = load();
  const found = Object.entries(reviews.items)
    .filter(([, { of }]) => of)
    .sort(([, a], [, b]) => Number(b.star) - Number(a.star) || b.made.localeCompare(a.made));
  const rows = found.slice(0, MOST).map(([key, { of, verdict, note, star }]) => {
    if (!of) return "";
    const go = leadTo({ store, lab }, key, of);
    const forget = () => {
      deleted = { key, review: reviews.items[key] };
      change(reviews, key, { verdict: "", note: "", star: false });
      save();
      draw();
      document.getElementById(UNDO)?.focus();
    };
    return h(
      "li",
      {},
      h(
        "header",
        {},
        star ? h("span", { role: "img", "aria-label": "starred" }, "★") : null,
        reviewedLink(of, go),
        verdict ? h("span.badge", {}, verdict) : null,
        h("button.plain", { type: "button", "aria-label": "Delete review", onclick: forget }, "Delete"),
      ),
      note ? h("p", {}, note) : null,
      of.view || go ? null : h("p.quiet", {}, `Open the file of trace ${of.trace} to see the place.`),
    );
  });
  return [
    h("h3", {}, found.length ? count(found.length, "review") : "No reviews of runs yet"),
    ...undo({ save, draw }),
    h("ul.notes", {}, rows),
    found.length > MOST ? h("p.quiet", {}, `The first ${MOST} are listed; Export writes all.`) : "",
  ];
}
