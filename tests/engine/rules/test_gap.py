"""Top-beta and gap (K8): acceptance sets, thresholds of both readings, and the limits of their knobs."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from engine.config import Sampling
from engine.draft import chain
from engine.rules.gap import Gap
from engine.view import RoundView


def rule(**knobs: Any) -> Gap:
    return Gap(None, {knob.name: knob.default for knob in Gap.KNOBS} | knobs)  # type: ignore[arg-type]


ROW = torch.tensor([0.0, 2.0, 1.5, 1.9, -4.0]).double()  # order 1, 3, 2, 0, 4; gaps 0, 0.1, 0.5, 2, 6


def accepted(gap: Gap, confidence: float | None = None, sampling: Sampling = Sampling()) -> set[int]:
    """Tokens that the rule keeps at ROW."""
    kept = set()
    for token in range(5):
        draft = chain([token])
        if confidence is not None:
            draft = replace(draft, confidence=(confidence,))
        if gap.decide(RoundView(draft, torch.stack([ROW, ROW]), sampling, [0.5], 0.0)).path:
            kept.add(token)
    return kept


def check_conditions() -> None:
    fixed = {"tau_gamma": 0.0}
    assert accepted(rule(top_beta=3, tau_base=10.0, **fixed)) == {1, 3, 2}
    assert accepted(rule(top_beta=5, tau_base=0.3, **fixed)) == {1, 3}
    assert accepted(rule(top_beta=2, tau_base=0.6, **fixed)) == {1, 3}
    assert accepted(rule(top_beta=3, tau_base=0.5, **fixed)) == {1, 3, 2}  # at most tau: equality passes


def test_both_conditions_are_needed() -> None:
    check_conditions()


def test_a_reason_tells_the_target_s_choice_where_the_token_stands() -> None:
    """Not the one behind it: the choices after the root, the first and the second token are 1, 3 and 0."""
    rows = torch.stack([ROW, ROW.roll(2), ROW.roll(4)])
    checks = (
        rule(top_beta=5, tau_base=1000.0).decide(RoundView(chain([3, 2]), rows, Sampling(), [0.5, 0.5], 0.0)).checks
    )
    assert [checks[node].reason["choice"] for node in (0, 1)] == [1, 3]


def test_the_limits_are_greedy_and_the_drafter() -> None:
    """beta = 1 or tau = 0 keeps the first choice only; beta = V and a wide tau keep everything."""
    assert accepted(rule(top_beta=1, tau_base=1000.0)) == {1}
    assert accepted(rule(top_beta=5, tau_base=0.0, tau_gamma=0.0)) == {1}
    assert accepted(rule(top_beta=5, tau_base=1000.0)) == {0, 1, 2, 3, 4}


def test_the_set_grows_with_beta_and_tau() -> None:
    sets = [
        accepted(rule(top_beta=b, tau_base=t, tau_gamma=0.0)) for b, t in ((1, 0), (2, 0.2), (3, 0.6), (4, 3), (5, 7))
    ]
    assert all(a < b for a, b in zip(sets, sets[1:], strict=False))


def check_direction(mode: str, direction: int) -> None:
    """C2: as printed, lower confidence never shrinks the set; as argued, higher confidence never does."""
    gap = rule(top_beta=5, tau_base=0.05, tau_gamma=2.0, threshold_mode=mode)
    sets = [accepted(gap, c) for c in (0.0, 0.25, 0.5, 0.75, 1.0)][::direction]
    assert all(a <= b for a, b in zip(sets, sets[1:], strict=False)) and sets[0] < sets[-1]
    c = 0.3
    assert gap.tau({"confidence": c}) == pytest.approx(0.05 + 2.0 * (c if mode == "text" else 1 - c))
    assert gap.tau({"confidence": None}) == 0.05


@pytest.mark.parametrize(("mode", "direction"), [("equation", -1), ("text", 1)])
def test_confidence_moves_the_threshold(mode: str, direction: int) -> None:
    check_direction(mode, direction)


def test_states_reasons_and_what_failed() -> None:
    gap = rule(top_beta=2, tau_base=0.2, tau_gamma=0.0)
    seen = {}
    for token in range(5):
        check = gap.decide(RoundView(chain([token]), torch.stack([ROW, ROW]), Sampling(), [0.5], 0.0)).checks[0]
        seen[token] = (check.state, check.reason["id"], check.reason.get("failed"))
    assert seen[1] == ("accepted", "gap_accept", None) and seen[3] == ("relaxed", "gap_accept", None)
    assert seen[2] == ("rejected", "gap_reject", "both")
    near = rule(top_beta=2, tau_base=1.0, tau_gamma=0.0).decide(
        RoundView(chain([2]), torch.stack([ROW, ROW]), Sampling(), [0.5], 0.0)
    )
    assert near.checks[0].reason["failed"] == "top_beta"
    far = rule(top_beta=3, tau_base=0.2, tau_gamma=0.0).decide(
        RoundView(chain([2]), torch.stack([ROW, ROW]), Sampling(), [0.5], 0.0)
    )
    assert far.checks[0].reason["failed"] == "gap"


def test_the_first_refusal_emits_the_first_choice() -> None:
    rows = torch.stack([ROW, ROW, ROW])
    verdict = rule(top_beta=2, tau_base=1.0, tau_gamma=0.0).decide(
        RoundView(chain([3, 4]), rows, Sampling(), [0.5] * 2, 0.0)
    )
    assert (verdict.path, verdict.emit, verdict.origin) == ([0], 1, "correction")
    verdict = rule(top_beta=2, tau_base=1.0, tau_gamma=0.0).decide(
        RoundView(chain([3, 1]), rows, Sampling(), [0.5] * 2, 0.0)
    )
    assert (verdict.path, verdict.emit, verdict.origin) == ([0, 1], 1, "bonus")
    alone = rule(top_beta=2, tau_base=1.0, tau_gamma=0.0, bonus=False)
    assert alone.decide(RoundView(chain([3, 1]), rows, Sampling(), [0.5] * 2, 0.0)).emit is None


def test_ties_are_ordered_by_id() -> None:
    """beta = 1 keeps the argmax alone, even among equals: that is what makes it lossless."""
    flat = torch.zeros(2, 4)
    for token, keeps in ((0, True), (1, False), (3, False)):
        verdict = rule(top_beta=1).decide(RoundView(chain([token]), flat, Sampling(), [0.5], 0.0))
        assert bool(verdict.path) is keeps and (keeps or verdict.emit == 0)
