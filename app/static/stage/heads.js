// @ts-check
// The head of a band: the method, its figures, the names of its tracks.

import { h } from "../dom.js";
import { perCall, percent, perSecond as rate, times } from "../draw.js";
import { answerOf } from "../run/answer.js";
import { callWords } from "../run/calls.js";
import { draftedNothing, guaranteeOf } from "../run/guarantee.js";
import { ofDrafted, range, shownFigures } from "../run/spread.js";
import { CUT } from "../run.js";
import { word } from "../words.js";
import { agreement } from "./bands.js";

/**
 * @typedef {import("../types/store.js").Store} Store
 * @typedef {import("../types/store.js").Run} Run
 * @typedef {ReturnType<typeof buildHead>} Head
 */

const TALL = 26; // pixels of a track whose name has room for two lines
const SHORT = 40; // letters of an answer that has room in two lines
const LONG = 20; // letters of a name that stands in two lines of a folded band,
const BESIDE = 15; // and beside more than a guarantee of one word

/** @typedef {{called: string, tau: number|null, accepted: number|null, of: string,
 *   perSecond: number|null, ratio: number|null, guarantee: string, sign: string, parts: number|null,
 *   agrees: number|null, answer: import("../run/answer.js").Told|null, failed: string, silent: string,
 *   again: import("../types/analysis.js").Repeated|null}} Figures */

/** @param {Store} store @param {Run} run @param {Run | null} reference @param {number|null} parts @returns {Figures} */
export function figuresOf(store, run, reference, parts) {
  const shown = shownFigures(store, run, reference);
  const { stats, tau, accepted, perSecond, ratio, again } = shown;
  const { name: guarantee, sign } = guaranteeOf(run);
  return {
    called: callWords(stats),
    tau,
    accepted,
    of: ofDrafted(shown),
    perSecond,
    ratio,
    guarantee,
    sign,
    parts,
    agrees: agreement(store, run, reference),
    answer: answerOf(run.end),
    failed: (run.end && CUT[run.end.reason]) ?? "",
    silent: draftedNothing(run),
    again,
  };
}

/** @param {Run} run @param {{fold: () => void, card: () => void, proof: (anchor: Element) => void}} act */
export function buildHead(run, { fold, card, proof }) {
  const title = h("button.plain.title", { type: "button", onclick: card });
  const arrow = h("button.plain.arrow", { type: "button", onclick: fold });
  const lines = h("div.figs");
  const kind = h("button.plain.kind", { type: "button", "aria-haspopup": "dialog" });
  kind.addEventListener("click", () => proof(kind));
  const labels = h("div.labels");
  const element = h("div.head", { "data-band": run.key, role: "group" }, arrow, title, lines, labels);
  return { run, element, title, arrow, kind, lines, labels, stamp: "" };
}

/** @param {Head} item @param {{place: import("./layout.js").Place, name: string, figures: Figures, labels: string[],
 *   briefs: string[], words: (import("../words.js").Anchor | null)[], nones: string[], narrow: boolean, width: number,
 *   room: number, focus: boolean, first: boolean, answers: boolean}} now `briefs`: labels without limits; `nones`: said
 *   in a track without values; `first`: of the open bands; `answers`: some lane's answer was checked */
export function updateHead(
  item,
  { place, name, figures, labels, briefs, words, nones, narrow, width, room, focus, first, answers },
) {
  item.element.classList.toggle("focus", focus);
  const stamp = JSON.stringify([
    place.height,
    place.folded,
    name,
    figures,
    labels,
    nones,
    narrow,
    width,
    room,
    first,
    answers,
  ]);
  if (item.stamp === stamp) return;
  item.stamp = stamp;
  item.element.classList.toggle("folded", place.folded);
  item.element.classList.toggle("narrow", narrow);
  item.element.style.width = narrow ? `${room}px` : `${width}px`;
  item.element.setAttribute("aria-label", spoken(name, figures));
  item.title.textContent = name;
  item.title.title = `${name}: what this method does`;
  item.arrow.textContent = place.folded ? "▸" : "▾";
  item.arrow.setAttribute("aria-expanded", String(!place.folded));
  item.arrow.setAttribute("aria-label", place.folded ? `Open the tracks of ${name}` : `Fold ${name} to its spans`);
  const { called, tau, accepted, perSecond, ratio, guarantee, answer, failed, silent, again } = figures;
  const speed = ratio ? times(ratio) : `${rate(perSecond)}/s`;
  const folded = place.folded && !narrow;
  const [n, ...what] = called.replace("target ", "").split(" ");
  const cut = failed === CUT.stopped && !folded ? `${guarantee}, ${failed}` : failed;
  const said = cut || (folded && silent ? "drafted nothing" : guarantee);
  item.title.classList.toggle("long", name.length > (said.includes(" ") ? BESIDE : LONG));
  item.kind.className = `plain kind ${figures.sign}`;
  item.kind.textContent = said;
  item.kind.classList.toggle("loud", failed === CUT.error || Boolean(folded && silent && !failed));
  item.lines.replaceChildren(
    ...(folded
      ? [
          item.kind,
          ...(answers ? [rightOrWrong(answer)] : []),
          h("b", { text: n, title: called }),
          h("b", { text: perCall(tau) }),
          h("b", { text: speed }),
        ]
      : [
          h(
            "span",
            {},
            h("b", { text: n }),
            ` ${what.join(" ")}`,
            ...(tau === null ? [] : [" · ", h("b", { text: perCall(tau) }), narrow ? " a call" : " tokens a call"]),
            again?.tau && again.tau.low < again.tau.high
              ? ` (${perCall(again.tau.low)} to ${perCall(again.tau.high)})`
              : "",
          ),
          h(
            "span",
            {},
            h("b", { text: ratio ? `${speed} speed` : `${rate(perSecond)} tokens/s` }),
            ...speedBasis(figures),
            " ",
            item.kind,
          ),
          ...(accepted === null ? [] : [h("span", {}, h("b", { text: percent(accepted) }), acceptedOf(figures))]),
          ...(answer
            ? [h("span.answer", { text: answer.words, title: answer.whole.length > SHORT ? answer.whole : null })]
            : []),
          ...parting(figures),
          ...(silent ? [h("span.loud", { title: silent }, "drafted nothing: figures of plain decoding")] : []),
        ]),
  );
  item.labels.replaceChildren(
    ...(place.folded
      ? []
      : place.tracks.flatMap((track, i) => {
          const tall = track.height >= TALL;
          const said = narrow && !tall ? briefs[i] : labels[i]; // one line beside a narrow plot
          const label = h(tall ? "span.tall" : "span", {}, word(said, words[i], { tabindex: first ? null : "-1" }));
          const none = nones[i] ? h("span.none", { text: nones[i] }) : null;
          for (const told of [label, none])
            if (told) told.style.top = `${track.y - place.top + track.height / 2 - 8}px`;
          return none ? [label, none] : [label];
        })),
  );
}

/** Whether the answer is right, in a place of its own: nothing where it was not checked.
 * @param {Figures["answer"]} answer */
function rightOrWrong(answer) {
  if (!answer) return h("span.right");
  const { sign, whole, right } = answer;
  return h(`span.right${right ? "" : ".wrong"}`, { role: "img", "aria-label": whole, title: whole }, sign);
}

/** Of how many runs a speed is told, and how far apart they lie. @param {Figures} figures @returns {string[]} */
function speedBasis({ again, ratio }) {
  const spread = ratio ? again?.speedup : again?.tokens_per_s;
  if (!spread) return ratio ? [" (once)"] : [];
  const say = ratio ? times : rate;
  return [spread.n > 1 ? ` (${say(spread.low)} to ${say(spread.high)}, ${spread.n} runs)` : " (once)"];
}

/** Of what the accepted share is, and how far apart repeated runs lie. @param {Figures} figures */
function acceptedOf({ of, again }) {
  const spread = again?.accept_rate;
  const apart = spread && spread.low < spread.high ? ` (${percent(spread.low)} to ${percent(spread.high)})` : "";
  return `${apart} ${of} accepted`;
}

/** @param {Figures} figures */
function parting({ parts, agrees }) {
  if (parts === null) return [];
  return [
    h("span.parts", { text: `another text from ${parts} on (${percent(agrees)?.replace(" ", "\u00a0")} agrees)` }),
  ];
}

/** @param {string} name @param {Figures} figures */
function spoken(name, { called, tau, accepted, of, ratio, perSecond, guarantee, parts, answer, silent, again }) {
  const once = ratio ? `${times(ratio)} the reference's speed, once` : `${rate(perSecond)} tokens a second`;
  const speed =
    ratio && again?.speedup
      ? `${range(again.speedup, times)} the reference's speed in ${again.speedup.n} runs`
      : again?.tokens_per_s
        ? `${range(again.tokens_per_s, rate)} tokens a second in ${again.tokens_per_s.n} runs`
        : once;
  const other = parts === null ? "" : `, another text than the reference from position ${parts} on`;
  const told = answer ? `, ${answer.words}` : "";
  const kept = accepted === null ? "" : `, ${percent(accepted)} ${again ? "of" : of} draft tokens accepted`;
  const rest = `${other}${told}${silent ? `. ${silent}` : ""}`;
  const each = tau === null ? "" : `, ${perCall(tau)} tokens a call`;
  return `${name}: ${called}${each}${kept}, ${speed}, ${guarantee}${rest}`;
}
