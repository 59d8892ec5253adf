"""Names of lanes that are shown together: the engine's tables and sentences call a run what the page calls it."""

from typing import Any

from engine.analysis.labels import labels
from engine.trace.store import Trace
from tests.engine.analysis.made import head

Changed = dict[str, Any]
HOT = {"temperature": 0.8, "top_k": 0, "top_p": 0.9}
COLD = {"temperature": 0.0, "top_k": 0, "top_p": 1.0}


def knobs(**given: Any) -> Changed:
    return {"knobs": given}


def text(n: int) -> Changed:
    return {"prompt": f"Question: A farmer has {n} apples. She sells all of them and buys some pears."}


def forced(n: int, prompt: str, pieces: list[str], **more: Any) -> Changed:
    ids = list(range(len(pieces)))
    return {"extras": {"forced": n}, "prompt": prompt, "prompt_ids": ids, "prompt_pieces": pieces, **more}


def target(name: str) -> Changed:
    return {"models": {"target": {"id": name}}}


SETS: tuple[list[Changed], ...] = (
    [knobs(gamma=4)],
    [knobs(gamma=4), knobs(gamma=7), {"method": "ar", "knobs": {}}],
    [knobs(gamma=4), knobs(gamma=4)],
    [knobs(a=1, b=1, c=1), knobs(a=2, b=2, c=1), knobs(a=1, b=1, c=2)],
    [knobs(a=1, b=1, c=1), knobs(a=1, b=2, c=2), knobs(a=2, b=2, c=1), knobs(a=2, b=2, c=1)],
    [knobs(fill_empty=True), knobs(fill_empty=False), knobs(fill_empty=False, scope="global")],
    [knobs(tau=1.3469), knobs(tau=1.34691), knobs(tau=0.00001), knobs(tau=2.0), knobs(tau=12345.678)],
    [knobs(total=40000), knobs(total=40001), knobs(total="auto")],
    [text(48), text(48) | {"method": "ar"}],
    [text(48), text(66) | {"method": "ar"}, text(48)],
    [{"prompt": "One"}, {"prompt": "One  more\nline"}, {"prompt": ""}],
    [{"prompt": "unbreakable" * 5}, {"prompt": "unbreakable" * 4 + " and so on"}],
    [{"seed": 1}, {"seed": 2}],
    [{"sampling": HOT, "seed": 1}, {"sampling": HOT, "seed": 2, "method": "ar"}],
    [{"sampling": COLD}, {"sampling": HOT}, {"sampling": HOT | {"top_k": 5}}],
    [{"sampling": HOT, "seed": n, "extras": {"trajectory": n}} for n in range(3)],
    [target("a/big"), target("a/small/") | {"method": "ar"}, {"models": {}}],
    [{"max_new_tokens": 8}, {"max_new_tokens": 16}, {"max_new_tokens": 8}],
    [
        {"prompt": "Once", "prompt_pieces": ["Once"]},
        forced(1, "Once upon", ["Once", " upon"], max_new_tokens=7),
        forced(2, "Once upon a", ["Once", " upon", " a"], max_new_tokens=6),
        {"prompt": "Twice", "method": "ar"},
    ],
    [
        {"prompt": "Once", "prompt_pieces": ["Once"]},
        {"prompt": "Once upon", "prompt_pieces": ["Once", " upon"]},
        forced(1, "Once upon a", ["Once", " upon", " a"]),
    ],
    [{"title": "Other"} | knobs(gamma=4), knobs(gamma=7), {"title": "Other"} | knobs(gamma=8)],
    [{"file": "one.jsonl"}, {"file": "other.jsonl"}, {"file": "other.jsonl", "method": "ar"}],
    [{"file": "one.jsonl"}, {"file": "other.jsonl"}, {"file": "other.jsonl"}],
    [{"file": "one.jsonl"}, {"file": "one.jsonl", "method": "ar"}],
    [{"file": "one.jsonl", "prompt": "One"}, {"file": "other.jsonl", "prompt": "Other"}],
)
TOLD = ("title", "knobs", "models", "prompt", "prompt_ids", "prompt_pieces", "sampling", "seed", "max_new_tokens")


def vectors() -> dict[str, Any]:
    cases = []
    for changed in SETS:
        files = [one["file"] for one in changed if "file" in one]
        given = [{name: value for name, value in one.items() if name != "file"} for one in changed]
        heads = [head(**{"title": str(one.get("method", "sd")).upper(), **one}) for one in given]
        told = [{name: getattr(one, name) for name in TOLD} | {"extras": dict(one.extras)} for one in heads]
        cases.append({"heads": told, "files": files, "names": labels([Trace([one]) for one in heads], files)})
    return {"cases": cases}
