"""Batches: every row is the run that its prompt gives alone, passes are joined, and one row's end is no other's business."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

import engine.runs.batches
from engine.costs import Costs, Curve
from engine.errors import ConfigError
from engine.lab import Lab
from engine.model import load_model, packed, together
from engine.model.decoder import New
from engine.model.lean import LeanDecoder
from engine.model.slabs import Part
from engine.model.threads import Threads
from engine.model.together import Ask, Crew, JoinedDecoder
from engine.tasks import load_problems
from tests.engine.model.tiny import make
from tests.engine.rows import check, told
from tests.engine.toy import toy_lab
from tests.engine.zoo import Zoo
from tests.typed import known, some

METHODS = ("ar", "sd", "specdec", "cm_asd", "pld")
PROMPTS = ["Once upon a time", "abcabcabcabcab", "The"]


@pytest.fixture
def joined(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, int]]:
    """The decoder of each joined pass, and how many rows it had."""
    sizes, plain = list[tuple[object, int]](), packed.Packing.run

    def run(self: packed.Packing, parts: Any, taps: Any) -> Any:
        sizes.append((self.decoder, len(parts)))
        return plain(self, parts, taps)

    monkeypatch.setattr(packed.Packing, "run", run)
    return sizes


@pytest.mark.parametrize("method", METHODS)
def test_rows_are_their_single_runs(lab: Lab, method: str, joined: list[tuple[object, int]]):
    stop = lab.run("ar", PROMPTS[1], max_new_tokens=3, record="light").text[-1]
    batch = check(lab, method, PROMPTS, max_new_tokens=7, stop=[stop])
    assert len({len(trace.token_ids) for trace in batch}) > 1  # they end at different times
    passes = [n for decoder, n in joined if decoder is lab.target.decoder]
    assert passes[0] == len(PROMPTS)  # the prompts, and then a round of each row that is left, all verified together
    assert passes[1:] == [n for i in range(99) if (n := sum(len(trace.rounds) > i for trace in batch)) > 1]


def test_sampled_rows_draw_as_alone(lab: Lab):
    first, second = check(lab, "sd", ["Once upon a time"] * 2, max_new_tokens=6, temperature=0.9)
    assert first.token_ids != second.token_ids  # each has a stream of its own


def test_a_batch_of_one(lab: Lab, joined: list[tuple[object, int]]):
    check(lab, "sd", PROMPTS[:1], max_new_tokens=6)
    assert not joined


def test_costs_are_measured_once_under_the_threads_that_rows_have(lab: Lab, monkeypatch: pytest.MonkeyPatch):
    """Torch counts threads for each thread of ours anew: a batch may begin in one that has another number."""
    threads = list[int]()

    def measured(*_: object) -> Costs:
        threads.append(torch.get_num_threads())
        return Costs(Curve(((1, 1.0),)), 0.1, 0.1)

    monkeypatch.setattr("engine.runs.costs._measured", measured)
    monkeypatch.setattr(lab, "threads", Threads(2, "as asked"))
    monkeypatch.setattr(lab, "measured", {})
    (trace,) = lab.run_batch("sd", PROMPTS[:1], gamma="auto", max_new_tokens=1, record="light")
    assert threads == [2] and "costs" in trace.head.extras


@pytest.mark.parametrize("kind", ["llama", "qwen2", "gemma2", "gpt_oss"])
def test_a_joined_pass_is_the_single_passes(tmp_path: Path, kind: str):
    """Chains, a tree and a long prompt in one pass, at places with gaps: logits, states, taps, keys and values."""
    model = load_model(make(kind, tmp_path, layers=2, **({} if kind == "llama" else {"sliding_window": 2})), "cpu")
    packing = packed.Packing(known(LeanDecoder, model.decoder))
    with torch.inference_mode():
        caches = packing.caches(6, 300)
        parts, alone = list[Part[packed.PlaceCache]](), list[Any]()
        for place, start, rows, tree in ((4, 7, 1, False), (0, 0, 90, False), (2, 11, 6, True), (1, 20, 3, False)):
            own, cache = model.decoder.cache(300), caches[place]
            for one in (own, cache) if start else ():
                model.decoder.run(one, New(torch.arange(3, 3 + start), None, 0, None), (), 1)
            pos = (
                start + torch.tensor([0, 1, 1, 1, 2, 3]) if tree else None
            )  # three children of the root, a line below the last
            block = None
            if tree:
                block = torch.eye(6, dtype=torch.bool)
                block[:, 0] = block[4:, 3] = block[5, 4] = True
            new = New(torch.arange(5, 5 + rows) % 90, pos, start, block)
            parts.append(Part(cache, new, min(rows, 2)))
            alone.append((own, model.decoder.run(own, new, (0, 2), min(rows, 2))))
        for part, found, (own, wanted) in zip(parts, packing.run(parts, (0, 2)), alone, strict=True):
            for a, b in ((found.logits, wanted.logits), (found.last, wanted.last), (found.taps, wanted.taps)):
                torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)
            end = part.new.start + len(part.new.ids)
            torch.testing.assert_close(part.cache.kv[0][:, :end], own.kv[0][:, :end], rtol=1e-3, atol=1e-4)


def test_what_a_place_takes_is_counted(zoo: Zoo) -> None:
    packing = packed.Packing(known(LeanDecoder, zoo.model("llama").decoder))
    assert packing.caches(3, 40)[0].slab.kv.nbytes == 3 * packing.bytes(40)


def test_a_row_that_fails_ends_alone(lab: Lab, monkeypatch: pytest.MonkeyPatch):
    plain, calls = packed.Packing.run, iter(range(100))

    def run(self: packed.Packing, parts: Any, taps: Any) -> Any:
        found = plain(self, parts, taps)
        if next(calls) == 3:
            found[1].logits.fill_(torch.nan)
        return found

    alone = [lab.run("ar", prompt, max_new_tokens=6, record="light") for prompt in PROMPTS[:3]]
    monkeypatch.setattr(packed.Packing, "run", run)
    batch = lab.run_batch("ar", PROMPTS[:3], max_new_tokens=6, record="light")
    assert [some(trace.end).reason for trace in batch] == ["limit", "error", "limit"]
    assert told(batch[0]) == told(alone[0]) and told(batch[2]) == told(alone[2])


def test_no_memory_within_a_pass_is_told_by_its_rows(lab: Lab, monkeypatch: pytest.MonkeyPatch):
    def run(*given: Any) -> Any:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(packed.Packing, "run", run)
    batch = lab.run_batch("ar", PROMPTS[:2], max_new_tokens=6)
    assert [(some(t.end).reason, "out of memory" in (some(t.end).message or "")) for t in batch] == [
        ("error", True)
    ] * 2
    monkeypatch.undo()
    check(lab, "ar", PROMPTS[:2], max_new_tokens=3)  # nothing is left behind


def test_drafts_come_before_what_waits_for_them_and_long_prompts_one_after_another():
    def ask(waits: bool, slab: object, rows: int = 1) -> Ask:
        decoder, cache = SimpleNamespace(waits=waits), SimpleNamespace(slab=slab)
        return Ask(
            cast(JoinedDecoder, decoder), cast(packed.PlaceCache, cache), New(torch.zeros(rows), None, 0, None), (), 1
        )

    a, b = object(), object()
    for one, other in ((a, b), (b, a)):
        assert together._next({0: ask(True, one), 1: ask(False, other), 2: ask(True, one)}) == [1]
        assert together._next({0: ask(True, one), 2: ask(True, one)}) == [0, 2]
    assert together._next({0: ask(True, a, 1500), 1: ask(True, a, 1500), 2: ask(True, a)}) == [0]
    assert together._next({0: ask(True, a, 5000)}) == [0]


def test_an_error_in_one_row_ends_all_and_lets_go_of_them():
    crew, ended = Crew(), list[str]()

    def waits() -> None:
        try:
            crew.ask(cast(Ask, None))
        finally:
            ended.append("the other")

    def fails() -> None:
        raise KeyError("a bug")

    with pytest.raises(KeyError):
        crew.work([waits, fails])
    assert ended == ["the other"]
    assert crew.work([lambda: 7]) == [7]


def test_what_cannot_be_is_refused(lab: Lab, zoo: Zoo, monkeypatch: pytest.MonkeyPatch):
    for method, prompts, says in (
        ("sd", [], "at least one prompt"),
        ("sd", "one text", "must be a list of prompts, not 'one text'"),
        ("sdd", ["a"], "Unknown method 'sdd'. Did you mean 'sd'"),
        ("eagle3", ["a"], "needs"),
        ("sd", ["a", "b" * 600], "600 tokens"),
    ):
        with pytest.raises(ConfigError, match=says):
            lab.run_batch(method, prompts)
    with pytest.raises(ConfigError, match="seed is one number"):
        lab.run_batch("sd", ["a"], seed=[1])
    with pytest.raises(ConfigError, match="one sequence at a time"):
        zoo.lab("gpt_neox", draft=None, layers=2).run_batch("ar", ["a"])
    with pytest.raises(ConfigError, match="one sequence at a time"):
        toy_lab().run_batch("ar", [[0, 1]])


def test_a_batch_may_take_all_the_room_that_it_has(lab: Lab, monkeypatch: pytest.MonkeyPatch):
    free = 40_000_000
    monkeypatch.setattr(engine.runs.batches, "available", lambda device: free)
    with pytest.raises(ConfigError, match=r"A batch of 99 .* at most \d+ rows have room") as told:
        lab.run_batch("sd", ["a"] * 99, max_new_tokens=1)
    most = int(some(re.search(r"at most (\d+) rows", str(told.value)))[1])
    free = int(2.5 * free / most)
    with pytest.raises(ConfigError, match="at most 2 rows have room"):
        lab.run_batch("sd", ["a"] * 3, max_new_tokens=1)
    assert len(lab.run_batch("sd", ["a"] * 2, max_new_tokens=1)) == 2


# --- the embedded pair --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tiny() -> Lab:
    return Lab.load("tiny", device="cpu")


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rows", [1, 3, 5])
def test_the_embedded_pair(tiny: Lab, method: str, rows: int):
    texts = [load_problems(family, "heldout", 2) for family in ("arithmetic", "functions", "sentences")]
    prompts = [problem.prompt for pair in zip(*texts, strict=True) for problem in pair][:rows]
    batch = check(tiny, method, prompts, max_new_tokens=60)
    assert rows == 1 or len({len(trace.token_ids) for trace in batch}) > 1


@pytest.mark.slow
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_every_method_decodes_a_batch(tiny: Lab, temperature: float):
    prompts = [
        problem.prompt for family in ("arithmetic", "sentences") for problem in load_problems(family, "heldout", 2)
    ]
    for card in tiny.methods():
        check(tiny, card.name, prompts, max_new_tokens=24, temperature=temperature)
