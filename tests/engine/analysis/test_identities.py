from collections.abc import Callable

import pytest

from engine.analysis.identities import identities
from engine.trace.events import Round
from engine.trace.store import Trace
from tests.engine.analysis.made import CAT, ar, bush, chain, head, light, sd

RELAXED = Trace([head("judge"), chain(0, 0, "axr", [CAT, CAT, CAT], CAT)])


@pytest.mark.parametrize("trace", [sd(), bush(), light(sd()), light(bush()), ar([CAT]), ar([]), RELAXED])
def test_sound_traces_break_nothing(trace: Trace) -> None:
    assert identities(trace) == []


def _set(name: str, value: object) -> Callable[[Round], None]:
    return lambda event: setattr(event, name, value)


@pytest.mark.parametrize(
    ("fault", "named"),
    [
        (_set("emitted", 5), "says 5 tokens"),
        (_set("accepted", 2), "on a path of 1"),
        (_set("levels", 0), "not in order"),
        (_set("fed", 9), "feeds 9"),
        (_set("drafted", 4), "records 3"),
        (_set("path", [1]), "not the path"),
        (_set("tcr", 0), "rank 0"),
        (lambda event: setattr(event.tokens[0], "round", 3), "another round"),
        (lambda event: setattr(event.tokens[0], "token", 3), "not that of its draft token"),
        (lambda event: setattr(event.tokens[0], "piece", "x"), "make up the text"),
        (_set("draft_ms", 1000.0), "the rounds take"),
        (lambda event: setattr(event.nodes[0], "parent", 5), "parent to child"),
    ],
)
def test_each_fault_is_named(fault: Callable[[Round], None], named: str) -> None:
    trace = sd()
    fault(trace.rounds[0])
    assert any(named in line for line in identities(trace)), identities(trace)


def test_more_tested_than_drafted() -> None:
    trace = sd()
    for event in trace.rounds:
        event.drafted = event.levels = 1
    assert any("more draft tokens" in line for line in identities(trace))


def test_the_text_may_leave_the_end_token_and_half_characters_out() -> None:
    trace = sd()
    assert trace.end is not None
    trace.end.text = "".join(token.piece for token in trace.tokens[:-1])
    assert identities(trace) == []
    trace.end.reason = "limit"
    assert identities(trace) != []
    trace.end.reason, trace.tokens[1].piece = "eos", "<bos>"
    assert identities(trace) != []  # it stood for another text
    trace.end.text = "".join(token.piece for token in trace.tokens[:-1] if token.piece != "<bos>")
    assert identities(trace) == []  # a text leaves special tokens out, wherever they stand
    for half in ("\ufffd", "<0xC3>"):  # two such pieces may be one character of the text
        trace.tokens[0].piece = half
        assert identities(trace) == []
    trace.end.reason, trace.end.text, trace.tokens[0].piece = "error", "", "cat"
    assert identities(trace) == [] and trace.text.startswith("cat")
