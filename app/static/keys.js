// The keyboard. Ignored inside inputs, and when a view has already used the key.

import { flagsAt } from "./flags.js";

import { refusedNode } from "./columns.js";
import { followSource } from "./passage.js";

const TYPING = "input, textarea, select, [contenteditable], dialog, [role=menu]";

/** @param {object} store @param {object} lab */
export function bindKeys(store, lab) {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const inside = event.target.closest?.(TYPING);
    if (inside && !(event.target.type === "range")) return;
    const go = moves(store, lab)[event.key];
    if (!go || (event.key === " " && event.target.closest?.("button, summary, a"))) return;
    go();
    event.preventDefault();
  });
}

function moves(store, lab) {
  return {
    ArrowLeft: () => token(store, -1),
    ArrowRight: () => token(store, 1),
    ArrowUp: () => lane(store, -1),
    ArrowDown: () => lane(store, 1),
    Home: () => token(store, -Infinity),
    End: () => token(store, Infinity),
    "[": () => round(store, -1),
    "]": () => round(store, 1),
    " ": () => lab.ui.emit("play"),
    ".": () => lab.session.step(),
    ",": () => lab.ui.emit("step", -1),
    r: () => next(store, (item) => item.node?.state === "rejected" || item.rejected),
    v: () => next(store, (item) => item.vetoed),
    i: () => important(store),
    d: () => divergence(store),
    s: () => followSource(store, lab),
    n: () => lab.ui.open("notes"),
    g: () => store.setOption("ghosts", !store.options.ghosts),
    w: () => store.setOption("whitespace", !store.options.whitespace),
    "?": () => lab.ui.open("help"),
    Escape: () => store.clear(),
    h: () => store.setOption("details", store.options.details === "hidden" ? "auto" : "hidden"),
    1: () => store.setOption("stage", "text"),
    2: () => store.setOption("stage", "score"),
    3: () => store.setOption("stage", "trees"),
    4: () => store.setOption("stage", "shares"),
  };
}

const here = (store) => store.cursor ?? { run: store.run()?.key, pos: -1, round: -1, node: null };

/** Select, and let time run on to the place if it is not shown yet. */
function select(store, sel) {
  store.setHover(null);
  store.setCursor(sel);
  const run = store.runs.get(sel.run);
  if (run && store.cursor && store.cursor.round >= store.visibleRounds(run))
    store.setTime({
      at: store.time.mode === "clock" ? run.sums.clock[store.cursor.round + 1] : store.cursor.round + 1,
      playing: false,
    });
}

function token(store, by) {
  const { run: key, pos } = here(store);
  const run = store.runs.get(key);
  if (run?.tokens.length)
    select(store, { run: key, pos: Math.max(0, Math.min(run.tokens.length - 1, (pos ?? 0) + by)) });
}

function lane(store, by) {
  const at = here(store);
  const i = store.lanes.indexOf(at.run) + by;
  const run = store.runs.get(store.lanes[i]);
  if (run?.tokens.length)
    select(store, { run: run.key, pos: Math.max(0, Math.min(run.tokens.length - 1, at.pos ?? 0)) });
}

function round(store, by) {
  const at = here(store);
  const run = store.runs.get(at.run);
  const to = (at.round ?? -1) + by;
  if (run?.rounds[to]) select(store, { run: at.run, round: to });
}

/** The next round of this lane, after the cursor's, that has what is looked for; the cursor goes to the guess itself. */
function next(store, wanted) {
  const at = here(store);
  const run = store.runs.get(at.run);
  if (!run) return;
  const order = [...run.rounds.slice((at.round ?? -1) + 1), ...run.rounds.slice(0, (at.round ?? -1) + 1)];
  for (const item of order) {
    const refused = refusedNode(item);
    const node = item.nodes[refused];
    const facts = { node, rejected: node?.state === "rejected", vetoed: node?.state === "vetoed" };
    if (wanted(facts)) return select(store, { run: at.run, round: item.index, node: refused });
  }
}

/** The next position of this lane with a flag that says important. */
function important(store) {
  const at = here(store);
  const run = store.runs.get(at.run);
  const count = run?.tokens.length ?? 0;
  for (let step = 1; step <= count; step++) {
    const pos = ((at.pos ?? -1) + step + count) % count;
    if (flagsAt(run, pos).some((flag) => flag.important)) return select(store, { run: at.run, pos });
  }
}

/** The place where this lane first differs from the reference; from there on, to the next lane that differs. */
function divergence(store) {
  const reference = store.lanes.find((key) => store.runs.get(key).card.guarantee === "reference") ?? store.lanes[0];
  const others = store.lanes.filter((key) => key !== reference);
  const at = store.cursor?.run;
  const order = [...others.slice(others.indexOf(at)), ...others.slice(0, Math.max(0, others.indexOf(at)))];
  for (const key of order) {
    const run = store.runs.get(key);
    const pos = store.divergence(reference, key);
    if (
      pos < Math.min(run.tokens.length, store.runs.get(reference).tokens.length) &&
      !(key === at && store.cursor.pos === pos)
    )
      return select(store, { run: key, pos });
  }
}
