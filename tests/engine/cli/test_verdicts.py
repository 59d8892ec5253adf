"""What the README says of the bench: a goal counts as reached only where the worst was within it too."""

import json

import pytest

from engine.cli import benchsaid, measured, pagesaid


def spread(median, low, high):
    return {"median": median, "low": low, "high": high, "n": 5}


@pytest.mark.parametrize(
    ("name", "found", "said"),
    [
        ("sd / ar", spread(2.2, 2.0, 2.4), ""),
        ("sd / ar", spread(2.2, 1.9, 2.4), " **missed** in the worst"),
        ("sd / ar", spread(1.9, 1.8, 2.4), " **missed**"),
        ("ar light / full", spread(1.1, 1.0, 1.15), ""),
        ("ar light / full", spread(1.1, 1.0, 1.2), " **missed** in the worst"),
        ("pld / ar", spread(1.1, 1.0, 1.2), ""),
    ],
)
def test_a_median_alone_does_not_reach_a_goal(name, found, said):
    assert benchsaid._verdict(name, found) == said


def test_what_was_chosen_afterwards_is_labelled():
    assert benchsaid._goal("sd:gamma=7 / ar") == "at least 2, with a length chosen after the first measurement"
    assert (benchsaid._goal("ar light / full"), benchsaid._goal("pld / ar")) == ("at most 1.15", "")


def test_each_machine_has_a_column_that_marks_what_it_missed(tmp_path):
    found = json.loads(benchsaid.BENCH.read_text(encoding="utf-8"))
    files = {"bench.json": ("slow", spread(1.9, 1.8, 2.0)), "bench-quick.json": ("quick", spread(2.2, 2.1, 2.3))}
    for name, (device, row) in files.items():
        told = found | {"device": device, "ratios": {"sd / ar": row}, "recording": {}}
        (tmp_path / name).write_text(json.dumps(told))
    (tmp_path / "bench.txt").touch()
    text = benchsaid.ratios(measured.machines(tmp_path / "bench.json"))
    assert "| ratio | slow | quick | set out to reach |" in text
    assert "| sd / ar | 1.90 (1.80 to 2.00) **missed** | 2.20 (2.10 to 2.30) | at least 2 |" in text


def test_shares_and_lookups_are_missed_by_their_worst(tmp_path):
    assert benchsaid._share(spread(0.10, 0.09, 0.14)).endswith(")")
    assert benchsaid._share(spread(0.10, 0.09, 0.16)).endswith("**missed**")
    found = json.loads(benchsaid.BENCH.read_text(encoding="utf-8"))
    found["lookups"] = [
        {"method": "quick", "both": 0.1, "worst": 0.9},
        {"method": "uneven", "both": 0.1, "worst": 1.1},
    ]
    path = tmp_path / "bench.json"
    path.write_text(json.dumps(found | {"busy": {"ar": spread(0.5, 0.4, 0.6)}}))
    text = benchsaid.bench(path)
    assert "`quick` 0.10 ms (0.90), `uneven` 0.10 ms (1.10) **missed**" in text
    assert "another busy process" in text and "`ar` 50% (40% to 60%)" in text


def test_the_page_s_figures_come_from_its_file(tmp_path):
    path = tmp_path / "page.json"
    assert "tests.browser.measure --json" in pagesaid.page(path)
    figures = {
        "tokens": 2000,
        "lanes": 5,
        "first_paint_s": {"cold": 2.5, "warm": 1.25},
        "event_to_frame_ms": {"median": 12.0, "p95": 31.0},
        "updates_per_s": 14.0,
        "frames_per_s": 55.0,
        "hover": {"script_ms": 0.3, "frame_ms": 16.0},
        "outside": 0,
        "score": [
            {"methods": 6, "positions": 2000, "event_to_frame_ms": {"median": 9.0, "p95": 20.0}, "frames_per_s": 49.0}
        ],
    }
    path.write_text(json.dumps(figures))
    text = pagesaid.page(path)
    assert "| first paint, warm | 1.25 s | below 2 s: reached |" in text
    assert "| event to frame, 95th percentile | 31 ms | at most 30 ms: **missed** |" in text
    assert "| score of 6 methods x 2,000 positions, frames | 49 a second | at least 50: **missed** |" in text
