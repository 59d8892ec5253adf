// Small runs for unit tests, in the form that the server sends; what a test does not name has a plain value.

/** A card of a method. */
export const card = (name, more = {}) => ({
  name,
  title: name,
  paper: "",
  drafter: "model",
  shape: "chain",
  rule: "exact",
  guarantee: "lossless",
  summary: "",
  helps: "",
  hurts: "",
  contested: "",
  formula: "",
  knobs: [],
  family: "chain",
  needs: [],
  ...more,
});

/** The head of a trace. */
export const head = (method, more = {}) => ({
  kind: "run",
  id: `run-${method}`,
  method,
  title: method,
  drafter: "model",
  shape: "chain",
  rule: "exact",
  guarantee: "lossless",
  knobs: {},
  models: { target: { id: "target" } },
  prompt: "Once",
  prompt_ids: [1],
  prompt_pieces: ["Once"],
  sampling: { temperature: 0, top_k: 0, top_p: 1 },
  seed: 0,
  max_new_tokens: 64,
  vocab: 100,
  dtype: "float32",
  device: "cpu",
  record: "full",
  stop: [],
  chat: false,
  top_n: 10,
  versions: {},
  created: "",
  extras: { process: "one" },
  ...more,
});

/**
 * A round of a chain: `drafted` candidates of which `accepted` hold, then the target's own token.
 * `ids` are the emitted tokens; index, start and positions are set by `trace`.
 */
export const round = ({ drafted = 0, accepted = 0, ids = null, draft_ms = 0, ...more } = {}) => {
  const emitted = ids ?? Array.from({ length: accepted + 1 }, (_, i) => 10 + i);
  const state = (i) => (i < accepted ? "accepted" : i === accepted ? "rejected" : "discarded");
  const nodes = Array.from({ length: drafted }, (_, i) => ({
    token: i < accepted ? emitted[i] : 90 + i,
    parent: i - 1,
    depth: i + 1,
    state: state(i),
    rank: i + 1,
  }));
  const last = drafted === 0 ? "target" : accepted === drafted ? "bonus" : "correction";
  return {
    kind: "round",
    index: 0,
    start: 0,
    drafted,
    fed: drafted + 1,
    levels: drafted,
    accepted,
    emitted: emitted.length,
    path: nodes.slice(0, accepted).map((_, i) => i),
    draft_ms,
    verify_ms: 0,
    other_ms: 0,
    extras: {},
    nodes,
    pruned: [],
    tokens: emitted.map((token, i) =>
      i < accepted
        ? { token, piece: ` t${token}`, origin: "draft", node: i }
        : { token, piece: ` t${token}`, origin: last },
    ),
    pieces: {},
    ...more,
  };
};

/** A whole run as a lane: rounds are numbered and placed one after another from `start`. */
export const trace = (key, rounds, { start = 0, guarantee = "lossless", ...more } = {}) => {
  let at = start;
  const placed = rounds.map((item, index) => {
    const tokens = item.tokens.map((token, i) => ({ ...token, pos: at + i, round: index }));
    const out = { ...item, index, start: at, tokens };
    at += tokens.length;
    return out;
  });
  const end = { kind: "end", reason: "limit", prefill_ms: 1, total_ms: 1, text: "", message: "" };
  return { key, card: card(key, { guarantee }), events: [head(key, { guarantee, ...more }), ...placed, end] };
};
