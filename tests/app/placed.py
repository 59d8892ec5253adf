"""A made-up run whose text is written in place: four iterations, as mask-predict would leave them. No model."""

import random
from collections.abc import Iterator

from engine.methods import get_card
from engine.trace.events import Cell, Event, Round, RunEnded, RunStarted, Token
from tests.app.synthetic import IDS, VOCAB, WORDS

CARD = get_card("cmlm")
MASK = "<mask>"


def placed_events(places: int = 24, iterations: int = 4, seed: int = 0) -> Iterator[Event]:
    """Wrong words at first, of which each iteration rewrites those it is least sure of; the last places open once."""
    rng = random.Random(seed)
    words = [*VOCAB, MASK]
    right = [IDS[word] for word in WORDS[:places]]
    yield RunStarted(
        id=f"placed-{seed}",
        method=CARD.name,
        title=CARD.title,
        drafter=CARD.drafter,
        shape=CARD.shape,
        rule=CARD.rule,
        guarantee=CARD.guarantee,
        knobs={"iterations": iterations, "lengths": 5},
        models={"target": {"id": "made-up", "parameters": 1000}},
        prompt="Once",
        prompt_ids=[0],
        prompt_pieces=["Once"],
        sampling={"temperature": 0.0, "top_k": 0, "top_p": 1.0},
        seed=seed,
        max_new_tokens=places,
        vocab=len(words),
        dtype="float32",
        device="cpu",
        record="full",
        stop=[],
        chat=False,
        top_n=10,
        extras={"process": "made up"},
    )
    cells: list[Cell] = []
    for now in range(1, iterations + 1):
        last = now == iterations
        before, hidden = cells, places * (iterations - now + 1) // iterations
        written = set(rng.sample(range(places), hidden))
        cells = []
        for place, truth in enumerate(right):
            old = before[place] if before else None
            if now == 1 and place >= places - 2 and not last:
                cells.append(Cell(len(VOCAB), 0))
            elif place in written or (last and (old is None or old.token != truth)):
                token = truth if last or rng.random() < 0.3 + 0.5 * now / iterations else rng.randrange(len(VOCAB))
                stood = old.token if old and old.iteration else None
                cells.append(Cell(token, now, round(0.3 + 0.6 * rng.random(), 3), stood))
            else:
                assert old is not None
                cells.append(Cell(old.token, old.iteration, old.q))
        tokens = [Token(i, cell.token, words[cell.token], "placed", now - 1) for i, cell in enumerate(cells)]
        yield Round(
            index=now - 1,
            start=0,
            drafted=0,
            fed=0,
            levels=0,
            accepted=0,
            emitted=places if last else 0,
            path=[],
            draft_ms=0.0,
            verify_ms=0.0,
            other_ms=12.5,
            extras={
                "iteration": now,
                "places": places,
                "written": sum(cell.iteration == now for cell in cells),
                "open": sum(not cell.iteration for cell in cells),
                "network_ms": 12.0,
            },
            tokens=tokens if last else [],
            pieces={str(i): word for i, word in enumerate(words)} if now == 1 else {},
            canvas=cells,
        )
    yield RunEnded("limit", 0.0, 12.5 * iterations, "".join(words[cell.token] for cell in cells))
