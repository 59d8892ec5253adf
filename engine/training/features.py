"""What heads learn from: texts with the target's hidden states, computed once and kept on disk for all heads.

A share of the texts are the target's own greedy answers to training prompts, the rest reference solutions; of the
embedded families held-out problems are never used. A source that an encoder reads has no states: there a row begins
with the decoder's opening.
Dimension key: N tokens of all texts, B rows, T tokens, D width.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import torch
from safetensors.torch import load_file
from safetensors.torch import save as packed
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM

from engine.errors import AssetError, ConfigError, ModelMismatch
from engine.files.documents import fits, read_object
from engine.files.written import write
from engine.heads.eagle import SHALLOWEST, tapped
from engine.model import Model, load_model
from engine.model.generation import silence
from engine.tasks import FAMILIES, SOURCED, Problem, load_problems
from engine.tasks.prompts import Prompt
from engine.training.asked import Asked
from engine.training.probe import NEW, completed
from engine.training.sourcecommands import LONGEST
from engine.training.sourcecommands import greedy as written

CARD = "features.json"
CHUNK = 50  # problems answered together
TEXTS = 2400  # of the embedded families, where no number is asked for


@dataclass(frozen=True, slots=True)
class Batch:
    """Right-padded rows. `start` [B] is each prompt's length, `size` [B] the row's; states are of the target."""

    ids: Tensor  # [B, T]
    start: Tensor
    size: Tensor
    taps: Tensor  # [B, T, 3 D] inputs of three layers; of an encoder-decoder, or too few layers, none [B, T, 0]
    last: Tensor  # [B, T, D] final-normed

    def to(self, device: str) -> Batch:
        """The same batch elsewhere, states in fp32."""
        wide = (self.taps.to(device).float(), self.last.to(device).float())
        return Batch(self.ids.to(device), self.start.to(device), self.size.to(device), *wide)


class Features:
    """A cache on disk."""

    def __init__(self, folder: Path) -> None:
        """All of its parts, in memory.

        Raises:
            AssetError: it is missing, damaged or unfinished.
        """
        self.card = read_object(folder / CARD)
        if not fits([self.card.get(name) for name in ("texts", "seed")], list[int]) or "target" not in self.card:
            raise AssetError(f"{folder / CARD} does not tell what was computed: delete it, and run `features` again.")
        parts = [_part(file) for file in sorted(folder.glob("part-*.safetensors"))]
        self.rows: list[tuple[dict[str, Tensor], int, int, int]] = []  # part, from, to, prompt length
        for part in parts:
            ends = part["sizes"].cumsum(0).tolist()
            for size, end, start in zip(part["sizes"].tolist(), ends, part["starts"].tolist(), strict=True):
                self.rows.append((part, end - size, end, start))
        if len(self.rows) < self.card["texts"]:
            raise AssetError(
                f"The features in {folder} are unfinished: {len(self.rows):,} of {self.card['texts']:,} texts. "
                "`python -m engine.training features` goes on with them."
            )
        self.by_length = sorted(range(len(self.rows)), key=lambda i: self.rows[i][2] - self.rows[i][1])

    def batch(self, step: int, size: int, seed: int) -> Batch:
        """The batch of a step: a pure function, so that a run can resume. An epoch sees each text once,
        but for a remainder smaller than a batch."""
        chunks = max(1, len(self.rows) // size)
        epoch, place = divmod(step, chunks)
        rng = Random(f"features/{seed}/{epoch}")
        shift = rng.randrange(size)  # other neighbours in each epoch
        order = list(range(chunks))
        rng.shuffle(order)
        at = order[place] * size + shift
        return self._collate([self.by_length[i % len(self.rows)] for i in range(at, at + size)])

    def _collate(self, chosen: list[int]) -> Batch:
        rows = [self.rows[i] for i in chosen]
        T = max(end - begin for _, begin, end, _ in rows)
        part = rows[0][0]
        ids = torch.zeros(len(rows), T, dtype=torch.long)
        taps, last = (torch.zeros(len(rows), T, part[n].shape[1], dtype=_widest(rows, n)) for n in ("taps", "last"))
        for i, (source, begin, end, _) in enumerate(rows):
            n = end - begin
            ids[i, :n], taps[i, :n], last[i, :n] = (
                source["ids"][begin:end],
                source["taps"][begin:end],
                source["last"][begin:end],
            )
        return Batch(ids, torch.tensor([r[3] for r in rows]), torch.tensor([r[2] - r[1] for r in rows]), taps, last)

    def counts(self, vocab: int) -> Tensor:
        """How often each id [V] occurs in the answers."""
        total = torch.zeros(vocab, dtype=torch.long)
        for part, begin, end, start in self.rows:
            total += torch.bincount(part["ids"][begin + start : end].long(), minlength=vocab)
        return total


def _widest(rows: Sequence[tuple[dict[str, Tensor], int, int, int]], name: str) -> torch.dtype:
    return max((part[name].dtype for part, *_ in rows), key=lambda dtype: dtype.itemsize)


def _part(file: Path) -> dict[str, Tensor]:
    try:
        part: dict[str, Tensor] = load_file(file)
    except Exception as error:  # safetensors raises whatever it likes on damaged files
        raise AssetError(f"{file} is damaged ({error}): delete it, and run the command `features` again.") from None
    return part


def build(
    target: Path,
    folder: Path,
    texts: int | None,
    greedy: float,
    seed: int,
    report: Callable[[str], None],
    device: str = "cpu",
    asked: Asked | None = None,
) -> None:
    """Write the cache: `texts` in all (None: of each prompt `asked` one), the given share answered greedily by the
    target itself; finished parts of the same are kept, all others go.

    Raises:
        AssetError: what stands there of a cache cannot be read. ModelMismatch: the target reads too few tokens.
        ConfigError: prompts that cannot be read, or have no solution where the target does not answer.
    """
    given = asked.prompts(texts) if asked else []
    model = load_model(target, device=device, dtype="float32")
    if asked and asked.chat:
        model.tokenizer.able_to_chat()
    count = len(given) or texts or TEXTS
    card: dict[str, Any] = {"target": model.revision, "texts": count, "greedy": greedy, "seed": seed}
    if asked:
        card |= asked.card()
    families = SOURCED if model.seam else FAMILIES
    jobs = list(_asked(given, greedy) if asked else _jobs(families, count, greedy, seed))
    file = folder / CARD
    folder.mkdir(parents=True, exist_ok=True)
    if not file.exists() or read_object(file) != card:
        for old in folder.glob("part-*.safetensors"):
            old.unlink()
    write(file, (json.dumps(card) + "\n").encode())
    kind = AutoModelForSeq2SeqLM if model.seam else AutoModelForCausalLM
    writer: Any = silence(kind.from_pretrained(target, dtype=torch.float32)).to(model.device).eval()
    chat, limit = (asked.chat, asked.limit) if asked else (False, LONGEST if model.seam else NEW)
    for number, (problems, own) in enumerate(jobs):
        part = folder / f"part-{number:04d}.safetensors"
        if part.exists():
            continue
        lines = [*_answered(writer, model, problems[:own], chat, limit), *_solved(model, problems[own:], chat)]
        write(part, packed(_states(model, lines)))
        report(f"features: part {number + 1} of {len(jobs)}, {sum(len(a) + len(b) for a, b in lines):,} tokens")


def _jobs(families: Sequence[str], texts: int, greedy: float, seed: int) -> Iterator[tuple[list[Problem], int]]:
    """Chunks of training problems, and how many of each the target answers itself; families take turns."""
    share = -(-texts // len(families))
    pools = {family: load_problems(family, "train", share, seed + 7) for family in families}
    for number, own in enumerate(_own(share, greedy)):
        for problems in pools.values():
            yield problems[number * CHUNK : (number + 1) * CHUNK], own


def _asked(prompts: Sequence[Prompt], greedy: float) -> Iterator[tuple[list[Problem], int]]:
    """The same of a user's own prompts.

    Raises:
        ConfigError: one has no solution to learn from, and the target is not to answer it.
    """
    problems = [Problem("", prompt.key, prompt.text, prompt.solution, "") for prompt in prompts]
    for number, own in enumerate(_own(len(problems), greedy)):
        chunk = problems[number * CHUNK : (number + 1) * CHUNK]
        for problem in chunk[own:]:
            if not problem.solution:
                raise ConfigError(
                    f"Prompt {problem.key} has no solution or answer field to learn from: the target answers all "
                    f"prompts of a file with --greedy 1, not {greedy:g}."
                )
        yield chunk, own


def _own(texts: int, greedy: float) -> list[int]:
    """How many of each chunk the target answers: all or none as far as that comes to the share, and what is left of it
    in the last chunks."""
    sizes = [min(CHUNK, texts - at) for at in range(0, texts, CHUNK)]
    own = [size if (i + 1) * greedy // 1 > i * greedy // 1 else 0 for i, size in enumerate(sizes)]
    left = round(greedy * texts) - sum(own)
    for i in reversed(range(len(sizes))):
        more = min(left, sizes[i] - own[i])
        own[i], left = own[i] + more, left - more
    return own


Line = tuple[list[int], list[int]]


def _answered(writer: Any, model: Model, problems: list[Problem], chat: bool = False, limit: int = NEW) -> list[Line]:
    if not problems:
        return []
    prompts = _prompts(model, problems, chat)
    if model.seam:
        sources = [prompt[: model.source_of(prompt)] for prompt in prompts]
        own = written(writer, sources, longest=limit, opening=model.seam.opening, ends=model.tokenizer.stop_ids)
        return list(zip(prompts, own, strict=True))
    lines = completed(writer, model.tokenizer.hf, prompts, limit, model.context)
    return [(list(line.prompt), list(line.rest)) for line in lines]


def _prompts(model: Model, problems: list[Problem], chat: bool) -> list[list[int]]:
    """Ids of each prompt.

    Raises:
        ModelMismatch: one leaves no room for an answer.
    """
    prompts = [model.tokenizer.encode(problem.prompt, chat) for problem in problems]
    for problem, prompt in zip(problems, prompts, strict=True):
        if not model.seam and len(prompt) >= model.context:
            raise ModelMismatch(
                f"A training text's prompt has {len(prompt)} tokens, and {model.name} reads {model.context} in all: "
                f"there is no room for an answer to learn from (prompt {problem.key})."
            )
    return prompts


def _solved(model: Model, problems: list[Problem], chat: bool = False) -> list[Line]:
    words = model.tokenizer.hf
    end = [] if words.eos_token_id is None else [words.eos_token_id]
    prompts = _prompts(model, problems, chat)
    rests = [words(p.solution, add_special_tokens=False).input_ids + end for p in problems]
    if model.seam:
        return list(zip(prompts, rests, strict=True))
    return [(prompt, rest[: model.context - len(prompt)]) for prompt, rest in zip(prompts, rests, strict=True)]


@torch.inference_mode()
def _states(model: Model, lines: list[Line]) -> dict[str, Tensor]:
    ids, taps, last = list[Tensor](), list[Tensor](), list[Tensor]()
    longest = max(len(prompt) + len(rest) for prompt, rest in lines)
    layers = () if model.seam or model.layers < SHALLOWEST else tapped(model.layers)
    own = [prompt[model.source_of(prompt) :] for prompt, _ in lines]  # what the decoder reads of each
    for (prompt, rest), read in zip(lines, own, strict=True):
        passed = model.session(longest, layers).forward([*prompt, *rest])
        ids.append(torch.tensor([*read, *rest], dtype=torch.int32))
        taps.append(_small(passed.last[:, :0] if passed.taps is None else passed.taps))
        last.append(_small(passed.last))
    return {
        "ids": torch.cat(ids),
        "taps": torch.cat(taps),
        "last": torch.cat(last),
        "sizes": torch.tensor([len(i) for i in ids]),
        "starts": torch.tensor([len(read) for read in own]),
    }


def _small(states: Tensor) -> Tensor:
    """States in fp16; where some are too large for it, as those between the layers of Gemma 3 are, in fp32."""
    half = states.half().cpu()
    return half if bool(half.isfinite().all()) else states.float().cpu()
