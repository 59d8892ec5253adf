"""Made-up runs in the shape of real traces, for the page's tests and its development. No model, no torch."""

import math
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from engine.config import AUTO, Card, Knob
from engine.rules import THRESHOLDS
from engine.trace.events import Event, Node, Round, RunEnded, RunStarted, Token

TEXT = (
    "A farmer has 48 apples and gives 3 to each of his 7 neighbours .\nFirst , 3 * 7 = 21 apples are given away .\n"
    "Then 48 - 21 = 27 apples are left .\nHe sells 9 of them for ${price} each , so <b>18</b> remain {{v}} .\n\n"
    "def left ( total , given ) :\n\treturn total - given # caf\u00e9 \ufffd\n"
)


def _pieces() -> list[str]:
    """The text as word pieces with their leading blank; newlines and tabs are pieces of their own."""
    out: list[str] = []
    for line in TEXT.splitlines(keepends=True):
        body = line.rstrip("\n")
        if body.startswith("\t"):
            out.append("\t")
            body = body[1:]
        out += [(" " if i else "") + word for i, word in enumerate(body.split(" ")) if word]
        if line.endswith("\n"):
            out.append("\n")
    return out


WORDS = _pieces()
VOCAB = [*sorted(set(WORDS)), " maybe", " some", " rather", " given", " so", " then"]
IDS = {word: i for i, word in enumerate(VOCAB)}

GAMMA = Knob("gamma", 4, "Draft tokens before each check.", low=1, high=16, step=1, unit="tokens", origin="paper")
AUTO_GAMMA = replace(GAMMA, auto=True)
TAU = Knob(
    "tau",
    0.35,
    "Accept a rejected draft token when it matters less than this.",
    low=0.0,
    high=1.0,
    step=0.05,
    origin="ours",
)
LIMIT = Knob(
    "entropy_limit",
    1.5,
    "Veto when both entropies exceed this.",
    low=0.0,
    high=6.0,
    step=0.1,
    unit="nats",
    origin="paper",
)
WIDTH = Knob("width", 3, "Children of each node.", low=1, high=8, step=1, origin="code")
DEPTH = Knob("depth", 4, "Levels of the tree.", low=1, high=8, step=1, unit="levels", origin="paper", advanced=True)
BIAS = Knob("bias", "none", "How ties are settled.", choices=("none", "low", "high"), advanced=True)
HOLD = Knob("hold", False, "Hold the last draft token back.", advanced=True)


def _card(
    name: str, title: str, drafter: str, shape: str, rule: str, guarantee: Any, knobs: tuple[Knob, ...], family: str
) -> Card:
    return Card(
        name=name,
        title=title,
        paper=f"Anon et al. 2024, {title} for tests",
        drafter=drafter,
        shape=shape,
        rule=rule,
        guarantee=guarantee,
        summary=f"{title} drafts with a {drafter}. The target checks every draft token in one call.",
        helps="Repetitive text.",
        hurts="High temperature.",
        contested="The paper leaves the tie rule open (X-1).",
        formula="min(1, p(x) / q(x))",
        knobs=knobs,
        family=family,
        threshold=THRESHOLDS.get({"veto": "entropy_veto"}.get(rule, rule)),
    )


CARDS = (
    _card("plain", "Plain decoding", "none", "none", "exact", "reference", (), "baseline"),
    _card("chain", "Chain of candidates", "model", "chain", "exact", "lossless", (AUTO_GAMMA, BIAS, HOLD), "chain"),
    _card("bush", "Bush of candidates", "model", "static tree", "exact", "lossless", (WIDTH, DEPTH), "tree"),
    _card("lenient", "Lenient judge", "model", "chain", "judge", "lossy", (GAMMA, TAU), "judge"),
    _card("wary", "Wary of entropy", "model", "chain", "veto", "lossy", (GAMMA, LIMIT), "chain"),
    _card("copycat", "Copy from the prompt", "lookup", "chain", "exact", "lossless", (GAMMA,), "lookup"),
)
BY_NAME = {card.name: card for card in CARDS}


def events(
    name: str,
    tokens: int = 120,
    seed: int = 0,
    prompt: str = "Once",
    knobs: dict[str, Any] | None = None,
    light: bool = False,
) -> Iterator[Event]:
    """One made-up run: lossless methods emit the same text, lossy ones drift after a while."""
    card = BY_NAME[name]
    values = card.resolve(knobs or {})
    rng = random.Random(f"{name}{seed}{sorted(values.items())}")
    yield RunStarted(
        id=f"{name}-{seed}",
        method=name,
        title=card.title,
        drafter=card.drafter,
        shape=card.shape,
        rule=card.rule,
        guarantee=card.guarantee,
        knobs=dict(values),
        models={"target": {"id": "made-up", "parameters": 1000}},
        prompt=prompt,
        prompt_ids=[0],
        prompt_pieces=[prompt],
        sampling={"temperature": 0.0, "top_k": 0, "top_p": 1.0},
        seed=seed,
        max_new_tokens=tokens,
        vocab=len(VOCAB),
        dtype="float32",
        device="cpu",
        record="full",
        stop=[],
        chat=False,
        top_n=10,
        extras={"process": "made up"},
    )
    done, index, total, text = 0, 0, 0.0, ""
    while done < tokens:
        round_ = _round(card, values, rng, index, done, tokens - done, light)
        done += round_.emitted
        text += "".join(token.piece for token in round_.tokens)
        total += round_.draft_ms + round_.verify_ms + round_.other_ms
        index += 1
        yield round_
    yield RunEnded(reason="limit", prefill_ms=12.5, total_ms=total, text=text)


def _truth(card: Card, pos: int) -> str:
    if card.guarantee == "lossy" and pos % 31 == 30:
        return " rather"
    return WORDS[pos % len(WORDS)]


def _top(rng: random.Random, first: str, entropy: float) -> list[tuple[int, float]]:
    others = rng.sample([word for word in VOCAB if word != first], 7)
    weights = [math.exp(-i / max(entropy, 0.05)) for i in range(8)]
    whole = sum(weights) * 1.04
    return [(IDS[word], weight / whole) for word, weight in zip([first, *others], weights, strict=True)]


def _round(
    card: Card, knobs: dict[str, Any], rng: random.Random, index: int, start: int, room: int, light: bool
) -> Round:
    asked = knobs.get("depth", knobs.get("gamma", 4))
    levels = 0 if card.drafter == "none" else int(4 if asked == AUTO else asked)
    nodes, tokens, path = [], [], []
    parent, alive = -1, True
    for depth in range(1, min(levels, max(room - 1, 0)) + 1):
        node, kept = _node(card, rng, start + depth - 1, parent, depth, alive)
        nodes.append(node)
        here = len(nodes) - 1
        for _ in range(int(knobs.get("width", 1)) - 1):
            other, _kept = _node(card, rng, start + depth - 1, parent, depth, False)
            other.token = rng.randrange(len(VOCAB))
            other.state = "rejected" if alive else "discarded"
            nodes.append(other)
        if alive and kept:
            path.append(here)
            origin = "relaxed" if node.state == "relaxed" else "draft"
            tokens.append(
                Token(
                    start + depth - 1, node.token, VOCAB[node.token], origin, index, here, node.h_draft, node.h_target
                )
            )
        alive = alive and kept
        parent = here
    word = _truth(card, start + len(tokens))
    h_target = rng.random() ** 2 * 3
    origin = "target" if not nodes else "bonus" if alive else "correction"
    top = _top(rng, word, h_target)
    tokens.append(Token(start + len(tokens), IDS[word], word, origin, index, None, None, h_target, top))
    drafted = len(nodes)
    ids = (
        {n.token for n in nodes}
        | {t.token for t in tokens}
        | {i for n in nodes for i, _ in [*(n.top_draft or []), *(n.top_target or [])]}
    )
    pieces = {str(i): VOCAB[i] for i in sorted(ids | {i for i, _ in top})}
    return Round(
        index=index,
        start=start,
        drafted=drafted,
        fed=drafted + 1,
        levels=max((node.depth for node in nodes), default=0),
        accepted=len(path),
        emitted=len(tokens),
        path=path,
        draft_ms=0.6 * levels,
        verify_ms=9.0 + rng.random() + 0.1 * drafted,
        other_ms=0.4,
        nodes=[] if light else nodes,
        tokens=tokens,
        pieces=pieces,
        pruned=[{"token": 3, "parent": -1, "score": -4.2, "cause": "budget"}] if levels and knobs.get("width") else [],
    )


def _node(card: Card, rng: random.Random, pos: int, parent: int, depth: int, tested: bool) -> tuple[Node, bool]:
    truth = _truth(card, pos)
    right = rng.random() < 0.78 - 0.05 * depth
    word = truth if right else rng.choice([w for w in VOCAB if w != truth])
    h_draft, h_target = rng.random() ** 2 * 3, rng.random() ** 2 * 3
    top_d, top_t = _top(rng, word, h_draft), _top(rng, truth, h_target)
    p = dict(top_t).get(IDS[word], 0.01)
    node = Node(
        token=IDS[word],
        parent=parent,
        depth=depth,
        rank=depth,
        score=-0.4 * depth,
        q=top_d[0][1],
        h_draft=h_draft,
        top_draft=top_d,
        p=p,
        h_target=h_target,
        top_target=top_t,
        overlap=rng.randrange(6) / 5,
        accept_prob=min(1.0, p / top_d[0][1]),
        u=rng.random(),
        margin=max(0.0, math.log(top_t[0][1] / p)),
        rule=card.rule,
        source={"kind": "model", "role": "draft"},
    )
    if not tested:
        return node, False
    node.state = "accepted" if right else "rejected"
    if card.rule == "judge":
        node.judge = rng.random()
        if not right and node.judge < 0.35:
            node.state = "relaxed"
    if card.rule == "veto" and right and min(h_draft, h_target) > 1.2:
        node.state = "vetoed"
    return node, node.state in ("accepted", "relaxed")
