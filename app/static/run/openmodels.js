// @ts-check
// Other models, by folder or hub id: looked at before anything is downloaded, then loaded while the old ones stay.

import { count, h, tellSteps, said as words } from "../dom.js";
import { icon } from "../icons.js";
import { visitor } from "../visitor.js";
import { popover } from "./popover.js";
import { bytes, loadingStep, loadingWords, waitingWords } from "./waiting.js";

/**
 * @typedef {import("../types/wire.js").Preflight} Preflight
 * @typedef {import("../types/wire.js").OpeningMessage} Message
 */

const SIGNS = { good: "✓", note: "i", against: "✗" };
const VERDICTS = { good: "Good", note: "To know", against: "Against" };

/** The button in the run bar with what hangs from it. @param {import("../types/lab.js").Lab} lab */
export function modelLoader({ api, session, ui }) {
  /** @type {AbortController | null} */
  let going = null;
  let asked = 0;

  const target = field("Target: a folder of the server or a hub id");
  const draft = field("Draft, if there is one");
  const source = h("select", { "aria-label": "Language of the source", onchange: again });
  const written = h("select", { "aria-label": "Language that is written", onchange: again });
  const languages = h("div.openlanguages", { hidden: true }, label("From", source), label("To", written));
  const check = h("button", { type: "button", onclick: look }, "Check");
  const load = h("button", { type: "button", disabled: true, onclick: begin }, "Load");
  const cancel = h("button", { type: "button", hidden: true, onclick: () => going?.abort() }, "Cancel");
  const bar = h("progress", { hidden: true, "aria-label": "Bytes that are here" });
  const said = h("p.picksaid", { role: "status" });
  const findings = h("div.findings");
  const asking = h(
    "div.openasks",
    {},
    label("Target: folder or hub id", target),
    label("Draft (may be empty)", draft),
    languages,
    h("div.openbuttons", {}, check, load, cancel),
  );
  const element = h(
    "div.methodpicker.openmodels",
    { role: "dialog", "aria-label": "Load other models", tabindex: -1 },
    asking,
    bar,
    said,
    findings,
  );
  const button = h("button.plain.add", {}, icon("plus"), "Load models");
  const { anchor } = popover(button, element, {
    opening() {
      const closed = session.catalogue?.closed ?? "";
      asking.hidden = Boolean(closed);
      if (closed) say(closed);
    },
    opened: () => (asking.hidden ? element : going ? cancel : target).focus(),
  });

  /** @param {string} words @param {string} [step] of what takes long */
  function say(words, step = words) {
    tellSteps(said, words, step);
  }

  /** @param {string} name */
  function field(name) {
    return h("input", {
      type: "text",
      "aria-label": name,
      spellcheck: "false",
      autocomplete: "off",
      maxlength: 500,
      oninput: () => {
        forget();
        offer([]);
      },
      onkeydown: (/** @type {KeyboardEvent} */ event) => {
        if (event.key !== "Enter") return;
        event.stopPropagation(); // with Ctrl it would run what is set in the bar
        look();
      },
    });
  }

  /** Both languages are chosen. */
  function again() {
    forget();
    if (source.value && written.value) look();
  }

  const pair = () => ({
    target: target.value.trim(),
    draft: draft.value.trim(),
    ...(source.value && written.value ? { languages: `${source.value}:${written.value}` } : {}),
  });

  /** The languages to choose from; what is chosen stays. @param {readonly string[]} codes */
  function offer(codes) {
    languages.hidden = !codes.length;
    if (source.childElementCount === (codes.length ? codes.length + 1 : 0)) return;
    for (const one of [source, written])
      one.replaceChildren(...(codes.length ? ["", ...codes] : []).map((code) => h("option", { value: code }, code)));
  }

  /** What was found is about other models. */
  function forget() {
    asked += 1;
    load.disabled = true;
    say("");
    findings.replaceChildren();
  }

  async function look() {
    if (going) return;
    forget();
    const mine = asked;
    say("Looking at configurations and tokenizers …");
    try {
      const { found } = await api.post("preflight", pair());
      if (mine !== asked) return;
      load.disabled = !found.fits;
      offer(found.languages);
      say(found.fits ? `These models fit. ${toGet(found)}` : "These models cannot be loaded.");
      findings.replaceChildren(...shown(found));
    } catch (error) {
      if (mine === asked) say(words(error));
    }
  }

  async function begin() {
    going = new AbortController();
    busy(true);
    try {
      for await (const line of api.lines("load", { ...pair(), visitor: visitor() }, going.signal)) await take(line);
    } catch (error) {
      const why = going.signal.aborted ? "Cancelled." : words(error);
      over(`${why} The models before are still there.`);
    }
    going = null;
    busy(false);
  }

  /** @param {Message} line */
  async function take({ kind, loading, line, models, error }) {
    if (kind === "error") throw new Error(error);
    if (kind === "waiting") say(line ? waitingWords(line) : "Waiting …", String(line?.place));
    if (kind === "loading" && loading) {
      say(loadingWords(loading), loadingStep(loading));
      if (loading.size) bar.max = loading.size;
      if (loading.size && loading.read) bar.value = loading.read;
      else bar.removeAttribute("value");
    }
    if (kind === "loaded" && models) await loaded(models);
  }

  /** The server has them from now on, whether or not their methods come. @param {string} models */
  async function loaded(models) {
    findings.replaceChildren();
    try {
      await session.openedModels(models);
      over(`${models} is loaded and chosen.`);
    } catch (error) {
      over(`${models} is loaded, but its methods did not come. ${words(error)} Reload this page to use it.`);
    }
  }

  /** How it ended, also told to who has closed the dialog. @param {string} how */
  function over(how) {
    say(how);
    if (!element.isConnected) ui.notify(how);
  }

  /** @param {boolean} is */
  function busy(is) {
    load.disabled = is || !findings.childElementCount; // what fits and did not come may be asked for again
    for (const one of [target, draft, source, written, check]) one.disabled = is;
    cancel.hidden = bar.hidden = !is;
    bar.removeAttribute("value");
    if (element.isConnected) (is ? cancel : target).focus(); // a button that is switched off would lose it
  }

  return { element: anchor };
}

/** @param {string} text @param {HTMLElement} input */
const label = (text, input) => h("label.field", {}, h("span", {}, text), input);

/** @param {Preflight} found */
const toGet = ({ download }) =>
  download ? `${bytes(download)} are to be downloaded.` : "Nothing is to be downloaded.";

/** Everything that was found, as lists. @param {Preflight} found */
function shown({ models, findings, methods }) {
  const sides = models.map(
    (one) =>
      `${one.role} ${one.id}: ${one.type}, ${(one.parameters / 1e6).toFixed(1)} million parameters, ` +
      `${count(one.layers, "layer")}, ${one.context} positions, ${bytes(one.weights)} as ${one.dtype}`,
  );
  const can = methods.filter((one) => !one.against);
  const cannot = methods.filter((one) => one.against);
  return [
    list("sides", sides.map(plain)),
    list(
      "verdicts",
      findings.map(({ about, verdict, words: told }) =>
        h(
          `li.${verdict}`,
          {},
          h("span", { role: "img", "aria-label": VERDICTS[verdict] }, SIGNS[verdict]),
          `${about}: ${told}`,
        ),
      ),
    ),
    methods.length ? h("p", {}, `${count(can.length, "method")} can run: ${titles(can)}.`) : null,
    reasons(
      `Run otherwise here: ${count(can.filter((one) => one.here).length, "method")}`,
      can.map((one) => [one.title, one.here]),
    ),
    reasons(
      `${count(cannot.length, "method")} cannot run`,
      cannot.map((one) => [one.title, one.against]),
    ),
  ].filter((part) => part !== null);
}

/** @param {readonly {title: string}[]} methods */
const titles = (methods) => methods.map((one) => one.title).join(", ");

/** @param {string} text */
const plain = (text) => h("li", {}, text);

/** @param {string} name @param {readonly HTMLElement[]} items */
const list = (name, items) => h(`ul.${name}`, {}, ...items);

/** Folded reasons, none where there are none. @param {string} heading @param {readonly [string, string][]} rows */
function reasons(heading, rows) {
  const told = rows.filter(([, why]) => why);
  if (!told.length) return null;
  const items = told.map(([title, why]) => h("li", {}, h("b", {}, title), ` ${why}`));
  return h("details", {}, h("summary", {}, heading), list("why", items));
}
