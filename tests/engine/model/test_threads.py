"""Threads: the fastest number is taken, a larger one only where it pays, and the user's word stands."""

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
import torch

from engine.errors import ConfigError
from engine.lab import Lab
from engine.model import Session, threads
from engine.model.sharing import OneThread
from engine.model.threads import choices, fastest, settle
from engine.tasks import load_problems
from tests.engine.zoo import Zoo
from tests.typed import some


@pytest.fixture(autouse=True)
def _as_before():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("seconds", "count"),
    [
        ({1: 1.0, 2: 0.6, 4: 0.4}, 4),
        ({1: 1.0, 2: 0.95, 4: 0.92}, 1),  # not worth another thread
        ({1: 1.0, 2: 3.0, 4: 20.0}, 1),  # beside other busy processes
        ({1: 1.0, 2: 1.2, 4: 0.5}, 4),
    ],
)
def test_the_smallest_number_that_no_larger_one_beats_by_a_tenth(seconds, count):
    chosen = fastest(sorted(seconds), seconds.__getitem__)
    assert (chosen.count, chosen.seconds) == (count, seconds)
    assert all(f"{n}: {1e3 * s:.2f}" in str(chosen) for n, s in seconds.items())


def test_what_is_tried():
    assert [choices(n) for n in (1, 2, 3, 6, 16)] == [[1], [1, 2], [1, 2, 3], [1, 2, 4, 6], [1, 2, 4, 8, 16]]


def test_auto_measures_each_number_on_the_model(zoo: Zoo, monkeypatch):
    monkeypatch.setattr(threads, "available", lambda: 2)
    chosen = settle(zoo.model("llama"), "auto", environ={})
    assert set(chosen.seconds) == {1, 2} and all(s > 0 for s in chosen.seconds.values())
    assert torch.get_num_threads() == chosen.count in (1, 2)


def test_the_users_number_is_taken_unmeasured(zoo: Zoo):
    model = zoo.model("llama")
    assert settle(model, "3").count == torch.get_num_threads() == 3
    assert settle(model, np.int64(2)).count == torch.get_num_threads() == 2  # type: ignore[arg-type]
    chosen = settle(model, "auto", environ={"OMP_NUM_THREADS": "2"})
    assert (chosen.count, torch.get_num_threads(), dict(chosen.seconds)) == (2, 2, {})
    assert "OMP_NUM_THREADS" in str(chosen)


@pytest.mark.parametrize("wanted", [0, -1, "none", "2.5", "\u00b2", True, 10**6])
def test_other_numbers_of_threads_are_refused(zoo: Zoo, wanted):
    with pytest.raises(ConfigError, match=r"'auto' or an integer from 1 to \d+, not"):
        settle(zoo.model("llama"), wanted)


def test_a_lab_settles_only_when_asked(zoo: Zoo):
    path = str(zoo.path("llama"))
    assert Lab.load(target=path).threads is None
    lab = Lab.load(target=path, threads=2)
    torch.set_num_threads(1)  # another lab settled otherwise
    lab.run("ar", "hello", max_new_tokens=2)
    assert lab.threads is not None and torch.get_num_threads() == some(lab.threads).count == 2


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test moves."""
    now = [100.0]
    monkeypatch.setattr(threads, "monotonic", lambda: now[0])
    return now


def test_a_server_measures_again_when_the_choice_is_old(zoo: Zoo, monkeypatch, clock):
    """A neighbour that starts, or ends, changes which number is best; measuring costs 2 % of the time at most."""
    monkeypatch.setattr(threads, "available", lambda: 2)
    quiet = {1: 1.0, 2: 0.6}
    seconds = dict(quiet)

    def measured(_model, count):
        clock[0] += 0.1
        return seconds[count]

    monkeypatch.setattr(threads, "_seconds", measured)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    lab = Lab.load(target=str(zoo.path("llama")), threads="auto")
    assert some(lab.threads).count == 2 and some(lab.threads).again == pytest.approx(clock[0] + threads.PATIENCE * 0.2)
    seconds[2] = 5.0  # a busy process beside ours
    lab.settle()
    assert some(lab.threads).count == 2  # measured a moment ago
    clock[0] += threads.PATIENCE * 0.2 + 1
    lab.settle()
    assert some(lab.threads).count == torch.get_num_threads() == 1
    seconds |= quiet
    clock[0] += threads.PATIENCE * 0.2 + 1
    lab.settle()
    assert some(lab.threads).count == torch.get_num_threads() == 2


@pytest.mark.parametrize("given", [2, None])
def test_a_number_that_was_not_measured_stays(zoo: Zoo, clock, given):
    lab = Lab.load(target=str(zoo.path("llama")), threads=given)
    before = lab.threads
    clock[0] += 1e9
    lab.settle()
    assert lab.threads is before


def test_a_large_model_is_judged_by_single_passes(zoo: Zoo, monkeypatch):
    passes = []

    def slow(_session, _prompt, draft):
        passes.append(len(draft.tokens))
        return 2 * threads.LONG

    monkeypatch.setattr(threads, "_pass", slow)
    assert threads._seconds(zoo.model("llama"), 1) == 6 * threads.LONG and passes == [0, 0]


@pytest.mark.thorough
def test_each_round_has_the_threads_of_its_lab(zoo: Zoo, monkeypatch):
    """Runs of two labs in turns, and a run that another thread goes on with, for which torch counts anew."""
    one, two = (Lab.load(target=str(zoo.path("llama")), threads=count) for count in (1, 2))
    seen, plain = set(), Session.forward

    def forward(session, *given, **more):
        seen.add((session.decoder is two.target.decoder, torch.get_num_threads()))
        return plain(session, *given, **more)

    monkeypatch.setattr(Session, "forward", forward)
    for _ in zip(*(lab.stream("ar", [5, 9, 33, 7], max_new_tokens=6) for lab in (one, two)), strict=True):
        continue
    assert seen == {(False, 1), (True, 2)}
    seen.clear()
    stream = two.stream("ar", [5, 9, 33, 7], max_new_tokens=6)
    with ThreadPoolExecutor(1, initializer=torch.set_num_threads, initargs=(1,)) as other:
        other.submit(list, stream).result()
    assert seen == {(True, 2)}
    seen.clear()
    with ThreadPoolExecutor(1, initializer=torch.set_num_threads, initargs=(1,)) as other:
        other.submit(two.costs, "pld", max_new_tokens=8).result()
    assert seen == {(True, 2)}, "costs are those of the lab's threads"


FORKED = """
import multiprocessing, sys
import torch
from engine.lab import Lab

def work():
    loaded = Lab.load(target=sys.argv[1], threads=2)
    for one in (lab, loaded):
        assert one.run("ar", [5, 9, 33, 7], max_new_tokens=6).token_ids == ids and torch.get_num_threads() == 1
    assert torch.ones(1 << 22).exp().shape == (1 << 22,)

lab = Lab.load(target=sys.argv[1], threads=2)
ids = lab.run("ar", [5, 9, 33, 7], max_new_tokens=6).token_ids
assert torch.ones(1 << 22).exp().shape == (1 << 22,) and torch.get_num_threads() == 2
fork = multiprocessing.get_context("fork").Process(target=work)
fork.start()
fork.join(30)
sys.stdout.write(str(fork.exitcode))
fork.kill()
"""


@pytest.mark.parametrize("work", ["run", "mine", "entropies"])
def test_what_begins_while_another_has_one_thread_for_itself_has_its_own_number(
    zoo: Zoo, tmp_path: Path, work: str
) -> None:
    """Torch gives a thread that it has not seen before as many as the last one was given."""
    path, had = str(zoo.path("llama")), list[int]()
    lab = Lab.load(target=path, draft=path, threads=2)
    problem = load_problems("arithmetic", "heldout", 1)[0]
    works: dict[str, Callable[[], object]] = {
        "run": lambda: lab.run("ar", [5, 9], max_new_tokens=1),
        "mine": lambda: next(lab.mine("arithmetic", [problem], tmp_path / "mined.jsonl", limit=4)),
        "entropies": lambda: lab.teacher_forced_entropies("a", "b"),
    }

    def begun() -> None:
        works[work]()
        had.append(torch.get_num_threads())

    with OneThread():
        thread = Thread(target=begun)
        thread.start()
        thread.join()
    assert had == [2]


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_fork_does_not_wait_for_threads_that_it_has_not(zoo: Zoo):
    command = [sys.executable, "-W", "ignore", "-c", FORKED, str(zoo.path("llama"))]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "0"


def test_threads_spin_briefly_unless_told_otherwise():
    """OpenMP reads its policy when torch is imported, so importing any part of the package must have set it by then."""
    names = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
    code = f"import engine, os, sys; assert 'torch' not in sys.modules; print(*map(os.environ.get, {names}))"
    env = {k: v for k, v in os.environ.items() if k not in names}
    told = [
        subprocess.run([sys.executable, "-c", code], env=e, capture_output=True, text=True, check=True).stdout.split()
        for e in (env, env | {"OMP_WAIT_POLICY": "ACTIVE"})
    ]
    assert told == [["None", "10000", "1"], ["ACTIVE", "None", "None"]]
