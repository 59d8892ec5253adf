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
from engine.papers import results
from engine.papers.entries import Check, Item, Paper, Plan, Quantity, chosen
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
    commands = (*commands, "python -m engine judge-eval --preset tiny")
    item = Item("T1", "Table 1", "x", "y.", source=("a.json", "b.json"), commands=commands)
    ran = list[list[str]]()
    monkeypatch.setattr(reproduce, "ROOT", tmp_path)
    monkeypatch.setattr("engine.cli.main", lambda words: ran.append(list(words)))
    args = asked()
    (tmp_path / "a.json").write_text("{}")
    assert reproduce._gather(args, item, tmp_path)
    assert ran == [["bench", "--out", "b.json"], ["judge-eval", "--preset", "tiny"]]
    (tmp_path / "b.json").write_text("{}")
    assert not reproduce._gather(args, item, tmp_path)
    assert len(ran) == 2
    assert reproduce._gather(asked(again=True, target="mine", asset=["prm=a", "medusa=b"]), item, tmp_path)
    models = ["--target", "mine", "--asset", "prm=a", "--asset", "medusa=b"]
    assert ran[2:] == [[*words, *models] for words in (["bench", "--out", "a.json"], ran[0], ["judge-eval"])]
    (tmp_path / "a.json").unlink()
    assert reproduce._gather(asked(draft="mine"), item, tmp_path)
    assert len(ran) == 8, "all files are of one pair"


@pytest.mark.parametrize("more", [["--target", "mine", "--asset", "judge=own"], ["--out", "mine"]])
def test_nothing_recorded_is_overwritten_by_other_models_or_with_a_place_of_its_own(
    more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are made below the working folder or where --out says, by models that are found from there, and read there;
    so are they by --decide."""
    root, own, ran = tmp_path / "lab", tmp_path / "own", list[list[str]]()
    item = Item(
        "T1",
        "Table 1",
        "x",
        "y.",
        checks=(Check("It is.", Quantity(path="a.v"), "above", 0.5, exact=True),),
        source=("read/a.json", "read/kept.json"),
        commands=("python -m engine judge-eval --preset tiny", "python -m engine trajectories profile"),
    )
    for name in item.source:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text('{"v": 0}')
    for folder in ("mine", "own"):
        (own / folder).mkdir(parents=True)
    monkeypatch.chdir(own)
    monkeypatch.setattr(reproduce, "ROOT", root)
    monkeypatch.setattr(reproduce, "FOLDER", root / "papers")
    monkeypatch.setattr(results, "ROOT", root)
    monkeypatch.setattr(reproduce, "chosen", lambda what: [(Paper("p", "A paper", "sd", "", (item,)), item)])

    def wrote(words: list[str]) -> int:
        ran.append(list(words))
        Path("read").mkdir(exist_ok=True)
        Path("read/a.json").write_text('{"v": 1}')
        return 0

    monkeypatch.setattr("engine.cli.main", wrote)
    assert main(["reproduce", "p:T1", "--again", *more]) == 0
    place = own / ("build/reproduced" if "--target" in more else "mine")
    models = ["--target", str(own / "mine"), "--asset", f"judge={own / 'own'}"]
    assert ran == [
        ["judge-eval", *(models if "--target" in more else ["--preset", "tiny"])],
        ["trajectories", "profile"],
    ]
    assert {(root / name).read_text() for name in item.source} == {'{"v": 0}'} and not (root / "papers").exists()
    assert json.loads((place / "read" / "a.json").read_text()) == {"v": 1}
    assert json.loads((place / "p-T1.json").read_text())["verdict"] == "confirmed"
    told = capsys.readouterr().err
    alone = (
        "  read/kept.json: no command of this entry makes it, and the recorded one is of the embedded pair: left out\n"
    )
    assert (alone in told) == ("--target" in more) and "read/a.json: no command" not in told
    assert f"files are written below {place}" in told and f"written: {place / 'p-T1.json'}" in told
    file = place / "p-T1.json"
    file.write_text(file.read_text().replace('"verdict": "confirmed"', '"verdict": "refuted"'))
    assert main(["reproduce", "p:T1", "--decide", *more]) == 0
    assert capsys.readouterr().out == "p:T1: confirmed, no longer refuted\n"


def test_a_smaller_run_leaves_the_recorded_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of fewer prompts of any task, or without the speeds that are recorded: it is written elsewhere, and where is
    told, as is what would replace it. One as large replaces it, and so does one that is asked for by --out."""
    plans = (Plan(("ar",), items=30), Plan(("ar",), items=6, tag="draft"))
    item, place = Item("T1", "Table 1", "x", "y.", plans=plans), tmp_path / "papers"
    paper = Paper("p", "A paper", "sd", "", (item,))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reproduce, "FOLDER", place)
    monkeypatch.setattr(reproduce, "chosen", lambda what: [(paper, item)])
    monkeypatch.setattr(reproduce, "_lab", lambda *_: None)

    def run(paper: Paper, item: Item, lab: object, running: Running) -> dict[str, Any]:
        prompts = reproducing.prompts_of(item.plans, running.items)
        return {"prompts": prompts, "times": running.times, "tables": [], "checks": [], "verdict": "mixed"}

    monkeypatch.setattr(reproduce, "made", run)
    file, smaller = place / "p-T1.json", tmp_path / "build" / "reproduced" / "p-T1.json"
    for options, replaces, told in (
        (["--items", "4"], True, ""),  # nothing is recorded yet
        ([], True, ""),
        (["--again", "--times"], True, ""),
        (["--times", "--items", "20"], False, "30 prompts of arithmetic, and these are 20"),
        (["--again", "--items", "20", "--times"], False, "30 prompts of arithmetic, and these are 20"),
        (["--again"], False, "speeds, which --times takes"),
        (["--items", "30", "--times", "--out", "elsewhere"], False, ""),
        (["--items", "30", "--times"], True, ""),
        (["--items", "5", "--times", "--out", "papers"], True, ""),
        (["--items", "4", "--times"], False, "5 prompts of arithmetic, and these are 4"),
    ):
        before = file.read_text() if file.is_file() else ""
        smaller.unlink(missing_ok=True)
        assert main(["reproduce", "p:T1", *options]) == 0
        err = capsys.readouterr().err
        assert (file.read_text() != before) == replaces and smaller.is_file() == bool(told), options
        assert (f"p:T1 is recorded with {told}: that result stays" in err) == bool(told), options
        assert (f"written below {smaller.parent} (--out {place} replaces it)" in err) == bool(told)


def test_the_recorded_models_make_the_recorded_files_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where their commands name them, and where they are read afterwards."""
    item = Item("T1", "Table 1", "x", "y.", source=("a.json",), commands=("python -m engine bench --out a.json",))
    (tmp_path / "away").mkdir()
    monkeypatch.chdir(tmp_path / "away")
    monkeypatch.setattr(reproduce, "ROOT", tmp_path / "lab")
    monkeypatch.setattr("engine.cli.main", lambda words: Path(words[-1]).write_text("{}") and 0)
    assert reproduce._files(args := asked(again=True)) == tmp_path / "lab" and reproduce._out(args) == results.FOLDER
    assert reproduce._gather(args, item, reproduce._files(args))
    assert (tmp_path / "lab" / "a.json").is_file() and not any((tmp_path / "away").iterdir())
    assert Path.cwd() == tmp_path / "away"


def test_the_commands_of_items_are_understood_with_models_of_one_s_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where their files are wanted anew; one lacked an option, and those that read what others wrote take no models.
    Every file but those that no command makes is written where the command is given."""
    parser, items = Parser(prog="python -m engine"), [item for _, item in chosen("") if item.source]
    subparsers = parser.add_subparsers()
    commands = {shlex.split(command)[3] for item in items for command in item.commands}
    for file in {COMMANDS[command][0] for command in commands}:
        import_module(f"engine.cli.{file}").add_parser(subparsers)
    given = list[Namespace]()
    monkeypatch.setattr("engine.cli.main", lambda words: given.append(parser.parse_args(words)) or 0)
    mine = asked(again=True, target="mine", draft="small")
    assert [item.id for item in items if not reproduce._gather(mine, item, tmp_path)] == ["F5"], "it is shipped"
    assert not any(getattr(args, "preset", None) and args.target for args in given), "a pair or a target"
    figures = [args.results for args in given if "mined" in args]
    assert figures == [Path("docs/results/judge-ablations-arithmetic.json")] * 2, (
        "what AutoJudge's figures are read from"
    )
    assert not [out for args in given if (out := getattr(args, "out", None)) and Path(out).is_absolute()]
    assert not [args.out for args in given if getattr(args, "action", "") == "optimise" and "/" not in args.out]


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
    usual = {
        "again": False,
        "out": None,
        "preset": None,
        "target": None,
        "draft": None,
        "target_endpoint": None,
        "eagle": None,
    }
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
