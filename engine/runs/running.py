"""One run on a loaded pair, as events: from a checked configuration (`engine.runs.asking`) to a trace's."""

import importlib.metadata
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from typing import Any, cast

import torch

from engine.config import Card, RunConfig
from engine.costs import Costs
from engine.draft import chain
from engine.errors import ConfigError, EngineFault, shown
from engine.loop import Decoding, Method
from engine.methods import get_card
from engine.methods.compose import build
from engine.model import Session
from engine.model.forks import FORKS
from engine.model.source import SourceSession
from engine.runs.asking import Options, able, asked, configure, in_use, ready
from engine.runs.costs import costs_of, with_costs
from engine.runs.pair import Pair
from engine.sampling import entropy
from engine.shapes.beams import BeamWidth
from engine.trace.events import Event, Round, RunEnded, RunStarted
from engine.trace.records import HeadExtras

NO_MEMORY = "The device is out of memory: shorten the text, or use a smaller model."
WARM = 32  # tokens that costs are measured on where no prompt is given


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
        raise ConfigError(in_use(decoding.method))
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
        ConfigError: prompt and solution do not fit the context, or are none.
    """
    if not isinstance(solution, str) or not isinstance(chat, bool):
        wrong = f"chat must be True or False, not {shown(chat)}."
        raise ConfigError(wrong if isinstance(solution, str) else f"A solution is a text, not {shown(solution)}.")
    ids = pair.target.tokenizer.encode(prompt, chat)
    forced = list(pair.target.tokenizer.hf(solution, add_special_tokens=False)["input_ids"])
    pair.check_fit([*ids, *forced])
    pair.use_threads()
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
