"""Recorded cases as lessons use them: find a place by what happened there, and compute a number by its name.

A lane is named by its method, `stand:2` being the second lane of that method. A number is `LANE.NAME` with a name of
`engine.trace.metrics`, a state of drafted tokens, `correction`, `bonus`, `longest` (most accepted in a round),
`empty_rounds` (drafted, none accepted) or `knobs.NAME`; `here.NAME` is a field of the place that a step points at.
Terms may be joined, from left to right, by + and - or by * and /: "100 * sd.rounds / ar.rounds".
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from typing import Any

from engine.analysis.reading import read_run
from engine.errors import ConfigError, unknown
from engine.files.places import PRESETS
from engine.files.presets import Preset, get_preset
from engine.trace.events import NODE_STATES, ORIGINS, Node, Round
from engine.trace.metrics import metrics
from engine.trace.store import Trace

TERM = re.compile(r"^(here|[a-z][\w]*(?::\d+)?)\.([\w.]+)$")
OPERATIONS: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
BOUND = re.compile(r"^(<=|>=|<|>)\s*(-?\d+(?:\.\d+)?)$")
BOUNDS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}
CLAIM = re.compile(r"^(.+?) (<=|>=|<|>|==) (.+)$")
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {**BOUNDS, "==": operator.eq}
NUMBERS = ("q", "p", "h_draft", "h_target", "overlap", "accept_prob", "u", "judge", "confidence", "margin")
WORDS = ("state", "piece", "origin", "rule")
PLACE = ("round", "depth", "pos", "rank")
FIELDS = (*WORDS, *PLACE, *NUMBERS)


@dataclass(frozen=True)
class Place:
    """A drafted token (with `node`), or an emitted token without one, and what was recorded there."""

    lane: int
    round: int
    node: int | None
    pos: int  # in the response, from 0
    fields: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """The place alone, in JSON types."""
        return {name: value for name, value in asdict(self).items() if name != "fields"}


class Case:
    """A preset with its recorded traces."""

    def __init__(self, preset: Preset, traces: Sequence[Trace] | None = None) -> None:
        """Take a preset that was recorded; its traces are read when they are asked for, where none are given."""
        self.preset, self._given = preset, traces

    @cached_property
    def traces(self) -> list[Trace]:
        """One trace a lane."""
        return [read_run(PRESETS / path) for path in self.preset.traces] if self._given is None else [*self._given]

    @cached_property
    def lanes(self) -> dict[str, int]:
        """Names of the lanes: the method, and `method:2` for a second lane of it."""
        named: dict[str, int] = {}
        methods = [trace.head.method for trace in self.traces]
        for index, method in enumerate(methods):
            count = methods[: index + 1].count(method)
            named[method if count == 1 else f"{method}:{count}"] = index
        return named

    def lane(self, name: str) -> int:
        """The index of a lane.

        Raises:
            ConfigError: the case has no such lane, with the nearest right name.
        """
        if name not in self.lanes:
            raise ConfigError(unknown(f"lane of {self.preset.name}", name, self.lanes))
        return self.lanes[name]

    def places(self, lane: str) -> Iterator[Place]:
        """Every drafted token of a lane, then every emitted token that was not drafted, round by round."""
        index = self.lane(lane)
        trace = self.traces[index]
        pieces = trace.pieces
        for event in trace.rounds:
            for number, node in enumerate(event.nodes):
                yield Place(index, event.index, number, event.start + node.depth - 1, _drafted(pieces, event, node))
            for token in event.tokens:
                if token.node is None:
                    said = {"origin": token.origin, "piece": token.piece, "round": event.index, "pos": token.pos}
                    yield Place(index, event.index, None, token.pos, said | {"h_target": token.h_target})

    def find(self, lane: str, where: Mapping[str, Any]) -> list[Place]:
        """The places of a lane at which all conditions hold, in order.

        Raises:
            ConfigError: an unknown field, state or origin, or a bound that cannot be read.
        """
        _check(where)
        return [place for place in self.places(lane) if all(_holds(place.fields, k, v) for k, v in where.items())]

    def value(self, formula: str, here: Place | None = None) -> float | int | str:
        """The number that a formula names; a word for `here.piece` and the like.

        Raises:
            ConfigError: an unknown lane or name, a number that was not recorded, or a formula that cannot be read.
        """
        parts = formula.split()
        signs = set(parts[1::2])
        if len(parts) % 2 == 0 or not (signs <= {"+", "-"} or signs <= {"*", "/"}):
            raise ConfigError(
                f"{formula!r} is no number: write LANE.NAME, or several joined by + and -, or by * and /."
            )
        found = self._term(parts[0], here)
        for sign, part in zip(parts[1::2], parts[2::2], strict=True):
            other = self._term(part, here)
            if isinstance(found, str) or isinstance(other, str):
                raise ConfigError(f"{formula!r} reckons with a word.")
            if sign == "/" and other == 0:
                raise ConfigError(f"{formula!r} divides by zero in {self.preset.name}.")
            found = OPERATIONS[sign](found, other)
        return found

    def holds(self, claim: str, here: Place | None = None) -> bool:
        """Whether a comparison of two numbers is true, such as "sd.rounds < ar.rounds".

        Raises:
            ConfigError: as `value`, or no comparison.
        """
        match = CLAIM.match(claim)
        if match is None:
            raise ConfigError(f"{claim!r} is no comparison: write two numbers with <, <=, >, >= or == between.")
        left, sign, right = match.groups()
        return bool(COMPARISONS[sign](self.value(left, here), self.value(right, here)))

    def _term(self, term: str, here: Place | None) -> float | int | str:
        if re.fullmatch(r"-?\d+(\.\d+)?", term):
            return float(term) if "." in term else int(term)
        match = TERM.match(term)
        if match is None:
            raise ConfigError(f"{term!r} is no number of a recorded run: write LANE.NAME, such as sd.rounds.")
        lane, name = match.groups()
        found = self._here(name, here) if lane == "here" else self._of(self.lane(lane), name)
        if not isinstance(found, int | float | str) or isinstance(found, bool):
            raise ConfigError(
                f"{term!r} is not known in {self.preset.name}: it was not recorded, or it is no single number."
            )
        return found

    def _here(self, name: str, here: Place | None) -> Any:
        if here is None:
            raise ConfigError(f"here.{name} is told, but the step points at no token: give it `at`.")
        if name not in FIELDS:
            raise ConfigError(unknown("field of a place", name, FIELDS))
        return here.fields.get(name)

    def _of(self, lane: int, name: str) -> Any:
        trace = self.traces[lane]
        if name.startswith("knobs."):
            knobs = trace.head.knobs
            if name[6:] not in knobs:
                raise ConfigError(unknown(f"knob of {trace.head.method}", name[6:], knobs))
            return knobs[name[6:]]
        numbers = self._numbers(lane)
        if name not in numbers:
            raise ConfigError(unknown(f"number of {trace.head.method}", name, numbers))
        return numbers[name]

    def _numbers(self, lane: int) -> dict[str, Any]:
        trace = self.traces[lane]
        states = dict.fromkeys(NODE_STATES, 0)
        for event in trace.rounds:
            for node in event.nodes:
                states[node.state] += 1
        longest = max((event.accepted for event in trace.rounds), default=0)
        empty = sum(event.drafted > 0 and event.accepted == 0 for event in trace.rounds)
        origins = {name: sum(token.origin == name for token in trace.tokens) for name in ("correction", "bonus")}
        return states | origins | {"longest": longest, "empty_rounds": empty} | metrics(trace)


@lru_cache(maxsize=64)
def case(name: str) -> Case:
    """A recorded case.

    Raises:
        ConfigError: no such preset, or nothing was recorded for it.
    """
    preset = get_preset(name)
    if not preset.traces:
        raise ConfigError(f"Nothing is recorded for {name!r}, so no lesson can use it.")
    return Case(preset)


def _drafted(pieces: Mapping[int, str], event: Round, node: Node) -> dict[str, Any]:
    emitted = next((t.origin for t in event.tokens if t.node is not None and event.nodes[t.node] is node), None)
    said = {name: getattr(node, name) for name in NUMBERS}
    said |= {"state": node.state, "rule": node.rule, "rank": node.rank, "depth": node.depth, "origin": emitted}
    pos = event.start + node.depth - 1
    return said | {"round": event.index, "pos": pos, "piece": pieces.get(node.token)}


def _check(where: Mapping[str, Any]) -> None:
    for name, wanted in where.items():
        if name not in FIELDS:
            raise ConfigError(unknown("field of a place", name, FIELDS))
        known = {"state": NODE_STATES, "origin": ORIGINS}.get(name)
        if known and wanted not in known:
            raise ConfigError(unknown(name, wanted, known))
        if name in NUMBERS and isinstance(wanted, str) and not BOUND.match(wanted):
            raise ConfigError(f"{name} = {wanted!r} is no bound: write a number, or <, <=, > or >= and a number.")


def _holds(fields: Mapping[str, Any], name: str, wanted: Any) -> bool:
    found = fields.get(name)
    if found is None:
        return False
    bound = BOUND.match(wanted) if isinstance(wanted, str) and name not in WORDS else None
    return BOUNDS[bound[1]](float(found), float(bound[2])) if bound else bool(found == wanted)
