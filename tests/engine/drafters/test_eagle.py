import json
from pathlib import Path

import pytest
import torch

from engine.draft import Draft
from engine.errors import ConfigError
from engine.heads.eagle import EagleHead, tapped
from engine.lab import Lab
from engine.shapes.dynamic_tree import DynamicTree
from engine.trace.events import Round
from tests.engine.drafters.heads import METHODS, decoding, headed, reference
from tests.engine.zoo import EOS, Zoo

PROMPT = [5, 6, 7, 8, 9, 10]


@pytest.fixture(params=["llama", "qwen2"])
def lab(request: pytest.FixtureRequest, zoo: Zoo, tmp_path: Path) -> Lab:
    return headed(zoo, tmp_path, request.param)


@pytest.mark.parametrize("method", METHODS)
def test_greedy_equals_the_target_alone(lab: Lab, method: str) -> None:
    for prompt, n in (([7], 6), (PROMPT, 16), ([3 + i % 11 for i in range(40)], 6)):
        alone = lab.run("ar", prompt, max_new_tokens=n).token_ids
        trace = lab.run(method, prompt, max_new_tokens=n, record="light")
        assert trace.token_ids == alone and trace.end is not None and trace.end.reason == "limit"
        assert sum(r.emitted for r in trace.rounds) == n


def test_some_draft_tokens_are_accepted(lab: Lab) -> None:
    """Else the equality above would test little."""
    for method in ("eagle2", "eagle3"):
        assert sum(r.accepted for r in lab.run(method, PROMPT, max_new_tokens=20, record="light").rounds) >= 2


def test_the_end_of_text_cuts_an_accepted_path(zoo: Zoo, tmp_path: Path) -> None:
    lab = headed(zoo, tmp_path, zero_eos=False, seed=3)
    for start in range(3, 20):
        alone = lab.run("ar", [start, 4], max_new_tokens=24, record="light").token_ids
        if EOS in alone:
            break
    else:
        pytest.skip("no prompt ends early")
    for method in METHODS:
        assert lab.run(method, [start, 4], max_new_tokens=len(alone) + 3, record="light").token_ids == alone


def node_scores(lab: Lab, head: EagleHead, ids: list[int], draft: Draft, taps: bool) -> list[float]:
    passed = lab.target.session(64, tapped(8) if taps else ()).forward(ids)
    states = passed.taps if taps else passed.last
    assert states is not None
    scores: list[float] = []
    for i in range(len(draft)):
        path = draft.path_tokens(i)
        logp = reference(head, ids, states, path[:-1]).log_softmax(-1)
        place = path[-1] if head.names is None else int((head.names == path[-1]).nonzero())
        parent = draft.parents[i]
        scores.append(float(logp[place]) + (scores[parent] if parent >= 0 else 0.0))
    return scores


@pytest.mark.parametrize("method", ["eagle2", "eagle3"])
def test_scores_are_those_of_the_head_run_without_any_memory(lab: Lab, method: str) -> None:
    """Catches a wrong mask, position, feature, tap or stale memory; in the third round too, after accepted and rejected draft tokens."""
    run = decoding(lab, method, PROMPT, depth=3, total_token=24)
    rounds = run.run()
    with torch.inference_mode():
        for _ in range(2):
            before = list(run.tokens)
            next(rounds)
            want = node_scores(lab, lab.asset(method), before, run.draft, method == "eagle3")
            torch.testing.assert_close(torch.tensor(run.draft.scores), torch.tensor(want), atol=2e-3, rtol=1e-3)


def test_rows_that_a_head_norms_before_they_go_on_are_normed(lab: Lab) -> None:
    """`norm_output` of EAGLE-3.1 (as speculators and vLLM write it) had been passed over: the head drafted from raw rows.
    The next row and the logits read the normed one; without it the drafts are others."""
    test_scores_are_those_of_the_head_run_without_any_memory(lab, "eagle3")
    plain = lab.asset("eagle3")
    folder = Path(lab.asset_paths["eagle3"])
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"norm_output": True}))
    lab._assets = {}
    head = lab.asset("eagle3")
    assert head.spec.norm_output and not plain.spec.norm_output
    states = torch.randn(len(PROMPT), 3 * lab.target.width, generator=torch.Generator().manual_seed(0))
    one, other = (reference(which, PROMPT, states, [5]) for which in (plain, head))
    torch.testing.assert_close(reference(plain, PROMPT, states, []), reference(head, PROMPT, states, []))
    assert not torch.allclose(one, other, atol=1e-2), "from the second row on"
    test_scores_are_those_of_the_head_run_without_any_memory(lab, "eagle3")
    assert lab.run("eagle3", PROMPT, max_new_tokens=16).token_ids == lab.run("ar", PROMPT, max_new_tokens=16).token_ids


@pytest.mark.parametrize("method", ["eagle2", "eagle3", "medusa", "hydra", "heterospec"])
def test_a_draft_depends_on_the_tokens_alone(zoo: Zoo, tmp_path: Path, method: str) -> None:
    """Mid-run, whatever was accepted before, as from a fresh start on the same tokens: so sampled output stays exact (H12)."""
    lab = headed(zoo, tmp_path)
    run = decoding(lab, method, PROMPT, temperature=1.0, seed=5)
    rounds = run.run()
    with torch.inference_mode():
        for count in range(5):
            if run.reason:
                assert count > 1
                break
            before = list(run.tokens)
            next(rounds)
            fresh = decoding(lab, method, before, n=24 - len(before) + len(PROMPT), seed=9, temperature=1.0)
            next(fresh.run())
            assert (fresh.draft.tokens, fresh.draft.parents) == (run.draft.tokens, run.draft.parents)


def test_a_tree_has_depth_plus_one_levels_and_is_the_best_of_all_candidates(lab: Lab) -> None:
    trace = lab.run("eagle2", PROMPT, max_new_tokens=20, total_token=200, depth=2, tree_top_k=4)
    first = trace.rounds[0]
    assert first.levels == 3 and first.extras["levels"] == 3
    assert first.extras["candidates"] == 4 + 4 * 4 * 2 == first.drafted
    small = lab.run("eagle2", PROMPT, max_new_tokens=20, total_token=12, depth=2, tree_top_k=4).rounds[0]
    assert small.drafted == 11 and small.fed == 12
    best = sorted((n.score or 0 for n in first.nodes), reverse=True)[:11]
    assert sorted((n.score or 0 for n in small.nodes), reverse=True) == pytest.approx(best)


@pytest.mark.parametrize("method", ["eagle2", "eagle3"])
def test_a_light_trace_of_a_small_tree_grows_less_and_has_the_same_tree(
    lab: Lab, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    drafts = list[Draft]()
    monkeypatch.setattr(DynamicTree, "observe", lambda self, outcome: drafts.append(outcome.draft))

    def grown(record: str, total: int) -> tuple[list[tuple[tuple[int, ...], tuple[int, ...]]], int]:
        """Tokens and parents of each round's tree, and how many candidates they were chosen from."""
        drafts.clear()
        lab.run(method, PROMPT, max_new_tokens=20, record=record, total_token=total, depth=4, tree_top_k=5)
        made = sum(draft.extras.get("candidates", 0) for draft in drafts)
        return [(draft.tokens, draft.parents) for draft in drafts], made

    for total in (3, 4, 6, 9):
        (trees, all_made), (light, made) = grown("full", total), grown("light", total)
        assert trees and light == trees and made < 0.8 * all_made
    assert grown("light", 100)[1] == grown("full", 100)[1], "a large tree needs all of its rows"


def test_nodes_are_prefix_closed_with_falling_scores(lab: Lab) -> None:
    for round_ in lab.run("eagle3", PROMPT, max_new_tokens=12).rounds:
        for node in round_.nodes:
            if node.parent >= 0:
                assert (node.score or 0) <= (round_.nodes[node.parent].score or 0)
        assert round_.tcr is None or round_.tcr >= round_.accepted


def test_one_child_a_node_is_a_chain(lab: Lab) -> None:
    trace = lab.run("eagle3", PROMPT, max_new_tokens=8, tree_top_k=1, depth=4)
    assert [n.parent for n in trace.rounds[0].nodes] == [-1, 0, 1, 2, 3]


def test_a_full_trace_explains_the_tree(lab: Lab) -> None:
    first: Round = lab.run("eagle3", PROMPT, max_new_tokens=20).rounds[0]
    ids = set(lab.asset("eagle3").names.tolist())
    for node in first.nodes:
        assert node.source == {"kind": "head", "level": node.depth} and node.token in ids
        top = dict(node.top_draft or [])
        assert node.q == pytest.approx(top[node.token], abs=1e-5)
        assert set(top) <= ids and (node.h_draft or 0) > 0
        elder = 0.0 if node.parent < 0 else first.nodes[node.parent].score or 0
        assert node.score == pytest.approx(elder + torch.tensor(node.q).log().item(), abs=1e-3)
    causes = {p["cause"] for p in first.pruned}
    assert causes <= {"budget", "rank"} and "rank" in causes
    assert max(p["score"] for p in first.pruned) <= min(n.score or 0 for n in first.nodes)


def test_limits_cut_the_tree(lab: Lab) -> None:
    assert lab.run("eagle3", PROMPT, max_new_tokens=2, record="light").rounds[0].levels == 1
    assert lab.run("eagle3", PROMPT, max_new_tokens=1, record="light").rounds[0].drafted == 0
    with pytest.raises(ConfigError, match="does not fit"):
        lab.run("eagle3", PROMPT, total_token=512)


def test_a_context_that_runs_out_ends_the_run(zoo: Zoo, tmp_path: Path) -> None:
    lab = headed(zoo, tmp_path, max_position_embeddings=96)
    for method in ("eagle3", "heterospec", "hydra", "medusa"):
        trace = lab.run(method, [5] * 85, max_new_tokens=64, record="light")
        assert trace.end is not None and trace.end.reason == "context"
        assert trace.token_ids == lab.run("ar", [5] * 85, max_new_tokens=64).token_ids
