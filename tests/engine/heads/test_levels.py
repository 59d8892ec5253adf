"""Captured levels of draft heads: replays are the same work on the same memory, and runs draft and write what they did.

As in `test_graphs`, a recorder stands in for a graph and compares each replay with the capture, address by address.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.heads import graphs
from engine.heads.graphs import LevelBuffers, Levels, levels_of
from engine.heads.lean import Memory, look
from engine.heads.mtp_wrapped import WrappedHead
from engine.lab import Lab
from engine.methods import get_card
from engine.model.graphs import Again, Capturer, GraphedDecoder
from engine.model.lean import LeanDecoder
from engine.trace.events import RunStarted
from engine.trace.store import Trace
from tests.engine.devices.pretend import pretended
from tests.engine.drafters.heads import headed
from tests.engine.heads import made
from tests.engine.model.families import near
from tests.engine.model.test_graphs import Faulty, Full, Recorder
from tests.engine.zoo import Zoo
from tests.typed import known

PROMPT = [5, 6, 7, 8, 9, 10]


@contextmanager
def captured(lab: Lab, capturer: Capturer) -> Iterator[None]:
    """The target's passes, and so the levels of its heads, are captured."""
    plain = lab.target.decoder
    assert isinstance(plain, LeanDecoder)
    lab.target.decoder = GraphedDecoder(plain, capturer)
    try:
        yield
    finally:
        lab.target.decoder = plain


def trees(trace: Trace) -> list[Any]:
    """Every draft, node by node."""
    return [[(node.token, node.parent) for node in found.nodes] for found in trace.rounds]


def alike(lab: Lab, method: str, role: str, **options: Any) -> Levels:
    """Run twice with captured levels, and once without: the same drafts and text. The levels of the head."""
    plain = lab.run(method, PROMPT, **options)
    recorder = Recorder()
    with captured(lab, recorder):
        for _ in range(2):
            trace = lab.run(method, PROMPT, **options)
            assert trace.token_ids == plain.token_ids and trees(trace) == trees(plain)
        levels = levels_of(lab.target.decoder, lab.asset(role))
    assert levels is not None and not levels.why_not and levels.captured and levels.replayed
    assert recorder.replays >= levels.replayed
    return levels


@pytest.mark.thorough
def test_trees_grow_from_replays(zoo: Zoo, tmp_path: Path) -> None:
    lab = headed(zoo, tmp_path)
    levels = alike(lab, "eagle3", "eagle3", max_new_tokens=10, depth=3, total_token=12, tree_top_k=3)
    assert levels.captured <= 2  # rows of a level in one size, over a memory that the second run took from the first
    levels = alike(lab, "medusa", "medusa", max_new_tokens=6)
    assert levels.captured <= 3 < levels.replayed  # once for each depth that fits, no memory


@pytest.mark.thorough
@pytest.mark.parametrize("heads", [(4, 1), (4, 2)])
def test_blocks_are_filled_by_replays(heads: tuple[int, int], zoo: Zoo, tmp_path: Path) -> None:
    """Of all lengths, each rounded up to a size: rows of padding are seen by none."""
    lab = zoo.lab("llama", draft=None, layers=4)
    lab.asset_paths["dflash"] = str(made.dflash(tmp_path, lab.target, heads))
    for masks in range(1, made.SIZE):
        levels = alike(lab, "dflash", "dflash", max_new_tokens=12, gamma=masks, temperature=1.0, seed=masks)
    assert levels.captured <= 2 * 4  # sizes over the memories of two runs at most


@pytest.mark.slow
@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize(
    ("method", "role"),
    [
        ("eagle2", "eagle2"),
        ("eagle3", "eagle3"),
        ("adaedl_eagle", "eagle3"),
        ("heterospec", "eagle3"),
        ("mtp", "mtp"),
        ("dflash", "dflash"),
        ("medusa", "medusa"),
        ("hydra", "hydra"),
    ],
)
def test_whole_runs_of_the_embedded_pair(method: str, role: str, temperature: float) -> None:
    lab = Lab.load("tiny", device="cpu")
    alike(lab, method, role, max_new_tokens=48, temperature=temperature, seed=3)


def test_a_level_that_cannot_be_captured_runs_as_before_and_says_why(zoo: Zoo, tmp_path: Path) -> None:
    lab = headed(zoo, tmp_path)
    for method in ("eagle2", "hydra"):
        plain = lab.run(method, PROMPT, max_new_tokens=6)
        with captured(lab, Faulty()):
            trace = lab.run(method, PROMPT, max_new_tokens=6)
            levels = levels_of(lab.target.decoder, lab.asset(method))
        assert trace.token_ids == plain.token_ids and trees(trace) == trees(plain)
        assert levels is not None and "not permitted when stream is capturing" in levels.why_not and not levels.captured


class Owner:
    """Who has a memory, for as long as it lives."""


@torch.inference_mode()
def test_a_run_that_gave_no_numbers_spoils_no_level_after_it(zoo: Zoo, tmp_path: Path) -> None:
    """Neither by what the memory holds, at which levels look through a mask, nor by rows that pad others."""
    head, levels, done = headed(zoo, tmp_path).asset("eagle2"), Levels(Again()), list[type]()
    states, ids = torch.randn(8, head.width, generator=torch.Generator().manual_seed(0)), torch.arange(8)

    def level(owner: Owner, hidden: Tensor, rows: int) -> tuple[Tensor, Tensor]:
        memory, at = levels.memory(owner, head.memory, 24), len(hidden) - rows
        head.run(memory, ids[:at], hidden[:at], slice(0, at), 0)
        mask = torch.zeros(rows, at + rows)

        def work(memory: Any, ids: Tensor, before: Tensor) -> Any:
            done.append(type(memory))
            out = head.run(memory, ids, before, slice(at, at + 1), at, mask)
            return out, head.logits(out)

        wanted = work(memory, ids[:rows], hidden[at:])[1]
        return wanted, levels.step(memory, work, ids[:rows], hidden[at:], at, at, mask)[1]

    assert level(Owner(), states * torch.nan, 4)[1].isnan().all()
    wanted, found = level(Owner(), states[:5], 3)
    assert near(found, wanted) < 2e-5 and (levels.captured, levels.replayed) == (1, 1)
    assert done == [Memory, LevelBuffers] * 2  # nothing is done plainly beside


@torch.inference_mode()
def test_a_run_that_gave_no_numbers_spoils_no_block_after_it(
    zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = zoo.lab("llama", draft=None, layers=4)
    lab.asset_paths["dflash"] = str(made.dflash(tmp_path, lab.target))
    head, lean, levels = lab.asset("dflash"), known(LeanDecoder, lab.target.decoder), Levels(Again())
    states = torch.randn(4, len(head.spec.taps) * lean.width, generator=torch.Generator().manual_seed(0))
    table = lean.embedding.clone()
    table[90] = torch.inf
    monkeypatch.setattr(lean, "embedding", table)

    def block(owner: Owner, states: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
        memory = levels.memory(owner, head.memory, 24)
        assert not memory.length
        head.read(memory, states)
        return head.fill(memory, ids), levels.block(memory, head.fill, ids)

    assert block(Owner(), states * torch.nan, torch.full((4,), 90))[1].isnan().all()
    wanted, found = block(Owner(), states[:2], torch.arange(3))
    assert near(found, wanted) < 2e-5 and (levels.captured, levels.replayed) == (1, 1)
    levels = Levels(Faulty())
    wanted, found = block(Owner(), states, torch.arange(3))
    assert torch.equal(found, wanted) and "not permitted" in levels.why_not


@torch.inference_mode()
def test_no_memory_to_capture_is_no_level_that_cannot_be_captured(zoo: Zoo, tmp_path: Path) -> None:
    """Which would end capturing for good."""
    head, levels = headed(zoo, tmp_path).asset("eagle2"), Levels(Full())
    rows = torch.zeros(1, head.width)
    with pytest.raises(torch.OutOfMemoryError):
        levels.rows("some", torch.exp, rows)
    with pytest.raises(torch.OutOfMemoryError):
        levels.step(head.memory(24), lambda memory, ids, before: (before, before), torch.arange(1), rows, 0, 0, None)
    assert not levels.why_not


def test_a_run_takes_a_memory_of_its_own_size_and_looks_at_no_more_than_it_needs(zoo: Zoo, tmp_path: Path) -> None:
    head, levels = headed(zoo, tmp_path).asset("eagle2"), Levels(Again())

    def slots(capacity: int) -> tuple[int, int]:
        memory = levels.memory(Owner(), head.memory, capacity)
        memory.length = 5
        return memory.slots - graphs.ROOM, id(memory)

    short, long = slots(24), slots(300)
    assert (short[0], long[0]) == (256, 512) and slots(24) == short and slots(300) == long
    memory = levels.memory(Owner(), head.memory, 300)
    sizes = [levels._size(memory, at, rows) for at, rows in ((9, 3), (252, 3), (253, 3), (600, 5))]
    assert sizes == [(4, 256), (4, 256), (4, 512), (8, 768)]  # looked at, of 768
    assert levels._size(memory, 765, 3) == (4, 1024) and memory.slots > 768  # padding has a slot as well


def test_heads_follow_the_targets_switch(zoo: Zoo, tmp_path: Path) -> None:
    lab = headed(zoo, tmp_path)
    head = lab.asset("eagle2")
    assert levels_of(lab.target.decoder, head) is None
    with captured(lab, Recorder()):
        levels = levels_of(lab.target.decoder, head)
        assert levels is not None and levels_of(lab.target.decoder, head) is levels
    with captured(lab, Recorder()):
        assert levels_of(lab.target.decoder, head) is not levels


def test_why_a_heads_levels_are_not_captured_is_told(zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the trace's head beside the head, and where methods are listed; not where nothing is captured anyway."""
    lab = headed(zoo, tmp_path)
    head, card = lab.asset("eagle2"), get_card("eagle2")
    words = "The levels of its head are not captured: its rotation depends on the length of the text."
    with captured(lab, Recorder()):
        assert not lab.otherwise(card)
    monkeypatch.setattr(head, "spec", replace(head.spec, block=replace(head.spec.block, dynamic=2.0)))
    plain = lab.run("eagle2", PROMPT, max_new_tokens=6)
    assert not lab.otherwise(card) and "notes" not in known(RunStarted, plain.head).models["eagle2"]
    with captured(lab, Recorder()):
        trace = lab.run("eagle2", PROMPT, max_new_tokens=6)
        assert levels_of(lab.target.decoder, head) is None and lab.otherwise(card) == words
    assert known(RunStarted, trace.head).models["eagle2"]["notes"] == [words] and trace.token_ids == plain.token_ids
    assert WrappedHead.uncaptured == "transformers runs its layer"


@pytest.mark.thorough
def test_a_memory_that_grows_forgets_what_was_captured_over_it(zoo: Zoo, tmp_path: Path) -> None:
    lab = headed(zoo, tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graphs, "ROOM", 0)
        patch.setattr(graphs, "SLOTS", (8, 16, 64))
        alike(lab, "eagle2", "eagle2", max_new_tokens=24, depth=5, total_token=30, tree_top_k=5)


@pytest.mark.parametrize("kv", (1, 2, 4))
@torch.inference_mode()
def test_masks_and_grouped_queries_together(kv: int) -> None:
    """Which no fused kernel of a GPU takes: there the queries of a group are rows."""
    rng = torch.Generator().manual_seed(kv)
    q, slots = torch.randn(3, 4, 8, generator=rng), torch.randn(32, 2 * kv, 8, generator=rng)
    mask = torch.zeros(3, 32).masked_fill_(torch.rand(3, 32, generator=rng) < 0.4, -torch.inf)
    want = look(q, slots, mask)
    with pretended():
        found = look(q.to("cuda"), slots.to("cuda"), mask.to("cuda")).cpu()
    assert near(found, want) < 1e-6 < near(look(q, slots), want)
