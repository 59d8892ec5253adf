"""Training of the non-autoregressive systems: distilled texts, exact resumption, begun weights, and what cards tell."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from engine.errors import ConfigError
from engine.nat.canvas import Canvas
from engine.training import natcommands, nateval
from engine.training.command import main
from engine.training.distilled import Distilled, distil, read
from engine.training.nateval import likeness, named, texts_of
from engine.training.requirements import check_nat
from engine.training.sourcecommands import ASSETS
from engine.training.trainer import read_state

TARGET = Path("assets/crossed/source_target")


def letters(text: str) -> list[int]:
    return [*(ord(c) % 90 + 2 for c in text[11 : 20 + len(text) % 5]), 1]


def backwards(sources: list[list[int]]) -> list[list[int]]:
    """Of every tenth source no end is found."""
    return [s[-2::-1] + ([1] if sum(s) % 10 else []) for s in sources]


def test_distilled_texts_go_on_where_they_stopped(tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole.jsonl", tmp_path / "parts.jsonl"
    assert list(distil(whole, 40, 3, letters, backwards)) == [40]
    for n in (15, 40):
        assert list(distil(parts, n, 3, letters, backwards)) == [n]
    assert parts.read_text() == whole.read_text()
    lines = [json.loads(line) for line in whole.read_text().splitlines()]
    pairs = read(whole)
    assert 0 < len(pairs) < 40
    assert pairs == [(a, b) for a, b in lines if b[-1] == 1] and all(b == [*a[-2::-1], 1] for a, b in pairs)


def test_a_cut_file_of_texts_goes_on_and_another_s_is_refused(tmp_path: Path) -> None:
    """A stop within a line costs that line; sources of another seed are not mixed in."""
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    list(distil(whole, 12, 3, letters, backwards))
    lines = whole.read_bytes().splitlines(keepends=True)
    for kept in (lines[7][:9], lines[7][:-1], b""):
        cut.write_bytes(b"".join(lines[:7]) + kept)
        assert list(distil(cut, 12, 3, letters, backwards)) == [12] and cut.read_bytes() == whole.read_bytes()
    for seed, ids in ((4, letters), (3, lambda text: [2, *letters(text)])):
        with pytest.raises(ConfigError, match="begun with other sources than those of seed"):
            list(distil(cut, 20, seed, ids, backwards))
    assert cut.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "holds no text: `python -m engine.training nat-texts` writes some"),
        ("[[5, 1], [6, 1]]\n[[5, ", "line 2 is not JSON"),
        ("[[5, 1], [6, 1]]\n[[5, 1]]", r"line 2 is no source with its text: \[\[5, 1\]\]"),
        ("[[5, 1], []]", "line 1 is no source with its text"),
        ("[[5, 1], [6, 7]]", "holds no text"),
    ],
)
def test_damaged_files_of_texts_are_told_by_line(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "texts.jsonl").write_text(text)
    with pytest.raises(ConfigError, match=words):
        read(tmp_path / "texts.jsonl")


def test_batches_are_passages_over_all_texts(tmp_path: Path) -> None:
    file = tmp_path / "texts.jsonl"
    list(distil(file, 40, 0, letters, backwards))
    a, b = Distilled(file, 2, 5), Distilled(file, 2, 5)
    b.batches(40)
    seen = list[str]()
    for step in range(16):
        (batch,), (same,) = a.batches(step), b.batches(step)
        assert torch.equal(batch.source, same.source) and torch.equal(batch.target, same.target)
        assert batch.total == (batch.target > 0).sum() and batch.tokens == batch.total + (batch.source > 0).sum()
        for source, target in zip(batch.source.tolist(), batch.target.tolist(), strict=True):
            assert [x for x in target if x] == [*[x for x in source if x][-2::-1], 1]
            seen.append(str(source))
    assert len(seen) == 32 and len(set(seen)) >= min(len(a.pairs), 32) - 4  # of a passage no text comes twice
    assert a.digest() != Distilled(file, 2, 6).digest()


class Parrot:
    """Writes a source's own ids over so many iterations."""

    def write(self, source: list[int], limit: int, times: int = 1) -> Any:
        for i in range(times + (source[0] == 9)):
            yield Canvas(list(source), [1.0], [True], final=i > 0)


def test_a_system_that_writes_nothing_yet_repeats_nothing() -> None:
    """As one of CTC does early in training, when all places say blank."""
    assert likeness([[], []], [[9, 1], [1]]) == {"same": 0.0, "as_long": 0.0, "repeats": 0.0}


def test_what_is_measured_of_texts() -> None:
    system: Any = Parrot()
    assert texts_of(system, [[9, 9, 1], [4, 1]], {"times": 2}) == ([[9, 9, 1], [4, 1]], 2.5)
    found = likeness([[9, 9, 1], [4, 1], [5, 5, 5]], [[9, 9, 1], [4, 7, 1], [6, 6, 1]])
    assert found == {"same": 1 / 3, "as_long": 2 / 3, "repeats": 3 / 8}
    assert named({"iterations": 4}) == "iterations 4" and named({}) == "as it is"
    (row,) = check_nat(88.0, {"iterations 1": 60.0, "iterations 4": 75.5})
    assert row == {"what": "target BLEU less its own (iterations 4), at most 15", "value": 12.5, "met": True}
    assert not check_nat(88.0, {"greedy": 72.0})[0]["met"]


def asked(folder: Path, kind: str, **more: Any) -> argparse.Namespace:
    given = {
        "kind": kind,
        "minutes": 5.0,
        "steps": 3,
        "seed": 0,
        "matrix_lr": 0.02,
        "rows": 4,
        "resume": False,
        "half": False,
    }
    given |= {"begin": None, "target": TARGET, "texts": folder / "texts.jsonl", "threads": 1}
    return argparse.Namespace(**given | {"work": folder / f"work-{kind}", "out": folder / kind} | more)


@pytest.mark.thorough
def test_threads_are_those_that_were_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`nat-train --threads 2` had trained with one, and its record said so; by default there is one, as ever."""
    asked_for = list[int]()
    monkeypatch.setattr(torch, "set_num_threads", asked_for.append)
    monkeypatch.setattr(natcommands.NatTrainer, "run", lambda self, report, save: save())
    list(distil(tmp_path / "texts.jsonl", 12, 3, letters, backwards))
    told = asked(tmp_path, "cmlm", threads=2)
    natcommands.train(told)
    natcommands.export(told)
    record = json.loads((tmp_path / "cmlm" / "training.json").read_text())
    assert asked_for == [2] and record["hardware"] == "cpu, 2 threads"
    seen = list[argparse.Namespace]()
    monkeypatch.setattr(natcommands, "train", seen.append)
    for more in ([], ["--threads", "3"]):
        assert main(["nat-train", "cmlm", *more]) == 0
    assert [options.threads for options in seen] == [1, 3]


@pytest.mark.slow
def test_systems_are_trained_resumed_and_measured_by_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = list[str]()
    for module in (natcommands, nateval):
        monkeypatch.setattr(module, "say", said.append)
    natcommands.write_texts(argparse.Namespace(**vars(asked(tmp_path, "")) | {"items": 24}))
    assert len(read(tmp_path / "texts.jsonl")) > 20
    natcommands.train(asked(tmp_path, "cmlm"))
    whole = read_state(tmp_path / "work-cmlm")["model"]
    parts = {"work": tmp_path / "parts", "out": tmp_path / "other"}
    natcommands.train(asked(tmp_path, "cmlm", **parts))
    natcommands.train(asked(tmp_path, "cmlm", steps=4, resume=True, **parts))
    history = read_state(tmp_path / "parts")
    assert history["progress"]["step"] == 4 and [leg["from_step"] for leg in history["history"]] == [0, 3]

    natcommands.train(asked(tmp_path, "rewrite_nat", steps=1, begin=tmp_path / "cmlm", matrix_lr=1e-9))
    told = json.loads((tmp_path / "rewrite_nat" / "training.json").read_text())
    assert (
        told["commands"][0].endswith("--begin assets/crossed/cmlm") and "nat-train rewrite_nat" in told["commands"][0]
    )
    assert "--matrix-lr 1e-09 --rows 4 --begin" in told["commands"][0]
    begun = read_state(tmp_path / "work-rewrite_nat")["model"]
    name = "decoder.layers.0.own.q.weight"
    assert torch.allclose(begun[name], whole[name].bfloat16().float(), atol=1e-6)

    (tmp_path / "SHA256SUMS").touch()
    (tmp_path / "source_target").symlink_to(TARGET.absolute())
    folders = [tmp_path / "cmlm", tmp_path / "rewrite_nat"]
    options = {"systems": folders, "items": 3, "cards": True, "target": tmp_path / "source_target"}
    said.clear()
    nateval.evaluate(argparse.Namespace(**options, threads=1))
    (printed,) = said  # progress is none of it
    found = json.loads(printed)
    assert set(found) == {"target", "cmlm", "rewrite_nat"} and found["target"]["greedy"]["same"] == 1
    assert found["cmlm"]["iterations 10"]["iterations"] <= 10 and found["cmlm"]["iterations 1"]["iterations"] == 1
    for folder in folders:
        card, page = json.loads((folder / "card.json").read_text()), (folder / "README.md").read_text()
        assert card["role"] == folder.name and "| target, greedy | iterations 1 |" in page and "MISSED" in page
        assert f"--systems assets/crossed/{folder.name} --cards" in card["evaluation"]["command"]
    assert "rewrite_nat/model.safetensors" in (tmp_path / "SHA256SUMS").read_text()


@pytest.mark.thorough
def test_two_systems_of_one_kind_do_not_take_one_another_s_place(capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(ASSETS / "dat")
    assert main(["nat-eval", "--items", "1", "--systems", folder, folder]) == 2
    assert "measure one at a time" in capsys.readouterr().err
