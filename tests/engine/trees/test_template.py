"""The static tree as data: generator, prefix closure, compaction, files."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import AssetError
from engine.trees.template import (
    Template,
    best_first,
    chain_template,
    from_json,
    from_paths,
    load_template,
    named_template,
    prefix_closed,
    tree_names,
)


def test_initial_tree_has_the_published_size():
    tree = best_first(625, 20)
    assert len(tree) == 625
    assert tree.depth == 20
    assert max(tree.profile) == 92
    assert tree.width <= 10
    assert sum(tree.profile) == 625


def test_best_first_takes_the_likeliest_paths():
    weights = [0.75] + [0.25 * 0.5**r for r in range(1, 4)]
    tree = best_first(30, 5, ranks=4)

    def score(path):
        product = 1.0
        for r in path:
            product *= weights[r]
        return product

    every: list[tuple[int, ...]] = [()]
    paths = list[tuple[int, ...]]()
    for _ in range(5):
        every = [(*p, r) for p in every for r in range(4)]
        paths += every
    worst = min(score(p) for p in tree.paths)
    assert sum(score(p) > worst * (1 + 1e-12) for p in paths) <= 30
    assert all(score(p) <= worst * (1 + 1e-12) for p in paths if p not in tree.paths)


@st.composite
def templates(draw):
    paths = {()}
    for _ in range(draw(st.integers(0, 30))):
        paths.add((*draw(st.sampled_from(sorted(paths))), draw(st.integers(0, 9))))
    return from_paths(p for p in paths if p)


@settings(max_examples=40)
@given(templates())
def test_paths_round_trip(tree):
    assert from_paths(tree.paths) == tree
    assert from_json(json.loads(json.dumps(tree.to_json()))) == tree
    assert [len(p) for p in tree.paths] == list(tree.depths)
    assert sorted(tree.depths) == list(tree.depths)
    assert sum(len(k) for k in tree.kids) == len(tree)
    assert prefix_closed(tree.parents, range(len(tree)))


@settings(max_examples=40)
@given(templates(), st.integers(0, 40), st.integers(0, 8))
def test_cut_keeps_the_beginning(tree, nodes, depth):
    cut = tree.cut(nodes, depth)
    assert len(cut) == min(nodes, sum(d <= depth for d in tree.depths))
    assert cut.paths == tree.paths[: len(cut)]
    assert cut.depth <= depth


@settings(max_examples=40)
@given(templates())
def test_compaction_renumbers_siblings_and_keeps_the_shape(tree):
    small = tree.compact()
    assert small.parents == tree.parents
    for kids in small.kids:
        assert [small.ranks[k] for k in kids] == list(range(len(kids)))
    assert small.compact() == small


def test_keep_refuses_an_orphan():
    tree = from_paths([(0,), (0, 3), (2,), (2, 1)])
    assert tree.keep([0, 1]).paths == ((0,), (2,))
    assert tree.keep([1, 3]).compact().paths == ((0,), (0, 0))
    with pytest.raises(ValueError):
        tree.keep([3])


@pytest.mark.parametrize("paths", [[(0, 0)], [(0,), (0,)], [()]])
def test_paths_must_be_closed_and_unique(paths):
    with pytest.raises(ValueError):
        from_paths(paths)


@pytest.mark.parametrize(
    ("parents", "ranks"), [((0,), (0,)), ((-1, -1), (0, 0)), ((-1, 0, -1), (0, 0, 1)), ((-1,), (0, 1)), ((-1,), (-1,))]
)
def test_arrays_must_stand_breadth_first(parents, ranks):
    with pytest.raises(ValueError):
        Template(parents, ranks)


def test_chain_is_a_tree_with_one_branch():
    assert chain_template(3).paths == ((0,), (0, 0), (0, 0, 0))
    assert len(chain_template(0)) == 0


def test_files(tmp_path):
    tree = best_first(20, 6)
    tree.save(tmp_path / "t.json")
    assert load_template(tmp_path / "t.json") == tree
    assert load_template(tmp_path / "t.json").card["made"]["cap"] == 6
    for text, why in (
        ("", "Expecting value"),
        ("[]", "must be a JSON object"),
        ('{"kind": "tree"}', "it lacks parents and ranks"),
        ('{"kind": "tree", "parents": [3], "ranks": [0]}', "each parent before its child"),
        ('{"a": 1}', "no tree file"),
        ('{"kind": "x"}', "no tree file"),
    ):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(AssetError, match=why) as refused:
            load_template(tmp_path / "bad.json")
        assert str(refused.value).count("bad.json") == 1
    with pytest.raises(AssetError, match="missing"):
        load_template(tmp_path / "missing.json")


def test_shipped_trees_are_valid():
    for name in tree_names():
        assert len(named_template(name)) > 0
    with pytest.raises(AssetError):
        named_template("../tiny/target/config")
