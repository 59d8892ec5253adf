"""Strata: where the cumulative entropy of a draft tree is cut into bins (HeteroSpec, section 4.2), as plain data.

Thresholds come from a regression tree (`engine.strata.learning`); a value equal to a threshold lies left of it, as in
CART.
"""

import json
import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from engine.errors import AssetError, ModelMismatch
from engine.files.documents import fits, read_object
from engine.files.written import write

MOST_BINS = 64
OTHERS = "strata-*.json"  # beside a folder's strata.json


@dataclass(frozen=True)
class Strata:
    """Strictly rising thresholds in nats; bins count from 0, lowest entropy first. `card` says what they were learnt
    from."""

    thresholds: tuple[float, ...]
    card: Mapping[str, Any] = field(default_factory=dict, compare=False)
    others: tuple["Strata", ...] = field(default=(), compare=False)  # learnt along other meta-paths (register H7)

    def __post_init__(self) -> None:
        if any(math.isnan(t) for t in self.thresholds) or any(
            a >= b for a, b in zip(self.thresholds, self.thresholds[1:], strict=False)
        ):
            raise ValueError("thresholds must rise strictly")

    @property
    def bins(self) -> int:
        """Number of bins."""
        return len(self.thresholds) + 1

    def bin(self, phi: float) -> int:
        """The bin of a value."""
        return bisect_left(self.thresholds, phi)

    @property
    def meta_path(self) -> str:
        """The path along which the thresholds were learnt, "local" or "cumulative"."""
        return str(self.card.get("meta_path", "local"))

    def along(self, meta_path: str) -> "Strata":
        """The thresholds learnt along that meta-path; these where there are none."""
        return next((one for one in (self, *self.others) if one.meta_path == meta_path), self)

    def low(self, wanted: int) -> int:
        """How many bins count as low-entropy: as wanted, but never all (register H11)."""
        return min(wanted, self.bins - 1)

    def save(self, path: str | Path) -> None:
        """Write the JSON file that the engine reads."""
        data = {"kind": "strata", **self.card, "thresholds": list(self.thresholds)}
        write(Path(path), (json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode())


def load_strata(path: str | Path, revision: str = "") -> Strata:
    """A strata file, or the `strata.json` of a folder with its `strata-*.json` as `others`; `revision` is that of the
    target it shall serve.

    Raises:
        AssetError: missing, damaged, or contradicting itself. ModelMismatch: learnt on another target.
    """
    folder = Path(path)
    found = [_own(one, revision) for one in [folder, *(sorted(folder.glob(OTHERS)) if folder.is_dir() else [])]]
    return replace(found[0], others=tuple(found[1:]))


def _own(path: Path, revision: str) -> Strata:
    strata = _read(path)
    told = strata.card.get("target")
    target = told if isinstance(told, dict) else {}
    made = target.get("revision")
    if made and revision and made != revision:
        raise ModelMismatch(
            f"The strata were learnt on the target {target.get('id')} ({made}), not on {revision}. Learn them anew "
            "with `python -m engine.training strata`, or give thresholds=... by hand."
        )
    return strata


def _read(path: Path) -> Strata:
    file = path / "strata.json" if path.is_dir() else path
    try:
        data = read_object(file)
    except AssetError as error:
        raise AssetError(f"The strata {file} cannot be used: {error}") from None
    if data.get("kind") != "strata":
        raise AssetError(f'{file} is no strata file: its "kind" is not "strata".')
    try:
        if len(data["thresholds"]) >= MOST_BINS:
            raise AssetError(f"{file} has more than {MOST_BINS} bins.")
        if not fits(data["thresholds"], list[float]):
            raise ValueError("its thresholds must be finite numbers")
        card = {k: v for k, v in data.items() if k not in ("kind", "thresholds")}
        return Strata(tuple(float(t) for t in data["thresholds"]), card)
    except KeyError:
        raise AssetError(f"The strata {file} cannot be used: they lack thresholds.") from None
    except (TypeError, ValueError) as error:
        raise AssetError(f"The strata {file} cannot be used: {error}.") from None
