/** Public names of the numbers in other engines, and their formulas; docs: Names. Kept equal to engine/analysis/names.py by a test. */

/** @type {Object<string, [string, string]>} formula, names elsewhere */
export const NAMES = {
  accept_by_depth: [
    "kept to depth d / rounds with a draft; conditional: / rounds that tested depth d",
    "vLLM spec_decode_num_accepted_tokens_per_pos (the count above the line), llama.cpp log",
  ],
  accepted_histogram: [
    "h[i] = rounds that kept i guesses",
    "vLLM acceptance_histogram, SGLang spec_correct_drafts_histogram",
  ],
  accepted: [
    "guesses kept, relaxed ones included",
    "vLLM num_accepted_draft_tokens, SGLang spec_num_correct_drafts, llama.cpp draft_n_accepted",
  ],
  tau: [
    "tokens / target calls, the correction or bonus included",
    "vLLM mean_acceptance_length, SGLang spec_accept_length, llama.cpp log",
  ],
  accept_rate_tested: ["accepted / (accepted + rejected)", "Leviathan's alpha, for a chain"],
  tcr_histogram: ["rounds whose last kept guess has draft rank r", "HeteroSpec's TCR"],
  draft_s: ["sum of the rounds' time in the drafter", ""],
  verify_s: ["sum of the rounds' time in the target", ""],
  other_s: ["sum of the rounds' time in neither", ""],
  tokens_per_s: ["tokens / (draft + target + other)", ""],
  prefill_s: ["time before the first round", ""],
  cost_ratio: ["(drafter's time / draft levels) / (target's time / calls)", "Leviathan's c"],
};
