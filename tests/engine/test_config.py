"""Settings: every knob checks its type and range, and says what is allowed."""

import json
import math
import numbers
import re
from typing import Any

import numpy as np
import pytest
import torch

from engine.config import Knob, RunConfig, Sampling
from engine.errors import ConfigError
from engine.methods import CARDS, get_card

NUMBER = Knob("tau", 2.0, "a number", 0.0, 4.0, 0.1, "nats")
WHOLE = Knob("gamma", 5, "a whole number", 0, 128, 1, "tokens")
SWITCH = Knob("bonus", True, "a switch")
CHOICE = Knob("mode", "a", "a choice", choices=("a", "beta"))
OPEN = Knob("free", 1, "no range")
TEXT = Knob("bins", "0.5,1", "a text")


@pytest.mark.parametrize(
    ("knob", "given", "kept"),
    [
        (NUMBER, 3, 3.0),
        (NUMBER, "0.5", 0.5),
        (NUMBER, 0, 0.0),
        (NUMBER, 4.0, 4.0),
        (WHOLE, 3.0, 3),
        (WHOLE, "7", 7),
        (SWITCH, "false", False),
        (SWITCH, True, True),
        (SWITCH, "True", True),
        (CHOICE, "beta", "beta"),
        (OPEN, -(10**6), -(10**6)),
        (TEXT, "1,2", "1,2"),
        (TEXT, 0.25, "0.25"),
    ],
)
def test_values_come_back_in_the_type_of_the_knob(knob: Knob, given: object, kept: object) -> None:
    assert knob.check(given) == kept and type(knob.check(given)) is type(kept)


@pytest.mark.parametrize(
    ("knob", "given", "says"),
    [
        (NUMBER, 4.01, r"tau must be a number from 0 to 4 nats, not 4\.01\."),
        (NUMBER, -1, "from 0 to 4 nats, not -1"),
        (NUMBER, math.nan, "not nan"),
        (NUMBER, math.inf, "not inf"),
        (OPEN, math.inf, "must be an integer, not inf"),
        (NUMBER, "much", "tau must be a number from 0 to 4 nats, not 'much'"),
        (NUMBER, None, "a number"),
        (NUMBER, [1], "a number"),
        (WHOLE, 2.5, "must be an integer from 0 to 128 tokens, not 2.5"),
        (SWITCH, "perhaps", "true or false"),
        (CHOICE, "bets", "Did you mean 'beta'"),
        (CHOICE, [], "Unknown value for mode"),
        (WHOLE, 10**400, "gamma must be an integer from 0 to 128 tokens, not 1000"),
        (OPEN, -(10**400), "must be an integer, not -1000"),
        (NUMBER, True, "tau must be a number from 0 to 4 nats, not True"),
        (WHOLE, False, "gamma must be an integer from 0 to 128 tokens, not False"),
        (SWITCH, 1, "true or false, not 1"),
        (SWITCH, 0.0, "true or false"),
        (TEXT, [1], "bins must be a text"),
        (TEXT, True, "bins must be a text"),
        (TEXT, "\ud800", "plain characters"),
        (TEXT, "1" * 2001, "at most 2000"),
    ],
)
def test_values_out_of_range_are_refused(knob: Knob, given: object, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        knob.check(given)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"temperature": -0.1}, "temperature"),
        ({"temperature": math.nan}, "temperature"),
        ({"temperature": 1e-9}, "0 .greedy. or a number from 0.001"),
        ({"temperature": 101}, "temperature"),
        ({"temperature": "hot"}, "temperature must be a number"),
        ({"temperature": True}, "a number"),
        ({"top_k": -1}, "top_k"),
        ({"top_k": 2.5}, "top_k must be an integer"),
        ({"top_p": 0}, "top_p"),
        ({"top_p": 1.1}, "top_p"),
        ({"top_p": math.nan}, "top_p"),
        ({"top_p": None}, "top_p must be a number"),
    ],
)
def test_sampling_settings_have_ranges(values: dict[str, object], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        Sampling(**values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"max_new_tokens": 0}, "max_new_tokens must be an integer from 1 to 1000000000, not 0"),
        ({"max_new_tokens": 2.5}, "must be an integer from 1"),
        ({"seed": "x"}, "seed must be an integer"),
        ({"seed": 2**60}, "seed"),
        ({"top_n": 0}, "top_n"),
        ({"record": "ful"}, "Did you mean 'full'"),
        ({"stop": ("",)}, "stop string"),
        ({"stop": (3,)}, "stop string"),
        ({"stop": 5}, "stop must be several texts, not 5"),
        ({"stop": "end"}, "stop must be several texts, not 'end'"),
        ({"prompt_ids": ()}, "empty"),
        ({"prompt_ids": "text"}, "list of token ids, not 'text'"),
        ({"prompt_ids": 7}, "list of token ids, not 7"),
        ({"prompt_ids": (1, 2.5)}, "list of token ids"),
    ],
)
def test_runs_have_ranges(values: dict[str, object], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        RunConfig(**({"method": "ar", "prompt_ids": (1,)} | values))  # type: ignore[arg-type]


def test_cards_resolve_their_knobs() -> None:
    card = get_card("easd")
    assert card.resolve({"gamma": "3"})["gamma"] == 3
    with pytest.raises(ConfigError, match=r"Unknown knob of easd 'tau_entropi'. Did you mean 'tau_entropy'"):
        card.resolve({"tau_entropi": 1})


def test_every_card_is_complete() -> None:
    """Words, ranges and defaults: a card makes a page, a command line and a manual, so nothing may be missing."""
    assert len({card.name for card in CARDS}) == len(CARDS)
    for card in CARDS:
        assert card.title and card.summary.endswith((".", "!")) and card.paper and card.formula, card.name
        assert card.guarantee in ("reference", "lossless", "lossy")
        assert len({knob.name for knob in card.knobs}) == len(card.knobs)
        for knob in card.knobs:
            assert knob.check(knob.default) == knob.default, (card.name, knob.name)
            assert knob.help and knob.origin in ("paper", "code", "ours") and set(knob.lossy) <= set(knob.choices)
            if not isinstance(knob.default, str | bool):
                assert knob.low is not None and knob.high is not None and knob.low < knob.high, (card.name, knob.name)
                # the page's lanes read there what the number stands for (app/static/lanes/text.js)
                assert knob.default != -1 or re.search(r"; -1 (is|uses) ", knob.help), (card.name, knob.name)
        json.dumps(card.to_json(), allow_nan=False)


def test_defaults_are_those_of_the_papers() -> None:
    """The values on the method pages in docs/methods/, typed here once more."""
    want: dict[str, dict[str, Any]] = {
        "sd": {"gamma": 5, "correction": "residual"},
        "easd": {
            "gamma": 5,
            "overlap_n": 5,
            "tau_overlap": 0.8,
            "overlap_cmp": "ge",
            "tau_entropy": 2.0,
            "correction": "target",
            "penalize": "proposed",
            "bonus": True,
            "entropy_temperature": 1.0,
        },
        "specdec": {"top_beta": 5, "tau_base": 3.0},
        "cm_asd": {
            "k_min": 1,
            "alpha": 1.0,
            "top_beta": 3,
            "tau_base": 0.1,
            "tau_gamma": 1.0,
            "margin_scale": 1.0,
            "threshold_mode": "equation",
            "entropy_conf": "one_minus",
            "margin_norm": "sigmoid",
            "lookahead": "full",
        },
    }
    for name, knobs in want.items():
        values = get_card(name).resolve({})
        assert {key: values[key] for key in knobs} == knobs
    weights = get_card("cm_asd").resolve({})
    assert weights["w_entropy"] == weights["w_margin"] == weights["w_soft"] == pytest.approx(1 / 3)


class Whole:
    """A whole number of another library."""

    def __index__(self) -> int:
        return 4


def test_whole_numbers_of_other_libraries_are_whole_numbers() -> None:
    config = RunConfig("sd", np.array([1, 2]), max_new_tokens=Whole(), seed=Whole(), sampling=Sampling(top_k=Whole()))  # type: ignore[arg-type]
    assert config.prompt_ids == (1, 2) and all(type(one) is int for one in config.prompt_ids)
    assert (config.max_new_tokens, config.seed, config.sampling.top_k) == (4, 4, 4)
    assert all(type(value) is int for value in (config.max_new_tokens, config.seed, config.sampling.top_k))


class Real(Whole):
    """A number of another library."""

    def __float__(self) -> float:
        return 0.5


numbers.Real.register(Real)


def test_numbers_of_other_libraries_are_numbers() -> None:
    sampling = Sampling(temperature=Real(), top_p=Real())  # type: ignore[arg-type]
    assert sampling == Sampling(temperature=0.5, top_p=0.5)
    assert type(sampling.temperature) is type(sampling.top_p) is float
    assert type(Sampling(temperature=1).temperature) is int


@pytest.mark.parametrize("value", [np.array([1, 2]), np.array(["a", "b"])])
def test_arrays_are_refused_in_words(value: object) -> None:
    with pytest.raises(ConfigError, match="bonus must be true or false, not array"):
        SWITCH.check(value)
    with pytest.raises(ConfigError, match="Unknown value for mode array"):
        CHOICE.check(value)
    with pytest.raises(ConfigError, match="temperature must be a number, not array"):
        Sampling(temperature=value)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="Unknown record mode array"):
        RunConfig("ar", (1,), record=value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [torch.tensor([1, 2]), [1, 2], None])
def test_values_that_are_no_value_are_refused(value: object) -> None:
    card = get_card("sd")
    for name in ("gamma", "correction"):
        with pytest.raises(ConfigError, match=name):
            card.resolve({name: value})
