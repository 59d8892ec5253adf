"""What `run` writes to a terminal while a response grows."""

import pytest

from engine.cli.spoken import Spoken


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ([" plain", "\n\t", "\u6a5f"], " plain\n\t\u6a5f"),
        (["<0xE2>", "<0x82>", "<0xAC>", "!"], "\u20ac!"),
        (["<0x20><0xE2>", "<0x82>", "<0xAC><0x21>"], " \u20ac!"),
        (["a", "<0xF0><0x9F>", "<0x91><0xA9>"], "a\U0001f469"),
        (["<0xE2>", "x"], "\ufffdx"),
        (["x", "<0xE2>"], "x\ufffd"),
        (["<0x41>", "é"], "<0x41>é"),
    ],
)
def test_halves_of_characters_wait(pieces: list[str], text: str) -> None:
    spoken = Spoken()
    assert "".join(map(spoken.read, pieces)) + spoken.rest() == text
