"""ThresholdRule: a rule that is nothing but its declaration. A new threshold is a class with four fields and a card.

The numbers that its condition names are read from the round (NUMBERS), the exact rule is asked where the effect says
so, and every number compared goes into the reason, so that replay, what-if, lines and sentences follow without further
code.
"""

from collections.abc import Callable
from typing import ClassVar, cast

from engine.config import Guarantee, Knob
from engine.parts.protocols import Kit, Knobs
from engine.threshold import OVERLAP_N, Numbers, Threshold, bind, recorded, taken_at
from engine.trace.records import Reason
from engine.verify import Check, Verdict, walk, walk_by
from engine.view import RoundView

Read = Callable[[RoundView, int, int], float | None]
NUMBERS: dict[str, Read] = {
    "h_draft": lambda view, node, n: view.stats.h_draft(node),
    "h_target": lambda view, node, n: view.stats.h_target(node),
    "overlap": lambda view, node, n: view.stats.overlap(node, n),
    "p": lambda view, node, n: view.target_share(node),
    "q": lambda view, node, n: view.draft_share(node),
    "rank": lambda view, node, n: view.ranks[node][0],
    "gap": lambda view, node, n: view.ranks[node][1],
    "confidence": lambda view, node, n: view.draft.confidence[node] if view.draft.confidence else None,
}
BROUGHT = {  # number -> the part of a view that it is read from
    **dict.fromkeys(("h_draft", "h_target", "overlap"), "stats"),
    **dict.fromkeys(("rank", "gap"), "ranks"),
}


class ThresholdRule:
    """Subclasses give NAME, KNOBS and THRESHOLD; NEEDS where the condition compares the draft's distributions."""

    NAME: ClassVar[str]
    KNOBS: ClassVar[tuple[Knob, ...]]
    THRESHOLD: ClassVar[Threshold | None]
    GUARANTEE: ClassVar[Guarantee] = "lossy"
    NEEDS: ClassVar[tuple[str, ...]] = ()
    SHAPES: ClassVar[tuple[str, ...]] = ()

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        """Bind the condition to the knobs.

        Raises:
            TypeError: the class declares no threshold, or one of a number that a round does not have.
        """
        if self.THRESHOLD is None or (unread := recorded(self.THRESHOLD, knobs).keys() - NUMBERS.keys()):
            lacks = "a threshold" if self.THRESHOLD is None else f"numbers that can be read (not {sorted(unread)})"
            raise TypeError(f"{type(self).__name__} needs {lacks}; known are {', '.join(NUMBERS)}")
        self.effect, self.sampled_only = self.THRESHOLD.effect, self.THRESHOLD.sampled_only
        self.names = tuple(recorded(self.THRESHOLD, knobs))
        self.holds, self.exact = (bind(one, knobs) for one in (self.THRESHOLD.condition, self.THRESHOLD.exact))
        self.n = taken_at(self.THRESHOLD, "overlap", knobs, usual=OVERLAP_N)
        self.entries = self.n if "overlap" in self.names else 0
        self.bonus = bool(knobs.get("bonus", True))

    def decide(self, view: RoundView) -> Verdict:
        """The exact walk with a veto or an override, or the declaration alone."""
        view.along(*(BROUGHT[name] for name in self.names if name in BROUGHT))
        if view.sampling.greedy and {"p", "q"} & {*self.names}:
            view.along("stats")
        view.along("several" if self.effect == "veto" else "choice")
        if self.effect == "veto":
            return walk(view, bonus=self.bonus, veto=self._veto)
        if self.effect == "override":
            return walk(view, bonus=self.bonus, override=self._override)
        exact = view.sampling.greedy and self.sampled_only
        return walk(view, bonus=self.bonus) if exact else walk_by(view, self._passes, bonus=self.bonus)

    def numbers(self, view: RoundView, node: int) -> Numbers:
        """The numbers that the condition names, at one node."""
        return {name: NUMBERS[name](view, node, self.n) for name in self.names}

    def _veto(self, view: RoundView, node: int) -> Reason | None:
        seen = self.numbers(view, node)
        if not self.holds(seen) or not view.several(view.draft.parents[node] + 1):
            return None  # with one finite logit nothing would be left
        return {"id": "threshold_veto", **_told(seen), "remove": view.draft.tokens[node]}

    def _override(self, view: RoundView, node: int) -> tuple[bool, Reason, None]:
        seen = self.numbers(view, node)
        keep = bool(self.holds(seen))
        new = {name: value for name, value in seen.items() if name not in ("p", "q")}  # the exact test's own stay
        return keep, {"id": "threshold_relaxed" if keep else "threshold_reject", **_told(new)}, None

    def _passes(self, view: RoundView, node: int) -> Check:
        seen = self.numbers(view, node)
        choice = view.choice[view.draft.parents[node] + 1]
        if not self.holds(seen):
            return Check("rejected", 0.0, None, {"id": "threshold_reject", **_told(seen), "choice": choice})
        state = "accepted" if self.exact(seen) else "relaxed"
        return Check(state, 1.0, None, {"id": "threshold_accept", **_told(seen), "choice": choice})


def _told(seen: Numbers) -> Reason:
    """The numbers as a reason has them: all names of NUMBERS are names of a reason, which a test sees."""
    return cast(Reason, dict(seen))
