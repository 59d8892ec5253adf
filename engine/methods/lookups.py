"""Cards of the methods that draft without a model or a head."""

from engine.methods.compose import make_card
from engine.trees.template import tree_names

OPTIMISED = (
    "stand_stochastic" if "stand_stochastic" in tree_names() else "best_first"
)  # `python -m engine tree optimise`

PLD = make_card(
    name="pld",
    title="Prompt lookup",
    paper="Saxena 2023, 'Prompt Lookup Decoding'",
    drafter="pld",
    shape="chain",
    rule="exact",
    family="lookup",
    defaults={"gamma": 10},
    origins={"gamma": "code"},
    summary="Looks for the last few tokens earlier in the text and proposes what followed them there. No model drafts, "
    "so a miss costs nothing.",
    helps="Texts that repeat their input: summaries, edits, code, second attempts at a problem.",
    hurts="Free wording: a phrase that was never written cannot be found.",
    contested="The reference demands a continuation of full length (`continuation` full); Hugging Face and vLLM take "
    "what there is. "
    "That earlier trajectories are searched too is our reading of STAND's numbers.",
    formula="for n = 3, 2, 1: if x[-n:] stood at i, draft x[i+n : i+n+gamma]",
)
ANPD = make_card(
    name="anpd",
    title="ANPD",
    paper="Ou, Chen, Tian 2024, 'Lossless Acceleration of Large Language Model via Adaptive N-gram Parallel "
    "Decoding' (2404.08698)",
    drafter="anpd",
    shape="chain",
    rule="exact",
    family="lookup",
    defaults={"gamma": 10},
    summary="Counts what followed every short run of tokens, and drafts the most frequent next token again and again. "
    "Longer runs are asked first.",
    helps="Text with fixed phrases; the counts grow with every token.",
    hurts="A count says which token was most frequent, not how sure that is.",
    contested="N and the draft length of STAND's comparison are not reported; ties and the prompt's weight differ from "
    "the reference, which "
    "counts the prompt twice.",
    formula="draft argmax count(context, x), longest context first",
)
SAM = make_card(
    name="sam",
    title="SAM decoding",
    paper="Hu et al. 2024, 'SAM Decoding: Speculative Decoding via Suffix Automaton' (2411.10666)",
    drafter="sam",
    shape="chain",
    rule="exact",
    family="lookup",
    defaults={"gamma": 39},
    origins={"gamma": "code"},
    summary="A suffix automaton knows the longest end of the text that was seen before, in this problem or in a fixed "
    "collection. "
    "What followed it is copied, and the longer the match the more.",
    helps="Long verbatim repetitions, found at any length in constant time.",
    hurts="Text without repetitions, and copies of a first occurrence that later ones contradict.",
    contested="The reference samples its bonus token from the unprocessed distribution, which is not lossless; here it "
    "follows the sampling.",
    formula="draft min(gamma, alpha x match) tokens after the first occurrence",
)
RECYCLE = make_card(
    name="recycle",
    title="Token recycling",
    paper="Luo et al. 2024, 'Turning Trash into Treasure: Accelerating Inference of Large Language Models with "
    "Token Recycling' (2408.08696)",
    drafter="recycle",
    shape="static_tree",
    rule="exact",
    family="lookup",
    defaults={"tree": "heuristic"},
    origins={"tree": "ours", "tree_depth": "ours"},
    summary="Each target call leaves its eight first choices after every token it read, rejected ones included. A "
    "fixed tree is filled with them, token by token.",
    helps="Everything a little: after a few rounds most tokens have a row.",
    hurts="One row a token: the context before it is forgotten, and the last writer wins.",
    contested="The paper keeps one matrix for good (`scope` global). Its tree has no licence; ours is grown best-first "
    "to the same size.",
    formula="child j of a node with token t is M[t, j]; then M[t] <- top-8 of the target's logits after t",
)
SAM_RECYCLE = make_card(
    name="sam_recycle",
    title="SAM with recycling",
    paper=SAM.paper,
    drafter="sam_recycle",
    shape="static_tree",
    rule="exact",
    family="lookup",
    defaults={"tree": "heuristic"},
    origins={"tree": "ours", "tree_nodes": "ours", "tree_depth": "ours"},
    summary="Copies where the text matches five tokens or more of something seen, and fills a tree with recycled "
    "candidates elsewhere.",
    helps="Text that alternates between repetition and news.",
    hurts="A long but wrong match costs the round its tree.",
    contested="The threshold and the bias of the static match come from the reference code.",
    formula="match >= 5: SAM chain; else recycling tree",
)
STAND = make_card(
    name="stand",
    title="STAND",
    paper="Song et al. 2025, 'Accelerated Test-Time Scaling with Model-Free Speculative Sampling' (2506.04708)",
    drafter="stand",
    shape="static_tree",
    rule="exact",
    family="lookup",
    defaults={"tree": OPTIMISED},
    origins={"tree": "ours", "scope": "paper"},
    summary="Keeps the target's own distributions by the last one to four tokens and averages them over every visit. "
    "Children of a static tree "
    "are drawn from these distributions without replacement, so that candidates are as varied as the target.",
    helps="Several reasoning traces on one problem at temperature: each later trace finds the distributions of those "
    "before.",
    hurts="A first short answer: the table is empty when it starts.",
    contested="The stored mass is renormalised when drafting (S3), stored after temperature (S4), every committed "
    "position learns (S9), and "
    "tables are kept for one problem (S10). Noise is never reused (S7).",
    formula="q = mean distribution of the longest known context; children: top m of log q + Gumbel noise",
)

SUFFIX = make_card(
    name="suffix",
    title="Suffix decoding",
    paper="Oliaro et al. 2024, 'SuffixDecoding: Extreme Speculative Decoding for Emerging AI Applications' "
    "(2411.04975)",
    drafter="suffix",
    shape="chain",
    rule="exact",
    family="lookup",
    defaults={"gamma": 24},
    origins={"gamma": "code"},
    summary="Counts what followed every run of tokens in this text and in earlier answers, and drafts the most "
    "frequent continuation. How long it drafts follows from how much of the text matched and how sure the counts are.",
    helps="Agents, edits and second attempts: what was often written the same way is drafted far ahead, what varied is "
    "not.",
    hurts="A first answer to a new question, and runs that were followed by something else each time.",
    contested="The paper grows a tree of the counts; its code and vLLM draft a path, as here. The code also counts the "
    "end of the text itself as a sighting, which halves the share of what was seen once.",
    formula="D(x) = D(parent) count(x) / sum of its and its siblings' counts; the match that maximises sum D, at most "
    "spec_factor x match tokens",
)

LOOKAHEAD = make_card(
    name="lookahead",
    title="Lookahead decoding",
    paper="Fu et al. 2024, 'Break the Sequential Dependency of LLM Inference Using Lookahead Decoding' (2402.02057)",
    drafter="lookahead",
    shape="ngrams",
    rule="exact",
    family="lookup",
    summary="In every pass the target also predicts many coming tokens at once, each after its own earlier predictions "
    "(Jacobi iteration). The n-grams that come out are kept in a pool; those that begin with the last token are "
    "verified.",
    helps="A device with arithmetic to spare: fewer passes, without a draft model, a head or a text to copy from.",
    hurts="Each pass reads the window, some sixty tokens, and a longer draft, which costs time wherever a pass is not "
    "bound by reading weights.",
    contested="The published code loses the last token of an n-gram that is accepted whole (O30) and learns wrong "
    "n-grams of its own answer (O31); its window moves by one place however many tokens were accepted (O32); tokens "
    "that end the text are treated in two ways (O33).",
    formula="y[l, j] = argmax p(. | x, y[0, 1..j], y[1..l-1, j]); keep (y[0, j], ..., y[N-1, j]); draft what was kept "
    "after x",
)

CARDS = (PLD, ANPD, SAM, SUFFIX, LOOKAHEAD, RECYCLE, SAM_RECYCLE, STAND)
