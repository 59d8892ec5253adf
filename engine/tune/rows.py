"""Rows: results of long experiments as JSON lines, one a finished trajectory, so that a stopped run can go on."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from engine.errors import ConfigError
from engine.files.held import hold_whole
from engine.files.places import no_file
from engine.files.shards import MAIN, Shard, parts
from engine.files.written import append, write
from engine.tasks.marking import Marking
from engine.tasks.problem import Problem
from engine.tasks.rows import cut_in_head, json_lines, mend
from engine.trace.outcome import calls
from engine.trace.store import Trace

Row = dict[str, Any]
BEGINS = b'{"settings"'
FIELDS = {"method", "problem", "trajectory", "tokens", "rounds", "seconds", "verify_tokens", "answer", "truth", "ids"}


class Rows:
    """A file of rows that grows by sets: all n trajectories of a method on a problem. Its first line is the experiment.

    Opening one that exists goes on with its whole sets; what an interruption left of another is removed, and drawn
    again. Of several processes each has a file of its own beside it, and leaves out what the others have done.
    """

    def __init__(self, path: Path, settings: dict[str, Any], shard: Shard = MAIN) -> None:
        """Open or create.

        Raises:
            ConfigError: the file holds another experiment, or is damaged.
        """
        self.whole, self.path, self.shard = path, shard.own(path), shard
        self.settings, self.rows = settings, list[Row]()
        known = self._known(self.path)
        self.others = self._beside()
        path = self.path
        self.rows = whole_sets(known[1:], int(settings.get("n", 1)))
        if not known or len(self.rows) < len(known) - 1:
            self._begin({"settings": settings})
        else:
            mend(path)

    def _known(self, path: Path) -> list[Row]:
        """Head and rows of a file; nothing of one that is missing or was cut in its head."""
        known = [] if cut_in_head(path, BEGINS) else _read(path)
        if known and known[0] != {"settings": self.settings}:
            raise ConfigError(f"{path} holds another experiment: {json.dumps(known[0])[:300]}. Give another --out.")
        return known

    def _beside(self) -> list[Row]:
        """Whole sets of the files of others."""
        found = [row for path in parts(self.whole) if path != self.path for row in self._known(path)[1:]]
        return whole_sets(found, int(self.settings.get("n", 1)))

    def gather(self, sets: Sequence[tuple[str, str]]) -> int:
        """How many of these sets (method, problem) are missing; where none is, the whole file is written in this order.

        A process that is alone has written it whole.

        Raises:
            ConfigError: a process that has no shard of the work is still writing it.
        """
        if missing := len(set(sets) - self._sets().keys()):
            return missing
        with hold_whole(self.whole, self.shard):
            own = self._sets()
            if self.others or not self.shard.alone:
                rest = [name for name in own if name not in set(sets)]
                write(
                    self.whole,
                    _lines([{"settings": self.settings}, *(row for name in (*sets, *rest) for row in own[name])]),
                )
        return 0

    def _sets(self) -> dict[tuple[str, str], list[Row]]:
        """The whole sets of all processes by now."""
        self.others = self._beside()
        found: dict[tuple[str, str], list[Row]] = {}
        for row in whole_sets([*self.others, *self.rows], int(self.settings.get("n", 1))):
            found.setdefault((row["method"], row["problem"]), []).append(row)
        return found

    def _begin(self, head: Row) -> None:
        """Write all that is known; the file appears whole or not at all."""
        write(self.path, _lines([head, *self.rows]))

    def add(self, rows: list[Row]) -> None:
        """Append rows that belong together, in one write."""
        append(self.path, _lines(rows))
        self.rows += rows

    def done(self, method: str, problem: str, n: int) -> bool:
        """Whether all n trajectories of a method on a problem are there."""
        known = [r for rows in (self.rows, self.others) for r in rows]
        return len([r for r in known if r["method"] == method and r["problem"] == problem]) >= n


def _lines(rows: Iterable[Row]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode("utf-8")


def whole_sets(rows: Sequence[Row], n: int) -> list[Row]:
    """The sets with all their n trajectories, in the order of the file; of a trajectory drawn twice the later one."""
    last = {(row["method"], row["problem"], row["trajectory"]): row for row in rows}
    counts: dict[tuple[str, str], int] = {}
    for method, problem, _ in last:
        counts[method, problem] = counts.get((method, problem), 0) + 1
    return [row for (method, problem, _), row in last.items() if counts[method, problem] >= n]


def read_rows(path: Path) -> tuple[Row, list[Row]]:
    """Settings and rows of a file, also of one that is still growing.

    Raises:
        ConfigError: no such file, a damaged one, or one without a finished trajectory.
    """
    if not path.is_file():
        raise ConfigError(no_file(path))
    found = [] if cut_in_head(path, BEGINS) else _read(path)
    if not found:
        raise ConfigError(f"{path} holds no experiment.")
    if len(found) == 1:
        raise ConfigError(f"{path} holds no finished trajectory yet: run its command again, with more time.")
    return found[0]["settings"], found[1:]


def _read(path: Path) -> list[Row]:
    """Head and rows; a last line that was cut off is left out."""
    lines = list(json_lines(path, torn=True))
    if not lines or not isinstance(lines[0][1], dict) or not isinstance(lines[0][1].get("settings"), dict):
        raise ConfigError(f"{path} holds no experiment.")
    for number, row in lines[1:]:
        if not isinstance(row, dict) or not FIELDS.issubset(row):
            raise ConfigError(f"{path}, line {number} is no trajectory: one has {', '.join(sorted(FIELDS))}.")
    return [row for _, row in lines]


def row_of(trace: Trace, method: str, problem: Problem, task: Marking) -> Row:
    """What tables need of one trajectory: counts, times, the answer and whether it is right (None if unknown)."""
    rounds = trace.rounds
    end = trace.end
    return {
        "method": method,
        "problem": problem.key,
        "trajectory": trace.head.extras["trajectory"],
        "tokens": sum(r.emitted for r in rounds),
        "rounds": calls(rounds),
        "drafted": sum(r.drafted for r in rounds),
        "accepted": sum(r.accepted for r in rounds),
        "verify_tokens": sum(r.fed for r in rounds),
        "seconds": round(sum(r.draft_ms + r.verify_ms + r.other_ms for r in rounds) / 1e3, 6),
        "draft_s": round(sum(r.draft_ms for r in rounds) / 1e3, 6),
        "verify_s": round(sum(r.verify_ms for r in rounds) / 1e3, 6),
        "answer": task.extract(trace.text),
        "truth": problem.answer,
        "score": _score(trace.text, problem, task),
        "reason": end.reason if end else "",
        "ids": trace.token_ids,
    }


def _score(text: str, problem: Problem, task: Marking) -> float | None:
    try:
        return task.score(problem, text)
    except ConfigError:  # there is no right answer, or generated code may not be run here
        return None
