// @ts-check
// A method's knobs as form controls, drawn from its card: unit, range, help, and where the default comes from.

import { h } from "./dom.js";
import { rich } from "./draw.js";
import { valueWord } from "./lanes/text.js";

const DIGITS = 4; // of a number in words

export const AUTO = "auto"; // the value of a knob that is left to the device

/**
 * @typedef {import("./types/wire.js").PageKnob} PageKnob
 * @typedef {import("./types/card.js").KnobValue} KnobValue
 * @typedef {Readonly<Record<string, KnobValue>>} Knobs
 * @typedef {Map<string, KnobValue>} Typed by name, the number before a knob was left to the device
 * @typedef {{knobs: Knobs, typed: Typed, change: (name: string, value: KnobValue) => void}} Form what is set so far
 */

/**
 * A form for one lane; `onchange` gets the knobs after each accepted edit. Values equal to the default are not kept.
 * `typed` outlives the form, which is drawn anew after each run.
 * @param {import("./types/wire.js").PageCard} card
 * @param {Knobs} given
 * @param {(knobs: Knobs) => void} onchange
 * @param {Typed} typed
 */
export function knobForm(card, given, onchange, typed) {
  const plain = card.knobs.filter((knob) => !knob.advanced);
  const advanced = card.knobs.filter((knob) => knob.advanced);
  /** @type {Form} */
  const form = {
    knobs: given,
    typed,
    change(name, value) {
      const { [name]: _old, ...others } = form.knobs;
      const fallback = card.knobs.find((knob) => knob.name === name)?.default;
      form.knobs = value === fallback ? others : { ...others, [name]: value };
      onchange(form.knobs);
    },
  };
  const rows = plain.map((knob) => knobRow(knob, form));
  const more = advanced.map((knob) => knobRow(knob, form));
  const open = advanced.some((knob) => knob.name in given);
  return h(
    "div.knobs",
    { role: "group", "aria-label": card.title },
    h("h3", {}, card.title),
    card.knobs.length ? null : h("p.quiet", {}, "Nothing to set."),
    rows,
    more.length ? h("details", { open }, h("summary", {}, `Advanced (${more.length})`), more) : null,
  );
}

/** @param {PageKnob} knob @param {Form} form */
function knobRow(knob, form) {
  const value = form.knobs[knob.name] ?? knob.default;
  const usual = knob.default === AUTO ? (knob.published ?? knob.low ?? 0) : knob.default; // what a field can show
  const given = value === AUTO ? (form.typed.get(knob.name) ?? usual) : value;
  const input = control(knob, given);
  const chosen = knob.auto ? autoSwitch(knob, input, value) : null;
  const reset = h(
    "button.plain.reset",
    { title: `Back to ${usualOf(knob)}`, "aria-label": `Reset ${knob.name}` },
    "reset",
  );
  const origin = `${rangeText(knob)}${knob.origin_text}: ${usualOf(knob)}`;
  const unit = knob.unit === knob.name ? "" : knob.unit;
  const told = `${knob.help}\n${origin}`.replaceAll("`", "");
  input.setAttribute("aria-label", unit ? `${knob.name}, ${unit}` : knob.name); // the label holds buttons and help, too
  input.setAttribute("aria-description", told);
  const row = h(
    `label.knob.${knob.kind}`,
    { title: told },
    h("span.name", {}, knob.name, unit ? h("i", {}, unit) : null),
    chosen ? h("span.auto", {}, input, chosen) : input,
    reset,
    h("span.help", {}, ...rich(sentenced(knob.help)), " ", h("em", {}, ...rich(`${origin}.`))),
  );
  const show = () => row.classList.toggle("changed", knob.name in form.knobs);
  /** @param {KnobValue} value */
  const set = (value) => {
    form.change(knob.name, value);
    show();
  };
  chosen?.addEventListener("click", (event) => {
    event.preventDefault();
    const on = chosen.getAttribute("aria-pressed") !== "true";
    press(chosen, input, on);
    if (on) form.typed.set(knob.name, read(knob, input, given));
    set(on ? AUTO : read(knob, input, given));
  });
  input.addEventListener("change", () => {
    if (knob.kind !== "number" || (input.value !== "" && input.reportValidity())) set(read(knob, input, given));
  });
  reset.addEventListener("click", (event) => {
    event.preventDefault();
    if (input instanceof HTMLInputElement && knob.kind === "switch") input.checked = knob.default === true;
    else input.value = brief(usual);
    if (chosen) press(chosen, input, knob.default === AUTO);
    if (document.activeElement === reset) (input.disabled ? chosen : input)?.focus(); // the button goes
    set(knob.default);
  });
  show();
  return row;
}

/**
 * A button that leaves the number to what rounds cost and what was accepted so far.
 * @param {PageKnob} knob @param {HTMLInputElement | HTMLSelectElement} input @param {KnobValue} value
 */
function autoSwitch(knob, input, value) {
  const { name } = knob;
  const title = `Choose ${name} from round to round, by what rounds cost here and what was accepted so far`;
  const button = h("button.plain", { title, "aria-label": `${name}: auto` }, AUTO);
  press(button, input, value === AUTO);
  return button;
}

/** @param {HTMLElement} button @param {HTMLInputElement | HTMLSelectElement} input @param {boolean} on */
function press(button, input, on) {
  button.setAttribute("aria-pressed", String(on));
  input.disabled = on;
}

/** @param {PageKnob} knob @param {HTMLInputElement | HTMLSelectElement} input
 * @param {KnobValue} given what the form began with @returns {KnobValue} */
function read(knob, input, given) {
  if (knob.kind === "switch") return input instanceof HTMLInputElement && input.checked;
  return knob.kind === "number" ? exact(input.value, [given, knob.default]) : input.value;
}

/** The usual value of a knob in words: of a switch on or off, as lanes have it.
 * @param {Pick<PageKnob, "kind" | "default">} knob */
export const usualOf = ({ kind, default: value }) => (kind === "switch" ? valueWord(value) : brief(value));

/** A value as it is shown: of a number that is no whole one, few digits. @param {KnobValue} value */
export const brief = (value) =>
  typeof value === "number" && !Number.isInteger(value) ? String(Number(value.toPrecision(DIGITS))) : String(value);

/** The number that a field shows: a known one with all its digits, as long as nobody writes another.
 * @param {string} text @param {readonly KnobValue[]} known */
export const exact = (text, known) => known.find((value) => brief(value) === text) ?? Number(text);

/** @param {PageKnob} knob @param {KnobValue} value */
function control(knob, value) {
  if (knob.kind === "switch") return h("input", { type: "checkbox", checked: value === true });
  if (knob.kind === "choice") {
    const options = knob.choices.map((name) => h("option", { value: name, selected: name === value }, name));
    return h("select", {}, options);
  }
  if (knob.kind === "text") return h("input", { type: "text", value });
  const { low, high, whole } = knob;
  return h("input", {
    type: "number",
    value: brief(value),
    min: low,
    max: high,
    step: whole ? 1 : stepOf(knob),
    required: true,
  });
}

/** The knob's step where the default lies on it, counted from the lower end; a browser would refuse the default
 * else. */
/** @param {PageKnob} knob */
function stepOf({ step, low, default: fallback }) {
  return step && Number.isInteger((Number(fallback) - (low ?? 0)) / step) ? step : "any";
}

/** Words that others follow. @param {string} text */
const sentenced = (text) => (/[.!?]$/.test(text) ? text : `${text}.`);

/** @param {PageKnob} knob */
function rangeText({ low, high, unit }) {
  return low === null && high === null ? "" : `${low ?? "−∞"} to ${high ?? "∞"}${unit ? ` ${unit}` : ""}; `;
}
