"""Tokenizer: text to ids and back, and pieces that show what a single token is."""

from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, cast

from transformers import AutoTokenizer

from engine.config import token_ids
from engine.errors import AssetError, ConfigError
from engine.model.hub import local
from engine.model.seam import Seam

NO_TOKENIZER = "its tokenizer (tokenizer.json) is missing or damaged"
VOCABULARIES = ("*.model", "*.tiktoken", "tekken.json")  # that transformers reads whatever the kind of tokenizer
BEFORE = ("a", ".", "0", "\n")  # characters before a text that is to be read as in the middle of another


def read_tokenizer(path: str | Path) -> Any:
    """A folder's or hub checkpoint's tokenizer, as transformers has it; no remote code.

    Raises:
        ValueError: it is missing or damaged, or needs code of its own. OSError, ImportError: as transformers says, of
            the hub and of packages.
    """
    try:
        found = AutoTokenizer.from_pretrained(path, trust_remote_code=False)
    except (OSError, ImportError, MemoryError):
        raise
    except Exception as error:  # a key, a type, a line of JSON: whatever it stumbles over in such a file
        if "custom code" in str(error):
            raise ValueError("its tokenizer is code that it brings, and no such code is run") from error
        raise ValueError(NO_TOKENIZER) from error
    if (folder := local(str(path))) is not None and _made_up(found, folder):
        raise ValueError(NO_TOKENIZER)
    return found


def _made_up(hf: Any, folder: Path) -> bool:
    """Whether none of the files is there that such a tokenizer is read from: of some types (Qwen, Gemma, T5)
    transformers then makes one that knows special tokens alone. Kinds that are read from none, as bytes, are whole."""
    names = hf.vocab_files_names.values()
    return bool(names) and not any(any(folder.glob(name)) for name in (*names, *VOCABULARIES))


def stops_of(*said: Any) -> list[int]:
    """Every id that ends a text, of what several files say of it: one id, a list of them, or nothing.

    Raises:
        AssetError: something else is said, by which no text would end.
    """
    found = set[int]()
    for one in said:
        ids = one if isinstance(one, list | tuple) else [] if one is None else [one]
        if wrong := [i for i in ids if type(i) is not int]:
            raise AssetError(f"The eos_token_id of a model is an id or a list of ids, not {wrong[0]!r}.")
        found |= set(ids)
    return sorted(found)


class Tokenizer:
    """A Hugging Face tokenizer with the few calls that the lab needs."""

    def __init__(self, hf: Any, stop_ids: Sequence[int], seam: Seam | None = None) -> None:
        """`seam` is that of an encoder-decoder, whose prompts are sources."""
        self.hf, self.seam = hf, seam
        self.stop_ids = frozenset(stop_ids)
        self.piece = lru_cache(maxsize=None)(self._piece)

    def encode(self, prompt: "str | Sequence[int]", chat: bool = False) -> list[int]:
        """Ids of a prompt; a list of ids is taken as it is.

        Of an encoder-decoder the source, then the decoder's opening; a list of ids without an opening is a source.

        Raises:
            ConfigError: nothing to encode, no valid text, an id outside the vocabulary, `chat` without a chat
            template, or a source that holds an opening.
        """
        if not isinstance(prompt, str):
            ids = list(token_ids(prompt))
            bad = [i for i in ids if not 0 <= i < len(self.hf)]
            if bad:
                raise ConfigError(f"Token ids must be from 0 to {len(self.hf) - 1}, the vocabulary, not {bad[0]}.")
        elif not prompt.strip():
            raise ConfigError("The prompt is empty: give some text.")
        else:
            ids = self._text(prompt, chat)
        if not ids:
            raise ConfigError("The prompt is empty: it gives no token.")
        return self._opened(ids, isinstance(prompt, str), self.seam) if self.seam else ids

    def _opened(self, ids: list[int], whole: bool, seam: Seam) -> list[int]:
        """Source ids with the decoder's opening behind them; `whole`: they are nothing but a source."""
        at = len(ids) if whole else seam.find(ids)
        if len(ids) < at + len(seam.opening):
            ids = [*ids[:at], *seam.opening]
        if seam.find(ids) != at:
            opening = " ".join(map(repr, self.hf.convert_ids_to_tokens(list(seam.opening))))
            end = f" and ends with {self.hf.eos_token!r}" if seam.opening[0] in seam.ends else ""
            raise ConfigError(f"The source must be text that holds no {opening}{end}, since there the answer begins.")
        return ids

    def _text(self, prompt: str, chat: bool) -> list[int]:
        if not prompt.isascii() and any("\ud800" <= char <= "\udfff" for char in prompt):
            raise ConfigError("The prompt is not valid text: it holds half of a surrogate pair.")
        return self._chat(prompt) if chat else list(self.hf(prompt)["input_ids"])

    def conversation(self, said: Sequence[str], chat: bool = False) -> list[int]:
        """Ids of what was said in turns, user first: the model speaks next. Without `chat` empty lines part them.

        Raises:
            ConfigError: `chat` without a chat template.
        """
        if chat:
            return self._chat(*said)
        return self.encode("\n\n".join(said))

    def able_to_chat(self) -> None:
        """Nothing, where there is a chat template.

        Raises:
            ConfigError: there is none.
        """
        if not getattr(self.hf, "chat_template", None):
            raise ConfigError("This model's tokenizer has no chat template: run with chat off.")

    def _chat(self, *said: str) -> list[int]:
        self.able_to_chat()
        text = self._rendered(said)
        return list(self.hf(text, add_special_tokens=False)["input_ids"])

    def _rendered(self, said: Sequence[str]) -> str:
        """What the chat template makes of turns. Templates of multimodal models know a turn as a list of parts, and
        leave out or refuse plain text, others the reverse: the first way is taken that shows all that was said.

        Raises:
            ConfigError: the template refuses both.
        """
        found, refusal = list[str](), ""
        for parted in (False, True):
            turns = [[{"type": "text", "text": text}] if parted else text for text in said]
            messages = [{"role": ("user", "assistant")[i % 2], "content": turn} for i, turn in enumerate(turns)]
            try:
                text = self.hf.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
            except Exception as error:  # whatever a template's own code raises
                refusal = refusal or str(error)
                continue
            shown = all(one.strip() in text for one in said)
            if shown and not (parted and any(str(turn) in text for turn in turns)):
                return cast(str, text)
            found.append(text)
        if not found:
            raise ConfigError(f"The chat template of this model's tokenizer cannot be filled ({refusal[:200]}).")
        return found[0]

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ids, special tokens left out."""
        return cast(str, self.hf.decode(list(ids), skip_special_tokens=True))

    def continued(self, ids: Sequence[int]) -> str:
        """Text of ids behind a prompt, special tokens left out: what their pieces make up, a space at its beginning
        included, which decoders strip where a text begins. Of an encoder-decoder they do begin one."""
        if self.seam:
            return self.decode(ids)
        whole = self.decode([*self._anchor, *ids])
        return whole[len(self._before) :] if whole.startswith(self._before) else self.decode(ids)

    def text_ids(self, text: str) -> list[int]:
        """Ids of a text at the start of a sequence that goes on, with what the tokenizer puts before it, but not what
        it puts behind; never none."""
        ids = list(self.hf(text)["input_ids"])
        return ids[: len(ids) - self._behind] or [self.blank]

    @cached_property
    def _behind(self) -> int:
        """How many ids the tokenizer puts behind a text, such as its end."""
        whole, inner = (list(self.hf("a", add_special_tokens=special)["input_ids"]) for special in (True, False))
        spare = len(whole) - len(inner)
        return next((spare - at for at in range(spare + 1) if inner and whole[at : at + len(inner)] == inner), 0)

    def inner_ids(self, text: str) -> list[int]:
        """Ids of a text in the middle of another, so far as a character before it does not merge with it."""
        for before in BEFORE:
            start, both = (list(self.hf(t, add_special_tokens=False)["input_ids"]) for t in (before, before + text))
            if both[: len(start)] == start:
                return both[len(start) :]
        return list(self.hf(text, add_special_tokens=False)["input_ids"])

    @cached_property
    def extra_ids(self) -> frozenset[int]:
        """Special and added tokens: they stand for no text of their own, or were put in beside the learnt ones."""
        return frozenset(self.hf.all_special_ids) | frozenset(self.hf.added_tokens_decoder)

    @property
    def blank(self) -> int:
        """An id to start from where a text has none: what begins a sequence, else what ends one."""
        first = (self.hf.bos_token_id, self.hf.eos_token_id, self.hf.pad_token_id, 0)
        return next(i for i in first if i is not None)

    def _piece(self, token: int) -> str:
        """What one token adds to a text; `<0xE2>` for a byte that is no character by itself, `<|eos|>` for specials."""
        name = self.hf.convert_ids_to_tokens(token)
        if name is None:
            return f"<{token}>"
        if token in self.hf.all_special_ids:
            return str(name)
        text = self._inside(token)
        if "\ufffd" not in text:
            return text
        return str(name) if str(name).startswith("<0x") else "".join(f"<0x{b:02X}>" for b in _bytes(str(name)))

    def _inside(self, token: int) -> str:
        """The token's text in the middle of a sentence: decoders strip a leading space at the start of a text."""
        return cast(str, self.hf.decode([*self._anchor, token]))[len(self._before) :]

    @cached_property
    def _before(self) -> str:
        """What is cut off a text that was decoded behind the anchor."""
        return cast(str, self.hf.decode(list(self._anchor)))

    @cached_property
    def _anchor(self) -> tuple[int, ...]:
        return tuple(self.hf("a", add_special_tokens=False)["input_ids"])


@lru_cache(maxsize=1)
def byte_alphabet() -> dict[str, int]:
    """The printable stand-ins of byte-level BPE (GPT-2), back to bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in plain]
    return {chr(b): b for b in plain} | {chr(256 + i): b for i, b in enumerate(rest)}


def _bytes(name: str) -> bytes:
    alphabet = byte_alphabet()
    return bytes(alphabet[c] for c in name if c in alphabet)


def common_prefix(a: list[int], b: list[int], limit: int | None = None) -> int:
    """Length of the common prefix of two lists, at most `limit`; by halving, since list comparison is fast and a loop
    is not."""
    low, high = 0, min(len(a), len(b), len(a) if limit is None else limit)
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
