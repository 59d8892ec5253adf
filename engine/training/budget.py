"""How a run of training goes: a budget of minutes or steps, a schedule that follows it, checkpoints on the way."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol, Self

import torch
from torch import Tensor

from engine.errors import AssetError, ConfigError, EngineFault
from engine.files.written import write


class Budget(Protocol):
    """Settings of a run. The learning rate follows whichever budget is given: steps, else minutes."""

    @property
    def minutes(self) -> float: ...
    @property
    def steps(self) -> int | None: ...
    @property
    def warmup_steps(self) -> int: ...
    @property
    def flat(self) -> float:
        """Share of the budget before the learning rate falls, in a line, to nothing."""


@dataclass(slots=True)
class Progress:
    """How far a run is: steps taken, tokens seen (without padding), seconds spent."""

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    loss: float = 0.0

    def done(self, budget: Budget) -> float:
        """Share of the budget that is used, 0 to 1."""
        return min(1.0, self.step / budget.steps if budget.steps else self.seconds / (budget.minutes * 60))

    def factor(self, budget: Budget, start: int = 0) -> float:
        """What learning rates are multiplied by in the next step; they rise first, from step `start` on."""
        done, flat = self.done(budget), budget.flat
        warm = min(1.0, (self.step - start + 1) / budget.warmup_steps)
        return warm * (1.0 if done < flat else max(0.01, (1 - done) / (1 - flat)))

    def run(
        self,
        budget: Budget,
        step: Callable[[], object],
        report: Callable[[], None],
        save: Callable[[], None],
        every_s: float,
    ) -> None:
        """Take steps to the end of the budget; `save` every `every_s` seconds and at the end.

        Raises:
            KeyboardInterrupt: once the step that it came in has ended and is saved.
        """
        began = last = time.perf_counter()
        saved = 0.0
        with Waiting() as interrupt:
            while self.done(budget) < 1.0 and not interrupt.came:
                step()
                now = time.perf_counter()
                self.seconds += now - last
                last = now
                if self.step % 20 == 0:
                    report()
                if now - began - saved > every_s:
                    saved = now - began
                    save()
            save()
        if interrupt.came:
            raise KeyboardInterrupt


class Waiting:
    """While it is open an interrupt only sets `came`, so that no step is cut in two; a second one does not wait."""

    def __init__(self) -> None:
        self.came = False
        mine = threading.current_thread() is threading.main_thread()
        self._usual = mine and signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def __enter__(self) -> Self:
        if self._usual:
            signal.signal(signal.SIGINT, self._come)
        return self

    def __exit__(self, *_: object) -> None:
        if self._usual:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _come(self, *_: object) -> None:
        self.came = True
        signal.signal(signal.SIGINT, signal.default_int_handler)


def held(loss: float, norm: Tensor, step: int) -> None:
    """Nothing where the loss and the length of the gradient of a step (from 0) are numbers; asked before its update, so
    that no checkpoint ever holds what is none.

    Raises:
        EngineFault: they are not.
    """
    if not (math.isfinite(loss) and math.isfinite(float(norm))):
        raise EngineFault(
            f"Step {step + 1:,} has the loss {loss:g} and a gradient of length {float(norm):g}, from which nothing can "
            "be learnt. The run ends here, and its last checkpoint stays: train with lower learning rates."
        )


def update(optimisers: Iterable[tuple[torch.optim.Optimizer, float]]) -> None:
    """One update of each optimiser, with its learning rate; gradients are dropped."""
    for optimiser, lr in optimisers:
        for group in optimiser.param_groups:
            group["lr"] = lr
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)


def write_checkpoint(state: dict[str, Any], file: Path) -> None:
    """Write a state; the file appears complete or not at all.

    Raises:
        ConfigError: see `engine.files.written.ready`. OSError: it cannot be written.
    """
    packed = BytesIO()  # torch tells of a full disk as of a fault of its own
    torch.save(state, packed)
    write(file, packed.getbuffer())


def unused(file: Path) -> None:
    """Nothing where a run from the start would write over no checkpoint.

    Raises:
        ConfigError: there is one.
    """
    if file.exists():
        raise ConfigError(
            f"{file} is the checkpoint of a run, which another from the start would write over: --resume goes on with "
            "it. To begin anew name another --work, or delete it."
        )


def read_checkpoint(file: Path) -> dict[str, Any]:
    """The state in a file.

    Raises:
        AssetError: there is none, or it is damaged.
    """
    if not file.is_file():
        raise AssetError(f"There is no checkpoint {file}: name the folder of a run, or train first without --resume.")
    try:
        state: dict[str, Any] = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises whatever it likes on damaged files
        raise AssetError(f"The checkpoint {file} cannot be read: {str(error)[:120]}") from None
    return state
