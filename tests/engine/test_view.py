"""What rules look at: choices, ranks, gaps, distributions without a token, and draws, against plain recomputation."""

import math

import pytest
import torch

from engine.config import Sampling
from engine.draft import EMPTY, Draft, SparseDistributions, chain
from engine.sampling import distribution
from engine.view import RoundView

TREE = Draft((2, 0, 5, 1), (-1, -1, 0, 2), group=(0, 0, 1, 2))


@pytest.fixture(scope="module")
def view() -> RoundView:
    logits = torch.randn(5, 6, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    logits[1, 5] = logits[1, 3]  # a tie in the row that judges node 2
    return RoundView(TREE, logits, Sampling(0.8, 4, 0.95), [0.1, 0.2, 0.3, 0.4], 0.6, 4)


def test_ranks_and_gaps_are_those_of_the_row_at_the_parent(view: RoundView) -> None:
    for node, (rank, gap) in enumerate(view.ranks):
        row = view.logits[TREE.parents[node] + 1].tolist()
        token = TREE.tokens[node]
        order = sorted(range(6), key=lambda v: (-row[v], v))
        assert rank == order.index(token) + 1
        logp = torch.log_softmax(torch.tensor(row, dtype=torch.float64), 0)
        assert gap == pytest.approx(float(logp.max() - logp[token]), abs=1e-12)


def test_rank_one_is_the_choice_even_on_ties() -> None:
    draft = chain([3, 1])
    flat = RoundView(draft, torch.zeros(3, 5), Sampling(), [0.5, 0.5], 0.5)
    assert (
        flat.choice == [0, 0, 0]
        and [rank for rank, _ in flat.ranks] == [4, 2]
        and [gap for _, gap in flat.ranks] == [0, 0]
    )


def test_no_nodes_no_ranks() -> None:
    assert RoundView(EMPTY, torch.zeros(1, 5), Sampling(), [], 0.5).ranks == []


def test_a_distribution_without_a_token_is_made_from_the_raw_logits(view: RoundView) -> None:
    """E14: minus infinity first, then temperature, top-k, top-p; not the processed distribution with a hole."""
    for token in range(6):
        p = view.distribution_without(2, token)
        logits = view.logits[2].clone()
        logits[token] = -torch.inf
        assert (
            torch.equal(p, distribution(logits, view.sampling)) and p[token] == 0 and p.sum().item() == pytest.approx(1)
        )
    assert not torch.isinf(view.logits).any()  # the view's own row is untouched


def test_top_k_is_refilled_after_a_removal() -> None:
    view = RoundView(EMPTY, torch.tensor([[3.0, 2.0, 1.0, 0.0]]), Sampling(1.0, top_k=1), [], 0.5)
    assert view.distribution_without(0, 0).tolist() == [0, 1, 0, 0]


def test_the_next_choice_skips_what_was_removed(view: RoundView) -> None:
    order = sorted(range(6), key=lambda v: (-float(view.logits[3, v]), v))
    assert [view.next_choice(3, order[:k]) for k in range(1, 6)] == order[1:]


def test_draws_and_emissions(view: RoundView) -> None:
    assert view.draw(4) == 4
    assert view.draw(torch.tensor([0.0, 0.5, 0.5])) == 2  # u_emit is 0.6
    cdf = view.p[1].cumsum(0).tolist()
    assert view.emit(1) == next(i for i, c in enumerate(cdf) if c > 0.6)
    greedy = RoundView(TREE, view.logits, Sampling(), [0.0] * 4, 0.6)
    assert [greedy.emit(r) for r in range(5)] == view.logits.argmax(-1).tolist()


def test_q_is_the_distribution_of_the_group(view: RoundView) -> None:
    distributions = torch.softmax(torch.randn(3, 6), -1)
    with_distributions = RoundView(
        Draft(TREE.tokens, TREE.parents, "without_replacement", TREE.group, distributions),
        view.logits,
        view.sampling,
        [0.1] * 4,
        0.5,
    )
    assert torch.equal(with_distributions.q(1), distributions[0]) and torch.equal(
        with_distributions.q(3), distributions[2]
    )
    sparse = SparseDistributions([[(2, 0.75), (0, 0.25)], [(5, 1.0)], [(1, 1.0)]], 6)
    few = RoundView(
        Draft(TREE.tokens, TREE.parents, "without_replacement", TREE.group, sparse),
        view.logits,
        view.sampling,
        [0.1] * 4,
        0.5,
    )
    assert few.q(0).tolist() == [0.25, 0, 0.75, 0, 0, 0] and few.q(2).tolist() == [0, 0, 0, 0, 0, 1]
    with pytest.raises(ValueError, match="no distributions"):
        view.q(0)


def test_numbers_appear_only_when_asked(view: RoundView) -> None:
    fresh = RoundView(TREE, view.logits, view.sampling, [0.1] * 4, 0.5)
    assert {"choice", "p", "stats", "ranks"}.isdisjoint(vars(fresh))
    assert math.isfinite(fresh.ranks[0][1]) and "stats" not in vars(fresh)
