"""Tiny random encoder-decoders of every type that writes text after a text, held against transformers.

The smallest of each that its configuration allows; a source is short, so what looks only at neighbours sees it all.
"""

from pathlib import Path
from typing import Any

import torch
from transformers import CONFIG_MAPPING, AutoModelForSeq2SeqLM
from transformers.models.auto.modeling_auto import MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES

from engine.draft import chain
from engine.errors import ModelMismatch
from engine.lab import Lab
from engine.model import Model, load_model
from tests.engine.crossed import SOURCE, generated, plain_logits, spread
from tests.engine.crossed import save_tokenizer as save_words
from tests.engine.model.families import METHODS, TREE, Outcome, ids, near
from tests.engine.zoo import EOS, PAD, noised

TOKENS = 24
VOCAB = 96
OTHER_SOURCES = (  # sounds, pictures
    "audioflamingo3",
    "glmasr",
    "granite_speech",
    "granite_speech_plus",
    "moss_transcribe_diarize",
    "musicflamingo",
    "nemo_speechlm",
    "qwen2_audio",
    "qwen3_asr",
    "seamless_m4t",
    "seamless_m4t_v2",
    "t5gemma2",
    "vibevoice_asr",
    "voxtral",
    "voxtral_realtime",
)
KINDS = tuple(k for k in sorted(MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES) if k not in OTHER_SOURCES)
SMALL: dict[str, Any] = {
    "vocab_size": VOCAB,
    "d_model": 32,
    "hidden_size": 32,
    "d_kv": 8,
    "d_ff": 64,
    "num_layers": 2,
    "num_decoder_layers": 2,
    "num_heads": 4,
    "feed_forward_proj": "relu",
    "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 20,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "num_encoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "num_encoder_attention_heads": 4,
    "num_decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "max_position_embeddings": 128,
    "max_encoder_position_embeddings": 128,
    "max_decoder_position_embeddings": 128,
    "init_std": 0.15,
    "initializer_factor": 3.0,
    "num_experts": 4,
    "expert_capacity": 64,
}
ENDS: dict[str, Any] = {
    "pad_token_id": PAD,
    "eos_token_id": EOS,
    "bos_token_id": None,
    "decoder_start_token_id": PAD,
    "forced_eos_token_id": None,
}
PART = {  # of T5Gemma: a stack
    "vocab_size": VOCAB,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "intermediate_size": 64,
    "sliding_window": 128,
    "initializer_range": 0.15,
    "pad_token_id": PAD,
    "eos_token_id": EOS,
    "bos_token_id": None,
}
TYPES: dict[str, dict[str, Any]] = {
    "bart": {"decoder_start_token_id": EOS},
    "m2m_100": {"decoder_start_token_id": EOS},
    "mvp": {"decoder_start_token_id": EOS},
    "plbart": {"decoder_start_token_id": EOS},
    "nllb-moe": {"decoder_start_token_id": EOS, "encoder_sparse_step": 2, "decoder_sparse_step": 2},
    "led": {"attention_window": 16},
    "bigbird_pegasus": {"attention_type": "original_full"},
    "longt5": {"local_radius": 15},
    "switch_transformers": {"num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1},
    "prophetnet": {"ngram": 2, "num_buckets": 8, "relative_max_distance": 20},
    "pegasus_x": {"num_global_tokens": 4, "block_size": 8},
    "fsmt": {"langs": ["en", "de"], "src_vocab_size": VOCAB, "tgt_vocab_size": VOCAB},
    "t5gemma": {"encoder": PART, "decoder": PART, "decoder_start_token_id": 3},  # without a cache padding is never seen
}


def config_of(kind: str) -> Any:
    """A tiny configuration of a type."""
    made = CONFIG_MAPPING[kind]
    if kind == "encoder-decoder":
        bert = {"vocab_size": VOCAB, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
        bert |= {"intermediate_size": 64, "max_position_embeddings": 128}
        parts = [CONFIG_MAPPING["bert"](**bert, initializer_range=0.15) for _ in range(2)]
        config = made.from_encoder_decoder_configs(*parts)
        config.vocab_size, config.pad_token_id, config.eos_token_id = VOCAB, PAD, EOS
        config.decoder_start_token_id = PAD
        return config
    names = {*made.__dataclass_fields__, *made.attribute_map, *made().__dict__}
    return made(**{n: v for n, v in SMALL.items() if n in names} | ENDS | TYPES.get(kind, {}))


def make(kind: str, folder: Path) -> Path:
    """A random checkpoint of a type with its tokenizer, saved to `folder`."""
    torch.manual_seed(0)
    hf: Any = AutoModelForSeq2SeqLM.from_config(config_of(kind), dtype=torch.float32)
    spread(hf)
    hf.save_pretrained(folder)
    save_words(folder, VOCAB)
    return folder


@torch.inference_mode()
def apart(model: Model, hf: Any) -> float:
    """How far logits in pieces are from plain forwards: a draft, then what follows after part of it was accepted."""
    assert model.seam is not None
    start, written = list(model.seam.opening), [7, 8, 9, 50, 4, 30, 12]
    draft = chain([4, 9, 30]) if model.only_chains else TREE
    session, off = model.session(80), 0.0
    session.forward([*SOURCE, *start, *written[:3]])
    found = session.forward([*SOURCE, *start, *written], draft).logits
    for node in range(-1, len(draft)):
        plain = plain_logits(hf, SOURCE, [*start, *written, *draft.path_tokens(node)])[-1]
        off = max(off, near(found[node + 1], plain))
    for node in (0, 2):
        grown = [*start, *written, *draft.path_tokens(node), 51]
        found = session.forward([*SOURCE, *grown], chain([5, 6])).logits
        off = max(off, near(found, plain_logits(hf, SOURCE, [*grown, 5, 6])[-3:]))
        session.forward([*SOURCE, *start, *written], draft)
    return off


def check(kind: str, folder: Path) -> Outcome:
    """Load a tiny checkpoint of a type as a target and a noised copy as its draft, and hold them to transformers."""
    hf: Any = AutoModelForSeq2SeqLM.from_pretrained(folder, dtype=torch.float32)
    hf.eval().requires_grad_(False)
    try:
        target = load_model(folder, "cpu")
    except ModelMismatch as error:
        return Outcome(kind, refused=str(error))
    assert target.seam is not None
    lab = Lab(target, {"draft": load_model(noised(folder, folder / "noised", 0.02), "cpu")})
    wanted = generated(hf, SOURCE, len(target.seam.opening), TOKENS)
    prompt = [*SOURCE, *target.seam.opening]
    equal = tuple(m for m in METHODS if ids(lab.run(m, prompt, max_new_tokens=TOKENS, record="light")) == wanted)
    notes = tuple(note for note in target.notes if not note.startswith("Encoder-decoder:"))  # all are
    return Outcome(kind, "", "", target.lean, target.only_chains, apart(target, hf), equal, notes)
