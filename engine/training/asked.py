"""A user's own prompts, for heads to learn from and to be measured on, in the place of the embedded families'."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from engine.errors import ConfigError
from engine.kinds import COUNT
from engine.tasks.prompts import Prompt, read_prompts, turns_left
from engine.training.probe import NEW


@dataclass(frozen=True, slots=True)
class Asked:
    """A file of JSON lines, or a set `datasets:NAME:CONFIG:SPLIT`.

    `chat` wraps each prompt in the target's chat template; the target's answers end after `limit` tokens.
    """

    source: Path
    chat: bool = False
    limit: int = NEW

    @classmethod
    def of(cls, options: argparse.Namespace) -> Asked | None:
        """What the options of `add_asked` say; None where they name no prompts.

        Raises:
            ConfigError: they say how prompts are asked, and name none.
        """
        if options.prompts is None:
            if options.chat or options.limit:
                raise ConfigError("--chat and --limit are for --prompts: they say nothing of the embedded families.")
            return None
        return cls(options.prompts, options.chat, options.limit or NEW)

    def told(self) -> str:
        """The options again, as a part of a command."""
        return f" --prompts {self.source}" + " --chat" * self.chat + f" --limit {self.limit}" * (self.limit != NEW)

    def prompts(self, most: int | None = None) -> list[Prompt]:
        """The first `most` of them. It is told where they go on with further turns, which are not asked.

        Raises:
            ConfigError: see `read_prompts`.
        """
        found = read_prompts(self.source, most)
        if left := turns_left(found):
            sys.stderr.write(left + "\n")
        return found

    def digest(self) -> str:
        """A fingerprint of what the file holds; of a set its name."""
        content = self.source.read_bytes() if self.source.is_file() else str(self.source).encode()
        return blake2b(content, digest_size=8).hexdigest()

    def card(self) -> dict[str, Any]:
        """What a cache of features keeps of them."""
        return {"prompts": str(self.source), "digest": self.digest(), "chat": self.chat, "limit": self.limit}

    @classmethod
    def of_card(cls, card: dict[str, Any]) -> Asked | None:
        """The prompts that such a card tells; None of the embedded families."""
        return cls(Path(card["prompts"]), card["chat"], card["limit"]) if "prompts" in card else None


def add_asked(parser: argparse.ArgumentParser, use: str) -> None:
    """The options that name a user's own prompts; `use` says what for."""
    parser.add_argument(
        "--prompts",
        type=Path,
        metavar="FILE",
        help=f"own prompts {use}: JSON lines, or datasets:NAME:CONFIG:SPLIT; the embedded families' if not given",
    )
    parser.add_argument("--chat", action="store_true", help="wrap them in the target's chat template")
    parser.add_argument("--limit", type=COUNT, metavar="N", help=f"most tokens of an answer; {NEW} if not given")
