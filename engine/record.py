"""From a decided round to the nodes and tokens of the trace."""

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

from engine.config import Writer
from engine.draft import CanvasDraft, Draft
from engine.sampling import read, sent
from engine.threshold import OVERLAP_N
from engine.trace.events import Node, Round, Token
from engine.verify import Verdict
from engine.view import RoundView


class Recorder:
    """Writes the rounds of one run down; `full` with every draft token and its numbers, else counts and tokens only."""

    def __init__(
        self,
        piece: Callable[[int], str],
        rule: str,
        full: bool,
        overlap_n: int = OVERLAP_N,
        writer: Writer = "target",
        looks: int = 0,
    ) -> None:
        """`piece` gives a token's text, `rule` is the name that nodes carry, `overlap_n` the n of their overlap,
        `writer` whose numbers those of the "target" are, `looks` how many places of the source are kept a token."""
        self._piece, self._rule, self._full, self._overlap_n = piece, rule, full, overlap_n
        self._writer, self._looks = writer, looks
        self._seen: set[int] = set()

    def round(
        self, view: RoundView, verdict: Verdict, emitted: Sequence[int], start: int, index: int, fed: int
    ) -> Round:
        """The round that committed `emitted`, the first of them at `start` in the response, and for which the target
        read `fed` tokens; times come later."""
        if isinstance(view.draft, CanvasDraft):
            return self._iteration(view.draft, emitted, start, index)
        draft, accepted = view.draft, min(len(verdict.path), len(emitted))
        pieces = [self._piece(token) for token in emitted]
        tokens = tokens_of(view, verdict, emitted, pieces, start, index, self._full)
        if tokens and self._looks and view.looks is not None:
            looked_at(tokens, view.looks, verdict, self._looks)
        nodes = nodes_of(view, verdict, len(emitted), self._rule, self._overlap_n) if self._full else []
        if self._writer == "draft":
            drafts_alone(tokens, nodes)
        return Round(
            index=index,
            start=start,
            drafted=len(draft),
            fed=fed,
            levels=draft.levels,
            accepted=accepted,
            emitted=len(emitted),
            path=verdict.path[:accepted],
            draft_ms=0,
            verify_ms=0,
            other_ms=0,
            tcr=_last_rank(draft, verdict.path[:accepted]),
            extras=draft.extras | verdict.extras,
            nodes=nodes,
            pruned=list(draft.pruned) if self._full else [],
            tokens=tokens,
            pieces=self._new_pieces(mentioned(nodes, tokens, draft.extras.get("window", ()))) if self._full else {},
        )

    def _iteration(self, canvas: CanvasDraft, emitted: Sequence[int], start: int, index: int) -> Round:
        """The round of an iteration: what stands at each place, and the text once it is final."""
        tokens = [
            Token(pos=start + i, token=token, piece=self._piece(token), origin="placed", round=index)
            for i, token in enumerate(emitted)
        ]
        cells = list(canvas.cells) if self._full else None
        named = {token for cell in cells or () for token in (cell.token, cell.before) if token is not None}
        return Round(
            index=index,
            start=start,
            drafted=0,
            fed=0,
            levels=0,
            accepted=0,
            emitted=len(emitted),
            path=[],
            draft_ms=0,
            verify_ms=0,
            other_ms=0,
            extras=canvas.extras,
            tokens=tokens,
            pieces=self._new_pieces(named),
            canvas=cells,
        )

    def _new_pieces(self, named: set[int]) -> dict[str, str]:
        """The texts of ids that no round before has named."""
        fresh = named - self._seen
        self._seen |= fresh
        return {str(i): self._piece(i) for i in sorted(fresh)}


def _last_rank(draft: Draft, path: Sequence[int]) -> int | None:
    """HeteroSpec's TCR (section 3): rank of the last accepted node by cumulative draft probability, 0 for none."""
    if not len(draft):
        return None
    return draft.ranks[path[-1]] if path else 0


def nodes_of(view: RoundView, verdict: Verdict, emitted: int, rule: str, overlap_n: int = OVERLAP_N) -> list[Node]:
    """Every draft token of the round with its numbers. Where the text ended at a draft token, the last of `emitted`
    tokens, those behind it are discarded, whatever the rule said of them.

    `overlap` compares the first `overlap_n` choices of both models.
    """
    draft, stats, sampled = view.draft, view.stats, not view.sampling.greedy
    cut = emitted < len(verdict.path) + (verdict.emit is not None)
    deepest = min(emitted, len(verdict.path)) if cut else draft.levels
    out = []
    for i, token in enumerate(draft.tokens):
        check = verdict.checks.get(i)
        state = "discarded" if check is None or draft.depths[i] > deepest else check.state
        reason = check.reason if check else {"id": "untested", "after": _blocker(view, verdict, i)}
        row, group = draft.parents[i] + 1, draft.group[i] if draft.group else 0
        out.append(
            Node(
                token=token,
                parent=draft.parents[i],
                depth=draft.depths[i],
                state=state,
                rank=draft.ranks[i],
                score=draft.scores[i] if draft.scores else None,
                q=view.draft_share(i),
                h_draft=stats.h_draft(i),
                top_draft=stats.draft.top[group] if stats.draft else None,
                law_draft=view.cut[1][draft.group[i]] if draft.distributions is not None and sampled else None,
                source=draft.sources[i] if draft.sources else None,
                p=view.target_share(i) if view.read else None,
                h_target=stats.h_target(i),
                top_target=stats.target.top[row] if view.read else None,
                law_target=view.cut[0][row] if view.read and sampled else None,
                overlap=stats.overlap(i, overlap_n),
                accept_prob=check.accept_prob if check else None,
                u=view.u[i] if check and check.u is not None else None,
                judge=check.judge if check else None,
                confidence=draft.confidence[i] if draft.confidence else None,
                margin=stats.margin(i) if view.read else None,
                rule=rule,
                reason=reason,
            )
        )
    return out


def _blocker(view: RoundView, verdict: Verdict, node: int) -> int | None:
    """The tested ancestor at which the walk left this node's branch; None when an elder sibling was taken instead."""
    while node >= 0:
        if node in verdict.checks:
            return node
        node = view.draft.parents[node]
    return None


def tokens_of(
    view: RoundView, verdict: Verdict, emitted: Sequence[int], pieces: Sequence[str], start: int, index: int, full: bool
) -> list[Token]:
    """The round's committed tokens: those of the path, then the target's own."""
    out = []
    for i, (token, piece) in enumerate(zip(emitted, pieces, strict=True)):
        node = verdict.path[i] if i < len(verdict.path) else None
        state = verdict.checks[node].state if node is not None else None
        origin = verdict.origin if state is None else "relaxed" if state == "relaxed" else "draft"
        line = Token(pos=start + i, token=token, piece=piece, origin=origin, round=index, node=node)
        if full:
            _measure(line, view, verdict, node)
        out.append(line)
    return out


def looked_at(tokens: Sequence[Token], looks_MZ: Tensor, verdict: Verdict, n: int) -> None:
    """Note for each token the n places of the source that the row which gave or judged it looked at most, zeros left
    out."""
    rows = [verdict.path[i - 1] + 1 if i else 0 for i in range(len(tokens))]
    top = looks_MZ.index_select(0, sent(rows, looks_MZ.device, torch.long)).topk(min(n, looks_MZ.shape[1]))
    values, ids = read(top.values, top.indices)
    width = top.indices.shape[1]
    for i, token in enumerate(tokens):
        mine = slice(i * width, (i + 1) * width)
        token.looks = [(at, share) for at, share in zip(ids[mine], values[mine], strict=True) if share > 0]


def drafts_alone(tokens: Sequence[Token], nodes: Sequence[Node]) -> None:
    """Name the writer: what a run of the draft model alone calls the target's is the draft's, and no target looked."""
    for token in tokens:
        token.origin = "draft" if token.origin == "target" else token.origin
        token.h_draft, token.h_target, token.top_target = token.h_target, None, None
    for node in nodes:
        node.q, node.h_draft, node.top_draft = node.p, node.h_target, node.top_target
        node.p = node.h_target = node.top_target = node.law_target = node.margin = node.overlap = None


def _measure(line: Token, view: RoundView, verdict: Verdict, node: int | None) -> None:
    stats = view.stats
    if node is not None:
        line.h_draft, line.h_target = stats.h_draft(node), stats.h_target(node)
        return
    row = verdict.path[-1] + 1 if verdict.path else 0
    line.h_target, line.top_target = stats.target.h[row], stats.target.top[row]
    kids = view.draft.kids[row]
    if kids:
        line.h_draft = stats.h_draft(kids[0])


def mentioned(nodes: Sequence[Node], tokens: Sequence[Token], window: Iterable[Iterable[int]] = ()) -> set[int]:
    """Every token id that a round speaks of, passages of its sources and the `window` beside its draft included."""
    ids = {n.token for n in nodes} | {t.token for t in tokens} | {token for level in window for token in level}
    for top in [x for n in nodes for x in (n.top_draft, n.top_target)] + [t.top_target for t in tokens]:
        ids.update(token for token, _ in top or ())
    for node in nodes:
        ids.update((node.source or {}).get("passage", ()))
    return ids
