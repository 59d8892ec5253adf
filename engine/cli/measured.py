"""What was measured, as tables: README.md shows a few of them, `docs/results/README.md` all of them."""

from pathlib import Path

from engine.cli.autosaid import AUTO, UNLEFT, left
from engine.cli.benchsaid import BENCH, bench, ratios
from engine.cli.gpus import FOLDER as GPUS
from engine.cli.gpus import gpu_whole
from engine.cli.pagesaid import PAGE, page
from engine.cli.qualitysaid import quality
from engine.cli.sampledsaid import SAMPLED, UNDRAWN, sampled
from engine.papers.systems import FOLDER as QUALITY


def machines(path: Path) -> list[Path]:
    """A recorded file, and beside it those of the same command on other CPUs: `bench.json`, `bench-avx2.json`."""
    return [one for one in (path, *sorted(path.parent.glob(f"{path.stem}-*.json"))) if one.is_file()]


def whole() -> str:
    """`docs/results/README.md`: every table."""
    parts = {
        "Speed": "\n".join(map(bench, machines(BENCH))) or ratios([]),
        "Speed of sampled runs": "\n".join(map(sampled, machines(SAMPLED))) or UNDRAWN,
        "On a GPU": gpu_whole(GPUS),
        "Settings left to the device": "\n".join(map(left, machines(AUTO))) or UNLEFT,
        "Quality": quality(QUALITY),
        "The page": page(PAGE),
    }
    lines = ["# What was measured", "", "Written by `python -m engine readme` from the files of this folder.", ""]
    return "\n".join([*lines, *(f"## {title}\n\n{body}" for title, body in parts.items())]).rstrip() + "\n"
