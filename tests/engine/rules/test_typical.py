import math
from pathlib import Path

import pytest
import torch

from engine.config import Sampling
from engine.draft import Draft
from engine.rules.typical import Typical
from engine.sampling import distribution
from engine.verify import walk
from engine.view import RoundView

DISTRIBUTIONS = torch.tensor(
    [
        [0.70, 0.20, 0.10],  # after the root
        [0.05, 0.90, 0.05],  # after node 0 (token 0)
        [0.34, 0.33, 0.33],  # after node 1 (token 1)
        [0.98, 0.01, 0.01],  # after node 2 (token 1 under 0)
        [0.30, 0.30, 0.40],  # after node 3 (token 2 under 1)
    ],
    dtype=torch.float64,
)
TREE = Draft((0, 1, 1, 2), (-1, -1, 0, 1))


def rule(epsilon: float = 0.09, delta: float = 0.3) -> Typical:
    return Typical(None, {"epsilon": epsilon, "delta": delta})  # type: ignore[arg-type]


def view(temperature: float = 1.0, draft: Draft = TREE, u: float = 0.5) -> RoundView:
    return RoundView(draft, DISTRIBUTIONS[: len(draft) + 1].log(), Sampling(temperature), [u] * len(draft), u)


def check_longest() -> None:
    verdict = rule().decide(view())
    assert verdict.path == [0, 2]  # 0.7 x 0.9 against 0.2 x 0.33: both are two long
    assert verdict.origin == "bonus" and verdict.emit == 0
    assert {node: check.state for node, check in verdict.checks.items()} == {0: "accepted", 2: "accepted"}


def test_the_longest_plausible_path_wins_and_ties_go_to_the_likelier() -> None:
    check_longest()


def check_threshold() -> None:
    h = -(DISTRIBUTIONS[0] * DISTRIBUTIONS[0].log()).sum().item()
    delta = 0.25 / math.exp(-h)  # delta exp(-H) is 0.25 at the root: token 1 (0.2) falls below it
    loose, strict = rule(0.1, delta).decide(view()), rule(0.9, delta).decide(view())
    assert loose.checks.get(1) is None  # plausible, but its path lost: never tested
    assert strict.checks[1].state == "rejected"
    assert strict.checks[1].reason == pytest.approx({"id": "typical_reject", "p": 0.2, "threshold": 0.25, "h": h})
    assert strict.checks[0].reason["id"] == "typical_accept"

    share = float(torch.softmax(DISTRIBUTIONS[0].log(), -1)[1])
    level = rule(share, 1.0).decide(view()).checks.get(1)
    assert level is not None and level.state == "rejected"  # it must exceed the threshold


def test_the_threshold_is_the_smaller_of_the_two() -> None:
    check_threshold()


@pytest.mark.parametrize("sampling", [Sampling(0.5), Sampling(1.0, top_k=2), Sampling(1.0, top_p=0.8)])
def test_probability_and_entropy_are_of_the_distribution_that_is_sampled_from(sampling: Sampling) -> None:
    logits = DISTRIBUTIONS.log()
    verdict = rule(0.9, 0.5).decide(RoundView(TREE, logits, sampling, [0.5] * 4, 0.5))
    p = distribution(logits, sampling)[0]
    h = -torch.special.xlogy(p, p).sum().item()
    raw = -torch.special.xlogy(DISTRIBUTIONS[0], DISTRIBUTIONS[0]).sum().item()
    assert h < raw - 0.1
    threshold = 0.5 * math.exp(-h)
    assert verdict.checks[0].reason == pytest.approx(
        {"id": "typical_accept", "p": p[0].item(), "threshold": threshold, "h": h}
    )


def test_epsilon_zero_keeps_everything() -> None:
    assert rule(epsilon=0.0).decide(view()).path == [0, 2]
    chain = Draft((2, 0), (-1, 0))
    assert rule(epsilon=0.0).decide(view(draft=chain)).path == [0, 1]


def test_nothing_plausible_emits_from_the_target() -> None:
    verdict = rule(epsilon=1.0, delta=1.0).decide(view(draft=Draft((2,), (-1,)), u=0.95))
    assert verdict.path == [] and verdict.origin == "correction" and verdict.emit == 2


def test_greedy_is_the_exact_walk() -> None:
    ours, exact = rule().decide(view(0.0)), walk(view(0.0))
    assert (ours.path, ours.emit, ours.origin) == (exact.path, exact.emit, exact.origin)


def test_deeper_beats_likelier() -> None:
    check_deeper()


def check_deeper() -> None:
    tree = Draft((0, 1, 0), (-1, -1, 1))  # token 0 alone is likelier than 1 then 0
    distributions = torch.stack([DISTRIBUTIONS[0], DISTRIBUTIONS[1], DISTRIBUTIONS[2], DISTRIBUTIONS[3]])
    assert rule().decide(RoundView(tree, distributions.log(), Sampling(1.0), [0.5] * 3, 0.5)).path == [1, 2]


def test_at_epsilon_zero_what_top_p_cuts_is_still_rejected() -> None:
    """And the setting is not said to accept everything."""
    cut = RoundView(TREE, DISTRIBUTIONS.log(), Sampling(1.0, top_p=0.5), [0.5] * len(TREE), 0.5)
    verdict = rule(epsilon=0.0).decide(cut)
    assert verdict.path == [0, 2] and verdict.checks[1].state == "rejected"
    assert "accepts everything" not in Path("docs/methods/medusa_typical.md").read_text(encoding="utf-8")
