"""CM-ASD's length: k_j = min(k_max, max(k_min, floor(alpha * mean C * k_max))), from the drafter's own logits."""

import math
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from engine.draft import Draft, chain
from engine.lab import Lab
from engine.shapes import confidence
from engine.shapes.confidence import ConfidenceChain
from engine.verify import walk
from tests.engine.distributions import Tree, worst

EQUAL = (1 / 3, 1 / 3, 1 / 3)


def confidences(*given, **more) -> list[float]:
    """The function's numbers, on the host."""
    return confidence.confidences(*given, **more).tolist()


def shape(**knobs: Any) -> ConfidenceChain:
    return ConfidenceChain(None, {knob.name: knob.default for knob in ConfidenceChain.KNOBS} | knobs)  # type: ignore[arg-type]


def draft_of(logits: torch.Tensor) -> Draft:
    return chain(logits.argmax(-1).tolist(), logits=logits)


def rows(n: int, spread: float, V: int = 20) -> torch.Tensor:
    return spread * torch.randn(n, V, generator=torch.Generator().manual_seed(7), dtype=torch.float64)


# --- the three confidences ----------------------------------------------------------------------------------------------


def test_the_three_parts_are_those_of_section_3b() -> None:
    z = torch.tensor([[2.0, 1.0, -1.0, 0.5]], dtype=torch.float64)
    p = torch.softmax(z[0], -1).tolist()
    h = -sum(x * math.log(x) for x in p)
    assert confidences(z, (1, 0, 0)) == pytest.approx([1 - h / math.log(4)])
    assert confidences(z, (1, 0, 0), entropy_conf="literal") == pytest.approx([h / math.log(4)])  # C1
    assert confidences(z, (0, 1, 0)) == pytest.approx([1 / (1 + math.exp(-1))])
    assert confidences(z, (0, 1, 0), scale=3.0) == pytest.approx([1 / (1 + math.exp(-3))])
    assert confidences(z, (0, 1, 0), margin_norm="rescaled") == pytest.approx([2 / (1 + math.exp(-1)) - 1])  # C3
    assert confidences(z, (0, 0, 1)) == pytest.approx([(p[0] - p[1]) / p[0]])
    parts = [confidences(z, w)[0] for w in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
    assert confidences(z, (2, 1, 1)) == pytest.approx([0.5 * parts[0] + 0.25 * parts[1] + 0.25 * parts[2]])
    assert confidences(z, (0, 0, 0)) == confidences(z, EQUAL)


def test_they_lie_between_zero_and_one_and_grow_with_certainty() -> None:
    for spread in (0.0, 0.5, 3.0, 1e4):
        for weights in ((1, 0, 0), (0, 1, 0), (0, 0, 1), EQUAL):
            values = confidences(rows(30, spread), weights)
            assert all(0 <= v <= 1 for v in values)
            if weights == (0, 1, 0):
                assert all(v >= 0.5 for v in values)  # the margin as printed never goes to 0 (C3)
    sharpened = [confidences(s * rows(1, 1.0), EQUAL)[0] for s in (0.5, 1.0, 2.0, 4.0, 8.0)]
    assert sharpened == sorted(sharpened)
    assert confidences(torch.tensor([[0.0, -torch.inf, -torch.inf]]), EQUAL) == [1.0]


# --- the length ---------------------------------------------------------------------------------------------------------


def test_the_length_follows_the_equation() -> None:
    for spread in (0.1, 1.0, 4.0):
        for alpha in (0.0, 0.5, 1.0, 3.0):
            for k_min in (1, 4):
                made = draft_of(rows(10, spread))
                kept = shape(k_max=10, k_min=k_min, alpha=alpha).keep(made)
                assert made.logits is not None and kept.confidence is not None
                values = confidences(made.logits, EQUAL)
                want = min(10, max(k_min, math.floor(alpha * sum(values) / 10 * 10)))
                assert len(kept) == want == kept.extras["k"] and kept.extras["made"] == 10
                assert kept.confidence == tuple(values[:want])
                assert kept.extras["mean_confidence"] == pytest.approx(sum(values) / 10)


def test_sure_drafts_are_long_and_unsure_ones_short() -> None:
    """C1: low entropy means C near one and k near k_max."""
    sure, unsure = 50 * torch.eye(20, dtype=torch.float64)[:10], torch.zeros(10, 20, dtype=torch.float64)
    one = {"w_entropy": 1.0, "w_margin": 0.0, "w_soft": 0.0, "k_max": 10}
    assert len(shape(**one).keep(draft_of(sure))) >= 9 and len(shape(**one).keep(draft_of(unsure))) == 1
    assert len(shape(**one, entropy_conf="literal").keep(draft_of(unsure))) == 10


def test_the_ablation_fixes_the_length() -> None:
    assert len(shape(k_max=10, adapt_k=False).keep(draft_of(rows(10, 0.1)))) == 10


def test_incremental_drafting_stops_early_and_verifies_the_same() -> None:
    """It asks before each token; it never drafts beyond the length that its own running mean allows."""
    logits = rows(25, 0.6)
    lazy, full = shape(lookahead="incremental"), shape()
    assert lazy.limit() == full.limit() == 25
    drafted = 0
    while drafted < 25 and lazy.more(drafted, logits[drafted]):
        drafted += 1
    values = confidences(logits, EQUAL)
    allowed = [max(1, math.floor(sum(values[:n]) / n * 25)) for n in range(1, 26)]
    assert drafted == next(n for n, k in enumerate(allowed, 1) if n >= k) < 25
    assert all(full.more(n, logits[n]) for n in range(25))
    lazy.limit()  # a new round forgets the old one
    assert lazy.more(0, logits[0])


def test_in_a_run_the_length_stays_in_its_range(toy: Lab) -> None:
    trace = toy.run("cm_asd", "abc", max_new_tokens=30, k_min=2, k_max=6)
    for event in trace.rounds:
        room = 30 - event.start - 1
        assert min(2, room) <= event.drafted <= min(6, room)
        if event.drafted:
            assert event.extras["k"] == event.drafted and event.extras["made"] == min(6, room)
    assert all(node.confidence is not None and 0 <= node.confidence <= 1 for r in trace.rounds for node in r.nodes)


# --- with the exact rule ------------------------------------------------------------------------------------------------


def cut_chains(model: Tree, part: ConfidenceChain, gamma: int) -> Iterator[tuple[Draft, float]]:
    """Every chain that the shape lets a drafter draw, cut as the shape cuts it, with its probability."""

    def grow(tokens: tuple[int, ...], mass: float) -> Iterator[tuple[Draft, float]]:
        part.limit()  # a new round; then the questions again, since the shape remembers its answers
        rows = torch.stack([model.q[tokens[:i]].log() for i in range(len(tokens) + 1)])
        asked = all(part.more(i, rows[i]) for i in range(len(tokens) + 1)) and len(tokens) < gamma
        if not asked:
            distributions = rows[:-1].exp()
            yield part.keep(chain(tokens, draw="sample", distributions=distributions, logits=rows[:-1])), mass
            return
        for token, share in enumerate(model.q[tokens].tolist()):
            yield from grow((*tokens, token), mass * share)

    yield from grow((), 1.0)


def emitted_distribution_is_off_by(**knobs: Any) -> float:
    """Total variation between the target's distribution of three tokens and what the exact rule emits behind this shape."""
    model = Tree(V=3, depth=3, seed=6)
    part = shape(k_max=3, k_min=1, alpha=1.4, **knobs)
    return worst(model.emitted(walk, cut_chains(model, part, 3), 3), model.joint(3))


def test_a_length_chosen_after_the_fact_biases_the_exact_rule() -> None:
    """The mean confidence looks at the draft tokens it keeps or drops; stopping on what came before does not."""
    assert emitted_distribution_is_off_by(lookahead="full") > 1e-3
    assert emitted_distribution_is_off_by(lookahead="incremental") < 1e-12
    assert emitted_distribution_is_off_by(adapt_k=False) < 1e-12


def test_the_promise_says_so(toy: Lab) -> None:
    for lookahead, temperature, promise in (
        ("full", 0.0, "lossless"),
        ("full", 1.0, "lossy"),
        ("incremental", 1.0, "lossless"),
    ):
        card = toy.compose(drafter="model", shape="confidence_chain", rule="exact", lookahead=lookahead)
        assert toy.run(card, "ab", max_new_tokens=2, temperature=temperature).head.guarantee == promise
