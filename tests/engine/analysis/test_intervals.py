import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from engine.analysis import intervals as measured
from engine.analysis.intervals import (
    Interval,
    Spread,
    cluster_mean,
    clustered_mean,
    clustered_share,
    counted_interval,
    mean_interval,
    of_sums,
    quotient_interval,
    ratio_interval,
    share_interval,
    speedup_interval,
    spread,
    wilson,
)
from engine.trace.sums import Sums


@pytest.mark.thorough
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
        with pytest.raises(ValueError, match=f"{successes} successes of {n}"):
            wilson(successes, n)


def bounds(found: Interval | None) -> tuple[float, float]:
    assert found is not None and found.low is not None and found.high is not None
    return found.low, found.high


def width(found: Interval | None) -> float:
    low, high = bounds(found)
    return high - low


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_a_share_with_a_token_a_prompt_is_wilsons(confidence: float) -> None:
    one_each = [(1, 1)] * 8 + [(0, 1)] * 2
    assert bounds(clustered_share(one_each, confidence)) == pytest.approx(bounds(wilson(8, 10, confidence)))
    for hits in (0, 10):
        alike = clustered_share([(hits // 10, 1)] * 10)
        assert bounds(alike) == bounds(wilson(hits, 10))


def test_a_share_of_prompts_that_are_all_or_nothing_is_worth_fewer_trials_than_prompts() -> None:
    """Four prompts of 10 tokens each, kept whole, whole, whole, not at all. Between prompts the variance of the share is
    4/3 . 4 . 10^2 . 0.75 . 0.25 / 40^2 = 1/16; 40 tokens alone have 0.1875 / 39. So they are worth 40 . 3/39 tokens,
    and of these (t with 39 over t with 3 degrees of freedom)^2 = (2.0227 / 3.1824)^2."""
    trials = 40 * 3 / 39 * (2.0227 / 3.1824) ** 2
    z, p = 1.959964, 0.75
    centre, half = p + z * z / (2 * trials), z * math.sqrt(p * (1 - p) / trials + z * z / (4 * trials**2))
    expected = [(centre + side * half) / (1 + z * z / trials) for side in (-1, 1)]
    found = clustered_share([(10, 10)] * 3 + [(0, 10)])
    assert found is not None and (found.mean, found.n) == (0.75, 4)
    assert bounds(found) == pytest.approx(expected, abs=1e-4)
    assert width(found) > width(wilson(3, 4)) > 2 * width(wilson(30, 40))


def test_like_prompts_make_no_share_surer_than_its_tokens_do() -> None:
    assert bounds(clustered_share([(7, 10)] * 6)) == bounds(wilson(42, 60))  # no variance at all between them
    assert bounds(clustered_share([(7, 10)] * 20 + [(6, 10), (8, 10)])) == bounds(wilson(154, 220))


@pytest.mark.parametrize("hits", [0, 10])
def test_a_share_that_shows_nothing_of_its_clusters_is_of_prompts(hits: int) -> None:
    assert bounds(clustered_share([(hits, 10)] * 5)) == bounds(wilson(hits // 2, 5))


def test_a_single_prompt_says_nothing_of_others() -> None:
    assert clustered_share([(3, 7), (0, 0)]) == Interval(3 / 7, None, None, 1)
    assert clustered_mean([(3.0, 2), (0.0, 0)]) == Interval(1.5, None, None, 1)
    assert clustered_share([]) is clustered_share([(0, 0)]) is clustered_mean([(0.0, 0)]) is None
    for impossible in ((3, 2), (-1, 2), (1, 0)):
        with pytest.raises(ValueError, match=f"{impossible[0]} successes of {impossible[1]}"):
            clustered_share([(1, 1), impossible])


def test_a_mean_with_a_number_a_prompt_is_students() -> None:
    values = [float(i * i % 11) for i in range(9)]
    found, plain = clustered_mean([(value, 1) for value in values], 0.9), mean_interval(values, 0.9)
    assert found is not None and plain is not None and found.mean == pytest.approx(plain.mean) and found.n == 9
    assert bounds(found) == pytest.approx(bounds(plain))


def test_a_mean_over_clusters_has_the_standard_error_of_a_ratio() -> None:
    """Sums 0, 6 and 12 of 2, 4 and 6 numbers: the mean is 1.5, the residuals are -3, 0 and 3, so the standard error is
    sqrt(3/2 . 18) / 12 and t with 2 degrees of freedom is 4.3027."""
    found = clustered_mean([(0.0, 2), (6.0, 4), (12.0, 6)])
    half = 4.3027 * math.sqrt(27) / 12
    assert found is not None and (found.mean, found.n) == (1.5, 3)
    assert bounds(found) == pytest.approx((1.5 - half, 1.5 + half), abs=1e-4)


def run(tokens: int, rounds: int, accepted: int, drafted: int, ms: float = 1.0) -> Sums:
    return Sums(
        tokens=tokens, rounds=rounds, accepted=accepted, rejected=drafted - accepted, drafted=drafted, draft_ms=ms
    )


def test_numbers_of_runs_are_over_prompts_with_the_runs_of_one_taken_together() -> None:
    each = [run(8, 2, 6, 8, 2.0), run(4, 2, 2, 8, 4.0), run(9, 3, 5, 6, 1.0)]
    found, two = of_sums(each, ["a", "a", "b"]), [(8, 16), (5, 6)]
    assert found["accept_rate_drafted"] == found["accept_rate_tested"] == clustered_share(two)
    assert found["tau"] == ratio_interval([(12, 4), (9, 3)], lambda s: s[..., 0] / s[..., 1])
    assert found["tokens_per_s"] == mean_interval([2000.0, 9000.0])
    alone = of_sums(each, ["a"] * 3)
    assert [one and (one.low, one.n) for one in alone.values()] == [(None, 1)] * 4
    unknown = of_sums([run(8, 2, 6, 8), Sums(tokens=4, rounds=2, accepted=2, rejected=None, drafted=8)], ["a", "b"])
    assert unknown["accept_rate_tested"] is None and unknown["accept_rate_drafted"] is not None
    assert of_sums([Sums(tokens=5)], [0])["tau"] is None, "no call of a target"


def test_the_middle_of_runs_and_their_ends() -> None:
    assert spread([3.0, 1.0, 10.0, 2.0]) == Spread(2.5, 1.0, 10.0, 4)
    assert spread([]) is None


def test_numbers_that_come_so_often_are_those_numbers_written_out() -> None:
    """Two zeros, one one, three twos."""
    found, plain = counted_interval((2, 1, 3)), mean_interval([0.0, 0.0, 1.0, 2.0, 2.0, 2.0])
    assert found is not None and plain is not None and found.mean == pytest.approx(7 / 6) and found.n == 6
    assert bounds(found) == pytest.approx(bounds(plain))
    assert width(counted_interval((2, 1, 3), 0.5)) < width(found) / 2
    assert counted_interval((0, 0, 1)) == Interval(2.0, None, None, 1)
    assert counted_interval(()) is counted_interval((0, 0)) is None


def test_a_quotient_has_the_interval_of_its_logarithm() -> None:
    """10 of 4 + 6 over 5 of 2 + 3: each row has the same quotient, so the pulls of both are 0.4 - 0.4 and 0.6 - 0.6.
    Of 3 + 7 over 2 + 3 they are 0.3 - 0.4 and 0.7 - 0.6, so the standard error is sqrt(2 . 0.02) = 0.2."""
    assert bounds(quotient_interval([4, 6], [2, 3])) == pytest.approx((2.0, 2.0))
    found = quotient_interval([3, 7], [2, 3])
    assert found is not None and found.mean == pytest.approx(2.0) and found.n == 2
    half = 12.7062 * 0.2
    assert bounds(found) == pytest.approx((2 * math.exp(-half), 2 * math.exp(half)), rel=1e-4)
    both = quotient_interval([3, 7], [2, 3], [4, 6], [1, 9])  # pulls: 0.3 - 0.4 - 0.4 + 0.1 and 0.7 - 0.6 - 0.6 + 0.9
    assert both is not None and both.mean == pytest.approx(2.0)
    assert bounds(both)[1] == pytest.approx(2 * math.exp(12.7062 * math.sqrt(2 * 2 * 0.4**2)), rel=1e-4)
    assert width(quotient_interval([3, 7], [2, 3], confidence=0.5)) < width(found) / 2
    one = quotient_interval([3], [2])
    assert one is not None and (one.low, one.high, one.n) == (None, None, 1) and one.mean == pytest.approx(1.5)
    assert quotient_interval([0, 0], [2, 3]) is quotient_interval([2, 3], [0, 0]) is None


def test_a_ratio_that_is_no_number_is_none_and_one_that_may_be_none_has_no_bounds() -> None:
    def ratio(sums: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(sums[..., 0] / sums[..., 1])

    assert ratio_interval([], ratio) is ratio_interval([(1, 0), (2, 0)], ratio) is None
    assert ratio_interval([(3, 2)], ratio) == Interval(1.5, None, None, 1)
    assert ratio_interval([(3, 2), (1, 0)], ratio) == Interval(2.0, None, None, 2), "drawn twice, (1, 0) has no ratio"
    found = ratio_interval([(3, 2), (1, 2)], ratio)
    assert found == Interval(1.0, 0.5, 1.5, 2)
    assert ratio_interval([(float(i), 1 + i % 3) for i in range(9)], ratio, seed=1) != ratio_interval(
        [(float(i), 1 + i % 3) for i in range(9)], ratio
    )


def test_rows_are_drawn_again_alike_however_many_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(float(i), 1.0) for i in range(10)]
    whole = ratio_interval(rows, lambda s: s[..., 0] / s[..., 1])
    sizes: list[int] = []
    drawn = np.random.default_rng(0).integers

    class Generator:
        def integers(self, low: int, high: int, size: tuple[int, int]) -> NDArray[Any]:
            sizes.append(size[0])
            return drawn(low, high, size)

    monkeypatch.setattr(measured, "ROOM", 60)
    monkeypatch.setattr(np.random, "default_rng", lambda seed: Generator())
    assert ratio_interval(rows, lambda s: s[..., 0] / s[..., 1]) == whole
    assert set(sizes) == {3, 2} and sum(sizes) == measured.RESAMPLES, "3 x 10 rows of 2 numbers at a time"


def test_a_speedup_is_our_speed_over_that_of_plain_decoding() -> None:
    found = speedup_interval([(10.0, 2.0, 10.0, 6.0), (30.0, 6.0, 30.0, 18.0)])
    assert found is not None and found.mean == 3.0 and bounds(found) == pytest.approx((3.0, 3.0))


def test_a_mean_of_shares_is_of_as_many_trials_as_prompts() -> None:
    assert share_interval([0.5, 1.0, 0.0, 0.5], 0.9) == wilson(2, 4, 0.9)


def test_of_turns_whole_conversations_are_drawn_again() -> None:
    values, talks = [1.0, 3.0, 8.0, 4.0], ["a", "a", "b", "c"]
    drawn = ratio_interval([(4, 2), (8, 1), (4, 1)], lambda s: s[..., 0] / s[..., 1])
    assert drawn and cluster_mean(values, talks) == drawn and (drawn.mean, drawn.n) == (4.0, 3)
    assert cluster_mean(values, "abcd") == mean_interval(values, kind="bootstrap")
    assert cluster_mean(values, "aaaa") == Interval(4.0, None, None, 1) and cluster_mean([], []) is None
    assert share_interval([0.5, 1.0, 0.0, 0.5], 0.9, talks[:2] * 2) == Interval(
        0.5, *bounds(share_interval([0.5], 0.9)), 1
    )
