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
    trace.end.reason, end = "limit", trace.tokens[-1].piece
    assert identities(trace) == []  # a special token that a limit made the last
    trace.tokens[-1].piece = " end"
    assert identities(trace) != []
    trace.tokens[-1].piece = end
    trace.end.reason, trace.tokens[1].piece = "eos", "<bos>"
    assert identities(trace) != []  # it stood for another text
    trace.end.text = "".join(token.piece for token in trace.tokens[:-1] if token.piece != "<bos>")
    assert identities(trace) == []  # a text leaves special tokens out, wherever they stand
    for half in ("\ufffd", "<0xC3>"):  # two such pieces may be one character of the text
        trace.tokens[0].piece = half
        assert identities(trace) == []
    trace.end.reason, trace.end.text, trace.tokens[0].piece = "error", "", "cat"
    assert identities(trace) == [] and trace.text.startswith("cat")


def steps(*fed: int) -> Trace:
    """Three draft tokens a round, all accepted and nothing beside them; so many tokens fed to the target in each."""
    rounds = [chain(i, 3 * i, "aaa", [CAT, CAT, CAT], None) for i in range(len(fed))]
    for event, n in zip(rounds, fed, strict=True):
        event.fed = n
    return Trace([head("rsd"), *rounds])


def test_a_call_may_read_what_rounds_without_one_have_committed() -> None:
    """A root and three draft tokens, and three or six from before; none twice."""
    for sound in ((0, 7), (0, 0, 10), (0, 7, 4), (0, 4), (0, 0, 1)):
        assert identities(steps(*sound)) == [], sound
    for broken, told in (((5,), 5), ((0, 8), 8), ((0, 0, 11), 11), ((0, 7, 5), 5), ((4, 7), 7)):
        assert [line for line in identities(steps(*broken)) if f"feeds {told} tokens" in line], broken


def test_a_round_of_nothing_is_told() -> None:
    trace = Trace([head(), Round(0, 0, 0, 0, 0, 0, 0, [], 0.0, 1.0, 0.0)])
    assert identities(trace)[0] == "Round 0: feeds 0 tokens with 0 draft tokens and a root."


@pytest.mark.parametrize(("total", "sound"), [(45.0, True), (44.9, True), (44.8, False), (None, True)])
def test_rounds_take_no_longer_than_the_run(total: float | None, sound: bool) -> None:
    """45 ms; a thousandth and a tenth of a millisecond more than told are rounding."""
    trace = sd()
    for event in trace.rounds:
        event.draft_ms = 3.0
    assert trace.end is not None
    trace.end.total_ms = total  # type: ignore[assignment]
    assert (identities(trace) == []) is sound


def test_a_text_that_a_limit_ended_keeps_its_last_token() -> None:
    trace = sd()
    assert trace.end is not None
    trace.end.reason, trace.tokens[1].piece, trace.tokens[-1].piece = "limit", "<bos>", " end"
    pieces = [token.piece for token in trace.tokens]
    trace.end.text = "".join([pieces[0], *pieces[2:]])
    assert identities(trace) == []
    for text in ("".join([pieces[0], *pieces[2:-1]]), "".join(pieces[2:]), "".join(pieces[:-1])):
        trace.end.text = text
        assert identities(trace) == ["the pieces of the tokens do not make up the text."], text
