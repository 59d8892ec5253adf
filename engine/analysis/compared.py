"""What lanes that have ended say about each other: a verdict and the evidence of each, and where each pair parts."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import combinations

from engine.analysis.divergence import Divergence, divergence
from engine.analysis.idle import said
from engine.analysis.labels import labels
from engine.analysis.proof import Proof, proof
from engine.analysis.verdict import Verdict, verdicts
from engine.errors import ConfigError
from engine.threshold import Threshold
from engine.trace.store import Trace


@dataclass(frozen=True)
class Parting(Divergence):
    """Where two lanes, named by their keys, part."""

    lanes: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class Compared:
    """Verdicts and evidence by lane key, the pairs that part, and which thresholds cannot fire.

    Pairs of other prompts or targets have no place.
    """

    verdicts: dict[str, Verdict]
    divergences: list[Parting]
    proofs: dict[str, Proof]
    idle: dict[str, str]  # lane key -> why its threshold cannot fire, for those of which that is known


def compared(
    lanes: Mapping[str, Trace],
    thresholds: Mapping[str, Threshold | None] | None = None,
    files: Mapping[str, str] | None = None,
) -> Compared:
    """All lanes that have rounds, against each other; `thresholds` are what rules declare, by name, and `files` where
    lanes were opened from, by key."""
    ran = {key: trace for key, trace in lanes.items() if trace.rounds}
    names = labels(list(ran.values()), [files[key] for key in ran] if files else ())
    told = verdicts(list(ran.values()), names)
    pairs = combinations(zip(ran, names, strict=True), 2)
    named = dict(zip(ran, names, strict=True))
    idle = {key: said(trace, (thresholds or {}).get(trace.head.rule)) for key, trace in ran.items()}
    return Compared(
        dict(zip(ran, told, strict=True)),
        [pair for two in pairs if (pair := _part(ran, *two))],
        {key: proof(key, ran, named, thresholds or {}) for key in ran},
        {key: text for key, text in idle.items() if text},
    )


def _part(ran: Mapping[str, Trace], left: tuple[str, str], right: tuple[str, str]) -> Parting | None:
    """Where two lanes, each given by key and name, part."""
    try:
        found = divergence(ran[left[0]], ran[right[0]], (left[1], right[1]))
    except ConfigError:
        return None
    return Parting(**asdict(found), lanes=(left[0], right[0])) if found else None
