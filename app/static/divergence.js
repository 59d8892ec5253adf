// @ts-check
// The divergence card: where two lanes first differ, by how much, and why.

import { captionOf } from "./caption.js";
import { columns, nameOf } from "./columns.js";
import { h, s } from "./dom.js";
import { cut, label, linear, MONO, nats, pieceOf, prob, rich } from "./draw.js";
import { download, offer } from "./figure.js";
import { pictureOf } from "./picture.js";
import { cutFirst, neverRan, unrunSaid } from "./run.js";
import { traceText } from "./save.js";

/**
 * @typedef {import("./types/store.js").Store} Store
 * @typedef {import("./types/store.js").Run} Run
 * @typedef {import("./types/analysis.js").Parting} Parting
 * @typedef {import("./columns.js").Column} Column
 * @typedef {{pair: [string, string] | null, figure: SVGSVGElement | null, room: number}} State
 *   `room`: pixels that the figure has
 * @typedef {Record<"left" | "right", HTMLSelectElement> & Record<"tools" | "body", HTMLElement>} Parts
 * @typedef {ReturnType<typeof explain>} Found
 */

/** What the causes are called; which one holds is the engine's to say (engine/analysis/divergence.py).
 * @type {Record<string, string>} */
const CAUSES = {
  "near-tie": "Near-tie",
  "lossy rule": "Lossy rule",
  "draft alone": "Draft alone",
  "written in place": "Written in place",
  "sampling draw": "Sampling draw",
  unexplained: "Unexplained",
};

/** @param {HTMLElement} element @param {Store} store @param {import("./types/lab.js").Lab} [lab] */
export function mount(element, store, lab) {
  /** @type {State} */
  const state = { pair: null, figure: null, room: 420 };
  /** @type {Record<"left" | "right", HTMLSelectElement>} */
  const menus = {
    left: h("select.v-select", { "aria-label": "First lane" }),
    right: h("select.v-select", { "aria-label": "Second lane" }),
  };
  /** @type {Parts} */
  const parts = {
    ...menus,
    tools: h("span.v-tools", {}, menus.left, h("span.v-sub", { text: "and" }), menus.right),
    body: h("div.v-diverge"),
  };
  element.classList.add("v-view", "v-divergence");
  element.replaceChildren(h("header.v-head", {}, h("h3", { text: "First difference" }), parts.tools), parts.body);
  const draw = () => show(store, state, parts);
  const later = () => store.frame("divergence", draw);
  const choose = () => {
    state.pair = [parts.left.value, parts.right.value];
    later();
  };
  parts.left.onchange = parts.right.onchange = choose;
  // the status brings the cause, which the engine names after the last event
  for (const topic of /** @type {const} */ (["runs", "time", "status"])) store.on(topic, later);
  store.on("data", () => store.seldom("divergence", draw));
  store.on("runs", () => {
    if (state.pair?.some((key) => !store.runs.has(key))) state.pair = null;
  });
  new ResizeObserver(([entry]) => {
    const room = Math.floor(entry.contentRect.width);
    if (!room || room === state.room) return;
    state.room = room;
    later();
  }).observe(parts.body);
  offer(element, lab, () => (state.figure ? pictureOf(element, captionOf(store, lab)) : null));
  later();
}

/** How many tokens of a lane are shown at this time. @param {Store} store @param {Run} run */
const shown = (store, run) =>
  store.time.at === Infinity ? run.tokens.length : (run.rounds[store.visibleRounds(run)]?.start ?? run.tokens.length);

/** The first position where both lanes have a shown token and the tokens differ; null when there is none.
 * @param {Store} store @param {Run} a @param {Run} b */
function differ(store, a, b) {
  const at = store.divergence(a.key, b.key);
  return at < Math.min(shown(store, a), shown(store, b)) ? at : null;
}

/** Whether two runs go on from the same tokens. @param {Run} a @param {Run} b */
const alike = (a, b) => JSON.stringify(a.head?.prompt_ids) === JSON.stringify(b.head?.prompt_ids);

/** The first pair of one prompt that differs, else the first of one prompt with a text, else the first two.
 * @param {Store} store @param {Run[]} runs at least two @returns {[string, string]} */
export function defaultPair(store, runs) {
  const written = [...runs.filter(({ tokens }) => tokens.length), ...runs.filter(({ tokens }) => !tokens.length)];
  const pairs = (/** @type {Run[]} */ list) => list.flatMap((a, i) => list.slice(i + 1).map((b) => [a, b]));
  const found =
    pairs(runs).find(([a, b]) => alike(a, b) && differ(store, a, b) !== null) ??
    pairs(written).find(([a, b]) => alike(a, b)) ??
    written;
  return [found[0].key, found[1].key];
}

/** @param {Store} store @param {State} state @param {Parts} parts */
function show(store, state, parts) {
  const runs = [...store.runs.values()];
  state.figure = null;
  parts.tools.hidden = runs.length < 2;
  if (runs.length < 2) {
    parts.left.replaceChildren();
    parts.right.replaceChildren();
    parts.body.replaceChildren(
      h("p.v-empty", { text: "With two lanes, the first position where they differ is explained here." }),
    );
    return;
  }
  const [leftKey, rightKey] = state.pair ?? defaultPair(store, runs);
  options(store, parts.left, runs, leftKey);
  options(store, parts.right, runs, rightKey);
  const [a, b] = [store.runs.get(leftKey), store.runs.get(rightKey)];
  const failed = [a, b].find((run) => run && (neverRan(run) || cutFirst(run)));
  if (failed) {
    const text = `${nameOf(store, failed)} ${unrunSaid(failed)}.`;
    return parts.body.replaceChildren(h("p.v-empty", { text }));
  }
  if (!a?.head || !b?.head) return parts.body.replaceChildren(h("p.v-empty", { text: "Waiting for both lanes." }));
  if (a === b) return parts.body.replaceChildren(h("p.v-empty", { text: "Choose two different lanes." }));
  if (!alike(a, b))
    return parts.body.replaceChildren(
      h("p.v-empty", { text: "These two lanes answer different prompts, so their texts are not compared." }),
    );
  const pos = differ(store, a, b);
  if (pos === null) {
    const shorter = Math.min(shown(store, a), shown(store, b));
    return parts.body.replaceChildren(
      h("p.v-same", {
        text: shorter ? `No difference: ${firstSame(shorter)}.` : "No tokens yet.",
      }),
    );
  }
  const found = explain(store, a, b, pos);
  parts.body.replaceChildren(...card(store, state, a, b, found));
}

/** @param {number} n tokens */
const firstSame = (n) =>
  n === 1 ? "the first token of both lanes is the same" : `the first ${n} tokens of both lanes are the same`;

/** @param {Store} store @param {HTMLSelectElement} select @param {Run[]} runs @param {string} chosen */
function options(store, select, runs, chosen) {
  select.replaceChildren(
    ...runs.map((run) => h("option", { value: run.key, text: nameOf(store, run), selected: run.key === chosen })),
  );
}

/** Both tokens at the place where two lanes part, with what the engine says of it once both have ended.
 * @param {Store} store @param {Run} a @param {Run} b @param {number} pos
 * @returns {{pos: number, left: Column, right: Column, one: number, two: number, title: string, words: string,
 *   p: readonly (number | null)[], cause: string, gap?: number | null, near?: number}} */
export function explain(store, a, b, pos) {
  const [left, right] = [a, b].map((run) => columns(run)[pos]);
  const found = { pos, left, right, one: left.token.token, two: right.token.token };
  const told = store.status.compared?.divergences.find(
    (pair) => pair.pos === pos && pair.lanes.includes(a.key) && pair.lanes.includes(b.key),
  );
  if (!told)
    return { ...found, p: [null, null], cause: "", title: "Cause", words: "It is named when both runs have ended." };
  const p = told.lanes[0] === a.key ? told.p : [...told.p].reverse();
  return {
    ...found,
    ...told,
    p,
    title: CAUSES[told.cause],
    words: [told.text, ...rulesSaid(a, left, b, right, told)].join(" "),
  };
}

/** Where a lossy rule decided: what it said itself.
 * @param {Run} a @param {Column} left @param {Run} b @param {Column} right @param {Parting} told */
function rulesSaid(a, left, b, right, told) {
  if (told.cause !== "lossy rule") return [];
  return [
    { run: a, column: left },
    { run: b, column: right },
  ]
    .filter(({ run }) => run.head?.guarantee === "lossy")
    .map(({ column }) => column.node?.why ?? column.token.why ?? "");
}

/** @param {Store} store @param {State} state @param {Run} a @param {Run} b @param {Found} found */
function card(store, state, a, b, found) {
  const { pos, one, two, left } = found;
  const from = Math.max(0, pos - 9);
  const context = a.tokens
    .slice(from, pos)
    .map((token) => pieceOf(a, token.token, 12))
    .join("")
    .replaceAll("·", " ");
  state.figure = bars(store, a, b, found, state.room);
  const jump = (/** @type {Run} */ run) =>
    h("button.v-button", {
      type: "button",
      text: `Show in ${nameOf(store, run)}`,
      onclick: () =>
        store.setCursor({
          run: run.key,
          pos,
          round: columns(run)[pos].round,
          node: columns(run)[pos].token.node ?? null,
        }),
    });
  const nodes = [
    h(
      "p.v-context",
      {},
      h("span.v-sub", { text: `position ${pos}: ` }),
      h("span.v-faint", { text: `${from ? "…" : ""}${context}` }),
      h("b.v-one", { text: pieceOf(a, one) }),
      h("span.v-sub", { text: " or " }),
      h("b.v-two", { text: pieceOf(b, two) }),
    ),
    state.figure,
    h("p.v-cause", { "data-cause": found.cause }, h("b", { text: found.title }), h("span", {}, ...rich(found.words))),
    h(
      "p.v-row",
      {},
      jump(a),
      jump(b),
      found.cause === "unexplained"
        ? h("button.v-button", { type: "button", text: "Save both traces", onclick: () => [a, b].forEach(save) })
        : null,
    ),
  ];
  if (left.round === undefined) nodes.pop();
  return nodes;
}

/** A name in at most two lines. @param {string} name @param {number} most letters of a line @returns {string[]} */
function inTwo(name, most) {
  if (name.length <= most) return [name];
  const at = name.lastIndexOf(" ", most);
  return at < 1 ? [cut(name, most)] : [name.slice(0, at), cut(name.slice(at + 1), most)];
}

/** The probabilities of both tokens. @param {Store} store @param {Run} a @param {Run} b @param {Found} found
 * @param {number} room pixels */
function bars(store, a, b, { one, two, p, gap, near }, room) {
  const width = Math.max(290, Math.min(420, room));
  const names = [a, b].map((run) => inTwo(nameOf(store, run), 17));
  const step = names.some((lines) => lines.length > 1) ? 32 : 24; // two lines of a name take more
  const under = 18 + 2 * step; // below both bars
  const height = under + (near ? 26 : 6);
  const figure = s("svg.v-figure", {
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: "img",
    "aria-label": `Target probability ${prob(p[0])} and ${prob(p[1])}`,
  });
  const x = linear(0, Math.max(0.05, ...p.map((share) => share ?? 0)), 0, width - 250);
  [
    { run: a, id: one },
    { run: b, id: two },
  ].forEach(({ run, id }, i) => {
    const y = 8 + i * step;
    const long = Math.max(1, x(p[i] ?? 0));
    for (const [n, line] of names[i].entries())
      figure.append(label(112, y + 14 + 6 * (2 * n + 1 - names[i].length), line, { "text-anchor": "end" }));
    figure.append(
      s("rect", {
        x: 196,
        y: y + 2,
        width: long,
        height: 14,
        fill: i ? "none" : "var(--target)",
        stroke: "var(--target)",
        "stroke-width": 1.5,
      }),
    );
    figure.append(
      label(120, y + 13, pieceOf(run, id, 10), { "font-family": MONO, fill: "var(--ink)", "font-weight": 700 }),
    );
    figure.append(label(202 + long, y + 13, p[i] === null ? "not listed" : prob(p[i])));
  });
  figure.append(
    label(Math.min(196, width - 200), under, "target's probability, same prefix", { fill: "var(--ink-3)" }),
  );
  if (near)
    figure.append(
      label(
        0,
        under + 20,
        `gap ${gap == null ? "not recorded" : `${nats(gap)} nats`}; a near-tie is ${near} nats or less`,
        {},
      ),
    );
  return figure;
}

/** @param {Run} run */
function save(run) {
  download(new Blob([traceText(run)], { type: "application/x-ndjson" }), `${run.head?.id || run.key}.jsonl`);
}
