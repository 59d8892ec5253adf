"""Self-drafting: the target itself with some of its layers left out writes the draft (Zhang et al. 2023, "Draft &
Verify", 2309.08168; Elhoushi et al. 2024, "LayerSkip", 2404.16710; docs/methods/layer_skip.md).

The layers that are kept read the target's own keys and values of the committed text; what they write for draft tokens
lies behind it and is written over when the target checks them.
"""

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from torch import Tensor

from engine.config import Knob
from engine.draft import Draft
from engine.errors import ConfigError
from engine.model import Session
from engine.parts import ChainShape, Context, Kit, Knobs, Outcome, write_chain

FORMS = "first:N (leave after N layers), every:N (one of N, and the last), or numbers from 0 such as 0-3,8,11"


def kept_layers(text: str, layers: int) -> frozenset[int]:
    """Which of a model's layers a text names.

    Raises:
        ConfigError: it is none of the forms, or names no layer, all, or one that is not there.
    """
    kind, _, number = text.replace(" ", "").partition(":")
    try:
        if kind == "first":
            found = set(range(int(number)))
        elif kind == "every":
            found = {*range(0, layers, int(number)), layers - 1}
        else:
            found = set[int]()
            for part in kind.split(","):
                low, _, high = part.partition("-")
                found |= set(range(int(low), int(high or low) + 1))
    except ValueError:
        raise ConfigError(f"layers must be {FORMS}, not {text!r}.") from None
    if not found or not 0 <= min(found) <= max(found) < layers or len(found) == layers:
        raise ConfigError(
            f"layers = {text!r} names {len(found)} layers up to {max(found, default=0)}; the target has 0 to "
            f"{layers - 1}, of which at least one must be kept and one left out."
        )
    return frozenset(found)


class LayerSkip:
    """Drafts a chain as a small model would, without one."""

    NAME: ClassVar[str] = "layer_skip"
    KNOBS: ClassVar[tuple[Knob, ...]] = (Knob("layers", "every:2", f"layers that draft: {FORMS}"),)
    SHAPES: ClassVar[tuple[str, ...]] = ("chain",)
    NEEDS: ClassVar[tuple[str, ...]] = ()
    DISTRIBUTIONS: ClassVar[bool] = True
    WANTS: ClassVar[tuple[str, ...]] = ()
    taps: tuple[int, ...] = ()

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        layers = kit.target.layers
        if not kit.target.layerwise:
            raise ConfigError(f"The layers of {kit.target.name} cannot be left out one by one.")
        self.skip = frozenset(range(layers)) - kept_layers(str(knobs["layers"]), layers)
        self.stops = frozenset(kit.target.tokenizer.stop_ids)

    def begin(self, tokens: Sequence[int]) -> None:
        """Nothing: the cache is the target's."""

    def propose(self, context: Context, shape: ChainShape) -> Draft:
        after = partial(self._after, context.target)
        return write_chain(context, shape, context.space, self.stops, after, self._source, context.target.onward)

    def _after(self, target: Session, tokens: list[int]) -> Tensor:
        return target.skim(tokens, self.skip, checked=True)

    @staticmethod
    def _source() -> dict[str, str]:
        return {"kind": "model", "role": "target"}

    def observe(self, outcome: Outcome) -> None:
        """Nothing."""
