"""Algorithm 1 of AutoJudge: which mismatches between target and draft change the answer?

Indices are 0-based within the response. FORWARD(x + y).argmax[len(x) - 1 : -1] is aligned with y: entry t is the
draft's choice given x + y[:t]. Positions only grow, and y[:t] never changes after t was labelled, so that features can
be computed later from the final y. Registers A10 (go on after an important end token), A11, A13. A prompt that leaves
no room, or whose first response has no answer to lose, is skipped: every swap would look unimportant.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter

from engine.judge.continuation import DraftView, Retokenized, Target
from engine.judge.criterion import Criterion, Response
from engine.judge.events import ForkGenerated, Label, Labelled, MismatchFound, PromptFinished, PromptStarted
from engine.model import Tokenizer
from engine.tasks.problem import Problem

SearchEvent = PromptStarted | MismatchFound | ForkGenerated | Labelled | PromptFinished


@dataclass(frozen=True)
class Prompt:
    """A problem ready to mine."""

    id: str
    problem: Problem
    ids: list[int]


@dataclass(frozen=True, slots=True)
class Fork:
    """An alternative response that differs from the current one first at position t."""

    t: int
    ids: list[int]
    retokenized: str = ""  # dropped | anchored: see Label


@dataclass(eq=False)
class Search:
    """The search over one prompt at a time; its models keep their caches between prompts."""

    target: Target
    draft: DraftView
    criterion: Criterion
    tokenizer: Tokenizer
    limit: int  # T_max: most tokens of a response, end token included
    naive: bool = False  # the ablation of appendix A: each mismatch by itself, no swap is kept
    most: int = 0  # prompts with more mismatches are skipped; 0 skips none
    anchor: bool = (
        False  # move labels whose text came back as other ids to the first difference, instead of dropping them
    )
    clock: Callable[[], float] = perf_counter

    def run(self, prompt: Prompt) -> Iterator[SearchEvent]:
        """Mine one prompt; the last event holds all labels. An unimportant swap stays; the search goes on there."""
        began, x = self.clock(), prompt.ids
        done = PromptFinished(prompt.id, prompt.problem.key, list(x), [], [], None, text=prompt.problem.prompt)
        y = self._first(x, done)
        if done.skipped:
            yield done
            return
        choices = self.draft.choices(x, y)
        first = current = self._response(prompt, y)
        done.first, done.answer = y, first.answer
        left = _mismatches(y, choices, -1)
        if first.answer is None:
            done.skipped, left = "no answer", []
        elif self.most and len(left) > self.most:
            done.skipped, left = f"{len(left)} mismatches, more than {self.most}", []
        yield PromptStarted(prompt.id, prompt.problem.prompt, list(x), y, self._pieces(y), first.answer, left)
        t = -1
        while left:
            fork = yield from self._fork(prompt, y, choices[left[0]], left[0], t)
            alternative = self._response(prompt, fork.ids)
            important = fork.retokenized == "dropped" or self.criterion.important(
                prompt.problem, first, current, alternative
            )
            label = self._label(
                prompt.id, y, fork, important, current if self.criterion.running else first, alternative
            )
            done.labels.append(label)
            t = fork.t
            if not important and not self.naive:
                y, current = fork.ids, alternative
                choices = [*choices[: t + 1], *self.draft.choices([*x, *y[: t + 1]], y[t + 1 :])]
            left = _mismatches(y, choices, t)
            yield Labelled(label, left)
        done.final, done.pieces, done.seconds = y, self._pieces(y), self.clock() - began
        yield done

    def _first(self, x: list[int], done: PromptFinished) -> list[int]:
        """The target's own response; says in `done` why there is none."""
        y: list[int] = []
        try:
            y = self.target.generate(x, self._room(x)) if self._room(x) > 0 else []
        except Retokenized as lost:
            done.skipped = str(lost)
        if not y:
            done.skipped = done.skipped or "too long"
        return y

    def _room(self, x: list[int]) -> int:
        """Most tokens of a response to a prompt; one slot is left for the token pair that a judge's features need."""
        return min(self.limit, self.draft.session.left(x) - 1)

    def _fork(self, prompt: Prompt, y: list[int], token: int, t: int, last: int) -> Generator[SearchEvent, None, Fork]:
        """The alternative: y[:t] + the draft's token + GENERATE(x + that); a stop token ends it at once."""
        piece, size, room = self.tokenizer.piece, len(prompt.ids), self._room(prompt.ids)
        yield MismatchFound(prompt.id, t, y[t], token, piece(y[t]), piece(token))
        fork = Fork(t, [*y[:t], token])
        if token not in self.tokenizer.stop_ids and len(fork.ids) < room:
            try:
                fork.ids.extend(self.target.generate([*prompt.ids, *fork.ids], room - len(fork.ids), y[t + 1 :]))
            except Retokenized as other:
                at = other.at - size
                moved = (
                    self.anchor
                    and last < at < min(len(y), room, len(other.ids) - size)
                    and other.ids[other.at] != y[at]
                )
                fork = Fork(at, other.ids[size:][:room], "anchored") if moved else Fork(t, fork.ids, "dropped")
        rest = fork.ids[fork.t + 1 :]
        yield ForkGenerated(prompt.id, fork.t, rest, self._pieces(rest), self._response(prompt, fork.ids).answer)
        return fork

    def _label(
        self, prompt: str, y: list[int], fork: Fork, important: bool, against: Response, alternative: Response
    ) -> Label:
        t, decode, piece = fork.t, self.tokenizer.continued, self.tokenizer.piece
        return Label(
            prompt,
            t,
            y[t],
            fork.ids[t],
            important,
            y[t + 1 :],
            fork.ids[t + 1 :],
            decode(y[t + 1 :]),
            decode(fork.ids[t + 1 :]),
            against.answer,
            alternative.answer,
            fork.retokenized,
            piece(y[t]),
            piece(fork.ids[t]),
        )

    def _response(self, prompt: Prompt, ids: Sequence[int]) -> Response:
        text = self.tokenizer.continued(ids)
        return Response(text, self.criterion.answer(prompt.problem, text))

    def _pieces(self, ids: Sequence[int]) -> list[str]:
        return [self.tokenizer.piece(i) for i in ids]


def _mismatches(y: Sequence[int], choices: Sequence[int], t: int) -> list[int]:
    """Positions after t where the draft would write something else."""
    return [i for i in range(t + 1, len(y)) if y[i] != choices[i]]
