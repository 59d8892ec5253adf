"""What is kept of the runs of an item: numbers, a column a number, a place a prompt. No traces."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from engine.analysis.quality import Response, Responses
from engine.trace import outcome
from engine.trace.store import Trace
from engine.trace.sums import Sums

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Record:
    """The runs of a method on the prompts of a task: prompt by prompt, and its repeats one after the other."""

    task: str
    label: str
    repeats: int = 1
    tokens: list[int] = field(default_factory=list)  # emitted
    calls: list[int] = field(default_factory=list)  # of the target, the prefill outside
    fed: list[int] = field(default_factory=list)  # tokens given to the target, roots included
    drafted: list[int] = field(default_factory=list)
    accepted: list[int] = field(default_factory=list)
    output: list[str] = field(default_factory=list)  # a fingerprint of the ids
    penalised: list[int] | None = None  # draft tokens whose entropy trigger fired; None where traces were light
    right: list[int] | None = None  # 1 where the answer is right; None where the task has none
    answer: list[str] | None = None  # as extracted, where measures need it
    ms: list[float] | None = None  # of decoding, the prefill outside; None where times were not to be trusted
    draft_ms: list[float] | None = None  # of that, drafting

    def to_json(self) -> Row:
        """JSON types; columns that were not kept are absent."""
        return {name: value for name, value in asdict(self).items() if value is not None}


COLUMNS = ("tokens", "calls", "fed", "drafted", "accepted", "output")
OPTIONAL = ("penalised", "right", "answer", "ms", "draft_ms")


def numbers(trace: Trace, right: bool | None, answer: str | None, times: bool) -> Row:
    """What is kept of one run."""
    penalised = [outcome.penalised(r) for r in trace.rounds]
    row = {
        "tokens": len(trace.tokens),
        "calls": outcome.calls(trace.rounds),
        "fed": sum(r.fed for r in trace.rounds),
        "drafted": sum(map(outcome.drafts, trace.rounds)),
        "accepted": sum(map(outcome.kept, trace.rounds)),
        "output": hashlib.blake2b(repr(trace.token_ids).encode(), digest_size=4).hexdigest(),
        "penalised": None if None in penalised else sum(p for p in penalised if p is not None),
        "right": None if right is None else int(right),
        "answer": answer,
        "ms": round(sum(r.draft_ms + r.verify_ms + r.other_ms for r in trace.rounds), 3) if times else None,
        "draft_ms": round(Sums.of_rounds(trace.rounds).draft_ms, 3) if times else None,
    }
    return {name: value for name, value in row.items() if value is not None}


def record(task: str, label: str, repeats: int, rows: Sequence[Row]) -> Record:
    """The columns of some runs; an optional column that one of them lacks is left out."""
    columns = {name: [row[name] for row in rows] for name in COLUMNS}
    more = {name: [row[name] for row in rows] for name in OPTIONAL if rows and all(name in row for row in rows)}
    return Record(task, label, repeats, **columns, **more)


@dataclass(frozen=True, slots=True)
class Records:
    """The runs of an item, by task and label; references of the prompts where measures need them."""

    by_name: Mapping[tuple[str, str], Record]
    references: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def responses(self, task: str, label: str) -> Responses:
        """Responses as `engine.analysis.quality` takes them."""
        found, given = self.by_name[task, label], self.references.get(task, ())
        named: Responses = {}
        for i, tokens in enumerate(found.tokens):
            prompt, repeat = divmod(i, found.repeats)
            named[task, prompt, repeat] = Response(
                (task, prompt),
                tokens,
                found.output[i],
                found.answer[i] if found.answer else "",
                given[prompt] if given else "",
                bool(found.right[i]) if found.right else None,
            )
        return named


def to_json(found: Records) -> Row:
    """Records as JSON types."""
    return {"runs": [one.to_json() for one in found.by_name.values()], "references": dict(found.references)}


def from_json(raw: Mapping[str, Any]) -> Records:
    """Records as they were written."""
    runs: Iterable[Record] = (Record(**one) for one in raw["runs"])
    return Records({(one.task, one.label): one for one in runs}, raw.get("references", {}))
