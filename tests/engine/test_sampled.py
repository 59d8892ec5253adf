"""Above temperature 0 a lossless method draws from the target's distribution: whole runs of the engine, chi-square, fixed seeds.

The toy's distributions are a table, so the expected counts are exact. A long run is cut into pairs of tokens: given the state
before a pair (two tokens and the parity of the position) its distribution is known, and pairs are independent of each other.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import pytest
from scipy.stats import chi2

from engine.config import Card, Sampling
from engine.lab import Lab
from tests.engine.toy import ToyDecoder, joint_distribution, toy_lab

SETTINGS = [Sampling(1.0), Sampling(0.6), Sampling(1.0, top_k=3), Sampling(1.0, top_p=0.8)]
IDS = ["T=1", "T=0.6", "top-k 3", "top-p 0.8"]
Counts = dict[Any, Counter[tuple[int, ...]]]
Distributions = dict[Any, dict[tuple[int, ...], float]]


def p_value(counts: Counts, distributions: Distributions) -> float:
    """Chi-square over cells with five or more expected; smaller ones of a state are pooled. Zero for an impossible outcome."""
    statistic, freedom = 0.0, 0
    for state, seen in counts.items():
        n, cells, rest_seen, rest_expected = sum(seen.values()), 0, 0.0, 0.0
        for outcome, mass in distributions[state].items():
            if n * mass >= 5:
                statistic += (seen[outcome] - n * mass) ** 2 / (n * mass)
                cells += 1
            else:
                rest_seen, rest_expected = rest_seen + seen[outcome], rest_expected + n * mass
        if set(seen) - set(distributions[state]):
            return 0.0
        if rest_expected >= 5:
            statistic += (rest_seen - rest_expected) ** 2 / rest_expected
            cells += 1
        freedom += max(cells - 1, 0)
    assert freedom >= 5, "too few cells to say anything"
    return float(chi2.sf(statistic, freedom))


def sampled(lab: Lab, method: str | Card, sampling: Sampling, **options: Any) -> Sequence[int]:
    """Tokens of one light run."""
    trace = lab.run(
        method,
        [0, 1],
        record="light",
        temperature=sampling.temperature,
        top_k=sampling.top_k,
        top_p=sampling.top_p,
        **options,
    )
    return trace.token_ids


def pair_test(
    lab: Lab, method: str | Card, sampling: Sampling, tokens: int = 1400, seed: int = 1, **knobs: Any
) -> float:
    """p-value of one long run, read as pairs."""
    decoder = lab.target.decoder
    assert isinstance(decoder, ToyDecoder)
    text = [0, 1, *sampled(lab, method, sampling, max_new_tokens=tokens, seed=seed, **knobs)]
    counts: Counts = defaultdict(Counter)
    distributions: Distributions = {}
    for i in range(2, len(text) - 1, 2):
        state = (i % 2, text[i - 2], text[i - 1])
        if state not in distributions:
            distributions[state] = joint_distribution(lab.target, text[:i], 2, sampling)
        counts[state][tuple(text[i : i + 2])] += 1
    return p_value(counts, distributions)


def check_sampled_distribution(
    settings: Sequence[Sampling] = (SETTINGS[0],), tokens: int = 1400, draft: str = "near"
) -> None:
    """`sd` on a long run of a toy pair."""
    for sampling in settings:
        assert pair_test(toy_lab(V=3, seed=3, draft=draft), "sd", sampling, tokens, gamma=3) > 1e-4, sampling


@pytest.mark.thorough
@pytest.mark.parametrize("sampling", SETTINGS, ids=IDS)
def test_speculative_sampling_draws_the_distribution_of_the_target(sampling: Sampling) -> None:
    check_sampled_distribution([sampling])


def test_autoregressive_sampling_draws_it_too() -> None:
    assert pair_test(toy_lab(V=3, seed=3), "ar", SETTINGS[0], 1000) > 1e-4


@pytest.mark.thorough
def test_the_comparison_has_power() -> None:
    """Correcting from the target (K3) is found out in as many tokens; the right correction passes on the same pair."""
    far = toy_lab(V=3, seed=3, draft="far")
    assert pair_test(far, "sd", SETTINGS[0], gamma=2) > 1e-4
    assert pair_test(far, "sd", SETTINGS[0], gamma=2, correction="target") < 1e-6


@pytest.mark.thorough
def test_easd_changes_the_distribution_on_purpose() -> None:
    near = toy_lab(V=3, seed=3)
    assert pair_test(near, "easd", SETTINGS[0], 800, gamma=3, tau_entropy=0.3) < 1e-6
    assert pair_test(near, "easd", SETTINGS[0], 800, gamma=3, tau_entropy=20.0, correction="residual") > 1e-4


def test_an_incremental_confidence_chain_with_the_exact_rule_is_lossless() -> None:
    """The stop looks at what came before the next draft token; tests/engine/shapes/test_confidence.py proves it exactly."""
    lab = toy_lab(V=3, seed=3)
    card = lab.compose(drafter="model", shape="confidence_chain", rule="exact", k_max=4, lookahead="incremental")
    assert lab.run(card, [0, 1], max_new_tokens=1, temperature=1.0).head.guarantee == "lossless"
    assert pair_test(lab, card, SETTINGS[0], 1000) > 1e-4


def first_tokens(lab: Lab, sampling: Sampling, runs: int, **knobs: Any) -> float:
    """p-value of the joint distribution of the first three tokens over many short runs."""
    distributions: Distributions = {0: joint_distribution(lab.target, [0, 1], 3, sampling)}
    counts: Counts = {0: Counter()}
    for seed in range(runs):
        counts[0][tuple(sampled(lab, "sd", sampling, max_new_tokens=3, seed=seed, **knobs))] += 1
    return p_value(counts, distributions)


def test_first_tokens_over_many_seeds() -> None:
    """The beginning of a run, where the first round has no round before it."""
    assert first_tokens(toy_lab(V=3, seed=5), SETTINGS[0], 300, gamma=2) > 1e-4


def second_answers(lab: Lab, runs: int, apart: int) -> float:
    """p-value of the first token of second answers, whose drafts are copied from the first and whose seeds lie `apart`
    from theirs."""
    distributions: Distributions = {
        state: joint_distribution(lab.target, [state, 1], 1, SETTINGS[0]) for state in (0, 2, 3)
    }
    counts: Counts = defaultdict(Counter)
    for seed in range(runs):
        for state in distributions:
            living = lab.living("pld", continuation="any")
            options: dict[str, Any] = {"max_new_tokens": 2, "temperature": 1.0, "record": "light", "reuse": living}
            lab.run("pld", [state, 1], seed=seed, **options)
            trace = lab.run("pld", [state, 1], seed=seed + apart, **options)
            counts[state][tuple(trace.token_ids[:1])] += 1
    return p_value(counts, distributions)


@pytest.mark.thorough
def test_a_method_that_lives_on_is_exact_where_each_run_has_a_seed_of_its_own() -> None:
    assert second_answers(toy_lab(), 400, apart=1_000_000) > 1e-4
    assert second_answers(toy_lab(), 400, apart=0) < 1e-6


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("sampling", SETTINGS, ids=IDS)
def test_first_tokens_over_sixty_thousand_seeds(sampling: Sampling) -> None:
    assert first_tokens(toy_lab(V=4, seed=3), sampling, 60_000, gamma=2) > 1e-4


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_sixty_thousand_seeds_find_the_broken_correction() -> None:
    assert first_tokens(toy_lab(V=4, seed=3), SETTINGS[0], 60_000, gamma=2, correction="target") < 1e-6
