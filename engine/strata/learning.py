"""Learn the bins of HeteroSpec: a regression tree from cumulative entropy to TCR (section 4.2, A.3, A.4; register H5,
H6, H11).

scikit-learn is needed here and nowhere else; the engine reads the thresholds from JSON.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from engine.analysis.heterospec import Sample, jaccard
from engine.errors import ConfigError
from engine.strata.bins import MOST_BINS, Strata

Criterion = Literal["cart", "paper_eq2"]
Filter = Literal["full", "all"]
LOW, BINS = 3, 8  # the paper's low-entropy bins, of how many
FEWEST = 8


def chosen(found: Sequence[Sample], train_filter: Filter = "full") -> list[Sample]:
    """The samples to learn from: rounds whose meta-path was accepted to its end, or all of them."""
    return [s for s in found if s.full] if train_filter == "full" else list(found)


def stratify(
    found: Sequence[Sample],
    *,
    layers: int = 3,
    criterion: Criterion = "cart",
    train_filter: Filter = "full",
    min_leaf: int = 1,
    card: dict[str, Any] | None = None,
) -> Strata:
    """Strata from samples.

    "cart" is scikit-learn's tree (size-weighted variance); "paper_eq2" minimises eq. 2 as printed, which weighs the
    sums of squares by size once more.

    Raises:
        ConfigError: too few samples, all of one entropy, or more bins than a file of strata may have.
    """
    kept = chosen(found, train_filter)
    x, y = np.array([s.phi for s in kept]), np.array([float(s.tcr) for s in kept])
    if len(kept) < FEWEST or np.ptp(x) == 0:
        raise ConfigError(
            f"Strata need at least {FEWEST} rounds of different entropy; these traces have {len(kept)} (filter "
            f"{train_filter!r})."
        )
    thresholds = _cart(x, y, layers, min_leaf) if criterion == "cart" else sorted(_split(x, y, layers, min_leaf))
    strata = Strata(tuple(thresholds))
    if strata.bins > MOST_BINS:
        raise ConfigError(
            f"A tree of {layers} layers cuts these rounds into {strata.bins} bins, and at most {MOST_BINS} are read: "
            "give fewer layers, or more rounds to a bin."
        )
    return Strata(
        strata.thresholds,
        {
            **(card or {}),
            **_facts(strata, found, kept),
            "layers": layers,
            "criterion": criterion,
            "train_filter": train_filter,
            "min_leaf": min_leaf,
        },
    )


def granularity(found: Sequence[Sample], depths: Sequence[int] = (4, 5, 6), **options: Any) -> dict[str, float]:
    """Table 4: Jaccard of the low-entropy rounds under 3 layers and under 4, 5, 6, with a proportional number of low
    bins."""
    kept = chosen(found, options.get("train_filter", "full"))
    base = _low(stratify(found, layers=3, **options), kept)
    return {f"3L-{d}L": jaccard(base, _low(stratify(found, layers=d, **options), kept)) for d in depths}


def study(found: Sequence[Sample]) -> dict[str, Any]:
    """`granularity` of what these rounds allow: of the fully accepted ones where they fill the bins, else of all
    ("rounds").

    Raises:
        ConfigError: too few rounds, or all of one entropy.
    """
    kept: Filter = "full" if len(chosen(found)) >= FEWEST * BINS else "all"
    return {"rounds": kept, "overlap": granularity(found, train_filter=kept)}


def _low(strata: Strata, kept: Sequence[Sample]) -> set[int]:
    limit = strata.low(max(1, round(strata.bins * LOW / BINS)))
    return {i for i, s in enumerate(kept) if strata.bin(s.phi) < limit}


def _cart(x: NDArray[Any], y: NDArray[Any], layers: int, min_leaf: int) -> list[float]:
    from sklearn.tree import DecisionTreeRegressor  # noqa: PLC0415  (slow to import, for this command only)

    tree = DecisionTreeRegressor(max_depth=layers, min_samples_leaf=min_leaf, random_state=0).fit(x[:, None], y).tree_
    inner = tree.children_left != -1
    return sorted({float(t) for t in tree.threshold[inner]})


def _split(x: NDArray[Any], y: NDArray[Any], layers: int, min_leaf: int) -> list[float]:
    """Recursive splits that minimise sum over sides of |side| / |D| times its sum of squared deviations."""
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]
    n = len(x)
    best, cut = np.inf, 0
    sums, squares = np.cumsum(y), np.cumsum(y * y)
    for i in range(min_leaf, n - min_leaf + 1):
        if not 0 < i < n or x[i - 1] == x[i]:
            continue
        left = squares[i - 1] - sums[i - 1] ** 2 / i
        right = squares[-1] - squares[i - 1] - (sums[-1] - sums[i - 1]) ** 2 / (n - i)
        value = i / n * left + (n - i) / n * right
        if value < best - 1e-12:
            best, cut = value, i
    if not cut or layers < 1 or np.ptp(y) == 0:
        return []
    s = float((x[cut - 1] + x[cut]) / 2)
    return [*_split(x[:cut], y[:cut], layers - 1, min_leaf), s, *_split(x[cut:], y[cut:], layers - 1, min_leaf)]


def _facts(strata: Strata, found: Sequence[Sample], kept: Sequence[Sample]) -> dict[str, Any]:
    """Counts for the reader: rounds seen and kept, and of each bin its rounds, mean TCR and mean accepted draft
    tokens."""
    rows = []
    for b in range(strata.bins):
        inside = [s for s in found if strata.bin(s.phi) == b]
        mean = (
            {"tcr": float(np.mean([s.tcr for s in inside])), "accepted": float(np.mean([s.accepted for s in inside]))}
            if inside
            else {}
        )
        rows.append({"bin": b, "rounds": len(inside), **mean})
    return {"rounds": len(found), "kept": len(kept), "bins": rows}
