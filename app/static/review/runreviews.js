// @ts-check
// What a review of a run is of: a token, a round or the whole run, named by what the run was asked for and what it
// wrote, so that the same run opened again, or made again elsewhere, finds its reviews. No DOM here.

import { stateOf } from "../draw.js";
import { identityOf, short } from "./identity.js";
import { load, onReviews } from "./reviews.js";

/**
 * @typedef {import("../types/store.js").Run} Run
 * @typedef {import("../types/store.js").Place} Place
 * @typedef {import("../types/workshop.js").Review} Review
 * @typedef {import("../types/workshop.js").ReviewedPlace} ReviewedPlace
 */

const MOST_TEXT = 400; // characters of a prompt or a sentence that a review carries

/** The key of a place; null where there is none. Tokens are part of it: where a run wrote something else is another
 * place.
 * @param {Run} run @param {ReviewedPlace["place"]} place @param {Place} at @returns {string | null} */
export function keyOf(run, place, { round = null, pos = null, node = null }) {
  if (!run.head) return null;
  const id = identityOf(run.head);
  const ids = (/** @type {readonly {token: number}[]} */ tokens) => short(tokens.map(({ token }) => token));
  if (place === "run") return run.end ? ["run", id, "run", ids(run.tokens)].join("|") : null;
  const event = round === null ? undefined : run.rounds[round];
  if (!event) return null;
  if (place === "round") return ["run", id, "round", round, ids(event.tokens)].join("|");
  if (pos === null) return null;
  const drafted = node === null ? undefined : event.nodes[node];
  return ["run", id, "token", pos, round, node ?? "", drafted?.token ?? "", run.tokens[pos]?.token ?? ""].join("|");
}

/** Why the whole of a run has no key. @param {Pick<import("../types/store.js").Status, "phase">} status */
export const unended = ({ phase }) =>
  phase === "done"
    ? "This run has no end: its file was cut off, or saved before it came. Its tokens and rounds can be reviewed."
    : "The run has not ended yet.";

/** What a review carries of its place.
 * @param {Run} run @param {ReviewedPlace["place"]} place @param {Place} at
 * @param {{recorded: string | null, view: string, piece: (id: number) => string}} page
 * @returns {ReviewedPlace | null} */
export function placeOf(run, place, { round = null, pos = null, node = null }, { recorded, view, piece }) {
  const { head } = run;
  if (!head) return null;
  const event = round === null ? undefined : run.rounds[round];
  const drafted = node === null ? undefined : event?.nodes[node];
  const token = pos === null ? undefined : run.tokens[pos];
  const written = (/** @type {readonly {token: number}[]} */ tokens) =>
    tokens.map(({ token: id }) => piece(id)).join("");
  const state = drafted?.state ?? (token ? stateOf(token, null) : "");
  const text = {
    token: [token ? piece(token.token) : "", state, (drafted ?? token)?.why ?? ""],
    round: [written(event?.tokens ?? []), `${event?.accepted ?? 0} of ${event?.drafted ?? 0} accepted`, ""],
    run: [written(run.tokens), run.end?.reason ?? "", ""],
  }[place];
  return {
    place,
    run: identityOf(head),
    trace: head.id,
    method: head.method,
    knobs: JSON.stringify(head.knobs),
    models: Object.entries(head.models)
      .map(([role, { id, revision }]) => `${role} ${id ?? "?"}${revision ? `@${revision}` : ""}`)
      .join(", "),
    prompt: head.prompt.slice(0, MOST_TEXT),
    sampling: JSON.stringify(head.sampling),
    seed: head.seed,
    recorded: recorded ?? "",
    round: place === "run" ? null : round,
    position: place === "token" ? pos : null,
    node: place === "token" ? node : null,
    piece: text[0].slice(0, MOST_TEXT),
    draft: place === "token" && drafted ? piece(drafted.token) : "",
    state: text[1],
    why: text[2].slice(0, MOST_TEXT),
    view,
  };
}

/** The run on the stage that a review is of, if it still wrote the same there.
 * @param {Iterable<Run>} runs @param {string} key @param {ReviewedPlace} of @returns {Run | null} */
export function runOf(runs, key, of) {
  for (const run of runs)
    if (run.head && identityOf(run.head) === of.run && keyOf(run, of.place, placeAt(of)) === key) return run;
  return null;
}

/** @param {ReviewedPlace} of @returns {Place} */
export const placeAt = ({ round, position, node }) => ({ round, pos: position, node });

/** This browser's reviews of tokens, by run and position; null until they are asked for.
 * @type {Map<string, Map<number, [string, Review][]>> | null} */
let index = null;
onReviews(() => {
  index = null;
});

/** The reviews of the tokens at a position. @param {Run} run @param {number} pos @returns {Review[]} */
export function reviewsAt(run, pos) {
  index ??= indexed(load().items);
  const found = (run.head && index.size && index.get(identityOf(run.head))?.get(pos)) || [];
  return found.filter(([key, { of }]) => of && keyOf(run, "token", placeAt(of)) === key).map(([, review]) => review);
}

/** @param {Readonly<Record<string, Review>>} items */
function indexed(items) {
  /** @type {NonNullable<typeof index>} */
  const found = new Map();
  for (const [key, review] of Object.entries(items)) {
    const { of } = review;
    if (of?.place !== "token" || of.position === null) continue;
    const run = found.get(of.run) ?? new Map();
    found.set(of.run, run.set(of.position, [...(run.get(of.position) ?? []), [key, review]]));
  }
  return found;
}
