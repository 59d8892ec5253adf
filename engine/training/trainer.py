"""The training loop: a budget of minutes or steps, checkpoints, and a line of progress."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase

from engine.errors import ModelMismatch
from engine.training.batches import Batch, Stream
from engine.training.budget import Progress, held, read_checkpoint, update, write_checkpoint
from engine.training.data import Corpus, Mix
from engine.training.models import SHAPES, build, grown

CHECKPOINT = "checkpoint.pt"


@dataclass(frozen=True, slots=True)
class Settings:
    """One run. The learning rate follows whichever budget is given: steps, else minutes."""

    shape: str
    minutes: float = 5.0
    steps: int | None = None
    seed: int = 0
    matrix_lr: float = 0.02  # Muon
    other_lr: float = 0.003  # AdamW: embeddings and norms
    warmup_steps: int = 30
    flat: float = 0.3  # share of the budget before the learning rate falls, in a line, to nothing
    clip: float = 1.0
    mix: Any = field(default_factory=Mix)  # a dataclass: what a step holds


class Trainer:
    """A model, its optimisers and its place in the corpus; `run` trains until the budget is used."""

    def __init__(
        self, settings: Settings, tokenizer: PreTrainedTokenizerBase, device: str = "cpu", threads: int = 1
    ) -> None:
        """On a CPU each of `threads` workers reads its own share of a step's batches.

        They meet once a step, not once an operation, so a busy machine slows them little.
        """
        self.settings, self.device, self.threads = settings, device, threads
        self.hardware = on_hardware(device, threads)
        self.pool = ThreadPoolExecutor(threads)
        self.tokenizer = tokenizer
        self.corpus = self.data()
        self.model: Any = self.built().to(device)
        self.parameters = [p for p in self.model.parameters() if p.requires_grad]
        matrices = [p for layers in self.stacks() for p in layers.parameters() if p.ndim == 2]
        chosen = {id(p) for p in matrices}
        others = [p for p in self.parameters if id(p) not in chosen]
        self.optimisers: list[torch.optim.Optimizer] = [
            torch.optim.Muon(matrices, lr=settings.matrix_lr, weight_decay=0.01),
            torch.optim.AdamW(others, lr=settings.other_lr, betas=(0.9, 0.98), weight_decay=0.0),
        ]
        self.progress = Progress()
        self.begun = ""  # options that gave the first weights, for the record
        self.history = [self._leg()]

    def data(self) -> Stream[Any]:
        """The corpus of these settings."""
        return Corpus(self.tokenizer, self.settings.mix, self.settings.seed)

    def built(self) -> Any:
        """The model of these settings, with fresh weights."""
        return build(self.settings.shape, self.tokenizer, self.settings.seed)

    def stacks(self) -> list[nn.ModuleList]:
        """The layers whose matrices Muon trains."""
        return [self.model.model.layers]

    def _leg(self) -> dict[str, Any]:
        """The settings that hold from the present step on, and a digest of their data; a resumed run has several
        legs."""
        settings = self.settings
        return {"from_step": self.progress.step, "settings": asdict(settings), "data_sha256": self.corpus.digest()}

    def step(self) -> float:
        """One update; returns its weighted loss in nats a token.

        Raises:
            EngineFault: loss or gradient is not a number.
        """
        batches = [batch.to(self.device) for batch in self.corpus.batches(self.progress.step)]
        total = sum(batch.total for batch in batches)
        results = list(self.pool.map(self._gradients, _shares(batches, self.threads)))
        loss: float = sum(value for value, _ in results) / total
        for i, p in enumerate(self.parameters):
            p.grad = torch.stack([grads[i] for _, grads in results]).sum(0).div_(total)
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip)
        held(loss, norm, self.progress.step)
        factor = self.progress.factor(self.settings, self.history[-1]["from_step"])
        rates = self.settings.matrix_lr * factor, self.settings.other_lr * factor
        update(zip(self.optimisers, rates, strict=True))
        self.progress.step += 1
        self.progress.tokens += sum(batch.tokens for batch in batches)
        self.progress.loss = loss if self.progress.step == 1 else 0.98 * self.progress.loss + 0.02 * loss
        return loss

    def _gradients(self, batches: Sequence[Batch]) -> tuple[float, list[Tensor]]:
        """Summed loss and its gradients; runs on a worker thread."""
        value, sums = 0.0, list[Tensor]()
        for batch in batches:
            loss = batch.loss(self.model)
            grads = list(torch.autograd.grad(loss, self.parameters))
            value += loss.item()
            if sums:
                torch._foreach_add_(sums, grads)
            else:
                sums = grads
        return value, sums

    def run(self, report: Callable[[str], None], save: Callable[[], None], every_s: float = 120.0) -> None:
        """Train to the end of the budget; call `save` every `every_s` seconds and at the end."""
        began, first = time.perf_counter(), self.progress.tokens

        def tell() -> None:
            report(self._line((self.progress.tokens - first) / (time.perf_counter() - began)))

        self.model.train()
        self.progress.run(self.settings, self.step, tell, save, every_s)

    def _line(self, speed: float) -> str:
        p, done = self.progress, self.progress.done(self.settings)
        left = p.seconds * (1 - done) / max(done, 1e-9)
        return (
            f"step {p.step}  loss {p.loss:.4f}  tokens {p.tokens:,}  {speed:,.0f} tokens/s  "
            f"{done:.0%} done  {left / 60:.1f} min left"
        )

    def state(self) -> dict[str, Any]:
        """Everything that a later run needs to go on from here, to the bit."""
        return {
            "settings": asdict(self.settings),
            "history": self.history,
            "begun": self.begun,
            "hardware": self.hardware,
            "progress": asdict(self.progress),
            "model": self.model.state_dict(),
            "optimisers": [optimiser.state_dict() for optimiser in self.optimisers],
            "rng": torch.get_rng_state(),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Take over a `state`; the settings at hand stay (so a budget can be extended).

        Raises:
            ModelMismatch: it is of another shape, or of a model with another tokenizer.
        """
        of_shape(state, self.settings.shape)
        _fill(self.model, state["model"])
        self._follow(state)
        for optimiser, saved in zip(self.optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(saved)
        torch.set_rng_state(state["rng"])

    def grow(self, state: dict[str, Any]) -> None:
        """Take over the `state` of a shallower model: its function and its place, with fresh optimisers and silent new
        layers.

        Raises:
            ModelMismatch: it is not shallower, differs in more than depth, or is of a model with another tokenizer.
        """
        small = build(of_shape(state, *SHAPES), self.tokenizer, self.settings.seed)
        _fill(small, state["model"])
        big = grown(small, self.settings.shape, self.tokenizer, self.settings.seed)
        self.model.load_state_dict(big.state_dict())
        self._follow(state)

    def _follow(self, state: dict[str, Any]) -> None:
        """Go on after the steps of `state`; other settings, or other data, begin a new leg."""
        self.progress, self.begun = Progress(**state["progress"]), state.get("begun", "")
        now, self.history = self._leg(), list(state["history"])
        if now | {"from_step": self.history[-1]["from_step"]} != self.history[-1]:
            self.history.append(now)


def on_hardware(device: str, threads: int) -> str:
    """What a model is trained on, as its card tells it."""
    return f"{device}, {threads} threads" if device == "cpu" else device


def _fill(model: nn.Module, weights: dict[str, Tensor]) -> None:
    try:
        model.load_state_dict(weights)
    except RuntimeError:
        raise ModelMismatch("The checkpoint's weights have other sizes: give the tokenizer it has.") from None


def _shares(batches: Sequence[Batch], n: int) -> list[list[Batch]]:
    """Deal the batches to `n` workers so that each reads about as many tokens."""
    shares: list[list[Batch]] = [[] for _ in range(n)]
    for batch in sorted(batches, key=lambda b: -b.size):
        min(shares, key=lambda share: sum(b.size for b in share)).append(batch)
    return [share for share in shares if share]


def write_state(trainer: Trainer, folder: Path) -> None:
    """Write the checkpoint; it appears complete or not at all."""
    write_checkpoint(trainer.state(), folder / CHECKPOINT)


def read_state(folder: Path) -> dict[str, Any]:
    """The checkpoint of a folder, as `Trainer.load` takes it.

    Raises:
        AssetError: there is none, or it is damaged.
    """
    return read_checkpoint(folder / CHECKPOINT)


def settings_in(state: dict[str, Any], shape: str, mix: type[Any] = Mix) -> Settings:
    """The settings that a checkpoint of that shape was trained with; `mix` is the class of its corpus's.

    Raises:
        ModelMismatch: it is of another shape.
    """
    of_shape(state, shape)
    values = state["settings"]
    return Settings(**{**values, "mix": mix(**values["mix"])})


def hardware_in(state: dict[str, Any]) -> str:
    """What a checkpoint was trained on last."""
    return str(state.get("hardware", "hardware that its checkpoint does not tell"))


def of_shape(state: dict[str, Any], *shapes: str) -> str:
    """The shape of a checkpoint, which is one of these.

    Raises:
        ModelMismatch: it is another, or the checkpoint is of something else.
    """
    settings = state.get("settings", {})
    found = str(settings.get("shape", settings.get("kind", "something else")))
    if found not in shapes:
        raise ModelMismatch(f"The checkpoint is of {found}, and {' or '.join(shapes)} was asked for.")
    return found
