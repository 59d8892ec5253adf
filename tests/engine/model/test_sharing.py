"""By how many of torch's threads a pass is shared: what decides, and that nothing but time depends on it."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from transformers import GptOssConfig, GptOssForCausalLM

from engine.lab import Lab
from engine.model import lean, sharing
from engine.model.decoder import New
from engine.model.products import Product, halves_work
from engine.model.sharing import ATTENDED, LONGEST, PAUSE, SLOW, WHOLE, OneThread, Sharing, sharing_of

IDS = list(range(40, 100))


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(sharing, "perf_counter", lambda: self.now)

    def run(self, which: Sharing, seconds: float, rows: int = 20) -> int:
        """A pass over so many rows that takes so long; how many threads it has."""
        with which.over(rows, 64, 64):
            self.now += seconds
            return torch.get_num_threads()


def test_one_thread_within_and_as_many_as_before_behind_it() -> None:
    with OneThread():
        assert torch.get_num_threads() == 1
        with OneThread():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2
    with pytest.raises(KeyError), OneThread():
        raise KeyError
    assert torch.get_num_threads() == 2


def test_few_rows_that_see_few_slots_have_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, which = Clock(monkeypatch), Sharing(10, 1000, 2)
    assert [clock.run(which, 0.1, rows) for rows in (1, 10, 11)] == [1, 1, 2]
    most = ATTENDED // (10 * 64)
    for slots, threads in ((most, 1), (most + 1, 2)):
        with which.over(10, slots, 64):
            assert torch.get_num_threads() == threads


def test_after_a_slow_pass_others_have_one_thread_for_a_while_and_longer_where_it_does_not_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, which = Clock(monkeypatch), Sharing(10, 1000, 2)
    assert clock.run(which, 0.01) == clock.run(which, 0.99 * SLOW * 0.01) == clock.run(which, 0.01) == 2
    pause = PAUSE
    for _ in range(6):
        assert clock.run(which, 1.01 * SLOW * 0.01) == 2  # this one was slow
        until = clock.now + pause
        assert clock.run(which, 0.9 * pause) == clock.run(which, 0.0) == 1
        clock.now, pause = until + 0.001, min(LONGEST, 2 * pause)
    assert pause == LONGEST
    assert clock.run(which, 0.01) == clock.run(which, 0.01) == 2  # that is over
    assert clock.run(which, 1.0) == 2
    clock.now += PAUSE
    assert clock.run(which, 0.01) == 2  # and a new one begins anew


def test_what_is_usual_is_told_by_the_work_of_a_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """More rows and more slots take longer, and a pass of another size teaches nothing of this one; nor does one that
    failed, or that one thread ran."""
    clock, which = Clock(monkeypatch), Sharing(10, 1_000_000, 2)
    assert clock.run(which, 0.02, 20) == clock.run(which, 0.02 * SLOW, 31) == clock.run(which, 0.01, 20) == 2
    assert clock.run(which, 9.0, 32) == 2 == clock.run(which, 0.01, 20)
    with which.over(20, 1 << 20, 64):  # a thousand times as many slots
        clock.now += 9.0
    assert clock.run(which, 0.01, 20) == 2
    with pytest.raises(KeyError), which.over(20, 64, 64):
        clock.now += 9.0
        raise KeyError
    assert clock.run(which, 0.01, 20) == 2
    with OneThread():
        clock.run(which, 9.0, 20)
    assert clock.run(which, 0.01, 20) == 2


def test_networks_whose_sums_could_change_are_left_to_torch() -> None:
    whole = Product(torch.rand(300, 300) + 0.1)  # fp16 does not hold it
    assert whole.alone == 0
    for which in (sharing_of([], 2), sharing_of([whole], 2)):
        assert which.over(1, 1, 1) is WHOLE


@pytest.mark.skipif(not halves_work(), reason="no FBGEMM products here")
@pytest.mark.parametrize("preset", ["tiny", "crossed"])
def test_passes_of_the_embedded_models_wake_no_thread_up_to_ten_rows(
    preset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what they give is the same to the bit by one thread and by two, of many rows too."""
    decoder: Any = Lab.load(preset).target.decoder
    cache = decoder.cache(len(IDS))
    with torch.inference_mode():
        if preset == "crossed":
            decoder.read(cache, torch.tensor(IDS[:12]))
        decoder.run(cache, New(torch.tensor(IDS[:10]), None, 0, None), (), 1)
    had = list[int]()
    for module, name in ((lean, "attention"), (torch.nn.functional, "scaled_dot_product_attention")):
        kept = getattr(module, name)

        def attend(*given: Any, kept: Any = kept, **named: Any) -> Any:
            had.append(torch.get_num_threads())
            return kept(*given, **named)

        monkeypatch.setattr(module, name, attend)

    @torch.inference_mode()
    def logits(rows: int) -> torch.Tensor:
        had.clear()
        read: torch.Tensor = decoder.run(cache, New(torch.tensor(IDS[10 : 10 + rows]), None, 10, None), (), rows).logits
        return read

    for rows in (1, 2, 10, 11, 33):
        shared = logits(rows)
        assert set(had) == {1 if rows <= 10 else 2}, rows
        with OneThread():
            assert torch.equal(logits(rows), shared)
    assert torch.get_num_threads() == 2


@pytest.mark.skipif(not halves_work(), reason="no FBGEMM products here")
def test_a_network_with_experts_is_left_to_torch() -> None:
    """Though all its other products are such as one thread does alone."""
    sizes = {"hidden_size": 256, "intermediate_size": 256, "vocab_size": 256, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 64, "num_local_experts": 2}
    hf = GptOssForCausalLM(GptOssConfig(**sizes, **heads, num_experts_per_tok=1)).bfloat16().float().eval()
    decoder = lean.lean_from(hf)
    assert decoder is not None and min(product.alone for product in decoder.products) == 10
    assert decoder.sharing.over(1, 1, 1) is WHOLE
