// @ts-check
// The list of lessons, and what one holds; its steps are taken beside the stage (panel.js).

import { cased, count, h } from "../dom.js";
import { download } from "../figure.js";
import { addressOf, notHere } from "./places.js";
import { progress } from "./progress.js";
import { prose } from "./prose.js";
import { take } from "./show.js";

/**
 * @typedef {import("../types/wire.js").PageLesson} PageLesson
 * @typedef {import("../types/store.js").Store} Store
 * @typedef {import("../types/lab.js").Lab} Lab
 */

/** @param {HTMLElement} element @param {Store} store @param {Lab} lab */
export async function drawLessons(element, store, lab) {
  const { lessons } = await lab.api.get("lessons");
  const chosen = lessons.find(({ name }) => name === store.options.name);
  if (chosen) drawLesson(element, chosen, lessons, store, lab);
  else {
    element.append(notHere("lesson", store.options.name, false));
    drawList(element, lessons);
  }
}

/** @param {HTMLElement} element @param {readonly PageLesson[]} lessons */
function drawList(element, lessons) {
  const done = progress();
  const items = lessons.map((lesson) => {
    const steps = (done[lesson.name] ?? []).length;
    const said = steps === 0 ? "" : steps < lesson.steps.length ? `${steps} of ${lesson.steps.length} done` : "✓ done";
    return h(
      "li",
      {},
      h("h3", {}, h("a", { href: addressOf("lessons", lesson.name) }, lesson.title)),
      h("p", {}, lesson.teaches),
      h("p.quiet", {}, `${lesson.minutes} minutes, ${count(lesson.steps.length, "step")}`, said ? ` · ${said}` : ""),
    );
  });
  const save = () => download(new Blob([JSON.stringify(done, null, 2)]), "lessons.json");
  element.append(
    h("p.lead", {}, "Each lesson stands beside recorded runs, asks you to find or predict something, and checks it."),
    h("ol.lessons", {}, items),
    h(
      "p.quiet.learn-keep",
      {},
      "Progress is kept in this browser. ",
      h("button.link", { type: "button", onclick: save }, "Export it as JSON"),
    ),
  );
}

/** @param {HTMLElement} element @param {PageLesson} lesson @param {readonly PageLesson[]} lessons @param {Store} store
 * @param {Lab} lab */
function drawLesson(element, lesson, lessons, store, lab) {
  const done = new Set(progress()[lesson.name] ?? []);
  const next = lesson.steps.findIndex((_, i) => !done.has(i));
  /** @param {number} step */
  const start = (step) => {
    take(lesson.name, step, lesson.steps[step], store, lab);
  };
  const intro = h("div.doc");
  intro.append(prose(lesson.text));
  element.append(
    h("p.learn-back", {}, h("a", { href: addressOf("lessons") }, "All lessons")),
    h(
      "article.lesson-about",
      {},
      h("h2", {}, lesson.title),
      h("p.lead", {}, lesson.teaches),
      intro,
      h(
        "button.primary",
        { type: "button", onclick: () => start(Math.max(0, next)) },
        next > 0 ? "Continue beside the runs" : "Start beside the runs",
      ),
      h(
        "ol.lesson-steps",
        {},
        lesson.steps.map((step, i) =>
          h(
            "li",
            {},
            h("button.link", { type: "button", onclick: () => start(i) }, step.title),
            done.has(i) ? h("span.quiet", {}, " ✓ done") : null,
          ),
        ),
      ),
      h("p.see", {}, "Goes with ", ...linksOf(lesson, lessons, lab), "."),
    ),
  );
}

/** What a lesson goes with, as links with commas between. @param {PageLesson} lesson
 * @param {readonly PageLesson[]} lessons @param {Lab} lab */
export function linksOf(lesson, lessons, { session }) {
  return lesson.links.flatMap((path, i) => {
    const [kind, name] = path.split("/");
    const tab = { methods: "methods", cases: "gallery", lessons: "lessons" }[kind] ?? "lessons";
    const titles = {
      methods: session.catalogue?.methods.find((card) => card.name === name)?.title,
      gallery: session.catalogue?.presets.find((preset) => preset.name === name)?.title,
      lessons: lessons.find((one) => one.name === name)?.title,
    };
    const title = titles[/** @type {keyof typeof titles} */ (tab)] ?? cased(name); // of a page that is no method's
    const link = h("a", { href: addressOf(tab, name) }, title);
    return i ? [", ", link] : [link];
  });
}
