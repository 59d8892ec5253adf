"""Where results go is looked at before anything is loaded or measured; what a command says when it cannot go on."""

import os
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

import pytest

from engine.cli import main
from engine.lab import Lab
from engine.runs.findings import Preflight
from engine.training.command import main as training
from tests.engine.cli.test_commands import refused

NOBODY = 65534
TO_FILE = [
    ("bench",),
    ("pooled", "."),
    ("trajectories", "results"),
    ("trajectories", "compare"),
    ("trajectories", "show"),
    ("mine", "--task=arithmetic"),
]
TO_FOLDER = [
    ("advise", "--task=arithmetic"),
    ("compare", "--methods=ar", "--task=arithmetic"),
    ("automaton",),
    ("judge-train", "--mined=a"),
    ("judge-eval", "--task=arithmetic"),
    ("reproduce", "stand"),
    ("import", "."),
]


@pytest.fixture
def nothing_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*args: object, **options: object) -> None:
        pytest.fail("models were loaded first")

    monkeypatch.setattr("engine.cli.options.Lab.load", load)


def said(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    with pytest.raises(SystemExit) as left:
        main(argv)
    assert left.value.code == 2
    return capsys.readouterr().err.splitlines()[-1]


@pytest.mark.usefixtures("nothing_loaded")
@pytest.mark.parametrize("argv", TO_FILE, ids=" ".join)
def test_a_folder_in_place_of_a_file_is_refused_first(
    argv: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert "is no file" in said(capsys, *argv, f"--out={tmp_path}")
    assert "file is no folder" in said(capsys, *argv, f"--out={tmp_path / 'file' / 'new' / 'x.json'}")


@pytest.mark.usefixtures("nothing_loaded")
@pytest.mark.parametrize("argv", TO_FOLDER, ids=" ".join)
def test_a_file_in_place_of_a_folder_is_refused_first(
    argv: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert "file is no folder" in said(capsys, *argv, f"--out={tmp_path / 'file'}")
    assert "file is no folder" in said(capsys, *argv, f"--out={tmp_path / 'file' / 'new'}")


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A folder; who the test is afterwards is seen to."""
    with TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        was = os.geteuid()
        yield Path(name)
        os.seteuid(was)


@pytest.mark.parametrize(
    ("mode", "words"),
    [(0o555, "may not be written in"), (0o400, "Permission denied|may not be written in")],  # the latter from 3.14 on
)
def test_a_folder_that_may_not_be_used(
    mode: int, words: str, open_to_all: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (open_to_all / "closed").mkdir(mode=mode)
    if os.geteuid() == 0:
        os.seteuid(NOBODY)
    assert re.search(words, said(capsys, "bench", f"--out={open_to_all / 'closed' / 'x.json'}"))


@pytest.mark.usefixtures("nothing_loaded")
@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("run", "ar", "a", "--asset", "device=cpu"), "Unknown asset role 'device'"),
        (("run", "ar", "a", "--asset", "meduza=x"), "Did you mean 'medusa'"),
        (("compare", "--methods", "ar", "--task", "gsm8k"), "gsm8k needs --source"),
        (("mine", "--task", "gsm8k", "--out", "m.jsonl"), "gsm8k needs --source"),
        (("trajectories", "show", "--methods", "stand:n=3", "--out", "x"), "Unknown knob of stand 'n'"),
        (("trajectories", "show", "--methods", "pld,pld", "--out", "x"), "named twice"),
        (("tree", "optimise", "--set", "temperature=1", "--out", "x"), "Unknown knob of stand 'temperature'"),
        (("tree", "optimise", "--set", "n=1", "--out", "x"), "Unknown knob of stand 'n'"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, tuple) else None,
)
def test_wrong_words_are_one_line(
    argv: tuple[str, ...],
    words: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert words in refused(capsys, *argv)


@pytest.mark.parametrize("role", ["target", "draft"])
def test_an_empty_name_is_no_model(role: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"The name of the {role} is empty" in refused(capsys, "run", "ar", "a", f"--{role}=")


def test_a_list_is_one_knob_of_a_sheet(capsys: pytest.CaptureFixture[str]) -> None:
    assert "not '3,2'" in refused(capsys, "trajectories", "show", "--methods", "stand:orders=3,2,sam", "--out", "x")


def test_costs_are_of_lengths_that_can_be_chosen(pair: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("ar", "recycle", "adaedl", "cm_asd"):
        assert f"{name} has no length" in refused(capsys, "calibrate", "--costs", "--methods", name, *pair)


def test_a_target_without_a_chat_template_is_refused_once(
    pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (("compare", "--methods=ar"), ("trajectories", "compare", "--methods=sam"), ("mine",)):
        out = tmp_path / command[0]
        given = ("--task=arithmetic", "--items=3", "--chat", f"--out={out}", *pair)
        assert "error: This model's tokenizer has no chat template" in refused(capsys, *command, *given)
        assert not out.exists()


@pytest.mark.usefixtures("nothing_loaded")
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("--preset=tiny --target=x", "Give either --preset, which names all models, or --target, not both."),
        ("--target-model=m", "--target-model goes with --target-endpoint, which is not given."),
        ("--target-key-env=HOME", "--target-key-env goes with --target-endpoint, which is not given."),
        ("--target-endpoint=http://127.0.0.1/v1 --target-key-env=NOPE", "there is no environment variable 'NOPE'."),
    ],
)
def test_what_belongs_to_a_server_is_not_left_aside(
    given: str, words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NOPE", raising=False)
    assert words in refused(capsys, "run", "ar", "a", *given.split())


@pytest.mark.usefixtures("nothing_loaded")
@pytest.mark.parametrize("command", [("calibrate",), ("calibrate", "--forecast=sd"), ("compare", "--methods=ar")])
def test_a_task_without_a_name_is_no_task(command: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert "Unknown task ''." in refused(capsys, *command, "--task=")


def test_a_look_takes_models_as_other_commands_name_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """--draft was read as a beginning of --draft-device, and a model refused as a device that there is not."""
    looked = list[tuple[str, ...]]()

    def look(target: str, draft: str, *rest: str, **more: str) -> Preflight:
        looked.append((target, draft, *more.values()))
        return Preflight(fits=True, models=(), findings=(), needed=0, available=0, download=0, methods=())

    monkeypatch.setattr("engine.cli.preflight.preflight", look)
    for given in ("a b", "a --draft b", "--target a --draft b"):
        assert main(["preflight", *given.split()]) == 0
    assert looked == [("a", "b", "", "")] * 3
    assert "The target is named twice: a, and with --target." in refused(capsys, "preflight", "a", "--target=b")


@pytest.mark.usefixtures("nothing_loaded")
def test_one_calibration_is_told_at_a_time(capsys: pytest.CaptureFixture[str]) -> None:
    """The forecast was left out without a word, and so were methods without costs."""
    told = refused(capsys, "calibrate", "--costs", "--forecast=sd", "--prompt=abc")
    assert "--costs and --forecast are not told together" in told
    told = refused(capsys, "calibrate", "--methods=sd", "--prompt=abc")
    assert "--methods goes with --costs, which is not given." in told


@pytest.mark.thorough
@pytest.mark.usefixtures("nothing_loaded")
def test_a_forecast_of_tasks_needs_a_name_behind_each_comma(capsys: pytest.CaptureFixture[str]) -> None:
    assert "Unknown task ''." in refused(capsys, "calibrate", "--forecast=sd", "--task=arithmetic,")


@pytest.mark.usefixtures("nothing_loaded")
@pytest.mark.parametrize("command", ["bench", "doctor", "calibrate --task=arithmetic", "calibrate --costs"])
def test_what_is_measured_here_is_not_on_a_server(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = refused(capsys, *command.split(), "--target=x", "--target-endpoint=http://127.0.0.1:9/v1")
    assert "leave --target-endpoint out" in told


@pytest.mark.parametrize(
    "command",
    [
        "calibrate",
        "calibrate --forecast=sd",
        "bench --methods=sd",
        "bench --batch=1,2",
        "trajectories draw sd",
        "trajectories compare --methods=sd --out={out}.jsonl",
        "tree optimise --out={out}.json",
    ],
)
def test_of_several_prompts_the_one_that_cannot_be_read_is_named_before_others_run(
    command: str,
    pair: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Lab, "stream", lambda *_, **__: pytest.fail("a run has begun"))
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('{"prompt": "abc"}\n{"prompt": " "}\n')
    told = refused(capsys, *command.format(out=tmp_path / "out").split(), "--prompts", str(prompts), *pair)
    assert "Prompt 2 (" in told and "The prompt is empty: give some text." in told


def test_graphs_that_are_asked_for_and_cannot_be_are_told(pair: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for switch in ("on", "auto"):
        assert main(["run", "ar", "abc", "--graphs", switch, "--max-new-tokens", "2", *pair]) == 0
        told = capsys.readouterr().err
        for role in ("target", "draft"):
            said = f"{role}: Its passes are not captured: graphs are for CUDA devices, and the model is on cpu."
            assert (said in told) == (switch == "on")


def test_an_empty_name_of_a_preset_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    """An unset variable of the shell had loaded the embedded pair."""
    assert "Unknown preset ''. Known: " in refused(capsys, "run", "ar", "a", "--preset", "")


def test_advice_on_prompts_that_none_can_run_is_refused_for_that(
    pair: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """It had been said that plain decoding was missing."""
    assert main(["advise", "--prompt", "", "--methods", "sd", *pair]) == 2
    left, error = capsys.readouterr().err.splitlines()[-2:]
    assert left == "left out: '': The prompt is empty: give some text."
    assert error == "error: None of the prompts could be run, for the reasons that are told above."


def test_threads_have_an_end(pair: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert "threads must be" in refused(capsys, "run", "ar", "a", "--threads", "100000", *pair)


def test_training_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert training(["strata", "--traces", str(tmp_path / "none.jsonl"), "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith(f"error: There is no file {tmp_path}/none.jsonl.")


def shell(command: str, **environ: str) -> subprocess.CompletedProcess[str]:
    own = {**os.environ, **environ, "ENGINE": f"{sys.executable} -m engine"}
    return subprocess.run(["bash", "-c", command], env=own, capture_output=True, text=True, check=False)


def test_a_pipe_that_is_closed_is_no_error() -> None:
    found = shell("$ENGINE schema | true; echo ${PIPESTATUS[0]}")
    assert (found.stdout, found.stderr) == ("141\n", "")


@pytest.mark.installed
def test_letters_that_the_terminal_lacks_are_written_as_escapes(pair: list[str]) -> None:
    found = shell(f"$ENGINE run ar '\u2192' {' '.join(pair)} --max-new-tokens 2", PYTHONIOENCODING="ascii")
    assert found.returncode == 0, found.stderr


class Interrupted(ModuleType):
    """A module whose import is interrupted."""

    def __getattr__(self, name: str) -> object:
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("package", "imported"),
    [("engine", "engine.cli"), ("engine.training", "engine.training.command"), ("app", "app.starting")],
)
def test_an_interrupt_while_commands_are_imported_is_said_in_a_word(
    package: str, imported: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, imported, Interrupted(imported))
    monkeypatch.setattr(sys, "argv", [package, "methods"])
    with pytest.raises(SystemExit) as left:
        runpy.run_module(package, run_name="__main__")
    assert (left.value.code, capsys.readouterr().err) == (130, "stopped\n")


def test_an_interrupt_while_the_page_without_a_server_is_imported_is_said_in_a_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "app.export", raising=False)  # as in a process of its own
    monkeypatch.setitem(sys.modules, "app.presets", Interrupted("app.presets"))
    with pytest.raises(SystemExit) as left:
        runpy.run_module("app.export", run_name="__main__")
    assert (left.value.code, capsys.readouterr().err) == (130, "stopped\n")


def test_an_interrupt_while_the_file_of_a_command_is_imported_is_said_in_a_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "engine.cli.run", Interrupted("engine.cli.run"))
    assert (main(["run", "sd", "abc"]), capsys.readouterr().err) == (130, "stopped\n")
