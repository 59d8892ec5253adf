"""STAND: stochastic adaptive n-gram drafting. Mean distributions by context, children drawn without replacement into a
static tree.

Sections 4.1 and 4.2 of the paper; docs/methods/stand.md. Register S2 to S10, S14.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, cast

import torch
from torch import Tensor

from engine.config import Knob, Sampling
from engine.draft import Draft, SparseDistributions
from engine.lookup.distributions import DistributionTable, Entries, cut
from engine.lookup.draws import Draws, first, gumbel_top, sequential
from engine.lookup.history import SCOPE, History
from engine.lookup.noise import NoiseCache
from engine.lookup.read import pieces
from engine.lookup.room import contexts, free_memory
from engine.parts import Context, Kit, Knobs, Outcome
from engine.sampling import distribution, sent
from engine.trace.records import RoundExtras, Source
from engine.trees.template import Template


class Stand:
    """A node's children follow the distribution of the longest known context of committed tokens, root and path.

    At temperature 0 every variant takes the most probable tokens: a draw could only miss them.
    """

    NAME: ClassVar[str] = "stand"
    TITLE: ClassVar[str] = "STAND"
    KNOBS: ClassVar[tuple[Knob, ...]] = (
        Knob(
            "drafting",
            "gumbel",
            "children are drawn by Gumbel top-k, one after another, or are the most probable ones (table 3)",
            choices=("gumbel", "stochastic", "deterministic"),
            origin="paper",
        ),
        Knob("orders", 4, "longest context that is looked up", 1, 16, 1, "tokens", origin="paper"),
        Knob("stored", 10, "entries kept of each distribution", 1, 64, 1, "tokens", origin="paper"),
        Knob(
            "store_temperature",
            0.0,
            "temperature of the stored distributions; 0 is that of the sampling, 1 when greedy",
            0.0,
            10.0,
            0.05,
            advanced=True,
        ),
        Knob(
            "merge_full", False, "average with the whole new distribution, not with its stored entries", advanced=True
        ),
        Knob("update_prompt", False, "learn from the prompt's own logits too", advanced=True),
        Knob("update_rejected", False, "learn from rejected and untested nodes too", advanced=True),
        Knob("noise", 65_536, "Gumbel numbers drawn ahead in one piece", 16, 16_777_216, 1, "numbers", advanced=True),
        SCOPE,
        Knob(
            "entries",
            0,
            "most contexts kept, the least recently used leave first; 0: all of 16 trajectories of 10,000 tokens, or "
            "what a quarter of the free memory holds",
            0,
            10_000_000,
            1,
            "contexts",
            advanced=True,
        ),
    )
    SHAPES: ClassVar[tuple[str, ...]] = ("static_tree",)
    NEEDS: ClassVar[tuple[str, ...]] = ()
    DISTRIBUTIONS: ClassVar[bool] = False
    WANTS: ClassVar[tuple[str, ...]] = ()
    taps: tuple[int, ...] = ()

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.kit, self.knobs = kit, dict(knobs)
        self.orders, self.stored = int(knobs["orders"]), int(knobs["stored"])
        self.history = History(str(knobs["scope"]))
        self.noise = NoiseCache(int(knobs["noise"]))
        self._unread = False
        self.entries = int(knobs["entries"]) or contexts(self.orders, self.stored, free_memory())
        self.table = self._empty()

    def _empty(self) -> DistributionTable:
        return DistributionTable(self.orders, self.stored, self.entries)

    def begin(self, tokens: Sequence[int]) -> None:
        if self.history.begin(tokens):
            self.table = self._empty()
        self.noise.clear()
        self._unread = bool(self.knobs["update_prompt"])

    def propose(self, context: Context, shape: Any) -> Draft:
        if self._unread and context.last is not None:
            self._learn_prompt(context)
        self._unread = False
        variant = "deterministic" if context.sampling.greedy else str(self.knobs["drafting"])
        pen = Pen(self, context, self._draws(variant, context), variant != "deterministic")
        return pen.draft(shape.template(context))

    def _draws(self, variant: str, context: Context) -> Draws:
        if variant == "deterministic":
            return first
        generator = context.streams.generator("draft")
        if variant == "stochastic":
            return partial(sequential, generator=generator)
        return partial(gumbel_top, cache=self.noise, generator=generator)

    def observe(self, outcome: Outcome) -> None:
        """The distribution of every committed position joins the mean of its contexts, that of the bonus included
        (S9)."""
        tokens, base = outcome.tokens, len(outcome.tokens) - len(outcome.emitted)
        self.history.extend(tokens)
        nodes = [-1, *outcome.verdict.path][: len(outcome.emitted)]
        contexts = [tokens[max(0, base + k - self.orders) : base + k] for k in range(len(nodes))]
        places = [self.history.start + base + k for k in range(len(nodes))]
        if self.knobs["update_rejected"]:
            others = [i for i in range(len(outcome.draft)) if i not in nodes]
            contexts += [[*tokens[:base], *outcome.draft.path_tokens(i)][-self.orders :] for i in others]
            places += [-1] * len(others)
            nodes += others
        self._learn(contexts, self._distributions(outcome, [i + 1 for i in nodes]), places)

    def _distributions(self, outcome: Outcome, rows: list[int]) -> Tensor:
        sampling, stored = outcome.view.sampling, float(self.knobs["store_temperature"])
        if stored == 0 and not sampling.greedy:
            return outcome.view.p.index_select(0, sent(rows, outcome.view.p.device, torch.long))
        logits = outcome.view.logits
        return distribution(logits.index_select(0, sent(rows, logits.device, torch.long)), self._stored_as(sampling))

    def _stored_as(self, sampling: Sampling) -> Sampling:
        temperature = float(self.knobs["store_temperature"]) or sampling.temperature or 1.0
        return Sampling(temperature, sampling.top_k, sampling.top_p)

    def _learn_prompt(self, context: Context) -> None:
        """The distributions that the prefill has shown after each prompt token but the last."""
        assert context.last is not None
        start = len(context.tokens) - 1 - len(context.last.last)
        for rows, logits in pieces(self.kit.target.decoder.head, context.last.last, self.kit.vocab):
            ends = [start + i + 1 for i in rows]
            contexts = [context.tokens[max(0, end - self.orders) : end] for end in ends]
            places = [self.history.start + end for end in ends]
            self._learn(contexts, distribution(logits, self._stored_as(context.sampling)), places)

    def _learn(self, contexts: Sequence[Sequence[int]], distributions_NV: Tensor, places: Sequence[int]) -> None:
        top = distributions_NV.topk(min(2 * self.stored, distributions_NV.shape[-1]), dim=-1)
        flat = torch.cat((top.indices.to(top.values.dtype), top.values), -1).tolist()
        k = top.indices.shape[-1]
        whole = distributions_NV.cpu() if self.knobs["merge_full"] else None  # of which single entries are asked for
        for i, (context, row, place) in enumerate(zip(contexts, flat, places, strict=True)):
            entries: Entries = cut(list(zip(map(int, row[:k]), row[k:], strict=True)), self.stored)
            self.table.see(context, entries, place, None if whole is None else partial(_at, whole[i]))


def _at(distribution_V: Tensor, token: int) -> float:
    return float(distribution_V[token])


class Pen:
    """Fills one template in one round."""

    def __init__(self, stand: Stand, context: Context, draws: Draws, drawn: bool) -> None:
        self.table, self.history, self.orders = stand.table, stand.history, stand.orders
        self.vocab, self.context, self.draws, self.drawn = stand.kit.vocab, context, draws, drawn
        self.tokens: list[int] = []
        self.parents: list[int] = []
        self.group: list[int] = []
        self.distributions: list[Entries] = []
        self.scores: list[float] = []
        self.sources: list[Source] = []
        self.hits = [0] * (self.orders + 1)
        self._paths: list[tuple[int, ...]] = []

    def draft(self, tree: Template) -> Draft:
        """Breadth first: children of each node that is there; with fewer candidates than children the later ones are
        left out."""
        root = tuple(self.context.tokens[-self.orders :])
        placed: list[int] = [-1] * len(tree)
        hit = 0
        for at, kids in enumerate(tree.kids):
            parent = -1 if at == 0 else placed[at - 1]
            if not kids or (at > 0 and parent < 0):
                continue
            order = self._children(parent, root if at == 0 else self._paths[parent], kids, placed)
            self.hits[order] += 1
            hit = order if at == 0 else hit
        extras: RoundExtras = {"hit_order": hit, "match": hit, "table_entries": len(self.table)}
        extras |= cast(RoundExtras, {f"hits_{n}": self.hits[n] for n in range(1, self.orders + 1)})
        return Draft(
            tuple(self.tokens),
            tuple(self.parents),
            "without_replacement" if self.drawn else "point",
            tuple(self.group),
            SparseDistributions(self.distributions, self.vocab) if self.drawn else None,
            scores=tuple(self.scores),
            sources=tuple(self.sources) if self.context.full else None,
            extras=extras,
        )

    def _children(self, parent: int, path: tuple[int, ...], kids: Sequence[int], placed: list[int]) -> int:
        """Append the children of one node; the order of the context that was found, 0 for none."""
        found = self.table.find(path)
        if found is None:
            return 0
        order, known = found
        entries, logs = known.distribution, known.logs
        above = 0.0 if parent < 0 else self.scores[parent]
        last = path[1:] if len(path) == self.orders else path  # what a child's context keeps of its parent's
        for kid, i in zip(kids, self.draws(known, len(kids)), strict=False):
            token, q = entries[i]
            placed[kid] = len(self.tokens)
            self.tokens.append(token)
            self.parents.append(parent)
            self.group.append(len(self.distributions))
            self.scores.append(above + logs[i])
            self._paths.append((*last, token))
            if self.context.full:
                place = self.history.place(known.place) if known.place >= 0 else {}
                self.sources.append({"kind": "table", "order": order, "count": known.count, "q": q, **place})
        self.distributions.append(entries)
        return order
