"""What runs that are shown together are called: their titles and, where these are equal, what tells them apart.

The page names its lanes the same way (`nameOf` in app/static/columns.js, `whose` in app/static/run/whose.js).
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from engine.analysis.decisions import greedy
from engine.analysis.words import minus
from engine.trace.events import RunStarted
from engine.trace.store import Trace

FEW = 2  # settings in a name where more would tell no more
WORDS = 30  # letters of a prompt


def labels(traces: Sequence[Trace], files: Sequence[str] = ()) -> list[str]:
    """One name a run, all different: the title; of several with one title also the settings in which these differ; and
    prompt, target, sampling and seed where any two runs differ in them, else the file of those from several `files`."""
    heads = [trace.head for trace in traces]
    others = _whose(heads)
    if not any(others) and len(set(files)) > 1:
        others = [[name] for name in files]
    same = dict[str, list[int]]()
    for at, head in enumerate(heads):
        same.setdefault(head.title, []).append(at)
    names = [""] * len(heads)
    for title, places in same.items():
        told = _told([_settings(heads[at]) for at in places], [others[at] for at in places])
        for at, words in zip(places, told, strict=True):
            names[at] = f"{title} ({', '.join(words)})" if words else title
    return names


def word(value: Any) -> str:
    """A knob's value as it is written: on or off, numbers with six digits and no exponent, else the text."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int | float):
        return minus(f"{Decimal(f'{value:g}'):f}" if isinstance(value, float) else str(value))
    return str(value)


def _told(settings: Sequence[Mapping[str, str]], others: Sequence[list[str]]) -> list[list[str]]:
    """What tells runs of one title apart: few settings, more where that tells more of them, and a number for twins."""
    if len(settings) < 2:
        return list(others)
    names = dict.fromkeys(name for one in settings for name in one)
    telling = [name for name in names if len({one.get(name) for one in settings}) > 1]

    def words(few: int) -> list[tuple[str, ...]]:
        return [
            (*(one[name] for name in telling[:few] if name in one), *other)
            for one, other in zip(settings, others, strict=True)
        ]

    few, most = FEW, len(set(words(len(telling))))
    while few < len(telling) and len(set(words(few))) < most:
        few += 1
    found, told, seen = words(few), list[list[str]](), Counter[tuple[str, ...]]()
    twins = Counter(found)
    for one in found:
        seen[one] += 1
        told.append([*one, str(seen[one])] if twins[one] > 1 else list(one))
    return told


def _settings(head: RunStarted) -> dict[str, str]:
    """What a run was asked for, by name and in words; what `_whose` tells aside."""
    told = dict[str, str]()
    if isinstance(trajectory := head.extras.get("trajectory"), int):
        told["trajectory"] = f"trajectory {trajectory + 1}"
    forced = head.extras.get("forced")
    if isinstance(forced, int):
        last = head.prompt_pieces[-1] if head.prompt_pieces else ""
        told["forced"] = f"given {f'{forced} tokens to ' if forced > 1 else ''}“{last.strip()}”"
    told |= {name: f"{name} {word(value)}" for name, value in head.knobs.items()}
    length = head.max_new_tokens + (forced if isinstance(forced, int) else 0)  # with the forced ones
    return told | {"limit": f"at most {length} tokens"}


def _whose(heads: Sequence[RunStarted]) -> list[list[str]]:
    """What tells runs apart besides their methods and knobs, each where any two differ in it; a seed where something is
    drawn with it."""
    kinds: list[Callable[[RunStarted], str]] = [_target, _sampling]
    if not all(greedy(head) for head in heads) and not any("trajectory" in head.extras for head in heads):
        kinds.append(lambda head: f"seed {head.seed}")  # those of a series follow from its place
    asked = [_asked(head, heads) for head in heads]
    differing = [of for of in kinds if len({of(head) for head in heads}) > 1]
    start = _parting(asked)
    return [
        [*([_quoted(prompt, start)] if len(set(asked)) > 1 else []), *(of(head) for of in differing)]
        for head, prompt in zip(heads, asked, strict=True)
    ]


def _target(head: RunStarted) -> str:
    parts = [part for part in str(head.models.get("target", {}).get("id", "")).split("/") if part]
    return f"target {parts[-1] if parts else ''}"


def _sampling(head: RunStarted) -> str:
    temperature, top_p, top_k = (head.sampling.get(name) for name in ("temperature", "top_p", "top_k"))
    words = ["greedy" if greedy(head) else f"temperature {word(temperature)}"]
    if top_p is not None and top_p < 1:
        words.append(f"top-p {word(top_p)}")
    return ", ".join([*words, *([f"top-k {top_k}"] if top_k else [])])


def _asked(head: RunStarted, heads: Sequence[RunStarted]) -> str:
    """What a run was asked: of one with a forced beginning the prompt that stood before it, as another run has it."""
    if not _forced(head):
        return head.prompt
    whole = [one.prompt for one in heads if not _forced(one) and head.prompt.startswith(one.prompt)]
    return max(whole, key=len, default=head.prompt)


def _forced(head: RunStarted) -> bool:
    forced = head.extras.get("forced")
    return isinstance(forced, int) and 0 < forced <= len(head.prompt_ids)


def _parting(prompts: Sequence[str]) -> int:
    """Where prompts part, at the start of a word: those that come first and last by their letters part the soonest."""
    first, last = min(prompts, default=""), max(prompts, default="")
    shared = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return first.rfind(" ", 0, max(1, shared)) + 1


def _quoted(prompt: str, start: int) -> str:
    """A prompt by its first words from there on."""
    return f"“{'… ' if start else ''}{_first_words(prompt[start:])}”"


def _first_words(text: str) -> str:
    line = " ".join(text.split())
    if len(line) <= WORDS:
        return line
    cut = line[:WORDS]
    return f"{cut[: cut.rfind(' ')] if ' ' in cut else cut} …"
