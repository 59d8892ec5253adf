"""What lanes that have ended say about each other: a verdict each, and where each pair parts."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import combinations

from engine.analysis.divergence import Divergence, divergence
from engine.analysis.labels import labels
from engine.analysis.verdict import Verdict, verdicts
from engine.errors import ConfigError
from engine.trace.store import Trace


@dataclass(frozen=True)
class Parting(Divergence):
    """Where two lanes, named by their keys, part."""

    lanes: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class Compared:
    """Verdicts by lane key, and the pairs that part; pairs of other prompts or targets have no place in it."""

    verdicts: dict[str, Verdict]
    divergences: list[Parting]


def compared(lanes: Mapping[str, Trace]) -> Compared:
    """All lanes that have rounds, against each other."""
    ran = {key: trace for key, trace in lanes.items() if trace.rounds}
    names = labels(list(ran.values()))
    told = verdicts(list(ran.values()), names)
    pairs = combinations(zip(ran, names, strict=True), 2)
    return Compared(dict(zip(ran, told, strict=True)), [pair for two in pairs if (pair := _part(ran, *two))])


def _part(ran: Mapping[str, Trace], left: tuple[str, str], right: tuple[str, str]) -> Parting | None:
    """Where two lanes, each given by key and name, part."""
    try:
        found = divergence(ran[left[0]], ran[right[0]], (left[1], right[1]))
    except ConfigError:
        return None
    return Parting(**asdict(found), lanes=(left[0], right[0])) if found else None
