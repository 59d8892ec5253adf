"""Contenders: methods of the lab, and the same ideas as transformers ships them, with the same pair and dtype."""

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from engine.bench.contest import Contender, Lap
from engine.config import Card
from engine.lab import Lab
from engine.model.devices import DTYPES
from engine.model.generation import silence
from engine.runs.asking import DECODING
from engine.runs.running import prepare
from engine.trace.outcome import calls
from engine.trace.store import Trace, sound

LARGE = 2048  # megabytes


def ours(lab: Lab, method: str | Card, new_tokens: int, record: Any = "light", **knobs: Any) -> Contender:
    """A method of the lab, under knobs and options of `Lab.run`; the clock covers the whole call, prefill and building
    of the parts included."""

    def run(prompt: Sequence[int]) -> Lap:
        began = perf_counter()
        trace = lab.run(method, prompt, max_new_tokens=new_tokens, record=record, **knobs)
        return _lap(trace, method, perf_counter() - began)

    return run


def kept(lab: Lab, method: str | Card, first: Sequence[int], new_tokens: int, **knobs: Any) -> Contender:
    """A method whose tables go on from prompt to prompt (knob scope=global); the prompt `first` starts it afresh."""
    own = {name: value for name, value in knobs.items() if name not in DECODING}
    living = prepare(lab, method, **own)

    def run(prompt: Sequence[int]) -> Lap:
        nonlocal living
        began = perf_counter()
        if list(prompt) == list(first):
            living = prepare(lab, method, **own)
        trace = Trace(lab.stream(method, prompt, max_new_tokens=new_tokens, record="light", reuse=living, **knobs))
        return _lap(trace, method, perf_counter() - began)

    return run


def _lap(trace: Trace, method: str | Card, seconds: float) -> Lap:
    ids = tuple(sound(trace, method if isinstance(method, str) else method.name).token_ids)
    return Lap(len(ids), seconds, calls(trace.rounds), sum(r.fed for r in trace.rounds), (ids,))


def theirs(lab: Lab, model: Any, new_tokens: int, assistant: Any = None, **options: Any) -> Contender:
    """`generate` of transformers' own `model` (see `loaded`), cache on: greedy, or at a `temperature` among its
    `options`; with `assistant`, assisted generation."""
    if assistant is not None:
        helper = options["assistant_model"] = assistant
        helper.generation_config.num_assistant_tokens = options.pop("num_assistant_tokens", 5)
        helper.generation_config.num_assistant_tokens_schedule = "constant"
        helper.generation_config.assistant_confidence_threshold = 0.0
    stop, sampled = sorted(lab.target.tokenizer.stop_ids), "temperature" in options

    def run(prompt: Sequence[int]) -> Lap:
        ids = torch.tensor([list(prompt)], device=lab.target.device)
        if sampled:
            torch.manual_seed(0)  # every repetition writes the same
        began = perf_counter()
        out = model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            do_sample=sampled,
            num_beams=1,
            max_new_tokens=new_tokens,
            eos_token_id=stop,
            pad_token_id=stop[0] if stop else None,
            use_cache=True,
            **options,
        )
        seconds = perf_counter() - began
        written = tuple(out[0, ids.shape[1] :].tolist())
        return Lap(len(written), seconds, outputs=(written,))

    return run


def loaded(lab: Lab, folder: str) -> Any:
    """A model as transformers loads it, with the lab's dtype and device, and without its checkpoint's settings of
    generation that the lab does not apply."""
    where = {"device_map": {"": lab.target.device}, "dtype": DTYPES[lab.target.dtype]}
    return silence(AutoModelForCausalLM.from_pretrained(folder, use_safetensors=True, **where).eval())


def bandwidth(device: torch.device, megabytes: int = 256, repetitions: int = 7) -> float:
    """Bytes per second that a plain read of memory reaches here: the best of a few sums over a large tensor, on other
    devices than the CPU over so large a one that caches and launches hardly count."""
    size = (megabytes if device.type == "cpu" else LARGE) * (1 << 20)
    x = torch.ones(size // 4, dtype=torch.float32, device=device)
    best = 0.0
    for _ in range(repetitions):
        began = perf_counter()
        float(x.sum())
        best = max(best, x.nbytes / (perf_counter() - began))
    return best
