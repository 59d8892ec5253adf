"""The lab's runs as an engine would report them: its own field names in its own places, so that its tools read them."""

from collections.abc import Callable
from typing import Any

from engine.analysis.names import public
from engine.trace import outcome
from engine.trace.store import Trace
from engine.trace.sums import Sums


def _vllm(trace: Trace) -> dict[str, Any]:
    found = public(Sums.of_run(trace), "vllm")
    tokens = found.pop("completion_tokens")
    found.pop("spec_decode_num_accepted_tokens_per_pos")  # a counter of the server
    steps = [event for event in trace.rounds if outcome.drafts(event)]
    found |= {
        "num_spec_tokens": max((event.levels for event in steps), default=0),
        "per_step_accepted": [event.accepted for event in steps],
        "per_step_drafted": [event.drafted for event in steps],
    }
    return {
        "id": trace.head.id,
        "model": _target(trace),
        "usage": {"prompt_tokens": len(trace.head.prompt_ids), "completion_tokens": tokens},
        "metrics": {"speculative_decoding": found},
    }


def _sglang(trace: Trace) -> dict[str, Any]:
    found = public(Sums.of_run(trace), "sglang")
    return {"model": _target(trace), "meta_info": {"id": trace.head.id, **found}}


def _llama_cpp(trace: Trace) -> dict[str, Any]:
    found = public(Sums.of_run(trace), "llama_cpp")
    return {"id": trace.head.id, "model": _target(trace), "timings": found}


def _target(trace: Trace) -> str:
    return str(trace.head.models.get("target", {}).get("id", ""))


WRITERS: dict[str, Callable[[Trace], dict[str, Any]]] = {  # by the names of the command line
    "vllm": _vllm,
    "sglang": _sglang,
    "llamacpp": _llama_cpp,
}
