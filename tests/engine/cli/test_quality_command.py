"""Quality beside speed, worked examples, and prompts to calibrate on, as a person asks for them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.analysis.intervals import as_json, gap_interval, mean_interval
from engine.cli import main
from engine.cli.compare import as_text, quality_lines
from engine.errors import ConfigError
from engine.lab import Lab
from engine.methods import CARDS
from engine.tasks import Problem, load_problems
from engine.tasks.marking import Marking
from engine.tasks.prompts import Prompt
from engine.trace.store import Trace
from tests.engine.cli.test_commands import SHORT, refused


def test_compare_tells_quality_beside_speed(
    pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Draws with seeds of their own, marks in the traces, and the same numbers once they are pooled."""
    given = [
        "compare",
        "--methods",
        "ar,sd",
        "--task",
        "arithmetic",
        "--items",
        "2",
        *pair,
        *SHORT,
        "--temperature",
        "1",
    ]
    out = tmp_path / "traces"
    assert main([*given, "--repeats", "2", "--json", "--out", str(out)]) == 0
    row = json.loads(capsys.readouterr().out)["sd"]
    found, calls = row["quality"], row["intervals"]["rounds"]
    sizes = [Trace.load(path).metrics()["rounds"] for path in sorted(out.glob("*-sd.jsonl.gz"))]
    each = [sum(sizes[:2]) / 2, sum(sizes[2:]) / 2]
    assert each[0] != each[1] and sum(sizes) == row["rounds"]
    assert calls == pytest.approx(as_json(mean_interval(each, positive=True)))
    assert (found["responses"], found["prompts"], found["repeats"]) == (4, 2, 2)
    assert {"accuracy", "accuracy_difference", "majority", "majority_difference", "same_as_ar"} <= found.keys()
    traces = [Trace.load(path) for path in sorted(out.glob("*-ar.jsonl.gz"))]
    assert [t.head.seed for t in traces] == [0, 10_000, 1, 10_001] and traces[0].token_ids != traces[1].token_ids
    assert all(t.head.extras["right"] is False and t.head.extras["answer"].isdigit() for t in traces)
    assert main([*given, "--repeats", "2"]) == 0
    assert "majority right, %" in capsys.readouterr().out
    assert "temperature" in refused(capsys, *given[:-2], "--repeats", "2")


def test_all_is_every_method_that_does_not_refuse_the_task_and_a_text_has_one_verdict(
    pair: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A mark that differs from call to call stands for a program that is as slow as its limit."""
    run, marked = Lab.run, list[str]()

    def refuses(lab: Lab, method: str, *given: Any, **options: Any) -> Trace:
        if method == "easd":
            raise ConfigError("made for another task")
        return run(lab, method, *given, **options)

    def fickle(_: Marking, problem: Problem, text: str) -> bool:
        marked.append(text)
        return len(marked) == 1

    monkeypatch.setattr(Lab, "methods", lambda lab: [card for card in CARDS if card.name in ("ar", "sd", "easd")])
    monkeypatch.setattr(Lab, "run", refuses)
    monkeypatch.setattr(Marking, "right", fickle)
    assert main(["compare", "--methods", "all", "--task", "arithmetic", "--items", "1", *pair, *SHORT, "--json"]) == 0
    told = capsys.readouterr()
    found = json.loads(told.out)
    assert list(found) == ["ar", "sd"] and "easd is left out: made for another task" in told.err
    assert len(marked) == 1 and all(row["quality"]["accuracy"]["mean"] == 1 for row in found.values())


@pytest.mark.thorough
def test_speeds_above_a_thousand_are_written_out() -> None:
    row = {"tokens_per_s": 1141.4, "tau": 4.756, "cost_ratio": 0.00135, "tokens": 12345, "quality": {}}
    told = as_text({"dflash": row, "ar": {**row, "tokens_per_s": 999.7}}).splitlines()
    assert told[1].split() == ["dflash", "12345", "-", "-", "4.76", "-", "1141", "0.00135", "-"] and " 1000 " in told[2]
    header, placed, *_ = as_text({"cmlm": {**row, "rounds": 0, "iterations": 40}}).splitlines()
    assert dict(zip(header.split(), placed.split(), strict=True))["iterations"] == "40" and "iterations" not in told[0]


def test_bench_tells_quality_of_the_answers_it_timed(
    pair: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What plain decoding writes is made the right answer to one of two problems, so that the marks can be worked out."""
    given = ["bench", *pair, *SHORT, "--items", "2", "--repetitions", "1", "--methods", "sd,topk_lossy", "--no-lookups"]
    marks = Marking("arithmetic", ("accuracy",), True, str, lambda a, b: a == b, lambda *_: 0.0)
    problems = load_problems("arithmetic", "heldout", 2)
    lab = Lab.load(target=pair[1], draft=pair[3], device="cpu")
    written = [lab.run("ar", problem.prompt, max_new_tokens=6) for problem in problems]
    made = [replace(problems[0], answer=written[0].text), replace(problems[1], answer="another")]
    asked = [Prompt(problem.prompt, problem=problem) for problem in made]
    monkeypatch.setattr("engine.cli.bench.prompts", lambda _: asked)
    monkeypatch.setattr("engine.cli.bench.marking", lambda _: marks)
    assert main([*given, "--quality", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["quality"]
    assert set(found) == {"ar", "sd", "topk_lossy", "hf generate", "hf assisted 5", "hf prompt lookup"}
    for name in ("ar", "sd", "hf generate"):
        assert (found[name]["prompts"], found[name]["accuracy"]["mean"]) == (2, 0.5)
        less = None if name == "ar" else as_json(gap_interval([0.0, 0.0]))
        assert found[name].get("accuracy_difference") == less, "as in compare, nothing is told of ar less itself"
        assert found[name]["same_as_ar"]["mean"] == 1 and found[name]["same_as_ar"]["low"] > 0
        assert found[name]["response_tokens"]["mean"] == sum(len(t.token_ids) for t in written) / 2
    assert main([*given, "--quality", "--no-transformers"]) == 0
    told = capsys.readouterr().out.partition("quality of the same answers\n")[2].splitlines()
    assert "right, %" in told[0] and told[1].startswith("ar ") and "50.0 (" in told[1]


def test_compare_reads_published_sets_with_worked_examples(
    pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text(
        "".join(json.dumps({"question": f"q{i}?", "answer": f"So it is. #### {i}"}) + "\n" for i in range(3))
    )
    given = [
        "compare",
        "--methods",
        "ar",
        "--task",
        "gsm8k",
        "--source",
        str(rows),
        *pair,
        *SHORT,
        "--out",
        str(tmp_path),
    ]
    assert main([*given, "--shots", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ar"]["quality"]["prompts"] == 2
    prompt = Trace.load(tmp_path / "0000-ar.jsonl.gz").head.prompt
    assert (
        prompt.count("The final answer is") == 3 and prompt.index("q0?") < prompt.index("q1?") and "q2?" not in prompt
    )
    assert "--source" in refused(capsys, "compare", "--methods", "ar", "--task", "arithmetic", "--shots", "2", *pair)


@pytest.mark.thorough
def test_calibrate_asks_other_prompts_than_those_of_tests(
    pair: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[str] = []
    monkeypatch.setattr("engine.cli.calibrate.entropies", lambda lab, prompt, *_, **__: seen.append(prompt) or [1.0])
    assert main(["calibrate", "--task", "arithmetic", "--items", "5", *pair, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["prompts"] == len(seen) == 5
    assert not set(seen) & {p.prompt for p in load_problems("arithmetic", "heldout", 500)}


def test_calibrate_is_led_along_a_row_s_solution(
    pair: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """LIMO holds the reasoning as `solution` and a bare number as `answer`; GSM8K's reasoning is its `answer`."""
    rows, seen = tmp_path / "rows.jsonl", list[str]()
    rows.write_text(
        '{"question": "a?", "solution": "because, so 7", "answer": 7}\n{"question": "b?", "answer": "so 8"}\n'
    )
    monkeypatch.setattr(
        "engine.cli.calibrate.entropies", lambda lab, prompt, solution, **_: seen.append(solution) or [1.0]
    )
    assert main(["calibrate", "--prompts", str(rows), "--teacher-forced", *pair, "--json"]) == 0
    assert seen == ["because, so 7", "so 8"]


def test_a_wide_interval_does_not_run_into_the_number_before_it() -> None:
    """Two prompts whose answers differ much in length tell little of their mean."""
    wide = {"mean": 25.0, "low": 0.0, "high": 1367504383832.8, "n": 2}
    measures = {"same_as_ar": {"mean": 1.0, "low": 0.342, "high": 1.0, "n": 2}, "response_tokens": wide}
    assert "(34.2 to 100.0) 25.0 (0.0 to 1367504383832.8)" in quality_lines({"ar": measures})[1]
