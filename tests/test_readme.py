"""README.md and docs/numbers.md are what `python -m engine readme` writes."""

from engine.cli.readme import NUMBERS, README, filled, numbers


def test_generated_parts_are_up_to_date() -> None:
    text = README.read_text(encoding="utf-8")
    assert text == filled(text), "run `python -m engine readme`"
    assert NUMBERS.read_text(encoding="utf-8") == numbers(), "run `python -m engine readme`"


def test_a_stale_part_is_noticed() -> None:
    text = README.read_text(encoding="utf-8")
    assert filled(text.replace("| `sd` |", "| `sd!` |")) == text
