"""Figures share one look, told apart by colour and shape; the page can name every colour; the library is as noted."""

import hashlib
import json
import re
from pathlib import Path

import pytest

from app import evaluations, pooled, trees
from app import theme as page
from app.figures import judge, trajectories
from app.figures import pooled as figures
from app.figures.theme import COLOURS, LOOKS
from engine.analysis.judge import at_threshold
from engine.analysis.pool import RECORDED
from engine.errors import ConfigError
from engine.files.places import ROOT
from engine.tasks import JUDGED
from engine.trees.template import FOLDER
from tests.typed import some

STATIC = ROOT / "app" / "static"
SCORES, LABELS = [0.1, 0.2, 0.6, 0.9, 0.4], [False, False, True, True, True]


def every() -> list[dict]:
    """All figures that the repository's own results give."""
    found = pooled.plots(json.loads(RECORDED.read_text(encoding="utf-8")))
    drawn = [one["figure"] for one in judge.curves(SCORES, LABELS, 0.5)]
    drawn += [one["figure"] for section in found["sections"] for one in section["methods"]]
    drawn += [one["figure"] for section in found["sections"] for tree in section["trees"].values() for one in tree]
    drawn += found["tasks"].values()
    drawn += json.loads(trees._body(FOLDER))["profiles"].values()
    tasks = [evaluations._task(evaluations.RESULTS, evaluations.ASSETS, task) for task in JUDGED]
    return drawn + [task["result"]["figure"] for task in tasks if task["result"]]


@pytest.mark.thorough
def test_every_axis_is_named_and_every_colour_is_one_of_the_page() -> None:
    drawn = every()
    assert len(drawn) > 20
    for figure in drawn:
        layout = figure["layout"]
        for name in ("xaxis", "yaxis"):
            named = layout[name].get("title", {}).get("text")
            assert named or figure["data"][0].get("orientation") == "h", layout["title"]["text"]
        used = set(re.findall(r'"(#[0-9a-f]{6})"', json.dumps([figure["data"], {**layout, "meta": None}])))
        assert used <= set(layout["meta"]["colours"]), layout["title"]["text"]


def test_the_colours_are_those_of_the_style_sheet() -> None:
    sheet = (STATIC / "tokens.css").read_text(encoding="utf-8").split(".dark", 1)
    for name, value in COLOURS.items():
        assert f"--{name}: {value};" in sheet[0] and f"--{name}: #" in sheet[1], name
    assert len({(look.colour, look.symbol) for look in LOOKS}) == len(LOOKS)


def test_no_name_of_the_style_sheet_is_one_of_gradios() -> None:
    """Gradio's dark theme would set it anew: small text was a pixel smaller in the dark."""
    sheet = (STATIC / "tokens.css").read_text(encoding="utf-8")
    ours = set(re.findall(r"(--[\w-]+):", sheet))
    theirs = set(re.findall(r"(--[\w-]+):", page.theme()._get_theme_css()))
    assert "--ink" in ours and "--text-sm" in theirs
    assert not ours & theirs


def test_shares_of_ranks_sum_to_one() -> None:
    found = json.loads(RECORDED.read_text(encoding="utf-8"))
    for shown in found["sections"][0]["figures"].values():
        (bars,) = figures.ranks(shown).data
        assert list(bars.x) == shown["ranks"]["tcr"] and sum(bars.y) == pytest.approx(1)


def test_the_threshold_stands_where_the_numbers_are() -> None:
    ranked, swept, heaped, _ = (one["figure"] for one in judge.curves(SCORES, LABELS, 0.5))
    at = at_threshold(SCORES, LABELS, 0.5)
    mark = next(trace for trace in ranked["data"] if trace.get("name") == judge.THRESHOLD)
    assert (mark["x"][0], mark["y"][0]) == (1 - some(at["kept_unimportant"]), at["recall"])
    for figure in (swept, heaped):
        assert [shape["x0"] for shape in figure["layout"]["shapes"] if shape["name"] == judge.THRESHOLD] == [0.5]


def test_counts_are_counts_downwards_too() -> None:
    drawn = judge.heaps([0.01] * 33 + [0.99] * 5, [False] * 33 + [True] * 5, 0.5)
    assert [bar.name for bar in drawn.data] == ["important", "not important"]
    assert list(drawn.layout.yaxis.tickvals) == [-40, -30, -20, -10, 0, 10]
    assert list(drawn.layout.yaxis.ticktext) == ["40", "30", "20", "10", "0", "10"]
    assert list(judge.heaps([0.3], [True], 0.5).layout.yaxis.ticktext) == ["1", "0", "1", "2"]


def test_one_label_or_none_draws() -> None:
    assert len(judge.curves([], [], 0.5)) == 4
    assert "one class only" in judge.curves([0.3], [True], 0.5)[0]["caption"]
    assert trajectories.one_problem([]).data == ()


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "not JSON"),
        (b"[]", r"must be a JSON object, not \[\]"),
        (b'{"scores": [2], "important": [true], "threshold": 0.5}', "numbers from 0 to 1; item 1 is 2"),
        (b'{"scores": [0.5], "important": [], "threshold": 1}', "There are 1 scores and 0 labels"),
        (b'{"scores": [0.5], "important": [1], "threshold": 1}', "important must be a list of true and false"),
        (b'{"scores": [NaN], "important": [true], "threshold": 0.5}', "item 1 is nan"),
        (b'{"scores": [0.5], "important": [true]}', "The request lacks threshold"),
    ],
)
def test_bad_labels_are_refused_in_words(body: bytes, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        evaluations.curves(body)


def test_the_vendored_library_is_the_noted_one() -> None:
    vendor = STATIC / "vendor"
    noted = re.search(r"sha256\s+([0-9a-f]{64})", (vendor / "README.md").read_text(encoding="utf-8"))
    assert noted and hashlib.sha256((vendor / "plotly-strict.min.js").read_bytes()).hexdigest() == noted[1]
    assert "MIT" in (vendor / "plotly-LICENSE.txt").read_text(encoding="utf-8")
    named = [path for path in Path(STATIC).glob("*.js") if "plotly-strict" in path.read_text(encoding="utf-8")]
    assert [path.name for path in named] == ["packed.js"], "one module knows where it is"
