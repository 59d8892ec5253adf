"""Reports added up, with the same names and intervals as the lab's own numbers, so that both lie side by side."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from engine.analysis.intervals import (
    Interval,
    as_json,
    clustered_share,
    counted_interval,
    mean_interval,
    quotient_interval,
    wilson,
    within,
)
from engine.served.report import TITLES, Counts, Report
from engine.trace.store import Trace
from engine.trace.sums import Sums

SCOPES = {  # what one report and several are
    "request": ("request", "requests"),
    "requests": ("total of requests", "totals of requests"),
    "server": ("counter since the server's start", "counters since the server's start"),
    "interval": ("line of a log", "lines of a log"),
}


def pooled(reports: Iterable[Report]) -> list[dict[str, Any]]:
    """A row for each engine, model and kind of report, as JSON types (`row`)."""
    groups: dict[tuple[str, str, str], list[Report]] = {}
    for report in reports:
        groups.setdefault((report.engine, report.model, report.scope), []).append(report)
    several = {engine for engine, _, _ in groups if sum(one == engine for one, _, _ in groups) > 1}
    return [
        row(
            ", ".join(
                [TITLES[engine], *([part for part in (model, SCOPES[scope][1]) if part] if engine in several else [])]
            ),
            found,
        )
        for (engine, model, scope), found in groups.items()
    ]


def own(label: str, traces: Iterable[Trace]) -> dict[str, Any]:
    """The same of the lab's own runs: calls that verified a draft, which is what engines count."""
    return row(label, [of_sums(label, Sums.of_run(trace)) for trace in traces])


def of_sums(name: str, sums: Sums) -> Report:
    """A run of the lab as an engine would report it."""
    return Report(
        engine="draftscope",
        scope="request",
        name=name,
        tokens=sums.tokens,
        steps=sums.drafting,
        drafted=sums.drafted,
        accepted=sums.accepted,
        histogram=sums.ended,
        decode_s=sums.ms / 1e3 or None,
    )


def row(label: str, found: Sequence[Report]) -> dict[str, Any]:
    """Numbers under the names of `engine.analysis.names`; `lacks` lists those that no report tells.

    `tau` is accepted draft tokens and one over verify passes, as vLLM, SGLang and llama.cpp define it. Intervals, 95 %:
    of tokens a call with a request left out at a time, of shares by Wilson's score with as many draft tokens or passes
    as those of so many requests are worth (`clustered_share`). One count does not tell its requests apart: Wilson's
    score (shares) or t over its passes, as if all were independent, which is too narrow.
    """
    steps, accepted, drafted, tokens = (_sum(found, name) for name in ("steps", "accepted", "drafted", "tokens"))
    histogram = (
        _added([one.histogram for one in found]) if all(one.histogram or one.steps == 0 for one in found) else ()
    )
    seconds = [one.decode_s for one in found if one.decode_s is not None]
    depths = _by_depth(found, histogram, steps)
    numbers = {
        "tokens": tokens,
        "rounds": steps,
        "drafted": drafted,
        "accepted": accepted,
        "tau": _tau(found, histogram),
        "accept_rate_drafted": _rate(found),
        "accept_by_depth": depths,
        "accepted_histogram": list(histogram) or None,
        "tokens_per_s": tokens / sum(seconds) if tokens and sum(seconds) and len(seconds) == len(found) else None,
    }
    first = found[0]
    return {
        "label": label,
        "engine": first.engine,
        "model": first.model,
        "reports": len(found),
        "of": SCOPES[first.scope][len(found) != 1],
        **numbers,
        "lacks": [name for name, value in numbers.items() if value is None],
    }


def _tau(found: Sequence[Report], histogram: Counts) -> dict[str, Any] | None:
    if all(one.steps is not None and one.accepted is not None for one in found):
        pairs = [((one.accepted or 0) + (one.steps or 0), one.steps or 0) for one in found if one.steps]
        if len(pairs) == 1 and histogram:
            return as_json(within(counted_interval((0, *histogram)), 1.0, math.inf))
        return as_json(within(quotient_interval(*zip(*pairs, strict=True)), 1.0, math.inf))
    return _mean([one.tau for one in found], 1.0, math.inf)


def _rate(found: Sequence[Report]) -> dict[str, Any] | None:
    if all(one.drafted is not None and one.accepted is not None for one in found):
        pairs = [(one.accepted or 0, one.drafted or 0) for one in found if one.drafted]
        return as_json(wilson(*pairs[0]) if len(pairs) == 1 else clustered_share(pairs))
    return _mean([one.rate for one in found], 0.0, 1.0)


def _mean(told: Sequence[float | None], least: float, most: float) -> dict[str, Any] | None:
    """Of what each line of a log tells, with Student's interval as far as it can be; None where one tells nothing."""
    known = [one for one in told if one is not None]
    return as_json(within(mean_interval(known) if len(known) == len(told) else None, least, most))


def _by_depth(found: Sequence[Report], histogram: Counts, steps: int | None) -> dict[str, list[Any]] | None:
    """Accepted to depth d / verify passes, each with its interval over requests, of one count Wilson's; without counts
    the mean of what is told."""
    if histogram and steps:
        spans = [_share(found, depth) for depth in range(len(histogram) - 1)]
        known = [span for span in spans if span]
        return {
            "depth": list(range(1, len(known) + 1)),
            "marginal": [span.mean for span in known],
            "low": [span.low for span in known],
            "high": [span.high for span in known],
        }
    if not all(one.marginal for one in found):
        return None
    most = max(len(one.marginal) for one in found)
    means = [sum((*one.marginal, *[0.0] * most)[place] for one in found) / len(found) for place in range(most)]
    return {"depth": list(range(1, most + 1)), "marginal": means, "low": [None] * most, "high": [None] * most}


def _share(found: Sequence[Report], depth: int) -> Interval | None:
    """Share of the verify passes that accepted beyond a depth from 0."""
    rows = [(sum(one.histogram[depth + 1 :]), sum(one.histogram)) for one in found if one.histogram]
    return wilson(*rows[0]) if len(rows) == 1 else clustered_share(rows)


def _sum(found: Sequence[Report], name: str) -> int | None:
    values: list[int | None] = [getattr(one, name) for one in found]
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _added(counts: Sequence[Counts]) -> Counts:
    most = max(map(len, counts), default=0)
    return tuple(sum(one[place] for one in counts if place < len(one)) for place in range(most))


def beside(methods: Mapping[str, Iterable[Trace]], reports: Iterable[Report]) -> list[dict[str, Any]]:
    """The lab's own rows that draft, then those of engines."""
    ours = [own(label, traces) for label, traces in methods.items()]
    return [line for line in ours if line["drafted"]] + pooled(reports)
