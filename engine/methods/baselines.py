"""Cards of baselines that are no speculation, which papers compare with: the draft model alone, beam search."""

from dataclasses import replace

from engine.methods.compose import make_card

DRAFT_ALONE = replace(
    make_card(
        name="draft_alone",
        title="Draft model alone",
        paper="baseline: the small model of the pair writes the whole text",
        drafter="none",
        shape="none",
        rule="exact",
        guarantee="lossy",
        needs=("draft",),
        family="baseline",
        summary="The draft model writes one token a call, and the target is never asked. No speculation: it bounds "
        "what lossy methods can lose in quality and gain in speed.",
        helps="It shows what the target's checks are worth on a task.",
        hurts="Every token that the target would have written otherwise.",
        contested="EASD's single small models may have sampled at temperature 0.7 (E10); here every run states its "
        "sampling, and majority voting is several runs of this lane.",
        formula="x_t ~ q(. | x_<t)",
    ),
    writer="draft",
)

BEAM = make_card(
    name="beam",
    title="Beam search",
    paper="baseline of 'Entropy-Aware Speculative Decoding Toward Improved LLM Reasoning' and of 'Confidence-Modulated "
    "Speculative Decoding for Large Language Models'",
    drafter="beams",
    shape="beams",
    rule="beams",
    family="baseline",
    summary="N responses grow side by side, and those of the highest log-probability go on. No speculation: one pass a "
    "token reads the tree of all beams, and a token is committed once every beam that is left holds it.",
    helps="Short outputs with one best wording, such as translations.",
    hurts="Speed: each pass reads all beams again from where they part. Long texts, whose most probable wording is "
    "dull.",
    contested="Sampling settings do nothing to it (E10); length penalty and stopping are not given. CM-ASD divides by "
    "5 beams (C8).",
    formula="keep the N highest sum_t log p(x_t | x_<t); choose max of that sum / length^penalty",
)

CARDS = (DRAFT_ALONE, BEAM)
