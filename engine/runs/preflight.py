"""What would become of a pair of models, told before any weights are fetched or read: what fits, and why not."""

from collections.abc import Iterator
from pathlib import Path

import psutil
import torch

from engine.errors import LabError
from engine.files.places import locate
from engine.heads.mtp_load import brings
from engine.methods import CARDS
from engine.model import bridge
from engine.model.devices import pick_device
from engine.model.network import packing_said
from engine.model.outline import POSITIONS, Outline, outline, spoken
from engine.runs.findings import Finding, Offered, Preflight, Side
from engine.runs.pair import Pair

TIGHT = 0.8  # share of the memory that is available, from which on it is said to be tight
CGROUP = Path("/sys/fs/cgroup")  # bounds of a container


def preflight(
    target: str, draft: str = "", device: str = "auto", dtype: str = "auto", languages: str = ""
) -> Preflight:
    """What would become of a target, and perhaps a draft, each a folder or hub id; `languages` as `Lab.load` takes
    them. Of the hub only configuration and tokenizer are fetched.

    Raises:
        ConfigError: unknown device or dtype.
    """
    where = pick_device(device)
    found, findings = dict[str, Outline](), list[Finding]()
    for role, ref in (("target", target), ("draft", draft)):
        if not ref:
            continue
        try:
            name = Path(ref).name if Path(ref).is_absolute() else ref
            found[role] = outline(locate(ref), device, dtype, name=name, languages=languages)
            findings += _of(role, found[role])
        except LabError as error:
            findings.append(Finding(role, "against", str(error)))
    whole = len(found) == 1 + bool(draft)
    free = available(where)
    pair = _pair(found) if whole else None
    if pair:
        findings += [*_tokenizers(pair), _memory(found, free, where)]
    fits = not any(finding.verdict == "against" for finding in findings)
    return Preflight(
        fits=fits,
        models=tuple(_side(role, one) for role, one in found.items()),
        findings=tuple(findings),
        needed=sum(one.memory for one in found.values()),
        available=free,
        download=sum(one.files.missing for one in found.values()),
        methods=tuple(_methods(pair)) if pair and fits else (),
        languages=languages_of(target),
    )


def languages_of(target: str) -> tuple[str, ...]:
    """Codes of the languages that a model reads and writes; none of any other model, or where it cannot be looked
    at."""
    try:
        return spoken(locate(target))
    except LabError:
        return ()


def available(device: torch.device) -> int:
    """Bytes of memory that are free on a device; on a CPU within what a container may use."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    free = int(psutil.virtual_memory().available)
    try:
        most, used = ((CGROUP / name).read_text("ascii").strip() for name in ("memory.max", "memory.current"))
        return min(free, int(most) - int(used))
    except (OSError, ValueError):  # no bound, or no container
        return free


def sized(n: int) -> str:
    """Bytes in words."""
    size, unit = next(((size, unit) for size, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")) if n >= size), (1, "B"))
    return f"{n / size:.1f} {unit}" if size > 1 else f"{n} {unit}"


def _side(role: str, one: Outline) -> Side:
    model = one.model
    return Side(
        role=role,
        id=model.name,
        type=one.type,
        parameters=model.parameters,
        layers=model.layers,
        width=model.width,
        vocab=model.vocab,
        context=model.context,
        dtype=model.dtype if one.unpacked or not one.packing else one.packing,
        lean=one.lean,
        weights=one.weights,
        download=one.files.missing,
    )


def _of(role: str, one: Outline) -> Iterator[Finding]:
    forward = "the engine's own forward" if one.lean else "transformers' forward, which is slower for small models"
    yield Finding(role, "good", f"{one.model.name} is of type {one.type}: it runs through {forward}.")
    for note in one.model.notes:
        yield Finding(role, "note", note)
    if one.packing:
        shows = "" if one.unpacked else " Whether they run here shows at load."
        yield Finding(role, "note", packing_said(one.packing, unpacked=one.unpacked) + shows)


def _pair(found: dict[str, Outline]) -> Pair:
    models = {role: one.model for role, one in found.items()}
    heads = {"mtp": str(found["target"].files.folder)} if brings(found["target"].files.folder) else {}
    return Pair(models.pop("target"), models, heads)


def _tokenizers(pair: Pair) -> Iterator[Finding]:
    for model in pair.models.values():
        try:
            found = bridge(pair.target, model)
        except LabError as error:
            yield Finding("tokenizers", "against", str(error))
            continue
        same = f"One tokenizer: all {len(found.mine)} ids can be drafted."
        yield Finding("tokenizers", "note" if found.words() else "good", found.words() or same)


def _memory(found: dict[str, Outline], free: int, where: torch.device) -> Finding:
    need = sum(one.memory for one in found.values())
    texts = max(min(one.model.context, POSITIONS) for one in found.values())
    words = (
        f"About {sized(need)} of memory for weights and {texts} positions of text; {sized(free)} are available on "
        f"{where}."
    )
    if need > free:
        return Finding("memory", "against", f"{words} It does not fit: take smaller models or dtype='bfloat16'.")
    if need > TIGHT * free:
        return Finding("memory", "note", f"{words} It is tight.")
    return Finding("memory", "good", words)


def _methods(pair: Pair) -> Iterator[Offered]:
    for card in CARDS:
        against = pair.hindrance(card)
        yield Offered(card.name, card.title, against, "" if against else pair.otherwise(card))
