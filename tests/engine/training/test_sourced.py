"""Training of the encoder-decoders: batches by step, exact resumption, an export that the lab runs as it was trained."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import PreTrainedTokenizerFast

from engine.errors import ConfigError, EngineFault, ModelMismatch
from engine.heads.parallel import META
from engine.lab import Lab
from engine.tasks import load_problems
from engine.training import sourcecommands, sourced
from engine.training.options import parse_mix
from engine.training.requirements import check_sourced
from engine.training.sourcecommands import evaluate, export, greedy, train
from engine.training.sourced import SourceCorpus, SourceMix, SourceTrainer, encode, masked, train_tokenizer
from engine.training.trainer import Settings, read_state, settings_in, write_state

MIX = SourceMix(translation=3, summaries=1)
SETTINGS = Settings("source_micro", steps=4, mix=MIX, warmup_steps=2)


@pytest.fixture(scope="module")
def words() -> PreTrainedTokenizerFast:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sourced, "SAMPLE", {"translation": 150, "summaries": 20})
        patch.setattr(sourced, "VOCABULARY", 600)
        return train_tokenizer()


def test_batches_hold_source_and_target_and_choices_weigh_less(words: PreTrainedTokenizerFast) -> None:
    a, b = SourceCorpus(words, MIX, 0), SourceCorpus(words, MIX, 0)
    a.batches(0)
    for x, y in zip(a.batches(17), b.batches(17), strict=True):
        assert torch.equal(x.source, y.source) and torch.equal(x.target, y.target)
        assert (x.weights[x.target == 0] == 0).all() and (x.weights[x.target > 0] > 0).all()
    problem = next(p for p in load_problems("translation", "train", 40) if p.choices)
    _, read, ids, weights = encode(words, problem, MIX)
    assert read == [words.pad_token_id, *ids[:-1]]
    light = words.decode([i for i, w in zip(ids, weights, strict=True) if w < 1])
    assert light.split() == [word for a, b in problem.choices for word in problem.solution[a:b].split()]
    assert ids[-1] == words.eos_token_id


def test_masked_rows_hide_what_weighs(words: PreTrainedTokenizerFast) -> None:
    problem = load_problems("translation", "train", 1)[0]
    whole = encode(words, problem, MIX)
    for seed in range(20):
        source, read, written, weights = masked(whole, 3, Random(seed))
        known = weights.index(next(w for w in weights if w))
        assert source == whole[0] and written == whole[2][: len(written)] and len(read) == len(written) == len(weights)
        assert read == [*whole[1][: known + 1], *[words.pad_token_id] * (len(written) - known - 1)]
        assert all(weights[known:]) and len(weights) - known == min(4, len(whole[2]) - known)


@pytest.mark.slow
def test_a_resumed_run_equals_an_unbroken_one(words: PreTrainedTokenizerFast, tmp_path: Path) -> None:
    whole = SourceTrainer(SETTINGS, words)
    losses = [whole.step() for _ in range(4)]
    part = SourceTrainer(SETTINGS, words)
    for _ in range(2):
        part.step()
    write_state(part, tmp_path)
    again = SourceTrainer(settings_in(read_state(tmp_path), "source_micro", SourceMix), words)
    again.load(read_state(tmp_path))
    assert [again.step() for _ in range(2)] == losses[2:] and losses[3] < losses[0]


@pytest.mark.slow
def test_a_parallel_drafter_begins_with_another_s_encoder(words: PreTrainedTokenizerFast) -> None:
    """It learns to fill masks, and starts from states that are already good."""
    target = SourceTrainer(SETTINGS, words)
    target.step()
    drafter = SourceTrainer(Settings("source_micro", steps=4, mix=SourceMix(2, 0, masks=3)), words)
    drafter.begin_as(target.model)
    for a, b in zip(target.model.model.encoder.parameters(), drafter.model.model.encoder.parameters(), strict=True):
        assert torch.equal(a, b)
    batch = drafter.corpus.batches(0)[0]
    before = batch.loss(drafter.model).item()
    for _ in range(6):
        drafter.step()
    assert batch.loss(drafter.model).item() < before
    with pytest.raises(ModelMismatch, match="an encoder of another shape"):
        SourceTrainer(Settings("source_draft", steps=1, mix=MIX), words).begin_as(target.model)


@pytest.mark.slow
def test_the_commands_make_what_the_lab_runs(
    words: PreTrainedTokenizerFast, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words.save_pretrained(tmp_path / "words")
    made = argparse.Namespace(
        shape="source_micro",
        tokenizer=tmp_path / "words",
        work=tmp_path / "work",
        out=tmp_path / "out",
        device="cpu",
        threads=1,
        minutes=1.0,
        steps=1,
        seed=0,
        matrix_lr=0.02,
        mix=["translation=2", "summaries=1"],
        resume=False,
        encoder=None,
    )
    train(made)
    made.threads = 7
    export(made)
    record = json.loads((tmp_path / "out" / "training.json").read_text())
    assert record["hardware"] == "cpu, 1 threads", "of the training, not of the export"
    assert record["commands"][0].startswith("python -m engine.training source-train source_micro --steps 1")
    capsys.readouterr()
    made.work, made.mix, made.encoder = tmp_path / "filler work", ["translation=2", "masks=3"], tmp_path / "out"
    made.out = tmp_path / "filler"
    train(made)
    assert json.loads((tmp_path / "filler" / META).read_text()) == {"mask": 0, "masks": 3}
    capsys.readouterr()
    (tmp_path / "SHA256SUMS").touch()
    both = {"draft": tmp_path / "out", "parallel": tmp_path / "filler"}
    evaluate(argparse.Namespace(target=tmp_path / "out", **both, items=2, threads=1, cards=True))
    found = json.loads(capsys.readouterr().out)
    assert found["parallel"]["summaries"]["tau"] >= 1
    assert found["pair"]["translation"]["accept_rate_tested"] == 1.0 and "rougeL" in found["target"]["summaries"]
    page = (tmp_path / "filler" / "README.md").read_text()
    assert "Draftscope crossed: parallel" in page and "--encoder assets/crossed/out" in page and "MISSED: " in page
    assert "filler/model.safetensors" in (tmp_path / "SHA256SUMS").read_text()
    lab = Lab.load(target=tmp_path / "out", draft=tmp_path / "out", device="cpu")
    problem = load_problems("translation", "heldout", 1)[0]
    from transformers import PegasusForConditionalGeneration

    hf = PegasusForConditionalGeneration.from_pretrained(tmp_path / "out", dtype=torch.float32).eval()
    wanted = greedy(hf, [words(problem.prompt).input_ids])[0][:12]
    assert lab.run("sd", problem.prompt, max_new_tokens=12, record="light").token_ids == wanted


def test_a_run_that_failed_is_not_measured() -> None:
    ended = SimpleNamespace(end=SimpleNamespace(reason="error", message="out of memory"), rounds=[])
    lab: Any = SimpleNamespace(compose=lambda **_: "fill", run=lambda *_, **__: ended)
    with pytest.raises(EngineFault, match="fill failed: out of memory"):
        sourcecommands.filled(lab, ["a"])


def test_what_was_asked_of_the_pair_is_held_against_what_was_measured() -> None:
    bleu = {"target": 85.0, "draft": 76.0}
    found = {role: {"translation": {"bleu": value}} for role, value in bleu.items()}
    found["pair"] = {"translation": {"accept_rate_tested": 0.9}, "summaries": {"accept_rate_tested": 0.91}}
    assert [(c["value"], c["met"]) for c in check_sourced(found)] == [
        (85.0, True),
        (9.0, False),
        (0.9, True),
        (0.91, False),
    ]
    assert [c["met"] for c in check_sourced({"target": {"translation": {"bleu": 97.5}}})] == [False]


@pytest.mark.parametrize(
    ("word", "words"),
    [
        ("sumaries=1", "Unknown part of a mix 'sumaries'. Did you mean 'summaries'"),
        ("summaries", "--mix summaries: summaries must be an integer >= 0, not ''"),
        ("summaries=1.5", "must be an integer >= 0, not '1.5'"),
        ("summaries=-1", "must be an integer >= 0, not '-1'"),
        ("choice_weight=nan", "must be a number >= 0, not 'nan'"),
    ],
)
def test_a_mix_that_cannot_be(word: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        parse_mix([word], SourceMix)


def test_a_mix_keeps_the_defaults_of_what_it_does_not_name(words: PreTrainedTokenizerFast) -> None:
    with pytest.raises(ConfigError, match="holds nothing: give some of translation, summaries"):
        SourceCorpus(words, SourceMix(0, 0), 0)
    assert parse_mix(["summaries=2", "choice_weight=1"], SourceMix) == SourceMix(summaries=2, choice_weight=1.0)
