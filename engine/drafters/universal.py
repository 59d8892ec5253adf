"""Universal assistance: a draft model with any tokenizer writes text; the target's tokenizer cuts it into draft tokens.

String-level alignment (Timor et al. 2025, "Accelerating LLM Inference with Lossless Speculative Decoding Algorithms for
Heterogeneous Vocabularies", 2502.05202, algorithm "string-level exact match"; "universal assisted generation" of
transformers; docs/methods/universal.md).
"""

from collections.abc import Sequence
from itertools import takewhile
from typing import ClassVar

from engine.config import Knob
from engine.draft import EMPTY, Draft, chain
from engine.model import Tokenizer
from engine.parts import ChainShape, Context, Kit, Knobs, Outcome
from engine.parts.protocols import SPELT
from engine.parts.writing import choice, first_choices

PARTIAL = "\ufffd"  # what a decoder writes for a part of a character


class Universal:
    """Both texts are those of whole sequences, so that no round depends on how the one before was cut.

    The draft model takes its first choices at any temperature: a text has no distribution over the target's tokens.
    """

    NAME: ClassVar[str] = "universal"
    TITLE: ClassVar[str] = "Universal assistance"
    KNOBS: ClassVar[tuple[Knob, ...]] = ()
    SHAPES: ClassVar[tuple[str, ...]] = ("chain",)
    NEEDS: ClassVar[tuple[str, ...]] = ("draft",)
    WRITES_AS: ClassVar[str] = "model"
    DISTRIBUTIONS: ClassVar[bool] = False
    WANTS: ClassVar[tuple[str, ...]] = ()
    AS_TEXT: ClassVar[bool] = True  # which pieces both tokenizers know does not limit what it drafts
    DECODER_ONLY: ClassVar[str] = "it hands the draft model one text, and knows of no source beside it."
    taps: tuple[int, ...] = ()

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        model = kit.model("draft")
        self.session = model.session(SPELT * kit.capacity)
        self.session.proposes = True
        self.mine, self.theirs, self.rows = kit.target.tokenizer, model.tokenizer, model.vocab

    def begin(self, tokens: Sequence[int]) -> None:
        """Nothing: the session finds by itself what it knows of a text."""

    def propose(self, context: Context, shape: ChainShape) -> Draft:
        """The target's tokens for what the draft model writes in at most `shape.limit()` of its own: few or many."""
        room = min(context.room, context.space)
        if room < 1:
            return EMPTY
        text = self.mine.decode(context.tokens)
        ids = [i for i in self.theirs.text_ids(text) if i < self.rows]  # its tokenizer may know more than it has rows
        if not ids:
            return EMPTY
        written = self._write(ids, min(shape.limit(), self.session.left(ids)), shape)
        new = added(self.theirs, ids, written)
        tokens = following(self.mine, text, new)[:room] if new else []
        if not tokens:
            return EMPTY
        sources = tuple({"kind": "text", "role": "draft", "step": i} for i in range(len(tokens)))
        extras = {"draft_tokens": len(written)}
        return shape.keep(chain(tokens, sources=sources if context.full else None, extras=extras))

    def _write(self, ids: list[int], limit: int, shape: ChainShape) -> list[int]:
        """The draft model's first choices after `ids`, up to the end of the text."""
        written: list[int] = []
        onward = self.session.onward if self.session.device.type != "cpu" else None
        if limit > 0 and onward and not getattr(shape, "looks", True):
            found = first_choices(self.session.forward(ids, checked=True).logits, limit, onward)
            return list(takewhile(lambda token: token not in self.theirs.stop_ids, found))
        while len(written) < limit:
            row = self.session.forward([*ids, *written], checked=True).logits
            token = choice(shape, len(written), row)
            if token is None or token in self.theirs.stop_ids:
                break
            written.append(token)
        return written

    def observe(self, outcome: Outcome) -> None:
        """Nothing."""


def added(tokenizer: Tokenizer, ids: Sequence[int], more: Sequence[int]) -> str:
    """The text that `more` adds behind `ids`, without a last character of which only a part is there."""
    before, whole = tokenizer.decode(ids), tokenizer.decode([*ids, *more])
    return whole[len(before) :].split(PARTIAL)[0] if whole.startswith(before) else ""


def following(tokenizer: Tokenizer, text: str, more: str) -> list[int]:
    """The ids of `more` behind `text`: those of the whole text from there on, where a token begins there. A tokenizer
    that tells no places (`is_fast` is false) has one where the ids of `text` end."""
    if not tokenizer.hf.is_fast:
        before, whole = (list(tokenizer.hf(t, add_special_tokens=False)["input_ids"]) for t in (text, text + more))
        return whole[len(before) :] if whole[: len(before)] == before else tokenizer.inner_ids(more)
    cut = tokenizer.hf(text + more, return_offsets_mapping=True, add_special_tokens=False)
    starts = [start for start, _ in cut["offset_mapping"]]
    if len(text) in starts:
        return list(cut["input_ids"][starts.index(len(text)) :])
    return tokenizer.inner_ids(more)
