"""Every command of the engine, run as a person would: text and JSON, files it writes, and one clear line for what cannot be."""

import argparse
import csv
import gzip
import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.bench.bookkeeping import bookkeeping
from engine.cli import bench, calibrate, main, readme, tree
from engine.cli.options import add_models
from engine.cli.results import _commands as series_commands
from engine.cli.results import acceptance_report
from engine.cli.specs import split
from engine.errors import ConfigError
from engine.files.places import ROOT
from engine.lab import Lab
from engine.loop import Decoding
from engine.tasks import load_problems
from engine.trace.store import Trace, event_json
from tests.app.synthetic import events
from tests.engine.crossed import Crossed

SHORT = ("--max-new-tokens", "6")


def refused(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """What a refused command says: one line, status 2."""
    capsys.readouterr()
    assert main(argv) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1
    return error


def strict(text: str) -> object:
    """JSON without NaN, as other readers demand."""
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


COUNTS = [
    ("mine", "--task=arithmetic", "--items=0"),
    ("mine", "--task=arithmetic", "--limit=-1"),
    ("mine", "--task=arithmetic", "--most=-1"),
    ("mine", "--task=arithmetic", "--minutes=-1"),
    ("judge-train", "--mined=a", "--out=b", "--recall=0"),
    ("judge-train", "--mined=a", "--out=b", "--recall=1.5"),
    ("judge-eval", "--items=0"),
    ("judge-eval", "--window=x"),
    ("cases", "find", "first_look", "--first=-1"),
    ("cases", "find", "first_look", "--limit=0"),
    ("compare", "--methods=ar", "--task=arithmetic", "--items=-3"),
    ("run", "ar", "abc", "--max-new-tokens=0"),
    ("trajectories", "draw", "sam", "--task=arithmetic", "--n=0"),
    ("trajectories", "compare", "--items=0"),
    ("trajectories", "speed", "--history=-5"),
    ("trajectories", "trees", "--minutes=soon"),
    *(("trajectories", "show", "--out=x", word) for word in ("--item=10000000", "--item=-1", "--n=0")),
    *(("trajectories", "tables", "rows.jsonl", f"--ks={ks}") for ks in ("a", "0", "1,,2", "-1,4")),
    ("trajectories", "results", "--ks=0"),
    ("tree", "grow", "--out=a", "--nodes=0"),
    ("tree", "grow", "--out=/nowhere/a.json", "--nodes=4097"),
    ("tree", "grow", "--out=a", "--first=1.5"),
    ("tree", "optimise", "--out=a", "--keep=-1"),
    ("automaton", "--out=a", "--tokens=0"),
    *(("calibrate", "--prompt=abc", f"--share={share}") for share in ("0", "5", "nan")),
]


@pytest.mark.parametrize("argv", COUNTS, ids=" ".join)
def test_numbers_that_make_no_sense_are_refused(argv: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(argv)
    assert left.value.code == 2 and ": must be " in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    "flags", [["--auto", "--quality"], ["--batch", "1,2", "--quality"], ["--auto", "--batch", "1"]]
)
def test_one_bench_is_told_at_a_time(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    names = " and ".join(flag for flag in ("--auto", "--batch", "--quality") if flag in flags)
    assert main(["bench", *flags]) == 2
    assert f"{names} are not told together" in capsys.readouterr().err


@pytest.mark.parametrize("given", [[], ["--preset", "tiny"], ["--target", "T"]])
def test_a_draft_is_passed_on(
    given: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: dict[str, object] = {}

    def load(*args: object, **options: object) -> None:
        seen.update(options)
        raise ConfigError("stop here")

    monkeypatch.setattr("engine.cli.options.Lab.load", load)
    assert "stop here" in refused(capsys, "run", "sd", "abc", *given, "--draft", "MY")
    assert seen["draft"] == "MY"


def test_files_that_cannot_be_used_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    inside = str(tmp_path / "file" / "x")
    assert "file" in refused(capsys, "tree", "grow", "--nodes", "3", "--out", inside + ".json")


def test_methods_lists_shows_and_gives_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["methods"]) == 0
    assert {line.split()[0] for line in capsys.readouterr().out.splitlines()} >= {
        "ar",
        "sd",
        "easd",
        "eagle3",
        "stand",
        "autojudge",
    }
    assert main(["methods", "easd"]) == 0
    shown = capsys.readouterr().out
    assert "tau_entropy" in shown and "contested" in shown and "docs/methods/easd.md" in shown
    assert main(["methods", "easd", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["name"] == "easd"
    for name, words in (("sd", "an integer from 0 to 128 tokens | auto:"), ("stand", "from 16 to 16777216 numbers:")):
        assert main(["methods", name]) == 0
        assert words in capsys.readouterr().out
    assert "easd" in refused(capsys, "methods", "eads")


def test_the_page_of_a_method_is_told_as_it_can_be_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From another folder, as everybody who installed the package has one, by its whole path."""
    for folder, told in ((ROOT, "docs/methods/easd.md"), (tmp_path, str(ROOT / "docs/methods/easd.md"))):
        monkeypatch.chdir(folder)
        assert main(["methods", "easd"]) == 0
        assert f"\npage       {told}\n" in capsys.readouterr().out and Path(told).is_file()


def test_readme_is_refused_where_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An installed package has none of the files that it writes."""
    monkeypatch.setattr(readme, "README", tmp_path / "README.md")
    for flags in ((), ("--check",)):
        assert "README.md of a checkout" in refused(capsys, "readme", *flags)


def test_run_writes_text_metrics_and_a_trace_that_export_reads(
    pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "one.jsonl.gz"
    assert main(["run", "sd", "abc", *pair, *SHORT, "--set", "gamma=2", "--save", str(file)]) == 0
    assert "6 tokens in " in capsys.readouterr().out
    assert main(["run", "sd", "abc", *pair, *SHORT, "--set", "gamma=2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["metrics"]["tokens"] == len(found["token_ids"]) == 6
    for table, rows in (("tokens", 6), ("rounds", found["metrics"]["rounds"])):
        assert main(["export", str(file), "--table", table]) == 0
        assert len(capsys.readouterr().out.splitlines()) == rows + 1
    assert main(["export", str(file), "--table", "nodes", "--json"]) == 0
    assert all(json.loads(line)["round"] >= 0 for line in capsys.readouterr().out.splitlines())
    assert main(["export", str(file), "--table", "metrics"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["tau"] == found["metrics"]["tau"]
    several = tmp_path / "several.jsonl"
    several.write_bytes(2 * gzip.decompress(file.read_bytes()))
    assert main(["export", str(several), "--table", "metrics"]) == 0
    assert [one["file"] for one in json.loads(capsys.readouterr().out)] == [str(several)] * 2
    assert main(["export", str(several), "--table", "rounds"]) == 0
    head, *rows = csv.reader(capsys.readouterr().out.splitlines())
    assert {tuple(row[head.index(name)] for name in ("lane", "method")) for row in rows} == {
        ("sd", "sd"),
        ("sd.2", "sd"),
    }
    assert len({row[head.index("label")] for row in rows}) == 2
    assert "gamma" in refused(capsys, "run", "sd", "abc", *pair, "--set", "gama=2")
    assert "NAME=VALUE" in refused(capsys, "run", "sd", "abc", *pair, "--set", "gamma")
    assert "gamma must be an integer from" in refused(capsys, "run", "sd", "abc", *pair, "--set", "gamma=-1")


def test_a_spreadsheet_runs_nothing_of_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    formula = "=HYPERLINK(A1)"
    head, *more = (event_json(event) for event in events("chain", 4))
    first = dict(more[0])
    first["tokens"] = [one | {"piece": formula if i else "="} for i, one in enumerate(first["tokens"])]
    more[-1]["text"] = "".join(token["piece"] for one in (first, *more[1:-1]) for token in one["tokens"])
    file = tmp_path / "one.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in (head, first, *more[1:])))
    assert main(["export", str(file)]) == 0
    said = capsys.readouterr().out
    assert f"'{formula}" in said and f",{formula}" not in said and "'=," not in said  # a sign alone is no formula
    assert main(["export", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[1])["piece"] == formula


def test_a_cell_of_several_values_is_json_in_csv(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(ROOT / "presets" / "traces" / "first_look-1-sd.jsonl.gz")
    assert main(["export", file, "--table", "nodes", "--json"]) == 0
    whole = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert main(["export", file, "--table", "nodes"]) == 0
    cells = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    for name in ("reason", "source", "top_target"):
        assert [json.loads(row[name]) for row in cells[:3]] == [row[name] for row in whole[:3]]


def test_small_probabilities_are_exported_as_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = Trace.load(ROOT / "presets" / "traces" / "first_look-1-sd.jsonl.gz")
    trace.rounds[0].nodes[0].p = 3.355746930333581e-11
    trace.save(tmp_path / "one.jsonl.gz")
    assert main(["export", str(tmp_path / "one.jsonl.gz"), "--table", "nodes", "--json"]) == 0
    rows: list[Any] = [strict(line) for line in capsys.readouterr().out.splitlines()]
    nodes = [node for one in trace.rounds for node in one.nodes]
    assert [(row["p"], row["q"], row["u"]) for row in rows] == [(node.p, node.q, node.u) for node in nodes]
    assert rows[-1]["judge"] is None and rows[0]["rank"] == 1


def test_nodes_that_were_not_recorded_are_told(
    pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for record in ("light", "full"):
        out = tmp_path / record
        given = ["--prompt", "abc", "--record", record, "--out", str(out)]
        assert main(["compare", "--methods", "ar,sd", *given, *pair, *SHORT]) == 0
        capsys.readouterr()
        assert main(["export", str(out), "--table", "nodes"]) == 0
        said = capsys.readouterr()
        assert ("1 of 2 runs have no nodes here" in said.err) == (record == "light")
        assert (len(said.out.splitlines()) == 1) == (record == "light")


@pytest.mark.parametrize("table", ("tokens", "metrics"))
def test_runs_without_an_end_are_told(table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = ROOT / "presets" / "traces" / "first_look-1-sd.jsonl.gz"
    trace = Trace.load(file)
    trace.end = None
    trace.save(tmp_path / "cut.jsonl.gz")
    for paths, told in (
        ([file], ""),
        (
            [file, tmp_path / "cut.jsonl.gz"],
            "1 of 2 runs have no end here, as if a file were cut off: what follows is not in these numbers.\n",
        ),
    ):
        assert main(["export", *map(str, paths), "--table", table]) == 0
        assert capsys.readouterr().err == told


def test_another_engine_s_names_are_of_metrics_alone(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(ROOT / "presets" / "traces" / "first_look-1-sd.jsonl.gz")
    told = refused(capsys, "export", file, "--table", "rounds", "--names", "vllm")
    assert "--names vllm writes metrics, not --table rounds: give one of the two." in told
    assert main(["export", file, "--table", "metrics", "--names", "vllm"]) == 0


def test_run_reads_standard_input(
    pair: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import io

    def given(data: bytes) -> list[str]:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        return ["run", "ar", "-", *pair, *SHORT, "--json"]

    assert main(["run", "ar", "abc", *pair, *SHORT, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    for data in (b"abc", b"\xef\xbb\xbfabc"):  # the latter with a mark of its order of bytes
        assert main(given(data)) == 0
        assert json.loads(capsys.readouterr().out)["token_ids"] == told["token_ids"]
    assert "must be UTF-8; its byte 2 is not" in refused(capsys, *given(b"ab\xe9"))


def test_compare_pools_prompts_and_pooled_reads_its_traces(
    pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('{"prompt": "abc"}\n{"turns": ["cab", "more"]}\n')
    out = tmp_path / "traces" / "mine"
    given = ["compare", "--methods", "ar,sd:gamma=2", "--prompts", str(prompts), *pair, *SHORT]
    assert main([*given, "--json", "--out", str(out)]) == 0
    table = json.loads(capsys.readouterr().out)
    assert table["ar"]["tau"] == 1 and table["sd:gamma=2"]["same_output_as_ar"] == table["sd:gamma=2"]["prompts"] == 3
    assert table["ar"]["intervals"]["tau"]["mean"] == 1 and len(list(out.glob("*.jsonl.gz"))) == 6
    speed = table["sd:gamma=2"]["intervals"]["speedup"]
    assert speed["n"] == 2 and speed["mean"] == pytest.approx(table["sd:gamma=2"]["speedup"])
    assert speed["low"] is speed["high"] is None or speed["low"] < speed["mean"] < speed["high"], "none: two odd times"
    assert main(given) == 0
    assert "sd:gamma=2" in capsys.readouterr().out
    pooling = ["pooled", str(out.parent), "--out", str(tmp_path / "pooled.json")]
    assert main(pooling) == 0
    found = json.loads((tmp_path / "pooled.json").read_text())
    assert len(found["sections"]) == 1 and found["commands"][-1] == shlex.join(["python", "-m", "engine", *pooling])
    capsys.readouterr()
    copy = Trace.load(next(out.glob("*.jsonl.gz")))
    copy.head.models["target"]["id"] = "another"
    copy.save(out / "another.jsonl.gz")
    assert (
        "6 of" in (why := refused(capsys, "pooled", str(out), "--json")) and "1 of another): for JSON name one" in why
    )
    assert "'anothre'" in refused(capsys, "pooled", str(out), "--target", "anothre")
    assert main(["pooled", str(out), "--target", "another", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"] == 1
    assert main(["pooled", str(out)]) == 0
    told = capsys.readouterr().out
    assert told.index(": 6 runs") < told.index("another: 1 run\n") and told.count("tau") == 2
    assert ", 1 prompt\n" in told and told.count("verify_tokens") == 2 and " tokens" not in told
    prompts.write_text('{"words": "abc"}\n')
    assert "holds no prompt" in refused(capsys, *given)
    assert "no file" in refused(capsys, "compare", "--methods", "ar", "--prompts", str(tmp_path / "none"), *pair)
    assert "arithmetic" in refused(capsys, "compare", "--methods", "ar", "--task", "arithmetics", *pair)
    assert "named twice" in refused(capsys, "compare", "--methods", "ar,sd,ar", "--task", "arithmetic", *pair)


def test_all_methods_are_asked_with_a_prompt_that_can_be_run(
    pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A first prompt that none can run ended the command, where methods by name leave it out."""
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('{"prompt": " "}\n{"prompt": "abc"}\n')
    assert main(["compare", "--methods", "all", "--prompts", str(prompts), *pair, *SHORT, "--json"]) == 0
    said = capsys.readouterr()
    assert {"ar", "sd"} <= {*json.loads(said.out)} and "1 of 2 prompts are left out" in said.err
    assert "is left out" not in said.err
    prompts.write_text('{"prompt": " "}\n')
    assert "The prompt is empty" in refused(capsys, "compare", "--methods", "all", "--prompts", str(prompts), *pair)


def test_compare_leaves_a_prompt_out_that_not_all_methods_can_run(
    pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Too long for the context: the other prompts still count, for each method the same ones."""
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text(json.dumps({"prompt": "abc"}) + "\n" + json.dumps({"prompt": "abc" * 3000}) + "\n")
    given = ["compare", "--methods", "ar,sd", "--prompts", str(prompts), *pair, *SHORT, "--json"]
    assert main(given) == 0
    told = capsys.readouterr()
    assert "left out: prompt 2" in told.err and {row["prompts"] for row in json.loads(told.out).values()} == {1}
    prompts.write_text(json.dumps({"prompt": "abc" * 3000}))
    assert main(given) == 2
    assert "No prompt could be run by all methods" in capsys.readouterr().err


def test_a_prompt_that_failed_is_tried_again(
    pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a server was gone, or the memory of a device. One that cannot be run is not."""
    prompts, plain, asked = tmp_path / "prompts.jsonl", Lab.run, list[str]()
    prompts.write_text("".join(json.dumps({"prompt": text}) + "\n" for text in ("abc", "cab", "abc" * 3000)))
    given = ["compare", "--methods", "ar,sd", "--prompts", str(prompts), *pair, *SHORT, "--json"]

    def run(lab: Lab, method: str, prompt: str, **options: Any) -> Trace:
        asked.append(prompt)
        trace = plain(lab, method, prompt, **options)
        return Trace([*trace.events][:-1]) if broken and (method, prompt) == ("sd", "cab") else trace

    monkeypatch.setattr(Lab, "run", run)
    for broken, kept, again in ((True, 1, {"abc", "cab", "abc" * 3000}), (False, 2, {"cab"}), (False, 2, set[str]())):
        asked.clear()
        assert main([*given, "--out", str(tmp_path / "out")]) == 0
        said = capsys.readouterr()
        assert {row["prompts"] for row in json.loads(said.out).values()} == {kept} and set(asked) == again
        assert f"{3 - kept} of 3 prompts are left out; the first: prompt {kept + 1}" in said.err


@pytest.mark.parametrize(
    "methods, words, why",
    [
        ("ar", ["--temperature", "-1"], "temperature must be 0"),
        ("ar", ["--temperature", "1", "--top-p", "nan"], "top_p must be a number > 0"),
        ("ar", ["--stop", ""], "A stop string is a text"),
        ("ar,cmlm", [], "runs on encoder-decoder models"),
        ("ar,eagle3", [], "needs an asset of the role eagle3"),
        ("all", ["--eagle", "/nothing/here"], "There is no eagle3 in /nothing/here"),
        ("all", ["--asset", "medusa=/nothing/here"], "There is no medusa in /nothing/here"),
    ],
)
def test_compare_begins_no_folder_with_what_no_prompt_can_be_run_with(
    methods: str, words: list[str], why: str, pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else the folder was another sweep's, and the command as it was meant was refused there."""
    given = ["compare", "--methods", methods, "--prompt", "abc", *words, *pair, "--out", str(tmp_path / "out")]
    assert why in refused(capsys, *given) and not [*tmp_path.rglob("*.json")]


@pytest.mark.parametrize("chat", [{}, {"chat": True}])
def test_the_command_of_a_series_says_how_its_prompts_were_read(chat: dict[str, bool]) -> None:
    settings = {"family": "arithmetic", "n": 2, "temperature": 0.6, "max_new_tokens": 8, "seed": 0, **chat}
    command, _ = series_commands({"compare": (settings, [{"method": "pld", "problem": "p"}])}, {})
    assert command.endswith("--seed 0 --chat" if chat else "--seed 0")


def test_rows_of_problems_that_are_no_more_are_refused() -> None:
    settings = {"family": "arithmetic", "split": "heldout", "seed": 0, "n": 1}
    with pytest.raises(ConfigError, match="problems that arithmetic does not have"):
        acceptance_report(None, settings, [{"problem": "of an older corpus"}])  # type: ignore[arg-type]


def test_a_list_as_a_knob_keeps_its_commas() -> None:
    given = "ar,heterospec:thresholds=0.5,1.2,-3:gamma=2,sd:gamma=7,eagle3"
    assert split(given) == ["ar", "heterospec:thresholds=0.5,1.2,-3:gamma=2", "sd:gamma=7", "eagle3"]
    assert split(given.replace(",", ", ")) == split(given)


def test_prompt_files_with_marks_blank_lines_and_other_separators(
    pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_bytes(b"\xef\xbb\xbf" + '{"prompt": "a\u2028b"}\r\n\n"c\x85d"\n'.encode())
    given = ["compare", "--methods", "ar", "--prompts", str(prompts), *pair, *SHORT, "--json"]
    assert main(given) == 0 and json.loads(capsys.readouterr().out)["ar"]["prompts"] == 2
    prompts.write_bytes(b'"ab"\n{"prompt": "\xe9"}\n')
    assert "line 2 is not JSON in UTF-8" in refused(capsys, *given)


@pytest.mark.thorough
@pytest.mark.parametrize("forced", [False, True])
def test_calibrate_averages_the_largest_entropies(
    pair: list[str], forced: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ["--teacher-forced"] if forced else []
    assert main(["calibrate", "--task", "sentences", "--items", "2", *pair, *SHORT, *more, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (
        found["tau_entropy"] > 0 and found["positions"] > (40 if forced else 10) and found["teacher_forced"] is forced
    )


def test_calibrate_draws_each_prompt_with_a_seed_of_its_own(
    pair: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the same uniforms entropies of two prompts would be high or low together; `--seed` says so."""
    seeds = list[int]()

    def noted(_lab: Lab, _prompt: str, _solution: str | None, *, seed: int, **_decoding: Any) -> list[float]:
        seeds.append(seed)
        return [1.0]

    monkeypatch.setattr(calibrate, "entropies", noted)
    (tmp_path / "prompts.jsonl").write_text('{"prompt": "one"}\n{"prompt": "two"}\n')
    given = ["calibrate", "--prompts", str(tmp_path / "prompts.jsonl"), *pair, "--temperature", "1", "--seed", "7"]
    assert main([*given, "--json"]) == 0 and seeds == [7, 8]
    with pytest.raises(SystemExit):
        main(["compare", "--help"])
    assert "seed of all draws" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("preset", "given", "draft"),
    [("first_look", [], "draft"), ("tiny", ["--draft", "MINE"], "MINE"), ("", ["--target", "T"], None)],
)
def test_transformers_is_timed_with_the_models_that_are_loaded(
    preset: str, given: list[str], draft: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a case's pair as well, and with the draft that replaces a preset's own."""
    seen, read = list[tuple[str, str | None]](), list[str]()

    def loaded(_lab: Lab, folder: str) -> str:
        read.append(folder)
        return folder

    monkeypatch.setattr(bench, "loaded", loaded)
    monkeypatch.setattr(bench, "theirs", lambda _lab, target, _n, assistant=None, **_: seen.append((target, assistant)))
    parser = argparse.ArgumentParser()
    add_models(parser)
    args = parser.parse_args([*(["--preset", preset] if preset else []), *given])
    found = bench._transformers(None, args, 6)  # type: ignore[arg-type]
    assert {Path(target).name for target, _ in seen} == {"T" if "T" in given else "target"}
    assert ("hf assisted 5" in found) == bool(draft)
    assert [Path(helper).name for _, helper in seen if helper] == ([draft] if draft else [])
    assert len(read) == 1 + bool(draft), "each of them once, however many contenders it has"


def test_bench_draws_at_a_temperature_what_a_run_does(
    pair: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[dict[str, Any]]()
    plain = Lab.stream

    def stream(self: Lab, method: Any, prompt: Any, **given: Any) -> Any:
        asked.append({name: given.get(name) for name in ("temperature", "top_p", "top_k", "scope")})
        return plain(self, method, prompt, **given)

    monkeypatch.setattr(Lab, "stream", stream)
    drawn = ["--temperature", "0.7", "--top-p", "0.9", "--top-k", "20"]
    given = ["bench", *pair, "--prompt", "abc", *SHORT, "--repetitions", "1", "--no-lookups", "--no-busy"]
    methods = ["--methods", "sd,recycle:scope=global"]
    assert main([*given, *methods, *drawn, "--no-transformers"]) == 0
    assert "temperature 0.7, top_p 0.9, top_k 20" in capsys.readouterr().out
    assert {tuple(one.values()) for one in asked} == {(0.7, 0.9, 20, None), (0.7, 0.9, 20, "global")}
    asked.clear()
    assert main([*given, *methods, "--no-transformers", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sampling"] == {"temperature": 0.0}
    assert {one["temperature"] for one in asked} == {None}
    for other in (["--auto"], ["--batch", "1"]):
        assert f"{other[0]} measures greedy runs" in refused(capsys, "bench", *pair, *other, *drawn)
    assert "temperature" in refused(capsys, "bench", *pair, "--temperature", "-1")


@pytest.mark.thorough
def test_bench_lets_transformers_draw_too(pair: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    given = ["bench", *pair, "--prompt", "abc", *SHORT, "--repetitions", "2", "--no-lookups", "--no-busy"]
    assert main([*given, "--methods", "sd", "--temperature", "0.7", "--top-p", "0.9", "--json"]) == 0
    assert {"ar / hf generate", "sd / hf assisted 5"} <= json.loads(capsys.readouterr().out)["ratios"].keys()


def test_bench_of_an_encoder_decoder_is_set_against_ar_alone(
    crossed: Crossed, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["bench", "--target", str(crossed.path("bart")), "--prompt", "abc", "--methods", "pld", "--no-busy"]
    assert main([*given, *SHORT, "--repetitions", "1", "--no-lookups", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["ratios"].keys() == {"pld / ar"}
    assert "contests against transformers are left out" in err


@pytest.mark.thorough
def test_bench_reports_ratios_and_counts(pair: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    given = ["bench", *pair, "--items", "1", *SHORT, "--repetitions", "1", "--no-lookups"]
    given += ["--methods", "sd,pld,draft_alone"]
    assert main([*given, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"ar / hf generate", "sd / hf assisted 5", "sd / ar", "pld / ar"} <= found["ratios"].keys()
    assert found["counts"]["ar"]["calls"] == 6 and found["counts"]["sd"]["tokens"] == 6
    assert found["trees"] == {}, "no head is loaded"
    assert set(found["busy"]) == {"ar", "sd"} and all(row["median"] > 0 for row in found["busy"].values())
    assert "quality" not in found
    assert main([*given, "--no-transformers"]) == 0
    told = capsys.readouterr().out
    assert "ratios of tokens per second" in told and "quality" not in told
    counted = told.partition("tokens a call\n")[2].splitlines()
    assert counted[0].split() == ["ar", "6", "6", "1.00"] and counted[3].split() == [
        "draft_alone",
        "0",
        "0",
        "no",
        "calls",
    ]
    assert "task" in refused(capsys, "bench", *pair, "--task", "poems")


@pytest.mark.thorough
def test_bookkeeping_is_what_passes_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    """A round's time less that of its passes, by a clock that the test moves, so that a busy machine changes nothing."""
    now = [0.0]

    def taking(seconds: float, work: Callable[..., Any]) -> Callable[..., Any]:
        def done(*args: Any) -> Any:
            now[0] += seconds
            return work(*args)

        return done

    monkeypatch.setattr("engine.bench.bookkeeping.perf_counter", lambda: now[0])
    monkeypatch.setattr("engine.loop.perf_counter", lambda: now[0])
    lab = Lab.load("tiny")
    ids = [lab.target.tokenizer.encode(problem.prompt) for problem in load_problems("arithmetic", "heldout", 1)]
    plain, keep = lab.target.decoder.run, Decoding._keep

    def measured(a_pass: float, beside: float) -> dict[str, Any]:
        passed = lab.target.decoder.run = taking(a_pass, plain)  # type: ignore[method-assign]
        monkeypatch.setattr(Decoding, "_keep", taking(beside, keep))
        found = bookkeeping(lab, ids, 24, 1)
        assert lab.target.decoder.run is passed, "nothing stays patched"
        return found

    quick, slow = measured(0.1, 0.1), measured(0.3, 0.1)
    assert set(quick) == {"eagle2", "eagle3", "heterospec"}
    for name in quick:
        assert quick[name]["share"]["median"] == pytest.approx(0.5)
        assert slow[name]["share"]["median"] == pytest.approx(0.25)
        assert slow[name]["round_ms"]["median"] == pytest.approx(400)
    for head in map(lab.asset, ("eagle2", "eagle3")):
        monkeypatch.setattr(head, "read", taking(0.2, head.read))  # once a round, of what was committed
    for name, found in measured(0.1, 0.1).items():
        assert found["share"]["median"] == pytest.approx(0.25), name


def test_trajectories_from_a_series_to_the_page_s_file(
    pair: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    series = ["trajectories", "compare", "--methods", "pld,sam", "--items", "2", "--n", "2", *SHORT, *pair]
    assert main([*series, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert {c["method"] for c in report["over_k"]} == {"pld", "sam"}
    rows = tmp_path / "build" / "compare.jsonl"
    before = rows.read_text()
    assert main(series) == 0 and rows.read_text() == before  # nothing is run twice
    told = capsys.readouterr().out
    assert "tokens per target call" in told and "1 trajectory  " in told and "2 trajectories\n" in told
    for action in ("tables", "overlap", "acceptance"):
        assert main(["trajectories", action, str(rows), "--ks", "1,2", *pair]) == 0
        assert capsys.readouterr().out
        assert main(["trajectories", action, str(rows), "--ks", "1,2", *pair, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)
    out = tmp_path / "results.json"
    assert main(["trajectories", "results", "--ks", "1,2", "--replay", "1", "--out", str(out), *pair]) == 0
    found = json.loads(out.read_text())
    assert (
        found["commands"][0].startswith("python -m engine trajectories compare --methods pld,sam")
        and found["trees"] is None
    )
    assert found["acceptance"]["all"]["n"] > 0 and found["overlap"]
    rows.rename(rows.with_name("others.jsonl"))
    assert main(["trajectories", "results", "--ks", "1,2", "--out", str(out), *pair]) == 0
    assert "others new; compare kept" in capsys.readouterr().out
    more = json.loads(out.read_text())
    assert more["others"] == more["compare"] == found["compare"] and more["acceptance"] == found["acceptance"]
    assert more["commands"] == [
        found["commands"][0],
        found["commands"][0] + " --out build/others.jsonl",
        found["commands"][1],
    ]
    rows.with_name("others.jsonl").rename(rows)
    assert "pld, sam" in refused(capsys, "trajectories", "overlap", str(rows), "--method", "stand", *pair)
    assert main(["trajectories", "overlap", str(rows), "--ks", "1", *pair, "--json"]) == 0
    assert strict(capsys.readouterr().out)[0]["seen_before"] is None  # type: ignore[index]
    head, first, *_ = rows.read_text().splitlines()
    rows.write_text(head + "\n")
    for action in ("tables", "overlap", "acceptance"):
        assert "no finished trajectory" in refused(capsys, "trajectories", action, str(rows), *pair)
    assert "no finished trajectory" in refused(
        capsys, "trajectories", "results", "--replay", "0", "--out", str(out), *pair
    )
    failed = json.dumps(json.loads(first) | {"rounds": 0, "tokens": 0, "ids": [], "seconds": 0.0})
    rows.write_text(f"{head}\n{failed}\n")
    for action in ("tables", "overlap"):
        assert main(["trajectories", action, str(rows), *pair]) == 0
        assert capsys.readouterr().out
    rows.unlink()
    assert "compare` first" in refused(capsys, "trajectories", "results", *pair)


def test_a_series_that_cannot_be_run_begins_no_file(
    pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.jsonl"
    series = ["trajectories", "compare", "--items", "1", "--n", "1", "--out", str(rows), *SHORT, *pair]
    for more, words in (
        (["--methods", "pld,sma"], "Did you mean 'sam'"),
        (["--methods", "pld,pld"], "named twice"),
        (["--task", "poems"], "poems"),
        (["--methods", "pld", "--temperature", "-1"], "temperature"),
        (["--methods", "pld:gama=2"], "gamma"),
    ):
        assert words in refused(capsys, *series, *more)
    assert not rows.exists()


def test_trajectories_draw_vote_and_show(pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drawn = ["trajectories", "draw", "sam", "--task", "arithmetic", "--items", "1", "--n", "2", *SHORT, *pair]
    assert main([*drawn, "--json", "--save", str(tmp_path / "drawn")]) == 0
    entry = json.loads(capsys.readouterr().out)[0]
    assert len(entry["texts"]) == len(entry["tau"]) == 2 and {"answer", "share", "right"} <= entry.keys()
    assert len(list((tmp_path / "drawn").glob("*.jsonl.gz"))) == 2
    assert main(drawn) == 0
    assert "majority" in capsys.readouterr().out
    sheet = tmp_path / "sheet.json"
    given = ["trajectories", "show", "--methods", "sd,sam", "--n", "2", *SHORT, "--out", str(sheet), *pair]
    assert main(given) == 0
    shown = json.loads(sheet.read_text())
    assert shown["kind"] == "trajectories" and shown["command"] == shlex.join(["python", "-m", "engine", *given])
    rows = {one["key"]: one["rows"] for one in shown["methods"]}
    texts = {key: ["".join(row["pieces"]) for row in own] for key, own in rows.items()}
    assert list(rows) == ["sd", "sam"] and texts["sam"] == entry["texts"]
    assert [row["tau"] for row in rows["sam"]] == entry["tau"]
    told = capsys.readouterr().out.splitlines()
    assert [line.split() for line in told] == [[key, *(f"{r['tau']:.2f}" for r in own)] for key, own in rows.items()]


def test_trajectories_time_and_profile(pair: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trajectories", "speed", "--history", "200", *pair, "--json"]) == 0
    assert {cost["method"] for cost in json.loads(capsys.readouterr().out)} >= {"pld", "sam", "recycle", "stand"}
    assert main(["trajectories", "profile", "--json"]) == 0
    profile = json.loads(capsys.readouterr().out)
    assert profile["heuristic"]["nodes"] == sum(profile["heuristic"]["profile"]) == 80


def test_trees_are_grown_optimised_and_shown(
    pair: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    grown, tuned = tmp_path / "grown.json", tmp_path / "tuned.json"
    assert main(["tree", "grow", "--nodes", "12", "--depth", "3", "--out", str(grown)]) == 0
    assert capsys.readouterr().out.startswith("12 nodes, depth 3")
    words = ["--items", "2", "--n", "2", "--max-new-tokens", "8"]
    assert (
        main(["tree", "optimise", *words, "--nodes", "30", "--depth", "4", "--keep", "5", "--out", str(tuned), *pair])
        == 0
    )
    assert main(["tree", "show", str(tuned)]) == 0
    assert "5 nodes, depth" in capsys.readouterr().out
    assert json.loads(tuned.read_text())["usage"]["nodes"] == 30
    assert "no file" in refused(capsys, "tree", "optimise", "--prompts", "none.txt", "--out", str(tuned), *pair)
    assert "none.json" in refused(capsys, "tree", "show", "none.json")
    assert "Did you mean 'heuristic'" in refused(capsys, "tree", "show", "heuristik")


def test_a_tree_that_is_judged_on_its_own_prompts_is_told(
    pair: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = {problem.prompt for problem in load_problems("arithmetic", "heldout", 1)}
    monkeypatch.setattr(
        "engine.cli.trajectories.met_again", lambda tree, prompts: len(seen & set(prompts)) * (len(tree) == 80)
    )
    given = ["trajectories", "trees", "--items", "1", "--n", "1", "--out", str(tmp_path / "rows.jsonl"), *SHORT, *pair]
    assert main(given) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("warning")]
    assert len(told) == 2 and "stand_stochastic was optimised on 1 of these 1 prompts" in told[1]


def test_a_tree_is_written_where_it_is_wanted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "deep" / "grown.json"
    assert main(["tree", "grow", "--nodes", "4", "--depth", "2", "--out", str(out)]) == 0 and out.is_file()


def test_a_file_stays_in_the_place_that_was_named(
    pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No folder is made for --save, no device replaced, no link followed elsewhere, no name a way out of assets/trees."""
    missing = tmp_path / "missing"
    for file in (missing / "run.jsonl", missing / ".." / "run.jsonl"):
        assert "no folder" in refused(capsys, "run", "ar", "abc", "--save", str(file), *SHORT, *pair)
    assert "is no file" in refused(capsys, "run", "ar", "abc", "--save", "/dev/null", *SHORT, *pair)
    assert Path("/dev/null").is_char_device() and list(tmp_path.iterdir()) == []
    (tmp_path / "in").mkdir()
    kept = tmp_path / "kept.json"
    kept.write_text("{}")
    (tmp_path / "in" / "tree.json").symlink_to(kept)
    grow = ("tree", "grow", "--nodes", "3", "--depth", "2", "--out")
    assert "link out of its folder" in refused(capsys, *grow, str(tmp_path / "in" / "tree.json"))
    for name in ("../tree", "in/tree", "/tree", "..", "a/../../b"):
        assert "without a folder" in refused(capsys, *grow, name)
    assert kept.read_text() == "{}"


def test_counts_are_taken_up_for_the_same_tree_only(
    pair: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    out, state = tmp_path / "t" / "tuned.json", tmp_path / "build" / "tree-tuned.json"
    given = [
        "tree",
        "optimise",
        "--items",
        "1",
        "--n",
        "1",
        "--max-new-tokens",
        "8",
        "--nodes",
        "12",
        "--keep",
        "3",
        "--out",
        str(out),
    ]
    assert main([*given, *pair, "--depth", "3"]) == 0
    first, tree = state.read_text(), json.loads(out.read_text())
    assert main([*given, *pair, "--depth", "3"]) == 0 and json.loads(out.read_text()) == tree
    for more in (
        ["--depth", "4"],
        ["--depth", "3", "--first", "0.3"],
        ["--depth", "3", "--ranks", "2"],
        ["--depth", "3", "--ratio", "0.9"],
    ):
        state.write_text(first)
        assert main([*given, *pair, *more]) == 0
        made_by = json.loads(out.read_text())["made_by"]
        assert made_by == shlex.join(["python", "-m", "engine", *given, *pair, *more]), "or it makes another tree"
        assert state.read_text() != first, f"counts of another tree were taken up with {more}"
    state.write_text(first[:-20])
    assert main([*given, *pair, "--depth", "3"]) == 0 and state.read_text() == first
    assert [p.name for p in state.parent.iterdir()] == [state.name]


@pytest.mark.parametrize("method", ["pld", "sd", "sam_recycle", "eagle2"])
def test_only_methods_that_fill_a_static_tree_are_counted(method: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "recycle, stand, medusa" in refused(capsys, "tree", "optimise", "--method", method, "--out", "t.json")


def test_trees_are_calibrated_on_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prompts = tmp_path / "prompts"
    args = argparse.Namespace(prompts=prompts, items=9)
    prompts.write_bytes(b"\xef\xbb\xbf" + 'one\u2028line\r\n\n{"question": "x\x85y"}\n'.encode())
    assert tree._prompts(args) == ["one\u2028line", "x\x85y"]
    for text, place in (
        (b"a\nb \xe9", "line 2 is not UTF-8"),
        (b'a\n{"prompt"', "line 2 is not JSON"),
        (b'{"words": 1}', "line 1"),
    ):
        prompts.write_bytes(text)
        with pytest.raises(ConfigError, match=place):
            tree._prompts(args)


def test_an_automaton_is_built_from_files_or_a_task(
    pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "text.txt"
    text.write_text("abcabcabd")
    out = tmp_path / "automaton"
    given = ["automaton", "--files", str(text), "--out", str(out), *pair]
    assert main(given) == 0
    assert json.loads((out / "card.json").read_text())["made_by"] == shlex.join(["python", "-m", "engine", *given])
    assert "1 texts, " in capsys.readouterr().out
    assert main(["run", "sam", "abc", *pair, *SHORT, "--asset", f"automaton={out}", "--json"]) == 0
    assert "--files or --task" in refused(capsys, "automaton", "--out", str(out), *pair)
    (tmp_path / "empty.txt").write_text("")
    assert "no text" in refused(capsys, "automaton", "--files", str(tmp_path / "empty.txt"), "--out", str(out), *pair)
    (tmp_path / "bad.jsonl").write_text('"x"\n[1]\n')
    assert "line 2" in refused(capsys, "automaton", "--files", str(tmp_path / "bad.jsonl"), "--out", str(out), *pair)
    assert "poems" in refused(capsys, "automaton", "--task", "poems", "--out", str(out), *pair)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("tree", "show", "heuristic"), {"nodes", "depth", "levels", "card"}),
        (("cases", "list", "first_look"), {"name", "title", "point", "searched", "methods"}),
        (("methods", "sd"), None),
        (("pooled", "presets/traces/first_look-0-ar.jsonl.gz", "presets/traces/first_look-1-sd.jsonl.gz"), None),
        (("schema",), {"$schema", "$defs", "oneOf", "title", "description"}),
    ],
)
def test_commands_that_print_results_print_json(capsys, words, wanted):
    given = [*words] if words == ("schema",) else [*words, "--json"]
    assert main(given) == 0
    found = json.loads(capsys.readouterr().out)
    assert found and (wanted is None or set(found) == wanted)
