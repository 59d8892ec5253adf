"""Which models the flags of python -m app name, and what they bring along."""

import os
import re
import socket
import subprocess
import sys
from inspect import Parameter, signature
from types import SimpleNamespace
from typing import Any
from urllib.request import urlopen

import pytest
import torch

from app import command as start
from app import starting as command
from app.flags import parser
from engine.cli import main as engine_main
from engine.config import LAB_OPTIONS
from engine.errors import ConfigError
from engine.files.places import ROOT
from engine.lab import Lab
from engine.model.devices import DTYPES
from engine.tasks.sandbox import run_python
from tests.app.fakes import free_port


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What each set of models of some flags hands to `Lab.load`."""
    monkeypatch.setattr(command, "load", lambda **given: given)
    return lambda *flags: {name: make() for name, make in command.model_loaders(parser().parse_args(flags)).items()}


def test_heads_go_with_the_target_of_the_flags(loaded: Any) -> None:
    found = loaded(
        "--target",
        "big",
        "--draft",
        "small",
        "--eagle",
        "head",
        "--asset",
        "judge=own",
        "--asset",
        "judge:code=a=b",
        "--languages",
        "en_XX:de_DE",
    )
    assert found["big + small"] == {
        "target": "big",
        "draft": "small",
        "eagle": "head",
        "judge": "own",
        "judge:code": "a=b",
        "device": "auto",
        "target_device": "",
        "draft_device": "",
        "dtype": "auto",
        "threads": "auto",
        "languages": "en_XX:de_DE",
    }
    usual = {"device": "auto", "target_device": "", "draft_device": "", "dtype": "auto", "threads": "auto"}
    assert found["tiny"] == {"preset": "tiny", **usual}


def test_without_a_target_heads_go_with_the_presets(loaded: Any) -> None:
    found = loaded("--eagle", "head", "--asset", "judge=own")
    assert all(given["eagle"] == "head" and given["judge"] == "own" for given in found.values()) and "tiny" in found
    assert "eagle" not in loaded()["tiny"]


@pytest.mark.parametrize("given", ["judge", "=folder", "judge=", "target=folder", "target_key=text"])
def test_an_asset_is_a_role_and_a_folder(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["--asset", given])
    assert "--asset" in capsys.readouterr().err


def test_words_that_name_no_asset_are_the_options_of_loading() -> None:
    given = signature(Lab.load).parameters.values()
    assert {one.name for one in given if one.kind is not Parameter.VAR_KEYWORD} == set(LAB_OPTIONS)


def test_what_goes_with_a_target_is_refused_without_one() -> None:
    for flag, value in (("--draft", "small"), ("--languages", "en_XX:de_DE")):
        with pytest.raises(ConfigError, match=f"{flag} goes with --target, which is not given"):
            command.assemble(parser().parse_args([flag, value]))


@pytest.mark.parametrize("words", [["--draft", "small"], ["--preset", "first_lok"]])
def test_flags_that_cannot_be_are_one_line_and_status_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert start.main(["serve", *words]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ") and said.count("\n") == 1


def test_an_interrupt_while_the_server_starts_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "assemble", stopped)
    assert start.main(["serve", "--lazy"]) == 130
    assert capsys.readouterr().err == "stopped\n"


def test_what_the_command_imports_before_it_minds_interrupts_is_little() -> None:
    code = "import sys; import app.package, app.command; print(*(m for m in sys.modules if m[:4] in ('app.', 'engi')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    few = {"app.package", "app.command", "engine", "engine.errors", "engine.status", "engine.unhurried"}
    assert set(done.stdout.split()) <= few


@pytest.mark.parametrize("host", ["203.0.113.7", "no.such.host.invalid"])
def test_an_address_that_nothing_can_listen_at_is_told(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Not that its port is in use."""
    assert start.main(["serve", "--lazy", "--host", host]) == 2
    assert capsys.readouterr().err.startswith(f"error: --host: nothing can listen at {host!r} on this machine (")


@pytest.mark.parametrize("given", ["::1", "[::1]", "::", "127.0.0.1", "0.0.0.0", None])
def test_an_address_of_ipv6_is_given_on_in_brackets_and_others_may_reach_it_is_told(
    given: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first ended in a traceback of httpx, the second named no address: the page has neither."""
    hosts: list[str | None] = []

    def launched(*_: object, host: str | None, **__: object) -> Any:
        hosts.append(host)
        return SimpleNamespace(local_url=f"http://{host}:7999/", block_thread=lambda: None)

    opened = SimpleNamespace(foresee=lambda: None, opener=len)
    if given and ":" in given:
        try:
            with socket.socket(socket.AF_INET6) as found:
                found.bind((given.strip("[]"), 0))
        except OSError:
            pytest.skip("no IPv6 here")
    monkeypatch.setattr(command, "launch", launched)
    monkeypatch.setattr(command, "assemble", lambda _: (opened, None))
    monkeypatch.setattr("app.ending.on_signals", lambda: None)
    monkeypatch.setattr("app.ending.leave", lambda *_, **__: None)
    assert start.main(["serve", "--lazy", "--port", "0", *(("--host", given) if given else ())]) == 0
    told = capsys.readouterr().out
    assert hosts == [f"[{given.strip('[]')}]" if given and ":" in given else given]
    assert ("Other machines may reach it" in told) == (given in ("::", "0.0.0.0"))
    assert "http://[::1]:7999/" in told or ":" not in (given or "")
    if given == "0.0.0.0":
        opened.opener = None  # as with --public
        assert start.main(["serve", "--lazy", "--port", "0", "--host", given]) == 0
        assert "Other machines" not in capsys.readouterr().out


def test_port_0_is_any_that_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    ports: list[int] = []

    def launched(*_: object, port: int, **__: object) -> None:
        ports.append(port)
        raise ConfigError("enough")

    monkeypatch.setattr(command, "launch", launched)
    monkeypatch.setattr(command, "assemble", lambda _: (SimpleNamespace(foresee=lambda: None), None))
    monkeypatch.setattr("app.ending.on_signals", lambda: None)
    for given, wanted in (("0", ports), ("7999", [7999])):
        assert start.main(["serve", "--lazy", "--port", given]) == 2
        assert ports[-1] > 1024 and ports[-1] == wanted[-1]


def test_who_foresees_is_waited_for_where_a_port_is_taken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its thread may be within torch, which would take the process down as Python ends. What is wrong is told before."""
    told: list[tuple[str, int]] = []

    def taken(*_: object, **__: object) -> None:
        raise OSError("Cannot find empty port in range: 7999-7999.")

    monkeypatch.setattr(command, "launch", taken)
    monkeypatch.setattr(command, "assemble", lambda _: (SimpleNamespace(foresee=lambda: None), None))
    monkeypatch.setattr("app.ending.on_signals", lambda: None)
    monkeypatch.setattr("app.ending.leave", lambda _, status: told.append((capsys.readouterr().err, status)))
    assert start.main(["serve", "--lazy", "--port", "7999"]) == 1
    assert told == [("Port 7999 is in use: give another with --port.\n", 1)]


@pytest.mark.parametrize(("end", "status"), [(KeyboardInterrupt(), 130), (SystemExit(0), 0)])
@pytest.mark.parametrize("when", ["launch", "print"])
def test_who_foresees_is_waited_for_when_the_end_comes_before_the_page_stands(
    end: BaseException, status: int, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had ended in half of a traceback of modules that Python was taking down."""
    left: list[int] = []

    def ended(*_: object, **__: object) -> Any:
        raise end

    demo = SimpleNamespace(local_url="http://127.0.0.1:7999/", block_thread=lambda: pytest.fail("it goes on"))
    monkeypatch.setattr(command, "launch", ended if when == "launch" else lambda *_, **__: demo)
    monkeypatch.setattr("engine.tasks.sandbox.said", ended)
    monkeypatch.setattr(command, "assemble", lambda _: (SimpleNamespace(foresee=lambda: None, opener=None), None))
    monkeypatch.setattr("app.ending.on_signals", lambda: None)
    monkeypatch.setattr("app.ending.leave", lambda _, status: left.append(status))
    with pytest.raises(type(end)):
        command.main(["--lazy", "--port", "0"])
    assert left == [status]


@pytest.mark.installed
@pytest.mark.parametrize(("given", "status", "says"), [("abc", 2, "not 'abc'"), ("", 0, "draftscope ")])
def test_a_port_of_the_environment_that_is_none_is_told_in_words(given: str, status: int, says: str) -> None:
    """Gradio reads the variable as it is imported, before any flag is."""
    command = [sys.executable, "-m", "app", "--version"]
    environment = {**os.environ, "GRADIO_SERVER_PORT": given}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == status and says in (done.stderr if status else done.stdout), done.stderr
    assert "Traceback" not in done.stderr


def test_a_port_that_is_taken_is_told_before_anything_is_built(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "assemble", lambda _: pytest.fail("the service was built first"))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert start.main(["serve", "--host", "127.0.0.1", "--port", str(port)]) == 1
    assert capsys.readouterr().err == f"Port {port} is in use: give another with --port.\n"


def test_a_port_whose_connections_are_closing_is_not_taken() -> None:
    """Of a server that was just ended: one that is started again listens there."""
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):
            server.accept()[0].close()  # who closes first waits a minute
    assert command.open_port("127.0.0.1", port) == port


def test_a_port_that_is_not_allowed_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def barred(_: socket.socket, place: tuple[str, int]) -> None:
        raise PermissionError(13, "Permission denied", place)

    monkeypatch.setattr(socket.socket, "bind", barred, raising=False)
    assert start.main(["serve", "--lazy", "--port", "80"]) == 2
    assert capsys.readouterr().err == "error: --port: nothing may listen on 80 here (Permission denied).\n"


@pytest.mark.installed
def test_the_started_lab_says_where_it_is() -> None:
    """The README's command, without make: its first line is an address that answers."""
    command = [sys.executable, "-m", "app", "--host", "127.0.0.1", "--port", str(free_port())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as lab:
        try:
            assert lab.stdout is not None
            line = lab.stdout.readline()
            found = re.search(r"http://\S+", line)
            assert found, line
            with urlopen(f"{found[0]}healthz", timeout=30) as answer:
                assert answer.status == 200
        finally:
            lab.terminate()


@pytest.mark.parametrize(
    ("flag", "given"),
    [
        *[("--max-upload-mb", text) for text in ("nan", "-1", "0", "inf", "x")],
        *[("--max-tokens", text) for text in ("-5", "0", "1.5", "nan", "9999999999")],
        ("--max-nodes", "-1"),
        *[("--port", text) for text in ("99999", "-1", "x", "")],
    ],
)
def test_limits_are_numbers_that_can_be(flag: str, given: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args([flag, given])
    assert flag in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flag", "given", "said"),
    [
        ("--device", "gpu", "Unknown device 'gpu'. Did you mean"),
        ("--draft-device", "cuda:93", "device='cuda:93' was asked for, but torch sees no CUDA device here"),
        ("--dtype", "float61", "Unknown dtype 'float61'. Did you mean"),
        ("--target", "./nowhere", "there is no folder './nowhere'"),
        ("--threads", "0", "must be 'auto' or an integer >= 1"),
        ("--prot", "1", "did you mean --port?"),
    ],
)
def test_what_cannot_be_is_refused_before_the_server_starts(
    flag: str, given: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if "CUDA" in said and torch.cuda.is_available():
        said = "but there are"
    with pytest.raises(SystemExit) as left:
        parser().parse_args([flag, given])
    assert left.value.code == 2
    assert said in capsys.readouterr().err


def test_help_names_every_variable_that_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    sources = [path.read_text() for room in ("app", "engine") for path in (ROOT / room).rglob("*.py")]
    named = set(re.findall(r"DRAFTSCOPE_[A-Z_]*[A-Z]", "\n".join(sources)))
    helped = parser().format_help()
    assert named >= {"DRAFTSCOPE_ORIGINS", "DRAFTSCOPE_RUN_CODE"}
    assert not [one for one in named if one not in helped]
    monkeypatch.setenv("DRAFTSCOPE_TARGET_DEVICE", "cpu")
    monkeypatch.setenv("DRAFTSCOPE_DTYPE", "")
    given = parser().parse_args([])
    assert (given.target_device, given.draft_device, given.dtype, given.target) == ("cpu", "", "auto", None)


def test_help_names_every_dtype(capsys: pytest.CaptureFixture[str]) -> None:
    helped = [parser().format_help()]
    for name in ("run", "preflight"):
        with pytest.raises(SystemExit):
            engine_main([name, "--help"])
        helped.append(capsys.readouterr().out)
    assert all(", ".join(["auto", *DTYPES]) in " ".join(words.split()) for words in helped)


def test_a_public_server_runs_no_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAFTSCOPE_RUN_CODE", "")
    monkeypatch.delenv("DRAFTSCOPE_RUN_CODE")
    monkeypatch.setattr(command, "assemble", lambda args: (_ for _ in ()).throw(SystemExit(0)))
    with pytest.raises(SystemExit):
        command.main(["--public"])
    with pytest.raises(ConfigError, match="switched off"):
        run_python("x = 1")


def test_the_page_over_recorded_runs_is_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        start.main(["page", "--help"])
    assert ended.value.code == 0 and capsys.readouterr().out.startswith("usage: draftscope page ")
    assert start.main(["page", "--case", "nobody"]) == 2
    assert "case" in capsys.readouterr().err


def test_help_is_told_and_starts_no_server(capsys: pytest.CaptureFixture[str]) -> None:
    for flag in ("-h", "--help"):
        with pytest.raises(SystemExit) as ended:
            start.main([flag])
        assert ended.value.code == 0 and "draftscope COMMAND" in capsys.readouterr().out


@pytest.mark.parametrize(("misspelt", "meant"), [("sevre", "serve"), ("pgae", "page"), ("rnu", "run")])
def test_a_command_that_is_none_is_told_with_the_nearest(
    capsys: pytest.CaptureFixture[str], misspelt: str, meant: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        start.main([misspelt])
    assert ended.value.code == 2 and f"Did you mean '{meant}'?" in capsys.readouterr().err
