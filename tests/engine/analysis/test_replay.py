from typing import Any, cast

import pytest

from engine.analysis import replay as replays
from engine.analysis.decisions import acceptance, overlap
from engine.analysis.replay import Replay, WhatIf
from engine.errors import ConfigError
from engine.rules import RULES, THRESHOLDS
from engine.trace.events import Node
from engine.trace.records import Reason
from engine.trace.store import Trace
from tests.engine.analysis.made import CAT, DOG, HAS, IS, SAMPLED, SAT, ar, chain, head, light

FIVE = [(CAT, 0.3), (DOG, 0.25), (HAS, 0.2), (IS, 0.1), (SAT, 0.05)]
FOUR_OF_THEM = [(CAT, 0.3), (DOG, 0.25), (HAS, 0.2), (IS, 0.1), (7, 0.05)]


def defaults(rule: str) -> dict[str, Any]:
    return {knob.name: knob.default for knob in RULES[rule].KNOBS}


EASD: dict[str, Any] = {"rule": "entropy_veto", "knobs": defaults("entropy_veto")}


def replay(trace: Trace) -> Replay:
    return replays.replay(trace, THRESHOLDS.get(trace.head.rule))


def what_if(trace: Trace, **knobs: Any) -> WhatIf:
    return replays.what_if(trace, THRESHOLDS.get(trace.head.rule), **knobs)


def trace(
    states: str,
    reasons: list[dict[str, Any]],
    last: int = DOG,
    nodes: list[dict[str, Any]] | None = None,
    **changed: Any,
) -> Trace:
    """One round of cat, has, sat with these states and reasons."""
    event = chain(0, 0, states, [CAT, HAS, SAT][: len(states)], last)
    for node, reason in zip(event.nodes, reasons, strict=False):
        node.reason, node.p, node.q = cast(Reason, reason), None, None
    for node, given in zip(event.nodes, nodes or [], strict=False):
        for name, value in given.items():
            setattr(node, name, value)
    return Trace([head(**changed), event])


def with_knobs(usual: dict[str, Any], knobs: dict[str, Any]) -> dict[str, Any]:
    return usual | {"knobs": usual["knobs"] | knobs}


def greedy(**changed: Any) -> Trace:
    match, miss = {"id": "greedy_match", "choice": CAT}, {"id": "greedy_mismatch", "choice": DOG}
    return trace("ard", [match, miss, {"id": "untested", "after": 1}], **changed)


def sampled(u: float = 0.63, **reason: Any) -> Trace:
    kept = {"id": "ratio_accept", "p": 0.6, "q": 0.4, "ratio": 1.0, "u": 0.99}
    lost = {"id": "ratio_reject", "p": 0.12, "q": 0.48, "ratio": 0.25, "u": u, "correction": "residual"} | reason
    return trace("ard", [kept, lost], sampling=SAMPLED)


def easd(states: str = "ard", first: dict[str, Any] | None = None, **knobs: Any) -> Trace:
    """cat with both entropies 1.8 and four common choices, then has, refused."""
    unsure = {"h_draft": 1.8, "h_target": 1.8, "top_draft": FIVE, "top_target": FOUR_OF_THEM, "overlap": 0.8}
    reasons = [first or {"id": "greedy_match", "choice": CAT}, {"id": "greedy_mismatch", "choice": DOG}]
    return trace(states, reasons, nodes=[unsure, unsure], **with_knobs(EASD, knobs))


def wrong_nodes(trace: Trace) -> list[str]:
    """Faults of decisions; the emission of these made-up rounds is left aside."""
    return [fault for fault in replay(trace).faults if "node" in fault]


def test_greedy_decisions_agree() -> None:
    found = replay(greedy())
    assert (found.checked, found.unknown, found.agrees) == (2, 0, True)


def check_sampled() -> None:
    assert replay(sampled()).agrees
    tree = {"id": "child_accept", "p": 0.2, "p_left": 0.4, "ratio": 0.4, "u": 0.3}
    without = {"id": "wr_reject", "p": 0.1, "q": 0.4, "ratio": 0.25, "u": 0.25}  # not below: refused
    assert replay(trace("ard", [tree, without], sampling=SAMPLED)).agrees


def test_sampled_decisions_agree() -> None:
    check_sampled()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (trace("rdd", [{"id": "greedy_match", "choice": CAT}]), "recorded rejected, recomputed accepted"),
        (sampled(u=0.24), "recorded rejected, recomputed accepted"),
        (sampled(ratio=0.5), "the ratio 0.5 is not 0.25"),
        (sampled(q=0.1), "recomputed accepted"),
        (greedy(last=SAT, nodes=[{}, {"top_target": [(DOG, 0.5)]}]), "emits 6 where the target's first choice is 2"),
        (
            trace(
                "a",
                [{"id": "ratio_accept", "ratio": 0.9, "p": 0.9, "q": 1.0, "u": 0.1}],
                nodes=[{"accept_prob": 0.3}],
                sampling=SAMPLED,
            ),
            "acceptance probability 0.3",
        ),
        (
            trace(
                "a",
                [{"id": "ratio_accept", "ratio": 0.9, "p": 0.9, "q": 1.0, "u": 0.1}],
                nodes=[{"u": 0.2}],
                sampling=SAMPLED,
            ),
            "draw of the decision",
        ),
        (greedy(nodes=[{"margin": 0.5, "p": 0.4, "top_target": [(CAT, 0.4)]}]), "the margin 0.5 is not 0"),
    ],
)
def test_each_disagreement_is_named(wrong: Trace, said: str) -> None:
    assert any(said in fault for fault in replay(wrong).faults), replay(wrong).faults


def test_what_was_not_recorded_is_unknown_not_wrong() -> None:
    found = replay(trace("ar", [{"id": "odd"}, {"id": "odd"}]))
    assert (found.checked, found.unknown, found.agrees) == (0, 2, True)
    assert replay(trace("ar", [{"id": "odd"}, {"id": "odd"}], sampling=SAMPLED)).unknown == 2


@pytest.mark.parametrize("value", ["x", True, None, [1], float("nan"), float("inf"), 10**400, -1e301])
def test_a_threshold_is_moved_to_a_number(value: Any) -> None:
    with pytest.raises(ConfigError, match="tau_entropy must be a number of at most 1e\\+300 in size, not "):
        what_if(easd("vdd", {"id": "accept", "h_draft": 0.1, "h_target": 0.2, "overlap": 0.8}), tau_entropy=value)


def test_light_traces_have_nothing_to_replay() -> None:
    for ask in (replay, what_if):
        with pytest.raises(ConfigError, match="lightly"):
            ask(light(greedy()))
    for ask_any in (replays.replay, replays.what_if):
        with pytest.raises(ConfigError, match=r"A trace is wanted, not \["):
            ask_any([greedy()], None)  # type: ignore[arg-type]
    assert replay(ar([CAT])).checked == 0


def check_vetoes() -> None:
    veto = {
        "id": "veto",
        "h_draft": 2.3,
        "h_target": 2.2,
        "overlap": 0.8,
        "tau_h": 2.0,
        "tau_o": 0.8,
        "n": 5,
        "choice": CAT,
    }
    assert replay(easd("vdd", veto)).agrees
    assert not replay(easd("vdd", veto | {"h_draft": 1.9})).agrees  # it should not have fired
    assert not replay(easd("vdd", veto, overlap_cmp="gt")).agrees  # 0.8 is not above 0.8
    assert not replay(easd("ard", veto)).agrees
    assert replay(easd("vdd", veto | {"overlap": 0.0, "h_draft": 0.0}, ablation="target_entropy_only")).agrees
    quiet = trace(
        "rdd",
        [{"id": "greedy_mismatch", "choice": CAT}],
        **EASD,
        nodes=[{"h_draft": 9.0, "h_target": 9.0, "overlap": 1.0}],
    )
    assert not replay(quiet).agrees  # a match that was recorded as refused, and a trigger that was missed


def test_vetoes_replay() -> None:
    check_vetoes()


def check_used_entropies() -> None:
    """At another entropy temperature the node's own entropies decide nothing; without the rule's, nothing is claimed."""
    used = {"id": "greedy_match", "choice": CAT, "h_draft": 2.5, "h_target": 2.5, "overlap": 0.8}
    assert wrong_nodes(easd("ard", used, entropy_temperature=3.0))  # 2.5 exceeds 2
    assert not wrong_nodes(easd("ard", used | {"h_draft": 0.1}, entropy_temperature=3.0))
    assert what_if(easd("ard", used | {"h_draft": 1.9}, entropy_temperature=3.0), tau_entropy=1.85).changed
    assert replay(easd(entropy_temperature=3.0)).unknown == 2


def test_entropies_that_a_rule_used_come_first() -> None:
    check_used_entropies()


def test_a_mark_says_which_token_was_barred() -> None:
    """penalize=argmax: the numbers of the reason are those after the draft's first choice was barred."""
    fired = {"h_draft": 2.3, "h_target": 2.2, "overlap": 0.8, "remove": DOG, "fired": True}
    match = {"id": "greedy_match", "choice": CAT, "strict": DOG} | fired
    assert not wrong_nodes(easd("ard", match, penalize="argmax"))
    assert wrong_nodes(easd("rdd", match, penalize="argmax"))
    assert what_if(easd("ard", match, penalize="argmax"), tau_entropy=2.25).now == "rejected"  # `dog` comes first again


def test_a_vetoed_token_must_not_come_back() -> None:
    veto = {"id": "veto", "h_draft": 2.3, "h_target": 2.2, "overlap": 0.8, "choice": CAT}
    back = trace("vdd", [veto], last=CAT, nodes=[{"top_draft": FIVE, "top_target": FIVE}], **EASD)
    assert any("which was vetoed" in fault for fault in replay(back).faults)


def test_moving_the_entropy_threshold() -> None:
    """The entropies are 1.8, so 1.8 and above change nothing and anything below vetoes the first draft token."""
    assert not what_if(easd(), tau_entropy=1.8).changed
    found = what_if(easd(), tau_entropy=1.79)
    assert (found.decisions, found.round, found.node, found.pos, found.was, found.now) == (
        0,
        0,
        0,
        0,
        "accepted",
        "vetoed",
    )
    assert found.text == (
        "0 decisions stay; at position 0 `cat` would be vetoed instead of accepted, and the text may differ from there."
    )
    assert not what_if(easd(), tau_entropy=1.0, tau_overlap=0.9).changed
    assert what_if(easd(), tau_entropy=1.0, tau_overlap=0.8).changed
    assert not what_if(easd(), tau_entropy=1.0, tau_entropy_draft=1.8).changed
    assert what_if(easd(overlap_n=99), tau_entropy=1.0, tau_overlap=0.8 + 1e-12).changed  # rounding of the slider


def test_lifting_a_veto() -> None:
    veto = {
        "id": "veto",
        "h_draft": 2.3,
        "h_target": 2.2,
        "overlap": 0.8,
        "tau_h": 2.0,
        "tau_o": 0.8,
        "n": 5,
        "choice": CAT,
    }
    assert not what_if(easd("vdd", veto), tau_entropy=2.19).changed
    found = what_if(easd("vdd", veto), tau_entropy=2.2)
    assert (found.was, found.now) == ("vetoed", "accepted")


def check_veto_of_a_rejected_token() -> None:
    assert not what_if(easd("rdd", {"id": "greedy_mismatch", "choice": DOG}), tau_entropy=1.0).changed
    lost = {"id": "ratio_reject", "p": 0.12, "q": 0.48, "ratio": 0.25, "u": 0.6}
    unsure = {"h_draft": 1.8, "h_target": 1.8, "overlap": 1.0}
    found = what_if(trace("rdd", [lost], nodes=[unsure], **EASD, sampling=SAMPLED), tau_entropy=1.0)
    assert (found.was, found.now) == ("rejected", "rejected with a penalty")


def test_a_trigger_on_a_rejected_draft_token_matters_only_when_sampling() -> None:
    check_veto_of_a_rejected_token()


def gap(states: str = "xrd", **knobs: Any) -> Trace:
    kept = {"id": "gap_accept", "rank": 2, "gap": 0.25, "confidence": 0.8, "choice": DOG}
    lost = {"id": "gap_reject", "rank": 4, "gap": 0.28, "confidence": 0.8, "choice": DOG}
    return trace(states, [kept, lost], rule="gap", knobs=defaults("gap") | knobs)


def test_the_gap_rule() -> None:
    """tau is 0.1 + 1.0 (1 - 0.8) = 0.3 for both."""
    assert replay(gap()).agrees
    assert not replay(gap(top_beta=4)).agrees
    assert replay(gap(threshold_mode="text")).agrees  # tau 0.9
    assert not replay(gap(tau_base=0.0)).agrees  # tau 0.2
    more = what_if(gap(), top_beta=4)
    assert (more.decisions, more.node, more.pos, more.now) == (1, 1, 1, "relaxed")
    assert what_if(gap(), tau_gamma=0.0).now == "rejected"
    assert not what_if(gap(), tau_base=5.0).changed
    fixed = trace(
        "a", [{"id": "gap_accept", "rank": 1, "gap": 0.0, "confidence": None}], rule="gap", knobs=defaults("gap")
    )
    assert replay(fixed).agrees and replay(fixed).checked == 1


def check_overrides() -> None:
    ranks = trace(
        "xrd",
        [
            {"id": "topk_relaxed", "rank": 3, "k": 4, "choice": DOG},
            {"id": "greedy_mismatch", "rank": 5, "k": 4, "choice": DOG},
        ],
        rule="top_k",
        knobs=defaults("top_k"),
    )
    assert replay(ranks).agrees and what_if(ranks, accept_k=5).pos == 1 and what_if(ranks, accept_k=2).now == "rejected"
    scores = trace(
        "xrd",
        [
            {"id": "judge_relaxed", "score": 0.03, "threshold": 0.12, "choice": DOG},
            {"id": "judge_refused", "score": 0.12, "threshold": 0.12, "choice": DOG},
        ],
        rule="judge",
        knobs=defaults("judge") | {"judge_threshold": 0.12},
    )
    assert replay(scores).agrees
    assert what_if(scores, judge_threshold=0.121).pos == 1 and what_if(scores, judge_threshold=0.03).was == "relaxed"
    assert not what_if(scores, judge_threshold=0.1).changed


def test_top_k_and_judge() -> None:
    check_overrides()


def heuristic(**knobs: Any) -> Trace:
    kept = {"id": "heuristic_relaxed", "choice": DOG, "found": None, "rank": 3}
    lost = {"id": "heuristic_refused", "choice": DOG, "found": "7", "rank": 2}
    return trace("xrd", [kept, lost], rule="math", knobs=defaults("math") | knobs)


def test_the_heuristic_asks_what_was_found_and_the_rank() -> None:
    assert replay(heuristic()).agrees and replay(heuristic(math_k=3)).agrees
    assert wrong_nodes(heuristic(math_k=2)) == ["Round 0, node 0: recorded relaxed, recomputed rejected."]
    assert what_if(heuristic(), math_k=2).now == "rejected" and not what_if(heuristic(), math_k=3).changed


def typical(h: float = 1.0, threshold: float = 0.09, **knobs: Any) -> Trace:
    """min(0.09, 0.3 exp(-1)) is 0.09."""
    kept = {"id": "typical_accept", "p": 0.0901, "threshold": threshold, "h": h}
    lost = {"id": "typical_reject", "p": 0.09, "threshold": threshold, "h": h}
    return trace("ard", [kept, lost], rule="typical", knobs=defaults("typical") | knobs, sampling=SAMPLED)


def check_typical() -> None:
    assert replay(typical()).agrees and replay(typical()).checked == 2
    assert wrong_nodes(typical(h=2.0)) and "the threshold 0.09 of p is not 0.0406" in wrong_nodes(typical(h=2.0))[0]
    assert wrong_nodes(typical(threshold=0.08)) and wrong_nodes(typical(epsilon=0.0901))
    assert what_if(typical(), delta=0.2).pos == 1 and what_if(typical(), epsilon=0.5).now == "rejected"
    assert what_if(typical(), epsilon=0.0899).node == 1 and not what_if(typical(), delta=0.9).changed


def test_typical_acceptance_follows_from_epsilon_delta_and_the_entropy() -> None:
    check_typical()


def test_only_thresholds_of_the_run_can_be_moved() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'tau_entropy'"):
        what_if(easd(), tau_entrpy=1.0)
    with pytest.raises(ConfigError, match="Known: none"):
        what_if(greedy(), gamma=2)


def test_nothing_moved_changes_nothing() -> None:
    found = what_if(easd())
    assert found.decisions == 2 and found.text == "All 2 decisions stay as they are."


def test_acceptance_and_overlap() -> None:
    assert acceptance(Node(1, -1, 1, reason={"p": 0.1, "q": 0.0})) == 1.0
    assert acceptance(Node(1, -1, 1, reason={"p": 0.0, "q": 0.0})) == 0.0
    assert acceptance(Node(1, -1, 1, p=0.3, q=0.6)) == 0.3  # chosen, not drawn: q says nothing
    assert acceptance(Node(1, -1, 1, p=0.3, q=0.6, law_draft=[(1, 0.6)])) == 0.5
    node = Node(1, -1, 1, top_draft=FIVE, top_target=FOUR_OF_THEM, overlap=0.1)
    assert [overlap(node, n) for n in (1, 4, 5, 99)] == [1.0, 1.0, 0.8, 0.8]
    assert overlap(Node(1, -1, 1, overlap=0.4), 5) is None


def test_an_overlap_that_its_lists_do_not_give_is_told() -> None:
    """Four of five first choices are common."""
    for told, faults in ((0.8, []), (0.6, ["Round 0, node 0: the overlap 0.6 is not 0.8."])):
        lists = {"h_draft": 0.1, "h_target": 0.1, "top_draft": FIVE, "top_target": FOUR_OF_THEM, "overlap": told}
        made = trace("add", [{"id": "greedy_match", "choice": CAT}], nodes=[lists], **EASD)
        assert wrong_nodes(made) == faults


def test_a_moved_threshold_that_asks_for_what_was_not_recorded_leaves_the_decision_open() -> None:
    kept, lost = {"id": "a", "choice": DOG, "found": None}, {"id": "b", "choice": DOG, "found": "7", "rank": 2}
    made = trace("xrd", [kept, lost], rule="math", knobs=defaults("math"))
    found = what_if(made, math_k=2)
    assert (found.was, found.now, found.decisions) == ("relaxed", "undecided", 0)
    back = what_if(trace("xrd", [kept, lost], rule="math", knobs=defaults("math") | {"math_k": 2}), math_k=0)
    assert (back.was, back.now) == ("undecided", "relaxed")
    assert not what_if(trace("ad", [{"id": "odd"}], rule="math", knobs=defaults("math")), math_k=2).changed, "both open"


def test_a_penalty_on_another_token_than_the_refused_one_may_move_the_text_of_a_greedy_run_too() -> None:
    refused = {"id": "greedy_mismatch", "choice": DOG}
    assert not what_if(easd("rdd", refused), tau_entropy=1.0).changed
    found = what_if(easd("rdd", refused, penalize="argmax"), tau_entropy=1.0)
    assert (found.was, found.now) == ("rejected", "rejected with a penalty")


def test_a_run_without_a_threshold_stays_as_it_is() -> None:
    assert what_if(sampled()).decisions == what_if(greedy()).decisions == 2


def test_a_single_round_without_its_nodes_is_too_few() -> None:
    made = Trace([head(), chain(0, 0, "aaa", [CAT, HAS, SAT], DOG), chain(1, 4, "aaa", [CAT, HAS, SAT], DOG)])
    made.rounds[1].nodes = []
    for ask in (replay, what_if):
        with pytest.raises(ConfigError, match="lightly"):
            ask(made)
