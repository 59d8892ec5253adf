"""Attention over pieces of the slots is attention over all of them, and passes that a GPU would capture may use it."""

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from engine.model import load_model, splitkv
from engine.model.splitkv import LEAST, LONG, MOST, UNIT, attention, cut, pieces, split
from tests.engine.model import tiny
from tests.engine.model.families import near
from tests.engine.model.test_graphs import PROMPT, check_rounds, decoders
from tests.engine.zoo import Zoo


def drawn(K: int, R: int, S: int, C: int, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Queries, keys and values as a cache holds them, and a mask: a chain, one row that sees little, a tail of slots
    that nobody sees."""
    rng = torch.Generator().manual_seed(R)
    q, kv = torch.randn(1, K, R, C, generator=rng).to(dtype), torch.randn(S, 2 * K, C, generator=rng).to(dtype)
    keys, values = kv.view(S, 2, 1, K, C).permute(1, 2, 3, 0, 4).unbind(0)
    mask = torch.full((R, S), -torch.inf).triu_(S // 2).to(dtype)
    mask[R // 2, 3:] = -torch.inf
    return q, keys, values, mask


@pytest.mark.parametrize("dtype", (torch.float64, torch.float32, torch.bfloat16))
@pytest.mark.parametrize("n", (1, 2, 8, 16))
@torch.inference_mode()
def test_pieces_give_what_all_slots_give(n: int, dtype: torch.dtype) -> None:
    """Also where a row sees nothing of a piece, and nobody anything."""
    q, keys, values, mask = drawn(3, 5, 256, 16, dtype)
    want = F.scaled_dot_product_attention(q.double(), keys.double(), values.double(), mask.double(), scale=0.3)
    found = split(q, keys, values, mask, 0.3, n)
    assert found.dtype == dtype and found.shape == want.shape
    assert near(found.double(), want) < {torch.bfloat16: 2e-2, torch.float32: 1e-6, torch.float64: 1e-12}[dtype]


@pytest.mark.parametrize("slots", (LONG, 4096, 4352, 1 << 15, (1 << 15) + 128, 1 << 17))
@pytest.mark.parametrize("rows", (1, 4, 40, 256))
@pytest.mark.parametrize("heads", (1, 8, 32))
def test_pieces_keep_all_processors_busy(heads: int, rows: int, slots: int) -> None:
    """As many as that takes and no more, unless they would be too small, or uneven."""
    n, busy = pieces(heads, rows, slots, 132), heads * -(-rows // 64)
    assert slots % (n * UNIT) == 0 and (n == 1 or slots // n >= LEAST)
    assert n == 1 or busy * n // 2 < 264  # half as many would be too few
    small = slots // (2 * n) < LEAST or slots % (2 * n * UNIT)
    assert busy * n >= 264 or small


def test_texts_of_some_length_can_be_cut() -> None:
    assert [cut(n) for n in (1, 16, 17, LONG - 1, LONG, 4099)] == [16, 16, 32, LONG, LONG, 4352]
    assert pieces(8, 4, cut(4099), 132) == 16 and pieces(8, 4, 4112, 132) == 1
    assert pieces(1, MOST, 1 << 15, 132) > 1 == pieces(1, MOST + 1, 1 << 15, 132)


@pytest.mark.parametrize("dtype", (torch.float64, torch.float32, torch.bfloat16))
def test_pieces_are_trusted_once_they_were_seen_to_be_right(
    dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not where a kernel gives something else, or nothing; what half types may be off is too far for others."""
    right, told = splitkv.on_cpu, list[bool]()
    kernels = (
        right,
        lambda *given: (right(*given)[0], 0 * right(*given)[1]),
        refused,
        lambda *given: (1.01 * right(*given)[0], right(*given)[1]),
    )
    for kernel in kernels:
        monkeypatch.setattr(splitkv, "on_cpu", kernel)
        splitkv.trusted.cache_clear()
        told.append(splitkv.trusted(torch.device("cpu"), dtype, 16))
    splitkv.trusted.cache_clear()
    monkeypatch.setattr(splitkv, "on_cpu", full)
    with pytest.raises(torch.OutOfMemoryError):  # and it is looked at again
        splitkv.trusted(torch.device("cpu"), dtype, 16)
    assert told == [True, False, False, dtype == torch.bfloat16] and not splitkv.trusted.cache_info().currsize


def refused(*given: object) -> Any:
    raise RuntimeError("no kernel")


def full(*given: object) -> Any:
    raise torch.OutOfMemoryError


def test_a_cpu_looks_at_all_slots_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*given: object) -> Tensor:
        raise AssertionError

    monkeypatch.setattr("engine.model.splitkv.split", never)
    q, keys, values, mask = drawn(1, 2, LONG, 8, torch.float32)
    assert attention(q, keys, values, mask, 1.0).shape == q.shape


@pytest.mark.parametrize("kind", ["llama", pytest.param("mistral", marks=pytest.mark.thorough)])
@torch.inference_mode()
def test_captured_passes_may_attend_in_pieces(
    zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Those of a layer with a window among them: all that its rows may see is within what is read."""
    used = set[int]()

    def pieced(q: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, scale: float) -> Tensor:
        if mask is None:
            return F.scaled_dot_product_attention(q, keys, values, scale=scale)
        n = next(n for n in (8, 4, 2, 1) if mask.shape[-1] % n == 0)
        used.add(n)
        return split(q, keys, values, mask, scale, n)

    monkeypatch.setattr("engine.model.graphs.cut", lambda slots: -(-slots // 24) * 24)
    model = zoo.model(kind) if kind == "llama" else load_model(tiny.make(kind, tmp_path / kind, layers=2), "cpu")
    lean, graphs, recorder = decoders(model)
    monkeypatch.setattr("engine.model.lean.attention", pieced)
    check_rounds(model, graphs, lean)
    check_rounds(model, graphs, lean, PROMPT * 6)
    assert 8 in used and recorder.replays == graphs.replayed > 10 and not graphs.why_not
