"""Mining over HTTP: recorded sets, jobs and their limits, resume, stop, and files that stay few."""

import errno
import json
import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from operator import ne
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from app import evaluations, mining
from app.mining import Folder, Ready, events, prepared
from app.miningjob import Job, problems
from app.rounds import Visitor
from app.service import Service
from engine.analysis.judge import at_threshold
from engine.errors import ConfigError
from engine.judge.store import read_mined
from tests.app.fakes import FakeLab

KEY = "0123456789abcdef" * 2
JOB = {"key": KEY, "models": "made-up", "task": "arithmetic", "source": "heldout", "n": 4}


def job(**more: Any) -> Job:
    return Job(**{**JOB, **more})


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "visitors", keep=3)


@pytest.fixture
def client(service: Service, tmp_path: Path, folder: Folder) -> TestClient:
    return TestClient(Starlette(routes=mining.routes(service, tmp_path, folder)))


def lines(answer: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in answer.text.splitlines()]


def test_recorded_sets_are_listed_with_their_command_and_read(client: TestClient, tmp_path: Path) -> None:
    head = {"kind": "mining", "schema": 1, "task": "arithmetic", "problem_seed": 0, "split": "heldout", "naive": True}
    (tmp_path / "some.jsonl").write_text(json.dumps(head) + "\n{}\n{}\n")
    (found,) = client.get("/lab/mined").json()["sets"]
    assert (found["name"], found["prompts"], found["naive"]) == ("some", 2, True)
    assert "--naive --score --out presets/mined/some.jsonl" in found["command"] and "--items 2 " in found["command"]
    assert lines(client.get("/lab/mined?name=some"))[0] == head
    refused = client.get("/lab/mined?name=../some")
    assert refused.status_code == 404 and "Known: some" in refused.json()["error"]


@pytest.mark.parametrize(
    "change",
    [
        {"key": "short"},
        {"key": 3},
        {"models": "others"},
        {"task": "poems"},
        {"source": "all"},
        {"n": 0},
        {"n": 201},
        {"n": True},
        {"n": "4"},
        {"n": 4.0},
        {"naive": "false"},
        {"naive": 1},
        {"keys": KEY},
        {"source": "prompt"},
        {"source": "prompt", "prompt": "x" * 30_000},
    ],
)
def test_bad_jobs_are_refused_with_a_sentence(client: TestClient, change: dict[str, Any]) -> None:
    for path in ("/lab/mine", "/lab/mine/kept"):
        answer = client.post(path, json=JOB | change)
        assert answer.status_code == 400 and answer.json()["error"].endswith(".")
        assert "pydantic" not in answer.text and "Input should" not in answer.text


def test_bodies_that_are_no_job(client: TestClient) -> None:
    for body, status in ((b"[]", 400), (b"{", 400), (b"x" * 70_000, 413), (b"[" * 60_000, 400), (b"\xff\xfe", 400)):
        assert client.post("/lab/mine", content=body).status_code == status


def test_programs_without_tests_and_translations_without_right_ones_cannot_be_mined() -> None:
    with pytest.raises(ConfigError, match="has none"):
        problems(job(task="functions", source="prompt", prompt="Code:"))
    with pytest.raises(ConfigError, match="all right ones"):
        problems(job(task="translation", source="prompt", prompt="Translate: The dog sees the house."))
    assert all(problem.write is not None for problem in problems(job(task="translation", n=2)))
    (own,) = problems(job(source="prompt", prompt="Question: 1 + 1?"))
    assert own.prompt == "Question: 1 + 1?"


def test_a_job_runs_is_kept_and_goes_on(client: TestClient, lab: FakeLab, folder: Folder) -> None:
    assert client.post("/lab/mine/kept", json=JOB).text == ""
    told = lines(client.post("/lab/mine", json=JOB))
    assert [told[0]["kind"], told[1]["kind"], told[-1]["kind"]] == ["queued", "started", "ended"]
    kept = lines(client.post("/lab/mine/kept", json=JOB))
    prompts = [event for event in told if event["kind"] == "prompt"]
    assert len(prompts) == 4 and kept[1:] == prompts
    assert all(label["target_piece"] for prompt in prompts for label in prompt["labels"]) and prompts[0]["pieces"]
    more = lines(client.post("/lab/mine", json=JOB | {"n": 6}))
    assert more[1]["done"] == 4 and len([event for event in more if event["kind"] == "prompt"]) == 2
    assert client.post("/lab/mine/kept", json=JOB | {"key": KEY[::-1]}).text == ""
    assert not lab.open_streams and not folder.busy


def test_stopping_keeps_finished_prompts_and_frees_the_device(service: Service, lab: FakeLab, folder: Folder) -> None:
    path = folder.file(KEY, "x")
    folder.make_room(path)
    one = job(n=4)
    stream = events(service, folder, Ready(one, problems(one), path))
    for event in stream:
        if event["kind"] == "progress" and event["done"] == 2:
            break
    with pytest.raises(ConfigError, match="another tab"):
        list(events(service, folder, Ready(one, problems(one), path)))
    stream.close()
    assert not lab.open_streams and not folder.busy and len(read_mined(path)[1]) == 2
    with service.line(Visitor("next")) as ticket:
        assert list(ticket.waits()) == []


def test_the_device_is_given_back_between_prompts(service: Service, folder: Folder) -> None:
    one = job(n=3)
    folder.make_room(folder.file(KEY, "y"))
    told = list[str]()
    with ExitStack() as stack:
        for event in events(service, folder, Ready(one, problems(one), folder.file(KEY, "y"))):
            if event["kind"] == "progress" and event["done"] == 1:
                ticket = stack.enter_context(service.line(Visitor("other")))
                ticket.enqueue()
            if event["kind"] == "queued" and "line" in event:
                assert list(ticket.waits()) == [] and event["line"]["place"] == 1
                stack.close()
            told.append(event["kind"])
    assert told.count("queued") == 2 and told[-1] == "ended"


def test_files_stay_few_and_the_oldest_go(folder: Folder) -> None:
    for i in range(3):
        begun(folder, Visitor("a", KEY), i)
    folder.busy.add(folder.file(KEY, 0))
    begun(folder, Visitor("a", KEY), 3)
    assert [folder.file(KEY, i).exists() for i in range(4)] == [True, False, True, True]


def begun(folder: Folder, visitor: Visitor, number: int) -> Path:
    """A file that a visitor begins, each younger than those of smaller numbers."""
    path = folder.file(visitor.key, number)
    folder.make_room(path, visitor)
    path.write_text("x")
    os.utime(path, (number, number))
    return path


def test_a_file_has_a_key_of_32_hexadecimal_digits(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    for wrong in ("", "0" * 31, "0" * 31 + "g", "A" * 32):
        with pytest.raises(ConfigError, match="32 hexadecimal digits"):
            folder.file(wrong)
    assert folder.file("0" * 32, "a") != folder.file("0" * 32, "b") != folder.file("1" * 32, "b")


def test_who_makes_up_keys_forgets_files_of_their_own_address(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "visitors", keep=8)
    others = [begun(folder, Visitor(name, KEY), i) for i, name in enumerate("abc")]
    for i in range(40):
        begun(folder, Visitor("many", f"{i:032x}"), 100 + i)
    assert all(path.exists() for path in others) and len(list(folder.path.iterdir())) == 8
    late = [begun(folder, Visitor(name, KEY), 200 + i) for i, name in enumerate("defgh")]
    assert all(path.exists() for path in (*others[1:], *late)) and len(folder.owners) == 8


def test_of_one_address_who_has_most_files_forgets_one(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "visitors", keep=8)
    classmates = [begun(folder, Visitor("class", f"{i:032x}"), i) for i in range(4)]
    for i in range(20):
        begun(folder, Visitor("class", "f" * 32), 100 + i)
    assert all(path.exists() for path in classmates) and len(list(folder.path.iterdir())) == 8


def test_the_address_that_asks_is_told_to_the_folder(service: Service, client: TestClient, folder: Folder) -> None:
    job = {**JOB, "key": "f" * 32}
    path = prepared(service, folder, job, "first").path  # it waits in the line
    client.post("/lab/mine", json=JOB)
    assert folder.owners.pop(path) == Visitor("first", "f" * 32)
    assert list(folder.owners.values()) == [Visitor("testclient", KEY)]


def test_a_borrowed_device_is_not_mined_on(service: Service, lab: FakeLab, client: TestClient) -> None:
    service._turns = lambda _models, _request: iter(())
    lab.device = "cuda"
    assert "lent" in client.post("/lab/mine", json=JOB).json()["error"]


def test_evaluations_come_with_scores_or_with_the_command(tmp_path: Path) -> None:
    (tmp_path / "judge-arithmetic.json").write_text('{"rows": []}')
    (tmp_path / "assets/tiny/judge-functions").mkdir(parents=True)
    judge = {"scores": [0.1], "truth": [0], "threshold": 0.2, "models": {}}
    (tmp_path / "assets/tiny/judge-functions/judge.json").write_text(json.dumps(judge))
    app = Starlette(routes=evaluations.routes(tmp_path, tmp_path / "assets"))
    arithmetic, functions, translation = TestClient(app).get("/lab/evaluations").json()["tasks"]
    assert arithmetic["result"].pop("figure")["layout"]["title"]["text"] == "Accuracy on arithmetic"
    lines = {"topk": None, "transfer": None}
    assert arithmetic["result"] == {"rows": [], "rules": None, "lines": lines} and arithmetic["judge"] is None
    assert functions["result"] is None and functions["command"].endswith("judge-eval --preset tiny --tasks functions")
    assert functions["judge"] == {"scores": [0.1], "truth": [0], "threshold": 0.2}
    assert translation["judge"] is None and "--preset crossed --tasks translation" in translation["command"]


@pytest.mark.parametrize("name", ["tiny/judge-arithmetic", "tiny/judge-functions", "crossed/judge-translation"])
def test_the_page_has_a_judges_recall_at_its_own_threshold(name: str) -> None:
    """Recorded scores are rounded, the threshold is one of them in full: the label that it was set by is caught."""
    judge = json.loads((evaluations.ASSETS / name / "judge.json").read_text())
    told = evaluations._told(judge)
    found = at_threshold(told["scores"], [bool(one) for one in told["truth"]], told["threshold"])
    assert found["recall"] == judge["at_threshold"]["recall"] >= 0.9
    assert sum(map(ne, told["scores"], judge["scores"])) <= 1


def test_a_full_disk_is_told_in_the_systems_words(
    client: TestClient,
    folder: Folder,
    lab: FakeLab,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    mine = lab.mine

    def full(*given: Any, **settings: Any) -> Iterator[Any]:
        yield next(mine(*given, **settings))
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # as writing does, without a name

    monkeypatch.setattr(lab, "mine", full)
    *_, last = lines(client.post("/lab/mine", json=JOB))
    path = folder.file(KEY, "made-up", "arithmetic", "heldout", False, "")
    said = f"The server's machine says: No space left on device ({path})."
    assert last == {"kind": "error", "error": said}
    assert caplog.messages == [f"long work failed. {said}"] and not caplog.records[0].exc_info


@pytest.mark.parametrize("number, status", [(errno.ENOSPC, 500), (errno.EBADF, 0)])
def test_no_room_for_another_file_is_told_and_a_fault_is_one(
    client: TestClient, folder: Folder, monkeypatch: pytest.MonkeyPatch, number: int, status: int
) -> None:
    def none(*_: object) -> None:
        raise OSError(number, os.strerror(number), "visitors")

    monkeypatch.setattr(Folder, "make_room", none)
    if not status:
        with pytest.raises(OSError, match="Bad file descriptor"):
            client.post("/lab/mine", json=JOB)
        return
    answer = client.post("/lab/mine", json=JOB)
    assert answer.status_code == status
    assert answer.json() == {"error": "The server's machine says: No space left on device (visitors)."}


def test_of_two_that_begin_to_mine_a_set_at_once_one_is_refused(tmp_path):
    class Slow(set):
        """Another thread comes between the look and what follows from it."""

        def __contains__(self, path):
            found = super().__contains__(path)
            with suppress(threading.BrokenBarrierError):  # where one holds the lock the other does not come
                both.wait(0.2)
            return found

    both = threading.Barrier(2)
    folder, went = Folder(tmp_path, busy=Slow()), []
    together, over = threading.Barrier(2), threading.Event()

    def mine():
        together.wait(5)
        try:
            with folder.at_work(tmp_path / "set.jsonl"):
                went.append("at work")
                over.wait(1)
        except ConfigError as error:
            went.append(str(error))
            over.set()

    threads = [threading.Thread(target=mine) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(went)[1] == "at work" and "being mined already" in sorted(went)[0]
    assert not list(folder.busy)
