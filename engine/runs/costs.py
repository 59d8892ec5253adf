"""What a round costs on this device: passes of the target by size, and the drafts of a method, measured for settings
that are left to them (`auto`).

Times come from the very code that decodes: drafts from short runs of the method at two lengths in turns, passes from a
session of the target, all in turns, so that a busy moment meets all of them. What is timed comes behind one like it, as
it does in a text: behind a pass over 64 tokens a draft of the embedded models takes half as long again, and a pass over
one token a quarter. Of several times the lower quartile counts, since others on the machine only ever add to them.
Measured once for each drafter and kind of shape, and for each number of threads; kept in memory.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from statistics import quantiles
from time import perf_counter

import torch

from engine.config import AUTO, Card, KnobValue, RunConfig
from engine.costs import Costs, Curve
from engine.costs.chains import ChainChoice
from engine.costs.curve import rising
from engine.costs.pace import MOST_NODES
from engine.costs.trees import TreeChoice
from engine.draft import chain
from engine.drafters import DRAFTERS
from engine.errors import ConfigError
from engine.loop import Decoding
from engine.methods.compose import build, called_in, parts
from engine.model.devices import synchronise
from engine.model.load import Model
from engine.parts import Kit, always_asking
from engine.runs.pair import Pair
from engine.shapes import SHAPES
from engine.streams import Streams
from engine.trace.events import Round

SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, MOST_NODES)  # tokens of a measured pass
TURNS, FEW = 9, 1  # of every size and every length behind one that warms up; where a pass is long, few must do
LONG = 0.1  # seconds of such a pass
ROOM = 2 * MOST_NODES  # tokens of a context that what is timed leaves free, or half of a shorter one
SHORT, DEEP, WIDE = 1, 7, 8  # levels of measured drafts, and nodes that go on in each level of a wide one
NODES = 7  # of a measured tree that are verified
AS_CHOSEN: dict[str, dict[str, KnobValue]] = {
    "chain": {"gamma": AUTO},
    "dynamic_tree": {"depth": AUTO, "total_token": AUTO, "tree_top_k": 10},
}


NOTHING = Costs(Curve(((1, 1.0),)), 0.0, 0.0)  # by which a planted choice need not choose


def costs_of(pair: Pair, card: Card, config: RunConfig) -> Costs:
    """The costs for this drafter and kind of shape; measured when first asked for, at the run's sampling.

    Raises:
        ConfigError: none of the method's knobs may be `auto`.
    """
    if not any(knob.auto for knob in card.knobs):
        raise ConfigError(
            f"{card.name} has no length that could be left to what rounds cost: none of its knobs may be `{AUTO}`."
        )
    kind, drafter = SHAPES[card.shape].KIND, DRAFTERS[card.drafter]
    called, asking = _called(card), always_asking(drafter)
    own = tuple((name, config.knobs.get(called[name])) for name in called if name not in asking)
    key = (card.drafter, own, kind, card.rule, torch.get_num_threads(), config.sampling.greedy)
    if key not in pair.measured:
        with torch.inference_mode():
            pair.measured[key] = _measured(pair, card, kind, config)
    return pair.measured[key]


def _called(card: Card) -> dict[str, str]:
    """What the knobs of the card's drafter are called on it."""
    return called_in(*parts(card.drafter, card.shape, card.rule))[DRAFTERS[card.drafter]]


def with_costs(pair: Pair, card: Card, config: RunConfig) -> Kit:
    """What the parts of a run may use, the costs included where a knob is left to them."""
    kit = pair.kit(card, config)
    if card.chooses(config.knobs):
        kit.costs, kit.forecast = costs_of(pair, card, config), pair.forecast(card, config)
    return kit


def passes_of(target: Model, prompt: Sequence[int]) -> Curve:
    """Passes over 1 to `MOST_NODES` tokens behind a prompt, all sizes in turns; sizes that do not fit are left out.

    Raises:
        EngineFault: a logit is NaN.
    """
    passes = _Passes(target, prompt)
    for _ in passes.turns():
        pass
    return passes.curve()


def _roomy(pair: Pair, ids: Sequence[int]) -> tuple[int, ...]:
    """A prompt, cut where there would be no room behind it: passes and drafts at the end of a context are short, and
    what is measured serves every later run."""
    context = min(model.context for model in (pair.target, *pair.models.values()))
    return tuple(ids[: pair.target.source_of(ids) + max(context // 2, context - ROOM)])


def _measured(pair: Pair, card: Card, kind: str, config: RunConfig) -> Costs:
    config = replace(config, prompt_ids=_roomy(pair, config.prompt_ids))
    sizes = [(SHORT, 0), (DEEP, 0), *([] if kind == "chain" else [(DEEP, 1), (DEEP, WIDE)])]
    drafts, timed = (
        [_Drafts(pair, card, config, kind, *size) for size in sizes],
        _Passes(pair.target, config.prompt_ids),
    )
    for _ in timed.turns():
        for one in drafts:
            one.round()
    passes = timed.curve()
    short, deep, *trees = drafts
    steps = max(deep.steps - short.steps, 1)
    step = max(deep.draft_ms - short.draft_ms, 0.0) / steps
    other = _low([one.other_ms for one in drafts])
    first = short.steps if kind == "chain" else 0
    behind = max(deep.slower(passes), 0.0)
    start = max(short.draft_ms - first * step, 0.0) + behind
    if not trees:
        return Costs(passes, start, step, other=other)
    thin, wide = trees
    row = max(wide.draft_ms - thin.draft_ms, 0.0) / (steps * (WIDE - 1))
    fork = max(thin.draft_ms - deep.draft_ms, 0.0) / steps
    spread = max(_low([thin.slower(passes), wide.slower(passes)]) - behind, 0.0)
    return Costs(passes, start, step, row, other, fork, spread)


def _low(times: Sequence[float]) -> float:
    """The lower quartile; 0 of nothing."""
    return quantiles(times, n=4, method="inclusive")[0] if len(times) > 1 else sum(times)


def _now(target: Model) -> float:
    """Seconds on a clock, after its devices have caught up."""
    synchronise({target.device, *target.devices})
    return perf_counter()


class _Passes:
    """Passes of the target behind a prompt by their size; the first turn warms up."""

    def __init__(self, target: Model, prompt: Sequence[int]) -> None:
        self.target, self.prompt = target, prompt
        self.session = target.session(len(prompt) + MOST_NODES)
        self._spent: dict[int, list[float]] = {n: [] for n in SIZES if n - 1 <= max(self.session.left(prompt), 0)}

    def turns(self) -> Iterator[int]:
        """Time all of them once a turn."""
        for turn in range(1 + TURNS):
            for n, spent in self._spent.items():
                took = self._pass(n)
                spent.append(self._pass(n) if took < 1e3 * LONG else took)
            yield turn
            if turn >= FEW and self._spent[1][-1] > 1e3 * LONG:
                return

    def _pass(self, tokens: int) -> float:
        """Milliseconds of a pass."""
        began = _now(self.target)
        self.session.forward(self.prompt, chain([0] * (tokens - 1)))
        return 1e3 * (_now(self.target) - began)

    def curve(self) -> Curve:
        """Milliseconds by size."""
        return Curve(rising([(n, _low(times[1:])) for n, times in self._spent.items()]))


class _PlantedChain(ChainChoice):
    """A length that is the same every round, of a chain that is asked for token by token as one that is chosen: a
    device that is not asked works ahead, and its drafts cost less."""

    def __init__(self, levels: int) -> None:
        self.levels = levels
        super().__init__(NOTHING)

    def limit(self, *, stepwise: bool = False) -> int:
        super().limit(stepwise=stepwise)
        return self.levels

    def more(self, drafted: int, share: float) -> bool:
        super().more(drafted, share)
        return drafted < self.levels

    def ends(self, drafted: int) -> bool:
        super().ends(drafted)
        return False

    def observe(self, drafted: int, accepted: int, steps: int | None = None, further: bool | None = None) -> None:
        """Nothing is learnt."""


class _Planted(TreeChoice):
    """A choice that is the same every round, so that what is timed is the very code that chooses: so many levels in
    which so many nodes go on (0: a spine alone)."""

    def __init__(self, levels: int, rows: int) -> None:
        self.levels, self.rows = levels, rows
        super().__init__(NOTHING)

    def start(self, forks: bool | None = None) -> bool:
        return super().start(self.rows > 0)

    def onward(self, chances: Sequence[float], *, stops: bool, prunes: bool) -> int:
        super().onward(chances, stops=stops, prunes=prunes)
        self.grown += 1
        return min(self.rows or 1, len(chances)) if self.grown < self.levels else 0

    def _round(self) -> None:
        super()._round()
        self.grown = 0

    def size(self, chances: Sequence[float]) -> int:
        super().size(chances)
        return min(NODES, len(chances))


class _Drafts:
    """A run of the method with drafts of so many levels, whose rounds are timed; it starts anew where it ends. So many
    `rows` go on in each level of a tree; 0 is a chain."""

    def __init__(self, pair: Pair, card: Card, config: RunConfig, kind: str, levels: int, rows: int) -> None:
        self.pair, self.card, self.levels, self.rows = pair, card, levels, rows
        self.kind = kind
        asking = {_called(card)[name]: value for name, value in always_asking(DRAFTERS[card.drafter]).items()}
        own: dict[str, KnobValue] = {**config.knobs, **AS_CHOSEN[kind], **asking}
        self.config = replace(config, knobs=own, record="light", stop=(), max_new_tokens=max(config.max_new_tokens, 32))
        self._rounds: list[Round] = []
        self._fresh()

    def _fresh(self) -> None:
        kit = self.pair.kit(self.card, self.config)
        endless = copy(kit.target.tokenizer)  # texts that end at once would give first rounds alone, and short drafts
        endless.stop_ids = frozenset()
        kit.target, kit.streams, kit.costs = replace(kit.target, tokenizer=endless), Streams(0), NOTHING
        method = build(self.card, kit, self.config.knobs)
        chain = self.kind == "chain"
        method.shape.choice = _PlantedChain(self.levels) if chain else _Planted(self.levels, self.rows)
        session = self.pair.target.session(kit.capacity, method.drafter.taps)
        session.vocab = self.pair.vocab
        devices = self.pair.devices
        self._run = Decoding(method, session, endless, self.config, kit.streams, devices=devices).run()
        self._first = next(self._run)  # the prompt was read, by heads within it

    def round(self) -> None:
        """Time one more, behind one that is not counted unless they are long."""
        found = self._next()
        if found and found.verify_ms < 1e3 * LONG:
            found = self._next()
        if found:
            self._rounds.append(found)

    def _next(self) -> Round | None:
        """One more; of a text that ends with its first round, that one."""
        found = next(self._run, None)
        if not isinstance(found, Round):
            self._fresh()
            found = next(self._run, None)
        if not isinstance(found, Round):
            found = self._first
        return found if isinstance(found, Round) else None

    @property
    def _whole(self) -> list[Round]:
        """Rounds that drafted as much as any."""
        return [found for found in self._rounds if _grown(found) == self.steps]

    @property
    def draft_ms(self) -> float:
        """Of a draft."""
        return _low([found.draft_ms for found in self._whole])

    def slower(self, passes: Curve) -> float:
        """How much longer a pass takes behind a draft than by itself: the draft had the caches in between, and accepted
        tokens are moved."""
        return _low([found.verify_ms - passes.at(found.fed) for found in self._rounds])

    @property
    def other_ms(self) -> float:
        """Of what is neither drafting nor verifying."""
        return _low([found.other_ms for found in self._rounds])

    @property
    def steps(self) -> int:
        """Levels of these drafts."""
        return max(map(_grown, self._rounds), default=0)


def _grown(found: Round) -> int:
    """Levels that were drafted; of a tree perhaps more than were verified, of another model's text its own tokens."""
    return found.extras.get("levels", found.extras.get("draft_tokens", found.levels))
