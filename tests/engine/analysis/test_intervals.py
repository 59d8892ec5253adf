import math
from collections.abc import Callable, Sequence
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
    drawn_interval,
    estimate_interval,
    gap_interval,
    mean_interval,
    of_sums,
    quotient_interval,
    share_interval,
    speedup_interval,
    spread,
    wilson,
)
from engine.trace.sums import Sums

OverRows = Callable[..., Interval | None]


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


def ratio(sums: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(sums[..., 0] / sums[..., 1])


def test_an_estimate_that_is_a_mean_has_students_interval() -> None:
    values = [float(i * i % 11) for i in range(9)]
    for positive in (False, True):
        found = estimate_interval([(value, 1.0) for value in values], ratio, 0.9, positive=positive)
        assert found is not None and found.n == 9 and found.mean == pytest.approx(sum(values) / 9)
        if not positive:
            assert bounds(found) == pytest.approx(bounds(mean_interval(values, 0.9)))
        else:
            assert 0 < bounds(found)[0] != pytest.approx(bounds(mean_interval(values, 0.9))[0])


def test_an_estimate_leaves_one_row_out_at_a_time() -> None:
    """9 over 3 of (3, 1), (4, 1), (2, 1): without each 3, 2.5 and 3.5, whose squares about 3 sum to 0.5, times 2/3."""
    half = 4.3027 * math.sqrt(0.5 * 2 / 3)
    found = estimate_interval([(3, 1), (4, 1), (2, 1)], ratio)
    assert found is not None and (found.mean, found.n) == (3.0, 3)
    assert bounds(found) == pytest.approx((3 - half, 3 + half), abs=1e-3)


def calls_and_tokens(n: int, times: int) -> list[list[tuple[float, float]]]:
    """So many samples of n prompts, each of a few dozen target calls and four tokens a call in the mean."""
    generator = np.random.default_rng(0)
    calls = generator.integers(8, 40, (times, n)).astype(float)
    tokens = calls * generator.gamma(20, 0.2, (times, n))
    return [list(zip(a, b, strict=True)) for a, b in zip(tokens.tolist(), calls.tolist(), strict=True)]


def right_or_not(n: int, times: int) -> list[list[float]]:
    """So many samples of n prompts, of which 3 % get right and 1 % wrong: two points in the mean."""
    drawn = np.random.default_rng(0).random((times, n))
    gaps: list[list[float]] = np.where(drawn < 0.03, 1.0, np.where(drawn < 0.04, -1.0, 0.0)).tolist()
    return gaps


def coverage(found: Sequence[Interval | None], true: float) -> float:
    return float(np.mean([low <= true <= high for low, high in map(bounds, found)]))


@pytest.mark.parametrize("n", [3, 5, 20])
def test_intervals_of_few_prompts_hold_what_they_promise(n: int) -> None:
    samples = calls_and_tokens(n, 1_000)
    assert 0.925 <= coverage([quotient_interval(*zip(*rows, strict=True)) for rows in samples], 4) <= 0.98
    assert 0.925 <= coverage([estimate_interval(rows, ratio) for rows in samples], 4) <= 0.98


@pytest.mark.parametrize("n", [10, 20, 50, 300])
def test_differences_of_shares_hold_what_they_promise(n: int) -> None:
    assert coverage([gap_interval(gaps) for gaps in right_or_not(n, 500)], 0.02) >= 0.94


@pytest.mark.thorough
def test_percentiles_of_drawn_rows_do_not() -> None:
    """Why nothing here is a percentile bootstrap: of 5 prompts it has 83 % in place of 95, of 20 rights and wrongs 46."""

    def percentiles(rows: Sequence[tuple[float, float]]) -> Interval:
        drawn = ratio(measured._drawn_again(np.asarray(rows), 0))
        low, high = np.quantile(drawn, [0.025, 0.975]).tolist()
        return Interval(0.0, low, high, len(rows))

    shares = [coverage([percentiles(rows) for rows in calls_and_tokens(n, 1_000)], 4) for n in (3, 5, 20)]
    assert shares == pytest.approx([0.73, 0.83, 0.93], abs=0.02)
    gaps = [[(gap, 1.0) for gap in sample] for sample in right_or_not(20, 500)]
    assert coverage([percentiles(rows) for rows in gaps], 0.02) == pytest.approx(0.46, abs=0.03)


def test_a_difference_of_shares_is_bonett_and_prices() -> None:
    """Of 20 prompts the first alone is right on 3, the second alone on 1: with one more of each kind 4 and 2 of 22."""
    first, second, z = 4 / 22, 2 / 22, 1.959964
    half = z * math.sqrt((first + second - (first - second) ** 2) / 22)
    found = gap_interval([1.0] * 3 + [-1.0] + [0.0] * 16)
    assert found is not None and (found.mean, found.n) == (0.1, 20)
    assert bounds(found) == pytest.approx((first - second - half, first - second + half), abs=1e-6)
    assert width(gap_interval([0.0] * 20)) > 0.2, "that none differs says little of 20 prompts"
    assert bounds(gap_interval([1.0] * 5))[1] == 1.0 and bounds(gap_interval([-1.0] * 5))[0] == -1.0
    assert gap_interval([]) is None and gap_interval([0.5]) == Interval(0.5, None, None, 1)


def test_a_difference_of_shares_counts_conversations_once() -> None:
    turns = gap_interval([1.0, 1.0, 0.0, 0.0, 0.0, 0.0], clusters="aabbcc")
    assert turns is not None and turns.n == 3 and turns.mean == pytest.approx(1 / 3)
    assert bounds(turns) == pytest.approx(bounds(gap_interval([1.0, 0.0, 0.0])))
    assert gap_interval([1.0, 0.0], clusters="aa") == Interval(0.5, None, None, 1)
    uneven = gap_interval([1.0, 0.0, 0.0, 0.0], clusters="abbb")
    assert uneven is not None and (uneven.mean, uneven.n) == (0.25, 2)


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
    each = [run(8, 2, 6, 8, 2.0), run(4, 2, 2, 8, 4.0), run(9, 3, 5, 6, 3.0)]
    found, two = of_sums(each, ["a", "a", "b"]), [(8, 16), (5, 6)]
    assert found["accept_rate_drafted"] == found["accept_rate_tested"] == clustered_share(two)
    assert found["tau"] == quotient_interval([12, 9], [4, 3])
    assert found["tokens_per_s"] == mean_interval([2000.0, 3000.0], positive=True)
    assert bounds(found["tokens_per_s"])[0] > 0
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
    """10 of 4 + 6 over 5 of 2 + 3: each row has the same quotient. Of 3 + 7 over 2 + 3 the rows left have 7/3 and 3/2:
    the standard error is half of what lies between their logarithms."""
    assert bounds(quotient_interval([4, 6], [2, 3])) == pytest.approx((2.0, 2.0))
    found = quotient_interval([3, 7], [2, 3])
    assert found is not None and found.mean == pytest.approx(2.0) and found.n == 2
    half = 12.7062 * math.log((7 / 3) / (3 / 2)) / 2
    assert bounds(found) == pytest.approx((2 * math.exp(-half), 2 * math.exp(half)), rel=1e-4)
    both = quotient_interval([3, 7], [2, 3], [4, 6], [4.4, 5.6])  # over 6/5.6 and 4/4.4
    half = 12.7062 * math.log((7 / 3) / (6 / 5.6) / ((3 / 2) / (4 / 4.4))) / 2
    assert both is not None and both.mean == pytest.approx(2.0)
    assert bounds(both)[1] == pytest.approx(2 * math.exp(half), rel=1e-4)
    assert width(quotient_interval([3, 7], [2, 3], confidence=0.5)) < width(found) / 2
    one = quotient_interval([3], [2])
    assert one is not None and (one.low, one.high, one.n) == (None, None, 1) and one.mean == pytest.approx(1.5)
    assert quotient_interval() is quotient_interval([], []) is quotient_interval([2, 3], [0, 0]) is None
    assert quotient_interval([0, 0], [2, 3]) == Interval(0.0, 0.0, 0.0, 2), "no logarithm"


def test_bounds_that_would_say_nothing_are_none() -> None:
    """Two prompts of which one takes 1.6 times the other are within a factor of 20 of their mean, 1.7 times are not."""
    near, far = (mean_interval([100.0, 100.0 * times], positive=True) for times in (1.6, 1.7))
    assert 130 / 20 < bounds(near)[0] < 130 < bounds(near)[1] < 130 * 20
    assert far == Interval(135.0, None, None, 2)
    assert mean_interval([100.0, 170.0]) != far, "only of logarithms"


@pytest.mark.parametrize("over_rows", [estimate_interval, drawn_interval])
def test_an_estimate_that_is_no_number_is_none_and_one_that_may_be_none_has_no_bounds(over_rows: OverRows) -> None:
    assert over_rows([], ratio) is over_rows([(1, 0), (2, 0)], ratio) is None
    assert over_rows([(3, 2)], ratio) == Interval(1.5, None, None, 1)
    assert over_rows([(3, 2), (1, 0)], ratio) == Interval(2.0, None, None, 2), "alone, (1, 0) has no ratio"


def test_drawn_rows_are_seeded_and_say_what_leaving_one_out_says() -> None:
    rows = [(float(i % 7), 1.0) for i in range(200)]
    one, again, left = drawn_interval(rows, ratio), drawn_interval(rows, ratio), estimate_interval(rows, ratio)
    assert one == again != drawn_interval(rows, ratio, seed=1)
    assert bounds(one) == pytest.approx(bounds(left), abs=0.05)
    assert drawn_interval([(3, 2), (1, 2)], ratio) == Interval(1.0, 0.5, 1.5, 2)


def test_drawn_rows_are_wider_for_few() -> None:
    """By Hesterberg's levels, of 5 rows 0.1 % on either side."""
    rows = [(float(i), 1.0) for i in range(5)]
    found = drawn_interval(rows, ratio)
    drawn = measured._drawn_again(np.asarray(rows), 0)[:, 0] / 5
    assert bounds(found) == pytest.approx(np.quantile(drawn, [0.00096, 0.99904]).tolist(), abs=0.02)
    assert width(found) > np.diff(np.quantile(drawn, [0.025, 0.975]))[0] * 1.2


def test_rows_are_drawn_again_alike_however_many_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(float(i), 1.0) for i in range(10)]
    whole = drawn_interval(rows, ratio)
    sizes: list[int] = []
    drawn = np.random.default_rng(0).integers

    class Generator:
        def integers(self, low: int, high: int, size: tuple[int, int]) -> NDArray[Any]:
            sizes.append(size[0])
            return drawn(low, high, size)

    monkeypatch.setattr(measured, "ROOM", 60)
    monkeypatch.setattr(np.random, "default_rng", lambda seed: Generator())
    assert drawn_interval(rows, ratio) == whole
    assert set(sizes) == {3, 2} and sum(sizes) == measured.RESAMPLES, "3 x 10 rows of 2 numbers at a time"


def test_a_speedup_is_our_speed_over_that_of_plain_decoding() -> None:
    found = speedup_interval([(10.0, 2.0, 10.0, 6.0), (30.0, 6.0, 30.0, 18.0)])
    assert found is not None and found.mean == 3.0 and bounds(found) == pytest.approx((3.0, 3.0))


def test_a_mean_of_shares_is_of_as_many_trials_as_prompts() -> None:
    assert share_interval([0.5, 1.0, 0.0, 0.5], 0.9) == wilson(2, 4, 0.9)


def test_of_turns_whole_conversations_count() -> None:
    values, talks = [1.0, 3.0, 8.0, 4.0], ["a", "a", "b", "c"]
    found = cluster_mean(values, talks)
    assert found and found == clustered_mean([(4, 2), (8, 1), (4, 1)]) and (found.mean, found.n) == (4.0, 3)
    assert bounds(cluster_mean(values, "abcd")) == pytest.approx(bounds(mean_interval(values)))
    above = cluster_mean(values, talks, positive=True)
    assert above == quotient_interval([4, 8, 4], [2, 1, 1]) and bounds(above)[0] > 0
    assert cluster_mean(values, "abcd", positive=True) == mean_interval(values, positive=True)
    assert cluster_mean(values, "aaaa") == Interval(4.0, None, None, 1) and cluster_mean([], []) is None
    assert share_interval([0.5, 1.0, 0.0, 0.5], 0.9, talks[:2] * 2) == Interval(
        0.5, *bounds(share_interval([0.5], 0.9)), 1
    )
