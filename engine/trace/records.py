"""What the free objects of a trace hold by name: why a draft token was accepted or rejected, and where it comes from.

For the reader's side: a sentence that asks for a number that no rule gives is refused by mypy, a view by tsc. On disk
these are plain JSON objects; `engine.trace.bounds` checks their values, and a test that both know the same names.
"""

from typing import TypedDict


class Tested(TypedDict, total=False):
    """The exact rule's test (engine/verify.py)."""

    id: str  # the kind of decision
    choice: int  # the target's first choice, after a veto the one that was left
    p: float  # probabilities of the draft token that were compared, of what earlier siblings left
    q: float
    p_left: float  # the target's share of a chosen token among what is left
    ratio: float  # the acceptance probability
    u: float  # the uniform it was compared with
    correction: str  # distribution that replaces a rejected token: residual | target
    after: int | None  # of an untested node: the tested ancestor at which the walk left


class Vetoed(TypedDict, total=False):
    """A veto that was asked before the test."""

    h_draft: float
    h_target: float
    overlap: float
    tau_h: float
    tau_h_draft: float
    tau_o: float
    n: int  # of overlap@n
    remove: int  # the token that it bars
    fired: bool  # it barred another token than this one, which was then tested
    strict: int  # the target's first choice before


class Compared(TypedDict, total=False):
    """Numbers that a threshold was compared with, and the limits that were written beside them."""

    rank: int
    gap: float
    confidence: float | None
    top_beta: int
    tau: float
    failed: str  # gap | top_beta | both
    k: int
    math_k: int
    score: float | None  # a judge's importance; None where it was not asked
    threshold: float
    reward: float  # of a drafted step, by a process reward model
    edge: bool  # the last draft token of a window, about which the judge is not asked
    h: float  # entropy of the distribution that is sampled from
    found: str | None  # mathematics in the token; None where there is none
    pattern: str


class Reason(Tested, Vetoed, Compared, total=False):
    """Inputs of a decision. Composed: a veto's numbers come before those of the exact test, an override's after."""


class Source(TypedDict, total=False):
    """Where a draft token comes from: a model or head (role, index, level), or a place in a text or a table."""

    kind: str  # model | head | ngram | table | automaton | adjacency | ...
    role: str
    common: float  # of another tokenizer: share of its distribution that lies on pieces that the target knows
    index: int
    level: int
    order: int  # tokens that were looked up
    match: int  # tokens that matched
    step: int  # how far behind the match
    seen: int
    times: int
    count: int
    q: float
    where: str  # dynamic | static
    document: int  # of the fixed collection
    passage: list[int]
    here: int  # the token's place in the passage
    part: str  # prompt | response
    pos: int
    trajectory: int
    ago: int  # trajectories before this one
    row: int  # of the matrix of adjacent tokens
    choice: int  # entry of the row, from 1
    kept: bool  # the row was learnt at a token that stayed
