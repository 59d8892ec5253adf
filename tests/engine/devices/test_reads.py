"""How often a round makes the host wait for a device, by what it reads there or sends there, counted on pretended ones,
and the most that it may."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.config import Card
from engine.lab import Lab
from engine.methods import CARDS, get_card
from engine.shapes import SHAPES
from engine.trace.events import Round
from tests.engine.devices.pretend import EMBEDDED, PROMPTS, Pretend, embedded, loaded, pretended
from tests.engine.drafters.heads import headed
from tests.engine.zoo import Zoo

LIGHT, FULL = {"chain": 3, "tree": 6}, 12
LOOKS = {"adaedl": 2, "rsd": 1, "adaedl_eagle": 1}  # reads a step of methods that decide after each whether to go on
APART = {"autojudge": 1}  # the judge's scores: its draft pass is run only where a token was rejected


@pytest.fixture(scope="module", params=EMBEDDED)
def family(request: pytest.FixtureRequest) -> Iterator[tuple[Lab, Pretend]]:
    """An embedded pair, all on one pretended device."""
    with pretended() as mode:
        yield embedded(request.param, "cuda:0", "cuda:0"), mode


def kind(card: Card) -> str:
    """Whether a card's drafts are chains or trees."""
    return "chain" if SHAPES[card.shape].KIND in ("chain", "none", "steps") else "tree"


def reads(
    lab: Lab, mode: Pretend, method: str, prompt: str | list[int], n: int = 32, **options: Any
) -> list[tuple[int, list[str]]]:
    """For each round but the first, which has the prefill in it: steps of drafting, and the lines that waited."""
    found, before = list[tuple[int, list[str]]](), 0
    for event in lab.stream(method, prompt, max_new_tokens=n, seed=5, **options):
        if isinstance(event, Round):
            found.append((event.levels + 1, mode.waits[before:]))
        before = len(mode.waits)
    return found[1:]


def check(lab: Lab, mode: Pretend, method: str, prompt: str | list[int], temperature: float, n: int = 32) -> None:
    """The bounds of a method."""
    forced = {"force": True} if "judge" in method else {}
    for record, bound in (("light", LIGHT[kind(get_card(method))]), ("full", FULL)):
        rounds = reads(lab, mode, method, prompt, n, temperature=temperature, record=record, **forced)
        assert rounds
        for steps, lines in rounds:
            assert len(lines) <= bound + APART.get(method, 0) + LOOKS.get(method, 0) * steps, (record, steps, lines)


def test_rounds_of_a_chain_and_a_tree(zoo: Zoo, tmp_path: Path) -> None:
    plain = headed(zoo, tmp_path)
    path = zoo.path("llama", vocab=32)
    with pretended() as mode:
        draft = loaded(zoo.draft_path(path, "noise"), "cuda:0")
        lab = Lab(loaded(path, "cuda:0"), {"draft": draft}, plain.asset_paths)
        for method in ("sd", "eagle3"):
            check(lab, mode, method, [5, 9, 12, 7], 0.8, 12)


@pytest.mark.slow
@pytest.mark.parametrize("temperature", (0.0, 0.8))
@pytest.mark.parametrize("method", [card.name for card in CARDS])
def test_rounds_of_every_method(family: tuple[Lab, Pretend], method: str, temperature: float) -> None:
    lab, mode = family
    pair = str(lab.preset)
    if method not in EMBEDDED[pair]:
        assert lab.unavailable()[method]
    elif get_card(method).writer == "nat":
        check_iterations(lab, mode, method, PROMPTS[pair], temperature)
    else:
        check(lab, mode, method, PROMPTS[pair], temperature)


def check_iterations(lab: Lab, mode: Pretend, method: str, prompt: str, temperature: float) -> None:
    """The bound of a network that writes all places at once: its rounds are iterations, and the first may hold the
    work of all."""
    lab.run(method, prompt, max_new_tokens=1)  # loads it
    for record in ("light", "full"):
        before = len(mode.waits)
        trace = lab.run(method, prompt, max_new_tokens=32, temperature=temperature, record=record)
        assert trace.rounds and len(mode.waits) - before <= FULL * len(trace.rounds), mode.waits[before:]
