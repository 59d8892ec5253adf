"""The entries of the papers: all there, sound, and every method, knob, task, case and file that they name exists."""

import json
import re
from pathlib import Path

import pytest

from engine.config import parse_method
from engine.errors import ConfigError
from engine.files.places import ROOT
from engine.files.presets import get_preset
from engine.methods import get_card
from engine.papers.entries import chosen, paper, papers, quantities, read
from engine.papers.measures import NAMES
from engine.papers.paths import value_at
from engine.tasks.marking import marking

SMALL = """
title = "A paper"
method = "sd"
setting = "A machine"
[[items]]
id = "T1"
name = "Table 1"
shows = "Numbers"
claim = "One is larger."
[[items.printed]]
title = "Set"
y = "share, %"
columns = ["a", "b"]
rows = [["SD", 1, ""]]
[[items.checks]]
says = "It is larger."
q = { measure = "tau", of = "sd", task = "arithmetic" }
relation = "above"
[[items.plans]]
methods = ["sd"]
"""


def test_every_table_and_figure_of_the_five_papers_is_there() -> None:
    """Counted in the texts; EASD's two figures 2 and so on have names of their own."""
    found = {one.key: [item.id for item in one.items] for one in papers()}
    tables = {key: sum(name.startswith("T") for name in names) for key, names in found.items()}
    assert tables == {"autojudge": 11, "cm_asd": 5, "easd": 7, "heterospec": 11, "stand": 4}
    assert {key: len(names) - tables[key] for key, names in found.items()} == {
        "autojudge": 15,
        "cm_asd": 3,
        "easd": 4,
        "heterospec": 4,
        "stand": 6,
    }


def test_what_an_entry_names_exists() -> None:
    """Methods with their knobs, measures, tasks, cases and files; a claim is a sentence."""
    for one, item in chosen(""):
        get_card(one.method)
        methods = [m for plan in item.plans for m in plan.methods] + list(item.live.methods if item.live else ())
        for name, knobs in map(parse_method, methods):
            get_card(name).resolve(knobs)
        for task in [*(t for plan in item.plans for t in plan.tasks), *([item.live.task] if item.live else [])]:
            marking(task)
        assert all(get_preset(case).kind == "case" for case in item.cases), item.id
        made = " ".join(item.commands).split()
        assert all((ROOT / name).is_file() or name in made for name in item.source), item.id
        assert any((ROOT / name).is_file() for name in item.source) or not item.source, item.id
        assert all(q.measure in NAMES for q in quantities(item) if q.measure), item.id
        assert item.claim.endswith("."), item.id
        assert not item.untestable or item.untestable.endswith("."), item.id
        assert all(command.startswith("python -m engine ") for command in item.commands), item.id


def test_one_item_is_found_by_name() -> None:
    """In any case of letters; an unknown one is refused with the nearest."""
    assert [(p.key, i.id) for p, i in chosen("easd:t1")] == [("easd", "T1")]
    assert len(chosen("stand")) == 10
    with pytest.raises(ConfigError, match="Did you mean 'easd'"):
        paper("eas")
    with pytest.raises(ConfigError, match="Known: F1"):
        chosen("easd:T99")
    for name, said in ((":", "Unknown paper ''"), (":T1", "Unknown paper ''"), ("easd:", "Unknown item of easd ''")):
        with pytest.raises(ConfigError, match=said):
            chosen(name)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('rows = [["SD", 1, ""]]', 'rows = [["SD", 1]]', "must have 2 numbers"),
        ('rows = [["SD", 1, ""]]', 'rows = [["SD", 1, "x"]]', "'x' in the row 'SD' of 'Set' is no number"),
        (
            'relation = "above"',
            'relation = "over"',
            "relation must be one of 'above', 'below', 'within', 'equal', not 'over'",
        ),
        ('claim = "One is larger."', 'clam = "One is larger."', "Did you mean 'claim'"),
        ('claim = "One is larger."', "", "claim is missing"),
        ('of = "sd"', 'of = "sds"', "Unknown method of its plans 'sds'. Did you mean 'sd'"),
        ('methods = ["sd"]', "methods = [3]", "methods must be a list, each a text, not [3]"),
        ('claim = "One is larger."', 'claim = "One is larger."\nuntestable = "No."', "exactly one of plans"),
        ("[[items.plans]]\nmethods", 'untestable = "No."\nx', "Unknown key 'untestable'"),
        ("title = ", "title ", "is not valid TOML"),
    ],
)
def test_a_damaged_entry_is_refused_with_its_place(tmp_path: Path, old: str, new: str, message: str) -> None:
    """Each with what is wrong."""
    assert old in SMALL
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    assert read(path).item("t1").plans[0].items == 300
    path.write_text(SMALL.replace(old, new, 1))
    with pytest.raises(ConfigError, match=re.escape(message)):
        read(path)


def test_statements_name_the_side_that_decides_them() -> None:
    """That two numbers differ is decided by either side, and no relation does that."""
    says = [check.says for _, item in chosen("") for check in item.checks]
    assert len(says) > 100 and not [one for one in says if "differ" in one.split()]


def test_titles_tell_a_number_as_their_table_measures_it() -> None:
    """SD's over a table of AutoJudge's."""
    seen = 0
    for _, item in chosen("autojudge"):
        data = {Path(name).stem: json.loads((ROOT / name).read_text(encoding="utf-8")) for name in item.source}
        for table in item.ours:
            if told := re.search(r"SD has ([\d.]+)", table.title):
                sd = value_at(data, re.sub(r"name=[^]]+", "name=sd", table.rows[0][1]))
                assert sd and f"{sd.mean:.2f}" == told[1], item.id
                seen += 1
    assert seen == 2
