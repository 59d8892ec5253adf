"""Going through a text again without a model: what a look-up then drafts is what it drafts beside one."""

import pytest

from engine.lab import Lab
from engine.tasks import load_problems
from engine.trace.store import Trace
from engine.tune.lookups import again
from tests.engine.once import loaded_once

PROMPT = load_problems("functions", "heldout", 1)[0].prompt
LENGTHS = (1, 3, 16)


@pytest.fixture(scope="module")
def tiny() -> Lab:
    with loaded_once():
        return Lab.load("tiny", device="cpu")


def rounds(trace: Trace) -> list[tuple[int, int, int]]:
    return [(event.drafted, event.accepted, event.emitted) for event in trace.rounds]


@pytest.mark.parametrize("name", ["pld", "anpd", "suffix", "sam"])
@pytest.mark.parametrize("prompt", [PROMPT, "Question: Lena has 53 roses. She sells 46.\nAnswer:"])
def test_rounds_with_shorter_drafts_are_those_that_come(tiny: Lab, name: str, prompt: str) -> None:
    runs = [tiny.run(name, prompt, max_new_tokens=40, record="light", gamma=length) for length in LENGTHS]
    met = [list(again(tiny, runs[-1], length) or ()) for length in LENGTHS]
    assert met == [rounds(run) for run in runs]
    assert any(accepted for _, accepted, _ in met[0])


def test_what_hangs_on_more_than_the_text_is_not_gone_through(tiny: Lab) -> None:
    options = {"max_new_tokens": 8, "record": "light"}
    assert again(tiny, tiny.run("pld", PROMPT, **options, scope="global"), 3) is None
    assert again(tiny, tiny.run("recycle", PROMPT, **options), 3) is None
    assert again(tiny, tiny.run("pld+chain+gap", PROMPT, **options), 3) is None
