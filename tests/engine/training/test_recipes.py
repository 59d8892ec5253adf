"""What each head learns: which tokens a prediction reads, which it is held against, and which texts count."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.heads.medusa import MedusaHead
from engine.training import dflash, features
from engine.training.features import Batch, _jobs
from engine.training.heads import TrainingContext, rows_of
from engine.training.recipes import RECIPES


def made(kind: str, context: TrainingContext) -> tuple[Any, dict[str, Tensor]]:
    """A recipe, with weights that are no longer the first ones."""
    recipe, rng = RECIPES[kind](context), torch.Generator().manual_seed(1)
    return recipe, {name: t + 0.2 * torch.randn(t.shape, generator=rng) for name, t in recipe.start().items()}


def asked(
    kind: str, recipe: Any, params: dict[str, Tensor], batch: Batch, patch: pytest.MonkeyPatch
) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Logits, wanted logits and validity of each step."""
    seen = list[tuple[Tensor, Tensor, Tensor]]()
    module = importlib.import_module(type(recipe).__module__)
    patch.setattr(module, "soft_loss", lambda *given: (seen.append(given), (given[0].sum() * 0, 0.0))[1])
    with torch.no_grad():
        recipe.loss(params, batch)
    return seen


@pytest.mark.parametrize("kind", ["hydra", "mtp", "eagle2"])
def test_a_prediction_reads_what_was_drafted_and_is_held_against_the_target_behind_it(
    context: TrainingContext,
    kind: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Step j of the row at i reads tokens up to i + 1 + j, and learns what the target says behind the last of them."""
    monkeypatch.setattr("engine.training.eagle.NOISE", 0.0)
    recipe, params = made(kind, context)
    batch = context.features.batch(0, 4, 0).to("cpu")
    rows, plain = rows_of(batch), asked(kind, recipe, params, batch, monkeypatch)
    for j, (_, wanted, valid) in enumerate(plain):
        assert torch.equal(valid, rows.valid(j))
        for b, r in valid.nonzero().tolist():
            torch.testing.assert_close(wanted[b, r], context.head(batch.last[b, rows.at[b, r] + 1 + j]))
    for place in range(2, 6):
        other = replace(batch, ids=batch.ids.clone())
        other.ids[:, place] = (other.ids[:, place] + 1) % 32
        for j, (logits, *_) in enumerate(asked(kind, recipe, params, other, monkeypatch)):
            moved = (logits - plain[j][0]).abs().amax(-1) > 1e-6
            for b, r in plain[j][2].nonzero().tolist():
                at = int(rows.at[b, r])
                assert not moved[b, r] or place <= at + 1 + j, "a later token is seen"
                assert moved[b, r] or place != at + 1 + j, "the last drafted token is not"


def test_medusa_heads_learn_what_stands_so_many_places_on(context: TrainingContext) -> None:
    recipe, params = made("medusa", context)
    batch = context.features.batch(0, 4, 0).to("cpu")
    head, total = MedusaHead(4, 1, params), 0.0
    for i in range(4):
        each = list[float]()
        for ids, first, size, last in zip(batch.ids, batch.start - 2, batch.size, batch.last, strict=True):
            for at in range(max(0, int(first)), int(size) - 2 - i):
                each.append(-float(head.logits(last[at : at + 1], i)[0].log_softmax(-1)[ids[at + 2 + i]].detach()))
        total += 0.8**i * sum(each) / len(each)
    assert float(recipe.loss(params, batch)[0].detach()) == pytest.approx(total, rel=1e-4)


@pytest.mark.parametrize(("drawn", "masks"), [(1 - 1e-6, 1), (0.0, None)])
def test_blocks_begin_within_the_answer_and_end_with_the_text(
    context: TrainingContext,
    drawn: float,
    masks: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Drawn latest a block has one mask that is left to fill; drawn first it begins with the prompt's last token."""
    recipe, params = made("dflash", context)
    batch, roots = context.features.batch(0, 4, 0).to("cpu"), list[Tensor]()
    rows = dflash.BLOCKS * dflash.SIZE
    states = torch.randn(4, rows, 48, generator=torch.Generator().manual_seed(0))
    monkeypatch.setattr(torch, "rand", lambda *shape, **_: torch.full(shape, drawn))
    monkeypatch.setattr(recipe, "_forward", lambda params, x, taps, root, where: (roots.append(root), states)[1])
    loss, _ = recipe.loss(params, batch)
    logits = context.head(states.view(4, dflash.BLOCKS, dflash.SIZE, 48))[:, :, 1:].log_softmax(-1)
    total = weight = 0.0
    for b, (start, size) in enumerate(zip(batch.start.tolist(), batch.size.tolist(), strict=True)):
        root = size - 2 if masks else max(1, start - 1)
        assert set(roots[0][b].tolist()) == {root}
        for k in range(min(dflash.SIZE - 1, size - 1 - root)):
            wanted = context.head(batch.last[b, root + k]).softmax(-1)
            w = 2.718281828 ** (-k / dflash.DECAY)
            total -= w * float((wanted * logits[b, :, k]).sum())
            weight += w * dflash.BLOCKS
    assert float(loss) == pytest.approx(total / weight, rel=1e-3)


@pytest.mark.parametrize(("greedy", "own"), [(0.0, []), (0.5, [1, 3]), (1.0, [0, 1, 2, 3]), (0.25, [3])])
def test_the_target_answers_the_share_that_is_asked_for(
    greedy: float, own: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of four chunks a family, spread evenly; each problem once."""
    monkeypatch.setattr(features, "load_problems", lambda family, split, n, seed: [f"{family} {i}" for i in range(n)])
    jobs: list[Any] = list(_jobs(["a", "b"], 400, greedy, 0))
    assert [i for i in range(4) if jobs[2 * i][1]] == own and [jobs[2 * i + 1][1] for i in own] == [
        features.CHUNK
    ] * len(own)
    assert sorted(p for problems, _ in jobs for p in problems) == sorted(f"{f} {i}" for f in "ab" for i in range(200))


def test_tokens_are_counted_in_answers_alone(context: TrainingContext) -> None:
    told = [0] * 32
    for part, begin, end, start in context.features.rows:
        for token in part["ids"][begin:end].tolist()[start:]:
            told[token] += 1
    assert context.features.counts(32).tolist() == told
