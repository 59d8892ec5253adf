"""EAGLE's dynamic tree: grow depth + 1 levels, verify the likeliest nodes (2406.16858, docs/methods/eagle2.md); or as
deep and as large as brings tokens fastest.

A node is at most as likely as the one above it, so what stands behind so many others that it will not be verified needs
no children. On a CPU, where looking waits for nothing, a small tree is grown from fewer rows; it is the same tree.
"""

from dataclasses import replace
from math import exp
from typing import ClassVar

import numpy as np
from torch import Tensor

from engine.config import AUTO, Knob
from engine.costs.pace import MOST_LEVELS, MOST_NODES
from engine.costs.trees import TreeChoice
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

    def given(self, kit: Kit) -> None:
        if self.choice:
            self.choice.given(kit.known_costs())

    def begin(self) -> None:
        if self.choice:
            self.choice.begin()

    def plan(self, context: Context) -> Plan:
        whole = Plan(min(self.depth + 1, context.room), self.width, min(self.total - 1, context.space))
        if self.choice is None:
            self._nodes = 0 if context.full else whole.nodes  # a full trace tells what was left out too
            return whole
        self._trust, self._chances, self._said = Trust(*self.choice.trust()), list[float](), 0.0
        forks = False if self.width == 1 else None if self.prunes else True  # None leaves it to the choice
        if self.choice.start(forks):
            return replace(whole, trust=self._trust)
        return replace(whole, width=1)

    def admit(self, grown: Growth, logits_RV: Tensor) -> list[int] | None:
        return None

    def onward(self, grown: Growth) -> list[int] | None:
        if self.choice is None:
            return grown.within(self._nodes) if self._nodes and grown.best.device.type == "cpu" else None
        if grown.width == 1:
            here = grown.best.device.type == "cpu"  # where two looks are sooner than one transfer of both
            (said,), tokens = map(Tensor.tolist, (grown.best, grown.fresh)) if here else read(grown.best, grown.fresh)
            chances = [self._follow(said)]
        else:
            scores, tokens = read(grown.best, grown.fresh)
            chances = list(map(exp, scores))
        open_ = [place for place, token in enumerate(tokens) if token not in self.ends]  # nothing follows an end
        rows = self.choice.onward([chances[place] for place in open_], stops=self.stops, prunes=self.prunes)
        return None if rows == len(chances) else open_[:rows]

    def _follow(self, said: float) -> float:
        """The chance of a chain's last node, of whose path the drafter says so much (a log-probability), on the
        host alone: nothing is ranked by it."""
        above = self._chances[-1] if self._chances else 1.0
        self._chances.append(above * self._trust.likeliest(exp(said - self._said)))
        self._said = said
        return self._chances[-1]

    def settle(self, grown: Growth, plan: Plan) -> Plan:
        """With total_token=auto the number of nodes that is worth verifying."""
        if self.choice is None:
            return plan
        if grown.width == 1:
            if len(self._chances) < grown.levels:
                self._follow(grown.best.item())
        else:
            every = grown.candidates()
            self._chances = np.exp(every.believed[every.order[: plan.nodes]]).tolist()
        return replace(plan, nodes=self.choice.size(self._chances[: plan.nodes])) if self.prunes else plan

    def report(self, grown: Growth, plan: Plan, full: bool) -> RoundExtras:
        """Levels, with auto what was expected, and in a full trace of a tree of full depth the cumulative entropy that
        HeteroSpec's strata are learnt from."""
        told: RoundExtras = {}
        if self.choice:
            if grown.width > 1:  # as the draft has its nodes
                every = grown.candidates()
                self._chances = np.exp(every.believed[np.sort(every.order[: plan.nodes])]).tolist()
            self._chances = self._chances[: plan.nodes]
            told = self.choice.told(self._chances).extras()
        if not full or grown.levels <= self.depth:
            return {**told, "levels": grown.levels}
        phi, path = meta_path(grown, grown.width)
        return {**told, "levels": grown.levels, "phi": phi, "meta_path": path}

    def observe(self, outcome: Outcome) -> None:
        if self.choice:
            draft, path = outcome.draft, outcome.verdict.path
            scores, deeper = draft.scores or (), draft.levels > len(path)
            self.choice.observe(draft.kids, scores, self._chances, path, len(outcome.emitted), deeper=deeper)
