"""Per-node numbers of a round equal the same numbers taken one by one."""

import math

import pytest
import torch

from engine.config import Sampling
from engine.draft import EMPTY, Draft
from engine.sampling import entropy
from engine.view import RoundView, observe

TREE = Draft(
    (2, 0, 5, 1),
    (-1, -1, 0, 2),
    "without_replacement",
    (0, 0, 1, 2),
    logits=3 * torch.randn(3, 12, generator=torch.Generator().manual_seed(1)),
)
ROWS = 3 * torch.randn(5, 12, generator=torch.Generator().manual_seed(2))


def overlap(a: torch.Tensor, b: torch.Tensor, n: int) -> float:
    """Share of common ids among the first n of both rows (EASD, eq. 5)."""
    return len(set(a.topk(n).indices.tolist()) & set(b.topk(n).indices.tolist())) / n


def test_each_number_is_of_the_right_row() -> None:
    stats = observe(TREE, ROWS, 6)
    assert TREE.logits is not None and stats.draft is not None
    for node in range(4):
        row, mine = ROWS[TREE.parents[node] + 1], TREE.logits[TREE.group[node]]
        p, q = torch.softmax(row, -1), torch.softmax(mine, -1)
        assert stats.h_target(node) == pytest.approx(float(entropy(row)), abs=1e-5)
        assert stats.h_draft(node) == pytest.approx(float(entropy(mine)), abs=1e-5)
        assert stats.target.p_child[node] == pytest.approx(float(p[TREE.tokens[node]]), abs=1e-6)
        assert stats.draft.p_child[node] == pytest.approx(float(q[TREE.tokens[node]]), abs=1e-6)
        assert stats.margin(node) == pytest.approx(float(row.max() - row[TREE.tokens[node]]), abs=1e-4)
        for n in (1, 3, 5, 6):
            assert stats.overlap(node, n) == overlap(row, mine, n)
    for r in range(5):
        p, ids = torch.softmax(ROWS[r], -1), ROWS[r].topk(6).indices.tolist()
        assert [i for i, _ in stats.target.top[r]] == ids
        assert [x for _, x in stats.target.top[r]] == pytest.approx(p[ids].tolist(), abs=1e-6)


def test_the_whole_vocabulary_overlaps_always() -> None:
    """EASD with n >= V: the overlap is 1."""
    stats = observe(TREE, ROWS, 50)
    assert [stats.overlap(i, 50) for i in range(4)] == [1.0] * 4 and len(stats.target.top[0]) == 12


@pytest.mark.parametrize("levels", [1, 2, 4, 12], ids=lambda n: f"{n}_values")
@pytest.mark.parametrize("n", [1, 4, 10, 39, 40, 50])
def test_equal_entries_are_told_by_id(n: int, levels: int) -> None:
    """So that the first is the choice, and which ids are the first n does not hang on a sort; few values in 60 rows
    leave more equal ones than are looked at."""
    rows = torch.randint(levels, (60, 40), generator=torch.Generator().manual_seed(n)).float()
    view = RoundView(EMPTY, rows, Sampling(), [], 0.0, n)
    for row, top in zip(rows.tolist(), view.stats.target.top, strict=True):
        assert [i for i, _ in top] == sorted(range(40), key=lambda i: (-row[i], i))[:n]
    assert [top[0][0] for top in view.stats.target.top] == view.choice
    sampled = RoundView(EMPTY, rows, Sampling(temperature=1.0, top_p=0.5), [], 0.0, n)
    for drawn, top in zip(sampled.p.tolist(), sampled.cut[0], strict=True):
        order = sorted((i for i in range(40) if drawn[i]), key=lambda i: (-drawn[i], i))
        assert [i for i, _ in top] == order[:n]


def test_minus_infinity_is_no_trouble() -> None:
    rows = ROWS.clone()
    rows[0, 3:] = -torch.inf
    stats = observe(TREE, rows, 4)
    p = torch.softmax(rows[0, :3], -1)
    assert stats.h_target(0) == pytest.approx(float(-(p * p.log()).sum()), abs=1e-5)
    rows[0, 2] = -torch.inf
    assert observe(TREE, rows, 4).margin(0) == math.inf


def test_a_drafter_without_distributions_has_no_numbers_of_its_own() -> None:
    stats = observe(Draft((1, 2), (-1, 0), group=(0, 0)), ROWS[:3], 3)
    assert stats.draft is None and stats.h_draft(0) is None and stats.overlap(0, 3) is None
    assert len(stats.target.h) == 3


def test_an_empty_round_still_knows_its_root() -> None:
    stats = observe(EMPTY, ROWS[:1], 3)
    assert len(stats.target.h) == 1 and stats.target.p_child == [] and len(stats.target.top[0]) == 3


def test_half_precision_logits_are_measured_in_fp32() -> None:
    rows = ROWS.bfloat16()
    stats = observe(TREE, rows, 3)
    assert stats.target.h == pytest.approx(entropy(rows.float()).tolist(), abs=1e-6)
