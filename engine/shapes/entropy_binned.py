"""HeteroSpec's tree: where the draft is sure of itself, draft deeper and verify less (sections 4.1 to 4.3; register H1
to H4, H7).

The decision depends on the draft alone, and the drafts are chosen, not drawn, so the output distribution stays exact
(H12).
"""

from dataclasses import replace
from math import ceil, floor
from typing import ClassVar

from torch import Tensor

from engine.config import Knob
from engine.errors import ConfigError
from engine.parts import Context, Kit, Knobs, Outcome
from engine.strata.bins import Strata
from engine.strata.metapath import meta_path
from engine.trace.records import RoundExtras
from engine.trees.growth import TREE_KNOBS, Growth, Plan, check_size


class EntropyBinned:
    """Bin i of the low-entropy bins grows Delta = alpha - i more levels and verifies floor(gamma_i N) + Delta
    tokens."""

    NAME: ClassVar[str] = "entropy_binned"
    TITLE: ClassVar[str] = "entropy-binned tree"
    KIND: ClassVar[str] = "dynamic_tree"
    NEEDS: ClassVar[tuple[str, ...]] = ("strata",)
    KNOBS: ClassVar[tuple[Knob, ...]] = (
        *TREE_KNOBS,
        Knob("ded", True, "dynamic extended drafting: low-entropy bins grow more levels (ablation)", origin="paper"),
        Knob("tnp", True, "top-N pruning: low-entropy bins verify fewer tokens (ablation)", origin="paper"),
        Knob(
            "dca",
            True,
            "dynamic computational adaptation: keep prepared buffers for each tree size (ablation; same tokens)",
            origin="paper",
        ),
        Knob("low_bins", 3, "bins that count as low-entropy; never all of them", 0, 32, 1, "bins", origin="paper"),
        Knob("gamma_0", 0.3, "share of total_token verified in bin 0", 0.0, 1.0, 0.05, origin="paper"),
        Knob("gamma_1", 0.6, "share of total_token verified in bin 1", 0.0, 1.0, 0.05, origin="paper"),
        Knob(
            "gamma_2",
            1.0,
            "share of total_token verified in bin 2 and further low bins",
            0.0,
            1.0,
            0.05,
            origin="paper",
        ),
        Knob(
            "alpha",
            -1,
            "levels added in bin 0, one fewer in each next; -1 is half the depth, rounded up",
            -1,
            30,
            1,
            "levels",
            origin="paper",
        ),
        Knob("delta_index_base", 0, "number of the first bin in Delta = alpha - i", 0, 1, 1, advanced=True),
        Knob("phi_top_k", 10, "probabilities a step in the cumulative entropy", 2, 64, 1, "tokens", advanced=True),
        Knob(
            "meta_path",
            "learnt",
            "the meta-path ends where the last token's own (local), or the whole path's (cumulative), probability is "
            "highest, with the thresholds learnt along such paths where there are some; learnt: the one along which "
            "the thresholds that come first were learnt",
            choices=("learnt", "local", "cumulative"),
            advanced=True,
        ),
        Knob(
            "thresholds",
            "",
            "bins by hand, as rising numbers with commas (nats); empty takes the learnt ones",
            advanced=True,
            replaces="strata",
        ),
    )

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.total, self.depth, self.width = check_size(knobs, kit.target.context, kit.target.only_chains)
        self.strata = _by_hand(str(knobs["thresholds"])) or kit.assets.get("strata")
        if self.strata is None:
            raise ConfigError(
                "HeteroSpec needs thresholds: train them with `python -m engine.training strata`, or give "
                "thresholds=..."
            )
        wanted = str(knobs["meta_path"])
        self.meta_path = self.strata.meta_path if wanted == "learnt" else wanted
        self.strata = self.strata.along(self.meta_path)
        self.low = self.strata.low(int(knobs["low_bins"]))
        self.gammas = [float(knobs[f"gamma_{i}"]) for i in range(3)]
        alpha = int(knobs["alpha"])
        self.alpha = (ceil(self.depth / 2) if alpha < 0 else alpha) - int(knobs["delta_index_base"])
        self.knobs = dict(knobs)
        self._room = self._space = 0
        self._seen: RoundExtras = {}

    def begin(self) -> None: ...

    def plan(self, context: Context) -> Plan:
        self._room, self._space, self._seen = context.room, context.space, {}
        nodes = min(self.total - 1, context.space)
        return Plan(
            min(self.depth + 1, context.room),
            self.width,
            nodes,
            bool(self.knobs["dca"]),
            ("entropy bin", self.total - 1),
        )

    def admit(self, grown: Growth, logits_RV: Tensor) -> list[int] | None:
        return None

    def settle(self, grown: Growth, plan: Plan) -> Plan:
        """D' and N' of the bin; a tree cut short by the end of the response is left as it is."""
        if grown.levels <= self.depth or self.strata is None:
            return plan
        phi, path = meta_path(grown, int(self.knobs["phi_top_k"]), self.meta_path == "cumulative")
        place = self.strata.bin(phi)
        self._seen = {"phi": phi, "bin": place, "meta_path": path}
        if place >= self.low:
            return plan
        delta = max(0, self.alpha - place) if self.knobs["ded"] else 0
        size = floor(self.gammas[min(place, 2)] * self.total + 1e-9) + delta if self.knobs["tnp"] else self.total
        levels = min(plan.levels + delta, self._room)
        return replace(plan, levels=levels, nodes=min(max(size, 2) - 1, self._space))

    def report(self, grown: Growth, plan: Plan, full: bool) -> RoundExtras:
        more = max(0, grown.levels - self.depth - 1)
        return {**self._seen, "levels": grown.levels, "d_extra": more}

    def observe(self, outcome: Outcome) -> None: ...


def _by_hand(text: str) -> Strata | None:
    """Thresholds from a knob.

    Raises:
        ConfigError: not rising numbers.
    """
    if not text.strip():
        return None
    try:
        return Strata(tuple(float(part) for part in text.split(",")), {"made": "by hand"})
    except ValueError:
        raise ConfigError(
            f"thresholds = {text!r} must be rising numbers with commas between, for example 0.5,1.5,4."
        ) from None
