"""Products over a matrix in fp16 or in blocks give what torch's own give, and stay away where they cannot be had."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from engine.model import products
from engine.model.lean import LeanDecoder
from engine.model.outline import outline
from engine.model.products import (
    LEAST,
    ROWS_ALONE,
    WORK,
    Halves,
    Product,
    blocks_work,
    fits,
    halves_work,
    rows_alone,
)
from tests.engine.zoo import Zoo

I, O = 160, 256  # noqa: E741


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """What was found out about this machine is forgotten before and after."""
    blocks_work.cache_clear(), halves_work.cache_clear()
    yield
    blocks_work.cache_clear(), halves_work.cache_clear()


def of_half_type(*shape: int) -> torch.Tensor:
    """A random matrix as a checkpoint in bf16 has it."""
    return torch.randn(*shape).bfloat16().float()


@pytest.mark.parametrize("rows", [1, 2, 3, 10, 61, 300])
def test_fp16_gives_the_product(rows: int) -> None:
    torch.manual_seed(rows)
    w, x, y, b = of_half_type(I, O), torch.randn(rows, 2 * I)[:, :I], torch.randn(rows, O), torch.randn(O)
    s = torch.rand(I) + 0.5
    product, before = Product(w, s), (x.clone(), y.clone())
    assert (product.halves is not None) == halves_work()
    want = (x.double() * s @ w.double()).float()
    for made, exact in ((product(x), want), (product(x, b), want + b), (product.onto(y, x), want + y)):
        torch.testing.assert_close(made, exact, atol=1e-4, rtol=1e-5)
    assert torch.equal(x, before[0]) and torch.equal(y, before[1])


@pytest.mark.skipif(not halves_work(), reason="needs FBGEMM")
def test_in_fp16_a_row_hardly_depends_on_how_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """With AVX-512 not at all; with AVX2 one or two rows are summed in another order."""
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    exact = "AVX512" in torch.backends.cpu.get_cpu_capability()
    product, x = Product(of_half_type(I, O)), torch.randn(200, I)
    assert product.halves is not None and 1 < product.halves.rows < 200  # one thread alone, and all of them
    rows = product(x)
    for n in (1, 2, 7, 40, product.halves.rows, product.halves.rows + 1):
        torch.testing.assert_close(product(x[:n]), rows[:n], rtol=0, atol=0 if exact else 4e-7 * I)
    assert torch.equal(product(x[:6]), rows[:6]), "a kernel of six rows on either"


@pytest.mark.skipif(not halves_work(), reason="needs FBGEMM")
def test_one_thread_works_alone_on_little_and_where_there_is_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    halves, rows = Halves(torch.ones(I, O)), rows_alone(I * O)
    halves._shared = Halves(torch.zeros(I, O))._shared  # now the two can be told apart
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    assert halves(torch.ones(rows, I)).any() and not halves(torch.ones(rows + 1, I)).any()
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    assert halves(torch.ones(rows + 1, I)).any()
    assert rows_alone(1) == rows_alone(256 * 1536) == ROWS_ALONE, "of more rows a pass shares the small ones too"
    assert ROWS_ALONE > rows_alone(1 << 20) > rows_alone(1 << 21) == 0


def test_what_fp16_would_lose_stays_in_fp32() -> None:
    w = of_half_type(I, O)
    assert fits(w) and fits(torch.randn(I, O).half().float()) and not fits(torch.randn(I, O))
    for bad in (1e5, torch.nan, torch.inf, 1 + 2**-12):
        other = w.clone()
        other[3, 5] = bad
        assert not fits(other)
        product = Product(other, torch.rand(I))
        assert product.halves is None
    s = torch.rand(I)
    torch.testing.assert_close(Product(other, s)(torch.eye(I)), other * s.unsqueeze(1))


@pytest.mark.skipif(not halves_work(), reason="needs FBGEMM")
@pytest.mark.parametrize("size", [2.0**-30, 2.0**-8, 0.1, 1.0, 300.0])
def test_matrices_of_small_numbers_fit_too(size: float) -> None:
    """Those of bf16 span more than fp16: what is far below the largest is lost, no more than fp32's sums lose."""
    w = (of_half_type(I, O) * size).bfloat16().float()
    w[3] *= 2.0**-24
    product, x = Product(w), torch.randn(9, I)
    assert product.halves is not None
    worst = (product(x).double() - x.double() @ w.double()).abs().max()
    assert worst < 1e-6 * (x.double().abs() @ w.double().abs()).max()
    assert ((x @ w).double() - x.double() @ w.double()).abs().max() < 1e-6 * (x.double().abs() @ w.double().abs()).max()


@pytest.mark.parametrize("rows", [1, 200])
@pytest.mark.parametrize("half", [True, False])
def test_gradients_of_the_rows_go_through(rows: int, half: bool) -> None:
    """Heads are trained through the target's frozen output matrix."""
    w, s, b = (of_half_type if half else torch.randn)(I, O), torch.rand(I), torch.randn(O)
    product, x = Product(w, s), torch.randn(rows, I, requires_grad=True)
    y = product(x, b)
    (given,) = torch.autograd.grad(y.square().sum(), x)
    want = torch.addmm(b, x * s, w)
    (wanted,) = torch.autograd.grad(want.square().sum(), x)
    torch.testing.assert_close(y, want, atol=1e-3, rtol=1e-4)
    torch.testing.assert_close(given, wanted, atol=1e-1, rtol=1e-4)


def test_a_torch_without_fp16_products_takes_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch, "fbgemm_pack_gemm_matrix_fp16", raising=False)
    product, x = Product(of_half_type(I, O)), torch.randn(5, I)
    assert product.halves is None and (product.blocks is not None) == blocks_work()
    torch.testing.assert_close(product(x), x @ product.weight, atol=1e-4, rtol=1e-5)


def test_the_defaults_of_a_program_say_nothing_of_the_machine() -> None:
    """What torch makes where no dtype or device is named had been multiplied, and none of it fits."""
    found = halves_work(), blocks_work()
    was = torch.get_default_dtype()
    try:
        for dtype in (torch.float64, torch.bfloat16):
            torch.set_default_dtype(dtype)
            halves_work.cache_clear(), blocks_work.cache_clear()
            assert (halves_work(), blocks_work()) == found
    finally:
        torch.set_default_dtype(was)
    halves_work.cache_clear(), blocks_work.cache_clear()
    with torch.device("meta"):
        assert (halves_work(), blocks_work()) == found


def test_fp16_products_that_are_wrong_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = torch.fbgemm_pack_gemm_matrix_fp16
    monkeypatch.setattr(torch, "fbgemm_pack_gemm_matrix_fp16", lambda weight: whole(weight + 1))
    assert not halves_work()


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
    product, rows = Product(torch.rand(I, O)), -(-WORK // (I * O))
    product.weight = torch.zeros(I, O)  # now the two can be told apart
    for n in (1, rows - 1, rows):
        from_blocks = blocks_work() and n == rows
        assert bool(product(torch.ones(n, I)).any()) == from_blocks
        assert bool(product.onto(torch.zeros(n, O), torch.ones(n, I)).any()) == from_blocks
    assert Product(torch.rand(1024, 1024)).rows == 2


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
    assert Product(of_half_type(16, LEAST // 16 - 1)).halves is None
    assert Product(torch.randn(I, O).bfloat16()).blocks is None and Product(torch.randn(I, O).double()).blocks is None
    monkeypatch.setattr(products, "BYTES", 4 * I * O - 1)
    w, x = torch.randn(I, O), torch.randn(WORK // (I * O) + 1, I)
    product, y = Product(w), torch.randn(len(x), O)
    assert product.blocks is None and product.halves is None
    assert torch.equal(product(x), x @ w) and torch.equal(product.onto(y, x), torch.addmm(y, x, w))


def test_a_look_counts_the_blocks(zoo: Zoo) -> None:
    """Matrices of 192 x 384 and more are kept twice, the output head of 192 x 96 is not."""
    folder = zoo.path(layers=2, hidden=192)
    decoder, looked = zoo.load(folder).decoder, outline(str(folder), "cpu")
    assert isinstance(decoder, LeanDecoder)
    assert decoder.products[0] is decoder.lm_head
    assert [p.blocks is not None for p in decoder.products] == [False] + [blocks_work()] * 8
    assert decoder.reads == sum(4 * p.inputs * p.outputs for p in decoder.products)
    assert looked.weights - zoo.load(folder).bytes == sum(
        4 * p.weight.numel() for p in decoder.products if p.blocks is not None
    )
