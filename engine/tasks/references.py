"""How near texts come to their references: BLEU and chrF of translations (sacrebleu), ROUGE of summaries (rouge-score).

BLEU and chrF are quotients over a whole corpus. They are given as rows of counts, one a text, whose sum makes the
score, so that a text can be left out for an interval. The counts are sacrebleu's own (`_extract_corpus_statistics`,
which its paired tests use too); a test holds the sums to its `corpus_score`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sacrebleu
from numpy.typing import NDArray

Array = NDArray[np.float64]
ROUGE = ("rouge1", "rouge2", "rougeL")
MOST_WORDS = 400  # of a summary
MOST_SIGNS = 10_000  # of either; a translation is one line


@dataclass(frozen=True, slots=True)
class Corpus:
    """Counts of each text [n, k], and the score (0 to 100) that sums of such rows [..., k] make."""

    counts: Array
    score: Callable[[Array], Array]


def translated(texts: Sequence[str], references: Sequence[str]) -> dict[str, Corpus]:
    """BLEU and chrF of translations, one reference each; at least one text. Of each the first `MOST_SIGNS` characters
    count."""
    ours, theirs = _short(texts), _short(references)
    return {"bleu": _corpus(sacrebleu.BLEU(), ours, theirs), "chrf": _corpus(sacrebleu.CHRF(), ours, theirs)}


def bleu_counts(text: str, reference: str) -> list[int]:
    """The row of counts of one translation; sums of such rows make BLEU by `bleu_of`."""
    return [int(count) for count in translated([text], [reference])["bleu"].counts[0]]


def bleu_of(sums: Array) -> Array:
    """Corpus BLEU (0 to 100) of sums of `bleu_counts` [..., k]."""
    return _scores(sacrebleu.BLEU(), sums)


def _corpus(metric: Any, texts: list[str], references: list[str]) -> Corpus:
    counts = np.array(metric._extract_corpus_statistics(texts, [references]), dtype=np.float64)
    return Corpus(counts, lambda sums: _scores(metric, sums))


def _scores(metric: Any, sums: Array) -> Array:
    rows = sums.reshape(-1, sums.shape[-1])
    found = [metric._compute_score_from_stats([int(x) for x in row]).score for row in rows]
    return np.array(found).reshape(sums.shape[:-1])


def sentence_bleu(text: str, references: Sequence[str]) -> float:
    """Sentence BLEU of one text against one or more references, from 0 to 100 (sacrebleu's, smoothed). Of each the
    first `MOST_SIGNS` characters count."""
    return float(sacrebleu.sentence_bleu(text[:MOST_SIGNS], _short(references)).score)


def _short(texts: Sequence[str]) -> list[str]:
    return [text[:MOST_SIGNS] for text in texts]


def rouge_l(text: str, references: Sequence[str]) -> float:
    """ROUGE-L of one text against the reference that it is nearest to, from 0 to 100."""
    return max(summarised([text] * len(references), references)["rougeL"])


def summarised(texts: Sequence[str], references: Sequence[str]) -> dict[str, list[float]]:
    """ROUGE-1, -2 and -L of summaries, F measure of each from 0 to 100, with Porter's stemmer as is usual.

    Of each text the first `MOST_WORDS` words within `MOST_SIGNS` characters count, since ROUGE-L takes their product in
    time.
    """
    from rouge_score.rouge_scorer import RougeScorer  # noqa: PLC0415  (slow to import, for summaries only)

    scorer = RougeScorer(list(ROUGE), use_stemmer=True)
    pairs = zip(texts, references, strict=True)
    found = [
        scorer.score(*(" ".join(x[:MOST_SIGNS].split()[:MOST_WORDS]) for x in (reference, text)))
        for text, reference in pairs
    ]
    return {name: [100 * scores[name].fmeasure for scores in found] for name in ROUGE}
