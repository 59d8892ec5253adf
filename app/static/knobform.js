// A method's knobs as form controls, drawn from its card: unit, range, help, and where the default comes from.

import { h } from "./dom.js";

/** A form for one lane; `onchange` runs after each accepted edit. Values equal to the default are not kept. */
export function knobForm(card, lane, onchange) {
  const plain = card.knobs.filter((knob) => !knob.advanced);
  const advanced = card.knobs.filter((knob) => knob.advanced);
  const row = (knob) => knobRow(knob, lane, onchange);
  const open = advanced.some((knob) => knob.name in lane.knobs);
  return h(
    "div.knobs",
    {},
    h("h3", {}, card.title),
    card.knobs.length ? null : h("p.quiet", {}, "Nothing to set."),
    plain.map(row),
    advanced.length
      ? h("details", { open }, h("summary", {}, `Advanced (${advanced.length})`), advanced.map(row))
      : null,
  );
}

function knobRow(knob, lane, onchange) {
  const value = lane.knobs[knob.name] ?? knob.default;
  const input = control(knob, value);
  const reset = h(
    "button.plain.reset",
    { title: `Back to ${knob.default}`, "aria-label": `Reset ${knob.name}` },
    "reset",
  );
  const row = h(
    `label.knob.${knob.kind}`,
    { title: `${knob.help}\n${rangeText(knob)}${knob.origin_text}: ${knob.default}` },
    h("span.name", {}, knob.name.replaceAll("_", " "), knob.unit ? h("i", {}, knob.unit) : null),
    input,
    reset,
    h("span.help", {}, knob.help, " ", h("em", {}, `${rangeText(knob)}${knob.origin_text}: ${knob.default}.`)),
  );
  const read = () =>
    knob.kind === "switch" ? input.checked : knob.kind === "number" ? Number(input.value) : input.value;
  const show = () => row.classList.toggle("changed", knob.name in lane.knobs);
  input.addEventListener("change", () => {
    if (knob.kind === "number" && (input.value === "" || !input.reportValidity())) return;
    if (read() === knob.default) delete lane.knobs[knob.name];
    else lane.knobs[knob.name] = read();
    show();
    onchange();
  });
  reset.addEventListener("click", (event) => {
    event.preventDefault();
    delete lane.knobs[knob.name];
    if (knob.kind === "switch") input.checked = knob.default;
    else input.value = knob.default;
    show();
    onchange();
  });
  show();
  return row;
}

function control(knob, value) {
  if (knob.kind === "switch") return h("input", { type: "checkbox", checked: value === true });
  if (knob.kind === "choice")
    return h(
      "select",
      {},
      knob.choices.map((choice) => h("option", { value: choice, selected: choice === value }, choice)),
    );
  if (knob.kind === "text") return h("input", { type: "text", value });
  const step = knob.step && Number.isInteger((knob.default - (knob.low ?? 0)) / knob.step) ? knob.step : "any";
  return h("input", {
    type: "number",
    value,
    min: knob.low,
    max: knob.high,
    step: knob.whole ? 1 : step,
    required: true,
  });
}

const rangeText = (knob) =>
  knob.low == null && knob.high == null
    ? ""
    : `${knob.low ?? "−∞"} to ${knob.high ?? "∞"}${knob.unit ? ` ${knob.unit}` : ""}; `;
