"""Lab: load a pair once, run and stream methods on it. The page, the command line and notebooks use only this."""

import importlib.metadata
import os
import threading
import uuid
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Literal

import torch

from engine.config import Card, KnobValue, RunConfig, Sampling
from engine.draft import chain
from engine.drafters import DRAFTERS
from engine.errors import AssetError, ConfigError, EngineFault, LabError, unknown
from engine.judge.events import MiningEvent
from engine.judge.local import Mining, local_mine
from engine.loop import Decoding, Method
from engine.methods import CARDS, get_card
from engine.methods.compose import build, make_card
from engine.model import Model, load_model, same_vocabulary
from engine.model.threads import Threads, settle
from engine.parts import Kit
from engine.presets import Preset, get_preset, locate
from engine.runs.assets import LOADERS, describe, load_asset, obstacle
from engine.runs.trajectories import draw, follow
from engine.sampling import entropy
from engine.streams import Streams
from engine.tasks import Problem
from engine.trace.events import Event, Round, RunEnded, RunStarted
from engine.trace.store import Trace

TREE_ROOM = 700  # cache slots beyond the text, for the largest draft tree
HEADS = ("eagle2", "eagle3", "medusa", "hydra")
OPTIONS = (
    "preset",
    "target",
    "draft",
    "eagle",
    "device",
    "dtype",
    "threads",
)  # of Lab.load, besides the roles of assets
NO_MEMORY = "The device is out of memory: shorten the text, or use a smaller model."
Stop = str | Sequence[str] | None


@dataclass(eq=False)
class Lab:
    """Models, heads and data of one pair, and one lock: never two rounds at once on the same device."""

    target: Model
    models: dict[str, Model] = field(default_factory=dict)
    asset_paths: dict[str, str] = field(default_factory=dict)
    preset: str | None = None
    threads: Threads | None = None  # what was chosen at load; None leaves torch's number alone
    lock: threading.Lock = field(default_factory=threading.Lock)
    _assets: dict[str, Any] = field(default_factory=dict)
    _described: dict[str, dict[str, str]] = field(default_factory=dict)

    @classmethod
    def load(
        cls,
        preset: str | None = None,
        *,
        target: str | Path | None = None,
        draft: str | Path | None = None,
        eagle: str | Path | None = None,
        device: str = "auto",
        dtype: str = "auto",
        threads: int | str | None = None,
        **assets: str,
    ) -> "Lab":
        """A lab from a preset's name, or from any Hugging Face ids or local folders.

        `draft` replaces a preset's own; `eagle` is an EAGLE-3 head; further heads and judges go by role (`medusa="..."`).
        `threads` is a number for torch, or "auto": the fastest in a short measurement on the target; None changes nothing.

        Raises:
            ConfigError: neither or both given, an unknown preset, device, dtype, option or role.
            AssetError: files are missing. ModelMismatch: the pair cannot work together, with the reason.
            EngineFault: out of memory.
        """
        if (preset is None) == (target is None):
            raise ConfigError(
                "Give either a preset's name or target=..., not both."
                if preset
                else "Give a preset's name, or target=..."
            )
        models: dict[str, str] = {}
        if preset is not None:
            found = _pair(get_preset(preset))
            models, assets = dict(found.models), {**found.assets, **assets}
            dtype = found.dtype if dtype == "auto" else dtype
        else:
            models = {"target": str(target)}
        if draft is not None:
            models["draft"] = str(draft)
        if eagle is not None:
            assets["eagle3"] = str(eagle)
        if wrong := next((role.split(":")[0] for role in assets if role.split(":")[0] not in LOADERS), None):
            raise ConfigError(unknown("option or asset role", wrong, (*OPTIONS, *LOADERS)))
        loaded = {
            role: load_model(locate(ref), device, dtype, name=ref if preset else "") for role, ref in models.items()
        }
        for role, model in loaded.items():
            if role != "target":
                same_vocabulary(model.tokenizer, loaded["target"].tokenizer)
        chosen = None if threads is None else settle(loaded["target"], threads)
        return cls(loaded.pop("target"), loaded, {role: str(path) for role, path in assets.items()}, preset, chosen)

    @property
    def device(self) -> str:
        """Kind of the device that the models are on: "cpu", "cuda", ..."""
        return str(self.target.device.type)

    def prepare(self) -> None:
        """Load all heads, judges and tables now; one that cannot be used is told by `unavailable`, here and later."""
        for role in self.asset_paths:
            with suppress(LabError):
                self.asset(role)

    @property
    def vocab(self) -> int:
        """Ids that target and draft have in common; padding rows of wider heads are cut."""
        return min(m.vocab for m in (self.target, *self.models.values()))

    def methods(self) -> list[Card]:
        """The cards that these models can run; `unavailable` tells why not the others."""
        return [card for card in CARDS if not self._hindrance(card)]

    def unavailable(self) -> dict[str, str]:
        """Name of each card that cannot run here, and the reason."""
        return {card.name: reason for card in CARDS if (reason := self._hindrance(card))}

    def _hindrance(self, card: Card) -> str:
        """Why a card cannot run at its defaults: something is not loaded, or an asset cannot be used; empty when it can."""
        knobs = card.resolve({})
        if reason := self._missing(card, knobs):
            return reason
        reason = next(filter(None, map(self._obstacle, self._assets_of(card, knobs))), "")
        return f"{card.title} cannot run: {reason}" if reason else ""

    def _obstacle(self, role: str) -> str:
        """What the files of an asset say against it; nothing once it is loaded."""
        if role in self._assets:
            return ""
        try:
            return obstacle(role, locate(self.asset_paths[role]), self.target)
        except AssetError as error:
            return str(error)

    def _missing(self, card: Card, knobs: Mapping[str, KnobValue]) -> str:
        for need in card.still_needs(knobs):
            if not self._roles(need):
                what = "draft model" if need == "draft" else need.replace(":", " for ")
                return f"{card.title} needs a {what}, and none is loaded with this pair."
        return ""

    def _roles(self, need: str) -> list[str]:
        """What is loaded for a need: the role itself, and for "judge" also "judge:arithmetic" and its like."""
        return [role for role in (*self.models, *self.asset_paths) if role == need or role.startswith(f"{need}:")]

    def _assets_of(self, card: Card, knobs: Mapping[str, KnobValue]) -> list[str]:
        """Roles of the assets that a run takes: those it needs, and those its drafter uses where there is one (`WANTS`)."""
        needs = (*card.still_needs(knobs), *getattr(DRAFTERS[card.drafter], "WANTS", ()))
        return [role for need in needs for role in self._roles(need) if role in self.asset_paths]

    def asset(self, role: str) -> Any:
        """A head, judge or table by role, loaded on first use.

        Raises:
            ConfigError: none is named for this pair. AssetError, ModelMismatch: it cannot be used.
        """
        if role not in self._assets:
            if role not in self.asset_paths:
                raise ConfigError(f"No {role} is loaded with this pair.")
            self._assets[role] = load_asset(role, locate(self.asset_paths[role]), self.target)
        return self._assets[role]

    def compose(self, *, drafter: str, shape: str, rule: str, **knobs: Any) -> Card:
        """A method of any three parts, usable in `run`; its guarantee is the weakest of the parts.

        Raises:
            ConfigError: an unknown part or knob, or parts that do not fit, with the reason.
        """
        name = f"{drafter}+{shape}+{rule}"
        return make_card(
            name=name,
            title=name,
            paper="composed",
            drafter=drafter,
            shape=shape,
            rule=rule,
            defaults=knobs,
            summary=f"Composed: drafter {drafter}, shape {shape}, rule {rule}.",
        )

    def run(self, method: str | Card, prompt: str | Sequence[int] = "", **options: Any) -> Trace:
        """A whole run as a trace; the options are those of `stream`."""
        return Trace(self.stream(method, prompt, **options))

    def trajectories(
        self,
        method: str | Card,
        prompt: str | Sequence[int] = "",
        n: int = 8,
        *,
        max_new_tokens: int = 256,
        temperature: float = 0.6,
        top_p: float = 1.0,
        top_k: int = 0,
        seed: int = 0,
        chat: bool = False,
        record: Literal["full", "light"] = "light",
        stop: Stop = (),
        extras: Mapping[str, Any] | None = None,
        keep: Method | None = None,
        **knobs: Any,
    ) -> Iterator[Trace]:
        """Draw n answers to one prompt, one after another; what the method's tables learn from one serves the next.

        `keep` is a method of `engine.runs.trajectories.prepare` that lives on after this call (knob scope=global).

        Raises:
            ConfigError: as `stream`; at once for n below 1.
        """
        _count(n)
        options = {"max_new_tokens": max_new_tokens, "top_p": top_p, "top_k": top_k, "chat": chat, "stop": stop}
        return draw(
            self,
            method,
            prompt,
            n,
            seed=seed,
            temperature=temperature,
            record=record,
            extras=extras,
            keep=keep,
            options=options,
            **knobs,
        )

    def stream_trajectories(
        self,
        method: str | Card,
        prompt: str | Sequence[int] = "",
        n: int = 8,
        *,
        seed: int = 0,
        temperature: float = 0.6,
        record: Literal["full", "light"] = "light",
        options: Mapping[str, Any] | None = None,
        **knobs: Any,
    ) -> Iterator[Event]:
        """The events of `trajectories`, run after run; closing the iterator stops within a round. `options` as for `stream`."""
        _count(n)
        return follow(
            self, method, prompt, n, seed=seed, temperature=temperature, record=record, options=options, **knobs
        )

    def mine(
        self, task: str, found: Sequence[Problem], path: Path, **settings: Any
    ) -> Generator[MiningEvent, None, None]:
        """Which mismatches of target and draft change the answer (AutoJudge, algorithm 1); `settings` are those of `Mining`.

        `path` is resumed. Closing the iterator keeps all finished prompts.

        Raises:
            ConfigError: no draft model, an unknown task or setting, or a file that was mined otherwise.
        """
        if "draft" not in self.models:
            raise ConfigError("Mining needs a draft model, and none is loaded with this target.")
        judges = {}
        for role in (role for role in self._roles("judge") if role in self.asset_paths):
            with suppress(AssetError):
                judges[role] = self.asset(role)
        models = {"target": self.target, "draft": self.models["draft"]}
        known = [item.name for item in fields(Mining)]
        if wrong := next((name for name in settings if name not in known), None):
            raise ConfigError(unknown("mining setting", wrong, known))
        return local_mine(task, found, models, path, Mining(**settings), judges, self.lock)

    def stream(
        self,
        method: str | Card,
        prompt: str | Sequence[int] = "",
        *,
        max_new_tokens: int = 128,
        temperature: float = 0.0,
        top_p: float = 1.0,
        top_k: int = 0,
        seed: int = 0,
        chat: bool = False,
        record: Literal["full", "light"] = "full",
        stop: Stop = (),
        top_n: int = 10,
        extras: Mapping[str, Any] | None = None,
        reuse: Method | None = None,
        **knobs: Any,
    ) -> Iterator[Event]:
        """The run as events: RunStarted, a Round a target call, RunEnded. Closing the iterator stops it within a round.

        `stop` is one text or several, None is none: the response ends once it holds one. `reuse` runs a method that already
        lived through other prompts (its tables carry over; see `trajectories`).

        Raises:
            ConfigError, AssetError, ModelMismatch: at once, for anything about the request that cannot be; nothing has run then.
            EngineFault: at once, when there is no memory for the run.
        """
        card = method if isinstance(method, Card) else get_card(method)
        values = card.resolve(knobs)
        if reason := self._missing(card, values):
            raise ConfigError(reason)
        ids = self.target.tokenizer.encode(prompt, chat)
        self._fits(ids)
        text = prompt if isinstance(prompt, str) else self.target.tokenizer.decode(ids)
        config = RunConfig(
            method=card.name,
            prompt_ids=tuple(ids),
            prompt=text,
            max_new_tokens=max_new_tokens,
            sampling=Sampling(temperature, top_k, top_p),
            seed=seed,
            record=record,
            stop=_stops(stop),
            top_n=top_n,
            knobs=values,
            task=str((extras or {}).get("task") or ""),
        )
        try:
            with self.lock, torch.inference_mode():
                decoding = self._decoding(card, config, reuse)
        except torch.OutOfMemoryError:
            raise EngineFault(NO_MEMORY) from None
        return self._events(self._head(card, config, dict(extras or {}), chat), decoding)

    def _fits(self, ids: list[int]) -> None:
        if len(ids) >= self.target.context:
            raise ConfigError(
                f"The prompt has {len(ids)} tokens, and the target reads at most {self.target.context}: shorten it."
            )
        if any(i >= self.vocab for i in ids):
            raise ConfigError(f"The prompt holds token ids beyond the {self.vocab} that the pair has in common.")

    def teacher_forced_entropies(self, prompt: str, solution: str, chat: bool = False) -> list[float]:
        """The target's entropy, nats, before each token of a given solution and after its last.

        Raises:
            ConfigError: prompt and solution do not fit the context.
        """
        ids = self.target.tokenizer.encode(prompt, chat)
        forced = list(self.target.tokenizer.hf(solution, add_special_tokens=False)["input_ids"])
        self._fits([*ids, *forced])
        with self.lock, torch.inference_mode():
            logits = self.target.session(len(ids) + len(forced)).forward(ids, chain(forced)).logits
            return entropy(logits[:, : self.vocab]).tolist()  # type: ignore[no-any-return]

    def kit(self, card: Card, config: RunConfig) -> Kit:
        """What the parts of one run may use."""
        capacity = min(len(config.prompt_ids) + config.max_new_tokens + TREE_ROOM, self.target.context)
        assets = {role: self.asset(role) for role in self._assets_of(card, config.knobs)}
        return Kit(
            self.target, self.models, assets, capacity, config.sampling, Streams(config.seed), self.vocab, config.task
        )

    def _events(self, head: RunStarted, decoding: Decoding) -> Iterator[Event]:
        yield head
        spent: float | None = None  # ms of the rounds so far; the prefill is told at the end only
        run = decoding.run()
        try:
            while True:
                with self.lock, torch.inference_mode():
                    event = next(run, None)
                if event is None:
                    return
                if isinstance(event, Round):
                    spent = (spent or 0.0) + event.draft_ms + event.verify_ms + event.other_ms
                yield event
        except torch.OutOfMemoryError:
            yield RunEnded("error", None, spent, "", NO_MEMORY)
        except EngineFault as fault:
            yield RunEnded("error", None, spent, "", str(fault))

    def _decoding(self, card: Card, config: RunConfig, reuse: Method | None) -> Decoding:
        if self.threads:
            torch.set_num_threads(self.threads.count)  # labs of one process may have settled on different numbers
        kit = self.kit(card, config)
        method = reuse or build(card, kit, config.knobs)
        taps = getattr(method.drafter, "taps", ()) if method.drafter.TAPS else ()
        target = self.target.session(kit.capacity, taps)
        target.vocab = self.vocab
        return Decoding(method, target, self.target.tokenizer, config, kit.streams)

    def describe_asset(self, role: str) -> dict[str, str]:
        """An asset as a trace names it; its files are read once."""
        if role not in self._described:
            ref = self.asset_paths[role]
            self._described[role] = describe(ref, locate(ref), self.asset(role))
        return self._described[role]

    def _head(self, card: Card, config: RunConfig, extras: dict[str, Any], chat: bool) -> RunStarted:
        models = {"target": self.target.describe()} | {
            role: m.describe() for role, m in self.models.items() if role in card.needs
        }
        models |= {role: self.describe_asset(role) for role in self._assets_of(card, config.knobs)}
        piece = self.target.tokenizer.piece
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
            vocab=self.vocab,
            dtype=self.target.dtype,
            device=str(self.target.device),
            record=config.record,
            preset=self.preset,
            versions=_versions(),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            stop=list(config.stop),
            chat=bool(chat),
            top_n=config.top_n,
            extras={**extras, "process": _process(os.getpid())},
        )


def _pair(preset: Preset) -> Preset:
    """The preset that holds the models: itself, or the one a case names."""
    return preset if preset.kind == "pair" else get_preset(preset.pair)


def _stops(given: Stop) -> tuple[str, ...]:
    """Stop strings from one text, several, or none.

    Raises:
        ConfigError: something else.
    """
    if given is None or isinstance(given, str):
        return () if given is None else (given,)
    if not isinstance(given, Iterable):
        raise ConfigError(f"stop is a text or several, not {given!r}.")
    return tuple(given)


def _count(n: int) -> None:
    """Nothing when there can be that many trajectories.

    Raises:
        ConfigError: there cannot.
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ConfigError(f"n = {n!r} is out of range: trajectories are counted from 1 on.")


@cache
def _process(_pid: int) -> str:
    """A token of this process; a fork has another number, and so another token."""
    return uuid.uuid4().hex[:12]


_version = cache(importlib.metadata.version)


def _versions() -> dict[str, str]:
    return {name: _version(name) for name in ("torch", "transformers")}
