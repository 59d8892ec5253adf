"""DAT: the directed acyclic Transformer (Huang et al. 2022, 2205.07459).

The decoder's places are the vertices of a graph, several for each place of the source. Each vertex has a distribution
over tokens and one over the vertices after it, so that different wordings can take different paths. A text is written
along a path from the first vertex, which writes nothing, to the last, which ends it; training sums over all paths.
Two simplifications: vertices begin as copies of the source's states, and transitions have half the model's width.

Dimension key: B rows, L vertices, M tokens of a text, H heads of the transitions, V vocabulary, D width.
"""

from collections.abc import Iterator, Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from engine.errors import ConfigError, unknown
from engine.nat.canvas import Canvas
from engine.nat.glancing import glance, spread
from engine.nat.network import Frozen, Shape
from engine.nat.system import END, PAD, System, at_least_one

TIMES = 3  # vertices for each place of the source
SHARES = (0.5, 0.1)  # of the wrong tokens that are shown, at the start and at the end of training
NEVER = -1e9  # log-probability of what cannot be, finite so that differences of two are numbers
DECODINGS = ("lookahead", "greedy")


class Dat(System):
    """Predicts tokens of vertices and transitions between them, and writes along one path."""

    KIND: ClassVar[str] = "dat"

    def __init__(self, shape: Shape, frozen: Frozen, context: int = 512) -> None:
        super().__init__(shape, frozen, context)
        seen = shape.heads * max(1, shape.width // shape.heads // 2)
        self.q, self.k = (nn.Linear(shape.width, seen, bias=False) for _ in range(2))
        self.gate = nn.Linear(shape.width, shape.heads)

    def inputs(self, states_BZD: Tensor, seen_BZ: Tensor) -> tuple[Tensor, Tensor]:
        """Inputs [B, L, D] of vertices that know no token, and where there are any [B, L]."""
        x, there = spread(states_BZD, seen_BZ, TIMES, self.decoder.shape.places)
        return x + self.hole, there

    def graph(self, x_BLD: Tensor, there_BL: Tensor, states_BZD: Tensor, seen_BZ: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities of tokens [B, L, V], and of transitions [B, L, L] from row to column."""
        x = self.decoder(x_BLD, there_BL, states_BZD, seen_BZ)
        return self.frozen.logits(x).float().log_softmax(-1), self.links(x, there_BL)

    def links(self, x_BLD: Tensor, there_BL: Tensor) -> Tensor:
        """Transitions [B, L, L], a mixture over heads: to later vertices alone, and none from the last one."""
        places = x_BLD.shape[1]
        x = x_BLD + self.decoder.places_TD[:places]
        q, k = (part(x).unflatten(-1, (self.gate.out_features, -1)).transpose(1, 2) for part in (self.q, self.k))
        later = there_BL[:, None] & torch.ones(places, places, dtype=torch.bool, device=x.device).triu(1)
        raw = (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).float()
        each = raw.masked_fill(~later[:, None], NEVER).log_softmax(-1)
        weights = self.gate(x).float().log_softmax(-1).transpose(1, 2)
        mixed: Tensor = (each + weights[..., None]).logsumexp(1)
        return mixed.masked_fill(~later, NEVER)

    def loss(self, source_BZ: Tensor, target_BT: Tensor) -> Tensor:
        """Minus the log-probability of all paths, some tokens shown on the likeliest one; a text with no path, since
        it has more tokens than vertices, counts nothing."""
        states, seen = self.encoded(source_BZ)
        x, there = self.inputs(states, seen)
        ends, sizes = there.sum(1) - 1, (target_BT != PAD).sum(1)
        with torch.no_grad():
            tokens, links = self.graph(x, there, states, seen)
            path = best_path(links, emitted(tokens, target_BT), sizes, ends)
            wrong = tokens.argmax(-1).gather(1, path) != target_BT
            begin, end = SHARES
            asked = target_BT != PAD
            shown = glance(wrong & asked, asked, begin + (end - begin) * self.done)
            clues = torch.full_like(there, PAD, dtype=torch.long).scatter(1, path, target_BT * shown)
        x = torch.where((clues != PAD)[..., None], self.embed(clues), x)
        tokens, links = self.graph(x, there, states, seen)
        return -all_paths(links, emitted(tokens, target_BT), sizes, ends)[sizes <= ends].sum()

    def write(self, source: Sequence[int], limit: int, decoding: str = "lookahead") -> Iterator[Canvas]:
        """The tokens along one path: one canvas, all of it fresh.

        From each vertex `greedy` goes the likeliest transition, `lookahead` the one whose product with the probability
        of its vertex's likeliest token is highest; both write that token. A text longer than `limit` is cut there.

        Raises:
            ConfigError: a source longer than the encoder reads, a limit below one, or an unknown decoding.
        """
        at_least_one(limit=limit)
        if decoding not in DECODINGS:
            raise ConfigError(unknown("decoding", decoding, DECODINGS))
        with torch.inference_mode():
            states, seen = self.read(source)
            scores, links = (found[0] for found in self.graph(*self.inputs(states, seen), states, seen))
            scores[:, PAD] = NEVER  # nothing that could be written
            best, tokens = scores.max(-1)
            walk = follow(links + best if decoding == "lookahead" else links)
        text, sure = tokens[walk].tolist(), best[walk].exp().tolist()
        size = min(limit, text.index(END) + 1 if END in text else len(text))
        yield Canvas(text[:size], sure[:size], [True] * size, final=True)


def follow(scores_LL: Tensor) -> list[int]:
    """The vertices from the first (left out) to the last, from each to the one that scores highest."""
    after = scores_LL.argmax(1).tolist()
    at, walk = 0, list[int]()
    while at < len(after) - 1:
        at = after[at]
        walk.append(at)
    return walk


def emitted(tokens_BLV: Tensor, target_BM: Tensor) -> Tensor:
    """Log-probabilities [B, M, L] with which each vertex writes each token of a text."""
    return tokens_BLV.gather(2, target_BM[:, None].expand(-1, tokens_BLV.shape[1], -1)).transpose(1, 2)


def all_paths(links_BLL: Tensor, emitted_BML: Tensor, sizes_B: Tensor, ends_B: Tensor) -> Tensor:
    """Log-probability [B] of a text, summed over all paths of `sizes_B` steps from vertex 0 to the vertex `ends_B`."""
    into = links_BLL.transpose(1, 2).contiguous()  # a row for each vertex that is reached
    total = _start(links_BLL)
    for i, emits in enumerate(emitted_BML.unbind(1)):
        reached = (into + total[:, None]).logsumexp(2) + emits
        total = torch.where((i < sizes_B)[:, None], reached, total)
    return total.gather(1, ends_B[:, None])[:, 0]


def best_path(links_BLL: Tensor, emitted_BML: Tensor, sizes_B: Tensor, ends_B: Tensor) -> Tensor:
    """The vertices [B, M] of the likeliest path of each text, 0 after its end (Viterbi)."""
    into = links_BLL.transpose(1, 2).contiguous()
    best = _start(links_BLL)
    steps = list[Tensor]()
    for i, emits in enumerate(emitted_BML.unbind(1)):
        reached, back = (into + best[:, None]).max(2)
        best = torch.where((i < sizes_B)[:, None], reached + emits, best)
        steps.append(back)
    at, path = ends_B[:, None], list[Tensor]()
    for i in reversed(range(len(steps))):
        on = (i < sizes_B)[:, None]
        path.append(at * on)
        at = torch.where(on, steps[i].gather(1, at), at)
    return torch.cat(path[::-1], 1)


def _start(links_BLL: Tensor) -> Tensor:
    """Log-probabilities [B, L] of being at each vertex before anything is written."""
    start = torch.full_like(links_BLL[:, 0], NEVER)
    start[:, 0] = 0.0
    return start
