"""Speculative decoding on one page: propose a draft, check it in one pass, accept what holds, repeat.

Every method is this loop with another drafter, shape and rule; autoregressive decoding is the empty draft.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from threading import Lock
from time import perf_counter
from typing import Any

import torch

from engine.config import Card, KnobValue, RunConfig, Writer
from engine.draft import EMPTY, Draft
from engine.errors import EngineFault
from engine.model import Forward, Session, Tokenizer
from engine.model.devices import synchronise
from engine.parts import Choosing, Context, Drafter, Early, Kit, Outcome, Rule, own_rule
from engine.record import Recorder
from engine.sound import sound_draft, sound_verdict
from engine.streams import Streams
from engine.threshold import OVERLAP_N, taken_at
from engine.trace.events import Round, RunEnded
from engine.trace.outcome import bill
from engine.verify import Verdict
from engine.view import RoundView

SILENT = 1_000  # rounds in a row without a token, besides those of a search that settles nothing before its end


@dataclass(eq=False)
class Method:
    """A card brought to life: its three parts, built for one run or for several one after another, and the knobs they
    were built with."""

    card: Card
    drafter: Drafter
    shape: Any
    rule: Rule
    knobs: dict[str, KnobValue]
    owner: object = field(default=None, repr=False)  # of one that lives through several runs, the pair it was made by
    taken: Lock = field(default_factory=Lock, repr=False)  # held by the run that is in progress

    def given(self, kit: Kit) -> None:
        """Let the parts that choose by a run's sampling or task know those of the next.

        Raises:
            ConfigError: the task's judge is not loaded, or not for rounds as they come. ModelMismatch: it is another
                pair's.
        """
        for part in (self.shape, self.rule):
            if isinstance(part, Choosing):
                part.given(kit)


class Stopwatch:
    """Times the parts of a round, one after the other."""

    def __init__(self, now: Callable[[], float]) -> None:
        """`now` is a clock in seconds; the watch starts at once."""
        self._now, self._last = now, now()

    def lap(self) -> float:
        """Milliseconds since the start, or since the last lap."""
        before, self._last = self._last, self._now()
        return (self._last - before) * 1e3


@dataclass(eq=False)
class Decoding:
    """One run in progress."""

    method: Method
    target: Session
    tokenizer: Tokenizer
    config: RunConfig
    streams: Streams
    kit: Kit | None = None  # what a method that lives on is given as the run begins: it may have served others since
    clock: Callable[[], float] = field(default_factory=lambda: perf_counter)
    writer: Writer = "target"  # who writes: a model, whose session `target` then is, or the drafter by itself
    devices: Collection[torch.device] = ()  # that work for this run, besides the CPU

    def __post_init__(self) -> None:
        self.tokens = list(self.config.prompt_ids)
        self.prompt = len(self.tokens)
        self.last: Forward | None = None
        self.draft = EMPTY
        self.path: list[int] = []
        self.index, self.reason = 0, ""
        overlap_n = taken_at(self.method.card.threshold, "overlap", self.method.knobs, usual=OVERLAP_N)
        self._recorder = Recorder(
            self.tokenizer.piece, self.method.card.rule, self.full, overlap_n, self.writer, self.config.looks
        )
        self._early = self.method.rule if isinstance(self.method.rule, Early) else None
        self._entries = max(self.config.top_n if self.full else 1, self.method.rule.entries)

    @property
    def full(self) -> bool:
        """Whether every draft token is written down."""
        return self.config.record == "full"

    @property
    def response(self) -> list[int]:
        """Tokens generated so far."""
        return self.tokens[self.prompt :]

    def run(self) -> Iterator[Round | RunEnded]:
        """Prefill, then one Round a target call (or a draft accepted without one, or an iteration of a text that is
        written in place), then RunEnded. Closing the iterator between rounds is safe.

        Raises:
            EngineFault: so many rounds in a row gave no token that none will come.
        """
        watch = Stopwatch(self._now)
        if self.kit:
            self.method.given(self.kit)
        self.method.shape.begin()
        self.method.drafter.begin(self.tokens)
        if self.prompt > 1 and self.writer != "nat":
            read = self.target.forward(self.tokens[:-1])
            self.last = read if read.tail else None  # none of a source, whose states are no rows
        prefill = watch.lap()
        total, silent = 0.0, 0
        while not self.reason:
            round_ = self._round()
            total += round_.draft_ms + round_.verify_ms + round_.other_ms
            silent = 0 if round_.emitted else silent + 1
            yield round_
            if silent > self._patience() and not self.reason:
                raise EngineFault(
                    f"{silent} rounds in a row gave no token: {self.method.card.title} does not come to an end."
                )
        yield RunEnded(self.reason, prefill, total, self.tokenizer.continued(self.response))

    def _patience(self) -> int:
        """Rounds in a row that may give no token: a text in place takes its iterations, and beams that settle nothing
        grow by a token a round, up to the longest response."""
        return SILENT + min(self.config.max_new_tokens, self.target.capacity)

    def _round(self) -> Round:
        watch = Stopwatch(self._now)
        context = self._context()
        draft = self._proposed(context)
        draft_ms = watch.lap()
        wanted: Draft | None = None if self.writer == "nat" else draft  # by the target, to read it in one pass
        early_ms = 0.0
        if self._early:
            wanted, early_ms = self._early.wanted(draft, context), watch.lap()
        asked = None if wanted is None else wanted.read
        forward = self.target.unread() if asked is None else self.target.forward(self.tokens, asked, checked=True)
        verify_ms = watch.lap()
        round_ = self._keep(draft, forward, wanted is draft)
        if self.writer != "target":  # it is another model that was called
            draft_ms, verify_ms = draft_ms + verify_ms, 0.0
        round_.draft_ms, round_.verify_ms, round_.other_ms = draft_ms, verify_ms, early_ms + watch.lap()
        bill(round_)
        if self._early and wanted is not draft:
            round_.extras["early_ms"] = early_ms
        return round_

    def _proposed(self, context: Context) -> Draft:
        """What the drafter proposes; EngineFault where that is nothing to read, see `sound_draft`."""
        draft = self.method.drafter.propose(context, self.method.shape)
        who = f"The drafter {self.method.card.drafter!r}"
        return sound_draft(draft, who, self.index, context.space, self.target.vocab)

    def _decided(self, view: RoundView) -> Verdict:
        """What the rule decides; EngineFault where that does not fit the draft, see `sound_verdict`."""
        verdict, who = self.method.rule.decide(view), f"The rule {self.method.card.rule!r}"
        parents = None if own_rule(type(self.method.shape)) else view.draft.parents
        return sound_verdict(verdict, who, self.index, parents, self.target.vocab)

    def _keep(self, draft: Draft, forward: Forward, read: bool) -> Round:
        """Let the rule decide, commit what it accepts, tell the parts, and write the round down."""
        view = self._view(draft, forward, read)
        verdict = self._decided(view)
        start = len(self.response)
        emitted = self._commit(verdict, draft)
        outcome = Outcome(draft, forward, verdict, view, emitted, self.tokens)
        self.method.drafter.observe(outcome)
        self.method.shape.observe(outcome)
        self.last, self.draft, self.path = forward, draft, verdict.path
        fed = forward.tail + (len(draft.read) if read else 0) if self.writer == "target" else 0
        round_ = self._recorder.round(view, verdict, emitted, start, self.index, fed)
        self.index += 1
        return round_

    def _context(self) -> Context:
        remaining = self.config.max_new_tokens - len(self.response)
        room = remaining - self.method.rule.bonus  # without a bonus, the draft can fill the last position itself
        space = self.target.slots - len(self.tokens)
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
            question=self.config.prompt,
        )

    def _view(self, draft: Draft, forward: Forward, read: bool) -> RoundView:
        us, u_emit = self.streams.uniforms("accept", len(draft)), self.streams.uniform("emit")
        logits, hidden = forward.logits, forward.hidden
        if draft.beside is not None:
            logits, hidden = logits[: len(draft) + 1], hidden[: len(draft) + 1]
        rows = (logits, self.config.sampling, us, u_emit, self._entries, hidden)
        view = RoundView(draft, *rows, tuple(self.tokens), read, forward.looks)
        if self.full or self.method.rule.entries:
            view.along("stats")
        if self.full and not self.config.sampling.greedy:
            view.along("cut")
        return view

    def _commit(self, verdict: Verdict, draft: Draft) -> list[int]:
        """Append path and emitted token, cut at the first stop id, the limit, a stop string, the end of the context or
        where the rule says that the text is whole."""
        new = [draft.tokens[i] for i in verdict.path] + ([] if verdict.emit is None else [verdict.emit])
        kept: list[int] = []
        for token in new:
            kept.append(token)
            self.tokens.append(token)
            self.reason = self._end(token)
            if self.reason:
                break
        if verdict.ends and not self.reason:
            self.reason = "eos"
        return kept

    def _end(self, token: int) -> str:
        if token in self.tokenizer.stop_ids:
            return "eos"
        if self.config.stop:
            longest = max(map(len, self.config.stop))
            end = self.tokenizer.continued(self.response[-max(64, 4 * longest) :])  # a character is 4 bytes at most
            if any(s in end for s in self.config.stop):
                return "stop"
        if len(self.response) >= self.config.max_new_tokens:
            return "limit"
        return "context" if len(self.tokens) >= self.target.capacity else ""

    def _now(self) -> float:
        """The clock, after all devices have caught up."""
        synchronise(self.devices)
        return self.clock()
