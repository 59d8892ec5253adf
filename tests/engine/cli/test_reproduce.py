"""`reproduce`: lists what there is, runs what is missing, goes on where it stopped, and shares finished runs."""

import json
import shlex
from argparse import Namespace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from engine.cli import COMMANDS, main, reproduce, reproducing
from engine.cli.compare import run_all
from engine.cli.reproducing import Running, Store, made
from engine.errors import ConfigError
from engine.lab import Lab
from engine.papers.entries import Item, Paper, Plan, chosen
from engine.papers.records import numbers
from engine.papers.results import load
from engine.parser import Parser
from engine.runs.trajectories import STRIDE
from engine.tasks import load_problems
from engine.tasks.prompts import Prompt
from engine.trace import Trace
from tests.engine.zoo import Zoo


def test_the_list_names_all_tables_and_figures(capsys: pytest.CaptureFixture[str]) -> None:
    """With verdicts, and the share that has a result."""
    assert main(["reproduce", "--list"]) == 0
    text = capsys.readouterr().out
    assert all(f"{paper.key}:{item.id} " in text for paper, item in chosen(""))
    assert "autojudge:T2    not testable here" in text and "of the 51 that are measurements" in text
    assert main(["reproduce", "stand:T1", "--list", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "mixed" and found["recorded"]


@pytest.mark.thorough
def test_an_item_is_run_gone_on_with_and_shared(zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """T5 asks for the runs of T3: it makes none; more prompts make only the new ones."""
    target = zoo.path("llama", layers=2, hidden=32)
    pair = ["--target", str(target), "--draft", str(zoo.draft_path(target, "noise", sigma=0.3)), "--device", "cpu"]
    given = [*pair, "--threads", "1", "--out", str(tmp_path / "out"), "--keep", str(tmp_path / "keep")]
    assert main(["reproduce", "easd:T3", "--items", "1", *given]) == 0
    told = capsys.readouterr()
    assert told.out.endswith("Verdict: not confirmed.\n") and "4 of 4 runs" in told.err, "one prompt has no interval"
    assert "This pair, " in told.out and "mbedded" not in told.out, "what an entry says of the embedded pair"
    assert "left out: rsd: RSD needs an asset of the role prm" in told.err
    result = json.loads((tmp_path / "out" / "easd-T3.json").read_text())
    assert [run["label"] for run in result["runs"]] == ["ar", "draft_alone", "sd", "easd"]
    assert result["prompts"] == {"arithmetic": 1} and result["models"]["target"]["parameters"] < 100_000
    file = tmp_path / "out" / "easd-T3.json"
    before = file.read_text()
    file.write_text(before.replace('"verdict": "not confirmed"', '"verdict": "refuted"'))
    assert main(["reproduce", "easd:T3", "--decide", *given]) == 0
    assert capsys.readouterr().out == "easd:T3: not confirmed, no longer refuted\n" and file.read_text() == before
    assert main(["reproduce", "easd:T5", "--items", "2", *given]) == 0
    assert "4 of 4 runs" in capsys.readouterr().err
    assert main(["reproduce", "easd:T3", "--items", "2", "--minutes", "0.000001", *given]) == 0
    assert "runs, about" not in capsys.readouterr().err
    assert main(["reproduce", "easd:T3", "--items", "3", "--minutes", "0.000001", *given]) == 1
    assert "run again to go on" in capsys.readouterr().err


def test_the_draft_takes_the_targets_place(zoo: Zoo, tmp_path: Path) -> None:
    """A plan may run a method on the draft model alone, kept apart from the runs of the pair."""
    lab = zoo.lab("llama", draft="noise")
    plans = (
        Plan(("ar",), items=1, max_new_tokens=4),
        Plan(("ar",), items=1, max_new_tokens=4, tag="draft", writer="draft"),
    )
    item = Item("T1", "Table 1", "x", "y.", plans=plans)
    found = made(Paper("p", "A paper", "sd", "", (item,)), item, lab, Running(tmp_path))
    assert found is not None and [run["label"] for run in found["runs"]] == ["ar", "ar@draft"]
    alone = lab.run("draft_alone", load_problems("arithmetic", "heldout", 1)[0].prompt, max_new_tokens=4)
    assert found["runs"][1]["output"] == [numbers(alone, None, None, False)["output"]] != found["runs"][0]["output"]
    assert len(list(tmp_path.iterdir())) == 2
    with pytest.raises(ConfigError, match="none is loaded: give --draft"):
        made(Paper("p", "A paper", "sd", "", (item,)), item, Lab(lab.target, {}, {}), Running(tmp_path))


def test_each_prompt_and_repeat_has_a_seed_of_its_own(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same uniforms for all, sampled answers would be lucky or not together."""
    seeds = list[int]()

    def noted(lab: Lab, methods: list[Any], prompt: Prompt, options: dict[str, Any]) -> dict[str, Trace]:
        seeds.append(options["seed"])
        return run_all(lab, methods, prompt, options)

    monkeypatch.setattr(reproducing, "run_all", noted)
    plans = (Plan(("ar", "sd"), items=2, repeats=2, temperature=1.0, max_new_tokens=3),)
    item = Item("T1", "Table 1", "x", "y.", plans=plans)
    made(Paper("p", "A paper", "sd", "", (item,)), item, lab, Running(tmp_path))
    assert sorted(seeds) == [0, 1, STRIDE, STRIDE + 1]


def test_only_the_files_that_are_missing_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them where they are wanted anew; a command that names no file runs whenever one is missing."""
    commands = tuple(f"python -m engine bench --out {name}" for name in ("a.json", "b.json"))
    item = Item("T1", "Table 1", "x", "y.", source=("a.json", "b.json"), commands=(*commands, "python -m engine speed"))
    ran = list[list[str]]()
    monkeypatch.setattr(reproduce, "ROOT", tmp_path)
    monkeypatch.setattr("engine.cli.main", lambda words: ran.append(list(words)))
    args = asked()
    (tmp_path / "a.json").write_text("{}")
    assert reproduce._gather(args, item)
    assert ran == [["bench", "--out", "b.json"], ["speed"]]
    (tmp_path / "b.json").write_text("{}")
    assert not reproduce._gather(args, item)
    assert len(ran) == 2
    assert reproduce._gather(asked(again=True, target="mine", asset=["prm=a", "medusa=b"]), item)
    models = ["--target", "mine", "--asset", "prm=a", "--asset", "medusa=b"]
    assert ran[2:] == [[*words, *models] for words in (["bench", "--out", "a.json"], *ran[:2])]


def test_the_commands_of_items_are_understood_with_models_of_one_s_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where their files are wanted anew; one lacked an option, and those that read what others wrote take no models."""
    parser, items = Parser(prog="python -m engine"), [item for _, item in chosen("") if item.source]
    subparsers = parser.add_subparsers()
    commands = {shlex.split(command)[3] for item in items for command in item.commands}
    for file in {COMMANDS[command][0] for command in commands}:
        import_module(f"engine.cli.{file}").add_parser(subparsers)
    monkeypatch.setattr("engine.cli.main", lambda words: parser.parse_args(words) and 0)
    mine = asked(again=True, target="mine", draft="small")
    assert all(reproduce._gather(mine, item) for item in items)


def test_a_result_names_the_options_that_made_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Heads and types of numbers too; an item that is read from files passes over models and prompts, and says so."""
    paper, item = chosen("easd:T1")[0]
    args = asked(target="mine", eagle="a head", asset=["prm=a"], dtype="float64", items=3, times=True)
    words = "--target mine --eagle 'a head' --asset prm=a --dtype float64 --items 3 --times"
    assert reproduce._again(args, paper, item, reproduce.ALL) == f"python -m engine reproduce easd:T1 {words}"
    assert main(["reproduce", "heterospec:T4", "--target", "mine", "--items", "2", "--out", str(tmp_path)]) == 0
    read = "docs/results/heterospec.json, docs/results/heterospec-strata.json"
    assert f"T4 is read from {read}; no bearing on that: --target, --items" in capsys.readouterr().err
    assert json.loads((tmp_path / "heterospec-T4.json").read_text())["command"].endswith("reproduce heterospec:T4")
    assert main(["reproduce", "heterospec:T4", "--out", str(tmp_path)]) == 0
    assert "no bearing" not in capsys.readouterr().err


def test_what_is_said_of_the_recorded_run_is_said_of_no_other() -> None:
    """Fewer prompts, other numbers or other models make another one; taking speeds too does not."""
    entry = chosen("easd:T1")[0]
    recorded = load(*entry)
    assert recorded is not None and "96 of 100" in entry[1].larger
    for more, same in (("", True), (" --times", True), (" --items 4", False), (" --dtype bfloat16 --times", False)):
        text = reproduce.as_text(entry, recorded | {"command": recorded["command"] + more})
        assert text.endswith(f"Verdict: not confirmed.{f' {entry[1].larger}' if same else ''}"), more


@pytest.mark.parametrize("more", [["--target", "mine", "--draft", "small"], []])
def test_files_that_other_models_made_are_not_called_the_embedded_pairs(
    more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.cli.main", lambda words: 0)
    assert main(["reproduce", "heterospec:T4", "--again", "--out", str(tmp_path), *more]) == 0
    assert ("mbedded" in capsys.readouterr().out) == (not more)
    titles = [table["title"] for table in json.loads((tmp_path / "heterospec-T4.json").read_text())["tables"]]
    assert all(title.startswith("This " if more else "Embedded ") for title in titles)


def asked(**given: Any) -> Namespace:
    """The options of `reproduce`, some of them given."""
    usual = {"again": False, "preset": None, "target": None, "draft": None, "target_endpoint": None, "eagle": None}
    more: dict[str, Any] = {
        "target_model": "",
        "asset": [],
        "languages": "",
        "dtype": "auto",
        "items": None,
        "times": False,
    }
    return Namespace(**usual | more | given)


def test_what_cannot_be_run_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """Schemes, and what needs other hardware."""
    assert main(["reproduce", "autojudge:T11"]) == 2
    assert "The power of a GPU" in capsys.readouterr().err
    assert main(["reproduce", "easdd"]) == 2
    assert "Did you mean 'easd'" in capsys.readouterr().err


def test_a_damaged_store_is_refused(tmp_path: Path) -> None:
    """And a line that was cut off is run again."""
    path = tmp_path / "runs.jsonl"
    store = Store(path, {"seed": 0})
    store.add(("arithmetic", 0, 0, "sd"), {"tokens": 3})
    with path.open("a") as file:
        file.write('{"task": "arith')
    with pytest.raises(ConfigError, match=r"runs\.jsonl is being written by process"):
        Store(path, {"seed": 0})
    del store
    assert Store(path, {"seed": 0}).rows == {("arithmetic", 0, 0, "sd"): {"tokens": 3}}
    path.write_text('{"settings": {}}\n[1]\n')
    with pytest.raises(ConfigError, match="line 2 is no run"):
        Store(path, {"seed": 0})
