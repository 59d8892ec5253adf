"""Exact distributions of what verification emits: every accept and refuse path is forced and weighed, nothing is sampled.

Dimension key: V vocabulary, N nodes. All in float64.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import permutations, product

import torch
from torch import Tensor

from engine import verify
from engine.config import Sampling
from engine.draft import Draft
from engine.verify import Step, Verdict
from engine.view import RoundView

Rule = Callable[[RoundView], Verdict]
Text = tuple[int, ...]
SAMPLED = Sampling(temperature=1.0)


def random_distribution(
    V: int, generator: torch.Generator, support: int | None = None, sharpness: float = 2.0
) -> Tensor:
    """A random distribution [V] with mass on `support` random tokens only (all of them if None)."""
    logits = sharpness * torch.randn(V, generator=generator, dtype=torch.float64)
    if support is not None:
        logits[torch.randperm(V, generator=generator)[support:]] = -torch.inf
    return torch.softmax(logits, -1)


def pairs(count: int, V: int = 5, seed: int = 0, at_least: int = 1) -> list[tuple[Tensor, Tensor]]:
    """Random (p, q), half of them with zeros in q, some with zeros in p."""
    g = torch.Generator().manual_seed(seed)
    return [
        (
            random_distribution(V, g, V - 2 if i % 3 == 2 else None),
            random_distribution(V, g, max(V - 2, at_least) if i % 2 else None),
        )
        for i in range(count)
    ]


def distance(a: Tensor, b: Tensor) -> float:
    """Total variation."""
    return 0.5 * float((a - b).abs().sum())


def drawn(q_V: Tensor, m: int) -> Iterator[tuple[tuple[int, ...], float]]:
    """Every ordered draw of m different tokens from q without replacement, with its probability."""
    q = q_V.tolist()
    alive = [v for v in range(len(q)) if q[v] > 0]
    for tokens in permutations(alive, min(m, len(alive))):
        mass, left = 1.0, 1.0
        for token in tokens:
            mass *= q[token] / left
            left -= q[token]
        yield tokens, mass


def node_distribution(step: Step, tokens: Sequence[int], weight: float, out_V: Tensor) -> None:
    """Add what one node emits: `step` was run with every child refused, so it holds all acceptance probabilities."""
    reach = weight
    for token, test in zip(tokens, step.tests, strict=True):
        out_V[token] += reach * test["ratio"]
        reach *= 1 - test["ratio"]
    out_V += reach * step.rest_V


REFUSE = [1.0] * 10


def sample_distribution(p_V: Tensor, q_V: Tensor, correction: verify.Correction = "residual") -> Tensor:
    """What K2 (or K3) emits at one node, the draft token being drawn from q."""
    out = torch.zeros_like(p_V)
    for token, mass in enumerate(q_V.tolist()):
        if mass > 0:
            node_distribution(verify.step_sample(p_V, q_V, token, 1.0, correction), [token], mass, out)
    return out


def point_distribution(p_V: Tensor, tokens: Sequence[int]) -> Tensor:
    """What K5 emits at one node with chosen children."""
    out = torch.zeros_like(p_V)
    node_distribution(verify.step_point(p_V, tokens, REFUSE[: len(tokens)]), tokens, 1.0, out)
    return out


def replacement_distribution(
    p_V: Tensor,
    q_V: Tensor,
    m: int,
    visit: Callable[[Sequence[int]], Sequence[int]] = tuple,
    told: Tensor | None = None,
) -> Tensor:
    """What K6 emits at one node with m children from q; `visit` reorders them, `told` is the q that the kernel is given."""
    out = torch.zeros_like(p_V)
    for tokens, mass in drawn(q_V, m):
        order = visit(tokens)
        step = verify.step_without_replacement(p_V, q_V if told is None else told, order, REFUSE[: len(order)])
        node_distribution(step, order, mass, out)
    return out


class Watched(RoundView):
    """A view that notes the distribution it would draw the emitted token from, instead of drawing."""

    def emit(self, row: int) -> int:
        self.emitted = (
            torch.nn.functional.one_hot(torch.tensor(self.choice[row]), self.p.shape[-1]).double()
            if self.sampling.greedy
            else self.p[row]
        )
        return -1

    def draw(self, what: "int | Tensor") -> int:
        V = self.logits.shape[-1]
        self.emitted = torch.nn.functional.one_hot(torch.tensor(what), V).double() if isinstance(what, int) else what
        return -1


def outcomes(
    rule: Rule, draft: Draft, logits_MV: Tensor, sampling: Sampling = SAMPLED
) -> Iterator[tuple[float, Verdict, Tensor]]:
    """Every accept and refuse path of a rule over one draft: its probability, the verdict, and the distribution of the next token [V].

    A node is made to be accepted by the uniform 0 and refused by the uniform 1; the weight is its own acceptance
    probability. A refusal that the rule forces (probability 0) has no other branch.
    """

    def grow(choices: dict[int, bool], weight: float) -> Iterator[tuple[float, Verdict, Tensor]]:
        us = [0.0 if choices.get(i, False) else 1.0 for i in range(len(draft))]
        view = Watched(draft, logits_MV, sampling, us, 0.5, 5)
        verdict = rule(view)
        fresh = next((i for i in verdict.checks if i not in choices), None)
        if fresh is None:
            yield weight, verdict, view.emitted
            return
        accept = verdict.checks[fresh].accept_prob
        assert accept is not None and -1e-12 <= accept <= 1 + 1e-12
        if accept > 0:
            yield from grow(choices | {fresh: True}, weight * accept)
        if accept < 1:
            yield from grow(choices | {fresh: False}, weight * (1 - accept))

    yield from grow({}, 1.0)


class Tree:
    """Random target and draft distributions after every text up to a depth: a whole model of two or three tokens."""

    def __init__(self, V: int, depth: int, seed: int, holes: bool = False) -> None:
        g = torch.Generator().manual_seed(seed)
        self.V = V
        texts = [text for d in range(depth + 1) for text in product(range(V), repeat=d)]
        self.p = {text: random_distribution(V, g) for text in texts}
        self.q = {text: random_distribution(V, g, V - 1 if holes else None) for text in texts}

    def joint(self, length: int) -> dict[Text, float]:
        """The target's own distribution of the next `length` tokens."""
        return {
            text: math.prod(float(self.p[text[:i]][text[i]]) for i in range(length))
            for text in product(range(self.V), repeat=length)
        }

    def rows(self, draft: Draft) -> Tensor:
        """Target logits [N + 1, V] over a draft."""
        texts: list[Text] = [(), *(tuple(draft.path_tokens(i)) for i in range(len(draft)))]
        return torch.stack([self.p[text].log() for text in texts])

    def chains(self, gamma: int) -> Iterator[tuple[Draft, float]]:
        """Every chain that the draft can propose, with its probability."""
        for tokens in product(range(self.V), repeat=gamma):
            mass = math.prod(float(self.q[tokens[:i]][tokens[i]]) for i in range(gamma))
            if mass > 0:
                distributions = torch.stack([self.q[tokens[:i]] for i in range(gamma)])
                yield Draft(tokens, tuple(range(-1, gamma - 1)), "sample", tuple(range(gamma)), distributions), mass

    def bushes(self, widths: tuple[int, int]) -> Iterator[tuple[Draft, float]]:
        """Every two-level tree drawn without replacement, siblings in draw order."""
        for first, mass in drawn(self.q[()], widths[0]):
            below = [list(drawn(self.q[(t,)], widths[1])) for t in first]
            for choice in product(*below):
                tokens, parents, group = list(first), [-1] * len(first), [0] * len(first)
                for i, (kids, _) in enumerate(choice):
                    tokens += kids
                    parents += [i] * len(kids)
                    group += [1 + i] * len(kids)
                distributions = torch.stack([self.q[()], *(self.q[(t,)] for t in first)])
                weight = mass * math.prod(w for _, w in choice)
                yield Draft(tuple(tokens), tuple(parents), "without_replacement", tuple(group), distributions), weight

    def emitted(self, rule: Rule, drafts: Iterable[tuple[Draft, float]], length: int) -> dict[Text, float]:
        """Distribution of the first `length` tokens when each round's rest is finished by the target itself."""
        distribution = dict.fromkeys(product(range(self.V), repeat=length), 0.0)
        for draft, mass in drafts:
            for weight, verdict, next_V in outcomes(rule, draft, self.rows(draft)):
                head = tuple(draft.tokens[i] for i in verdict.path)
                for token, share in enumerate(next_V.tolist()):
                    self._finish(distribution, (*head, token), mass * weight * share, length)
        return distribution

    def _finish(self, distribution: dict[Text, float], text: Text, mass: float, length: int) -> None:
        if mass == 0:
            return
        if len(text) >= length:
            distribution[text[:length]] += mass
            return
        for token, share in enumerate(self.p[text].tolist()):
            self._finish(distribution, (*text, token), mass * share, length)


def worst(a: dict[Text, float], b: dict[Text, float]) -> float:
    """Total variation of two distributions over texts."""
    return 0.5 * sum(abs(a[text] - b[text]) for text in a)
