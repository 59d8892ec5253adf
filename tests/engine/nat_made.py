"""A non-autoregressive system that plays given canvases: what a network would leave, written by hand."""

from collections.abc import Iterator, Sequence
from typing import Any

from engine.lab import Lab
from engine.nat.canvas import Canvas
from tests.engine.zoo import EOS, PAD

TEXT = [12, 7, 40, 9, EOS]
CANVASES = (  # of mask-predict: all places, two places anew (one comes out the same), one more and the text
    Canvas([12, 30, 40, 40, PAD], [0.9, 0.2, 0.6, 0.3, 0.1], [True, True, True, True, False]),
    Canvas([12, 7, 40, 40, EOS], [0.9, 0.7, 0.6, 0.5, 0.8], [False, True, False, True, True]),
    Canvas(TEXT, [0.9, 0.7, 0.6, 0.95, 0.8], [False, False, False, True, False], final=True),
)


class Played:
    """`NatModel` of one kind; it notes what it was asked."""

    mask = PAD

    def __init__(self, kind: str, canvases: Sequence[Canvas] = CANVASES) -> None:
        self.kind, self.canvases = kind, canvases
        self.asked: tuple[list[int], int, dict[str, Any]] | None = None

    def write(self, source: Sequence[int], limit: int, **knobs: Any) -> Iterator[Canvas]:
        """The canvases, whatever the source."""
        self.asked = list(source), limit, knobs
        yield from self.canvases


def playing(lab: Lab, kind: str, canvases: Sequence[Canvas] = CANVASES) -> Played:
    """Put such a system into a lab, in place of one on disk."""
    played = Played(kind, canvases)
    lab.asset_paths[kind] = f"made/{kind}"
    lab._assets[kind], lab._described[kind] = played, {"id": f"made/{kind}", "revision": "by hand"}
    return played
