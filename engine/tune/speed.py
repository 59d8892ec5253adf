"""How long do lookup structures take? One round of each drafter, update and draft, at a given length of history."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median, quantiles

import numpy as np
import torch

from engine.config import TRAJECTORY_TEMPERATURE, Sampling
from engine.draft import EMPTY, Draft, chain
from engine.lab import Lab
from engine.model import Forward
from engine.parts import Context, Outcome
from engine.runs.running import prepare
from engine.streams import Streams
from engine.verify import Verdict
from engine.view import RoundView

LOOKUPS = ("pld", "anpd", "sam", "suffix", "recycle", "sam_recycle", "stand")


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds of this thread on a processor, a round: drafting, learning, and both; `worst` is the 95th percentile
    of both. No look-up uses another thread, and one that waits for work of torch spins, which is none of its cost."""

    method: str
    draft: float
    update: float
    both: float
    worst: float
    entries: int


def text_like(length: int, vocab: int) -> list[int]:
    """Tokens with phrases that recur: half of each 20 tokens is a copy, the rest drawn with Zipf weights."""
    generator = np.random.default_rng(0)
    weights = 1.0 / np.arange(1, vocab + 1)
    fresh = generator.choice(vocab, size=length + 40, p=weights / weights.sum()).tolist()
    text: list[int] = fresh[:40]
    while len(text) < length:
        at = int(generator.integers(0, len(text) - 10))
        text += text[at : at + 10] + fresh[len(text) : len(text) + 10]
    return text[:length]


def measure(lab: Lab, history: int = 10_000, rounds: int = 200) -> Iterator[Cost]:
    """Drafters read `history` tokens in rounds of four, then `rounds` are timed; no model runs, its rows are random."""
    sampling = Sampling(TRAJECTORY_TEMPERATURE)
    text, vocab = text_like(history + 4 * rounds, lab.vocab), lab.vocab
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(1100, vocab, generator=generator)
    for method in LOOKUPS:
        living = prepare(lab, method, **({"entries": 500_000} if method != "recycle" else {}))
        living.drafter.begin(text[:50])
        drafts, updates = list[float](), list[float]()
        target, streams, draft, done = lab.target.session(64), Streams(0), EMPTY, 50
        while done + 4 <= len(text):
            timed = done >= history
            context = Context(text[:done], 50, 400, 700, sampling, streams, target, None, full=False)
            start = time.thread_time()
            if timed:
                draft = living.drafter.propose(context, living.shape)
            middle = time.thread_time()
            outcome = _outcome(draft, logits, text, done, sampling, streams)
            before = time.thread_time()
            living.drafter.observe(outcome)
            after = time.thread_time()
            done += 4
            if timed:
                drafts.append((middle - start) * 1e3)
                updates.append((after - before) * 1e3)
        both = [a + b for a, b in zip(drafts, updates, strict=True)]
        entries = int(draft.extras.get("table_entries", 0))
        yield Cost(method, median(drafts), median(updates), median(both), quantiles(both, n=20)[-1], entries)


def _outcome(
    draft: Draft, logits: torch.Tensor, text: list[int], done: int, sampling: Sampling, streams: Streams
) -> Outcome:
    """A round that commits four tokens of the text, three of them as if drafted (any rows serve: they are random)."""
    if len(draft) < 3:
        draft = chain(text[done : done + 3])
    rows = logits[done % 900 :][: len(draft) + 1]
    view = RoundView(draft, rows, sampling, streams.uniforms("accept", len(draft)), 0.5)
    _ = view.p  # the rule has asked for it already
    return Outcome(
        draft, Forward(rows, rows, None, 1), Verdict([0, 1, 2], 0), view, text[done : done + 4], text[: done + 4]
    )
