"""What the free objects of a trace hold by name: why a token was accepted or rejected, where it comes from, extras.

Rules, shapes and drafters write these types and sentences and views read them: who writes a name that is not here is
told by mypy, and so is who asks for one (on the page by tsc). On disk these are plain JSON objects, and files of others
may hold further names. `engine.trace.bounds` checks the values; a test sees that both know the same names.
"""

from typing import NotRequired, TypedDict


class Tested(TypedDict, total=False):
    """The exact rule's test (engine/verify.py)."""

    id: str  # the kind of decision
    choice: int  # the target's first choice, after a veto the one that was left
    p: float  # probabilities of the draft token that were compared, of what earlier siblings left
    q: float
    p_left: float  # the target's share of a chosen token among what is left
    ratio: float  # the acceptance probability
    weight: float  # of a block up to this token: the share of the target's mass that it still carries
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
    tau: float | None
    failed: str  # gap | top_beta | both
    k: int
    score: float | None  # a judge's importance; None where it was not asked
    threshold: float | None
    reward: float | None  # of a drafted step, by a process reward model
    edge: bool  # whether it is the last draft token of a window, about which the judge is not asked; else none can be
    h: float  # entropy of the distribution that is sampled from
    found: str | None  # mathematics in the token; None where there is none
    pattern: str


class Searched(TypedDict, total=False):
    """What was compared where a live beam of a search ends; cumulative log-probabilities, nats."""

    best: float  # of the beam with its best next token that does not end it
    last: float  # of the last beam that goes on


class Reason(Tested, Vetoed, Compared, Searched, total=False):
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
    part: str  # prompt | response | window
    pos: int
    trajectory: int
    ago: int  # trajectories before this one
    row: int  # of the matrix of adjacent tokens
    choice: int  # entry of the row, from 1
    kept: bool  # the row was learnt at a token that stayed
    round: int  # in which a window gave it


_Named = TypedDict("_Named", {"lambda": float}, total=False)  # the threshold of incremental drafting; no name in Python


class RoundExtras(_Named, total=False):
    """Numbers that a drafter, a shape or a rule notes of a round; beside them `hits_1`, `hits_2`, ... of STAND."""

    k: int  # draft tokens that a chosen length leaves
    made: int  # and those that there were
    mean_confidence: float
    stop_entropy: float | None  # nats, where drafting stopped; None where it came to its end
    levels: int  # that the tree has grown
    phi: float  # cumulative entropy of the meta-path, nats
    meta_path: list[int]
    bin: int
    d_extra: int  # levels that the bin adds
    n_verify: int  # tokens given to the target, root included
    candidates: int  # nodes before reranking
    buffers_made: int
    buffers_reused: int
    table_entries: int
    hit_order: int  # tokens that were looked up and found; 0 for none
    match: int
    where: str  # the draft is from: dynamic | static | adjacency | model | this | earlier
    score: float  # draft tokens that counts expect to hold
    passes: int  # of the drafter, where one wrote several levels of the draft
    draft_tokens: int  # of a model with a tokenizer of its own, that the draft was cut from
    beside: int  # tokens that the target read in the same pass, and no rule decided on
    window: list[list[int]]  # these, by level: what it predicted of the coming tokens
    beams: int  # live ones
    ended: int
    rating: float  # of the best beam
    judge_threshold: float  # the judge's own
    reward: float | None  # of the drafted step, by a process reward model
    reward_tokens: int  # that it read for that
    network_ms: float  # of other_ms: what a network took that writes a text in place
    early_ms: float  # of other_ms: what the rule took before the target's call, where it decided then
    expected: float  # tokens of the round, by a length or size that was chosen
    expected_ms: float  # and its time, by what was measured
    least: float  # chance from which on one more draft token, or level, would have been worth its time
    following: float | None  # and the one that it had; None where something else ended the draft
    branches: float  # tokens a round that branches would bring, where a chain was chosen in place of a tree
    branches_least: float  # and what their time would have to bring
    iteration: int  # of a text that is written in place, from 1
    places: int  # that the text has after it
    written: int  # of these, how many it wrote
    open: int  # and how many hold nothing yet


class CostsRecord(TypedDict):
    """Milliseconds of the parts of a round on one device (engine/costs/curve.py)."""

    passes: list[tuple[int, float]]  # tokens that the target reads at once, and the time of that
    start: float  # of a draft, before its first token
    step: float  # of each token of a chain, or each level of a tree after the first
    row: float  # of each further node that goes on in a level
    other: float  # of a round besides drafting and verifying
    fork: NotRequired[float]  # of each level of a tree, more than of a chain
    spread: NotRequired[float]  # of a pass over a tree, more than over a chain


class HeadExtras(TypedDict, total=False):
    """What was noted of a run."""

    task: str  # family of the prompt
    answer: str  # its reference answer
    right: bool  # judged before
    case: str
    key: str  # of the problem
    category: str  # of a file of prompts
    conversation: str  # whose turn the prompt is: shared by all turns
    turn: int  # of it, from 0
    name: str
    command: str
    process: str  # runs of one process may be compared in time
    lanes: int  # that took turns, a round each, itself included; none of a run that had the device alone
    adapted: str  # what of the shape the model made another, in words
    chat: bool
    forced: int  # so many tokens of the prompt begin the response
    trajectory: int
    trajectories: int
    repeat: int
    repeats: int
    earlier: list[list[str]]  # the texts of earlier trajectories
    row: int  # of a batch, from 0
    batch: int  # rows that were decoded together
    served: str  # the engine that reported this run
    untold: str  # what it did not tell, in words
    costs: CostsRecord  # by which `auto` knobs choose
    forecast: list[tuple[float, float]]  # and how often a draft token holds by the drafter's probability, from there on
    forecast_further: list[tuple[float, float]]  # the same of tokens further on in a draft


class Pruned(TypedDict, total=False):
    """A candidate that was left out of a draft tree."""

    token: int
    parent: int  # index in the round's nodes, -1 for the root
    score: float  # cumulative draft log-probability
    cause: str
