"""Series of trajectories: rows, resuming, replay, texts, and the time that lookups take."""

import json

import pytest

from engine.config import Sampling
from engine.errors import ConfigError
from engine.lab import Lab
from engine.tasks import load_problems
from engine.tune.replay import replay
from engine.tune.rows import Rows, read_rows
from engine.tune.series import Plan, contenders, run_series
from engine.tune.speed import measure
from engine.tune.texts import encode, of_file, of_task


@pytest.fixture(scope="module")
def lab(zoo):
    return Lab(zoo.model("llama", vocab=120, layers=2, seed=1))


def plan(**more):
    options = {"problems": 2, "n": 2, "max_new_tokens": 8} | more
    return Plan(contenders(["stand:tree=heuristic", "pld:scope=global"]), **options)


def test_series_write_rows_and_go_on(tmp_path, lab):
    path = tmp_path / "s.jsonl"
    rows = Rows(path, plan().settings(lab))
    first = next(run_series(lab, plan(), rows))
    assert first[0] == "stand:tree=heuristic" and len(rows.rows) == 2
    again = Rows(path, plan().settings(lab))
    done = list(run_series(lab, plan(), again))
    assert len(done) == 3 and len(again.rows) == 8
    assert list(run_series(lab, plan(), Rows(path, plan().settings(lab)))) == []
    settings, found = read_rows(path)
    assert settings["n"] == 2 and len(found) == 8
    assert {r["trajectory"] for r in found} == {0, 1}
    assert all(r["tokens"] == len(r["ids"]) <= 8 and r["rounds"] >= 1 and r["seconds"] > 0 for r in found)
    with pytest.raises(ConfigError, match="another experiment"):
        Rows(path, plan(n=3).settings(lab))


def test_a_damaged_last_line_is_left_out(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_text('{"settings": {}}\n{"method": "a"}\n{"meth')
    assert read_rows(path)[1] == [{"method": "a"}]
    path.write_text('{"settings": {}}\n{"meth\n{"method": "a"}\n')
    with pytest.raises(ConfigError, match="line 2"):
        read_rows(path)
    with pytest.raises(ConfigError):
        read_rows(tmp_path / "none")


def test_replay_measures_before_it_learns(lab):
    prompt, text = [5, 6, 7], [8, 9, 10, 11, 12]
    positions = list(replay(lab, prompt, [text, text], Sampling(0.6)))
    second = [p for p in positions if p.trajectory == 1]
    assert len(second) == len(text)  # the second time every context is known
    for p in second:
        # the stored law is the target's own, cut to ten entries and renormalised: the overlap is the mass of those ten
        assert p.stochastic > 0.5 and p.deterministic <= p.stochastic + 1e-6
        assert 0 <= p.deterministic <= 1 and p.order >= 1


def test_texts(tmp_path, lab):
    (tmp_path / "a.txt").write_text("hello")
    (tmp_path / "b.jsonl").write_text('{"text": "abc"}\n"def"\n')
    assert list(of_file(tmp_path / "a.txt")) == ["hello"]
    assert list(of_file(tmp_path / "b.jsonl")) == ["abc", "def"]
    trace = lab.run("ar", [5, 6], max_new_tokens=3)
    trace.save(tmp_path / "t.jsonl.gz")
    trace.save(tmp_path / "t.jsonl")
    assert list(of_file(tmp_path / "t.jsonl.gz")) == list(of_file(tmp_path / "t.jsonl")) == [[5, 6, *trace.token_ids]]
    (tmp_path / "c.jsonl").write_text(json.dumps({"x": 1}))
    with pytest.raises(ConfigError, match="line 1"):
        list(of_file(tmp_path / "c.jsonl"))
    held = {p.key for p in load_problems("arithmetic", "heldout", 5)}
    assert len(list(of_task("arithmetic", 3))) == 3 and held
    ids = list(encode(lab.target.tokenizer, iter(["abcdef", [1, 2, 3, 4]]), 8))
    assert len(ids) == 2 and ids[1] == [1, 2]


@pytest.mark.slow
def test_lookups_take_a_millisecond_at_most(lab):
    for cost in measure(lab, 10_000, 100):
        assert cost.both < 1.0, cost
