// @ts-check
// What a judge makes of the labels: ROC, recall against threshold, scores by label, reliability; and a threshold to
// move.

import { nameOf } from "../columns.js";
import { commandline } from "../commandline.js";
import { h } from "../dom.js";
import { fmt, percent, pieceOf } from "../draw.js";
import { packed } from "../packed.js";
import { moveThreshold, plots, stands } from "../plot.js";
import { knobsOf, movable, replay } from "../thresholds.js";
import { atThreshold, recordedAt } from "./judgement.js";

/**
 * @typedef {import("../types/workshop.js").Workshop} Workshop
 * @typedef {import("./judgement.js").Scored} Scored
 * @typedef {{name: string, scored: Scored[], threshold: number | null}} Source labels with a judge's scores
 */

const ALONE = "A server draws the curves; this page has their numbers. To see them, serve the lab: draftscope.";
const STEP = 0.005; // of the slider
/** The figures drawn last, of which labels, and whether their answer is still to come.
 * @type {{of: string, charts: HTMLElement, asked: boolean} | null} */
let standing = null;
const THIS = "this set";
const TRAINING = "unseen labels of training: ";

/** @param {HTMLElement} spot @param {Workshop} ctx */
export async function drawCurves(spot, ctx) {
  const { kept, lab } = ctx;
  kept.judges ??= await lab.api.get("evaluations").then(
    (body) => body.tasks.flatMap(({ task, judge }) => (judge ? [{ task, judge }] : [])),
    () => undefined,
  );
  if (!spot.isConnected || spot.childElementCount || kept.tab !== "curves") return;
  const sources = sourcesOf(ctx);
  if (!sources.length) {
    return void spot.append(
      h("p.v-empty", {}, "No judge has scored these labels."),
      h(
        "p.quiet",
        {},
        "Train one with ",
        commandline("python -m engine judge-train --preset tiny --mined FILE --out assets/tiny/judge-arithmetic"),
        ", name it in the preset, and mine again: each label then carries its score.",
      ),
      ...(judgeRuns(ctx.store).length ? [cutPanel([], ctx, 0.5)] : []),
    );
  }
  const chosen = sources.find((source) => source.name === kept.curves) ?? sources[0];
  const threshold = kept.threshold ?? chosen.threshold ?? 0.5;
  const charts = chartsOf(ctx, chosen, threshold);
  spot.append(
    h(
      "div.row.tools",
      {},
      h(
        "label.field",
        {},
        h("span", {}, "Labels"),
        h(
          "select",
          {
            onchange: (event) => {
              kept.curves = /** @type {HTMLSelectElement} */ (event.target).value;
              kept.threshold = null;
              ctx.draw();
            },
          },
          sources.map(({ name }) => h("option", { value: name, selected: name === chosen.name }, name)),
        ),
      ),
    ),
    cutPanel(chosen.scored, ctx, threshold, chosen.threshold, (now) => mark(charts, chosen.scored, now)),
    charts,
  );
}

/** The figures of these labels: those that are there already, whatever else the room draws anew, or new ones.
 * @param {Workshop} ctx @param {Source} source @param {number} threshold */
function chartsOf(ctx, source, threshold) {
  const of = JSON.stringify([source.name, source.scored]);
  if (standing?.of === of && (standing.asked || allStand(standing.charts))) {
    mark(standing.charts, source.scored, threshold);
    return standing.charts;
  }
  const made = { of, charts: h("div.curves"), asked: true };
  standing = made;
  drawAll(made.charts, ctx, source, threshold).finally(() => {
    made.asked = false;
  });
  return made.charts;
}

/** @param {HTMLElement} charts */
function allStand(charts) {
  /** @type {NodeListOf<HTMLElement>} */
  const spots = charts.querySelectorAll(".plot");
  return spots.length > 0 && [...spots].every(stands);
}

/** Sets of scored labels: those shown, and those that a judge had not seen in training.
 * @param {Workshop} ctx @returns {Source[]} */
function sourcesOf(ctx) {
  const judges = ctx.kept.judges ?? [];
  const own = ctx.items.flatMap(({ label: { score, important } }) => (score == null ? [] : [{ score, important }]));
  const found = own.length
    ? [
        {
          name: `${THIS}, as filtered (${own.length} labels)`,
          scored: own,
          threshold: ctx.head()?.judge?.threshold ?? judges[0]?.judge.threshold ?? null,
        },
      ]
    : [];
  return [
    ...found,
    ...judges.map(({ task, judge }) => ({
      name: `${TRAINING}${task} (${judge.scores.length} labels)`,
      threshold: judge.threshold,
      scored: judge.scores.map((score, i) => ({ score, important: Boolean(judge.truth[i]) })),
    })),
  ];
}

/** The slider, what it keeps, and where recorded runs would first change.
 * @param {Scored[]} scored @param {Workshop} ctx @param {number} first @param {number | null} [own] the judge's
 * @param {(threshold: number) => void} [moved] */
function cutPanel(scored, ctx, first, own = null, moved = () => {}) {
  const words = h("p.cutwords", { role: "status" });
  const runs = h("ul.cutruns");
  const show = h("output.v-value", {}, fmt(first));
  const ran = judgeRuns(ctx.store).map(ranAt);
  const recorded = own === null ? ran : [own, ...ran];
  /** @type {HTMLInputElement} */
  const input = h("input", {
    type: "range",
    min: 0,
    max: 1,
    step: STEP,
    value: first,
    id: "cut",
    "aria-describedby": "cut-help",
    oninput: () => set(recordedAt(Number(input.value), recorded, STEP), true),
  });
  /** @param {number} threshold @param {boolean} asked by the visitor */
  const set = (threshold, asked) => {
    if (asked) ctx.kept.threshold = threshold;
    show.textContent = fmt(threshold);
    input.setAttribute("aria-valuetext", fmt(threshold)); // the slider itself has steps
    words.textContent = scored.length ? said(atThreshold(scored, threshold)) : "";
    runs.replaceChildren(...changes(ctx, threshold));
    moved(threshold);
  };
  const back =
    own == null
      ? null
      : h(
          "button",
          {
            onclick: () => {
              input.value = String(own);
              set(own, true);
            },
          },
          `Judge's own (${fmt(own)})`,
        );
  const panel = h(
    "section.cut",
    {},
    h(
      "div.v-slider",
      {},
      h("label", { for: "cut" }, "threshold"),
      h("span.v-track", {}, input),
      show,
      h(
        "span.v-help",
        { id: "cut-help" },
        "A rejected draft token is accepted after all when its score lies below the threshold.",
      ),
    ),
    back,
    words,
    h("h4", {}, "On the page"),
    runs,
  );
  set(first, false);
  return panel;
}

/** @param {ReturnType<typeof atThreshold>} found */
function said({ n, kept, keptImportant, important, recall, keptUnimportant }) {
  const hurt = `${keptImportant} of the ${important} important ones, which may change the answer`;
  const others = `${kept - keptImportant} of the ${n - important} others (${percent(keptUnimportant)})`;
  const found = `Recall of important ones ${percent(recall)}.`;
  return `${kept} of ${n} mismatches would be accepted: ${hurt}, and ${others}. ${found}`;
}

const judgeRuns = (/** @type {Workshop["store"]} */ store) =>
  [...store.runs.values()].filter((run) => movable(run).includes("judge_threshold"));

/** The threshold that a judge's run was decided with. @param {ReturnType<typeof judgeRuns>[number]} run */
const ranAt = (run) => Number(knobsOf(run).judge_threshold);

/** For each run whose rule is a judge: where the text would first change.
 * @param {Workshop} ctx @param {number} threshold */
function changes({ store, lab }, threshold) {
  const runs = judgeRuns(store);
  if (!runs.length)
    return [
      h(
        "li.quiet",
        {},
        "No run on the page was decided by a judge. Run one, or open a recorded case with one, " +
          "to see where its text would change.",
      ),
    ];
  return runs.map((run) => {
    const { changed, marks, was, known } = replay(run, { ...knobsOf(run), judge_threshold: threshold });
    const start = `${nameOf(store, run)}, run at ${fmt(ranAt(run))}: `;
    if (!known) return h("li", {}, `${start}it asked its judge about no draft token.`);
    if (!changed) {
      const counts = `${marks.length} of ${known} rejected draft tokens accepted, ${was.length} as run`;
      return h("li", {}, `${start}the text stays the same to its end (${counts}).`);
    }
    const go = () => {
      lab.ui.close();
      store.setCursor({ run: run.key, round: changed.round, node: changed.node });
    };
    const node = run.rounds[changed.round].nodes[changed.node];
    return h(
      "li",
      {},
      start,
      "the text first changes at position ",
      h("button.plain", { onclick: go }, `${changed.pos}, `, h("code", {}, pieceOf(run, node.token))),
      " ; beyond it the run would be another.",
    );
  });
}

/**
 * The server's figures of these labels; later only the mark of the threshold moves.
 * @param {HTMLElement} spot @param {Workshop} ctx @param {Source} source @param {number} threshold
 */
async function drawAll(spot, { lab, kept }, { scored, name }, threshold) {
  const body = {
    scores: scored.map((one) => one.score),
    important: scored.map((one) => one.important),
    threshold,
  };
  try {
    const { figures } = await lab.api.post("judged", body);
    const saved = name.replace(THIS, lab.mined.shown);
    spot.replaceChildren(...plots(figures, `Labels: ${saved}.`), numbers(scored, name));
    if (kept.threshold !== null) mark(spot, scored, kept.threshold); // it may have moved meanwhile
  } catch (error) {
    const wrong = error instanceof Error ? error.message : String(error);
    spot.replaceChildren(h("p.warn", {}, packed() ? ALONE : wrong), numbers(scored, name));
  }
}

/** Move the mark of the threshold in all figures. @param {HTMLElement} spot @param {Scored[]} scored
 * @param {number} threshold */
function mark(spot, scored, threshold) {
  const { recall, keptUnimportant } = atThreshold(scored, threshold);
  const x = keptUnimportant === null ? null : 1 - keptUnimportant;
  /** @type {NodeListOf<HTMLElement>} */
  const spots = spot.querySelectorAll(".plot");
  if (spots.length) moveThreshold(spots, threshold, { x, y: recall });
}

/** @param {Scored[]} scored @param {string} name */
function numbers(scored, name) {
  const rows = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9].map((threshold) => ({
    threshold,
    at: atThreshold(scored, threshold),
  }));
  return h(
    "details.numbers",
    {},
    h("summary", {}, "As a table"),
    h(
      "div.tablebox",
      { tabindex: 0, role: "region", "aria-label": "Numbers of the curves" },
      h(
        "table.mined",
        {},
        h("caption", {}, name),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["threshold", "accepted", "important accepted", "recall", "others accepted"].map((text) =>
              h("th", { scope: "col" }, text),
            ),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map(({ threshold, at }) =>
            h(
              "tr",
              {},
              [
                fmt(threshold),
                `${at.kept} of ${at.n}`,
                `${at.keptImportant} of ${at.important}`,
                percent(at.recall),
                percent(at.keptUnimportant),
              ].map((text) => h("td.number", {}, text)),
            ),
          ),
        ),
      ),
    ),
  );
}
