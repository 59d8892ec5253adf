"""The doctor's report: every path checked against transformers, and a path that is wrong is told."""

import json
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from engine.bench import contenders
from engine.bench.doctor import (
    TEXT,
    Check,
    _alike,
    _behind,
    _blocks,
    _checks,
    _figures,
    _levels,
    _methods,
    _pieces,
    _seconds,
    examine,
)
from engine.cli import main
from engine.errors import ConfigError, EngineFault
from engine.heads.graphs import Levels
from engine.lab import Lab
from engine.model import Model, Session, load_model, splitkv
from engine.model.decoder import Rows
from engine.model.graphs import Again, GraphedDecoder
from engine.model.lean import LeanDecoder
from engine.trace.events import RunEnded
from tests.engine.model import readers, tiny
from tests.engine.model.test_graphs import Faulty
from tests.engine.zoo import Zoo
from tests.typed import known


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures from little work."""
    monkeypatch.setattr("engine.bench.doctor.LAUNCHES", 10)
    monkeypatch.setattr("engine.bench.doctor.PASSES", 1)
    monkeypatch.setattr("engine.bench.doctor.SIZES", (1,))


@pytest.mark.thorough
def test_all_paths_of_a_model_are_alike_and_measured(zoo: Zoo, short: None, tmp_path: Path) -> None:
    folder = zoo.path("llama")
    assert (
        main(["doctor", "--target", str(folder), "--device", "cpu", "--threads", "1", "--out", str(tmp_path / "r")])
        == 0
    )
    report = json.loads((tmp_path / "r.json").read_text())
    states = {check["name"]: check["state"] for check in report["checks"]}
    levels = {"static level (not captured) of a draft head", "static block (not captured) of masks"}
    paths = {"generic", "lean", "static pass, not captured", *levels}
    assert {states[f"{path} against eager"] for path in paths} == {"ok"} and states["device mps"] == "not here"
    assert "0 replayed" not in json.dumps(report["checks"]) and all(value > 0 for value in report["figures"].values())
    text = (tmp_path / "r.txt").read_text()
    assert "launch of an operation, microseconds" in text and "lean against eager" in text and str(tmp_path) not in text


def test_what_a_token_costs_behind_long_texts(zoo: Zoo, short: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As far as there is memory for them."""
    monkeypatch.setattr("engine.bench.doctor.BEHIND", (20, 300))
    decoder = GraphedDecoder(known(LeanDecoder, zoo.model("llama").decoder), Again())
    found = dict(_behind(decoder, torch.device("cpu")))
    assert list(found) == [f"captured pass behind {n} tokens, milliseconds" for n in (20, 300)]
    assert all(value > 0 for value in found.values()) and decoder.captured == 2

    def full(capacity: int) -> Any:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(decoder, "cache", full)
    assert not dict(_behind(decoder, torch.device("cpu")))


@pytest.mark.parametrize("out", ["machine.v2", "machine.v2.json", "machine.v2.txt"])
def test_reports_keep_the_dots_of_their_names(
    out: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = list[Path]()
    monkeypatch.setattr("engine.cli.doctor.in_a_folder", asked.append)
    assert main(["doctor", "--preset", "tinny", "--out", str(tmp_path / out)]) == 2
    assert asked == [tmp_path / "machine.v2.json", tmp_path / "machine.v2.txt"]
    assert "Did you mean 'tiny'" in capsys.readouterr().err


@pytest.mark.parametrize("out", [".", "/", ".."])
def test_a_place_that_is_no_name_is_refused(out: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--out", out]) == 2
    assert capsys.readouterr().err == f"error: --out takes the name of a file, not '{out}'.\n"


@pytest.mark.parametrize("by", [1.01, float("nan")])
def test_a_wrong_path_is_told(zoo: Zoo, short: None, by: float) -> None:
    """Also one that gives no numbers, by which no run goes on."""
    folder = zoo.path("llama")
    model: Model = load_model(folder, "cpu")
    model.decoder.norm *= by  # type: ignore[attr-defined]
    report = examine(model, str(folder))
    assert not report.well and {c.name for c in report.checks if c.state == "wrong"} == {
        "lean against eager",
        "static pass, not captured against eager",
    }


class Odd:
    """A decoder that is wrong in one of its sequences."""

    why_chains = ""

    def __init__(self, lean: LeanDecoder, wrong: int) -> None:
        self.lean, self.wrong = lean, wrong

    def cache(self, capacity: int) -> Any:
        self.wrong -= 1
        return self.lean.cache(capacity)

    def run(self, *given: Any) -> Rows:
        rows = self.lean.run(*given)
        return replace(rows, logits=2 * rows.logits) if self.wrong == 0 else rows


@torch.inference_mode()
def test_a_path_is_right_only_if_it_is_so_each_time(zoo: Zoo) -> None:
    """The first sequence, and the next one, which may take over what that left."""
    model, ids = zoo.model("llama", layers=2), list(range(5, 5 + TEXT))
    lean = known(LeanDecoder, model.decoder)
    whole = model.session(TEXT).forward(ids).logits[-1]
    odd: list[Any] = [Odd(lean, wrong) for wrong in (1, 2, 3)]
    states = [_alike("odd", decoder, model, ids, whole, 1e-3).state for decoder in odd]
    assert states == ["wrong", "wrong", "ok"]


def test_what_cannot_be_captured_is_told_with_its_reason(zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Although plain passes take its place, which are right."""
    monkeypatch.setattr("engine.bench.doctor.Again", Faulty)
    folder = zoo.path("llama", layers=2)
    wrong = [check for check in _checks(load_model(folder, "cpu"), str(folder)) if check.state == "wrong"]
    assert [check.name.split(" (")[0].split(",")[0] for check in wrong] == [
        "static level",
        "static block",
        "static pass",
    ]
    assert all("not permitted when stream is capturing" in check.told for check in wrong)


def test_the_median_of_some_times_is_told_after_two_that_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, took = [0.0], iter([90.0, 80.0, 1.0, 7.0, 2.0])

    def work() -> None:
        clock[0] += next(took)

    monkeypatch.setattr("engine.bench.doctor.perf_counter", lambda: clock[0])
    assert _seconds(work, torch.device("cpu"), 3) == 2.0 and not list(took)


def test_figures_are_in_their_units_and_of_what_they_name(
    zoo: Zoo, short: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second at everything; of passes so many rows, captured or not."""
    model = zoo.model("llama", layers=2)
    decoder = GraphedDecoder(known(LeanDecoder, model.decoder), Again())
    monkeypatch.setattr(model, "decoder", decoder)
    monkeypatch.setattr("engine.bench.doctor.SIZES", (1, 8))
    monkeypatch.setattr("engine.bench.doctor.BEHIND", (20,))
    passes = list[tuple[int, int]]()

    def seconds(work: Any, device: torch.device, times: int) -> float:
        work()
        if isinstance(work, partial) and isinstance(session := work.func.__self__, Session):  # type: ignore[attr-defined]
            fed, captured = session.fed, decoder.captured + decoder.replayed
            work()
            passes.append((session.fed - fed, decoder.captured + decoder.replayed - captured))
        return 1.0

    monkeypatch.setattr("engine.bench.doctor._seconds", seconds)
    monkeypatch.setattr("engine.bench.doctor.bandwidth", lambda device, megabytes: 5e9)
    assert dict(_figures(model)) == {
        "launch of an operation, microseconds": 1e5,  # ten of them a second
        "read of one number, microseconds": 1e6,
        "memory read, GB/s": 5.0,
        **{f"{kind} pass over {rows} tokens, milliseconds": 1e3 for kind in ("captured", "plain") for rows in (1, 8)},
        "captured pass behind 20 tokens, milliseconds": 1e3,
    }
    assert passes == [(1, 1), (8, 1), (1, 0), (8, 0)]


@torch.inference_mode()
def test_captured_levels_that_give_no_numbers_are_told(zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    """The larger of a number and NaN is the number, where it stands first."""
    lean = known(LeanDecoder, zoo.model("llama", layers=2).decoder)
    for check in (_levels, _blocks):
        assert check("level", lean, 96, Again(), 1e-3).state == "ok"
    step, block, none = Levels.step, Levels.block, float("nan")
    monkeypatch.setattr(Levels, "step", lambda *given: [none * made for made in step(*given)])
    monkeypatch.setattr(Levels, "block", lambda *given: none * block(*given))
    for check in (_levels, _blocks):
        assert check("level", lean, 96, Again(), 1e-3).state == "wrong"


def test_a_device_without_a_kernel_for_pieces_is_examined_all_the_same(
    zoo: Zoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as one of Apple: passes look there at all slots at once. What pieces give wrong is told, also no numbers."""

    def refused(*given: object) -> Any:
        raise NotImplementedError("Could not run it with arguments from the 'MPS' backend.\nMore of it")

    lean, right, told = known(LeanDecoder, zoo.model("llama", layers=2).decoder), splitkv.on_cpu, list[Check]()
    for kernel in (right, lambda *given: (right(*given)[0], torch.nan * right(*given)[1]), refused):
        monkeypatch.setattr(splitkv, "on_cpu", kernel)
        told.append(_pieces(lean, 1e-3))
    assert [check.state for check in told] == ["ok", "wrong", "not here"]
    assert told[2].told == "torch has no kernel for it: Could not run it with arguments from the 'MPS' backend."


def test_multimodal_models_are_examined_by_their_text_part_and_readers_not(short: None, tmp_path: Path) -> None:
    gemma = tiny.make("gemma3", tmp_path / "gemma3", layers=2)
    report = examine(load_model(gemma, "cpu"), str(gemma))
    assert report.well and {c.state for c in report.checks if "eager" in c.name} == {"ok"}
    with pytest.raises(ConfigError, match="decoder-only"):
        examine(load_model(readers.make("t5", tmp_path / "t5"), "cpu"), str(tmp_path / "t5"))


@pytest.mark.parametrize("kind", ["bloom", "mamba", "rwkv"])
def test_models_that_go_on_with_one_text_are_examined_as_they_run(kind: str, short: None, tmp_path: Path) -> None:
    folder = tiny.make(kind, tmp_path, layers=2)
    report = examine(load_model(folder, "cpu"), str(folder))
    assert report.well and [c.state for c in report.checks if "eager" in c.name] == ["ok"]


def test_what_is_not_captured_is_told(zoo: Zoo, short: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Layers with windows are captured; a model over several devices is not, and the report says so."""
    window = {"use_sliding_window": True, "sliding_window": 8, "max_window_layers": 0}
    folder = zoo.path("qwen2", layers=2, **window)
    model = load_model(folder, "cpu")
    report = examine(model, str(folder))
    (found,) = (check for check in report.checks if check.name.startswith("static pass"))
    assert report.well and found.state == "ok" and "0 replayed" not in found.told
    monkeypatch.setattr("engine.bench.doctor.obstacle", lambda _: "the model is spread over several devices")
    report = examine(model, str(folder))
    (found,) = (check for check in report.checks if check.name.startswith("static pass"))
    assert report.well and (found.state, found.told) == ("not here", "the model is spread over several devices")


@pytest.mark.thorough
def test_methods_that_fail_or_write_something_else_are_told(zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    """As wrong where sums are wide; in half precision a text that differs may be a near tie, and is told alone."""
    lab = Lab(load_model(zoo.path("llama"), "cpu"))
    assert _methods(lab).state == "ok"
    plain, unlucky = Lab.run, ["sam", "recycle"]

    def run(self: Lab, method: str, *given: Any, **options: Any) -> Any:
        if method in unlucky[:1]:
            raise EngineFault("out of luck")
        trace = plain(self, method, *given, **options)
        end = known(RunEnded, trace.end)
        end = replace(end, reason="error", message="gone") if method in unlucky else end
        return SimpleNamespace(token_ids=trace.token_ids[: -1 if method == "pld" else None], end=end)

    monkeypatch.setattr(Lab, "run", run)
    check = _methods(lab)
    assert check.state == "wrong" and "otherwise pld" in check.told and "sam fails: out of luck" in check.told
    assert check.told.endswith("; recycle fails: gone")
    unlucky.clear()
    assert _methods(lab).state == "wrong"
    monkeypatch.setattr("engine.bench.doctor.CLOSE", {})
    check = _methods(lab)
    assert check.state == "ok" and "otherwise pld" in check.told


def test_bandwidth_counts_the_bytes_that_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of them where the program's own tensors are of double precision."""
    ticks, read, plain = count(), list[int](), torch.Tensor.sum

    def watched(self: torch.Tensor) -> torch.Tensor:
        read.append(self.nbytes)
        return plain(self)

    monkeypatch.setattr(contenders, "perf_counter", lambda: float(next(ticks)))
    monkeypatch.setattr(torch.Tensor, "sum", watched)
    was = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        assert contenders.bandwidth(torch.device("cpu"), megabytes=1, repetitions=1) == read[0]
    finally:
        torch.set_default_dtype(was)
