"""Speculative decoding on one page: guess, check in one pass, keep what holds, repeat.

Every method is this loop with another drafter, shape and rule; autoregressive decoding is the empty draft.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import torch

from engine.config import Card, KnobValue, RunConfig
from engine.draft import EMPTY, Draft
from engine.model import Forward, Session, Tokenizer
from engine.parts import Context, Drafter, Outcome, Rule
from engine.record import mentioned, nodes_of, tokens_of
from engine.streams import Streams
from engine.trace.events import Round, RunEnded
from engine.verify import Verdict
from engine.view import RoundView


@dataclass(eq=False)
class Method:
    """A card brought to life: its three parts, built for one run, and the knobs they were built with."""

    card: Card
    drafter: Drafter
    shape: Any
    rule: Rule
    knobs: dict[str, KnobValue]


@dataclass(eq=False)
class Decoding:
    """One run in progress."""

    method: Method
    target: Session
    tokenizer: Tokenizer
    config: RunConfig
    streams: Streams
    clock: Callable[[], float] = perf_counter

    def __post_init__(self) -> None:
        self.tokens = list(self.config.prompt_ids)
        self.prompt = len(self.tokens)
        self.last: Forward | None = None
        self.draft = EMPTY
        self.path: list[int] = []
        self.index, self.reason = 0, ""
        self._seen: set[int] = set()
        self._entries = max(self.config.top_n if self.full else 1, self.method.rule.entries)

    @property
    def full(self) -> bool:
        """Whether every guess is written down."""
        return self.config.record == "full"

    @property
    def response(self) -> list[int]:
        """Tokens generated so far."""
        return self.tokens[self.prompt :]

    def run(self) -> Iterator[Round | RunEnded]:
        """Prefill, then one Round a target call, then RunEnded. Closing the iterator between rounds is safe."""
        began = self._now()
        self.method.shape.begin()
        self.method.drafter.begin(self.tokens)
        if self.prompt > 1:
            self.last = self.target.forward(self.tokens[:-1])
        prefill = (self._now() - began) * 1e3
        total = 0.0
        while not self.reason:
            round_ = self._round()
            total += round_.draft_ms + round_.verify_ms + round_.other_ms
            yield round_
        yield RunEnded(self.reason, prefill, total, self.tokenizer.decode(self.response))

    def _round(self) -> Round:
        t0 = self._now()
        draft = self.method.drafter.propose(self._context(), self.method.shape)  # guess
        t1 = self._now()
        forward = self.target.forward(self.tokens, draft)  # check in one pass
        t2 = self._now()
        view = self._view(draft, forward)
        verdict = self.method.rule.decide(view)  # keep what holds
        start = len(self.response)
        emitted = self._commit(verdict, draft)
        outcome = Outcome(draft, forward, verdict, view, emitted, self.tokens)
        self.method.drafter.observe(outcome)
        self.method.shape.observe(outcome)
        self.last, self.draft, self.path = forward, draft, verdict.path
        round_ = self._event(view, verdict, emitted, start)
        round_.draft_ms, round_.verify_ms = (t1 - t0) * 1e3, (t2 - t1) * 1e3
        self.index += 1
        round_.other_ms = (self._now() - t2) * 1e3
        return round_

    def _context(self) -> Context:
        remaining = self.config.max_new_tokens - len(self.response)
        room = remaining - bool(
            self.method.knobs.get("bonus", True)
        )  # a rule without bonus can fill the last position itself
        space = self.target.capacity - len(self.tokens)
        return Context(
            tokens=self.tokens,
            prompt=self.prompt,
            room=room,
            space=space,
            sampling=self.config.sampling,
            streams=self.streams,
            target=self.target,
            last=self.last,
            path=self.path,
            draft=self.draft,
            full=self.full,
        )

    def _view(self, draft: Draft, forward: Forward) -> RoundView:
        us, u_emit = self.streams.uniforms("accept", len(draft)), self.streams.uniform("emit")
        return RoundView(
            draft, forward.logits, self.config.sampling, us, u_emit, self._entries, forward.hidden, tuple(self.tokens)
        )

    def _commit(self, verdict: Verdict, draft: Draft) -> list[int]:
        """Append path and emitted token, cut at the first stop id, the limit, a stop string or the end of the context."""
        new = [draft.tokens[i] for i in verdict.path] + ([] if verdict.emit is None else [verdict.emit])
        kept: list[int] = []
        for token in new:
            kept.append(token)
            self.tokens.append(token)
            self.reason = self._end(token)
            if self.reason:
                break
        return kept

    def _end(self, token: int) -> str:
        if token in self.tokenizer.stop_ids:
            return "eos"
        if self.config.stop and any(s in self.tokenizer.decode(self.response[-64:]) for s in self.config.stop):
            return "stop"
        if len(self.response) >= self.config.max_new_tokens:
            return "limit"
        return "context" if len(self.tokens) >= self.target.capacity else ""

    def _event(self, view: RoundView, verdict: Verdict, emitted: list[int], start: int) -> Round:
        draft, accepted = view.draft, min(len(verdict.path), len(emitted))
        pieces = [self.tokenizer.piece(token) for token in emitted]
        tokens = tokens_of(view, verdict, emitted, pieces, start, self.index, self.full)
        nodes = nodes_of(view, verdict, accepted, self.method.card.rule) if self.full else []
        fresh = mentioned(nodes, tokens) - self._seen if self.full else set()
        self._seen |= fresh
        tcr = (draft.ranks[verdict.path[accepted - 1]] if accepted else 0) if len(draft) else None
        return Round(
            index=self.index,
            start=start,
            drafted=len(draft),
            fed=len(draft) + 1,
            levels=draft.levels,
            accepted=accepted,
            emitted=len(emitted),
            path=verdict.path[:accepted],
            draft_ms=0,
            verify_ms=0,
            other_ms=0,
            tcr=tcr,
            extras=draft.extras | verdict.extras,
            nodes=nodes,
            pruned=list(draft.pruned) if self.full else [],
            tokens=tokens,
            pieces={str(i): self.tokenizer.piece(i) for i in sorted(fresh)},
        )

    def _now(self) -> float:
        """The clock, after the device has caught up."""
        if self.target.device.type == "cuda":
            torch.cuda.synchronize(self.target.device)
        return self.clock()
