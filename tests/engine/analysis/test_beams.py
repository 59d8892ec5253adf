"""A beam search followed again: what its rounds say agrees, and whatever is changed in them is noticed."""

from collections.abc import Callable
from copy import deepcopy

import pytest

from engine.analysis.compared import compared
from engine.analysis.explain import why
from engine.analysis.replay import replay
from engine.rules import RULES
from engine.trace.events import Node, Round
from engine.trace.store import Trace
from tests.engine.zoo import Zoo
from tests.typed import some


@pytest.fixture(scope="module")
def searched(zoo: Zoo) -> Trace:
    """Three beams over a random model with settled, open and left tokens."""
    lab = zoo.lab("llama", draft=None, layers=2)
    trace = lab.run("beam", [5, 9, 2, 7], max_new_tokens=14, beams=3, top_n=lab.vocab)
    return Trace.loads(trace.to_bytes())


def having(trace: Trace, *kinds: str) -> Round:
    """The first round with nodes of all these kinds, and one after it."""
    kind = {f"beam_{name}" for name in kinds}
    return next(r for r in trace.rounds[:-1] if kind <= {(node.reason or {}).get("id") for node in r.nodes})


def of(event: Round, kind: str) -> Node:
    return next(node for node in event.nodes if (node.reason or {}).get("id") == f"beam_{kind}")


def ends(event: Round, kind: str) -> Node:
    """A node of that kind where a live beam ends."""
    return next(n for n in event.nodes if n.reason and n.reason.get("id") == f"beam_{kind}" and "best" in n.reason)


def test_every_token_of_the_beams_is_found_again(searched: Trace) -> None:
    found = replay(searched, None)
    assert not found.faults and found.unknown == 0
    assert found.checked == sum(len(event.nodes) for event in searched.rounds) > 30
    n = sum("best" in (node.reason or {}) for event in searched.rounds for node in event.nodes)
    assert f"the log-probabilities of {n} beams compared" in found.told and n > 20
    told = compared({"lane": searched}, dict.fromkeys(RULES)).proofs["lane"].decisions
    assert told == f"{found.told}: all came out as they did in the run."


def test_a_beam_that_is_left_is_told_with_what_outdid_it(searched: Trace) -> None:
    event = having(searched, "left")
    node = ends(event, "left")
    assert "of the last that goes on -" in why(searched.head, event, node=event.nodes.index(node), pieces={})


def swapped(trace: Trace) -> None:
    event = next(r for r in trace.rounds if {"accepted", "rejected"} <= {node.state for node in r.nodes})
    one, other = of(event, "settled"), of(event, "left")
    one.state, other.state = other.state, one.state


def state(kind: str, to: str) -> Callable[[Trace], None]:
    def change(trace: Trace) -> None:
        of(having(trace, kind), kind).state = to

    return change


def moved(name: str, kind: str, by: float) -> Callable[[Trace], None]:
    def change(trace: Trace) -> None:
        reason = some(ends(having(trace, kind), kind).reason)
        reason[name] += by  # type: ignore[literal-required]

    return change


def scored(trace: Trace) -> None:
    node = trace.rounds[3].nodes[0]
    node.score = some(node.score) - 0.5


def rated(trace: Trace) -> None:
    trace.rounds[-1].extras["rating"] -= 0.1


def counted(trace: Trace) -> None:
    trace.rounds[4].extras["beams"] = 2


def hidden(trace: Trace) -> None:
    """A round that settled a token says that it did not: all of the next tree's beams begin with it."""
    event = next(r for r in trace.rounds[1:-1] if r.emitted and not trace.rounds[r.index + 1].extras.get("ended"))
    after = trace.rounds[event.index + 1]
    for node in after.nodes:
        node.parent, node.depth = node.parent + 1, node.depth + 1
    after.nodes.insert(0, Node(event.tokens[-1].token, -1, 1))
    after.extras.pop("beams")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (swapped, "recorded rejected, recomputed accepted"),
        (swapped, "recorded accepted, recomputed rejected"),
        (state("open", "rejected"), "recorded rejected, recomputed discarded"),
        (state("left", "discarded"), "recorded discarded, recomputed rejected"),
        (state("settled", "discarded"), "recorded discarded, recomputed accepted"),
        (moved("best", "left", 9.0), "is left with"),
        (moved("best", "open", -99.0), "goes on with"),
        (moved("best", "open", 0.01), "but its best continuation has"),
        (moved("last", "open", -0.01), "is compared with"),
        (scored, "the log-probability"),
        (rated, "the rating"),
        (counted, "says 2 live beams and holds 3"),
        (hidden, "leaves open what all beams of the next round begin with"),
    ],
)
def test_each_change_is_noticed(searched: Trace, change: Callable[[Trace], None], said: str) -> None:
    bad = deepcopy(searched)
    change(bad)
    assert any(said in fault for fault in replay(bad, None).faults), replay(bad, None).faults


def test_without_the_log_probabilities_the_trees_are_followed_and_that_is_said(searched: Trace) -> None:
    old = deepcopy(searched)
    for node in (node for event in old.rounds for node in event.nodes):
        some(node.reason).pop("best", None)
        some(node.reason).pop("last", None)
    found = replay(old, None)
    assert not found.faults and found.told.endswith("those are not in this recording")


def test_a_run_that_was_cut_short_claims_nothing_of_its_last_tree(searched: Trace) -> None:
    cut = Trace([searched.head, *searched.rounds[:8]])
    found, last = replay(cut, None), searched.rounds[7]
    assert not found.faults and found.unknown == sum(node.state != "accepted" for node in last.nodes) > 0


def test_what_a_stop_string_cuts_off_is_not_judged(zoo: Zoo, searched: Trace) -> None:
    lab, end = zoo.lab("llama", draft=None, layers=2), searched.rounds[-1]
    assert end.emitted > 2
    first = end.tokens[0]
    trace = lab.run("beam", [5, 9, 2, 7], max_new_tokens=14, beams=3, stop=[searched.text[: first.pos + 1][-3:]])
    assert trace.end and trace.end.reason == "stop" and trace.rounds[-1].emitted < end.emitted
    found = replay(trace, None)
    behind = [node for node in trace.rounds[-1].nodes if node.depth > trace.rounds[-1].emitted]
    assert {node.state for node in behind} == {"discarded"}
    assert not found.faults and found.unknown == sum(some(node.reason)["id"] != "beam_open" for node in behind) > 0
