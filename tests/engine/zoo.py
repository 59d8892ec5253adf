"""Tiny random models on disk, and labs of them: built once a test session, read only.

The tokenizer writes one character a token, so text and ids map one to one; ids 0, 1, 2 are <pad>, <eos>, <unk>.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    GPT2Config,
    GPTNeoXConfig,
    LlamaConfig,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen3Config,
)

from engine.lab import Lab
from engine.model import Model, load_model
from engine.model.network import auto_class

transformers.utils.logging.disable_progress_bar()

PAD, EOS, UNK = 0, 1, 2
SPECIALS = ("<pad>", "<eos>", "<unk>")
FAMILIES = ("llama", "qwen2", "qwen3", "gpt_neox")


def characters(n: int) -> list[str]:
    """n printable characters: letters, digits, punctuation, then Latin and Greek."""
    plain = [chr(c) for c in range(32, 127)]
    return (
        [c for c in plain if c.isalnum()] + [c for c in plain if not c.isalnum()] + [chr(c) for c in range(0xC0, 0x600)]
    )[:n]


def save_tokenizer(folder: Path, vocab: int) -> PreTrainedTokenizerFast:
    """A character tokenizer of `vocab` entries, specials included, as a Hugging Face folder."""
    words = {word: i for i, word in enumerate([*SPECIALS, *characters(vocab - len(SPECIALS))])}
    core = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    core.decoder = decoders.Fuse()
    fast = PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<eos>", pad_token="<pad>", unk_token="<unk>")
    fast.save_pretrained(folder)
    return fast


def config_of(family: str, vocab: int, layers: int, hidden: int, **more: Any) -> Any:
    """A tiny configuration of a family with weights spread widely (std 0.3)."""
    base = {
        "vocab_size": vocab,
        "initializer_range": 0.3,
        "eos_token_id": EOS,
        "pad_token_id": PAD,
        "bos_token_id": None,
    }
    if family == "gpt2":
        return GPT2Config(**base | {"n_embd": hidden, "n_layer": layers, "n_head": 4, "n_positions": 512} | more)
    base |= {
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": 4,
        "intermediate_size": 2 * hidden,
        "max_position_embeddings": 512,
        "tie_word_embeddings": False,
    }
    if family == "gpt_neox":
        return GPTNeoXConfig(**base | more)
    base["num_key_value_heads"] = 2
    if family == "qwen3":
        base["head_dim"] = hidden // 4
    return {"llama": LlamaConfig, "qwen2": Qwen2Config, "qwen3": Qwen3Config}[family](**base | more)


def make_model(
    folder: Path,
    family: str = "llama",
    *,
    seed: int = 0,
    vocab: int = 96,
    layers: int = 8,
    hidden: int = 48,
    zero_eos: bool = True,
    words: int = 0,
    **config: Any,
) -> Path:
    """A random model with its tokenizer, saved to `folder`.

    `zero_eos` zeroes the rows of <eos>, <pad> and <unk> in the head (they tie at logit 0). `words` is the tokenizer's
    size when it is smaller than the head (padding rows).
    """
    torch.manual_seed(seed)
    hf = AutoModelForCausalLM.from_config(config_of(family, vocab, layers, hidden, **config), dtype=torch.float32)
    head = hf.get_output_embeddings()
    with torch.no_grad():
        for name, weight in hf.named_parameters():
            if name.endswith("bias"):
                weight.normal_(0, 0.3)  # transformers starts them at zero, which would test nothing
        head.weight[[PAD, UNK] + ([EOS] if zero_eos else [])] = 0
    hf.save_pretrained(folder)
    save_tokenizer(folder, words or vocab)
    return folder


def noised(source: Path, folder: Path, sigma: float, seed: int = 0) -> Path:
    """A copy of a saved model whose matrices got Gaussian noise of `sigma` times their own spread."""
    config = AutoConfig.from_pretrained(source)
    hf = auto_class(config).from_pretrained(source, dtype=torch.float32)
    torch.manual_seed(seed)
    with torch.no_grad():
        for weight in hf.parameters():
            if weight.dim() == 2:
                weight.add_(torch.randn_like(weight) * weight.std() * sigma)
    hf.save_pretrained(folder)
    for file in source.glob("*token*"):
        (folder / file.name).write_bytes(file.read_bytes())
    return folder


class Zoo:
    """Models and labs by description, each made once. `sigma` of the noise draft gives acceptance in the middle."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.path: Callable[..., Path] = cache(self._path)
        self.model: Callable[..., Model] = cache(self._model)
        self.draft_path: Callable[..., Path] = cache(self._draft_path)
        self.lab: Callable[..., Lab] = self._lab
        self._loaded: dict[Path, Model] = {}

    def _path(self, family: str = "llama", **options: Any) -> Path:
        name = "-".join([family, *(f"{k}{v}" for k, v in sorted(options.items()))]).replace(" ", "")
        return make_model(self.root / name[:80] / str(abs(hash(name)) % 10_000), family, **options)

    def _draft_path(self, target: Path, kind: str, sigma: float = 0.02, seed: int = 100) -> Path:
        """A draft for a saved target: "copy", "noise", or "random" (two layers, other weights)."""
        if kind == "copy":
            return target
        if kind == "noise":
            return noised(target, target / f"noise-{sigma}-{seed}", sigma, seed)
        if kind == "random":
            vocab = self.load(target).vocab
            return make_model(target / f"random-{seed}", "llama", seed=seed, layers=2, hidden=32, vocab=vocab)
        raise ValueError(kind)

    def load(self, path: Path, dtype: str = "auto") -> Model:
        """The model in a folder, loaded once."""
        key = path / dtype
        if key not in self._loaded:
            self._loaded[key] = load_model(path, device="cpu", dtype=dtype)
        return self._loaded[key]

    def _model(self, family: str = "llama", **options: Any) -> Model:
        return self.load(self.path(family, **options))

    def _lab(self, family: str = "llama", draft: str | None = "noise", sigma: float = 0.02, **options: Any) -> Lab:
        """A fresh lab over shared weights. `draft`: None, "copy", "noise" or "random"; `options` as of `make_model`."""
        target = self.path(family, **options)
        models = {"draft": self.load(self.draft_path(target, draft, sigma=sigma))} if draft else {}
        return Lab(self.load(target), models)
