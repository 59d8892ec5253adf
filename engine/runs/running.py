"""One run on a loaded pair, as events: from what a user asks to a checked configuration, and from that to a trace's
events."""

import importlib.metadata
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import cache
from typing import Any, Literal, cast

import torch

from engine.config import Card, KnobValue, RunConfig, Sampling
from engine.costs import Costs
from engine.draft import chain
from engine.errors import ConfigError, EngineFault, TraceError, shown, unknown
from engine.judge.served import is_served
from engine.loop import Decoding, Method
from engine.methods import get_card
from engine.methods.compose import build
from engine.model import Session
from engine.model.forks import FORKS
from engine.model.source import SourceSession
from engine.runs.costs import costs_of, with_costs
from engine.runs.pair import Pair
from engine.sampling import entropy
from engine.shapes.beams import BeamWidth
from engine.trace.bounds import check_extras
from engine.trace.events import Event, Round, RunEnded, RunStarted
from engine.trace.records import HeadExtras

NO_MEMORY = "The device is out of memory: shorten the text, or use a smaller model."
WARM = 32  # tokens that costs are measured on where no prompt is given


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
        if not isinstance(self.stop, Iterable):
            raise ConfigError(f"stop must be a text or several, not {self.stop!r}.")
        return tuple(self.stop)


DECODING = frozenset(item.name for item in fields(Options))


def stream(
    pair: Pair, method: str | Card, prompt: str | Sequence[int], given: Mapping[str, Any], reuse: Method | None = None
) -> Iterator[Event]:
    """RunStarted, a Round a target call, RunEnded; see `engine.lab.Lab.stream`. `given` holds `Options` and knobs by
    name."""
    card, options, config = ready(pair, method, prompt, given, reuse)
    with memory(), pair.lock, torch.inference_mode():
        decoding = begin(pair, card, config, reuse)
    threads = pair.threads.count if pair.threads else 0
    return events(head(pair, card, config, options), decoding, pair.lock, threads)


def ready(
    pair: Pair, method: str | Card, prompt: str | Sequence[int], given: Mapping[str, Any], reuse: Method | None = None
) -> tuple[Card, Options, RunConfig]:
    """What a run would be; nothing has begun.

    Raises:
        ConfigError, AssetError, ModelMismatch: as `engine.lab.Lab.stream`.
    """
    card, options, knobs = asked(pair, method, given)
    if reuse is not None and not isinstance(reuse, Method):
        raise ConfigError(f"What is reused is a method of `Lab.living`, not {reuse!r}.")
    if reuse is not None and reuse.card.name != card.name:
        raise ConfigError(f"The method to reuse is {reuse.card.name}, not {card.name}.")
    if reuse is not None and reuse.owner is not pair:
        raise ConfigError(
            "The method to reuse is of another lab, with whose models it would draft: make one by this lab's `living`."
        )
    if reuse is not None and reuse.taken.locked():
        raise ConfigError(_in_use(reuse))
    config = configure(pair, card, prompt, options, knobs if reuse is None else {**reuse.knobs, **knobs})
    if reuse is not None:
        _check_alike(reuse, config)
    return card, options, config


def _in_use(living: Method) -> str:
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
        raise ConfigError(f"extras must be names with values, such as {{'task': 'mine'}}, not {options.extras!r}.")
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


def begin(pair: Pair, card: Card, config: RunConfig, reuse: Method | None = None) -> Decoding:
    """A run that is ready to go: fresh parts, or those of `reuse`, and a fresh sequence on the target."""
    pair.use_threads()
    kit = with_costs(pair, card, config)
    method = reuse or build(card, kit, config.knobs)
    if reuse is not None:
        method.given(kit)  # what does not suit it is told now; taken for good as the run begins
    model = kit.model(card.writer) if card.writer == "draft" else pair.target
    wide = method.shape.width if isinstance(method.shape, BeamWidth) else 0
    room = min(config.max_new_tokens, max(model.longest - len(config.prompt_ids), 0))
    slots = len(config.prompt_ids) + wide * room  # beams may part at once
    session = model.session(kit.capacity, method.drafter.taps, slots)
    session.vocab = pair.vocab
    if config.looks:
        _watch(session)
    return Decoding(
        method, session, pair.target.tokenizer, config, kit.streams, kit=kit, writer=card.writer, devices=pair.devices
    )


def _watch(session: Session) -> None:
    if not isinstance(session, SourceSession):
        raise ConfigError("looks must be 0: a decoder-only model has no source to look at.")
    session.watch()


def costs(pair: Pair, method: str | Card, prompt: str | Sequence[int], given: Mapping[str, Any]) -> Costs:
    """See `engine.lab.Lab.costs`."""
    card, options, knobs = asked(pair, method, given)
    none = isinstance(prompt, Sequence) and not prompt
    warm = pair.target.filler(min(WARM, pair.target.context // 2))
    config = configure(pair, card, warm if none else prompt, options, knobs)
    with memory(), pair.lock, torch.inference_mode():
        pair.use_threads()
        return costs_of(pair, card, config)


def prepare(pair: Pair, method: str | Card, **knobs: Any) -> Method:
    """See `engine.lab.Lab.living`."""
    card = pair.fitted(method if isinstance(method, Card) else get_card(method))
    config = RunConfig(card.name, (0,), max_new_tokens=pair.target.longest, knobs=able(pair, card, knobs))
    return living(pair, card, config)


def living(pair: Pair, card: Card, config: RunConfig) -> Method:
    """A method that lives through several runs of one configuration, or of what fits where it does.

    Raises:
        ConfigError: a model that is missing. EngineFault: the memory does not hold its sequences.
    """
    given = {**config.knobs, "record": "light", "temperature": config.sampling.temperature}
    known = costs(pair, card, "", given) if card.chooses(config.knobs) else None
    with memory(), pair.lock:  # its parts begin sequences on the models
        kit = pair.kit(card, config)
        if known:
            kit.costs, kit.forecast = known, pair.forecast(card, config)
        return replace(build(card, kit, config.knobs), owner=pair)


@contextmanager
def memory() -> Iterator[None]:
    """What is begun here fits the memory.

    Raises:
        EngineFault: it does not.
    """
    try:
        yield
    except torch.OutOfMemoryError:
        raise EngineFault(NO_MEMORY) from None


def events(
    head: RunStarted, decoding: Decoding, lock: AbstractContextManager[object], threads: int = 0
) -> Iterator[Event]:
    """The events of a run that is ready to go, one a round; the lock is held while a round is made, and torch has so
    many threads (0: as many as it has). It counts them for each thread of ours anew, and another lab may set them
    between two rounds.

    From the first event to the last, or until the iterator is closed or let go, the run has its method to itself.

    Raises:
        ConfigError: another run has the method.
    """
    taken = decoding.method.taken
    if not taken.acquire(blocking=False):
        raise ConfigError(_in_use(decoding.method))
    over = False
    try:
        yield head
        for event in _rounds(decoding, lock, threads):
            if isinstance(event, RunEnded):  # whoever reads on no further has nothing to close
                taken.release()
                over = True
            yield event
    finally:
        if not over:
            taken.release()


def _rounds(decoding: Decoding, lock: AbstractContextManager[object], threads: int) -> Iterator[Event]:
    spent: float | None = None  # ms of the rounds so far; the prefill is told at the end only
    run = decoding.run()
    try:
        while True:
            with lock, torch.inference_mode():
                if threads:
                    FORKS.use(threads)
                event = next(run, None)
            if event is None:
                return
            if isinstance(event, Round):
                spent = (spent or 0.0) + event.draft_ms + event.verify_ms + event.other_ms
            yield event
    except GeneratorExit:  # perhaps at the interpreter's end, when the names below are gone
        raise
    except torch.OutOfMemoryError:
        yield RunEnded("error", None, spent, "", NO_MEMORY)
    except EngineFault as fault:
        yield RunEnded("error", None, spent, "", str(fault))


def head(pair: Pair, card: Card, config: RunConfig, options: Options) -> RunStarted:
    """The first event of a run."""
    ids = {role: found.describe() for role, found in pair.limits(card).items()}
    models = {"target": pair.target.describe()} | {
        role: model.describe() | ids.get(role, {}) for role, model in pair.models.items() if role in card.needs
    }
    for role in pair.assets_of(card, config.knobs):
        models[role] = pair.describe_asset(role) | ({"notes": [why]} if (why := pair.uncaptured(role)) else {})
    spent: HeadExtras = {}
    if card.chooses(config.knobs):
        spent["costs"] = costs_of(pair, card, config).to_json()
        if found := pair.forecast(card, config):
            spent["forecast"] = found.bins()
            if found.further:
                spent["forecast_further"] = found.further_bins()
    piece = pair.target.tokenizer.piece
    return RunStarted(
        id=uuid.uuid4().hex,
        method=card.name,
        title=card.title,
        drafter=card.drafter,
        shape=card.shape,
        rule=card.rule,
        guarantee=card.promise(config.knobs, config.sampling),
        knobs=dict(config.knobs),
        models=models,
        prompt=config.prompt,
        prompt_ids=list(config.prompt_ids),
        prompt_pieces=[piece(i) for i in config.prompt_ids],
        sampling=vars(config.sampling).copy(),
        seed=config.seed,
        max_new_tokens=config.max_new_tokens,
        vocab=pair.vocab,
        dtype=pair.target.dtype,
        device=str(pair.target.device),
        record=config.record,
        preset=pair.preset,
        versions=_versions(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        stop=list(config.stop),
        chat=options.chat,
        top_n=config.top_n,
        source=pair.target.source_of(config.prompt_ids),
        extras=cast(
            HeadExtras,
            {**(options.extras or {}), **_adapted(pair, card), **spent, "process": _process(os.getpid())},
        ),
    )


def _adapted(pair: Pair, card: Card) -> dict[str, str]:
    words = pair.adapted(card)
    return {"adapted": words} if words else {}


def teacher_forced_entropies(pair: Pair, prompt: str, solution: str, chat: bool = False) -> list[float]:
    """The target's entropy, nats, before each token of a given solution and after its last.

    Raises:
        ConfigError: prompt and solution do not fit the context.
    """
    ids = pair.target.tokenizer.encode(prompt, chat)
    forced = list(pair.target.tokenizer.hf(solution, add_special_tokens=False)["input_ids"])
    pair.check_fit([*ids, *forced])
    with pair.lock, torch.inference_mode():
        logits = pair.target.session(len(ids) + len(forced)).forward(ids, chain(forced)).logits
        return entropy(logits[:, : pair.vocab]).tolist()  # type: ignore[no-any-return]


@cache
def _process(_pid: int) -> str:
    """A token of this process; a fork has another number, and so another token."""
    return uuid.uuid4().hex[:12]


_version = cache(importlib.metadata.version)


def _versions() -> dict[str, str]:
    return {name: _version(name) for name in ("torch", "transformers")}
