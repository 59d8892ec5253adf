"""Plain data that a user sets: sampling, knobs, cards and the resolved configuration of one run. No torch here."""

import math
import numbers
import operator
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, get_args

from engine.errors import ConfigError, shown, unknown
from engine.threshold import Threshold

KnobValue = bool | int | float | str
Guarantee = Literal["reference", "lossless", "lossy"]
Record = Literal["full", "light"]  # what a trace keeps: draft tokens and distributions too, or numbers of rounds
Origin = Literal["paper", "code", "ours"]
Writer = Literal["target", "draft", "nat"]  # who writes a text: a model in that role, or a non-autoregressive one
MIN_TEMPERATURE = 1e-3  # below it a distribution is the argmax, and logits / temperature lose their digits
MAX_TEMPERATURE, MOST_TOP_K = 100, 1_000_000
TEMPERATURES = f"0 (greedy) or a number from {MIN_TEMPERATURE:g} to {MAX_TEMPERATURE}"
TRAJECTORY_TEMPERATURE, TRAJECTORY_TOKENS = 0.6, 256  # where several answers to one prompt are drawn
TOP_KS = f"an integer from 0 (off) to {MOST_TOP_K}"
AUTO = "auto"  # value of a knob that is chosen from round to round, where the knob allows it
MOST_TEXT = 2000  # characters of a knob that is a text
MAX_SEED = 2**53  # whole numbers beyond it do not survive JSON readers
LAB_OPTIONS = (  # keywords of `Lab.load`; any other names the role of an asset
    *("preset", "target", "draft", "eagle", "device", "target_device", "draft_device", "graphs", "dtype", "threads"),
    *("languages", "target_endpoint", "target_model", "target_key"),
)


def parse_method(text: str) -> tuple[str, dict[str, str]]:
    """A method as typed, `sd:gamma=7:correction=target`: its name and knobs."""
    name, *rest = text.strip().split(":")
    return name, {key: value for key, _, value in (item.partition("=") for item in rest)}


def label(spec: tuple[str, Mapping[str, Any]]) -> str:
    """A method with its knobs, as typed."""
    return ":".join([spec[0], *(f"{name}={value}" for name, value in spec[1].items())])


def within(low: float | None, high: float | None) -> str:
    """A range in words, with a blank before: " from 1 to 8", " >= 1", or empty."""
    if low is not None and high is not None:
        return f" from {low:.16g} to {high:.16g}"
    return "" if low is high else f" >= {low:.16g}" if low is not None else f" <= {high:.16g}"


@dataclass(frozen=True)
class Knob:
    """One setting of a method: its type follows from `default`; numbers have an inclusive range."""

    name: str
    default: KnobValue
    help: str  # one line, for the page and the command line
    low: float | None = None
    high: float | None = None
    step: float | None = None
    unit: str = ""
    choices: tuple[str, ...] = ()
    origin: Origin = "ours"  # where the default comes from
    advanced: bool = False  # shown folded on the page
    lossy: tuple[str, ...] = ()  # values that void a lossless promise above temperature 0
    replaces: str = ""  # a need of the card that this knob, once set, makes superfluous
    calibrated: str = ""  # the command that made the default, where it is one for the loaded models
    published: KnobValue | None = None  # what it is elsewhere, then, or where a composed card was given another
    auto: bool = False  # whether "auto" leaves it to what rounds cost here and what was accepted so far

    @property
    def usual(self) -> KnobValue:
        """The default where nobody calibrated it or composed a card with another; `origin` is the origin of this."""
        return self.default if self.published is None else self.published

    @property
    def typed(self) -> KnobValue:
        """A value of the type that it takes: the default, or a number where that is "auto"."""
        known = (self.default, self.published, self.low, self.high)
        numbers = (value for value in known if value is not None and not isinstance(value, str))
        return next(numbers, 0) if self.auto and self.default == AUTO else self.default

    @property
    def span(self) -> str:
        """The numbers that it takes, in words: "an integer from 1 to 8 tokens"."""
        unit = f" {self.unit}" if self.unit and (self.low, self.high) != (None, None) else ""
        return f"{'an integer' if isinstance(self.typed, int) else 'a number'}{within(self.low, self.high)}{unit}"

    def check(self, value: object) -> KnobValue:
        """The value in the knob's own type.

        Raises:
            ConfigError: the type is wrong, the number is out of range or not finite, or the choice is unknown.
        """
        if self.choices:
            if not isinstance(value, str) or value not in self.choices:
                raise ConfigError(unknown(f"value for {self.name}", value, self.choices))
            return str(value)
        if self.auto and isinstance(value, str) and value == AUTO:
            return AUTO
        if isinstance(self.default, bool):
            if isinstance(value, bool) or (isinstance(value, str) and value in ("true", "false", "True", "False")):
                return value in (True, "true", "True")
            raise ConfigError(f"{self.name} must be true or false, not {shown(value)}.")
        return self._text(value) if isinstance(self.typed, str) else self._number(value)

    def _text(self, value: object) -> str:
        value = str(value) if type(value) in (int, float) else value
        if not isinstance(value, str) or len(value) > MOST_TEXT or not value.isascii():
            raise ConfigError(
                f"{self.name} must be a text of at most {MOST_TEXT} plain characters, not {shown(value)}."
            )
        return value

    def _number(self, value: object) -> KnobValue:
        try:
            if isinstance(value, bool):
                raise TypeError
            number = float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        whole = isinstance(self.typed, int)
        if not math.isfinite(number) or not low <= number <= high or (whole and number != int(number)):
            raise ConfigError(
                f"{self.name} must be {self.span}, not {shown(value)}."
                + (" `auto` chooses it from round to round." if self.auto else "")
            )
        return int(number) if whole else number


@dataclass(frozen=True)
class Calibration:
    """Defaults for one pair of models instead of a rule's own, and the command that made them."""

    knobs: Mapping[str, KnobValue]
    command: str


@dataclass(frozen=True)
class Card:
    """A method as data: the triple, its words, its knobs and what it promises. Page, CLI and docs are made from it."""

    name: str
    title: str
    paper: str  # short citation, with the title of the paper
    drafter: str
    shape: str
    rule: str
    guarantee: Guarantee
    summary: str  # what it does, two sentences
    helps: str = ""
    hurts: str = ""
    contested: str = ""  # what the paper leaves open, with ids of docs/methods/register.md
    formula: str = ""
    knobs: tuple[Knob, ...] = ()  # of the three parts together, defaults of this card applied
    family: str = "chain"  # chain | tree | lookup | judge | non-autoregressive | baseline: how the page groups it
    needs: tuple[str, ...] = ()  # models besides the target: "draft", "eagle3", "judge:arithmetic", ...
    threshold: Threshold | None = None  # the condition that the rule declares, if it has one
    writer: Writer = "target"  # the model that checks and writes; one that writes unchecked is no speculation

    def resolve(self, given: Mapping[str, object]) -> dict[str, KnobValue]:
        """All knobs with their values.

        Raises:
            ConfigError: a name this method does not have, or a value its knob refuses.
        """
        known = {knob.name: knob for knob in self.knobs}
        for name in given:
            if name not in known:
                raise ConfigError(unknown(f"knob of {self.name}", name, known))
        return {name: knob.check(given.get(name, knob.default)) for name, knob in known.items()}

    def fitted(self, found: Calibration | None) -> "Card":
        """The card with the defaults that were calibrated for a pair.

        Raises:
            ConfigError: a knob that the method does not have, or a value that it refuses.
        """
        if found is None:
            return self
        values = {name: self.resolve(found.knobs)[name] for name in found.knobs}
        own = tuple(
            replace(knob, default=values[knob.name], calibrated=found.command, published=knob.default)
            if knob.name in values and knob.published is None  # else it is calibrated already, or was given
            else knob
            for knob in self.knobs
        )
        return replace(self, knobs=own)

    def still_needs(self, knobs: Mapping[str, KnobValue]) -> tuple[str, ...]:
        """`needs`, less what a knob that is set replaces (thresholds by hand need no learnt ones)."""
        replaced = {
            knob.replaces
            for knob in self.knobs
            if knobs[knob.name] != (knob.default if knob.calibrated else knob.usual)
        }
        return tuple(need for need in self.needs if need not in replaced)

    def chooses(self, knobs: Mapping[str, KnobValue]) -> bool:
        """Whether a knob is left to what rounds cost on the device."""
        return any(knob.auto and knobs[knob.name] == AUTO for knob in self.knobs)

    def promise(self, knobs: Mapping[str, KnobValue], sampling: "Sampling") -> Guarantee:
        """What this run promises: a lossless card with a knob at a value that voids it is lossy when it samples."""
        void = any(knobs.get(knob.name) in knob.lossy for knob in self.knobs)
        return "lossy" if void and self.guarantee == "lossless" and not sampling.greedy else self.guarantee

    def to_json(self) -> dict[str, Any]:
        """The card as JSON types, knobs included."""
        return asdict(self) | {"threshold": self.threshold.to_json() if self.threshold else None}


def whole_number(value: object) -> int | None:
    """A whole number of whatever library; None of anything else."""
    try:
        return None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def token_ids(prompt: object) -> tuple[int, ...]:
    """The ids of a prompt that is given as such, of whatever library.

    Raises:
        ConfigError: anything else.
    """
    refused = ConfigError(f"A prompt is a text or a list of token ids, not {shown(prompt)}.")
    if isinstance(prompt, str | bytes | bytearray | Mapping):
        raise refused
    try:
        ids = [whole_number(one) for one in prompt]  # type: ignore[attr-defined]
    except TypeError:  # nothing that goes on, whatever it says of itself
        raise refused from None
    if None in ids:
        raise refused
    return tuple(one for one in ids if one is not None)


def _real(value: object) -> float | None:
    """A number of whatever library; None of anything else, and of what no float can hold."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return None
    try:
        return value if isinstance(value, int | float) else float(value)
    except OverflowError:
        return None


@dataclass(frozen=True)
class Sampling:
    """How the target's logits become a distribution: temperature (0 is greedy), then top-k (0 is off), then top-p."""

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0

    def __post_init__(self) -> None:
        for name in ("temperature", "top_p"):
            if (value := _real(getattr(self, name))) is None:
                raise ConfigError(f"{name} must be a number, not {shown(getattr(self, name))}.")
            object.__setattr__(self, name, value)
        if (top_k := whole_number(self.top_k)) is None:
            raise ConfigError(f"top_k must be an integer, not {shown(self.top_k)}.")
        object.__setattr__(self, "top_k", top_k)
        if not (self.temperature == 0 or MIN_TEMPERATURE <= self.temperature <= MAX_TEMPERATURE):
            raise ConfigError(f"temperature must be {TEMPERATURES}, not {shown(self.temperature)}.")
        if not 0 <= self.top_k <= MOST_TOP_K:
            raise ConfigError(f"top_k must be {TOP_KS}, not {shown(self.top_k)}.")
        if not 0 < self.top_p <= 1:
            raise ConfigError(f"top_p must be a number > 0 and <= 1, not {shown(self.top_p)}.")

    @property
    def greedy(self) -> bool:
        """True when decoding takes the argmax of the raw logits."""
        return self.temperature == 0


@dataclass(frozen=True)
class RunConfig:
    """Everything that decides one run besides the models; same config and models, same tokens."""

    method: str
    prompt_ids: tuple[int, ...]
    prompt: str = ""
    max_new_tokens: int = 128
    sampling: Sampling = Sampling()
    seed: int = 0
    record: Record = "full"
    stop: tuple[str, ...] = ()
    top_n: int = 10  # entries kept of each distribution in a full trace
    looks: int = 0  # places of the source kept for each token, of an encoder-decoder
    knobs: Mapping[str, KnobValue] = field(default_factory=dict)
    task: str = ""  # the prompt's task, where it is known; judges are for one

    def __post_init__(self) -> None:
        for name, low, high in (
            ("max_new_tokens", 1, 10**9),
            ("top_n", 1, 10**9),
            ("seed", -MAX_SEED, MAX_SEED),
            ("looks", 0, 10**9),
        ):
            value = whole_number(getattr(self, name))
            if value is None or not low <= value <= high:
                raise ConfigError(f"{name} must be an integer{within(low, high)}, not {shown(getattr(self, name))}.")
            object.__setattr__(self, name, value)
        if isinstance(self.stop, str) or not isinstance(self.stop, Iterable):
            raise ConfigError(f"stop must be several texts, not {shown(self.stop)}.")
        object.__setattr__(self, "stop", tuple(self.stop))
        if any(not isinstance(text, str) or not text for text in self.stop):
            raise ConfigError("A stop string is a text of at least one character.")
        if not isinstance(self.record, str) or self.record not in get_args(Record):
            raise ConfigError(unknown("record mode", self.record, get_args(Record)))
        object.__setattr__(self, "prompt_ids", token_ids(self.prompt_ids))
        if not self.prompt_ids:
            raise ConfigError("The prompt is empty: give some text, or at least one token id.")
