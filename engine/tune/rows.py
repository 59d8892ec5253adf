"""Rows: results of long experiments as JSON lines, one a finished trajectory, so that a stopped run goes on where it was."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.errors import ConfigError
from engine.tasks.catalogue import Task
from engine.tasks.problem import Problem
from engine.trace.store import Trace


class Rows:
    """An append-only file of rows. Its first line says what the experiment is; another experiment is refused."""

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        """Open or create.

        Raises:
            ConfigError: the file holds another experiment, or is damaged.
        """
        self.path, self.rows = path, list[dict[str, Any]]()
        known = list(_lines(path)) if path.exists() else []
        if known:
            if known[0] != {"settings": settings}:
                raise ConfigError(f"{path} holds another experiment: {json.dumps(known[0])[:300]}. Give another --out.")
            self.rows = [row for row in known[1:] if "method" in row]
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._write({"settings": settings})

    def _write(self, row: dict[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")

    def add(self, rows: list[dict[str, Any]]) -> None:
        """Append rows that belong together."""
        for row in rows:
            self._write(row)
        self.rows += rows

    def done(self, method: str, problem: str, n: int) -> bool:
        """Whether all n trajectories of a method on a problem are there."""
        return len([r for r in self.rows if r["method"] == method and r["problem"] == problem]) >= n


def read_rows(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Settings and rows of a file.

    Raises:
        ConfigError: no such file, or damaged.
    """
    found = list(_lines(path)) if path.is_file() else []
    if not found or "settings" not in found[0]:
        raise ConfigError(f"{path} holds no experiment.")
    return found[0]["settings"], [row for row in found[1:] if "method" in row]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            if number < len(lines):
                raise ConfigError(f"{path}, line {number} is not JSON.") from None


def row_of(trace: Trace, method: str, problem: Problem, task: Task) -> dict[str, Any]:
    """What tables need of one trajectory: counts, times, the answer and whether it is right."""
    rounds = trace.rounds
    end = trace.end
    return {
        "method": method, "problem": problem.key, "trajectory": trace.head.extras["trajectory"],
        "tokens": sum(r.emitted for r in rounds), "rounds": len(rounds), "drafted": sum(r.drafted for r in rounds),
        "accepted": sum(r.accepted for r in rounds), "verify_tokens": sum(r.fed for r in rounds),
        "seconds": round(sum(r.draft_ms + r.verify_ms + r.other_ms for r in rounds) / 1e3, 6),
        "draft_s": round(sum(r.draft_ms for r in rounds) / 1e3, 6), "verify_s": round(sum(r.verify_ms for r in rounds) / 1e3, 6),
        "answer": task.extract(trace.text), "truth": problem.answer, "score": task.score(problem, trace.text),
        "reason": end.reason if end else "", "ids": trace.token_ids,
    }  # fmt: skip
