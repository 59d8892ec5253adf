"""The three parts of a method, as protocols, and what they are given. A part holds only its own state.

A drafter answers "what might come next?", a shape "how much to draft this round?", a rule "what counts as
right?". Parts are classes with `KNOBS`, built fresh for each run as `Part(kit, knobs)`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, ClassVar, Protocol, runtime_checkable

from torch import Tensor

from engine.config import Guarantee, Knob, KnobValue, Sampling
from engine.costs import Costs
from engine.draft import Draft
from engine.errors import ConfigError
from engine.forecast import Forecast
from engine.model import Bridge, BridgedSession, Forward, Model, Session
from engine.streams import Streams
from engine.threshold import Threshold
from engine.trace.records import RoundExtras
from engine.trees.growth import Growth, Plan
from engine.verify import Verdict
from engine.view import RoundView

Knobs = Mapping[str, KnobValue]
SPELT = 4  # tokens of another tokenizer that there is room for, for each of the target's


@dataclass(eq=False)
class Kit:
    """What parts of one run may use: models, heads and data by role, capacity for sessions, sampling and streams."""

    target: Model
    models: Mapping[str, Model]  # further models by role: "draft"
    assets: Mapping[str, Any]  # heads, judges, trees, automata by role: "eagle3", "judge", ...
    capacity: int
    sampling: Sampling
    streams: Streams
    vocab: int  # ids that the target may write
    task: str = ""  # the prompt's task, where it is known
    bridges: Mapping[str, Bridge] = field(default_factory=dict)  # of the models whose ids are not the target's
    costs: Costs | None = None  # what a round costs here, measured where a knob is "auto"
    forecast: Forecast | None = None  # how often what the drafter is sure of holds, where that was measured

    def model(self, role: str) -> Model:
        """The model in that role.

        Raises:
            ConfigError: this lab was loaded without one.
        """
        if role not in self.models:
            raise ConfigError(f"This method needs a {role} model, and none is loaded.")
        return self.models[role]

    def known_costs(self) -> Costs:
        """What a round costs on this device.

        Raises:
            ConfigError: nobody measured it.
        """
        if self.costs is None:
            raise ConfigError("A knob is auto, and what a round costs here was not measured.")
        return self.costs

    def session(self, role: str, slots: int = 0, *, proposes: bool = False) -> Session | BridgedSession:
        """A fresh sequence on the model in that role, asked and answering in the target's ids; `slots` as of
        `Model.session`, `proposes` as of `Session`."""
        model = self.model(role)
        if role in self.bridges:
            own = model.session(SPELT * self.capacity)
            own.proposes = proposes
            return BridgedSession(own, self.bridges[role])
        session = model.session(self.capacity, slots=slots)
        session.proposes = proposes
        session.vocab = min(session.vocab, self.vocab)
        return session


@dataclass(eq=False)
class Context:
    """What a drafter sees at the start of a round."""

    tokens: list[int]  # prompt and response so far; the last one is the round's root
    prompt: int  # length of the prompt
    room: int  # most levels that can still be used: remaining tokens, less one where a bonus may follow
    space: int  # most nodes that the target's cache can still hold
    sampling: Sampling
    streams: Streams
    target: Session
    last: Forward | None  # the target's last pass: the prefill, then the previous round
    path: Sequence[int] = ()  # nodes of the previous draft that were accepted
    draft: Draft | None = None  # the previous draft
    full: bool = True  # whether the trace wants distributions and sources
    question: str = ""  # the prompt as it was given, before any chat template


@dataclass(slots=True)
class Outcome:
    """What drafters and shapes learn after a round."""

    draft: Draft
    forward: Forward
    verdict: Verdict
    view: RoundView
    emitted: list[int]  # tokens committed, accepted path first
    tokens: list[int] = field(default_factory=list)  # the sequence after the round


def decoder_only(part: type[Any]) -> str:
    """Why a part cannot run on an encoder-decoder (its `DECODER_ONLY`), as a sentence; empty when it can."""
    return str(getattr(part, "DECODER_ONLY", ""))


def unable(drafter: type[Any], target: Model) -> str:
    """Why a drafter cannot write for a target whatever its knobs (its `unable`), as a sentence; empty when it can."""
    return str(drafter.unable(target)) if hasattr(drafter, "unable") else ""


def writes_as(drafter: type[Any]) -> str:
    """The name of the drafter whose probabilities this one's chains have (its `WRITES_AS`): its own unless it says."""
    return str(getattr(drafter, "WRITES_AS", drafter.NAME))


def title_of(part: type[Any]) -> str:
    """What a part is called in the title of a composed method (its `TITLE`): the words of its name unless it says."""
    return str(vars(part).get("TITLE", part.NAME.replace("_", " ")))


def always_asking(drafter: type[Any]) -> Mapping[str, KnobValue]:
    """Knobs under which a drafter asks its shape before every draft (its `ASKING`), where at others some drafts have a
    length of their own; none of most."""
    return dict(getattr(drafter, "ASKING", {}))


def own_rule(shape: type[Any]) -> bool:
    """Whether only rules that name a shape can judge it (its `OWN_RULE`): its drafts are no path of tokens from the
    root, which the others go down."""
    return bool(getattr(shape, "OWN_RULE", False))


def one_pass(drafter: type[Any]) -> bool:
    """Whether one pass writes all levels of a draft (its `ONE_PASS`), and so costs the same however many are wanted. It
    notes `passes` of its rounds."""
    return bool(getattr(drafter, "ONE_PASS", False))


def parts_in(package: str, folder: Iterable[str]) -> dict[str, type[Any]]:
    """The parts of a room by name: every class with a `NAME` of its own, in the order of the files and within a file.

    Raises:
        ValueError: two parts have the same name.
    """
    found: dict[str, type[Any]] = {}
    for info in iter_modules(folder):
        module = import_module(f"{package}.{info.name}")
        for part in vars(module).values():
            if not isinstance(part, type) or part.__module__ != module.__name__ or "NAME" not in vars(part):
                continue
            name = str(vars(part)["NAME"])
            if name in found:
                raise ValueError(f"{name!r} names two parts: {found[name].__qualname__} and {part.__qualname__}")
            found[name] = part
    return found


@runtime_checkable
class Drafter(Protocol):
    """Proposes a draft within a shape. `SHAPES` names the kinds it can fill."""

    NAME: ClassVar[str]
    KNOBS: ClassVar[tuple[Knob, ...]]
    SHAPES: ClassVar[tuple[str, ...]]
    NEEDS: ClassVar[tuple[str, ...]]  # roles of models and assets besides the target
    DISTRIBUTIONS: ClassVar[bool]  # whether its drafts carry its raw logits, as a rule may need
    WANTS: ClassVar[tuple[str, ...]]  # roles of assets that it uses where they are loaded
    taps: tuple[int, ...]  # the target's layers whose inputs it reads (EAGLE-3)

    def __init__(self, kit: Kit, knobs: Knobs) -> None: ...
    def begin(self, tokens: Sequence[int]) -> None:
        """A new sequence starts; state that is scoped to one run is cleared."""

    def propose(self, context: Context, shape: Any) -> Draft:
        """A draft for this round; empty is allowed."""

    def observe(self, outcome: Outcome) -> None:
        """Learn from a verified round (tables, features)."""


@runtime_checkable
class Shape(Protocol):
    """How much to draft. `KIND` tells drafters which questions the shape answers."""

    NAME: ClassVar[str]
    KIND: ClassVar[str]  # "none" | "chain" | "static_tree" | "dynamic_tree" | "ngrams" | "steps" | "beams" | "canvas"
    NEEDS: ClassVar[tuple[str, ...]]  # roles of assets
    KNOBS: ClassVar[tuple[Knob, ...]]

    def __init__(self, kit: Kit, knobs: Knobs) -> None: ...
    def begin(self) -> None:
        """A new run starts."""

    def observe(self, outcome: Outcome) -> None:
        """Learn from a verified round (adaptive lengths)."""


class ChainShape(Shape, Protocol):
    """The questions of a chain: at most how long, go on now, and how much of it to verify.

    A shape whose `more` is always true, and which ends nowhere before, may say so by `looks = False`: then nobody waits
    for the logits it is asked with.
    """

    def limit(self) -> int:
        """Most tokens to draft this round."""

    def more(self, drafted: int, logits_V: Tensor) -> bool:
        """Whether to draft one more, given the drafter's raw logits for it; asked before each token."""

    def keep(self, draft: Draft) -> Draft:
        """The draft to verify, from the draft made."""


@runtime_checkable
class Ending(Protocol):
    """What a chain shape has besides where the text decides when a draft is whole."""

    def ends(self, drafted: Sequence[int]) -> bool:
        """Whether nothing more is drafted after these tokens."""


@runtime_checkable
class Weighing(Protocol):
    """What a chain shape has besides where one number is all that it looks at of a row of logits. On another device
    than the CPU the number then comes with the token, so that the host waits once a step and not twice."""

    def weigh(self, logits_NV: Tensor) -> Tensor:
        """The number of each row [N]."""

    def goes_on(self, drafted: int, weight: float, logits_V: Tensor) -> bool:
        """In place of `more`, given the row's number; the row itself is not to be read here."""


class Joining(Protocol):
    """What a chain shape has besides where it looks at the row's largest logit, whose place whoever asks has found."""

    def joins(self, drafted: int, logits_1V: Tensor, largest: int) -> bool:
        """In place of `more`, on a CPU, of a draft that takes the likeliest token: the row, and which one that is."""


@runtime_checkable
class Stepwise(Protocol):
    """What a chain shape has besides where it need not know how long a draft gets before it is begun."""

    def stepwise(self) -> int:
        """In place of `limit`: most tokens of a draft that is made token by token, each of which is asked for first."""


@runtime_checkable
class Choosing(Protocol):
    """What a shape has besides where it can leave its size to what was measured, and a rule where it chooses by the
    task: by either later runs may differ."""

    def given(self, kit: Kit) -> None:
        """A run of a method that lives on begins: what is known of its rounds, its sampling and its task."""


@runtime_checkable
class Onward(Protocol):
    """What a tree shape has besides where it looks at a level before the next is run."""

    def onward(self, grown: Growth) -> list[int] | None:
        """Places of the frontier's nodes that may have children, rising; None is all, an empty list ends the growth."""


class NgramShape(Shape, Protocol):
    """The sizes of drafts that are n-grams side by side: tokens of one with the token that it follows, and how many."""

    ngram: int
    ngrams: int


class TreeShape(Shape, Protocol):
    """The questions of a tree that grows level by level (EAGLE): how far, which branches go on, and how much of it to
    verify."""

    def plan(self, context: Context) -> Plan:
        """Levels, width and nodes of this round, within the context's room and space."""

    def admit(self, grown: Growth, logits_RV: Tensor) -> list[int] | None:
        """Frontier rows that may have children, given their logits; None is all, an empty list ends the growth."""

    def settle(self, grown: Growth, plan: Plan) -> Plan:
        """The final plan, asked once, when the planned levels have grown, or growth has ended before; more levels are
        then grown."""

    def report(self, grown: Growth, plan: Plan, full: bool) -> RoundExtras:
        """Numbers of this round for the trace."""


@runtime_checkable
class Rule(Protocol):
    """Decides a verified draft."""

    NAME: ClassVar[str]
    KNOBS: ClassVar[tuple[Knob, ...]]
    GUARANTEE: ClassVar[Guarantee]
    NEEDS: ClassVar[tuple[str, ...]]
    SHAPES: ClassVar[tuple[str, ...]]  # kinds the rule can judge; empty is any
    THRESHOLD: ClassVar[Threshold | None]  # the condition it declares; None where it compares nothing with a knob
    bonus: bool  # whether the target's next token follows a draft that is accepted whole
    entries: int  # entries of each distribution that the rule wants in `view.stats`; 0 when it looks at none

    def __init__(self, kit: Kit, knobs: Knobs) -> None: ...
    def decide(self, view: RoundView) -> Verdict:
        """Accepted path and emitted token of this round."""


@runtime_checkable
class Early(Protocol):
    """What a rule has besides where it looks at a draft before the target does."""

    def wanted(self, draft: Draft, context: Context) -> Draft | None:
        """What the target reads beyond the committed tokens: the draft, an empty one, or None: it is not called."""
