"""What a machine can do for the lab: devices, numbers alike on every path, what a launch and a byte cost there."""

import platform
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from math import inf, isnan
from statistics import median
from time import perf_counter
from typing import Any

import torch
from torch import Tensor
from transformers import AutoConfig

from engine import __version__
from engine.bench.contenders import bandwidth
from engine.draft import Draft, chain
from engine.errors import ConfigError, EngineFault, LabError, first_line
from engine.heads.block import Spec
from engine.heads.dflash import DflashHead, DflashSpec
from engine.heads.dflash import wanted as dflash_names
from engine.heads.eagle import EagleHead, EagleSpec, wanted
from engine.heads.graphs import Levels
from engine.heads.treemask import TreeMask
from engine.lab import Lab
from engine.model import Model, Session
from engine.model.decoder import Decoder, New
from engine.model.devices import DTYPES, KINDS, accelerators, described, placement, synchronise
from engine.model.generic import GenericDecoder
from engine.model.graphs import Again, Capturer, CudaCapturer, GraphedDecoder, obstacle
from engine.model.lean import LeanDecoder
from engine.model.load import weights
from engine.model.network import text_config
from engine.model.splitkv import apart
from engine.model.trial import CLOSE, ROUGH
from engine.model.unpacking import packing_of
from engine.model.ways import ways
from engine.trace.store import sound

TEXT = 24  # tokens of the text that paths are compared on
LAUNCHES, PASSES = 2000, 20
SIZES = (1, 8, 64)  # rows of timed passes
BEHIND = (2_000, 8_000, 32_000)  # tokens before a timed token
WIDE = 3  # rows of a level
TREE = Draft((4, 9, 9, 7), (-1, -1, 0, 2), group=(0,) * 4)


@dataclass(frozen=True)
class Check:
    """One thing that was looked at: "ok", "wrong" or "not here", and the numbers or the reason."""

    name: str
    state: str
    told: str


@dataclass(frozen=True)
class Report:
    """All of it, ready for JSON; `text` for people."""

    about: dict[str, Any]
    checks: tuple[Check, ...]
    figures: dict[str, float]

    @property
    def well(self) -> bool:
        """Whether nothing is wrong."""
        return all(check.state != "wrong" for check in self.checks)

    def to_json(self) -> dict[str, Any]:
        """JSON types."""
        return asdict(self)

    def text(self) -> str:
        """One fact a line."""
        lines = [f"{name:24} {value}" for name, value in self.about.items()]
        lines += ["", *(f"{check.state:8} {check.name}: {check.told}" for check in self.checks), ""]
        lines += [f"{name:40} {value:.4g}" for name, value in self.figures.items()]
        return "\n".join(lines) + "\n"


def examine(model: Model, folder: str, lab: Lab | None = None) -> Report:
    """The report of the machine, by a model that is loaded on the device in question; `folder` holds its checkpoint.
    Of a `lab` every method is run as well.

    Raises:
        ConfigError: the model is an encoder-decoder.
    """
    if model.seam:
        raise ConfigError("The doctor examines a machine by a decoder-only model: give one, or the embedded pair.")
    checks = (*_checks(model, folder), *([_methods(lab)] if lab else []))
    return Report(_about(model), checks, dict(_figures(model)))


def _about(model: Model) -> dict[str, Any]:
    return {
        "draftscope": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {'.'.join(platform.release().split('.')[:2])} {platform.machine()}",
        "device": described(model.device),
        "devices for auto": ", ".join(accelerators()) or "cpu",
        "model": f"{model.name}, {model.parameters:,} parameters, {model.dtype}",
        "threads": torch.get_num_threads(),
    }


@torch.inference_mode()
def _checks(model: Model, folder: str) -> Iterator[Check]:
    for kind in KINDS:
        there = torch.backends.mps.is_available() if kind == "mps" else getattr(torch, kind).is_available()
        yield Check(f"device {kind}", "ok" if there else "not here", "torch sees it" if there else "torch sees none")
    ids = [(97 + 7919 * i) % model.vocab for i in range(TEXT)]
    config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    where = {"dtype": DTYPES[model.dtype], **placement(model.devices)}
    hf, _ = weights(folder, model.name, config, packing_of(config, model.name), **where)
    hf.eval()
    whole = hf(input_ids=torch.tensor([ids], device=model.device)).logits[0, -1, : model.vocab]
    limit = CLOSE.get(DTYPES[model.dtype], ROUGH)
    own = model.decoder if isinstance(model.decoder, GenericDecoder) else None
    paths: dict[str, Decoder] = {"generic": own or next(ways(hf, text_config(hf.config), model.context))}
    lean = model.decoder.lean if isinstance(model.decoder, GraphedDecoder) else model.decoder
    if isinstance(lean, LeanDecoder):
        paths["lean"] = lean
        cuda = lean.home.type == "cuda"
        capturer: Capturer = CudaCapturer(lean.home) if cuda else Again()
        name = "graph" if cuda else "static pass, not captured"
        if why := obstacle(lean):
            yield Check(name, "not here", why)
        else:
            paths[name] = GraphedDecoder(lean, capturer)
        level, block = ("graph", "graph") if cuda else ("static level (not captured)", "static block (not captured)")
        yield _pieces(lean, limit)
        if not lean.apart:  # of a spread model nothing is captured
            yield _levels(level, lean, model.vocab, capturer, limit)
            yield _blocks(block, lean, model.vocab, capturer, limit)
    else:
        yield Check("lean passes", "not here", "this kind of model runs through transformers")
    for name, decoder in paths.items():
        try:
            yield _alike(name, decoder, model, ids, whole, limit)
        except EngineFault as error:
            yield Check(f"{name} against eager", "wrong", str(error))


def _alike(name: str, decoder: Decoder, model: Model, ids: list[int], whole: Tensor, limit: float) -> Check:
    """Whether a path gives what transformers gives at once: in pieces, after a tree, again from captured passes."""
    off = 0.0
    for _ in range(2):
        session = Session(decoder, model.vocab, model.device, 2 * TEXT)
        session.forward(ids[:4])
        if not decoder.why_chains:
            session.forward(ids[:9], TREE)
        for n in range(10, TEXT):
            session.forward(ids[:n], chain(ids[n : n + 3]))
        last = session.forward(ids).logits[-1]
        off = max(off, _off(last, whole))
    told = f"differs from transformers by {off:.1e} of the largest logit, {limit:.0e} is allowed"
    if isinstance(decoder, GraphedDecoder):
        if decoder.why_not:
            return Check(f"{name} against eager", "wrong", decoder.why_not)
        told += f"; {decoder.captured} passes captured, {decoder.replayed} replayed"
    return Check(f"{name} against eager", "ok" if off <= limit else "wrong", told)


def _levels(name: str, lean: LeanDecoder, vocab: int, capturer: Capturer, limit: float) -> Check:
    """Whether captured levels of a draft head give what plain ones do: a small tree, twice, on random weights."""
    D, like = lean.width, lean.embedding
    spec = EagleSpec("eagle2", Spec(D, 2 * D, lean.heads, lean.kv, lean.channels), D, vocab, vocab)
    shapes = {name: shape for name, shape in wanted(spec).items() if name != "embed_tokens.weight"}
    head, levels = EagleHead(spec, _random(shapes, like), lean), Levels(capturer)
    plain, static = head.memory(2 * TEXT), levels.memory(head, head.memory, 2 * TEXT)
    ids, hidden = torch.arange(TEXT, device=like.device) % vocab, like[:TEXT]
    for memory in (plain, static):
        head.run(memory, ids, hidden, slice(0, TEXT), 0)
    off = 0.0
    for _ in range(2):
        tree, rows, hidden = TreeMask(3, WIDE, 2 * TEXT, like), ids[:WIDE] * 0, like[:WIDE]
        for level in range(3):
            mask, at, where = tree.level(rows, level, TEXT), TEXT + level * WIDE, slice(TEXT + level, TEXT + level + 1)

            def work(memory: Any, ids: Tensor, before: Tensor, at: int = at, where: slice = where) -> Any:
                out = head.run(memory, ids, before, where, at, mask)  # noqa: B023 (called at once)
                return out, head.logits(out)

            wants = work(plain, ids[:WIDE], hidden)
            for made, want in zip(
                levels.step(static, work, ids[:WIDE], hidden, TEXT + level, at, mask), wants, strict=True
            ):
                off = max(off, _off(made, want))
            rows, hidden = ids[:WIDE] % WIDE, wants[0]
    return _judged(f"{name} of a draft head against eager", levels, off, limit)


def _blocks(name: str, lean: LeanDecoder, vocab: int, capturer: Capturer, limit: float) -> Check:
    """The same of a drafter that fills blocks of masks (DFlash): two lengths of one size, behind a text that grows."""
    D, like = lean.width, lean.embedding
    spec = DflashSpec(Spec(D, 2 * D, lean.heads, lean.kv, lean.channels), 2, (0,), D, 2 * WIDE, 0, vocab)
    head, levels = DflashHead(spec, _random(dflash_names(spec), like), lean, {}), Levels(capturer)
    plain, static = head.memory(2 * TEXT), levels.memory(head, head.memory, 2 * TEXT)
    off = 0.0
    for end in range(WIDE, TEXT, WIDE):
        for memory in (plain, static):
            head.read(memory, like[end - WIDE : end])
        ids = head.block(end % vocab, WIDE + end % 2)
        made, want = levels.block(static, head.fill, ids), head.fill(plain, ids)
        off = max(off, _off(made, want))
    return _judged(f"{name} of masks against eager", levels, off, limit)


def _pieces(lean: LeanDecoder, limit: float) -> Check:
    """Whether attention over pieces of the slots gives what it gives over all at once."""
    name = "attention in pieces against at once"
    try:
        off = apart(lean.home, lean.embedding.dtype, lean.channels)
    except torch.OutOfMemoryError:
        raise
    except RuntimeError as error:  # as in `trusted`: then no pass attends in pieces
        return Check(name, "not here", f"torch has no kernel for it: {first_line(error)}")
    told = f"differs by {off:.1e} of the largest, {limit:.0e} is allowed"
    return Check(name, "ok" if off <= limit else "wrong", told)


def _random(shapes: dict[str, tuple[int, ...]], like: Tensor) -> dict[str, Tensor]:
    rng = torch.Generator("cpu").manual_seed(0)
    plain: dict[str, Any] = {"generator": rng, "dtype": torch.float32, "device": "cpu"}
    drawn = {name: torch.randn(shape, **plain) for name, shape in shapes.items()}
    return {name: (x * x.shape[-1] ** -0.5).to(like) for name, x in drawn.items()}


def _off(made: Tensor, wanted: Tensor) -> float:
    """Largest difference, relative to the largest number; infinite where something is no number."""
    off = float((made - wanted).abs().max() / wanted.abs().max())
    return inf if isnan(off) else off


def _judged(name: str, levels: Levels, off: float, limit: float) -> Check:
    if levels.why_not:
        return Check(name, "wrong", levels.why_not)
    told = f"differs by {off:.1e} of the largest, {limit:.0e} is allowed"
    told += f"; {levels.captured} captured, {levels.replayed} replayed"
    return Check(name, "ok" if off <= limit else "wrong", told)


def _methods(lab: Lab) -> Check:
    """Whether every method that runs here writes what plain decoding writes, where it promises that: greedily, after
    the same text. In half precision, where sums of more rows round otherwise, a near tie may be decided otherwise."""
    ids = [(97 + 7919 * i) % lab.target.vocab for i in range(TEXT)]
    wrote, failed = dict[str, list[int]](), list[str]()
    for card in lab.methods():
        forced = {"force": True} if card.rule == "judge" else {}
        try:
            trace = lab.run(card.name, ids, max_new_tokens=TEXT, record="light", stop=(), **forced)
            wrote[card.name] = list(sound(trace, card.name).token_ids)
        except LabError as error:
            failed.append(f"{card.name} fails: {str(error).removeprefix(f'{card.name} failed: ')}")
    bound = [card.name for card in lab.methods() if card.guarantee == "lossless" and card.name in wrote]
    off = [name for name in bound if wrote[name] != wrote.get("ar")]
    state = "wrong" if failed or (off and DTYPES[lab.target.dtype] in CLOSE) else "ok"
    told = f"{len(wrote)} run, and {len(bound) - len(off)} of the {len(bound)} that promise it write what ar writes"
    return Check("methods", state, "; ".join([told, *([f"otherwise {', '.join(off)}"] if off else []), *failed]))


@torch.inference_mode()
def _figures(model: Model) -> Iterator[tuple[str, float]]:
    device, x = model.device, torch.zeros(1, dtype=torch.float32, device=model.device)

    def launches() -> None:
        for _ in range(LAUNCHES):
            x.add_(1)

    yield "launch of an operation, microseconds", 1e6 * _seconds(launches, device, 3) / LAUNCHES
    yield "read of one number, microseconds", 1e6 * _seconds(lambda: float(x), device, 200)
    yield "memory read, GB/s", bandwidth(device, 64) / 1e9
    if device.type != "cpu":
        host = torch.zeros(64 << 18, dtype=torch.float32, device="cpu")
        yield "host to device, GB/s", host.nbytes / _seconds(lambda: host.to(device), device, 5) / 1e9
    paths: dict[str, Decoder] = {"pass": model.decoder}
    if isinstance(model.decoder, GraphedDecoder):
        paths = {"captured pass": model.decoder, "plain pass": model.decoder.lean}
    for name, decoder in paths.items():
        session, text = Session(decoder, model.vocab, device, 256), [5] * 32
        for rows in SIZES:
            step = partial(session.forward, text, chain([7] * (rows - 1)))
            with suppress(EngineFault):  # a path that gives no numbers is among what is wrong
                yield f"{name} over {rows} tokens, milliseconds", 1e3 * _seconds(step, device, PASSES)
    if isinstance(model.decoder, GraphedDecoder):
        yield from _behind(model.decoder, device)


def _behind(decoder: GraphedDecoder, device: torch.device) -> Iterator[tuple[str, float]]:
    """What a token costs behind long texts, as far as there is memory for them. What they say does not matter."""
    for start in BEHIND:
        try:
            cache, new = decoder.cache(start + 1), New(torch.tensor([7], device=device), None, start, None)
            step = partial(decoder.run, cache, new, (), 1)
            yield f"captured pass behind {start} tokens, milliseconds", 1e3 * _seconds(step, device, PASSES)
        except torch.OutOfMemoryError:
            return


def _seconds(work: Callable[[], object], device: torch.device, times: int) -> float:
    """Median of some times, after two that do not count."""
    spent = list[float]()
    for _ in range(times + 2):
        synchronise([device])
        began = perf_counter()
        work()
        synchronise([device])
        spent.append(perf_counter() - began)
    return median(spent[2:])
