"""Reports in JSON: answers of vLLM, SGLang and llama.cpp, AIPerf's exports, results of `vllm bench serve`.

Field names and sources, read 2026-11-22: vLLM docs/features/speculative_decoding/per_request_metrics (PR 48915);
SGLang `meta_info` of /generate and `sglext.spec_tokens_details` (PR 33518; earlier names by PR 23530 and 24081);
llama.cpp tools/server `timings` (PR 12603); AIPerf docs/tutorials/spec-decode-metrics (PR 1167, 1191);
vllm/benchmarks/serve.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from engine.served.report import Report
from engine.served.values import Fields, counts, fields, number, passes, text, whole

SGLANG = {  # today's name -> those of earlier versions
    "spec_num_proposed_drafts": ("spec_proposed_drafts", "spec_draft_token_num"),
    "spec_num_correct_drafts": ("spec_accepted_drafts", "spec_accept_token_num"),
    "spec_correct_drafts_histogram": ("spec_accept_histogram",),
}
WRAPPED = ("data", "response", "body", "result")  # what records of requests keep the answer under


def reports(answer: Any, name: str, place: str = "") -> Iterator[Report]:
    """Those in one JSON object; none where it says nothing of speculation. `place` tells answers without an id apart.

    Raises:
        TraceError: a known field with a value that it cannot have.
    """
    if not isinstance(answer, Mapping):
        return
    called = _id(answer) or place
    found = list(_reports(answer, f"{name}, {called}" if called else name))
    yield from found
    for inner in () if found else WRAPPED:
        yield from reports(answer.get(inner), name, place)


def _reports(answer: Fields, name: str) -> Iterator[Report]:
    told = fields(answer, "metrics", "speculative_decoding")
    if told:
        yield _vllm(told, name, text(answer, "model"), whole(fields(answer, "usage"), "completion_tokens", name))
    choices = answer.get("choices")
    several = choices if isinstance(choices, list) else []
    for place, holder in enumerate((answer, *several)):
        called = f"{name}, choice {place}" if place and len(several) > 1 else name
        for told in (fields(holder, "meta_info"), fields(holder, "sglext", "spec_tokens_details")):
            if "spec_verify_ct" in told:
                yield _sglang(told, called, answer)
    if "draft_n" in fields(answer, "timings"):
        yield _llama_cpp(fields(answer, "timings"), name, text(answer, "model"))
    if fields(answer, "spec_decode_acceptance") and fields(answer, "metadata").get("benchmark_phase") != "warmup":
        yield _aiperf(answer, name)
    if "total_spec_decode_steps" in answer:
        yield _aiperf_total(answer, name)
    if "spec_decode_num_drafts" in answer:
        yield _vllm_bench(answer, name)


def _id(answer: Fields) -> str:
    found = (
        text(answer, "id"),
        text(fields(answer, "meta_info"), "id"),
        text(fields(answer, "metadata"), "x_request_id"),
    )
    return next(filter(None, found), "")


def _vllm(told: Fields, name: str, model: str, tokens: int | None, engine: str = "vllm") -> Report:
    return Report(
        engine=engine,
        scope="request",
        name=name,
        model=model,
        tokens=tokens,
        steps=whole(told, "num_spec_steps", name, needed=True),
        drafted=whole(told, "num_draft_tokens", name, needed=True),
        accepted=whole(told, "num_accepted_draft_tokens", name, needed=True),
        histogram=counts(told, "acceptance_histogram", name),
        each=passes(told, "per_step_accepted", "per_step_drafted", name),
        longest=whole(told, "num_spec_tokens", name),
        tau=number(told, "mean_acceptance_length", name),
        rate=number(told, "draft_acceptance_rate", name),
    ).whole()


def _sglang(given: Fields, name: str, answer: Fields) -> Report:
    told = dict(given)
    for now, before in SGLANG.items():
        told.setdefault(now, next((given[old] for old in before if old in given), None))
    tokens = whole(told, "completion_tokens", name)
    return Report(
        engine="sglang",
        scope="request",
        name=name,
        model=text(answer, "model"),
        tokens=whole(fields(answer, "usage"), "completion_tokens", name) if tokens is None else tokens,
        steps=whole(told, "spec_verify_ct", name, needed=True),
        drafted=whole(told, "spec_num_proposed_drafts", name),
        accepted=whole(told, "spec_num_correct_drafts", name),
        histogram=counts(told, "spec_correct_drafts_histogram", name),
        rate=number(told, "spec_accept_rate", name),
    ).whole()


def _llama_cpp(told: Fields, name: str, model: str) -> Report:
    decode = number(told, "predicted_ms", name)
    return Report(
        engine="llama_cpp",
        scope="request",
        name=name,
        model=model,
        tokens=whole(told, "predicted_n", name),
        drafted=whole(told, "draft_n", name, needed=True),
        accepted=whole(told, "draft_n_accepted", name, needed=True),
        decode_s=None if decode is None else decode / 1e3,
    ).whole()


def _aiperf(answer: Fields, name: str) -> Report:
    told = fields(answer, "spec_decode_acceptance")
    length = whole(fields(answer, "metrics", "output_sequence_length"), "value", name)
    tokens = whole(told, "completion_tokens", name)
    return _vllm(told, name, text(told, "engine"), length if tokens is None else tokens, "aiperf")


def _aiperf_total(answer: Fields, name: str) -> Report:
    def total(key: str) -> int | None:
        return whole(fields(answer, key), "avg", f"{name}, {key}")

    return Report(
        engine="aiperf",
        scope="requests",
        name=name,
        steps=total("total_spec_decode_steps"),
        drafted=total("total_draft_tokens"),
        accepted=total("total_accepted_draft_tokens"),
        histogram=counts(answer, "pooled_spec_decode_acceptance_histogram", name),
    ).whole()


def _vllm_bench(answer: Fields, name: str) -> Report:
    rates = answer.get("spec_decode_per_position_acceptance_rates")
    each = rates if isinstance(rates, list) else []
    return Report(
        engine="vllm",
        scope="requests",
        name=name,
        model=text(answer, "model_id"),
        tokens=whole(answer, "total_output_tokens", name),
        steps=whole(answer, "spec_decode_num_drafts", name, needed=True),
        drafted=whole(answer, "spec_decode_draft_tokens", name),
        accepted=whole(answer, "spec_decode_accepted_tokens", name),
        tau=number(answer, "spec_decode_acceptance_length", name),
        marginal=tuple(number({"rate": one}, "rate", f"{name}, position {i}") or 0.0 for i, one in enumerate(each)),
    ).whole()
