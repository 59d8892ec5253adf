"""Training of the embedded reward model: a line over the target's states (`engine.reward.likelihood`), fitted to the
labels of rollouts. Dimension key: N tokens of all responses, F features, K steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from engine.analysis.judge import area_interval, roc
from engine.errors import ConfigError
from engine.model import Model
from engine.reward.likelihood import features, survival, tokens_of
from engine.training.budget import held, write_checkpoint
from engine.training.rollouts import Labelled

CHECKPOINT = "prm.pt"
HALF = 0.5  # a step is right where at least this share of its rollouts is: for the area under the curve
SURE = 1e-6  # no probability is nearer to 0 or 1 in the loss


@dataclass(frozen=True, slots=True)
class PrmSettings:
    """One run: updates over all responses at once."""

    updates: int
    lr: float
    decay: float


@dataclass(frozen=True, eq=False)
class Responses:
    """Features of labelled responses, one after the other, and the labels of their steps."""

    features: Tensor  # [N, F]
    first: Tensor  # [K] row at which the response of a step begins
    last: Tensor  # [K] row at which the step ends
    labels: Tensor  # [K]


def read(target: Model, labelled: list[Labelled]) -> Responses:
    """The target reads every response once."""
    rows, first, last, labels = list[Tensor](), list[int](), list[int](), list[float]()
    at = 0
    for one in labelled:
        tokens, start = tokens_of(target, one.prompt, one.text)
        rows.append(features(target.session(len(tokens)), tokens, start))
        ends = [len(tokens_of(target, one.prompt, one.text[:end])[0]) - start for end in one.ends]
        first += [at] * len(ends)
        last += [at + end - 1 for end in ends]
        labels += one.shares
        at += len(rows[-1])
    return Responses(torch.cat(rows).cpu(), torch.tensor(first), torch.tensor(last), torch.tensor(labels))


class PrmTrainer:
    """The line on standardised features, and its optimiser."""

    def __init__(self, settings: PrmSettings, data: Responses) -> None:
        self.settings, self.data, self.done, self.loss = settings, data, 0, 0.0
        self.mean, self.scale = data.features.mean(0), data.features.std(0) + 1e-6
        self.rows = (data.features - self.mean) / self.scale
        self.weight = torch.zeros(self.rows.shape[1], requires_grad=True)
        self.bias = torch.full((1,), 5.0, requires_grad=True)  # nothing is wrong
        self.optimiser = torch.optim.AdamW([self.weight, self.bias], lr=settings.lr, weight_decay=settings.decay)

    def step(self) -> float:
        """One update; returns the mean cross-entropy a step, nats.

        Raises:
            EngineFault: loss or gradient is not a number.
        """
        logs = torch.nn.functional.logsigmoid(self.rows @ self.weight + self.bias).double().cumsum(0)
        logs = torch.cat([logs.new_zeros(1), logs])
        right = (logs[self.data.last + 1] - logs[self.data.first]).exp().clamp(SURE, 1 - SURE)
        loss = torch.nn.functional.binary_cross_entropy(right, self.data.labels.double())
        self.optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        gradients = [p.grad for p in (self.weight, self.bias) if p.grad is not None]
        held(float(loss.detach()), torch.nn.utils.get_total_norm(gradients), self.done)
        self.optimiser.step()
        self.done, self.loss = self.done + 1, float(loss.detach())
        return self.loss

    def run(self, report: Callable[[str], None], save: Callable[[], None]) -> None:
        """Train to the end; call `save` every hundred updates and at the end."""
        while self.done < self.settings.updates:
            self.step()
            if self.done % 100 == 0:
                report(f"update {self.done} of {self.settings.updates}  loss {self.loss:.4f}")
                save()
        save()

    def line(self) -> tuple[Tensor, float]:
        """Weight and bias for features as they are."""
        weight = (self.weight / self.scale).detach()
        return weight, float(self.bias.detach() - weight @ self.mean)

    def state(self) -> dict[str, Any]:
        """Everything that a later run needs to go on from here."""
        return {
            "settings": asdict(self.settings),
            "done": self.done,
            "loss": self.loss,
            "weight": self.weight.detach(),
            "bias": self.bias.detach(),
            "mean": self.mean,
            "scale": self.scale,
            "optimiser": self.optimiser.state_dict(),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Take over a `state`; only the number of updates may be another, so that the command tells what was done.

        Raises:
            ConfigError: its learning rate, its decay or its labels are others, or more updates are done than were asked
            for.
        """
        settings = asdict(self.settings) | {"updates": state["settings"]["updates"]}
        if state["settings"] != settings:
            told = ", ".join(f"{name} {value:g}" for name, value in state["settings"].items() if name != "updates")
            raise ConfigError(f"The checkpoint was trained with {told}: give the same, or train without --resume.")
        if not (torch.equal(state["mean"], self.mean) and torch.equal(state["scale"], self.scale)):
            raise ConfigError("The checkpoint was trained on other labels than those at hand: train without --resume.")
        if state["done"] > self.settings.updates:
            raise ConfigError(
                f"The checkpoint has done {state['done']:,} updates, more than the {self.settings.updates:,} asked "
                f"for: give --updates {state['done']} or more, or train without --resume."
            )
        with torch.no_grad():
            self.weight.copy_(state["weight"])
            self.bias.copy_(state["bias"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.done, self.loss = int(state["done"]), float(state.get("loss", 0.0))

    def save(self, folder: Path) -> None:
        """Write the checkpoint; it appears complete or not at all."""
        write_checkpoint(self.state(), folder / CHECKPOINT)


def scores(data: Responses, weight_F: Tensor, bias: float) -> list[float]:
    """The reward of each step, in order."""
    found: list[float] = []
    firsts = sorted(set(data.first.tolist()))
    for start, end in zip(firsts, [*firsts[1:], len(data.features)], strict=True):
        kept = survival(data.features[start:end], weight_F, bias)
        found += kept[data.last[data.first == start] - start].tolist()
    return found


def _steps(given: list[float], labelled: list[Labelled], writer: str) -> list[list[tuple[float, bool, bool]]]:
    """Of each response (of one writer) its steps: score, whether right, whether all before it were."""
    at = iter(given)
    told = [[(one, i, next(at), share) for i, share in enumerate(one.shares)] for one in labelled]
    return [
        [(score, share >= HALF, min([1.0, *one.shares[:i]]) >= HALF) for one, i, score, share in steps]
        for one, steps in zip(labelled, told, strict=True)
        if writer in ("", one.writer)
    ]


def area(given: list[float], labelled: list[Labelled], writer: str = "") -> dict[str, Any]:
    """Area under the curve over all steps (of one writer), and over first wrong steps against right ones."""
    mine = [step for steps in _steps(given, labelled, writer) for step in steps]
    fresh = [(score, right) for score, right, before in mine if before]
    return {
        "auc": roc([score for score, _, _ in mine], [right for _, right, _ in mine]).auc,
        "auc_first_wrong": roc([score for score, _ in fresh], [right for _, right in fresh]).auc,
        "steps": len(mine),
        "wrong_steps": sum(not right for _, right, _ in mine),
        "first_wrong_steps": sum(not right for _, right in fresh),
        "responses": sum(writer in ("", one.writer) for one in labelled),
    }


def bounds(given: list[float], labelled: list[Labelled], writer: str = "") -> dict[str, float]:
    """95 % intervals of both areas, over problems, whose steps and responses are no independent ones; of an area that
    steps of one kind alone leave open, or a single problem, there is none."""
    writer = "" if writer == "both" else writer
    mine = [one.key for one in labelled if writer in ("", one.writer)]
    steps = [(*step, key) for key, told in zip(mine, _steps(given, labelled, writer), strict=True) for step in told]
    found = {
        name: area_interval([step[0] for step in kept], [step[1] for step in kept], [step[3] for step in kept])
        for name, kept in (("auc", steps), ("auc_first_wrong", [step for step in steps if step[2]]))
        if kept
    }
    return {
        f"{name}_{end}": x
        for name, interval in found.items()
        if interval is not None
        for end, x in (("low", interval.low), ("high", interval.high))
        if x is not None
    }
