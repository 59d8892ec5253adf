"""The Gumbel field: a function of seed and prefix, with the right distribution over seeds."""

import torch

from engine.config import Sampling
from engine.judge.gumbel import Chooser, GumbelField
from engine.sampling import distribution


def test_noise_depends_on_seed_and_prefix_alone() -> None:
    field = GumbelField(3)
    assert torch.equal(field.at([1, 2], 9), GumbelField(3).at((1, 2), 9))
    for other in (GumbelField(4).at([1, 2], 9), field.at([2, 1], 9), field.at([1, 2, 2], 9), field.at([12], 9)):
        assert not torch.equal(field.at([1, 2], 9), other)
    assert torch.isfinite(field.at([], 10_000)).all()


def test_frequencies_over_seeds_follow_the_processed_distribution() -> None:
    logits = torch.tensor([[1.0, 0.2, -0.5, 0.7, -4.0]], dtype=torch.float64)
    sampling, n = Sampling(0.8, 4, 0.95), 3_000
    counts = torch.zeros(5)
    for seed in range(n):
        counts[Chooser(sampling, seed).pick(logits, [[7, 7]])[0]] += 1
    p = distribution(logits, sampling)[0].float()
    assert (counts[p == 0] == 0).all()
    kept = p > 0
    chi2 = (((counts - n * p) ** 2)[kept] / (n * p)[kept]).sum()
    assert chi2 < 21.1  # at most three degrees of freedom, p = 1e-4


def test_swapping_a_token_changes_later_noise_but_not_earlier_choices() -> None:
    logits = torch.zeros(6, 50, dtype=torch.float64)
    chooser, one, two = Chooser(Sampling(1.0), 1), [5, 6, 7, 8, 9, 10], [5, 6, 3, 8, 9, 10]
    a, b = (chooser.pick(logits, [ids[:i] for i in range(6)]) for ids in (one, two))
    assert a[:3] == b[:3] and a[3] != b[3]
    assert a[4] != b[4] and a[5] != b[5]  # where the last token is the same again


def test_greedy_needs_no_noise() -> None:
    assert Chooser().pick(torch.tensor([[0.0, 2.0, 2.0]]), [[1]]) == [1]
