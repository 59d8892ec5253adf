"""Named streams of uniforms from one seed, so that methods which draw alike decide alike, and a trace can be
replayed."""

import hashlib
from typing import cast

import numpy as np


class Streams:
    """Independent counter-based (Philox) streams: "draft" for drafting, "accept" for tests, "emit" for corrections and
    bonus, "window" for the tokens that a window begins with."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._streams: dict[str, np.random.Generator] = {}

    def generator(self, name: str) -> np.random.Generator:
        """The stream of that name, made on first use from (seed, name)."""
        if name not in self._streams:
            key = hashlib.sha256(f"{self._seed}/{name}".encode()).digest()
            self._streams[name] = np.random.Generator(np.random.Philox(key=int.from_bytes(key[:16], "little")))
        return self._streams[name]

    def uniforms(self, name: str, n: int) -> list[float]:
        """The next n uniforms in [0, 1) of a stream."""
        return cast("list[float]", self.generator(name).random(n).tolist()) if n else []

    def coming(self, name: str, n: int) -> list[float]:
        """The next n uniforms, which stay in the stream."""
        generator = self.generator(name)
        before = generator.bit_generator.state
        found = self.uniforms(name, n)
        generator.bit_generator.state = before
        return found

    def uniform(self, name: str) -> float:
        """The next single uniform in [0, 1)."""
        return float(self.generator(name).random())
