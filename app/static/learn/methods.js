// @ts-check
// What every method does: a list, and the page of one with its card.

import { nameOf } from "../columns.js";
import { h } from "../dom.js";
import { carries } from "../packed.js";
import { word } from "../words.js";
import { catalogueOf } from "./catalogue.js";
import { factsOf, lanesOf } from "./onstage.js";
import { addressOf } from "./places.js";
import { prose } from "./prose.js";

/**
 * @typedef {import("../types/wire.js").PageCard} PageCard
 * @typedef {import("../types/store.js").Store} Store
 * @typedef {import("../types/lab.js").Lab} Lab
 */

const SYMBOLS = "symbols"; // the page that says what the letters of all others mean

/** @param {HTMLElement} element @param {Store} store @param {Lab} lab */
export async function drawMethods(element, store, lab) {
  const { name } = store.options;
  await catalogueOf(lab);
  await (name ? drawPage(element, name, store, lab) : drawIndex(element, lab));
}

/** @param {HTMLElement} element @param {Lab} lab */
async function drawIndex(element, lab) {
  const { pages } = await lab.api.get("pages");
  const cards = lab.session.catalogue?.methods ?? [];
  const shared = pages.filter(({ name }) => !cards.some((card) => card.name === name) && name !== "README");
  element.append(
    h(
      "p.quiet.lead",
      {},
      "A method is three answers: what drafts (drafter), how much (shape), and what counts as right (rule).",
    ),
    h("div.learn-index", {}, cards.map(indexEntry)),
    shared.length ? h("h3", {}, "About all of them") : "",
    h(
      "ul.learn-links",
      {},
      shared.map(({ name, title }) => h("li", {}, h("a", { href: addressOf("methods", name) }, plain(title)))),
    ),
  );
}

/** A title without the marks of Markdown. @param {string} title */
const plain = (title) => title.replaceAll("`", "");

/** @param {PageCard} card */
const indexEntry = (card) =>
  h(
    "article.card",
    {},
    h(
      "header",
      {},
      h("h3", {}, h("a", { href: addressOf("methods", card.name) }, card.title)),
      h(`span.badge.${card.guarantee}`, {}, card.guarantee),
    ),
    h("p", {}, card.summary),
  );

/** @param {HTMLElement} element @param {string} name @param {Store} store @param {Lab} lab */
async function drawPage(element, name, store, lab) {
  const [{ pages }, { lessons }] = await Promise.all([
    lab.api.get("pages"),
    carries("lessons") ? lab.api.get("lessons") : { lessons: [] },
  ]);
  const card = lab.session.catalogue?.methods.find((one) => one.name === name);
  const taught = lessons.filter(({ links }) => links.includes(`methods/${name}`));
  const cases = (lab.session.catalogue?.presets ?? []).filter(
    (preset) => preset.recorded && preset.lanes.some(({ method }) => method === name),
  );
  const text = h("div.doc");
  if (card && !pages.some((page) => page.name === name))
    text.append(h("h1", {}, card.title)); // composed: its card alone
  else text.append(prose((await lab.api.get("page", { name })).html));
  for (const table of text.querySelectorAll("table")) {
    const frame = h("div.table-frame", { tabindex: "0", role: "group", "aria-label": "Table" });
    table.replaceWith(frame);
    frame.append(table);
  }
  element.append(
    h(
      "p.learn-back",
      {},
      h("a", { href: addressOf("methods") }, "All methods"),
      ...(name === SYMBOLS ? [] : [" · ", h("a", { href: addressOf("methods", SYMBOLS) }, "Symbols")]),
    ),
    h(
      "div.learn-page",
      {},
      text,
      card ? h("aside", { "aria-label": "At a glance" }, glance(card, cases, taught, store, lab)) : null,
    ),
  );
}

/**
 * @param {PageCard} card
 * @param {readonly import("../types/wire.js").PagePreset[]} cases
 * @param {readonly import("../types/wire.js").PageLesson[]} lessons
 * @param {Store} store @param {Lab} lab
 */
function glance(card, cases, lessons, store, { session }) {
  /** @param {string} name */
  const open = async (name) => {
    await session.openRecorded(name);
    if (store.status.recorded !== name) return; // refused; the visitor has been told
    store.setOption("beside", name);
    const run = store.lanes.find((key) => store.runs.get(key)?.card.name === card.name);
    if (run) store.setCursor({ run, pos: 0 });
    store.setOption("room", "compare");
  };
  const lanes = session.config?.lanes ?? [];
  const full = lanes.length >= (session.catalogue?.limits.lanes ?? 0);
  const add = () => {
    session.configure({ lanes: [...lanes, { method: card.name, knobs: {} }] });
    store.setOption("room", "compare");
  };
  /** @type {[string, string | null | undefined][]} */
  const facts = [
    ["Drafter", card.drafter],
    ["Shape", card.shape],
    ["Rule", card.rule],
    ["Guarantee", card.guarantee],
    ["Helps", card.helps],
    ["Hurts", card.hurts],
    ["Contested", card.contested],
    ["Paper", card.paper],
  ];
  return [
    h("p", {}, card.summary),
    card.formula ? h("pre.formula", {}, card.formula) : null,
    h(
      "dl.facts",
      {},
      facts.filter(([, value]) => value).map(([label, value]) => h("div", {}, h("dt", {}, label), h("dd", {}, value))),
    ),
    onStage(card, store),
    card.unavailable || card.here ? h("p.warn", {}, card.unavailable || card.here) : null,
    h(
      "button.learn-add",
      { type: "button", onclick: add, disabled: Boolean(card.unavailable) || full },
      "Add to the comparison",
    ),
    card.knobs.length
      ? h(
          "section",
          {},
          h("h3", {}, "Knobs"),
          h(
            "dl.knobs",
            {},
            card.knobs.map((knob) =>
              h("div", {}, h("dt", {}, h("code", {}, knob.name), ` ${knob.default}`), h("dd", {}, knob.help)),
            ),
          ),
        )
      : null,
    cases.length
      ? h(
          "section",
          {},
          h("h3", {}, "Open a case with it"),
          h(
            "ul.learn-links",
            {},
            cases.map(({ name, title }) =>
              h("li", {}, h("button.link", { type: "button", onclick: () => open(name) }, title)),
            ),
          ),
        )
      : null,
    lessons.length
      ? h(
          "section",
          {},
          h("h3", {}, "Lessons"),
          h(
            "ul.learn-links",
            {},
            lessons.map(({ name, title }) => h("li", {}, h("a", { href: addressOf("lessons", name) }, title))),
          ),
        )
      : null,
  ];
}

/** What keeps the page that was opened last up to date. @type {(() => void)[]} */
const watching = [];

/** What the method does in the runs on the stage, kept up to date while these grow. @param {PageCard} card
 * @param {Store} store */
function onStage(card, store) {
  const spot = h("section.onstage", { "aria-label": "On the stage now" });
  function draw() {
    const lanes = lanesOf(store, card.name);
    spot.replaceChildren(
      h("h3", {}, "On the stage now"),
      ...(lanes.length
        ? lanes.flatMap((run) => [
            h("h4", {}, h("button.link", { type: "button", onclick: () => go(run) }, nameOf(store, run))),
            h(
              "dl.facts",
              {},
              factsOf(store, run).map(([name, value, anchor]) =>
                h("div", {}, h("dt", {}, word(name, anchor)), h("dd", {}, value)),
              ),
            ),
          ])
        : [
            h(
              "p.quiet",
              {},
              store.lanes.length ? "It is not among the runs on the stage." : "No runs are on the stage.",
            ),
          ]),
    );
  }
  /** @param {import("../types/store.js").Run} run */
  function go(run) {
    store.setOption("room", "compare");
    store.setCursor({ run: run.key, pos: 0 });
  }
  const leave = () => {
    for (const stop of watching.splice(0)) stop();
  };
  leave();
  for (const topic of /** @type {const} */ (["runs", "data", "status", "time"])) watching.push(store.on(topic, later));
  let placed = false;
  requestAnimationFrame(() => {
    placed = true;
  });
  function later() {
    if (placed && !spot.isConnected) leave();
    else store.seldom(`onstage:${card.name}`, draw);
  }
  draw();
  return spot;
}
