"""GLAT+CTC and DAT: sums over alignments and paths against all of them, what training shows, and how each writes."""

import json
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import combinations, groupby, product
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.errors import AssetError, ConfigError, ModelMismatch
from engine.model import Model, Tokenizer
from engine.nat import dat, glat_ctc
from engine.nat.dat import NEVER, all_paths, best_path, follow
from engine.nat.files import built, load_nat, save_nat
from engine.nat.glancing import glance, spread
from engine.nat.glat_ctc import align, collapse
from engine.nat.network import Shape
from engine.nat.system import END, PAD
from engine.training.batches import padded
from tests.engine.crossed import SOURCE, Crossed

SHAPE = Shape(width=32, layers=2, heads=2, step=48, places=60)
KINDS = ("glat_ctc", "dat")
SOURCES = padded([[7, END], [8, 5, END], [7, END]])
TEXTS = padded([[9, END], [4, 4, END], [3, 4, 5, 6, 7, 8, END]])  # the last has no place in either system


@pytest.fixture(scope="module")
def target(crossed: Crossed) -> Model:
    return crossed.model("pegasus")


def made(kind: str, target: Model, seed: int = 0) -> Any:
    """A system with weights spread widely."""
    system = built(kind, target, SHAPE, seed).requires_grad_(False).eval()
    for name, p in system.named_parameters():
        if "norm" not in name:
            p.normal_(0, 0.25)
    return system


def showing(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Training shows this share."""
    for module in (glat_ctc, dat):
        monkeypatch.setattr(module, "SHARES", (share, share))


def said(path: Sequence[int]) -> list[int]:
    """What an alignment says."""
    return [token for before, token in zip([PAD, *path], path, strict=False) if token not in (PAD, before)]


def aligned(scores_TV: Tensor, text: list[int]) -> list[tuple[float, tuple[int, ...]]]:
    """Probability and ids of every alignment that says a text."""
    paths = product(sorted({PAD, *text}), repeat=len(scores_TV))
    p = scores_TV.exp().tolist()
    return [
        (float(torch.tensor([p[t][x] for t, x in enumerate(path)]).prod()), path)
        for path in paths
        if said(path) == text
    ]


def walked(links_LL: Tensor, tokens_LV: Tensor, text: list[int], end: int) -> list[tuple[float, tuple[int, ...]]]:
    """Probability and vertices of every path from 0 to `end` that writes a text."""
    found = list[tuple[float, tuple[int, ...]]]()
    for between in combinations(range(1, end), len(text) - 1):
        path = (*between, end)
        score = sum(float(links_LL[u, v] + tokens_LV[v, x]) for u, v, x in zip((0, *path), path, text, strict=False))
        found.append((float(torch.tensor(score).exp()), path))
    return found


def test_an_alignment_is_merged_by_hand() -> None:
    path, sure = [0, 5, 5, 0, 5, 7, 7, 0, 1, 1, 9], [0.9, 0.3, 0.5, 0.8, 0.4, 0.7, 0.6, 0.9, 0.2, 0.3, 0.9]
    assert collapse(path, sure) == [(5, 0.5), (5, 0.4), (7, 0.7), (1, 0.3)]
    assert collapse([0, 0], [0.9, 0.9]) == [] and collapse([1, 0, 1], [0.5, 0.6, 0.7]) == [(1, 0.5)]


def test_the_best_alignment_is_the_best_of_all() -> None:
    torch.manual_seed(0)
    texts, places = [[2, 2, 1], [3, 1], [1], [2, 3, 1]], [5, 4, 3, 5]
    for _ in range(5):
        scores = torch.randn(4, 5, 4).mul(2).log_softmax(-1)
        found = align(scores, padded(texts), torch.tensor(places), torch.tensor([3, 2, 1, 3]))
        for row, (text, size) in enumerate(zip(texts, places, strict=True)):
            assert tuple(found[row, :size].tolist()) == max(aligned(scores[row, :size], text))[1]


def test_sum_and_best_of_paths_are_those_of_all() -> None:
    torch.manual_seed(0)
    texts, ends = [[2, 3, 1], [3, 1], [2, 2, 3, 1]], [5, 3, 4]
    for _ in range(5):
        later = torch.ones(6, 6).triu(1).bool() & (torch.arange(6) <= torch.tensor(ends)[:, None])[:, None]
        links = torch.randn(3, 6, 6).masked_fill(~later, NEVER).log_softmax(-1).masked_fill(~later, NEVER)
        tokens = torch.randn(3, 6, 4).mul(2).log_softmax(-1)
        given = (links, dat.emitted(tokens, padded(texts)), torch.tensor([3, 2, 4]), torch.tensor(ends))
        total, best = all_paths(*given), best_path(*given)
        for row, text in enumerate(texts):
            every = walked(links[row], tokens[row], text, ends[row])
            assert float(total[row].exp()) == pytest.approx(sum(p for p, _ in every), rel=1e-4)
            assert best[row].tolist() == [*max(every)[1], *[0] * (4 - len(text))]


def test_transitions_are_shares_of_the_later_vertices(target: Model) -> None:
    system = made("dat", target)
    states, seen = system.encoded(SOURCES)
    _, there = given = system.inputs(states, seen)
    links = system.graph(*given, states, seen)[1].exp()
    for row, size in zip(links, there.sum(1).tolist(), strict=True):
        torch.testing.assert_close(row[: size - 1].sum(1), torch.ones(size - 1))
        assert not row.tril().any() and not row[:, size:].any()


@pytest.mark.parametrize("kind", KINDS)
def test_the_loss_is_that_of_all_ways_to_say_a_text(kind: str, target: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """Row by row, each source alone, so padding plays no part; the text that finds no place counts nothing."""
    showing(0.0, monkeypatch)
    system = made(kind, target)
    wanted = 0.0
    for source, text in list(zip(SOURCES.tolist(), TEXTS.tolist(), strict=True))[:2]:
        states, seen = system.read([x for x in source if x])
        given, ids = (*system.inputs(states, seen), states, seen), [x for x in text if x]
        if kind == "dat":
            tokens, links = system.graph(*given)
            every = walked(links[0], tokens[0], ids, links.shape[1] - 1)
        else:
            every = aligned(system.scores(*given)[0], ids)
        wanted -= float(torch.tensor(sum(p for p, _ in every)).log())
    assert float(system.loss(SOURCES, TEXTS)) == pytest.approx(wanted, rel=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_shown_stands_on_the_best_path(kind: str, target: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """With all of a text shown, the second pass reads its tokens where the first would have written them likeliest."""
    system: Any = made(kind, target)
    module: Any = {"dat": dat, "glat_ctc": glat_ctc}[kind]
    name = "graph" if kind == "dat" else "scores"
    inner, read, results, shares = getattr(system, name), list[Tensor](), list[Any](), list[float]()

    def listening(x: Tensor, *more: Tensor) -> Any:
        read.append(x)
        results.append(inner(x, *more))
        return results[-1]

    def everything(wrong: Tensor, there: Tensor, share: float) -> Tensor:
        shares.append(share)
        return there

    monkeypatch.setattr(system, name, listening)
    monkeypatch.setattr(module, "glance", everything)
    for system.done in (0.0, 0.5, 1.0):
        system.loss(SOURCES, TEXTS)
    first, last = module.SHARES
    assert shares == pytest.approx([first, (first + last) / 2, last]) and first > last
    empty, full = read[:2]
    text = [4, 4, END]
    if kind == "dat":
        path = max(walked(results[0][1][1], results[0][0][1], text, 8))[1]
        ids = [text[path.index(v)] if v in path else PAD for v in range(9)]
    else:
        ids = list(max(aligned(results[0][1], text))[1])
    for place, token in enumerate(ids):
        shown = token != PAD or kind == "glat_ctc"
        wanted = system.embed(torch.tensor([token]))[0] if shown else empty[1, place]
        assert torch.equal(full[1, place], wanted)
        assert not torch.equal(wanted, empty[1, place]) or not shown


def test_a_share_of_what_is_wrong_is_shown() -> None:
    torch.manual_seed(0)
    there = torch.arange(9) < torch.tensor([9, 4, 6])[:, None]
    wrong = torch.arange(9) < torch.tensor([8, 4, 0])[:, None]
    seen = torch.zeros(3, 9)
    for _ in range(200):
        shown = glance(wrong, there, 0.5)
        assert shown.sum(1).tolist() == [4, 2, 0] and not (shown & ~there).any()
        seen += shown
    assert (seen[0] > 50).all()  # also what was right; 89 are expected of each


@pytest.mark.parametrize("kind", KINDS)
def test_places_are_copies_of_the_source_in_order(kind: str, target: Model) -> None:
    system = made(kind, target)
    states, seen = system.encoded(SOURCES)
    x, there = system.inputs(states, seen)
    times = {"glat_ctc": 2, "dat": 3}[kind]
    assert there.sum(1).tolist() == [2 * times, 3 * times, 2 * times]
    extra = system.hole if kind == "dat" else 0
    assert torch.equal(x[1], (states[1] + extra).repeat_interleave(times, 0))
    assert spread(states, seen, 90, 60)[1].sum(1).tolist() == [60, 60, 60]  # never more than a decoder has


@pytest.mark.parametrize("seed", range(3))
def test_an_alignment_is_written_merged(seed: int, target: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    system: Any = made("glat_ctc", target)
    torch.manual_seed(seed)
    scores = torch.randn(1, 22, 5).log_softmax(-1)
    monkeypatch.setattr(system, "scores", lambda *_: scores)
    text, sure = list[int](), list[float]()
    for token, places in groupby(range(22), scores[0].argmax(-1).tolist().__getitem__):
        if token != PAD and END not in text:
            text.append(token)
            sure.append(max(float(scores[0, place, token].exp()) for place in places))
    (canvas,) = system.write(SOURCE, 99)
    assert canvas.tokens == text and canvas.sure == pytest.approx(sure)
    assert canvas.final and canvas.fresh == [True] * len(text)


@pytest.mark.parametrize("seed", range(3))
def test_greedy_and_lookahead_choose_as_they_say(seed: int, target: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lookahead's step, transition and token together, is the best of all from where it stands; greedy's need not be."""
    system: Any = made("dat", target)
    torch.manual_seed(seed)
    later = torch.ones(30, 30).triu(1).bool()
    scores = torch.randn(30, 20).mul(2).log_softmax(-1)
    raw = torch.randn(30, 30).masked_fill(~later, NEVER).log_softmax(-1).masked_fill(~later, NEVER)
    monkeypatch.setattr(system, "graph", lambda *_: (scores[None].clone(), raw[None]))
    tokens, links, texts = scores.exp(), raw.exp(), list[list[int]]()
    tokens[:, PAD] = 0
    for decoding in ("greedy", "lookahead"):
        at, text, sure = 0, list[int](), list[float]()
        while at < 29 and END not in text:
            joint = links[at, at + 1 :, None] * tokens[at + 1 :]  # every later vertex with every token
            if decoding == "lookahead":
                step, token = divmod(int(joint.argmax()), 20)
            else:
                step = int(links[at, at + 1 :].argmax())
                token = int(tokens[at + 1 + step].argmax())
            at += 1 + step
            text.append(token)
            sure.append(float(tokens[at, token]))
        (canvas,) = system.write(SOURCE, 99, decoding=decoding)
        assert canvas.tokens == text and canvas.sure == pytest.approx(sure, abs=1e-5)
        assert canvas.final and canvas.fresh == [True] * len(text)
        texts.append(text)
    assert texts[0] != texts[1]


def test_lookahead_may_miss_the_better_path() -> None:
    """It is best at each step alone: here it takes 0.4 * 0.9 before 0.6 * 0.5, then has to write 0.1."""
    links, best = torch.full((5, 5), NEVER), torch.tensor([1.0, 0.5, 0.9, 0.1, 1.0]).log()
    for u, v, p in ((0, 1, 0.6), (0, 2, 0.4), (1, 4, 1.0), (2, 3, 1.0), (3, 4, 1.0)):
        links[u, v] = torch.tensor(p).log()
    assert follow(links) == [1, 4] and follow(links + best) == [2, 3, 4]


def test_a_path_ends_where_the_text_does(target: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the token that ends a text, though vertices are left; and the padding is not written."""
    system: Any = made("dat", target)
    tokens, links = torch.full((1, 6, 96), -9.0), torch.full((1, 6, 6), NEVER)
    for v, token in enumerate([9, 8, 7, END, 6, 5]):
        tokens[0, v, token], tokens[0, v, PAD] = -1.0, 0.0
        links[0, v, min(v + 1, 5)] = 0.0
    monkeypatch.setattr(system, "graph", lambda *_: (tokens.clone(), links))
    assert [canvas.tokens for canvas in system.write(SOURCE, 99)] == [[8, 7, END]]


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_is_cut_at_the_limit(kind: str, target: Model) -> None:
    system = made(kind, target)
    (whole,), (cut,) = (list(system.write(SOURCE, limit)) for limit in (99, 2))
    assert cut.tokens == whole.tokens[:2] and cut.final and len(whole.tokens) > 2
    assert len(cut.sure) == len(cut.fresh) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_written_is_told(kind: str, target: Model) -> None:
    system = made(kind, target)
    with pytest.raises(ConfigError, match="limit must be an integer >= 1"):
        next(system.write(SOURCE, 0))
    with pytest.raises(ConfigError, match="at most 128"):
        next(system.write([5] * 128 + [END], 9))
    with pytest.raises(ConfigError, match="nothing but padding"):
        next(system.write([PAD, PAD], 9))
    if kind == "dat":
        with pytest.raises(ConfigError, match="Did you mean 'lookahead'"):
            next(system.write(SOURCE, 9, decoding="lookahed"))


def test_a_target_of_other_ids_is_refused(target: Model, tmp_path: Path) -> None:
    """BART's padding is 1 and its texts end with 2, Marian's end with 0: a mask or an end that is another token."""
    save_nat(made("dat", target), tmp_path)
    for pad, stop in ((1, END), (PAD, 2)):
        hf = deepcopy(target.tokenizer.hf)
        hf.pad_token = hf.convert_ids_to_tokens(pad)
        other = replace(target, tokenizer=Tokenizer(hf, [stop], target.seam))
        with pytest.raises(ModelMismatch, match=rf"pads with {pad} and ends a text with {stop}, not with 0 and 1"):
            load_nat(tmp_path, other)


def trained(kind: str, target: Model, steps: int) -> tuple[Any, list[float]]:
    """A system after some steps on eight texts, each of its own source, and the loss of each step."""
    sources = padded([[5 + i, 40 - i, 9 * i + 6, END] for i in range(8)])
    texts = padded([text_of(i) for i in range(8)])
    system = built(kind, target, SHAPE)
    optimiser = torch.optim.AdamW(system.parameters(), lr=0.01, weight_decay=0.0)
    losses = list[float]()
    for step in range(steps):
        system.done = step / steps
        loss = system.loss(sources, texts)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        losses.append(loss.item())
    return system.requires_grad_(False), losses


def text_of(i: int) -> list[int]:
    """One of eight short texts, some with a token twice."""
    return [50 + i, *([30 + i] * (i % 3)), 20 + i, END]


@pytest.mark.parametrize("kind", KINDS)
def test_training_lowers_the_loss(kind: str, target: Model) -> None:
    system, losses = trained(kind, target, 10)
    assert losses[-1] < 0.9 * losses[0]
    assert all(p.grad.isfinite().all() and p.grad.abs().sum() > 0 for p in system.parameters())


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_texts_that_were_learnt_come_back(kind: str, target: Model) -> None:
    system, _ = trained(kind, target, 250)
    written = [next(system.write([5 + i, 40 - i, 9 * i + 6, END], 9)).tokens for i in range(8)]
    assert sum(written[i] == text_of(i) for i in range(8)) >= 6


@pytest.mark.parametrize("kind", KINDS)
def test_files_bring_a_system_back(kind: str, target: Model, tmp_path: Path) -> None:
    system = made(kind, target)
    system.load_state_dict({name: value.bfloat16().float() for name, value in system.state_dict().items()})
    save_nat(system, tmp_path)
    again = load_nat(tmp_path, target)
    assert again.kind == kind and list(again.write(SOURCE, 99)) == list(system.write(SOURCE, 99))
    about = json.loads((tmp_path / "config.json").read_text())
    other = KINDS[1 - KINDS.index(kind)]
    (tmp_path / "config.json").write_text(json.dumps(about | {"kind": other}))
    with pytest.raises(AssetError, match="gate"):  # lacking there, unknown here
        load_nat(tmp_path, target)
