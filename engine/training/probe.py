"""Forward passes for judging models: greedy completions, and logits on given text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import LlamaForCausalLM, PreTrainedTokenizerBase

from engine.tasks import Problem

BATCH = 50  # rows a batch
NEW = 200  # most tokens of a completion


@dataclass(frozen=True, slots=True)
class Line:
    """Token ids of a prompt and of what follows it (with the end token, if it ended)."""

    prompt: tuple[int, ...]
    rest: tuple[int, ...]


def complete(
    model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerBase, problems: list[Problem], max_new_tokens: int = NEW
) -> list[Line]:
    """Greedy completions, in the order of `problems`, up to a token that ends a text; an unfinished one has
    `max_new_tokens` ids."""
    return completed(model, tokenizer, [tokenizer(problem.prompt).input_ids for problem in problems], max_new_tokens)


@torch.no_grad()
def completed(
    model: LlamaForCausalLM,
    tokenizer: PreTrainedTokenizerBase,
    given: Sequence[Sequence[int]],
    max_new_tokens: int,
    context: int | None = None,
) -> list[Line]:
    """The same of prompts' ids; no text gets longer than the `context`, which every prompt leaves room in."""
    prompts = [tuple(prompt) for prompt in given]
    order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
    lines: dict[int, Line] = {}
    ends = ends_of(model, tokenizer)
    pad = min(ends, default=0) if tokenizer.pad_token_id is None else tokenizer.pad_token_id
    for at in range(0, len(order), BATCH):
        rows = order[at : at + BATCH]
        width = max(len(prompts[i]) for i in rows)
        empty = [width - len(prompts[i]) for i in rows]
        ids = torch.tensor([[pad] * n + list(prompts[i]) for n, i in zip(empty, rows, strict=True)])
        seen = torch.arange(width) >= torch.tensor(empty).unsqueeze(1)
        output = model.generate(
            input_ids=ids.to(model.device),
            attention_mask=seen.to(model.device),
            max_new_tokens=min(max_new_tokens, context - width) if context else max_new_tokens,
            do_sample=False,
            num_beams=1,
            repetition_penalty=1.0,
            eos_token_id=sorted(ends) or None,
            pad_token_id=pad,
        )
        for i, row in zip(rows, output[:, width:].tolist(), strict=True):
            end = next((n for n, token in enumerate(row, 1) if token in ends), len(row))
            lines[i] = Line(prompts[i], tuple(row[:end]))
    return [lines[i] for i in range(len(prompts))]


def ends_of(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerBase) -> set[int]:
    """Tokens that end a text; some models have several (Llama 3)."""
    told = model.generation_config.eos_token_id if model.generation_config else None
    found = {tokenizer.eos_token_id, *(told if isinstance(told, list) else [told])}
    return {token for token in found if token is not None}


@torch.no_grad()
def read(model: LlamaForCausalLM, lines: list[Line]) -> Iterator[Tensor]:
    """For each line the fp32 logits (R, V) that predict its rest, R tokens long."""
    for at in range(0, len(lines), BATCH):
        rows = lines[at : at + BATCH]
        width = max(len(line.prompt) + len(line.rest) for line in rows)
        ids = torch.zeros(len(rows), width, dtype=torch.long)
        for i, line in enumerate(rows):
            ids[i, : len(line.prompt) + len(line.rest)] = torch.tensor(line.prompt + line.rest)
        logits = model(input_ids=ids.to(model.device)).logits.float().cpu()
        for i, line in enumerate(rows):
            start = len(line.prompt) - 1
            yield logits[i, start : start + len(line.rest)]


def reference(tokenizer: PreTrainedTokenizerBase, problem: Problem) -> tuple[Line, list[int]]:
    """The reference solution as a line, and the places in its rest where a free choice starts."""
    encoded = tokenizer(problem.solution, add_special_tokens=False, return_offsets_mapping=True)
    starts = [start for start, _ in problem.choices]
    offsets: list[tuple[int, int]] = encoded.offset_mapping
    places = [i for i, (a, b) in enumerate(offsets) if any(a <= start < b for start in starts)]
    line = Line(tuple(tokenizer(problem.prompt).input_ids), (*encoded.input_ids, tokenizer.eos_token_id))
    return line, places
