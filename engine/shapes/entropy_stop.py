"""AdaEDL: draft on while an entropy bound with an online threshold allows, as a chain and on an EAGLE tree.

Agrawal et al. 2024 (2410.18351), algorithm 1; docs/methods/adaedl.md. The original was not at hand: the criterion and
four constants agree in three public re-implementations; what they leave open (first threshold, first acceptance rate,
clipping) is ours and a knob. HeteroSpec compares against it on a tree (A.10); how it was ported there is not said.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from torch import Tensor

from engine.config import Knob, KnobValue
from engine.draft import Draft
from engine.parts import Context, Kit, Knobs, Outcome
from engine.sampling import entropy
from engine.trace.records import RoundExtras
from engine.trees.growth import TREE_KNOBS, Growth, Plan, check_size

KNOBS: tuple[Knob, ...] = (
    Knob(
        "entropy_factor",
        0.2,
        "weight of the entropy in the bound 1 - sqrt(weight x H)",
        0.0,
        10.0,
        0.05,
        origin="code",
    ),
    Knob("lambda0", 0.5, "first threshold: stop drafting when the bound falls below it", 0.0, 2.0, 0.05),
    Knob(
        "accept_goal",
        0.9,
        "acceptance rate above which the threshold may fall",
        0.0,
        1.0,
        0.05,
        origin="code",
        advanced=True,
    ),
    Knob("lambda_step", 0.01, "step of the threshold", 0.0, 1.0, 0.005, origin="code", advanced=True),
    Knob(
        "accept_memory", 0.5, "weight of the past in the acceptance rate", 0.0, 1.0, 0.05, origin="code", advanced=True
    ),
    Knob("lambda_memory", 0.9, "weight of the past in the threshold", 0.0, 1.0, 0.05, origin="code", advanced=True),
    Knob(
        "decrease_when",
        "not_full",
        "at a high acceptance rate the threshold falls after drafts not fully accepted, or fully accepted",
        choices=("not_full", "full"),
        origin="code",
        advanced=True,
    ),
    Knob("clip_lambda", True, "keep the threshold between 0 and 1", advanced=True),
    Knob("keep_lambda", False, "carry the threshold over to the next prompt", advanced=True),
)


class EntropyBound:
    """The threshold lambda and the running acceptance rate."""

    def __init__(self, knobs: Mapping[str, KnobValue]) -> None:
        self.knobs = dict(knobs)
        self.factor = float(knobs["entropy_factor"])
        self._first = float(knobs["lambda0"])
        self.begin(fresh=True)

    def begin(self, fresh: bool = False) -> None:
        """A new run starts: back to the first threshold, unless it is to be kept."""
        if fresh or not self.knobs["keep_lambda"]:
            self.threshold, self.rate = self._first, float(self.knobs["accept_goal"])

    def stops(self, entropy: float) -> bool:
        """Whether 1 - sqrt(factor x H) < lambda; H in nats over the whole vocabulary, at temperature 1."""
        return 1 - math.sqrt(self.factor * max(entropy, 0.0)) < self.threshold

    def update(self, drafted: int, accepted: int, limit: int) -> None:
        """Learn from a verified round of `drafted` steps, of which at most `limit` were allowed."""
        if not drafted:
            return
        k = self.knobs
        past, slow, step = float(k["accept_memory"]), float(k["lambda_memory"]), float(k["lambda_step"])
        self.rate = past * self.rate + (1 - past) * accepted / drafted
        goal = self.threshold
        if self.rate < float(k["accept_goal"]):
            goal += step
        elif (accepted == limit) == (k["decrease_when"] == "full"):
            goal -= step
        self.threshold = slow * self.threshold + (1 - slow) * goal
        if k["clip_lambda"]:
            self.threshold = min(max(self.threshold, 0.0), 1.0)


class EntropyStop:
    """The first token is always drafted; at temperature 0 the entropy is of the unscaled softmax, or it would never
    stop."""

    NAME: ClassVar[str] = "entropy_stop"
    TITLE: ClassVar[str] = "entropy-stopped chain"
    KIND: ClassVar[str] = "chain"
    NEEDS: ClassVar[tuple[str, ...]] = ()
    KNOBS: ClassVar[tuple[Knob, ...]] = (
        Knob("gamma", 10, "most tokens drafted each round", 0, 128, 1, "tokens"),
        *KNOBS,
    )

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.gamma, self.bound = int(knobs["gamma"]), EntropyBound(knobs)
        self._stopped: float | None = None

    def begin(self) -> None:
        self.bound.begin()

    def limit(self) -> int:
        self._stopped = None
        return self.gamma

    def more(self, drafted: int, logits_V: Tensor) -> bool:
        return drafted == 0 or self.goes_on(drafted, float(self.weigh(logits_V.unsqueeze(0))), logits_V)

    def weigh(self, logits_NV: Tensor) -> Tensor:
        return entropy(logits_NV)

    def goes_on(self, drafted: int, weight: float, logits_V: Tensor) -> bool:
        if drafted and self.bound.stops(weight):
            self._stopped = weight
            return False
        return True

    def keep(self, draft: Draft) -> Draft:
        return replace(draft, extras={**draft.extras, "lambda": self.bound.threshold, "stop_entropy": self._stopped})

    def observe(self, outcome: Outcome) -> None:
        drafted, accepted = len(outcome.draft), len(outcome.verdict.path)
        steps = outcome.draft.steps
        self.bound.update(steps, accepted * steps // drafted if drafted else 0, self.gamma)


class EntropyStopTree:
    """Level by level: the first always grows; later ones while the bound holds for the entropy of the frontier.

    `scope` "tree" asks the likeliest frontier node, "mean" the mean of the frontier, and "branch" every node for
    itself.
    """

    NAME: ClassVar[str] = "entropy_stop_tree"
    TITLE: ClassVar[str] = "entropy-stopped tree"
    KIND: ClassVar[str] = "dynamic_tree"
    NEEDS: ClassVar[tuple[str, ...]] = ()
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
        self.total, self.depth, self.width = check_size(knobs, kit.target.context, kit.target.only_chains)
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
        return None if len(kept) == len(grown.best) else kept

    def settle(self, grown: Growth, plan: Plan) -> Plan:
        return plan

    def report(self, grown: Growth, plan: Plan, full: bool) -> RoundExtras:
        self._drafted = grown.levels
        return {"levels": grown.levels, "lambda": self.bound.threshold, "stop_entropy": self._stopped}

    def observe(self, outcome: Outcome) -> None:
        self.bound.update(self._drafted, len(outcome.verdict.path), self.depth + 1)
        self._drafted = 0
