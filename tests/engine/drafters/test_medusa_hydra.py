from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from engine.drafters.medusa import Medusa
from engine.heads.lean import Memory
from engine.lab import Lab
from engine.shapes.static_tree import StaticTree
from tests.engine.drafters.heads import decoding, headed
from tests.engine.drafters.lookups import context
from tests.engine.zoo import Zoo
from tests.typed import known, some

PROMPT = [5, 6, 7, 8, 9, 10]


@pytest.fixture
def lab(zoo: Zoo, tmp_path: Path) -> Lab:
    return headed(zoo, tmp_path)


def test_medusa_nodes_of_a_depth_share_one_list(lab: Lab) -> None:
    nodes = lab.run("medusa", PROMPT, max_new_tokens=8).rounds[0].nodes
    assert len(nodes) == 63 and max(n.depth for n in nodes) == 4
    for depth in (1, 2, 3):
        lists = [tuple(n.top_draft or ()) for n in nodes if n.depth == depth]
        assert len(set(lists)) == 1
    for node in nodes:
        assert node.source == {"kind": "head", "index": node.depth, "level": node.depth}
        assert node.token in dict(node.top_draft or [])


def test_medusa_fills_the_tree_by_rank_and_adds_up_its_paths(lab: Lab) -> None:
    method = decoding(lab, "medusa", PROMPT).method
    drafter, tree = known(Medusa, method.drafter), known(StaticTree, method.shape).tree
    with torch.inference_mode():
        draft = drafter._fill(tree, torch.randn(1, lab.target.width, generator=torch.Generator().manual_seed(0)), True)
    logp, scores = some(draft.logits).log_softmax(-1), some(draft.scores)
    order = logp.argsort(descending=True)
    assert len(draft) == len(tree) and {len(path) for path in tree.paths} == {1, 2, 3, 4}
    for i, path in enumerate(tree.paths):
        assert draft.path_tokens(i) == [int(order[d, rank]) for d, rank in enumerate(path)]
        assert scores[i] == pytest.approx(sum(float(logp[d, order[d, r]]) for d, r in enumerate(path)), abs=1e-5)


@pytest.mark.parametrize("name", ["medusa", "hydra"])
def test_a_tree_is_no_deeper_than_there_are_heads(lab: Lab, name: str) -> None:
    trace = lab.run(name, PROMPT, max_new_tokens=12, tree="best_first", tree_nodes=300, tree_depth=20)
    assert max(event.levels for event in trace.rounds) == lab.asset(name).heads


@pytest.mark.parametrize("n", [0, 1, 2, 4])
def test_a_chain_of_medusa_s_heads_ends_where_its_shape_says(lab: Lab, n: int) -> None:
    drafter = known(Medusa, decoding(lab, "blockwise", PROMPT).method.drafter)
    shape = SimpleNamespace(limit=lambda: 9, more=lambda drafted, row: drafted < n, keep=lambda draft: draft)
    with torch.inference_mode():
        draft = drafter._chain(torch.ones(1, lab.target.width), context(PROMPT), shape)
    assert len(draft) == n and draft.is_chain


def test_medusa_reads_the_state_before_the_root(lab: Lab) -> None:
    run = decoding(lab, "medusa", PROMPT)
    rounds = run.run()
    with torch.inference_mode():
        for _ in range(3):
            before = list(run.tokens)
            next(rounds)
            state = lab.target.session(64).forward(before).last[-2:-1]
            want = lab.asset("medusa").logits(state, 1)[0]
            node = next(i for i, d in enumerate(run.draft.depths) if d == 2)
            assert run.draft.tokens[node] == int(want.argmax())


def test_hydra_scores_follow_the_draft_tokens_before(lab: Lab) -> None:
    """Against the heads run on each path by itself, with a prefix layer that keeps nothing."""
    head = lab.asset("hydra")
    run = decoding(lab, "hydra", PROMPT, tree_nodes=20)
    rounds = run.run()
    with torch.inference_mode():
        for _ in range(3):
            before = list(run.tokens)
            next(rounds)
            states = lab.target.session(64).forward(before[:-1]).last
            prefix = head.prefix(head.memory(len(states)), states)
            for i in range(len(run.draft)):
                path = run.draft.path_tokens(i)
                inputs = [prefix, *(lab.target.decoder.embed(torch.tensor([t])) for t in (before[-1], *path[:-1]))]
                logp = head.logits(torch.cat(inputs, -1), len(path) - 1)[0].log_softmax(-1)
                parent = run.draft.parents[i]
                above = (run.draft.scores or ())[parent] if parent >= 0 else 0.0
                assert (run.draft.scores or ())[i] == pytest.approx(above + float(logp[path[-1]]), abs=2e-3)


def test_hydra_lists_depend_on_the_parent(lab: Lab) -> None:
    nodes = lab.run("hydra", PROMPT, max_new_tokens=8).rounds[0].nodes
    assert len({tuple(n.top_draft or ()) for n in nodes if n.depth == 2}) > 1


def test_blockwise_is_medusas_first_choices(lab: Lab) -> None:
    chain = lab.run("blockwise", PROMPT, max_new_tokens=8).rounds[0]
    tree = lab.run("medusa", PROMPT, max_new_tokens=8).rounds[0]
    first = [next(n.token for n in tree.nodes if n.depth == d) for d in (1, 2, 3, 4)]
    assert [n.token for n in chain.nodes] == first and [n.parent for n in chain.nodes] == [-1, 0, 1, 2]
    none = lab.run("blockwise", PROMPT, max_new_tokens=8, gamma=0)
    assert [r.drafted for r in none.rounds] == [0] * 8  # a block of one is the target alone


def test_memory_is_only_of_committed_tokens(lab: Lab) -> None:
    for method in ("hydra", "eagle2", "eagle3"):
        run = decoding(lab, method, PROMPT)
        rounds = run.run()
        with torch.inference_mode():
            for _ in range(3):
                before = len(run.tokens)
                next(rounds)
                memory: Memory = run.method.drafter.memory  # type: ignore[attr-defined]
                assert memory.length == before - 1
