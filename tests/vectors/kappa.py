"""Agreement of two reviewers: their files stay in the browser, so only the page computes it; scikit-learn is the reference."""

import random
from typing import Any

from sklearn.metrics import cohen_kappa_score

VERDICTS = ("agree", "disagree", "unsure")


def vectors() -> dict[str, Any]:
    return {"cases": [_case(seed, n) for seed, n in enumerate((2, 7, 40))]}


def _case(seed: int, n: int) -> dict[str, Any]:
    draw = random.Random(seed)
    first = [VERDICTS[i % 3] for i in range(n)]
    second = [verdict if draw.random() < 0.6 else draw.choice(VERDICTS) for verdict in first]
    return {
        "first": first,
        "second": second,
        "observed": sum(a == b for a, b in zip(first, second, strict=True)) / n,
        "kappa": float(cohen_kappa_score(first, second)),
    }
