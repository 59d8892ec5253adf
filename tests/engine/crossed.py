"""Tiny random encoder-decoder models on disk, and pairs of them: built once a test session, read only.

A character a token, as in the zoo; ids 0, 1, 2 are <pad>, <eos>, <unk>, and a source ends with <eos>.
"""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import (
    AutoModelForSeq2SeqLM,
    BartConfig,
    BertConfig,
    EncoderDecoderConfig,
    M2M100Config,
    MarianConfig,
    MBartConfig,
    PegasusConfig,
    PreTrainedTokenizerFast,
    T5Config,
)

from engine.lab import Lab
from engine.model import Model, load_model
from tests.engine.zoo import EOS, PAD, SPECIALS, UNK, characters, noised

LEAN = ("t5", "t5_gated", "bart", "marian", "mbart", "pegasus", "m2m_100")
CROSS = ("encoder_attn", "EncDecAttention", "crossattention")  # attention to the source
TIED = ("t5", "m2m_100")  # their head is their embedding, so at random they repeat a token
SOURCE = [5, 9, 33, 7, 60, 8, 21, 40, 9, 33, EOS]
BART_LIKE = {"bart": BartConfig, "marian": MarianConfig, "mbart": MBartConfig, "pegasus": PegasusConfig}
BART_LIKE |= {"m2m_100": M2M100Config}


def save_tokenizer(folder: Path, vocab: int) -> None:
    """A character tokenizer that ends every text with <eos>."""
    words = {word: i for i, word in enumerate([*SPECIALS, *characters(vocab - len(SPECIALS))])}
    core = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    core.decoder = decoders.Fuse()
    core.post_processor = processors.TemplateProcessing(
        single="$A <eos>", pair="$A <eos> $B <eos>", special_tokens=[("<eos>", EOS)]
    )
    fast = PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<eos>", pad_token="<pad>", unk_token="<unk>")
    fast.save_pretrained(folder)


def config_of(family: str, vocab: int, layers: int, hidden: int, **more: Any) -> Any:
    """A tiny configuration with weights spread widely; BART and M2M100 start with <eos>, the others with <pad>."""
    base: dict[str, Any] = {"vocab_size": vocab, "pad_token_id": PAD, "eos_token_id": EOS, "bos_token_id": None}
    base |= {"decoder_start_token_id": EOS if family in ("bart", "m2m_100") else PAD, "forced_eos_token_id": None}
    if family.startswith("t5"):
        base |= {"d_model": hidden, "d_kv": 8, "d_ff": 2 * hidden, "num_layers": layers, "num_heads": 4}
        base |= {"num_decoder_layers": layers, "relative_attention_num_buckets": 8, "initializer_factor": 3.0}
        base |= {"relative_attention_max_distance": 20}
        base |= {"feed_forward_proj": "gated-gelu" if family == "t5_gated" else "relu"}
        return T5Config(**base | ({"tie_word_embeddings": False} if family == "t5_gated" else {}) | more)
    if family == "bert2bert":
        part: dict[str, Any] = {
            "vocab_size": vocab,
            "hidden_size": hidden,
            "num_hidden_layers": layers,
            "num_attention_heads": 4,
        }
        part |= {"intermediate_size": 2 * hidden, "initializer_range": 0.15, "max_position_embeddings": 128}
        pair = EncoderDecoderConfig.from_encoder_decoder_configs(BertConfig(**part), BertConfig(**part))
        for name, value in base.items():
            if name != "vocab_size":
                setattr(pair, name, value)
        return pair
    base |= {"d_model": hidden, "encoder_layers": layers, "decoder_layers": layers + 1, "init_std": 0.15}
    base |= {"encoder_attention_heads": 4, "decoder_attention_heads": 4, "max_position_embeddings": 128}
    base |= {"tie_word_embeddings": family in TIED}
    base |= {"encoder_ffn_dim": 2 * hidden, "decoder_ffn_dim": 2 * hidden, "scale_embedding": family != "bart"}
    return BART_LIKE[family](**base | more)


def make_model(
    folder: Path, family: str, *, seed: int = 0, vocab: int = 96, layers: int = 2, hidden: int = 32, **config: Any
) -> Path:
    """A random model with its tokenizer, saved to `folder`; special tokens tie at logit 0, all biases are at random."""
    torch.manual_seed(seed)
    hf: Any = AutoModelForSeq2SeqLM.from_config(config_of(family, vocab, layers, hidden, **config), dtype=torch.float32)
    spread(hf)
    hf.save_pretrained(folder)
    save_tokenizer(folder, vocab)
    return folder


@torch.no_grad()
def spread(hf: Any) -> None:
    """Set what transformers starts at zero, and what would make every text alike."""
    for name, weight in hf.named_parameters():
        if name.endswith("bias") and weight.dim() == 1:
            weight.normal_(0, 0.1)
        if weight.dim() == 2 and any(part in name for part in CROSS):
            weight.mul_(0.5)  # else the source drowns what was written, and one token comes again and again
    if hasattr(hf, "final_logits_bias"):
        hf.final_logits_bias.normal_(0, 0.1)
        hf.final_logits_bias[:, [PAD, EOS, UNK]] = -9.0
    hf.get_output_embeddings().weight[[PAD, EOS, UNK]] = 0


class Crossed:
    """Models and pairs by family, each made once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.path: Callable[..., Path] = cache(self._path)
        self.model: Callable[..., Model] = cache(lambda family, **more: load_model(self.path(family, **more), "cpu"))
        self.plain: Callable[..., Any] = cache(self._plain)
        self._draft: Callable[..., Model] = cache(self._noised)

    def _path(self, family: str, **options: Any) -> Path:
        name = "-".join([family, *(f"{k}{v}" for k, v in sorted(options.items()))])
        return make_model(self.root / name, family, **options)

    def _plain(self, family: str, **options: Any) -> Any:
        hf: Any = AutoModelForSeq2SeqLM.from_pretrained(self.path(family, **options), dtype=torch.float32)
        return hf.eval().requires_grad_(False)

    def _noised(self, family: str, sigma: float, **options: Any) -> Model:
        source = self.path(family, **options)
        return load_model(noised(source, source / f"noise-{sigma}", sigma), "cpu")

    def lab(self, family: str, sigma: float = 0.03, **options: Any) -> Lab:
        """A pair whose draft is the target with some noise; 0 is a copy, below 0 no draft."""
        models = {"draft": self._draft(family, sigma, **options)} if sigma >= 0 else {}
        return Lab(self.model(family, **options), models)


@torch.inference_mode()
def plain_logits(hf: Any, source: Sequence[int], written: Sequence[int]) -> torch.Tensor:
    """Logits of transformers after each token that the decoder reads [T, V], without any cache."""
    read, text = (torch.tensor([list(ids)]) for ids in (source, written))
    return hf(input_ids=read, decoder_input_ids=text, use_cache=False).logits[0]  # type: ignore[no-any-return]


@torch.inference_mode()
def generated(hf: Any, source: Sequence[int], opening: int, limit: int) -> list[int]:
    """What transformers' own greedy search writes after its opening."""
    ids = torch.tensor([list(source)])
    out = hf.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, num_beams=1, max_new_tokens=limit)
    return out[0, opening:].tolist()  # type: ignore[no-any-return]
