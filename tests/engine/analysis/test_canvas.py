"""A text that is written in place, by hand: two iterations over three places, and what must hold between them."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from engine.analysis.canvas import cell_words, compared, faults, iteration_words
from engine.analysis.replay import replay
from engine.errors import ConfigError
from engine.trace.events import Cell, Round, Token
from engine.trace.records import RoundExtras
from engine.trace.store import Trace
from tests.engine.analysis.made import CAT, DOG, HAS, SAT, WORDS, head

MASK = 0


def iteration(number: int, cells: list[Cell], emits: int = 0) -> Round:
    written, open_ = (sum(cell.iteration == at for cell in cells) for at in (number, 0))
    extras: RoundExtras = {"iteration": number, "places": len(cells), "written": written, "open": open_}
    tokens = [
        Token(place, cells[place].token, WORDS[cells[place].token], "placed", number - 1) for place in range(emits)
    ]
    event = Round(number - 1, 0, 0, 0, 0, 0, emits, [], 0.0, 0.0, 1.0, tokens=tokens, extras=extras)
    event.canvas = cells
    return event


def placed() -> Trace:
    """First `cat has` and an open place; then `dog` in place of `cat`, `has` stays, and `sat` is written."""
    first = [Cell(CAT, 1, 0.5), Cell(HAS, 1, 0.9), Cell(MASK, 0)]
    second = [Cell(DOG, 2, 0.75, CAT), Cell(HAS, 1, 0.9), Cell(SAT, 2, None, None)]
    return Trace([head(), iteration(1, first), iteration(2, second, emits=3)])


def test_iterations_and_their_places_in_words() -> None:
    one, two = placed().rounds
    assert iteration_words(one) == "Iteration 1 writes 2 of 3 places and leaves 1 open. No target was asked."
    assert iteration_words(two) == (
        "Iteration 2 writes 2 of 3 places; the text of 3 tokens is whole. No target was asked."
    )
    pieces = dict(enumerate(WORDS))
    assert [cell_words(one, place, pieces) for place in range(3)] == [
        "Written in iteration 1: `cat` (its model gives it 0.50).",
        "Written in iteration 1: `·has` (its model gives it 0.90).",
        "Open: after iteration 1 nothing stands here.",
    ]
    assert [cell_words(two, place, pieces) for place in range(3)] == [
        "Rewritten in iteration 2: `dog` (its model gives it 0.75) in place of `cat`.",
        "Left as it was: `·has` stands here since iteration 1 (its model gives it 0.90).",
        "Written in iteration 2: `sat`.",
    ]
    again = iteration(2, [Cell(CAT, 2, 0.6, CAT)])
    assert cell_words(again, 0, pieces) == "Written again in iteration 2: `cat` as before (its model gives it 0.60)."
    with pytest.raises(IndexError):
        cell_words(two, 3, pieces)


def test_what_follows_is_no_fault() -> None:
    trace = placed()
    assert list(faults(trace)) == [] and compared(trace) == 6
    found = replay(trace, None)
    assert (found.checked, found.unknown, found.faults) == (6, 0, []) and found.told.startswith("6 places followed")
    cut = deepcopy(trace)  # a limit cut the text
    cut.rounds[1].tokens.pop()
    cut.rounds[1].emitted = 2
    assert list(faults(cut)) == []
    longer = deepcopy(trace)  # a canvas of another length begins anew
    longer.rounds[1] = iteration(2, [Cell(CAT, 2), Cell(CAT, 2)])
    assert list(faults(longer)) == []
    light = deepcopy(trace)
    light.rounds[1].canvas = None
    with pytest.raises(ConfigError, match="lightly"):
        replay(light, None)


def cell(round_: int, place: int, **changed: Any) -> Callable[[Trace], None]:
    def change(trace: Trace) -> None:
        for name, value in changed.items():
            setattr((trace.rounds[round_].canvas or [])[place], name, value)

    return change


def extra(round_: int, **changed: Any) -> Callable[[Trace], None]:
    return lambda trace: trace.rounds[round_].extras.update(changed)  # type: ignore[typeddict-item]


def another(trace: Trace) -> None:
    third = iteration(3, [Cell(CAT, 3, None, DOG), Cell(HAS, 1, 0.9), Cell(SAT, 2)])
    third.start = 3
    trace.append(third)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (extra(1, iteration=3), "Round 1: calls itself iteration 3 where 2 is due."),
        (extra(0, places=4), "Round 0: says places 4 and holds 3."),
        (extra(0, written=3), "Round 0: says written 3 and holds 2."),
        (extra(0, open=0), "Round 0: says open 0 and holds 1."),
        (cell(1, 0, before=HAS), f"Round 1: place 0 names {HAS} as what it replaced, where {CAT} stood."),
        (cell(1, 0, before=None), f"Round 1: place 0 names None as what it replaced, where {CAT} stood."),
        (cell(1, 2, before=MASK), f"Round 1: place 2 names {MASK} as what it replaced, where {MASK} stood."),
        (cell(1, 1, token=CAT), "Round 1: place 1 was not written and yet is not as it was."),
        (
            lambda trace: setattr(trace.rounds[1].tokens[1], "token", CAT),
            "Round 1: emits other tokens than stand on its canvas.",
        ),
        (another, "Round 1: emits a text, and yet iterations follow."),
    ],
)
def test_what_does_not_follow_is_told(change: Callable[[Trace], None], said: str) -> None:
    trace = placed()
    change(trace)
    assert said in list(faults(trace))
