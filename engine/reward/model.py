"""Process reward models: any transformers network with a head of one or two numbers a token, read at the end of a step.

One path for all but the embedded one (`engine.reward.likelihood`): the network without a language-model head, and the
head by its tensors' names. Dimension key: T tokens, D width, C classes (1: a logit, 2: wrong and right).
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, DynamicCache
from transformers.cache_utils import DynamicLayer
from transformers.utils.hub import cached_file, get_checkpoint_shard_files

from engine import progress
from engine.errors import AssetError, ConfigError, EngineFault, ModelMismatch, first_line
from engine.model import Model
from engine.model.hub import INDEX, fault, fetch
from engine.model.misnamed import sized
from engine.model.network import cache_name
from engine.model.tokens import common_prefix, read_tokenizer
from engine.reward.likelihood import META, LikelihoodReward, load_likelihood
from engine.reward.steps import BLANK_LINE, delimiters_of
from engine.sampling import sent

HEADS = ("score", "classifier", "v_head.summary")  # transformers' classifiers, and trl's value head
TWO_LAYERS = ("score.0", "score.2")  # Qwen's process reward models
MARK = "<extra_0>"  # the token at which these are read, one behind each step
ASKED = "Please reason step by step, and put your final answer within \\boxed{}."  # what their system prompt was
PREFIXES = ("score.", "classifier.", "v_head.")
WEIGHTS = ("model.safetensors", INDEX)


@dataclass(frozen=True, eq=False)
class RewardModel:
    """Weights ready to score, and how the model wants to be asked."""

    name: str
    network: Any
    head: nn.Module
    tokenizer: Any
    delimiters: tuple[str, ...]  # what ends a step
    joint: str  # what stands between the question and the response
    context: int  # positions
    mark: str = ""  # the token at which it is read, where it has one

    def text(self, question: str, response: str) -> str:
        """What the model reads; its last token is where the last step is scored. With a mark it is a chat, in which the
        mark follows each step in place of the delimiter."""
        if not self.mark:
            return question + self.joint + response
        steps = re.split("|".join(map(re.escape, self.delimiters)), response)
        marked = "".join(step.strip() + self.mark for step in steps if step.strip())
        if not self.tokenizer.chat_template:
            return question + self.joint + marked
        asked = [{"role": "system", "content": ASKED}, {"role": "user", "content": question}]
        return str(self.tokenizer.apply_chat_template(asked, tokenize=False, add_generation_prompt=True)) + marked

    def reader(self) -> "Reader":
        """A fresh reader, for one run."""
        return Reader(self)


class Reader:
    """Scores growing texts; what was read before is not read again where the network is causal and keeps keys alone,
    as running states cannot be cut back."""

    def __init__(self, model: RewardModel) -> None:
        self.model = model
        self.read = 0  # tokens that the last score read
        keys = all(isinstance(layer, DynamicLayer) for layer in DynamicCache(config=model.network.config).layers)
        self._remembers = keys and any(getattr(part, "is_causal", False) for part in model.network.modules())
        self._cached = cache_name(model.network.forward)
        self._ids: list[int] = []
        self._cache = DynamicCache()

    @torch.inference_mode()
    def score(self, question: str, response: str) -> float:
        """How good the last step of a response is, from 0 to 1: its probability of being right.

        Raises:
            ConfigError: the text is longer than the model reads. EngineFault: what it gives is not a number.
        """
        ids = list(self.model.tokenizer(self.model.text(question, response))["input_ids"])
        if len(ids) > self.model.context:
            raise ConfigError(
                f"The text has {len(ids)} tokens, and the reward model {self.model.name} reads at most "
                f"{self.model.context}: shorten it."
            )
        start = common_prefix(ids, self._ids, len(ids) - 1) if self._remembers else 0
        if start < self._cache.get_seq_length():
            self._cache.crop(start - self._cache.get_seq_length())
        device = next(self.model.head.parameters()).device
        more = {self._cached: self._cache, "use_cache": True} if self._remembers else {}
        out = self.model.network(input_ids=sent([ids[start:]], device), **more)
        self._ids, self.read = ids, len(ids) - start
        found = share(self.model.head(out.last_hidden_state[0, -1]))
        if math.isnan(found):
            raise EngineFault(
                f"The reward model {self.model.name} gave a reward that is not a number (NaN); this run ends here. Its "
                "weights are damaged, or too large for their type of numbers."
            )
        return found


def share(logits_C: Tensor) -> float:
    """One logit or two as the probability of a right step."""
    wide = logits_C.float()
    return float(torch.sigmoid(wide[0]) if len(wide) == 1 else torch.softmax(wide, -1)[1])


def load_reward(path: Path, target: Model) -> RewardModel | LikelihoodReward:
    """A reward model by folder or hub id, on the target's device, in its own precision (fp32 on a CPU).

    `step_delimiters` and `step_joint` of its configuration say how a step ends and what comes before the response; a
    model without them is asked as chat models are: steps end at a blank line, a line break before the first. Qwen's are
    asked as they were trained, see `RewardModel.text`.

    Raises:
        AssetError: no such model, files are missing, it reads no position, or a number of the head is NaN.
        ModelMismatch: no head of one or two numbers, or one that reads something else than the state of the last token.
    """
    if (path / META).is_file():
        return load_likelihood(path, target)
    ref = str(path)
    name = path.name if path.is_absolute() else ref
    try:
        fetch(ref, f"reward model {name}")
        config = AutoConfig.from_pretrained(ref, trust_remote_code=False)
        dtype = torch.float32 if target.device.type == "cpu" else "auto"
        with progress.alone():
            network, info = AutoModel.from_pretrained(
                ref, config=config, dtype=dtype, use_safetensors=True, trust_remote_code=False, output_loading_info=True
            )
        tokenizer = read_tokenizer(ref)
        tensors = _tensors(ref)
    except progress.Stopped:
        raise
    except Exception as error:  # transformers and safetensors raise whatever they like on damaged files
        said = f"There is no reward model that can be read in {ref!r}. ({first_line(error)})"
        raise AssetError(said) from fault(error)
    lost = sorted(key for key in info.get("missing_keys") or () if "pooler" not in key)
    if lost:
        raise AssetError(f"The reward model {name} is not complete: {lost[0]} is missing.")
    sized(config, name)
    _readable(config, network, info, name)
    network.eval().requires_grad_(False).to(target.device)
    head = _head(tensors, name).to(target.device, next(network.parameters()).dtype)
    delimiters = delimiters_of(getattr(config, "step_delimiters", None) or BLANK_LINE, name)
    joint = str(getattr(config, "step_joint", "\n"))
    context = int(getattr(config, "max_position_embeddings", 0) or 2048)
    mark = MARK if isinstance(head, nn.Sequential) and MARK in tokenizer.get_vocab() else ""
    return RewardModel(name, network, head, tokenizer, delimiters, joint, context, mark)


def _readable(config: Any, network: Any, info: Mapping[str, Any], name: str) -> None:
    """See that the head reads the state of the last token as it is.

    Raises:
        ModelMismatch: there are more layers between, or it classifies a text by its first token.
    """
    between = sorted(key for key in info.get("unexpected_keys") or () if not key.startswith((*PREFIXES, "lm_head.")))
    if between:
        raise ModelMismatch(f"The reward model {name} has more before its head than is read here: {between[0]}.")
    architecture = str((getattr(config, "architectures", None) or [""])[0])
    causal = any(getattr(part, "is_causal", False) for part in network.modules())
    if architecture.endswith("ForSequenceClassification") and not causal:
        raise ModelMismatch(
            f"{name} ({architecture}) judges a whole text by its first token; a reward model is read at the last: "
            "give a token classifier, or a causal model."
        )


def _head(tensors: Mapping[str, Tensor], name: str) -> nn.Module:
    """The head that the tensors hold.

    Raises:
        AssetError: its numbers are not all numbers. ModelMismatch: none, or one of more than two classes.
    """
    if all(f"{layer}.weight" in tensors for layer in TWO_LAYERS):
        first, last = (_linear(tensors, layer, name) for layer in TWO_LAYERS)
        head: nn.Module = nn.Sequential(first, nn.ReLU(), last)
    else:
        found = next((layer for layer in HEADS if f"{layer}.weight" in tensors), None)
        if found is None:
            raise ModelMismatch(
                f"{name} is no reward model: its weights hold none of {', '.join((*HEADS, 'score.0 and score.2'))}."
            )
        head = last = _linear(tensors, found, name)
    if last.out_features not in (1, 2):
        raise ModelMismatch(f"The head of {name} gives {last.out_features} numbers; a reward model gives one or two.")
    return head.eval().requires_grad_(False)


def _linear(tensors: Mapping[str, Tensor], layer: str, name: str) -> nn.Linear:
    """One layer of the head.

    Raises:
        AssetError: its numbers are not all numbers.
    """
    weight, bias = tensors[f"{layer}.weight"], tensors.get(f"{layer}.bias")
    linear = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None, dtype=weight.dtype)
    for key in ("weight", "bias")[: 1 + (bias is not None)]:
        if not bool(torch.isfinite(tensors[f"{layer}.{key}"]).all()):
            raise AssetError(
                f"{layer}.{key} of the reward model {name} holds numbers that are infinite or not a number (NaN)."
            )
    with torch.no_grad():
        linear.weight.copy_(weight)
        if bias is not None:
            linear.bias.copy_(bias)
    return linear


def _tensors(ref: str) -> dict[str, Tensor]:
    """The tensors that may belong to a head, from a folder's or a hub checkpoint's files."""
    for name in WEIGHTS:
        file = cached_file(ref, name, _raise_exceptions_for_missing_entries=False)
        if file is None:
            continue
        files = [file] if name.endswith("safetensors") else get_checkpoint_shard_files(ref, file)[0]
        found: dict[str, Tensor] = {}
        for one in files:
            with safe_open(one, framework="pt") as opened:
                mine = [key for key in opened.keys() if key.startswith(PREFIXES)]  # noqa: SIM118  (not a mapping)
                found |= {key: opened.get_tensor(key) for key in mine}
        return found
    return {}
