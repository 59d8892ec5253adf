"""Cards of the methods that draft trees or use heads, and of AdaEDL."""

from engine.methods.compose import make_card

EAGLE2 = make_card(
    name="eagle2",
    title="EAGLE-2",
    paper="Li et al. 2024, 'EAGLE-2: Faster Inference of Language Models with Dynamic Draft Trees' (2406.16858)",
    drafter="eagle2",
    shape="dynamic_tree",
    rule="exact",
    family="tree",
    summary="A one-layer head writes the target's next hidden state from the last one and the next token. A tree of "
    "its likeliest candidates is grown level by level, and the best nodes are checked in one call.",
    helps="One target call checks many ways to go on, so an early second-best candidate costs nothing.",
    hurts="Every round verifies total_token tokens, however sure the head is.",
    contested="The paper has six levels, which is depth 5; depth 7, the code's default, grows the eight of EAGLE-3's "
    "paper (H4).",
    formula="value of a node = product of the head's probabilities on its path; verify the total_token - 1 best",
)
EAGLE3 = make_card(
    name="eagle3",
    title="EAGLE-3",
    paper="Li et al. 2025, 'EAGLE-3: Scaling up Inference Acceleration of Large Language Models via Training-Time "
    "Test' (2503.01840)",
    drafter="eagle3",
    shape="dynamic_tree",
    rule="exact",
    family="tree",
    summary="Like EAGLE-2, but the head reads three layers of the target and was trained on its own drafts, several "
    "steps deep. Its drafts stay good further down the tree.",
    helps="Long runs of predictable text: acceptance falls slowly with depth.",
    hurts="Every round verifies total_token tokens, however sure the head is; tokens outside its vocabulary can never "
    "be drafted.",
    formula="g = fc(h_2, h_L/2, h_L-3); value of a node = product of the head's probabilities on its path",
)
MEDUSA = make_card(
    name="medusa",
    title="Medusa",
    paper="Cai et al. 2024, 'Medusa: Simple LLM Inference Acceleration Framework with Multiple Decoding Heads' "
    "(2401.10774)",
    drafter="medusa",
    shape="static_tree",
    rule="exact",
    family="tree",
    defaults={"tree_nodes": 63, "tree_depth": 4},
    origins={"tree_nodes": "code", "tree_depth": "ours"},
    summary="Several heads predict the next tokens from one hidden state, each on its own. Their first choices are "
    "combined into a fixed tree that is checked in one call.",
    helps="Drafting is almost free: no head waits for another.",
    hurts="A head does not know what the head before it proposed, so deep combinations seldom fit together.",
    contested="The published trees were searched for other models; this one is grown best first. Medusa's own "
    "rule is that of `medusa_typical`.",
    formula="draft token d + 1 = top tokens of W_d (h + SiLU(A_d h)); combine, verify",
)
MEDUSA_TYPICAL = make_card(
    name="medusa_typical",
    title="Medusa, typical acceptance",
    paper=MEDUSA.paper,
    drafter="medusa",
    shape="static_tree",
    rule="typical",
    family="tree",
    defaults={"tree_nodes": 63, "tree_depth": 4},
    origins={"tree_nodes": "code", "tree_depth": "ours"},
    summary="Medusa with its own rule: a draft token is accepted when the target finds it plausible, more freely where "
    "the target is unsure. At temperature 0 it is the exact rule.",
    helps="High temperatures, where exact sampling rejects most draft tokens.",
    hurts="The output no longer follows the target's distribution.",
    contested="The token behind a path is drawn from the target here; the code takes its first choice, or draws among "
    "those above the threshold. Which of epsilon and delta is 0.09 and which 0.3 differs within the code.",
    formula="accept x if p(x) > min(epsilon, delta exp(-H(p))); the longest accepted path",
)
HYDRA = make_card(
    name="hydra",
    title="Hydra",
    paper="Ankner et al. 2024, 'Hydra: Sequentially-Dependent Draft Heads for Medusa Decoding' (2402.05109)",
    drafter="hydra",
    shape="static_tree",
    rule="exact",
    family="tree",
    defaults={"tree_nodes": 63, "tree_depth": 4},
    origins={"tree_nodes": "code", "tree_depth": "ours"},
    summary="Medusa whose heads also read the tokens drafted before them. One extra layer over the target's states "
    "feeds them all.",
    helps="Combinations fit together, so deeper draft tokens are accepted than with Medusa.",
    hurts="The heads wait for each other.",
    contested="HeteroSpec does not say which variant it compares with; this is prefix-mlp (Hydra++).",
    formula="draft token d + 1 = top tokens of W_d mlp_d(prefix, root, draft tokens 1 to d)",
)
BLOCKWISE = make_card(
    name="blockwise",
    title="Blockwise",
    paper="Stern, Shazeer, Uszkoreit 2018, 'Blockwise Parallel Decoding for Deep Autoregressive Models' (1811.03115)",
    drafter="medusa",
    shape="chain",
    rule="exact",
    family="tree",
    defaults={"gamma": 4},
    summary="The Medusa heads' first choices as one chain, checked by the target in the next call.",
    helps="The simplest of all: one draft token a head, no tree.",
    hurts="The first wrong head ends the block.",
    contested="CM-ASD compares with blocks of 10 and 25; a block is one longer than the number of heads at most.",
    formula="accept the longest prefix that equals the target's own choices",
)
ADAEDL = make_card(
    name="adaedl",
    title="AdaEDL",
    paper="Agrawal et al. 2024, 'AdaEDL: Early Draft Stopping for Speculative Decoding of Large Language Models via an "
    "Entropy-based Lower Bound on Token Acceptance Probability' (2410.18351)",
    drafter="model",
    shape="entropy_stop",
    rule="exact",
    summary="Speculative decoding that stops drafting when the draft's entropy says that the next draft token will "
    "probably be rejected. The threshold adapts to the acceptance seen.",
    helps="Slow draft models: hopeless draft tokens are not written.",
    hurts="Cheap drafters, where a wasted draft token costs less than a lost one.",
    contested="First threshold and first acceptance rate are not published; who adapts in which direction differs "
    "between codes.",
    formula="stop if 1 - sqrt(g H(q)) < lambda",
)
ADAEDL_EAGLE = make_card(
    name="adaedl_eagle",
    title="AdaEDL on EAGLE-3",
    paper=ADAEDL.paper + "; ported as in HeteroSpec, A.10",
    drafter="eagle3",
    shape="entropy_stop_tree",
    rule="exact",
    family="tree",
    summary="An EAGLE-3 tree that stops growing when the frontier's entropy is too high.",
    helps="Shows what early stopping does to a tree.",
    hurts="It saves draft steps, the cheap part, and cuts branches that would have recovered.",
    contested="HeteroSpec does not say how it asks a whole frontier; three ways are offered (scope).",
    formula="stop if 1 - sqrt(g H(q)) < lambda",
)
HETEROSPEC = make_card(
    name="heterospec",
    title="HeteroSpec",
    paper="Liu et al. 2025, 'HeteroSpec: Leveraging Contextual Heterogeneity for "
    "Efficient Speculative "
    "Decoding' (2505.13254)",
    drafter="eagle3",
    shape="entropy_binned",
    rule="exact",
    family="tree",
    summary="EAGLE-3 that sums the draft's entropy along its surest path. In the three lowest bins it drafts "
    "deeper, in the lowest two it also verifies fewer nodes.",
    helps="Templated stretches: code, formulas, set phrases. Fewer target calls and far fewer tokens verified.",
    hurts="Text without easy stretches falls into the other bins, which are plain EAGLE-3.",
    contested="Which bins are low and what each gets (H1, H2); whether the root counts in N (H3); base depth (H4); "
    "training data (H5, H6); "
    "the meta-path (H7).",
    formula="Phi = sum of top-K entropies on the meta-path; bin i < 3: depth + Delta, N' = floor(gamma_i N) + Delta, "
    "Delta = alpha - i",
)

MTP = make_card(
    name="mtp",
    title="Multi-token prediction",
    paper="DeepSeek-AI 2024, 'DeepSeek-V3 Technical Report' (2412.19437), section 2.2",
    drafter="mtp",
    shape="chain",
    rule="exact",
    family="tree",
    defaults={"gamma": 6},
    summary="Models such as DeepSeek-V3, GLM-4-MoE, Qwen3-Next and MiMo are trained with one more layer that writes "
    "the token after the next. It drafts a chain, reading its own states for each further token. Gemma 4's assistants "
    "are models apart, which read the target's keys.",
    helps="Targets that bring the layer with them: nothing else to load, and drafts that fit the target.",
    hurts="One level deep in training, it is less sure with each further token.",
    contested="vLLM hands on the state before the head's last norm for DeepSeek and GLM and the normed one for "
    "Qwen3-Next; transformers the normed one for all, as here.",
    formula="h' = layer(W [norm(emb(x)); norm(h)]); q = head(norm(h'))",
)

DFLASH = make_card(
    name="dflash",
    title="DFlash",
    paper="Chen, Liang and Liu 2026, 'DFlash: Block Diffusion for Flash Speculative Decoding' (2602.06036)",
    drafter="dflash",
    shape="chain",
    rule="exact",
    family="tree",
    defaults={"gamma": 15},
    origins={"gamma": "code"},
    summary="A few layers fill a whole block of masks in one pass. Beside the block they read states of several of the "
    "target's layers at every token before.",
    helps="Long drafts for the price of one step: texts whose next words follow from what the target already knows.",
    hurts="The places of a block do not know one another's tokens, so where several continuations are likely they mix.",
    contested="How many masks (O25); the name (O26); the last layer's number (O27).",
    formula="q_1 .. q_m = head(layers([x_n, mask, .., mask] | W [h_a; h_b; ..])) in one pass",
)

CARDS = (EAGLE2, EAGLE3, MTP, DFLASH, MEDUSA, MEDUSA_TYPICAL, HYDRA, BLOCKWISE, ADAEDL, ADAEDL_EAGLE, HETEROSPEC)
