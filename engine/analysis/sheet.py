"""Sheet: one method's trajectories on one prompt as a reader sees them: text, reused n-grams, tau, answer, vote."""

from collections.abc import Generator, Iterator, Mapping
from typing import Any

from engine.analysis.ngrams import Reuse
from engine.analysis.votes import majority
from engine.errors import ConfigError
from engine.tasks.catalogue import Task
from engine.tasks.problem import Problem
from engine.tasks.wordings import is_right
from engine.trace import outcome
from engine.trace.events import Event, Round, RunEnded, RunStarted

Row = dict[str, Any]  # JSON types


class Sheet:
    """Reads the events of `Lab.stream_trajectories`; `rows` are the finished trajectories.

    `task` tells how an answer is read from a text, `problem` whether it is right; either may be unknown. Seconds are of
    decoding.
    """

    def __init__(self, task: Task | None = None, problem: Problem | None = None) -> None:
        self.task, self.problem = task, problem
        self.rows: list[Row] = []
        self._reuse, self._row = Reuse(), Row()

    def see(self, event: Event) -> Row:
        """The next event; returns what it adds: a fresh row, pieces and marks from a position on, or a finished row."""
        if isinstance(event, RunStarted):
            if self.rows:
                self._reuse.begin()
            number = int(event.extras.get("trajectory", len(self.rows)))
            self._row = {
                "trajectory": number,
                "seed": event.seed,
                "pieces": [],
                "tokens": 0,
                "rounds": 0,
                "seconds": 0.0,
            }
            return self._row | {"pieces": []}  # whose own grow with the run
        if isinstance(event, Round):
            return self._round(event)
        return self._end(event)

    def _round(self, event: Round) -> Row:
        start = self._reuse.extend([token.token for token in event.tokens])
        pieces = [token.piece for token in event.tokens]
        row = self._row
        row["pieces"] += pieces
        row["tokens"], row["rounds"] = row["tokens"] + len(pieces), row["rounds"] + outcome.called(event)
        row["seconds"] += (event.draft_ms + event.verify_ms + event.other_ms) / 1e3
        return {
            "trajectory": row["trajectory"],
            "from": start,
            "pieces": pieces,
            "reused": self._reuse.order[start:],
            "times": self._reuse.times[start:],
            "first": self._reuse.first[start:],
            "tau": row["tokens"] / row["rounds"] if row["rounds"] else None,
        }

    def _end(self, event: RunEnded) -> Row:
        answer = self.task.extract(event.text) if self.task else None
        rounds = self._row["rounds"]
        self._row |= {
            "seconds": round(self._row["seconds"], 4),
            "tau": self._row["tokens"] / rounds if rounds else None,
            "reused": list(self._reuse.order),
            "times": list(self._reuse.times),
            "first": list(self._reuse.first),
            "answer": answer,
            "right": self._right(event.text),
            "reason": event.reason,
            "message": event.message,
        }
        self.rows.append(self._row)
        self._row["vote"] = self.vote()
        return self._row

    def _right(self, text: str) -> bool | None:
        """Whether a text solves the problem; None where that cannot be told, as when code may not be run here, or of
        another wording than the one that is known to be right."""
        if self.task is None or self.problem is None:
            return None
        if "accuracy" not in self.task.measures:
            right = is_right(self.problem, self.task.extract(text) or "")
            return right or (None if self.problem.write is None else False)
        try:
            return self.task.score(self.problem, text) >= 1
        except ConfigError:
            return None

    def vote(self) -> Row | None:
        """The majority over the finished trajectories; None when no answer can be read."""
        if self.task is None or not self.rows:
            return None
        vote = majority([row["answer"] for row in self.rows], self.task.equivalent)
        won = next((row for row in self.rows if self.task.equivalent(row["answer"], vote.answer)), None)
        right = won["right"] if won else None if self.problem is None else False
        return {"answer": vote.answer, "count": vote.count, "n": vote.n, "share": vote.share, "right": right}


def by_turns(streams: Mapping[str, Iterator[Event]]) -> Generator[tuple[str, Event], None, None]:
    """A whole run of each stream in turn until all ended; a failed run ends its stream. Closing closes them all."""
    going = dict(streams)
    try:
        while going:
            for key in list(going):
                for event in going[key]:
                    yield key, event
                    if isinstance(event, RunEnded):
                        if event.reason == "error":
                            going.pop(key)
                        break
                else:
                    going.pop(key)
    finally:
        for stream in streams.values():
            close = getattr(stream, "close", None)
            if close:
                close()
