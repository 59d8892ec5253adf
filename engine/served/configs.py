"""The settings of a method as serving engines take them, by documented names; None with a reason where they cannot.

Names read 2026-11-22: vLLM `SpeculativeConfig` (vllm/config/speculative.py at 002e77c); SGLang's page
"Speculative Decoding" at 067ad4d; llama.cpp tools/server README at 00dc805; TensorRT-LLM's page "Speculative Decoding"
at 04c8822; transformers `GenerationConfig` 5.x; of DFlash 2026-11-23 NVIDIA's page of `DFlashDecodingConfig` and the
model cards of its authors. Nothing is written that `DOCUMENTED` does not hold.
"""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.analysis.advice import fixed
from engine.config import AUTO
from engine.errors import ConfigError


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


DOCUMENTED: dict[str, frozenset[str]] = {
    "vllm": _names(
        "method model num_speculative_tokens prompt_lookup_max prompt_lookup_min draft_sample_method "
        "num_speculative_tokens_per_batch_size suffix_decoding_max_tree_depth suffix_decoding_max_spec_factor "
        "suffix_decoding_min_token_prob"
    ),
    "sglang": _names(
        "--speculative-algorithm --speculative-draft-model-path --speculative-num-steps --speculative-eagle-topk "
        "--speculative-num-draft-tokens"
    ),
    "llamacpp": _names(
        "--spec-type --spec-draft-model --spec-draft-n-max --spec-draft-n-min --spec-draft-p-min --spec-draft-sampling "
        "--spec-ngram-simple-size-n --spec-ngram-simple-size-m"
    ),
    "tensorrt_llm": _names(
        "decoding_type max_draft_len speculative_model max_matching_ngram_size is_public_pool use_dynamic_tree "
        "dynamic_tree_max_topK max_total_draft_tokens"
    ),
    "transformers": _names(
        "assistant_model num_assistant_tokens num_assistant_tokens_schedule assistant_confidence_threshold "
        "prompt_lookup_num_tokens max_matching_ngram_size tokenizer assistant_tokenizer"
    ),
}
VALUES: dict[str, frozenset[str]] = {  # of the fields that name a method
    "vllm": _names("ngram medusa draft_model suffix eagle eagle3 mtp dflash"),
    "sglang": _names("EAGLE EAGLE3 STANDALONE NGRAM NEXTN DFLASH"),
    "llamacpp": _names("draft-simple draft-eagle3 draft-mtp ngram-simple"),
    "tensorrt_llm": _names("MTP Eagle3 NGram DraftTarget SA DFlash"),
}
KINDS = {
    "vllm": "method",
    "sglang": "--speculative-algorithm",
    "llamacpp": "--spec-type",
    "tensorrt_llm": "decoding_type",
}
ENGINES = tuple(DOCUMENTED)
DRAFT, HEAD = "DRAFT_MODEL", "HEAD"  # stand where no name is known


@dataclass(frozen=True)
class Setting:
    """A method, its knobs, and the model or head that drafts by the name that the server knows."""

    method: str
    knobs: Mapping[str, Any]
    model: str = ""
    sampled: bool = False  # at a temperature above 0
    levels: int = 0  # of the deepest draft that was recorded
    usual: int = 0  # draft tokens of a round, in the mean

    @property
    def gamma(self) -> int:
        """Draft tokens of a chain; where the runs left them to the device, as many as they had in the mean."""
        return fixed(self.knobs, "gamma") or (self.usual if self.knobs.get("gamma") == AUTO else 0)

    @property
    def left(self) -> str:
        """What is told where the runs left lengths to the device; else nothing."""
        return "The runs left lengths to the device; these are their means." if AUTO in self.knobs.values() else ""

    @property
    def depth(self) -> int:
        """Levels of a tree."""
        return self.gamma or self.levels or fixed(self.knobs, "depth") or 1

    @property
    def nodes(self) -> int:
        """Tokens of a tree that are verified, the root included; as for `gamma`."""
        return self.usual + 1 if self.knobs.get("total_token") == AUTO else fixed(self.knobs, "total_token") or 60

    @property
    def draft(self) -> str:
        """The draft model."""
        return self.model or DRAFT

    @property
    def head(self) -> str:
        """The head."""
        return self.model or HEAD


Fields = dict[str, Any]
Writer = Callable[[Setting], Fields]

VLLM: dict[str, Writer] = {
    "sd": lambda s: {
        "method": "draft_model",
        "model": s.draft,
        "num_speculative_tokens": s.gamma,
        **({"draft_sample_method": "probabilistic"} if s.sampled else {}),
    },
    "pld": lambda s: {
        "method": "ngram",
        "num_speculative_tokens": s.gamma,
        "prompt_lookup_max": int(s.knobs.get("max_ngram", 3)),
        "prompt_lookup_min": 1,
    },
    "suffix": lambda s: {
        "method": "suffix",
        "num_speculative_tokens": s.gamma,
        "suffix_decoding_max_tree_depth": int(s.knobs.get("match_depth", 24)),
        "suffix_decoding_max_spec_factor": float(s.knobs.get("spec_factor", 1.0)),
        "suffix_decoding_min_token_prob": float(s.knobs.get("min_share", 0.1)),
    },
    "eagle3": lambda s: {"method": "eagle3", "model": s.head, "num_speculative_tokens": s.depth},
    "eagle2": lambda s: {"method": "eagle", "model": s.head, "num_speculative_tokens": s.depth},
    "medusa": lambda s: {"method": "medusa", "model": s.head, "num_speculative_tokens": s.depth},
    "mtp": lambda s: {"method": "mtp", "num_speculative_tokens": s.gamma},
    "dflash": lambda s: {"method": "dflash", "model": s.head, "num_speculative_tokens": s.gamma},
}
SGLANG: dict[str, Writer] = {
    "sd": lambda s: {
        "--speculative-algorithm": "STANDALONE",
        "--speculative-draft-model-path": s.draft,
        "--speculative-num-steps": s.gamma,
        "--speculative-eagle-topk": 1,
        "--speculative-num-draft-tokens": s.gamma + 1,
    },
    "pld": lambda s: {"--speculative-algorithm": "NGRAM", "--speculative-num-draft-tokens": s.gamma},
    "eagle3": lambda s: _eagle(s, "EAGLE3"),
    "eagle2": lambda s: _eagle(s, "EAGLE"),
    "mtp": lambda s: {
        "--speculative-algorithm": "NEXTN",
        "--speculative-num-steps": s.gamma,
        "--speculative-eagle-topk": 1,
        "--speculative-num-draft-tokens": s.gamma + 1,
    },
    "dflash": lambda s: {
        "--speculative-algorithm": "DFLASH",
        "--speculative-draft-model-path": s.head,
        "--speculative-num-draft-tokens": s.gamma + 1,  # the block, its root included
    },
}
LLAMACPP: dict[str, Writer] = {
    "sd": lambda s: {
        "--spec-type": "draft-simple",
        "--spec-draft-model": s.draft,
        "--spec-draft-n-max": s.gamma,
        "--spec-draft-n-min": 0,
        "--spec-draft-p-min": 0,
        **({"--spec-draft-sampling": "probabilistic"} if s.sampled else {}),
    },
    "pld": lambda s: {
        "--spec-type": "ngram-simple",
        "--spec-ngram-simple-size-n": int(s.knobs.get("max_ngram", 3)),
        "--spec-ngram-simple-size-m": s.gamma,
    },
    "eagle3": lambda s: {
        "--spec-type": "draft-eagle3",
        "--spec-draft-model": s.head,
        "--spec-draft-n-max": s.depth,
    },
    "mtp": lambda s: {"--spec-type": "draft-mtp", "--spec-draft-n-max": s.gamma},
}
TENSORRT_LLM: dict[str, Writer] = {
    "sd": lambda s: {"decoding_type": "DraftTarget", "max_draft_len": s.gamma, "speculative_model": s.draft},
    "pld": lambda s: {
        "decoding_type": "NGram",
        "max_draft_len": s.gamma,
        "max_matching_ngram_size": int(s.knobs.get("max_ngram", 3)),
        "is_public_pool": False,
    },
    "sam": lambda s: {"decoding_type": "SA", "max_draft_len": s.gamma},
    "eagle3": lambda s: {
        "decoding_type": "Eagle3",
        "max_draft_len": s.depth,
        "speculative_model": s.head,
        "use_dynamic_tree": True,
        "dynamic_tree_max_topK": int(s.knobs.get("tree_top_k", 10)),
        "max_total_draft_tokens": s.nodes,
    },
    "mtp": lambda s: {"decoding_type": "MTP", "max_draft_len": s.gamma},
    "dflash": lambda s: {"decoding_type": "DFlash", "max_draft_len": s.gamma, "speculative_model": s.head},
}
TRANSFORMERS: dict[str, Writer] = {
    "sd": lambda s: {
        "assistant_model": s.draft,
        "num_assistant_tokens": s.gamma,
        "num_assistant_tokens_schedule": "constant",
        "assistant_confidence_threshold": 0.0,
    },
    "universal": lambda s: {
        "assistant_model": s.draft,
        "tokenizer": "TARGET_TOKENIZER",
        "assistant_tokenizer": "DRAFT_TOKENIZER",
        "num_assistant_tokens": s.gamma,
        "num_assistant_tokens_schedule": "constant",
        "assistant_confidence_threshold": 0.0,
    },
    "pld": lambda s: {
        "prompt_lookup_num_tokens": s.gamma,
        "max_matching_ngram_size": int(s.knobs.get("max_ngram", 3)),
    },
}
WRITERS = {
    "vllm": VLLM,
    "sglang": SGLANG,
    "llamacpp": LLAMACPP,
    "tensorrt_llm": TENSORRT_LLM,
    "transformers": TRANSFORMERS,
}
CANDIDATES = tuple(dict.fromkeys(name for writers in WRITERS.values() for name in writers))
NOTES = {  # where an engine's parts are not those that were measured
    ("vllm", "eagle3"): "vLLM drafts a chain of this length; the runs drafted a tree.",
    ("vllm", "eagle2"): "vLLM drafts a chain of this length; the runs drafted a tree.",
    ("vllm", "medusa"): "vLLM takes each head's first choice; the runs checked a tree.",
    ("sglang", "pld"): "SGLang's n-gram cache keeps all requests and drafts a tree; the runs searched their own text.",
    ("llamacpp", "eagle3"): "llama.cpp drafts a chain of this length; the runs drafted a tree.",
    ("tensorrt_llm", "sam"): "TensorRT-LLM's suffix automaton reads the request's own text.",
}


def _eagle(s: Setting, algorithm: str) -> Fields:
    return {
        "--speculative-algorithm": algorithm,
        "--speculative-draft-model-path": s.head,
        "--speculative-num-steps": s.depth,
        "--speculative-eagle-topk": int(s.knobs.get("tree_top_k", 10)),
        "--speculative-num-draft-tokens": s.nodes,
    }


def config(engine: str, setting: Setting, lengths: Sequence[tuple[int, int, int]] = ()) -> dict[str, Any]:
    """`fields` by the engine's names, `text` as one pastes it, `note`; no fields where the engine has no such method.

    `lengths` are draft lengths by ranges of batch sizes (first, last, length), which vLLM takes.

    Raises:
        ConfigError: a field that the engine does not document: a mistake here.
    """
    writer = WRITERS[engine].get(setting.method)
    if setting.method == "ar" or writer is None:
        why = "no speculation" if setting.method == "ar" else f"has no counterpart of {setting.method}"
        return {"engine": engine, "fields": None, "text": "", "note": why}
    fields = writer(setting)
    if lengths and engine == "vllm":
        fields["num_speculative_tokens_per_batch_size"] = [list(part) for part in lengths]
    check(engine, fields)
    return {
        "engine": engine,
        "fields": fields,
        "text": TEXTS[engine](fields),
        "note": " ".join(filter(None, [NOTES.get((engine, setting.method), ""), setting.left])),
    }


def configurations(
    advice: Mapping[str, Any], engines: Sequence[str], model: str, sampled: bool
) -> list[dict[str, Any]]:
    """The best option of a kind (`engine.analysis.advice.advise`) as each engine takes it; with draft lengths by batch
    size where their costs are known. `model` is the draft model or head as the server names it."""
    best = advice["best"]
    setting = Setting(best["method"], best["knobs"], model, sampled, best["levels"], best["usual"])
    if advice["pays"] is False:
        setting = Setting("ar", {})
    return [config(engine, setting, schedule(advice["batches"], best["method"])) for engine in engines]


def schedule(rows: Sequence[Mapping[str, Any]], method: str) -> list[tuple[int, int, int]]:
    """Draft lengths of one method by ranges of batch sizes, each measured size up to the next; empty without costs.

    Sizes at which plain decoding is faster have length 0.
    """
    mine = [(row["batch"], row["gamma"]) for row in rows if row["method"] in (method, "ar")]
    firsts = [1, *(size for size, _ in mine[1:])]
    lasts = [*(size - 1 for size, _ in mine[1:]), *(size for size, _ in mine[-1:])]
    return [(first, last, length) for first, last, (_, length) in zip(firsts, lasts, mine, strict=False)]


def check(engine: str, fields: Mapping[str, Any]) -> None:
    """See that an engine documents these names, and the method among them.

    Raises:
        ConfigError: it does not.
    """
    unknown = [name for name in fields if name not in DOCUMENTED[engine]]
    kind = KINDS.get(engine)
    if kind is not None and kind in fields and fields[kind] not in VALUES[engine]:
        unknown.append(f"{kind} = {fields[kind]}")
    if unknown:
        raise ConfigError(f"{engine} documents no {', '.join(unknown)}.")


def _flags(fields: Mapping[str, Any]) -> str:
    return " ".join(f"{name} {shlex.quote(str(value))}" for name, value in fields.items())


def _yaml(fields: Mapping[str, Any]) -> str:
    return "speculative_config:\n" + "\n".join(f"  {name}: {json.dumps(value)}" for name, value in fields.items())


def _call(fields: Mapping[str, Any]) -> str:
    """The call in Python: models and tokenizers are objects, which stand there by a name or are loaded by theirs."""
    names = ("assistant_model", "tokenizer", "assistant_tokenizer")

    def written(name: str, value: Any) -> str:
        if name not in names:
            return repr(value)
        return str(value) if str(value).isidentifier() else f"AutoModelForCausalLM.from_pretrained({str(value)!r})"

    return "model.generate(**inputs, " + ", ".join(f"{n}={written(n, v)}" for n, v in fields.items()) + ")"


TEXTS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "vllm": lambda fields: f"--speculative-config {shlex.quote(json.dumps(fields))}",
    "sglang": _flags,
    "llamacpp": _flags,
    "tensorrt_llm": _yaml,
    "transformers": _call,
}
