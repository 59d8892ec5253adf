"""A response as it grows, piece by piece: halves of characters wait for the rest."""

import codecs
import re

BYTES = re.compile(r"(?=.*<0x[89A-F])(?:<0x[0-9A-F]{2}>)+")  # a token that is not whole characters, byte by byte


class Spoken:
    """The text of tokens, one piece after another."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def read(self, piece: str) -> str:
        """What can be written once this piece is there."""
        given = (
            bytes.fromhex(re.sub("[<>]|0x", "", piece)) if BYTES.fullmatch(piece) else piece.encode(errors="replace")
        )
        return self._decoder.decode(given)

    def rest(self) -> str:
        """What is left at the end: a mark for a character that was not finished."""
        return self._decoder.decode(b"", final=True)
