"""Texts that are written in place: what an iteration did to them in words, and what must hold from one to the next."""

from collections.abc import Iterator

from engine.analysis.words import Pieces, count, number, quoted
from engine.trace import outcome
from engine.trace.events import Cell, Round
from engine.trace.store import Trace


def iteration_words(event: Round) -> str:
    """The sentence for a round that is an iteration."""
    extras = event.extras
    n, places, open_ = extras.get("iteration"), extras.get("places"), extras.get("open")
    told = f"Iteration {n} writes {extras.get('written', 'some')} of {places} places"
    told += f" and leaves {open_} open" if open_ else ""
    last = f"; the text of {count(event.emitted, 'token')} is whole" if event.tokens else ""
    return f"{told}{last}. No target was asked."


def cell_words(event: Round, place: int, pieces: Pieces) -> str:
    """The sentence for a place after an iteration.

    Raises:
        IndexError: the round has no such place.
    """
    cell, now = (event.canvas or [])[place], event.extras.get("iteration")
    own = quoted(cell.token, pieces)
    if not cell.iteration:
        return f"Open: after iteration {now} nothing stands here."
    if cell.iteration != now:
        return f"Left as it was: {own} stands here since iteration {cell.iteration}{_sure(cell)}."
    if cell.before is None:
        return f"Written in iteration {now}: {own}{_sure(cell)}."
    if cell.before == cell.token:
        return f"Written again in iteration {now}: {own} as before{_sure(cell)}."
    return f"Rewritten in iteration {now}: {own}{_sure(cell)} in place of {quoted(cell.before, pieces)}."


def _sure(cell: Cell) -> str:
    return "" if cell.q is None else f" (its model gives it {number(cell.q)})"


def faults(trace: Trace) -> Iterator[str]:
    """What of the recorded canvases does not follow: from the one before, from the counts, or into the text."""
    before: list[Cell] = []
    due = 1
    for event in trace.rounds:
        if not outcome.in_place(event):
            continue
        for fault in (*_counts(event, due), *_moves(event, before), *_text(trace, event)):
            yield f"Round {event.index}: {fault}."
        before, due = event.canvas or [], due + 1


def compared(trace: Trace) -> int:
    """Places of all recorded canvases."""
    return sum(len(event.canvas or ()) for event in trace.rounds)


def _counts(event: Round, due: int) -> Iterator[str]:
    extras, cells, now = event.extras, event.canvas or [], event.extras.get("iteration")
    if now != due:
        yield f"calls itself iteration {now} where {due} is due"
    for name, found in (
        ("places", len(cells)),
        ("written", sum(cell.iteration == now for cell in cells)),
        ("open", sum(cell.iteration == 0 for cell in cells)),
    ):
        if extras.get(name) != found:
            yield f"says {name} {extras.get(name)} and holds {found}"


def _moves(event: Round, before: list[Cell]) -> Iterator[str]:
    """Between canvases of one length a token changes only where it is written, and what stood there is told."""
    cells, now = event.canvas or [], event.extras.get("iteration")
    if len(before) != len(cells):
        return
    for place, (cell, old) in enumerate(zip(cells, before, strict=True)):
        if cell.iteration == now:
            if cell.before != (old.token if old.iteration else None):
                yield f"place {place} names {cell.before} as what it replaced, where {old.token} stood"
        elif cell.iteration and (cell.token, cell.iteration) != (old.token, old.iteration):
            yield f"place {place} was not written and yet is not as it was"


def _text(trace: Trace, event: Round) -> Iterator[str]:
    """The tokens that a final canvas gave are those that stand on it; a stop or the run's limit may cut them."""
    stands = [cell.token for cell in event.canvas or ()][: event.emitted]
    if event.tokens and stands != [token.token for token in event.tokens]:
        yield "emits other tokens than stand on its canvas"
    if event.tokens and event is not trace.rounds[-1]:
        yield "emits a text, and yet iterations follow"
