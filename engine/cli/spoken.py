"""A response as it grows, for a terminal: halves of characters wait for the rest, and nothing steers the terminal."""

import codecs
import re

BYTES = re.compile(r"(?:<0x[89A-F][0-9A-F]>)+")  # a token that is no character by itself
STEERS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


class Spoken:
    """The text of tokens, one piece after another."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def read(self, piece: str) -> str:
        """What can be written once this piece is there."""
        given = (
            bytes.fromhex(re.sub("[<>]|0x", "", piece)) if BYTES.fullmatch(piece) else piece.encode(errors="replace")
        )
        return STEERS.sub(lambda found: f"\\u{ord(found[0]):04x}", self._decoder.decode(given))

    def rest(self) -> str:
        """What is left at the end: a mark for a character that was not finished."""
        return self._decoder.decode(b"", final=True)
