// @ts-check
// Mining live: which prompts, how many; progress with what is being tried; stop and resume.

import { count, duration, h, said, visible } from "../dom.js";
import { percent } from "../draw.js";
import { flagMark } from "../flagmarks.js";
import { chosenModels, familyOf, fitting, withModels } from "../withmodels.js";

/**
 * @typedef {import("../types/workshop.js").MineForm} MineForm
 * @typedef {import("../types/workshop.js").MinerState} MinerState
 */

/** @type {[string, string][]} */
const SOURCES = [
  ["heldout", "held-out problems"],
  ["train", "training problems"],
  ["prompt", "the page's prompt"],
];
const MOST = 200;

/**
 * @param {import("../types/store.js").Store} store
 * @param {import("../types/lab.js").Lab} lab
 * @param {import("../types/workshop.js").Miner} miner
 * @param {MineForm} form
 * @param {() => void} show makes the set that is mined here the one shown
 */
export function minePanel(store, lab, miner, form, show) {
  /** @param {"task" | "source"} name @param {string} words */
  const select = (name, words) => {
    const list = h("select", {
      onchange: () => {
        Object.assign(form, { [name]: list.value });
        if (name === "task") offerSources();
        look();
      },
    });
    return { list, label: h("label.field", {}, h("span", {}, words), list) };
  };
  const [task, source] = [select("task", "Task"), select("source", "Prompts")];
  /** @param {HTMLSelectElement} list @param {string} chosen @param {readonly (readonly [string, string])[]} options */
  const fill = (list, chosen, options) =>
    list.replaceChildren(...options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)));

  /** The prompts that the task takes: the page's own brings none of the right translations. */
  function offerSources() {
    const sourced = tasks().some((one) => one.task === form.task && one.family === "encoder-decoder");
    const fit = SOURCES.filter(([id]) => id !== "prompt" || !sourced);
    if (!fit.some(([id]) => id === form.source)) form.source = "heldout";
    fill(source.list, form.source, fit);
  }

  /** Those whose answers are right or wrong. */
  const tasks = () => (lab.session.catalogue?.kinds ?? []).filter((one) => one.judged);

  /** The tasks that the chosen models can answer. */
  function offer() {
    const family = familyOf(lab.session);
    const fit = fitting(tasks(), family);
    if (fit.length && !fit.some((one) => one.task === form.task)) form.task = fit[0].task;
    const told = (/** @type {typeof fit[number]} */ one) => (family ? one.task : `${one.task} (${one.family})`);
    fill(
      task.list,
      form.task,
      fit.map((one) => [one.task, told(one)]),
    );
    offerSources();
  }
  offer();
  /** @type {HTMLInputElement} */
  const number = h("input", {
    type: "number",
    min: 1,
    max: MOST,
    value: form.n,
    "aria-label": "Prompts",
    oninput: () => {
      form.n = number.valueAsNumber;
      look();
    },
  });
  /** @type {HTMLInputElement} */
  const naive = h("input", {
    type: "checkbox",
    checked: form.naive,
    onchange: () => {
      form.naive = naive.checked;
      look();
    },
  });
  const button = h("button.primary", { onclick: () => (miner.state.running ? miner.stop() : begin()) });
  const known = h("span.quiet");
  const offerAnew = () => {
    offer();
    look();
  };
  const models = withModels(lab.session, offerAnew);
  const leaveCatalogue = lab.session.on("catalogue", offerAnew); // the room may be there before it
  const bar = h("progress", { max: 1, value: 0, "aria-label": "Mining" });
  const words = h("p", { role: "status" });
  const prompt = h("p.quiet.prompt");
  const feed = h("ul.feed");
  const going = h("div.going", { hidden: true }, bar, words, prompt, feed);
  const panel = h(
    "details.mine",
    { open: miner.state.running },
    h("summary", {}, "Mine live"),
    h(
      "p.quiet",
      {},
      "For each place where the draft would write another token than the target: put the draft's token there, let " +
        "the target finish, and compare the answers. A swap that keeps the answer stays, and the search goes on " +
        "from there.",
    ),
    h(
      "div.mineform",
      {},
      task.label,
      source.label,
      h("label.field.count", {}, h("span", {}, `How many (1 to ${MOST})`), number),
      h(
        "label.check",
        { title: "Appendix A: each mismatch of the first response is tried by itself, and no swap is kept" },
        naive,
        h("span", {}, "naive: each by itself"),
      ),
      button,
      models.line,
    ),
    known,
    going,
  );

  function job() {
    const source = form.source;
    return {
      models: chosenModels(lab.session),
      task: form.task,
      source,
      n: source === "prompt" ? 1 : form.n,
      naive: form.naive,
      ...(source === "prompt" ? { prompt: lab.session.config?.prompt ?? "" } : {}),
    };
  }

  async function begin() {
    if (!counted()) return number.focus();
    began = true;
    await miner.start(job());
    began = false;
    if (!miner.state.error) look(); // which else says the same below
  }

  /** Whether the number of prompts is one; else it is said beside it. */
  function counted() {
    const fine = form.source === "prompt" || (Number.isInteger(form.n) && form.n >= 1 && form.n <= MOST);
    number.setAttribute("aria-invalid", String(!fine));
    if (!fine) known.textContent = `How many: a whole number from 1 to ${MOST}.`;
    return fine;
  }

  async function look() {
    number.disabled = form.source === "prompt";
    if (!counted() || miner.state.running) return;
    const asked = job();
    const other = () => JSON.stringify(asked) !== JSON.stringify(job()); // chosen meanwhile
    try {
      const set = await miner.kept(asked);
      if (other()) return;
      const done = set?.prompts.length ?? 0;
      const more = done < asked.n ? "mining goes on after them." : "ask for more to go on.";
      const mined = `${count(done, "prompt")} with these settings ${done === 1 ? "is" : "are"} mined already`;
      known.textContent = done ? `${mined}; ${more}` : "";
      if (!miner.state.running) button.textContent = set?.prompts.length ? "Resume" : "Mine";
    } catch (error) {
      if (!other()) known.textContent = said(error);
    }
  }

  function draw() {
    const { state } = miner;
    going.hidden = !state.phase;
    button.textContent = state.running
      ? "Stop"
      : button.textContent === "Stop" || !button.textContent
        ? "Mine"
        : button.textContent;
    const { progress } = state;
    if (progress) {
      bar.max = progress.total;
      bar.value = progress.done;
    } else bar.removeAttribute("value");
    words.textContent = state.error || told(state);
    words.classList.toggle("warn", Boolean(state.error));
    prompt.textContent =
      state.running && state.text
        ? `${state.text.slice(0, 160)}${state.text.length > 160 ? "…" : ""}  Mismatches left: ${state.left ?? 0}.`
        : "";
    feed.replaceChildren(
      ...(state.running ? state.feed : []).map((one) =>
        h(
          "li",
          {},
          one.important === undefined ? h("span.quiet", {}, "trying") : flagMark("mined", one.important),
          ` position ${one.t}: `,
          h("code", {}, visible(one.target_piece)),
          " → ",
          h("code", {}, visible(one.draft_piece)),
          one.important === undefined
            ? ""
            : one.important
              ? `, answer ${one.target_answer ?? "none"} becomes ${one.draft_answer ?? "none"}`
              : ", the answer stays",
        ),
      ),
    );
  }

  let began = false;
  let gone = false; // the room was left
  const off = miner.on(() => {
    if (began && miner.state.progress) {
      began = false;
      show(); // now that there is a set; until then what was on show stays
    }
    if (!gone) store.frame("minepanel", draw);
    else if (!began) off();
  });
  panel.addEventListener("close", () => {
    models.leave();
    leaveCatalogue();
    gone = true;
    if (!began) off(); // else the set that comes is still to be shown
  });
  draw();
  look();
  return panel;
}

/** How far it is, in words. @param {MinerState} state */
function told({ phase, running, progress }) {
  if (!progress) return running ? `${phase[0].toUpperCase()}${phase.slice(1)}.` : phase === "stopped" ? "Stopped." : "";
  const share = progress.labels ? ` (${percent(progress.important / progress.labels)})` : "";
  const left = running && progress.left_s != null ? `, about ${duration(1000 * progress.left_s)} left` : "";
  const prompts = `${progress.done} of ${count(progress.total, "prompt")}`;
  const labels = `${count(progress.labels, "label")}, ${progress.important} important${share}`;
  const now = `${prompts}, ${labels}, ${duration(1000 * progress.seconds)}${left}`;
  return phase === "done"
    ? `Done: ${now}.`
    : phase === "stopped"
      ? `Stopped: ${now}. Finished prompts are kept.`
      : `${now}.`;
}
