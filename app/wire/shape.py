"""The shapes of plain JSON values that the engine's dataclasses become. See `app.wire`."""

from dataclasses import dataclass
from typing import Annotated, Any

from engine.analysis.compared import Compared
from engine.analysis.intervals import Interval
from engine.analysis.repeats import Repeated
from engine.config import Card
from engine.trace.events import Event


@dataclass(frozen=True)
class Shape:
    """What a plain JSON value is made from."""

    kind: Any


PlainCard = Annotated[dict[str, Any], Shape(Card)]
PlainCompared = Annotated[dict[str, Any], Shape(Compared)]
PlainRepeated = Annotated[dict[str, dict[str, Any]], Shape(dict[str, Repeated])]
PlainEvent = Annotated[dict[str, Any], Shape(Event)]
Mean = Annotated[dict[str, Any], Shape(Interval)]
