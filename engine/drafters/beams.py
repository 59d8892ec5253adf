"""Beam search as a drafter: all beams of a search as one tree, so that one pass reads them all."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from engine.config import Knob
from engine.errors import EngineFault
from engine.parts import Context, Kit, Knobs, Outcome
from engine.trace.records import RoundExtras
from engine.trees.beams import STOPPING, Beam, BeamDraft, BeamSearch


class BeamDrafter:
    """Proposes the tree of what the beams hold beyond the tokens that all of them share. The rule takes the step."""

    NAME: ClassVar[str] = "beams"
    TITLE: ClassVar[str] = "Beam search"
    KNOBS: ClassVar[tuple[Knob, ...]] = (
        Knob(
            "length_penalty",
            1.0,
            "a beam that has ended is rated by its log-probability over its length to this power",
            low=-4.0,
            high=4.0,
            step=0.1,
        ),
        Knob(
            "early_stopping",
            "full",
            "stop when as many beams have ended as are kept (full), when the best live one rates below them at its "
            "length (heuristic), or when it would at the longest length (never)",
            choices=STOPPING,
            advanced=True,
        ),
    )
    SHAPES: ClassVar[tuple[str, ...]] = ("beams",)
    NEEDS: ClassVar[tuple[str, ...]] = ()
    DISTRIBUTIONS: ClassVar[bool] = False
    WANTS: ClassVar[tuple[str, ...]] = ()
    taps: tuple[int, ...] = ()

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.stops = frozenset(kit.target.tokenizer.stop_ids)
        self.penalty, self.stopping = float(knobs["length_penalty"]), str(knobs["early_stopping"])
        self.search: BeamSearch | None = None

    def begin(self, tokens: Sequence[int]) -> None:
        """A new search."""
        self.search = None

    def propose(self, context: Context, shape: Any) -> BeamDraft:
        """The beams as a tree; ended ones too, but for their last token, so that whichever wins can be committed."""
        if self.search is None:
            limit = min(context.room, context.target.capacity - len(context.tokens))
            self.search = BeamSearch(shape.width, limit, self.penalty, self.stopping)
        search = self.search
        ended = (Beam(beam.tokens[:-1], beam.scores[:-1]) for _, beam in search.ended)
        draft = _tree(search, [*search.live, *ended], self.stops)
        if len(draft) > context.space:
            raise EngineFault(
                f"The beams part so early that their tree of {len(draft)} nodes does not fit the {context.space} "
                "positions left: ask for fewer beams or tokens."
            )
        return draft

    def observe(self, outcome: Outcome) -> None:
        """Nothing: the rule has taken the step."""


def _tree(search: BeamSearch, beams: Iterable[Beam], stops: frozenset[int]) -> BeamDraft:
    """The tree of what beams hold beyond the settled tokens, live ones first; `leaves` are the rows of those."""
    tokens, parents, scores, leaves = list[int](), list[int](), list[float](), list[int]()
    known: dict[tuple[int, int], int] = {}
    for number, beam in enumerate(beams):
        at = -1
        for place in range(search.settled, len(beam.tokens)):
            key = (at, beam.tokens[place])
            if key not in known:
                known[key] = len(tokens)
                tokens.append(beam.tokens[place])
                parents.append(at)
                scores.append(beam.scores[place])
            at = known[key]
        if number < len(search.live):
            leaves.append(at)
    extras: RoundExtras = {"beams": len(search.live), "ended": len(search.ended)}
    return BeamDraft(
        tuple(tokens),
        tuple(parents),
        scores=tuple(scores),
        extras=extras,
        search=search,
        leaves=tuple(leaves),
        stops=stops,
    )
