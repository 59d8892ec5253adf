"""The table of a sweep, from rows made by hand."""

import json
from dataclasses import replace
from typing import Any

import pytest

from engine.analysis.intervals import speedup_interval
from engine.analysis.quality import Response
from engine.analysis.rows import Row, flaw, table
from engine.trace.sums import Sums


def row(asked: str, tokens: int, rounds: int, ms: float, category: str = "", output: str = "x") -> Row:
    """A run whose every round drafted four tokens and accepted two of them."""
    sums = Sums(tokens=tokens, rounds=rounds, drafted=4 * rounds, accepted=2 * rounds, rejected=rounds, draft_ms=ms)
    return Row("own prompts", Response((asked,), tokens, output, "", "", None), sums, category)


NUMBERS = ((8, 4, 9), (2, 2, 3), (1.0, 2.0, 4.0))  # tokens, rounds and ms of three runs


def test_turns_of_a_conversation_are_one_row_of_every_interval() -> None:
    """Means are over prompts as ever; what is drawn again is the conversation."""

    def turn(asked: str, talk: str, *numbers: Any) -> Row:
        made = row(asked, *numbers)
        return replace(made, response=replace(made.response, conversation=(talk,) if talk else ()))

    ours = [turn("a", "x", 8, 2, 1.0), turn("b", "x", 4, 2, 2.0), turn("c", "", 9, 3, 4.0)]
    plain = [turn("a", "x", 6, 6, 3.0), turn("b", "x", 6, 6, 3.0), turn("c", "", 9, 9, 6.0)]
    found, alone = (
        table({"ar": side, "sd": mine})["sd"]
        for side, mine in ((plain, ours), ([row("a", 6, 6, 3.0)] * 2 + plain[2:], [*map(row, "aac", *NUMBERS)]))
    )
    for name, spread in found["intervals"].items():
        assert spread["n"] == 2, name
        if name != "rounds":
            assert spread == alone["intervals"][name], name
    assert found["intervals"]["rounds"]["mean"] == pytest.approx(7 / 3), "over three prompts"
    assert found["quality"]["response_tokens"]["mean"] == 7 and found["quality"]["response_tokens"]["n"] == 2
    assert found["quality"]["prompts"] == found["prompts"] == 3 and alone["prompts"] == 2
    back = [Row.from_json(json.loads(json.dumps(one.to_json()))) for one in ours]
    assert back == ours and not flaw(ours[0].to_json())


def test_rows_of_before_have_no_conversation() -> None:
    told = row("a", 8, 2, 1.0).to_json()
    del told["response"]["conversation"]
    assert not flaw(told) and Row.from_json(told) == row("a", 8, 2, 1.0)


def test_repeats_of_a_prompt_are_one_row_of_every_interval() -> None:
    ours = [row("a", 8, 2, 1.0), row("a", 4, 2, 2.0), row("b", 9, 3, 4.0, output="y")]
    plain = [row("a", 6, 6, 3.0), row("a", 6, 6, 3.0), row("b", 9, 9, 6.0)]
    found = table({"ar": plain, "sd": ours})
    spread = found["sd"]["intervals"]
    assert {name: one["n"] for name, one in spread.items()} == dict.fromkeys(
        ("tau", "accept_rate_drafted", "accept_rate_tested", "tokens_per_s", "rounds", "speedup"), 2
    )
    (faster,) = {spread["speedup"]["mean"], found["sd"]["speedup"]}
    assert faster == pytest.approx((21 / 7) / (21 / 12))
    over = speedup_interval([(12, 3, 12, 6), (9, 4, 9, 6)])
    assert over and (spread["speedup"]["low"], spread["speedup"]["high"]) == (over.low, over.high)
    assert spread["rounds"]["mean"] == 2.5, "mean over prompts of the mean over their repeats"
    assert found["sd"]["speedup_perprompt_mean"] == pytest.approx(((8 / 1) / 2 + (4 / 2) / 2 + (9 / 4) / 1.5) / 3)
    assert found["sd"]["same_output_as_ar"] == 2 and found["sd"]["prompts"] == 2
    assert "speedup" not in found["ar"] and "speedup" not in found["ar"]["intervals"]
    assert "reward_calls" not in spread


def test_a_speed_that_is_not_known_is_no_part_of_the_mean_over_prompts() -> None:
    ours, plain = [row("a", 8, 2, 1.0), row("b", 8, 2, 0.0)], [row("a", 8, 8, 4.0), row("b", 8, 8, 4.0)]
    assert table({"ar": plain, "sd": ours})["sd"]["speedup_perprompt_mean"] == pytest.approx(4.0)
    none = [row("a", 8, 2, 0.0), row("b", 8, 2, 0.0)]
    assert table({"ar": plain, "sd": none})["sd"]["speedup_perprompt_mean"] is None
    assert "speedup_perprompt_mean" not in table({"ar": plain[:1], "sd": ours[:1]})["sd"], "there is one prompt"


def test_reward_calls_are_told_a_response() -> None:
    scored = replace(row("a", 8, 2, 1.0).sums, reward_calls=3)
    rows = [replace(row("a", 8, 2, 1.0), sums=scored), row("b", 8, 2, 1.0)]
    assert table({"rsd": rows})["rsd"]["intervals"]["reward_calls"]["mean"] == 1.5


def test_categories_have_tables_of_their_own() -> None:
    rows = {"ar": [row("a", 6, 6, 3.0, "code"), row("b", 9, 9, 6.0, "prose"), row("c", 2, 2, 1.0)]}
    found = table(rows)["ar"]
    assert {name: line["tokens"] for name, line in found["categories"].items()} == {"code": 6, "prose": 9}
    assert found["tokens"] == 17


GOOD = row("a", 6, 6, 3.0, "code").to_json()


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ([], "task, category, response and sums"),
        ({"task": "t"}, "task, category, response and sums"),
        (GOOD | {"task": 3}, "task of a run is a text"),
        (GOOD | {"category": None}, "category of a run is a text"),
        (GOOD | {"sums": []}, "sums of a run is an object"),
        (GOOD | {"response": {"tokens": 1}}, "response of a run has output"),
        (GOOD | {"sums": {"speed": 1}}, "sums of a run has no 'speed'"),
        (GOOD | {"sums": {"tokens": -1}}, "sums.tokens of a run cannot be -1"),
        (GOOD | {"sums": {"ended": [1, -1]}}, "sums.ended of a run cannot be"),
        (GOOD | {"sums": {"tokens": 1.5}}, "sums.tokens of a run cannot be 1.5"),
    ],
)
def test_what_is_no_row_is_told(bad: Any, told: str) -> None:
    assert told in flaw(bad)


def test_a_row_is_read_as_it_was_written() -> None:
    one = row("a", 6, 6, 3.0, "code")
    assert flaw(one.to_json()) == "" and Row.from_json(one.to_json()) == one
    fewer = GOOD | {"sums": {"tokens": 0}}
    assert flaw(fewer) == "" and Row.from_json(fewer).sums == Sums()


def test_plain_decoding_has_no_difference_from_itself() -> None:
    plain = [row("a", 6, 6, 3.0), row("b", 9, 9, 6.0)]
    found = table({"ar": plain, "sd": [row("a", 8, 2, 1.0), row("b", 9, 3, 4.0)]})
    assert "response_tokens_difference" in found["sd"]["quality"]
    assert not [name for name in found["ar"]["quality"] if name.endswith(("_difference", "_relative"))]
    assert found["ar"]["quality"]["same_as_ar"]["mean"] == 1
