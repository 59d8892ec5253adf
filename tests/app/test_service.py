import json
import random
import threading
import time
from dataclasses import replace
from itertools import pairwise

import gradio as gr
import pytest

from app import request as requests
from app import service as module
from app.build import Handlers
from app.request import Request
from app.rounds import Visitor
from app.service import Service
from app.state import Events, RunLog, RunStore
from engine.errors import AssetError, ConfigError
from engine.runs.findings import Offered
from engine.trace.store import Trace, event_from_json
from tests.app.fakes import FakeLab, sentence
from tests.app.synthetic import BY_NAME, CARDS
from tests.app.test_turnstile import until


def ask(service: Service, lanes=("plain", "chain", "wary"), **more) -> Request:
    given = {"prompt": "Once", "lanes": list(lanes), "max_new_tokens": 24, "id": requests.fresh_id(), **more}
    return requests.build(given, service.cards, service.models, service.limits)


def decoded(service: Service, request: Request) -> dict[str, list]:
    *_, last = service.decode(request)
    return last


def events_of(messages) -> list:
    return [pair for message in messages for pair in message.get("ev", ())]


def test_messages_come_in_order_without_gaps(service):
    messages = list(service.run(ask(service)))
    assert messages[0]["phase"] == "loading"
    assert [lane["key"] for lane in messages[1]["lanes"]] == ["plain", "chain", "wary"]
    heads = {key: event for key, event in events_of(messages) if event["kind"] == "run"}
    for lane in messages[1]["lanes"]:
        head = heads[lane["key"]]
        assert lane["knobs"] == head["knobs"] and lane["extras"] == {"lanes": 3}
        assert head["extras"]["lanes"] == 3
    seen = 0
    for message in messages[2:]:
        assert message["seq"] == seen
        seen += len(message.get("ev", ()))
    assert messages[-1]["done"] is True


def test_lanes_take_turns_one_round_each(service):
    order = [key for key, event in events_of(service.run(ask(service, ("plain", "chain")))) if event["kind"] == "round"]
    together = order[: 2 * order.count("chain")]
    assert all(a != b for a, b in pairwise(together)), "two rounds of one lane in a row while the other is still open"


def test_a_part_that_fails_ends_its_lane_and_no_other(service, lab, monkeypatch, caplog):
    """A drafter from outside that names a token of no vocabulary, for one: torch's words, which are for the log."""
    whole = lab.stream

    def stream(method, **settings):
        for number, event in enumerate(whole(method, **settings)):
            if method == "chain" and number == 3:
                raise IndexError("index out of range in self")
            yield event

    monkeypatch.setattr(lab, "stream", stream)
    ends = {key: event for key, event in events_of(service.run(ask(service))) if event["kind"] == "end"}
    assert {key: end["reason"] for key, end in ends.items()} == {"plain": "limit", "chain": "error", "wary": "limit"}
    assert ends["chain"]["message"].startswith("The lab failed (IndexError).") and ends["chain"]["text"]
    (line,) = (record for record in caplog.records if record.exc_info)
    assert line.getMessage() == "chain failed" and "out of range" in str(line.exc_info[1])


def test_the_verdict_says_how_many_lanes_took_turns(service):
    for lanes, how in (
        (("plain", "chain", "wary"), "(once, 3 lanes in turns, so only roughly, "),
        (("plain", "chain"), "(once, "),
    ):
        *_, last = service.run(ask(service, lanes))
        line = last["compared"]["verdicts"]["chain"]["line"]
        assert how in line and ("turns" in line) == (len(lanes) > 2)


def test_threads_are_chosen_before_each_request_and_not_within_it(service, lab):
    """A comparison keeps one number of threads, or its ratios would compare numbers of threads."""
    for number in (1, 2):
        list(service.run(ask(service)))
        assert lab.settled == number


def test_each_lane_is_a_whole_trace_with_sentences(service):
    for key, events in decoded(service, ask(service)).items():
        trace = Trace(event_from_json(event) for event in events)
        assert len(trace.tokens) == 24
        assert trace.end is not None and trace.end.reason == "limit"
        assert trace.end.text == "".join(token.piece for token in trace.tokens)
        rounds = [event for event in events if event["kind"] == "round"]
        assert all(item["why"] for event in rounds for item in [*event["nodes"], *event["tokens"]]), key


def test_stop_ends_every_lane_within_one_round_and_leaves_whole_traces(service, lab):
    request = ask(service, max_new_tokens=400)
    lanes: dict[str, list] = {}
    for message in service.run(request):
        for key, event in message.get("ev", ()):
            lanes.setdefault(key, []).append(event)
        if sum(map(len, lanes.values())) >= 9 and not service.runs.get(request.run).stopped.is_set():
            before = {key: len(events) for key, events in lanes.items()}
            assert service.stop(request.run)
    assert lab.open_streams == []
    for key, events in lanes.items():
        trace = Trace(event_from_json(event) for event in events)
        assert trace.end is not None and trace.end.reason == "stopped"
        assert trace.end.total_ms == pytest.approx(
            sum(one.draft_ms + one.verify_ms + one.other_ms for one in trace.rounds)
        )
        assert trace.end.text == "".join(token.piece for token in trace.tokens)
        assert len(events) <= before[key] + 2


def test_rooms_are_made_ahead_and_not_beside_a_run(service, monkeypatch):
    monkeypatch.setattr(module, "IDLE", 0.01)
    made, asked = [], threading.Event()

    def fails():
        made.append("one")
        raise AssetError("a recorded file is damaged")

    plain = type(service._device).idle.fget
    monkeypatch.setattr(type(service._device), "idle", property(lambda line: (plain(line), asked.set())[0]))
    with service.line(Visitor("somebody")) as ticket:
        list(ticket.waits())
        service.warm((fails, lambda: made.append("two")), after=0)
        assert asked.wait(20) and not made
    until(lambda: made == ["one", "two"])
    service.warm((fails,), after=0)
    assert service.methods(service.first) and made == ["one", "two"], "once"


def test_closing_the_page_frees_the_engine(service, lab):
    run = service.run(ask(service))
    for message in run:
        if "ev" in message:
            break
    assert lab.open_streams
    run.close()
    assert lab.open_streams == []


@pytest.mark.parametrize("keeps", [True, False])
def test_whoever_leaves_with_the_first_message_leaves_no_run_that_goes_on(service, keeps):
    """Such runs would never be forgotten, and those that are over would be too soon, since so many are kept."""
    request = ask(service)
    run = service.run(request, keeps)
    next(run)
    run.close()
    log = service.runs.get(request.run)
    assert (log is not None and log.ended is not None) if keeps else log is None


def test_a_lane_that_fails_does_not_end_the_others():
    class Late(FakeLab):
        def stream(self, method, **settings):
            stream = super().stream(method, **settings)
            if method != "chain":
                yield from stream
                return
            for i, event in enumerate(stream):
                if i == 3:
                    raise ConfigError("Out of patience.")
                yield event

    service = Service(CARDS, {"made-up": Late}, sentence)
    traces = decoded(service, ask(service))
    assert traces["chain"][-1] | {"total_ms": 0} == traces["chain"][-1] | {
        "reason": "error",
        "message": "Out of patience.",
        "total_ms": 0,
    }
    assert traces["chain"][-1]["text"]
    assert traces["plain"][-1]["reason"] == "limit"


def test_an_error_at_the_start_is_raised_before_anything_runs(service):
    """And before any lane is named, which would clear what the page shows."""
    run = service.run(ask(service, ("copycat",)))
    with pytest.raises(ConfigError, match="longer prompt"):
        for message in run:
            assert "lanes" not in message


def test_a_lane_that_cannot_start_ends_alone(service):
    traces = decoded(service, ask(service, ("copycat", "plain")))
    (end,) = traces["copycat"]
    assert end["kind"] == "end" and end["reason"] == "error" and "longer prompt" in end["message"]
    assert traces["plain"][-1]["reason"] == "limit"


def test_what_a_page_missed_can_be_asked_for(service):
    request = ask(service)
    everything = events_of(service.run(request))
    again = service.resync(request.run, 5)
    assert again is not None and again["ev"] == everything[5:] and again["done"]
    assert service.resync("0" * 32, 0) is None


def test_a_run_that_ends_while_events_are_read_is_not_over_for_who_asked(service, monkeypatch):
    """Else a page would take it for whole, without its last events."""
    log = service.runs.open("a" * 32)
    log.add(Events([("plain", {"n": 1})]))
    since = log.since

    def late(have):
        found = since(have)
        log.add(Events([("plain", {"n": 2})]))
        service.runs.close("a" * 32)
        return found

    monkeypatch.setattr(log, "since", late)
    first = service.resync("a" * 32, 0)
    monkeypatch.undo()
    then = service.resync("a" * 32, 1)
    assert first["ev"] == [("plain", {"n": 1})] and not first["done"]
    assert then["ev"] == [("plain", {"n": 2})] and then["done"]


def test_two_visitors_never_share_a_run(service):
    first, second = ask(service), ask(service, seed=7)
    with pytest.raises(ConfigError, match="in use"):
        a, b = service.run(first), service.run(Request(**{**second.__dict__, "run": first.run}))
        next(a)
        next(b)
    assert service.stop(second.run) is False


def test_models_are_loaded_once_and_only_for_a_run(service, lab):
    assert all(card["unavailable"] == "" for card in service.methods())
    assert lab.loads == 0
    list(service.run(ask(service)))
    list(service.run(ask(service)))
    assert lab.loads == 1
    reasons = {card["name"]: card["unavailable"] for card in service.methods()}
    assert reasons["copycat"] and not reasons["plain"]


def test_what_models_cannot_run_is_known_once_they_were_looked_at(lab):
    def foresee(name):
        if name == "gone":
            raise AssetError("The files are missing.")
        return (
            Offered("copycat", "Copycat", "It needs more.", ""),
            Offered("bush", "Bush", "", "Drafts a chain here."),
        )

    service = Service(CARDS, dict.fromkeys(("gone", "made-up", "other"), lambda: lab), foresee=foresee)
    service.foresee()
    cards = {card["name"]: card for card in service.methods("made-up")}
    assert (cards["copycat"]["unavailable"], cards["copycat"]["here"]) == ("It needs more.", "")
    assert (cards["bush"]["unavailable"], cards["bush"]["here"]) == ("", "Drafts a chain here.")
    assert not any(card["unavailable"] for card in service.methods("gone")) and not lab.loads
    service.lab("made-up")
    assert service.methods("made-up") != list(cards.values())  # what was loaded has the last word


def test_what_loaded_models_run_otherwise_is_said_of_those_that_are_named_else_of_the_first(service, lab):
    bush, copycat = BY_NAME["bush"], BY_NAME["copycat"]
    assert (service.hindrance(copycat), service.otherwise(bush)) == ("", ""), "they are not loaded yet"
    service.lab("made-up")
    for models in ("", "made-up"):
        assert service.hindrance(copycat, models).startswith("It needs a longer prompt")
        assert service.otherwise(bush, models) == "Drafts a chain here."
        assert (service.hindrance(bush, models), service.otherwise(copycat, models)) == ("", "")


def test_runs_are_forgotten():
    now = [0.0]
    store = RunStore(keep_runs=2, keep_seconds=10, clock=lambda: now[0])
    for wrong in ("g" * 32, "0" * 31, "0" * 31 + "g"):
        with pytest.raises(ConfigError, match="32 hexadecimal digits"):
            store.open(wrong)
    ids = [f"{i:032x}" for i in range(4)]
    for run in ids[:3]:
        store.open(run)
        store.close(run)
    assert store.get(ids[0]) is None and store.get(ids[2]) is not None
    now[0] = 11
    store.open(ids[3])
    assert store.get(ids[2]) is None


def test_the_oldest_finished_run_makes_room_as_another_begins():
    store = RunStore(keep_runs=2)
    ids = [finished(store, number) for number in range(2)]
    store.open("f" * 32)
    assert [store.get(run) is not None for run in (*ids, "f" * 32)] == [False, True, True]


def test_a_page_that_asks_while_events_are_written_down_gets_those_before():
    class Asked(list):
        """Behind each entry somebody asks, as another thread might."""

        def append(self, entry):
            super().append(entry)
            found.append([event["n"] for _, event in log.since(0)])

    log, found = RunLog(), list[list[int]]()
    log._parts, log._begins = Asked(), Asked()
    for n in (1, 3, 5):
        log.add(Events([("chain", {"n": n}), ("chain", {"n": n + 1})]))
    assert found == [[], [1, 2], [1, 2], [1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 4, 5, 6]]


def finished(store: RunStore, number: int, size: int = 0, keeps: bool = True) -> str:
    run = f"{number:032x}"
    log = store.open(run, keeps)
    log.add(Events([("plain", {"text": random.Random(number).randbytes(size).hex()})]))
    store.close(run)
    return run


def test_finished_runs_are_held_up_to_so_many_bytes_the_newest_last():
    store = RunStore(keep_bytes=100_000)
    ids = [finished(store, number, 30_000) for number in range(5)]
    assert [store.get(run) is not None for run in ids] == [False, False, False, True, True]
    sizes = [log.size for run in ids if (log := store.get(run))]
    assert sum(sizes) <= 100_000 and min(sizes) > 30_000
    ids += [finished(store, 5, 200_000)]
    assert store.get(ids[-1]) is None, "more than all may have"


def test_a_run_that_goes_on_is_kept_whatever_it_takes():
    store = RunStore(keep_runs=1, keep_seconds=0, keep_bytes=1000)
    log = store.open("f" * 32)
    log.add(Events([("plain", {"text": random.Random(0).randbytes(9000).hex()})]))
    for number in range(3):
        finished(store, number)
    assert store.get("f" * 32) is log and not any(store.get(f"{number:032x}") for number in range(3))


def test_finished_runs_are_forgotten_though_nobody_opens_another():
    store = RunStore(keep_seconds=0.2)
    first = finished(store, 0)
    time.sleep(0.12)
    second = finished(store, 1)
    assert store.get(first) and store.get(second)
    until(lambda: store.get(first) is None)
    assert store.get(second), "not with the first"
    until(lambda: store.get(second) is None)


def test_of_finished_runs_that_are_left_the_next_to_go_is_waited_for(monkeypatch):
    class Timer:
        def __init__(self, seconds, look):
            self.seconds, self.look = seconds, look
            timers.append(self)

        def start(self):
            """Its time comes when the test says so."""

    timers, now = list[Timer](), [0.0]
    monkeypatch.setattr("app.state.threading.Timer", Timer)
    store, runs = RunStore(keep_seconds=10, clock=lambda: now[0]), list[str]()
    for now[0] in (0.0, 1.0, 3.0):
        runs.append(finished(store, len(runs)))
    for now[0] in (10.0, 11.0, 13.0):
        timers[-1].look()
        assert store.get(runs.pop(0)) is None and all(map(store.get, runs))
    assert [timer.seconds for timer in timers] == [10.0, 1.0, 2.0]


def test_methods_of_models_that_nobody_has_are_refused(service, preset_catalogue):
    """Not those of the first models in their place."""
    do = Handlers(service, preset_catalogue, sentence)
    assert do.methods() == do.methods(service.first)
    with pytest.raises(gr.Error, match="Unknown models 'nope'"):
        do.methods("nope")


def test_runs_of_the_api_keep_nothing_and_can_be_stopped(service, preset_catalogue):
    said = Handlers(service, preset_catalogue, sentence).run(["plain", "chain"], "Once", max_new_tokens=200)
    ends = []
    for text in said:
        message = json.loads(text)
        log = service.runs.get(message["id"])
        if message.get("ev"):
            assert log.size == 0 and service.resync(message["id"], 0) is None
            service.stop(message["id"])
            ends += [event for _, event in message["ev"] if event["kind"] == "end"]
    assert [end["reason"] for end in ends] == ["stopped", "stopped"]
    assert service.runs.get(message["id"]) is None


@pytest.mark.parametrize(
    ("knobs", "gammas"),
    [
        ({}, [4, 4]),
        ({"chain": {"gamma": 2}}, [2, 2]),
        ({"chain.2": {"gamma": 2}}, [4, 2]),
        ({"chain": {"gamma": 2}, "chain.2": {"gamma": 6}}, [2, 6]),
        ({"chain": {"gamma": 2}, "chain.2": {}}, [2, 4]),
    ],
)
def test_a_method_that_comes_twice_has_its_knobs_by_lane_in_the_api(service, preset_catalogue, knobs, gammas):
    do = Handlers(service, preset_catalogue, sentence)
    *_, last = do.decode(["chain", "plain", "chain"], "Once", max_new_tokens=8, knobs=knobs)
    assert [last[key][0]["knobs"]["gamma"] for key in ("chain", "chain.2")] == gammas


def test_knobs_of_a_lane_that_is_not_there_are_refused(service, preset_catalogue):
    do = Handlers(service, preset_catalogue, sentence)
    with pytest.raises(gr.Error, match=r"Unknown lane with knobs 'chain.3'. Did you mean 'chain(.2)?'"):
        list(do.decode(["chain", "chain"], "Once", knobs={"chain.3": {"gamma": 2}}))


def test_what_was_missed_is_what_was_sent(service, preset_catalogue):
    service._clock = iter(range(10_000)).__next__  # a message an event
    asked = {"prompt": "Ünïcode 🔭\u2028", "lanes": ["plain", "chain"], "max_new_tokens": 9, "id": requests.fresh_id()}
    told = [json.loads(text) for text in Handlers(service, preset_catalogue, sentence).stream(json.dumps(asked))]
    everything = [tuple(pair) for pair in events_of(told)]
    assert len(everything) > 9 and all(len(message.get("ev", "1")) == 1 for message in told)
    for have in (0, 1, 7, len(everything) - 1, len(everything), len(everything) + 3):
        assert service.resync(asked["id"], have)["ev"] == everything[have:]
    assert service.resync(asked["id"], -1) is None


def test_messages_are_json(service):
    for message in service.run(ask(service)):
        json.dumps(message, allow_nan=False)


def test_stop_from_another_thread(lab):
    lab.pause = 0.01
    service = Service(CARDS, {"made-up": lambda: lab})
    request = ask(service, max_new_tokens=500)
    threading.Timer(0.1, service.stop, [request.run]).start()
    ends = [event for _key, event in events_of(service.run(request)) if event["kind"] == "end"]
    assert {event["reason"] for event in ends} == {"stopped"}


def test_a_run_that_waits_says_where_it_stands_and_may_be_stopped(service, lab):
    lab.pause = 0.005
    list(service.run(ask(service)))
    request = ask(service)
    run = service.run(request)
    with service.line(Visitor("other")) as ticket:
        assert list(ticket.waits()) == []
        assert next(run)["phase"] == "queued"
        told = next(run)
        assert told["phase"] == "queued" and told["line"]["place"] == 1 and told["line"]["seconds"] >= 0
        assert service.stop(request.run)
        (last,) = run
    assert last["done"] and last["compared"] is None and service._device.waiting == 0


def test_lanes_are_named_once_the_run_begins(service):
    """Until then the page goes on showing what it shows."""
    run = service.run(ask(service))
    with service.line(Visitor("other")) as ticket:
        assert list(ticket.waits()) == []
        assert [set(next(run)) - {"id", "seq"} for _ in range(3)] == [{"phase"}, {"phase", "line"}, {"phase", "line"}]
    assert [lane["key"] for lane in next(message for message in run if "lanes" in message)["lanes"]]


def test_a_run_tells_where_it_looks_where_its_models_can(service, lab, monkeypatch):
    asked = []
    stream = lab.stream
    monkeypatch.setattr(lab, "stream", lambda method, **given: asked.append(given["looks"]) or stream(method, **given))
    decoded(service, ask(service, ("plain",)))
    lab.looks = 3
    decoded(service, ask(service, ("plain",)))
    decoded(service, replace(ask(service, ("plain",)), record="light"))
    assert asked == [0, 3, 0]


def test_models_are_of_a_family_before_they_are_loaded_where_their_files_are_here():
    lab = FakeLab(family="encoder-decoder")
    service = Service(CARDS, {"tiny": FakeLab, "elsewhere": lambda: lab}, sentence)
    assert (service.family("tiny"), service.family("elsewhere")) == ("decoder-only", None)
    service.lab("elsewhere")
    assert service.family("elsewhere") == "encoder-decoder"
