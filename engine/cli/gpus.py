"""What was measured on GPUs, as tables for README.md and `docs/results/README.md`: benches and the doctor's reports.

Nothing is set out to be reached there: targets are for the embedded pair on a CPU.
"""

import json
import re
from pathlib import Path
from typing import Any

from engine.analysis.words import number
from engine.cli.benchtable import SAID, table
from engine.files.places import ROOT

FOLDER = ROOT / "docs" / "results" / "gpu"
ENLARGED, SMALL = "7b", "tiny"  # the pairs, by the names of their files
NOT_YET = "Not measured yet: run `python -m engine enlarge` and `bench` on a machine with a GPU.\n"
SIZES = (1, 8, 64)  # tokens of the passes that are told
MISSING = "not measured"
THEIRS = {"hf generate": "`generate`", "hf prompt lookup": "its prompt lookup", "hf assisted 5": "assisted generation"}


def gpu_said(folder: Path) -> str:
    """The enlarged pair, for README.md."""
    if not (folder / f"bench-{ENLARGED}.json").is_file():
        return NOT_YET
    return "\n".join([*_enlarged(folder), "", "Both pairs: [docs/results](docs/results/README.md#on-a-gpu)."]) + "\n"


def gpu_whole(folder: Path) -> str:
    """Both pairs."""
    if not (folder / f"bench-{ENLARGED}.json").is_file():
        return NOT_YET
    lines = _enlarged(folder)
    if (folder / f"bench-{SMALL}.json").is_file():
        lines += ["", *_small(folder)]
    return "\n".join(lines) + "\n"


def _enlarged(folder: Path) -> list[str]:
    found = _read(folder / f"bench-{ENLARGED}.json")
    target = found["target"]
    asked = [name for name in found["counts"] if name != "ar"]
    options = f"--max-new-tokens {found['max_new_tokens']} --methods {','.join(asked)} --no-lookups --no-busy"
    return [
        f"Recorded on {found['device']} in {found['dtype']} by `python -m engine enlarge FOLDER`, which writes the "
        f"embedded pair enlarged to {target['parameters'] / 1e9:.1f} billion parameters ({target['layers']} layers of "
        f"{target['width']}) with a draft and heads of that size, and prints the FLAGS for `python -m engine bench "
        f"FLAGS {_times(found)} {options}`. Texts and acceptance are those of the embedded pair, so ratios say what "
        "its drafts are worth where passes cost what they cost at that size; the vocabulary stays small.",
        "",
        SAID,
        "",
        *table(found),
        "",
        f"Transformers on the same pair: {_theirs(found)}. If a token only had to read the "
        f"target's {found['weight_bytes'] / 1e9:.1f} GB of weights there would be {found['limit_tokens_per_s']:.0f} "
        f"tokens/s; `ar` reaches {found['ar_share_of_limit']:.0%} of that.",
        "",
        _doctor(folder / f"doctor-{ENLARGED}.json"),
    ]


def _small(folder: Path) -> list[str]:
    found = _read(folder / f"bench-{SMALL}.json")
    return [
        f"The embedded pair itself on {found['device']} in {found['dtype']}, by `python -m engine bench "
        f"{_times(found)} --no-transformers --no-lookups --no-busy`: so small a network waits for launches, not for "
        "memory.",
        "",
        *table(found),
        "",
        _doctor(folder / f"doctor-{SMALL}.json"),
    ]


def _times(found: dict[str, Any]) -> str:
    """The options that say how often."""
    return f"--items {found['prompts']} --repetitions {found['tokens_per_s']['ar']['n']}"


def _theirs(found: dict[str, Any]) -> str:
    speeds = found["tokens_per_s"]
    return ", ".join(f"{said} {speeds[name]['median']:.0f} tokens/s" for name, said in THEIRS.items() if name in speeds)


def _doctor(path: Path) -> str:
    """A report in a sentence or two; empty where there is none."""
    if not path.is_file():
        return ""
    report = _read(path)
    looked = [check for check in report["checks"] if check["state"] != "not here"]
    well = sum(check["state"] == "ok" for check in looked)
    figures = report["figures"]
    methods = next((check["told"] for check in report["checks"] if check["name"] == "methods"), "none was run")
    return (
        f"`python -m engine doctor` there (torch {report['about']['torch']}; `{path.with_suffix('.txt').name}`): "
        f"{well} of {len(looked)} checks hold; of the methods {methods}. A launch takes "
        f"{figures['launch of an operation, microseconds']:.1f} microseconds, a read "
        f"{figures['read of one number, microseconds']:.0f}; memory is read at "
        f"{figures['memory read, GB/s']:,.0f} GB/s; passes over {', '.join(map(str, SIZES))} tokens: captured "
        f"{_passes(figures, 'captured')}, plain {_passes(figures, 'plain')}.{_behind(figures)}"
    )


def _passes(figures: dict[str, float], kind: str) -> str:
    """What passes over a few tokens take; a path that gave no numbers has no times."""
    found = [figures.get(f"{kind} pass over {n} tokens, milliseconds") for n in SIZES]
    if not any(found):
        return MISSING
    return ", ".join(MISSING if ms is None else f"{number(ms)} ms" for ms in found)


def _behind(figures: dict[str, float]) -> str:
    """What a token costs behind long texts, where that was measured."""
    found = {
        int(m[1]): ms for name, ms in figures.items() if (m := re.match(r"captured pass behind (\d+) tokens", name))
    }
    if not found:
        return ""
    said = ", ".join(number(ms) for ms in found.values())
    return f" Behind {', '.join(f'{n:,}' for n in found)} tokens one takes {said} ms."


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found
