"""The tree optimiser: what it counts, what it keeps, and that it runs a method end to end."""

from types import SimpleNamespace
from typing import Any

import pytest

from engine.draft import Draft
from engine.errors import ConfigError
from engine.tasks import load_problems
from engine.trees.template import best_first, from_paths, named_template
from engine.tune import trees
from engine.tune.trees import Usage, count_usage, met_again, prompt_marks, prompts_mark, require_countable, with_card

TREE = from_paths([(0,), (1,), (2,), (0, 0), (0, 1), (1, 0), (0, 0, 0)])


def test_a_drafts_child_counts_for_the_templates_child_at_the_same_place():
    usage = Usage(TREE)
    # two children of the root, of which only the second was expanded; the first has no context in the table
    draft = Draft((7, 8, 9), (-1, -1, 1))
    usage.see(draft, [1, 2])
    assert usage.counts == [0, 1, 0, 0, 0, 1, 0] and usage.rounds == 1
    usage.see(draft, [])
    assert usage.rounds == 2


def test_the_best_nodes_are_kept_and_compacted():
    usage = Usage(TREE)
    usage.counts = [9, 0, 4, 5, 0, 0, 5]
    assert usage.best(4).paths == ((0,), (1,), (0, 0), (0, 0, 0))  # rank 2 of the root became rank 1
    assert usage.best(3).paths == ((0,), (0, 0), (0, 0, 0))
    usage.counts = [3] * 7  # ties: shallower, then earlier
    assert usage.best(4).paths == ((0,), (1,), (2,), (0, 0))
    usage.counts = [0, 0, 0, 5, 0, 0, 0]
    with pytest.raises(AssertionError):
        usage.best(1)


@pytest.mark.parametrize("method", ["stand", "recycle"])
def test_counting_follows_real_runs(zoo, method):
    lab = zoo.lab("llama", draft=None, vocab=64, seed=3)
    usage = Usage(best_first(60, 8))
    prompts = ["abcabcab", "xyzzy"]
    done = list(count_usage(lab, method, prompts, 2, usage, temperature=0.3, max_new_tokens=25))
    assert done == [0, 1] and usage.rounds > 10
    assert sum(usage.counts) > 0
    for i, parent in enumerate(usage.tree.parents):
        assert parent < 0 or usage.counts[parent] >= usage.counts[i]
    assert len(usage.best(20)) == 20
    assert prompts_mark(prompts) != prompts_mark(prompts[::-1])


def test_prompts_that_a_tree_was_made_from_are_known_again():
    tree = with_card(best_first(6, 3), calibration={"each": prompt_marks(["a question", "another"])})
    assert met_again(tree, ["another", "a new one", "a question", "a question"]) == 2
    assert met_again(tree, ["A question"]) == 0 == met_again(best_first(6, 3), ["another"])


def test_shipped_trees_name_their_prompts_and_were_not_made_from_held_out_ones():
    held_out = [problem.prompt for problem in load_problems("arithmetic", "heldout", 300)]
    for name in ("stand_stochastic", "stand_deterministic", "recycle_optimised"):
        tree = named_template(name)
        assert len(tree.card["calibration"]["each"]) == tree.card["calibration"]["prompts"] == 30
        assert met_again(tree, held_out) == 0


def test_counting_stops_at_its_deadline_and_goes_on_from_where_it_stopped(zoo, monkeypatch):
    """A clock that moves 50 s with each look at it: of two minutes there is room for two prompts, begun at 50 and 100 s
    after the start."""
    lab = zoo.lab("llama", draft=None, vocab=64, seed=3)
    prompts, usage = ["abcabcab", "xyzzy", "abab", "zzzz"], Usage(best_first(8, 3))
    clock = iter(range(0, 10_000, 50))
    monkeypatch.setattr(trees, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    given: dict[str, Any] = {"temperature": 0.3, "max_new_tokens": 3}
    assert list(count_usage(lab, "recycle", prompts, 1, usage, minutes=2, **given)) == [0, 1]
    before = usage.rounds
    assert list(count_usage(lab, "recycle", prompts, 1, usage, minutes=2, start=2, **given)) == [2, 3]
    assert usage.rounds > before
    monkeypatch.setattr(trees, "time", SimpleNamespace(monotonic=lambda: 1e9))
    assert list(count_usage(lab, "recycle", prompts, 1, usage, start=3, **given)) == [3], "0 minutes are no limit"


def test_only_methods_whose_every_draft_fills_a_static_tree_are_counted():
    for method in ("stand", "recycle", "medusa"):
        require_countable(method)
    for method in ("sam_recycle", "eagle2", "sd"):
        with pytest.raises(ConfigError, match=f"{method}.*do not all fill a static tree.*stand") as refused:
            require_countable(method)
        assert "sam_recycle" not in str(refused.value).partition("optimised for")[2]
