"""HeteroSpec's control: reductions to EAGLE-3, sizes by hand, ablations."""

from math import floor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from engine.errors import ConfigError
from engine.lab import Lab
from engine.shapes.entropy_binned import EntropyBinned
from engine.strata.bins import Strata
from engine.strata.metapath import meta_path
from engine.trees.growth import Growth, Plan
from tests.engine.drafters.heads import headed
from tests.engine.trees.test_growth import grow, table
from tests.engine.zoo import Zoo

PROMPT = [5, 6, 7, 8, 9, 10]
N = 14


@pytest.fixture
def lab(zoo: Zoo, tmp_path: Path) -> Lab:
    return headed(zoo, tmp_path)


def trees(lab: Lab, method: str, **knobs: Any) -> list[tuple[Any, ...]]:
    rounds = lab.run(method, PROMPT, max_new_tokens=N, **knobs).rounds
    return [tuple((n.token, n.parent) for n in r.nodes) for r in rounds]


def sizes(lab: Lab, **knobs: Any) -> list[tuple[int, int]]:
    """(levels grown, tokens fed) of rounds with a full-depth tree."""
    rounds = lab.run("heterospec", PROMPT, max_new_tokens=40, **{"depth": 3, **knobs}).rounds
    return [(r.extras["levels"], r.fed) for r in rounds[:5] if "phi" in r.extras]


def test_without_low_bins_or_without_changes_it_is_eagle3(lab: Lab) -> None:
    plain = trees(lab, "eagle3")
    assert trees(lab, "heterospec", low_bins=0) == plain
    assert trees(lab, "heterospec", thresholds="1000", alpha=0, gamma_0=1.0) == plain
    assert trees(lab, "heterospec", thresholds="1000", ded=False, tnp=False) == plain


@pytest.mark.parametrize(("bin_", "gamma"), [(0, 0.3), (1, 0.6), (2, 1.0)])
def test_levels_and_tokens_of_each_bin(lab: Lab, bin_: int, gamma: float) -> None:
    """d' = d + alpha - i and N' = floor(gamma N) + alpha - i; with N = 60 and depth 7: 22, 39, 62 tokens."""
    cuts = ["-3,-2,-1", "-2,-1,1000", "-1,1000,2000", "1000,2000,3000"][3 - bin_]
    delta = 4 - bin_
    assert floor(gamma * 60) + delta == (22, 39, 62)[bin_]
    found = sizes(lab, thresholds=cuts, depth=7)
    assert found and set(found) == {(8 + delta, (22, 39, 62)[bin_])}


def grown_and_shape(strata: Strata, **knobs: Any) -> tuple[Growth, EntropyBinned]:
    """A full tree of three levels whose surest last token is not the end of its likeliest path, and the shape for it."""
    kit: Any = SimpleNamespace(
        target=SimpleNamespace(context=512, only_chains=False), assets=SimpleNamespace(get={"strata": strata}.get)
    )
    sizes = {"total_token": 60, "depth": 2, "tree_top_k": 3}
    given = {knob.name: knob.default for knob in EntropyBinned.KNOBS} | sizes | knobs
    return grow(table(3, 6, 2), 3, 3)[0], EntropyBinned(kit, given)


def told(strata: Strata, **knobs: Any) -> Any:
    grown, shape = grown_and_shape(strata, **knobs)
    plan = Plan(3, 3, 59)
    shape.settle(grown, plan)
    return shape.report(grown, plan, False)


def test_the_entropy_is_of_as_many_probabilities_as_asked_for() -> None:
    strata = Strata((1000.0,))
    grown, _ = grown_and_shape(strata)
    for k in (2, 3, 5):
        assert told(strata, phi_top_k=k)["phi"] == pytest.approx(meta_path(grown, k)[0])
    assert len({round(told(strata, phi_top_k=k)["phi"], 6) for k in (2, 3, 5)}) == 3


@pytest.mark.parametrize("first", ["local", "cumulative"])
def test_the_meta_path_and_its_thresholds_are_the_chosen_or_the_learnt_ones(first: str) -> None:
    """H7: with thresholds of both kinds in the folder those of the path that is followed are taken."""
    other = "local" if first == "cumulative" else "cumulative"
    strata = Strata((1000.0,), {"meta_path": first}, (Strata((-2.0, -1.0, 1000.0), {"meta_path": other}),))
    grown, _ = grown_and_shape(strata)
    ways = {name: meta_path(grown, 10, name == "cumulative") for name in ("local", "cumulative")}
    assert ways["local"][1] != ways["cumulative"][1]
    for asked, followed, place in (("learnt", first, 0), (first, first, 0), (other, other, 2)):
        found = told(strata, meta_path=asked)
        assert (found["phi"], found["meta_path"]) == (pytest.approx(ways[followed][0]), ways[followed][1])
        assert found["bin"] == place


@pytest.mark.parametrize(
    ("knobs", "room", "space", "levels", "nodes"),
    [
        ({}, 50, 500, 5, 19),  # 18 + 2, the root among them
        ({}, 4, 500, 4, 19),  # no deeper than the response still has tokens
        ({}, 50, 7, 5, 7),  # no more than there are slots
        ({"gamma_0": 0.29}, 50, 500, 5, 18),  # 17.4 is 17
        ({"gamma_0": 0.0, "ded": False}, 50, 500, 3, 1),  # a root and one draft token at least
        ({"tnp": False}, 50, 500, 5, 59),
    ],
)
def test_a_low_bin_stays_within_what_is_left(
    knobs: dict[str, Any], room: int, space: int, levels: int, nodes: int
) -> None:
    """H3, and the end of response and cache: depth 2 has three levels, alpha = 2 adds two in bin 0."""
    grown, shape = grown_and_shape(Strata((1000.0,)), **{"alpha": 2, **knobs})
    left: Any = SimpleNamespace(room=room, space=space)
    plan = shape.settle(grown, shape.plan(left))
    assert (plan.levels, plan.nodes) == (levels, nodes)
    for more in range(2):
        assert shape.report(grown, plan, False)["d_extra"] == more
        grown.add(torch.zeros(3, 6))


@pytest.mark.thorough
def test_ablations_one_by_one(lab: Lab) -> None:
    low = {"thresholds": "1000"}
    assert set(sizes(lab, **low)) == {(4 + 2, 18 + 2)}  # alpha = ceil(3 / 2)
    assert set(sizes(lab, **low, tnp=False)) == {(6, 60)}
    assert set(sizes(lab, **low, ded=False)) == {(4, 18)}
    assert set(sizes(lab, **low, delta_index_base=1)) == {(5, 19)}
    assert set(sizes(lab, thresholds="-1,1000")) == {(5, 37)}


def test_prepared_buffers_change_nothing(lab: Lab) -> None:
    with_, without = (lab.run("heterospec", PROMPT, max_new_tokens=N, dca=on) for on in (True, False))
    assert [[(n.token, n.parent, n.score) for n in r.nodes] for r in with_.rounds] == [
        [(n.token, n.parent, n.score) for n in r.nodes] for r in without.rounds
    ]
    kept, fresh = (run.rounds[-2].extras for run in (with_, without))
    assert fresh["buffers_reused"] == 0 < kept["buffers_reused"]
    assert 0 < kept["buffers_made"] < fresh["buffers_made"]


def test_an_extended_tree_has_the_same_first_levels(lab: Lab) -> None:
    """Candidates of the base levels are EAGLE's; only the choice among all changes."""
    wide = {"total_token": 500, "depth": 2, "tree_top_k": 5}
    base = {tuple(n) for n in paths(lab, "eagle3", **wide)}
    more = {tuple(n) for n in paths(lab, "heterospec", thresholds="1000", tnp=False, alpha=2, **wide)}
    assert base == {p for p in more if len(p) <= 3} and any(len(p) == 5 for p in more)


def paths(lab: Lab, method: str, **knobs: Any) -> list[list[int]]:
    nodes = lab.run(method, PROMPT, max_new_tokens=20, **knobs).rounds[0].nodes
    found: list[list[int]] = []
    for node in nodes:
        found.append([*(found[node.parent] if node.parent >= 0 else []), node.token])
    return found


def test_the_pruned_say_why(lab: Lab) -> None:
    first = lab.run("heterospec", PROMPT, max_new_tokens=20, thresholds="1000").rounds[0]
    assert "entropy bin" in {p["cause"] for p in first.pruned}
    assert {"phi", "bin", "n_verify", "levels", "d_extra"} <= set(first.extras)
    assert first.extras["n_verify"] == first.fed


def test_the_end_of_the_response_is_left_alone(lab: Lab) -> None:
    last = lab.run("heterospec", PROMPT, max_new_tokens=5, thresholds="1000").rounds[0]
    assert last.levels <= 4 and "bin" not in last.extras and last.fed == 60


def test_thresholds_are_needed_and_must_rise(lab: Lab) -> None:
    with pytest.raises(ConfigError, match="rising"):
        list(lab.stream("heterospec", PROMPT, thresholds="3,2"))
    del lab.asset_paths["strata"]
    with pytest.raises(ConfigError, match="strata"):
        list(lab.stream("heterospec", PROMPT))
