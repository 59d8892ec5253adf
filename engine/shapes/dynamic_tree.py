"""EAGLE's dynamic tree: grow depth + 1 levels, verify the likeliest nodes (2406.16858, docs/methods/eagle2.md); or as
deep and as large as brings tokens fastest."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
from torch import Tensor

from engine.config import AUTO, Knob
from engine.costs.choose import MOST_LEVELS, MOST_NODES, TreeChoice
from engine.parts import Context, Kit, Knobs, Outcome
from engine.sampling import read
from engine.strata.metapath import meta_path
from engine.trace.records import RoundExtras
from engine.trees.growth import TREE_KNOBS, Growth, Plan, Trust, check_size

CHOSEN = ("total_token", "depth")  # knobs that may be left to the device


class DynamicTree:
    """Every branch of the frontier goes on, to the full depth; with auto those that are worth it, as deep as it is, and
    none beyond the end of the text."""

    NAME: ClassVar[str] = "dynamic_tree"
    KIND: ClassVar[str] = "dynamic_tree"
    NEEDS: ClassVar[tuple[str, ...]] = ()
    KNOBS: ClassVar[tuple[Knob, ...]] = tuple(
        replace(knob, auto=True) if knob.name in CHOSEN else knob for knob in TREE_KNOBS
    )

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.prunes, self.stops = (knobs[name] == AUTO for name in CHOSEN)
        most = {"total_token": min(MOST_NODES, kit.target.context - 1)} if self.prunes else {}
        most |= {"depth": MOST_LEVELS - 1} if self.stops else {}
        self.total, self.depth, self.width = check_size({**knobs, **most}, kit.target.context, kit.target.only_chains)
        self.ends = frozenset(kit.target.tokenizer.stop_ids)
        self.choice = TreeChoice(kit.known_costs()) if self.prunes or self.stops else None

    def begin(self) -> None:
        if self.choice:
            self.choice.begin()

    def plan(self, context: Context) -> Plan:
        whole = Plan(min(self.depth + 1, context.room), self.width, min(self.total - 1, context.space))
        if self.choice is None:
            return whole
        self._chances = list[float]()
        forks = self.choice.start() or not self.prunes
        return replace(whole, width=self.width if forks else 1, trust=Trust(*self.choice.trust()))

    def admit(self, grown: Growth, logits_RV: Tensor) -> list[int] | None:
        return None

    def onward(self, grown: Growth) -> list[int] | None:
        if self.choice is None:
            return None
        scores, tokens = read(grown.best, grown.fresh)
        open_ = [place for place, token in enumerate(tokens) if token not in self.ends]  # nothing follows an end
        rows = self.choice.onward([scores[place] for place in open_], stops=self.stops, prunes=self.prunes)
        return None if rows == len(scores) else open_[:rows]

    def settle(self, grown: Growth, plan: Plan) -> Plan:
        """With total_token=auto the number of nodes that is worth verifying."""
        if self.choice is None:
            return plan
        every = grown.candidates()
        best: list[float] = every.believed[every.order[: plan.nodes]].tolist()
        return replace(plan, nodes=self.choice.size(best)) if self.prunes else plan

    def report(self, grown: Growth, plan: Plan, full: bool) -> RoundExtras:
        """Levels, with auto what was expected, and in a full trace of a tree of full depth the cumulative entropy that
        HeteroSpec's strata are learnt from."""
        told: RoundExtras = {}
        if self.choice:
            every = grown.candidates()
            self._chances = np.exp(every.believed[np.sort(every.order[: plan.nodes])]).tolist()
            told = self.choice.told(self._chances).extras()
        if not full or grown.levels <= self.depth:
            return {**told, "levels": grown.levels}
        phi, path = meta_path(grown, grown.width)
        return {**told, "levels": grown.levels, "phi": phi, "meta_path": path}

    def observe(self, outcome: Outcome) -> None:
        if self.choice:
            draft, verdict = outcome.draft, outcome.verdict
            self.choice.observe(draft.kids, draft.scores or (), self._chances, verdict.path, len(outcome.emitted))
