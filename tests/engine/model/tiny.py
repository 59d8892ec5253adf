"""Tiny random checkpoints of every causal type that transformers knows: what a real configuration says, made small.

Windows and chunks are 16 positions, far fewer than a run of the tests has; layers of each kind stand in turn.
"""

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from transformers import CONFIG_MAPPING, AutoModelForImageTextToText

from engine.model.network import auto_class, text_config
from tests.engine.zoo import EOS, PAD, save_tokenizer

VOCAB, LAYERS, WINDOW = 96, 4, 16
SMALL: dict[str, Any] = {
    "vocab_size": VOCAB,
    "hidden_size": 64,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "intermediate_size": 96,
    "max_position_embeddings": 512,
    "sliding_window": WINDOW,
    "attention_chunk_size": WINDOW,
    "initializer_range": 0.3,
    "pad_token_id": PAD,
    "bos_token_id": None,
    "eos_token_id": EOS,
    "num_experts": 4,
    "num_local_experts": 4,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "shared_expert_intermediate_size": 32,
    "n_shared_experts": 1,
    "n_group": 2,
    "topk_group": 1,
    "q_lora_rank": 24,
    "kv_lora_rank": 24,
    "qk_rope_head_dim": 16,
    "qk_nope_head_dim": 16,
    "v_head_dim": 16,
    "first_k_dense_replace": 1,
    "linear_num_value_heads": 4,
    "linear_num_key_heads": 2,
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 16,
    "index_topk": 8,
    "index_n_heads": 16,  # few heads would give many slots the same score, which is then as it comes
    "index_head_dim": 16,
    "mamba_n_heads": 8,
    "mamba_d_state": 8,
    "mamba_d_head": 16,
    "mamba_n_groups": 2,
    "mamba_chunk_size": 8,
    "mamba_d_ssm": 128,
    "mamba_num_heads": 8,
    "mamba_head_dim": 16,
    "ssm_state_size": 8,
    "is_decoder": True,
    "use_mamba_kernels": False,
    "hidden_size_per_layer_input": 16,
    "vocab_size_per_layer_input": VOCAB,
    "num_kv_shared_layers": 0,
}
KINDS = {  # of layers, where the usual configuration has not all of them
    "qwen2": ("full_attention", "sliding_attention"),
    "lfm2": ("conv", "full_attention"),
    "granitemoehybrid": ("linear_attention", "full_attention"),
}
MROPE = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 3, 3]}
MLA = {"num_key_value_heads": 4}  # every head has its own keys
TYPES: dict[str, dict[str, Any]] = {  # what a type needs besides
    **dict.fromkeys(
        (
            "deepseek_v2",
            "deepseek_v3",
            "deepseek_v32",
            "glm_moe_dsa",
            "axk1",
            "axk2",
            "bailing_hybrid",
            "youtu",
            "mistral4",
            "hy_v4",
        ),
        MLA,
    ),
    **dict.fromkeys(("glm4_moe_lite", "minicpm3", "sarvam_mla"), MLA | {"head_dim": 16}),
    **{kind: {"rope_parameters": MROPE} for kind in ("qwen2_vl_text", "qwen2_5_vl_text")},
    "bamba": {"attn_layer_indices": [1, 3]},
    "codegen": {"rotary_dim": 16},
    "gptj": {"rotary_dim": 16},
    "qwen2": {"use_sliding_window": True, "sliding_window": WINDOW},
    "phi3": {"sliding_window": WINDOW},
    "gemma3_text": {
        "rope_parameters": {
            "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
        }
    },
    "gpt_neo": {"num_layers": 4, "attention_types": [[["global", "local"], 2]], "window_size": 16},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"] * 2, "num_dense_layers": 1},
    "cwm": {"bos_token_id": 1},
    "modernbert-decoder": {"bos_token_id": 1},
    "emu3_text_model": {"bos_token_id": 1},
    "mllama_text_model": {"bos_token_id": 1},
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1},
    "mamba2": {"num_heads": 8, "head_dim": 16, "n_groups": 2, "state_size": 8, "chunk_size": 8},
    "zaya": {"num_experts_per_tok": 1},
    "xlnet": {"d_head": 16, "d_inner": 96},
    "reformer": {"axial_pos_embds": False, "attn_layers": ["local", "local"], "num_hidden_layers": 2},
    "longcat_flash": {**MLA, "ffn_hidden_size": 96, "expert_ffn_hidden_size": 32, "zero_expert_num": 2, "moe_topk": 2},
    "roc_bert": {"pronunciation_vocab_size": 20, "shape_vocab_size": 20},
    "moshi": {"num_codebooks": 2, "ffn_dim": 96},
    "kimi_linear": {**MLA},
    "cpmant": {"prompt_types": 2, "prompt_length": 4, "dim_head": 16, "dim_ff": 96},
    "ctrl": {"dff": 96},
    "dbrx": {
        "attn_config": {"kv_n_heads": 2, "rope_theta": 1e4},
        "ffn_config": {"ffn_hidden_size": 32, "moe_num_experts": 4, "moe_top_k": 2},
    },
    "cohere_compass_text": {"rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 1e4}}},
    "zamba2": {"layer_types": ["mamba", "hybrid"] * 2, "hybrid_layer_ids": [1, 3], "mamba_headdim": 16},
    "phi4_multimodal": {
        "vision_config": {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4},
        "audio_config": {
            **{"hidden_size": 64, "intermediate_size": 96, "num_blocks": 2, "num_attention_heads": 4},
            **{"ext_pw_out_channel": 64, "depthwise_separable_out_channel": 64, "nemo_conv_channels": 64},
        },
    },
    "chameleon": {"vocabulary_map": {"<image>": 90}, "vq_config": {"base_channels": 32, "num_res_blocks": 1}},
    "emu3": {"vocabulary_map": {"<image>": 90}},
    "granite4_vision": {"deepstack_layer_map": [[-1, 0]], "downsample_rate": "4/8"},
    "nemotron_h_omni": {"projector_hidden_size": 64},
    "lfm3": {},
    **{key: {"vision_start_token_id": 90} for key in ("qwen2_5_omni_thinker", "qwen3_omni_moe_thinker")},
    **{key: {"projector_hidden_size": 64} for key in ("muse_glimmer", "muse_spark")},
}
SEES = {"out_hidden_size": 64, "text_hidden_size": 64, "depth": 2}  # what is said of text in what sees and hears
MULTI = {"rope_parameters": MROPE}  # places of rows and columns too
PARTS: dict[str, dict[str, dict[str, Any]]] = {  # of multimodal types: what a part needs besides
    **{
        key: {"text_config": MULTI}
        for key in ("hunyuan_vl", "paddleocr_vl", "qwen2_5_omni_thinker", "glm46v", "glmga", "glm4v", "glm_ocr")
    },
    "glm4v_moe": {
        "text_config": {"rope_parameters": MROPE | {"mrope_section": [1, 1, 2], "partial_rotary_factor": 0.5}}
    },
    "glm5_next": {"text_config": MLA | {"index_topk": 16, "qk_rope_head_dim": 0, "head_dim": 0}},
    "qwen2_vl": {"text_config": MULTI, "vision_config": {"embed_dim": 64, "num_heads": 4}},
    "emu3": {"vq_config": {"codebook_size": 64, "base_channels": 32, "num_res_blocks": 1}},
    "janus": {
        "vision_config": {"projection_dim": 64},
        "vq_config": {"num_embeddings": 64, "base_channels": 32, "projection_dim": 64, "image_token_embed_dim": 64},
    },
    "ernie4_5_vl_moe": {
        "text_config": {"rope_parameters": MROPE | {"mrope_section": [2, 2, 4]}, "moe_intermediate_size": [32, 32]}
    },
    "hy_v4_vl": {"text_config": MLA | MULTI},
    "mistral_large4": {"text_config": MLA},
    "apertus1p5": {"audio_config": {"codebook_dim": 64}},
    "fun_asr_nano": {"adaptor_config": {"intermediate_size": 16}},
    "step3p7": {"text_config": {"sliding_window": WINDOW}},
    "molmo2": {"adapter_config": {"vision_feature_layer": [-1, -2]}},
    "nemotron_h_omni": {"vision_config": {"video_temporal_patch_size": 2}},
    "deepseek_ocr2": {"text_config": {"mlp_layer_types": ["dense", "sparse"] * 2}},
    "muse_spark": {"audio_config": {"num_hidden_layers": 4, "hidden_sizes": [16, 16, 32, 32]}},
}
SPEAKS = {"qwen2_5_omni": "qwen2_5_omni_thinker", "qwen3_omni_moe": "qwen3_omni_moe_thinker"}  # and what thinks there
# What sees or hears there is a network of another package, or no small one.
WRAPPED = ("gemma3n", "fast_vlm", "perception_lm", "vibevoice_asr")
KEPT_NONE = ("q_lora_rank", "sliding_window", "attention_chunk_size")  # left out where the usual one leaves them out


def config_of(kind: str, layers: int = LAYERS, **more: Any) -> Any:
    """A tiny configuration of a type; of a multimodal one with small towers."""
    made = CONFIG_MAPPING[kind]
    usual = made()
    text = text_config(usual)
    if text is usual or usual.is_encoder_decoder:
        return _small(made, kind, layers, more)
    name = next(n for n in ("text_config", "decoder", "generator") if getattr(usual, n, None) is text)
    parts = {name: _small(type(text), text.model_type, layers, PARTS.get(kind, {}).get(name, {}) | more).to_dict()}
    for part in type(usual).sub_configs:
        if part != name and getattr(usual, part, None) is not None:
            own = SEES | PARTS.get(kind, {}).get(part, {})
            parts[part] = _small(type(getattr(usual, part)), part, 2, own).to_dict()
    return made(**parts | TYPES.get(kind, {}))


def _small(made: Any, kind: str, layers: int, more: dict[str, Any]) -> Any:
    names, usual = {*made.__dataclass_fields__, *made.attribute_map}, made()
    values = {name: value for name, value in SMALL.items() if name in names and _has(usual, name)}
    values = {n: v for n, v in values.items() if n not in KEPT_NONE or getattr(usual, n) is not None}
    values["num_hidden_layers"] = layers
    kinds = KINDS.get(kind) or tuple(dict.fromkeys(getattr(usual, "layer_types", None) or ()))
    if "layer_types" in made.__dataclass_fields__ and kinds:
        values["layer_types"] = [kinds[i % len(kinds)] for i in range(max(layers, len(kinds)))]
        values["num_hidden_layers"] = len(values["layer_types"])
    return made(**values | TYPES.get(kind, {}) | more)


def _has(config: Any, name: str) -> bool:
    """Whether a configuration has one value of that name for all layers."""
    try:
        return hasattr(config, name)
    except (AttributeError, ValueError, RuntimeError):
        return False


def whole_class(config: Any) -> Any:
    """The auto class of a whole checkpoint: of a multimodal one with what sees and hears."""
    wrapper = text_config(config) is not config and type(config) in AutoModelForImageTextToText._model_mapping
    return AutoModelForImageTextToText if wrapper else auto_class(config)


def make(kind: str, folder: Path, layers: int = LAYERS, seed: int = 0, **more: Any) -> Path:
    """A random checkpoint of a type with its tokenizer, saved to `folder`."""
    if kind in SPEAKS:
        return _speaking(kind, folder, layers, seed, more)
    config = config_of(kind, layers, **more)
    if kind in WRAPPED:
        return _wrapped(config, text_config(config).model_type, folder, layers, seed, more)
    torch.manual_seed(seed)
    hf = whole_class(config).from_config(config, dtype=torch.float32)
    head = hf.get_output_embeddings() or hf.language_model.get_output_embeddings()
    with torch.no_grad():
        for name, weight in hf.named_parameters():
            if name.endswith("bias") and weight.is_floating_point():
                weight.normal_(0, 0.1)  # transformers starts them at zero, which would test nothing
            elif "norm" in name and weight.dim() == 1:
                weight.add_(torch.randn_like(weight), alpha=0.2)  # nor would norms that are all alike
        head.weight[:3] = 0  # <pad>, <eos> and <unk> are rarely the first choice
    hf.save_pretrained(folder)
    save_tokenizer(folder, VOCAB)
    return folder


def _wrapped(config: Any, text: str, folder: Path, layers: int, seed: int, more: dict[str, Any]) -> Path:
    """A multimodal checkpoint as it is published, put together from its text model, which stays in `folder`/text."""
    make(text, folder / "text", layers, seed, **more)
    tensors = load_file(folder / "text" / "model.safetensors")
    named = {name.replace("model.", "model.language_model.", 1): tensor for name, tensor in tensors.items()}
    named["model.vision_tower.timm_model.conv_stem.conv.weight"] = torch.ones(4, 3, 3, 3)
    save_file(named, folder / "model.safetensors", {"format": "pt"})
    config.text_config = type(config.text_config).from_pretrained(folder / "text")
    config.save_pretrained(folder)
    save_tokenizer(folder, VOCAB)
    return folder


def _speaking(kind: str, folder: Path, layers: int, seed: int, more: dict[str, Any]) -> Path:
    """A checkpoint that also speaks, as it is published, put together from what thinks, which stays in `folder`/text."""
    make(SPEAKS[kind], folder / "text", layers, seed, **more)
    tensors = load_file(folder / "text" / "model.safetensors")
    named = {f"thinker.{name.removeprefix('thinker.')}": tensor for name, tensor in tensors.items()}
    named["talker.model.norm.weight"] = torch.ones(8)
    save_file(named, folder / "model.safetensors", {"format": "pt"})
    thinker = type(CONFIG_MAPPING[SPEAKS[kind]]()).from_pretrained(folder / "text")
    CONFIG_MAPPING[kind](thinker_config=thinker.to_dict()).save_pretrained(folder)
    save_tokenizer(folder, VOCAB)
    return folder
