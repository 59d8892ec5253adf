"""Draft probabilities as forecasts: bins, what is left out, and the expected calibration error against NumPy's bins."""

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.analysis.calibration import BINS, calibration, trials
from engine.analysis.tables import nodes_df
from engine.trace.store import Trace

RECORDED = sorted(Path("presets/traces").glob("all_methods-*-eagle3.jsonl.gz"))


@pytest.fixture(scope="module")
def tree() -> Trace:
    return Trace.load(RECORDED[0])


def given(tree: Trace, *forecasts: tuple[float | None, str]) -> Iterator[tuple[float, bool]]:
    """Trials of one round whose nodes have these probabilities and states."""
    event = next(event for event in tree.rounds if event.nodes)
    nodes = [replace(event.nodes[0], q=q, state=state) for q, state in forecasts]
    return trials([replace(event, nodes=nodes)])


def test_a_bin_has_its_mean_and_its_share(tree: Trace) -> None:
    found = calibration(given(tree, (0.91, "accepted"), (0.97, "rejected"), (1.0, "relaxed"), (0.2, "vetoed")))
    assert found.n == 4 and [one.n for one in found.bins] == [0, 0, 1, 0, 0, 0, 0, 0, 0, 3]
    last = found.bins[-1]
    assert (last.low, last.high, last.kept) == (0.9, 1.0, 2)
    assert last.said == pytest.approx(0.96) and last.share == pytest.approx(2 / 3)
    assert found.bins[2].share == 0.0 and found.bins[2].said == pytest.approx(0.2)
    assert found.error == pytest.approx((3 * (0.96 - 2 / 3) + 1 * 0.2) / 4)
    assert found.said == pytest.approx(0.77) and found.share == 0.5


def test_what_was_not_tested_or_has_no_probability_is_left_out(tree: Trace) -> None:
    found = calibration(given(tree, (0.5, "discarded"), (None, "accepted")))
    assert found.n == 0 and all(math.isnan(x) for x in (found.error, found.said, found.share))
    assert calibration([]).n == 0


def test_a_perfect_forecast_has_no_error(tree: Trace) -> None:
    half = calibration(given(tree, *[(0.5, "accepted"), (0.5, "rejected")] * 7, (1.0, "accepted"), (0.0, "rejected")))
    assert half.error == 0.0 and half.n == 16


def test_a_recorded_tree_has_the_bins_of_numpy(tree: Trace) -> None:
    found, nodes = calibration(trials(tree.rounds)), nodes_df(tree)
    tested = nodes[(nodes.state != "discarded") & nodes.q.notna()]
    counts, _ = np.histogram(tested.q, bins=np.linspace(0, 1, BINS + 1))
    assert [one.n for one in found.bins] == counts.tolist() and found.n == len(tested) > 50
    kept, _ = np.histogram(tested.q[tested.state == "accepted"], bins=np.linspace(0, 1, BINS + 1))
    assert [one.kept for one in found.bins] == kept.tolist()
    assert found.said == pytest.approx(tested.q.mean())
    gaps = [abs(one.share - one.said) * one.n for one in found.bins if one.n]
    assert found.error == pytest.approx(sum(gaps) / len(tested))


def test_bins_are_tenths_of_certainty_and_errors_count_on_either_side() -> None:
    found = calibration([(0.05, True), (0.55, False), (0.55, False), (0.35, True)])
    assert [(one.low, one.high) for one in found.bins][:2] == [(0.0, 0.1), (0.1, 0.2)] and found.bins[9].high == 1.0
    assert found.error == pytest.approx((0.95 + 2 * 0.55 + 0.65) / 4)
    empty = calibration([])
    assert empty.n == 0 and all(math.isnan(value) for value in (empty.said, empty.share, empty.error))
