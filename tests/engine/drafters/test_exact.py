"""The sampled distribution of every model-free method, enumerated: whatever the tables say, the target's distribution comes out."""

import itertools

import pytest
import torch

from engine.config import Sampling
from engine.draft import SparseDistributions
from engine.drafters.stand import Pen
from engine.lookup.distributions import cut
from engine.lookup.draws import first
from engine.trees.template import from_paths
from engine.verify import walk
from tests.engine.distributions import Tree, random_distribution, worst
from tests.engine.drafters.lookups import context, drafter, stand_drafts
from tests.typed import known

EXACT = 1e-12
V = 4


def stand_with_table(seed, stored=3, orders=2):
    """A STAND drafter that knows random distributions after every context of one and some of two tokens."""
    stand, _ = drafter("stand", [0], stored=stored, orders=orders)
    stand.kit.vocab = V
    g = torch.Generator().manual_seed(seed)
    contexts = [*itertools.product(range(V), repeat=2)][::2]
    for text in contexts:
        distribution = random_distribution(V, g).tolist()
        stand.table.see(text, cut(list(enumerate(distribution)), stored))
    return stand


TREES = {
    "two by one": from_paths([(0,), (1,), (0, 0), (1, 0)]),
    "three": from_paths([(0,), (1,), (2,)]),
    "two by two": from_paths([(0,), (1,), (0, 0), (0, 1), (1, 0)]),
}


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("seed", range(2))
def test_stand_emits_the_distribution_of_the_target(name, seed):
    model, stand = Tree(V, 3, seed), stand_with_table(seed)
    drafts = list(stand_drafts(stand, TREES[name], context([1, 2])))
    assert abs(sum(w for _, w in drafts) - 1) < 1e-12
    assert len(drafts) > 5
    assert worst(model.emitted(walk, drafts, 2), model.joint(2)) < EXACT


def test_shared_noise_is_caught():
    """With one noise vector for parent and child the second token's distribution is wrong."""
    model, stand = Tree(V, 3, 0), stand_with_table(0)
    drafts = list(stand_drafts(stand, TREES["two by one"], context([1, 2]), shared=True))
    assert worst(model.emitted(walk, drafts, 2), model.joint(2)) > 0.003


@pytest.mark.parametrize(
    "visit", [sorted, lambda order: sorted(order, reverse=True)], ids=["by probability", "reversed"]
)
def test_wrong_order_is_caught(visit):
    model, stand = Tree(V, 3, 0), stand_with_table(0)
    drafts = list(stand_drafts(stand, TREES["three"], context([1, 2]), visit=visit))
    assert worst(model.emitted(walk, drafts, 2), model.joint(2)) > 0.01


def test_stored_mass_instead_of_the_distribution_is_caught():
    """q in the ratio must be the distribution drawn from, not the mass as stored (register S3)."""
    model, stand = Tree(V, 3, 0), stand_with_table(0)
    drafts = list(stand_drafts(stand, TREES["three"], context([1, 2])))
    for draft, _ in drafts:
        stored = known(SparseDistributions, draft.distributions)
        stored.entries = [[(t, 0.7 * p) for t, p in entries] for entries in stored.entries]
    assert worst(model.emitted(walk, drafts, 2), model.joint(2)) > 0.005


def test_deterministic_stand_emits_the_distribution_of_the_target():
    model, stand = Tree(V, 3, 1), stand_with_table(1)
    draft = Pen(stand, context([1, 2]), first, False).draft(TREES["two by two"])
    assert draft.draw == "point" and len(draft) >= 4 and draft.levels == 2
    assert worst(model.emitted(walk, [(draft, 1.0)], 2), model.joint(2)) < EXACT


def test_single_entries_make_all_variants_one():
    stand, shape = drafter("stand", [0], tree="best_first", tree_nodes=20, tree_depth=4)
    for a, b in ((0, 1), (1, 2), (2, 3), (3, 1)):
        stand.table.see([a], [(b, 0.3)])
    drafts = {}
    for variant in ("gumbel", "stochastic", "deterministic"):
        stand.knobs["drafting"] = variant
        drafts[variant] = stand.propose(context([0]), shape)
    assert {d.tokens for d in drafts.values()} == {(1, 2, 3, 1)}
    assert all(d.is_chain for d in drafts.values())


TEXT = [0, 1, 2, 3, 0, 1, 2, 0, 1, 2, 3, 0, 1]


@pytest.mark.parametrize("name", ["pld", "anpd", "sam", "suffix"])
def test_chains_emit_the_distribution_of_the_target(name):
    part, shape = drafter(name, TEXT, gamma=2)
    draft = part.propose(context(TEXT), shape)
    assert len(draft) == 2 and draft.draw == "point"
    model = Tree(V, 3, 0)
    assert worst(model.emitted(walk, [(draft, 1.0)], 3), model.joint(3)) < EXACT


@pytest.mark.parametrize("name", ["recycle", "sam_recycle"])
def test_recycled_trees_emit_the_distribution_of_the_target(name):
    part, shape = drafter(name, [0], tree="best_first", tree_nodes=9, tree_depth=2, width=3)
    g = torch.Generator().manual_seed(3)
    part.adjacency.learn([0, 1, 2, 3], torch.randn(4, V, generator=g))
    draft = part.propose(context([0]), shape)
    assert len(draft) >= 8 and draft.levels == 2 and draft.draw == "point"
    model = Tree(V, 3, 5)
    assert worst(model.emitted(walk, [(draft, 1.0)], 2), model.joint(2)) < EXACT


def test_nothing_is_drawn_when_greedy():
    stand = stand_with_table(0)
    _, shape = drafter("stand", [0], tree_nodes=12)
    at = context([1, 2], sampling=Sampling())
    draft = stand.propose(at, shape)
    assert draft.draw == "point" and draft.distributions is None and len(draft)
    assert at.streams.uniform("draft") == context([1]).streams.uniform("draft")
