"""A trained judge: one row of weights, and what it was made for. Saved as safetensors and JSON; nothing is pickled."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from safetensors.torch import save as packed
from torch import Tensor

from engine.errors import AssetError, ModelMismatch
from engine.files.documents import fits, read_object
from engine.files.written import write
from engine.judge.kind import MODELS, TOKENS, FeatureKind
from engine.sampling import exactly, sent

SCHEMA = 1
WEIGHTS, META = "judge.safetensors", "judge.json"


@dataclass(frozen=True, eq=False)
class Judge:
    """p(important | hidden states) = sigmoid(weight . x + bias); the scaler is folded into both (float32).

    `threshold` is the largest with 90 % recall in training. `meta` names task, models and how it was made.
    """

    weight: Tensor  # [F]
    bias: float
    kind: FeatureKind
    threshold: float
    meta: Mapping[str, Any]
    _there: dict[torch.device, Tensor] = field(default_factory=dict, init=False, repr=False)  # weight [F] in fp64

    @property
    def task(self) -> str:
        """The task it was mined on."""
        return str(self.meta["task"])

    @property
    def dtype(self) -> str:
        """The type of numbers in which the models ran whose states it learnt from; cards of before name none."""
        return str(self.meta.get("dtype", "float32"))

    def score(self, x_F: Tensor) -> float:
        """Importance of one swap, a probability.

        Raises:
            ModelMismatch: the hidden states are of another width.
        """
        return self.scores(x_F.unsqueeze(0))[0]

    def scores(self, x_NF: Tensor) -> list[float]:
        """Importance of several swaps, by one transfer.

        Raises:
            ModelMismatch: the hidden states are of another width.
        """
        if x_NF.shape[1:] != self.weight.shape:
            raise ModelMismatch(
                f"The judge for {self.task} reads {self.weight.numel()} numbers a token, and these models give "
                f"{x_NF.shape[1]}."
            )
        x_NF = exactly(x_NF)
        at = x_NF.device
        if at not in self._there:
            self._there[at] = sent(self.weight, at, x_NF.dtype)
        return [_sigmoid(logit + self.bias) for logit in (x_NF @ self._there[at]).tolist()]

    def check(self, models: Mapping[str, str], task: str | None = None) -> None:
        """Nothing when the judge may be used with these models (role -> revision) and this task.

        Raises:
            ModelMismatch: it was trained on something else.
        """
        made = self.meta["models"]
        for role in {block.split(":")[0] for block in self.kind.blocks}:
            if models.get(role) != made[role]["revision"]:
                raise ModelMismatch(
                    f"The judge for {self.task} was trained on the {role} model {made[role]['id']} "
                    f"({made[role]['revision']}), not on {models.get(role) or 'none'}. Train one for this pair, or set "
                    "force to use it all the same."
                )
        if task is not None and task != self.task:
            raise ModelMismatch(f"This judge was trained for {self.task}, not for {task}; force uses it all the same.")

    def save(self, folder: Path, extra: Mapping[str, Tensor] | None = None) -> None:
        """Write weights and JSON; `extra` tensors (mean, scale, unfolded coefficients) go along."""
        folder.mkdir(parents=True, exist_ok=True)
        tensors = {"weight": self.weight.float().contiguous(), "bias": torch.tensor([self.bias], dtype=torch.float32)}
        write(folder / WEIGHTS, packed(tensors | dict(extra or {})))
        line = {
            "schema": SCHEMA,
            "token": self.kind.token,
            "models_read": self.kind.models,
            "threshold": self.threshold,
        }
        write(folder / META, (json.dumps(line | dict(self.meta), indent=1) + "\n").encode())


def _sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1 + math.exp(logit))


def load_judge(folder: Path, target: Any = None) -> Judge:
    """A judge from its folder. Whether it fits the models is for `check`, so that transfer can be forced.

    Raises:
        AssetError: files are missing or damaged.
    """
    if missing := next((name for name in (META, WEIGHTS) if not (folder / name).is_file()), None):
        raise AssetError(f"{folder / missing} is missing. A judge is made by `python -m engine judge-train`.")
    try:
        meta = read_object(folder / META)
        tensors = load_file(folder / WEIGHTS)
        if meta["schema"] != SCHEMA:
            raise AssetError(f"{folder / META} has schema {meta['schema']}; this version reads {SCHEMA}.")
        if meta["token"] not in TOKENS or meta["models_read"] not in MODELS or not isinstance(meta["models"], dict):
            raise AssetError(f"{folder / META} names no known features.")
        kind = FeatureKind(meta["token"], meta["models_read"])
        _check(meta, tensors, kind, folder)
        return Judge(tensors["weight"].flatten(), float(tensors["bias"][0]), kind, float(meta["threshold"]), meta)
    except AssetError:
        raise
    except Exception as error:  # safetensors has its own error types for damaged files
        raise AssetError(f"{folder} holds no readable judge: {error}") from None


def _check(meta: Mapping[str, Any], tensors: Mapping[str, Tensor], kind: FeatureKind, folder: Path) -> None:
    """See that a judge's numbers are numbers and that it says what it was made for.

    Raises:
        AssetError: they are not, or it does not.
    """
    weight, bias = tensors["weight"], tensors["bias"]
    if not weight.is_floating_point() or not bias.is_floating_point() or bias.numel() != 1 or not weight.numel():
        raise AssetError(f"{folder / WEIGHTS} must hold a row of weights and one bias, both of fractions.")
    if not all(bool(torch.isfinite(t.float()).all()) for t in (weight, bias)):
        raise AssetError(f"{folder / WEIGHTS} holds numbers that are infinite or not a number (NaN).")
    if not fits(meta["threshold"], float) or not 0 <= meta["threshold"] <= 1:
        raise AssetError(f"{folder / META} has threshold = {meta['threshold']!r}; a number from 0 to 1 is needed.")
    made = [meta["models"].get(block.split(":")[0]) for block in kind.blocks]
    if not isinstance(meta["task"], str) or not all(
        isinstance(about, dict) and fits([about.get("id"), about.get("revision")], list[str]) for about in made
    ):
        raise AssetError(f"{folder / META} does not say for which task and models the judge was made.")
