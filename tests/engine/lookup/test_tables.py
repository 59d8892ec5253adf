"""Tables of the model-free drafters: bounds, counts, first places, mean distributions, adjacency, noise, draws."""

import itertools
import math
from collections import Counter
from typing import cast

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.lookup.adjacency import Adjacency, fill
from engine.lookup.bounded import Bounded
from engine.lookup.counts import FOLLOWERS, CountTable, Followers
from engine.lookup.distributions import DistributionTable, MeanDistribution, merged
from engine.lookup.draws import first, gumbel_top, sequential
from engine.lookup.history import History
from engine.lookup.noise import NoiseCache
from engine.lookup.places import FirstPlaces
from engine.trees.template import best_first, from_paths
from tests.typed import some

A, B, C, D = range(4)


def test_least_recently_used_leaves_first():
    table: Bounded[str, int] = Bounded(2)
    table.put("a", 1)
    table.put("b", 2)
    assert table.find("a") == 1  # now b is the oldest
    table.put("c", 3)
    assert "b" not in table and "a" in table and len(table) == 2


def test_history_scopes():
    for scope, kept in (("run", 1), ("problem", 2), ("global", 3)):
        history = History(scope)
        history.begin([1, 2])
        history.extend([1, 2, 3])
        history.begin([1, 2])
        history.begin([1, 2] if scope != "global" else [5])
        if scope == "run":
            assert history.trajectory == 0
        else:
            assert history.trajectory == 2
        assert len(history.starts()) >= min(kept, 1)
    history = History("problem")
    history.begin([1, 2])
    assert history.extend([1, 2, 3, 4]) == [3, 4]
    assert history.begin([1, 2]) is False
    assert history.place(1) == {"trajectory": 0, "ago": 1, "part": "prompt", "pos": 1}
    assert history.place(3) == {"trajectory": 0, "ago": 1, "part": "response", "pos": 1}
    assert history.place(4) == {"trajectory": 1, "ago": 0, "part": "prompt", "pos": 0}
    assert history.continuation(2, 10) == [3, 4]
    assert history.begin([2, 1]) is True
    assert history.trajectory == 0 and history.tokens == [2, 1]


@settings(max_examples=80)
@given(st.lists(st.integers(0, 2), min_size=1, max_size=30), st.integers(1, 4))
def test_first_places_against_a_scan(text, orders):
    places = FirstPlaces(orders, 10_000)
    for at in range(len(text)):
        places.add(0, text, at, 0)
    for n in range(1, orders + 1):
        gram = text[-n:]
        scan = next((i + n for i in range(len(text) - n) if text[i : i + n] == gram), None)
        assert places.find(0, gram) == (scan if len(gram) == n else None)


def test_counts_take_the_most_frequent_and_of_equals_the_latest():
    table = CountTable(2, 1000)
    text = [5, 1, 5, 2, 5, 1, 7, 5]
    for at in range(len(text)):
        table.add(text, at, 0)
    order, followers = some(table.find([5]))
    assert (order, followers.best, followers.counts) == (1, 1, {1: 2, 2: 1})
    table.add([5, 2], 1, 0)
    assert some(table.find([5]))[1].best == 2  # two each; 2 came last
    assert some(table.find([9, 7]))[0] == 1
    assert table.find([9]) is None
    order, followers = some(table.find([2, 5]))
    assert (order, followers.best) == (2, 1)


def test_a_context_counts_so_many_followers_and_goes_on_counting_those():
    followers = Followers()
    for token in range(FOLLOWERS + 5):
        followers.see(token, token)
    assert len(followers.counts) == FOLLOWERS and followers.best == FOLLOWERS - 1
    followers.see(3, 900)
    assert (followers.counts[3], followers.best, followers.place) == (2, 3, 900)


def rounded(entries):
    return [(token, round(p, 4)) for token, p in entries]


def test_worked_example_of_the_mean():
    table = DistributionTable(1, 10, 100)
    table.see([9], [(A, 0.7), (B, 0.2), (C, 0.05)])
    table.see([9], [(B, 0.6), (A, 0.3), (D, 0.05)])
    assert rounded(some(table.find([9]))[1].entries) == [(A, 0.5), (B, 0.4), (C, 0.025), (D, 0.025)]
    table.see([9], [(A, 0.2)])
    assert rounded(some(table.find([9]))[1].entries) == [(A, 0.4), (B, 0.2667), (C, 0.0167), (D, 0.0167)]
    assert some(table.find([9]))[1].count == 3


distributions = st.lists(st.floats(0.001, 1.0), min_size=4, max_size=4).map(
    lambda w: [(i, x / sum(w)) for i, x in enumerate(w)]
)


@settings(max_examples=60)
@given(st.lists(distributions, min_size=1, max_size=5))
def test_order_of_observations_does_not_matter_and_same_rows_stay(rows):
    def mean(order):
        table = DistributionTable(1, 10, 100)
        for row in order:
            table.see([1], sorted(row, key=lambda e: -e[1]))
        return dict(some(table.find([1]))[1].entries)

    a, b = mean(rows), mean(rows[::-1])
    assert a.keys() == b.keys() and all(math.isclose(a[k], b[k], abs_tol=1e-12) for k in a)
    for token in range(4):
        assert math.isclose(a[token], sum(dict(r)[token] for r in rows) / len(rows), abs_tol=1e-12)
    same = mean([rows[0]] * 4)
    assert all(math.isclose(same[k], p, abs_tol=1e-12) for k, p in rows[0])


def test_stored_rows_are_cut_and_ties_go_to_the_smaller_token():
    new = [(7, 0.25), (3, 0.25), (5, 0.25), (1, 0.25)]
    assert merged([], 0, new, 2) == [(1, 0.25), (3, 0.25)]
    table = DistributionTable(4, 2, 100)
    table.see([1, 2, 3, 4, 5], [(0, 0.5), (1, 0.3), (2, 0.2)])
    assert len(table) == 4  # contexts of one to four tokens
    assert some(table.find([0, 2, 3, 4, 5]))[0] == 4
    assert some(table.find([0, 0, 0, 4, 5]))[0] == 2
    assert table.find([0]) is None
    assert len(some(table.find([5]))[1].entries) == 2


def test_merge_full_uses_the_whole_new_distribution():
    cut_first, whole = DistributionTable(1, 2, 10), DistributionTable(1, 2, 10)
    old, new = [(0, 0.6), (1, 0.4)], {0: 0.1, 1: 0.2, 2: 0.3, 3: 0.4}
    for table in (cut_first, whole):
        table.see([1], old)
    top = [(3, 0.4), (2, 0.3)]
    cut_first.see([1], top)
    whole.see([1], top, full=new.__getitem__)
    assert rounded(some(cut_first.find([1]))[1].entries) == [(0, 0.3), (1, 0.2)]
    assert rounded(some(whole.find([1]))[1].entries) == [(0, 0.35), (1, 0.3)]


def test_adjacency_row_is_the_top_of_the_logits_and_the_last_writer_wins():
    g = torch.Generator().manual_seed(0)
    logits = torch.randn(3, 50, generator=g)
    adjacency = Adjacency(8, 100)
    adjacency.learn([4, 9, 4], logits)
    assert adjacency.row(9) == tuple(logits[1].argsort(descending=True)[:8].tolist())
    assert adjacency.row(4) == tuple(logits[2].argsort(descending=True)[:8].tolist())
    assert adjacency.row(5) == ()


def test_fill_takes_ranks_and_leaves_out_what_is_unknown():
    adjacency = Adjacency(3, 100)
    adjacency._rows.put(1, (2, 3, 4))
    adjacency._rows.put(3, (1, 5, 6))
    tree = from_paths([(0,), (1,), (2,), (0, 0), (1, 0), (1, 2), (1, 0, 1)])
    tokens, parents = fill(adjacency, tree, 1)
    assert tokens == [2, 3, 4, 1, 6, 3] and parents == [-1, -1, -1, 1, 1, 3]
    tokens, parents = fill(adjacency, tree, 7, anything=True)
    assert tokens[:3] == [0, 1, 2]
    assert fill(adjacency, tree, 7) == ([], [])
    tokens, parents = fill(adjacency, best_first(80, 6), 1)
    assert all(
        len(set(kids)) == len(kids) for kids in ([t for t, p in zip(tokens, parents) if p == q] for q in range(-1, 80))
    )


def test_noise_is_handed_out_once():
    cache = NoiseCache(64)
    generator, sizes = np.random.default_rng(0), list[int]()

    class Counted:
        """The generator, and how much it is asked for."""

        def gumbel(self, size):
            sizes.append(size)
            return generator.gumbel(size=size)

    handed = np.concatenate([cache.take(10, cast(np.random.Generator, Counted())) for _ in range(50)])
    assert len(np.unique(handed)) == 500
    assert sizes == [64] * 9  # six slices of ten fit 64
    assert abs(handed.mean() - 0.5772) < 0.2
    assert len(cache.take(100, generator)) == 100


ENTRIES = [(7, 0.5), (3, 0.3), (1, 0.15), (9, 0.05)]
MEAN = MeanDistribution(ENTRIES)


def exact_draws(m):
    distribution = {}
    for order in itertools.permutations(range(4), m):
        mass, left = 1.0, 1.0
        for i in order:
            mass *= ENTRIES[i][1] / left
            left -= ENTRIES[i][1]
        distribution[order] = mass
    return distribution


def chi_square(counts, distribution, n):
    cells = [(counts.get(k, 0), n * p) for k, p in distribution.items() if n * p >= 5]
    return sum((o - e) ** 2 / e for o, e in cells), len(cells) - 1


@pytest.mark.parametrize("kind", ["sequential", "gumbel"])
@pytest.mark.parametrize("m", [1, 2, 3])
def test_both_draws_have_the_distribution_without_replacement(kind, m):
    generator, cache, n = np.random.default_rng(1), NoiseCache(4096), 15_000
    draw = (
        (lambda: sequential(MEAN, m, generator))
        if kind == "sequential"
        else (lambda: gumbel_top(MEAN, m, cache, generator))
    )
    counts = Counter(tuple(draw()) for _ in range(n))
    value, freedom = chi_square(counts, exact_draws(m), n)
    assert value < freedom + 5 * math.sqrt(2 * freedom)
    # the test has power: most probable first is another distribution
    wrong, _ = chi_square(Counter(tuple(sorted(k)) for k in counts.elements()), exact_draws(m), n)
    assert m == 1 or wrong > 10 * freedom


def test_fewer_entries_than_children():
    generator, cache = np.random.default_rng(0), NoiseCache(100)
    two = MeanDistribution(ENTRIES[:2])
    assert sorted(sequential(two, 5, generator)) == sorted(gumbel_top(two, 5, cache, generator)) == [0, 1]
    assert first(MEAN, 2) == [0, 1] and first(MeanDistribution(ENTRIES[:1]), 3) == [0]


def test_the_distribution_drawn_from_sums_to_one_and_follows_the_mean():
    mean = MeanDistribution([(1, 0.2), (2, 0.3)])
    assert mean.distribution == [(1, 0.4), (2, 0.6)]
    mean.add([(1, 0.8)], 10, 5)
    assert rounded(mean.entries) == [(1, 0.5), (2, 0.15)] and mean.count == 2 and mean.place == 5
    assert rounded(mean.distribution) == [(1, 0.7692), (2, 0.2308)]
