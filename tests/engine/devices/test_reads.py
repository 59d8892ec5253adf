"""How often a round makes the host wait for a device, by what it reads there or sends there, counted on pretended ones,
and the most that it may."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.config import AUTO, Card
from engine.costs import Costs, Curve
from engine.lab import Lab
from engine.methods import CARDS, get_card
from engine.runs import costs as measuring
from engine.shapes import SHAPES
from engine.trace.events import Round
from engine.trace.store import Trace
from tests.engine.devices.pretend import EMBEDDED, PROMPTS, Pretend, embedded, loaded, pretended
from tests.engine.drafters.heads import headed
from tests.engine.zoo import Zoo

LIGHT, FULL = {"chain": 3, "tree": 6}, 12
LOOKS = {"adaedl": 1, "rsd": 1, "adaedl_eagle": 1}  # reads a step of methods that decide after each whether to go on
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
) -> tuple[Trace, list[tuple[int, list[str]]]]:
    """A run, and for each round but the first, which has the prefill in it: steps of drafting, and the lines that
    waited."""
    trace, found, before = Trace(), list[tuple[int, list[str]]](), 0
    for event in lab.stream(method, prompt, max_new_tokens=n, seed=5, **options):
        trace.append(event)
        if isinstance(event, Round):
            found.append((event.extras.get("draft_tokens", event.levels) + 1, mode.waits[before:]))
        before = len(mode.waits)
    return trace, found[1:]


def check(lab: Lab, mode: Pretend, method: str, prompt: str | list[int], temperature: float, n: int = 32) -> None:
    """The bounds of a method."""
    forced = {"force": True} if "judge" in method else {}
    for record, bound in (("light", LIGHT[kind(get_card(method))]), ("full", FULL)):
        _, rounds = reads(lab, mode, method, prompt, n, temperature=temperature, record=record, **forced)
        assert rounds
        for steps, lines in rounds:
            assert len(lines) <= bound + APART.get(method, 0) + LOOKS.get(method, 0) * steps, (record, steps, lines)


@pytest.mark.thorough
def test_rounds_of_a_chain_and_a_tree(zoo: Zoo, tmp_path: Path) -> None:
    plain = headed(zoo, tmp_path)
    path = zoo.path("llama", vocab=32)
    with pretended() as mode:
        draft = loaded(zoo.draft_path(path, "noise"), "cuda:0")
        lab = Lab(loaded(path, "cuda:0"), {"draft": draft}, plain.asset_paths)
        for method in ("sd", "block_verify", "eagle3", "lookahead"):
            check(lab, mode, method, [5, 9, 12, 7], 0.8, 12)


ASKED = (
    ("sd", {"gamma": AUTO}),
    ("adaedl", {"lambda0": 0.1}),
    ("cm_asd", {"lookahead": "incremental"}),
    ("universal", {"gamma": AUTO}),
)


@pytest.mark.parametrize("temperature", (0.0, 0.8))
@pytest.mark.parametrize("method, knobs", ASKED, ids=lambda it: it if isinstance(it, str) else "")
def test_a_chain_that_is_asked_after_each_token_waits_once_a_step(
    zoo: Zoo, method: str, knobs: dict[str, Any], temperature: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The token and what its shape asks come together; drafts are those of a CPU, to the token."""
    monkeypatch.setattr(measuring, "_measured", lambda *_: Costs(Curve(((1, 9.0), (16, 9.5))), start=0.1, step=0.1))
    path = zoo.path("llama", vocab=32)
    noise = zoo.draft_path(path, "noise")
    here = Lab(zoo.load(path, "float32"), {"draft": zoo.load(noise, "float32")})
    given = {"temperature": temperature, "record": "light", **knobs}
    want = here.run(method, [5, 9, 12, 7], max_new_tokens=16, seed=5, **given)
    with pretended() as mode:
        lab = Lab(loaded(path, "cuda:0"), {"draft": loaded(noise, "cuda:0")})
        trace, rounds = reads(lab, mode, method, [5, 9, 12, 7], 16, **given)
    assert rounds
    for steps, lines in rounds:
        assert len(lines) <= LIGHT["chain"] + steps, (steps, lines)
    drafted = [event.drafted for event in trace.rounds]
    assert trace.token_ids == want.token_ids and drafted == [event.drafted for event in want.rounds]
    assert max(drafted) > 1


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
