"""Captured passes give what plain ones give, and a replay is the very same work on the very same memory.

No graph is captured here: a recorder stands in for one. It does the work again and compares every operation with those
of the capture: name, sizes, numbers among the arguments (a graph would have kept the first), and the addresses of
whatever was there before.
"""

import gc
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from engine.draft import Draft, chain
from engine.errors import EngineFault
from engine.lab import Lab
from engine.model import Model, Session, load_model
from engine.model.graphs import ROWS, SLOTS, CudaCapturer, GraphedDecoder, Work, graphed
from engine.model.layers import EVERYTHING
from engine.model.lean import LeanDecoder
from engine.model.splitkv import UNIT
from tests.engine.model import tiny
from tests.engine.model.families import near
from tests.engine.zoo import Zoo

PROMPT = [5, 9, 33, 7, 60, 8, 21]
TREE = Draft((4, 9, 9, 30, 2, 7, 7), (-1, -1, 0, 0, 1, 2, 5), group=(0,) * 7)


class Log(TorchDispatchMode):
    """Every operation: its name, and of its arguments sizes, plain numbers, and addresses of what it did not make."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Any, ...]] = []
        self._made: dict[int, Tensor] = {}  # kept alive, so that no address comes twice

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = [self._told(one) for one in tree_flatten((args, kwargs or {}))[0]]
        out = func(*args, **(kwargs or {}))
        self.calls.append((str(func), *given))
        for one in tree_flatten(out)[0]:
            if isinstance(one, Tensor):
                at = one.untyped_storage().data_ptr()
                given_too = [x for x in tree_flatten(args)[0] if isinstance(x, Tensor) and not x.is_mkldnn]
                if not any(x.untyped_storage().data_ptr() == at for x in given_too):
                    self._made[at] = one
        return out

    def _told(self, one: Any) -> Any:
        if isinstance(one, torch.ScriptObject):  # a matrix in fp16, which nothing can be compared with
            return str(one._type())
        if not isinstance(one, Tensor):
            return one
        if one.is_mkldnn:  # a matrix in blocks, which has no address
            return id(one)
        mine = one.untyped_storage().data_ptr() in self._made
        return tuple(one.shape), one.stride(), one.dtype, None if mine else one.data_ptr()


class Recorder:
    """Stands in for a graph."""

    def __init__(self) -> None:
        self.replays = 0

    def capture(self, work: Work) -> tuple[Callable[[], None], tuple[Tensor, ...]]:
        with Log() as first:
            results = work()

        def replay() -> None:
            self.replays += 1
            with Log() as again:
                fresh = work()
            assert again.calls == first.calls
            for kept, new in zip(results, fresh, strict=True):
                kept.copy_(new)

        return replay, results


def decoders(model: Model) -> tuple[LeanDecoder, GraphedDecoder, Recorder]:
    """The model's decoder, the same with captured passes, and what captures them."""
    assert isinstance(model.decoder, LeanDecoder)
    recorder = Recorder()
    return model.decoder, GraphedDecoder(model.decoder, recorder), recorder


def check_rounds(model: Model, graphed: GraphedDecoder, lean: LeanDecoder, prompt: Sequence[int] = PROMPT) -> None:
    """Steps, chains, trees, rejections and a step back, each against a plain session."""
    one, other = (Session(d, model.vocab, model.device, 300, taps=(1, model.layers)) for d in (graphed, lean))
    text = list(prompt)
    drafts = [
        Draft(),
        chain([3, 4, 5]),
        TREE,
        Draft(),
        chain([8]),
        TREE,
        chain([1, 2, 3]),
        Draft(),
        chain(range(40, 70)),
    ]
    for i, draft in enumerate(drafts):
        a, b = one.forward(text, draft), other.forward(text, draft)
        for x, y in ((a.logits, b.logits), (a.last, b.last), (a.taps, b.taps)):
            assert x is not None and y is not None and x.shape == y.shape and near(x, y) < 2e-5, i
        text += [draft.tokens[0], 50 + i] if len(draft) and i % 2 else [50 + i]
    assert near(one.forward(text[:9]).logits, other.forward(text[:9]).logits) < 2e-5
    ids = torch.tensor([11])
    assert near(one.ahead(ids), other.ahead(ids)) < 2e-5 and near(one.ahead(ids), other.ahead(ids)) < 2e-5


@pytest.mark.parametrize("family", ["llama", pytest.param("qwen3", marks=pytest.mark.slow)])
@torch.inference_mode()
def test_replays_are_the_same_work_and_give_the_same_logits(zoo: Zoo, family: str) -> None:
    model = zoo.model(family)
    lean, graphs, recorder = decoders(model)
    check_rounds(model, graphs, lean)
    made = graphs.captured
    assert recorder.replays == graphs.replayed > 5 and made <= len(ROWS) and not graphs.why_not
    check_rounds(model, graphs, lean)  # the next sequence takes the cache of the one before, and its passes
    assert graphs.captured == made


@torch.inference_mode()
def test_passes_that_leave_layers_out_are_captured_too(zoo: Zoo) -> None:
    """Each choice of layers by itself, between passes through all of them, step by step and after a rejection."""
    model = zoo.model("llama")
    lean, graphs, recorder = decoders(model)
    one, other = (Session(d, model.vocab, model.device, 300) for d in (graphs, lean))
    text = list(PROMPT)
    for i, skip in enumerate((frozenset({1}), frozenset({0}), frozenset({1}), frozenset({0}))):
        assert near(one.skim(text, skip), other.skim(text, skip)) < 2e-5
        assert near(one.skim([*text, 9], skip), other.skim([*text, 9], skip)) < 2e-5
        assert near(one.forward(text, chain([9, 4])).logits, other.forward(text, chain([9, 4])).logits) < 2e-5
        text += [9, 40 + i]
    whole, part = (other.skim(text, skip) for skip in (frozenset(), frozenset({1})))
    assert near(whole, part) > 1e-3  # it does make a difference
    assert recorder.replays == graphs.replayed > 4 and not graphs.why_not


@torch.inference_mode()
def test_masks_of_captured_passes_are_as_wide_as_fused_attention_wants_them(zoo: Zoo) -> None:
    """Others are copied anew in each layer."""
    model = zoo.model("llama")
    _, graphs, _ = decoders(model)
    session = Session(graphs, model.vocab, model.device, 300)
    for draft in (Draft(), chain([3]), chain(range(40, 52))):
        session.forward(PROMPT, draft)
    held = [cache for _, cache in graphs._spare] or [session._cache.cache]  # type: ignore[attr-defined]
    sizes = [size for cache in held for size in cache.passes]
    assert len(sizes) > 1 and all(size.slots % UNIT == 0 and size.slots >= size.rows for size in sizes)
    assert {size.slots for size in sizes} == {SLOTS[0]}  # no more than a short text needs


@pytest.mark.parametrize(
    "kind", ["gemma3_text", *(pytest.param(k, marks=pytest.mark.slow) for k in ("mistral", "gemma2"))]
)
@torch.inference_mode()
def test_layers_with_windows_are_captured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """From before the window's end to four windows on, with caches in which the window is all and a part; layers of two
    kinds have a mask and a rotation each. A mask that lets everything be seen is noticed."""
    monkeypatch.setattr("engine.model.graphs.SLOTS", (8, 32, 512))
    model = load_model(tiny.make(kind, tmp_path / kind, layers=2), "cpu")
    lean, graphs, recorder = decoders(model)
    check_rounds(model, graphs, lean)
    made = graphs.captured
    check_rounds(model, graphs, lean, PROMPT * 6)
    assert made < graphs.captured and recorder.replays == graphs.replayed > 10 and not graphs.why_not
    graphs = GraphedDecoder(lean, Recorder())
    session, sights = Session(graphs, model.vocab, model.device, 300), lean.sights
    wanted = session.forward(PROMPT * 6).logits
    lean.sights = [EVERYTHING] * len(sights)
    assert near(wanted, Session(lean, model.vocab, model.device, 300).forward(PROMPT * 6).logits) > 1e-3


@torch.inference_mode()
def test_two_sequences_at_once_have_a_cache_each(zoo: Zoo) -> None:
    model = zoo.model("llama")
    lean, graphs, _ = decoders(model)
    a, b = (Session(graphs, model.vocab, model.device, 64) for _ in range(2))
    for n in range(2, 6):
        for session, text in ((a, PROMPT), (b, PROMPT[::-1])):
            plain = Session(lean, model.vocab, model.device, 64).forward(text[:n]).logits
            assert near(session.forward(text[:n]).logits, plain) < 2e-5


def test_a_cache_that_comes_back_meanwhile_does_not_change_which_is_taken(zoo: Zoo) -> None:
    """That of a sequence in a cycle comes when memory is collected, which may be at any step."""
    _, graphs, _ = decoders(zoo.model("llama"))
    leases = [graphs.cache(capacity) for capacity in (SLOTS[0], SLOTS[1], SLOTS[0])]
    small, large, late = (lease.cache for lease in leases)
    coming = [late]

    class Collected(list[Any]):
        def __iter__(self) -> Any:
            try:
                yield from list.__iter__(self)
            finally:
                while coming:
                    graphs._back(SLOTS[0], coming.pop())

    graphs._spare = Collected([(SLOTS[0], small), (SLOTS[1], large)])
    taken = graphs.cache(SLOTS[1])
    assert taken.cache is large and [cache for _, cache in graphs._spare] == [late, small]


@torch.inference_mode()
def test_rotations_that_a_graph_reads_outlive_longer_sequences(zoo: Zoo) -> None:
    """A graph knows addresses only: what lies there must stay, though the decoder reads longer tables by now."""
    model = zoo.model("llama")
    lean, graphs, _ = decoders(model)
    short = Session(graphs, model.vocab, model.device, 100)
    short.forward(PROMPT)
    read = [weakref.ref(table) for table in lean.tables]
    long = Session(graphs, model.vocab, model.device, 2 * len(lean.tables[0]))
    long.forward(PROMPT)
    gc.collect()
    assert all(one() is not None and one() is not table for one, table in zip(read, lean.tables, strict=True))


@torch.inference_mode()
def test_a_run_that_gave_no_numbers_spoils_none_after_it(zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither by what its cache holds, at which passes look through a mask, nor by its ids where rows are padded."""
    model = zoo.model("llama")
    lean, graphs, _ = decoders(model)
    table = lean.embedding.clone()
    table[90] = torch.inf
    monkeypatch.setattr(lean, "embedding", table)
    plain = Session(lean, model.vocab, model.device, 64).forward(PROMPT).logits
    for draft in (chain([90] * 9), Draft()):
        with pytest.raises(EngineFault, match="NaN"):
            Session(graphs, model.vocab, model.device, 64).forward([*PROMPT, 90], draft)
        assert near(Session(graphs, model.vocab, model.device, 64).forward(PROMPT).logits, plain) < 2e-5


class Faulty:
    def capture(self, work: Work) -> Any:
        raise RuntimeError("operation not permitted when stream is capturing")


@torch.inference_mode()
def test_what_cannot_be_captured_runs_as_before_and_says_why(zoo: Zoo) -> None:
    model = zoo.model("llama")
    lean, _, _ = decoders(model)
    graphs = GraphedDecoder(lean, Faulty())
    check_rounds(model, graphs, lean)
    assert "not permitted when stream is capturing" in graphs.why_not and graphs.captured == 0


class Full:
    def capture(self, work: Work) -> Any:
        raise torch.OutOfMemoryError


@torch.inference_mode()
def test_no_memory_to_capture_is_no_pass_that_cannot_be_captured(zoo: Zoo) -> None:
    """Which would end capturing for good; the run says that there is none."""
    model = zoo.model("llama")
    graphs = GraphedDecoder(decoders(model)[0], Full())
    with pytest.raises(torch.OutOfMemoryError):
        Session(graphs, model.vocab, model.device, 64).forward(PROMPT)
    assert not graphs.why_not


@torch.inference_mode()
def test_more_rows_than_any_size_has_run_as_before(zoo: Zoo) -> None:
    model, long = zoo.model("llama"), [5 + i % 60 for i in range(ROWS[-1] + 1)]
    lean, graphs, _ = decoders(model)
    one, other = (Session(decoder, model.vocab, model.device, 300) for decoder in (graphs, lean))
    captured = list[int]()
    for text in (long, [*long, 7]):
        assert near(one.forward(text).logits, other.forward(text).logits) < 2e-5
        captured.append(graphs.captured)
    assert captured == [0, 1]


def test_the_switch(zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    lean, _, _ = decoders(zoo.model("llama"))
    cpu, cuda = torch.device("cpu"), torch.device("cuda")
    assert graphed(lean, cpu, "auto") == (lean, "") and "on cpu" in graphed(lean, cpu, "on")[1]
    monkeypatch.setattr(lean, "home", cuda)
    made, why = graphed(lean, cuda, "auto")
    assert isinstance(made, GraphedDecoder) and isinstance(made.capturer, CudaCapturer) and not why
    assert graphed(lean, cuda, "off") == (lean, "graphs='off' was asked for")
    assert graphed(None, cuda, "auto") == (None, "transformers' own forward runs them")
    monkeypatch.setattr(lean, "apart", True)
    assert graphed(lean, cuda, "on") == (lean, "the model is spread over several devices")


@pytest.mark.slow
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_runs_are_the_same_with_captured_passes(temperature: float) -> None:
    lab = Lab.load("tiny", device="cpu")
    for method in ("ar", "sd", "eagle3", "medusa", "autojudge"):
        options: dict[str, Any] = {"max_new_tokens": 48, "temperature": temperature, "seed": 3}
        options |= {"force": True} if method == "autojudge" else {}
        plain = lab.run(method, "Question: Mia has 34 pens.", **options).token_ids
        before = lab.target.decoder, lab.models["draft"].decoder
        lab.target.decoder, lab.models["draft"].decoder = (GraphedDecoder(d, Recorder()) for d in before)  # type: ignore[arg-type]
        assert lab.run(method, "Question: Mia has 34 pens.", **options).token_ids == plain
        lab.target.decoder, lab.models["draft"].decoder = before
