"""Cards of non-autoregressive systems: no speculation, but texts whose places are written at once, then improved."""

from functools import partial

from engine.methods.compose import make_card

_card = partial(make_card, shape="canvas", rule="canvas", family="non-autoregressive")
SAMPLING = "Sampling settings do nothing to it: each place takes its likeliest token."

CMLM = _card(
    name="cmlm",
    title="CMLM, mask-predict",
    paper="Ghazvininejad et al. 2019, 'Mask-Predict: Parallel Decoding of Conditional Masked Language Models' "
    "(1904.09324)",
    drafter="cmlm",
    summary="A masked language model over the target's encoder predicts the length, writes all places at once, then "
    "hides those that it is least sure of and predicts them anew. No speculation: the target is never asked.",
    helps="Few passes whatever the length: four or ten in place of one a token.",
    hurts="Places are written without knowing each other, so words are repeated or left out; the length is a bet.",
    contested=f"{SAMPLING} The paper trains on a large model's translations and its own encoder; here the target's "
    "encoder is frozen and its greedy texts are learnt.",
    formula="hide n = N (T - t) / T places of lowest probability; y_i = argmax p(y_i | y_seen, x)",
)

GLAT_CTC = _card(
    name="glat_ctc",
    title="GLAT with CTC",
    paper="Qian et al. 2021, 'Glancing Transformer for Non-Autoregressive Neural Machine Translation' (2008.07905), "
    "with the CTC loss (Libovicky and Helcl 2018; Gu and Kong 2021)",
    drafter="glat_ctc",
    summary="One pass writes more places than the text has; blanks and repeated tokens fall out, so no length is "
    "predicted. In training it glances at some of the right words and learns the others.",
    helps="One pass a text, of any length.",
    hurts="A single pass cannot weigh one wording against another: where several are right it may mix them.",
    contested=SAMPLING,
    formula="max over alignments a of prod_i p(a_i | x); text = a without repetitions and blanks",
)

DAT = _card(
    name="dat",
    title="DA-Transformer",
    paper="Huang et al. 2022, 'Directed Acyclic Transformer for Non-Autoregressive Machine Translation' (2205.07459)",
    drafter="dat",
    summary="One pass writes a token at each vertex of a graph and the transitions between them; the text is a path. "
    "Wordings that exclude each other lie on different paths.",
    helps="One pass a text; several right translations do not mix, for a path holds one of them.",
    hurts="The path is taken step by step, and what follows is not weighed.",
    contested=SAMPLING,
    formula="max over paths a of prod_i p(a_i | a_{i-1}, x) p(y_i | a_i, x), one step at a time",
)

REWRITE_NAT = _card(
    name="rewrite_nat",
    title="RewriteNAT",
    paper="Geng et al. 2021, 'Learning to Rewrite for Non-Autoregressive Neural Machine Translation' (EMNLP 2021)",
    drafter="rewrite_nat",
    summary="A locator marks the tokens that look wrong and a revisor writes them anew, until nothing is marked. No "
    "speculation: the target is never asked.",
    helps="Passes are spent on what is wrong, so an easy text ends early.",
    hurts="A wrong token that looks right stays, and so does a wrong length.",
    contested=SAMPLING,
    formula="mark i where p(wrong_i | y, x) > 1/2; y_i = argmax p(y_i | y_unmarked, x)",
)

CARDS = (CMLM, GLAT_CTC, DAT, REWRITE_NAT)
