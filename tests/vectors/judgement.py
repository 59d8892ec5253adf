"""What a threshold of a judge does: told under the slider as it moves, and in the engine's tables."""

import json
from typing import Any

from engine.analysis.judge import at_threshold
from engine.files.places import ROOT

THRESHOLDS = (0.0, 0.01, 0.1, 0.3, 0.5, 0.9, 1.0)


def vectors() -> dict[str, Any]:
    judge = json.loads((ROOT / "assets/tiny/judge-arithmetic/judge.json").read_text(encoding="utf-8"))
    scores, truth = judge["scores"][:80], [bool(t) for t in judge["truth"][:80]]
    return {
        "scores": scores,
        "important": truth,
        "cases": [at_threshold(scores, truth, threshold) for threshold in THRESHOLDS],
    }
