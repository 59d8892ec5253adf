"""README.md and docs/numbers.md are what `python -m engine readme` writes."""

import json
from pathlib import Path

from engine.cli.readme import NUMBERS, README, filled, numbers, quality


def test_generated_parts_are_up_to_date() -> None:
    text = README.read_text(encoding="utf-8")
    assert text == filled(text), "run `python -m engine readme`"
    assert NUMBERS.read_text(encoding="utf-8") == numbers(), "run `python -m engine readme`"


def test_a_stale_part_is_noticed() -> None:
    text = README.read_text(encoding="utf-8")
    assert filled(text.replace("| `sd` |", "| `sd!` |")) == text


def test_quality_as_recorded(tmp_path: Path) -> None:
    assert "Not measured yet" in quality(tmp_path)
    span = {"mean": 0.75, "low": 0.5, "high": 0.875, "n": 8}
    row = {
        "rounds": 12,
        "intervals": {"tau": span | {"mean": 4.0}},
        "quality": {"responses": 8, "prompts": 8, "repeats": 1, "accuracy": span},
    }
    (tmp_path / "quality-arithmetic.json").write_text(json.dumps({"sd": row}))
    written = quality(tmp_path)
    assert "arithmetic: 8 held-out prompts, recorded" in written and "BLEU" not in written
    assert "| `sd` | 75.0 (50.0 to 87.5) | 12 | 4.00 (0.50 to 0.88) |" in written
