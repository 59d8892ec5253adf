import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app import recorded
from app.pooled import pooled
from app.presets import PresetCatalogue
from app.routes import open_traces
from app.state import Limits
from engine.analysis.reading import draft_tokens
from engine.errors import ConfigError, TraceError
from engine.files.presets import list_presets
from engine.methods import CARDS as METHODS
from engine.trace.events import Cell, Event, Round, RunEnded, RunStarted
from engine.trace.store import Trace, unpack
from tests.app.fakes import sentence
from tests.app.synthetic import CARDS, events
from tests.typed import some

ROOT = Path(__file__).parents[2]
LAST = 10**6  # a token of the prompt that no round has


def data(*names: str, tokens: int = 20) -> bytes:
    return b"".join(Trace(events(name, tokens)).to_bytes() for name in names)


def test_one_file_may_hold_several_runs():
    traces = recorded.parse(data("plain", "chain", "chain"), Limits())
    lanes = recorded.lanes(traces, CARDS, sentence)
    assert [lane["key"] for lane in lanes] == ["plain", "chain", "chain.2"]
    assert lanes[1]["card"]["title"] == "Chain of candidates"


def test_a_method_of_another_build_may_be_called_like_the_key_of_a_second_lane():
    head, *rest = events("chain", 4)
    assert isinstance(head, RunStarted)
    runs = [Trace([replace(head, method=method), *rest]) for method in ("chain", "chain.2", "chain")]
    assert [lane["key"] for lane in recorded.lanes(runs, CARDS, None)] == ["chain", "chain.2", "chain.3"]


def test_a_recorded_lane_has_the_defaults_of_its_pair():
    """The page tells with them which thresholds were set by hand."""
    head, *rest = events("chain", 4)
    assert isinstance(head, RunStarted)
    for pair, threshold in (("tiny", 1.347), ("nobody", 2.0)):
        run = Trace([replace(head, method="easd", preset=pair), *rest])
        (lane,) = recorded.lanes([run], METHODS, None)
        (knob,) = (knob for knob in lane["card"]["knobs"] if knob["name"] == "tau_entropy")
        assert knob["default"] == threshold and bool(knob["calibrated"]) == (pair == "tiny")


def test_gzipped_or_not():
    assert len(recorded.parse(gzip.compress(data("plain", "bush")), Limits())) == 2


def test_all_members_of_a_gzipped_file_are_read():
    members = b"".join(gzip.compress(data(name)) for name in ("plain", "chain", "bush"))
    assert [trace.head.method for trace in recorded.parse(members, Limits())] == ["plain", "chain", "bush"]
    whole = data("plain", "chain", "bush")
    assert unpack(members, len(whole)) == whole == unpack(gzip.compress(b"") * 50_000 + members, len(whole))
    with pytest.raises(TraceError, match="larger than"):
        unpack(members, len(whole) - 1)


def test_a_file_that_is_gzipped_twice_is_refused_with_its_name(service):
    """It would be counted as what it is before the second time."""
    twice = gzip.compress(gzip.compress(Trace(events("chain", 4)).to_bytes()))
    framed = b'{"file":"a.gz","bytes":%d}\n' % len(twice) + twice
    with pytest.raises(TraceError, match=r"a\.gz: The file is gzipped twice"):
        open_traces(service, None, framed)
    with pytest.raises(TraceError, match=r"a\.gz: The file is gzipped twice"):
        pooled(service, framed)
    with pytest.raises(TraceError, match="gzipped twice"):
        Trace.loads(twice)


def test_the_limit_of_draft_tokens_holds_for_all_runs_of_a_file():
    bush = data("bush")
    (trace,) = recorded.parse(bush, Limits())
    nodes = draft_tokens(trace)
    assert len(recorded.parse(bush * 3, Limits(max_nodes=3 * nodes))) == 3
    with pytest.raises(TraceError, match="runs of this file have more than"):
        recorded.parse(bush * 3, Limits(max_nodes=3 * nodes - 1))


def test_the_limit_of_draft_tokens_holds_for_all_files_that_are_opened_together(service):
    bush = data("bush")
    nodes = draft_tokens(recorded.parse(bush, Limits())[0])
    files = (b'{"file":"a.jsonl","bytes":%d}\n' % len(bush) + bush) * 3
    service.limits = replace(service.limits, max_nodes=3 * nodes)
    assert [lane["file"] for lane in open_traces(service, None, files)["lanes"]] == ["a.jsonl"] * 3
    service.limits = replace(service.limits, max_nodes=3 * nodes - 1)
    with pytest.raises(TraceError, match=r"^a\.jsonl: "):
        open_traces(service, None, files)
    service.limits = replace(service.limits, max_nodes=3 * nodes, max_lanes=2)
    with pytest.raises(TraceError, match="hold 3 runs; at most 2"):
        open_traces(service, None, files)


def test_an_unknown_method_keeps_what_its_trace_says():
    text = data("plain").replace(b'"method":"plain"', b'"method":"elsewhere"')
    lane = recorded.lanes(recorded.parse(text, Limits()), CARDS, sentence)[0]
    assert lane["card"]["title"] == "Plain decoding" and lane["card"]["guarantee"] == "reference"


@pytest.mark.parametrize(
    ("given", "limits", "says"),
    [
        (b"", Limits(), "no trace"),
        (b"hello\nworld\n", Limits(), "not JSON"),
        (gzip.compress(b"x" * 100)[:-20] + b"garbage of all kinds", Limits(), "damaged|JSON|no trace"),
        (b'{"kind":"run","schema":99}\n', Limits(), "schema 99"),
        (data("chain"), Limits(max_nodes=3), "more than 3 nodes"),
        (data("plain"), Limits(max_upload_bytes=100), "larger than"),
        (gzip.compress(b" " * 5_000_000), Limits(max_upload_bytes=1_000_000), "larger than"),
        (data(*["plain"] * 41), Limits(), "at most 40"),
    ],
)
def test_bad_files_are_refused_with_words(given, limits, says):
    with pytest.raises(TraceError, match=says):
        recorded.parse(given, limits)


def test_a_catalogue_reads_its_traces_once_and_knows_no_paths(preset_catalogue):
    body = json.loads(preset_catalogue.body("apples"))
    assert body["recorded"] == "apples" and len(body["lanes"]) == 2
    assert preset_catalogue.body("apples") is preset_catalogue.body("apples")
    assert preset_catalogue.first == "apples"
    presets = preset_catalogue._presets.values()
    assert PresetCatalogue(presets, CARDS, sentence, Limits(), first="live").first == "live"
    for name in ("../secrets", "live", ""):
        with pytest.raises(ConfigError):
            preset_catalogue.body(name)


def test_a_page_opens_with_a_case_or_with_the_first_one_of_a_pair() -> None:
    presets = list_presets()
    pairs = {preset.name: preset.pair for preset in presets}

    def first(name: str) -> str:
        return PresetCatalogue(presets, CARDS, sentence, Limits(), first=name).first

    assert first("easd_hurts") == "easd_hurts" and first("tiny") == first("")
    assert pairs[first("crossed")] == "crossed"
    presets = [preset for preset in presets if preset.pair != "crossed"]
    with pytest.raises(ConfigError, match="No case runs on the pair 'crossed'"):
        first("crossed")
    with pytest.raises(ConfigError, match="Unknown preset 'crosed'"):
        first("crosed")


def ends(case: str) -> dict[str, dict]:
    paths = sorted((ROOT / "presets" / "traces").glob(f"{case}-*.jsonl.gz"))
    traces = [trace for path in paths for trace in recorded.parse(path.read_bytes(), Limits())]
    return {lane["key"]: lane["events"][-1] for lane in recorded.lanes(traces, CARDS, None)}


def test_answers_are_checked_where_the_trace_knows_the_reference():
    found = ends("easd_hurts")
    assert found["ar"]["checked"] == {"right": True, "answer": "17", "reference": "17"}
    assert found["easd"]["checked"] == {"right": False, "answer": "7", "reference": "17"}
    assert all("checked" not in end for end in ends("code").values())  # its answers are run, not compared


def test_an_answer_that_was_cut_short_is_not_judged():
    (trace, *_others) = recorded.parse(data("plain"), Limits())
    head = replace(trace.head, extras={"task": "arithmetic", "answer": "38"})
    end = RunEnded("eos", text="The answer is 38.")
    assert some(recorded.answered(head, end)).right
    assert recorded.answered(head, replace(end, reason="stopped")) is None
    assert recorded.answered(trace.head, end) is None


def test_a_composed_method_in_an_old_file_has_the_card_of_its_parts() -> None:
    run = Trace(events("plain", 3))
    old: list[Event] = [replace(run.head, method="model+chain+exact", title="model+chain+exact"), *run.rounds]
    (lane,) = recorded.lanes([Trace(old)], CARDS, None)
    assert lane["card"]["title"] == "Draft model + chain + exact rule" and lane["card"]["knobs"]
    other: list[Event] = [replace(run.head, method="model+chain+own", title="Of others"), *run.rounds]
    (lane,) = recorded.lanes([Trace(other)], CARDS, None)
    assert lane["card"]["title"] == "Of others" and not lane["card"]["knobs"]


def test_each_decision_has_its_sentence_in_a_large_tree_those_that_were_tested():
    asked: list[tuple[Any, Any]] = []

    def why(_head: Any, _round: Any, index: Any, token: Any, pieces: Any) -> str:
        assert pieces is narrator._pieces and pieces[LAST] == "Once"
        asked.append((index, token))
        return f"{index} {token and token.pos}"

    narrator = recorded.Narrator(why)
    head, round_, *_ = events("chain", 4)
    assert isinstance(head, RunStarted) and isinstance(round_, Round) and len(round_.nodes) > 1
    narrator.message(replace(head, prompt_ids=[LAST], prompt_pieces=["Once"]))
    told = narrator.message(round_)
    assert [node["why"] for node in told["nodes"]] == [f"{i} None" for i in range(len(round_.nodes))]
    owned = [token.node for token in round_.tokens]
    assert [token["why"] for token in told["tokens"]] == [
        f"None {token.pos}" if node is None else f"{node} None"
        for node, token in zip(owned, round_.tokens, strict=True)
    ]
    node, states = round_.nodes[0], ["rejected", *["discarded"] * recorded.FEW]
    large = narrator.message(replace(round_, nodes=[replace(node, state=state) for state in states], tokens=[]))
    assert ["why" in node for node in large["nodes"]] == [state == "rejected" for state in states]
    asked.clear()
    placed = narrator.message(replace(round_, nodes=[], tokens=[], canvas=[Cell(1, 1), Cell(2, 0)]))
    assert [cell["why"] for cell in placed["canvas"]] == ["0 None", "1 None"] and asked == [(0, None), (1, None)]
