"""Measures how often a drafter's tokens hold by how sure it is of them (engine/forecast.py), for `gamma=auto`."""

from collections.abc import Iterable
from typing import Any

from engine.analysis.calibration import placed_trials
from engine.config import Card
from engine.costs.chains import MOST_CHAIN
from engine.errors import ConfigError
from engine.forecast import Forecast, forecast
from engine.lab import Lab
from engine.methods import get_card
from engine.trace.store import sound


def measured(lab: Lab, method: str, prompts: Iterable[str], **decoding: Any) -> Forecast:
    """Of a method that drafts a chain under the exact rule, greedily, on these prompts.

    Raises:
        ConfigError: another method, or a drafter that gives no probabilities.
    """
    card = can_forecast(get_card(method))
    found: list[tuple[float, bool, int]] = []
    for prompt in prompts:
        trace = sound(lab.run(card, prompt, record="full", gamma=MOST_CHAIN, **decoding), card.name)
        found += ((sure, held, place - 1) for sure, held, place in placed_trials(trace.rounds))
    if not found:
        raise ConfigError(f"{card.title}'s drafter gives no probabilities, or there was nothing to draft.")
    return forecast(found)


def can_forecast(card: Card) -> Card:
    """The card, if its length of a chain can be left to the device and it is lossless.

    Raises:
        ConfigError: it cannot be, or it is not.
    """
    if card.shape != "chain" or card.rule != "exact" or not any(knob.auto for knob in card.knobs):
        raise ConfigError(f"A forecast is of a lossless method that drafts a chain, such as sd; {card.name} is none.")
    return card
