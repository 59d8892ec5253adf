"""What engines report, read from samples of each format (samples/README.md names their sources)."""

import json
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.analysis.identities import identities
from engine.analysis.intervals import as_json, clustered_share, mean_interval, wilson
from engine.analysis.verdict import verdict
from engine.cli import main
from engine.errors import TraceError
from engine.served import values
from engine.served.light import light
from engine.served.pooling import beside, own, pooled
from engine.served.reading import is_report, read_reports
from engine.served.report import Report
from engine.trace.store import Trace
from tests.engine.analysis.made import sd

SAMPLES = Path(__file__).parent / "samples"
FOUND: dict[str, dict[str, Any]] = {  # file -> what its one row says
    "vllm-summary.json": {"rounds": 43, "drafted": 129, "accepted": 10, "tau": 1 + 10 / 43, "tokens": 54},
    "vllm-detailed.sse": {"rounds": 5, "drafted": 13, "accepted": 6, "tau": 2.2, "accepted_histogram": [2, 1, 1, 1]},
    "vllm-metrics.prom": {"rounds": 100, "drafted": 300, "accepted": 150, "accepted_histogram": [25, 25, 25, 25]},
    "vllm.log": {"rounds": None, "drafted": 600, "accepted": 250, "tau": 2.25, "accept_rate_drafted": 250 / 600},
    "vllm-bench.json": {"rounds": 100, "drafted": 300, "accepted": 150, "tau": 2.5, "tokens": 260},
    "sglang-generate.json": {"rounds": 43, "drafted": 215, "accepted": 63, "tau": 106 / 43, "tokens": 106},
    "sglang-chat.json": {"rounds": 43, "drafted": 215, "accepted": 63, "tau": 106 / 43, "tokens": 106},
    "sglang-0.5.10.json": {"rounds": 188, "drafted": 940, "accepted": 11, "accept_rate_drafted": 11 / 940},
    "sglang.log": {"rounds": None, "drafted": None, "tau": 2.27, "accept_rate_drafted": 0.755, "reports": 2},
    "llamacpp-chat.json": {"rounds": None, "drafted": 347, "accepted": 65, "tokens": 200, "tokens_per_s": 18.0462970},
    "llamacpp.log": {"rounds": None, "drafted": 259, "accepted": 167, "tau": 2.92, "reports": 1},
    "llamacpp-metrics.prom": {"rounds": 87, "drafted": 259, "accepted": 167, "tau": 1 + 167 / 87, "tokens": 256},
    "aiperf-records.jsonl": {"rounds": 11, "drafted": 44, "accepted": 20, "tau": 1 + 20 / 11, "reports": 2},
    "aiperf-total.json": {"rounds": 11, "drafted": 44, "accepted": 20, "accepted_histogram": [2, 3, 2, 3, 1]},
}
NEVER_TOLD = {"sglang.log": "accept_by_depth", "llamacpp-chat.json": "tau", "sglang-0.5.10.json": "accepted_histogram"}


def sample(name: str) -> list[Report]:
    data = (SAMPLES / name).read_bytes()
    assert is_report(data)
    return read_reports(data, name)


@pytest.mark.parametrize("name", FOUND)
def test_each_format_gives_its_numbers(name: str) -> None:
    (row,) = pooled(sample(name))
    told = {key: row[key]["mean"] if isinstance(row[key], dict) else row[key] for key in FOUND[name]}
    for key, value in FOUND[name].items():
        near = pytest.approx(value, rel=1e-6) if isinstance(value, float) else value
        assert told[key] == near, key
    assert row["engine"].replace("_", "")[:4] == name[:4]
    assert all(row[key] is None for key in row["lacks"])
    assert name not in NEVER_TOLD or NEVER_TOLD[name] in row["lacks"]


def test_every_sample_is_read() -> None:
    assert {path.name for path in SAMPLES.iterdir()} - {"README.md"} == set(FOUND)
    assert not is_report(sd().to_bytes())


def test_intervals_are_over_requests_or_over_passes() -> None:
    (several,), (one,) = pooled(sample("aiperf-records.jsonl")), pooled(sample("vllm-summary.json"))
    assert [(row["reports"], row["of"]) for row in (several, one)] == [(2, "requests"), (1, "request")]
    assert several["tau"]["n"] == 2 and several["tau"]["mean"] > 1
    assert several["tau"]["low"] is several["tau"]["high"] is None, "two requests as unlike as these tell none"
    assert one["tau"]["n"] == 43 and one["tau"]["low"] < 1.2326 < one["tau"]["high"]
    assert one["accept_by_depth"]["marginal"] == pytest.approx([4 / 43, 3 / 43, 3 / 43])
    assert one["accept_by_depth"]["low"][0] > 0


def test_shares_by_depth_are_over_requests() -> None:
    """Two requests whose passes accept both draft tokens, and two whose passes accept none: four clusters, not 40
    passes."""
    given = [
        Report(engine="vllm", scope="request", name=str(i), drafted=20, histogram=found).whole()
        for i, found in enumerate([(0, 0, 10)] * 2 + [(10,)] * 2)
    ]
    (row,) = pooled(given)
    told, spans = row["accept_by_depth"], clustered_share([(10, 10)] * 2 + [(0, 10)] * 2)
    assert spans and told["marginal"] == [0.5, 0.5]
    assert told["low"] == [spans.low] * 2 and told["high"] == [spans.high] * 2
    (single,) = pooled([Report(engine="vllm", scope="server", name="x", histogram=(20, 0, 20), drafted=80).whole()])
    assert single["accept_by_depth"]["low"] == [wilson(20, 40).low] * 2  # type: ignore[union-attr]
    assert told["low"][0] < 0.1 < 0.3 < single["accept_by_depth"]["low"][0]


def test_intervals_of_lines_of_a_log_hold_what_can_be() -> None:
    line = Report(engine="sglang", scope="interval", name="a", tau=1.1, rate=0.9)
    (row,) = pooled([line, replace(line, name="b", tau=3.4, rate=0.6)])
    tau, rate = row["tau"], row["accept_rate_drafted"]
    assert (tau["low"], tau["mean"], rate["mean"], rate["low"], rate["high"]) == (1, 2.25, 0.75, 0, 1)
    assert tau["high"] > 3.4
    near = [
        Report(engine="sglang", scope="interval", name=str(i), tau=2 + i / 100, rate=0.5 + i / 100) for i in range(9)
    ]
    (row,) = pooled(near)
    assert row["tau"] == as_json(mean_interval([one.tau or 0 for one in near]))
    (alone,) = pooled(near[:1])
    assert (alone["tau"]["mean"], alone["tau"]["low"]) == (2.0, None)
    few = Report(engine="vllm", scope="request", name="x", histogram=(1, 1, 0, 1), drafted=9).whole()
    (one,) = pooled([few])
    assert one["tau"]["low"] == 1 < one["tau"]["mean"] < 6 < one["tau"]["high"]


@pytest.mark.parametrize("between", ["{'a': 1}", '{\n  "a": 1\n}', "[x] y", '{"a": [1]}'])
def test_a_log_whose_lines_begin_with_a_bracket_is_no_json(between: str) -> None:
    first, second, _ = (SAMPLES / "sglang.log").read_text().split("\n")
    found = read_reports(f"{first}\n{between}\n{second}\n".encode(), "log")
    assert [report.tau for report in found] == [2.20, 2.34]
    with pytest.raises(TraceError, match="line 2 is not JSON"):
        read_reports(b'[\n{"id": 1,,},\n{"id": 2}]', "answers")


def test_what_a_log_says_is_named_by_its_line_in_the_file() -> None:
    """Which had been its number among the reports; and where it was no number, by none."""
    for sample, bad in (
        ("vllm.log", "Accepted: "),
        ("sglang.log", "accept len: "),
        ("llamacpp.log", "draft acceptance = "),
    ):
        told = (SAMPLES / sample).read_text()
        whole = ["server starts", "", *told.split("\n")]
        found = read_reports("\n".join(whole).encode(), "log")
        assert found
        for report in found:
            number = int(report.name.removeprefix("log, line "))
            assert bad in whole[number - 1] and number >= 3
        spoilt = "\n".join(whole[:2] + [line.replace(bad, f"{bad}1.2.3.") for line in whole[2:]]).encode()
        first = next(number for number, line in enumerate(whole, 1) if bad in line)
        with pytest.raises(TraceError, match=rf"^log, line {first}: '1\.2\.3\..*' must be a number >= 0"):
            read_reports(spoilt, "log")


@pytest.mark.parametrize("order", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", ["vllm.log", "llamacpp-chat.json"])
def test_what_powershell_writes_is_read(name: str, order: str) -> None:
    said = (SAMPLES / name).read_text()
    wide = ("\ufeff" + said.replace("\n", "\r\n")).encode(order)
    assert is_report(wide) and read_reports(wide, name) == sample(name)
    assert not is_report("\ufeffnothing of the kind".encode(order))


def test_earlier_versions_log_no_rate() -> None:
    said = b"[2025-02-01 10:00:00 TP0] Decode batch. #token: 4, accept len: 2.50, gen throughput (token/s): 100.00,\n"
    (report,) = read_reports(said, "log")
    assert (report.engine, report.tau, report.rate) == ("sglang", 2.5, None)
    assert "accept_rate_drafted" in pooled([report])[0]["lacks"]


def test_large_counters_cost_nothing() -> None:
    drawn = Report(engine="vllm", scope="server", name="x", histogram=(10**12, 10**12), drafted=10**13).whole()
    (row,) = pooled([drawn])
    assert row["tau"]["mean"] == 1.5 and row["tau"]["high"] - row["tau"]["low"] < 1e-5
    many = [
        Report(engine="vllm", scope="request", name=str(i), steps=4, accepted=i % 5, drafted=20) for i in range(5000)
    ]
    (row,) = pooled(many)
    assert row["tau"]["mean"] == pytest.approx(1.5) and 1.49 < row["tau"]["low"] < 1.5


def test_own_runs_lie_beside_reports_with_the_same_definitions() -> None:
    ours, theirs = beside({"Chain": [sd()]}, sample("vllm-summary.json"))
    assert ours["rounds"] == 3 and ours["drafted"] == 9 and ours["tau"]["mean"] == pytest.approx(1 + 5 / 3)
    assert ours["accept_by_depth"]["depth"] == [1, 2, 3] == theirs["accept_by_depth"]["depth"]
    assert (ours["label"], theirs["label"]) == ("Chain", "vLLM") and ours.keys() == theirs.keys()
    assert own("Chain", [sd(), sd()])["reports"] == 2


def test_passes_in_order_become_a_light_trace() -> None:
    (report,) = sample("vllm-detailed.sse")
    trace = light(report)
    assert trace.head.knobs == {"gamma": 3} and light(replace(report, longest=None)).head.knobs == {}
    again = Trace.loads(trace.to_bytes())
    assert identities(again) == [] and [r.accepted for r in again.rounds] == [3, 0, 2, 1, 0]
    assert [t.origin for t in again.tokens][:5] == ["draft", "draft", "draft", "bonus", "correction"]
    found = again.metrics()
    assert (found["tau"], found["drafted"], found["accept_by_depth"]["marginal"]) == (2.2, 13, [0.6, 0.4, 0.2])
    assert found["tokens_per_s"] is None and "when the 1 token came that" in str(again.head.extras.get("untold"))
    for tokens in (None, 10, 11):
        assert "came" not in str(light(replace(report, tokens=tokens)).head.extras["untold"]), "11 came of the passes"
    assert verdict(light(Report(engine="vllm", scope="request", name="x", each=((1, 1),) * 9))).cause == "not timed"
    undrafted = light(Report(engine="vllm", scope="request", name="x", each=((0, 0), (1, 1))))
    assert [token.origin for token in undrafted.tokens] == ["target", "draft", "bonus"]
    with pytest.raises(TraceError, match=r"does not tell them in order .*Many runs"):
        light(sample("vllm-summary.json")[0])


def test_of_processes_counts_are_added_and_means_and_rates_averaged() -> None:
    said = b"""sglang:spec_accept_length{model_name="m",dp_rank="0"} 2.8
sglang:spec_accept_length{model_name="m",dp_rank="1"} 3.0
sglang:spec_accept_rate{model_name="m",dp_rank="0"} 0.7
sglang:spec_accept_rate{model_name="m",dp_rank="1"} 0.8
sglang:spec_accept_rate{model_name="m",dp_rank="2"} NaN
sglang:generation_tokens_total{model_name="m",dp_rank="0"} 10
sglang:generation_tokens_total{model_name="m",dp_rank="1"} 20
"""
    (report,) = read_reports(said, "metrics")
    assert [report.tau, report.rate, report.tokens] == pytest.approx([2.9, 0.75, 30])


def test_choices_of_one_answer_are_told_apart() -> None:
    told = {"spec_verify_ct": 10, "spec_correct_drafts_histogram": [0, 0, 10]}
    none = {"spec_verify_ct": 10, "spec_correct_drafts_histogram": [10]}
    answer = {"id": "a", "choices": [{"meta_info": told}, {"meta_info": none}]}
    (row,) = pooled(read_reports(json.dumps(answer).encode(), "answer"))
    assert (row["reports"], row["rounds"], row["accepted"]) == (2, 20, 20)


@pytest.mark.parametrize("under", ["data", "response", "body", "result"])
def test_an_answer_is_found_under_what_records_keep_it(under: str) -> None:
    told = {"spec_verify_ct": 10, "spec_correct_drafts_histogram": [10]}
    record = {"request": 3, under: {"id": "a", "meta_info": told}}
    assert [(one.name, one.steps) for one in read_reports(json.dumps(record).encode(), "log")] == [("log, a", 10)]
    twice = json.dumps({"meta_info": told} | record).encode()
    assert [one.name for one in read_reports(twice, "log")] == ["log"], "what the record itself tells comes first"


def test_tokens_of_an_aiperf_record_are_those_of_its_answer_else_of_its_metrics() -> None:
    told = {"num_spec_steps": 2, "num_draft_tokens": 6, "num_accepted_draft_tokens": 3}
    record = {"metrics": {"output_sequence_length": {"value": 9}}}
    for more, tokens in (({}, 9), ({"completion_tokens": 5}, 5), ({"completion_tokens": 0}, 0)):
        (report,) = read_reports(json.dumps(record | {"spec_decode_acceptance": told | more}).encode(), "it")
        assert (report.engine, report.tokens) == ("aiperf", tokens)


def test_counters_of_other_programs_are_left_out() -> None:
    said = b"other:spec_decode_num_drafts_total 9\nvllm:spec_decode_num_drafts_total 2\n"
    (report,) = read_reports(said, "all.prom")
    assert (report.engine, report.steps) == ("vllm", 2)


def test_rows_of_one_engine_are_told_apart_by_model_and_kind() -> None:
    one = Report(engine="vllm", scope="request", name="x", model="m", steps=2, accepted=2, drafted=6)
    rows = pooled([one, replace(one, scope="server"), replace(one, engine="sglang"), replace(one, model="")])
    assert [row["label"] for row in rows] == [
        "vLLM, m, requests",
        "vLLM, m, counters since the server's start",
        "SGLang",
        "vLLM, requests",
    ]


def test_passes_that_accepted_nothing_or_too_much() -> None:
    none = Report(engine="vllm", scope="request", name="x", histogram=(0, 0)).whole()
    assert (none.histogram, none.steps, none.accepted) == ((), 0, 0)
    with pytest.raises(TraceError, match="x: a verify pass accepts 3 draft tokens; 2 were set at most"):
        Report(engine="vllm", scope="request", name="x", histogram=(0, 0, 0, 1, 0), longest=2).whole()


def test_an_answer_that_took_no_time_has_no_speed() -> None:
    said = b'{"id": "a", "timings": {"draft_n": 3, "draft_n_accepted": 1, "predicted_n": 2, "predicted_ms": 0}}'
    (row,) = pooled(read_reports(said, "answer"))
    assert row["tokens_per_s"] is None


def timed(drafted: int, **more: object) -> str:
    return json.dumps({"timings": {"draft_n": drafted, "draft_n_accepted": 1, "predicted_n": 2}, **more})


def test_a_stream_without_ids_is_one_answer_to_its_stop() -> None:
    """llama.cpp's own /completion: each event tells the counts so far."""
    one = [timed(3), timed(6), timed(9, stop=True)]
    said = "".join(f"data: {line}\n\n" for line in [*one, timed(4), timed(5, stop=True)])
    assert [report.drafted for report in read_reports(said.encode(), "stream")] == [9, 5]
    assert [report.drafted for report in read_reports("\n".join(one).encode(), "lines")] == [3, 6, 9]


def test_only_line_feeds_end_lines_and_a_mark_may_come_first() -> None:
    lines = timed(3, content="a|b").replace("|", "\u2028\u0085"), timed(4)
    said = "\ufeff" + "\r\n".join(lines)
    assert [report.drafted for report in read_reports(said.encode(), "lines")] == [3, 4]


def test_models_of_one_file_are_told_apart() -> None:
    name = "vllm:spec_decode_num"
    line = '{0}_drafts_total{{model_name="{1}"}} 2\n{0}_draft_tokens_total{{model_name="{1}"}} {2}\n'
    said = line.format(name, "a", 4) + line.format(name, "b", 6)
    found = read_reports(said.encode(), "all.prom")
    assert [(report.name, report.model, report.drafted) for report in found] == [
        ("all.prom, a", "a", 4),
        ("all.prom, b", "b", 6),
    ]


BAD = [
    (b'vllm:spec_decode_num_accepted_tokens_per_pos_total{position="a"} 3\n', "position 'a' must be a whole number"),
    (b'vllm:spec_decode_num_accepted_tokens_per_pos_total{position=""} 3\n', "position '' must be a whole number"),
    (b'{"metrics": {"speculative_decoding": null}, "usage": {}, "timings": {}}', "tells nothing of speculation"),
    (b'{"choices": [], "usage": {}}', "per-request-spec-decode-metrics"),
    (b'{"timings": {"draft_n": -1, "draft_n_accepted": 0}}', "draft_n must be an integer >= 0, not -1"),
    (b'{"timings": {"draft_n": 5}}', "draft_n_accepted must be an integer >= 0, not null"),
    (b'{"timings": {"draft_n": 5, "draft_n_accepted": 6}}', "6 draft tokens accepted of 5"),
    (b'{"meta_info": {"spec_verify_ct": 3, "spec_correct_drafts_histogram": [1, 1]}}', "steps is 3, .* up to 2"),
    (
        b'{"meta_info": {"spec_verify_ct": 2, "spec_correct_drafts_histogram": [1, 1], "spec_num_correct_drafts": 2}}',
        "accepted is 2",
    ),
    (b'{"meta_info": {"spec_verify_ct": 1, "spec_correct_drafts_histogram": {"x": 1}}}', "by integers from 0"),
    (b'{"meta_info": {"spec_verify_ct": 1, "spec_correct_drafts_histogram": {"01": 1}}}', "by integers from 0"),
    (b'{"timings": {"draft_n": 1}}\nnot json\n{"timings": {"draft_n"\n{}', "line 3 is not JSON"),
    (b"vllm:spec_decode_num_drafts_total 9\nvllm:spec_decode_num_draft_tokens_total x\n", "'x' must be a number >= 0"),
    (
        b'vllm:spec_decode_num_drafts_total 9\nvllm:spec_decode_num_accepted_tokens_per_pos_total{position="0"} 3\n'
        b'vllm:spec_decode_num_accepted_tokens_per_pos_total{position="1"} 4\n',
        "do not fall",
    ),
    (b"[" * 100_000, "not JSON|nested too deeply|nothing of speculation"),
    (b"", "nothing of speculation"),
]


@pytest.mark.parametrize(("data", "says"), BAD)
def test_bad_input_is_told(data: bytes, says: str) -> None:
    with pytest.raises(TraceError, match=says):
        read_reports(data, "it")


def test_counters_without_passes_or_without_positions_give_no_histogram() -> None:
    passes, accepted = "vllm:spec_decode_num_drafts_total 9\n", "vllm:spec_decode_num_accepted_tokens_total 12\n"
    by_place = 'vllm:spec_decode_num_accepted_tokens_per_pos_total{position="0"} 12\n'
    for said, steps in ((passes + accepted, 9), (by_place + accepted, None)):
        (report,) = read_reports(said.encode(), "it")
        assert (report.steps, report.accepted, report.histogram) == (steps, 12, ())


def test_contradicting_passes_are_told() -> None:
    told = json.loads((SAMPLES / "vllm-summary.json").read_text())
    held = told["metrics"]["speculative_decoding"]
    for change, says in (
        ({"per_step_accepted": [4], "per_step_drafted": [3]}, "accepts more draft tokens than it had"),
        ({"per_step_accepted": [3], "per_step_drafted": [3, 3]}, "1 entries and per_step_drafted 2"),
        ({"per_step_accepted": [3], "per_step_drafted": [3]}, "steps is 43, its passes in order add up to 1"),
        ({"num_spec_tokens": 2}, "2 were set at most"),
        ({"per_step_accepted": [2**40], "per_step_drafted": [2**40]}, "1000 are the limit"),
        ({"acceptance_histogram": [1] * 2000}, "1000 are the limit"),
        ({"mean_acceptance_length": 1.5}, "tokens a pass is 1.5, its counts give 1.23"),
        ({"mean_acceptance_length": 1.0}, "tokens a pass is 1, its counts give 1.23"),
    ):
        changed = told | {"metrics": {"speculative_decoding": held | change}}
        with pytest.raises(TraceError, match=says):
            read_reports(json.dumps(changed).encode(), "it")


def test_the_commands_import_and_export_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sd().save(tmp_path / "run.jsonl")
    for names in ("vllm", "sglang", "llamacpp"):
        assert main(["export", str(tmp_path / "run.jsonl"), "--names", names]) == 0
        (tmp_path / "said.jsonl").write_text(capsys.readouterr().out)
        out = tmp_path / names
        assert main(["import", str(tmp_path / "said.jsonl"), "--json", "--out", str(out)]) == 0
        (row,) = json.loads(capsys.readouterr().out)["rows"]
        assert (row["drafted"], row["accepted"], row["tokens"]) == (9, 5, len(sd().tokens))
        assert row["rounds"] == (None if names == "llamacpp" else 3)
        assert len(list(out.glob("*.gz"))) == (names == "vllm"), "only vLLM tells the order"
    assert main(["export", str(tmp_path / "run.jsonl"), "--names", "vllm"]) == 0
    (tmp_path / "said.jsonl").write_text(capsys.readouterr().out)
    files = [str(tmp_path / "said.jsonl")] * 2 + [str(SAMPLES / "vllm.log")]
    assert main(["import", *files, "--out", str(tmp_path / "two")]) == 0
    said = capsys.readouterr().out
    assert "2 requests        6  2.667 (" in said and "2 lines of a log        -  2.250 (" in said
    assert "vLLM, t, requests: accepted to position 1, 2, ...: 1.000, 0.333, 0.333\n" in said
    assert "2 of 4 reports tell their passes in order; their light traces are in" in said
    assert [len(Trace.load(file).rounds) for file in (tmp_path / "two").iterdir()] == [3, 3]
    assert main(["import", *(str(SAMPLES / name) for name in FOUND)]) == 0
    said = capsys.readouterr().out
    assert "SGLang" in said and "not told" in said
    assert main(["import", str(SAMPLES / "vllm.log"), "--out", str(tmp_path / "lines")]) == 0
    assert capsys.readouterr().out.endswith("0 of 2 reports tell their passes in order; no trace is written.\n")
    assert main(["import", str(tmp_path / "none.json")]) == 2 and "There is no file" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    [
        "Decode batch" * 4000,
        "SpecDecoding metrics: Mean acceptance length:1" * 3000,
        "draft acceptance SpecDecoding metrics: Mean acceptance length:" + "1" * 12000,
        "statistics\ta:#gen drafts =1" * 300,
        "vllm:spec_x{" + "a" * 16000 + "} 1\n",
    ],
)
def test_a_report_that_begins_and_never_ends_is_read_once(text: str) -> None:
    """Not once for each of its beginnings: a small upload would hold the server for hours."""
    began = time.perf_counter()
    with suppress(TraceError):
        read_reports(text.encode(), "log")
    assert time.perf_counter() - began < 0.5


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="a device of Linux and macOS")
def test_a_device_without_an_end_is_not_read_to_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "/dev/zero"]) == 2 and "larger than 20 MB" in capsys.readouterr().err


def test_of_a_value_as_long_as_a_file_no_more_is_written_than_is_told() -> None:
    class Noted:
        asked = 0

        def __repr__(self) -> str:
            Noted.asked += 1
            return "one"

    assert len(values.short([Noted()] * 100_000)) < 200 and Noted.asked < 100
    assert (values.short(None), values.short("x")) == ("null", "'x'")
