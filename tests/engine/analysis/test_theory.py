import itertools

import pytest

from engine.analysis import theory

GRID = [(0.3, 0), *itertools.product((0.0, 1e-9, 0.25, 0.7, 0.999999, 1.0), (1, 2, 5, 12))]


@pytest.mark.parametrize(
    ("alpha", "k", "tokens"), [(0.0, 5, 1.0), (1.0, 5, 6.0), (0.5, 2, 1.75), (0.8, 4, 3.3616), (0.7, 0, 1.0)]
)
def test_expected_tokens(alpha: float, k: int, tokens: float) -> None:
    assert theory.expected_tokens(alpha, k) == pytest.approx(tokens)


@pytest.mark.parametrize(("alpha", "k"), GRID)
def test_expected_tokens_sums_the_chance_to_get_that_far(alpha: float, k: int) -> None:
    assert theory.expected_tokens(alpha, k) == pytest.approx(sum(alpha**i for i in range(k + 1)))


def test_speedup_and_best_length() -> None:
    assert theory.speedup(0.8, 4, 0.1) == pytest.approx(3.3616 / 1.4)
    assert theory.speedup(0.8, 0, 0.1) == 1.0
    assert theory.best_length(0.8, 0.1) == max(range(20), key=lambda k: theory.speedup(0.8, k, 0.1))
    assert theory.best_length(0.3, 0.4) == 0 and not theory.pays(0.3, 0.4)
    assert theory.best_length(0.5, 0.4) == 1 and theory.pays(0.5, 0.4)


def test_acceptance_is_one_minus_total_variation() -> None:
    p, q = [0.5, 0.3, 0.2], [0.2, 0.2, 0.6]
    exact = sum(b * min(1, a / b) for a, b in zip(p, q, strict=True))
    assert (
        theory.acceptance(p, q)
        == pytest.approx(exact)
        == pytest.approx(1 - sum(map(abs, map(float.__sub__, p, q))) / 2)
    )


@pytest.mark.parametrize(("alpha", "k"), GRID[1:])
def test_implied_alpha_inverts(alpha: float, k: int) -> None:
    tau = theory.expected_tokens(alpha, k)
    assert theory.expected_tokens(theory.implied_alpha(tau, k), k) == pytest.approx(tau)


def test_predicted_agrees_with_the_closed_form_for_one_alpha() -> None:
    marginal = list(itertools.accumulate([0.8] * 4, float.__mul__))
    assert theory.predicted(marginal, 0.1) == pytest.approx([theory.speedup(0.8, k, 0.1) for k in range(5)])
    assert theory.predicted(marginal, 0.1, other=0.2)[0] == 1.0
    assert theory.predicted([], 0.1) == [1.0]


def test_impossible_numbers() -> None:
    for call in (
        lambda: theory.expected_tokens(1.1, 2),
        lambda: theory.expected_tokens(0.5, -1),
        lambda: theory.implied_alpha(5, 3),
    ):
        with pytest.raises(ValueError):
            call()
