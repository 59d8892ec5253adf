"""A beam search followed again: what its rounds say agrees, and whatever is changed in them is noticed."""

import math
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


def exchanged(trace: Trace) -> None:
    """A beam that goes on is told with less than the last that does, and that one with what it told."""
    event = having(trace, "open")
    reason = some(ends(event, "open").reason)
    reason["best"] = reason["last"] - 0.5


def marginal(trace: Trace) -> None:
    """A token whose probability is known by its margin alone: half of what its log-probability says."""
    node = trace.rounds[3].nodes[0]
    first = next(share for token, share in some(node.top_target) if token == node.token)
    node.top_target = [(token, share) for token, share in some(node.top_target) if token != node.token][:1]
    node.margin = math.log(node.top_target[0][1] / first) + math.log(2)


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
        (exchanged, "goes on with"),
        (exchanged, "though the last that goes on has"),
        (marginal, "the log-probability"),
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


def known_by_their_margins(trace: Trace) -> None:
    """Every token's probability is that of the target's first choice over e to the margin, as in a list cut short."""
    for event in trace.rounds:
        for node in event.nodes:
            shares = dict(node.top_target or ())
            if node.token in shares and node.token != (first := some(node.top_target)[0])[0]:
                node.margin = math.log(first[1] / shares[node.token])
                node.top_target = [first]


def nearly(trace: Trace) -> None:
    """Numbers that another pass over the same tokens may change so far."""
    trace.rounds[-1].extras["rating"] += 1e-4
    for event in trace.rounds:
        for node in event.nodes:
            for name in {"best", "last"} & (node.reason or {}).keys():
                some(node.reason)[name] += 1e-12  # type: ignore[literal-required]


def unrated(trace: Trace) -> None:
    trace.head.knobs.pop("length_penalty")
    trace.rounds[-1].extras["rating"] -= 9.0


def unsized(trace: Trace) -> None:
    for event in trace.rounds:
        event.extras.pop("beams", None)


def half_told(trace: Trace) -> None:
    """A beam whose best continuation, or the last that goes on, was not recorded: nothing is claimed of it."""
    for number, event in enumerate(trace.rounds):
        for node in event.nodes:
            if node.reason and "best" in node.reason:
                node.reason.pop(("best", "last")[number % 2])  # type: ignore[misc]


@pytest.mark.parametrize("change", [known_by_their_margins, nearly, unrated, unsized, half_told])
def test_what_was_rounded_or_not_recorded_is_no_fault(searched: Trace, change: Callable[[Trace], None]) -> None:
    other = deepcopy(searched)
    change(other)
    assert replay(other, None).faults == []


def test_a_rating_is_of_the_response_and_its_length(searched: Trace) -> None:
    """The best response's log-probability over its length to the power of the penalty."""
    knobs = searched.head.knobs
    total = searched.rounds[-1].extras["rating"] * len(searched.tokens) ** float(knobs["length_penalty"])
    for penalty in (0.5, 2.0):
        other = deepcopy(searched)
        other.head.knobs["length_penalty"] = penalty
        assert any("the rating" in fault for fault in replay(other, None).faults)
        other.rounds[-1].extras["rating"] = total / len(other.tokens) ** penalty
        assert replay(other, None).faults == []
