"""A node decided again: from which recorded numbers, and that too few of them decide nothing."""

from typing import Any

import pytest

from engine.analysis.decisions import Decision, acceptance, bars, decide, greedy, numbers, overlap
from engine.rules import RULES, THRESHOLDS
from engine.trace.events import Node
from tests.engine.analysis.made import CAT, DOG, HAS, SAMPLED, head

NOBODY: dict[str, Any] = {"id": "made"}


def node(reason: dict[str, Any] | None = None, **fields: Any) -> Node:
    return Node(CAT, -1, 1, "accepted", reason=NOBODY | (reason or {}), **fields)  # type: ignore[arg-type]


def decided(rule: str, one: Node, sampled: bool = False, **moved: Any) -> Decision | None:
    knobs = {knob.name: knob.default for knob in RULES[rule].KNOBS} | moved
    run = head(rule=rule, knobs=knobs)
    run.sampling = SAMPLED if sampled else run.sampling
    assert greedy(run) is not sampled
    return decide(run, one, knobs, THRESHOLDS.get(rule))


FIRST, SECOND = [(CAT, 0.6), (DOG, 0.4)], [(DOG, 0.6), (CAT, 0.4)]


def test_the_exact_rule_reads_the_choice_that_was_noted_else_the_first_of_the_list() -> None:
    assert decided("exact", node({"choice": CAT}, top_target=SECOND)) == Decision("accepted")
    assert decided("exact", node({"choice": DOG}, top_target=FIRST)) == Decision("rejected")
    assert decided("exact", node({"strict": CAT, "choice": DOG})) == Decision("accepted"), "before a veto"
    assert decided("exact", node(top_target=FIRST)) == Decision("accepted")
    assert decided("exact", node(top_target=SECOND)) == Decision("rejected")
    assert decided("exact", node()) is decided("exact", Node(CAT, -1, 1, "accepted")) is None


@pytest.mark.parametrize(
    ("reason", "fields", "state"),
    [
        ({"p": 0.3, "q": 0.6, "u": 0.49}, {}, "accepted"),
        ({"p": 0.3, "q": 0.6, "u": 0.5}, {}, "rejected"),
        ({"u": 0.49}, {"p": 0.3, "q": 0.6, "law_draft": FIRST}, "accepted"),
        ({"u": 0.49}, {"p": 0.3, "q": 0.6}, "rejected"),  # a chosen token, accepted with p itself
        ({}, {"p": 0.3, "u": 0.29}, "accepted"),
        ({"p": 0.9, "p_left": 0.2, "q": 0.9, "u": 0.2}, {}, "rejected"),
        ({"p": 0.1, "q": 0.0, "u": 0.999}, {}, "accepted"),
        ({"p": 0.0, "q": 0.0, "u": 0.0}, {}, "rejected"),
        ({"p": 0.3, "q": None, "u": 0.1}, {}, None),
        ({"u": 0.1}, {"p": 0.3, "law_draft": FIRST}, None),
        ({"q": 0.6, "u": 0.1}, {}, None),
        ({"p": 0.3, "q": 0.6}, {}, None),
    ],
)
def test_a_draw_is_set_against_p_over_q_or_p(reason: dict[str, Any], fields: dict[str, Any], state: str | None) -> None:
    found = decided("exact", node(reason, **fields), sampled=True)
    assert found == (None if state is None else Decision(state))


def test_a_veto_needs_both_the_exact_rule_and_its_own_condition() -> None:
    asked: dict[str, Any] = {"h_draft": 3.0, "h_target": 3.0, "overlap": 1.0}
    assert decided("entropy_veto", node({"choice": CAT}, **asked)) == Decision("vetoed", fired=True)
    assert decided("entropy_veto", node({"choice": DOG}, **asked)) == Decision("rejected", fired=True)
    assert decided("entropy_veto", node({"choice": CAT}, **(asked | {"h_target": 1.0}))) == Decision("accepted")
    assert decided("entropy_veto", node({"choice": DOG}, **(asked | {"h_target": 1.0}))) == Decision("rejected")
    assert decided("entropy_veto", node(**asked)) is None, "the target's choice is not known"
    assert decided("entropy_veto", node({"choice": CAT}, h_draft=3.0, overlap=1.0)) is None, "an entropy is not known"


def test_after_another_token_was_barred_the_numbers_before_decide_what_the_exact_rule_said() -> None:
    asked: dict[str, Any] = {"h_draft": 3.0, "h_target": 3.0, "overlap": 1.0, "top_target": FIRST}
    own = node({"fired": True, "remove": CAT, "choice": DOG}, **asked)
    assert decided("entropy_veto", own) == Decision("vetoed", fired=True), "it was the target's first choice until then"
    kept = node({"fired": True, "remove": HAS, "strict": DOG, "choice": CAT}, **asked)
    assert decided("entropy_veto", kept, penalize="argmax") == Decision("accepted", fired=True)
    unmarked = node({"strict": CAT}, **asked, top_draft=[(HAS, 0.9)])
    assert decided("entropy_veto", unmarked, penalize="argmax") is None, "what was left is not known"


def test_an_override_is_asked_where_the_exact_rule_rejects() -> None:
    assert decided("top_k", node({"choice": CAT})) == Decision("accepted")
    assert decided("top_k", node({"choice": DOG, "rank": 4})) == Decision("relaxed")
    assert decided("top_k", node({"choice": DOG, "rank": 5})) == Decision("rejected")
    assert decided("top_k", node({"choice": DOG})) is decided("top_k", node({"rank": 1})) is None


def test_a_rule_that_decides_alone_needs_its_condition_and_whether_the_match_is_exact() -> None:
    near: dict[str, Any] = {"rank": 2, "gap": 0.05}
    assert decided("gap", node(near), tau_base=0.1) == Decision("relaxed")
    assert decided("gap", node(near | {"rank": 1, "gap": 0.0}), tau_base=0.1) == Decision("accepted")
    assert decided("gap", node(near | {"gap": 0.2}), tau_base=0.1) == Decision("rejected")
    assert decided("gap", node({"rank": 2}), tau_base=0.1) is None


def test_typical_acceptance_is_the_exact_rule_where_the_target_is_greedy() -> None:
    likely: dict[str, Any] = {"p": 0.5, "h": 1.0}
    assert decided("typical", node(likely | {"choice": DOG})) == Decision("rejected")
    found = decided("typical", node(likely | {"choice": DOG, "u": 0.9}), sampled=True)
    assert found is not None and found.state in ("accepted", "relaxed")


def test_numbers_that_were_noted_come_before_those_of_the_node() -> None:
    knobs = {knob.name: knob.default for knob in RULES["entropy_veto"].KNOBS}
    one = node({"h_target": 1.5}, h_draft=3.0, h_target=9.0)
    assert numbers(one, THRESHOLDS["entropy_veto"], knobs) == {"h_target": 1.5, "h_draft": 3.0}  # type: ignore[arg-type]
    assert numbers(Node(CAT, -1, 1, "accepted"), THRESHOLDS["entropy_veto"], knobs) == {}  # type: ignore[arg-type]


def test_overlap_is_over_as_many_choices_as_both_lists_keep() -> None:
    draft, target = [(1, 0.5), (2, 0.3), (3, 0.2)], [(2, 0.5), (4, 0.2), (1, 0.1), (3, 0.1)]
    one = node(top_draft=draft, top_target=target)
    assert [overlap(one, n) for n in (1, 2, 3, 9)] == pytest.approx([0.0, 1 / 2, 2 / 3, 2 / 3])
    assert overlap(node(top_draft=draft), 3) is overlap(node(top_target=target), 3) is None
    assert acceptance(node({"p": 0.6, "q": 0.3})) == 1.0 and acceptance(node(p=0.25)) == 0.25


def test_which_token_a_veto_bars_follows_the_knob() -> None:
    knobs = {knob.name: knob.default for knob in RULES["entropy_veto"].KNOBS}
    threshold = THRESHOLDS["entropy_veto"]
    assert threshold is not None and bars(threshold, knobs) == "proposed"
    assert bars(threshold, knobs | {"penalize": "argmax"}) == "first"
