"""What a user asks of a run on a loaded pair, options and knobs by name, and the checked configuration of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Any, Literal

from engine.config import Card, KnobValue, RunConfig, Sampling
from engine.errors import ConfigError, TraceError, shown, unknown
from engine.judge.served import is_served
from engine.loop import Method
from engine.methods import get_card
from engine.runs.pair import Pair
from engine.trace.bounds import check_extras


@dataclass(frozen=True)
class Options:
    """How to decode: the keywords of `Lab.run` and `Lab.stream` besides the method's knobs."""

    max_new_tokens: int = 128
    temperature: float = 0.0  # 0 is greedy
    top_p: float = 1.0  # 1 is off
    top_k: int = 0  # 0 is off
    seed: int = 0  # any whole number, below 0 too
    chat: bool = False  # whether the prompt goes through the target's chat template
    record: Literal["full", "light"] = "full"  # light: counts and timings only
    stop: str | Sequence[str] | None = ()  # the response ends once it holds one of these
    top_n: int = 10  # entries kept of each distribution in a full trace
    looks: int = 0  # places of the source kept for each token of an encoder-decoder: where it looked; 0 is none
    extras: Mapping[str, Any] | None = field(default_factory=dict)  # noted in the trace's head, e.g. the task

    @property
    def stops(self) -> tuple[str, ...]:
        """The stop strings.

        Raises:
            ConfigError: `stop` is neither one text nor several.
        """
        if self.stop is None or isinstance(self.stop, str):
            return () if self.stop is None else (self.stop,)
        try:
            return tuple(self.stop)
        except TypeError:  # nothing that goes on, whatever it says of itself
            raise ConfigError(f"stop must be a text or several, not {shown(self.stop)}.") from None


DECODING = frozenset(item.name for item in fields(Options))


def ready(
    pair: Pair, method: str | Card, prompt: str | Sequence[int], given: Mapping[str, Any], reuse: Method | None = None
) -> tuple[Card, Options, RunConfig]:
    """What a run would be; nothing has begun.

    Raises:
        ConfigError, AssetError, ModelMismatch: as `engine.lab.Lab.stream`.
    """
    card, options, knobs = asked(pair, method, given)
    if reuse is not None and not isinstance(reuse, Method):
        raise ConfigError(f"What is reused is a method of `Lab.living`, not {shown(reuse)}.")
    if reuse is not None and reuse.card.name != card.name:
        raise ConfigError(f"The method to reuse is {reuse.card.name}, not {card.name}.")
    if reuse is not None and reuse.owner is not pair:
        raise ConfigError(
            "The method to reuse is of another lab, with whose models it would draft: make one by this lab's `living`."
        )
    if reuse is not None and reuse.taken.locked():
        raise ConfigError(in_use(reuse))
    config = configure(pair, card, prompt, options, knobs if reuse is None else {**reuse.knobs, **knobs})
    if reuse is not None:
        _check_alike(reuse, config)
    return card, options, config


def in_use(living: Method) -> str:
    """Why a method that a run has taken cannot serve another."""
    return (
        f"This method of `Lab.living` ({living.card.name}) is in use by another run: let that end or close it first, "
        "or make another method. One method serves one run at a time."
    )


def _check_alike(living: Method, config: RunConfig) -> None:
    """Nothing where the run is under the knobs of the method that lives on.

    Raises:
        ConfigError: under another knob.
    """
    for name, value in config.knobs.items():
        if value != living.knobs[name]:
            raise ConfigError(
                f"The method to reuse lives with {name}={living.knobs[name]}, and {name}={value} is asked for: leave "
                "it out, or make another method."
            )


def asked(pair: Pair, method: str | Card, given: Mapping[str, Any]) -> tuple[Card, Options, dict[str, Any]]:
    """The card with this pair's defaults, the options, and the knobs among what was given.

    Raises:
        ConfigError: an unknown method, a chat that is no switch, or extras that are no names with values.
    """
    card = pair.fitted(method if isinstance(method, Card) else get_card(method))
    options = Options(**{name: value for name, value in given.items() if name in DECODING})
    if not isinstance(options.chat, bool):
        raise ConfigError(f"chat must be True or False, not {shown(options.chat)}.")
    if options.extras is not None and not isinstance(options.extras, Mapping):
        raise ConfigError(f"extras must be names with values, such as {{'task': 'mine'}}, not {shown(options.extras)}.")
    try:
        check_extras(options.extras or {})
    except TraceError as error:  # when the run is over it would be too late
        raise ConfigError(str(error)) from None
    knobs = {name: value for name, value in given.items() if name not in DECODING}
    for name in knobs.keys() - {knob.name for knob in card.knobs}:
        if get_close_matches(name, DECODING, n=1, cutoff=0.8):
            raise ConfigError(unknown("option of a run", name, DECODING))
    return card, options, knobs


def configure(
    pair: Pair, card: Card, prompt: str | Sequence[int], options: Options, knobs: Mapping[str, Any]
) -> RunConfig:
    """The checked configuration of one run.

    Raises:
        ConfigError: what cannot run here, with the reason.
    """
    values = able(pair, card, knobs)
    if is_served(pair.target) and (options.temperature or options.record != "light"):
        raise ConfigError(
            "A served target tells its first choices only: run at temperature 0 and record lightly (record='light', "
            f"--record light); given were temperature {options.temperature:g} and record {options.record!r}."
        )
    ids = pair.target.tokenizer.encode(prompt, options.chat)
    pair.check_fit(ids, card.writer)
    at = pair.target.source_of(ids)
    if card.writer == "nat" and pair.target.seam and len(ids) > at + len(pair.target.seam.opening):
        raise ConfigError(f"{card.title} writes all places of a text at once: it cannot go on from a beginning.")
    return RunConfig(
        method=card.name,
        prompt_ids=tuple(ids),
        prompt=prompt if isinstance(prompt, str) else pair.target.tokenizer.decode(ids[: at or len(ids)]),
        max_new_tokens=options.max_new_tokens,
        sampling=Sampling(options.temperature, options.top_k, options.top_p),
        seed=options.seed,
        record=options.record,
        stop=options.stops,
        top_n=options.top_n,
        looks=options.looks,
        knobs=values,
        task=str((options.extras or {}).get("task") or ""),
    )


def able(pair: Pair, card: Card, knobs: Mapping[str, Any]) -> dict[str, KnobValue]:
    """The card's knobs, of one that this pair can run.

    Raises:
        ConfigError: an unknown one, or this pair cannot run the card.
    """
    values = card.resolve(knobs)
    if reason := pair.unfit(card) or pair.branches(card) or pair.missing(card, values):
        raise ConfigError(reason)
    return values
