// @ts-check
// Draft trees: which nodes of a large tree earn their place, and what the small tree looks like beside the heuristic
// one.

import { commandline, commandlines } from "../commandline.js";
import { count, h, said } from "../dom.js";
import { fmt, percent } from "../draw.js";
import { plotted } from "../plot.js";
import { refocused } from "../refocus.js";
import { noTab } from "../rooms/address.js";
import { table } from "./rows.js";
import { heatTree } from "./treeheat.js";

/**
 * @typedef {import("../types/lab.js").Lab} Lab
 * @typedef {import("../types/measured.js").Trees} Trees
 * @typedef {import("../types/measured.js").DraftTree} Tree
 * @typedef {import("../types/measured.js").InitialTree} InitialTree
 * @typedef {Tree & Required<Pick<Tree, "settings" | "calibration" | "rounds" | "accepted_a_round">>
 *   & {initial: InitialTree}} Tuned an optimised tree with the one that it was chosen from
 */

const COMMAND = "python -m engine tree optimise --out NAME";
/** Whether a tree was optimised here. @param {Tree} tree @returns {tree is Tuned} */
const isTuned = (tree) => tree.initial !== null && tree.settings !== undefined && tree.calibration !== undefined;
/** @type {{found: Trees | null}} */
const kept = { found: null };

/** @param {HTMLElement} body @param {import("../types/store.js").Store} store @param {Lab} lab */
export async function drawTrees(body, store, lab) {
  const spot = h("div.trajectories.trees");
  body.append(spot);
  try {
    kept.found ??= await lab.api.get("trees");
  } catch (error) {
    return void spot.append(h("p.warn", {}, said(error)));
  }
  const { trees, profiles } = kept.found;
  const tuned = trees.filter(isTuned);
  const view = { about: h("section"), heat: h("section"), profile: h("section") };
  const draw = () => {
    const tree = tuned.find((one) => one.file === store.options.tree) ?? tuned[0];
    drawAbout(view.about, tuned, tree, (file) => store.setOption("tree", file));
    view.heat.replaceChildren();
    if (tree) drawHeat(view.heat, tree);
    drawProfile(view.profile, profiles, trees, tree);
  };
  spot.append(
    h(
      "p",
      {},
      "A static tree says where draft tokens hang before any token is known. The optimiser runs a large tree, counts " +
        "how often each node lies on the accepted path, and keeps the nodes that were there most often.",
    ),
    view.about,
    view.heat,
    view.profile,
  );
  draw();
  const { tree: asked } = store.options;
  const files = tuned.map(({ file }) => file);
  const none = asked && noTab("tree", asked.slice(0, 40), files);
  if (none) lab.ui.notify(none);
  const off = store.on("options", (name) => {
    if (!spot.isConnected) off();
    else if (name === "tree") refocused(spot, draw);
  });
  let width = 0;
  new ResizeObserver(([entry]) => {
    const now = Math.round(entry.contentRect.width);
    if (width && now !== width) requestAnimationFrame(draw);
    width = now;
  }).observe(spot);
}

/** @param {HTMLElement} spot @param {Tuned[]} tuned @param {Tuned | undefined} tree
 * @param {(file: string) => void} choose */
function drawAbout(spot, tuned, tree, choose) {
  if (!tree)
    return spot.replaceChildren(
      h("p.quiet", {}, "No optimised tree with its counts is shipped yet. This command makes one:"),
      commandlines([COMMAND]),
    );
  const { settings, calibration } = tree;
  const problems = `${count(calibration.prompts, "problem")} (${calibration.task ?? "own prompts"})`;
  const runs = `${settings.n} trajectories each, temperature ${settings.temperature}`;
  const counted = `${count(tree.rounds, "round")}, ${fmt(tree.accepted_a_round)} draft tokens accepted a round`;
  spot.replaceChildren(
    h(
      "div.chips",
      { role: "group", "aria-label": "Tree" },
      tuned.map((one) =>
        h(
          "button.toggle",
          { "aria-pressed": String(one === tree), onclick: () => choose(one.file) },
          one.file.replaceAll("_", " "),
        ),
      ),
    ),
    h("p.quiet", {}, `${tree.title}. Counted on ${problems}, ${runs}; ${counted}. Made by `, commandline(tree.made_by)),
    ...(tree.note ? [h("p.quiet", {}, tree.note)] : []),
  );
}

/** @param {HTMLElement} spot @param {Tuned} tree */
function drawHeat(spot, tree) {
  const { initial } = tree;
  const most = Math.max(1, ...initial.counts);
  const hit = initial.counts.filter((count) => count > 0).length;
  const lowest = Math.min(...initial.kept.map((i) => initial.counts[i]));
  spot.append(
    h("h3", {}, `The initial tree: ${initial.counts.length} nodes, ${initial.profile.length} levels`),
    heatTree(initial, spot.clientWidth || 720, tree.rounds),
    h(
      "p.quiet",
      {},
      "A bar is a node, a column a level (depth 1 at the left), siblings by rank from the top. Shade: rounds in " +
        `which the node was accepted (log scale, at most ${most} of ${tree.rounds}); outlined: the ` +
        `${initial.kept.length} nodes that stay. ${hit} nodes were accepted at least once; the least used one that ` +
        `stays ${lowest} times.`,
    ),
    h(
      "details",
      {},
      h("summary", {}, "The most used nodes as a table"),
      table(
        "Node by its ranks from the root, and rounds in which it was accepted",
        ["ranks", "depth", "rounds", "share", "stays"],
        top(initial, tree.rounds),
      ),
    ),
  );
}

/** The forty most used nodes. @param {InitialTree} initial @param {number} rounds */
function top(initial, rounds) {
  const stays = new Set(initial.kept);
  /** @type {number[][]} */
  const paths = [];
  for (const [i, parent] of initial.parents.entries())
    paths.push([...(parent < 0 ? [] : paths[parent]), initial.ranks[i] + 1]);
  const order = initial.counts
    .map((count, i) => [count, i])
    .sort((a, b) => b[0] - a[0])
    .slice(0, 40);
  return order.map(([count, i]) => [
    paths[i].join("."),
    paths[i].length,
    count,
    percent(count / Math.max(1, rounds)),
    stays.has(i) ? "yes" : "no",
  ]);
}

/** @param {HTMLElement} spot @param {Trees["profiles"]} profiles @param {readonly Tree[]} trees
 * @param {Tuned | undefined} tree */
function drawProfile(spot, profiles, trees, tree) {
  const others = trees.filter((one) => one !== tree && !one.initial);
  const shown = [
    ...(tree ? [{ name: `${tree.file.replaceAll("_", " ")} (${tree.nodes})`, profile: tree.profile }] : []),
    ...others.map((one) => ({ name: `${one.file.replaceAll("_", " ")} (${one.nodes})`, profile: one.profile })),
  ];
  const deepest = Math.max(...shown.map((one) => one.profile.length), tree?.initial.profile.length ?? 0);
  const levels = Array.from({ length: deepest }, (_, i) => i + 1);
  const title = "Nodes at each depth";
  const all = tree
    ? [...shown, { name: `initial (${tree.initial.counts.length})`, profile: tree.initial.profile }]
    : shown;
  spot.replaceChildren(
    h("h3", {}, title),
    plotted(profiles[tree?.file ?? ""], { source: tree ? `${tree.title}.` : "" }),
    h(
      "p.quiet",
      {},
      "Nodes at each depth, the root not counted; in brackets all nodes. The heuristic tree is wide and short; " +
        "counts decide how deep and thin an optimised one grows.",
    ),
    h(
      "details",
      {},
      h("summary", {}, "As a table"),
      table(
        title,
        ["tree", ...levels.map(String)],
        all.map((one) => [one.name, ...levels.map((x) => one.profile[x - 1] ?? 0)]),
      ),
    ),
  );
}
