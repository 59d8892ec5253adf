"""Batches on encoder-decoders: each row looks at its own source, and is the run that its prompt gives alone."""

import json
from typing import Any

import pytest
import torch

from engine.config import Card
from engine.errors import ConfigError
from engine.heads.parallel import META
from engine.lab import Lab
from engine.model import crosspacked
from engine.model.crossed import CrossDecoder
from engine.model.decoder import New, Rows
from engine.model.slabs import Part
from engine.tasks import load_problems
from tests.engine.crossed import LEAN, Crossed, make_model
from tests.engine.model.families import near
from tests.engine.rows import check
from tests.engine.zoo import EOS, PAD
from tests.typed import known, some

METHODS = ("ar", "sd", "specdec", "cm_asd", "pld")
SOURCES = [[5, 9, 33, 7, 60, 8, 21, 40, 9, 33, EOS], [5, 5, EOS], [90, 91, 92, 3, 4, EOS]]
CLOSE = 1e-5  # fp32, relative to the largest number above one
TREE = (0, 1, 1, 1, 2, 3)  # depths: three children of the root, a line below the last


@pytest.fixture
def joined(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, int]]:
    """The decoder of each joined pass, and how many rows it had."""
    sizes, plain = list[tuple[object, int]](), crosspacked.CrossPacking.run

    def run(self: crosspacked.CrossPacking, parts: Any, taps: Any) -> list[Rows]:
        sizes.append((self.decoder, len(parts)))
        return plain(self, parts, taps)

    monkeypatch.setattr(crosspacked.CrossPacking, "run", run)
    return sizes


@pytest.mark.parametrize("family", ["bart", "t5", "marian"])
def test_a_joined_pass_is_the_single_passes(crossed: Crossed, family: str) -> None:
    """Chains, a tree and a long text in one pass, at places with gaps, behind sources of different lengths: logits,
    states, taps, looks, keys and values; after a longer source was read before."""
    decoder = known(CrossDecoder, crossed.model(family).decoder)
    packing = crosspacked.CrossPacking(decoder, 12)
    parts, alone = list[Part[crosspacked.CrossPlaceCache]](), list[Any]()
    with torch.inference_mode():
        caches = packing.caches(6, 110)
        for place, start, rows, tree, source in (
            (4, 7, 1, False, SOURCES[1]),
            (0, 0, 80, False, SOURCES[2]),
            (2, 11, 6, True, SOURCES[0]),
            (1, 20, 3, False, SOURCES[2]),
        ):
            own, cache = decoder.cache(110), caches[place]
            decoder.read(cache, torch.tensor(SOURCES[0]))
            for one in (own, cache):
                decoder.read(one, torch.tensor(source))
                one.watched = place in (2, 4) or rows > 64
                if start:
                    decoder.run(one, New(torch.arange(3, 3 + start), None, 0, None), (), 1)
            pos, block = None, None
            if tree:
                pos, block = start + torch.tensor(TREE), torch.eye(6, dtype=torch.bool)
                block[:, 0] = block[4:, 3] = block[5, 4] = True
            new = New(torch.arange(5, 5 + rows) % 90, pos, start, block)
            parts.append(Part(cache, new, min(rows, 2)))
            alone.append((own, decoder.run(own, new, (0, 2), min(rows, 2))))
        for part, found, (own, wanted) in zip(parts, packing.run(parts, (0, 2)), alone, strict=True):
            for name in ("logits", "last", "taps", "looks"):
                a, b = getattr(found, name), getattr(wanted, name)
                assert (a is None) == (b is None) == (name == "looks" and not own.watched), (part.cache.place, name)
                if a is not None:
                    assert near(a, b) < CLOSE, (part.cache.place, name)
            end = part.new.start + len(part.new.ids)
            assert near(part.cache.kv[..., :end, :], own.kv[..., :end, :]) < CLOSE


def test_what_a_place_takes_is_counted(crossed: Crossed) -> None:
    packing = crosspacked.CrossPacking(known(CrossDecoder, crossed.model("t5").decoder), 9)
    slab = packing.caches(3, 40)[0].slab
    assert slab.kv.nbytes + sum(layer.nbytes for layer in slab.sources) == 3 * packing.bytes(40)


@pytest.mark.parametrize("method", METHODS)
def test_rows_are_their_single_runs(crossed: Crossed, method: str, joined: list[tuple[object, int]]) -> None:
    lab = crossed.lab("bart")
    stop = lab.run("ar", SOURCES[1], max_new_tokens=9, record="light").text[-1]
    batch = check(lab, method, SOURCES, max_new_tokens=9, stop=[stop])
    assert len({len(trace.token_ids) for trace in batch}) > 1  # they end at different times
    passes = [n for decoder, n in joined if decoder is lab.target.decoder]
    assert passes == [n for i in range(99) if (n := sum(len(trace.rounds) > i for trace in batch)) > 1]


def check_family(crossed: Crossed, family: str, method: str, **knobs: Any) -> None:
    batch = check(crossed.lab(family), method, SOURCES, max_new_tokens=8, record="full", looks=2, **knobs)
    assert all(some(token.looks) for trace in batch for token in trace.tokens)


def test_rows_of_another_family_and_where_they_look(crossed: Crossed) -> None:
    check_family(crossed, "t5", "sd")


@pytest.mark.slow
@pytest.mark.parametrize("family", LEAN)
def test_every_method_on_every_lean_family(crossed: Crossed, family: str) -> None:
    lab = crossed.lab(family)
    for card in lab.methods():
        knobs = {"layers": "first:1"} if card.drafter == "layer_skip" else {}
        check_family(crossed, family, card.name, **knobs)
        if card.shape != "beams":
            check(lab, card.name, SOURCES, max_new_tokens=8, temperature=0.8, **knobs)


def test_sampled_rows_draw_as_alone(crossed: Crossed) -> None:
    first, second = check(crossed.lab("bart"), "sd", [SOURCES[0]] * 2, max_new_tokens=6, temperature=0.9)
    assert first.token_ids != second.token_ids  # each has a stream of its own


def test_a_batch_of_one(crossed: Crossed, joined: list[tuple[object, int]]) -> None:
    check(crossed.lab("bart"), "sd", SOURCES[:1], max_new_tokens=6)
    assert not joined


@pytest.fixture(scope="module")
def filled(crossed: Crossed, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """A pair whose draft model is a random one that says it fills masks, which are <pad>."""
    made = make_model(tmp_path_factory.mktemp("parallel"), "bart", seed=3, layers=1)
    (made / META).write_text(json.dumps({"mask": PAD, "masks": 4}))
    return Lab(crossed.model("bart"), {}, {"parallel": str(made)})


@pytest.mark.parametrize(("shape", "rule"), [("chain", "exact"), ("confidence_chain", "gap")])
def test_parallel_drafts_are_made_in_one_pass_too(
    filled: Lab, shape: str, rule: str, joined: list[tuple[object, int]]
) -> None:
    card: Card = filled.compose(drafter="parallel", shape=shape, rule=rule)
    batch = check(filled, card, SOURCES, max_new_tokens=7)
    drafts = [n for decoder, n in joined if decoder is filled.asset("parallel").model.decoder]
    assert drafts and max(drafts) == len(SOURCES) and all(trace.rounds[0].drafted for trace in batch)


def test_continuations_go_on_in_batches(crossed: Crossed) -> None:
    """Prompts that hold what was written already, one of them long enough to look alone."""
    lab = crossed.lab("bart")
    prompts = [[*SOURCES[0], EOS, *[7, 50, 4, 30] * 18], [*SOURCES[1], EOS, 9], SOURCES[2]]
    check(lab, "sd", prompts, max_new_tokens=5)


def test_through_transformers_it_is_refused(crossed: Crossed) -> None:
    with pytest.raises(ConfigError, match=r"bert2bert.* one sequence at a time"):
        crossed.lab("bert2bert", sigma=-1, layers=1).run_batch("ar", SOURCES)


# --- the embedded pair --------------------------------------------------------------------------------------------------

MADE = [("parallel", "chain", "exact"), ("parallel", "chain", "gap"), ("parallel", "confidence_chain", "gap")]


@pytest.fixture(scope="module")
def embedded() -> Lab:
    return Lab.load("crossed", device="cpu")


def prompts(n: int) -> list[str]:
    texts = [load_problems(task, "heldout", n) for task in ("translation", "summaries")]
    return [problem.prompt for pair in zip(*texts, strict=True) for problem in pair][:n]


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, 3, 6])
def test_the_embedded_pair(embedded: Lab, rows: int) -> None:
    methods: list[str | Card] = [*METHODS, *(embedded.compose(drafter=d, shape=s, rule=r) for d, s, r in MADE)]
    for method in methods:
        batch = check(embedded, method, prompts(rows), max_new_tokens=40)
        assert rows == 1 or len({len(trace.token_ids) for trace in batch}) > 1


@pytest.mark.slow
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_every_method_of_the_embedded_pair(embedded: Lab, temperature: float) -> None:
    for card in embedded.methods():
        if card.writer == "nat":
            with pytest.raises(ConfigError, match="run prompts in turn"):
                embedded.run_batch(card.name, prompts(4))
            continue
        check(embedded, card.name, prompts(4), max_new_tokens=24, temperature=temperature)
