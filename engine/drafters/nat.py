"""Non-autoregressive systems as drafters: the canvas after each iteration is a draft that no target reads.

Each is a network over the target's encoder (`engine.nat`) that writes all places of a text at once, and then some of
them again. docs/methods/nat.md.
"""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from engine.config import Knob
from engine.draft import CanvasDraft
from engine.errors import EngineFault
from engine.nat.canvas import Canvas, NatModel
from engine.parts import Context, Kit, Knobs, Outcome
from engine.trace.events import Cell
from engine.trace.records import RoundExtras


class Writer:
    """What all systems share: a round is an iteration. Subclasses give NAME, which is also their asset's role, NEEDS
    and KNOBS, which `NatModel.write` takes by name."""

    KNOBS: ClassVar[tuple[Knob, ...]] = ()
    SHAPES: ClassVar[tuple[str, ...]] = ("canvas",)
    NEEDS: ClassVar[tuple[str, ...]] = ()
    DISTRIBUTIONS: ClassVar[bool] = False
    WANTS: ClassVar[tuple[str, ...]] = ()
    taps: tuple[int, ...] = ()

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.system: NatModel = kit.assets[self.NEEDS[0]]
        self.source_of = kit.target.source_of
        self.knobs = {knob.name: knobs[knob.name] for knob in self.KNOBS}
        self._canvases: Iterator[Canvas] | None = None
        self._cells: tuple[Cell, ...] = ()
        self._iteration = 0

    def begin(self, tokens: Sequence[int]) -> None:
        """An empty canvas."""
        self._canvases, self._cells, self._iteration = None, (), 0

    def propose(self, context: Context, shape: Any) -> CanvasDraft:
        """The canvas after the next iteration.

        Raises:
            EngineFault: the system has no further one, and gave no text.
        """
        if self._canvases is None:
            source = context.tokens[: self.source_of(context.tokens)]
            limit = min(context.room, context.target.left(context.tokens))
            self._canvases = self.system.write(source, limit, **self.knobs)
        canvas = next(self._canvases, None)
        if canvas is None:
            raise EngineFault(f"The system {self.system.kind!r} ended without a text.")
        self._iteration += 1
        self._cells = tuple(self._cell(canvas, place) for place in range(len(canvas.tokens)))
        extras: RoundExtras = {
            "iteration": self._iteration,
            "places": len(self._cells),
            "written": sum(cell.iteration == self._iteration for cell in self._cells),
            "open": sum(cell.iteration == 0 for cell in self._cells),
        }
        return CanvasDraft(
            tuple(canvas.tokens),
            tuple(range(-1, len(canvas.tokens) - 1)),
            extras=extras,
            cells=self._cells,
            final=canvas.final,
        )

    def _cell(self, canvas: Canvas, place: int) -> Cell:
        """A place of the canvas beside the same place one iteration before; of a canvas of another length there is
        none."""
        token, q = canvas.tokens[place], canvas.sure[place]
        old = self._cells[place] if len(self._cells) == len(canvas.tokens) else None
        if token == self.system.mask:
            return Cell(token, 0)
        if canvas.fresh[place] or old is None:
            return Cell(token, self._iteration, q, old.token if old and old.iteration else None)
        return Cell(token, old.iteration, q)

    def observe(self, outcome: Outcome) -> None:
        """Nothing: the system knows what it has written."""


LENGTHS = Knob(
    "lengths",
    5,
    "likeliest lengths that are written side by side; the text that is surest on average is taken",
    low=1,
    high=20,
    step=1,
    unit="lengths",
    origin="paper",
)


class MaskPredict(Writer):
    """CMLM: hides the tokens that it is least sure of, and predicts them anew (Ghazvininejad et al. 2019)."""

    NAME: ClassVar[str] = "cmlm"
    TITLE: ClassVar[str] = "CMLM"
    NEEDS: ClassVar[tuple[str, ...]] = ("cmlm",)
    KNOBS: ClassVar[tuple[Knob, ...]] = (
        Knob(
            "iterations",
            4,
            "times that all places are predicted, each time with fewer of them hidden; 1 is a single pass",
            low=1,
            high=50,
            step=1,
            unit="iterations",
            origin="paper",
        ),
        LENGTHS,
    )


class Aligned(Writer):
    """GLAT with CTC: one pass over more places than the text has; blanks and repetitions fall out."""

    NAME: ClassVar[str] = "glat_ctc"
    TITLE: ClassVar[str] = "GLAT with CTC"
    NEEDS: ClassVar[tuple[str, ...]] = ("glat_ctc",)


class Acyclic(Writer):
    """DA-Transformer: one pass over the vertices of a graph, of which a path is the text (Huang et al. 2022)."""

    NAME: ClassVar[str] = "dat"
    TITLE: ClassVar[str] = "DA-Transformer"
    NEEDS: ClassVar[tuple[str, ...]] = ("dat",)
    KNOBS: ClassVar[tuple[Knob, ...]] = (
        Knob(
            "decoding",
            "lookahead",
            "how the path is taken: greedy follows the likeliest transition, lookahead the likeliest transition and "
            "token together",
            choices=("greedy", "lookahead"),
            origin="paper",
        ),
    )


class Rewriter(Writer):
    """RewriteNAT: a locator finds the words that look wrong, a revisor writes them anew (Geng et al. 2021)."""

    NAME: ClassVar[str] = "rewrite_nat"
    TITLE: ClassVar[str] = "RewriteNAT"
    NEEDS: ClassVar[tuple[str, ...]] = ("rewrite_nat",)
    KNOBS: ClassVar[tuple[Knob, ...]] = (
        Knob(
            "iterations",
            10,
            "most iterations; it ends before where the locator finds nothing wrong",
            low=1,
            high=50,
            step=1,
            unit="iterations",
        ),
        LENGTHS,
    )
