"""Claims about trees, on traces made by hand."""

from dataclasses import replace

import pytest

from engine.cases.claims import failures
from engine.files.places import PRESETS
from engine.files.presets import Preset, get_preset
from engine.trace.store import Trace
from tests.app.placed import placed_events
from tests.engine.analysis.made_trees import plain, run


def tree(kept: list[int], extra: list[int] | None = None, fed: int = 60) -> Trace:
    made = run("tree", [(k, k, 1.0) for k in kept], fed=fed)
    for event, more in zip(made.rounds, extra or [], strict=False):
        event.extras["d_extra"] = more
    return made


@pytest.mark.parametrize(
    ("claim", "holds"),
    [
        ({"deeper": [0, 2]}, True),
        ({"deeper": [0, 3]}, False),
        ({"deeper": [1, 1]}, False),
        ({"wasted": [1, 59, 1, 3]}, True),
        ({"wasted": [1, 59, 1, 4]}, False),
        ({"wasted": [1, 60, 1, 3]}, False),
        ({"wasted": [1, 59, 0, 3]}, False),
        ({"fewer_calls": [0, 1]}, True),
        ({"fewer_calls": [1, 0]}, False),
        ({"fewer_calls": [0, 0]}, False),
        ({"fewer_checked": [2, 0]}, True),
        ({"fewer_checked": [0, 1]}, True),
        ({"fewer_checked": [1, 1]}, False),
    ],
)
def test_claims_about_trees(claim: dict[str, list[int]], holds: bool) -> None:
    traces = [tree([8, 8, 2, 8], [4, 3, 0, 2]), tree([4, 1, 0, 1, 5]), plain(20)]
    assert (failures(Preset("made", "Made", expect=claim), traces) == []) is holds


@pytest.mark.parametrize(
    ("claim", "holds"),
    [
        ({"wastes_less": [1, 0]}, True),
        ({"wastes_less": [0, 1]}, False),
        ({"wastes_less": [1, 1]}, False),
        ({"lengths": [1, 2, 5]}, True),
        ({"lengths": [1, 1, 5]}, False),
        ({"lengths": [1, 2, 6]}, False),
        ({"lengths": [2, 0, 0]}, False),
        ({"stopped": [1, 2]}, True),
        ({"stopped": [1, 3]}, False),
        ({"stopped": [0, 1]}, False),
    ],
)
def test_claims_about_lengths(claim: dict[str, list[int]], holds: bool) -> None:
    """The last draft, of nine tokens, may have been cut short by the end of the text and tells no length."""
    fixed, chosen = run("five", [(4, 4, 1.0)] * 3), run("chosen", [(5, 5, 1.0), (1, 1, 1.0), (3, 3, 1.0), (9, 9, 1.0)])
    for event in fixed.rounds:
        event.drafted = event.levels = 5
    worth = [(0.4, 0.5), (0.5, 0.5), (None, 0.5), (0.1, 0.5)]  # the chance that one more token had, and the least
    for event, length, (following, least) in zip(chosen.rounds, (5, 2, 3, 9), worth, strict=True):
        event.drafted = event.levels = length
        event.extras |= {"following": following, "least": least}
    none = run("none", [(1, 1, 1.0)])
    assert (failures(Preset("made", "Made", expect=claim), [fixed, chosen, none]) == []) is holds


WORDS = {" t": True, "ug": True, ",": False, " einen": False, " F": False}  # of "einen Zaun trug."


def test_where_a_drafter_is_least_sure_is_read_off_its_confidences() -> None:
    """In the last verb of a clause; not in the comma behind it, in a noun, or anywhere where it is sure enough."""
    case = get_preset("crossed_verb")
    trace = Trace.load(PRESETS / case.traces[2])

    def holds(most: float = 0.75) -> bool:
        return failures(replace(case, expect={"unsure_at_verb": [0, most]}), [trace]) == []

    assert holds() and not holds(0.1)
    verb = next(node for event in trace.rounds for node in event.nodes if node.confidence == lowest(trace))
    before, verb.confidence = verb.confidence, 1.0
    found = set[str]()
    for event in trace.rounds:
        for node in event.nodes:
            piece = next((token.piece for token in trace.tokens if token.pos == event.start + node.depth - 1), "")
            if piece in WORDS and node.state in ("accepted", "rejected"):
                kept, node.confidence = node.confidence, 0.05
                assert holds() is WORDS[piece], piece
                node.confidence = kept
                found.add(piece)
    assert found == set(WORDS)
    verb.confidence = before
    assert holds()


def lowest(trace: Trace) -> float:
    return min(
        node.confidence
        for event in trace.rounds
        for node in event.nodes
        if node.confidence is not None and node.state in ("accepted", "relaxed", "rejected")
    )


def test_rewritten_is_another_token_where_one_stood() -> None:
    """A place that was open, or came out the same again, is not rewritten."""
    made = Trace(placed_events())
    canvases = [event.canvas or [] for event in made.rounds]
    steps = zip(canvases, canvases[1:], strict=False)
    changed = sum(
        a.token != b.token and a.iteration > 0 for one, other in steps for a, b in zip(one, other, strict=True)
    )
    assert changed > 3 and any(cell.before == cell.token for canvas in canvases for cell in canvas)
    for most, holds in ((changed, True), (changed + 1, False)):
        assert (failures(Preset("made", "Made", expect={"rewritten": ["cmlm", most]}), [made]) == []) is holds
