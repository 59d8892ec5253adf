"""What would become of a pair of models, told before any weights are fetched or read: what fits, and why not."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
import torch

from engine.errors import ConfigError, LabError
from engine.files.places import locate
from engine.heads.mtp_load import brings
from engine.lookup.room import free_memory
from engine.methods import CARDS
from engine.model import bridge
from engine.model.devices import free as left_on
from engine.model.devices import homes
from engine.model.hub import local
from engine.model.network import packing_said
from engine.model.outline import Outline, outline, spoken
from engine.runs.findings import Finding, Offered, Preflight, Side
from engine.runs.loading import Wanted, places, wanted, with_heads
from engine.runs.pair import Pair

TIGHT = 0.8  # share of the memory that is available, from which on it is said to be tight


def preflight(
    target: str,
    draft: str = "",
    device: str = "auto",
    dtype: str = "auto",
    languages: str = "",
    target_device: str = "",
    draft_device: str = "",
) -> Preflight:
    """What would become of a target, and perhaps a draft, each a folder or hub id; devices and `languages` as
    `Lab.load` takes them. Of the hub only configuration and tokenizer are fetched.

    Raises:
        ConfigError: unknown device or dtype.
    """
    if not target:
        raise ConfigError("Name a target: a Hugging Face id or a folder.")
    models = {role: ref for role, ref in (("target", target), ("draft", draft)) if ref}
    asked = {role: place for role, place in (("target", target_device), ("draft", draft_device)) if place}
    found, findings = dict[str, Outline](), list[Finding]()
    for place in (device, *asked.values()):
        homes(place)
    for role, ref in models.items():
        try:
            name = Path(ref).name if Path(ref).is_absolute() else ref
            where = str(homes(asked.get(role, device))[0])
            found[role] = outline(locate(ref), where, dtype, name=name, languages=languages)
            findings += _of(role, found[role])
        except LabError as error:
            findings.append(Finding(role, "against", str(error)))
    pair = _pair(found) if len(found) == len(models) else None
    first = {"target": asked.get("target", device)}  # where there is nothing to place
    chosen = places(Wanted(models, {}, dtype, named=False), device, asked) if pair else first
    rooms = _rooms(found if pair else {}, chosen)
    if pair:
        findings += [*_tokenizers(pair), *_contexts(pair), *_memory(found, rooms)]
    fits = not any(finding.verdict == "against" for finding in findings)
    return Preflight(
        fits=fits,
        models=tuple(_side(role, one) for role, one in found.items()),
        findings=tuple(findings),
        needed=sum(one.memory for one in found.values()),
        available=sum(room.free for room in rooms),
        download=sum(one.files.missing for one in found.values()),
        methods=tuple(_methods(pair)) if pair and fits else (),
        languages=languages_of(target),
    )


def foreseen(
    preset: str | None = None,
    *,
    target: str = "",
    draft: str = "",
    eagle: str = "",
    device: str = "auto",
    target_device: str = "",
    dtype: str = "auto",
    languages: str = "",
    **assets: str,
) -> tuple[Offered, ...]:
    """What becomes of every method on models that `Lab.load` would load by the same names, told by their configuration,
    tokenizers and lists of files alone; nothing where some of their files are not here.

    Raises:
        ConfigError, AssetError, ModelMismatch: as loading them does.
    """
    models = {role: ref for role, ref in (("target", target), ("draft", draft)) if ref}
    found = wanted(preset, models, {**assets, **({"eagle3": eagle} if eagle else {})}, dtype, languages)
    if not all(local(locate(ref)) for ref in found.models.values()):
        return ()
    where = str(homes(target_device or device)[0])
    outlines = {
        role: outline(locate(ref), where, found.dtype, name=ref if found.named else "", languages=found.languages)
        for role, ref in found.models.items()
    }
    if any(one.files.missing for one in outlines.values()):
        return ()
    sides = {role: one.model for role, one in outlines.items()}
    return tuple(_methods(Pair(sides.pop("target"), sides, with_heads(found), preset)))


def languages_of(target: str) -> tuple[str, ...]:
    """Codes of the languages that a model reads and writes; none of any other model, or where it cannot be looked
    at."""
    try:
        return spoken(locate(target))
    except LabError:
        return ()


def available(device: torch.device) -> int:
    """Bytes of memory that are free on a device; on a CPU within what a container may use."""
    if device.type in ("cuda", "xpu"):
        return left_on(device)
    here = free_memory()
    return int(psutil.virtual_memory().available) if here is None else here


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


def _contexts(pair: Pair) -> Iterator[Finding]:
    for role, model in pair.models.items():
        if model.context < pair.target.context:
            words = f"It reads {model.context} positions, and the target {pair.target.context}"
            yield Finding(role, "note", f"{words}: of a text beyond them it drafts nothing.")


@dataclass(frozen=True)
class _Room:
    """What a device has free, and what of each role's model would lie there, in bytes."""

    where: torch.device
    free: int
    shares: Mapping[str, int]


def _rooms(found: Mapping[str, Outline], chosen: Mapping[str, str]) -> list[_Room]:
    """The devices that models go to. One that is spread lies on each by what is free there, as loading does it."""
    by_role = {role: homes(place) for role, place in chosen.items()}
    free = {where: available(where) for devices in by_role.values() for where in devices}
    shares: dict[torch.device, dict[str, int]] = {where: {} for where in free}
    left = dict(free)
    for role, one in found.items():
        devices = by_role[role]
        has = [max(left[where], 0) for where in devices] if len(devices) > 1 else [1]
        for where, part in zip(devices, has, strict=True):
            shares[where][role] = one.memory * part // max(sum(has), 1)
            left[where] -= shares[where][role]
    return [_Room(where, free[where], shares[where]) for where in free]


def _memory(found: Mapping[str, Outline], rooms: Sequence[_Room]) -> Iterator[Finding]:
    """One finding for each device."""
    texts = max(one.positions for one in found.values())
    what = "source and text" if any(one.model.seam for one in found.values()) else "text"
    for room in rooms:
        need = sum(room.shares.values())
        parts = [
            f"{'' if share == found[role].memory else 'a part of '}the {role}" for role, share in room.shares.items()
        ]
        whose = f" of {' and '.join(parts)}" if len(rooms) > 1 else ""
        words = (
            f"About {sized(need)} of memory for weights{whose} and {texts} positions of {what}; {sized(room.free)} are "
            f"available on {room.where}."
        )
        if need > room.free:
            yield Finding("memory", "against", f"{words} It does not fit: take smaller models or dtype='bfloat16'.")
        elif need > TIGHT * room.free:
            yield Finding("memory", "note", f"{words} It is tight.")
        else:
            yield Finding("memory", "good", words)


def _methods(pair: Pair) -> Iterator[Offered]:
    for card in CARDS:
        against = pair.hindrance(card)
        yield Offered(card.name, card.title, against, "" if against else pair.otherwise(card))
