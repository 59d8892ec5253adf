// @ts-check
// The parts of the trajectory room: tokens a call on one chart, votes, and the answers with what they reuse.

import { count, h, inText, visible } from "../dom.js";
import { hideTip, perCall, percent, showTip } from "../draw.js";
import { plot } from "../plot.js";
import { times } from "../source.js";
import { factsOf, reusedShare, trajectories } from "./data.js";

/**
 * @typedef {import("../types/trajectory.js").Shown} Shown
 * @typedef {import("../types/trajectory.js").Row} Row
 * @typedef {Shown["methods"][number]} Method
 * @typedef {string | number | Node} Cell
 */

/** A table with a caption: first column are row heads. @param {string} caption @param {string[]} head
 * @param {Cell[][]} rows @param {string} [name] of one without a caption */
export function table(caption, head, rows, name = caption) {
  return h(
    "div.scroll",
    { tabindex: 0, role: "region", "aria-label": name },
    h(
      "table",
      {},
      h("caption", {}, caption),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          head.map((text) => h("th", { scope: "col" }, text)),
        ),
      ),
      h(
        "tbody",
        {},
        rows.map(([name, ...cells]) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, String(name)),
            cells.map((cell) => h("td", {}, cell instanceof Node ? cell : String(cell))),
          ),
        ),
      ),
    ),
  );
}

/** Acceptance length by trajectory; the server sends the figure anew with each answer.
 * @param {HTMLElement} spot @param {Shown} shown */
export function drawGrowth(spot, shown) {
  const open = spot.querySelector("details")?.open ?? false;
  const ticks = Array.from({ length: shown.n }, (_, i) => i + 1);
  const drawn =
    /** @type {HTMLElement | null} */ (spot.querySelector(".plot")) ?? h("div.plot", { style: "min-height:320px" });
  spot.replaceChildren(
    drawn,
    h(
      "p.quiet",
      {},
      "Tokens emitted / target calls of each trajectory, the correction or bonus counted; one problem, " +
        `${trajectories(shown.n)} a method. One problem proves nothing: see the pooled chart below.`,
    ),
    h(
      "details",
      { open },
      h("summary", {}, "As a table"),
      table(
        "Tokens a target call",
        ["method", ...ticks.map(String)],
        shown.methods.map((method) => [method.title, ...ticks.map((i) => perCall(method.rows[i - 1]?.tau))]),
      ),
    ),
  );
  if (shown.figure && figures.get(drawn) !== shown.figure) {
    figures.set(drawn, shown.figure);
    plot(drawn, shown.figure, {
      source: `${factsOf({ ...shown, live: false })}.`,
      caption: `Problem: ${shown.prompt.trim()}`,
    });
  }
}

/** What each spot shows. @type {WeakMap<Element, NonNullable<Shown["figure"]>>} */
const figures = new WeakMap();

/** Answers and majorities. @param {HTMLElement} spot @param {Shown} shown
 * @param {readonly Pick<import("../types/card.js").Card, "name" | "guarantee">[]} cards of all methods
 * @param {import("../types/measured.js").Trajectories["reads"]} reads by task, how an answer is read */
export function drawVotes(spot, shown, cards, reads) {
  if (!shown.methods.some((method) => method.rows.some((row) => row.vote))) return spot.replaceChildren();
  const rows = shown.methods.map((method) => {
    const vote = method.rows.findLast((row) => row.vote)?.vote;
    const answers = h(
      "span.answers",
      {},
      method.rows.filter((row) => row.reason).map((row) => verdict(row.answer, row.right)),
    );
    return [
      method.title,
      answers,
      vote ? verdict(vote.answer, vote.right) : "–",
      vote ? `${vote.count} of ${vote.n} (${percent(vote.share)})` : "–",
    ];
  });
  const known =
    shown.answer != null
      ? "✓ right, ✗ wrong; the right answer is known for this problem."
      : "Whether they are right is not known for this problem.";
  const title = "Answers and the majority";
  spot.replaceChildren(
    h("h3", {}, title),
    table("", ["method", "answers, in order", "majority", "share"], rows, title),
    h("p.quiet", {}, [reads[shown.task], known, drawn(shown, cards)].filter(Boolean).join(" ")),
  );
}

/** Which methods write as the target would. @param {Shown} shown @param {Parameters<typeof drawVotes>[2]} cards */
function drawn({ methods }, cards) {
  const lossy = methods.filter(({ method }) =>
    cards.some((card) => card.name === method && card.guarantee === "lossy"),
  );
  if (lossy.length === methods.length) return "";
  const [who, whose] = lossy.length
    ? [`All methods here but ${lossy.map((one) => one.title).join(", ")} draw`, "their"]
    : ["Every method here draws", "its"];
  return `${who} from the target's own distribution, with draws of ${whose} own, so answers may differ by chance.`;
}

/** An answer and whether it is right.
 * @param {string | null | undefined} answer @param {boolean | null | undefined} right */
const verdict = (answer, right) =>
  h(
    `span.answer${right == null ? "" : right ? ".yes" : ".no"}`,
    { "aria-label": `${answer ?? "no answer"}${right == null ? "" : right ? ", right" : ", wrong"}` },
    `${answer ?? "none"}${right == null ? "" : right ? " ✓" : " ✗"}`,
  );

/** The texts of one method.
 * @param {HTMLElement} spot @param {Shown} shown @param {string | null} key @param {(key: string) => void} choose */
export function drawRows(spot, shown, key, choose) {
  const active = /** @type {HTMLElement | null} */ (document.activeElement);
  const focused = spot.contains(active) ? active?.dataset.key : undefined;
  const method = shown.methods.find((one) => one.key === key);
  const tabs = h(
    "div.chips",
    { role: "group", "aria-label": "Texts of" },
    h("span.label", {}, "Texts of"),
    shown.methods.map((one) =>
      h(
        "button.toggle",
        { "data-key": one.key, "aria-pressed": String(one.key === key), onclick: () => choose(one.key) },
        one.title,
      ),
    ),
  );
  const list = h("ol.answers-list", {}, (method?.rows ?? []).map(row));
  list.addEventListener("pointermove", (event) => tell(event, method));
  list.addEventListener("pointerleave", hideTip);
  spot.replaceChildren(h("h3", {}, "Trajectories"), tabs, legend(), list);
  /** @type {HTMLElement | null} */
  const again = focused ? spot.querySelector(`[data-key="${CSS.escape(focused)}"]`) : null;
  again?.focus();
}

/** A trajectory. @param {Row} item */
function row(item) {
  const facts = [
    `${perCall(item.tau)} tokens a call`,
    item.reason ? count(item.tokens, "token") : "decoding",
    item.reason === "limit" ? "cut at the limit" : "",
    item.trajectory
      ? `${percent(reusedShare(item, 2))} seen before, ${percent(reusedShare(item, 5))} in runs of 5`
      : "nothing came before",
    item.message,
  ];
  return h(
    "li",
    { "data-row": item.trajectory },
    h(
      "header",
      {},
      h("b", {}, `Trajectory ${item.trajectory + 1}`),
      h("span.quiet", {}, facts.filter(Boolean).join(" · ")),
      item.reason && item.answer != null ? verdict(item.answer, item.right) : null,
    ),
    h(
      "p.text",
      {},
      item.pieces.map((piece, i) => chip(i ? piece : piece.trimStart(), item.reused[i] ?? 0, i)),
    ),
  );
}

/** A token, marked by the n-gram that it ends. @param {string} piece @param {number} order @param {number} i */
const chip = (piece, order, i) =>
  h(order ? `span.n${order}` : "span", { "data-at": i }, inText(piece).replaceAll("\n", "↵\n"));

function legend() {
  return h(
    "p.quiet.reuse",
    {},
    "Stood in an earlier trajectory as part of a run of ",
    [2, 3, 4].flatMap((n) => [h(`span.n${n}`, {}, `${n}`), ", "]),
    h("span.n5", {}, "5 or more"),
    " tokens; the longer, the stronger the mark.",
  );
}

/** Where the n-gram under the pointer was seen before.
 * @param {PointerEvent} event @param {Method | undefined} method */
function tell(event, method) {
  /** @type {HTMLElement | null} */
  const at = event.target instanceof Element ? event.target.closest("[data-at]") : null;
  const item = at && method?.rows[Number(at.closest("li")?.dataset.row)];
  const i = Number(at?.dataset.at);
  if (!item?.reused[i]) return hideTip();
  const from = Math.max(0, i - 4);
  showTip(event.clientX, event.clientY, [
    `${item.reused[i]}-gram seen ${times(item.times[i])} before, first in trajectory ${item.first[i] + 1}`,
    visible(item.pieces.slice(from, i + 5).join("")),
  ]);
}
