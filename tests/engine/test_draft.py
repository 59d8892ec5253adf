"""Drafts are well-formed trees: ancestors, depths, children, ranks and cuts agree with one another."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.draft import EMPTY, Draft, chain


@st.composite
def drafts(draw: st.DrawFn) -> Draft:
    """Any tree of up to 10 nodes, with scores that fall along each path."""
    n = draw(st.integers(0, 10))
    parents = tuple(draw(st.integers(-1, i - 1)) for i in range(n))
    tokens = tuple(draw(st.lists(st.integers(0, 9), min_size=n, max_size=n)))
    scores: list[float] = []
    for parent in parents:
        scores.append((scores[parent] if parent >= 0 else 0.0) - draw(st.sampled_from([0.0, 0.25, 0.5, 2.0])))
    return Draft(tokens, parents, group=(0,) * n, scores=tuple(scores) or None)


def root_path(draft: Draft, node: int) -> list[int]:
    """Nodes from the root's child down to `node`, by following parents."""
    path = []
    while node >= 0:
        path.append(node)
        node = draft.parents[node]
    return path[::-1]


def check_ancestors(draft: Draft) -> None:
    """A node sees itself and its ancestors, nothing else."""
    mask = draft.ancestors()
    assert mask.shape == (len(draft), len(draft)) and mask.dtype == torch.bool
    for i in range(len(draft)):
        assert mask[i].nonzero().flatten().tolist() == sorted(root_path(draft, i))


@settings(max_examples=40)
@given(draft=drafts())
def test_the_mask_is_the_ancestor_relation(draft: Draft) -> None:
    check_ancestors(draft)
    mask = draft.ancestors()
    assert bool(torch.equal(mask.float() @ mask.float() > 0, mask))  # reflexive and transitive


@settings(max_examples=40)
@given(draft=drafts())
def test_depths_children_and_paths_agree(draft: Draft) -> None:
    for i, parent in enumerate(draft.parents):
        assert draft.depths[i] == len(root_path(draft, i)) == (1 if parent < 0 else draft.depths[parent] + 1)
        assert i in draft.kids[parent + 1]
        assert draft.path_tokens(i) == [draft.tokens[k] for k in root_path(draft, i)]
    assert sorted(k for kids in draft.kids for k in kids) == list(range(len(draft)))
    assert all(list(kids) == sorted(kids) for kids in draft.kids)
    assert draft.levels == max(draft.depths, default=0)
    assert draft.path_tokens(-1) == []
    assert draft.is_chain == (draft.levels == len(draft))


@settings(max_examples=40)
@given(draft=drafts())
def test_ranks_order_the_scores_and_never_undercut_depth(draft: Draft) -> None:
    """A permutation; descending score, ties by index; the rank of a node is at least its depth (TCR, section 5.3)."""
    assert sorted(draft.ranks) == list(range(1, len(draft) + 1))
    order = sorted(range(len(draft)), key=draft.ranks.__getitem__)
    if draft.scores is not None:
        assert all((-draft.scores[a], a) < (-draft.scores[b], b) for a, b in pairwise(order))
        assert all(rank >= depth for rank, depth in zip(draft.ranks, draft.depths, strict=True))


@settings(max_examples=40)
@given(draft=drafts(), n=st.integers(0, 16))
def test_a_cut_is_the_same_tree_with_fewer_nodes(draft: Draft, n: int) -> None:
    small = draft.cut(n)
    size = min(n, len(draft))
    assert small.tokens == draft.tokens[:size] and small.parents == draft.parents[:size] and len(small.group) == size
    assert torch.equal(small.ancestors(), draft.ancestors()[:size, :size])
    if n >= len(draft):
        assert small is draft


def test_a_cut_keeps_what_nodes_carry() -> None:
    distributions = torch.eye(3)
    whole = chain(
        [5, 6, 7],
        draw="sample",
        distributions=distributions,
        logits=distributions,
        scores=(-1.0, -2.0, -3.0),
        sources=({"a": 1}, {"a": 2}, {"a": 3}),
        confidence=(0.1, 0.2, 0.3),
        extras={"k": 2},
    )
    part = whole.cut(2)
    assert (part.draw, part.scores, part.confidence, part.sources) == (
        "sample",
        (-1.0, -2.0),
        (0.1, 0.2),
        ({"a": 1}, {"a": 2}),
    )
    assert part.distributions is distributions and part.logits is distributions and part.extras == {"k": 2}


def test_a_chain_is_a_tree_with_one_branch() -> None:
    draft = chain([4, 5, 6])
    assert draft.parents == (-1, 0, 1) and draft.depths == (1, 2, 3) and draft.group == (0, 1, 2) and draft.is_chain
    assert draft.ranks == (1, 2, 3)
    assert torch.equal(draft.ancestors(), torch.ones(3, 3, dtype=torch.bool).tril())


def test_the_empty_draft() -> None:
    assert len(EMPTY) == 0 and EMPTY.levels == 0 and EMPTY.is_chain and EMPTY.kids == ((),) and EMPTY.ranks == ()
    assert EMPTY.ancestors().shape == (0, 0)


@pytest.mark.parametrize(
    ("tokens", "parents"), [((1,), (0,)), ((1,), (-2,)), ((1, 2), (1, -1)), ((1, 2), (-1,)), ((1,), ())]
)
def test_malformed_trees_are_refused(tokens: tuple[int, ...], parents: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="one parent a token"):
        Draft(tokens, parents)


def test_the_ancestor_check_has_power() -> None:
    """The check itself refuses a mask that forgets grandparents."""
    draft = chain([1, 2, 3])
    near = torch.eye(3, dtype=torch.bool) | torch.eye(3, dtype=torch.bool).roll(-1, 1).tril()

    class Short(Draft):
        def ancestors(self) -> torch.Tensor:
            return near

    with pytest.raises(AssertionError):
        check_ancestors(Short(draft.tokens, draft.parents, group=draft.group))
