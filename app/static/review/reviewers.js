// @ts-check
// Reviews as files, and how far two reviewers agree.

import { count, h, said, visible } from "../dom.js";
import { percent } from "../draw.js";
import { download } from "../figure.js";
import { swapOf } from "../mined.js";
import { compare, exportLines, readLines, second, take, VERDICTS } from "./reviews.js";
import { placeAt, runOf } from "./runreviews.js";

/** @typedef {import("../types/workshop.js").Reviewing} Workshop what of the workshop reviewers need */
/** @typedef {import("../types/workshop.js").Reviews} Reviews */
/** @typedef {import("../types/workshop.js").ReviewedPlace} ReviewedPlace */

const LARGEST = 20_000_000; // bytes of a file of reviews

/** @param {HTMLElement} spot @param {Workshop} ctx */
export function drawReviewers(spot, ctx) {
  const { reviews } = ctx;
  /** @type {HTMLInputElement} */
  const name = h("input", {
    type: "text",
    maxlength: 80,
    value: reviews.reviewer,
    placeholder: "your name or initials",
    "aria-label": "Reviewer",
    oninput: () => {
      reviews.reviewer = name.value;
      ctx.save();
    },
  });
  const own = picker("Import my reviews", ctx, (found) => {
    if (found.reviewer && reviews.reviewer && found.reviewer !== reviews.reviewer)
      throw new Error(
        `These are reviews of ${found.reviewer}, and yours are of ${reviews.reviewer}: import them as those of a ` +
          "second reviewer, or change the name.",
      );
    take(reviews, found);
    ctx.save();
  });
  const other = picker("Import a second reviewer", ctx, (found) => {
    second.reviews = found;
  });
  const given = Object.values(reviews.items);
  const verdicts = VERDICTS.map((verdict) => `${given.filter((one) => one.verdict === verdict).length} ${verdict}`);
  const [judged, noted, starred] = [
    given.filter((one) => one.verdict).length,
    given.filter((one) => one.note).length,
    given.filter((one) => one.star).length,
  ];
  spot.append(
    h(
      "section",
      {},
      h("h3", {}, "Your reviews"),
      h(
        "div.row.tools",
        {},
        h("label.field", {}, h("span", {}, "Reviewer"), name),
        h(
          "button",
          {
            onclick: () =>
              download(
                new Blob([exportLines(reviews, ctx.all)]),
                `draftscope-reviews${reviews.reviewer ? `-${reviews.reviewer.replace(/[^\w-]+/g, "_")}` : ""}.jsonl`,
              ),
          },
          "Export",
        ),
        ...own,
      ),
      h(
        "p.quiet",
        {},
        `${count(judged, "verdict")} (${verdicts.join(", ")}), ${count(noted, "note")}, ${starred} starred. `,
        "One JSON line a review.",
      ),
    ),
    h(
      "section",
      {},
      h("h3", {}, "Agreement of two reviewers"),
      h("div.row.tools", {}, ...other),
      ...(second.reviews
        ? agreementOf(ctx, second.reviews)
        : [
            h(
              "p.quiet",
              {},
              "Import the file that another reviewer exported: items that both gave a verdict on are compared.",
            ),
          ]),
    ),
  );
}

/** A button that reads a file of reviews. @param {string} words @param {Workshop} ctx
 * @param {(found: Reviews) => void} take */
function picker(words, ctx, take) {
  /** @type {HTMLInputElement} */
  const file = h("input", {
    type: "file",
    accept: ".jsonl,.json",
    hidden: true,
    "aria-label": words,
    onchange: async () => {
      const given = file.files?.[0];
      file.value = "";
      if (!given) return;
      try {
        if (given.size > LARGEST)
          throw new Error(`${given.name} is larger than ${LARGEST / 1e6} MB, which is the limit.`);
        take(readLines(await given.text()));
        ctx.draw();
      } catch (error) {
        ctx.lab.ui.notify(said(error));
      }
    },
  });
  return [h("button", { onclick: () => file.click() }, words), file];
}

/** @param {Workshop} ctx @param {Reviews} other */
function agreementOf(ctx, other) {
  const { reviews } = ctx;
  const { n, observed, kappa, counts, apart } = compare(reviews, other);
  const names = [reviews.reviewer || "you", other.reviewer || "second reviewer"];
  if (!n) return [h("p", { role: "status" }, `No item has a verdict of both ${names[0]} and ${names[1]}.`)];
  const items = new Map(ctx.all.map((item) => [item.key, item]));
  const words = kappa === null ? "undefined: both gave one and the same verdict throughout" : kappa.toFixed(3);
  return [
    h(
      "p.kappa",
      { role: "status" },
      h("b", {}, `Cohen's κ ${words}`),
      `, observed agreement ${percent(observed ?? 0)}, n = ${n}`,
    ),
    h(
      "p.quiet",
      {},
      "κ = (observed − chance) / (1 − chance); chance from how often each reviewer gives each verdict. " +
        "1 is full agreement, 0 what chance alone would give.",
    ),
    h(
      "div.tablebox",
      {},
      h(
        "table.mined.confusion",
        {},
        h("caption", {}, `Rows: ${names[0]}; columns: ${names[1]}`),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("td"),
            VERDICTS.map((verdict) => h("th", { scope: "col" }, verdict)),
          ),
        ),
        h(
          "tbody",
          {},
          VERDICTS.map((mine) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, mine),
              VERDICTS.map((theirs) =>
                h(`td.number${mine === theirs ? ".same" : ""}`, {}, String(counts.get(`${mine}|${theirs}`) ?? 0)),
              ),
            ),
          ),
        ),
      ),
    ),
    apart.length ? h("h4", {}, `They differ on ${apart.length}`) : null,
    h(
      "ul.apart",
      {},
      apart.slice(0, 100).map((key) => {
        const item = items.get(key);
        const verdicts = `${reviews.items[key].verdict} against ${other.items[key].verdict}`;
        const { of } = reviews.items[key];
        if (of) return h("li", {}, reviewedLink(of, leadTo(ctx, key, of)), ` ${verdicts}`);
        if (!item) return h("li", {}, `${verdicts}: an item that is not in the set shown`);
        return h(
          "li",
          {},
          h(
            "button.plain",
            { onclick: () => ctx.select(key, { tab: "mismatches" }) },
            `position ${item.label.t}: ${swapOf(item.label)}`,
          ),
          ` ${verdicts}`,
        );
      }),
    ),
  ].filter((part) => part !== null);
}

/** What leads to a reviewed place of a run that is on the stage. @param {Pick<Workshop, "store" | "lab">} page
 * @param {string} key @param {ReviewedPlace} of @returns {((event: MouseEvent) => void) | undefined} */
export function leadTo({ store, lab }, key, of) {
  const run = runOf(store.runs.values(), key, of);
  if (!run) return undefined; // its link leads there
  return (event) => {
    event.preventDefault();
    lab.ui.close();
    store.setCursor({ run: run.key, ...placeAt(of) });
  };
}

/** Where a review of a run is: a link to it, where an address can show it.
 * @param {ReviewedPlace} of @param {(event: MouseEvent) => void} [onclick] */
export function reviewedLink(of, onclick) {
  const text = reviewedPlace(of);
  return of.view.startsWith("?")
    ? h("a", { href: of.view, onclick }, text)
    : h("button.link", { type: "button", onclick, disabled: !onclick }, text);
}

/** What was reviewed, in words. @param {ReviewedPlace} of */
export function reviewedPlace({ place, method, round, position, piece }) {
  const where = { token: `position ${position}`, round: `round ${round}`, run: "the whole run" }[place];
  return place === "run" ? `${method}, ${where}` : `${method}, ${where}: ${visible(piece.slice(0, 60))}`;
}
