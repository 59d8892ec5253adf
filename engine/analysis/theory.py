"""Closed forms for a chain whose guesses are each accepted with probability alpha, independently.

Leviathan, Kalman and Matias 2023, "Fast Inference from Transformers via Speculative Decoding" (2211.17192). Real
acceptances are neither independent nor equal: compare with `metrics.accept_by_depth`. k is the draft length (their
gamma), c the cost of a draft step in target steps.
"""

from collections.abc import Sequence


def expected_tokens(alpha: float, k: int) -> float:
    """Mean tokens a target call yields: (1 - alpha^(k+1)) / (1 - alpha), and k + 1 at alpha = 1 (eq. 1).

    Raises:
        ValueError: alpha is not in [0, 1], or k is negative.
    """
    _check(alpha, k)
    return float(k + 1) if alpha == 1 else (1 - alpha ** (k + 1)) / (1 - alpha)


def speedup(alpha: float, k: int, c: float) -> float:
    """Expected quotient of wall times, expected_tokens / (1 + k c) (theorem 3.8). A call of k + 1 tokens costs 1."""
    return expected_tokens(alpha, k) / (1 + k * c)


def best_length(alpha: float, c: float, longest: int = 64) -> int:
    """The draft length in 0 to `longest` with the highest expected speedup; 0 when drafting does not pay."""
    return max(range(longest + 1), key=lambda k: (speedup(alpha, k, c), -k))


def pays(alpha: float, c: float) -> bool:
    """Whether some length pays: alpha > c (corollary 3.9)."""
    return alpha > c


def acceptance(p: Sequence[float], q: Sequence[float]) -> float:
    """Probability that one guess drawn from q is kept: sum of min(p, q) (theorem 3.5, corollary 3.6)."""
    return float(sum(map(min, p, q)))


def implied_alpha(tau: float, k: int) -> float:
    """The alpha at which k guesses give tau tokens a call: eq. 1 solved by bisection.

    Raises:
        ValueError: tau is not in [1, k + 1].
    """
    if not 1 <= tau <= k + 1:
        raise ValueError(f"{tau} tokens a call is not in 1 to {k + 1}")
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if expected_tokens(middle, k) < tau else (low, middle)
    return (low + high) / 2


def predicted(marginal: Sequence[float], c: float, other: float = 0.0) -> list[float]:
    """Speedup at each draft length 0, 1, ... from measured marginal acceptances instead of one alpha.

    Tokens are 1 + the sum of the marginals; `other` is the overhead of a call, in target steps.
    """
    lengths = range(len(marginal) + 1)
    return [(1 + sum(marginal[:k])) / (1 + k * c + (other if k else 0.0)) for k in lengths]


def _check(alpha: float, k: int) -> None:
    if not 0 <= alpha <= 1 or k < 0:
        raise ValueError(f"alpha {alpha} is not in [0, 1], or length {k} is negative")
