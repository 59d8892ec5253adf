"""Pooling through the page's server: what was recorded, and a visitor's files."""

import gzip
import json
import re
from dataclasses import replace
from operator import mul
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from app import pooled
from app.figures import pooled as pooled_figures
from app.recorded import lanes, parse
from app.state import Limits
from engine.analysis.pool import RECORDED, pool
from engine.errors import TraceError
from engine.trace.store import Trace, event_json
from tests.app.synthetic import events
from tests.engine.analysis.made_trees import run as made
from tests.typed import some


def framed(**files: bytes) -> bytes:
    return b"".join(
        json.dumps({"file": name, "bytes": len(data)}).encode() + b"\n" + data for name, data in files.items()
    )


def trace(name: str, seed: int = 0) -> bytes:
    return Trace(events(name, 40, seed=seed)).to_bytes()


@pytest.fixture
def http(service, tmp_path):
    return lambda path=tmp_path / "none.json": TestClient(Starlette(routes=pooled.routes(service, path)))


def test_files_are_pooled(http):
    body = framed(a=trace("plain") + trace("bush"), b=gzip.compress(trace("bush", seed=1)), c=trace("chain"))
    found = http().post("/lab/pooled", content=body).json()
    (section,) = found["sections"]
    assert [(row["label"], row["runs"]) for row in section["methods"]] == [
        ("Plain decoding", 1),
        ("Chain of candidates", 1),
        ("Bush of candidates", 2),
    ]
    assert (
        list(section["figures"]) == ["Bush of candidates"]
        and found["runs"] == 4
        and section["methods"][1]["speedup"]["mean"] > 0
    )


def test_recorded_numbers_come_with_their_figures(http, tmp_path):
    assert http().get("/lab/pooled").status_code == 404 and "recorded" in http().get("/lab/pooled").json()["error"]
    body = framed(a=trace("plain") + trace("bush"), c=trace("chain"))
    found = http().post("/lab/pooled", content=body).json()
    plots = found.pop("plots")
    (tmp_path / "x.json").write_text(json.dumps(found))
    assert http(tmp_path / "x.json").get("/lab/pooled").json() == found | {"plots": plots}
    (section,) = plots["sections"]
    assert list(section["trees"]) == ["Bush of candidates"] and plots["tasks"] == {}
    shown, ranks = found["sections"][0]["figures"]["Bush of candidates"], section["trees"]["Bush of candidates"][0]
    (bars,) = ranks["figure"]["data"]
    assert bars["x"] == shown["ranks"]["tcr"]
    assert f"{shown['rounds']} rounds" in ranks["caption"]


def test_a_title_is_no_link_in_a_figure(http):
    link, runs = '<a href="https://elsewhere.example/">t</a>', list[bytes]()
    for name, task in (("plain", "a"), ("bush", link), ("bush", "b")):
        head, *more = events(name, 40)
        told = {**event_json(head), "title": link if name == "bush" else name, "extras": {"task": task}}
        runs.append(b"".join(json.dumps(one).encode() + b"\n" for one in (told, *map(event_json, more))))
    log = (Path(__file__).parents[1] / "engine/served/samples/vllm.log").read_bytes()
    plots = http().post("/lab/pooled", content=framed(runs=b"".join(runs), log=log)).json()["plots"]
    assert all(plots[name] for name in ("sections", "tasks", "served"))
    sections = [[one["methods"], *one["trees"].values()] for one in plots["sections"]]
    drawn = json.dumps([sections, list(plots["tasks"].values()), plots["served"]])
    assert "&lt;a href" in drawn and "<a" not in drawn


def test_reports_of_engines_lie_beside_own_runs(http):
    samples = Path(__file__).parents[1] / "engine/served/samples"
    log, answer = (samples / name for name in ("vllm.log", "sglang-generate.json"))
    told = {"log": log.read_bytes(), "answer": gzip.compress(answer.read_bytes())}
    both = http().post("/lab/pooled", content=framed(run=trace("chain"), **told)).json()
    assert [row["label"] for row in both["served"]] == ["Chain of candidates", "vLLM", "SGLang"]
    assert len(both["plots"]["served"]) == 2 and both["runs"] == 1
    assert "plain decoding" in both["advice"]["missing"]
    alone = http().post("/lab/pooled", content=framed(**told)).json()
    assert alone["sections"] == [] and [row["engine"] for row in alone["served"]] == ["vllm", "sglang"]
    bad = http().post("/lab/pooled", content=framed(run=trace("chain"), x=b'{"timings": {"draft_n": 1.5}}'))
    assert bad.status_code == 400 and "draft_n must be an integer" in bad.json()["error"]
    assert "served" not in http().post("/lab/pooled", content=framed(run=trace("chain"))).json()


def test_reports_in_order_open_as_runs():
    data = (Path(__file__).parents[1] / "engine/served/samples/vllm-detailed.sse").read_bytes()
    (run,) = parse(gzip.compress(data), Limits())
    (lane,) = lanes([run], [], None)
    assert lane["card"]["guarantee"] == "untold" and len(lane["events"]) == 7
    with pytest.raises(TraceError, match="Many runs"):
        parse(data.replace(b'"per_step', b'"per_stop'), Limits())


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "no run"),
        (b"hello", "damaged"),
        (b'{"file": "a", "bytes": 9}\nabc', "a did not arrive whole"),
        (b'{"file": "a", "bytes": -9}\nabc', "a did not arrive whole"),
        (b'{"file": "a", "bytes": 3}', "damaged"),
        (b'{"file": "a", "bytes": 0}x', "damaged"),  # no line ends: nothing is ever behind it
        (b'{"file": "' + b"a" * 5000 + b'", "bytes": 0}\n', "damaged"),
        (b"[1]\n", "damaged"),
        (b"[" * 100_000 + b"\n", "damaged"),
        (b'{"file": "a", "bytes": Infinity}\n', "damaged"),
        (framed(good=trace("plain"), broken=b"{}\n"), "^broken: .*kind"),
        (framed(zipped=gzip.compress(b"x" * 99)[:-30] + b"garbage" * 9), "^zipped: "),
        (framed(one=trace("plain"), two=trace("plain").replace(b"made-up", b"another")), "different targets"),
    ],
)
def test_bad_files_are_named(http, body, says):
    answer = http().post("/lab/pooled", content=body)
    assert answer.status_code == 400
    assert re.search(says, answer.json()["error"])


def test_limits_hold_for_all_files_together(http, monkeypatch):
    one, light = trace("bush"), Trace(events("plain", 20, light=True)).to_bytes()
    files = [("a", one), ("b", gzip.compress(one))]
    nodes = sum(len(r.nodes) + len(r.pruned) for r in Trace(events("bush", 40)).rounds)
    assert len(pooled.read(files, Limits(max_nodes=2 * nodes))[0]) == 2
    with pytest.raises(TraceError, match=r"b: with this file .* recorded draft tokens"):
        pooled.read(files, Limits(max_nodes=2 * nodes - 1))
    with pytest.raises(TraceError, match="b: with this file all are larger"):
        pooled.read(files, replace(Limits(), max_upload_bytes=2 * len(one) - 1))
    assert len(pooled.read([("many", light * 200)], Limits())[0]) == 200
    with pytest.raises(TraceError, match="200"):
        pooled.read([("many", light * 150), ("more", light * 51)], Limits())
    assert http().post("/lab/pooled", content=b"x" * 20_000_001).status_code == 413


def test_what_the_repository_records_is_whole():
    if not RECORDED.is_file():
        pytest.skip("nothing is recorded yet")
    found = json.loads(RECORDED.read_text(encoding="utf-8"))
    assert found["kind"] == "pooled" and found["commands"] and len(RECORDED.read_bytes()) < 400_000
    for section in found["sections"]:
        labels = {row["label"] for row in section["methods"]}
        assert set(section["figures"]) <= labels and section["even"]
        assert [row["method"] for row in section["ablation"]][1:] == ["+DED", "+TNP", "+DCA"]


def test_the_file_is_found_from_anywhere(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert Path(RECORDED).is_absolute()


def test_quality_is_drawn_where_runs_are_marked(http):
    def marked(name, right):
        made = Trace.loads(trace(name))
        made.head.extras |= {"task": "arithmetic", "right": right}
        return made.to_bytes()

    found = http().post("/lab/pooled", content=framed(a=marked("plain", True) + marked("bush", False))).json()
    drawn = {
        one["figure"]["layout"]["title"]["text"]: one["figure"] for one in found["plots"]["sections"][0]["methods"]
    }
    (bars,) = drawn["Right answers, share of prompts"]["data"]
    assert dict(zip(bars["y"], bars["x"], strict=True)) == {"Plain decoding": 1.0, "Bush of candidates": 0.0}
    assert "Outputs equal to plain decoding, share of prompts" in drawn and not any("BLEU" in title for title in drawn)


def test_every_measure_of_a_text_that_has_references_is_drawn():
    means = {name: {"mean": 90.0, "low": 80.0, "high": 95.0, "n": 9} for name in ("bleu", "bleu_relative", "chrf")}
    rouge = {name: {"mean": 50.0, "low": 40.0, "high": 60.0, "n": 9} for name in ("rouge1", "rouge2", "rougeL")}
    untimed = dict.fromkeys(name for name, _ in pooled_figures.SPREADS.values())
    rows = [{"label": "A", "guarantee": "lossy", "quality": means | rouge, **untimed}]
    drawn = pooled_figures.of_methods({"prompts": 9, "methods": rows})
    titles = [one["figure"]["layout"]["title"]["text"] for one in drawn]
    wanted = ["BLEU, 0 to 100", "BLEU against that of plain decoding, %", "chrF, 0 to 100"]
    assert titles[-6:] == wanted + [f"ROUGE-{n}, 0 to 100" for n in ("1", "2", "L")]
    assert list(drawn[-1]["figure"]["data"][0]["x"]) == [50.0]


def test_one_round_is_told_as_one():
    shown = pool([made("eagle", [(3, 3, 1.0)])])["sections"][0]["figures"]["EAGLE"]
    ranks, parts, _, entropies = pooled_figures.of_trees(shown)
    assert ranks["caption"].startswith("1 round, N up to")
    assert "%{customdata} of 1 round, %{y:.1%}" in ranks["figure"]["data"][0]["hovertemplate"]
    assert parts["caption"] == "Of the 1 round: last accepted token within the first part of N."
    assert entropies["caption"].endswith(" 1 round with an entropy.")


def test_figures_by_rank_say_that_they_count_a_token_that_the_end_left_out():
    """Of the recorded runs some end with a draft token, where no token of the target's own follows."""
    section = json.loads(RECORDED.read_text(encoding="utf-8"))["sections"][0]
    shown = section["figures"]["HeteroSpec"]
    (row,) = (row for row in section["methods"] if row["label"] == "HeteroSpec")
    by_rank = sum(map(mul, shown["ranks"]["tau"], shown["ranks"]["rounds"])) / shown["rounds"]
    assert by_rank > row["tau"]["mean"] + 0.05
    *_, lengths, entropies = pooled_figures.of_trees(shown)
    assert "accepted and one, also where the text ended" in lengths["caption"]
    assert "tokens a call, as above" in entropies["caption"]


def test_one_prompt_has_no_interval_and_so_no_whiskers():
    """Whiskers of no length would say that the number is certain."""
    tau = {"mean": 4.6, "low": None, "high": None, "n": 1}
    row = {"label": "SD", "guarantee": "lossless", "tau": tau, "tokens_each": None, "speedup": None}
    (alone,) = pooled_figures.of_methods({"prompts": 1, "methods": [row]})
    assert alone["caption"] == "One prompt, which has no interval."
    (bars,) = alone["figure"]["data"]
    assert bars["error_x"]["visible"] is False
    assert bars["customdata"] == ["n = 1"] and "%{customdata}" in bars["hovertemplate"]
    many = {**row, "tau": {"mean": 4.6, "low": 4.0, "high": 5.0, "n": 9}}
    (drawn,) = pooled_figures.of_methods({"prompts": 9, "methods": [many]})
    assert drawn["caption"] == "All 9 prompts taken together, 95 % over them."
    (bars,) = drawn["figure"]["data"]
    assert bars["error_x"]["visible"] is True and bars["customdata"] == ["95 % 4.00 to 5.00, n = 9"]
    right = {"mean": 0.5, "low": 0.25, "high": 0.75, "n": 9}
    (*_, shares) = pooled_figures.of_methods({"prompts": 9, "methods": [{**many, "quality": {"accuracy": right}}]})
    assert shares["figure"]["data"][0]["customdata"] == ["95 % 25.0\u00a0% to 75.0\u00a0%, n = 9"], (
        "as the page writes them"
    )
    unlike = {**row, "tau": {"mean": 4.6, "low": None, "high": None, "n": 2}}
    (drawn,) = pooled_figures.of_methods({"prompts": 2, "methods": [many, unlike]})
    assert drawn["caption"].endswith(" over them; without whiskers: too few, or too unlike, for an interval.")


def test_what_the_title_says_is_not_said_again_below():
    row = {"label": "A", "guarantee": "lossless", "tokens_each": {"mean": 3.0, "low": 2.0, "high": 4.0, "n": 2}}
    drawn = pooled_figures.spread([row], "Tokens checked a prompt", "tokens_each").to_plotly_json()["layout"]
    assert drawn["title"]["text"] == "Tokens checked a prompt" and "title" not in drawn["xaxis"]


def test_tasks_have_one_scale_below_the_title():
    sections = json.loads(Path(RECORDED).read_text())["sections"]
    drawn = some(pooled_figures.tasks(sections, next(iter(sections[0]["figures"]))))
    layout = drawn.to_plotly_json()["layout"]
    ranges = [axis["range"] for name, axis in layout.items() if re.fullmatch(r"xaxis\d*", name)]
    last = max(max(bars["x"]) for bars in drawn.data)
    assert len(ranges) == len(drawn.data) > 2 and ranges == [ranges[0]] * len(ranges) and ranges[0][1] == last + 0.5
    assert layout["title"]["yanchor"] == "top" and layout["margin"]["t"] > 20 + 2 * 1.3 * 13 + 14


def test_two_scales_of_one_figure_have_round_ticks_on_the_same_lines():
    sections = json.loads(Path(RECORDED).read_text())["sections"]
    for shown in sections[0]["figures"].values():
        if not shown["entropy"]["rounds"]:
            continue
        layout = pooled_figures.entropy(shown).to_plotly_json()["layout"]
        counts = {layout[name]["range"][1] / layout[name]["dtick"] for name in ("yaxis", "yaxis2")}
        assert len(counts) == 1 and counts <= {3.0, 4.0, 5.0, 6.0}
        for name, column in (("yaxis", "tau"), ("yaxis2", "phi")):
            assert f"{layout[name]['dtick']:.0e}"[0] in "125"
            assert layout[name]["range"][1] >= max(shown["entropy"][column])
