"""The growing tree against a brute-force one."""

import itertools
import math
import random

import pytest
import torch

from engine.strata.metapath import meta_path
from engine.trees.growth import Growth, Trust, likeliest

CPU = torch.device("cpu")


def table(levels: int, V: int, seed: int) -> dict[tuple[int, ...], torch.Tensor]:
    """Random logits after every path."""
    rng = torch.Generator().manual_seed(seed)
    paths = itertools.chain.from_iterable(itertools.product(range(V), repeat=n) for n in range(levels))
    return {path: 2 * torch.randn(V, generator=rng) for path in paths}


def grow(
    distributions: dict[tuple[int, ...], torch.Tensor], levels: int, width: int
) -> tuple[Growth, list[list[tuple[int, ...]]]]:
    """A Growth fed from the table, and the frontier's paths at each level."""
    grown = Growth(width, CPU)
    paths: list[list[tuple[int, ...]]] = [[()]]
    for _ in range(levels):
        grown.add(torch.stack([distributions[p] for p in paths[-1]]))
        rows, tokens = grown.rows.tolist(), grown.fresh.tolist()
        paths.append([(*paths[-1][r], t) for r, t in zip(rows, tokens, strict=True)])
    return grown, paths


def brute(distributions: dict[tuple[int, ...], torch.Tensor], levels: int, width: int) -> dict[tuple[int, ...], float]:
    """Every candidate of EAGLE-2's expansion and its score."""
    frontier: dict[tuple[int, ...], float] = {(): 0.0}
    found = dict[tuple[int, ...], float]()
    for _ in range(levels):
        level = dict[tuple[int, ...], float]()
        for path, score in frontier.items():
            logp = distributions[path].log_softmax(-1)
            level |= {(*path, t): score + float(logp[t]) for t in logp.topk(width).indices.tolist()}
        found |= level
        frontier = dict(sorted(level.items(), key=lambda item: -item[1])[:width])
    return found


@pytest.mark.parametrize("seed", range(4))
def test_expansion_and_rerank_equal_brute_force(seed: int) -> None:
    distributions = table(4, 5, seed)
    grown, _ = grow(distributions, 4, 3)
    want = brute(distributions, 4, 3)
    assert grown.count == len(want) == 3 + 3 * 3 * 3
    draft = grown.draft(10)
    paths = {tuple(draft.path_tokens(i)): s for i, s in enumerate(draft.scores or ())}
    best = dict(sorted(want.items(), key=lambda item: -item[1])[:10])
    assert paths == pytest.approx(best, abs=1e-5)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("nodes", [2, 4, 6])
def test_a_small_tree_needs_no_children_of_nodes_that_it_leaves_out(seed: int, nodes: int) -> None:
    distributions = table(4, 5, seed)
    if seed % 2:  # many equal scores
        distributions = {path: logits.round() for path, logits in distributions.items()}
    whole, _ = grow(distributions, 4, 3)
    few, frontier = Growth(3, CPU), [()]
    for _ in range(4):
        few.add(torch.stack([distributions[path] for path in frontier]))
        if (places := few.within(nodes)) is not None:
            if not places:
                break
            few.narrow(places)
        rows, tokens = few.rows.tolist(), few.fresh.tolist()
        frontier = [(*frontier[row], token) for row, token in zip(rows, tokens, strict=True)]
    assert few.count < whole.count or nodes == 6
    one, other = few.draft(nodes), whole.draft(nodes)
    assert (one.tokens, one.parents, one.scores) == (other.tokens, other.parents, other.scores)


def test_all_of_a_large_tree_and_of_a_chain_has_children() -> None:
    distributions = table(3, 5, 0)
    grown, _ = grow(distributions, 3, 3)
    assert grown.within(grown.count) is None and grown.within(grown.count - 1) is None
    chain, _ = grow(distributions, 3, 1)
    assert chain.within(1) is None


def test_equal_scores_keep_the_tree_closed() -> None:
    """Certain steps cost nothing, so a child ties with its parent."""
    grown = Growth(2, CPU)
    sure = torch.tensor([200.0, 0, 0])
    for level in range(4):
        grown.add(sure.repeat(1 if level == 0 else 2, 1))
    assert grown.draft(3).parents == (-1, 0, 1)


def test_the_meta_path_and_its_entropy_by_hand() -> None:
    distributions = table(3, 6, 2)  # whose surest last token is not the end of its likeliest path
    grown, paths = grow(distributions, 3, 3)
    phi, path = meta_path(grown, 3)
    last = {p: float(distributions[p[:-1]].log_softmax(-1)[p[-1]]) for p in paths[-1]}
    assert tuple(path) == max(last, key=lambda p: last[p])
    want = 0.0
    for depth in range(3):
        top = distributions[tuple(path[:depth])].topk(3).values.softmax(-1)
        want -= float((top * top.log()).sum())
    assert phi == pytest.approx(want, abs=1e-5)
    assert 0 <= phi <= 3 * math.log(3)
    whole = brute(distributions, 3, 3)
    likeliest_path = meta_path(grown, 3, cumulative=True)[1]
    assert tuple(likeliest_path) == max(paths[-1], key=lambda p: whole[p]) and likeliest_path != path
    wider, _ = meta_path(grown, 5)
    assert wider != pytest.approx(phi)


def test_left_out_branches_and_their_distributions() -> None:
    distributions = table(2, 5, 0)
    grown = Growth(2, CPU)
    grown.add(distributions[()][None])
    second = int(grown.fresh[1])
    grown.keep(torch.tensor([1]))
    grown.add(distributions[(second,)][None])
    draft = grown.draft(9, full=True)
    assert draft.parents == (-1, -1, 1, 1)
    assert draft.logits is not None and torch.equal(draft.logits[draft.group[2]], distributions[(second,)])
    phi, path = meta_path(grown, 2)
    assert path[0] == second and phi > 0


@pytest.mark.parametrize("spared", [None, ("entropy bin", 5)])
def test_what_is_left_out_says_why(spared: tuple[str, int] | None) -> None:
    """For want of rank where nothing hangs below it, of budget elsewhere; what a larger size would have taken, for that."""
    distributions = table(3, 5, 0)
    grown, paths = grow(distributions, 3, 2)
    draft = grown.draft(3, full=True, spared=spared)
    expanded = {path for level in paths[:-1] for path in level}
    larger = grown.draft(spared[1]) if spared else draft
    saved = {tuple(larger.path_tokens(i)) for i in range(len(larger))}
    causes = set()
    for one in draft.pruned:
        path = (*draft.path_tokens(one["parent"]), one["token"])
        kept = spared[0] if spared and path in saved else "budget" if path in expanded else "rank"
        assert one["cause"] == kept
        causes.add(kept)
    assert causes == {"rank", "budget"} if spared is None else {"entropy bin"} < causes


@pytest.mark.parametrize("seed", range(6))
def test_parents_and_rows_where_levels_keep_some_of_their_frontier(seed: int) -> None:
    """Any rows of any level, in any order: each candidate hangs where it was taken, and its logits are its parent's."""
    rng, distributions = random.Random(seed), table(4, 5, seed)
    grown, frontier = Growth(3, CPU), [()]
    want = dict[tuple[int, ...], tuple[int, ...]]()
    for level in range(4):
        if rng.random() < 0.6:
            rows = rng.sample(range(len(frontier)), rng.randint(1, len(frontier)))
            grown.keep(torch.tensor(rows))
            frontier = [frontier[row] for row in rows]
        grown.add(torch.stack([distributions[path] for path in frontier]))
        taken = grown.ids[level].tolist()
        want |= {(*path, token): path for i, path in enumerate(frontier) for token in taken[3 * i : 3 * i + 3]}
        places = zip(grown.rows.tolist(), grown.fresh.tolist(), strict=True)
        frontier = [(*frontier[row], token) for row, token in places]
    draft = grown.draft(grown.count, full=True)
    paths = [tuple(draft.path_tokens(i)) for i in range(len(draft))]
    assert dict(zip(paths, (path[:-1] for path in paths), strict=True)) == want
    assert draft.logits is not None
    for path, group in zip(paths, draft.group, strict=True):
        assert torch.equal(draft.logits[group], distributions[path[:-1]])


@pytest.mark.parametrize(("V", "k"), [(448, 10), (639, 10), (640, 10), (70, 2), (33, 1), (5, 9), (64, 2), (50, 2)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_the_likeliest_of_rows_that_are_filled_up_and_of_others(V: int, k: int, dtype: torch.dtype) -> None:
    rng = torch.Generator().manual_seed(V)
    logits = torch.stack([torch.randperm(V, generator=rng) for _ in range(7)]).to(dtype) / 8
    values, ids = likeliest(logits, k)
    logp = (logits if dtype == torch.float64 else logits.float()).log_softmax(-1)
    assert ids.shape == values.shape == (7, min(k, V)) and int(ids.max()) < V
    assert torch.equal(values, logp.gather(-1, ids))
    assert torch.equal(values, logp.sort(-1, descending=True).values[:, :k])


def test_any_part_of_the_frontier_may_go_on() -> None:
    distributions = table(2, 5, 0)
    for places in ([0], [1], [0, 1], [0, 2], [1, 2]):
        grown = Growth(3, CPU)
        grown.add(distributions[()][None])
        fresh, best = grown.fresh.tolist(), grown.best.tolist()
        grown.narrow(places)
        assert grown.fresh.tolist() == [fresh[i] for i in places] and grown.best.tolist() == [best[i] for i in places]
        grown.add(torch.stack([distributions[(fresh[i],)] for i in places]))
        draft = grown.draft(99)
        below = {draft.tokens[parent] for parent in draft.parents if parent >= 0}
        assert below == {fresh[i] for i in places}


@pytest.mark.parametrize("trust", [Trust(0.3, 0.9), Trust(1.0, 1.0), Trust(1.6, 0.1), Trust(0.01, 1.2)])
def test_candidates_are_ranked_as_they_are_believed_and_told_as_the_drafter_says(trust: Trust) -> None:
    distributions = table(3, 5, 2)
    grown = Growth(2, CPU, trust=trust)
    frontier: dict[tuple[int, ...], tuple[float, float]] = {(): (0.0, 0.0)}
    want = dict[tuple[int, ...], tuple[float, float]]()
    for _ in range(3):
        grown.add(torch.stack([distributions[path] for path in frontier]))
        level = dict[tuple[int, ...], tuple[float, float]]()
        for path, (above, said) in frontier.items():
            top = distributions[path].softmax(-1).topk(2)
            first, other = top.values.tolist()
            firm = max(1 - (1 - first) * trust.fails, 1e-6)
            chances = firm, min(other * trust.others, firm)
            for token, p, chance in zip(top.indices.tolist(), (first, other), chances, strict=True):
                level[(*path, token)] = above + math.log(chance), said + math.log(p)
        want |= level
        frontier = dict(sorted(level.items(), key=lambda item: -item[1][0])[:2])
    draft = grown.draft(5)
    told = {tuple(draft.path_tokens(i)): score for i, score in enumerate(draft.scores or ())}
    best = sorted(want, key=lambda path: -want[path][0])[:5]
    assert told == pytest.approx({path: want[path][1] for path in best}, abs=1e-5)
    believed = grown.candidates().believed
    assert sorted(believed.tolist()) == pytest.approx(sorted(score for score, _ in want.values()), abs=1e-5)
    for said in (float(distributions[()].softmax(-1).amax(-1)), 1e-9):
        assert trust.likeliest(said) == pytest.approx(max(1 - (1 - said) * trust.fails, 1e-6))
