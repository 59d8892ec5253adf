"""What a run writes down: every number of a node and of a token recomputed from the model, and the identities of a trace."""

import itertools
import math
from collections import Counter
from typing import Any

import pytest
import torch

from engine.analysis.identities import identities
from engine.analysis.replay import replay, what_if
from engine.config import Sampling
from engine.lab import Lab
from engine.rules import THRESHOLDS
from engine.sampling import distribution, entropy
from engine.trace import outcome
from engine.trace.events import Node
from engine.trace.outcome import ACCEPTED, REJECTED
from engine.trace.store import Trace
from tests.engine.test_loop import METHODS
from tests.engine.toy import ToyDecoder, toy_lab
from tests.engine.zoo import Zoo
from tests.typed import some

MODES: list[dict[str, Any]] = [{}, {"temperature": 0.9, "top_p": 0.95, "seed": 5}]
CASES = [pytest.param(m, o, id=f"{m[0]}-{'sampled' if o else 'greedy'}") for m, o in itertools.product(METHODS, MODES)]


@pytest.fixture(scope="module")
def pair() -> Lab:
    return toy_lab(V=5, seed=2)


def row_of(lab: Lab, text: list[int]) -> torch.Tensor:
    """The target's raw logits after a text, from the toy's table."""
    decoder = lab.target.decoder
    assert isinstance(decoder, ToyDecoder)
    return decoder.table[(len(text) - 1) % 2, text[-2], text[-1]]


def check_nodes(lab: Lab, trace: Trace, sampling: Sampling) -> None:
    """p, entropies, ranks, margins, top entries and states of every node, from the tables of both models."""
    draft = Lab(lab.models["draft"])
    text = list(trace.head.prompt_ids)
    for event in trace.rounds:
        for i, node in enumerate(event.nodes):
            before, up = list[int](), node.parent
            while up >= 0:
                before.insert(0, event.nodes[up].token)
                up = event.nodes[up].parent
            target, mine = row_of(lab, text + before), row_of(draft, text + before)
            p_raw, q_raw = torch.softmax(target, -1), torch.softmax(mine, -1)
            assert node.h_target == pytest.approx(float(entropy(target)), abs=1e-9)
            assert node.h_draft == pytest.approx(float(entropy(mine)), abs=1e-9)
            assert node.margin == pytest.approx(float(target.max() - target[node.token]), abs=1e-5)
            assert (
                node.top_target is not None
                and [t for t, _ in node.top_target] == target.argsort(descending=True).tolist()
            )
            assert node.top_draft is not None and node.top_draft[0][1] == pytest.approx(float(q_raw.max()), abs=1e-9)
            assert node.score == pytest.approx(
                sum(_logq(draft, text + before[:k], t) for k, t in enumerate([*before, node.token])), abs=1e-5
            )
            p, q = (
                (p_raw, q_raw)
                if sampling.greedy
                else (distribution(target[None], sampling)[0], distribution(mine[None], sampling)[0])
            )
            assert node.p == pytest.approx(float(p[node.token]), abs=1e-9) and node.q == pytest.approx(
                float(q[node.token]), abs=1e-9
            )
            assert (node.law_target is None) == sampling.greedy == (node.law_draft is None)
            if node.law_target is not None:
                assert sum(x for _, x in node.law_target) == pytest.approx(1) and all(x > 0 for _, x in node.law_target)
            assert (
                node.rank == i + 1
                and node.source == {"kind": "model", "role": "draft"}
                and node.rule == trace.head.rule
            )
        text += [t.token for t in event.tokens]


def _logq(draft: Lab, text: list[int], token: int) -> float:
    return float(torch.log_softmax(row_of(draft, text), -1)[token])


def check_tokens(lab: Lab, trace: Trace) -> None:
    """Origins, nodes and entropies of the response."""
    text = list(trace.head.prompt_ids)
    for event in trace.rounds:
        for k, token in enumerate(event.tokens):
            assert token.round == event.index and token.piece == lab.target.tokenizer.piece(token.token)
            assert token.h_target == pytest.approx(float(entropy(row_of(lab, text))), abs=1e-9)
            if k < event.accepted:
                node = event.nodes[event.path[k]]
                assert token.node == event.path[k] and node.token == token.token
                assert token.origin == ("relaxed" if node.state == "relaxed" else "draft")
            else:
                assert token.node is None and token.top_target is not None
                assert token.origin == (
                    "target" if not event.drafted else "bonus" if event.accepted == event.drafted else "correction"
                )
            text.append(token.token)


def states(nodes: list[Node]) -> list[str]:
    return [node.state for node in nodes]


@pytest.mark.parametrize(("method", "options"), CASES)
def test_a_trace_is_sound(pair: Lab, method: tuple[str, dict[str, Any]], options: dict[str, Any]) -> None:
    name, knobs = method
    trace = pair.run(name, [0, 1, 2], max_new_tokens=40, **knobs, **options)
    assert identities(trace) == []
    check_nodes(pair, trace, Sampling(options.get("temperature", 0.0), 0, options.get("top_p", 1.0)))
    check_tokens(pair, trace)
    for event in trace.rounds:
        found = states(event.nodes)
        kept, lost = sum(s in ("accepted", "relaxed") for s in found), sum(s in ("rejected", "vetoed") for s in found)
        assert kept == event.accepted and lost <= 1 and kept + lost + found.count("discarded") == event.drafted
        blocked = [n.reason["after"] for n in event.nodes if n.reason is not None and n.reason["id"] == "untested"]
        assert all(after == event.accepted for after in blocked) or event is trace.rounds[-1]
    mentioned = {t for e in trace.rounds for n in e.nodes for t in (n.token, *(i for i, _ in n.top_target or ()))}
    assert mentioned <= trace.pieces.keys()
    first = [key for e in trace.rounds for key in e.pieces]
    assert len(first) == len(set(first))  # each id's text once


@pytest.mark.parametrize(("method", "options"), CASES)
def test_a_recorded_run_can_be_decided_again_without_the_model(
    pair: Lab, method: tuple[str, dict[str, Any]], options: dict[str, Any]
) -> None:
    name, knobs = method
    trace = Trace.loads(pair.run(name, [0, 1, 2], max_new_tokens=40, **knobs, **options).to_bytes())
    found = replay(trace, THRESHOLDS.get(trace.head.rule))
    assert found.agrees, found.faults[:3]
    tested = sum(s != "discarded" for e in trace.rounds for s in states(e.nodes))
    assert (found.checked, found.unknown) == (tested, 0)


def test_replay_sees_a_decision_that_does_not_follow(pair: Lab) -> None:
    trace = pair.run("sd", [0, 1, 2], max_new_tokens=40, temperature=1.0, seed=5)
    event = next(e for e in trace.rounds if e.accepted)
    event.nodes[0].state = "rejected"
    assert not replay(trace, THRESHOLDS.get(trace.head.rule)).agrees and identities(trace)


@pytest.mark.parametrize(("method", "options"), CASES)
def test_a_light_record_has_the_same_tokens(
    pair: Lab, method: tuple[str, dict[str, Any]], options: dict[str, Any]
) -> None:
    name, knobs = method
    full, light = (
        pair.run(name, [0, 1, 2], max_new_tokens=40, record=r, **knobs, **options) for r in ("full", "light")
    )
    assert light.token_ids == full.token_ids and light.text == full.text
    for a, b in zip(full.rounds, light.rounds, strict=True):
        assert (a.drafted, a.fed, a.levels, a.accepted, a.emitted, a.path, a.tcr) == (
            b.drafted,
            b.fed,
            b.levels,
            b.accepted,
            b.emitted,
            b.path,
            b.tcr,
        )
        assert not b.nodes and not b.pieces and not b.pruned
        assert [(t.origin, t.piece) for t in a.tokens] == [(t.origin, t.piece) for t in b.tokens]
    assert identities(light) == []


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method[0])
def test_a_text_that_ends_in_its_draft_is_counted_alike_in_both_records(
    pair: Lab, method: tuple[str, dict[str, Any]]
) -> None:
    """What the rule said of tokens behind the end was never written, so nobody counts it."""
    name, knobs = method
    names, ended = ("rejected", "accept_rate_tested", "rollback_rate", "accept_by_depth"), 0
    for seed, stop in itertools.product(range(6), "abc"):
        options = {"max_new_tokens": 20, "temperature": 1.0, "seed": seed, "stop": stop, **knobs}
        full, light = (pair.run(name, "ab", record=record, **options) for record in ("full", "light"))
        ours, theirs = full.metrics(), light.metrics()
        assert [ours[key] for key in names if theirs[key] is not None] == [
            theirs[key] for key in names if theirs[key] is not None
        ]
        states = Counter(node.state for event in full.rounds for node in event.nodes)
        assert [full.metrics()[key] for key in ("accepted", "rejected", "discarded")] == [
            sum(states[state] for state in kinds) for kinds in (ACCEPTED, REJECTED, ("discarded",))
        ]
        barred = [node for event in full.rounds for node in event.nodes if node.state != "discarded" and fired(node)]
        assert sum(outcome.penalised(event) or 0 for event in full.rounds) == len(barred)
        ended += full.rounds[-1].tokens[-1].node is not None
    assert ended or name == "ar"


def fired(node: Node) -> bool:
    """Whether a veto was asked for, of this token or of another before it."""
    reason = node.reason or {}
    return node.state == "vetoed" or reason.get("id") == "veto" or bool(reason.get("fired"))


def test_a_trace_survives_the_file(pair: Lab) -> None:
    trace = pair.run("easd", [0, 1, 2], max_new_tokens=30, tau_entropy=0.8, temperature=0.7)
    again = Trace.loads(trace.to_bytes())
    assert list(again.events) == list(trace.events) and again.to_bytes() == trace.to_bytes()


def test_entries_kept_are_those_asked_for(zoo: Zoo) -> None:
    lab = zoo.lab("llama", draft="noise")
    for top_n in (1, 7, 400):
        trace = lab.run("sd", [5, 9, 33], max_new_tokens=8, top_n=top_n, temperature=0.8)
        node = trace.rounds[0].nodes[0]
        assert node.top_target is not None and len(node.top_target) == min(top_n, 96) == len(node.top_draft or ())
        assert sum(p for _, p in node.top_target) <= 1 + 1e-5
    wide = lab.run("easd", [5, 9, 33], max_new_tokens=8, top_n=3, overlap_n=20)
    assert len(wide.rounds[0].nodes[0].top_target or ()) == 20  # the rule needs more than was asked for


VETO = {"tau_entropy": 0.8, "max_new_tokens": 60}
OPTIONS: list[dict[str, Any]] = [
    {"entropy_temperature": 3.0, "tau_entropy": 1.5},
    {"entropy_temperature": 0.5, "temperature": 1.0},
    {"penalize": "argmax", "temperature": 1.0, "seed": 5},
    {"penalize": "argmax", "temperature": 1.0, "seed": 5, "top_p": 0.9, "correction": "residual"},
    {"penalize": "argmax", "temperature": 0.9, "entropy_temperature": 2.0, "overlap_n": 2, "tau_entropy": 1.2},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_options_of_the_veto_can_be_decided_again(pair: Lab, options: dict[str, Any]) -> None:
    trace = Trace.loads(pair.run("easd", [0, 1, 2], **(VETO | options)).to_bytes())
    found = replay(trace, THRESHOLDS.get(trace.head.rule))
    tested = [node for event in trace.rounds for node in event.nodes if node.state != "discarded"]
    assert found.agrees and found.unknown == 0 and found.checked == len(tested), found.faults[:3]
    marks = [node for node in tested if node.reason and node.reason.get("fired")]
    vetoes = [node for node in tested if node.reason and node.reason["id"] == "veto"]
    assert trace.metrics()["penalised_rate"] == pytest.approx(100 * (len(marks) + len(vetoes)) / len(trace.token_ids))
    assert bool(marks) == (options.get("penalize") == "argmax") and vetoes and len(marks) + len(vetoes) < len(tested)


def test_moving_a_threshold_foretells_the_run_at_another_entropy_temperature(pair: Lab) -> None:
    base = VETO | {"entropy_temperature": 3.0, "tau_entropy": 1.5}
    trace = pair.run("easd", [0, 1, 2], **base)
    for tau in (1.3, 1.45, 1.52, 1.6):
        other = pair.run("easd", [0, 1, 2], **(base | {"tau_entropy": tau}))
        differ = (i for i, (a, b) in enumerate(zip(trace.token_ids, other.token_ids, strict=True)) if a != b)
        assert what_if(trace, THRESHOLDS[trace.head.rule], tau_entropy=tau).pos == next(differ, None)


def test_the_recorded_overlap_is_that_of_the_rule(pair: Lab) -> None:
    for n in (2, 3):
        for node in pair.run("easd", [0, 1, 2], max_new_tokens=20, overlap_n=n).rounds[0].nodes:
            assert node.top_draft and node.top_target
            assert node.overlap == len({t for t, _ in node.top_draft[:n]} & {t for t, _ in node.top_target[:n]}) / n
    assert pair.run("sd", [0, 1, 2], max_new_tokens=4).rounds[0].nodes[0].overlap == 1.0  # five of five


def test_metrics_of_real_runs_are_what_the_rounds_say(pair: Lab) -> None:
    for (name, knobs), options in itertools.product(METHODS, MODES):
        trace = pair.run(name, [0, 1, 2], max_new_tokens=40, **knobs, **options)
        m = trace.metrics()
        assert m["tokens"] == 40 == len(trace.token_ids) and m["rounds"] == len(trace.rounds)
        assert m["verify_tokens"] == m["drafted"] + m["rounds"]
        assert m["drafted"] == m["accepted"] + m["rejected"] + m["discarded"]
        assert sum(m["accepted_histogram"]) == m["rounds"]
        assert m["tau"] == pytest.approx(40 / m["rounds"])
        assert trace.end is not None
        assert math.isclose(1e3 * (m["draft_s"] + m["verify_s"] + m["other_s"]), some(trace.end.total_ms), rel_tol=1e-9)
        if name == "ar":
            assert m["drafted"] == 0 and m["tau"] == 1.0 and m["accept_rate_drafted"] is None
        if name == "easd" and not options:
            assert m["penalised_rate"] > 0


def test_a_discarded_tail_keeps_its_place(zoo: Zoo) -> None:
    """Draft tokens kept by the rule but cut by the end of the run count as discarded, not as accepted."""
    trace = zoo.lab("llama", draft="copy").run("sd", [5, 9, 33], max_new_tokens=40, gamma=6, stop=("zz",))
    assert identities(trace) == []
    copy = toy_lab(V=5, seed=2, draft="copy")
    plain = copy.run("ar", [0, 1], max_new_tokens=12).text
    cut = copy.run("sd", [0, 1], max_new_tokens=12, gamma=6, stop=(plain[:3],))
    assert states(cut.rounds[0].nodes) == ["accepted"] * 3 + ["discarded"] * 3 and cut.rounds[0].emitted == 3
    assert identities(cut) == []


def test_the_rank_of_the_last_accepted_token_is_of_those_that_were_written() -> None:
    """A draft that holds to its end, of which the text's end leaves a part: TCR is no rank of what came to nothing."""
    plain = toy_lab(V=5, seed=2, draft="copy").run("ar", "ab", max_new_tokens=30).token_ids
    place = next(i for i in range(2, 30) if plain[i] not in plain[:i])
    stop = [chr(97 + plain[place])]
    trace = toy_lab(V=5, seed=2, draft="copy").run("sd", "ab", max_new_tokens=30, gamma=place + 3, stop=stop)
    last = trace.rounds[-1]
    assert last.tcr == last.accepted == place + 1 < last.drafted == place + 3
