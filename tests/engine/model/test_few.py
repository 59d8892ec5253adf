"""Few rows in numpy give what torch gives, on the same memory; what are not few rows of a small plain network are
torch's."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from threadpoolctl import ThreadpoolController, threadpool_info
from torch import Tensor

from engine.errors import ConfigError
from engine.heads.eagle import EagleHead
from engine.lab import Lab
from engine.model import Model, few
from engine.model.decoder import New
from engine.model.few import FEW, Few
from engine.model.layers import Sight
from engine.model.lean import LeanCache, LeanDecoder
from engine.model.products import halves_work
from tests.engine.once import loaded_once
from tests.engine.zoo import Zoo

IDS = [5, 9, 33, 7, 60, 12, 8, 41, 17, 29]
LONG = [*IDS, *IDS[::-1], *IDS]


def decoder(model: Model) -> LeanDecoder:
    assert isinstance(model.decoder, LeanDecoder)
    return model.decoder


def without(lean: LeanDecoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The decoder as if its network were large."""
    monkeypatch.setitem(lean.__dict__, "few", None)


def row(ids: Sequence[int], at: int, proposes: bool = True) -> New:
    """Tokens that a draft model reads."""
    return New(torch.tensor(ids), None, at, None, proposes=proposes)


@torch.inference_mode()
def passes(lean: LeanDecoder, sizes: Sequence[int], ids: Sequence[int] = IDS) -> tuple[Tensor, Tensor, LeanCache]:
    """Logits and states of all rows, read in passes of these sizes, and the cache after them."""
    cache, at, found = lean.cache(32), 0, []
    for size in sizes:
        found.append(lean.run(cache, row(ids[at : at + size], at), (), size))
        at += size
    return torch.cat([rows.logits for rows in found]), torch.cat([rows.last for rows in found]), cache


@pytest.mark.parametrize("kv", [1, 2, 4])
@pytest.mark.parametrize("sizes", [[1] * 10, [4, 1, 1, 3, 1], [1, 9], [2, FEW], [FEW + 1, 2, 3]])
def test_rows_are_those_of_torch_however_they_take_turns(
    zoo: Zoo, kv: int, sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    lean = decoder(zoo.model(num_key_value_heads=kv))
    assert isinstance(lean.few, Few)
    ran = list[int]()
    kept = Few.run
    monkeypatch.setattr(Few, "run", lambda self, ids, *more: ran.append(len(ids)) or kept(self, ids, *more))
    logits, last, cache = passes(lean, sizes, LONG)
    assert ran == [size for size in sizes if size <= FEW]
    without(lean, monkeypatch)
    size = sum(sizes)
    wanted = passes(lean, [size], LONG)
    torch.testing.assert_close(logits, wanted[0], atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(last, wanted[1], atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(cache.kv[0][:, :size], wanted[2].kv[0][:, :size], atol=1e-4, rtol=1e-4)


@torch.inference_mode()
def test_logits_are_of_the_last_rows_that_are_wanted(zoo: Zoo) -> None:
    lean = decoder(zoo.model())
    every = lean.run(lean.cache(8), row(IDS[:5], 0), (), 5)
    some = lean.run(lean.cache(8), row(IDS[:5], 0), (), 2)
    assert torch.equal(some.last, every.last)
    torch.testing.assert_close(some.logits, every.logits[3:], atol=1e-6, rtol=1e-5)  # a product's rows, without FBGEMM


@pytest.mark.parametrize("most", [few.TABLE, 0])
def test_what_a_token_brings_is_known_or_made_and_is_the_same_when_it_comes_again(
    zoo: Zoo, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lean = decoder(zoo.model())
    monkeypatch.setattr(few, "TABLE", most)
    monkeypatch.delitem(lean.__dict__, "few", raising=False)
    assert isinstance(lean.few, Few) and (lean.few.spoken is not None) == bool(most)
    ids = [5, 9, 5, 5, 33, 9, 5, 9, 9, 33]
    logits, last, _ = passes(lean, [1] * 10, ids)
    without(lean, monkeypatch)
    wanted = passes(lean, [10], ids)
    torch.testing.assert_close(logits, wanted[0], atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(last, wanted[1], atol=1e-4, rtol=1e-4)


@torch.inference_mode()
def test_a_moved_branch_is_read_where_it_was_moved(zoo: Zoo) -> None:
    lean = decoder(zoo.model())
    _, _, cache = passes(lean, [1] * 10)
    cache.gather(4, [6, 8])  # the arrays look at the memory that torch moves
    assert all((array[4] == array[6]).all() and (array[5] == array[8]).all() for array in cache.arrays)
    alone = lean.run(cache, row(IDS[3:4], 6), (), 1)
    both = lean.run(cache, row([IDS[3], 7], 6), (), 2)
    torch.testing.assert_close(alone.logits, both.logits[:1], atol=1e-4, rtol=1e-4)


def test_what_is_not_a_small_plain_network_stays_with_torch(zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    for family in ("qwen2", "qwen3"):  # biases, norms of queries
        assert decoder(zoo.model(family)).few is None
    assert decoder(zoo.load(zoo.path(), "float64")).few is None

    def judged(name: str, value: Any) -> Few | None:
        """What becomes of a decoder that has one, if it had this of its own."""
        with monkeypatch.context() as patch:
            patch.setattr(lean, name, value)
            patch.setitem(lean.__dict__, "few", None)  # what is found is forgotten again
            del lean.__dict__["few"]
            return lean.few

    lean = decoder(zoo.model(layers=2, seed=3))
    assert judged("eps", lean.eps) is not None
    odd = {"sights": [Sight(4)], "apart": True, "unfused": True, "last_cap": 30.0, "stretch": 2.0, "gate": F.gelu}
    assert not [name for name, value in {**odd, "folded": False, "scale": 0.3}.items() if judged(name, value)]
    monkeypatch.setattr(few, "MOST", 1000)
    assert judged("eps", lean.eps) is None


@torch.inference_mode()
def test_rows_of_a_target_and_rows_with_taps_or_left_out_layers_are_torchs(
    zoo: Zoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    lean = decoder(zoo.model())
    cache = lean.cache(8)
    monkeypatch.setattr(Few, "run", lambda *_: pytest.fail("a row that numpy does not know"))
    new = row([5], 0)
    assert lean.run(cache, new, (1,), 1).taps is not None
    lean.run(cache, replace(new, skip=frozenset({1})), (), 1)
    lean.run(cache, replace(new, pos=torch.tensor([3]), block=torch.ones(1, 1, dtype=torch.bool)), (), 1)
    lean.run(cache, replace(new, proposes=False), (), 1)


def test_a_draft_model_proposes_and_its_target_does_not(zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    lab, ran, kept = zoo.lab(draft="random"), list[Any](), Few.run
    monkeypatch.setattr(Few, "run", lambda self, *given: ran.append(self) or kept(self, *given))
    lab.run("ar", IDS, max_new_tokens=4)
    assert not ran
    lab.run("sd", IDS, max_new_tokens=8)
    assert set(ran) == {decoder(lab.models["draft"]).few}


@torch.inference_mode()
def test_a_step_is_what_is_read_ahead_and_is_counted_so(zoo: Zoo) -> None:
    """To the bit, behind a text and behind its own tokens, whether or not what it reads is told in between."""
    model = zoo.model()
    stepping, ahead = model.session(len(IDS) + 4), model.session(len(IDS) + 4)
    for session in (stepping, ahead):
        session.proposes = True
        session.forward(IDS)
    for told in ([4, 7], [9], [21]):
        for token in told:
            assert torch.equal(stepping.step(token), ahead.ahead(torch.tensor([token])))
        stepping.told(told)
        ahead.told(told)
    assert stepping.cached == ahead.cached == [*IDS, 4, 7, 9, 21] and stepping.fed == ahead.fed
    with pytest.raises(ConfigError, match="do not fit"):
        stepping.step(5)


def test_steps_of_a_target_and_of_a_large_draft_model_are_torchs(zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    model = zoo.model()
    session = model.session(len(IDS) + 2)
    session.forward(IDS)
    without(decoder(model), monkeypatch)
    drafting = model.session(len(IDS) + 2)
    drafting.proposes = True
    drafting.forward(IDS)
    monkeypatch.setattr(Few, "run", lambda *_: pytest.fail("a row that numpy does not know"))
    assert torch.equal(session.step(5), drafting.step(5))


@pytest.mark.filterwarnings("error")
def test_no_warning_and_no_number_made_up_of_what_is_none(zoo: Zoo) -> None:
    """SiLU of a very negative number is zero; a NaN stays one, which a run ends with."""
    with few.quiet():
        assert few.gated(torch.tensor([[-200.0, 200.0, 0.0, 3.0, 2.0, 1.0]]).numpy()).tolist() == [[0.0, 400.0, 0.0]]
    lean = decoder(zoo.model(seed=7))
    with torch.inference_mode():
        cache = lean.cache(8)
        cache.kv[0][:, 0] = torch.nan
        assert lean.run(cache, row([5], 1), (), 1).logits.isnan().all()


def test_numpy_uses_one_thread_from_then_on(zoo: Zoo) -> None:
    def threads() -> set[int]:
        return {info["num_threads"] for info in threadpool_info() if info["internal_api"] == "openblas"}

    ThreadpoolController().select(internal_api="openblas").limit(limits=2)
    few._one_thread.cache_clear()
    if threads() != {2}:
        pytest.skip("numpy's products are not OpenBLAS's here, or there is one core")
    lean = decoder(zoo.model())
    assert few.small(lean.embedding, [lean.lm_head]) and threads() == {1}


def chain(head: Any, memory: Any, n: int, width: int) -> tuple[Tensor, Tensor]:
    """States and logits of a chain of `n` tokens behind two committed ones, and what the memory then holds."""
    states, ids = torch.randn(2, width), torch.tensor([5, 9])
    found = list[Tensor]()
    if isinstance(head, EagleHead):
        out = head.read(memory, ids, torch.randn(2, 3 * width) if head.kind == "eagle3" else states, 0)
        for i, token in enumerate(IDS[:n], 2):
            out = head.run(memory, torch.tensor([token]), out, slice(i, i + 1), i)
            found += [out, head.logits(out)]
    else:
        out = head.run(memory, ids, states, 0, last=True)
        for i, token in enumerate(IDS[:n], 2):
            out = head.run(memory, torch.tensor([token]), out, i)
            found += [out, head.logits(out)]
    return torch.cat([one.flatten() for one in found]), memory.like[: n + 2].clone()


@torch.inference_mode()
@pytest.mark.parametrize("sizes", [[1] * 6, [2, 1, 3], [FEW, 2]])
def test_packed_products_give_those_rows_too(lab: Lab, sizes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """The matrices of the embedded draft model are kept in fp16, those of the zoo are too small for it."""
    lean = decoder(lab.models["draft"])
    if not halves_work():
        pytest.skip("nothing is kept in fp16 here")
    assert lean.few is not None and all(w.mlp.down.halves is not None for w in lean.layers)
    logits, last, _ = passes(lean, sizes, LONG)
    without(lean, monkeypatch)
    wanted = passes(lean, [sum(sizes)], LONG)
    torch.testing.assert_close(logits, wanted[0], atol=1e-3, rtol=1e-4)
    torch.testing.assert_close(last, wanted[1], atol=1e-3, rtol=1e-4)


@pytest.fixture(scope="module")
def lab() -> Lab:
    with loaded_once():
        return Lab.load("tiny", device="cpu")


@torch.inference_mode()
@pytest.mark.parametrize("role", ["eagle2", "eagle3", "mtp"])
def test_steps_of_heads_are_those_of_torch(role: str, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    head, width = lab.asset(role), lab.target.width
    part = head.lean if isinstance(head, EagleHead) else head
    assert part.few is not None
    steps, kept = list[int](), type(part)._few
    monkeypatch.setattr(type(part), "_few", lambda *given, **how: steps.append(1) or kept(*given, **how))
    torch.manual_seed(0)
    room = 4 if role == "mtp" else 16  # the memory of MTP grows as it goes
    made, held = chain(head, head.memory(room), 8, width)
    assert len(steps) == 9  # what was committed in one
    monkeypatch.setitem(part.__dict__, "few", None)
    torch.manual_seed(0)
    wanted, held_there = chain(head, head.memory(16), 8, width)
    torch.testing.assert_close(made, wanted, atol=1e-3, rtol=1e-4)  # eight steps, each on what the last one rounded
    torch.testing.assert_close(held, held_there, atol=1e-3, rtol=1e-4)


@torch.inference_mode()
@pytest.mark.parametrize("role", ["eagle2", "eagle3"])
@pytest.mark.parametrize("rows", [1, 2, FEW, FEW + 1])
def test_a_level_of_a_tree_is_that_of_torch(rows: int, role: str, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that do not see their neighbours' slots, nor one of those before."""
    head, width = lab.asset(role), lab.target.width
    assert head.lean.few is not None
    torch.manual_seed(0)
    ids, hidden = torch.randint(5, 99, (rows,)), torch.randn(rows, width)
    before = torch.randn(2, 3 * width if role == "eagle3" else width)
    mask = torch.cat((torch.zeros(rows, 2), torch.where(torch.eye(rows) == 1, 0.0, -torch.inf)), 1)
    mask[0, 1] = -torch.inf

    def level() -> tuple[Tensor, Tensor]:
        memory = head.memory(rows + 2)
        head.read(memory, torch.tensor([5, 9]), before, 0)
        return head.run(memory, ids, hidden, slice(2, 3), 2, mask), memory.like.clone()

    made, held = level()
    monkeypatch.setitem(head.lean.__dict__, "few", None)
    wanted, held_there = level()
    torch.testing.assert_close(made, wanted, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(held, held_there, atol=1e-4, rtol=1e-4)
