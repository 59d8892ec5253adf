"""Claims of cases about judges: which draft tokens were accepted or rejected, and what naive mining overlooks."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from engine.files.places import PRESETS
from engine.judge.events import Label
from engine.judge.store import read_mined
from engine.trace.events import Node
from engine.trace.store import Trace

MINED = PRESETS / "mined"
_SYMBOL = re.compile(r"[\d+*/=<>%-]")
_WORD = re.compile(r"[^\W\d_]")


def words_kept(trace: Trace) -> int:
    """Draft tokens that the judge accepted although the target prefers another, where both are words."""
    return sum(all(map(_is_word, pair)) for node, *pair in _asked(trace) if node.state == "relaxed")


def digits_refused(trace: Trace) -> int:
    """Draft tokens that are digits and were rejected by the judge in favour of another digit."""
    return sum(
        all(piece.strip().isdigit() for piece in pair)
        for node, *pair in _asked(trace)
        if (node.reason or {}).get("id") == "judge_refused"
    )


def naive_misses(prompt: str, task: str, folder: Path = MINED) -> int:
    """How many fewer labels of a prompt are important when each mismatch is tried by itself; 0 when it is not in both
    sets."""
    search, naive = (_labels(folder / f"{task}{kind}.jsonl", prompt) for kind in ("", "-naive"))
    if search is None or naive is None:
        return 0
    return sum(label.important for label in search) - sum(label.important for label in naive)


def _asked(trace: Trace) -> Iterator[tuple[Node, str, str]]:
    """Each draft token that the judge was asked about, its text, and that of the target's first choice."""
    pieces: Mapping[int, str] = trace.pieces
    for event in trace.rounds:
        for node in event.nodes:
            if node.judge is not None and node.top_target:
                yield node, pieces.get(node.token, ""), pieces.get(node.top_target[0][0], "")


def _is_word(piece: str) -> bool:
    return bool(_WORD.search(piece)) and not _SYMBOL.search(piece)


def _labels(path: Path, prompt: str) -> list[Label] | None:
    if not path.is_file():
        return None
    return next((found.labels for found in read_mined(path)[1] if found.text == prompt), None)
