"""Hand-made traces with numbers that can be checked by hand. Ids are positions in WORDS."""

from typing import Any

from engine.trace.events import Node, Round, RunEnded, RunStarted, Token
from engine.trace.store import Trace

WORDS = ["<s>", "cat", "dog", " has", " is", "\n", "sat", "<eos>"]
CAT, DOG, HAS, IS, LINE, SAT, EOS = range(1, 8)


def head(method: str = "sd", **changed: Any) -> RunStarted:
    given: dict[str, Any] = {
        "id": f"{method}-0",
        "method": method,
        "title": method.upper(),
        "drafter": "model",
        "shape": "chain",
        "rule": "exact",
        "guarantee": "lossless",
        "knobs": {"gamma": 3},
        "models": {"target": {"id": "t"}},
        "prompt": "<s>",
        "prompt_ids": [0],
        "prompt_pieces": ["<s>"],
        "sampling": {"temperature": 0.0, "top_k": 0, "top_p": 1.0},
        "seed": 0,
        "max_new_tokens": 8,
        "vocab": 8,
        "dtype": "float32",
        "device": "cpu",
        "record": "full",
        "stop": [],
        "chat": False,
        "top_n": 10,
        "extras": {"process": "made"},
    }
    return RunStarted(**(given | changed))


SAMPLED = {"temperature": 1.0, "top_k": 0, "top_p": 1.0}


def ar(ids: list[int], ms: float = 10.0, **changed: Any) -> Trace:
    """One token a call, `ms` each."""
    rounds = [
        Round(
            i,
            i,
            0,
            1,
            0,
            0,
            1,
            [],
            0.0,
            ms,
            0.0,
            tokens=[Token(i, t, WORDS[t], "target", i, h_target=1.0, top_target=[(t, 0.8)])],
        )
        for i, t in enumerate(ids)
    ]
    text = "".join(WORDS[t] for t in ids)
    described = {"drafter": "none", "shape": "none", "guarantee": "reference", "knobs": {}} | changed
    return Trace([head("ar", **described), *rounds, RunEnded("limit", 5.0, ms * len(ids), text)])


def chain(
    index: int,
    start: int,
    states: str,
    candidates: list[int],
    last: int | None,
    origin: str = "correction",
    **node: Any,
) -> Round:
    """A chain: one letter a node (a r d x v), then the token the target adds. 3 ms draft, 10 ms target, 2 ms other."""
    names = {"a": "accepted", "r": "rejected", "d": "discarded", "x": "relaxed", "v": "vetoed"}
    nodes = [
        Node(
            t,
            i - 1,
            i + 1,
            names[s],
            rank=i + 1,
            score=-0.5 * (i + 1),
            q=0.5,
            p=0.4,
            h_draft=1.0,
            h_target=2.0,
            rule="exact",
            **node,
        )
        for i, (s, t) in enumerate(zip(states, candidates, strict=True))
    ]
    path = [i for i, s in enumerate(states) if s in "ax"]
    tokens = [
        Token(start + i, candidates[i], WORDS[candidates[i]], "relaxed" if states[i] == "x" else "draft", index, i)
        for i in path
    ]
    if last is not None:
        tokens.append(Token(start + len(path), last, WORDS[last], origin, index))
    n = len(nodes)
    pieces = {str(t): WORDS[t] for t in [*candidates, *([] if last is None else [last])]}
    return Round(
        index,
        start,
        n,
        n + 1,
        n,
        len(path),
        len(tokens),
        path,
        1.0 * n,
        10.0,
        2.0,
        nodes=nodes,
        tokens=tokens,
        pieces=pieces,
    )


def sd() -> Trace:
    """Three rounds of three draft tokens: one kept, all kept, cut by the end. 7 tokens, 9 drafted, 5 accepted, 1 rejected."""
    rounds = [
        chain(0, 0, "ard", [CAT, HAS, SAT], DOG),
        chain(1, 2, "aaa", [CAT, IS, SAT], LINE, "bonus"),
        chain(2, 6, "add", [EOS, CAT, DOG], None),
    ]
    text = "".join(token.piece for event in rounds for token in event.tokens)
    return Trace([head("sd"), *rounds, RunEnded("eos", 5.0, 45.0, text)])


def light(trace: Trace) -> Trace:
    """The same run as `record="light"` leaves it."""
    events = []
    for event in Trace.loads(trace.to_bytes()).events:
        if isinstance(event, Round):
            event.nodes, event.pruned, event.pieces, event.tcr = [], [], {}, None
        events.append(event)
    return Trace(events)


def bush() -> Trace:
    """One round of a tree: root with cat and dog, dog with has and is; dog and is kept, then a correction below is.

    Ranks by score: cat 1, dog 2, is 3, has 4, sat (below is) 5.
    """
    nodes = [
        Node(CAT, -1, 1, "rejected", rank=1, score=-0.2),
        Node(DOG, -1, 1, "accepted", rank=2, score=-0.5),
        Node(HAS, 1, 2, "rejected", rank=4, score=-0.9),
        Node(IS, 1, 2, "accepted", rank=3, score=-0.7),
        Node(SAT, 3, 3, "rejected", rank=5, score=-1.9),
        Node(SAT, 0, 2, "discarded", rank=6, score=-2.0, reason={"id": "untested", "after": 0}),
    ]
    tokens = [
        Token(0, DOG, "dog", "draft", 0, 1),
        Token(1, IS, " is", "draft", 0, 3),
        Token(2, LINE, "\n", "correction", 0),
    ]
    pieces = {str(i): word for i, word in enumerate(WORDS)}
    event = Round(0, 0, 6, 7, 3, 2, 3, [1, 3], 4.0, 10.0, 1.0, tcr=3, nodes=nodes, tokens=tokens, pieces=pieces)
    return Trace([head("bush", shape="tree"), event, RunEnded("stopped", 1.0, 15.0, "dog is\n")])
