"""Distributions equal those of transformers' own warpers, entropies survive minus infinity, draws have no bias."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import LogitsProcessorList, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from engine.config import Sampling
from engine.errors import EngineFault
from engine.sampling import distribution, drawn, entropy, first_argmax, pick, sent, sureness, surest, wide

GRID = [(t, k, p) for t in (0.3, 0.6, 1.0, 1.7) for k in (0, 1, 3, 40, 500) for p in (1.0, 0.95, 0.8, 0.3, 0.01)]


def theirs(logits: torch.Tensor, temperature: float, top_k: int, top_p: float) -> torch.Tensor:
    """The distribution of transformers for the same settings, in its own order: temperature, top-k, top-p."""
    warpers = LogitsProcessorList([TemperatureLogitsWarper(temperature)])
    if top_k:
        warpers.append(TopKLogitsWarper(min(top_k, logits.shape[-1])))
    if top_p < 1:
        warpers.append(TopPLogitsWarper(top_p))
    return torch.softmax(warpers(None, logits), -1)


def check_warpers() -> None:
    """Every setting of the grid gives the distribution of transformers."""
    logits = 3 * torch.randn(20, 97, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    for temperature, top_k, top_p in GRID:
        ours = distribution(logits, Sampling(temperature, top_k, top_p))
        assert torch.allclose(ours, theirs(logits, temperature, top_k, top_p), atol=1e-12), (temperature, top_k, top_p)


def test_distributions_equal_those_of_transformers() -> None:
    check_warpers()


def test_tokens_tied_with_the_kth_stay() -> None:
    logits = torch.tensor([[1.0, 2.0, 2.0, 2.0, 0.0]])
    assert distribution(logits, Sampling(1.0, top_k=2)).nonzero()[:, 1].tolist() == [1, 2, 3]
    assert torch.allclose(distribution(logits, Sampling(1.0, top_k=2)), theirs(logits, 1.0, 2, 1.0))


def test_greedy_is_one_hot_and_ignores_the_other_settings() -> None:
    logits = torch.tensor([[0.0, 3.0, 3.0], [5.0, 1.0, 2.0]])
    assert distribution(logits, Sampling(0.0, top_k=1, top_p=0.1)).tolist() == [[0, 1, 0], [1, 0, 0]]


def nucleus(row: list[float], top_p: float) -> set[int]:
    """By hand: tokens from the likeliest on, of equal ones the lowest ids, until their mass reaches `top_p`."""
    total = math.fsum(map(math.exp, row))
    kept, mass = set[int](), 0.0
    for token in sorted(range(len(row)), key=lambda i: (-row[i], i)):
        if kept and mass >= top_p:
            break
        kept.add(token)
        mass += math.exp(row[token]) / total
    return kept


PEAKED, FLAT, FEW_VALUES, TIED_AT_THE_END = 6.0, 0.3, 2.0, 0.0


@pytest.mark.parametrize("spread", [PEAKED, FLAT, FEW_VALUES, TIED_AT_THE_END])
@pytest.mark.parametrize("top_p", [0.3, 0.9, 0.999])
def test_the_nucleus_of_a_large_vocabulary_is_the_one_by_hand(spread: float, top_p: float) -> None:
    """Looked for among the likeliest few first; rows differ in how many they need, and in what is tied."""
    rng = torch.Generator().manual_seed(7)
    rows = spread * torch.randn(3, 9000, generator=rng, dtype=torch.float64)
    rows[0, ::3] = -torch.inf
    if spread == FEW_VALUES:
        rows[1:] = (4 * rows[1:]).round() / 4
    if spread == TIED_AT_THE_END:
        rows[:, torch.randperm(9000, generator=rng)[:200]] = 5.0
    left = distribution(rows, Sampling(1.0, top_p=top_p))
    for row, kept in zip(rows.tolist(), left, strict=True):
        assert set(kept.nonzero().flatten().tolist()) == nucleus(row, top_p)
    torch.testing.assert_close(left.sum(-1), torch.ones(3, dtype=torch.float64))


def test_equal_tokens_that_were_not_found_among_the_likeliest_count_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch does not say which of equal ones its `topk` gives: here the last."""
    plain = torch.Tensor.topk

    def last(x: torch.Tensor, k: int, dim: int) -> Any:
        found = plain(x.flip(dim), k, dim)
        return found.values, x.shape[dim] - 1 - found.indices

    monkeypatch.setattr(torch.Tensor, "topk", last)
    row = torch.zeros(1, 9000, dtype=torch.float64)
    row[0, 100:300] = 9.0
    kept = distribution(row, Sampling(1.0, top_p=0.3))[0].nonzero().flatten().tolist()
    assert set(kept) == nucleus(row[0].tolist(), 0.3) == set(range(100, 100 + len(kept)))


def test_a_nucleus_of_few_tokens_sorts_no_vocabulary(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = 6 * torch.randn(6, 9000, generator=torch.Generator().manual_seed(7))
    monkeypatch.setattr(torch.Tensor, "sort", lambda *args, **kwargs: pytest.fail("sorted"))
    assert 6 < int((distribution(rows, Sampling(1.0, top_p=0.9)) > 0).sum()) < 6 * 64


def test_top_p_always_keeps_the_first() -> None:
    assert distribution(torch.tensor([[0.0, 9.0, 1.0]]), Sampling(1.0, top_p=1e-9)).tolist() == [[0, 1, 0]]


def test_the_coldest_and_hottest_distributions_are_finite() -> None:
    logits = torch.tensor([[1e4, -1e4, 9.9e3, -torch.inf]])
    for temperature in (1e-3, 100.0):
        p = distribution(logits, Sampling(temperature, 3, 0.9))
        assert torch.isfinite(p).all() and p.sum().item() == pytest.approx(1) and p[0, 3] == 0


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (torch.float64, torch.float64),
        (torch.float32, torch.float32),
        (torch.bfloat16, torch.float32),
        (torch.float16, torch.float32),
    ],
)
def test_precision_never_falls_below_fp32(given: torch.dtype, kept: torch.dtype) -> None:
    logits = torch.randn(2, 5).to(given)
    assert (
        wide(logits).dtype == kept
        and distribution(logits, Sampling(0.7, 3, 0.9)).dtype == kept
        and entropy(logits).dtype == kept
    )
    if given == kept:
        assert wide(logits) is logits


def test_float64_is_not_squeezed() -> None:
    """A difference that fp32 cannot hold survives."""
    logits = torch.tensor([[0.0, 1e-12]], dtype=torch.float64)
    p = distribution(logits, Sampling(1.0))[0]
    assert float(p[1] - p[0]) == pytest.approx(5e-13, rel=1e-3)


def test_entropy_is_that_of_the_textbook() -> None:
    p = torch.tensor([[0.5, 0.25, 0.25, 0.0]], dtype=torch.float64)
    assert entropy(p.log()).item() == pytest.approx(1.5 * math.log(2), abs=1e-15)  # one entry is minus infinity
    assert entropy(torch.zeros(1, 8, dtype=torch.float64)).item() == pytest.approx(math.log(8), abs=1e-15)
    assert entropy(torch.tensor([[7.0, -torch.inf, -torch.inf]])).item() == 0.0
    assert entropy(torch.tensor([[0.0, 1.0]]), temperature=1e3).item() == pytest.approx(math.log(2), abs=1e-6)
    rows = torch.cat([p.log(), torch.zeros(1, 4, dtype=torch.float64)])  # a row with, a row without
    assert entropy(rows).tolist() == pytest.approx([1.5 * math.log(2), math.log(4)])


def test_entropy_matches_scipy() -> None:
    from scipy.stats import entropy as reference

    logits = 4 * torch.randn(30, 200, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert entropy(logits).tolist() == pytest.approx(
        reference(torch.softmax(logits, -1).numpy(), axis=1).tolist(), abs=1e-12
    )
    assert entropy(logits.float()).tolist() == pytest.approx(entropy(logits).tolist(), abs=2e-5)


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64, torch.bfloat16))
def test_one_row_is_as_sure_as_that_row_of_many(dtype: torch.dtype) -> None:
    rows = (torch.randn(5, 60, generator=torch.Generator().manual_seed(3)) * 4).to(dtype)
    want = torch.softmax(rows.double(), -1).amax(-1)
    assert torch.allclose(surest(rows).double(), want, atol=1e-6)
    assert [sureness(row) for row in rows] == surest(rows).tolist()
    assert [sureness(row, int(row.argmax())) for row in rows] == surest(rows).tolist()


def test_the_first_maximum_wins() -> None:
    x = torch.tensor([[1.0, 5.0, 5.0, 0.0], [2.0, 2.0, 2.0, 2.0], [-torch.inf, -3.0, -torch.inf, -3.0]])
    assert first_argmax(x).tolist() == [1, 0, 1]
    wide_row = torch.zeros(1, 10_000)
    assert first_argmax(wide_row).item() == 0
    assert first_argmax(x[0]).item() == 1 and first_argmax(x.bfloat16()).tolist() == [1, 0, 1]


def check_pick() -> None:
    """`pick` cuts [0, 1) at the cumulative sums: each token owns exactly its share, and those of no mass own nothing.
    So does `drawn`."""
    p = torch.tensor([0.0, 0.25, 0.0, 0.5, 0.25, 0.0], dtype=torch.float64)
    just = 2**-53
    for u, token in (
        (0.0, 1),
        (0.25 - just, 1),
        (0.25, 3),
        (0.75 - just, 3),
        (0.75, 4),
        (1 - just, 4),
        (1 - just / 2, 4),
    ):
        assert pick(p, u) == token == drawn(p, u).item(), u
        assert pick(8 * p, u) == token, u  # need not be normalised
        assert pick(p.float(), u) == token, u


def test_a_draw_owns_exactly_its_share() -> None:
    check_pick()


@settings(max_examples=60)
@given(
    weights=st.lists(st.sampled_from([0.0, 1e-30, 1e-8, 0.1, 1.0]), min_size=1, max_size=9).filter(
        lambda w: sum(w) > 0
    ),
    u=st.floats(0, 1, exclude_max=True),
)
def test_a_draw_never_takes_a_token_without_mass(weights: list[float], u: float) -> None:
    for dtype in (torch.float32, torch.float64):
        assert torch.tensor(weights, dtype=dtype)[pick(torch.tensor(weights, dtype=dtype), u)] > 0


def test_draws_have_no_bias() -> None:
    """The mean over an even grid of uniforms is the distribution itself, to one grid step."""
    p = torch.softmax(torch.randn(7, dtype=torch.float64, generator=torch.Generator().manual_seed(4)), -1)
    n = 4000
    counts = torch.bincount(torch.tensor([pick(p, (i + 0.5) / n) for i in range(n)]), minlength=7)
    assert (counts / n - p).abs().max() <= 1.01 / n


def test_a_distribution_without_mass_ends_the_run() -> None:
    nan, inf = torch.nan, torch.inf
    for broken in (torch.zeros(3), torch.full((3,), nan), torch.tensor([0.5, nan, 1]), torch.tensor([1, inf, 0])):
        with pytest.raises(EngineFault, match="no mass"):
            pick(broken, 0.5)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([1, 2], torch.int64),
        ([[1, 2], [3, 4]], torch.int64),
        ([0.5, 2], torch.float32),
        ([True], torch.bool),
        ([], None),
    ],
)
def test_lists_become_the_tensors_that_torch_makes_of_them(values: list[Any], dtype: torch.dtype | None) -> None:
    made = sent(values, torch.device("cpu"))
    assert made.dtype == (dtype or torch.float32) and made.tolist() == values
    assert sent(values, torch.device("cpu"), torch.float64).dtype == torch.float64
    assert sent(np.array([0.1]), torch.device("cpu")).tolist() == [0.1], "an array is taken as it is"
