"""The events of a run and their fields: docs/design/0003-trace.md explains them, docs/numbers.md gives units. JSON
types, null where unknown."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, get_args

from engine.config import Guarantee, Record
from engine.trace.records import HeadExtras, Pruned, Reason, RoundExtras, Source

SCHEMA = 1
NODE_STATES = ("accepted", "rejected", "discarded", "relaxed", "vetoed")
ORIGINS = ("draft", "relaxed", "correction", "bonus", "target", "placed")
GUARANTEES = (*get_args(Guarantee), "untold")  # the last of runs that an engine reported (`engine.served.light`)
RECORDS = get_args(Record)
REASONS = ("eos", "stop", "limit", "context", "stopped", "error")  # why a run ended
TopN = list[tuple[int, float]]  # (token id, probability), most probable first


@dataclass(slots=True)
class Node:
    """A draft token. Entropies in nats over the full vocabulary at temperature 1."""

    token: int
    parent: int  # index in this round's nodes; -1 is the round's root
    depth: int  # 1 for children of the root
    state: str = "discarded"
    rank: int | None = None  # 1-based, by cumulative draft log-probability within the round
    score: float | None = None  # cumulative draft log-probability
    q: float | None = None  # probability under the distribution the draft token was drawn from
    h_draft: float | None = None
    top_draft: TopN | None = None
    law_draft: TopN | None = None  # the distribution sampled from, when it is not the raw one
    source: Source | None = None
    p: float | None = None  # the target's probability: sampled distribution, or the raw distribution when greedy
    h_target: float | None = None
    top_target: TopN | None = None
    law_target: TopN | None = None
    overlap: float | None = None  # |top-n draft and top-n target| / n
    accept_prob: float | None = None
    u: float | None = None  # the uniform compared with accept_prob
    judge: float | None = None  # importance given by a judge
    confidence: float | None = None
    margin: float | None = None  # log p(target's first) - log p(token), nats
    rule: str | None = None
    reason: Reason | None = None  # inputs of the rule's decision


@dataclass(slots=True)
class Token:
    """One emitted token of the response; `pos` counts from 0."""

    pos: int
    token: int
    piece: str
    origin: str
    round: int
    node: int | None = None
    h_draft: float | None = None
    h_target: float | None = None
    top_target: TopN | None = None  # kept for tokens without a node, and for the one after a rejection
    looks: TopN | None = None  # (place in the source, share of the attention), most looked at first


@dataclass(slots=True)
class Cell:
    """One place of a text that is written in place, as an iteration left it."""

    token: int  # a mask or a blank where nothing stands
    iteration: int  # that last wrote it, from 1; 0 where nothing stands
    q: float | None = None  # probability that the model gave the token
    before: int | None = None  # token that stood here, of a place that this iteration wrote anew


@dataclass(slots=True)
class RunStarted:
    """Head of a trace: everything needed to understand and repeat the run."""

    kind: ClassVar[str] = "run"
    id: str
    method: str
    title: str
    drafter: str
    shape: str
    rule: str
    guarantee: str
    knobs: dict[str, Any]
    models: dict[str, dict[str, Any]]  # role -> id and revision; of models also parameters, layers, ...
    prompt: str
    prompt_ids: list[int]
    prompt_pieces: list[str]
    sampling: dict[str, Any]
    seed: int
    max_new_tokens: int
    vocab: int
    dtype: str
    device: str
    record: str
    stop: list[str]  # stop strings
    chat: bool  # whether the prompt went through the target's chat template
    top_n: int  # entries kept of each distribution
    preset: str | None = None
    versions: dict[str, str] = field(default_factory=dict)
    created: str = ""
    source: int = 0  # tokens of the prompt that an encoder read; 0 of a decoder-only model
    extras: HeadExtras = field(default_factory=HeadExtras)  # e.g. trajectory number, task, problem key, process


@dataclass(slots=True)
class Round:
    """One cycle: a draft, one target call (none where a reward model accepts a step, or where the draft model writes
    alone), a decision. Or one iteration of a text that is written in place, which drafts nothing and asks no target;
    the last emits the text. Times in milliseconds; they sum to the round."""

    kind: ClassVar[str] = "round"
    index: int
    start: int  # response tokens committed before this round
    drafted: int  # nodes, root excluded
    fed: int  # tokens given to the target, root included; 0: it was not called
    levels: int  # depth of the draft
    accepted: int
    emitted: int
    path: list[int]
    draft_ms: float
    verify_ms: float
    other_ms: float
    tcr: int | None = None
    extras: RoundExtras = field(default_factory=RoundExtras)
    nodes: list[Node] = field(default_factory=list)  # empty when recorded lightly
    pruned: list[Pruned] = field(default_factory=list)  # candidates left out: token, parent, score, cause
    tokens: list[Token] = field(default_factory=list)
    pieces: dict[str, str] = field(default_factory=dict)  # token id -> text, each id once per trace
    canvas: list[Cell] | None = None  # every place after an iteration; None of a draft, and when recorded lightly


@dataclass(slots=True)
class RunEnded:
    """Tail of a trace. `reason`: eos | stop | limit | context | stopped | error. A time not measured is None."""

    kind: ClassVar[str] = "end"
    reason: str
    prefill_ms: float | None = None
    total_ms: float | None = None  # decode only, prefill excluded
    text: str = ""
    message: str = ""


Event = RunStarted | Round | RunEnded
