"""GENERATE through a server (AutoJudge appendix R): text goes out, text comes back, ids are made here.

The prefix is decoded, continued, and the whole is tokenised again; a second begin-of-text is dropped, and the end token
is added only when the server stopped by itself (not when it was cut). If the prefix then has other ids, the result is
refused: labels would speak of tokens that were never there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine.errors import EngineFault
from engine.judge.client import Endpoint
from engine.judge.continuation import Retokenized
from engine.model import Tokenizer


@dataclass(frozen=True)
class RemoteTarget:
    """`send_ids` sends token ids instead of text, which vLLM and SGLang take; then only the continuation is tokenised
    here, and not even that when the server returns its ids (`token_ids`)."""

    endpoint: Endpoint
    tokenizer: Tokenizer
    send_ids: bool = False

    def generate(self, prefix: Sequence[int], limit: int, likely: Sequence[int] = ()) -> list[int]:
        if self.send_ids:
            answer = self.endpoint.complete(list(prefix), limit, return_token_ids=True)
            ids = answer.get("token_ids")
            new = self._known(ids) if isinstance(ids, list) else self._encode(answer["text"])
        else:
            text = self._text(prefix)
            answer = self.endpoint.complete(text, limit)
            new = self._after(prefix, text + answer["text"])
        return self._ended(new[:limit], answer.get("finish_reason"), limit)

    def _ended(self, new: list[int], reason: object, limit: int) -> list[int]:
        """The end token belongs to a response that ended by itself, and to no other."""
        stop = next((i for i, token in enumerate(new) if token in self.tokenizer.stop_ids), None)
        if stop is not None:
            return new[: stop + 1]
        end = self.tokenizer.hf.eos_token_id
        return [*new, end] if reason == "stop" and end is not None and len(new) < limit else new

    def _after(self, prefix: Sequence[int], text: str) -> list[int]:
        """Ids of the whole text, less the prefix.

        Raises:
            Retokenized: the prefix has other ids in it.
        """
        first, *_ = [*prefix, None]
        begin = [first] if first is not None and first == self.tokenizer.hf.bos_token_id else []
        ids = [*begin, *self._encode(text)]
        same = next(
            (i for i, (a, b) in enumerate(zip(prefix, ids, strict=False)) if a != b), min(len(prefix), len(ids))
        )
        if same < len(prefix):
            raise Retokenized(same, ids)
        return ids[len(prefix) :]

    def _known(self, ids: list[Any]) -> list[int]:
        """Ids as a server sent them.

        Raises:
            EngineFault: one is none of the tokenizer here.
        """
        known = range(len(self.tokenizer.hf))
        if wrong := [token for token in ids if type(token) is not int or token not in known]:
            raise EngineFault(
                f"The server at {self.endpoint.place} chose token {str(wrong[0])[:80]}, and the tokenizer here knows "
                f"{len(known)}."
            )
        return ids

    def _encode(self, text: str) -> list[int]:
        return list(self.tokenizer.hf(text, add_special_tokens=False)["input_ids"])

    def _text(self, ids: Sequence[int]) -> str:
        """The text of ids, special tokens kept, but for the begin-of-text that a server adds by itself."""
        rest = ids[1:] if ids and ids[0] == self.tokenizer.hf.bos_token_id else ids
        return str(self.tokenizer.hf.decode(list(rest), skip_special_tokens=False, clean_up_tokenization_spaces=False))
