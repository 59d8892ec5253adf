"""How often a round makes the host wait for a device, by what it reads there or sends there, counted on pretended ones,
and the most that it may."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from engine.config import AUTO, Card
from engine.costs import Costs, Curve
from engine.draft import chain
from engine.lab import Lab
from engine.methods import CARDS, get_card
from engine.rules import RULES
from engine.runs import costs as measuring
from engine.shapes import SHAPES
from engine.trace.events import Round
from engine.trace.store import Trace
from engine.view import observe
from tests.engine.crossed import SOURCE, Crossed
from tests.engine.devices.pretend import EMBEDDED, PROMPTS, Pretend, embedded, loaded, pretended
from tests.engine.drafters.heads import headed
from tests.engine.parts.test_threshold_rule import NEW
from tests.engine.zoo import Zoo, make_model, save_tokenizer

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


@pytest.mark.thorough
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


@pytest.mark.thorough
@pytest.mark.parametrize("temperature", (0.0, 0.8))
@pytest.mark.parametrize("method", ("sd", "block_verify", "mixed", "easd"))
def test_a_draft_model_of_other_ids_waits_once_a_step(
    zoo: Zoo, tmp_path: Path, method: str, temperature: float
) -> None:
    """The host has to know each token before it can name it to that model; nothing else waits for one."""
    short = make_model(tmp_path, "llama", layers=2, vocab=20)
    save_tokenizer(short, 32)
    with pretended() as mode:
        lab = Lab(loaded(zoo.path("llama", vocab=32), "cuda:0"), {"draft": loaded(short, "cuda:0")})
        assert lab.bridges()
        for record, bound in (("light", LIGHT["chain"]), ("full", FULL)):
            _, rounds = reads(lab, mode, method, [5, 9, 12, 7], 30, temperature=temperature, record=record, gamma=20)
            assert max(steps for steps, _ in rounds) > 12
            for steps, lines in rounds:
                assert len(lines) <= bound + steps, (record, steps, lines)


TREES: tuple[dict[str, Any], ...] = (
    {"total_token": AUTO, "depth": AUTO},
    {"total_token": AUTO, "depth": AUTO, "tree_top_k": 1},
    {"depth": AUTO},
)


@pytest.mark.thorough
@pytest.mark.parametrize("knobs", TREES, ids=str)
def test_a_tree_that_is_asked_after_each_level_waits_once_a_level(
    zoo: Zoo, tmp_path: Path, knobs: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    cheap = Costs(Curve(((1, 9.0), (64, 9.5))), start=0.1, step=0.1, row=0.001)
    monkeypatch.setattr(measuring, "_measured", lambda *_: cheap)
    plain, path = headed(zoo, tmp_path), zoo.path("llama", vocab=32)
    with pretended() as mode:
        lab = Lab(loaded(path, "cuda:0"), {}, plain.asset_paths)
        trace, rounds = reads(lab, mode, "eagle3", [5, 9, 12, 7], 16, record="light", **knobs)
    grown = [event.extras.get("levels", 0) for event in trace.rounds[1:]]
    assert max(grown) > 3
    for levels, (_, lines) in zip(grown, rounds, strict=True):
        assert len(lines) <= LIGHT["tree"] + levels, (levels, lines)


ONE_PASS = (("blockwise", {"gamma": AUTO}), ("medusa+entropy_stop+exact", {"lambda0": 0.1}))


@pytest.mark.thorough
@pytest.mark.parametrize("temperature", (0.0, 0.8))
@pytest.mark.parametrize("method, knobs", ONE_PASS, ids=lambda it: it if isinstance(it, str) else "")
def test_a_draft_of_one_pass_is_looked_at_once(
    zoo: Zoo, tmp_path: Path, method: str, knobs: dict[str, Any], temperature: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "_measured", lambda *_: Costs(Curve(((1, 9.0), (16, 9.5))), start=0.1, step=0.1))
    plain, path = headed(zoo, tmp_path), zoo.path("llama", vocab=32)
    given = {"temperature": temperature, "record": "light", **knobs}
    want = plain.run(method, [5, 9, 12, 7], max_new_tokens=16, seed=5, **given)
    with pretended() as mode:
        lab = Lab(loaded(path, "cuda:0"), {}, plain.asset_paths)
        trace, rounds = reads(lab, mode, method, [5, 9, 12, 7], 16, **given)
    assert trace.token_ids == want.token_ids and max(event.drafted for event in trace.rounds) > 2
    for steps, lines in rounds:
        assert len(lines) <= LIGHT["chain"] + 1, (steps, lines)


RULED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("model+chain+entropy_veto", {"entropy_temperature": 0.7, "tau_entropy": 20.0}),
    ("model+chain+close_call", {"unsure": 0.0, "behind": 0.0}),
    ("model+chain+haste", {"sure": 20.0}),
    ("model+chain+slack", {}),
    ("stand", {"merge_full": True}),
)


@pytest.mark.thorough
@pytest.mark.parametrize("temperature", (0.0, 0.8))
@pytest.mark.parametrize("method, knobs", RULED, ids=lambda it: it if isinstance(it, str) else "")
def test_rules_and_tables_read_what_they_compare_at_once(
    zoo: Zoo, method: str, knobs: dict[str, Any], temperature: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever their knobs say, and of rules that are nothing but their declaration, too."""
    for name, (rule, _) in NEW.items():
        monkeypatch.setitem(RULES, name, rule)
    path = zoo.path("llama", vocab=32)
    with pretended() as mode:
        lab = Lab(loaded(path, "cuda:0"), {"draft": loaded(zoo.draft_path(path, "noise"), "cuda:0")})
        _, rounds = reads(lab, mode, method, [5, 9, 12, 7], 24, temperature=temperature, record="light", **knobs)
    bound = LIGHT["tree" if method == "stand" else "chain"]
    for steps, lines in rounds:
        assert len(lines) <= bound, (steps, lines)


def test_places_of_the_source_come_by_one_transfer(crossed: Crossed) -> None:
    path = crossed.path("bart")
    with pretended() as mode:
        lab = Lab(loaded(path, "cuda:0"), {"draft": loaded(path, "cuda:0")})
        given = {"record": "full", "gamma": 6}
        (_, plain), (trace, shown) = (reads(lab, mode, "sd", SOURCE, 20, looks=n, **given) for n in (0, 4))
    assert max(event.emitted for event in trace.rounds) == 7 and all(token.looks for token in trace.tokens)
    for (_, few), (_, lines) in zip(plain, shown, strict=True):
        assert len(lines) == len(few) + 1, lines


def test_rows_of_equal_entries_are_sorted_by_one_transfer() -> None:
    """More equal ones than are looked at, as half types have them, in many rows of both models."""
    draft = chain([4, 1, 2, 3, 7, 6])
    with pretended() as mode:
        rows = torch.zeros(7, 40).to("cuda:0")
        mode.waits.clear()
        stats = observe(replace(draft, logits=rows[:6]), rows, 4)
    assert len(mode.waits) <= 3, mode.waits
    assert stats.draft and len(stats.target.top) == 7 and len(stats.draft.top) == 6
    for top in (*stats.target.top, *stats.draft.top):
        assert [token for token, _ in top] == [0, 1, 2, 3]


@pytest.mark.thorough
@pytest.mark.parametrize("method", ("sd", "pld"))
def test_what_rounds_cost_is_timed_once_the_device_is_done(
    zoo: Zoo, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In every part of a round, as in a run: else the time of a pass falls to what follows it, where the host waits."""
    clocks = list[set[str]]()

    def synchronise(devices: Iterable[torch.device]) -> None:
        clocks.append({str(device) for device in devices})

    monkeypatch.setattr("engine.loop.synchronise", synchronise)
    monkeypatch.setattr("engine.runs.costs.synchronise", synchronise)
    monkeypatch.setattr(measuring, "TURNS", 2)
    path = zoo.path("llama", vocab=32)
    with pretended():
        lab = Lab(loaded(path, "cuda:0"), {"draft": loaded(zoo.draft_path(path, "noise"), "cuda:1")})
        lab.costs(method)
    assert clocks and all("cuda:0" in seen for seen in clocks)
    assert sum(seen == {"cuda:0", "cuda:1"} for seen in clocks) > 20, "those of whole rounds"


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
