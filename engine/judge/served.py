"""A target that a server runs: what it tells of a text at temperature 0 is its first choice at each position.

vLLM tells it by `prompt_logprobs` of /v1/completions, SGLang by `input_top_logprobs` of /generate. That is enough to
verify chains of draft tokens greedily in one request, so runs, mining and judges that read the draft model go on as
with a model here; probabilities, hidden states and trees are not to be had.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import AutoConfig

from engine.errors import AssetError, ConfigError, EngineFault
from engine.judge.client import Endpoint
from engine.judge.continuation import LocalTarget, Target
from engine.judge.remote import RemoteTarget
from engine.model import Model, Tokenizer
from engine.model.decoder import New, Rows
from engine.model.generation import generation_of
from engine.model.hub import fault, missing, template_beside
from engine.model.load import ways_to_load
from engine.model.misnamed import sized
from engine.model.network import context_of, text_config
from engine.model.tokens import read_tokenizer, stops_of

SGLANG = "/generate"
DRAFTERS = ("none", "model", "pld", "anpd", "sam", "suffix", "mixed")  # that read no logits and no states of the target
RULES = ("exact", "judge")


@dataclass(frozen=True)
class Choices:
    """Asks a server for its first choices. `endpoint.url` ends in /v1 (vLLM) or in /generate (SGLang)."""

    endpoint: Endpoint

    def after(self, ids: Sequence[int], want: int) -> list[int]:
        """The first choice after each of the last `want` prefixes of the text, the whole text last.

        Raises:
            EngineFault: no answer, or one without these choices.
        """
        ask = self._sglang if self.endpoint.url.endswith(SGLANG) else self._vllm
        try:
            found = ask(ids, want)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):  # an answer of another shape
            found = []
        if len(found) != want or not all(isinstance(one, int) and not isinstance(one, bool) for one in found):
            raise EngineFault(
                f"The server at {self.endpoint.place} does not tell its first choices for a prompt: vLLM does with "
                "prompt_logprobs and return_token_ids, SGLang at /generate with top_logprobs_num."
            )
        return found

    def _vllm(self, ids: Sequence[int], want: int) -> list[Any]:
        more: dict[str, Any] = {"prompt_logprobs": 1} if want > 1 else {}
        answer = self.endpoint.complete(list(ids), 1, return_token_ids=True, **more)
        rows = answer.get("prompt_logprobs") or []
        return [*(_first(row) for row in rows[len(ids) - want + 1 :]), *(answer.get("token_ids") or [])[:1]]

    def _sglang(self, ids: Sequence[int], want: int) -> list[Any]:
        body: dict[str, Any] = {
            "input_ids": list(ids),
            "sampling_params": {"max_new_tokens": 1, "temperature": 0},
            "return_logprob": True,
            "top_logprobs_num": 1,
            "logprob_start_len": len(ids) - want,
        }
        server = replace(self.endpoint, url=self.endpoint.url.removesuffix(SGLANG))
        answer = server.post(SGLANG, body)
        about = answer.get("meta_info") if isinstance(answer, dict) else None
        rows = (about or {}).get("input_top_logprobs") or []
        new = answer.get("output_ids") if isinstance(answer, dict) else None
        return [*(row[0][1] if row else None for row in rows[1:want]), *(new or [])[:1]]


def _first(row: Any) -> int | None:
    """The token of rank 1 of a position's log-probabilities, {id: {"rank", "logprob"}}; of equals, which all have that
    rank, the lowest, as everywhere here."""
    ranks = {int(token): about.get("rank") for token, about in row.items()} if isinstance(row, dict) else {}
    return min((token for token, rank in ranks.items() if rank == 1), default=None)


class TextCache:
    """What a session has sent: the server keeps its own memory of prefixes."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.ids = list[int]()

    def gather(self, start: int, slots: Sequence[int]) -> None:
        """Move the tokens of these slots to start, start + 1, ..."""
        self.ids[start : start + len(slots)] = [self.ids[slot] for slot in slots]

    def crop(self, n: int) -> None:
        """Forget all from n on."""
        del self.ids[n:]

    def back(self, n: int) -> int:
        """Any place will do."""
        return n


class ServedDecoder:
    """Rows of logits that say one thing: which token is the first choice (0 there, -inf elsewhere)."""

    why_chains = "a server goes on with one text"

    def __init__(self, choices: Choices, vocab: int) -> None:
        """`vocab` ids."""
        self.choices, self.vocab = choices, vocab

    def cache(self, capacity: int) -> TextCache:
        """A text of its own."""
        return TextCache()

    def run(self, cache: TextCache, new: New, taps: Sequence[int], want: int) -> Rows:
        """One request for the whole text."""
        cache.ids[new.start :] = new.ids.tolist()
        picks = self.choices.after(cache.ids, want)
        logits = torch.full((want, self.vocab), -torch.inf, dtype=torch.float32, device="cpu")
        for row, token in enumerate(picks):
            if not 0 <= token < self.vocab:
                raise EngineFault(f"The server chose token {token}, and the tokenizer here knows {self.vocab}.")
            logits[row, token] = 0.0
        return Rows(logits, logits.new_empty(len(new.ids), 0), None)

    def head(self, last_TD: Tensor) -> Tensor:
        """There is none here.

        Raises:
            ConfigError: always.
        """
        raise ConfigError("A served target tells its first choices only; this method reads its logits.")

    def embed(self, ids_T: Tensor) -> Tensor:
        """There is none here.

        Raises:
            ConfigError: always.
        """
        raise ConfigError("A served target has no embeddings here; this method reads them.")


def served_model(ref: str | Path, endpoint: Endpoint, name: str = "") -> Model:
    """A target behind a server; `ref` gives its tokenizer and configuration, and no weights are read.

    Raises:
        AssetError: neither a folder nor a hub id with both. ModelMismatch: of what writes no text.
    """
    path = str(ref)
    try:
        config: Any = AutoConfig.from_pretrained(path, trust_remote_code=False)
        words: Any = read_tokenizer(path)
        words.chat_template = words.chat_template or template_beside(path) or None
        generation = generation_of(path)
    except Exception as error:  # transformers raises whatever it likes
        raise AssetError(missing(path, error)) from fault(error)
    ways_to_load(config, name or path)
    sized(config, name or path)
    text = text_config(config)
    stops = stops_of(*(getattr(one, "eos_token_id", None) for one in (generation, text, words)))
    vocab = int(text.vocab_size)
    return Model(
        name=name or path,
        decoder=ServedDecoder(Choices(endpoint), vocab),
        tokenizer=Tokenizer(words, stops),
        layers=text.num_hidden_layers,
        width=text.hidden_size,
        vocab=vocab,
        context=context_of(text),
        parameters=0,
        bytes=0,
        dtype="served",
        device=torch.device("cpu"),
        revision=endpoint.place,
        lean=False,
        notes=(
            f"Runs on the server at {endpoint.place}: first choices only, so greedy, chains, and recorded lightly.",
        ),
    )


def is_served(model: Model) -> bool:
    """Whether a server runs it."""
    return isinstance(model.decoder, ServedDecoder)


class ServedTarget(LocalTarget):
    """GENERATE through the server: an old continuation is checked in one request, and the rest written in another."""

    rest: Target

    def generate(self, prefix: Sequence[int], limit: int, likely: Sequence[int] = ()) -> list[int]:
        """See `Target`."""
        limit = min(limit, self.session.capacity - len(prefix))
        new = self._choices(list(prefix), list(likely)[: limit - 1]) if likely and limit > 1 else []
        stop = next((i for i, token in enumerate(new) if token in self.stop), None)
        if stop is not None or len(new) >= limit:
            return new[: limit if stop is None else stop + 1]
        return [*new, *self.rest.generate([*prefix, *new], limit - len(new))]

    @classmethod
    def of(cls, model: Model, capacity: int, chooser: Any, vocab: int | None = None) -> "ServedTarget":
        """With the server's own loop for what no old continuation foretells (SGLang: token by token)."""
        made = cls(model, capacity, chooser, vocab)
        assert isinstance(model.decoder, ServedDecoder)
        endpoint = model.decoder.choices.endpoint
        if endpoint.url.endswith(SGLANG):
            made.rest = LocalTarget(model, capacity, chooser, vocab)
        else:
            made.rest = RemoteTarget(endpoint, model.tokenizer, send_ids=True)
        return made
