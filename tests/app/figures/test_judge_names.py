"""Settings of an evaluation have their names at their points."""

from typing import Any

from app.figures.judge import accuracy, reliability, roc


def row(name: str, group: str, tokens: float, right: float) -> dict[str, Any]:
    share = {"mean": right, "low": right - 0.01, "high": right + 0.01, "n": 100}
    return {
        "name": name,
        "group": group,
        "tokens_per_call": tokens,
        "accepted_per_call": tokens - 1,
        "accuracy": share,
    }


def test_math_rules_and_known_recalls_are_named_once_where_they_lie_on_each_other() -> None:
    rows = [
        row("sd", "exact", 10, 0.95),
        row("autojudge (99% recall)", "safer", 11.01, 0.9),
        row("autojudge (95% recall)", "safer", 11, 0.9),
        row("autojudge (90 % recall)", "own", 12, 0.88),
        row("autojudge 0.2", "own", 13, 0.8),
        row("math & top-4", "math", 14, 0.95),
        row("math only", "math", 14.6, 0.75),
        row("math & top-16", "math", 14.61, 0.75),
        row("target alone", "target", 1, 0.95),
    ]
    drawn = accuracy({"rows": rows}, "arithmetic")
    named = {note.text: (note.x, note.y) for note in drawn.layout.annotations}
    assert named == {
        "95, 99 % recall": (11.01, 0.9),
        "90 % recall": (12, 0.88),
        "math &amp; top-4": (14, 0.95),
        "math only<br>math &amp; top-16": (14.61, 0.75),
    }
    assert drawn.layout.xaxis.range[1] > 16, "room for names right of the last point"


def test_settings_without_a_name_of_their_own_have_none() -> None:
    rows = [row("sd", "exact", 10, 0.95), row("autojudge 0.2", "own", 13, 0.8), row("top-2", "topk", 14, 0.8)]
    assert not accuracy({"rows": rows}, "arithmetic").layout.annotations


def test_names_are_shared_where_the_axis_leaves_no_line_between_them() -> None:
    """The axis reaches down to the draft model alone, so what is 0.7 points apart is six pixels apart."""
    rows = [
        row("sd", "exact", 6, 0.99),
        row("top-2", "topk", 14.6, 0.87),
        row("math & top-4", "math", 13.11, 0.9633),
        row("math & top-16", "math", 13.13, 0.9567),
        row("draft alone", "draft", 0, 0.77),
    ]
    drawn = accuracy({"rows": rows}, "functions")
    assert "math &amp; top-4<br>math &amp; top-16" in {note.text for note in drawn.layout.annotations}


def test_a_name_stands_left_of_its_point_where_whiskers_would_cross_it() -> None:
    rows = [
        row("sd", "exact", 6, 0.99),
        row("math & top-4", "math", 13.11, 0.9633),
        row("draft alone", "draft", 0, 0.77),
    ]
    for more, side in (([], "left"), ([row("top-2", "topk", 14.1, 0.97)], "right")):
        notes = accuracy({"rows": rows + more}, "functions").layout.annotations
        name = next(note for note in notes if note.text.startswith("math"))
        assert (name.x, name.xanchor, name.xshift < 0) == (13.11, side, side == "right")


def test_a_long_name_at_the_last_point_has_room() -> None:
    """Its letters are some 5.5 pixels wide, and the axis is 630 long where the figure is narrowest."""
    rows = [row("sd", "exact", 6, 0.99)]
    rows += [row(f"autojudge ({recall}% recall)", "own", 14.57, 0.99) for recall in (90, 95, 98, 99)]
    drawn = accuracy({"rows": rows}, "functions")
    (name,) = drawn.layout.annotations
    assert name.text == "90, 95, 98, 99 % recall"
    left = 630 * name.x / drawn.layout.xaxis.range[1] + name.xshift
    assert left + 5.5 * len(name.text) <= 630 + 10


def test_axes_of_shares_reach_their_last_tick_on_both_sides() -> None:
    scores, labels = [0.1, 0.4, 0.6, 0.9], [False, False, True, True]
    for drawn in (roc(scores, labels, 0.5), reliability(scores, labels)):
        for axis in (drawn.layout.xaxis, drawn.layout.yaxis):
            assert axis.dtick == 0.2 and axis.range[1] > 1, "100 % stands within the figure"
