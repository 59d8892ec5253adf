"""What commands say beside their result."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from engine.cli import main, notes
from engine.cli.notes import Idle
from engine.trace.store import Trace

SHORT = ("--max-new-tokens", "6")
NO_LAB: Any = None


def trace(*tokens: object) -> Any:
    """A light one."""
    return SimpleNamespace(tokens=tokens, head=SimpleNamespace(record="light"))


def test_run_and_compare_say_when_a_threshold_cannot_fire(pair: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    never = "easd:tau_overlap=1.01"
    assert main(["run", "easd", "abc", *pair, *SHORT, "--set", "tau_overlap=1.01"]) == 0
    assert "easd: The threshold cannot fire: the share of common first choices" in capsys.readouterr().err
    loose = ["--set", "tau_overlap=0", "--set", "tau_entropy=0"]
    assert main(["run", "easd", "abc", *pair, *SHORT, *loose]) == 0
    err = capsys.readouterr().err
    assert "cannot fire" not in err and "easd:" not in err
    given = ["compare", "--methods", f"ar,{never},easd:tau_overlap=0:tau_entropy=0", "--prompt", "abc", *pair, *SHORT]
    for record, where in (("light", "on the first prompt"), ("full", "on every prompt")):
        assert main([*given, "--record", record]) == 0
        (told,) = [line for line in capsys.readouterr().err.splitlines() if "cannot fire" in line]
        assert told.startswith(f"{never}, {where}")


def test_a_threshold_that_fired_once_can_fire() -> None:
    """Whatever comes before and after; nothing is run again to see."""
    draft, relaxed = SimpleNamespace(origin="draft"), SimpleNamespace(origin="relaxed")
    quiet, fired = trace(draft, draft), trace(draft, relaxed)
    for traces in ([fired], [quiet, fired], [fired, quiet]):
        seen = Idle(("easd", {}))
        for one in traces:
            seen.add(one)
        assert seen.note(NO_LAB) == ""


def test_the_first_prompt_is_run_again_to_see_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """Light traces cannot tell; with the knobs that were given, and as the run was."""
    given: dict[str, Any] = {"sampling": {"temperature": 0.5}, "max_new_tokens": 6, "seed": 3, "stop": []}
    asked = [SimpleNamespace(record="light", prompt_ids=[at], **given) for at in (7, 8)]
    ran = list[Any]()
    lab: Any = SimpleNamespace(
        target=SimpleNamespace(decoder=None), run=lambda method, prompt, **how: ran.append((method, prompt, how))
    )
    monkeypatch.setattr(notes, "said", lambda again, threshold: "why.")
    seen = Idle(("easd", {"tau_overlap": "1.01"}))
    for head in asked:
        seen.add(cast("Trace", SimpleNamespace(tokens=[], head=head)))
    assert seen.note(lab) == "easd:tau_overlap=1.01, on the first prompt: why."
    how: dict[str, Any] = {"temperature": 0.5, "max_new_tokens": 6, "seed": 3, "stop": [], "tau_overlap": "1.01"}
    assert ran == [("easd", [7], how)]


def test_a_default_that_is_this_pair_s_own_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["run", "easd", "Question:", "--max-new-tokens", "2", "--device", "cpu"]
    assert main(given) == 0
    told = capsys.readouterr().err
    assert "easd: tau_entropy is 1.347 nats, calibrated for these models by `python -m engine calibrate" in told
    assert main([*given, "--set", "tau_entropy=2"]) == 0
    assert "calibrated" not in capsys.readouterr().err
