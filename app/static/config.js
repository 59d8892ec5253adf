// What is set in the run bar: plain data, and its form in a link.

/** The request that a preset makes. */
export function presetConfig(preset) {
  const { temperature = 0, top_p = 1, top_k = 0 } = preset.sampling ?? {};
  const lanes = preset.lanes.map(({ method, knobs }) => ({ method, knobs: { ...knobs } }));
  const { name, models, prompt, seed, chat, max_new_tokens } = preset;
  return { preset: name, models, prompt, lanes, max_new_tokens, temperature, top_p, top_k, seed, chat };
}

/** The request that would repeat runs on the page, from their heads; null when they do not belong together. */
export function headsConfig(runs, models) {
  const heads = runs.map((run) => run.head);
  if (!heads.length || heads.some((head) => !head || head.prompt !== heads[0].prompt)) return null;
  const [{ prompt, sampling, seed, max_new_tokens }] = heads;
  const lanes = heads.map(({ method, knobs }) => ({ method, knobs: { ...knobs } }));
  const chat = Boolean(heads[0].chat ?? heads[0].extras?.chat);
  return {
    preset: "",
    models,
    prompt,
    lanes,
    max_new_tokens,
    temperature: sampling.temperature ?? 0,
    top_p: sampling.top_p ?? 1,
    top_k: sampling.top_k ?? 0,
    seed,
    chat,
  };
}

/** Whether two requests ask for the same runs. */
export const sameConfig = (a, b) => JSON.stringify(writeConfig(a)) === JSON.stringify(writeConfig(b));

const NUMBERS = {
  n: ["max_new_tokens", 128],
  t: ["temperature", 0],
  p: ["top_p", 1],
  k: ["top_k", 0],
  seed: ["seed", 0],
};

/** The request as pairs of a query string; defaults are left out. */
export function writeConfig(config) {
  const pairs = [];
  if (config.preset) pairs.push(["preset", config.preset]);
  if (config.models) pairs.push(["models", config.models]);
  pairs.push(["prompt", config.prompt]);
  for (const { method, knobs } of config.lanes) {
    const inside = Object.entries(knobs ?? {}).map((pair) => pair.map(encodeURIComponent).join(":")); // values may hold commas and colons
    pairs.push(["m", inside.length ? `${method}(${inside.join(",")})` : method]);
  }
  for (const [key, [name, fallback]] of Object.entries(NUMBERS))
    if (config[name] !== fallback) pairs.push([key, String(config[name])]);
  if (config.chat) pairs.push(["chat", "1"]);
  return pairs;
}

/** The request in a query string, or null when there is none; models that it does not name are the first. @param {URLSearchParams} query @param {object[]} cards @param {string[]=} models */
export function readConfig(query, cards, models = []) {
  if (!query.has("prompt") || !query.has("m")) return null;
  const config = {
    preset: query.get("preset") ?? "",
    models: query.get("models") || (models[0] ?? ""),
    prompt: query.get("prompt"),
    lanes: [],
    chat: query.has("chat"),
  };
  for (const [key, [name, fallback]] of Object.entries(NUMBERS))
    config[name] = query.has(key) ? Number(query.get(key)) : fallback;
  for (const text of query.getAll("m")) {
    const [, method, inside] = text.match(/^([^(]*)(?:\((.*)\))?$/) ?? [];
    const card = cards.find((one) => one.name === method);
    config.lanes.push({
      method,
      knobs: Object.fromEntries(pairsOf(inside ?? "").map(([name, value]) => [name, typed(card, name, value)])),
    });
  }
  return config;
}

/** Names and values inside a method's brackets. Older links did not escape: there a part without a colon goes on with the value before. */
function pairsOf(inside) {
  const pairs = [];
  for (const part of inside.split(",").filter(Boolean)) {
    const at = part.indexOf(":");
    if (at < 0 && pairs.length) pairs.at(-1)[1] += `,${plain(part)}`;
    else if (at > 0) pairs.push([plain(part.slice(0, at)), plain(part.slice(at + 1))]);
  }
  return pairs;
}

function plain(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a bare per cent sign of an older link
  }
}

function typed(card, name, text) {
  const knob = card?.knobs.find((item) => item.name === name);
  if (knob?.kind === "switch") return text === "true";
  return knob?.kind === "number" || (!knob && text !== "" && !Number.isNaN(Number(text))) ? Number(text) : text;
}
