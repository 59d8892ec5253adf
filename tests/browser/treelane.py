"""A lane whose rounds each hold a made-up draft tree of a chosen size, with bins, entropies, pruned candidates."""

import math
import random
from typing import Any

from engine.trace.events import Event, Node, Round, RunEnded, RunStarted, Token
from engine.trace.records import Pruned
from tests.app.synthetic import BY_NAME, IDS, VOCAB, WORDS
from tests.browser.fixtures import plain


def tree_lane(nodes: int = 60, rounds: int = 12, key: str = "bush") -> dict[str, Any]:
    """The lane as the page's store takes it."""
    return {
        "key": key,
        "card": BY_NAME["bush"].to_json() | {"name": key},
        "events": [plain(event) for event in _events(nodes, rounds)],
    }


def _events(size: int, count: int) -> list[Event]:
    head = RunStarted(
        id=f"tree-{size}",
        method="bush",
        title="Bush of candidates",
        drafter="head",
        shape="binned",
        rule="exact",
        guarantee="lossless",
        knobs={"total_token": size + 1, "depth": 7, "low_bins": 3},
        models={"target": {"id": "made-up"}},
        prompt="Once",
        prompt_ids=[0],
        prompt_pieces=["Once"],
        sampling={"temperature": 0.0, "top_k": 0, "top_p": 1.0},
        seed=0,
        max_new_tokens=400,
        vocab=len(VOCAB),
        dtype="float32",
        device="cpu",
        record="full",
        stop=[],
        chat=False,
        top_n=10,
    )
    rng, start, out = random.Random(size), 0, list[Event]([head])
    for index in range(count):
        made = _round(rng, index, start, size)
        start += made.emitted
        out.append(made)
    return [*out, RunEnded("limit", 5.0, 10.0 * count, "")]


def _round(rng: random.Random, index: int, start: int, size: int) -> Round:
    place, bin_ = rng.random() * 12, 0
    bin_ = int(place // 3)
    nodes: list[Node] = []
    frontier = [(-1, 0.0, 0)]
    while len(nodes) < size:
        parent, score, depth = frontier.pop(0)
        for _ in range(min(10, size - len(nodes))):
            q = rng.random() ** 2
            value = score + math.log(max(q, 1e-4))
            nodes.append(
                Node(
                    rng.randrange(len(VOCAB)),
                    parent,
                    depth + 1,
                    q=q,
                    score=value,
                    p=rng.random(),
                    h_draft=place / 8,
                    h_target=rng.random(),
                    source={"kind": "head", "level": depth + 1},
                )
            )
            frontier.append((len(nodes) - 1, value, depth + 1))
        frontier.sort(key=lambda one: -one[1])
    order = sorted(range(size), key=lambda i: -(nodes[i].score or 0))
    for rank, i in enumerate(order, 1):
        nodes[i].rank = rank
    path, parent = list[int](), -1
    for _ in range(rng.randrange(5)):
        kids = [i for i, node in enumerate(nodes) if node.parent == parent]
        if not kids:
            break
        for i in kids:
            nodes[i].state = "rejected"
        parent = max(kids, key=lambda i: nodes[i].score or 0)
        path.append(parent)
    for i in path:
        nodes[i].state = "accepted"
    tokens = [
        Token(start + k, nodes[i].token, VOCAB[nodes[i].token], "draft", index, i, 0.4, 0.5) for k, i in enumerate(path)
    ]
    word = WORDS[start % len(WORDS)]
    tokens.append(Token(start + len(path), IDS[word], word, "correction", index, None, None, 0.7))
    pruned: list[Pruned] = [
        {"token": k, "parent": k % 7 - 1, "score": -6.0 - k, "cause": ("budget", "rank", "entropy bin")[k % 3]}
        for k in range(20)
    ]
    return Round(
        index=index,
        start=start,
        drafted=size,
        fed=size + 1,
        levels=max(n.depth for n in nodes),
        accepted=len(path),
        emitted=len(tokens),
        path=path,
        draft_ms=3.0,
        verify_ms=8.0,
        other_ms=0.5,
        tcr=nodes[path[-1]].rank if path else 0,
        nodes=nodes,
        tokens=tokens,
        pruned=pruned,
        pieces={str(i): word for i, word in enumerate(VOCAB)},
        extras={"phi": place, "bin": bin_, "levels": 8, "d_extra": max(0, 3 - bin_), "meta_path": []},
    )
