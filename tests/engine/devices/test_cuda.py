"""On a real CUDA device, where there is one (`make test-gpu`): texts, paths and waits are those that pretended devices
promise."""

import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from engine.bench.doctor import TREE, examine
from engine.draft import Draft, chain
from engine.files.places import locate
from engine.files.presets import get_preset
from engine.lab import Lab
from engine.methods import CARDS, get_card
from engine.model import Session
from engine.model.graphs import GraphedDecoder
from engine.model.splitkv import split
from engine.trace.events import Round
from tests.engine.devices.pretend import PROMPTS
from tests.engine.devices.test_reads import APART, FULL, LIGHT, LOOKS, kind
from tests.engine.model.families import near
from tests.engine.model.test_splitkv import drawn

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device")]
NEW = 24


@cache
def lab(pair: str, device: str, dtype: str = "float32") -> Lab:
    """An embedded pair."""
    return Lab.load(preset=pair, device=device, dtype=dtype)


@pytest.fixture(scope="module", autouse=True)
def freed() -> Iterator[None]:
    """Nothing is kept for other tests."""
    yield
    lab.cache_clear()


def wrote(pair: str, device: str, method: str, temperature: float, record: str = "light") -> list[int]:
    """Token ids."""
    forced: dict[str, Any] = {"force": True} if get_card(method).rule == "judge" else {}
    options: dict[str, Any] = {"max_new_tokens": NEW, "temperature": temperature, "seed": 5, "record": record}
    return lab(pair, device).run(method, PROMPTS[pair], **options, **forced).token_ids


@pytest.mark.parametrize("temperature", (0.0, 0.8))
@pytest.mark.parametrize("method", [card.name for card in CARDS])
@pytest.mark.parametrize("pair", PROMPTS)
def test_texts_are_those_of_the_cpu(pair: str, method: str, temperature: float) -> None:
    if method in lab(pair, "cpu").unavailable():
        assert method in lab(pair, "cuda").unavailable()
        return
    plain = wrote(pair, "cpu", method, temperature)
    assert wrote(pair, "cuda", method, temperature) == plain == wrote(pair, "cuda", method, temperature, "full")


def test_nothing_was_captured_in_vain() -> None:
    for model in (lab("tiny", "cuda").target, *lab("tiny", "cuda").models.values()):
        assert isinstance(model.decoder, GraphedDecoder) and not model.decoder.why_not
        model.session(64).forward([5, 6])
        assert model.decoder.captured


@pytest.mark.parametrize("dtype", ("float32", "bfloat16", "float16"))
def test_the_doctor_finds_all_well(dtype: str) -> None:
    report = examine(lab("tiny", "cuda", dtype).target, locate(get_preset("tiny").models["target"]))
    assert report.well and len(report.checks) > 6, report.text()


@pytest.mark.parametrize("dtype", ("float32", "bfloat16"))
def test_chains_of_all_lengths_are_read_without_graphs(dtype: str) -> None:
    decoder = lab("tiny", "cuda", dtype).target.decoder
    assert isinstance(decoder, GraphedDecoder)
    session, ids = Session(decoder.lean, 1536, torch.device("cuda"), 128), [(7 * i) % 1500 for i in range(64)]
    for rows in (1, 4, 7):
        for n in range(2, 60):
            session.forward(ids[:n], chain(ids[n : n + rows]))
    torch.cuda.synchronize()


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16, torch.float16))
@pytest.mark.parametrize("rows", (1, 4, 40, 130))
@torch.inference_mode()
def test_pieces_of_slots_give_what_all_give(rows: int, dtype: torch.dtype) -> None:
    for heads, slots, channels in ((2, 2048, 64), (8, 4352, 128), (1, 1 << 14, 16)):
        given = [one.to("cuda") for one in drawn(heads, rows, slots, channels, dtype)]
        q, keys, values, mask = (one.double() for one in given)
        want = F.scaled_dot_product_attention(q, keys, values, mask, scale=0.3)
        for n in (1, 2, 8):
            found = split(given[0], given[1], given[2], given[3], 0.3, n)
            assert near(found.double(), want) < {torch.float32: 1e-5, torch.bfloat16: 2e-2, torch.float16: 4e-3}[dtype]


@torch.inference_mode()
def test_long_texts_are_attended_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    cut = list[int]()

    def counted(*given: Any) -> Any:
        cut.append(given[-1])
        return split(*given)

    monkeypatch.setattr("engine.model.splitkv.split", counted)
    decoder = lab("tiny", "cuda").target.decoder
    assert isinstance(decoder, GraphedDecoder)
    text = [(7919 * i) % 1500 for i in range(5000)]
    one, other = (
        Session(d, 1536, torch.device("cuda"), 5100)
        for d in (GraphedDecoder(decoder.lean, decoder.capturer), decoder.lean)
    )
    for n in (2100, 4100, 4990):
        for draft in (Draft(), chain(text[n : n + 6]), TREE):
            assert near(one.forward(text[:n], draft).logits, other.forward(text[:n], draft).logits) < 1e-4
    assert max(cut) >= 8


@pytest.mark.parametrize("record", ("light", "full"))
@pytest.mark.parametrize("method", [card.name for card in CARDS])
def test_a_round_waits_as_seldom_as_pretended_devices_say(method: str, record: str) -> None:
    """Torch tells of every wait while its mode for that is on: reads, and copies to the device that wait."""
    here = lab("tiny", "cuda")
    if method in here.unavailable():
        return
    card, waits, before = get_card(method), list[tuple[int, int]](), 0
    forced: dict[str, Any] = {"force": True} if card.rule == "judge" else {}
    options: dict[str, Any] = {"max_new_tokens": NEW, "temperature": 0.8, "seed": 5, "record": record}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            for event in here.stream(method, PROMPTS["tiny"], **options, **forced):
                if isinstance(event, Round):
                    waits.append((event.levels + 1, len(told) - before))
                before = len(told)
        finally:
            torch.cuda.set_sync_debug_mode("default")
    bound = FULL if record == "full" else LIGHT[kind(card)]
    lines = sorted({f"{Path(one.filename).name}:{one.lineno}" for one in told})
    for steps, count in waits[1:]:
        assert count <= bound + APART.get(method, 0) + LOOKS.get(method, 0) * steps, lines
