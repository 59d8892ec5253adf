"""Products over a matrix in blocks give what torch's own give, and stay away where they cannot be had."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from engine.model import products
from engine.model.experts import Experts
from engine.model.lean import LeanDecoder
from engine.model.outline import outline
from engine.model.products import LEAST, WORK, Product, blocks_work
from tests.engine.zoo import Zoo

I, O = 160, 256  # noqa: E741


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """What was found out about this machine is forgotten before and after."""
    blocks_work.cache_clear()
    yield
    blocks_work.cache_clear()


@pytest.mark.parametrize("rows", [1, 2, 3, 10, 61, 300])
def test_blocks_give_the_product(rows: int) -> None:
    torch.manual_seed(rows)
    w, x, y, b = torch.randn(I, O), torch.randn(rows, 2 * I)[:, :I], torch.randn(rows, O), torch.randn(O)
    product, before = Product(w), y.clone()
    assert (product.blocks is not None) == blocks_work()
    want = (x.double() @ w.double()).float()
    for made, exact in ((product(x), want), (product(x, b), want + b), (product.onto(y, x), want + y)):
        torch.testing.assert_close(made, exact, atol=2e-4, rtol=1e-5)
    assert torch.equal(y, before)


def test_blocks_serve_from_enough_work_on() -> None:
    product, rows = Product(torch.ones(I, O)), -(-WORK // (I * O))
    product.weight = torch.zeros(I, O)  # now the two can be told apart
    for n in (1, rows - 1, rows):
        from_blocks = blocks_work() and n == rows
        assert bool(product(torch.ones(n, I)).any()) == from_blocks
        assert bool(product.onto(torch.zeros(n, O), torch.ones(n, I)).any()) == from_blocks
    assert Product(torch.ones(1024, 1024)).rows == 2


def test_a_torch_without_such_products_takes_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(weight: torch.Tensor) -> Any:
        raise AttributeError("'_OpNamespace' 'mkldnn' object has no attribute '_reorder_linear_weight'")

    monkeypatch.setattr(products, "in_blocks", gone)
    x, w = torch.randn(5, I), torch.randn(I, O)
    product = Product(w)
    assert product.blocks is None and torch.equal(product(x), x @ w)


def test_products_that_are_wrong_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = products.in_blocks
    monkeypatch.setattr(products, "in_blocks", lambda weight: whole(weight + 1))
    assert not blocks_work()


def test_small_large_and_other_matrices_have_no_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Product(torch.randn(16, LEAST // 16 - 1)).blocks is None
    assert Product(torch.randn(I, O).bfloat16()).blocks is None and Product(torch.randn(I, O).double()).blocks is None
    monkeypatch.setattr(products, "BYTES", 4 * I * O - 1)
    assert Product(torch.randn(I, O)).blocks is None


def test_a_look_counts_the_blocks(zoo: Zoo) -> None:
    """Matrices of 192 x 384 and more are kept twice, the output head of 192 x 96 is not."""
    folder = zoo.path(layers=2, hidden=192)
    decoder, looked = zoo.load(folder).decoder, outline(str(folder), "cpu")
    assert isinstance(decoder, LeanDecoder)
    mlps = [w.mlp for w in decoder.layers if not isinstance(w.mlp, Experts)]
    kept = [*(p for w in decoder.layers for p in (w.qkv, w.out)), *(p for m in mlps for p in (m.gate_up, m.down))]
    assert [p.blocks is not None for p in (decoder.lm_head, *kept)] == [False] + [blocks_work()] * 8
    assert looked.weights - zoo.load(folder).bytes == sum(4 * p.weight.numel() for p in kept if p.blocks is not None)
