"""Whole runs of the tree methods at temperature 1 on a toy whose distribution is known: chi-square of the first three tokens.

The third token of three is the first that leaves room for a draft token: prefill gives the first, and a round always adds one of its own.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from engine.config import Sampling
from engine.lab import Lab
from tests.engine.heads import made
from tests.engine.toy import joint_distribution, toy_lab

RUNS = 1500


def toy_with_heads(folder: Path, stop: Sequence[int] = ()) -> Lab:
    """Heads of the toy's widths (8 letters), in its float64."""
    lab = toy_lab(V=8, stop=stop, draft=None)
    lab.asset_paths |= {
        "eagle2": str(made.eagle(folder / "2", lab.target, "eagle2", hidden_size=8, num_attention_heads=2)),
        "eagle3": str(made.eagle(folder / "3", lab.target, "eagle3", draft_vocab=6, num_attention_heads=2)),
        "medusa": str(made.medusa(folder / "m", lab.target)),
        "hydra": str(made.hydra(folder / "h", lab.target)),
        "dflash": str(made.dflash(folder / "d", lab.target)),
    }
    return lab


def chi_square(lab: Lab, method: str, **knobs: object) -> float:
    """p-value of the joint distribution of the first three tokens."""
    from scipy.stats import chi2  # scikit-learn brings it

    distribution = joint_distribution(lab.target, [1, 2], 3, Sampling(1.0))
    seen = Counter(
        tuple(lab.run(method, [1, 2], max_new_tokens=3, temperature=1.0, seed=s, record="light", **knobs).token_ids)
        for s in range(RUNS)
    )
    kept = {text: RUNS * p for text, p in distribution.items() if RUNS * p >= 5}
    rest = RUNS - sum(kept.values())
    cells = [(seen[text], want) for text, want in kept.items()] + [(RUNS - sum(seen[t] for t in kept), rest)]
    value = sum((got - want) ** 2 / want for got, want in cells)
    return float(chi2.sf(value, len(cells) - 1))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["eagle2", "eagle3", "medusa", "hydra", "heterospec", "dflash"])
def test_the_sampled_distribution_is_the_targets(tmp_path: Path, method: str) -> None:
    lab = toy_with_heads(tmp_path)
    knobs: dict[str, object] = {"total_token": 8, "depth": 2, "tree_top_k": 3}
    if method == "dflash":
        knobs = {"gamma": 2}
    if method in ("medusa", "hydra"):
        knobs = {"tree_nodes": 10, "tree_depth": 3}
    if method == "heterospec":
        knobs |= {"thresholds": "2.5,3.5"}
    assert chi_square(lab, method, **knobs) > 1e-4


@pytest.mark.slow
def test_typical_acceptance_is_not(tmp_path: Path) -> None:
    """The same test sees a rule that changes the distribution."""
    assert chi_square(toy_with_heads(tmp_path), "medusa_typical", tree_nodes=10, tree_depth=3) < 1e-6
