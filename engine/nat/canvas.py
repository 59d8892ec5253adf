"""What a non-autoregressive system shows: its canvas after each iteration."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Canvas:
    """The places of a text after an iteration; all lists have one entry a place.

    `tokens` are ids (the system's mask or blank where nothing stands), `sure` the probability that the decoder gives
    each, `fresh` whether this iteration wrote it (also where it wrote the same again). The last canvas is `final`: its
    tokens are the text itself, as the target would write it, with the id that ends it where one was written.
    """

    tokens: list[int]
    sure: list[float]
    fresh: list[bool]
    final: bool = False


class NatModel(Protocol):
    """A system that is ready to write."""

    kind: str
    mask: int  # the id that stands where nothing is written yet

    def write(self, source: Sequence[int], limit: int, **knobs: Any) -> Iterator[Canvas]:
        """One canvas an iteration, the last one final, of at most `limit` tokens; `source` are its ids, with its end.

        Raises:
            ConfigError: a source longer than the encoder reads.
        """
        ...
