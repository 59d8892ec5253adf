"""What `compare` recorded of every method, a table a set of prompts: quality beside calls, tokens a call and speed."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.analysis.intervals import FARTHEST
from engine.analysis.words import estimate, points
from engine.errors import ConfigError
from engine.files.places import ROOT

FOLDER = ROOT / "docs" / "results"  # quality-TASK.json or quality-TASK-ASKED.json, see `ASKED`
PREFIX = "quality-"
ASKED = {  # what a recording is of, by the word after the task
    "": "--methods all",
    "majority": "--methods ar,sd --temperature 1 --repeats 5",
}
COLUMNS = {  # of a method's quality -> heading, whether it is a share
    "accuracy": ("right, %", True),
    "accuracy_difference": ("less `ar`'s, points", True),
    "majority": ("majority right, %", True),
    "majority_difference": ("less `ar`'s, points", True),
    "bleu": ("BLEU", False),
    "bleu_difference": ("less `ar`'s, points", False),
    "bleu_relative": ("BLEU, % of `ar`'s", False),
    "rougeL": ("ROUGE-L", False),
    "same_as_ar": ("same output, %", True),
    "response_tokens": ("tokens a response", False),
}
LOSSES = ("accuracy_difference", "bleu_difference")  # what a method costs, in points; a task has one of them
COSTS = {  # of a method's intervals -> heading, decimals; calls are those of one answer
    "rounds": ("target calls", 1),
    "tau": ("tokens a call", 2),
    "reward_calls": ("reward calls", 1),
    "speedup": ("speed, x `ar`'s", 2),
}


@dataclass(frozen=True, slots=True)
class Systems:
    """Methods x measures of one recording; a cell is None where a method has no such number.

    `numbers` holds what the cells tell, as {"mean", "low", "high", "n"}, by method and name: the columns of `COLUMNS`
    (shares from 0 to 1) and `COSTS`.
    """

    name: str
    command: str
    told: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str | None, ...]], ...]
    numbers: Mapping[str, Mapping[str, Mapping[str, Any] | None]]


def command(name: str) -> str:
    """What records a table, as one types it.

    Raises:
        ConfigError: no such recording.
    """
    task, _, word = name.partition("-")
    if word not in ASKED:
        raise ConfigError(f"quality-{name}.json: after the task stands one of {', '.join(filter(None, ASKED))}.")
    asked = f"{ASKED[word]} --task {task} --items 300 --threads 1 --json"
    return f"python -m engine compare {asked} > docs/results/{PREFIX}{name}.json"


def recorded(folder: Path = FOLDER) -> list[Systems]:
    """Every recording of a folder, by name.

    Raises:
        ConfigError: a file of another name.
    """
    files = sorted(folder.glob(f"{PREFIX}*.json"), key=lambda path: path.stem)
    return [_systems(path.stem.removeprefix(PREFIX), json.loads(path.read_text(encoding="utf-8"))) for path in files]


def spread(found: Mapping[str, Any] | None, share: bool, digits: int = 1) -> str | None:
    """An estimate with its interval, shares in per cent: "93.8 (86.2 to 97.3)"."""
    if found is None:
        return None
    return (points if share else estimate)(found, f"z.{digits}f")


def _firm(found: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """A speed that says something: None where its interval reaches twenty times either way, or could not be told for
    that reason. One prompt at which the machine stood still is enough for that."""
    if found is None or found["n"] == 1:
        return found
    low, high = found["low"], found["high"]
    told = low is not None and high is not None and found["mean"] <= FARTHEST * low and high <= FARTHEST * found["mean"]
    return found if told else None


def _systems(name: str, table: Mapping[str, Mapping[str, Any]]) -> Systems:
    shown = {key: told for key, told in COLUMNS.items() if any(key in row["quality"] for row in table.values())}
    costs = {key: told for key, told in COSTS.items() if any(row["intervals"].get(key) for row in table.values())}
    first = next(iter(table.values()))["quality"]
    each = "" if first["repeats"] == 1 else f", {first['repeats']} answers each"
    told = (
        f"{first['prompts']} held-out prompts{each}, recorded by `{command(name)}`; in brackets 95 % over prompts; "
        "differences are paired by prompt."
    )
    if "rounds" in costs:
        told += " Calls are those of one answer."
    if "speedup" in costs:
        told += " Speed is that of these same runs, paired by prompt, not of the bench's repetitions."
    speeds = {method: row["intervals"].get("speedup") for method, row in table.items()}
    if loose := [f"`{method}`" for method, found in speeds.items() if found and not _firm(found)]:
        told += f" That of {', '.join(loose)} is left out: its interval reaches more than {FARTHEST:.0f} times either"
        told += " way, as where the machine stands still during a run."
    if "draft_alone" in table:
        told += " `draft_alone` calls no target."
    rows, numbers = [], {}
    for method, row in table.items():
        own = {key: row["quality"].get(key) for key in shown}
        spent = {key: row["intervals"].get(key) for key in COSTS} | {"speedup": _firm(speeds[method])}
        cells = [spread(own[key], share) for key, (_, share) in shown.items()]
        cells += [spread(spent[key], False, digits) for key, (_, digits) in costs.items()]
        rows.append((method, tuple(cells)))
        numbers[method] = own | spent
    columns = [words for words, _ in (*shown.values(), *costs.values())]
    return Systems(name, command(name), told, tuple(columns), tuple(rows), numbers)
