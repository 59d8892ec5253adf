"""Non-autoregressive systems in the one loop: rounds are iterations, no target is asked, and nothing says otherwise."""

import json
from dataclasses import replace
from typing import Any

import pytest

from engine.analysis.divergence import divergence
from engine.analysis.explain import why
from engine.analysis.identities import identities
from engine.analysis.proof import proof
from engine.analysis.replay import replay
from engine.analysis.tables import rounds_df
from engine.analysis.verdict import verdict
from engine.config import Sampling
from engine.errors import ConfigError, ModelMismatch, TraceError
from engine.lab import Lab
from engine.methods import CARDS, get_card
from engine.model.source import SourceSession
from engine.nat.canvas import Canvas
from engine.runs.assets import LOADERS, SYSTEMS, load_asset
from engine.trace.metrics import metrics
from engine.trace.store import Trace
from engine.trace.sums import Sums
from tests.engine.crossed import SOURCE, Crossed
from tests.engine.nat_made import CANVASES, TEXT, Played, playing
from tests.engine.zoo import EOS, PAD, Zoo


@pytest.fixture
def lab(crossed: Crossed) -> Lab:
    made = crossed.lab("bart", sigma=-1)
    playing(made, "cmlm")
    return made


@pytest.fixture
def trace(lab: Lab) -> Trace:
    return lab.run("cmlm", SOURCE, max_new_tokens=12)


def test_rounds_are_iterations_and_the_last_one_is_the_text(lab: Lab) -> None:
    system = playing(lab, "cmlm")
    trace = lab.run("cmlm", SOURCE, max_new_tokens=12, iterations=3, lengths=2)
    assert system.asked == (SOURCE, 12, {"iterations": 3, "lengths": 2})
    assert trace.token_ids == TEXT and trace.end is not None and trace.end.reason == "eos"
    assert [len(event.tokens) for event in trace.rounds] == [0, 0, 5]
    assert {token.origin for token in trace.tokens} == {"placed"} and trace.head.guarantee == "lossy"
    told = [(cell.iteration, cell.before) for cell in trace.rounds[1].canvas or ()]
    assert told == [(1, None), (2, 30), (1, None), (2, 40), (2, None)]
    assert [{name: n for name, n in event.extras.items() if name != "network_ms"} for event in trace.rounds] == [
        {"iteration": 1, "places": 5, "written": 4, "open": 1},
        {"iteration": 2, "places": 5, "written": 3, "open": 0},
        {"iteration": 3, "places": 5, "written": 1, "open": 0},
    ]
    assert [[cell.q for cell in event.canvas or ()] for event in trace.rounds] == [
        [0.9, 0.2, 0.6, 0.3, None],
        CANVASES[1].sure,
        CANVASES[2].sure,
    ]
    assert set(trace.head.models) == {"target", "cmlm"}


def test_the_target_is_never_asked_and_nothing_counts_as_a_draft(lab: Lab, trace: Trace) -> None:
    for event in trace.rounds:
        assert (event.fed, event.drafted, event.accepted, event.verify_ms) == (0, 0, 0, 0.0) and not event.nodes
        assert event.draft_ms == 0.0 < event.extras["network_ms"] <= event.other_ms and "early_ms" not in event.extras
    plain = lab.run("ar", SOURCE, max_new_tokens=12)
    found = metrics(trace, plain)
    assert (found["draft_s"], found["verify_s"]) == (0.0, 0.0) and 0 < found["network_s"] <= found["other_s"]
    assert (found["iterations"], found["rounds"], found["tau"], found["cost_ratio"]) == (3, 0, None, None)
    assert (found["drafted"], found["accept_rate_drafted"], found["rollback_rate"]) == (0, None, None)
    assert found["speedup"] > 0 and metrics(plain)["iterations"] == 0
    with pytest.raises(ConfigError, match="another distribution"):
        metrics(plain, trace)
    told = verdict(trace, plain)
    assert told.cause == "written in place" and "3 iterations, and the target was never asked" in told.why
    shares = (told.draft_share, told.network_share, told.other_share)
    spent = sum(event.other_ms for event in trace.rounds) / 1e3
    assert shares == pytest.approx((0.0, found["network_s"] / spent, 1 - found["network_s"] / spent))
    parted = divergence(plain, trace)
    assert parted is not None and parted.cause == "written in place"
    shown = proof("cmlm", {"ar": plain, "cmlm": trace}, {"ar": "AR", "cmlm": "CMLM"}, {"canvas": None})
    assert "wrote without the target" in shown.text and shown.checked == 15 and not shown.faults
    assert list(rounds_df(trace)["x_iteration"]) == [1, 2, 3]


def test_an_older_trace_is_told_as_one_of_today(trace: Trace) -> None:
    """It has the time of the network as the draft's; whoever reads it finds it where it belongs, and as long a round."""
    lines = [json.loads(line) for line in trace.to_lines()]
    for line in lines[1:-1]:
        spent = line["extras"].pop("network_ms")
        line["draft_ms"], line["other_ms"] = spent, line["other_ms"] - spent
    found = Trace.loads("\n".join(json.dumps(line) for line in lines))
    assert metrics(found)["network_s"] == metrics(trace)["network_s"] and metrics(found)["draft_s"] == 0.0
    assert [event.other_ms for event in found.rounds] == pytest.approx([event.other_ms for event in trace.rounds])
    assert list(Trace.loads(found.to_bytes()).to_lines()) == list(found.to_lines())
    older = Sums.of_run(trace).to_json()
    older["draft_ms"] = older.pop("network_ms")
    older["other_ms"] -= older["draft_ms"]
    told, now = Sums.from_json(older).numbers(), Sums.of_run(trace).numbers()
    assert [told[name] for name in ("draft_s", "network_s", "other_s")] == pytest.approx(
        [now[name] for name in ("draft_s", "network_s", "other_s")]
    )


def test_no_pass_of_the_target_runs_and_a_method_that_lives_on_begins_anew(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("the target was asked")

    monkeypatch.setattr(SourceSession, "forward", refused)
    drawn = list(lab.trajectories("cmlm", SOURCE, 2, max_new_tokens=12))
    assert [trace.token_ids for trace in drawn] == [TEXT, TEXT]
    assert [event.extras["iteration"] for event in drawn[1].rounds] == [1, 2, 3]


def test_sentences_tell_what_each_iteration_did(trace: Trace) -> None:
    def said(round_: int, place: int) -> str:
        return why(trace.head, trace.rounds[round_], place, pieces=trace.pieces)

    piece = {token: f"`{trace.pieces[token]}`" for token in (7, 9, 12, 30, 40)}
    assert said(0, 1) == f"Written in iteration 1: {piece[30]} (its model gives it 0.20)."
    assert said(0, 4) == "Open: after iteration 1 nothing stands here."
    assert said(1, 0) == f"Left as it was: {piece[12]} stands here since iteration 1 (its model gives it 0.90)."
    assert said(1, 1) == f"Rewritten in iteration 2: {piece[7]} (its model gives it 0.70) in place of {piece[30]}."
    assert said(1, 3) == f"Written again in iteration 2: {piece[40]} as before (its model gives it 0.50)."
    rounds = [why(trace.head, event) for event in trace.rounds]
    assert rounds[0] == "Iteration 1 writes 4 of 5 places and leaves 1 open. No target was asked."
    assert rounds[2] == "Iteration 3 writes 1 of 5 places; the text of 5 tokens is whole. No target was asked."
    last = why(trace.head, trace.rounds[2], token=3, pieces=trace.pieces)
    assert last.startswith(f"Rewritten in iteration 3: {piece[9]}") and last.endswith("No target looked at it.")


def test_a_trace_is_followed_from_canvas_to_canvas(trace: Trace) -> None:
    assert not identities(trace)
    found = replay(trace, None)
    assert found.agrees and found.checked == 15 and "nothing was accepted or rejected" in found.told
    assert Trace.loads(trace.to_bytes()).rounds == trace.rounds


@pytest.mark.parametrize(
    ("round_", "change", "fault"),
    [
        (1, {"place": 0, "token": 9}, "place 0 was not written"),
        (1, {"place": 1, "before": 31}, "place 1 names 31"),
        (1, {"place": 2, "iteration": 2}, "says written 3 and holds 4"),
        (2, {"place": 3, "token": 8}, "emits other tokens"),
        (2, {"extras": {"iteration": 4}}, "where 3 is due"),
        (0, {"extras": {"open": 0}}, "says open 0 and holds 1"),
    ],
)
def test_what_does_not_follow_is_told(trace: Trace, round_: int, change: dict[str, Any], fault: str) -> None:
    event = trace.rounds[round_]
    assert event.canvas is not None
    event.extras = {**event.extras, **change.pop("extras", {})}
    if "place" in change:
        place = change.pop("place")
        event.canvas[place] = replace(event.canvas[place], **change)
    assert any(fault in told for told in replay(trace, None).faults)


@pytest.mark.parametrize(("field", "value"), [("token", 96), ("iteration", 3), ("q", 1.5), ("before", -1)])
def test_a_file_may_claim_only_what_can_be(trace: Trace, field: str, value: float) -> None:
    lines = [json.loads(line) for line in trace.to_bytes().splitlines()]
    lines[2]["canvas"][1][field] = value
    with pytest.raises(TraceError, match=field):
        Trace.loads("\n".join(map(json.dumps, [*lines, ""])).encode())


def test_a_light_trace_keeps_the_counts(lab: Lab) -> None:
    light = lab.run("cmlm", SOURCE, max_new_tokens=12, record="light")
    assert light.token_ids == TEXT and all(event.canvas is None for event in light.rounds)
    assert light.rounds[1].extras["written"] == 3 and not identities(light)
    assert "without what its iterations left" in why(light.head, light.rounds[2], token=0)
    with pytest.raises(ConfigError, match="recorded lightly"):
        replay(light, None)


def test_a_text_ends_with_its_canvas_whatever_stands_last(lab: Lab) -> None:
    """A length that was predicted wrong leaves no end token; a limit and a stop cut it, and one place may be enough."""
    open_ended = [Canvas([12, 7, 40], [0.5] * 3, [True] * 3, final=True)]
    playing(lab, "glat_ctc", open_ended)
    whole = lab.run("glat_ctc", SOURCE, max_new_tokens=12)
    assert whole.token_ids == [12, 7, 40] and whole.end is not None and whole.end.reason == "eos"
    cut = lab.run("glat_ctc", SOURCE, max_new_tokens=2)
    assert cut.token_ids == [12, 7] and cut.end is not None and cut.end.reason == "limit"
    assert replay(cut, None).agrees and not identities(cut)
    playing(lab, "glat_ctc", [Canvas([], [], [], final=True)])
    nothing = lab.run("glat_ctc", SOURCE, max_new_tokens=4)
    assert nothing.token_ids == [] and nothing.end is not None and nothing.end.reason == "eos"


def test_places_of_another_length_begin_anew(lab: Lab) -> None:
    """What is left of an alignment once blanks and repetitions fall out has places of its own."""
    aligned = [
        Canvas([12, 12, PAD, 7, EOS], [0.9, 0.8, 0.4, 0.9, 0.9], [True] * 5),
        Canvas([12, 7, EOS], [0.9, 0.9, 0.9], [False] * 3, final=True),
    ]
    playing(lab, "glat_ctc", aligned)
    trace = lab.run("glat_ctc", SOURCE, max_new_tokens=12)
    assert [cell.iteration for cell in trace.rounds[0].canvas or ()] == [1, 1, 0, 1, 1]
    assert [cell.iteration for cell in trace.rounds[1].canvas or ()] == [2, 2, 2] and replay(trace, None).agrees


def test_a_system_without_a_text_is_a_fault(lab: Lab) -> None:
    playing(lab, "cmlm", CANVASES[:2])
    trace = lab.run("cmlm", SOURCE, max_new_tokens=12)
    assert trace.end is not None and trace.end.reason == "error" and "without a text" in trace.end.message


def test_who_cannot_run_says_why(zoo: Zoo, lab: Lab) -> None:
    reasons = zoo.lab("llama", draft=None).unavailable()
    for name in SYSTEMS:
        assert "runs on encoder-decoder models: its network reads a source" in reasons[name]
    assert "cmlm" not in lab.unavailable() and "needs a network of its own (dat)" in lab.unavailable()["dat"]
    with pytest.raises(ConfigError, match="one text at a time"):
        lab.run_batch("cmlm", [SOURCE, SOURCE])
    assert lab.target.seam is not None
    with pytest.raises(ConfigError, match="cannot go on from a beginning"):
        lab.run("cmlm", [*SOURCE, *lab.target.seam.opening, 12, 7])


def test_temperature_does_nothing_to_it_and_a_composed_one_is_the_same(lab: Lab) -> None:
    warm = lab.run("cmlm", SOURCE, max_new_tokens=12, temperature=0.9, seed=3)
    assert warm.token_ids == TEXT and warm.head.sampling == vars(Sampling(0.9))
    composed = lab.compose(drafter="cmlm", shape="canvas", rule="canvas", iterations=2)
    assert composed.writer == "nat" and lab.run(composed, SOURCE, max_new_tokens=12).token_ids == TEXT
    with pytest.raises(ConfigError, match="cannot fill shape"):
        lab.compose(drafter="cmlm", shape="chain", rule="exact")


def test_every_system_has_a_card_and_an_asset_of_its_name() -> None:
    cards = [card for card in CARDS if card.family == "non-autoregressive"]
    assert tuple(card.name for card in cards) == SYSTEMS
    assert all(card.needs == (card.name,) and card.writer == "nat" and card.guarantee == "lossy" for card in cards)
    assert [knob.name for knob in get_card("cmlm").knobs] == ["iterations", "lengths"]


def test_a_role_takes_no_other_system(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LOADERS, "dat", lambda path, target: Played("cmlm"))
    with pytest.raises(ModelMismatch, match="holds the system 'cmlm', and 'dat' was asked for"):
        load_asset("dat", "made", lab.target)
