// @ts-check
// A method from its parts: three menus, what speaks against a choice, what the result promises.

import { isRefusal } from "../api.js";
import { h, said } from "../dom.js";

/**
 * @typedef {import("../types/wire.js").PageCard} PageCard
 * @typedef {"drafter" | "shape" | "rule"} Part
 */

/** @type {readonly Part[]} */
const PARTS = ["drafter", "shape", "rule"];
/** @type {Readonly<Record<Part, string>>} */
const WORDS = { drafter: "Drafter: who drafts", shape: "Shape: of the draft", rule: "Rule: what is accepted" };
/** @type {Readonly<Record<string, string>>} */
const PROMISES = {
  reference: "The target's own text, one token a call.",
  lossless: "Lossless: emits what the target alone would emit (in distribution, when sampling).",
  lossy: "Lossy: may emit what the target alone would not.",
};

/**
 * The last entry of the picker; `add` gets the card of what was composed.
 * @param {import("../types/lab.js").Lab} lab
 * @param {(card: PageCard) => void} add
 */
export function composer(lab, add) {
  /** @type {Record<Part, string>} */
  const chosen = { drafter: "model", shape: "chain", rule: "exact" };
  /** @type {PageCard | null} */
  let card = null;
  let full = false;
  let asked = 0;
  /** On which models; null where the answer did not come. @type {string | null} */
  let on = null;
  const menus = PARTS.map((part) =>
    h("select", {
      "aria-label": WORDS[part],
      onchange: (/** @type {Event} */ event) => {
        if (event.target instanceof HTMLSelectElement) chosen[part] = event.target.value;
        ask();
      },
    }),
  );
  const fits = h("p.composesaid", { role: "status" });
  const button = h("button", { disabled: true, onclick: () => card && add(card) }, "Add this lane");
  const details = h(
    "details.compose",
    {},
    h("summary", {}, "Compose a method from drafter, shape and rule"),
    h(
      "div.composeparts",
      {},
      PARTS.map((part, i) => h("label.field", {}, h("span", {}, WORDS[part]), menus[i])),
    ),
    fits,
    button,
  );

  const models = () => lab.session.config?.models ?? "";
  const askAnew = () => details.open && on !== models() && ask();
  details.addEventListener("toggle", askAnew);

  async function ask() {
    asked += 1;
    const mine = asked;
    on = models();
    card = null; // it was of another choice
    able();
    try {
      const found = await lab.api.get("compose", { ...chosen, models: on });
      if (mine === asked) show(found);
    } catch (error) {
      if (mine !== asked) return;
      if (!isRefusal(error)) on = null;
      fits.textContent = said(error);
    }
  }

  /** @param {import("../types/wire.js").Composed} found */
  function show(found) {
    PARTS.forEach((part, i) => {
      menus[i].replaceChildren(
        ...found.menus[part].map(({ name, title, against }) =>
          h(
            "option",
            { value: name, title: name, selected: name === chosen[part] },
            against ? `${title} (does not fit)` : title,
          ),
        ),
      );
      menus[i].title = chosen[part]; // its name on the command line
      menus[i].value = chosen[part];
    });
    card = found.card;
    const promise = card ? (PROMISES[card.guarantee] ?? card.guarantee) : "";
    fits.textContent = found.reason || [promise, card?.unavailable, card?.here].filter(Boolean).join(" ");
    fits.classList.toggle("against", Boolean(found.reason || card?.unavailable));
    able();
  }

  function able() {
    button.disabled = full || !card || card.unavailable !== "";
  }

  return {
    element: details,
    /** @param {boolean} noRoom all lanes are taken */
    update(noRoom) {
      full = noRoom;
      able();
      void askAnew();
    },
  };
}

/** Cards of composed methods ("drafter+shape+rule") on the models that are chosen, asked for until they come or are
 * refused, which the visitor is told.
 * @param {Pick<import("../types/lab.js").Lab, "api" | "session" | "ui">} lab */
export function composedCards(lab) {
  /** @type {Map<string, import("../types/wire.js").Composed | null>} */
  const known = new Map();
  const models = () => lab.session.config?.models ?? "";
  const key = (/** @type {string} */ name, on = models()) => `${on} ${name}`;
  return {
    /** Fetch what these lanes need; true once something new is known. @param {readonly string[]} names */
    async learn(names) {
      const on = models();
      const fresh = [...new Set(names)].filter((name) => name.split("+").length === 3 && !known.has(key(name)));
      for (const name of fresh) known.set(key(name), null);
      for (const name of fresh) {
        const [drafter, shape, rule] = name.split("+");
        try {
          known.set(key(name, on), await lab.api.get("compose", { drafter, shape, rule, models: on }));
        } catch (error) {
          if (!isRefusal(error)) known.delete(key(name, on));
          else lab.ui.notify(said(error)); // with these words a run of it is refused, too
        }
      }
      return fresh.length > 0;
    },
    /** @param {readonly string[]} names */
    of: (names) =>
      [...new Set(names)]
        .flatMap((name) => known.get(key(name))?.card ?? [])
        .map((card) => ({ ...card, family: "composed" })),
    /** What parts that do not fit are called together, and why they do not; undefined of others.
     * @param {string} name */
    misfit(name) {
      const { title = "", reason = "" } = known.get(key(name)) ?? {};
      return reason ? { title, guarantee: "", unavailable: reason } : undefined;
    },
  };
}
