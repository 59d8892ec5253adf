"""The training loop of heads: a budget of minutes or steps, checkpoints, resume, a line of progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from engine.errors import ModelMismatch
from engine.training.budget import Progress, held, read_checkpoint, update, write_checkpoint
from engine.training.heads import Params, Recipe, TrainingContext
from engine.training.muon import Muon
from engine.training.recipes import RECIPES

CHECKPOINT = "head.pt"


@dataclass(frozen=True, slots=True)
class HeadSettings:
    """One run. The learning rate follows whichever budget is given: steps, else minutes."""

    kind: str
    minutes: float = 12.0
    steps: int | None = None
    seed: int = 0
    rows: int = 8  # texts a step
    matrix_lr: float = 0.01  # Muon
    other_lr: float = 0.002  # AdamW: output heads, norms, biases
    betas: tuple[float, float] = (0.9, 0.95)
    warmup_steps: int = 20
    flat: float = 0.3  # share of the budget before the learning rate falls, in a line, to nothing
    clip: float = 0.5
    heads: int = 4  # of Medusa, blockwise and Hydra
    bottleneck: int = 64  # of blockwise
    target: str = ""  # folder; "" is the embedded decoder-only target


class HeadTrainer:
    """A recipe, its parameters and optimisers; `run` trains to the end of the budget."""

    def __init__(self, settings: HeadSettings, context: TrainingContext) -> None:
        self.settings, self.context = settings, context
        self.recipe: Recipe = RECIPES[settings.kind](context)
        self.params: Params = {n: nn.Parameter(t.clone()) for n, t in self.recipe.start().items()}
        heads = ("lm_head", f".{1}.weight") if settings.kind == "medusa" else ("lm_head",)
        matrices = [p for n, p in self.params.items() if p.ndim == 2 and not any(h in n for h in heads)]
        chosen = {id(p) for p in matrices}
        others = [p for p in self.params.values() if id(p) not in chosen]
        self.optimisers: list[torch.optim.Optimizer] = [
            Muon(matrices, lr=settings.matrix_lr, weight_decay=0.0),
            torch.optim.AdamW(others, lr=settings.other_lr, betas=settings.betas, weight_decay=0.0),
        ]
        self.progress, self.numbers = Progress(), dict[str, float]()
        self.legs: list[dict[str, Any]] = []  # runs that this one started from, or resumed with other settings

    def start_from(self, state: dict[str, Any]) -> None:
        """Begin with the weights of another run (an earlier target's head, say), with fresh optimisers and schedule.

        Rows of an output head over another draft vocabulary are matched by token.

        Raises:
            ModelMismatch: it is of another kind or size.
        """
        self._see_that_it_fits(state)
        mine, theirs = self.recipe.frozen.get("d2t"), state["frozen"].get("d2t")
        with torch.no_grad():
            for name, value in state["params"].items():
                if name != "lm_head.weight" or mine is None or theirs is None:
                    self.params[name].copy_(value)
                    continue
                row = {t: i for i, t in enumerate((torch.arange(len(theirs)) + theirs).tolist())}
                for i, token in enumerate((torch.arange(len(mine)) + mine).tolist()):
                    if token in row:
                        self.params[name][i] = value[row[token]]
        self.legs = [*state["legs"], _leg(state)]

    def _see_that_it_fits(self, state: dict[str, Any]) -> None:
        kind, sizes = state["settings"]["kind"], {n: t.shape for n, t in state["params"].items()}
        mine = {n: p.shape for n, p in self.params.items()}
        if "d2t" in self.recipe.frozen and "d2t" in state["frozen"]:
            sizes["lm_head.weight"] = mine["lm_head.weight"]
        if (kind, sizes) != (self.settings.kind, mine):
            raise ModelMismatch(
                f"The checkpoint is of a head {kind} of {sum(map(torch.Size.numel, sizes.values())):,} parameters, and "
                f"{self.settings.kind} of {sum(map(torch.Size.numel, mine.values())):,} was asked for."
            )

    def done(self) -> float:
        """Share of the budget that is used, 0 to 1."""
        return self.progress.done(self.settings)

    def step(self) -> float:
        """One update; returns its loss in nats.

        Raises:
            EngineFault: loss or gradient is not a number.
        """
        s, p = self.settings, self.progress
        torch.manual_seed(s.seed * 1_000_003 + p.step)
        batch = self.context.features.batch(p.step, s.rows, s.seed).to(self.context.device)
        loss, numbers = self.recipe.loss(self.params, batch)
        loss.backward()  # type: ignore[no-untyped-call]
        held(float(loss.detach()), nn.utils.clip_grad_norm_(self.params.values(), s.clip), p.step)
        factor = p.factor(s)
        update(zip(self.optimisers, (s.matrix_lr * factor, s.other_lr * factor), strict=True))
        p.step += 1
        p.tokens += int((batch.size - batch.start).sum())
        keep = 0.0 if p.step == 1 else 0.97
        p.loss = keep * p.loss + (1 - keep) * float(loss.detach())
        self.numbers = {n: keep * self.numbers.get(n, v) + (1 - keep) * v for n, v in numbers.items()}
        return float(loss.detach())

    def run(self, report: Callable[[str], None], save: Callable[[], None], every_s: float = 120.0) -> None:
        """Train to the end of the budget; call `save` every `every_s` seconds and at the end."""
        self.progress.run(self.settings, self.step, lambda: report(self.line()), save, every_s)

    def line(self) -> str:
        """Progress in one line."""
        p = self.progress
        numbers = "  ".join(f"{n} {v:.3f}" for n, v in self.numbers.items())
        pace = f"{p.tokens / p.seconds:,.0f} tokens/s  {self.done():.0%} done"
        return f"{self.settings.kind}  step {p.step}  loss {p.loss:.4f}  {numbers}  {pace}"

    def state(self) -> dict[str, Any]:
        """Everything that a later run needs to go on from here."""
        return {
            "settings": asdict(self.settings),
            "progress": asdict(self.progress),
            "numbers": self.numbers,
            "params": {n: p.detach() for n, p in self.params.items()},
            "frozen": self.recipe.frozen,
            "legs": self.legs,
            "optimisers": [optimiser.state_dict() for optimiser in self.optimisers],
            "features": self.context.features.card,
        }

    def load(self, state: dict[str, Any]) -> None:
        """Take over a `state`; the settings at hand stay (so a budget can be extended). Where they or the features are
        others, what was done so far is a leg of its own.

        Raises:
            ModelMismatch: it is of another kind or size, or drafts other tokens.
        """
        self._see_that_it_fits(state)
        mine, theirs = self.recipe.frozen.get("d2t"), state["frozen"].get("d2t")
        if mine is not None and theirs is not None and not torch.equal(mine, theirs):
            raise ModelMismatch(
                "The checkpoint drafts other tokens than those that are frequent in the features at hand: --start-from "
                "in place of --resume takes its weights over, token by token."
            )
        with torch.no_grad():
            for name, value in state["params"].items():
                self.params[name].copy_(value)
        for optimiser, saved in zip(self.optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(saved)
        self.progress, self.numbers = Progress(**state["progress"]), dict(state["numbers"])
        self.legs = state["legs"]
        if (state["settings"], state["features"]) != (asdict(self.settings), self.context.features.card):
            self.legs = [*self.legs, _leg(state) | {"resumed": True}]

    def save(self, folder: Path) -> None:
        """Write the checkpoint; it appears complete or not at all."""
        write_checkpoint(self.state(), folder / CHECKPOINT)


def _leg(state: dict[str, Any]) -> dict[str, Any]:
    return {name: state[name] for name in ("settings", "progress", "features")}


def read_head(folder: Path) -> dict[str, Any]:
    """The checkpoint of a folder.

    Raises:
        AssetError: there is none, or it is damaged.
    """
    return read_checkpoint(folder / CHECKPOINT)
