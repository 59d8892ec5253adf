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
from engine.model import Model, Session
from engine.parts import ChainShape, Context, Kit, Knobs, Outcome, write_chain

FORMS = "first:N (leave after N layers), every:N (one of N, and the last), or numbers from 0 such as 0-3,8,11"


def kept_layers(text: str, layers: int) -> frozenset[int]:
    """Which of a model's layers a text names.

    Raises:
        ConfigError: it is none of the forms, or names no layer, all, or one that is not there.
    """
    plain = text.replace(" ", "")
    kind, _, number = plain.partition(":")
    try:
        if kind == "first":
            spans = [_span(0, int(number) - 1)]
        elif kind == "every":
            spans = [range(0, layers, _positive(int(number))), range(layers - 1, layers)]
        else:
            spans = [_span(int(low), int(high or low)) for low, _, high in (p.partition("-") for p in plain.split(","))]
    except ValueError:
        raise ConfigError(f"layers must be {FORMS}, not {text!r}.") from None
    most = max(span[-1] for span in spans)
    found = frozenset(layer for span in spans for layer in span) if most < layers else frozenset[int]()
    if kind == "every" and len(found) == layers > 1 and int(number) > 1:  # of two layers
        found -= {layers - 1}
    if not 0 < len(found) < layers:
        raise ConfigError(
            f"layers = {text!r} names {len(found) or 'several'} layers up to {most}; the target has 0 to "
            f"{layers - 1}, of which at least one must be kept and one left out."
        )
    return found


def _span(low: int, high: int) -> range:
    if not 0 <= low <= high:
        raise ValueError("no layers")
    return range(low, high + 1)


def _positive(number: int) -> int:
    if number < 1:
        raise ValueError("no step")
    return number


class LayerSkip:
    """Drafts a chain as a small model would, without one."""

    NAME: ClassVar[str] = "layer_skip"
    TITLE: ClassVar[str] = "Layer skipping"
    KNOBS: ClassVar[tuple[Knob, ...]] = (Knob("layers", "every:2", f"layers that draft: {FORMS}"),)
    SHAPES: ClassVar[tuple[str, ...]] = ("chain",)
    NEEDS: ClassVar[tuple[str, ...]] = ()
    DISTRIBUTIONS: ClassVar[bool] = True
    WANTS: ClassVar[tuple[str, ...]] = ()
    taps: tuple[int, ...] = ()

    @staticmethod
    def unable(target: Model) -> str:
        """Why no layers of a target can be left out."""
        if not target.layerwise:
            return f"the layers of {target.name} cannot be left out one by one."
        return "" if target.layers > 1 else f"{target.name} has one layer, which cannot be left out."

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        layers = kit.target.layers
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
