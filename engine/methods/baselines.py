"""Cards of baselines that are no speculation, which papers compare with: the draft model alone."""

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

CARDS = (DRAFT_ALONE,)
