"""CMLM and RewriteNAT: mask-predict as its paper writes it down, locating and rewriting, and what both learn from."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.errors import AssetError, ConfigError, ModelMismatch
from engine.model import Model
from engine.nat.canvas import Canvas
from engine.nat.cmlm import Candidates, Cmlm, hide, surest
from engine.nat.files import SYSTEMS, begin_as, built, load_nat, save_nat
from engine.nat.network import Frozen, Shape
from engine.nat.rewrite import RewriteNat
from engine.nat.system import END, PAD
from engine.training.batches import padded
from tests.engine.crossed import SOURCE, Crossed
from tests.modes import alike

SHAPE = Shape(width=32, layers=2, heads=2, step=48, places=160)
KINDS = ("cmlm", "rewrite_nat")


@pytest.fixture(scope="module")
def target(crossed: Crossed) -> Model:
    return crossed.model("pegasus")


def made(kind: str, target: Model, seed: int = 0, length: int = 12) -> Any:
    """A system with weights spread widely, which finds `length` likeliest, then its neighbours."""
    system: Any = built(kind, target, SHAPE, seed).requires_grad_(False).eval()
    for name, p in system.named_parameters():
        if "norm" not in name:
            p.normal_(0, 0.25)
    system.length.weight.zero_()
    system.length.bias.copy_(-(torch.arange(1, 129) - length - 0.25).abs())
    return system


def plain(system: Cmlm, size: int, iterations: int) -> tuple[list[list[int]], list[float], list[set[int]]]:
    """Mask-predict of one length, place by place: ids after each iteration, last probabilities, places written."""
    states, seen = system.read(SOURCE)
    text, sure, history, written = [PAD] * size, [0.0] * size, list[list[int]](), list[set[int]]()
    for t in range(iterations):
        n = int(size * (iterations - t) / iterations + 1e-9)
        hidden = set(sorted(range(size), key=lambda i: sure[i])[:n])
        if not hidden:
            break
        read = torch.tensor([[PAD if i in hidden else token for i, token in enumerate(text)]])
        logits = system.filled(read, torch.ones(1, size, dtype=torch.bool), states, seen)[0]
        for i in hidden:
            row = logits[i].tolist()
            row[PAD] = -1e30
            row[END] = row[END] if i == size - 1 else -1e30
            odds = torch.tensor(row).softmax(0)
            text[i], sure[i] = int(odds.argmax()), float(odds.max())
        history.append(list(text))
        written.append(hidden)
    return history, sure, written


@pytest.mark.parametrize(("seed", "iterations"), [(0, 1), (5, 3), (5, 20)])
def test_mask_predict_is_what_its_paper_says(seed: int, iterations: int, target: Model) -> None:
    system = made("cmlm", target, seed)
    tried = {size: plain(system, size, iterations) for size in (11, 12, 13)}
    best = max(tried, key=lambda size: float(torch.tensor(tried[size][1]).log().mean()))
    assert best != 12  # the likeliest length, so that this shows something of the choice
    found = list(system.write(SOURCE, 99, iterations=iterations, lengths=3))
    history, sure, written = tried[best]
    assert [canvas.tokens for canvas in found] == history
    assert [{i for i, fresh in enumerate(canvas.fresh) if fresh} for canvas in found] == written
    assert found[-1].sure == pytest.approx(sure, rel=1e-4)


def test_one_iteration_is_the_argmax_of_an_empty_canvas(target: Model) -> None:
    system = made("cmlm", target)
    (canvas,) = system.write(SOURCE, 99, iterations=1, lengths=1)
    logits = system.filled(torch.zeros(1, 12, dtype=torch.long), torch.ones(1, 12).bool(), *system.read(SOURCE))[0]
    logits[:, PAD] = logits[:-1, END] = -torch.inf
    assert canvas.tokens == logits.argmax(-1).tolist() and all(canvas.fresh) and canvas.final
    assert canvas.sure == pytest.approx(logits.softmax(-1).amax(-1).tolist(), rel=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_lengths_beside_a_text_do_not_change_it(kind: str, target: Model) -> None:
    """A row of several, padded, is the text written alone."""
    system = made(kind, target)
    among = system.candidates(SOURCE, 4)
    sizes = among.there.sum(1).tolist()
    assert sizes == [12, 13, 11, 14]
    *_, together = system.passes(among, 6)
    for row, size in enumerate(sizes):
        there = torch.ones(1, size, dtype=torch.bool)
        *_, alone = system.passes(Candidates(there, among.states[:1], among.seen[:1]), 6)
        assert together.tokens[row, :size].tolist() == alone.tokens[0].tolist()
        assert torch.allclose(together.sure[row, :size], alone.sure[0], atol=1e-5)


def rewritten(system: RewriteNat, size: int, iterations: int) -> Iterator[tuple[list[int], set[int]]]:
    """Texts of one length and the places written in each, one round after the other."""
    states, seen = system.read(SOURCE)
    there = torch.ones(1, size, dtype=torch.bool)
    text, hidden = [PAD] * size, set(range(size))
    for _ in range(iterations):
        logits = system.filled(
            torch.tensor([[PAD if i in hidden else x for i, x in enumerate(text)]]), there, states, seen
        )[0]
        logits[:, PAD] = logits[:-1, END] = -torch.inf
        text = [int(logits[i].argmax()) if i in hidden else x for i, x in enumerate(text)]
        yield text, hidden
        x = system.embed(torch.tensor([text])) + system.locating * system.frozen.stretch
        odds = system.locator(system.decoder(x, there, states, seen)).sigmoid()[0, :, 0]
        found = {i for i in range(size) if odds[i] > 0.5}
        if not found or found == hidden:
            return
        hidden = found


@pytest.mark.parametrize(("seed", "rounds"), [(0, 6), (2, 3), (5, 2)])
def test_rewriting_goes_on_until_nothing_new_is_located(seed: int, rounds: int, target: Model) -> None:
    """To the most that is allowed, until the same places are located again, until none is."""
    system = made("rewrite_nat", target, seed)
    wanted = list(rewritten(system, 12, 6))
    found = list(system.write(SOURCE, 99, iterations=6, lengths=1))
    assert [canvas.tokens for canvas in found] == [text for text, _ in wanted]
    assert [{i for i, fresh in enumerate(canvas.fresh) if fresh} for canvas in found] == [
        places for _, places in wanted
    ]
    assert len(found) == rounds


@pytest.mark.parametrize("kind", KINDS)
def test_canvases_change_only_where_they_are_fresh(kind: str, target: Model) -> None:
    system = made(kind, target)
    found = list(system.write(SOURCE, 99, iterations=8))
    assert len(found) > 2 and [canvas.final for canvas in found] == [False] * (len(found) - 1) + [True]
    before = Canvas([system.mask] * len(found[0].tokens), [0.0] * len(found[0].tokens), [])
    for canvas in found:
        assert any(canvas.fresh) and system.mask not in canvas.tokens and END not in canvas.tokens[:-1]
        for token, sure, fresh, old, odds in zip(
            canvas.tokens, canvas.sure, canvas.fresh, before.tokens, before.sure, strict=True
        ):
            assert fresh or (token, sure) == (old, odds)
        before = canvas
    assert all(found[0].fresh) and not all(found[1].fresh)


def test_the_surest_text_is_that_of_the_largest_mean() -> None:
    """Over the places that a text has: neither a short one nor a long one is ahead by its length."""
    there = torch.arange(4) < torch.tensor([[2], [4]])
    for short, long, best in ((0.9, 0.8, 0), (0.8, 0.9, 1), (0.5, 0.4, 0), (0.4, 0.5, 1)):
        assert surest(torch.tensor([[short] * 2 + [0.0] * 2, [long] * 4]), there) == best


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_is_cut_at_the_limit(kind: str, target: Model) -> None:
    system = made(kind, target)
    whole, cut = (list(system.write(SOURCE, limit)) for limit in (99, 5))
    assert [canvas.tokens for canvas in cut] == [canvas.tokens[:5] for canvas in whole][: len(cut)]
    assert all(len(x) == 5 for canvas in cut for x in (canvas.tokens, canvas.sure, canvas.fresh)) and cut[-1].final


def test_what_cannot_be_written_is_told(target: Model) -> None:
    system = made("cmlm", target)
    for knobs, name in (({"iterations": 0}, "iterations"), ({"lengths": 1.5}, "lengths"), ({"limit": True}, "limit")):
        with pytest.raises(ConfigError, match=f"{name} must be an integer >= 1"):
            next(system.write(SOURCE, **({"limit": 9} | knobs)))
    with pytest.raises(ConfigError, match="at most 128"):
        next(system.write([5] * 128 + [END], 9))


SOURCES = padded([[5 + i, 40 - i, 9 * i + 6, END][i % 2 :] for i in range(8)])
TEXTS = padded([[50 + i, *([30 + i] * (i % 3)), 20 + i, END] for i in range(8)])


def trained(kind: str, target: Model, steps: int) -> tuple[Any, list[float]]:
    """A system after some steps on `TEXTS`, and the loss of each step."""
    system = built(kind, target, SHAPE)
    optimiser = torch.optim.AdamW(system.parameters(), lr=0.01, weight_decay=0.0)
    losses = list[float]()
    for _ in range(steps):
        loss = system.loss(SOURCES, TEXTS)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return system.requires_grad_(False), losses


@pytest.mark.parametrize("kind", KINDS)
def test_a_loss_is_made_where_its_texts_are(kind: str, target: Model) -> None:
    """And not on the default device of torch."""
    system, _ = trained(kind, target, 0)
    with torch.device("meta"):
        assert system.loss(SOURCES, TEXTS).device.type == "cpu"


@pytest.mark.parametrize("kind", KINDS)
def test_training_lowers_the_loss(kind: str, target: Model) -> None:
    system, losses = trained(kind, target, 12)
    assert losses[-1] < 0.9 * losses[0]
    assert all(p.grad.abs().sum() > 0 for p in system.parameters())


def test_the_locator_is_never_asked_about_a_mask(target: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """The revisor's draws are tokens, however likely it holds the mask to be."""
    system, asked = made("rewrite_nat", target), list[torch.Tensor]()
    wrong, there = system.wrong, TEXTS != PAD
    certain = torch.zeros(target.vocab).index_fill(0, torch.tensor([PAD]), 50.0)
    monkeypatch.setattr(Frozen, "logits", lambda _, x: certain.expand(*x.shape[:-1], -1))
    monkeypatch.setattr(system, "wrong", lambda canvas, *more: asked.append(canvas) or wrong(canvas, *more))
    system.loss(SOURCES, TEXTS)
    assert asked and all((canvas[there] != PAD).all() for canvas in asked)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_texts_that_were_learnt_come_back(kind: str, target: Model) -> None:
    """Of the eight six to eight, by seed; after half of the steps as few as four, by how a CPU rounds."""
    system, losses = trained(kind, target, 600)
    assert sum(losses[-5:]) < 0.1 * sum(losses[:5])
    right = 0
    for source, text in zip(SOURCES.tolist(), TEXTS.tolist(), strict=True):
        *_, last = system.write([x for x in source if x], 9)
        right += last.tokens == [x for x in text if x]
    assert right >= 5


@pytest.mark.slow
def test_wrong_places_are_located(target: Model) -> None:
    """The locator is asked about what the revisor drew, and learns to tell."""
    system, _ = trained("rewrite_nat", target, 300)
    there, (states, seen) = TEXTS != PAD, system.encoded(SOURCES)
    spoilt = TEXTS.clone()
    spoilt[:, 0] = TEXTS[:, 0].roll(1)
    right, wrong = (system.wrong(text, there, states, seen) for text in (TEXTS, spoilt))
    assert (wrong[:, 0] - right[:, 0]).mean() > 1 and (right[there] < 0).float().mean() > 0.9


@pytest.mark.parametrize("kind", KINDS)
def test_files_bring_a_system_back(kind: str, target: Model, tmp_path: Path) -> None:
    system = made(kind, target)
    save_nat(system, tmp_path)
    again = load_nat(tmp_path, target)
    assert again.kind == kind and again.decoder.shape == SHAPE and alike(tmp_path)
    for name, value in again.state_dict().items():
        assert torch.equal(value, system.state_dict()[name].bfloat16().float()), name


def test_a_rewriter_begins_with_a_masked_language_model(target: Model, tmp_path: Path) -> None:
    model, rewriter = made("cmlm", target), built("rewrite_nat", target, SHAPE, 5)
    save_nat(model, tmp_path)
    own = {name: value.clone() for name, value in rewriter.state_dict().items()}
    begin_as(rewriter, tmp_path)
    for name, value in rewriter.state_dict().items():
        theirs = model.state_dict().get(name)
        assert torch.equal(value, own[name] if theirs is None else theirs.bfloat16().float()), name
    assert set(own) - set(model.state_dict()) == {"locating", "locator.weight", "locator.bias"}
    other = built("rewrite_nat", target, Shape(width=32, layers=1, heads=2, step=40))
    with pytest.raises(AssetError, match="shape"):
        begin_as(other, tmp_path)
    file = tmp_path / "model.safetensors"
    kept = load_file(file)
    lost = max(name for name in kept if name.startswith("decoder."))
    save_file({name: weight for name, weight in kept.items() if name != lost}, file)
    with pytest.raises(AssetError, match=lost):
        begin_as(rewriter, tmp_path)


@pytest.mark.parametrize("kind", SYSTEMS)
def test_the_seed_decides_every_weight(kind: str, target: Model) -> None:
    """Whatever was drawn before."""
    one, other, again = (built(kind, target, SHAPE, seed).state_dict() for seed in (3, 4, 3))
    assert all(torch.equal(weight, again[name]) for name, weight in one.items())
    assert not all(torch.equal(weight, other[name]) for name, weight in one.items())


def test_damaged_files_are_refused_in_words(target: Model, tmp_path: Path) -> None:
    save_nat(made("cmlm", target), tmp_path)
    about = json.loads((tmp_path / "config.json").read_text())
    for change, told in (
        ({"kind": "cmlmm"}, "Did you mean 'cmlm'"),
        ({"kind": "rewrite_nat"}, "lacks locating"),
        ({"layers": 0}, "layers = 0"),
        ({"places": 10**6}, "places = 1000000"),
        ({"heads": 5}, "no multiple"),
        ({"step": 50}, "shape"),
        ({"width": 48}, "48 wide"),
    ):
        (tmp_path / "config.json").write_text(json.dumps(about | change))
        with pytest.raises((AssetError, ModelMismatch), match=told):
            load_nat(tmp_path, target)
    (tmp_path / "config.json").write_text(json.dumps(about))
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-40])
    with pytest.raises(AssetError, match="cannot be read"):
        load_nat(tmp_path, target)


def test_one_to_all_tokens_are_hidden_each_number_as_often() -> None:
    torch.manual_seed(0)
    sizes = torch.tensor([4, 2]).repeat(600)
    hidden = hide(sizes, 5)
    assert not hidden[0::2, 4].any() and not hidden[1::2, 2:].any()
    for size, rows in ((4, hidden[0::2]), (2, hidden[1::2])):
        counts = torch.bincount(rows.sum(1), minlength=6)
        assert counts[0] == 0 and counts[size + 1 :].sum() == 0
        assert counts[1 : size + 1].min() > 0.75 * 600 / size


def test_hidden_tokens_weigh_as_if_all_had_been_asked(target: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a system that knows nothing, a text costs as much however many of its tokens are hidden."""
    system = made("cmlm", target)
    monkeypatch.setattr(system, "filled", lambda canvas, *_: torch.zeros(*canvas.shape, 50))
    monkeypatch.setattr(system, "length_loss", lambda *_: 0.0)
    source, text = torch.tensor([[5, 6, 7, 1]]), torch.tensor([[8, 9, 10, 1]])
    for kept in range(4):
        shown = torch.arange(4)[None] >= kept
        monkeypatch.setattr("engine.nat.cmlm.hide", lambda *_, shown=shown: shown)
        assert float(system.loss(source, text)) == pytest.approx(4 * torch.tensor(50.0).log().item(), rel=1e-5)
