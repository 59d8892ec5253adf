/** The divergence card: where two lanes first differ, by how much, and why. */

import { columns, nameOf } from "./columns.js";
import { h, s } from "./dom.js";
import { MONO, fmt, label, linear, pieceOf, prob, rich } from "./draw.js";
import { download, offer, svgText } from "./figure.js";

/** Gaps of log-probability, nats, that another order of the same sums can turn round (as engine/analysis/divergence.py, measured). */
export const NEAR = { float64: 1e-6, float32: 1e-3, float16: 0.06, bfloat16: 0.25 };

/** @param {HTMLElement} element @param {any} store @param {any=} lab */
export function mount(element, store, lab) {
  const state = { pair: null, figure: null };
  const parts = {
    left: h("select.v-select", { "aria-label": "First lane" }),
    right: h("select.v-select", { "aria-label": "Second lane" }),
    body: h("div.v-diverge"),
  };
  element.classList.add("v-view", "v-divergence");
  element.replaceChildren(
    h(
      "header.v-head",
      {},
      h("h3", { text: "First difference" }),
      h("span.v-tools", {}, parts.left, h("span.v-sub", { text: "and" }), parts.right),
    ),
    parts.body,
  );
  const draw = () => show(store, state, parts);
  const later = () => store.frame("divergence", draw);
  const choose = () => {
    state.pair = [parts.left.value, parts.right.value];
    later();
  };
  parts.left.onchange = parts.right.onchange = choose;
  for (const topic of ["runs", "time"]) store.on(topic, later);
  store.on("data", () => store.seldom("divergence", draw));
  store.on("runs", () => {
    state.pair = null;
  });
  offer(element, lab, () => (state.figure ? svgText(state.figure, element) : null));
  later();
}

/** The first position where both lanes have a shown token and the tokens differ; null when there is none. */
function differ(store, a, b) {
  const at = store.divergence(a.key, b.key);
  const shown = (run) =>
    store.time.at === Infinity ? run.tokens.length : (run.rounds[store.visibleRounds(run)]?.start ?? run.tokens.length);
  return at < Math.min(shown(a), shown(b)) ? at : null;
}

function defaultPair(store, runs) {
  for (let i = 0; i < runs.length; i += 1) {
    for (let j = i + 1; j < runs.length; j += 1)
      if (differ(store, runs[i], runs[j]) !== null) return [runs[i].key, runs[j].key];
  }
  return [runs[0]?.key, runs[1]?.key];
}

function show(store, state, parts) {
  const runs = store.lanes.map((key) => store.runs.get(key)).filter(Boolean);
  state.figure = null;
  for (const select of [parts.left, parts.right]) select.disabled = runs.length < 2;
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
  if (!a?.head || !b?.head) return parts.body.replaceChildren(h("p.v-empty", { text: "Waiting for both lanes." }));
  if (a === b) return parts.body.replaceChildren(h("p.v-empty", { text: "Choose two different lanes." }));
  if (JSON.stringify(a.head.prompt_ids) !== JSON.stringify(b.head.prompt_ids))
    return parts.body.replaceChildren(
      h("p.v-empty", { text: "These two lanes answer different prompts, so their texts are not compared." }),
    );
  const pos = differ(store, a, b);
  if (pos === null) {
    const shorter = Math.min(a.tokens.length, b.tokens.length);
    return parts.body.replaceChildren(
      h("p.v-same", {
        text: shorter ? `No difference: the first ${shorter} tokens of both lanes are the same.` : "No tokens yet.",
      }),
    );
  }
  const found = explain(a, b, pos);
  parts.body.replaceChildren(...card(store, state, a, b, found));
}

function options(store, select, runs, chosen) {
  select.replaceChildren(
    ...runs.map((run) => h("option", { value: run.key, text: nameOf(store, run), selected: run.key === chosen })),
  );
}

/** Both tokens under the target's own law, and the cause. @returns {any} */
export function explain(a, b, pos) {
  const [left, right] = [a, b].map((run) => columns(run)[pos]);
  const [one, two] = [left.token.token, right.token.token];
  const rows = [left, right]
    .map((column) => column.node?.top_target ?? column.token.top_target)
    .filter((list) => list?.length);
  const law = rows.find((list) => [one, two].every((id) => list.some((entry) => entry[0] === id))) ?? rows[0] ?? null;
  const p = new Map(law ?? []);
  for (const list of rows) for (const [id, value] of list) if (!p.has(id)) p.set(id, value);
  const gap = p.get(one) > 0 && p.get(two) > 0 ? Math.abs(Math.log(p.get(one) / p.get(two))) : null;
  const near = Math.max(...[a, b].map((run) => NEAR[String(run.head.dtype).replace("torch.", "")] ?? NEAR.float32));
  return { pos, left, right, one, two, law, p, gap, near, ...cause({ a, b, left, right, gap, near }) };
}

/** Whether a lossy rule had a hand in a token; without recorded nodes, whether it may have had. */
function bent(run, { pos, token, round }) {
  const event = run.rounds[round];
  if (token.origin === "relaxed") return true;
  if (event.drafted && !event.nodes?.length) return run.head.guarantee === "lossy" && token.origin === "correction";
  return (
    token.node == null && event.nodes.some((node) => node.state === "vetoed" && node.depth === pos - event.start + 1)
  );
}

function cause({ a, b, left, right, gap, near }) {
  const lossy = [
    [a, left],
    [b, right],
  ].find(([run, column]) => bent(run, column));
  if (lossy) {
    const [run, column] = lossy;
    return {
      id: "lossy",
      title: "Lossy rule",
      words: `${run.card?.title ?? run.key}: ${column.node?.why ?? column.token.why ?? "its rule decided on purpose against the target's first choice."}`,
    };
  }
  if ([a, b].some((run) => run.head.sampling?.temperature > 0)) {
    const exact = [a, b].every((run) => run.head.guarantee !== "lossy");
    return {
      id: "sampling",
      title: "Sampling draw",
      words: exact
        ? "Both tokens are draws from one law; the lanes draw their own numbers."
        : "The lanes draw their own numbers, and one of them does not promise the target's law.",
    };
  }
  if (gap !== null && gap <= near)
    return {
      id: "tie",
      title: "Near-tie",
      words: `The two tokens are ${fmt(gap, 2)} nats apart; up to ${near} nats, ${a.head.dtype} does not settle which comes first when several tokens are checked in one call.`,
    };
  return {
    id: "unexplained",
    title: "Unexplained",
    words: `Both lanes are greedy, no lossy rule had a hand in it, and the gap is above ${near} nats. This should not happen: please report it with both traces.`,
  };
}

function card(store, state, a, b, found) {
  const { pos, one, two, left } = found;
  const from = Math.max(0, pos - 9);
  const context = a.tokens
    .slice(from, pos)
    .map((token) => pieceOf(a, token.token, 12))
    .join("")
    .replaceAll("·", " ");
  state.figure = bars(store, a, b, found);
  const jump = (run) =>
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
    h("p.v-cause", { "data-cause": found.id }, h("b", { text: found.title }), h("span", {}, ...rich(found.words))),
    h(
      "p.v-row",
      {},
      jump(a),
      jump(b),
      found.id === "unexplained"
        ? h("button.v-button", { type: "button", text: "Save both traces", onclick: () => [a, b].forEach(save) })
        : null,
    ),
  ];
  if (left.round === undefined) nodes.pop();
  return nodes;
}

function bars(store, a, b, { one, two, p, gap, near, law }) {
  const width = 420;
  const figure = s("svg.v-figure", {
    viewBox: `0 0 ${width} 92`,
    width,
    height: 92,
    role: "img",
    "aria-label": `Target probability ${prob(p.get(one))} and ${prob(p.get(two))}`,
  });
  const x = linear(0, Math.max(0.05, p.get(one) ?? 0, p.get(two) ?? 0, law?.[0]?.[1] ?? 0), 0, width - 250);
  [
    [a, one],
    [b, two],
  ].forEach(([run, id], i) => {
    const y = 8 + i * 24;
    const value = p.get(id);
    figure.append(label(112, y + 13, cut(nameOf(store, run), 19), { "text-anchor": "end" }));
    figure.append(
      s("rect", {
        x: 196,
        y: y + 2,
        width: Math.max(1, x(value ?? 0)),
        height: 14,
        fill: i ? "none" : "var(--target)",
        stroke: "var(--target)",
        "stroke-width": 1.5,
      }),
    );
    figure.append(
      label(120, y + 13, pieceOf(run, id, 10), { "font-family": MONO, fill: "var(--ink)", "font-weight": 700 }),
    );
    figure.append(label(202 + Math.max(1, x(value ?? 0)), y + 13, value === undefined ? "not listed" : prob(value)));
  });
  figure.append(label(196, 66, "target's probability, same prefix", { "font-size": 10, fill: "var(--ink-3)" }));
  figure.append(
    label(
      0,
      86,
      `gap ${gap === null ? "not recorded" : `${fmt(gap, 2)} nats`}; a near-tie is ${near} nats or less`,
      {},
    ),
  );
  return figure;
}

const cut = (text, room) => (text.length > room ? `${text.slice(0, room - 1)}…` : text);

function save(run) {
  const lines = [run.head, ...run.rounds, run.end]
    .filter(Boolean)
    .map((event) => JSON.stringify(event))
    .join("\n");
  download(new Blob([lines, "\n"], { type: "application/x-ndjson" }), `${run.head.id || run.key}.jsonl`);
}
