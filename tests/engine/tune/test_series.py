"""Series of trajectories: rows, resuming, replay, texts, and the time that lookups take."""

import json
import os
import time
from dataclasses import replace
from itertools import count
from pathlib import Path
from statistics import median

import pytest

from engine.cli.results import over_problems
from engine.config import Sampling
from engine.errors import ConfigError
from engine.files.held import hold
from engine.files.shards import Shard
from engine.lab import Lab
from engine.tasks import load_problems
from engine.tasks.marking import marking
from engine.tune.replay import Position, replay, replay_rows
from engine.tune.rows import Rows, read_rows, row_of
from engine.tune.series import Plan, contenders, run_series
from engine.tune.speed import LOOKUPS, measure
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


def row(method="a", problem="p", trajectory=0, **more):
    return {
        "method": method,
        "problem": problem,
        "trajectory": trajectory,
        "tokens": 4,
        "rounds": 2,
        "seconds": 0.1,
        "verify_tokens": 8,
        "answer": None,
        "truth": "1",
        "ids": [1],
        **more,
    }


def lines(*rows):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def test_a_damaged_last_line_is_left_out(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_text(lines({"settings": {}}, row()) + '{"meth')
    assert read_rows(path)[1] == [row()]
    for text in (
        '{"settings": {}}\n{"meth\n' + lines(row()),
        '{"settings": {}}\n7\n',
        '{"settings": {}}\n{"method": "a"}\n',
    ):
        path.write_text(text)
        with pytest.raises(ConfigError, match="line 2"):
            read_rows(path)
    for text in ("", '{"settings": {}}\n', '{"sett', "7\n", '{"settings": 3}\n'):
        path.write_text(text)
        with pytest.raises(ConfigError, match="holds no"):
            read_rows(path)
    with pytest.raises(ConfigError):
        read_rows(tmp_path / "none")


SETTINGS = {"n": 2}
WHOLE = [row(trajectory=0), row(trajectory=1, answer="a\u2028b\x85c")]


@pytest.mark.parametrize("cut", [1, 20, 200])
def test_a_torn_set_is_removed_and_the_file_goes_on(tmp_path, cut):
    path = tmp_path / "s.jsonl"
    Rows(path, SETTINGS).add(WHOLE)
    before = path.read_bytes()
    path.write_bytes(before + lines(row(problem="q"), row(problem="q", trajectory=1)).encode()[:-cut])
    again = Rows(path, SETTINGS)
    assert again.rows == (WHOLE if cut > 1 else [*WHOLE, row(problem="q"), row(problem="q", trajectory=1)])
    again.add([row(problem="r"), row(problem="r", trajectory=1)])
    assert read_rows(path)[1] == again.rows and path.read_bytes().startswith(before)


def test_a_set_that_was_cut_between_its_rows_is_not_counted_twice(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_text(lines({"settings": SETTINGS}, *WHOLE, row("b"), row("b", "q"), row("b", "q", 1)))
    again = Rows(path, SETTINGS)
    assert not again.done("b", "p", 2) and again.done("b", "q", 2) and again.done("a", "p", 2)
    again.add([row("b"), row("b", trajectory=1)])
    assert [(r["method"], r["problem"], r["trajectory"]) for r in read_rows(path)[1]] == [
        ("a", "p", 0),
        ("a", "p", 1),
        ("b", "q", 0),
        ("b", "q", 1),
        ("b", "p", 0),
        ("b", "p", 1),
    ]
    path.write_text(lines({"settings": SETTINGS}, row(tokens=1), row(tokens=2), row(trajectory=1)))
    assert Rows(path, SETTINGS).rows == [row(tokens=2), row(trajectory=1)]  # as earlier versions left it


@pytest.mark.parametrize("text", ["words", "words\nand more", '{"precious": 1}', '{"settings": {"n": 3}}\n'])
def test_rows_leave_other_files_alone(tmp_path, text):
    path = tmp_path / "notes.txt"
    path.write_text(text)
    with pytest.raises(ConfigError):
        Rows(path, SETTINGS)
    assert path.read_text() == text


def test_a_torn_head_is_written_again(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_text('{"settings": {"n"')
    Rows(path, SETTINGS).add(WHOLE)
    assert read_rows(path) == (SETTINGS, WHOLE)


def test_a_row_has_no_score_where_code_may_not_run(lab, monkeypatch):
    monkeypatch.setenv("DRAFTSCOPE_RUN_CODE", "0")
    problem = load_problems("functions", "heldout", 1)[0]
    trace = lab.run("ar", problem.prompt, max_new_tokens=2, extras={"trajectory": 0})
    trace.end = replace(trace.end, text=problem.solution)
    assert row_of(trace, "ar", problem, marking("functions"))["score"] is None


def test_replay_measures_before_it_learns(lab):
    prompt, text = [5, 6, 7], [8, 9, 10, 11, 12]
    positions = list(replay(lab, prompt, [text, text], Sampling(0.6)))
    second = [p for p in positions if p.trajectory == 1]
    assert len(second) == len(text)  # the second time every context is known
    for p in second:
        # the stored distribution is the target's own, cut to ten entries and renormalised: the overlap is the mass of those ten
        assert p.stochastic > 0.5 and p.deterministic <= p.stochastic + 1e-6
        assert 0 <= p.deterministic <= 1 and p.order >= 1


def test_acceptance_is_told_over_problems_not_over_their_positions():
    sure, unsure = Position("a", 0, 1, 1, 0.52, 0.6), Position("b", 0, 1, 1, 0.48, 0.6)
    found = over_problems([sure] * 30 + [unsure] * 10)
    assert found["n"] == 40 and found["deterministic"]["mean"] == pytest.approx(0.51)
    assert found["stochastic"]["mean"] - found["deterministic"]["mean"] == pytest.approx(found["difference"]["mean"])
    # two problems: residuals of their sums are 30 . 0.01 and -10 . 0.03, t with one degree of freedom is 12.7062
    half = 12.7062 * (2 * 2 * 0.3**2) ** 0.5 / 40
    assert found["deterministic"]["high"] - 0.51 == pytest.approx(half, abs=1e-4) and found["difference"]["n"] == 2
    assert over_problems([sure] * 30)["stochastic"] == {"mean": pytest.approx(0.6), "low": None, "high": None, "n": 1}


def test_no_acceptance_is_told_beyond_0_and_1():
    found = over_problems([Position("a", 0, 1, 1, 0.9, 1.0), Position("b", 0, 1, 1, 0.1, 0.2)])
    for name, least in (("deterministic", 0), ("stochastic", 0), ("difference", -1)):
        assert least <= found[name]["low"] < found[name]["mean"] < found[name]["high"] <= 1, "two problems are few"


@pytest.mark.parametrize("settings", [{"temperature": 0.6}, {"temperature": 0.6, "chat": True}])
def test_replay_reads_prompts_as_the_series_did(lab, settings, monkeypatch):
    asked = []
    monkeypatch.setattr(lab.target.tokenizer, "encode", lambda text, chat=False: asked.append((text, chat)) or [5, 6])
    rows = [{"problem": "p", "trajectory": 0, "ids": [8, 9]}]
    list(replay_rows(lab, settings, rows, {"p": "How many?"}))
    assert asked == [("How many?", "chat" in settings)]


def test_texts(tmp_path, lab):
    (tmp_path / "a.txt").write_text("hello")
    (tmp_path / "b.jsonl").write_text('{"text": "abc"}\n"def"\n')
    assert list(of_file(tmp_path / "a.txt")) == ["hello"]
    assert list(of_file(tmp_path / "b.jsonl")) == ["abc", "def"]
    trace = lab.run("ar", [5, 6], max_new_tokens=3)
    trace.save(tmp_path / "t.jsonl.gz")
    trace.save(tmp_path / "t.jsonl")
    assert list(of_file(tmp_path / "t.jsonl.gz")) == list(of_file(tmp_path / "t.jsonl")) == [[5, 6, *trace.token_ids]]
    (tmp_path / "both.jsonl").write_bytes(2 * (tmp_path / "t.jsonl").read_bytes())
    assert list(of_file(tmp_path / "both.jsonl")) == 2 * list(of_file(tmp_path / "t.jsonl"))
    (tmp_path / "c.jsonl").write_text(json.dumps({"x": 1}))
    with pytest.raises(ConfigError, match="line 1"):
        list(of_file(tmp_path / "c.jsonl"))
    most = max(6, *trace.token_ids)
    with pytest.raises(ConfigError, match=rf"t.jsonl holds the token id {most}, and this target has {most}"):
        list(of_file(tmp_path / "t.jsonl", most))
    held = {p.key for p in load_problems("arithmetic", "heldout", 5)}
    assert len(list(of_task("arithmetic", 3))) == 3 and held
    ids = list(encode(lab.target.tokenizer, iter(["abcdef", [1, 2, 3, 4]]), 8))
    assert len(ids) == 2 and ids[1] == [1, 2]


@pytest.mark.parametrize(
    ("name", "data", "place"),
    [
        ("a.txt", b"one\ntwo \xe9", "line 2 is not UTF-8"),
        ("a.jsonl", b'"x"\n{"text": "\xe9"}\n', "line 2 is not JSON in UTF-8"),
        ("a.jsonl", b'"x"\n{"text": \n', "line 2 is not JSON"),
        ("a.jsonl", b'"x"\n\n[1]\n', "line 3 has none"),
        ("a.jsonl", b'"x"\n{"text": null}\n', "line 2 has none"),
    ],
)
def test_damaged_texts_are_named(tmp_path, name, data, place):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ConfigError, match=place):
        list(of_file(tmp_path / name))


def test_texts_with_marks_and_other_separators(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(
        b"\xef\xbb\xbf" + '{"text": "a\u2028b\x85c"}\n\n"d\u2029e"\n"the \\"schema\\""\n'.encode()
    )
    assert list(of_file(tmp_path / "a.jsonl")) == ["a\u2028b\x85c", "d\u2029e", 'the "schema"']
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbf" + "a\u2028b\r\nc".encode())
    assert list(of_file(tmp_path / "a.txt")) == ["a\u2028b\nc"]


@pytest.mark.slow
def test_a_lookup_takes_less_than_the_plain_step_that_it_saves():
    """On the shipped pair, as the recorded milliseconds are; how long both take is the machine's."""
    pair = Lab.load("tiny", device="cpu")
    plain = pair.run("ar", "Question: Ana has 4 pens and buys 9. How many has she?\nAnswer:", max_new_tokens=60)
    step = median(event.verify_ms for event in plain.rounds)
    for cost in measure(pair, 10_000, 100):
        assert cost.both < step, (cost, step)


def test_the_cost_of_a_lookup_is_that_of_its_own_thread(lab, monkeypatch):
    """Torch's other threads spin while they wait, which a clock of the whole process counts."""
    ticks = count()
    monkeypatch.setattr(time, "thread_time", lambda: next(ticks) / 1e3)
    costs = list(measure(lab, 60, 5))
    assert [cost.method for cost in costs] == list(LOOKUPS)
    assert all((cost.draft, cost.update, cost.both, cost.worst) == pytest.approx((1, 1, 2, 2)) for cost in costs)


def test_processes_share_a_file_of_rows(tmp_path):
    path, sets = tmp_path / "x.jsonl", [("a", "p"), ("a", "q"), ("a", "r")]
    one, two = (Rows(path, SETTINGS, Shard(i, 2)) for i in range(2))
    two.add([row(problem="q"), row(problem="q", trajectory=1)])
    assert two.gather(sets) == 2 and not path.exists()
    one.add([row(problem="r"), row(problem="r", trajectory=1), row(), row(trajectory=1)])
    assert not one.done("a", "q", 2) and one.gather(sets) == 0 and one.done("a", "q", 2)
    assert [r["problem"] for r in read_rows(path)[1]] == list("ppqqrr")
    with pytest.raises(ConfigError, match="another experiment"):
        Rows(path, {**SETTINGS, "n": 3}, Shard(1, 2))
    all_of_it = Rows(tmp_path / "y.jsonl", SETTINGS, Shard(0, 2))
    all_of_it.add([row(), row(trajectory=1)])
    assert all_of_it.gather(sets[:1]) == 0 and len(read_rows(tmp_path / "y.jsonl")[1]) == 2


def test_what_holds_no_rows_is_told_by_what_it_is(tmp_path):
    (tmp_path / "empty.jsonl").write_text("")
    for path, said in (
        (tmp_path, "is a folder"),
        (tmp_path / "x", "There is no file"),
        (Path(os.devnull), "is no regular file"),
        (tmp_path / "empty.jsonl", "no exp"),
    ):
        with pytest.raises(ConfigError, match=said):
            read_rows(path)


def test_the_whole_is_not_written_while_somebody_appends_to_it(tmp_path, monkeypatch):
    """A run without --shard: what it adds between another's look and writing would be gone."""
    monkeypatch.setattr("engine.files.held.PATIENCE", 0.2)
    path, sets = tmp_path / "x.jsonl", [("a", "p")]
    shared = Rows(path, SETTINGS, Shard(0, 2))
    shared.add([row(), row(trajectory=1)])
    with hold(path):
        alone = Rows(path, SETTINGS)
        alone.add([row(problem="q"), row(problem="q", trajectory=1)])
        with pytest.raises(ConfigError, match=r"x.jsonl is being written by process"):
            shared.gather(sets)
        assert [r["problem"] for r in read_rows(path)[1]] == list("qq")
        assert alone.gather([*sets, ("a", "q")]) == 0
    assert shared.gather(sets) == 0 and [r["problem"] for r in read_rows(path)[1]] == list("ppqq")
    assert not path.with_name("x.jsonl.lock").exists()


def test_a_method_that_lives_on_is_not_shared(tmp_path, lab):
    with pytest.raises(ConfigError, match="pld:scope=global lives from problem to problem"):
        next(run_series(lab, plan(), Rows(tmp_path / "x.jsonl", plan().settings(lab), Shard(0, 2))))


def test_a_method_that_lives_on_goes_on_with_what_it_had_learnt(tmp_path, lab):
    """A stop between two problems changes no row."""
    plan_ = Plan(contenders(["recycle:scope=global"]), problems=3, n=1, max_new_tokens=16)
    whole = Rows(tmp_path / "whole.jsonl", plan_.settings(lab))
    assert len(list(run_series(lab, plan_, whole))) == 3
    stopped = Rows(tmp_path / "stopped.jsonl", plan_.settings(lab))
    running = run_series(lab, plan_, stopped)
    next(running)
    next(running)
    again = Rows(tmp_path / "stopped.jsonl", plan_.settings(lab))
    assert [problem for _, problem in run_series(lab, plan_, again)] == [whole.rows[-1]["problem"]]
    counts = [[(row["problem"], row["rounds"], row["ids"]) for row in rows.rows] for rows in (whole, again)]
    assert counts[0] == counts[1] and len(counts[0]) == 3
    cold = Rows(tmp_path / "cold.jsonl", plan_.settings(lab))
    last = replace(plan_, given=(plan_.tasks()[-1],))
    list(run_series(lab, last, cold))
    assert cold.rows[0]["rounds"] != whole.rows[-1]["rounds"], "else nothing is learnt here, and nothing is shown"
