"""Cards of methods that a reward model guides: RSD."""

from engine.methods.compose import make_card

RSD = make_card(
    name="rsd",
    title="RSD",
    paper="Liao et al. 2025, 'Reward-Guided Speculative Decoding for Efficient LLM Reasoning' (arXiv 2501.19324), the "
    "baseline of 'Entropy-Aware Speculative Decoding Toward Improved LLM Reasoning'",
    drafter="model",
    shape="steps",
    rule="reward",
    family="judge",
    summary="The draft model writes a whole step, and a process reward model scores it. A step with a high enough "
    "score is accepted without asking the target; in place of any other the target writes the step.",
    helps="Answers in steps that a reward model can tell apart: the target writes only where the draft goes wrong.",
    hurts="Every wrong step that the reward model likes, and speed where it dislikes many: the target then writes "
    "token by token. Texts unlike those that the reward model learnt from.",
    contested="The published code strips and re-encodes each step as text; here the draft's own tokens stay. The "
    "paper's general weights of a step are not here, only its binary one.",
    formula="accept step s if r(x, y, s) >= threshold, else s ~ p(. | x, y)",
)

CARDS = (RSD,)
