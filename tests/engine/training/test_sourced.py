"""Training of the encoder-decoders: batches by step, exact resumption, an export that the lab runs as it was trained."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest
import torch
from transformers import PreTrainedTokenizerFast

from engine.lab import Lab
from engine.tasks import load_problems
from engine.training import sourced
from engine.training.sourcecommands import evaluate, export, greedy, parse_mix, train
from engine.training.sourced import SourceCorpus, SourceMix, SourceTrainer, encode, train_tokenizer
from engine.training.trainer import Settings, read_settings, read_state, write_state

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
    _, ids, weights = encode(words, problem, MIX)
    light = words.decode([i for i, w in zip(ids, weights, strict=True) if w < 1])
    assert light.split() == [word for a, b in problem.choices for word in problem.solution[a:b].split()]
    assert ids[-1] == words.eos_token_id


@pytest.mark.slow
def test_a_resumed_run_equals_an_unbroken_one(words: PreTrainedTokenizerFast, tmp_path: Path) -> None:
    whole = SourceTrainer(SETTINGS, words)
    losses = [whole.step() for _ in range(4)]
    part = SourceTrainer(SETTINGS, words)
    for _ in range(2):
        part.step()
    write_state(part, tmp_path)
    again = SourceTrainer(read_settings(tmp_path, SourceMix), words)
    again.load(read_state(tmp_path))
    assert [again.step() for _ in range(2)] == losses[2:] and losses[3] < losses[0]


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
    )
    train(made)
    export(made)
    record = json.loads((tmp_path / "out" / "training.json").read_text())
    assert record["commands"][0].startswith("python -m engine.training source-train source_micro --steps 1")
    capsys.readouterr()
    evaluate(argparse.Namespace(target=tmp_path / "out", draft=tmp_path / "out", items=2, threads=1))
    found = json.loads(capsys.readouterr().out)
    assert found["translation"]["pair"]["accept_rate_tested"] == 1.0 and "rougeL" in found["summaries"]["target"]
    lab = Lab.load(target=tmp_path / "out", draft=tmp_path / "out", device="cpu")
    problem = load_problems("translation", "heldout", 1)[0]
    from transformers import PegasusForConditionalGeneration

    hf = PegasusForConditionalGeneration.from_pretrained(tmp_path / "out", dtype=torch.float32).eval()
    wanted = greedy(hf, [words(problem.prompt).input_ids])[0][:12]
    assert lab.run("sd", problem.prompt, max_new_tokens=12, record="light").token_ids == wanted


def test_a_mix_of_an_unknown_name() -> None:
    with pytest.raises(SystemExit, match="there is no 'poems'"):
        parse_mix(["poems=1"])
    assert parse_mix(["summaries=2", "choice_weight=1"]) == SourceMix(summaries=2, choice_weight=1.0)
