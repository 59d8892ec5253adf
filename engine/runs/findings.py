"""What a look at a pair of models finds before it is loaded. Plain data, no torch."""

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["good", "note", "against"]


@dataclass(frozen=True)
class Finding:
    """One thing that speaks for a pair or against it, or that should be known of it."""

    about: str  # target | draft | tokenizers | memory
    verdict: Verdict
    words: str


@dataclass(frozen=True)
class Side:
    """A model as its configuration and its list of files tell."""

    role: str
    id: str
    type: str  # of architecture, as transformers calls it
    parameters: int
    layers: int
    width: int
    vocab: int
    context: int  # positions
    dtype: str
    lean: bool  # whether the engine's own forward runs it
    weights: int  # bytes of memory
    download: int  # bytes that are still to be fetched


@dataclass(frozen=True)
class Offered:
    """A method, with why it could not run on this pair (else nothing), and what is otherwise there (else nothing)."""

    name: str
    title: str
    against: str
    here: str


@dataclass(frozen=True)
class Preflight:
    """All that is known of a pair before its weights are read. It `fits` where nothing speaks against it; a trial when
    it is loaded has the last word."""

    fits: bool
    models: tuple[Side, ...]
    findings: tuple[Finding, ...]
    needed: int  # bytes of memory: weights, and keys and values of a text
    available: int  # bytes of memory now
    download: int  # bytes
    methods: tuple[Offered, ...]  # none where a model does not fit
    languages: tuple[str, ...] = ()  # codes of the target, where it reads and writes several
