"""Budgets: learning rates that rise, stay and fall; checkpoints in time; gradients that are means a token."""

from __future__ import annotations

import itertools
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from engine.training import models
from engine.training.budget import Progress, read_checkpoint, write_checkpoint
from engine.training.data import Mix
from engine.training.trainer import Settings, Trainer
from tests.engine.files.test_written import Full

MIX = Mix(arithmetic=1, functions=1, sentences=2, drills=1)


@pytest.fixture(scope="module")
def words() -> PreTrainedTokenizerBase:
    return AutoTokenizer.from_pretrained("assets/tiny/tokenizer")


@pytest.mark.parametrize(
    ("step", "start", "factor"),
    [(0, 0, 0.1), (4, 0, 0.5), (29, 0, 1.0), (30, 0, 1.0), (65, 0, 0.5), (100, 0, 0.01), (65, 62, 0.2), (22, 20, 0.3)],
)
def test_rates_rise_from_a_leg_s_start_and_fall_in_a_line(step: int, start: int, factor: float) -> None:
    settings = Settings("micro", steps=100, warmup_steps=10, flat=0.3)
    assert Progress(step=step).factor(settings, start) == pytest.approx(factor)


def test_minutes_count_where_no_steps_are_given() -> None:
    settings = Settings("micro", minutes=2.0, warmup_steps=1, flat=0.5)
    assert Progress(step=9, seconds=30.0).done(settings) == 0.25 and Progress(seconds=500.0).done(settings) == 1.0
    assert Progress(step=9, seconds=90.0).factor(settings) == pytest.approx(0.5)


def test_checkpoints_come_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps of 10 s, a checkpoint when more than 25 s went by since the last, and one at the end."""
    clock = itertools.count(0, 10)
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    progress, saved, told = Progress(), list[int](), list[int]()

    def step() -> None:
        progress.step += 1

    settings = Settings("micro", steps=40)
    progress.run(settings, step, lambda: told.append(progress.step), lambda: saved.append(progress.step), 25.0)
    assert saved == [*range(3, 40, 3), 40] and told == [20, 40] and progress.seconds == 400


@pytest.mark.parametrize("threads", [1, 2])
def test_a_gradient_is_the_mean_over_all_that_is_weighed(
    threads: int, words: PreTrainedTokenizerBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = Trainer(Settings("micro", steps=4, mix=MIX), words, threads=threads)
    batches = trainer.corpus.batches(0)
    loss = sum(batch.loss(trainer.model) for batch in batches) / sum(batch.total for batch in batches)
    wanted = torch.autograd.grad(loss, trainer.parameters)
    seen = list[torch.Tensor]()
    monkeypatch.setattr(
        torch.nn.utils,
        "clip_grad_norm_",
        lambda ps, clip: (seen.extend(p.grad.clone() for p in list(ps)), torch.ones(()))[1],
    )
    assert trainer.step() == pytest.approx(float(loss.detach()), rel=1e-5)
    for mine, want in zip(seen, wanted, strict=True):
        torch.testing.assert_close(mine, want, atol=1e-5, rtol=1e-4)


def test_a_grown_model_warms_up_anew(words: PreTrainedTokenizerBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(models.SHAPES, "deep", (2, 64, 64, 1, 1))
    settings = Settings("micro", steps=40, mix=MIX, warmup_steps=4)
    small = Trainer(settings, words)
    small.progress.step = 10
    big = Trainer(replace(settings, shape="deep"), words)
    big.grow(small.state())
    big.step()
    assert [o.param_groups[0]["lr"] for o in big.optimisers] == pytest.approx([0.02 / 4, 0.003 / 4])


def test_a_checkpoint_brings_the_draws_back(words: PreTrainedTokenizerBase) -> None:
    """Of systems whose loss draws."""
    trainer = Trainer(Settings("micro", steps=4, mix=MIX), words)
    state, drawn = trainer.state(), torch.rand(3)
    trainer.load(state)
    assert torch.equal(torch.rand(3), drawn)


def test_a_full_disk_leaves_the_checkpoint_before_and_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """torch's own writer tells it as a fault inside of torch, and leaves what it wrote."""
    file, opened = tmp_path / "a.pt", Path.open
    write_checkpoint({"step": 1}, file)
    monkeypatch.setattr(Path, "open", lambda *given: Full(opened(*given)))
    with pytest.raises(OSError, match="No space left on device") as told:
        write_checkpoint({"step": 2}, file)
    assert told.value.filename == str(file) and list(tmp_path.iterdir()) == [file]
    assert read_checkpoint(file) == {"step": 1}


@pytest.mark.parametrize(("times", "saved"), [(1, [3]), (2, [])])
def test_an_interrupt_waits_for_its_step_and_the_checkpoint(times: int, saved: list[int]) -> None:
    """All that was learnt since the last checkpoint, up to two minutes, had been lost; a second one does not wait."""
    progress, written = Progress(), list[int]()

    def step() -> None:
        for _ in range(times if progress.step == 2 else 0):
            signal.raise_signal(signal.SIGINT)
        progress.step += 1

    with pytest.raises(KeyboardInterrupt):
        progress.run(Settings("micro", steps=9), step, lambda: None, lambda: written.append(progress.step), 99.0)
    assert written == saved and signal.getsignal(signal.SIGINT) is signal.default_int_handler
