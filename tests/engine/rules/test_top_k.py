"""Top-K (K9): the exact rule, then any draft token among the target's first K."""

from typing import Any

import torch

from engine.config import Sampling
from engine.draft import Draft, chain
from engine.rules.top_k import TopK
from engine.view import RoundView

ROW = torch.tensor([0.0, 2.0, 1.5, 1.9, -4.0]).double()  # order 1, 3, 2, 0, 4


def rule(**knobs: Any) -> TopK:
    return TopK(None, {"accept_k": 4, "bonus": True} | knobs)  # type: ignore[arg-type]


def states(k: int) -> list[str]:
    rows = torch.stack([ROW, ROW])
    return [
        rule(accept_k=k).decide(RoundView(chain([t]), rows, Sampling(), [0.5], 0.0)).checks[0].state for t in range(5)
    ]


def check_kept() -> None:
    assert states(1) == ["rejected", "accepted", "rejected", "rejected", "rejected"]
    assert states(2) == ["rejected", "accepted", "rejected", "relaxed", "rejected"]
    assert states(5) == ["relaxed", "accepted", "relaxed", "relaxed", "relaxed"]


def test_the_first_k_stay() -> None:
    check_kept()


def test_a_relaxed_draft_token_carries_both_reasons() -> None:
    view = RoundView(chain([2]), torch.stack([ROW, ROW]), Sampling(), [0.5], 0.0)
    check = rule(accept_k=3).decide(view).checks[0]
    assert check.reason["id"] == "topk_relaxed" and check.reason["rank"] == 3 and check.reason["choice"] == 1
    check = rule(accept_k=2).decide(view).checks[0]
    assert (check.state, check.reason["id"], check.reason["rank"]) == ("rejected", "greedy_mismatch", 3)


def test_when_sampled_only_refusals_are_asked() -> None:
    """The exact test comes first; what it keeps is accepted, what it refuses may be relaxed."""
    q = torch.softmax(ROW, -1)[None]
    rows = torch.stack([ROW, ROW])
    kept = rule(accept_k=1).decide(
        RoundView(chain([2], draw="sample", distributions=q), rows, Sampling(1.0), [0.5], 0.5)
    )
    assert kept.checks[0].state == "accepted"
    sharp = torch.eye(5)[2:3].double()
    for k, state in ((2, "rejected"), (3, "relaxed")):
        verdict = rule(accept_k=k).decide(
            RoundView(chain([2], draw="sample", distributions=sharp), rows, Sampling(1.0), [0.999], 0.5)
        )
        assert verdict.checks[0].state == state


def test_in_a_tree_the_likeliest_relaxed_child_wins() -> None:
    """By the draft's scores: of three that would do the second, behind one that will not."""
    draft = Draft((2, 3, 4, 0), (-1,) * 4, group=(0,) * 4, scores=(-4.0, -2.0, -1.0, -3.0))
    verdict = rule(accept_k=4).decide(RoundView(draft, ROW.repeat(5, 1), Sampling(), [0.5] * 4, 0.0))
    assert verdict.path == [1] and verdict.checks[1].state == "relaxed"
