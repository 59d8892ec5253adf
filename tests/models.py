"""python -m tests.models write: docs/models.md, from a tiny random checkpoint of every type of transformers that writes
a text: causal ones, multimodal ones, and those that read a text first.

Each is loaded, drafted for by a noised copy of itself and held against transformers (tests/engine/model/families.py).
It takes about ten minutes on one core.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import torch
import transformers
from transformers import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
    MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES,
    MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
)

from engine.files.places import ROOT
from engine.model.network import ASSISTANTS, text_config
from tests.engine.crossed import SOURCE
from tests.engine.model import families, readers, tiny

FILE = ROOT / "docs/models.md"
SOURCED = "is_encoder_decoder"
MOST = 20_000_000  # parameters of what still counts as tiny
COMMON = (
    "llama",
    "mistral",
    "mixtral",
    "ministral3",
    "mistral3",
    "qwen2",
    "qwen2_moe",
    "qwen2_5_vl",
    "qwen3",
    "qwen3_moe",
    "qwen3_next",
    "qwen3_5",
    "qwen3_5_moe",
    "qwen3_vl",
    "gemma",
    "gemma2",
    "gemma3_text",
    "gemma3",
    "gemma3n_text",
    "gemma4",
    "phi",
    "phi3",
    "phimoe",
    "gpt_oss",
    "deepseek_v2",
    "deepseek_v3",
    "glm4",
    "glm4_moe",
    "olmo2",
    "olmo3",
    "olmoe",
    "smollm3",
    "granite",
    "granitemoehybrid",
    "cohere",
    "cohere2",
    "exaone4",
    "falcon",
    "falcon_h1",
    "lfm2",
    "bamba",
    "nemotron_h",
    "llama4",
    "llava",
    "starcoder2",
    "stablelm",
    "gpt2",
    "gpt_neox",
    "minimax_m2",
    "seed_oss",
)
WRITERS = (  # what transformers calls a model that writes a text, of whatever
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
    MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES,
    MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
)
HEAD = """# Models

Written by `python -m tests.models write`.

What each type of model that transformers {version} knows does here. Every line is a run: a tiny random checkpoint of
that type is saved, loaded as a target with a noised copy of itself as the draft, and held against transformers in fp32
on a CPU. Windows and chunks are {window} positions there and the text has {length}, so that each of them counts.

- **exact**: `{methods}` write at temperature 0 the {tokens} tokens that `generate` writes, and logits of a draft tree (of
  a chain where only chains can be checked), and of what follows after a part of it was accepted, are within {close:g} of
  plain forwards, relative to the largest logit. The number is the largest difference seen. Where it is larger, the same
  is run with every number in float64, transformers' own states too, and has to be within {fine:g} there: what differed
  was then the rounding of a plain forward, which sums a text in another order than its pieces.
- **refused**: loading ends with the sentence given. Whatever passes the other checks stands a trial at load: run in
  pieces it must give what it gives at once.
- **not tried**: no tiny checkpoint could be made, with the reason.

Encoder-decoder models read a source first ([0018](design/0018-encoder-decoder.md)); theirs has {source} tokens, and they
write {short}. Types that read nothing but sounds or pictures are not tried.

Packed weights: GPTQ (2, 3, 4, 8 bits in both versions, 2 to 8 in planes, with `desc_act` and `dynamic`), AWQ (4 bits,
"gemm"), AutoRound (in the layouts of these two, with `extra_config`) and compressed-tensors (`pack-quantized` of 2 to 8 bits,
weights alone) are unpacked at load without any further package, MXFP4, and FP8 where no device computes in it or the package
`kernels` is missing: what runs are the plain matrices, on the same path as the type's plain checkpoints, with their memory
(`tests/engine/model/test_unpacking.py`). BitNet's run packed, torchao's and bitsandbytes' (4 bits) where their package is
there; all other ways, and other varieties of these, are refused with the reason. `python -m engine unpack` writes a GGUF
file, of the architectures that transformers reads, or pickled weights as a plain folder
(`tests/engine/model/test_rewritten.py`).

The assistants of Gemma 4 write nothing alone: they draft for it (docs/methods/mtp.md).

*lean* is the engine's own forward (`engine/model/lean.py`), *generic* goes through transformers itself. Where a model
goes on with one text alone (running states, no positions from outside), methods that draft trees draft chains, and beam
search is refused. What can only be read on token by token, or keeps nothing that could be cut back to the accepted
tokens, runs all the same and gains no time: the signals are right, the speed is what it is (`engine/model/ways.py`).

{count}

"""


def tried(kind: str, folder: Path) -> families.Outcome:
    """What becomes of a tiny checkpoint of a type; `untried` holds the reason where none can be made."""
    try:
        if kind in readers.KINDS:
            return readers.check(kind, readers.make(kind, folder))
        config = tiny.config_of(tiny.SPEAKS.get(kind, kind))
        with torch.device("meta"):
            whole = text_config(config) if kind in tiny.WRAPPED else config
            size = sum(p.numel() for p in tiny.whole_class(whole).from_config(whole).parameters())
        if size > MOST:
            return families.Outcome(
                kind, untried=f"its smallest configuration here has {size // 10**6} million parameters"
            )
        tiny.make(kind, folder)
        return families.check(kind, folder)
    except Exception as error:  # configurations and models of 200 types raise whatever they like
        return families.Outcome(kind, untried=(str(error).strip().splitlines() or [type(error).__name__])[0][:160])


def run(kinds: Iterable[str]) -> list[families.Outcome]:
    """Every type in turn, told as it goes."""
    found = []
    for kind in kinds:
        with tempfile.TemporaryDirectory() as folder:
            found.append(tried(kind, Path(folder) / kind))
        print(_line(found[-1]), file=sys.stderr, flush=True)
    return found


def page(found: Iterable[families.Outcome], kept: Mapping[str, str]) -> str:
    """docs/models.md, with the lines of an earlier run where a type was not tried in this one."""
    lines = {**kept, **{o.kind: _line(o) for o in found}}
    common = [lines[kind] for kind in COMMON if kind in lines]
    order = ("exact", "refused", "not tried")

    def ordered(kinds: Iterable[str]) -> list[str]:
        return [lines[kind] for kind in sorted(kinds, key=lambda kind: (order.index(_state(lines[kind])), kind))]

    sourced = set(lines) & set(readers.KINDS)
    others = set(lines) - set(COMMON) - sourced
    states = [_state(line) for line in lines.values()]
    count = (
        f"Of {len(common)} types in common use {sum(_state(line) == 'exact' for line in common)} are exact; of all "
        f"{len(lines)} tried here {states.count('exact')} are exact, {states.count('refused')} refused and "
        f"{states.count('not tried')} not tried."
    )
    head = HEAD.format(
        version=transformers.__version__,
        window=tiny.WINDOW,
        length=len(families.PROMPT),
        methods="`, `".join(families.METHODS),
        tokens=families.TOKENS,
        source=len(SOURCE),
        short=readers.TOKENS,
        close=families.CLOSE,
        fine=families.FINE,
        count=count,
    )
    table = "| type | | path | difference | limits |\n|---|---|---|---|---|\n"
    parts = (
        (f"## Types in common use\n\n{table}", common),
        (f"\n## Encoder-decoders\n\n{table}", ordered(sourced)),
        (f"\n## Others\n\n{table}", ordered(others)),
    )
    return head + "".join(words + "".join(f"{line}\n" for line in rows) for words, rows in parts)


def written() -> dict[str, str]:
    """The lines that the file has, by type."""
    rows = [line for line in FILE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    return {line.split("|")[1].strip(): line for line in rows if line.split("|")[1].strip() != "type"}


def _state(line: str) -> str:
    """exact | refused | not tried; what is not exact counts as refused, and a test forbids it."""
    state = line.split("|")[2].strip()
    return state if state in ("exact", "not tried") else "refused"


def every() -> list[str]:
    """All types that write text: decoder-only ones, then encoder-decoders."""
    kinds = dict.fromkeys((*COMMON, *sorted({kind for writers in WRITERS for kind in writers})))
    plain = [kind for kind in kinds if kind in CONFIG_MAPPING and not getattr(CONFIG_MAPPING[kind], SOURCED, False)]
    plain = [kind for kind in plain if kind not in ASSISTANTS]
    return [*plain, *readers.KINDS]


def _line(o: families.Outcome) -> str:
    if o.untried:
        return f"| {o.kind} | not tried | | | {_cell(o.untried)} |"
    if o.refused:
        return f"| {o.kind} | refused | | | {_cell(o.refused)} |"
    words = "exact" if o.exact else f"not exact ({', '.join(o.equal) or 'no method'} equal)"
    notes = [*o.notes, *([] if o.doubled is None else [f"The difference is {o.doubled:.1e} in float64."])]
    return f"| {o.kind} | {words} | {'lean' if o.lean else 'generic'} | {o.off:.1e} | {_cell(' '.join(notes))} |"


def _cell(words: str) -> str:
    return words.replace("|", "/").replace("\n", " ").replace("<", "&lt;")


def main(argv: Sequence[str] | None = None) -> int:
    """Write the file, or only tell of some types."""
    flags = argparse.ArgumentParser(prog="python -m tests.models", description=__doc__)
    flags.add_argument("action", choices=("write", "try"))
    flags.add_argument("kinds", nargs="*", help="types to try, all of them if none is named; the lines of others stay")
    args = flags.parse_args(argv)
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    kinds = every()
    found = run(args.kinds or kinds)
    if args.action == "write":
        kept = {kind: line for kind, line in written().items() if kind in kinds} if args.kinds else {}
        FILE.write_text(page(found, kept), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
