"""`run` and `compare`: stop texts, and knobs that bear the names of other arguments."""

import json
import re
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from engine.cli import main
from engine.cli.run import _told
from engine.cli.specs import once, split
from engine.config import parse_method
from engine.errors import ConfigError
from engine.lab import Lab
from engine.model import load_model
from engine.tasks.prompts import _further_turns, prompt_text
from engine.trace.events import Event
from engine.trace.store import Trace
from tests.engine.heads import made
from tests.engine.zoo import Zoo

SHORT = ("--max-new-tokens", "12")


@pytest.mark.parametrize(
    "given", ["prompt=x", "method=ar", "extras=1", "reuse=1", "self=1", "max_new_tokens=3", "record=light"]
)
def test_a_knob_is_a_knob_of_the_card(pair: list[str], given: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "sd", "abc", *pair, *SHORT, "--set", given]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: Unknown knob of sd") and error.count("\n") == 1


def test_the_response_ends_at_a_stop_text(pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "run.jsonl"
    assert main(["run", "sd", "abc", *pair, *SHORT, "--save", str(file)]) == 0
    whole = Trace.load(file)
    assert whole.head.stop == [] and len(whole.tokens) == 12
    mark = whole.tokens[4].piece
    assert main(["run", "sd", "abc", *pair, *SHORT, "--stop", "never", "--stop", mark, "--save", str(file)]) == 0
    cut = Trace.load(file)
    assert cut.head.stop == ["never", mark] and cut.end is not None and cut.end.reason == "stop" and mark in cut.text
    assert len(cut.tokens) <= 5
    capsys.readouterr()
    assert main(["compare", "--methods", "ar,sd", "--prompt", "abc", *pair, *SHORT, "--stop", mark, "--json"]) == 0
    assert {row["tokens"] for row in json.loads(capsys.readouterr().out).values()} == {len(cut.tokens)}
    assert main(["calibrate", "--prompt", "abc", *pair, *SHORT, "--stop", mark, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["positions"] == len(cut.tokens)


def refused(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(list(argv)) == 2
    return capsys.readouterr().err


def test_a_run_that_is_broken_off_is_saved(pair: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, plain = tmp_path / "run.jsonl", Lab.stream

    def broken(lab: Lab, *given: Any, **options: Any) -> Iterator[Event]:
        yield from islice(plain(lab, *given, **options), 3)
        raise KeyboardInterrupt

    monkeypatch.setattr(Lab, "stream", broken)
    main(["run", "sd", "abc", *pair, *SHORT, "--save", str(file)])
    kept = Trace.load(file)
    assert len(kept.rounds) == 2 and kept.end is None


def test_a_sweep_is_not_gone_on_with_under_another_head(
    zoo: Zoo, pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = load_model(pair[1])
    heads = [str(made.medusa(tmp_path / name, target, seed=seed)) for seed, name in enumerate(("one", "two"))]
    words = ["compare", "--methods", "ar,medusa", "--prompt", "abc", *pair, *SHORT, "--out", str(tmp_path / "out")]
    assert main([*words, "--asset", f"medusa={heads[0]}"]) == 0
    assert main([*words, "--asset", f"medusa={heads[0]}"]) == 0
    assert "another sweep" in refused(capsys, *words, "--asset", f"medusa={heads[1]}")
    assert "There is no medusa in" in refused(capsys, *words, "--asset", f"medusa={tmp_path / 'nowhere'}")


@pytest.mark.parametrize("role", ["eagle2", "eagle3", "dflash"])
def test_a_head_of_another_target_is_told_though_no_method_asks_for_it(
    role: Any, zoo: Zoo, pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By its configuration, where it keeps no record; `all` left its methods out without a word, or ended with them."""
    other = zoo.model("llama", hidden=48)
    folder = made.dflash(tmp_path / role, other) if role == "dflash" else made.eagle(tmp_path / role, other, role)
    words = ["--prompt", "abc", *pair, *SHORT, "--asset", f"{role}={folder}"]
    for methods in ("all", "ar,sd"):
        assert "it was made for another target" in refused(capsys, "compare", "--methods", methods, *words)
    given: dict[str, Any] = {role: folder}
    lab = Lab.load(target=pair[1], **given)
    reasons = [reason for reason in lab.unavailable().values() if "it was made for another target" in reason]
    assert reasons and not any(role in card.needs for card in lab.methods())


def test_a_series_keeps_apart_what_its_models_and_prompts_are(
    zoo: Zoo, pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, prompts = tmp_path / "rows.jsonl", tmp_path / "prompts.jsonl"
    words = ["trajectories", "compare", "--methods", "sd", "--n", "1", "--max-new-tokens", "4", "--out", str(file)]
    prompts.write_text('{"id": "a", "prompt": "abc"}\n{"id": "b", "prompt": "cab"}\n')
    assert main([*words, "--prompts", str(prompts), *pair]) == 0
    assert len(file.read_text().splitlines()) == 3
    other = [*pair[:3], pair[1], *pair[4:]]
    assert "another experiment" in refused(capsys, *words, "--prompts", str(prompts), *other)
    prompts.write_text('{"id": "a", "prompt": "abc"}\n{"id": "a", "prompt": "cab"}\n')
    assert "Two of the prompts have the id 'a'" in refused(capsys, *words, "--prompts", str(prompts), *pair)


def test_a_chat_as_a_prompt_is_what_its_user_says(tmp_path: Path) -> None:
    chat = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "x"},
    ]
    row = {"prompt": [*chat, {"role": "user", "content": "two"}]}
    assert prompt_text(row, tmp_path, 1) == "one" and _further_turns(row) == ("two",)
    assert prompt_text({"turns": ["a", "b"]}, tmp_path, 1) == "a" and _further_turns({"turns": ["a", "b"]}) == ("b",)
    calls = {"prompt": [*chat, {"role": "assistant", "content": None, "tool_calls": []}]}
    assert prompt_text(calls, tmp_path, 1) == "one" and _further_turns(calls) == ()


def test_turns_that_nobody_asks_are_told(pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "p.jsonl"
    file.write_text('{"turns": ["abc", "more"]}\n{"prompt": "cab"}\n')
    assert main(["calibrate", "--prompts", str(file), *pair, *SHORT]) == 0
    assert "1 of 2 prompts go on with further turns. Only the first is asked here" in capsys.readouterr().err
    assert main(["compare", "--methods", "ar", "--prompts", str(file), *pair, *SHORT]) == 0
    assert "further turns" not in capsys.readouterr().err


def test_where_examples_are_from_is_not_left_aside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "g.jsonl").write_text('{"question": "1 + 1?", "answer": "#### 2"}\n')
    given = ["compare", "--methods", "ar", "--task"]
    for task, says in (
        ("gsm8k", "No worked examples of x were asked for"),
        ("arithmetic", "--shots-from are for"),
        ("gsm8kk", "Unknown task 'gsm8kk'. Did you mean 'gsm8k'"),
    ):
        source = ["--source", str(tmp_path / "g.jsonl")] if task == "gsm8k" else []
        assert says in refused(capsys, *given, task, *source, "--shots-from", "x")


@pytest.mark.parametrize("turns", [["a", None], ["a", 5], [{"role": "user", "content": "a"}, {"content": [{}]}]])
def test_a_turn_that_is_no_text_is_refused_with_its_place(turns: list[object], tmp_path: Path) -> None:
    """Else the models read how Python writes it."""
    with pytest.raises(ConfigError, match=r"f\.jsonl, line 3: turn 2 of the user's is .*, not a text\."):
        prompt_text({"turns": turns}, tmp_path / "f.jsonl", 3)


def test_knobs_of_several_methods_stand_behind_their_names(pair: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["compare", "--methods", "sd", "--prompt", "abc", *pair, *SHORT, "--set", "gamma=1"])
    assert "--set" in capsys.readouterr().err
    given = ("trajectories", "draw", "sd", "--prompt", "abc", *pair, *SHORT, "--set", "record=full")
    assert "Unknown knob of sd" in refused(capsys, *given)


def test_knobs_of_one_method_stand_there_or_in_set(pair: list[str], tmp_path: Path) -> None:
    files = [tmp_path / f"{i}.jsonl" for i in range(3)]
    assert main(["run", "sd:gamma=2", "abc", *pair, *SHORT, "--save", str(files[0])]) == 0
    assert main(["run", "sd", "abc", *pair, *SHORT, "--set", "gamma=2", "--save", str(files[1])]) == 0
    assert main(["run", "sd:gamma=7", "abc", *pair, *SHORT, "--set", "gamma=2", "--save", str(files[2])]) == 0
    assert [Trace.load(file).head.knobs["gamma"] for file in files] == [2, 2, 2]
    assert main(["trajectories", "draw", "sd:gamma=2", "--prompt", "abc", *pair, *SHORT, "--n", "1"]) == 0


@pytest.mark.parametrize(
    ("methods", "twice"),
    [
        ("ar,sd,sd", "'sd' is named twice: "),
        ("sd,sd:gamma=5", "'sd:gamma=5' is named twice, the first time as 'sd'"),
        ("sd:gamma=3,sd:gamma=3.0", "'sd:gamma=3.0' is named twice, the first time as 'sd:gamma=3'"),
        ("easd:gamma=3,easd:gamma=3.0", "is named twice"),
        ("easd,easd:gamma=5", "is named twice"),
        ("easd,easd:tau_entropy=1.0", ""),  # a pair may have another tau of its own
        ("sd,sd:gamma=6", ""),
    ],
)
def test_a_method_is_named_once_however_its_knobs_are_spelt(methods: str, twice: str) -> None:
    specs = [parse_method(text) for text in split(methods)]
    with pytest.raises(ConfigError, match=re.escape(twice)) if twice else nullcontext():
        once(specs)


def test_a_run_is_told_by_its_iterations_where_the_target_is_not_asked() -> None:
    numbers = {"tokens": 13, "rounds": 0, "iterations": 4, "tau": None, "tokens_per_s": 220.6}
    assert _told(numbers) == "13 tokens in 4 iterations, 221 tokens/s"
    asked = {"tokens": 1, "rounds": 1, "iterations": 0, "tau": 1.0, "tokens_per_s": None}
    assert _told(asked) == "1 token in 1 target call (1.00 a call), no time"
