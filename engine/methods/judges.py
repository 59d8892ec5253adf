"""Cards of the judge methods: AutoJudge and its rule-based baselines. Top-K is with the chains."""

from engine.methods.compose import make_card

PAPER = "Garipov et al. 2025, 'AutoJudge: Judge Decoding Without Manual Annotation' (2504.20039)"

AUTOJUDGE = make_card(
    name="autojudge",
    title="AutoJudge",
    paper=PAPER,
    drafter="model",
    shape="chain",
    rule="judge",
    family="judge",
    defaults={"gamma": 16},
    summary="Speculative decoding that accepts a draft token that the exact rule rejects when a linear classifier on "
    "hidden states says that it does not change the answer. The classifier learns from swaps that were tried "
    "out and labelled by their "
    "effect on the answer.",
    helps="Tasks with a checkable answer and free wording, and long drafts: one accepted synonym saves the rest of the "
    "window.",
    hurts="Another task than the one it was mined on; answers in which every token counts.",
    contested="Grid and scaler of the classifier (A1, A2), threshold by 90 % recall or a sweep (A3), the window's last "
    "token (A5), window length (A6); the published loop emits no bonus token. On trees it is our extension.",
    formula="accept a mismatch x if sigmoid(w . h(x) + b) < threshold",
)
AUTOJUDGE_EAGLE = make_card(
    name="autojudge_eagle",
    title="AutoJudge on EAGLE-2",
    paper=PAPER + ", appendix J",
    drafter="eagle2",
    shape="dynamic_tree",
    rule="judge",
    family="judge",
    defaults={"tree_top_k": 1, "depth": 7, "total_token": 8},
    summary="EAGLE-2 drafts, verified exactly; where no child of the last accepted node matches, the judge is asked "
    "about each child in the order of their scores, and the first unimportant one is accepted.",
    helps="As AutoJudge, with cheap drafts. A tree (tree_top_k above 1) offers several synonyms where a chain offers "
    "one.",
    hurts="As AutoJudge. A judge that also reads the draft model's states needs a pass of that model a round besides "
    "the head.",
    contested="The published code has one trunk (tree_top_k 1, window 8); asking siblings in the order of their scores "
    "is ours.",
    formula="walk exactly; at the last accepted node accept the first child x with sigmoid(w . h(x) + b) < threshold",
)
MATH_RULE = make_card(
    name="math_rule",
    title="Math rule",
    paper="rule-based ablation (appendix K) of AutoJudge; " + PAPER,
    drafter="model",
    shape="chain",
    rule="math",
    family="judge",
    defaults={"gamma": 16},
    summary="Speculative decoding that accepts any mismatched draft token which is not mathematical. A second knob "
    "also asks that it is among the target's first K choices.",
    helps="Shows how far a hand-written list of important tokens gets.",
    hurts="Plans and logic in words: 'gave' for 'got' is no symbol, and changes the answer.",
    contested="The paper names neither the variables nor whose token is looked at; here either one, as knobs.",
    formula="accept a mismatch x if neither x nor the target's choice contains a digit, operator or variable",
)

CARDS = (AUTOJUDGE, AUTOJUDGE_EAGLE, MATH_RULE)
