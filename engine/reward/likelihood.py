"""The embedded reward model: a line over the target's frozen states at each token of a response.

The reward of a response so far is the product over its tokens x_t of sigmoid(w . [h_t, log p(x_t), H_t] + b): h_t is
the target's final-normed state before the token, p its distribution there and H_t the entropy of it in nats. So a
reward can only fall along a response: what follows a wrong step is wrong. Dimension key: T tokens of the response, D
width, F = D + 2 features.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from safetensors.torch import save as packed
from torch import Tensor

from engine.draft import chain
from engine.errors import AssetError, ModelMismatch
from engine.files.documents import read_object
from engine.files.written import write
from engine.model import Model, Session
from engine.model.tokens import common_prefix
from engine.reward.steps import delimiters_of
from engine.sampling import entropy, exactly, sent

LINE, META = "prm.safetensors", "prm.json"
ROOM = 1024  # positions of a reader at first: the whole context may be 131,072


@dataclass(frozen=True, eq=False)
class LikelihoodReward:
    """The line, the target whose states it reads, and what ends a step."""

    weight: Tensor  # [F]
    bias: float
    target: Model
    delimiters: tuple[str, ...]

    def reader(self) -> "LikelihoodReader":
        """A fresh reader, for one run."""
        return LikelihoodReader(self)


class LikelihoodReader:
    """Scores growing responses; tokens that were read before are not read again."""

    def __init__(self, model: LikelihoodReward) -> None:
        self.model, self.read = model, 0  # tokens that the last score read
        self._first = -1  # where the response begins in `_tokens`
        self._session = model.target.session(ROOM)
        self._tokens: list[int] = []
        # features of the response in `_tokens`
        self._known = torch.empty(0, len(model.weight), dtype=torch.float32, device="cpu")

    @torch.inference_mode()
    def score(self, question: str, response: str) -> float:
        """Probability that nothing in the response is wrong; 1 of an empty one.

        Raises:
            ConfigError: the text is longer than the target reads.
        """
        tokens, first = tokens_of(self.model.target, question, response)
        if first != self._first:  # what is known is of a response to another question
            self._first, self._tokens, self._known = first, [], self._known[:0]
        start = max(first, common_prefix(tokens, self._tokens, len(tokens) - 1))
        if len(tokens) > self._session.capacity:
            self._session = self.model.target.session(2 * len(tokens))
        before = self._session.fed
        fresh = features(self._session, tokens, start)
        self._known = torch.cat([sent(self._known[: start - first], fresh.device), fresh])
        self._tokens, self.read = tokens, self._session.fed - before
        kept = survival(self._known, sent(self.model.weight, fresh.device), self.model.bias)
        return float(kept[-1]) if len(kept) else 1.0


def tokens_of(target: Model, question: str, response: str) -> tuple[list[int], int]:
    """Both as one text, and where the response begins."""
    tokens = target.tokenizer.encode(question + response)
    return tokens, common_prefix(tokens, target.tokenizer.encode(question))


def features(session: Session, tokens: Sequence[int], start: int) -> Tensor:
    """Features [T, F] of the tokens from `start` on, in fp32, from one pass.

    Raises:
        ConfigError: the text is longer than the session holds.
    """
    rest = list(tokens[start:])
    read = session.forward(tokens[:start], chain(rest))
    logits = read.logits[:-1].float()
    chosen = sent(rest, logits.device)[:, None]
    logp = torch.log_softmax(logits, -1).gather(1, chosen)
    return torch.cat([read.hidden[:-1].float(), logp, entropy(logits)[:, None].to(logp.dtype)], 1)


def survival(features_TF: Tensor, weight_F: Tensor, bias: float | Tensor) -> Tensor:
    """Reward [T] after each token, in fp64."""
    margins = exactly(features_TF @ weight_F) + bias
    return torch.nn.functional.logsigmoid(margins).cumsum(0).exp()


def save_likelihood(folder: Path, weight_F: Tensor, bias: float, meta: dict[str, Any]) -> None:
    """Write the line and what it was made for."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {"weight": weight_F.float().contiguous(), "bias": torch.tensor([bias], dtype=torch.float32)}
    write(folder / LINE, packed(tensors))
    write(folder / META, (json.dumps(meta, indent=1) + "\n").encode())


def load_likelihood(path: Path, target: Model) -> LikelihoodReward:
    """The line in a folder.

    Raises:
        AssetError: files are missing or damaged. ModelMismatch: it was made for another target.
    """
    meta = read_object(path / META)
    made = meta.get("target")
    if made != target.revision:
        raise ModelMismatch(
            f"The reward model in {path.name} reads states of the target {made}, not of {target.name} "
            f"({target.revision}): train one with `python -m engine.training prm`."
        )
    try:
        tensors = load_file(path / LINE)
        weight, bias = tensors["weight"], float(tensors["bias"])
    except Exception as error:  # safetensors raises whatever it likes on damaged files
        raise AssetError(f"{path / LINE} holds no reward model: {error}") from None
    if weight.shape != (target.width + 2,):
        raise AssetError(f"The reward model in {path} is not complete: see {META}.")
    if not (weight.is_floating_point() and bool(torch.isfinite(weight).all()) and math.isfinite(bias)):
        raise AssetError(f"{path / LINE} holds numbers that are infinite or not a number (NaN).")
    return LikelihoodReward(weight, bias, target, delimiters_of(meta.get("step_delimiters"), str(path / META)))
