import math
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from engine.draft import chain
from engine.parts import Context, Outcome
from engine.sampling import entropy
from engine.shapes.entropy_stop import EntropyBound, EntropyStop, EntropyStopTree
from engine.trees.growth import Growth, Plan


def values(part: Any, **given: Any) -> dict[str, Any]:
    return {knob.name: given.get(knob.name, knob.default) for knob in part.KNOBS}


def bound(**given: Any) -> EntropyBound:
    return EntropyStop(None, values(EntropyStop, **given)).bound  # type: ignore[arg-type]


def test_the_bound() -> None:
    assert not bound().stops(1.2)  # 1 - sqrt(0.24) = 0.510 >= 0.5
    assert bound().stops(1.3)  # 1 - sqrt(0.26) = 0.490
    assert not bound(entropy_factor=0.0, lambda0=1.0).stops(50.0)


def test_the_threshold_follows_algorithm_one_by_hand() -> None:
    b = bound()
    b.update(5, 1, 5)  # AR = 0.5 * 0.9 + 0.5 * 0.2 = 0.55 < 0.9: up
    assert b.rate == pytest.approx(0.55) and b.threshold == pytest.approx(0.9 * 0.5 + 0.1 * 0.51)
    b = bound()
    b.update(4, 4, 5)  # AR = 0.95, not the whole length: down
    assert b.threshold == pytest.approx(0.9 * 0.5 + 0.1 * 0.49)
    b = bound()
    b.update(5, 5, 5)  # the whole length: stays
    assert b.threshold == pytest.approx(0.5)
    b = bound(decrease_when="full")
    b.update(5, 5, 5)
    assert b.threshold == pytest.approx(0.9 * 0.5 + 0.1 * 0.49)
    b.update(0, 0, 5)
    assert b.rate == pytest.approx(0.95)
    b = bound(accept_goal=0.5)
    b.update(4, 2, 5)  # AR = 0.5 * 0.5 + 0.5 * 0.5, the goal itself: down
    assert b.rate == 0.5 and b.threshold == pytest.approx(0.9 * 0.5 + 0.1 * 0.49)


def test_state_is_reset_or_kept() -> None:
    for keep in (False, True):
        shape = EntropyStop(None, values(EntropyStop, keep_lambda=keep))  # type: ignore[arg-type]
        shape.begin()
        shape.bound.update(5, 0, 5)
        moved = shape.bound.threshold
        shape.begin()
        assert shape.bound.threshold == (moved if keep else 0.5)


def test_the_first_token_is_always_drafted_and_the_stop_is_recorded() -> None:
    shape = EntropyStop(None, values(EntropyStop, lambda0=2.0, clip_lambda=False))  # type: ignore[arg-type]
    flat = torch.zeros(100)
    assert shape.limit() == 10 and shape.more(0, flat) and not shape.more(1, flat)
    kept = shape.keep(chain([3]))
    assert kept.extras == {"lambda": 2.0, "stop_entropy": pytest.approx(math.log(100))}


SURE, UNSURE = torch.tensor([9.0, 0, 0, 0]), torch.zeros(4)


@pytest.mark.parametrize(
    ("scope", "rows", "kept"),
    [
        ("tree", [SURE, UNSURE], None),
        ("tree", [UNSURE, SURE], []),
        ("mean", [SURE, UNSURE], None),
        ("mean", [UNSURE, UNSURE], []),
        ("branch", [SURE, UNSURE], [0]),
        ("branch", [UNSURE, SURE], [1]),
        ("branch", [UNSURE, UNSURE], []),
    ],
)
def test_whose_entropy_stops_a_tree(scope: str, rows: list[torch.Tensor], kept: list[int] | None) -> None:
    kit: Any = SimpleNamespace(target=SimpleNamespace(context=512, only_chains=False))
    shape = EntropyStopTree(kit, values(EntropyStopTree, scope=scope))  # log 4 = 1.386: 1 - sqrt(0.277) = 0.47
    grown = Growth(2, torch.device("cpu"))
    assert shape.admit(grown, torch.zeros(1, 4)) is None  # the first level always grows
    grown.add(torch.zeros(1, 4))
    assert shape.admit(grown, torch.stack(rows)) == kept


LESS = torch.tensor([1.0, 0, 0, 0])  # 1.27 nats, which also stops


@pytest.mark.parametrize(
    ("scope", "rows", "told"),
    [
        ("tree", [UNSURE, SURE], lambda h: h[0]),
        ("tree", [LESS, UNSURE], lambda h: h[0]),
        ("mean", [UNSURE, LESS], lambda h: sum(h) / 2),
        ("branch", [UNSURE, LESS], min),  # the one that came nearest to going on
        ("branch", [UNSURE, SURE], lambda h: None),
    ],
)
def test_the_entropy_that_stopped_a_tree_is_told(scope: str, rows: list[torch.Tensor], told: Any) -> None:
    kit: Any = SimpleNamespace(target=SimpleNamespace(context=512, only_chains=False))
    shape, grown = EntropyStopTree(kit, values(EntropyStopTree, scope=scope)), Growth(2, torch.device("cpu"))
    grown.add(torch.zeros(1, 4))
    shape.admit(grown, torch.stack(rows))
    stopped = shape.report(grown, Plan(8, 2, 59), False)["stop_entropy"]
    assert stopped == pytest.approx(told(entropy(torch.stack(rows)).tolist()))


@pytest.mark.parametrize(
    ("room", "space", "plan"), [(50, 500, Plan(3, 4, 9)), (2, 500, Plan(2, 4, 9)), (50, 5, Plan(3, 4, 5))]
)
def test_a_tree_is_planned_as_eagle_s(room: int, space: int, plan: Plan) -> None:
    """depth + 1 levels and total_token with the root, within what response and cache have left."""
    kit: Any = SimpleNamespace(target=SimpleNamespace(context=512, only_chains=False))
    knobs = values(EntropyStopTree, total_token=10, depth=2, tree_top_k=4)
    assert EntropyStopTree(kit, knobs).plan(cast(Context, SimpleNamespace(room=room, space=space))) == plan


def tree_after(levels: int, accepted: int, **knobs: Any) -> EntropyStopTree:
    """The shape after one round of a tree of so many levels of two nodes, of which a path was accepted."""
    kit: Any = SimpleNamespace(target=SimpleNamespace(context=512, only_chains=False))
    shape = EntropyStopTree(kit, values(EntropyStopTree, **knobs))
    grown = Growth(2, torch.device("cpu"))
    for level in range(levels):
        grown.add(torch.zeros(min(level + 1, 2), 4))
    draft = grown.draft(60)
    shape.report(grown, Plan(levels, 2, 60), False)
    verdict: Any = SimpleNamespace(path=list(range(accepted)))
    shape.observe(Outcome(draft, None, verdict, None, []))  # type: ignore[arg-type]
    return shape


def test_a_tree_learns_from_its_levels_not_from_its_nodes() -> None:
    shape = tree_after(levels=3, accepted=1)
    assert shape.bound.rate == pytest.approx(0.5 * 0.9 + 0.5 / 3)
    assert shape.bound.threshold == pytest.approx(0.9 * 0.5 + 0.1 * 0.51)
    shape.observe(Outcome(chain([]), None, SimpleNamespace(path=[]), None, []))  # type: ignore[arg-type]
    assert shape.bound.rate == pytest.approx(0.5 * 0.9 + 0.5 / 3)  # a round without a tree teaches nothing


@pytest.mark.parametrize(("levels", "threshold"), [(1, 0.9 * 0.5 + 0.1 * 0.49), (2, 0.9 * 0.5 + 0.1 * 0.49), (3, 0.5)])
def test_the_whole_length_of_a_tree_is_one_level_more_than_its_depth(levels: int, threshold: float) -> None:
    """Accepted to the end, a tree that stopped early lowers the threshold; one of depth + 1 levels leaves it."""
    assert tree_after(levels, accepted=levels, depth=2).bound.threshold == pytest.approx(threshold)


def test_a_draft_of_another_tokenizer_is_counted_in_the_tokens_that_were_asked_for() -> None:
    """Ten drafted tokens that became four, or twenty, of the target's and all hold are the whole length: it stays."""
    for tokens in (4, 20):
        shape = EntropyStop(None, values(EntropyStop))  # type: ignore[arg-type]
        draft = chain([3] * tokens, extras={"draft_tokens": 10})
        for accepted, threshold in ((tokens, 0.5), (tokens // 2, 0.9 * 0.5 + 0.1 * 0.51)):
            verdict: Any = SimpleNamespace(path=list(range(accepted)))
            shape.observe(Outcome(draft, None, verdict, None, []))  # type: ignore[arg-type]
            assert shape.bound.threshold == pytest.approx(threshold)
        assert shape.bound.rate == pytest.approx(0.5 * (0.5 * 0.9 + 0.5) + 0.5 * 0.5)
