"""Tree runs made by hand: rounds of (accepted, TCR, cumulative entropy) as light traces."""

from typing import Any

from engine.trace.events import Round, RunEnded, RunStarted, Token
from engine.trace.records import RoundExtras
from engine.trace.store import Trace

TREE = {"total_token": 60, "depth": 7, "tree_top_k": 10}
BINNED = {**TREE, "ded": True, "tnp": True, "dca": True, "low_bins": 3}


def run(
    method: str,
    rounds: list[tuple[int, int, float | None]],
    *,
    knobs: dict[str, Any] | None = None,
    task: str = "code",
    prompt: str = "a",
    fed: int = 60,
    levels: int = 8,
    ms: float = 10.0,
    parts: tuple[float, float, float] = (0.2, 0.7, 0.1),
    target: str = "t",
    shape: str = "dynamic_tree",
    temperature: float = 0.0,
    device: str = "cpu",
) -> Trace:
    """Rounds of (accepted, tcr, phi); the meta-path is what was accepted."""
    head = RunStarted(
        id="x",
        method=method,
        title=method.upper(),
        drafter="none" if fed == 1 else "head",
        shape=shape,
        rule="exact",
        guarantee="lossless",
        knobs=knobs if knobs is not None else TREE,
        models={"target": {"id": target}},
        prompt=prompt,
        prompt_ids=[0],
        prompt_pieces=["a"],
        sampling={"temperature": temperature, "top_k": 0, "top_p": 1.0},
        seed=0,
        max_new_tokens=99,
        vocab=9,
        dtype="float32",
        device=device,
        record="light",
        stop=[],
        chat=False,
        top_n=10,
        extras={"task": task, "command": "made", "process": "made"},
    )
    made, start = Trace([head]), 0
    for index, (accepted, tcr, phi) in enumerate(rounds):
        kinds = ["draft"] * accepted + ["correction"]
        tokens = [Token(start + i, i, "", kind, index, i if i < accepted else None) for i, kind in enumerate(kinds)]
        extras: RoundExtras = (
            {} if phi is None else {"phi": phi, "meta_path": list(range(accepted)) or [8], "bin": int(phi > 2)}
        )
        made.append(
            Round(
                index=index,
                start=start,
                drafted=fed - 1,
                fed=fed,
                levels=levels if fed > 1 else 0,
                accepted=accepted,
                emitted=accepted + 1,
                path=list(range(accepted)),
                draft_ms=ms * parts[0],
                verify_ms=ms * parts[1],
                other_ms=ms * parts[2],
                tcr=tcr if fed > 1 else None,
                extras=extras,
                tokens=tokens,
            )
        )
        start += accepted + 1
    made.append(RunEnded("limit", 0.0, ms * len(rounds), ""))
    return made


def plain(tokens: int, **more: Any) -> Trace:
    return run("ar", [(0, 0, None)] * tokens, knobs={}, fed=1, shape="none", parts=(0.0, 0.9, 0.1), **more)
