"""EAGLE's dynamic tree: grow depth + 1 levels, verify the likeliest nodes (2406.16858, docs/methods/eagle2.md)."""

from typing import ClassVar

from torch import Tensor

from engine.config import Knob
from engine.parts import Context, Kit, Knobs, Outcome
from engine.strata.metapath import meta_path
from engine.trace.records import RoundExtras
from engine.trees.growth import TREE_KNOBS, Growth, Plan, check_size


class DynamicTree:
    """Every branch of the frontier goes on, to the full depth."""

    NAME: ClassVar[str] = "dynamic_tree"
    KIND: ClassVar[str] = "dynamic_tree"
    NEEDS: ClassVar[tuple[str, ...]] = ()
    KNOBS: ClassVar[tuple[Knob, ...]] = TREE_KNOBS

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.total, self.depth, self.width = check_size(knobs, kit.target.context, kit.target.only_chains)

    def begin(self) -> None: ...

    def plan(self, context: Context) -> Plan:
        return Plan(min(self.depth + 1, context.room), self.width, min(self.total - 1, context.space))

    def admit(self, grown: Growth, logits_RV: Tensor) -> list[int] | None:
        return None

    def settle(self, grown: Growth, plan: Plan) -> Plan:
        return plan

    def report(self, grown: Growth, plan: Plan, full: bool) -> RoundExtras:
        """Levels and, in a full trace of a tree of full depth, the cumulative entropy that HeteroSpec's strata are
        learnt from."""
        if not full or grown.levels <= self.depth:
            return {"levels": grown.levels}
        phi, path = meta_path(grown, grown.width)
        return {"levels": grown.levels, "phi": phi, "meta_path": path}

    def observe(self, outcome: Outcome) -> None: ...
