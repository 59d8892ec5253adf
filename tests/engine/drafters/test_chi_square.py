"""Whole runs at temperature above 0 against the exact distribution of the target, and two mutants that must be caught."""

import itertools
import math
from collections import Counter
from typing import Any

import pytest

from engine.config import Sampling
from engine.lookup.draws import gumbel_top
from engine.lookup.noise import NoiseCache
from engine.runs.running import prepare
from tests.engine.drafters.lookups import NAMES
from tests.engine.toy import joint_distribution, toy_lab

pytestmark = pytest.mark.slow
PROMPT, STEPS = [1, 2, 1], 3
OTHERS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in NAMES if name != "stand"),
    ("lookahead", {"window": 3, "ngram": 3}),
]
CASES: list[tuple[str, dict[str, Any]]] = OTHERS + [
    ("stand", {"drafting": variant, "tree": "best_first", "tree_nodes": 12, "tree_depth": 3})
    for variant in ("gumbel", "stochastic", "deterministic")
]


def p_value(name, runs, sampling, seed=0, **knobs):
    """Probability of so large a chi-square if the third trajectory's first tokens follow the target's distribution."""
    lab = toy_lab(4, draft=None)
    distribution = joint_distribution(lab.target, PROMPT, STEPS, sampling)
    counts, accepted = Counter[tuple[int, ...]](), 0
    options = {"temperature": sampling.temperature, "top_k": sampling.top_k, "top_p": sampling.top_p, "record": "light"}
    for i in range(runs):
        if i % 40 == 0:  # tables of the same problem that have seen a few trajectories, then forty more
            living = prepare(lab, name, **knobs)
            for j in range(3):
                lab.run(
                    name, PROMPT, reuse=living, max_new_tokens=12, seed=seed + 10**7 + 1000 * i + j, **options, **knobs
                )
        trace = lab.run(name, PROMPT, reuse=living, max_new_tokens=STEPS, seed=seed + i, **options, **knobs)
        counts[tuple(trace.token_ids)] += 1
        accepted += sum(r.accepted for r in trace.rounds)
    assert accepted > runs / 10  # the drafts took part
    cells = [(counts.get(k, 0), runs * p) for k, p in distribution.items() if runs * p >= 5]
    rest = runs - sum(e for _, e in cells), runs - sum(o for o, _ in cells)
    value = sum((o - e) ** 2 / e for o, e in cells) + ((rest[1] - rest[0]) ** 2 / rest[0] if rest[0] >= 5 else 0)
    return upper_tail(value, len(cells) - (rest[0] < 5))


def upper_tail(x, freedom):
    """P(chi-square > x), by Wilson and Hilferty's cube root."""
    z = ((x / freedom) ** (1 / 3) - (1 - 2 / (9 * freedom))) / math.sqrt(2 / (9 * freedom))
    return 0.5 * math.erfc(z / math.sqrt(2))


@pytest.mark.parametrize(("name", "knobs"), CASES, ids=[f"{n}-{k.get('drafting', '')}" for n, k in CASES])
def test_distribution_of_the_target(name, knobs):
    assert p_value(name, 6000, Sampling(0.8), **knobs) > 1e-4


@pytest.mark.parametrize("sampling", [Sampling(0.6), Sampling(1.0, top_k=3), Sampling(1.0, top_p=0.8)])
def test_distribution_with_processors(sampling):
    assert p_value("stand", 3000, sampling, tree="best_first", tree_nodes=12, tree_depth=3) > 1e-4


def test_noise_shared_by_all_nodes_is_caught(monkeypatch):
    vectors = itertools.count()

    def take(self, n, generator):
        if not hasattr(self, "shared") or self.round is not generator:
            self.round, self.shared = generator, generator.gumbel(size=64)
            next(vectors)
        return self.shared[:n]

    monkeypatch.setattr(NoiseCache, "take", take)
    knobs = {"tree": "best_first", "tree_nodes": 12, "tree_depth": 3}
    assert p_value("stand", 6000, Sampling(0.8), **knobs) < 1e-6
    assert next(vectors) > 1000


def test_children_in_the_order_of_probability_are_caught(monkeypatch):
    def by_probability(mean, m, cache, generator):
        return sorted(gumbel_top(mean, m, cache, generator))

    monkeypatch.setattr("engine.drafters.stand.gumbel_top", by_probability)
    knobs = {"tree": "best_first", "tree_nodes": 12, "tree_depth": 3}
    assert p_value("stand", 6000, Sampling(0.8), **knobs) < 1e-6
