"""What makes one run another again: a row of a batch the run that its prompt gives alone, a file of results the same."""

from collections.abc import Sequence
from typing import Any

from engine.config import Card
from engine.lab import Lab
from engine.trace.store import Trace
from tests.typed import some


def told(trace: Trace) -> Any:
    """All of a run but its times, and but numbers that rounding may move."""
    rounds = [
        (r.fed, r.levels, r.drafted, r.path, [(x.token, x.origin, x.node) for x in r.tokens], counts(r.extras))
        for r in trace.rounds
    ]
    return rounds, some(trace.end).reason, trace.text


def counts(extras: Any) -> dict[str, Any]:
    """The whole numbers among a round's extras."""
    return {name: value for name, value in extras.items() if isinstance(value, int)}


def timeless(value: Any) -> Any:
    """What a JSON file holds, or a part of it, without times, dates and the words that it was asked with."""
    if isinstance(value, list):
        return [timeless(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        name: timeless(one)
        for name, one in value.items()
        if not name.endswith(("_s", "seconds", "ms")) and name not in ("created", "command")
    }


def check(lab: Lab, method: str | Card, prompts: Sequence[str | Sequence[int]], **options: Any) -> list[Trace]:
    """See that each row of a batch is its single run."""
    options = {"record": "light", **options}
    batch = lab.run_batch(method, prompts, seed=5, **options)
    for row, (prompt, trace) in enumerate(zip(prompts, batch, strict=True)):
        alone = lab.run(method, prompt, seed=5 + row, **options)
        assert told(trace) == told(alone), (method, row)
        assert (trace.head.prompt_ids, trace.head.seed) == (alone.head.prompt_ids, 5 + row)
        assert trace.head.extras["row"] == row and trace.head.extras["batch"] == len(prompts)
    return batch
