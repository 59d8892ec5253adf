"""Which settings are probed, and which drafters say that one pass writes their drafts."""

import pytest

from engine.drafters import DRAFTERS
from engine.lab import Lab
from engine.methods import get_card
from engine.parts import one_pass
from engine.tune.advising import grid, probes, runs
from tests.engine.toy import toy_lab


def test_a_draft_of_one_pass_is_probed_at_some_lengths_and_others_at_the_longest() -> None:
    cards = [get_card(name) for name in ("sd", "dflash", "eagle3", "medusa")]
    found = probes(cards, 16)
    assert [knobs for name, knobs in found if name == "sd"] == [{"gamma": 16}]
    assert [knobs for name, knobs in found if name == "dflash"] == [{"gamma": n} for n in (4, 8, 15)]
    assert len([name for name, _ in found if name == "eagle3"]) > 2 and ("medusa", {}) in found
    assert max(knobs["gamma"] for name, knobs in grid(cards) if name == "dflash") == 15, "all places that there are"


@pytest.mark.thorough
def test_drafters_of_one_pass_note_it_and_no_other_does() -> None:
    named = {name for name, part in DRAFTERS.items() if one_pass(part)}
    assert named == {"dflash", "parallel", "medusa"}
    seen = set[str]()
    prompts = {"tiny": "Question: Lena has 53 roses. She sells 46.\nAnswer:", "crossed": "The dog sees the cat."}
    for preset, prompt in prompts.items():
        lab = Lab.load(preset, device="cpu")
        names = ("parallel+chain+exact", "parallel+confidence_chain+gap") if preset == "crossed" else ()
        for card in [*lab.methods(), *map(get_card, names)]:
            rounds = lab.run(card.name, prompt, max_new_tokens=12, record="light").rounds
            passes = [event.extras.get("passes") for event in rounds if event.drafted]
            assert set(passes) <= ({1} if card.drafter in named else {None}), card.name
            assert passes or card.drafter != "parallel"
            seen |= {card.drafter} if passes else set()
    assert named <= seen


def test_each_prompt_has_a_seed_and_all_that_run_on_it_the_same() -> None:
    """With the same uniforms for all prompts an interval over them would be too narrow."""
    options = {"max_new_tokens": 4, "temperature": 1.0, "seed": 5}
    found = runs(toy_lab(), [("pld", {})], [("ab", {}), ("ba", {})], options, repeats=2)
    assert [[trace.head.seed for trace in own] for own in found] == [[5, 5, 6, 6], [5, 5, 6, 6]]
