"""Statistics of the visible rounds: the page computes them while time is scrubbed, the engine for whole runs."""

from typing import Any

from engine.analysis.calibration import calibration, trials
from engine.files.places import PRESETS
from engine.trace.events import Round
from engine.trace.metrics import metrics
from engine.trace.outcome import tcr
from engine.trace.store import Trace

RUNS = (
    "easd_helps-0-ar",
    "easd_helps-1-sd",
    "easd_helps-2-easd",
    "tree_code-2-eagle3",
    "first_look-3-cm_asd",  # draft tokens that were made and not kept
    "copying-1-pld",
)
NAMES = ("tokens", "rounds", "drafted", "accepted", "tau", "draft_s", "verify_s", "other_s", "cost_ratio")


def vectors() -> dict[str, Any]:
    return {"cases": [_case(run, part) for run in RUNS for part in (3, 8, None)]}


def _case(name: str, rounds: int | None) -> dict[str, Any]:
    """Numbers of the first so many rounds (all if None) of a run in presets/traces."""
    whole = Trace.load(PRESETS / "traces" / f"{name}.jsonl.gz")
    shown = whole.rounds[:rounds]
    found = metrics(Trace([whole.head, *shown]))
    return {
        "run": name,
        "rounds": len(shown),
        "numbers": {key: found[key] for key in (*NAMES, "tokens_per_s", "accepted_histogram")},
        "by_depth": {key: found["accept_by_depth"][key] for key in ("accepted", "tested", "marginal", "conditional")},
        "calibration": _calibration(shown),
        "tcr": [tcr(event) for event in shown],
    }


def _calibration(rounds: list[Round]) -> dict[str, Any]:
    found = calibration(trials(rounds))
    if not found.n:
        return {"n": 0, "said": None, "share": None, "error": None, "bins": []}
    bins = [
        {"n": one.n, "kept": one.kept} | ({"said": one.said, "share": one.share} if one.n else {}) for one in found.bins
    ]
    return {"n": found.n, "said": found.said, "share": found.share, "error": found.error, "bins": bins}
