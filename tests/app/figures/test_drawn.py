"""Figures of judges, of many runs, of engines and of trajectories draw the numbers that they are given, where they are."""

from typing import Any

import pytest

from app.figures import judge, pooled, served, trajectories
from app.figures.theme import paired, round_step

SCORES, IMPORTANT = [0.02, 0.03, 0.12, 0.58, 0.97], [False, True, False, True, True]


def interval(mean: float, low: float | None, high: float | None, n: int = 9) -> dict[str, Any]:
    return {"mean": mean, "low": low, "high": high, "n": n}


def test_heaps_of_scores_are_counts_upwards_and_downwards() -> None:
    drawn = judge.heaps(SCORES, IMPORTANT, 0.3)
    up, down = ([(round(x, 3), y) for x, y in zip(bars.x, bars.y, strict=True) if y] for bars in drawn.data)
    assert up == [(0.025, 1), (0.575, 1), (0.975, 1)] and down == [(0.025, -1), (0.125, -1)]
    assert (drawn.layout.yaxis.tickvals, drawn.layout.yaxis.ticktext) == ((-2, -1, 0, 1, 2), ("2", "1", "0", "1", "2"))
    assert [(line.name, line.x0, line.x1) for line in drawn.layout.shapes] == [("threshold", 0.3, 0.3)]


def test_a_threshold_stands_on_both_curves_of_a_judge() -> None:
    """Of three important swaps two have a score of 0.3 or more, of two others none."""
    chance, curve, mark = judge.roc(SCORES, IMPORTANT, 0.3).data
    assert (list(chance.x), list(chance.y)) == ([0, 1], [0, 1])
    assert (mark.x, mark.y) == ((0.0,), (pytest.approx(2 / 3),))
    assert (curve.x[0], curve.y[0], curve.x[-1], curve.y[-1]) == (0.0, 0.0, 1.0, 1.0)
    recall, kept = judge.recall(SCORES, IMPORTANT, 0.3).data
    assert (recall.x[0], recall.y[0], kept.y[0]) == (0.0, 1.0, 0.0), "at 0 everything is rejected"
    assert (recall.x[-1], recall.y[-1], kept.y[-1]) == (0.97, pytest.approx(1 / 3), 1.0)


def test_settings_are_drawn_in_their_groups_in_the_order_of_their_tokens() -> None:
    def row(group: str, tokens: float, right: float) -> dict[str, Any]:
        counts = {"tokens_per_call": tokens, "accepted_per_call": tokens - 1}
        return {"name": f"{group} {tokens}", "group": group, **counts, "accuracy": interval(right, right - 0.1, 1.0)}

    rows = [row("topk", 5, 0.6), row("own", 4, 0.7), row("topk", 3, 0.8), row("draft", 0, 0.5)]
    drawn = judge.accuracy({"rows": rows, "groups": {"topk": "Top K"}}, "arithmetic")
    found = {part.name: (list(part.x), list(part.y), list(part.error_y.arrayminus)) for part in drawn.data}
    assert found == {
        "own": ([4], [0.7], [pytest.approx(0.1)]),
        "Top K": ([3, 5], [0.8, 0.6], [pytest.approx(0.1)] * 2),
    }
    assert sorted(shape.y0 for shape in drawn.layout.shapes) == [0.4, 0.5], "the draft alone is a band with its mean"


def test_measures_of_many_runs_have_the_form_of_their_kind() -> None:
    def row(label: str, tau: float, right: float) -> dict[str, Any]:
        quality = {"accuracy": interval(right, right - 0.125, 1.0), "bleu": interval(80.0, 70.0, 90.0)}
        times = {"tokens_each": None, "speedup": interval(tau / 2, None, None, 1)}
        return {"label": label, "guarantee": "lossless", "tau": interval(tau, 1.0, 5.0), **times, "quality": quality}

    drawn = pooled.of_methods({"prompts": 9, "methods": [row("A", 3.0, 0.5), row("B", 2.0, 0.25)]})
    found = {one["figure"]["layout"]["title"]["text"]: one for one in drawn}
    assert list(found) == [
        "Tokens a target call",
        "Tokens/s against plain decoding, times",
        "Right answers, share of prompts",
        "BLEU, 0 to 100",
    ]
    assert [one["caption"] for one in drawn] == [
        "All 9 prompts taken together, 95 % over them.",
        "All 9 prompts taken together, 95 % over them; without whiskers: too few, or too unlike, for an interval; "
        "dashed: the plain target.",
        "Mean and 95 % over 9 prompts.",
        "All 9 prompts taken together, 95 % over them.",
    ]
    tau, speed, right, bleu = (one["figure"] for one in drawn)
    (bars,) = tau["data"]
    assert (list(bars["y"]), list(bars["x"])) == (["B", "A"], [2.0, 3.0]), "the first on top"
    assert bars["customdata"][1] == "95 % 1.00 to 5.00, n = 9" and bars["hovertemplate"].startswith("%{y}: %{x:.2f} (")
    assert not tau["layout"].get("shapes") and [line["x0"] for line in speed["layout"]["shapes"]] == [1.0]
    assert speed["data"][0]["customdata"] == ["n = 1", "n = 1"] and not speed["data"][0]["error_x"]["visible"]
    assert right["data"][0]["customdata"][1] == "95 % 37.5\N{NO-BREAK SPACE}% to 100.0\N{NO-BREAK SPACE}%, n = 9"
    assert right["layout"]["xaxis"]["range"] == [0, 1.02] and "range" not in bleu["layout"]["xaxis"]
    assert bleu["data"][0]["hovertemplate"].startswith("%{y}: %{x:.1f} (")


def test_engines_have_whiskers_where_they_tell_counts() -> None:
    def row(label: str, low: float | None, high: float | None) -> dict[str, Any]:
        depths = {"depth": [1, 2], "marginal": [0.75, 0.5], "low": [low, low], "high": [high, high]}
        return {"label": label, "tau": interval(2.5, low, high), "accept_by_depth": depths}

    rows = [row("counts", 0.25, 3.0), row("log", None, None), {"label": "no", "tau": None, "accept_by_depth": None}]
    passes, positions = (one["figure"]["data"] for one in served.figures(rows))
    assert [(list(bar["y"]), list(bar["x"])) for bar in passes] == [(["counts"], [2.5]), (["log"], [2.5])]
    assert list(passes[0]["error_x"]["arrayminus"]) == [2.25] and "error_x" not in passes[1]
    assert [(list(line["x"]), list(line["y"])) for line in positions] == [([1, 2], [0.75, 0.5])] * 2
    assert list(positions[0]["error_y"]["array"]) == [2.25, 2.5] and "error_y" not in positions[1]


def test_trajectories_are_drawn_by_their_number_from_one() -> None:
    rows = [{"trajectory": i, "tau": tau, "tokens": 10, "rounds": 4} for i, tau in enumerate((2.5, None, 3.0))]
    (line,) = trajectories.one_problem([("A", rows)]).data
    assert (line.name, line.x, line.y, list(line.customdata[0])) == ("A", (1, 3), (2.5, 3.0), [10, 4])
    told: list[dict[str, Any]] = [
        {"method": method, "trajectory": i, "tau": interval(tau, tau - 1, 5.0)}
        for method, i, tau in (("a", 1, 2.0), ("b", 1, 3.0), ("a", 2, 4.0))
    ]
    told.append({"method": "b", "trajectory": 2, "tau": None})
    told.append({"method": "b", "trajectory": 3, "tau": interval(3.5, None, None, 2)})
    drawn = trajectories.by_trajectory({"by_trajectory": told}, {"b": "Beta"}).data
    assert [(line.name, line.x, line.y) for line in drawn] == [("a", (1, 2), (2.0, 4.0)), ("Beta", (1, 3), (3.0, 3.5))]
    assert drawn[0].error_y.arrayminus == (1.0, 1.0) and drawn[1].customdata == ("95 % 2.00 to 5.00, n = 9", "n = 2")
    (line,) = trajectories.profiles([{"name": "tree", "profile": (4, 2)}]).data
    assert (line.name, line.x, line.y) == ("tree (6)", (1, 2), (4, 2))


@pytest.mark.parametrize(("least", "step"), [(1, 1), (1.1, 2), (3, 5), (7, 10), (0.03, 0.05), (250, 500), (0.2, 0.2)])
def test_steps_are_round(least: float, step: float) -> None:
    assert round_step(least) == pytest.approx(step)


def test_two_axes_share_their_lines() -> None:
    left, right = paired(5.8, 0.23)
    assert (left["range"], left["dtick"]) == ([0, 6], 2) and right["range"][1] / right["dtick"] == pytest.approx(3)
    assert right["range"][1] >= 0.23
