"""Models that a visitor loads: what would become of them, and how far they are. See `app.wire`."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from app.wire.catalogue import BeingLoaded
from app.wire.runs import InLine
from app.wire.shape import Shape
from engine.runs.findings import Preflight


class PairRequest(TypedDict):
    """Two models, each a folder of the server or a hub id: POST /lab/preflight, /lab/load (`app.opening` checks it)."""

    target: str
    draft: str  # empty for none
    languages: NotRequired[str]  # SOURCE:TARGET in the models' own codes, of models of several
    visitor: NotRequired[str]  # 32 hexadecimal digits, the same for all tabs of a browser


class Preflown(TypedDict):
    """What would become of a pair: POST /lab/preflight."""

    name: str  # of the pair, once it is loaded
    found: Annotated[dict[str, Any], Shape(Preflight)]


class OpeningMessage(TypedDict):
    """A line about models that are being loaded: POST /lab/load. The pair before them stays until they are "loaded"."""

    kind: Literal["waiting", "loading", "loaded", "error"]
    line: NotRequired[InLine]  # where they wait for the device
    loading: NotRequired[BeingLoaded]
    models: NotRequired[str]  # the name of the pair, with "loaded"
    error: NotRequired[str]
