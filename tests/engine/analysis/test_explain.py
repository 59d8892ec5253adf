from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from engine.analysis.explain import why
from engine.analysis.reasons import SENTENCES
from engine.errors import ConfigError
from engine.rules import RULES, THRESHOLDS
from engine.trace.events import Cell, Node, Round, RunStarted
from engine.trace.records import Reason
from engine.trace.store import Trace
from tests.engine.analysis.made import CAT, DOG, HAS, IS, LINE, SAMPLED, SAT, WORDS, ar, bush, chain, head, light, sd
from tests.typed import known

TOP = [(DOG, 0.55), (CAT, 0.12), (HAS, 0.1)]


def one(
    state: str,
    reason: Mapping[str, Any],
    greedy: bool = True,
    candidate: int = CAT,
    last: int | None = DOG,
    rule: str = "exact",
    knobs: dict[str, Any] | None = None,
    **node: Any,
) -> str:
    """The sentence for the first of three draft tokens, given its state and reason, and its rule with some knobs."""
    event = chain(0, 0, state + "dd", [candidate, SAT, SAT], last, **node)
    event.nodes[0].reason = cast(Reason, reason)
    about: dict[str, Any] = {} if greedy else {"sampling": SAMPLED}
    about |= {"rule": rule, "knobs": {knob.name: knob.default for knob in RULES[rule].KNOBS} | (knobs or {})}
    return why(head(**about), event, node=0, pieces=dict(enumerate(WORDS)), thresholds=THRESHOLDS)


def test_greedy() -> None:
    match, miss = {"id": "greedy_match", "choice": DOG}, {"id": "greedy_mismatch", "choice": DOG}
    assert (
        one("a", match, candidate=DOG, top_target=TOP) == "Accepted: `dog` (0.55) is the target's first choice as well."
    )
    assert one("r", miss, top_target=TOP) == (
        "Rejected: draft gave `cat` 0.50, target 0.40; the target's first choice is `dog` (0.55), which is emitted instead."
    )


def test_the_three_model_sentences() -> None:
    """Those of the page's design, word for word where the case is the same."""
    distribution_t, distribution_d = [(DOG, 0.62), (CAT, 0.12), (HAS, 0.26)], [(CAT, 0.41), (HAS, 0.29), (SAT, 0.30)]
    ratio = {"id": "ratio_reject", "p": 0.12, "q": 0.41, "ratio": 0.12 / 0.41, "u": 0.63, "correction": "residual"}
    assert one("r", ratio, greedy=False, law_target=distribution_t, law_draft=distribution_d) == (
        "Rejected: draft gave `cat` 0.41, target 0.12, so its acceptance probability was 0.29; the draw was 0.63. "
        "Replaced from the residual by `dog` (1.00)."
    )
    veto = {
        "id": "veto",
        "h_draft": 2.31,
        "h_target": 2.18,
        "overlap": 0.8,
        "tau_h": 2.0,
        "tau_h_draft": 2.0,
        "tau_o": 0.8,
        "n": 5,
    }
    assert one("v", veto, rule="entropy_veto") == (
        "Vetoed: both entropies (2.31, 2.18 nats) exceed 2.0 and 4 of the top 5 agree; the target's next choice `dog` is emitted."
    )
    judge = {"id": "judge_relaxed", "score": 0.03, "threshold": 0.12, "choice": HAS}
    assert one("x", judge, rule="judge", knobs={"judge_threshold": 0.12}) == (
        "Accepted although the target prefers `·has`: the judge gives importance 0.03, below 0.12."
    )
    assert one("x", judge | {"threshold": 0.5}, rule="judge").endswith("importance 0.03, below 0.5.")  # its own


def test_a_veto_of_another_token_is_told() -> None:
    veto = {"h_draft": 2.31, "h_target": 2.18, "overlap": 0.8, "tau_h": 2.0, "n": 5, "remove": HAS, "fired": True}
    ratio = {"id": "ratio_accept", "p": 0.6, "q": 0.5, "ratio": 1.0, "u": 0.4}
    assert one("a", veto | ratio, greedy=False, rule="entropy_veto") == (
        "Accepted: draft gave `cat` 0.50, target 0.60, at least as much, so it is accepted for certain. Before that a "
        "veto barred `·has`, the draft's first choice: both entropies (2.31, 2.18 nats) exceed 2.0 and 4 of the top 5 "
        "agree."
    )


def test_residual_is_only_given_a_number_when_the_distributions_are_whole() -> None:
    ratio = {"id": "ratio_reject", "p": 0.12, "q": 0.41, "ratio": 0.29, "u": 0.63, "correction": "residual"}
    half = one("r", ratio, greedy=False, law_target=[(DOG, 0.3)], law_draft=[(CAT, 0.4)])
    assert half.endswith("Replaced from the residual by `dog`.")
    distribution_t, distribution_d = [(DOG, 0.5), (HAS, 0.5)], [(CAT, 0.5), (HAS, 0.3), (DOG, 0.2)]
    assert one("r", ratio, greedy=False, law_target=distribution_t, law_draft=distribution_d).endswith(
        "by `dog` (0.60)."
    )  # 0.3 / (0.3 + 0.2)
    target = ratio | {"correction": "target"}
    assert one("r", target, greedy=False, law_target=distribution_t).endswith(
        "Replaced from the target's own distribution by `dog` (0.50)."
    )


def test_ratio_accepts() -> None:
    kept = {"id": "ratio_accept", "p": 0.12, "q": 0.41, "ratio": 0.29, "u": 0.13}
    assert one("a", kept, greedy=False) == (
        "Accepted: draft gave `cat` 0.41, target 0.12, so its acceptance probability was 0.29; the draw was 0.13."
    )
    sure = {"id": "ratio_accept", "p": 0.62, "q": 0.41, "ratio": 1.0, "u": 0.93}
    assert one("a", sure, greedy=False) == (
        "Accepted: draft gave `cat` 0.41, target 0.62, at least as much, so it is accepted for certain."
    )


def test_close_draws_can_be_told_apart() -> None:
    close = {"id": "ratio_reject", "p": 0.1, "q": 0.4, "ratio": 0.2501, "u": 0.2504, "correction": "residual"}
    assert "probability was 0.2501; the draw was 0.2504" in one("r", close, greedy=False)


def test_looked_up_draft_tokens_have_no_draft_probability() -> None:
    said = one("r", {"id": "greedy_mismatch", "choice": DOG}, top_target=TOP)
    event = chain(0, 0, "r", [CAT], DOG)
    event.nodes[0].q, event.nodes[0].reason = None, {"id": "greedy_mismatch", "choice": DOG}
    unknown = "`cat` was drafted with a probability that was not recorded, target 0.40"
    assert unknown in why(head(), event, node=0) != said
    event.nodes[0].source = {"kind": "model", "role": "draft"}
    assert unknown in why(head(), event, node=0), "what a model drafted was not looked up"
    for kind in ("ngram", "table", "automaton", "adjacency", "counts"):
        event.nodes[0].source = {"kind": kind}
        assert "`cat` was looked up, target 0.40" in why(head(), event, node=0)
    event.nodes[0].source = {"kind": "text", "role": "draft", "step": 0}
    assert "`cat` was cut from the draft model's text, target 0.40" in why(head(), event, node=0)


def test_tree_rules() -> None:
    first: Reason = {"id": "child_reject", "p": 0.3, "p_left": 0.3, "ratio": 0.3, "u": 0.5}
    later: Reason = {"id": "child_accept", "p": 0.2, "p_left": 0.29, "ratio": 0.29, "u": 0.1}
    trace = bush()
    event, started = trace.rounds[0], head(sampling=SAMPLED)
    event.nodes[0].reason, event.nodes[1].reason = first, later
    assert why(started, event, node=0) == (
        "Rejected: the target gives `cat` 0.30, so it is accepted with this probability; the draw was 0.50. "
        "Its sibling `dog` was taken."
    )
    assert why(started, event, node=1) == (
        "Accepted: the target gives `dog` 0.20, 0.29 once rejected siblings are out, so it is accepted with that probability; "
        "the draw was 0.10."
    )
    event.nodes[4].reason = first
    assert why(started, event, node=4).endswith(
        "Replaced by `↵`, drawn from what is left of the target's distribution."
    )
    event.nodes[0].reason = {"id": "wr_reject", "p": 0.1, "q": 0.4, "ratio": 0.25, "u": 0.5}
    event.nodes[1].reason = {"id": "wr_accept", "p": 0.2, "q": 0.4, "ratio": 0.5, "u": 0.3}
    assert "siblings left" not in why(started, event, node=0)
    assert why(started, event, node=1) == (
        "Accepted: of what earlier siblings left, draft gave `dog` 0.40, target 0.20, so its acceptance probability was 0.50; "
        "the draw was 0.30."
    )
    event.nodes[0].reason = {"id": "greedy_mismatch", "choice": DOG}
    assert why(head(), event, node=0).endswith("first choice is `dog`, which is another of the draft's tokens.")
    event.nodes[0].reason = {"id": "greedy_mismatch", "choice": LINE}
    assert why(head(), event, node=0).endswith("first choice is `↵`, and its sibling `dog` was taken.")


def test_the_last_of_several_refusals_explains_the_correction() -> None:
    trace = bush()
    event = trace.rounds[0]
    event.nodes.append(Node(CAT, 3, 3, "rejected", reason={"id": "greedy_mismatch", "choice": LINE}))
    event.nodes[4].reason = {"id": "greedy_mismatch", "choice": LINE}
    assert "`cat` was drafted" in why(trace.head, event, token=2)


def test_a_veto_beside_the_path_does_not_claim_the_correction() -> None:
    trace = bush()
    trace.rounds[0].nodes[0].state, trace.rounds[0].nodes[0].reason = "vetoed", {"id": "veto", "tau_h": 2.0}
    trace.head.rule = "entropy_veto"
    assert why(trace.head, trace.rounds[0], node=0, thresholds=THRESHOLDS).endswith(
        "the target's next choice is emitted."
    )


def test_untested() -> None:
    trace = bush()
    event = trace.rounds[0]
    assert why(trace.head, event, node=5) == "Never tested: the earlier draft token `cat` was rejected."
    event.nodes[0].state, event.nodes[5].reason = "discarded", {"id": "untested", "after": None}
    assert why(trace.head, event, node=5) == "Never tested: the draft went on with the other draft token `dog`."
    cut = chain(0, 0, "ad", [CAT, SAT], None)
    assert why(head(), cut, node=1) == "Never tested: the response ends before it."
    cut.nodes[1].reason = {"id": "greedy_match", "choice": SAT}
    assert why(head(), cut, node=1) == "Dropped: `sat` was checked, but the response ends before it."


@pytest.mark.parametrize(
    ("ablation", "said"),
    [
        ("no_overlap", "both entropies (2.31, 2.18 nats) exceed 2.0;"),
        ("no_draft_entropy", "the target's entropy (2.18 nats) exceeds 2.0 and 4 of the top 5 agree;"),
        ("target_entropy_only", "the target's entropy (2.18 nats) exceeds 2.0;"),
    ],
)
def test_veto_ablations_name_only_what_was_asked(ablation: str, said: str) -> None:
    reason: Reason = {"id": "veto", "h_draft": 2.31, "h_target": 2.18, "overlap": 0.8, "tau_h": 2.0}
    reason |= {"tau_h_draft": 2.0, "n": 5}
    event = chain(0, 0, "v", [CAT], DOG)
    event.nodes[0].reason = reason
    knobs = {knob.name: knob.default for knob in RULES["entropy_veto"].KNOBS} | {"ablation": ablation}
    started = head(rule="entropy_veto", knobs=knobs)
    assert said in why(started, event, node=0, thresholds=THRESHOLDS)
    own = one("v", reason, rule="entropy_veto", knobs={"tau_entropy_draft": 1.5})
    assert "entropy (2.18 nats) exceeds 2.0 and the draft's entropy (2.31 nats) exceeds 1.5 and 4 of" in own


def test_other_vetoes() -> None:
    reason = {"id": "veto", "h_draft": 2.31, "h_target": 2.18, "overlap": 0.8}
    own: dict[str, Any] = {"rule": "entropy_veto"}
    assert one("v", reason, greedy=False, **own).endswith("`cat` is barred, and the target draws `dog` from the rest.")
    said = one("r", reason, **own)
    assert said.startswith("Rejected: both") and said.endswith("the exact rule rejects it as well.")
    assert one("v", reason, last=None, **own).endswith("the target's next choice is emitted.")


def test_gap() -> None:
    base = {"rank": 2, "gap": 0.05, "choice": DOG, "confidence": 0.8}
    own: dict[str, Any] = {"rule": "gap", "knobs": {"top_beta": 3, "tau_base": 0.1}}
    assert one("a", base | {"id": "gap_accept", "rank": 1}, candidate=DOG, top_target=TOP, **own).startswith(
        "Accepted: `dog` (0.55) is"
    )
    assert one("x", base | {"id": "gap_accept"}, top_target=TOP, **own) == (
        "Accepted although the target prefers `dog` (0.55): `cat` ranks 2 with the target, within the top 3, "
        "and is 0.05 nats behind, within 0.30, at confidence 0.80."
    )
    bad = base | {"id": "gap_reject", "rank": 7, "gap": 2.0, "confidence": None}
    assert one("r", bad, **own) == (
        "Rejected: `cat` ranks 7 with the target, outside the top 3, and is 2.00 nats behind, above 0.1; "
        "the target's first choice is `dog`."
    )
    near = one("r", base | {"id": "gap_reject", "gap": 0.4}, **own)
    assert "within the top 3, and is 0.40 nats behind, above 0.30, at confidence 0.80" in near
    text = one("r", base | {"id": "gap_reject", "gap": 0.95}, rule="gap", knobs={"threshold_mode": "text"})
    assert "is 0.95 nats behind, above 0.90, at confidence 0.80" in text
    only = base | {"id": "gap_reject", "rank": 7}
    assert "outside the top 3, and is 0.05 nats behind, within 0.30" in one("r", only, **own)


def test_lossy_overrides() -> None:
    top: dict[str, Any] = {"rule": "top_k", "knobs": {"accept_k": 4}}
    assert one("x", {"id": "topk_relaxed", "rank": 3, "choice": DOG}, **top) == (
        "Accepted although the target prefers `dog`: `cat` ranks 3 with the target, within the top 4."
    )
    assert one("r", {"id": "greedy_mismatch", "rank": 9, "choice": DOG}, **top).endswith(
        " `cat` ranks 9 with the target, outside the top 4."
    )
    judge: dict[str, Any] = {"rule": "judge", "knobs": {"judge_threshold": 0.12}}
    assert one("r", {"id": "judge_refused", "score": 0.1203, "threshold": 0.12, "choice": DOG}, **judge) == (
        "Rejected: the target prefers `dog` to `cat`, and the judge gives importance 0.1203, not below 0.12."
    )
    edge = {"id": "judge_refused", "score": None, "threshold": 0.12, "edge": True, "choice": DOG}
    assert one("r", edge, **judge).endswith("and the judge is not asked about the last draft token of a window.")
    assert one("r", edge | {"edge": False}, **judge).endswith(
        "and the judge is not asked: the text is longer than the draft model, which it reads, can read."
    )
    plain = {"id": "heuristic_relaxed", "found": None, "rank": 3, "choice": DOG}
    assert one("x", plain, rule="math") == "Accepted although the target prefers `dog`: `cat` is no mathematics."
    assert one("x", plain, rule="math", knobs={"math_k": 4}).endswith(
        ": `cat` is no mathematics and ranks 3 with the target, within the top 4."
    )
    maths = {"id": "heuristic_refused", "found": "7", "rank": 3, "choice": DOG}
    assert one("r", maths, rule="math") == (
        "Rejected: the target prefers `dog` to `cat`, and `7` counts as mathematics."
    )
    assert one("r", maths | {"found": None}, rule="math", knobs={"math_k": 2}).endswith(
        "and `cat` is no mathematics and ranks 3 with the target, outside the top 2."
    )


def test_an_override_of_a_draw_speaks_of_the_draw() -> None:
    """Above temperature 0 the target need not prefer another token: it may be the draft token's own first choice."""
    drawn = {"p": 0.6, "q": 0.9, "ratio": 0.6667, "u": 0.8, "score": 0.03, "threshold": 0.12, "id": "judge_relaxed"}
    judge: dict[str, Any] = {"rule": "judge", "greedy": False, "top_target": [(CAT, 0.6), (DOG, 0.4)]}
    assert one("x", drawn, **judge) == (
        "Accepted although the exact rule accepts `cat` with probability 0.67 and the draw was 0.80: "
        "the judge gives importance 0.03, below 0.12."
    )
    assert one("r", drawn | {"score": 0.2, "id": "judge_refused"}, **judge) == (
        "Rejected: the exact rule accepts `cat` with probability 0.67 and the draw was 0.80, "
        "and the judge gives importance 0.20, not below 0.12."
    )


def test_typical() -> None:
    own: dict[str, Any] = {"rule": "typical", "greedy": False}
    assert one("a", {"id": "typical_accept", "p": 0.12, "h": 2.2}, **own) == (
        "Accepted: the target gives `cat` 0.12, above the threshold 0.033, at entropy 2.20 nats."
    )
    loose = own | {"knobs": {"epsilon": 0.2, "delta": 1.0}}
    assert "0.01, not above the threshold 0.11, at" in one("r", {"id": "typical_reject", "p": 0.01, "h": 2.2}, **loose)


def test_the_sentence_follows_the_declaration_and_not_what_was_written_beside_it() -> None:
    """A limit that the reason claims is not what was compared: `replay` tells such a trace, the sentence stays right."""
    claimed = {"id": "gap_reject", "rank": 2, "gap": 9.0, "choice": DOG, "confidence": None}
    said = one("r", claimed | {"tau": 99.0, "top_beta": 50, "failed": "top_beta"}, rule="gap")
    assert "within the top 3, and is 9.00 nats behind, above 0.1" in said


def test_a_rule_that_declares_nothing_to_the_reader_is_neutral() -> None:
    event = chain(0, 0, "r", [CAT], DOG)
    event.nodes[0].reason = {"id": "gap_reject", "rank": 7, "gap": 2.0}
    assert why(head(rule="gap"), event, node=0) == "`cat` was rejected by the rule exact."


def test_unknown_kinds_are_neutral() -> None:
    assert one("a", {"id": "who knows"}) == "`cat` was accepted by the rule exact."
    event = chain(0, 0, "r", [CAT], DOG)
    event.nodes[0].rule = None
    assert why(head(), event, node=0) == "`cat` was rejected."


def explain(trace: Trace, pos: int) -> str:
    """The sentence for the token at a position of the response."""
    token = trace.tokens[pos]
    return why(trace.head, trace.rounds[token.round], token=token, pieces=trace.pieces)


def test_tokens() -> None:
    trace = sd()
    trace.rounds[0].nodes[0].reason = {"id": "greedy_match", "choice": CAT}
    trace.rounds[0].nodes[1].reason = {"id": "greedy_mismatch", "choice": DOG}
    assert explain(trace, 0) == "Accepted: `cat` is the target's first choice as well."
    assert explain(trace, 1).startswith("Correction: `dog`. Rejected: draft gave `·has` 0.50")
    assert (
        explain(trace, 5)
        == "Bonus: `↵` comes from the same target call, since all 3 draft tokens on the path were accepted."
    )
    assert explain(ar([CAT]), 0) == "Not drafted: `cat` (0.80) is the target's first choice; nothing was drafted."
    assert "own draw" in explain(ar([CAT], sampling=SAMPLED), 0)
    small = light(sd())
    assert explain(small, 0) == "Drafted: `cat` was proposed and accepted; this trace was recorded without the details."
    assert explain(small, 1) == "Correction: `dog` replaces a draft token that the rule rejected."
    small.tokens[0].origin = "relaxed"
    assert explain(small, 0).startswith("Drafted: `cat` was proposed and accepted by a lossy rule; ")
    assert why(trace.head, trace.rounds[0], token=trace.tokens[0]) == why(trace.head, trace.rounds[0], token=0)


def test_a_place_that_a_round_does_not_have_is_no_other_one() -> None:
    trace = sd()
    last = trace.rounds[1]
    assert last.start > 0 and why(trace.head, last, token=np.int64(last.start)) == why(  # type: ignore[arg-type]
        trace.head, last, token=last.start
    )
    ends = last.start + len(last.tokens)
    for place in (0, last.start - 1, ends, 1.5, None.__class__):
        with pytest.raises(IndexError, match=rf"no position .*: it has from {last.start} to {ends - 1}"):
            why(trace.head, last, token=place)  # type: ignore[arg-type]
    for place in (-1, len(last.nodes), 1.5):
        with pytest.raises(IndexError, match=r"no node .*: it has from 0 to"):
            why(trace.head, last, node=place)  # type: ignore[arg-type]
    for given in ((trace, last), (trace.head, trace), (trace.head, 0)):
        with pytest.raises(ConfigError, match=r"`trace\.head` and `trace\.rounds\[0\]`, not "):
            why(*given)  # type: ignore[arg-type]


def test_rounds() -> None:
    trace = sd()
    assert [why(trace.head, event) for event in trace.rounds] == [
        "Round 0: 1 of 3 draft tokens accepted, the next one was rejected; the target call gives 2 tokens.",
        "Round 1: 3 of 3 draft tokens accepted, nothing on the way was rejected; the target call gives 4 tokens.",
        "Round 2: 1 of 3 draft tokens accepted, nothing on the way was rejected; the target call gives 1 token.",
    ]
    plain = ar([CAT])
    assert why(plain.head, plain.rounds[0]) == "Round 0: nothing was drafted, so the target call gives 1 token."


def test_why_a_chosen_draft_ended_and_has_no_branches_is_told_with_both_numbers_of_each() -> None:
    event = chain(0, 0, "aa", [CAT, IS], DOG, "bonus")
    told = "Round 0: 2 of 2 draft tokens accepted, nothing on the way was rejected; the target call gives 3 tokens."
    event.extras = {"least": 0.25, "following": 0.13, "branches": 0.4, "branches_least": 0.7}
    bare = " It has no branches: by what is known so far they would bring 0.40 tokens, and their time is worth 0.70."
    stop = " Drafting stopped there: one more draft token could bring 0.13 tokens, and its time is worth 0.25."
    assert why(head(), event) == told + bare + stop
    event.levels = 1
    assert why(head(), event).endswith(stop.replace("draft token", "level"))
    event.extras = {"least": 0.25, "following": None, "branches": 0.4}
    assert why(head(), event) == told, "something else ended it"


def test_a_beam_that_is_left_is_told_with_both_log_probabilities() -> None:
    left = {"id": "beam_left", "n": 4, "best": -3.25, "last": -2.5}
    assert one("r", left) == (
        "Left: none of 4 beams goes on from `cat`; with its best next token its log-probability is -3.25 nats, that of "
        "the last that goes on -2.50."
    )
    assert one("r", {"id": "beam_left"}) == "Left: none of the beams goes on from `cat`; others rate higher."


def test_a_token_written_in_place_is_told_without_its_iterations_too() -> None:
    event = replace(ar([CAT]).rounds[0], fed=0, extras={"iteration": 1})
    event.tokens[0].origin = "placed"
    assert why(head(), event, token=0) == (
        "Written in place: `cat`. This trace was recorded without what its iterations left. No target looked at it."
    )
    event.canvas = [Cell(CAT, 1, q=0.5)]
    assert why(head(), event, token=0) == (
        "Written in iteration 1: `cat` (its model gives it 0.50). No target looked at it."
    )


def test_other_tokenizers_and_shapes_that_the_model_changed_are_told() -> None:
    said = one("a", {"id": "greedy_match", "choice": CAT}, source={"kind": "model", "role": "draft", "common": 0.834})
    assert said.endswith(
        " Its draft model has another tokenizer: 0.83 of its distribution is on pieces that both have."
    )
    trace, plain = sd(), ar([CAT])
    for some in (trace, plain):
        known(RunStarted, some.head).extras["adapted"] = "Drafts a chain here."
    assert why(trace.head, trace.rounds[0]).endswith("the target call gives 2 tokens. Drafts a chain here.")
    assert "chain" not in why(plain.head, plain.rounds[0])


def test_pieces_of_earlier_rounds_are_used() -> None:
    event = chain(0, 0, "r", [CAT], DOG)
    event.pieces, event.nodes[0].reason = {}, {"id": "greedy_mismatch", "choice": IS}
    assert "`#4`" in why(head(), event, node=0)
    assert "`·is`" in why(head(), event, node=0, pieces={IS: " is", LINE: "\n"})


@pytest.mark.parametrize("kind", [*sorted(SENTENCES), *THRESHOLDS])
@pytest.mark.parametrize("state", "ardxv")
def test_a_reason_without_its_numbers_still_gives_a_sentence(kind: str, state: str) -> None:
    rule = kind if kind in THRESHOLDS else "exact"
    for trace in (Trace([head(), chain(0, 0, state, [CAT], None)]), bush()):
        trace.head.rule = rule
        started: RunStarted = trace.head
        event: Round = trace.rounds[0]
        for index, node in enumerate(event.nodes):
            node.reason = {"id": kind}
            said = why(started, event, node=index, thresholds=THRESHOLDS)
            assert said.endswith(".") and "None" not in said
