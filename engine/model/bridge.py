"""How the ids of a draft model stand to the target's: the same, the same but for some special tokens or for those that
the draft model has no rows for, or those of another tokenizer, with which the target shares some pieces.

A draft model that answers in the target's ids puts all its mass on the ids that both know: its logits elsewhere are
minus infinity, so that temperature, top-k and top-p see the distribution that a token is drawn from, and the exact rule
stays lossless whatever is left out. For different tokenizers this is token-level intersection (TLI: Timor et al. 2025,
"Accelerating LLM Inference with Lossless Speculative Decoding Algorithms for Heterogeneous Vocabularies", 2502.05202).
Pieces are compared by the bytes they write. Dimension key: C common ids, V ids of the target.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import torch
from torch import Tensor

from engine.draft import EMPTY, Draft
from engine.errors import ConfigError, ModelMismatch
from engine.model.model import Model
from engine.model.session import Forward, Session
from engine.model.tokens import Tokenizer, byte_alphabet, common_prefix

Kind = Literal["same", "specials", "pieces"]
BYTE = re.compile(r"<0x([0-9A-F]{2})>")


@dataclass(eq=False)
class Bridge:
    """The ids that target and draft have in common, and how the draft model is made to read the others."""

    kind: Kind
    mine: tuple[int, ...]  # the target's ids of the common tokens, rising [C]
    theirs: tuple[int, ...]  # the draft model's ids of the same tokens [C]
    vocab: int  # V
    target: Tokenizer
    draft: Tokenizer
    moved: Mapping[int, int] = field(default_factory=dict)  # further ids of the target that the draft model can read
    rows: int = 0  # ids that the draft model has rows for; its tokenizer may know more
    _read: dict[int, list[int]] = field(default_factory=dict)

    @cached_property
    def ids(self) -> dict[int, int]:
        """The draft model's id of each of the target's that it can read as one token."""
        return {**self.moved, **dict(zip(self.mine, self.theirs, strict=True))}

    def describe(self) -> dict[str, Any]:
        """The mapping as a trace names it; empty where there is none."""
        return {} if self.kind == "same" else {"ids": self.kind, "common": len(self.mine)}

    def words(self) -> str:
        """The mapping in a sentence; empty where there is none."""
        if self.kind == "same":
            return ""
        if not self.mine:
            return "The tokenizers of draft and target have no piece in common: the draft model drafts as text alone."
        if self.kind == "specials":
            apart = "special tokens, or the draft model has fewer ids"
            return f"Draft and target differ in {apart}: it drafts only the {len(self.mine)} ids that agree."
        return (
            f"Draft and target have different tokenizers: {len(self.mine)} pieces of the draft's "
            f"{len(self.draft.hf)} are also among the target's {len(self.target.hf)}, and the draft model drafts no "
            "other tokens."
        )

    def text_ids(self, tokens: Sequence[int]) -> list[int]:
        """The draft model's ids of the text of some of the target's, as at the start of a sequence, but for those that
        it has no rows for."""
        return [i for i in self.draft.text_ids(self.target.decode(tokens)) if i < self.rows]

    def reads(self, token: int) -> list[int]:
        """The draft model's ids for one of the target's in the middle of a text; none for a special token that it does
        not know, or where it has no rows for them."""
        found = self._read.get(token)
        if found is None:
            found = self._read[token] = [i for i in self._spelt(token) if i < self.rows]
        return found

    def _spelt(self, token: int) -> list[int]:
        if token in self.ids:
            return [self.ids[token]]
        written = self._spellings.get(token)
        if self.kind == "specials" or written is None:
            return []
        try:
            return self.draft.inner_ids(written.decode())
        except UnicodeDecodeError:  # part of a character
            return [i for byte in written if (i := self._bytes.get(bytes([byte]))) is not None]

    @cached_property
    def _spellings(self) -> dict[int, bytes]:
        return spellings(self.target)

    @cached_property
    def _bytes(self) -> dict[bytes, int]:
        return {written: i for i, written in spellings(self.draft).items() if len(written) == 1}


def bridge(target: Model, draft: Model) -> Bridge:
    """How the draft model's ids stand to the target's.

    Raises:
        ModelMismatch: one is an encoder-decoder and the other is not; or both are, and their sequences are not built
        alike.
    """
    a, b = target.tokenizer, draft.tokenizer
    _same_kind(target, draft)
    va, vb = a.hf.get_vocab(), b.hf.get_vocab()
    ids = min(target.vocab, max(va.values(), default=-1) + 1)  # that the target may write, padding rows apart
    if va == vb and (draft.vocab >= ids or target.seam):
        shared = tuple(range(min(target.vocab, draft.vocab)))
        return Bridge("same", shared, shared, len(shared), a, b, rows=draft.vocab)
    kind: Kind = "specials" if specials_apart(a, b) else "pieces"
    pairs = _agreeing(va, vb) if kind == "specials" else _pieces(a, b, va, vb)
    pairs = sorted((i, j) for i, j in pairs if i < target.vocab and j < draft.vocab)
    moved = {i: j for name, i in va.items() if (j := vb.get(name, i)) < draft.vocab} if kind == "specials" else {}
    mine, theirs = (tuple(pair[side] for pair in pairs) for side in (0, 1))
    return Bridge(kind, mine, theirs, target.vocab, a, b, moved, draft.vocab)


def _same_kind(target: Model, draft: Model) -> None:
    """See that both models read a sequence in the same way.

    Raises:
        ModelMismatch: they do not.
    """
    kinds = ["an encoder-decoder model" if m.seam else "decoder-only" for m in (target, draft)]
    if kinds[0] != kinds[1]:
        raise ModelMismatch(
            f"{target.name} is {kinds[0]} and {draft.name} is {kinds[1]}: what one reads as a source has no place in "
            "the other. Give two models of one kind."
        )
    if not target.seam or not draft.seam:
        return
    if target.tokenizer.hf.get_vocab() != draft.tokenizer.hf.get_vocab():
        raise ModelMismatch(
            f"{target.name} and {draft.name} have different vocabularies; encoder-decoder pairs need one, since both "
            "encoders read the same source tokens."
        )
    if target.seam.opening != draft.seam.opening:
        names = [
            " ".join(m.tokenizer.hf.convert_ids_to_tokens(list(m.seam.opening))) for m in (target, draft) if m.seam
        ]
        raise ModelMismatch(
            f"{target.name} begins a text with {names[0]}, and {draft.name} with {names[1]}: they write different "
            "languages or were trained otherwise."
        )


def _agreeing(va: Mapping[str, int], vb: Mapping[str, int]) -> list[tuple[int, int]]:
    return [(i, i) for name, i in va.items() if vb.get(name) == i]


def specials_apart(a: Tokenizer, b: Tokenizer) -> bool:
    """Whether all tokens that have not the same id in both are special or added ones."""
    va, vb = a.hf.get_vocab(), b.hf.get_vocab()
    extra = {name for name, _ in va.items() ^ vb.items()}
    return all(
        (name not in va or va[name] in a.extra_ids) and (name not in vb or vb[name] in b.extra_ids) for name in extra
    )


def _pieces(a: Tokenizer, b: Tokenizer, va: Mapping[str, int], vb: Mapping[str, int]) -> list[tuple[int, int]]:
    """Pairs of ids that write the same bytes, special tokens of one name, and the ends of a text; one to one."""
    mine, theirs = ({written: i for i, written in spellings(t).items()} for t in (a, b))
    pairs = {mine[written]: theirs[written] for written in mine.keys() & theirs.keys()}
    pairs |= {i: vb[name] for name, i in va.items() if i in a.extra_ids and vb.get(name) in b.extra_ids}
    ends = a.hf.eos_token_id, b.hf.eos_token_id
    if None not in ends and ends[0] not in pairs and ends[1] not in pairs.values():
        pairs[ends[0]] = ends[1]
    return list({j: (i, j) for i, j in sorted(pairs.items(), reverse=True)}.values())


def spellings(tokenizer: Tokenizer) -> dict[int, bytes]:
    """What each token that is not special writes in the middle of a text, as bytes; whole pieces last, so that they win
    over the bytes of which a tokenizer may also spell them. Added tokens are named by their very text."""
    hf, alphabet, added = tokenizer.hf, byte_alphabet(), tokenizer.hf.added_tokens_decoder
    special = set(hf.all_special_ids) | {i for i, token in added.items() if token.special}
    names = hf.convert_ids_to_tokens(hf("a b", add_special_tokens=False)["input_ids"])
    bytewise, underlined = any("Ġ" in name for name in names), any("▁" in name for name in names)
    found: list[tuple[bool, int, bytes]] = []
    for name, i in hf.get_vocab().items():
        if i in special:
            continue
        byte = None if i in added else BYTE.fullmatch(name)
        if i in added:
            written = name.encode()
        elif bytewise and all(c in alphabet for c in name):
            written = bytes(alphabet[c] for c in name)
        elif byte:
            written = bytes([int(byte[1], 16)])
        else:
            written = (name.replace("▁", " ") if underlined else name).encode()
        found.append((byte is None, i, written))
    return {i: written for _, i, written in sorted(found)}


class BridgedSession:
    """A sequence on a draft model of other ids, asked and answering in the target's. It reads chains only.

    The text it was first asked about is read as the draft model's own tokenizer would; what follows token by token, so
    that the cache stays good.
    """

    def __init__(self, inner: Session, bridge: Bridge) -> None:
        self.inner, self.bridge = inner, bridge
        self.vocab, self.device = bridge.vocab, inner.device
        self._mine, self._theirs = (torch.tensor(ids, device=inner.device) for ids in (bridge.mine, bridge.theirs))
        self._tokens: list[int] = []
        self._ids: list[int] = []
        self._ends: list[int] = []  # how many ids there are after each token
        self._start = 0  # tokens that were read as one text
        self._row: Tensor | None = None

    @property
    def capacity(self) -> int:
        """Tokens of the target that fit, if those to come are one of the draft model's each."""
        return self.inner.capacity - len(self._ids) + len(self._tokens)

    @property
    def slots(self) -> int:
        """As `capacity`: there are no trees here."""
        return self.capacity

    @property
    def fed(self) -> int:
        """Rows computed so far."""
        return self.inner.fed

    def left(self, tokens: Sequence[int]) -> int:
        """How many tokens can follow these."""
        return self.inner.capacity - len(self._reading(list(tokens)))

    @torch.inference_mode()
    def forward(self, tokens: Sequence[int], draft: Draft = EMPTY, *, checked: bool = False) -> Forward:
        """Logits [1, V] after the last of `tokens`; `checked` as of `Session.forward`.

        Raises:
            ConfigError: no tokens, more than fit, or a draft, whose nodes have no counterparts here.
        """
        if len(draft):
            raise ConfigError("A draft model with another tokenizer cannot read a whole draft of the target's tokens.")
        passed = self.inner.forward(self._reading(list(tokens)), checked=checked)
        self._row = passed.logits
        logits = self._row.new_full((1, self.vocab), -torch.inf)
        logits[:, self._mine] = self._row[:, self._theirs]
        return Forward(logits, passed.last, passed.taps, passed.tail)

    @property
    def onward(self) -> None:
        """Nothing reads ahead here: the draft model's ids for a token are the host's to know."""
        return None

    def common(self) -> Tensor:
        """Share of the draft model's last distribution, at temperature 1, that lies on common tokens []."""
        assert self._row is not None
        row = self._row[0].float()
        return (row[self._theirs].logsumexp(-1) - row.logsumexp(-1)).exp().clamp(max=1.0)

    def _reading(self, tokens: list[int]) -> list[int]:
        """The draft model's ids for the target's; what is known of an earlier reading stays."""
        if tokens == self._tokens:
            return self._ids
        known = common_prefix(tokens, self._tokens)
        if known < max(1, self._start):
            known, self._start, self._ends, self._ids = 0, 0, [], []
            if self.bridge.kind == "pieces" and tokens:
                self._start = known = len(tokens)
                self._ids = self.bridge.text_ids(tokens)
                self._ends = [len(self._ids)] * known
        self._ids = self._ids[: self._ends[known - 1] if known else 0]
        del self._ends[known:]
        for token in tokens[known:]:
            self._ids = self._ids + self.bridge.reads(token)
            self._ends.append(len(self._ids))
        self._ids = self._ids or [min(self.bridge.draft.blank, self.bridge.rows - 1)]
        self._tokens = tokens
        return self._ids
