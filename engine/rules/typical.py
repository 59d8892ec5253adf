"""Typical acceptance (K7): accept what the target finds plausible, on the longest path that holds (Medusa, 2401.10774,
2.3.1)."""

from typing import ClassVar

from engine.config import Guarantee, Knob
from engine.parts import Kit, Knobs
from engine.sampling import sent
from engine.threshold import Compare, Op, Recorded, Setting, Threshold, bind, value
from engine.trace.records import Reason
from engine.verify import Check, Verdict, walk
from engine.view import RoundView

_PLAUSIBLE = Compare(
    Recorded("p"),
    ">",
    Op(
        "min",
        (Setting("epsilon"), Op("mul", (Setting("delta"), Op("exp", (Op("sub", (0, Recorded("h", field=""))),))))),
    ),
)


class Typical:
    """Accept x if p(x) > min(epsilon, delta exp(-H(p))); ties of length go to the larger sum of log p.

    p is the distribution that is sampled from, and H its entropy in nats. At temperature 0 the exact walk decides
    (K4), as in the reference code; above, the output does not follow the target's distribution.
    """

    NAME: ClassVar[str] = "typical"
    TITLE: ClassVar[str] = "typical acceptance"
    GUARANTEE: ClassVar[Guarantee] = "lossy"
    NEEDS: ClassVar[tuple[str, ...]] = ()
    SHAPES: ClassVar[tuple[str, ...]] = ()
    THRESHOLD: ClassVar[Threshold | None] = Threshold(
        "decide",
        _PLAUSIBLE,
        says="accepted where the target gives the draft token more than min(epsilon, delta exp(-entropy))",
        limits=(("p", "threshold"),),
        sampled_only=True,
        longest=True,
    )
    entries = 0
    bonus = True
    KNOBS: ClassVar[tuple[Knob, ...]] = (
        Knob(
            "epsilon",
            0.09,
            "a draft token above this probability is acceptable whatever the entropy",
            0.0,
            1.0,
            0.01,
            "probability",
            origin="code",
        ),
        Knob("delta", 0.3, "weight of exp(-entropy) in the threshold", 0.0, 1.0, 0.01, origin="code"),
    )

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.holds, self.limit = bind(_PLAUSIBLE, knobs), value(_PLAUSIBLE.right, knobs)

    def decide(self, view: RoundView) -> Verdict:
        draft = view.draft
        if view.sampling.greedy or not len(draft):
            return walk(view)
        p = view.p
        rows = p.index_select(0, sent([parent + 1 for parent in draft.parents], p.device))
        mine = rows.gather(1, sent(draft.tokens, rows.device).unsqueeze(1)).squeeze(1)
        h = -(rows * rows.log()).nan_to_num_(0.0).sum(-1)
        shares, entropies, logs = view.sound(mine, h, mine.log())
        seen = [{"p": share, "h": entropy} for share, entropy in zip(shares, entropies, strict=True)]
        holds = [bool(self.holds(numbers)) for numbers in seen]
        path = self._longest(view, holds, logs)
        verdict = Verdict(path)
        self._explain(view, verdict, holds, seen)
        at = path[-1] if path else -1
        verdict.emit = view.emit(at + 1)
        verdict.origin = "correction" if draft.kids[at + 1] else "bonus"
        return verdict

    def _longest(self, view: RoundView, holds: list[bool], logs: list[float]) -> list[int]:
        draft, sums = view.draft, dict[int, float]()
        best: tuple[int, float, int] | None = None
        for i, parent in enumerate(draft.parents):
            if holds[i] and (parent < 0 or parent in sums):
                sums[i] = logs[i] + (sums[parent] if parent >= 0 else 0.0)
                key = (draft.depths[i], sums[i], -i)
                best = key if best is None else max(best, key)
        path, at = list[int](), -best[2] if best else -1
        while at >= 0:
            path.append(at)
            at = draft.parents[at]
        return path[::-1]

    def _explain(self, view: RoundView, verdict: Verdict, holds: list[bool], seen: list[dict[str, float]]) -> None:
        """Children along the path: accepted, rejected, or plausible but on a shorter path (these stay untested)."""
        for at in (-1, *verdict.path):
            for kid in view.draft.kids[at + 1]:
                kept = kid in verdict.path
                if kept or not holds[kid]:
                    reason: Reason = {
                        "id": f"typical_{'accept' if kept else 'reject'}",
                        "p": seen[kid]["p"],
                        "threshold": self.limit(seen[kid]),
                        "h": seen[kid]["h"],
                    }
                    verdict.checks[kid] = Check("accepted" if kept else "rejected", float(kept), None, reason)
