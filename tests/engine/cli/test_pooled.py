"""Tables of pooled runs as the command prints them."""

from typing import Any

from engine.cli.pooled import _as_text, learn


def test_a_section_is_told_with_all_its_tables() -> None:
    """Ablation and granularity too, and why a method's granularity has no numbers."""
    span = {"mean": 2.5, "low": 2.25, "high": 2.75, "n": 4}
    method = {"label": "HeteroSpec", "calls": 12, "tokens": 480, "tau": span, "speedup": span | {"mean": 1.5}}
    section = {
        "task": "arithmetic",
        "prompts": 4,
        "even": False,
        "methods": [method],
        "ablation": [{"method": "+TNP", "calls": 14, "tokens": 520, "tau": 2.345}],
        "granularity": [
            {"label": "HeteroSpec", "overlap": {"3L-4L": 0.8123, "3L-5L": 0.5}},
            {"label": "EAGLE-2", "missing": "too few rounds"},
        ],
    }
    _, title, names, row, *rest = _as_text(section).splitlines()
    assert title == "arithmetic, 4 prompts, not the same for all methods"
    assert names.split() == ["method", "calls", "verify_tokens", "tau", "speed-up"]
    assert row.split(maxsplit=3) == ["HeteroSpec", "12", "480", "2.50 (2.25 to 2.75)     1.50 (2.25 to 2.75)"]
    assert rest == [
        "  +TNP         calls 14, verify_tokens 520, tau 2.35",
        "  HeteroSpec: 3L-4L 0.81, 3L-5L 0.50",
        "  EAGLE-2: too few rounds",
    ]
    assert _as_text(section | {"even": True}).splitlines()[1] == "arithmetic, 4 prompts"


def test_usual_knobs_of_a_composed_method_are_learnt_once() -> None:
    """What nobody knows has none, and what is known stays."""
    known: dict[str, dict[str, Any]] = {"sd": {"gamma": 3}}
    for method in ("sd", "eagle2+dynamic_tree+top_k", "nothing", "no+such+thing"):
        learn(known, method)
    assert list(known) == ["sd", "eagle2+dynamic_tree+top_k"]
    assert known["sd"] == {"gamma": 3} and {"total_token", "accept_k"} <= known["eagle2+dynamic_tree+top_k"].keys()
