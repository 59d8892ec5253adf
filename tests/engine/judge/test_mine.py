"""Mining many prompts: one line a finished prompt, resume, stop, threads."""

import json
import threading
from pathlib import Path

import pytest

from engine.errors import AssetError, ConfigError
from engine.files.held import hold
from engine.files.shards import Shard
from engine.judge.events import Ended, Labelled, Progress, PromptFinished, Started, to_json
from engine.judge.mine import mine
from engine.judge.store import MinedFile, labels_of, read_mined
from tests.engine.judge.scripted import prompt, random_pair, search
from tests.typed import known

PROMPTS = [prompt(text, f"p{i}") for i, text in enumerate(("a", "ab", "cad", "bb", "dc"))]
HEAD = {"task": "toy", "limit": 20}


def searches(n: int = 1):
    target, draft = random_pair(5)
    return [search(target, draft, lambda text: text[:2]) for _ in range(n)]


def finished(events) -> dict[str, PromptFinished]:
    out = {e.prompt: e for e in events if isinstance(e, PromptFinished)}
    for done in out.values():
        done.seconds = 0.0
    return out


def test_what_is_reported_is_what_is_on_disk(tmp_path: Path) -> None:
    file = MinedFile(tmp_path / "deep" / "mined.jsonl", HEAD)
    events = list(mine(PROMPTS, searches(), file))
    head, prompts = read_mined(file.path)
    assert head == {"kind": "mining", "schema": 1, **HEAD}
    assert [p.prompt for p in prompts] == [p.id for p in PROMPTS]
    assert finished(events) == finished(prompts)
    assert isinstance(events[0], Started) and isinstance(events[-1], Ended) and events[-1].reason == "finished"
    last = [e for e in events if isinstance(e, Progress)][-1]
    assert (last.done, last.total, last.left_s) == (5, 5, 0.0) and last.labels == len(labels_of(prompts)) > 0
    json.dumps([to_json(e) for e in events])


def test_stopping_within_a_prompt_loses_that_prompt_only_and_mining_resumes(tmp_path: Path) -> None:
    whole = finished(mine(PROMPTS, searches()))
    file = MinedFile(tmp_path / "mined.jsonl", HEAD)
    events = mine(PROMPTS, searches(), file)
    seen = 0
    for event in events:
        seen += isinstance(event, Labelled)
        if len(file.done) == 2 and isinstance(event, Labelled):
            break
    events.close()
    assert len(read_mined(file.path)[1]) == 2 and seen
    again = MinedFile(file.path, HEAD)
    rest = list(mine(PROMPTS, searches(), again))
    assert known(Started, rest[0]).done == 2 and len(finished(rest)) == 3
    assert finished(read_mined(file.path)[1]) == whole


def test_a_torn_last_line_is_mined_again(tmp_path: Path) -> None:
    path = tmp_path / "mined.jsonl"
    list(mine(PROMPTS[:3], searches(), MinedFile(path, HEAD)))
    path.write_bytes(path.read_bytes()[:-40])
    file = MinedFile(path, HEAD)
    assert file.done == {"p0", "p1"}
    list(mine(PROMPTS[:3], searches(), file))
    assert {p.prompt for p in read_mined(path)[1]} == {"p0", "p1", "p2"}


def test_other_settings_do_not_mix(tmp_path: Path) -> None:
    list(mine(PROMPTS[:1], searches(), MinedFile(tmp_path / "m.jsonl", HEAD)))
    with pytest.raises(ConfigError, match="limit differ"):
        MinedFile(tmp_path / "m.jsonl", HEAD | {"limit": 21})
    with pytest.raises(AssetError, match="no mined file"):
        read_mined(tmp_path / "missing.jsonl")
    (tmp_path / "t.jsonl").write_text('{"kind": "run", "schema": 1}\n')
    with pytest.raises(AssetError, match="no mined file"):
        read_mined(tmp_path / "t.jsonl")


def test_a_prompt_that_changed_is_not_taken_for_done(tmp_path: Path) -> None:
    file = MinedFile(tmp_path / "m.jsonl", HEAD)
    list(mine(PROMPTS[:2], searches(), file))
    asked = {one.id: one.ids for one in PROMPTS}
    file.fits(asked)
    with pytest.raises(ConfigError, match="another prompt as p1: what is mined has changed"):
        file.fits(asked | {"p1": [*asked["p1"], 0]})


@pytest.mark.parametrize(
    "text", ['{"precious":1}', '{"precious":1}\n{"more":2}', "a note\nthat ends here", "words", "[1]\n", "\n"]
)
def test_a_file_that_was_not_mined_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "one.json"
    path.write_text(text)
    with pytest.raises(AssetError, match="no mined file"):
        MinedFile(path, HEAD)
    assert path.read_text() == text


@pytest.mark.parametrize("left", [0, 1, 9, 30, -1])
def test_a_torn_head_is_written_again(tmp_path: Path, left: int) -> None:
    path = tmp_path / "mined.jsonl"
    whole = MinedFile(path, HEAD).path.read_bytes()
    path.write_bytes(whole[:left])
    assert MinedFile(path, HEAD).done == set() and path.read_bytes() == whole


def test_a_file_without_a_finished_prompt_may_be_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "mined.jsonl"
    MinedFile(path, HEAD)
    with path.open("a") as file:
        file.write('{"kind":"prompt","prompt":"p0"')
    MinedFile(path, HEAD | {"limit": 21})
    assert read_mined(path) == ({"kind": "mining", "schema": 1, **HEAD, "limit": 21}, [])


def test_other_line_separators_within_texts_are_no_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "mined.jsonl"
    file = MinedFile(path, HEAD)
    text = "a\u2028b\u2029c\x85d"
    file.add(PromptFinished("p0", "k", [1], [2], [2], None, text=text))
    assert [p.text for p in read_mined(path)[1]] == [text] and MinedFile(path, HEAD).done == {"p0"}


@pytest.mark.parametrize(
    "damage",
    [
        lambda line: 7,
        lambda line: line | {"labels": [{"t": 1}]},
        lambda line: line | {"labels": None},
        lambda line: line | {"final": "abc"},
        lambda line: line | {"prompt_ids": [1, -2]},
        lambda line: line | {"text": None},
        lambda line: {k: v for k, v in line.items() if k != "first"},
        lambda line: line | {"labels": [line["labels"][0] | {"important": "yes"}]},
    ],
)
def test_a_damaged_prompt_is_named_with_its_line(tmp_path: Path, damage) -> None:
    path = tmp_path / "mined.jsonl"
    list(mine(PROMPTS[:2], searches(), MinedFile(path, HEAD)))
    head, first, second = path.read_text().splitlines()
    whole = "\n".join([head, json.dumps(damage(json.loads(first))), second]) + "\n"
    path.write_text(whole)
    with pytest.raises(AssetError, match="line 2"):
        MinedFile(path, HEAD)
    assert path.read_text() == whole


def test_threads_find_the_same_labels() -> None:
    assert finished(mine(PROMPTS, searches(3))) == finished(mine(PROMPTS, searches()))


def test_a_failing_thread_ends_the_mining() -> None:
    target, draft = random_pair(5)

    def broken(text: str) -> str:
        raise ConfigError("no answer")

    with pytest.raises(ConfigError, match="no answer"):
        list(mine(PROMPTS, [search(target, draft, broken) for _ in range(2)]))


def test_threads_can_be_stopped() -> None:
    before = set(threading.enumerate())
    events = mine(PROMPTS * 40, searches(2))
    for _ in range(5):
        next(events)
    assert len(set(threading.enumerate()) - before) == 2
    events.close()
    assert set(threading.enumerate()) <= before


def test_time_ends_mining_after_a_prompt() -> None:
    clock = iter(range(1000)).__next__
    events = list(mine(PROMPTS, searches(), seconds=1.5, clock=lambda: float(clock())))
    ended = known(Ended, events[-1])
    assert ended.reason == "stopped" and ended.done == 2


def test_processes_share_a_mined_file(tmp_path, monkeypatch):
    whole, made = tmp_path / "m.jsonl", lambda name: PromptFinished(name, "k", [1], [2], [2], None, text=name)
    one, two = (MinedFile(whole, {"task": "toy"}, Shard(i, 2)) for i in range(2))
    two.add(made("b"))
    assert two.gather(["a", "b"]) == 1 and not whole.exists()
    one.add(made("a"))
    assert one.gather(["a", "b"]) == 0
    assert [prompt.prompt for prompt in read_mined(whole)[1]] == ["a", "b"]
    assert MinedFile(whole, {"task": "toy"}, Shard(2, 3)).done == {"a", "b"}, "another number of processes goes on"
    with pytest.raises(ConfigError, match="task differ"):
        MinedFile(whole, {"task": "other"}, Shard(1, 2))
    monkeypatch.setattr("engine.files.held.PATIENCE", 0.2)
    with hold(whole):  # by a run without --shard, which gathers at its end
        MinedFile(whole, {"task": "toy"}).add(made("c"))
        with pytest.raises(ConfigError, match=r"m.jsonl is being written by process"):
            one.gather(["a", "b"])
    assert one.gather(["a", "b"]) == 0
    assert [prompt.prompt for prompt in read_mined(whole)[1]] == ["a", "b", "c"]


def test_an_empty_file_is_told_as_one(tmp_path):
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(AssetError, match="no mined file of schema 1; it has no line"):
        read_mined(tmp_path / "empty.jsonl")
