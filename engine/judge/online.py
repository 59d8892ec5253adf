"""Mining along the draft's own windows, as AutoJudge's published code does with EAGLE (A9); an option, not algorithm 1.

Decoding runs as usual, in windows of one trunk. At the first token of a window that the target rejects, the target goes
on from the draft's token; if the answer stays, the token is accepted and the window goes on behind it, else the
target's token ends the window. Rejections in the first window are not looked at; a token that the target gives less
than `unlikely` is important without a trial; an alternative is at most `stretch` times as long as the target's own
response. Greedy only.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import torch

from engine.judge.continuation import Target
from engine.judge.criterion import Criterion, Response
from engine.judge.events import ForkGenerated, Label, Labelled, MismatchFound, PromptFinished, PromptStarted
from engine.judge.search import Prompt, SearchEvent
from engine.model import Tokenizer
from engine.sampling import exactly
from engine.trace.records import Reason
from engine.verify import Verdict, walk
from engine.view import RoundView

UNLIKELY = 0.01
STRETCH = 1.5
Decode = Callable[
    [Sequence[int], int, "OnlineRule"], Iterable[Sequence[int]]
]  # prompt ids, limit, rule -> tokens of each round


@dataclass(eq=False)
class OnlineSearch:
    """The search over one prompt at a time; `decode` runs the drafter with the rule that it is given."""

    decode: Decode
    target: Target
    criterion: Criterion
    tokenizer: Tokenizer
    limit: int  # T_max: most tokens of a response, end token included
    capacity: int  # most tokens of prompt and response
    unlikely: float = UNLIKELY
    stretch: float = STRETCH
    lock: AbstractContextManager[Any] = field(default_factory=nullcontext)
    clock: Callable[[], float] = perf_counter

    def run(self, prompt: Prompt) -> Iterator[SearchEvent]:
        """Mine one prompt; the last event holds all labels."""
        began, x = self.clock(), prompt.ids
        done = PromptFinished(prompt.id, prompt.problem.key, list(x), [], [], None, text=prompt.problem.prompt)
        room = min(self.limit, self.capacity - len(x) - 1)
        with self.lock:
            y = self.target.generate(x, room) if room > 0 else []
        first = self.response(prompt, y)
        done.first, done.answer = y, first.answer
        done.skipped = "too long" if not y else "no answer" if first.answer is None else ""
        if y:
            yield PromptStarted(prompt.id, prompt.problem.prompt, list(x), y, self.pieces(y), first.answer, [])
        if not done.skipped:
            rule = OnlineRule(self, prompt, first, len(y), room)
            for tokens in self.decode(x, room, rule):
                done.final += tokens
                yield from rule.take()
            done.labels = [label for label in rule.labels if label.t < len(done.final)]
            for label in (label for label in done.labels if label.important):  # what really followed the target's token
                label.target_rest = done.final[label.t + 1 :]
                label.target_text = self.tokenizer.continued(label.target_rest)
        done.pieces, done.seconds = self.pieces(done.final), self.clock() - began
        yield done

    def response(self, prompt: Prompt, ids: Sequence[int]) -> Response:
        """A response as text, with its answer."""
        text = self.tokenizer.continued(ids)
        return Response(text, self.criterion.answer(prompt.problem, text))

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The text of each token."""
        return [self.tokenizer.piece(i) for i in ids]


class OnlineRule:
    """The greedy exact rule, which tries each rejected token of a window out and accepts it when it does not matter."""

    NAME = "online_mining"
    entries = 0
    bonus = True

    def __init__(self, search: OnlineSearch, prompt: Prompt, first: Response, length: int, room: int) -> None:
        """`first` is the target's own response of `length` tokens; `room` the most tokens of a response."""
        self.search, self.prompt, self.first, self.length, self.room = search, prompt, first, length, room
        self.labels: list[Label] = []
        self._events: list[SearchEvent] = []
        self._windows = 0

    def decide(self, view: RoundView) -> Verdict:
        verdict = walk(view, override=self._override)
        self._windows += bool(len(view.draft))
        return verdict

    def take(self) -> list[SearchEvent]:
        """The events since this was last asked."""
        events, self._events = self._events, []
        return events

    def _override(self, view: RoundView, node: int) -> tuple[bool, Reason, float | None]:
        draft = view.draft
        parent, token = draft.parents[node], draft.tokens[node]
        before, row = [*view.tokens, *draft.path_tokens(parent)], parent + 1
        t = len(before) - len(self.prompt.ids)
        ended = any(i in self.search.tokenizer.stop_ids for i in before[len(self.prompt.ids) :])
        if self._windows == 0 or ended or t >= self.room:
            return False, {"id": "not_mined"}, None
        likely = float(torch.softmax(exactly(view.logits[row]), -1)[token])
        label = self._tried(before, t, view.choice[row], token, likely)
        self.labels.append(label)
        self._events.append(Labelled(label, []))
        return not label.important, {"id": "mined", "p": likely}, None

    def _tried(self, before: list[int], t: int, choice: int, token: int, likely: float) -> Label:
        search, ids, piece = self.search, [*before[len(self.prompt.ids) :], token], self.search.tokenizer.piece
        self._events.append(MismatchFound(self.prompt.id, t, choice, token, piece(choice), piece(token)))
        rest: list[int] = []
        unlikely = likely < search.unlikely
        if not unlikely and token not in search.tokenizer.stop_ids:
            most = max(1, int(search.stretch * self.length) - len(ids))
            rest = search.target.generate([*before, token], min(most, max(1, self.room - len(ids))))
        alternative = search.response(self.prompt, [*ids, *rest])
        if not unlikely:
            self._events.append(ForkGenerated(self.prompt.id, t, rest, search.pieces(rest), alternative.answer))
        important = unlikely or search.criterion.important(self.prompt.problem, self.first, self.first, alternative)
        return Label(
            self.prompt.id,
            t,
            choice,
            token,
            important,
            [],
            rest,
            "",
            search.tokenizer.continued(rest),
            self.first.answer,
            None if unlikely else alternative.answer,
            "",
            piece(choice),
            piece(token),
            unlikely=unlikely,
        )
