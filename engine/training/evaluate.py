"""What the pair of embedded models can do, on problems that training never saw."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

import torch
import torch.nn.functional as F
from transformers import LlamaForCausalLM, PreTrainedTokenizerBase

from engine.tasks import FAMILIES, Problem, get_task, load_problems
from engine.tasks.sentences import corpus_scores
from engine.training.probe import Line, complete, read, reference

GAMMA = 5  # draft tokens of the chains that pairs are measured with
EVAL_SEED = 1  # of the held-out problems that everything trained here is measured on
Metrics = dict[str, dict[str, float]]  # family -> name -> number


@dataclass(frozen=True, slots=True)
class Judge:
    """A tokenizer and how many held-out problems a family are used."""

    tokenizer: PreTrainedTokenizerBase
    items: int = 300

    def problems(self, family: str) -> list[Problem]:
        """The held-out problems of one family; always the same."""
        return load_problems(family, "heldout", self.items, EVAL_SEED)

    def single(self, model: LlamaForCausalLM) -> tuple[Metrics, dict[str, list[Line]]]:
        """Metrics of one model, and its greedy completions by family."""
        metrics: Metrics = {}
        lines: dict[str, list[Line]] = {}
        for family in FAMILIES:
            problems = self.problems(family)
            lines[family] = complete(model, self.tokenizer, problems)
            texts = [self.tokenizer.decode(line.rest, skip_special_tokens=True) for line in lines[family]]
            metrics[family] = _quality(family, problems, texts) | self._on_references(model, problems)
        return metrics, lines

    def _on_references(self, model: LlamaForCausalLM, problems: list[Problem]) -> dict[str, float]:
        references = [reference(self.tokenizer, problem) for problem in problems]
        losses, at_choices, elsewhere = list[float](), list[float](), list[float]()
        for (line, places), logits in zip(references, read(model, [line for line, _ in references]), strict=True):
            losses.append(F.cross_entropy(logits, torch.tensor(line.rest)).item())
            distribution = logits.log_softmax(-1)
            entropy = -(distribution.exp() * distribution).sum(-1)
            chosen = set(places)
            at_choices += [entropy[i].item() for i in places]
            elsewhere += [entropy[i].item() for i in range(len(line.rest)) if i not in chosen]
        return {
            "loss": fmean(losses),
            "entropy_at_choices": fmean(at_choices) if at_choices else float("nan"),
            "entropy_elsewhere": fmean(elsewhere),
            "choices_per_100_tokens": 100 * len(at_choices) / (len(at_choices) + len(elsewhere)),
        }


def _quality(family: str, problems: list[Problem], texts: list[str]) -> dict[str, float]:
    task = get_task(family)
    if family != "sentences":
        return {"accuracy": fmean(task.score(p, text) for p, text in zip(problems, texts, strict=True))}
    exact = fmean(task.equivalent(task.extract(t), p.answer) for p, t in zip(problems, texts, strict=True))
    return {"accuracy": exact, **corpus_scores(problems, texts)}


def together(draft: LlamaForCausalLM, lines: dict[str, list[Line]], gamma: int = GAMMA) -> Metrics:
    """How greedy chain speculation with `draft` goes on the target's own greedy text.

    A tested draft token follows an accepted prefix, which is the target's text; so the draft
    model's tokens can be read off in one pass, without running the rounds.
    """
    result: Metrics = {}
    for family, texts in lines.items():
        tested = accepted = rounds = tokens = agreed = 0
        for line, logits in zip(texts, read(draft, texts), strict=True):
            same = (logits.argmax(-1) == torch.tensor(line.rest)).tolist()
            agreed += sum(same)
            a, t, r = rounds_of(same, gamma)
            accepted, tested, rounds, tokens = accepted + a, tested + t, rounds + r, tokens + len(same)
        result[family] = {
            "accept_rate_tested": accepted / tested,
            "tested_guesses": float(tested),
            "tau": tokens / rounds,
            "top1_agreement": agreed / tokens,
        }
    return result


def rounds_of(same: list[bool], gamma: int) -> tuple[int, int, int]:
    """Accepted draft tokens, tested draft tokens and rounds, given where the draft is right."""
    at = accepted = tested = rounds = 0
    while at < len(same):
        window = same[at : at + gamma]
        run = window.index(False) if False in window else len(window)
        accepted += run
        tested += run + (run < len(window))
        rounds += 1
        at += run + 1
    return accepted, tested, rounds
