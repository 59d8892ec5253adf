"""What is loaded together: a target, further models, heads and data; what can run on them, and why not."""

import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import torch

from engine.config import Calibration, Card, KnobValue, RunConfig, Writer
from engine.costs import Costs
from engine.drafters import DRAFTERS
from engine.errors import AssetError, ConfigError, LabError
from engine.files.places import locate
from engine.files.presets import Family
from engine.forecast import Forecast
from engine.heads.graphs import why_not
from engine.heads.parallel import ParallelModel
from engine.judge.served import DRAFTERS as DRAFTED
from engine.judge.served import RULES as DECIDING
from engine.judge.served import is_served
from engine.methods import get_card
from engine.model import Bridge, Model, bridge
from engine.model.forks import FORKS
from engine.model.source import check_source
from engine.model.threads import Threads, settle_again
from engine.parts import Kit, decoder_only, unable, writes_as
from engine.progress import loading
from engine.rules import RULES
from engine.runs.assets import describe, load_asset, obstacle
from engine.shapes import SHAPES
from engine.streams import Streams

TREES = ("static_tree", "dynamic_tree")  # kinds of shapes that can be cut down to a chain
LOOKS = 8  # places of the source that a run which is shown keeps for each token
TREE_ROOM = 700  # cache slots beyond the text, for the largest draft tree


@dataclass(eq=False)
class Pair:
    """Models by role, assets by role, and one lock: never two rounds at once on the same device, nor does a sequence
    begin beside one."""

    target: Model
    models: dict[str, Model] = field(default_factory=dict)  # besides the target: "draft"
    asset_paths: dict[str, str] = field(default_factory=dict)
    preset: str | None = None
    threads: Threads | None = None  # what was chosen at load; None leaves torch's number alone
    calibrated: Mapping[str, Calibration] = field(default_factory=dict)  # rule -> defaults for these models
    forecasts: Mapping[str, Forecast] = field(default_factory=dict)  # drafter -> how often it holds with these models
    measured: dict[tuple[object, ...], Costs] = field(default_factory=dict)  # of rounds on this device, where measured
    lock: threading.Lock = field(default_factory=threading.Lock)
    _assets: dict[str, Any] = field(default_factory=dict)
    _described: dict[str, dict[str, str]] = field(default_factory=dict)
    _bridges: dict[str, Bridge] = field(default_factory=dict)
    _reads: threading.Lock = field(default_factory=threading.Lock)  # held while an asset is loaded, by one thread

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "A lab holds its models and locks for one process and is not pickled or copied; load one in each process "
            "with Lab.load(...)."
        )

    @property
    def device(self) -> str:
        """Kind of the device that the models are on: "cpu", "cuda", ..."""
        return str(self.target.device.type)

    @property
    def devices(self) -> frozenset[torch.device]:
        """Those that work for a run besides the CPU; who reads a clock waits for them (`engine.loop.Decoding`)."""
        every = (self.target, *self.models.values())
        return frozenset(device for one in every for device in one.devices if device.type != "cpu")

    @property
    def family(self) -> Family:
        """Whether the models read a source first."""
        return "encoder-decoder" if self.target.seam else "decoder-only"

    @property
    def revisions(self) -> dict[str, str]:
        """The contents of each model, by role: the sha256 of its weights, or its hub commit."""
        return {"target": self.target.revision} | {role: model.revision for role, model in self.models.items()}

    def identity(self) -> dict[str, Any]:
        """What decides tokens and times of the models besides settings: their contents, type of numbers and device."""
        return {"models": self.revisions, "dtype": self.target.dtype, "device": str(self.target.device)}

    @property
    def looks(self) -> int:
        """How many places of the source a run that is shown keeps for each token; 0 where nothing tells them."""
        return LOOKS if self.target.seam and self.target.lean else 0

    def prepare(self) -> None:
        """Load all heads, judges and tables now; one that cannot be used is told by `hindrance`, here and later."""
        for role in self.asset_paths:
            with suppress(LabError):
                self.asset(role)

    def settle(self) -> None:
        """Choose torch's threads anew where they were measured some time ago; a server calls it between requests."""
        if self.threads:
            with self.lock:
                self.threads = settle_again(self.target, self.threads)

    def use_threads(self) -> None:
        """Let torch have the threads that were chosen: labs of one process may have settled on different numbers, and
        torch counts them for each thread of ours anew."""
        if self.threads:
            FORKS.use(self.threads.count)

    @property
    def vocab(self) -> int:
        """Ids that the target may write: padding rows of wider heads are cut where all have one tokenizer."""
        return self.target.vocab if self.bridges() else min(m.vocab for m in (self.target, *self.models.values()))

    def bridge(self, role: str) -> Bridge:
        """How the ids of the model in a role stand to the target's.

        Raises:
            ConfigError: no model of that role is loaded. ModelMismatch: they do not read a sequence in the same way.
        """
        if role not in self._bridges:
            if role not in self.models:
                there = ", ".join(self.models) or "none"
                raise ConfigError(f"No {role} model is loaded with this pair; there is {there}.")
            self._bridges[role] = bridge(self.target, self.models[role])
        return self._bridges[role]

    def bridges(self) -> dict[str, Bridge]:
        """Those of the models whose ids are not the target's."""
        return {role: found for role in self.models if (found := self.bridge(role)).kind != "same"}

    def limits(self, card: Card) -> dict[str, Bridge]:
        """Those of the models that a card needs and whose tokens it drafts, where only some are the target's: a text is
        cut anew."""
        as_text = getattr(DRAFTERS[card.drafter], "AS_TEXT", False)
        return {} if as_text else {role: found for role, found in self.bridges().items() if role in card.needs}

    def asset(self, role: str) -> Any:
        """A head, judge or table by role, loaded on first use.

        Raises:
            ConfigError: none is named for this pair. AssetError, ModelMismatch: it cannot be used.
        """
        if role in self._assets:
            return self._assets[role]
        if role not in self.asset_paths:
            there = ", ".join(sorted(self.asset_paths)) or "none"
            raise ConfigError(f"No {role} is loaded with this pair; there is {there}.")
        path = locate(self.asset_paths[role])
        with self._reads:
            if role not in self._assets:  # another thread may have loaded it meanwhile
                with loading(f"{role} {self.asset_paths[role]}", path):
                    self._assets[role] = load_asset(role, path, self.target)
        return self._assets[role]

    def describe_asset(self, role: str) -> dict[str, str]:
        """An asset as a trace names it; its files are read once.

        Raises:
            ConfigError, AssetError, ModelMismatch: as `asset`.
        """
        if role not in self._described:
            found, ref = self.asset(role), self.asset_paths[role]
            self._described[role] = describe(ref, locate(ref), found)
        return self._described[role]

    def roles(self, need: str) -> list[str]:
        """What is loaded for a need: the role itself, and for "judge" also "judge:arithmetic" and its like."""
        return [role for role in (*self.models, *self.asset_paths) if role == need or role.startswith(f"{need}:")]

    def assets_of(self, card: Card, knobs: Mapping[str, KnobValue]) -> list[str]:
        """Roles of the assets that a run takes: those it needs, and those its drafter uses where there is one
        (`WANTS`)."""
        needs = (*card.still_needs(knobs), *DRAFTERS[card.drafter].WANTS)
        return [role for need in needs for role in self.roles(need) if role in self.asset_paths]

    def contents(self, method: str, knobs: Mapping[str, Any]) -> list[str]:
        """The sha256 of each head, judge or table that a run takes; of one that cannot be used its place, and the
        method that needs it says why.

        Raises:
            ConfigError: an unknown method or knob.
        """
        card = get_card(method)
        return [self._content(role) for role in self.assets_of(card, card.resolve(knobs))]

    def _content(self, role: str) -> str:
        try:
            return self.describe_asset(role)["revision"]
        except LabError:
            return self.asset_paths[role]

    def passing(self, card: Card, knobs: Mapping[str, KnobValue]) -> dict[str, Model]:
        """The models whose passes a run of the card waits for, by role: target, draft, a drafter that fills masks."""
        assets = {role: self.asset(role) for role in self.assets_of(card, knobs)}
        fillers = {role: asset.model for role, asset in assets.items() if isinstance(asset, ParallelModel)}
        needed = {role: model for role, model in self.models.items() if role in card.needs}
        return {"target": self.target, **needed, **fillers}

    def through(self, models: Mapping[str, Model]) -> "Pair":
        """The pair with the same models behind other decoders, by role as `passing` tells them."""
        assets = {
            role: replace(asset, model=models[role]) if role in models else asset
            for role, asset in list(self._assets.items())  # another thread may load one meanwhile
        }
        others = {role: models.get(role, model) for role, model in self.models.items()}
        return replace(self, target=models["target"], models=others, _assets=assets)

    def fitted(self, card: Card) -> Card:
        """The card with the defaults that were calibrated for these models."""
        return card.fitted(self.calibrated.get(card.rule))

    def forecast(self, card: Card, config: RunConfig) -> Forecast | None:
        """How often what the drafter is so sure of holds, where it was measured: greedy chains of the exact rule."""
        alike = (card.shape, card.rule) == ("chain", "exact") and config.sampling.greedy
        return self.forecasts.get(writes_as(DRAFTERS[card.drafter])) if alike else None

    def missing(self, card: Card, knobs: Mapping[str, KnobValue]) -> str:
        """What the card needs and is not loaded, as a sentence; empty when nothing is."""
        for need in card.still_needs(knobs):
            if not self.roles(need):
                what = "a draft model" if need == "draft" else f"an asset of the role {need.replace(':', ' for ')}"
                what = f"a network of its own ({need})" if card.writer == "nat" else what
                return f"{card.title} needs {what}, and none is loaded with this pair."
        if card.writer in self.bridges():
            return f"{card.title} cannot run: the ids of the {card.writer} model are not the target's."
        for role, found in self.limits(card).items():
            if not found.mine:
                names = f"{self.target.name} and {self.models[role].name}"
                return (
                    f"{card.title} cannot run: the tokenizers of {names} have no piece in common. Universal assistance "
                    "drafts as text and needs none."
                )
        return ""

    def unfit(self, card: Card) -> str:
        """Why a card cannot run on this family of models; empty when it can."""
        if reason := unable(DRAFTERS[card.drafter], self.target):
            return f"{card.title} cannot run: {reason}"
        if not self.target.seam:
            reads = "its network reads a source and writes all places of a text at once"
            return f"{card.title} runs on encoder-decoder models: {reads}." if card.writer == "nat" else ""
        parts = (DRAFTERS[card.drafter], SHAPES[card.shape], RULES[card.rule])
        reason = next(filter(None, map(decoder_only, parts)), "")
        return f"{card.title} runs on decoder-only models: {reason}" if reason else ""

    def branches(self, card: Card) -> str:
        """Why a card whose drafts are no chain, or that reads more than a server tells, cannot run on these models;
        empty when it can."""
        if is_served(self.target) and (
            card.drafter not in DRAFTED or card.rule not in DECIDING or card.writer != "target"
        ):
            return f"{card.title} reads more of the target than the server at {self.target.revision} tells."
        if not self.target.only_chains or SHAPES[card.shape].KIND != "beams":
            return ""
        return f"{card.title} reads branches side by side. {self.target.one_past}"

    def adapted(self, card: Card) -> str:
        """How a card runs otherwise on these models than elsewhere: as a chain where it would draft a tree; empty when
        it does not."""
        if not self.target.only_chains or SHAPES[card.shape].KIND not in TREES:
            return ""
        return f"Drafts a chain here. {self.target.one_past}"

    def otherwise(self, card: Card) -> str:
        """How a card runs otherwise on these models than elsewhere, in sentences: as a chain, drafted for by a model
        with other ids, or by a loaded head that is not captured; empty when it does not."""
        bridges = [found.words() for found in self.limits(card).values()]
        heads = [role for role in self.assets_of(card, card.resolve({})) if role in self._assets]
        return " ".join(filter(None, (self.adapted(card), *bridges, *map(self.uncaptured, heads))))

    def uncaptured(self, role: str) -> str:
        """Why the levels of a head are not captured although the target's passes are; empty when they are, or are no
        levels."""
        return why_not(self.target.decoder, self.asset(role))

    def hindrance(self, card: Card) -> str:
        """Why a card cannot run at its defaults: something is not loaded, or an asset cannot be used; empty when it
        can."""
        knobs = card.resolve({})
        if reason := self.unfit(card) or self.branches(card) or self.missing(card, knobs):
            return reason
        reason = next(filter(None, map(self._obstacle, self.assets_of(card, knobs))), "")
        return f"{card.title} cannot run: {reason}" if reason else ""

    def _obstacle(self, role: str) -> str:
        """What the files of an asset say against it; nothing once it is loaded."""
        if role in self._assets:
            return ""
        try:
            return obstacle(role, locate(self.asset_paths[role]), self.target)
        except AssetError as error:
            return str(error)

    def check_fit(self, ids: list[int], writer: Writer = "target") -> None:
        """See that the target can read these token ids, and the draft model where it is the writer.

        Raises:
            ConfigError: too many, or ids that target and draft do not share.
        """
        at = self.target.source_of(ids)
        for model in (self.target, *self.models.values()) if at else ():
            check_source(ids[:at], model.source_context, model.name)
        readers = {"target": self.target} | ({"draft model": self.models["draft"]} if writer == "draft" else {})
        for who, model in readers.items():
            if len(ids) - at >= model.context:
                raise ConfigError(
                    f"The prompt has {len(ids) - at} tokens, and the {who} reads {model.context} in all, so at most "
                    f"{model.context - 1} before it writes: shorten it."
                )
        if max(ids, default=0) >= (vocab := self.vocab):
            raise ConfigError(f"The prompt holds token ids beyond the {vocab} that the pair has in common.")

    def kit(self, card: Card, config: RunConfig) -> Kit:
        """What the parts of one run may use."""
        capacity = min(len(config.prompt_ids) + config.max_new_tokens + TREE_ROOM, self.target.longest)
        assets = {role: self.asset(role) for role in self.assets_of(card, config.knobs)}
        return Kit(
            target=self.target,
            models=self.models,
            assets=assets,
            capacity=capacity,
            sampling=config.sampling,
            streams=Streams(config.seed),
            vocab=self.vocab,
            task=config.task,
            bridges=self.bridges(),
        )
