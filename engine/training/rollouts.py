"""What a step is worth, by trying: the target goes on from each prefix several times, and the share of right answers is
the label (Math-Shepherd, Wang et al. 2023, arXiv 2312.08935, section 3.2: the soft estimation).

Dimension key: S solutions, L tokens of the longest, R rows (a prefix and a try), V vocabulary.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import AttentionInterface, DynamicCache, LlamaForCausalLM, PreTrainedTokenizerBase
from transformers.masking_utils import AttentionMaskInterface, eager_mask

from engine.errors import ConfigError
from engine.files.written import write
from engine.model.network import cache_name
from engine.reward.steps import SENTENCES, step_ends
from engine.tasks import Problem, get_task
from engine.tasks.rows import json_lines
from engine.training.probe import ends_of

CHUNK = 16  # problems that are labelled together, and written together
LIMIT = 160  # tokens of a response
GROUPED = "grouped"  # our attention among transformers'
BARE = ("llama", "mistral", "qwen2", "qwen3")  # whose attention is no more than that; others keep their own


def grouped(
    module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor, scaling: float, **_: Any
) -> tuple[Tensor, None]:
    """Attention in which the heads of a group read one key and value; transformers' own copies these for each head,
    which is most of the time of many rows at one token."""
    R, H, T, D = query.shape
    G = key.shape[1]
    scores = (query.reshape(R, G, -1, D) @ key.transpose(-1, -2)).view(R, G, H // G, T, -1) * scaling
    weights = torch.softmax(scores + mask[:, :, None], -1)
    return (weights.view(R, G, H // G * T, -1) @ value).view(R, H, T, D).transpose(1, 2), None


AttentionInterface.register(GROUPED, grouped)
AttentionMaskInterface.register(GROUPED, eager_mask)


@dataclass(frozen=True, slots=True)
class Labelled:
    """A response, where its steps end (characters), and how many of `tries` rollouts from there were right."""

    key: str
    prompt: str
    text: str
    writer: str  # "draft" or "target"
    ends: tuple[int, ...]
    right: tuple[int, ...]
    tries: int

    @property
    def shares(self) -> list[float]:
        """The soft label of each step."""
        return [count / self.tries for count in self.right]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is labelled: writers with their temperatures, in turns over the problems; and how the target goes on."""

    writers: tuple[tuple[str, float], ...]
    tries: int = 4
    temperature: float = 0.7
    seed: int = 0


@dataclass(eq=False)
class Labeller:
    """The pair and its tokenizer."""

    models: dict[str, LlamaForCausalLM]
    tokenizer: PreTrainedTokenizerBase
    plan: Plan

    def write(self, problems: list[Problem], folder: Path, report: Callable[[str], None]) -> None:
        """Label all problems, a file a chunk; files that are there already are left as they are.

        Raises:
            ConfigError: one of these is damaged.
        """
        folder.mkdir(parents=True, exist_ok=True)
        chunks = [problems[at : at + CHUNK] for at in range(0, len(problems), CHUNK)]
        for number, chunk in enumerate(chunks):
            part = folder / f"part-{number:04d}.jsonl"
            if part.exists() and {one.key for one in _lines(part)} == {problem.key for problem in chunk}:
                continue
            lines = [json.dumps(asdict(one)) for one in self.label(chunk, number)]
            write(part, ("\n".join(lines) + "\n").encode())
            report(f"labels: part {number + 1} of {len(chunks)}, {len(lines)} responses")

    @torch.inference_mode()
    def label(self, problems: list[Problem], number: int) -> list[Labelled]:
        """Responses to some problems, each by the writer whose turn it is, with the labels of their steps."""
        torch.manual_seed(self.plan.seed * 1_000_003 + number)
        found: list[Labelled] = []
        for turn, (writer, temperature) in enumerate(self.plan.writers):
            mine = problems[turn :: len(self.plan.writers)]
            prompts = [list(self.tokenizer(problem.prompt).input_ids) for problem in mine]
            if mine:
                rests = self._go_on(
                    self.models[writer], prompts, [[] for _ in mine], [(s, 0) for s in range(len(mine))], temperature
                )
                found += self._tried(mine, prompts, rests, writer)
        return found

    def _tried(
        self, problems: list[Problem], prompts: list[list[int]], rests: list[list[int]], writer: str
    ) -> list[Labelled]:
        ends = [step_ends(rest, self._text, SENTENCES) for rest in rests]
        starts = [(s, end) for s, places in enumerate(ends) for end in places for _ in range(self.plan.tries)]
        tails = self._go_on(self.models["target"], prompts, rests, starts, self.plan.temperature)
        right: list[list[int]] = [[0] * len(places) for places in ends]
        for (s, end), tail in zip(starts, tails, strict=True):
            problem = problems[s]
            text = self._text([*rests[s][:end], *tail])
            right[s][ends[s].index(end)] += get_task(problem.family).score(problem, text) == 1.0
        return [
            Labelled(
                problem.key,
                problem.prompt,
                self._text(rest),
                writer,
                tuple(len(self._text(rest[:end])) for end in places),
                tuple(counts),
                self.plan.tries,
            )
            for problem, rest, places, counts in zip(problems, rests, ends, right, strict=True)
        ]

    def _go_on(
        self,
        model: LlamaForCausalLM,
        prompts: list[list[int]],
        rests: list[list[int]],
        starts: list[tuple[int, int]],
        temperature: float,
    ) -> list[list[int]]:
        """What the model writes after a prompt and the first tokens of its response, for each (prompt, tokens) of
        `starts`; without the end token. Each prompt is read once, however many rows start from it."""
        whole = [[*prompt, *rest] for prompt, rest in zip(prompts, rests, strict=True)]
        ids = torch.zeros(len(whole), max(map(len, whole)), dtype=torch.long)
        for s, row in enumerate(whole):
            ids[s, : len(row)] = torch.tensor(row)
        cache = DynamicCache()
        if model.config.model_type in BARE:
            model.set_attn_implementation(GROUPED)
        ends = torch.tensor(sorted(ends_of(model, self.tokenizer)))
        held = {cache_name(model.forward): cache}
        logits = model(input_ids=ids, use_cache=True, **held).logits
        which = torch.tensor([s for s, _ in starts])
        length = torch.tensor([len(prompts[s]) + end for s, end in starts])
        cache.reorder_cache(which)
        seen = torch.arange(ids.shape[1])[None] < length[:, None]
        rows = torch.arange(len(starts))
        row_logits = logits[which, length - 1]
        out: list[list[int]] = [[] for _ in starts]
        room = torch.tensor([LIMIT - end for _, end in starts])
        for step in range(LIMIT):
            token = self._draw(row_logits, temperature)
            alive = ~torch.isin(token, ends) & (room[rows] > step)
            for row, drawn in zip(rows[alive].tolist(), token[alive].tolist(), strict=True):
                out[row].append(drawn)
            if not bool(alive.any()):
                break
            if not bool(alive.all()):
                keep = alive.nonzero().flatten()
                cache.reorder_cache(keep)
                rows, seen, token = rows[keep], seen[keep], token[keep]
            seen = torch.cat([seen, torch.ones(len(rows), 1, dtype=torch.bool)], 1)
            row_logits = model(
                input_ids=token[:, None],
                attention_mask=seen.long(),
                position_ids=(length[rows] + step)[:, None],
                use_cache=True,
                **held,
            ).logits[:, -1]
        return out

    def _draw(self, logits_RV: Tensor, temperature: float) -> Tensor:
        if temperature == 0:
            return logits_RV.argmax(-1)
        return torch.multinomial(torch.softmax(logits_RV / temperature, -1), 1).flatten()

    def _text(self, ids: Sequence[int]) -> str:
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=True))


def labelled_in(folder: Path) -> Iterator[Labelled]:
    """The responses of a folder, in order.

    Raises:
        ConfigError: a line is damaged.
    """
    for part in sorted(folder.glob("part-*.jsonl")):
        yield from _lines(part)


def _lines(part: Path) -> Iterator[Labelled]:
    for number, row in json_lines(part):
        try:
            yield Labelled(**{**row, "ends": tuple(row["ends"]), "right": tuple(row["right"])})
        except (TypeError, KeyError):
            raise ConfigError(
                f"{part}, line {number} is no labelled response: delete the file to make it anew."
            ) from None
