"""The loop: what a round commits, where a run ends, and that its times and counters add up."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import engine.loop
from engine.config import RunConfig
from engine.draft import Draft, chain
from engine.drafters.model import ModelDrafter
from engine.lab import Lab
from engine.methods import get_card
from engine.rules.exact import Exact
from engine.runs.running import begin
from engine.trace.events import Round, RunEnded, RunStarted
from engine.verify import Verdict
from engine.view import RoundView
from tests.engine.onward import onward
from tests.engine.toy import toy_lab
from tests.engine.zoo import Zoo

METHODS: list[tuple[str, dict[str, Any]]] = [
    ("ar", {}),
    ("sd", {"gamma": 4}),
    ("easd", {"tau_entropy": 0.8}),
    ("specdec", {}),
    ("cm_asd", {"k_max": 6}),
    ("topk_lossy", {"accept_k": 2}),
]


def check_limits(lab: Lab, limits: Sequence[int] = (1, 2, 3)) -> None:
    """One left means no draft at all; never a token too many, sampled or not."""
    for (name, knobs), limit, temperature in itertools.product(METHODS, limits, (0.0, 1.0)):
        trace = lab.run(name, "ab", max_new_tokens=limit, temperature=temperature, **knobs)
        assert len(trace.tokens) == limit and trace.end is not None and trace.end.reason == "limit"
        assert all(r.drafted <= limit - r.start - 1 for r in trace.rounds)
        assert trace.text == "".join(t.piece for t in trace.tokens)


def test_the_smallest_limits(toy: Lab) -> None:
    check_limits(toy)


@pytest.mark.parametrize(("name", "knobs"), METHODS, ids=[m[0] for m in METHODS])
def test_the_end_of_the_context(zoo: Zoo, name: str, knobs: dict[str, Any]) -> None:
    """A run stops when the positions are used up, and says so; drafts shrink in time."""
    lab = zoo.lab("llama", draft="noise", max_position_embeddings=24, layers=2)
    trace = lab.run(name, list(range(5, 15)), max_new_tokens=100, **knobs)
    assert trace.end is not None and trace.end.reason == "context" and len(trace.tokens) == 14
    if get_card(name).guarantee != "lossy":
        plain = lab.run("ar", list(range(5, 15)), max_new_tokens=14, record="light")
        assert trace.token_ids == plain.token_ids


def check_stops(reason: str) -> None:
    """A stop id or a stop string that spans tokens ends the text where it is complete, also inside an accepted span."""
    plain = toy_lab(V=5, seed=2, draft="copy").run("ar", "ab", max_new_tokens=30).token_ids
    cut = 0
    for place in range(1, 12):
        if reason == "eos":
            lab, options, want = (
                toy_lab(V=5, seed=2, stop=[plain[place]], draft="copy"),
                {},
                plain[: plain.index(plain[place]) + 1],
            )
        else:
            lab, text = toy_lab(V=5, seed=2, draft="copy"), "".join(chr(97 + t) for t in plain)
            mark = text[place : place + 3]
            options, want = {"stop": ("zzz", mark)}, plain[: text.index(mark) + 3]
        for gamma in (0, 3, 5):
            if reason == "eos":
                trace = onward(lab, "ab", 30, gamma)
            else:
                trace = lab.run("sd", "ab", max_new_tokens=30, gamma=gamma, **options)
            assert trace.token_ids == want and trace.end is not None and trace.end.reason == reason
            last = trace.rounds[-1]
            cut += last.emitted <= last.accepted < last.drafted
            assert last.accepted <= last.emitted and last.path == list(range(last.accepted))
    assert cut, "no stop fell inside a span"


@pytest.mark.parametrize("reason", ["eos", "stop"])
def test_stops_cut_the_span(reason: str) -> None:
    check_stops(reason)


@pytest.mark.parametrize(
    ("draft", "words"),
    [
        (chain((1, 5)), "drafted token 5 in round 0: the target has 0 to 4"),
        (chain((-1,)), "drafted token -1 in round 0"),
        (replace(chain((1,)), beside=chain((7,))), "drafted token 7"),
        (None, "gave None in round 0, which is not a Draft"),
        (chain((np.int64(1),)), "drafted np.int64(1) in round 0: a token is a plain"),  # type: ignore[arg-type]
        (chain((1.5,)), "drafted 1.5 in round 0: a token is a plain integer"),  # type: ignore[arg-type]
        (chain([1] * 5000), "drafted 5000 tokens in round 0, where there is space for"),
    ],
    ids=["beyond", "below", "beside", "none", "numpy", "float", "long"],
)
def test_a_draft_that_the_target_cannot_read_names_its_drafter(
    draft: Draft | None, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ModelDrafter, "propose", lambda *_: draft)
    end = toy_lab(V=5).run("sd", "ab", max_new_tokens=8).end
    assert end is not None and end.reason == "error" and str(end.message).startswith(f"The drafter 'model' {words}")


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (None, "gave None in round 0, which is not a Verdict"),
        (
            Verdict([0, 0], 1),
            "accepted the nodes [0, 0] in round 0, which are no path of the draft: 0 does not follow 0",
        ),
        (
            Verdict([1], 1),
            "accepted the nodes [1] in round 0, which are no path of the draft: 1 does not follow the root",
        ),
        (Verdict([0, 9], 1), "accepted the nodes [0, 9] in round 0"),
        (Verdict([-1], 1), "accepted the nodes [-1] in round 0"),
        (Verdict([0], 5), "emitted token 5 in round 0: the target has 0 to 4"),
    ],
    ids=["none", "twice", "unrooted", "beyond", "root", "foreign"],
)
def test_a_verdict_that_is_none_of_the_draft_names_its_rule(
    verdict: Verdict | None, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Exact, "decide", lambda *_: verdict)
    end = toy_lab(V=5).run("sd", "ab", max_new_tokens=8).end
    assert end is not None and end.reason == "error" and str(end.message).startswith(f"The rule 'exact' {words}")


def test_a_stop_string_may_be_long(toy: Lab) -> None:
    whole = toy.run("ar", [0, 1], max_new_tokens=120, seed=3, temperature=1.0).text
    assert len(whole) >= 110
    cut = toy.run("ar", [0, 1], max_new_tokens=120, seed=3, temperature=1.0, stop=whole[:100])
    assert cut.text == whole[:100] and cut.end is not None and cut.end.reason == "stop"


def test_a_stop_string_may_begin_in_the_response_only(toy: Lab) -> None:
    """The prompt is not searched."""
    text = toy.run("ar", "ab", max_new_tokens=12).text
    assert toy.run("ar", "ab" + "abab", max_new_tokens=3, stop=("abab",)).end.reason in ("limit", "stop")  # type: ignore[union-attr]
    first = toy.run("ar", "ab", max_new_tokens=12, stop=(text[:1],))
    assert first.text == text[:1]


def test_the_first_stop_wins(toy: Lab) -> None:
    whole = toy.run("ar", "ab", max_new_tokens=12)
    early = toy.run("ar", "ab", max_new_tokens=12, stop=(whole.text[6:9], whole.text[1:3]))
    assert len(early.tokens) <= 3


def test_a_prompt_of_one_token_needs_no_prefill(zoo: Zoo) -> None:
    lab = zoo.lab("llama", draft="noise")
    for name, knobs in METHODS[:2]:
        card = get_card(name)
        decoding = begin(lab, card, RunConfig(name, (7,), max_new_tokens=6, knobs=card.resolve(knobs)))
        events = decoding.run()
        first = next(events)
        assert isinstance(first, Round) and decoding.target.fed == first.fed


def test_times_come_from_the_clock_and_add_up(toy: Lab) -> None:
    """With a clock that ticks once a look, every share of a round is whole, and the total is their sum."""
    card = get_card("sd")
    decoding = begin(
        toy,
        card,
        RunConfig("sd", (0, 1, 2), max_new_tokens=12, knobs=card.resolve({"gamma": 3})),
    )
    decoding.clock = itertools.count().__next__
    events = list(decoding.run())
    *rounds, end = events
    assert isinstance(end, RunEnded) and end.prefill_ms == 1000
    for r in rounds:
        assert isinstance(r, Round) and (r.draft_ms, r.verify_ms, r.other_ms) == (1000, 1000, 1000)
    assert end.total_ms == 3000 * len(rounds)


def test_rounds_follow_each_other(toy: Lab) -> None:
    for (name, knobs), temperature in itertools.product(METHODS, (0.0, 0.9)):
        trace = toy.run(name, "abc", max_new_tokens=40, temperature=temperature, seed=7, **knobs)
        assert [r.index for r in trace.rounds] == list(range(len(trace.rounds)))
        assert [t.pos for t in trace.tokens] == list(range(len(trace.tokens)))
        for r in trace.rounds:
            assert r.tcr is None if not r.drafted else r.tcr == r.accepted  # a chain's rank is its depth (5.3)
            assert r.levels == r.drafted and len(r.path) == r.accepted and r.fed == r.drafted + 1


def check_uniforms(lab: Lab) -> None:
    """Node i of a round was compared with the i-th uniform that the round took; empty drafts take none."""
    from engine.streams import Streams

    trace = lab.run("sd", "abc", max_new_tokens=30, temperature=1.0, seed=11, gamma=3)
    stream = Streams(11)
    for r in trace.rounds:
        us = stream.uniforms("accept", r.drafted)
        for node, u in zip(r.nodes, us, strict=True):
            assert node.u == (None if node.state == "discarded" else u)
            if node.state in ("accepted", "rejected"):
                assert node.accept_prob is not None and (u < node.accept_prob) == (node.state == "accepted")


def test_every_uniform_is_written_down(toy: Lab) -> None:
    check_uniforms(toy)


def test_a_run_starts_with_its_head_and_ends_with_its_tail(toy: Lab) -> None:
    events = list(toy.stream("sd", "ab", max_new_tokens=5))
    assert isinstance(events[0], RunStarted) and isinstance(events[-1], RunEnded)
    assert all(isinstance(e, Round) for e in events[1:-1])


def test_a_run_that_gives_no_token_any_more_ends_in_a_fault(toy: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine.loop, "SILENT", 20)
    living = toy.living("ar")
    first, told = living.rule.decide, list[Verdict]()

    def decide(view: RoundView) -> Verdict:
        told.append(first(view) if len(told) < 3 else Verdict())
        return told[-1]

    monkeypatch.setattr(living.rule, "decide", decide)
    trace = toy.run("ar", "ab", max_new_tokens=5, reuse=living)
    assert trace.end is not None and trace.end.reason == "error" and len(trace.tokens) == 3
    assert trace.end.message.startswith("26 rounds in a row gave no token") and len(trace.rounds) == 3 + 20 + 5 + 1


@pytest.mark.parametrize("silent", [24, 25])
def test_a_search_may_settle_nothing_before_its_end(toy: Lab, monkeypatch: pytest.MonkeyPatch, silent: int) -> None:
    monkeypatch.setattr(engine.loop, "SILENT", 0)
    living = toy.living("ar")
    first, told = living.rule.decide, list[Verdict]()

    def decide(view: RoundView) -> Verdict:
        told.append(Verdict() if len(told) % (silent + 1) < silent else first(view))
        return told[-1]

    monkeypatch.setattr(living.rule, "decide", decide)
    assert len(toy.run("ar", "ab", max_new_tokens=25, reuse=living).tokens) == 25
