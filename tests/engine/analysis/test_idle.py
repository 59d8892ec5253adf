"""A threshold that no number reaches is told, by what was recorded or by what a number can be at all."""

import math
from typing import Any

import pytest

from engine.analysis.compared import compared
from engine.analysis.idle import Idle, asked, idle, possible, said
from engine.files.places import PRESETS, ROOT
from engine.files.presets import get_preset
from engine.rules import RULES, THRESHOLDS
from engine.threshold import All, Compare, Recorded, Setting, Threshold
from engine.threshold import Any as AnyOf
from engine.trace.events import Node
from engine.trace.records import Reason
from engine.trace.store import Trace

VOCAB = 1000


def defaults(rule: str, **moved: Any) -> dict[str, Any]:
    return {knob.name: knob.default for knob in RULES[rule].KNOBS} | moved


def found(rule: str, nodes: list[Node], **moved: Any) -> Idle | None:
    threshold, knobs = THRESHOLDS[rule], defaults(rule, **moved)
    return idle(threshold, knobs, asked(threshold, knobs, nodes), VOCAB)


def node(state: str = "accepted", reason: Reason | None = None, **fields: Any) -> Node:
    return Node(1, -1, 1, state, reason=reason or {}, **fields)


UNSURE = [node(h_draft=3.0, h_target=h, overlap=1.0) for h in (0.2, 1.5, 1.9)]


def test_a_veto_beyond_every_target_entropy() -> None:
    assert found("entropy_veto", UNSURE) == Idle("h_target", ">", 2.0, "tau_entropy", 1.9, 3)
    assert found("entropy_veto", UNSURE, tau_entropy=1.9) == Idle("h_target", ">", 1.9, "tau_entropy", 1.9, 3)
    assert found("entropy_veto", UNSURE, tau_entropy=1.899) is None
    assert found("entropy_veto", [*UNSURE, node("discarded", h_target=9.0)]) is not None  # never asked
    assert found("entropy_veto", []) is None


def test_a_threshold_that_no_number_can_reach_at_all() -> None:
    assert found("entropy_veto", [], tau_overlap=1.01) == Idle("overlap", ">=", 1.01, "tau_overlap", 1.0, 0)
    assert found("entropy_veto", [], tau_overlap=1.01, ablation="no_overlap") is None
    assert found("entropy_veto", [], tau_entropy=20.0) is not None
    assert found("entropy_veto", [], tau_entropy=6.0) is None  # ln 1000 = 6.9
    assert found("judge", [], judge_threshold=0.0) == Idle("score", "<", 0.0, "judge_threshold", 0.0, 0)


def test_an_override_is_asked_only_about_what_the_exact_rule_rejects() -> None:
    ranks = [node("accepted", {"rank": 1}), node("rejected", {"rank": 5}), node("rejected", {"rank": 9})]
    assert found("top_k", ranks) == Idle("rank", "<=", 4, "accept_k", 5, 2)
    assert found("top_k", ranks, accept_k=5) is None
    scores = [node("rejected", {"score": s, "threshold": 0.1}) for s in (0.3, 0.2)]
    assert found("judge", scores) == Idle("score", "<", 0.1, "", 0.2, 2)  # the judge's own threshold
    assert found("judge", [*scores, node("rejected", {"score": None, "threshold": 0.1, "edge": True})]) is not None
    assert found("judge", [*scores, node("relaxed", {"score": 0.05, "threshold": 0.1})]) is None


def test_a_rule_that_decides_alone_may_always_accept_an_exact_match() -> None:
    exact = node("accepted", {"rank": 1, "gap": 0.0, "confidence": None})
    far = [node("rejected", {"rank": 2, "gap": gap, "confidence": None}) for gap in (0.5, 2.0)]
    assert found("gap", [exact, *far], tau_base=0.1) == Idle("gap", "<=", 0.1, "", 0.5, 2)
    assert found("gap", [exact, *far], tau_base=0.5) is None
    moved = [node("rejected", {"rank": 2, "gap": 3.0, "confidence": c}) for c in (0.2, 0.9)]
    assert found("gap", [exact, *moved]) is None  # another limit at each token: no line to speak of


def test_one_of_several_ways_is_no_obstacle() -> None:
    low, high = Compare(Recorded("p"), ">", 0.5), Compare(Recorded("q"), ">", Setting("k"))
    either = Threshold("veto", AnyOf((low, high)), says="either")
    assert idle(either, {"k": 5.0}, [node(p=0.1, q=0.1)], VOCAB) is None
    both = Threshold("veto", All((AnyOf((low,)), high)), says="both")
    assert idle(both, {"k": 0.0}, [node(p=0.1, q=0.1)], VOCAB) == Idle("p", ">", 0.5, "", 0.1, 1)


def recorded(case: str, method: str) -> Trace:
    preset = get_preset(case)
    lane = [one.method for one in preset.lanes].index(method)
    return Trace.load(PRESETS / preset.traces[lane])


def test_a_recorded_run_says_so_and_one_that_fires_does_not() -> None:
    never = recorded("all_methods", "easd")
    assert said(never, THRESHOLDS["entropy_veto"]) == (
        "The threshold cannot fire here: the target's entropy is at most 1.35 nats at the 63 tested draft tokens, "
        "and tau_entropy asks for more than 2.0, so nothing is vetoed."
    )
    fires = recorded("easd_helps", "easd")
    assert said(fires, THRESHOLDS["entropy_veto"]) == "" == said(never, None)
    never.head.knobs["tau_overlap"] = 1.01
    never.head.knobs["tau_entropy"] = 0.0
    assert said(never, THRESHOLDS["entropy_veto"]) == (
        "The threshold cannot fire: the share of common first choices is at most 1.00 in any text, "
        "and tau_overlap asks for at least 1.01, so nothing is vetoed."
    )
    lanes = {"never": recorded("all_methods", "easd"), "fires": fires}
    assert list(compared(lanes, THRESHOLDS).idle) == ["never"] and not compared(lanes).idle


def test_typical_acceptance_is_not_asked_at_temperature_0() -> None:
    trace = recorded("all_methods", "medusa_typical")
    trace.head.knobs |= {"epsilon": 1.0, "delta": 1.0}
    assert said(trace, THRESHOLDS["typical"]) == ""


@pytest.mark.parametrize("rule", THRESHOLDS)
def test_every_declared_number_has_a_name_for_the_reader(rule: str) -> None:
    """On the page too, which says a name as it is where it has no words for it."""
    from engine.analysis.comparisons import NAMES
    from engine.analysis.idle import necessary
    from engine.threshold import term

    page = (ROOT / "app/static/idle.js").read_text(encoding="utf-8")
    for one in necessary(THRESHOLDS[rule].condition, defaults(rule, math_k=4) if rule == "math" else defaults(rule)):
        name = term(one, defaults(rule), {}).name
        assert name in NAMES, "engine/analysis/comparisons.py has none"
        words = NAMES[name][0]
        assert words == name or f'  {name}: "{words}",' in page, "app/static/idle.js has another"


@pytest.mark.parametrize(
    ("name", "largest", "smallest"),
    [
        *((name, 1.0, 0.0) for name in ("overlap", "p", "q", "score", "confidence", "reward")),
        *((name, math.log(1000), 0.0) for name in ("h", "h_draft", "h_target")),
        ("rank", 1000.0, 1.0),
        ("gap", None, 0.0),
        ("something", None, None),
    ],
)
def test_what_a_number_can_be_at_all(name: str, largest: float | None, smallest: float | None) -> None:
    assert [possible(name, sign, VOCAB) for sign in (">", ">=")] == [largest] * 2
    assert [possible(name, sign, VOCAB) for sign in ("<", "<=")] == [smallest] * 2
