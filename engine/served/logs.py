"""Reports in text: counters for Prometheus, and the lines that engines log.

Sources, read 2026-11-22: vLLM vllm/v1/spec_decode/metrics.py (counters and the line "SpecDecoding metrics"); llama.cpp
tools/server (counters named as vLLM's; lines "draft acceptance" of PR 24536 and before); SGLang's "Decode batch" lines
and its gauges; TensorRT-LLM's counters.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

from engine.errors import TraceError
from engine.served.report import Report, trimmed

GAUGES = ("spec_accept_length", "spec_accept_rate", "spec_decode_acceptance_length")  # of one process each
PREFIXES = {"vllm:": "vllm", "llamacpp:": "llama_cpp", "sglang:": "sglang", "trtllm_": "tensorrt_llm"}
SAMPLE = re.compile(
    r"^([a-z]+[:_])(spec_\w+|generation_tokens_total|tokens_predicted_total)(\{.*\})?\s+(\S+)(?:\s+\d+)?\s*$", re.M
)
LABEL = re.compile(r'(?<!\w)(\w++)="((?:[^"\\]|\\.)*)"')
NUMBER = r"\s*+([\d.]++)"


def _until(begin: str, end: str) -> str:
    """What leads to `end` at its first place, in the same line and before another `begin`: so that a file which
    begins a report again and again is read once, not once for each."""
    return rf"(?>(?:(?!{begin}).)*?{end})"


VLLM = re.compile(
    rf"SpecDecoding metrics: Mean acceptance length:{NUMBER}{_until('SpecDecoding metrics:', 'Accepted:')}{NUMBER} "
    rf"tokens, Drafted:{NUMBER} tokens, Per-position acceptance rate:([\d., ]+), "
)
SGLANG = re.compile(rf"Decode batch{_until('Decode batch', 'accept len:')}{NUMBER}(?:, accept rate:{NUMBER})?")
LLAMA = re.compile(
    rf"draft acceptance(?: rate)? ={NUMBER} \({NUMBER} accepted /{NUMBER} generated\)"
    rf"(?:, mean (?:acceptance length|len) ={NUMBER})?(?:, acceptance rate per position = \(([\d., ]*)\))?"
)
LLAMA_TOTAL = re.compile(
    rf"statistics\s+([\w-]+):{_until('statistics', '#gen drafts =')}{NUMBER}{_until('statistics', '#gen tokens =')}"
    rf"{NUMBER}, #acc tokens ={NUMBER}(?:, #mean acc len = [\d.]+)?(?:, #acc rate/pos = \(([\d., ]*)\))?"
)


def reports(said: str, name: str) -> Iterator[Report]:
    """Those in the text of a file; none where it says nothing of speculation.

    Raises:
        TraceError: counters that contradict each other.
    """
    if samples := SAMPLE.findall(said):
        yield from _counters(samples, name)
        return
    for place, found in _placed(VLLM, said, name):
        tau, accepted, drafted, rates = found.groups()
        yield Report(
            engine="vllm",
            scope="interval",
            name=place,
            accepted=_count(accepted, place),
            drafted=_count(drafted, place),
            tau=_float(tau, place),
            marginal=_floats(rates, place),
        ).whole()
    for place, found in _placed(SGLANG, said, name):
        tau, rate = (None if one is None else _float(one, place) for one in found.groups())
        yield Report(engine="sglang", scope="interval", name=place, tau=tau, rate=rate)
    yield from _llama(said, name)


def _llama(said: str, name: str) -> Iterator[Report]:
    """Of each request; of all together only where the requests' own lines are not there."""
    place = ""
    for place, found in _placed(LLAMA, said, name):
        rate, accepted, drafted, tau, rates = found.groups()
        yield Report(
            engine="llama_cpp",
            scope="request",
            name=place,
            accepted=_count(accepted, place),
            drafted=_count(drafted, place),
            rate=_float(rate, place),
            tau=None if tau is None else _float(tau, place),
            marginal=_floats(rates or "", place),
        ).whole()
    last = {} if place else {found.group(1): (at, found) for at, found in _placed(LLAMA_TOTAL, said, name)}
    for kind, (at, found) in last.items():
        _, steps, drafted, accepted, rates = found.groups()
        yield Report(
            engine="llama_cpp",
            scope="server",
            name=f"{name}, {kind}",
            steps=_count(steps, at),
            drafted=_count(drafted, at),
            accepted=_count(accepted, at),
            marginal=_floats(rates or "", at),
        ).whole()


def _placed(pattern: re.Pattern[str], said: str, name: str) -> Iterator[tuple[str, re.Match[str]]]:
    """What a pattern finds in a file, each with its place there."""
    line, read = 1, 0
    for found in pattern.finditer(said):
        line, read = line + said.count("\n", read, found.start()), found.start()
        yield f"{name}, line {line}", found


Sample = tuple[str, str, str, str]


def _counters(samples: list[Sample], name: str) -> Iterator[Report]:
    """One report a model: what the engine's processes count is added up, of their means and rates the mean is taken."""
    found: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for prefix, metric, labels, value in samples:
        told = dict(LABEL.findall(labels))
        key = metric.removesuffix("_total")
        if (
            prefix not in PREFIXES or key.endswith("_created") or value.lower() == "nan"
        ):  # which says that none is known
            continue
        if "position" in told:
            key += f" {_position(told['position'], f'{name}, {metric}')}"
        found[PREFIXES[prefix], told.get("model_name", "")][key].append(_float(value, f"{name}, {metric}"))
    several = len({model for _, model in found}) > 1
    for (engine, model), values in found.items():
        if any(key.startswith("spec_") for key in values):
            called = f"{name}, {model[:120]}" if several and model else name
            told_once = {key: sum(own) / (len(own) if key in GAUGES else 1) for key, own in values.items()}
            yield _server(engine, model, told_once, called)


def _position(text: str, where: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 6:
        raise TraceError(f"{where}: position {text[:40]!r} must be a whole number.")
    return int(text)


def _server(engine: str, model: str, values: Mapping[str, float], name: str) -> Report:
    def count(key: str) -> int | None:
        return None if key not in values else _count(f"{values[key]:.0f}", f"{name}, {key}")

    places = sorted(int(key.split()[1]) for key in values if key.startswith("spec_decode_num_accepted_tokens_per_pos "))
    by_depth = [count(f"spec_decode_num_accepted_tokens_per_pos {place}") or 0 for place in places]
    steps = count("spec_decode_num_drafts")
    found = Report(
        engine=engine,
        scope="server",
        name=name,
        model=model[:120],
        tokens=count("generation_tokens" if "generation_tokens" in values else "tokens_predicted"),
        steps=steps,
        drafted=count("spec_decode_num_draft_tokens"),
        accepted=count("spec_decode_num_accepted_tokens"),
        tau=values.get("spec_accept_length", values.get("spec_decode_acceptance_length")),
        rate=values.get("spec_accept_rate"),
    )
    if steps is not None and by_depth:
        reached = [steps, *by_depth, 0]
        fell = tuple(a - b for a, b in pairwise(reached))
        if places != list(range(len(places))) or min(fell) < 0:
            raise TraceError(
                f"{name}: the counts by position, {by_depth} of {steps} passes, do not fall from position 0 on."
            )
        found = replace(found, histogram=trimmed(fell))
    return found.whole()


def _float(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e15:
        raise TraceError(f"{where}: {text[:40]!r} must be a number >= 0.")
    return value


def _count(text: str, where: str) -> int:
    return round(_float(text, where))


def _floats(text: str, where: str) -> tuple[float, ...]:
    return tuple(_float(part.strip(), where) for part in text.split(",") if part.strip())
