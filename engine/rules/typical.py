"""Typical acceptance (K7): keep what the target finds plausible, on the longest path that holds (Medusa, 2401.10774, 2.3.1)."""

from typing import ClassVar

from engine.config import Guarantee, Knob
from engine.parts import Kit, Knobs
from engine.verify import Check, Verdict, walk
from engine.view import RoundView


class Typical:
    """Accept x if p(x) > min(epsilon, delta exp(-H(p))); ties of length go to the larger sum of log p.

    p is the law that is sampled from, and H its entropy in nats. At temperature 0 the exact walk decides (K4), as in the
    reference code; above, the output does not follow the target's law.
    """

    NAME: ClassVar[str] = "typical"
    GUARANTEE: ClassVar[Guarantee] = "lossy"
    NEEDS: ClassVar[tuple[str, ...]] = ()
    SHAPES: ClassVar[tuple[str, ...]] = ()
    entries = 0
    bonus = True
    KNOBS: ClassVar[tuple[Knob, ...]] = (
        Knob(
            "epsilon", 0.09, "a guess above this probability always stays", 0.0, 1.0, 0.01, "probability", origin="code"
        ),
        Knob("delta", 0.3, "weight of exp(-entropy) in the threshold", 0.0, 1.0, 0.01, origin="code"),
    )

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.epsilon, self.delta = float(knobs["epsilon"]), float(knobs["delta"])

    def decide(self, view: RoundView) -> Verdict:
        draft = view.draft
        if view.sampling.greedy or not len(draft):
            return walk(view)
        p = view.p
        rows = p[[parent + 1 for parent in draft.parents]]
        mine = rows[range(len(draft)), list(draft.tokens)]
        h = -(rows * rows.log()).nan_to_num_(0.0).sum(-1)
        limit = (self.delta * (-h).exp()).clamp(max=self.epsilon)
        shares, entropies, limits = mine.tolist(), h.tolist(), limit.tolist()
        path = self._longest(view, shares, limits, mine.log().tolist())
        verdict = Verdict(path)
        self._explain(view, verdict, shares, entropies, limits)
        at = path[-1] if path else -1
        verdict.emit = view.emit(at + 1)
        verdict.origin = "correction" if draft.kids[at + 1] else "bonus"
        return verdict

    def _longest(self, view: RoundView, shares: list[float], limits: list[float], logs: list[float]) -> list[int]:
        draft, sums = view.draft, dict[int, float]()
        best: tuple[int, float, int] | None = None
        for i, parent in enumerate(draft.parents):
            if shares[i] > limits[i] and (parent < 0 or parent in sums):
                sums[i] = logs[i] + (sums[parent] if parent >= 0 else 0.0)
                key = (draft.depths[i], sums[i], -i)
                best = key if best is None else max(best, key)
        path, at = list[int](), -best[2] if best else -1
        while at >= 0:
            path.append(at)
            at = draft.parents[at]
        return path[::-1]

    def _explain(
        self, view: RoundView, verdict: Verdict, shares: list[float], entropies: list[float], limits: list[float]
    ) -> None:
        """Children along the path: kept, refused, or plausible but on a shorter path (these stay untested)."""
        for at in (-1, *verdict.path):
            for kid in view.draft.kids[at + 1]:
                kept = kid in verdict.path
                if kept or shares[kid] <= limits[kid]:
                    reason = {
                        "id": f"typical_{'accept' if kept else 'reject'}",
                        "p": shares[kid],
                        "threshold": limits[kid],
                        "h": entropies[kid],
                    }
                    verdict.checks[kid] = Check("accepted" if kept else "rejected", float(kept), None, reason)
