// @ts-check
// Fields of a form that is run: what is typed counts before a run begins, and a number that is refused is named with
// what is allowed.

/** Take up what is typed in the field that has the focus: a browser tells it only when the field is left.
 * @param {HTMLElement} form */
export function commit(form) {
  const { activeElement } = document;
  if (activeElement instanceof HTMLInputElement && form.contains(activeElement))
    activeElement.dispatchEvent(new Event("change", { bubbles: true }));
}

/** The first number that is refused, of those that `parts` names; null when all are allowed. What a folded part holds
 * is drawn anew when it is opened.
 * @param {HTMLElement} form @param {string} parts selector @returns {HTMLInputElement | null} */
export function refused(form, parts) {
  /** @type {NodeListOf<HTMLInputElement>} */
  const inputs = form.querySelectorAll(`:is(${parts}) input[type="number"]`);
  const shown = (/** @type {Element} */ input) => [null, form].includes(input.closest("[hidden]"));
  return [...inputs].find((input) => input.willValidate && !input.validity.valid && shown(input)) ?? null;
}

/** Show the field, and say what it takes. @param {HTMLInputElement} input @returns {string} */
export function explained(input) {
  for (let part = input.closest("details"); part; part = part.parentElement?.closest("details") ?? null)
    part.open = true;
  input.focus();
  input.reportValidity();
  const method = input.closest(".knobs")?.querySelector("h3")?.textContent;
  const name =
    input.closest("label")?.querySelector(".name")?.firstChild?.textContent ?? input.getAttribute("aria-label");
  return `${method ? `${method}: ` : ""}${name} must be ${allowed(input)}.`;
}

/** What a number may be, in words. @param {Pick<HTMLInputElement, "min" | "max" | "step">} bounds */
export function allowed({ min, max, step }) {
  const steps = step && step !== "any" && step !== "1" ? `, in steps of ${step}` : "";
  const range = min && max ? ` from ${min} to ${max}` : min ? ` of ${min} or more` : max ? ` of ${max} or less` : "";
  return `a ${step === "1" ? "whole " : ""}number${range}${steps}`;
}
