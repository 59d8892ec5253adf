"""One report of an engine in the lab's terms: of a request, of a server since its start, of an interval of a log."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from engine.errors import TraceError

Counts = tuple[int, ...]
Scope = Literal["request", "requests", "server", "interval"]
TITLES = {
    "draftscope": "Draftscope",
    "vllm": "vLLM",
    "sglang": "SGLang",
    "llama_cpp": "llama.cpp",
    "tensorrt_llm": "TensorRT-LLM",
    "aiperf": "AIPerf",
}
SLACK = 0.005  # of a mean or a share that was rounded when it was told


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Counts of verify passes that had a draft, and of draft tokens; None or empty where the engine does not tell."""

    engine: str  # of TITLES
    scope: Scope
    name: str  # the file, and the request where it has an id
    model: str = ""
    tokens: int | None = None  # of the responses
    steps: int | None = None  # verify passes
    drafted: int | None = None
    accepted: int | None = None
    histogram: Counts = ()  # verify passes by the number of accepted draft tokens
    each: tuple[tuple[int, int], ...] = ()  # of every pass in order: accepted, drafted
    longest: int | None = None  # draft tokens a pass at most, where set
    tau: float | None = None  # tokens a pass, as told
    rate: float | None = None  # accepted / drafted, as told
    marginal: tuple[float, ...] = ()  # accepted to depth d / passes, where only that is told
    decode_s: float | None = None

    def whole(self) -> "Report":
        """The same with what follows from its counts.

        Raises:
            TraceError: they contradict each other.
        """
        found = self
        if self.each:
            if any(accepted > drafted for accepted, drafted in self.each):
                raise TraceError(f"{self.name}: a verify pass accepts more draft tokens than it had.")
            counts = counted(accepted for accepted, _ in self.each)
            found = found._with("passes in order add", counts, drafted=sum(drafted for _, drafted in self.each))
        if self.histogram:
            found = found._with("histogram adds", self.histogram)
        if found.accepted is not None and found.drafted is not None:
            if found.accepted > found.drafted:
                raise TraceError(f"{self.name}: {found.accepted} draft tokens accepted of {found.drafted} drafted.")
            found._told("accepted / drafted", found.rate, found.accepted, found.drafted)
        if found.accepted is not None and found.steps is not None:
            found._told("tokens a pass", found.tau, found.accepted + found.steps, found.steps)
        return found

    def _with(self, what: str, histogram: Counts, **more: int) -> "Report":
        histogram = trimmed(histogram)
        if self.longest is not None and len(histogram) > self.longest + 1:
            most = f"{self.longest} were set at most"
            raise TraceError(f"{self.name}: a verify pass accepts {len(histogram) - 1} draft tokens; {most}.")
        accepted = sum(number * count for number, count in enumerate(histogram))
        found: dict[str, Any] = {"steps": sum(histogram), "accepted": accepted, **more}
        for name, count in found.items():
            told = getattr(self, name)
            if told not in (None, count):
                raise TraceError(f"{self.name} contradicts itself: {name} is {told}, its {what} up to {count}.")
        return replace(self, histogram=histogram, **found)

    def _told(self, what: str, told: float | None, part: int, whole: int) -> None:
        if told is not None and whole and abs(told - part / whole) > SLACK:
            raise TraceError(f"{self.name} contradicts itself: {what} is {told:g}, its counts give {part / whole:g}.")


def counted(values: Iterable[int]) -> Counts:
    """How often each number from 0 on comes."""
    kept = Counter(values)
    return tuple(kept[number] for number in range(max(kept, default=-1) + 1))


def trimmed(counts: Counts) -> Counts:
    """Without zeros at the end."""
    most = max((number for number, count in enumerate(counts) if count), default=-1)
    return counts[: most + 1]
