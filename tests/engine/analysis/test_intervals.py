import math

import pytest
from scipy import stats

from engine.analysis.intervals import mean_interval, wilson


@pytest.mark.parametrize(
    ("n", "t"),
    [(2, 12.7062), (3, 4.3027), (4, 3.1824), (5, 2.7764), (11, 2.2281), (30, 2.0452), (31, 2.0423), (20_001, 1.96)],
)
def test_the_half_width_is_that_of_printed_tables(n: int, t: float) -> None:
    values = [float(i % 2) for i in range(n)]
    deviation = math.sqrt(sum((v - sum(values) / n) ** 2 for v in values) / (n - 1))
    found = mean_interval(values)
    assert found is not None and found.high is not None
    assert (found.high - found.mean) / (deviation / math.sqrt(n)) == pytest.approx(t, abs=2e-4)


def test_mean_interval() -> None:
    found = mean_interval([1.0, 2.0, 3.0, 4.0])
    assert found is not None and (found.mean, found.n) == (2.5, 4)
    half = 3.1824 * math.sqrt(5 / 3) / 2
    assert (found.low, found.high) == pytest.approx((2.5 - half, 2.5 + half), abs=1e-3)
    assert mean_interval([]) is None
    one = mean_interval([3.0])
    assert one is not None and (one.mean, one.low, one.high) == (3.0, None, None)


def test_bootstrap_is_seeded_and_close() -> None:
    values = [float(i % 7) for i in range(200)]
    one, again, t = (mean_interval(values, kind=kind) for kind in ("bootstrap", "bootstrap", "t"))
    assert one == again and one is not None and t is not None
    assert one.low == pytest.approx(t.low, abs=0.05) and one.high == pytest.approx(t.high, abs=0.05)
    assert mean_interval(values, kind="bootstrap", seed=1) != one


def test_wilson() -> None:
    found = wilson(8, 10)  # 0.49 to 0.94, as in Newcombe 1998's method 3
    assert found is not None and (found.low, found.high) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    none, all_ = wilson(0, 20), wilson(20, 20)
    assert none is not None and none.low == 0.0 and none.high == pytest.approx(0.1611, abs=1e-4)
    assert all_ is not None and all_.high == 1.0
    assert wilson(0, 0) is None


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize(("successes", "n"), [(0, 1), (1, 1), (3, 7), (0, 300), (299, 300), (123, 4567)])
def test_wilson_is_that_of_scipy(successes: int, n: int, confidence: float) -> None:
    found, theirs = wilson(successes, n, confidence), stats.binomtest(successes, n)
    assert found is not None
    expected = theirs.proportion_ci(confidence, method="wilson")
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


@pytest.mark.parametrize("n", [2, 3, 9, 300])
def test_student_is_that_of_scipy(n: int) -> None:
    values = [float(i * i % 11) for i in range(n)]
    found, theirs = mean_interval(values, 0.9), stats.ttest_1samp(values, 0.0).confidence_interval(0.9)
    assert found is not None and (found.low, found.high) == pytest.approx((theirs.low, theirs.high))


def test_rounding_puts_no_mean_outside_its_bounds() -> None:
    for n in range(1, 400):
        for right in {0, 1, n - 1, n}:
            found = wilson(right, n)
            assert found is not None and found.low is not None and found.high is not None
            assert found.low <= found.mean <= found.high


def test_impossible_counts() -> None:
    for successes, n in ((3, 2), (-1, 2)):
        with pytest.raises(ValueError):
            wilson(successes, n)
