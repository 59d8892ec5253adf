"""AdaEDL on an EAGLE tree, as HeteroSpec compares against in A.10; how it was ported is not said (methods.md 4.23)."""

from typing import Any, ClassVar

from torch import Tensor

from engine.config import Knob
from engine.parts import Context, Kit, Knobs, Outcome
from engine.sampling import entropy
from engine.stopping import KNOBS, EntropyBound
from engine.tree import TREE_KNOBS, Growth, Plan, check_size


class EntropyStopTree:
    """Level by level: the first always grows; later ones while the bound holds for the entropy of the frontier.

    `scope` "tree" asks the likeliest frontier node, "mean" the mean of the frontier, and "branch" every node for itself.
    """

    NAME: ClassVar[str] = "entropy_stop_tree"
    KIND: ClassVar[str] = "dynamic_tree"
    KNOBS: ClassVar[tuple[Knob, ...]] = (
        *TREE_KNOBS,
        Knob(
            "scope",
            "tree",
            "whose entropy counts: the likeliest node's or the frontier's mean for all, or each for its branch",
            choices=("tree", "mean", "branch"),
        ),
        *KNOBS,
    )

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.total, self.depth, self.width = check_size(knobs, kit.target.context)
        self.scope, self.bound = str(knobs["scope"]), EntropyBound(knobs)
        self._stopped: float | None = None
        self._drafted = 0

    def begin(self) -> None:
        self.bound.begin()

    def plan(self, context: Context) -> Plan:
        self._stopped, self._drafted = None, 0
        return Plan(min(self.depth + 1, context.room), self.width, min(self.total - 1, context.space))

    def admit(self, grown: Growth, logits_RV: Tensor) -> list[int] | None:
        if grown.levels == 0:
            return None
        h: list[float] = entropy(logits_RV).tolist()
        if self.scope == "branch":
            kept = [row for row, value in enumerate(h) if not self.bound.stops(value)]
        else:
            asked = h[0] if self.scope == "tree" else sum(h) / len(h)
            kept = [] if self.bound.stops(asked) else list(range(len(h)))
            h = [asked]
        if not kept:
            self._stopped = min(h)
        return None if len(kept) == len(grown.frontier) else kept

    def settle(self, grown: Growth, plan: Plan) -> Plan:
        return plan

    def report(self, grown: Growth, plan: Plan, full: bool) -> dict[str, Any]:
        self._drafted = grown.levels
        return {"levels": grown.levels, "lambda": self.bound.threshold, "stop_entropy": self._stopped}

    def observe(self, outcome: Outcome) -> None:
        self.bound.update(self._drafted, len(outcome.verdict.path), self.depth + 1)
        self._drafted = 0
