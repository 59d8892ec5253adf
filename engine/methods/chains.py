"""Cards of the methods that draft chains with a model, and of plain decoding."""

from engine.methods.compose import make_card

LEVIATHAN = "Leviathan, Kalman, Matias 2023, 'Fast Inference from Transformers via Speculative Decoding' (2211.17192)"

AR = make_card(
    name="ar",
    title="Autoregressive",
    paper="the reference: one target call a token",
    drafter="none",
    shape="none",
    rule="exact",
    guarantee="reference",
    family="baseline",
    summary="The target writes one token a call. Every speed here is measured against this run.",
    helps="It is the yardstick.",
    hurts="Each token reads all weights once.",
    formula="x_t ~ p(. | x_<t)",
)
SD = make_card(
    name="sd",
    title="Speculative decoding",
    paper=LEVIATHAN,
    drafter="model",
    shape="chain",
    rule="exact",
    summary="A small model drafts gamma tokens, and the target checks them in one call. A draft token is accepted with "
    "probability min(1, p/q); the first rejected one is replaced from the residual.",
    helps="Text that the small model writes as well as the large one.",
    hurts="Draft steps that cost three tenths of a target call or more, and drafts that fail early.",
    contested="'target' as correction is what the EASD paper prints for its baseline; above temperature 0 it is not "
    "lossless (E2).",
    formula="accept x if u < min(1, p(x)/q(x)); else draw from norm(max(p - q, 0))",
)
BLOCK = make_card(
    name="block_verify",
    title="Block verification",
    paper="Sun et al. 2025, 'Block Verification Accelerates Speculative Decoding' (2403.10444)",
    drafter="model",
    shape="chain",
    rule="block",
    summary="Speculative decoding that tests the whole draft before it cuts it: a draft token that would be rejected "
    "alone stays where one behind it passes. The same distribution as the target's, from fewer calls.",
    helps="Sampled text of uncertain wording, where single tests fail now and then although the draft as a whole is "
    "as likely under the target.",
    hurts="Nothing but a pass over both distributions a round; in greedy runs it is speculative decoding.",
    contested="An engine's first version kept the single test and the plain residual, which is another distribution "
    "(O28); drafts that end early are not in the paper (O29).",
    formula="w_i = min(1, w_(i-1) p_i/q_i); s_i = sum (w_i p - q)_+; accept up to the last i with u_i < s_i/(s_i + "
    "1 - w_i), all n if u_n < w_n",
)
EASD = make_card(
    name="easd",
    title="EASD",
    paper="Su, Zhang, He 2025, 'Entropy-Aware Speculative Decoding Toward Improved LLM Reasoning' (2512.23765)",
    drafter="model",
    shape="chain",
    rule="entropy_veto",
    summary="Speculative decoding that vetoes a draft token when both models are unsure and yet agree. The target's "
    "next choice is taken instead, on purpose against its own distribution.",
    helps="Reasoning, where a confident-looking agreement of two unsure models is a shared mistake.",
    hurts="Free wording: two unsure models that agree are often both right, and every veto ends a round. Where no "
    "target entropy exceeds tau_entropy nothing is ever vetoed: calibrate it for the pair.",
    contested="At least or above the overlap threshold (E1); correction from the target or the residual (E2); draft "
    "length not in the paper (E6); whose entropies calibrate tau (E8, E9).",
    formula="veto if H_d > tau and H_t > tau and overlap@n >= tau_overlap; then p(x) <- 0",
)
SPECDEC = make_card(
    name="specdec",
    title="SpecDec",
    paper="Xia et al. 2023, 'Speculative Decoding: Exploiting Speculative Execution for Accelerating Seq2seq "
    "Generation' (2203.16487)",
    drafter="model",
    shape="chain",
    rule="gap",
    defaults={"gamma": 10, "top_beta": 5, "tau_base": 3.0, "tau_gamma": 0.0},
    origins={"top_beta": "code", "tau_base": "code", "gamma": "paper"},
    summary="A draft token is accepted if it is among the target's first beta and not too far behind the first. Here "
    "with an autoregressive drafter instead of the paper's parallel one.",
    helps="Tasks with many equally good wordings, such as translation.",
    hurts="Facts: the second-best digit passes as easily as the second-best word.",
    contested="The paper's drafter writes all k tokens in one pass (C6).",
    formula="accept x if rank_p(x) <= beta and log p(x1) - log p(x) <= tau",
)
CM_ASD = make_card(
    name="cm_asd",
    title="CM-ASD",
    paper="Sen, Dasgupta, Waghela 2025, 'Confidence-Modulated Speculative Decoding for Large Language Models' "
    "(2508.15371)",
    drafter="model",
    shape="confidence_chain",
    rule="gap",
    defaults={"k_max": 10},
    summary="The drafter's confidence sets how many draft tokens are checked and how strictly. Entropy, logit margin "
    "and softmax margin are mixed into one number a token.",
    helps="Text whose difficulty changes: long checks on easy stretches, short ones elsewhere.",
    hurts="All k_max tokens are drafted even when few are checked; the printed threshold is loosest where the drafter "
    "is least sure.",
    contested="Entropy as confidence (C1); the threshold loosens when unsure as printed, the text says the opposite "
    "(C2); no hyper-parameters are given (C7).",
    formula="k = clip(floor(alpha C k_max)); accept x if rank_p(x) <= beta and gap <= tau_base + gamma (1 - C_t)",
)
TOPK = make_card(
    name="topk_lossy",
    title="Top-K",
    paper="baseline of 'AutoJudge: Judge Decoding Without Manual Annotation'",
    drafter="model",
    shape="chain",
    rule="top_k",
    family="judge",
    summary="Speculative decoding that also accepts any draft token among the target's K first choices.",
    helps="Shows how far a rule without learning gets.",
    hurts="It cannot tell a synonym from a wrong digit.",
    contested="The published code compares draft token i with the target's choices for token i + 1, so its K = 1 is "
    "not lossless; here each token meets the choices for its own position, and K = 1 is exact at temperature 0.",
    formula="accept x if the exact rule does, or if rank_p(x) <= K",
)

UNIVERSAL = make_card(
    name="universal",
    title="Universal assistance",
    paper="Timor et al. 2025, 'Accelerating LLM Inference with Lossless Speculative Decoding Algorithms for "
    "Heterogeneous Vocabularies' (2502.05202)",
    drafter="universal",
    shape="chain",
    rule="exact",
    summary="The draft model writes text with a tokenizer of its own, and the target's tokenizer cuts that text into "
    "draft tokens. Speculative decoding with any small model at hand.",
    helps="Pairs without a common tokenizer, where few pieces are spelt alike.",
    hurts="Every text is cut twice, and the draft model only ever takes its first choices.",
    contested="transformers matches windows of ten tokens to save a second cut; here whole texts are cut. gamma counts "
    "the draft model's tokens, which may be more or fewer of the target's.",
    formula="draft = tokens_p(text_p + text_q(argmax q, gamma times)); accept x with probability p(x)",
)

MIXED = make_card(
    name="mixed",
    title="Mixed drafting",
    paper="practice of llama.cpp, which asks its n-gram caches before the draft model; copies as in 'SAM Decoding' "
    "(2411.10666)",
    drafter="mixed",
    shape="chain",
    rule="exact",
    summary="Copies what followed where the end of the text occurred before, and lets the draft model write where "
    "nothing matches. A copy costs no model call, and can be much longer than a chain.",
    helps="Answers that quote their input between free passages.",
    hurts="Accidental matches: a short one copies what the draft model would have known better.",
    contested="How long a match must be to be trusted over the model is not published; min_match is ours.",
    formula="match >= min_match: copy min(copy_most, alpha x match); else gamma tokens of the draft model",
)
LAYER_SKIP = make_card(
    name="layer_skip",
    title="Layer skipping",
    paper="Zhang et al. 2023, 'Draft & Verify' (2309.08168); Elhoushi et al. 2024, 'LayerSkip' (2404.16710)",
    drafter="layer_skip",
    shape="chain",
    rule="exact",
    summary="The target drafts for itself with some of its layers left out, and checks with all of them. No second "
    "model, no second cache.",
    helps="Targets that were trained to leave early (LayerSkip), and any target for which no small model is at hand.",
    hurts="A target that was not: its early layers do not speak the output head's language, and half the layers cost "
    "half a call a draft token.",
    contested="Draft & Verify searches which layers to skip for each model; LayerSkip leaves after a layer for which "
    "it trains. Here the layers are named.",
    formula="q = softmax(head(norm(layers in `layers` only))); accept x if u < min(1, p(x)/q(x))",
)

CARDS = (AR, SD, BLOCK, UNIVERSAL, MIXED, LAYER_SKIP, EASD, SPECDEC, CM_ASD, TOPK)
