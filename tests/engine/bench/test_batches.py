"""Speeds by batch size: every method at every size on the same prompts, and from which size on speculation pays no more."""

import json
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from engine.analysis.words import count
from engine.bench import batches
from engine.bench.batches import Speed, batch_speeds, stops_paying
from engine.bench.contest import Spread
from engine.cli import main
from engine.trace.events import RunEnded
from engine.trace.store import Trace
from tests.engine.analysis.made import sd
from tests.engine.zoo import Zoo
from tests.typed import known


def speed(method: str, batch: int, ratio: float) -> Speed:
    one = Spread.of([1.0])
    return Speed(method, batch, one, one, Spread.of([ratio]), 1, 1)


def test_where_speculation_stops_paying():
    ratios = {
        "sd": [2.0, 1.2, 0.9, 0.8],
        "pld": [1.1, 0.9, 1.2, 1.3],
        "easd": [0.9, 0.9, 0.9, 0.9],
        "x": [1.2, 0.9, 1.1, 1.0],
    }
    speeds = [speed(name, 1 << i, ratio) for name, own in ratios.items() for i, ratio in enumerate(own)]
    assert stops_paying(speeds[::-1]) == {"sd": 4, "pld": None, "easd": 1, "x": 8}


def test_all_sizes_decode_the_same_prompts(zoo: Zoo, monkeypatch: pytest.MonkeyPatch):
    lab = zoo.lab("llama", layers=2, hidden=32, sigma=0.3)
    asked, plain = list[tuple[str, int]](), lab.run_batch

    def run_batch(method: str, prompts: Any, **options: Any) -> Any:
        asked.append((method, len(prompts)))
        return plain(method, prompts, **options)

    monkeypatch.setattr(lab, "run_batch", run_batch)
    ids = [lab.target.tokenizer.encode(text, False) for text in ("abcabc", "The quick", "a")]
    found = batch_speeds(lab, {"ar": ("ar", {}), "sd:gamma=2": ("sd", {"gamma": 2})}, ids, [1, 3], 3, 1)
    assert asked == [("ar", 1), ("sd", 1), *[("ar", 1)] * 3, *[("sd", 1)] * 3, ("ar", 3), ("sd", 3)]
    assert {(one.method, one.batch, one.tokens) for one in found} == {
        (m, b, 9) for m in ("ar", "sd:gamma=2") for b in (1, 3)
    }
    rates = {(one.method, one.batch): one for one in found}
    for (method, batch), one in rates.items():
        assert one.over_ar.median == pytest.approx(one.tokens_per_s.median / rates["ar", batch].tokens_per_s.median)
        assert (
            0 < one.latency_s.median * (3 / batch) <= 9 / one.tokens_per_s.median * 1.001
        )  # within the batch's seconds
    assert rates["ar", 1].rounds == 9


def test_tokens_seconds_and_latencies_are_those_of_all_batches(monkeypatch: pytest.MonkeyPatch):
    """A response takes its prompt and its decoding; few prompts begin again; every repetition counts."""
    clock, took, given = [0.0], iter([0.0, *4 * [2.0], *4 * [4.0]]), list[list[list[int]]]()

    class Timed:
        def run_batch(self, name: str, prompts: list[list[int]], **options: Any) -> list[Trace]:
            given.append(prompts)
            clock[0] += next(took)
            *before, end = sd().events
            ended = known(RunEnded, end)
            ends = [replace(ended, prefill_ms=1e3 * first, total_ms=500.0) for (first,) in prompts]
            return [Trace([*before, one]) for one in ends]

    monkeypatch.setattr(batches, "perf_counter", lambda: clock[0])
    lab: Any = Timed()
    alone, joined = batch_speeds(lab, {"ar": ("ar", {})}, [[1], [2]], [1, 3], 8, 2)
    assert given[0] == [[1]] and given[1:5] == given[5:] == [[[1]], [[2]], [[1]], [[1], [2], [1]]]
    assert (alone.tokens, alone.rounds) == (joined.tokens, joined.rounds) == (21, 9)
    assert astuple(alone.tokens_per_s) == (2.625, 1.75, 3.5, 2) and astuple(joined.tokens_per_s) == (
        7.875,
        5.25,
        10.5,
        2,
    )
    assert astuple(alone.latency_s) == pytest.approx((5.5 / 3, 5.5 / 3, 5.5 / 3, 2))


def test_the_command(zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    target = zoo.path("llama", layers=2, hidden=32)
    pair = [
        "--target",
        str(target),
        "--draft",
        str(zoo.draft_path(target, "noise", sigma=0.3)),
        "--device",
        "cpu",
        "--threads",
        "1",
    ]
    short = ["--prompt", "abcabc", "--max-new-tokens", "2", "--repetitions", "1"]
    kept = tmp_path / "new" / "batch.json"
    assert main(["bench", *pair, *short, "--batch", "2,1", "--methods", "sd", "--json", "--out", str(kept)]) == 0
    result = json.loads(capsys.readouterr().out)
    assert json.loads(kept.read_text()) == result
    assert [(one["method"], one["batch"]) for one in result["speeds"]] == [("ar", 1), ("sd", 1), ("ar", 2), ("sd", 2)]
    assert result["stops_paying"].keys() == {"sd"} and result["models"].keys() == {"target", "draft"}
    assert main(["bench", *pair, *short, "--batch", "2", "--methods", "pld"]) == 0
    out = capsys.readouterr().out
    assert "s a response" in out and "pld: " in out
    assert f" with {count(torch.get_num_threads(), 'thread')}\n" in out
    for sizes in ("0,1", "a", "", "1,1000000"):
        with pytest.raises(SystemExit):
            main(["bench", *pair, "--batch", sizes])
        assert "batch sizes from 1 to 4096" in capsys.readouterr().err
    assert main(["bench", *pair, *short, "--batch", "1", "--methods", "sd,sd"]) == 2
    assert "named twice" in capsys.readouterr().err
