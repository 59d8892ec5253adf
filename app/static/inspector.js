// @ts-check
// The round inspector: why this token; first a sentence, then the two distributions and the draw.

import { barFigure, barRows } from "./bars.js";
import { nodeSelection, rejectedNode, resolve, samples } from "./columns.js";
import { h, s } from "./dom.js";
import { fmt, label, linear, pieceOf, prob, rich, SIGNS, sign } from "./draw.js";
import { figuresIn, offer, stack } from "./figure.js";
import { flagLines } from "./flags.js";
import { followSource, passageOf, passageText } from "./passage.js";
import { alternativesAt, createContinuing } from "./run/continue.js";
import { SAYS } from "./run/phases.js";
import { sourceOf, sourceWords } from "./source.js";
import { overlapN } from "./thresholds.js";

/**
 * @typedef {import("./types/store.js").Store} Store
 * @typedef {import("./types/store.js").Run} Run
 * @typedef {import("./types/trace.js").Node} Node
 * @typedef {import("./types/trace.js").Round} Round
 * @typedef {NonNullable<ReturnType<typeof subject>>} Subject
 * @typedef {ReturnType<typeof build>} Parts
 */

/** The elements that are filled anew, and the widths of the figures' places. */
function build() {
  return {
    widths: { bars: 0, strip: 0 },
    name: h("h3", { text: "Why this token" }),
    place: h("span.v-sub"),
    why: h("p.v-why", { "aria-live": "polite" }),
    which: h("p.v-which"),
    from: h("p.v-from"),
    flags: h("div.v-flags"),
    bars: h("div.v-bars"),
    others: h("div.v-alternatives", { role: "group", "aria-label": "What if it had written another token" }),
    strip: h("div.v-strip"),
    numbers: h("dl.v-numbers"),
    order: h("button.v-button", { type: "button" }),
    distribution: h("button.v-button", { type: "button" }),
    back: h("button.v-button", { type: "button", text: "‹", "aria-label": "Previous draft token of this round" }),
    next: h("button.v-button", { type: "button", text: "›", "aria-label": "Next draft token of this round" }),
  };
}

/** @param {HTMLElement} element @param {Store} store @param {import("./types/lab.js").Lab} [lab] */
export function mount(element, store, lab) {
  const parts = build();
  element.classList.add("v-view", "v-inspector");
  element.replaceChildren(
    h(
      "header.v-head",
      {},
      parts.name,
      parts.place,
      h("span.v-tools", {}, parts.distribution, parts.order, parts.back, parts.next),
    ),
    parts.why,
    parts.which,
    parts.from,
    parts.flags,
    parts.bars,
    parts.others,
    h("div.v-facts", {}, parts.strip, parts.numbers),
  );
  const continuing = lab && createContinuing(store, lab);
  const draw = () => show(store, parts, lab, continuing);
  const later = () => store.frame("inspector", draw);
  parts.order.onclick = () => store.setOption("order", store.options.order === "draft" ? "target" : "draft");
  parts.distribution.onclick = () =>
    store.setOption("distribution", store.options.distribution === "sampled" ? "raw" : "sampled");
  parts.back.onclick = () => step(store, -1);
  parts.next.onclick = () => step(store, 1);
  store.on("data", () => store.seldom("inspector", draw));
  for (const topic of /** @type {const} */ (["runs", "cursor", "hover", "time", "options", "flags", "status"]))
    store.on(topic, later);
  // Widths come from the observer: reading them while other views change the page would force a layout.
  const watch = new ResizeObserver((entries) => {
    for (const { target, contentRect } of entries)
      parts.widths[target === parts.bars ? "bars" : "strip"] = contentRect.width;
    later();
  });
  watch.observe(parts.bars);
  watch.observe(parts.strip);
  offer(element, lab, () => stack(figuresIn(element), element));
  later();
}

/** What is to be shown: the draft token (accepted or rejected), the emitted token, and both distributions there.
 * @param {Store} store */
export function subject(store) {
  const at = resolve(store);
  if (!at?.round) return null;
  const { run, round, token } = at;
  let { node, index } = at;
  if (!node && token?.origin === "correction") {
    index = rejectedNode(round);
    node = index === null ? null : round.nodes[index];
  }
  const here =
    token ?? (round.tokens ?? []).find((candidate) => candidate.pos === at.pos && onPath(round, node)) ?? null;
  return { ...at, run, round, node, index, emitted: here, own: Boolean(token) };
}

/** @param {Round} round @param {Node | null} node */
const onPath = (round, node) => node && node.parent === (round.path[round.path.length - 1] ?? -1);

/** @param {Store} store @param {Parts} parts @param {import("./types/lab.js").Lab} [lab]
 * @param {ReturnType<typeof createContinuing>} [continuing] */
function show(store, parts, lab, continuing) {
  const it = subject(store);
  const width = parts.widths.bars || 480;
  parts.back.disabled = parts.next.disabled = !it;
  if (!it) {
    parts.why.textContent =
      "Choose a token: the sentence here says in the rule's own terms why it was accepted or rejected.";
    parts.place.textContent = "";
    for (const part of [parts.which, parts.from, parts.flags, parts.bars, parts.others, parts.strip, parts.numbers])
      part.replaceChildren();
    return;
  }
  const { run, round, node, token, emitted, own } = it;
  const state = token && token.node == null ? token.origin : node?.state;
  const shownToken = token ? token.token : node?.token;
  parts.name.replaceChildren(
    s(
      "svg",
      { width: 16, height: 16, viewBox: "-8 -8 16 16", "aria-hidden": "true" },
      sign(state ?? "target", 0, 0, 5.5),
    ),
    h("span.v-token", { text: shownToken === undefined ? "?" : pieceOf(run, shownToken, 24) }),
    h("span.v-state", { text: SIGNS[state ?? ""]?.label ?? "" }),
  );
  const which = node && !own ? `, draft token ${(it.index ?? 0) + 1} of ${round.nodes.length}` : "";
  parts.place.textContent = `round ${it.roundIndex}, position ${it.pos}${which}`;
  parts.why.replaceChildren(
    ...rich(token?.why ?? (token && token.node == null ? null : node?.why) ?? neutral(it, state)),
  );
  const passage = passageOf(run, node);
  parts.from.replaceChildren(
    ...(passage
      ? [
          `From: ${passage.words}: `,
          passageText(passage),
          " ",
          h(
            "button.v-button",
            { type: "button", title: "Go there (s)", onclick: () => lab && followSource(store, lab) },
            "Go there",
          ),
        ]
      : []),
  );
  const sampled = Boolean(node?.law_target ?? node?.law_draft);
  const distribution = sampled && store.options.distribution === "sampled" ? "sampled" : "raw";
  parts.distribution.disabled = !sampled;
  parts.distribution.textContent = `distribution: ${distribution}`;
  parts.distribution.title = "raw: softmax at temperature 1. sampled: after temperature, top-k and top-p.";
  parts.which.textContent = sampled
    ? "The sentence speaks of the sampled distributions (after temperature, top-k and top-p); " +
      `the bars show the ${distribution} ones.`
    : "";
  parts.order.textContent = `order: ${store.options.order}`;
  const draft = (distribution === "sampled" ? node?.law_draft : null) ?? node?.top_draft ?? null;
  const target =
    (distribution === "sampled" ? node?.law_target : null) ?? node?.top_target ?? token?.top_target ?? null;
  const n = overlapN(run);
  const residual = samples(run) && node !== null && emitted?.origin === "correction" && node.state === "rejected";
  const rows = barRows({
    draft,
    target,
    candidate: node,
    n,
    order: store.options.order,
    keep: [node?.token, emitted?.token],
  });
  parts.flags.replaceChildren(...flagLines(run, it.pos, lab));
  parts.bars.replaceChildren(
    draft || target
      ? barFigure({
          run,
          rows,
          draft,
          target,
          width,
          n,
          distribution,
          candidate: node?.token ?? null,
          emitted: emitted?.token ?? null,
          state: node?.state,
          origin: emitted?.origin ?? "target",
          residual,
          cut: samples(run) ? cutOf(node) : null,
        })
      : h("p.v-empty", { text: "This trace was recorded lightly: it holds decisions, not distributions." }),
  );
  parts.others.replaceChildren(...alternatives(store, continuing, it));
  parts.strip.replaceChildren(
    stripFigure(samples(run) ? node : node && { ...node, u: undefined }, parts.widths.strip || 220),
  );
  parts.numbers.replaceChildren(
    ...numbers(it, n, residual).flatMap(([term, value, hint]) => [
      h("dt", { text: term, title: hint }),
      h(value.length > 16 ? "dd.v-long" : "dd", { text: value }),
    ]),
  );
}

/** Buttons for the other tokens of this place: each makes a lane that goes on from it. @param {Store} store
 * @param {ReturnType<typeof createContinuing> | undefined} continuing @param {Subject} it @returns {HTMLElement[]} */
function alternatives(store, continuing, { run, pos }) {
  const found = continuing && pos !== null && !store.halfRound(run) ? alternativesAt(run, pos) : [];
  if (!continuing || pos === null || !found.length) return [];
  const against = continuing.hindrance(run);
  return [
    h("span", { text: "What if it had written" }),
    ...found.map(({ token, p }) =>
      h(
        "button.v-button",
        {
          type: "button",
          disabled: against !== "",
          title: against || `A new lane: the text before position ${pos}, this token, and what follows`,
          onclick: () => continuing.start(run, pos, token),
        },
        h("code", { text: pieceOf(run, token) }),
        ` ${prob(p)}`,
      ),
    ),
  ];
}

/** Where p has to reach: the drawn u times q, when the run samples by ratio. @param {Node | null} node */
function cutOf(node) {
  if (node?.u == null || node.q == null || node.p == null || node.accept_prob == null) return null;
  const ratio = Math.min(1, node.p / node.q);
  return Math.abs(ratio - node.accept_prob) < 0.02 ? { at: node.u * node.q, name: "u times q" } : null;
}

/** A sentence where the engine gave none. @param {Subject} it @param {string | undefined} state */
export function neutral({ run, node, token, round }, state) {
  const chosen = node?.top_target?.[0] ?? token?.top_target?.[0];
  const first = chosen ? ` The target's first choice is ${pieceOf(run, chosen[0])} (${prob(chosen[1])}).` : "";
  if (token?.origin === "bonus") {
    const all = round.accepted === 1 ? "The tested draft token was" : `All ${round.accepted} tested draft tokens were`;
    return `${all} accepted, so the target's own next token comes with the same call.${first}`;
  }
  if (token?.origin === "target") return `Plain decoding: one target call, one token.${first}`;
  if (token?.origin === "correction")
    return `Put in place of the rejected draft token ${node ? pieceOf(run, node.token) : ""}.${first}`;
  if (node && state === "drafted")
    return `Drafted${node.q == null ? "" : ` with probability ${prob(node.q)}`}; the target has not seen it yet.`;
  if (node && state === "verified")
    return (
      `The target gives it ${prob(node.p)}${node.q == null ? "" : `, the draft ${prob(node.q)}`}; the rule has ` +
      `not decided yet.${first}`
    );
  if (state === "discarded") return "Never tested: the target's path had already left this branch.";
  return `${SIGNS[state ?? ""]?.label ?? "Emitted"}: draft ${prob(node?.q)}, target ${prob(node?.p)}.${first}`;
}

/** The probability of acceptance as a strip, and what was drawn. @param {Node | null} node @param {number} width */
function stripFigure(node, width) {
  const height = 40;
  const figure = s("svg.v-figure", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img" });
  const keep = node?.accept_prob;
  if (!node || keep == null) {
    figure.append(
      label(0, 22, untested(node), {
        fill: "var(--ink-3)",
      }),
    );
    return figure;
  }
  const x = linear(0, 1, 6, width - 6);
  figure.append(
    s("rect", { x: x(0), y: 10, width: Math.max(0, x(keep) - x(0)), height: 12, fill: "var(--draft-2)" }),
    s("rect", {
      x: x(keep),
      y: 10,
      width: Math.max(0, x(1) - x(keep)),
      height: 12,
      fill: "none",
      stroke: "var(--line-2)",
    }),
    label(x(0), 36, "0", { "font-size": 10, "text-anchor": "middle" }),
    label(x(1), 36, "1", { "font-size": 10, "text-anchor": "middle" }),
  );
  if (keep > 0.16)
    figure.append(
      label(x(keep / 2), 19.5, "accept", {
        "font-size": 10,
        "text-anchor": "middle",
        fill: "var(--panel)",
        "font-weight": 600,
      }),
    );
  if (keep < 0.8) figure.append(label(x((1 + keep) / 2), 19.5, "reject", { "font-size": 10, "text-anchor": "middle" }));
  if (keep > 0.08 && keep < 0.92)
    figure.append(label(x(keep), 36, fmt(keep, 2), { "font-size": 10, "text-anchor": "middle", fill: "var(--ink)" }));
  if (node.u != null)
    figure.append(
      s("path", { d: `M${x(node.u)} 25l-4-17h8z`, fill: "var(--ink)" }),
      label(Math.min(width - 26, Math.max(26, x(node.u))), 7, `drew ${fmt(node.u, 2)}`, {
        "font-size": 10,
        "text-anchor": "middle",
        fill: "var(--ink)",
      }),
    );
  else figure.append(label(x(0.5), 36, "greedy: nothing is drawn", { "font-size": 10, "text-anchor": "middle" }));
  figure.setAttribute(
    "aria-label",
    `accepted with probability ${fmt(keep)}${node.u == null ? "" : `, drew ${fmt(node.u)}`}`,
  );
  return figure;
}

/** Why there is no decision to draw. @param {Node | null} node */
function untested(node) {
  if (!node) return "no draft token here: nothing to test";
  return node.state in SAYS ? "not decided yet" : "not tested: no decision was drawn";
}

/** The numbers of the decision as [name, value, what it is]. @param {Subject} it @param {number} n of overlap@n
 * @param {boolean} residual @returns {[string, string, string][]} */
export function numbers({ run, round, node, token }, n, residual) {
  /** @param {number | null | undefined} value @param {(value: number) => string} say */
  const told = (value, say) => (value == null ? null : say(value));
  const nats = (/** @type {number} */ value) => `${fmt(value)} nats`;
  const barred = node?.reason?.fired ? node.reason.remove : null;
  const overlap = node?.overlap ?? null;
  const of = Math.min(n, node?.top_draft?.length ?? n, node?.top_target?.length ?? n);
  /** @type {[string, string | null, string][]} */
  const rows = [
    ["p", told(node?.p, prob), "the target's probability of the draft token"],
    ["q", told(node?.q, prob), "the draft's probability of the draft token"],
    ["P(accept)", told(node?.accept_prob, prob), "probability that the rule accepts the draft token"],
    ["u", samples(run) ? told(node?.u, prob) : null, "the uniform number compared with P(accept)"],
    [
      "H draft",
      told(node?.h_draft ?? token?.h_draft, nats),
      "entropy of the draft's distribution, whole vocabulary, temperature 1",
    ],
    [
      "H target",
      told(node?.h_target ?? token?.h_target, nats),
      "entropy of the target's distribution, whole vocabulary, temperature 1",
    ],
    [
      `overlap@${n}`,
      told(overlap, (share) => `${Math.round(share * of)} of ${of}`),
      "tokens in both first-n lists (bracketed)",
    ],
    [
      "barred",
      typeof barred === "number" ? pieceOf(run, barred) : null,
      "removed by a veto from the target's distribution before this draft token was tested",
    ],
    ["margin", told(node?.margin, nats), "log p of the target's first choice minus log p of the draft token"],
    ["confidence", told(node?.confidence, fmt), "the draft's own confidence"],
    ["importance", told(node?.judge, fmt), "the judge's score"],
    [
      "rank",
      told(node?.rank, (rank) => `${rank} of ${round.nodes.length}`),
      "by cumulative draft log-probability in this round",
    ],
    ["residual", residual ? "max(p−q, 0), hatched" : null, "the distribution that the correction is drawn from"],
    ["from", node?.source ? sourceWords(sourceOf(node)) : null, "where the draft token comes from"],
  ];
  return rows.flatMap(([name, value, what]) => (value === null ? [] : [[name, value, what]]));
}

/** To another draft token of the round, or a token of it without one. @param {Store} store @param {number} by */
function step(store, by) {
  const it = subject(store);
  if (!it) return;
  const { run, round, roundIndex } = it;
  const places = (round.nodes ?? []).map((_, i) => nodeSelection(run, roundIndex, i));
  for (const token of round.tokens ?? [])
    if (token.node === null || token.node === undefined)
      places.push({ run: run.key, round: roundIndex, pos: token.pos, node: null });
  const at = places.findIndex((place) =>
    it.token && it.token.node == null ? place.node === null && place.pos === it.pos : place.node === it.index,
  );
  const next = places[(at + by + places.length) % places.length];
  if (next) store.setCursor(next);
}
