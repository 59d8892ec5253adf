"""What a method costs or gains in quality: right answers, BLEU, chrF, ROUGE and equal outputs, against plain decoding.

Everything is computed from traces: the head's extras hold the task, the reference (`answer`) and, where a command has
marked the response, whether it is `right`. Responses to the same prompt (and repeat) are pairs. Intervals are over
prompts, or conversations where prompts are turns of some: these count as a whole, so that repeats of one
prompt and turns of one conversation never count as independent.
"""

import hashlib
import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence, Set
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from engine.analysis.grouping import cluster, pair_names, summed, task_of
from engine.analysis.intervals import Interval, cluster_mean, estimate_interval, gap_interval, share_interval, within
from engine.analysis.votes import majority_right
from engine.tasks import check_answer
from engine.tasks.marking import TASKS, Marking, marking
from engine.tasks.references import Array, Corpus, summarised, translated
from engine.trace.store import Trace
from engine.trace.sums import as_list

Name = tuple[Any, ...]  # what makes two responses a pair: task, prompt, temperature, limit, repeat
Found = dict[str, Interval | None]
POINTS = (0.0, 100.0)  # in which BLEU, chrF and ROUGE lie
APART = (-POINTS[1], POINTS[1])  # and differences of two


@dataclass(frozen=True, slots=True)
class Response:
    """One response as quality sees it."""

    prompt: Name  # shared by all repeats
    tokens: int
    output: Hashable  # equal where two outputs are, token for token: their ids, or a fingerprint of these
    text: str
    reference: str
    right: bool | None  # None where nobody has marked it
    conversation: Name = ()  # shared by all its turns; none where the prompt stands alone

    @property
    def cluster(self) -> Name:
        """What counts as one for an interval."""
        return self.conversation or self.prompt


Responses = dict[Name, Response]


def quality(runs: Trace | Iterable[Trace], plain: Trace | Iterable[Trace] = ()) -> dict[str, Any]:
    """Every measure that fits the tasks of the runs, as JSON types; one that does not fit is absent.

    `accuracy` is the share of right answers (pass@1, mean over repeats), `majority` that of the majority over the
    repeats of a prompt (maj@n, from two on). With `plain`, runs of plain decoding on the same prompts, `*_difference`
    is the paired difference from them, `bleu_relative` BLEU in per cent of theirs, and `same_as_ar` the share of equal
    outputs. Intervals are 95 % over prompts, a conversation counting as one: Wilson's score for shares, Bonett and
    Price's for differences of shares, Student's t for other means and differences, and for BLEU and chrF with a prompt
    left out at a time.

    Raises:
        ConfigError: something that is no trace.
    """
    ours = as_list(runs)
    return measures(responses(ours), responses(plain), {task_of(trace) for trace in ours})


def measures(ours: Responses, theirs: Responses, tasks: Set[str]) -> dict[str, Any]:
    """`quality` of responses by the names that pair them, with the counts behind, as JSON types."""
    groups = _by_prompt(ours)
    counts = {"responses": len(ours), "prompts": len(groups), "repeats": min(map(len, groups.values()), default=0)}
    found = quality_of(ours, theirs, tasks)
    return counts | {name: asdict(value) for name, value in found.items() if value is not None}


def quality_of(ours: Responses, theirs: Responses, tasks: Set[str]) -> Found:
    """The measures of `quality`, of responses to these tasks; partners that lack one of the prompts are no partners."""
    if not ours.keys() <= theirs.keys():
        theirs = {}
    theirs = {name: theirs[name] for name in ours} if theirs else {}
    marks = [marking(task) for task in tasks & set(TASKS)]
    fit = set.intersection(*(set(m.measures) for m in marks)) if marks and len(marks) == len(tasks) else set()
    found = _paired("response_tokens", ours, _lengths(ours), _lengths(theirs), positive=True)
    if theirs:
        found["same_as_ar"] = _share(ours, [ours[name].output == theirs[name].output for name in ours])
    if "accuracy" in fit and _marked(ours):
        partners = theirs if _marked(theirs) else {}
        found["accuracy"] = _share(ours, [bool(r.right) for r in ours.values()])
        if partners:
            gaps = _gaps(ours, _rights(ours), _rights(partners))
            found["accuracy_difference"] = gap_interval(gaps, clusters=_clusters(ours))
        found |= _votes(ours, partners, marks[0]) if len(marks) == 1 else {}
    if len(marks) == 1 and all(response.reference for response in ours.values()):
        found |= _translations(ours, theirs, marks[0]) if "translation" in fit else {}
        found |= _summaries(ours, theirs, marks[0]) if "summary" in fit else {}
    return found


def responses(runs: Trace | Iterable[Trace]) -> Responses:
    """The responses of some runs by the name that pairs them.

    Raises:
        ConfigError: something that is no trace.
    """
    kept = as_list(runs)
    return {name: response(name[:-1], trace) for name, trace in zip(pair_names(kept), kept, strict=True)}


def response(prompt: Name, trace: Trace) -> Response:
    """What quality sees of a run on a prompt of that name."""
    reference = str(trace.head.extras.get("answer") or "")
    ids = trace.token_ids
    output = hashlib.blake2b(repr(ids).encode(), digest_size=8).hexdigest()
    talk = cluster(trace) if trace.head.extras.get("conversation") else ()
    return Response(prompt, len(ids), output, trace.text, reference, _right(trace), talk)


def _right(trace: Trace) -> bool | None:
    marked = trace.head.extras.get("right")
    if isinstance(marked, bool):
        return marked
    found = check_answer(task_of(trace), str(trace.head.extras.get("answer") or ""), trace.text)
    return None if found is None else found.right


def _marked(given: Responses) -> bool:
    return bool(given) and all(response.right is not None for response in given.values())


def _by_prompt(given: Responses) -> dict[Name, list[int]]:
    """Places of a prompt's repeats among the responses, in order."""
    found: dict[Name, list[int]] = defaultdict(list)
    for place, response in enumerate(given.values()):
        found[response.prompt].append(place)
    return found


def _means(given: Responses, values: Sequence[float]) -> list[float]:
    """Mean of a number of each response over the repeats of a prompt, a value a prompt."""
    return [float(np.mean([values[i] for i in places])) for places in _by_prompt(given).values()]


def _clusters(given: Responses) -> list[Name]:
    """What each prompt counts with."""
    found = {response.prompt: response.cluster for response in given.values()}
    return list(found.values())


def _lengths(given: Responses) -> list[float]:
    return [float(response.tokens) for response in given.values()]


def _rights(given: Responses) -> list[float]:
    return [float(bool(response.right)) for response in given.values()]


def _paired(
    name: str, ours: Responses, mine: Sequence[float], other: Sequence[float], *, positive: bool = False
) -> Found:
    """Mean of a number that each response has by itself, and its paired difference from those of partners, if any."""
    found: Found = {name: cluster_mean(_means(ours, mine), _clusters(ours), positive=positive)}
    if other:
        found[f"{name}_difference"] = cluster_mean(_gaps(ours, mine, other), _clusters(ours))
    return found


def _gaps(ours: Responses, mine: Sequence[float], other: Sequence[float]) -> list[float]:
    """By how much a number of our responses is above that of their partners, a value a prompt."""
    return _means(ours, [a - b for a, b in zip(mine, other, strict=True)])


def _share(given: Responses, holds: Sequence[bool]) -> Interval | None:
    return share_interval(_means(given, [float(h) for h in holds]), clusters=_clusters(given))


def _votes(ours: Responses, theirs: Responses, mark: Marking) -> Found:
    """The majority of each prompt's repeats; nothing where a prompt was answered once."""
    groups = list(_by_prompt(ours).values())
    if min(map(len, groups)) < 2:
        return {}
    mine = [voted_right([list(ours.values())[i] for i in places], mark) for places in groups]
    found: Found = {"majority": share_interval([float(right) for right in mine], clusters=_clusters(ours))}
    if theirs:
        other = [voted_right([list(theirs.values())[i] for i in places], mark) for places in groups]
        gaps = [float(a) - float(b) for a, b in zip(mine, other, strict=True)]
        found["majority_difference"] = gap_interval(gaps, clusters=_clusters(ours))
    return found


def voted_right(given: Sequence[Response], mark: Marking) -> bool:
    """Whether the answer that most of the responses give is right; of equally frequent ones the first counts."""
    answers = [mark.extract(response.text) for response in given]
    return majority_right(answers, [bool(response.right) for response in given], mark.equivalent)


def _translations(ours: Responses, theirs: Responses, mark: Marking) -> Found:
    plain = _translated(theirs, mark) if theirs else {}
    found: Found = {}
    for name, mine in _translated(ours, mark).items():
        found[name] = within(estimate_interval(_sums(ours, mine.counts), mine.score), *POINTS)
        if plain:
            both = _Both(mine, mine.counts.shape[1])
            rows = _sums(ours, np.hstack([mine.counts, plain[name].counts]))
            found[f"{name}_difference"] = within(estimate_interval(rows, both.difference), *APART)
            if name == "bleu":
                found[f"{name}_relative"] = within(estimate_interval(rows, both.percent), 0.0, math.inf)
    return found


@dataclass(frozen=True, slots=True)
class _Both:
    """Scores of two corpora whose counts lie side by side, the first `width` columns of ours."""

    corpus: Corpus
    width: int

    def _two(self, sums: Array) -> tuple[Array, Array]:
        return self.corpus.score(sums[..., : self.width]), self.corpus.score(sums[..., self.width :])

    def difference(self, sums: Array) -> Array:
        ours, theirs = self._two(sums)
        return ours - theirs

    def percent(self, sums: Array) -> Array:
        ours, theirs = self._two(sums)
        return 100 * ours / theirs


def _translated(given: Responses, mark: Marking) -> dict[str, Corpus]:
    return translated(_texts(given, mark), [response.reference for response in given.values()])


def _texts(given: Responses, mark: Marking) -> list[str]:
    return [mark.extract(response.text) or "" for response in given.values()]


def _sums(given: Responses, counts: Array) -> list[tuple[float, ...]]:
    """Counts of a prompt's repeats, and of a conversation's turns, together: a row each."""
    return summed([response.cluster for response in given.values()], counts.tolist())


def _summaries(ours: Responses, theirs: Responses, mark: Marking) -> Found:
    plain = _rouge(theirs, mark) if theirs else {}
    found: Found = {}
    for name, mine in _rouge(ours, mark).items():
        own = _paired(name, ours, mine, plain.get(name, []))
        found |= {what: within(value, *(POINTS if what == name else APART)) for what, value in own.items()}
    return found


def _rouge(given: Responses, mark: Marking) -> dict[str, list[float]]:
    return summarised(_texts(given, mark), [response.reference for response in given.values()])
