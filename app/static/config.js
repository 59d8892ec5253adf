// @ts-check
// What is set in the run bar: plain data, and its form in a link.

/**
 * @typedef {import("./types/lab.js").Config} Config
 * @typedef {import("./types/wire.js").PageCard} PageCard
 * @typedef {import("./types/card.js").KnobValue} KnobValue
 */

/** The request that a preset makes. @param {import("./types/wire.js").PagePreset} preset @returns {Config} */
export function presetConfig(preset) {
  const { temperature = 0, top_p = 1, top_k = 0 } = preset.sampling;
  const lanes = preset.lanes.map(({ method, knobs }) => ({ method, knobs: { ...knobs } }));
  const { name, models, prompt, seed, chat, max_new_tokens } = preset;
  return {
    ...problemOf(preset),
    preset: name,
    models,
    prompt,
    lanes,
    max_new_tokens,
    temperature,
    top_p,
    top_k,
    seed,
    chat,
  };
}

/**
 * Task and reference answer, where there are any: with them the server tells right from wrong.
 * @param {{readonly task?: unknown, readonly answer?: unknown}} given
 * @returns {Pick<Config, "task" | "answer">}
 */
function problemOf({ task, answer }) {
  if (typeof task !== "string" || !task) return {};
  return typeof answer === "string" && answer ? { task, answer } : { task };
}

/** What one request gives all its lanes. @param {import("./types/trace.js").RunStarted} head */
const shared = ({ preset, prompt, sampling, seed, max_new_tokens, chat, stop }) =>
  JSON.stringify([preset, prompt, sampling, seed, max_new_tokens, chat, stop ?? []]);

/**
 * The request that would repeat runs on the page, from their heads; null when no one request makes them. Models that
 * are not here give way to the first that are.
 * @param {readonly import("./types/store.js").Run[]} runs
 * @param {readonly string[]} here
 * @returns {Config | null}
 */
export function headsConfig(runs, here) {
  const heads = runs.flatMap((run) => run.head ?? []);
  if (!heads.length || heads.length < runs.length) return null;
  if (heads.some((head) => shared(head) !== shared(heads[0]))) return null;
  const [{ preset, prompt, sampling, seed, max_new_tokens, chat, extras }] = heads;
  return {
    ...problemOf(extras),
    preset: "",
    models: preset && here.includes(preset) ? preset : (here[0] ?? ""),
    prompt,
    lanes: heads.map(({ method, knobs }) => ({
      method,
      knobs: /** @type {Record<string, KnobValue>} */ ({ ...knobs }),
    })),
    max_new_tokens,
    temperature: Number(sampling.temperature ?? 0),
    top_p: Number(sampling.top_p ?? 1),
    top_k: Number(sampling.top_k ?? 0),
    seed,
    chat,
  };
}

/** What of a run the settings do not say, so that Run makes another; empty where they say all.
 * @param {readonly import("./types/store.js").Run[]} runs */
export function unsaid(runs) {
  const heads = runs.flatMap((run) => run.head ?? []);
  const stops = [...new Set(heads.flatMap(({ stop }) => stop ?? []))].map((text) => JSON.stringify(text));
  if (stops.length) return `These runs were to end at ${stops.join(", ")}, which the run bar does not set.`;
  if (heads.some(({ chat, extras }) => chat && extras.turn))
    return "These runs go on in a chat, of whose turns the run bar sets the first alone.";
  return "";
}

/**
 * The settings of the runs on the stage with other numbers for one of them, or with another temperature for all; null
 * where its lane is none of theirs.
 * @param {Config} ran @param {import("./types/store.js").Run} run @param {Record<string, number>} moved
 * @returns {Config | null}
 */
export function movedConfig(ran, run, { temperature, ...knobs }) {
  const nth = Number(/\.(\d+)$/.exec(run.key)?.[1] ?? 1); // of the lanes of one method
  const lane = ran.lanes.filter(({ method }) => method === run.head?.method)[nth - 1];
  if (!lane) return null;
  const lanes = ran.lanes.map((one) => (one === lane ? { ...one, knobs: { ...one.knobs, ...knobs } } : one));
  return temperature === undefined ? { ...ran, lanes } : { ...ran, temperature };
}

/**
 * What the page opens with when its address asks for nothing: the first preset, else the first two methods.
 * @param {import("./types/wire.js").Catalogue} catalogue
 * @returns {Config}
 */
export function firstConfig({ presets, first, models, methods, limits }) {
  const preset = presets.find((item) => item.name === first);
  if (preset) return presetConfig(preset);
  return {
    preset: "",
    models: models[0] ?? "",
    prompt: "",
    lanes: methods.slice(0, Math.min(2, limits.lanes)).map(({ name }) => ({ method: name, knobs: {} })),
    max_new_tokens: 128,
    temperature: 0,
    top_p: 1,
    top_k: 0,
    seed: 0,
    chat: false,
  };
}

/** Whether two requests ask for the same runs, whatever case their settings come from. @param {Config} a
 * @param {Config} b */
export function sameConfig(a, b) {
  const [one, other] = [a, b].map((config) => JSON.stringify(writeConfig({ ...config, preset: "" })));
  return one === other;
}

/** Names in a link: the setting, and its value when the link does not name it. */
const NUMBERS = /** @type {const} */ ({
  n: ["max_new_tokens", 128],
  t: ["temperature", 0],
  p: ["top_p", 1],
  k: ["top_k", 0],
  seed: ["seed", 0],
});

/** The request as pairs of a query string; defaults are left out. @param {Config} config
 * @returns {[string, string][]} */
export function writeConfig(config) {
  /** @type {[string, string][]} */
  const pairs = [];
  if (config.preset) pairs.push(["preset", config.preset]);
  if (config.models) pairs.push(["models", config.models]);
  pairs.push(["prompt", config.prompt]);
  for (const { method, knobs } of config.lanes) {
    // commas and colons inside
    const inside = Object.entries(knobs).map((pair) => pair.map(encodeURIComponent).join(":"));
    pairs.push(["m", inside.length ? `${method}(${inside.join(",")})` : method]);
  }
  for (const [key, [name, fallback]] of Object.entries(NUMBERS))
    if (config[name] !== fallback) pairs.push([key, String(config[name])]);
  if (config.chat) pairs.push(["chat", "1"]);
  if (config.task) pairs.push(["task", config.task]);
  if (config.task && config.answer) pairs.push(["answer", config.answer]);
  return pairs;
}

/**
 * The request in a query string, or null when there is none; models that it does not name are the first.
 * @param {URLSearchParams} query
 * @param {readonly PageCard[]} cards
 * @param {readonly string[]} [models]
 * @returns {Config | null}
 */
export function readConfig(query, cards, models = []) {
  const prompt = query.get("prompt");
  if (prompt === null || !query.has("m")) return null;
  /** @param {keyof typeof NUMBERS} key */
  const number = (key) => /** @type {number} */ (numeral(query.get(key) ?? String(NUMBERS[key][1])));
  return {
    ...problemOf({ task: query.get("task"), answer: query.get("answer") }),
    preset: query.get("preset") ?? "",
    models: query.get("models") || (models[0] ?? ""),
    prompt,
    lanes: query.getAll("m").map((text) => laneOf(text, cards)),
    max_new_tokens: number("n"),
    temperature: number("t"),
    top_p: number("p"),
    top_k: number("k"),
    seed: number("seed"),
    chat: query.has("chat"),
  };
}

/** A number; what is none stays as it was written, so that its refusal says it. @param {string} text */
const numeral = (text) => (Number.isNaN(Number(text)) ? text : Number(text));

/** "name(knob:value,...)" @param {string} text @param {readonly PageCard[]} cards */
function laneOf(text, cards) {
  const [, method, inside = ""] = text.match(/^([^(]*)(?:\((.*)\))?$/s) ?? [text, text];
  const card = cards.find((one) => one.name === method);
  return {
    method,
    knobs: Object.fromEntries(pairsOf(inside).map(([name, value]) => [name, typed(card, name, value)])),
  };
}

/**
 * Names and values inside a method's brackets.
 * @param {string} inside
 * @returns {[string, string][]}
 */
function pairsOf(inside) {
  const parts = inside.split(",").map((part) => /** @type {const} */ ([part, part.indexOf(":")]));
  return parts.flatMap(([part, at]) => (at > 0 ? [[unescaped(part.slice(0, at)), unescaped(part.slice(at + 1))]] : []));
}

/** @param {string} text */
function unescaped(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a bare per cent sign, in a link written by hand
  }
}

/** A knob's value from a link; the card says of what type. @param {PageCard | undefined} card @param {string} name
 * @param {string} text */
function typed(card, name, text) {
  const knob = card?.knobs.find((item) => item.name === name);
  if (knob?.kind === "switch") return text === "true";
  return knob?.kind === "number" || (!knob && text !== "") ? numeral(text) : text;
}
