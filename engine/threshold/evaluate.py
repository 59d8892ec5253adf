"""What a declared condition says of one node under some knobs. Pure; the same meaning as app/static/rules.js.

A number may be there, may be None (the decision looked for it and there was none), or may be missing (not recorded). A
comparison with None does not hold; one with a missing number is unknown. All and Any follow Kleene's three-valued
logic.
"""

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from engine.threshold.declare import (
    Absent,
    All,
    Any,
    Compare,
    Condition,
    Expression,
    Op,
    Recorded,
    Setting,
    Switch,
    Threshold,
)

Knobs = Mapping[str, bool | int | float | str]
Numbers = Mapping[str, object]  # as recorded: a number, a word or a switch, None where there is none
Holds = Callable[[Numbers], bool | None]
Value = Callable[[Numbers], float | None]
T = TypeVar("T")
_SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_OPS: dict[str, Callable[..., float]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "min": min,
    "max": max,
    "exp": lambda x: math.exp(x) if x < 709 else math.inf,
}


@dataclass(frozen=True, slots=True)
class Term:
    """One comparison in force at a node; a number is None where there is none or it was not recorded."""

    name: str  # of the recorded number, or of the knob, that stands left
    value: float | None
    sign: str
    limit: float | None
    knob: str  # the knob that is the limit; empty where the limit is made of several numbers
    holds: bool | None


def chosen(switch: Switch[T], knobs: Knobs) -> T:
    """The part that these knobs choose."""
    given = knobs.get(switch.knob)
    return next((case for setting, case in switch.cases if setting == given), switch.otherwise)


def bind(condition: Condition, knobs: Knobs) -> Holds:
    """The condition under these knobs as one function of a node's numbers: True, False or None (unknown)."""
    condition = _condition(condition, knobs)
    if isinstance(condition, Compare):
        return _compare(condition, knobs)
    if isinstance(condition, Absent):
        name = condition.of.name
        return lambda numbers: numbers[name] is None if name in numbers else None
    parts = [bind(part, knobs) for part in condition.parts]
    if len(parts) == 1:
        return parts[0]
    return _all(parts) if isinstance(condition, All) else _any(parts)


def value(expression: Expression, knobs: Knobs) -> Value:
    """The expression under these knobs as a function of a node's numbers; it raises KeyError where one is missing."""
    expression = _expression(expression, knobs)
    if isinstance(expression, Setting):
        name = expression.name
        if name not in knobs:
            return lambda numbers: _missing(name)
        setting = float(knobs[name])
        return lambda numbers: setting
    if isinstance(expression, Recorded):
        recorded_name = expression.name
        return lambda numbers: cast("float | None", numbers[recorded_name])
    if isinstance(expression, Op):
        operation = _operation(expression, knobs)
        if any(isinstance(part, Recorded) for part in _parts((expression,))):
            return operation
        fixed = _known(operation, {})  # of knobs alone: worked out once
        return operation if fixed is None else lambda numbers: fixed
    number = float(expression)
    return lambda numbers: number


def terms(condition: Condition, knobs: Knobs, numbers: Numbers) -> list[Term]:
    """The comparisons in force with their numbers, in the order of the declaration."""
    return [term(one, knobs, numbers) for one in in_force(condition, knobs) if isinstance(one, Compare)]


def term(one: Compare, knobs: Knobs, numbers: Numbers) -> Term:
    """One comparison with a node's numbers."""
    name, knob = _named(one.left, knobs), _named(one.right, knobs)
    left, right = (_known(value(side, knobs), numbers) for side in (one.left, one.right))
    return Term(name, left, one.sign, right, knob if knob in knobs else "", bind(one, knobs)(numbers))


def in_force(condition: Condition, knobs: Knobs) -> Iterator[Compare | Absent]:
    """The comparisons, and the things looked for, that these knobs leave in the condition."""
    condition = _condition(condition, knobs)
    if isinstance(condition, Compare | Absent):
        yield condition
    elif isinstance(condition, All | Any):
        for part in condition.parts:
            yield from in_force(part, knobs)


def recorded(threshold: Threshold, knobs: Knobs) -> dict[str, str]:
    """Every recorded number that the declaration names, and the node's field of that number (empty where it has
    none)."""
    found = [part for part in _parts((threshold.condition, threshold.exact)) if isinstance(part, Recorded)]
    return {part.name: _field(part, knobs) for part in found}


def calculated_from(expression: Expression, knobs: Knobs) -> tuple[str, ...]:
    """The recorded numbers that a calculation takes under these knobs; none where the expression is one itself."""
    expression = _expression(expression, knobs)
    if not isinstance(expression, Op):
        return ()
    if expression.op == "given":
        return calculated_from(_given(expression, knobs), knobs)
    parts = [_expression(part, knobs) for part in expression.of]
    found = [(part.name,) if isinstance(part, Recorded) else calculated_from(part, knobs) for part in parts]
    return tuple(dict.fromkeys(name for names in found for name in names))


def settings(threshold: Threshold) -> tuple[str, ...]:
    """The knobs whose values are compared or calculated with, each once: those that a what-if may move."""
    found = [part.name for part in _parts((threshold.condition,)) if isinstance(part, Setting)]
    return tuple(dict.fromkeys(found))


def taken_at(threshold: Threshold | None, name: str, knobs: Knobs, usual: int) -> int:
    """What a recorded number is taken at under these knobs, such as the n of overlap@n."""
    parts = _parts((threshold.condition, threshold.exact)) if threshold else ()
    for part in parts:
        if isinstance(part, Recorded) and part.name == name and part.at is not None:
            found = _known(value(part.at, knobs), {})
            return usual if found is None else int(found)
    return usual


def _condition(part: Condition, knobs: Knobs) -> Compare | Absent | All | Any:
    while isinstance(part, Switch):
        part = chosen(part, knobs)
    return part


def _expression(part: Expression, knobs: Knobs) -> float | int | Setting | Recorded | Op:
    while isinstance(part, Switch):
        part = chosen(part, knobs)
    return part


def _field(part: Recorded, knobs: Knobs) -> str:
    if part.field is None:
        return part.name
    return chosen(part.field, knobs) if isinstance(part.field, Switch) else part.field


def _compare(one: Compare, knobs: Knobs) -> Holds:
    left, right, test = value(one.left, knobs), value(one.right, knobs), _SIGNS[one.sign]
    slack = -one.tolerance if one.sign == ">=" else one.tolerance

    def holds(numbers: Numbers) -> bool | None:
        try:
            a, b = left(numbers), right(numbers)
        except KeyError:
            return None
        return a is not None and b is not None and test(a, b + slack)

    return holds


def _all(parts: Sequence[Holds]) -> Holds:
    def holds(numbers: Numbers) -> bool | None:
        unknown = False
        for part in parts:
            held = part(numbers)
            if held is False:
                return False
            unknown |= held is None
        return None if unknown else True

    return holds


def _any(parts: Sequence[Holds]) -> Holds:
    def holds(numbers: Numbers) -> bool | None:
        unknown = False
        for part in parts:
            held = part(numbers)
            if held:
                return True
            unknown |= held is None
        return None if unknown else False

    return holds


def _operation(one: Op, knobs: Knobs) -> Value:
    parts = [value(part, knobs) for part in one.of]
    if one.op == "known":
        return lambda numbers: next((found for part in parts if (found := _known(part, numbers)) is not None), None)
    if one.op == "given":
        first, second = parts

        def given(numbers: Numbers) -> float | None:
            found = first(numbers)
            return found if found is not None and found >= 0 else second(numbers)

        return given
    work = _OPS[one.op]

    def operation(numbers: Numbers) -> float | None:
        found = [part(numbers) for part in parts]
        return None if None in found else work(*found)

    return operation


def _known(part: Value, numbers: Numbers) -> float | None:
    try:
        return part(numbers)
    except KeyError:
        return None


def _missing(name: str) -> float:
    raise KeyError(name)


def _named(side: Expression, knobs: Knobs) -> str:
    """The number or knob that a side of a comparison is; empty for a calculation."""
    side = _expression(side, knobs)
    if isinstance(side, Op) and side.op == "given":
        return _named(_given(side, knobs), knobs)
    return side.name if isinstance(side, Recorded | Setting) else ""


def _given(one: Op, knobs: Knobs) -> Expression:
    """The part that a `given` stands for under these knobs."""
    own = _known(value(one.of[0], knobs), {})
    return one.of[1 if own is None or own < 0 else 0]


def _parts(of: Sequence[object]) -> Iterator[object]:
    """Everything that a declaration is made of, cases that are not chosen included."""
    for part in of:
        yield part
        if isinstance(part, Switch):
            yield from _parts([*(case for _, case in part.cases), part.otherwise])
        elif isinstance(part, Compare):
            yield from _parts((part.left, part.right))
        elif isinstance(part, Op):
            yield from _parts(part.of)
        elif isinstance(part, All | Any):
            yield from _parts(part.parts)
        elif isinstance(part, Absent):
            yield from _parts((part.of,))
