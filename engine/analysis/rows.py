"""What a table over many runs needs of each: its sums and its response. A sweep keeps these and lets the traces go."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from engine.analysis.grouping import added, counted, question, task_of
from engine.analysis.intervals import Interval, as_json, cluster_mean, of_sums, speedup_interval
from engine.analysis.quality import Name, Response, Responses, measures, response
from engine.errors import shown
from engine.files.documents import fits
from engine.trace.store import Trace
from engine.trace.sums import Sums, speedups

Plain = str | int | float | None
NAMES = ("prompt", "conversation")  # of a response, which are tuples
OLDER = {"conversation"}  # what rows of older sweeps lack
AGAINST = ("_difference", "_relative")  # measures against plain decoding, which it has none of itself
KINDS: dict[str, dict[str, Any]] = {  # of what a row holds
    "response": {item.name: item.type for item in fields(Response)}
    | dict.fromkeys(NAMES, tuple[Plain, ...])
    | {"output": Plain},
    "sums": {item.name: item.type for item in fields(Sums)},
}


@dataclass(frozen=True, slots=True)
class Row:
    """One run; `category` is what its prompt's file said, if anything."""

    task: str
    response: Response
    sums: Sums
    category: str = ""

    @classmethod
    def of(cls, trace: Trace, category: str = "", asked: Name = ()) -> "Row":
        """That of a finished run; `asked` names its prompt, where another name than its text makes runs pairs."""
        return cls(task_of(trace), response(asked or question(trace), trace), Sums.of_run(trace), category)

    def to_json(self) -> dict[str, Any]:
        """As JSON types."""
        return asdict(self) | {"sums": self.sums.to_json()}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> "Row":
        """The inverse of `to_json`."""
        told = found["response"]
        given = told | {name: tuple(told[name]) for name in NAMES if name in told}
        return cls(found["task"], Response(**given), Sums.from_json(found["sums"]), found["category"])


def flaw(found: Any) -> str:
    """What is wrong with a value that should be one of `Row.to_json`; nothing of a sound one."""
    if not isinstance(found, dict) or not {"task", "category", "response", "sums"} <= found.keys():
        return "a run has task, category, response and sums"
    if wrong := next((name for name in ("task", "category") if not isinstance(found[name], str)), ""):
        return f"{wrong} of a run is a text"
    for name, kinds in KINDS.items():
        given = found[name]
        if not isinstance(given, dict):
            return f"{name} of a run is an object"
        needed = kinds.keys() - OLDER if name == "response" else set()  # older sums have fewer
        if missing := sorted(needed - given.keys()):
            return f"{name} of a run has {missing[0]}"
        if more := sorted(given.keys() - kinds.keys()):
            return f"{name} of a run has no {shown(more[0])}"
        if wrong := next((key for key, value in given.items() if not _fits(value, kinds[key])), ""):
            return f"{name}.{wrong} of a run cannot be {shown(given[wrong])}"
    return ""


def _fits(value: Any, kind: Any) -> bool:
    numbers = value if isinstance(value, list) else [value]
    return fits(value, kind) and all(one >= 0 for one in numbers if isinstance(one, int | float))


def table(rows: Mapping[str, Sequence[Row]], plain: str = "ar") -> dict[str, dict[str, Any]]:
    """Numbers and quality of each method over the same prompts in the same order, with 95 % intervals, as JSON types.

    Intervals are over prompts, each with its repeats (and over conversations, each with its turns), so that its rounds,
    draft tokens and runs never count as independent.

    Where `plain` is among the methods the others get speed-ups and differences from it; the runs of a prompt must have
    been measured in one process then, in turns. Among the intervals `rounds` and `reward_calls` are the calls of the
    target and of a reward model a response. Where prompts have categories, `categories` holds the same of each.
    """
    found = _table(rows, plain)
    for category in dict.fromkeys(row.category for own in rows.values() for row in own if row.category):
        part = {name: [row for row in own if row.category == category] for name, own in rows.items()}
        for name, line in _table(part, plain).items():
            found[name].setdefault("categories", {})[category] = line
    return found


def _table(rows: Mapping[str, Sequence[Row]], plain: str) -> dict[str, dict[str, Any]]:
    baseline = rows.get(plain)
    return {name: _line(own, baseline, name == plain) for name, own in rows.items()}


def _line(own: Sequence[Row], baseline: Sequence[Row] | None, is_plain: bool) -> dict[str, Any]:
    each = [row.sums for row in own]
    found = sum(each, Sums()).numbers()
    if baseline and not is_plain:
        found |= speedups(each, [row.sums for row in baseline])
    clusters = [row.response.cluster for row in own]
    spread = of_sums(each, clusters) | {"rounds": _a_response(own, [one.rounds for one in each])}
    if any(one.reward_calls for one in each):
        spread["reward_calls"] = _a_response(own, [one.reward_calls for one in each])
    if baseline and not is_plain:
        pairs = zip(added(clusters, each), added(clusters, [row.sums for row in baseline]), strict=True)
        spread["speedup"] = speedup_interval([(a.tokens, a.ms, b.tokens, b.ms) for a, b in pairs])
    found["intervals"] = {name: as_json(value) for name, value in spread.items()}
    found["prompts"] = len({row.response.prompt for row in own})
    told = measures(_named(own), _named(baseline or ()), {row.task for row in own})
    found["quality"] = {name: one for name, one in told.items() if not (is_plain and name.endswith(AGAINST))}
    if baseline:
        found["same_output_as_ar"] = sum(
            a.response.output == b.response.output for a, b in zip(own, baseline, strict=True)
        )
    return found


def _a_response(own: Sequence[Row], counts: Sequence[int]) -> Interval | None:
    """Mean of a count over prompts, of each prompt over its repeats; clusters count as one for the interval."""
    asked = defaultdict[Name, list[int]](list)
    for row, count in zip(own, counts, strict=True):
        asked[row.response.prompt].append(count)
    clusters = {row.response.prompt: row.response.cluster for row in own}
    return cluster_mean([sum(found) / len(found) for found in asked.values()], list(clusters.values()), positive=True)


def _named(rows: Sequence[Row]) -> Responses:
    names = counted(row.response.prompt for row in rows)
    return {name: row.response for name, row in zip(names, rows, strict=True)}
