"""AdaEDL's entropy bound with its online threshold (Agrawal et al. 2024, 2410.18351, algorithm 1; methods.md 4.23).

The original was not at hand: the criterion and four constants agree in three public re-implementations; what they leave open
(first threshold, first acceptance rate, clipping) is ours and a knob.
"""

import math
from collections.abc import Mapping

from engine.config import Knob, KnobValue

KNOBS: tuple[Knob, ...] = (
    Knob(
        "entropy_factor",
        0.2,
        "weight of the entropy in the bound 1 - sqrt(weight x H)",
        0.0,
        10.0,
        0.05,
        origin="paper",
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
        "at a high acceptance rate the threshold falls after drafts not fully kept, or fully kept",
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
