"""What the same lanes give when they run several times: median and range of their numbers, and the verdict over all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.analysis.intervals import Spread, spread
from engine.analysis.labels import labels
from engine.analysis.verdict import Verdict, verdicts_over
from engine.trace import outcome
from engine.trace.store import Trace


@dataclass(frozen=True, slots=True)
class Repeated:
    """One lane over its runs. A number that no run has is None."""

    runs: int  # that ended by themselves
    failed: int  # the others
    texts: int  # different texts among them
    tau: Spread | None  # tokens a target call
    accept_rate: Spread | None  # accepted / drafted
    tokens_per_s: Spread | None
    speedup: Spread | None  # against the lane without a draft, run by run
    verdict: Verdict | None  # None while no run has ended


def repeated(lanes: Mapping[str, Sequence[Trace]]) -> dict[str, Repeated]:
    """All lanes by key; run i of one belongs to run i of the others: they took turns, with the same seed.

    A run that failed, or has not ended, counts nowhere; nor does the run of a lane beside a baseline's that failed.
    """
    runs = {key: [run if whole(run) else None for run in given] for key, given in lanes.items()}
    shown = {key: next(run for run in found if run) for key, found in runs.items() if any(found)}
    said = verdicts_over([runs[key] for key in shown], labels(list(shown.values())))
    told = dict(zip(shown, said, strict=True))
    return {key: _lane(given, told.get(key)) for key, given in lanes.items()}


def whole(run: Trace) -> bool:
    """Whether a run came to an end of its own."""
    return bool(run.rounds) and outcome.whole(run.end)


def _lane(given: Sequence[Trace], said: Verdict | None) -> Repeated:
    runs = [run for run in given if whole(run)]
    found = [run.metrics() for run in runs]
    once = said.speedup if said else None
    return Repeated(
        runs=len(runs),
        failed=len(given) - len(runs),
        texts=len({run.end.text for run in runs if run.end}),
        tau=_over(found, "tau"),
        accept_rate=_over(found, "accept_rate_drafted"),
        tokens_per_s=_over(found, "tokens_per_s"),
        speedup=(said.spread if said else None) or (None if once is None else Spread(once, once, once, 1)),
        verdict=said,
    )


def _over(found: Sequence[dict[str, Any]], name: str) -> Spread | None:
    return spread([one[name] for one in found if one[name] is not None])
