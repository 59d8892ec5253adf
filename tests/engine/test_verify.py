"""The kernels emit the target's distribution exactly: enumerated, not sampled (docs/methods/kernels.md)."""

import itertools
from collections.abc import Iterable
from functools import partial
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.config import Sampling
from engine.draft import EMPTY, Draft, chain
from engine.verify import Check, Verdict, residual, step_point, step_sample, step_without_replacement, walk, walk_by
from engine.view import RoundView
from tests.engine.distributions import (
    SAMPLED,
    Tree,
    distance,
    outcomes,
    pairs,
    point_distribution,
    random_distribution,
    replacement_distribution,
    sample_distribution,
    worst,
)

EXACT = 1e-12
GREEDY = Sampling()


# --- one node -----------------------------------------------------------------------------------------------------


def check_sample_distribution() -> None:
    """K2 emits p."""
    assert max(distance(sample_distribution(p, q), p) for p, q in pairs(40)) < EXACT


def check_point_distribution() -> None:
    """K5 emits p, whatever the children, in whatever order."""
    for p, _ in pairs(4):
        for m in (1, 2, 3, 4):
            for tokens in itertools.permutations(range(5), m):
                assert distance(point_distribution(p, tokens), p) < EXACT


def check_replacement_distribution() -> None:
    """K6 emits p when children are visited in draw order."""
    for m, count in ((1, 40), (2, 16), (3, 6), (4, 3)):
        assert max(distance(replacement_distribution(p, q, m), p) for p, q in pairs(count)) < EXACT


def check_zero_mass_rejected() -> None:
    """A token without mass in p is refused even by the uniform 0 (`u <= ratio` would take it)."""
    p, q = torch.tensor([0.0, 0.4, 0.6]).double(), torch.tensor([0.5, 0.5, 0.0]).double()
    assert step_sample(p, q, 0, 0.0).accepted is None
    assert step_point(p, [0], [0.0]).accepted is None
    assert step_without_replacement(p, q, [0], [0.0]).accepted is None


def test_a_sampled_draft_token_leaves_the_distribution_of_the_target() -> None:
    check_sample_distribution()


def test_chosen_children_leave_the_distribution_of_the_target() -> None:
    check_point_distribution()


def test_children_without_replacement_leave_the_distribution_of_the_target() -> None:
    check_replacement_distribution()


def test_zero_mass_is_never_accepted() -> None:
    check_zero_mass_rejected()


def test_sample_and_match_has_the_distribution_of_chosen_children() -> None:
    """K5': draw from p, and stay in the tree when it is a child. The same chance for each child, and for leaving."""
    for p, _ in pairs(8):
        step = step_point(p, [3, 1], [1.0, 1.0])
        reach, taken = 1.0, {}
        for token, test in zip([3, 1], step.tests, strict=True):
            taken[token] = reach * test["ratio"]
            reach *= 1 - test["ratio"]
        assert taken[3] == pytest.approx(float(p[3]), abs=EXACT) and taken[1] == pytest.approx(float(p[1]), abs=EXACT)
        out = p.clone()
        out[[3, 1]] = 0
        assert torch.allclose(reach * step.rest_V, out, atol=EXACT)


def by_mass_of(q: torch.Tensor, tokens: Iterable[int]) -> list[int]:
    """Tokens by falling probability under q."""
    return sorted(tokens, key=lambda token: -float(q[token]))


@pytest.mark.thorough
@pytest.mark.parametrize("m", [2, 3, 4])
def test_the_wrong_visiting_order_is_biased(m: int) -> None:
    """Descending q and token order (docs/methods/kernels.md#k6)."""
    found = pairs(40)
    by_mass = max(distance(replacement_distribution(p, q, m, partial(by_mass_of, q)), p) for p, q in found)
    by_id = max(distance(replacement_distribution(p, q, m, sorted), p) for p, q in found)
    assert 0.33 <= round(by_mass, 2) <= 0.47 and 0.79 <= round(by_id, 2) <= 0.94  # as docs/methods/kernels.md says


@pytest.mark.parametrize("m", [2, 3, 4])
def test_a_ratio_with_the_raw_stored_mass_is_biased(m: int) -> None:
    """q must be the distribution drawn from, not a stored one that sums to 0.8 (S3)."""
    far = max(distance(replacement_distribution(p, q, m, told=0.8 * q), p) for p, q in pairs(40))
    assert round(far, 2) == 0.15  # as docs/methods/kernels.md says


def test_correcting_from_the_target_is_biased_exactly_as_derived() -> None:
    """K3 emits min(p, q) + (1 - sum min(p, q)) p."""
    far = 0.0
    for p, q in pairs(40):
        distribution = sample_distribution(p, q, "target")
        kept = torch.minimum(p, q)
        assert distance(distribution, kept + (1 - kept.sum()) * p) < EXACT
        far = max(far, distance(distribution, p))
    assert far > 0.1
    p = torch.tensor([0.6, 0.4, 0.0, 0.0], dtype=torch.float64)  # as top-k leaves it
    for draft, exact in (([0.3, 0.2, 0.1, 0.4], True), ([0.0, 0.0, 0.5, 0.5], True), ([0.3, 0.3, 0.0, 0.4], False)):
        found = distance(sample_distribution(p, torch.tensor(draft, dtype=torch.float64), "target"), p)
        assert (found < EXACT) == exact, "only a multiple of p, where p allows a token, leaves it p"


distribution4 = st.lists(st.sampled_from([0.0, 0.0, 0.1, 0.3, 1.0, 2.5]), min_size=4, max_size=4).filter(
    lambda x: sum(x) > 0
)


@settings(max_examples=30)
@given(p=distribution4, q=distribution4, m=st.integers(1, 4))
def test_kernels_stay_exact_on_distributions_with_zeros(p: list[float], q: list[float], m: int) -> None:
    target, draft = (torch.tensor(x, dtype=torch.float64) / sum(x) for x in (p, q))
    assert distance(sample_distribution(target, draft), target) < EXACT
    assert distance(replacement_distribution(target, draft, m), target) < EXACT
    assert distance(point_distribution(target, range(m)), target) < EXACT


def test_equal_distributions_accept_everything_and_leave_a_usable_rest() -> None:
    p = random_distribution(5, torch.Generator().manual_seed(3))
    for token in range(5):
        step = step_sample(p, p.clone(), token, 1 - 2**-53)
        assert step.accepted == 0 and step.tests[0]["ratio"] == 1.0
    assert torch.equal(residual(p, p.clone()), p)  # no mass left: p itself, not a division by zero


def test_a_draft_token_that_both_distributions_exclude_is_rejected() -> None:
    p = q = torch.tensor([1.0, 0.0]).double()
    assert step_sample(p, q, 1, 0.0).accepted is None
    assert step_without_replacement(p, q, [1], [0.0]).accepted is None


def test_duplicate_children_do_not_bias_the_chosen_kernel() -> None:
    """A repeated sibling has nothing left to be accepted with."""
    for p, _ in pairs(6):
        assert distance(point_distribution(p, [2, 2, 0, 2]), p) < EXACT


def test_kernels_leave_their_arguments_alone() -> None:
    p, q = pairs(1)[0]
    before = p.clone(), q.clone()
    step_point(p, [0, 1, 2], [1.0] * 3)
    step_without_replacement(p, q, [0, 1, 2], [1.0] * 3)
    step_sample(p, q, 0, 1.0)
    assert torch.equal(p, before[0]) and torch.equal(q, before[1])


# --- whole drafts, through walk ---------------------------------------------------------------------------------------


def check_chain_distribution() -> None:
    """Chains of one to three draft tokens: the joint distribution of three tokens is the target's."""
    for gamma, seed, holes in ((1, 0, False), (2, 1, True), (3, 2, False)):
        model = Tree(V=3, depth=3, seed=seed, holes=holes)
        assert worst(model.emitted(walk, model.chains(gamma), 3), model.joint(3)) < EXACT


def check_bush_distribution() -> None:
    """Two-level trees drawn without replacement: the joint distribution of three tokens is the target's."""
    model = Tree(V=3, depth=3, seed=5, holes=False)
    assert worst(model.emitted(walk, model.bushes((2, 2)), 3), model.joint(3)) < EXACT


def check_chosen_tree_distribution() -> None:
    """Fixed trees of any shape (K5 at each node): the joint distribution of three tokens is the target's."""
    model = Tree(V=4, depth=3, seed=6)
    shapes = [
        Draft((0, 2, 1, 3, 0, 2), (-1, -1, 0, 0, 1, 2), group=(0,) * 6),
        Draft((3, 1, 0), (-1, -1, -1), group=(0,) * 3),
        Draft((1, 1, 1), (-1, 0, 1), group=(0,) * 3),
        EMPTY,
    ]
    for draft in shapes:
        assert worst(model.emitted(walk, [(draft, 1.0)], 3), model.joint(3)) < EXACT


def test_chains_leave_the_joint_distribution_of_the_target() -> None:
    check_chain_distribution()


def test_trees_without_replacement_leave_the_joint_distribution_of_the_target() -> None:
    check_bush_distribution()


def test_trees_of_chosen_nodes_leave_the_joint_distribution_of_the_target() -> None:
    check_chosen_tree_distribution()


def test_the_target_as_correction_biases_a_chain() -> None:
    model = Tree(V=3, depth=2, seed=1)
    distribution = model.emitted(lambda view: walk(view, correction="target"), model.chains(2), 2)
    assert worst(distribution, model.joint(2)) > 0.02


def test_processed_distributions_are_those_of_the_walk() -> None:
    """Top-k and temperature: a draft token outside the target's processed distribution is refused, whatever its raw probability."""
    logits = torch.tensor([[2.0, 1.0, 0.0, -1.0], [0.0, 0.0, 0.0, 0.0]]).double()
    draft = chain([2], draw="sample", distributions=torch.full((1, 4), 0.25).double())
    (only,) = outcomes(walk, draft, logits, Sampling(temperature=0.7, top_k=2))
    weight, verdict, next_V = only
    assert weight == 1.0 and not verdict.path and verdict.origin == "correction"
    assert float(next_V[2]) == 0.0 and float(next_V[3]) == 0.0


# --- greedy -----------------------------------------------------------------------------------------------------------


def rows_for(choices: list[int], V: int = 6) -> torch.Tensor:
    """Logits whose argmax is the given token in each row, with graded others."""
    base = torch.linspace(0, 1, V).repeat(len(choices), 1)
    base[torch.arange(len(choices)), choices] = 5.0
    return base


def greedy(draft: Draft, choices: list[int], **hooks: Any) -> Verdict:
    return walk(RoundView(draft, rows_for(choices), GREEDY, [0.5] * len(draft), 0.5, 5), **hooks)


def check_rows_of_the_bonus() -> None:
    """K1: the token after an accepted path is the choice of the last accepted node's own row."""
    verdict = greedy(chain([1, 2, 3]), [1, 2, 3, 4])
    assert (verdict.path, verdict.emit, verdict.origin) == ([0, 1, 2], 4, "bonus")
    verdict = greedy(chain([1, 2, 3]), [1, 5, 3, 4])
    assert (verdict.path, verdict.emit, verdict.origin) == ([0], 5, "correction")
    assert 2 not in verdict.checks


def test_a_greedy_chain_takes_its_prefix_and_the_next_choice() -> None:
    check_rows_of_the_bonus()


def test_a_greedy_tree_follows_the_target() -> None:
    """K4: the second child of the root, then its first; siblings before are noted as refused, others untouched."""
    draft = Draft((1, 2, 3, 4, 5), (-1, -1, 0, 1, 1), group=(0,) * 5)
    verdict = greedy(draft, [2, 0, 4, 0, 3, 0])
    assert (verdict.path, verdict.emit, verdict.origin) == ([1, 3], 3, "bonus")
    assert {i: c.state for i, c in verdict.checks.items()} == {0: "rejected", 1: "accepted", 3: "accepted"}


def test_an_empty_draft_is_a_plain_step() -> None:
    verdict = greedy(EMPTY, [3])
    assert (verdict.path, verdict.emit, verdict.origin) == ([], 3, "target")


def test_ties_go_to_the_lowest_id() -> None:
    view = RoundView(chain([2]), torch.zeros(2, 4), GREEDY, [0.0], 0.0)
    verdict = walk(view)
    assert verdict.emit == 0 and not verdict.path


def test_without_bonus_a_full_acceptance_emits_nothing_more() -> None:
    assert greedy(chain([1, 2]), [1, 2, 3], bonus=False).emit is None
    assert greedy(chain([1, 2]), [1, 4, 3], bonus=False).emit == 4
    assert greedy(EMPTY, [3], bonus=False).emit == 3  # a round always moves on


def test_a_veto_takes_the_second_best() -> None:
    """E14: removed from the raw logits; the token is vetoed, the block ends, and the next choice is emitted."""
    verdict = greedy(
        chain([1, 2]), [1, 2, 3], veto=lambda view, node: {"id": "veto", "remove": view.draft.tokens[node]}
    )
    assert verdict.checks[0].state == "vetoed" and not verdict.path
    assert (verdict.emit, verdict.origin) == (5, "correction")


def test_a_veto_of_a_wrong_draft_token_changes_nothing_but_its_reason() -> None:
    verdict = greedy(
        chain([4, 2]), [1, 2, 3], veto=lambda view, node: {"id": "veto", "remove": view.draft.tokens[node]}
    )
    assert verdict.checks[0].state == "rejected" and verdict.emit == 1


def test_an_override_relaxes_only_what_was_rejected() -> None:
    asked: list[int] = []

    def keep(view: RoundView, node: int) -> tuple[bool, dict[str, object], float]:
        asked.append(node)
        return node == 1, {"id": "kept"}, 0.25

    verdict = greedy(chain([1, 4, 3]), [1, 2, 3, 5], override=keep)
    assert verdict.path == [0, 1, 2] and verdict.emit == 5 and asked == [1]
    assert verdict.checks[1].state == "relaxed" and verdict.checks[1].judge == 0.25
    verdict = greedy(chain([4]), [1, 2], override=keep)
    assert verdict.emit == 1 and verdict.origin == "correction"


@pytest.mark.parametrize("sampling", [GREEDY, SAMPLED])
def test_rejected_siblings_are_overridden_in_the_order_of_their_draft_scores(sampling: Sampling) -> None:
    """K10: neither as they were drafted nor backwards, until one is kept."""
    draft = Draft((1, 2, 3, 0), (-1, -1, -1, -1), scores=(-2.0, -4.0, -1.0, -3.0))
    for kept, order in ((None, [2, 0, 3, 1]), (3, [2, 0, 3])):
        asked: list[int] = []

        def keep(
            view: RoundView, node: int, asked: list[int] = asked, kept: int | None = kept
        ) -> tuple[bool, Any, None]:
            asked.append(node)
            return node == kept, {}, None

        view = RoundView(draft, rows_for([5, 4, 4, 4, 4]), sampling, [0.999999] * 4, 0.999999)
        verdict = walk(view, override=keep)
        assert asked == order and verdict.path == ([] if kept is None else [kept])


def test_a_vetoed_node_is_not_overridden() -> None:
    verdict = greedy(
        chain([1]),
        [1, 2],
        veto=lambda view, node: {"id": "veto", "remove": 1},
        override=lambda view, node: (True, {}, None),
    )
    assert not verdict.path and verdict.checks[0].state == "vetoed"


def test_walk_by_stops_at_the_first_refusal() -> None:
    def small(view: RoundView, node: int) -> Check:
        return Check("accepted" if view.draft.tokens[node] < 3 else "rejected", 1.0, None, {"id": "small"})

    draft = Draft((4, 2, 1, 5), (-1, -1, 1, 2), group=(0,) * 4)
    verdict = walk_by(RoundView(draft, rows_for([0, 0, 1, 2, 3]), GREEDY, [0.5] * 4, 0.5, 5), small)
    assert (verdict.path, verdict.emit, verdict.origin) == ([1, 2], 2, "correction")
    verdict = walk_by(RoundView(chain([1]), rows_for([0, 3]), SAMPLED, [0.5], 0.999999, 5), small, bonus=False)
    assert verdict.path == [0] and verdict.emit is None
