"""Deliberate faults in growing trees, templates and heads, each of which a named check must notice; see test_mutations.py."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.engine.drafters import test_eagle, test_medusa_hydra
from tests.engine.drafters.heads import headed
from tests.engine.faults import Fault
from tests.engine.heads import test_block
from tests.engine.trees import test_growth, test_template
from tests.engine.zoo import Zoo

Check = Callable[[Zoo, Path], object]


def expansion(zoo: Zoo, folder: Path) -> None:
    for seed in range(4):
        test_growth.test_expansion_and_rerank_equal_brute_force(seed)


def branches(zoo: Zoo, folder: Path) -> None:
    test_growth.test_left_out_branches_and_their_distributions()


def meta_path(zoo: Zoo, folder: Path) -> None:
    test_growth.test_the_meta_path_and_its_entropy_by_hand()


def orphans(zoo: Zoo, folder: Path) -> None:
    test_template.test_keep_refuses_an_orphan()


def eagle(method: str) -> Check:
    return lambda zoo, folder: test_eagle.test_scores_are_those_of_the_head_run_without_any_memory(
        headed(zoo, folder), method
    )


def medusa(zoo: Zoo, folder: Path) -> None:
    test_medusa_hydra.test_medusa_reads_the_state_before_the_root(headed(zoo, folder))


def hydra(zoo: Zoo, folder: Path) -> None:
    test_medusa_hydra.test_hydra_scores_follow_the_draft_tokens_before(headed(zoo, folder))


FAULTS: list[tuple[Fault, Check]] = [
    # growth
    (
        Fault(
            "scores that are no log-probabilities",
            "engine.trees.growth:likeliest",
            ".log_softmax(-1)",
            "",
        ),
        expansion,
    ),
    (
        Fault(
            "frontier of the first candidates",
            "engine.trees.growth:Growth.add",
            "order.indices[: self.width]",
            "order.indices.sort().values[: self.width]",
        ),
        expansion,
    ),
    (
        Fault(
            "scores of siblings instead of the frontier's",
            "engine.trees.growth:Growth.add",
            "order.values[: self.width]",
            "scores[: self.width]",
        ),
        expansion,
    ),
    (
        Fault(
            "no reranking",
            "engine.trees.growth:Growth.draft",
            "np.sort(every.order[:nodes])",
            "np.arange(min(nodes, self.count))",
        ),
        expansion,
    ),
    (
        Fault(
            "children under the wrong parent",
            "engine.trees.growth:Growth._fetched",
            "taken[rows]",
            "taken[np.maximum(rows - 1, 0)]",
        ),
        expansion,
    ),
    (
        Fault(
            "logits of another group",
            "engine.trees.growth:Growth._distributions",
            "sent(used, logits.device)",
            "sent(used[::-1].copy(), logits.device)",
        ),
        branches,
    ),
    (
        Fault(
            "a row that was kept counts as the first",
            "engine.strata.metapath:meta_path",
            "int(grown.kept_rows[level][row]) if level in grown.kept_rows else row",
            "row",
        ),
        branches,
    ),
    (
        Fault("the least likely path", "engine.strata.metapath:meta_path", "last.argmax()", "last.argmin()"),
        meta_path,
    ),
    (
        Fault(
            "entropies not renormalised",
            "engine.strata.metapath:meta_path",
            "torch.log_softmax(torch.cat(tops), -1)",
            "torch.cat(tops)",
        ),
        meta_path,
    ),
    # templates
    (
        Fault(
            "ranks counted over the whole level",
            "engine.trees.template:Template.compact",
            "for j, kid in enumerate(kids)",
            "for j, kid in enumerate(kids, 1)",
        ),
        orphans,
    ),
    # heads
    (
        Fault("gate and up exchanged", "engine.heads.block:Block.__init__", '("gate", "up")', '("up", "gate")'),
        lambda zoo, folder: test_block.test_the_block_is_transformers_own_layer(),
    ),
    (
        Fault(
            "no residual around the attention",
            "engine.heads.block:Block.close",
            "x = x_TD + F.linear(",
            "x = F.linear(",
        ),
        lambda zoo, folder: test_block.test_the_block_is_transformers_own_layer(),
    ),
    (
        Fault(
            "room that forgets",
            "engine.heads.lean:Memory.reserve",
            "F.pad(self._kv,",
            "F.pad(0 * self._kv,",
        ),
        lambda zoo, folder: test_block.test_memory_grows_and_forgets_nothing(),
    ),
    (
        Fault(
            "a node sees its neighbour's ancestors",
            "engine.heads.treemask:TreeMask.level",
            "before.index_select(0, rows)",
            "before.index_select(0, rows.flip(0))",
        ),
        eagle("eagle3"),
    ),
    (
        Fault(
            "the feature of the frontier instead of the parent's",
            "engine.drafters.eagle:Eagle2._step",
            "hidden.index_select(0, rows)",
            "hidden.index_select(0, rows * 0)",
        ),
        eagle("eagle2"),
    ),
    (
        Fault(
            "a level's position too early",
            "engine.drafters.eagle:Eagle2._step",
            "slice(stable + level, stable + level + 1)",
            "slice(stable, stable + 1)",
        ),
        eagle("eagle3"),
    ),
    (
        Fault(
            "draft ids taken for the target's",
            "engine.trees.growth:Growth._named",
            "ids if self.names is None else self.names.index_select(0, ids)",
            "ids",
        ),
        eagle("eagle3"),
    ),
    (
        Fault(
            "rows of refused nodes",
            "engine.heads.follow:Follower.fresh",
            "forward.tail + i for i in path",
            "forward.tail + i for i in range(len(path))",
        ),
        medusa,
    ),
    (
        Fault("state of the round before", "engine.drafters.medusa:Medusa.propose", "fresh[-1:]", "fresh[:1]"),
        medusa,
    ),
    (
        Fault(
            "every node under one parent",
            "engine.drafters.hydra:Hydra._fill",
            "torch.cat((inputs[under], self",
            "torch.cat((inputs[0 * under], self",
        ),
        hydra,
    ),
]


@pytest.mark.parametrize(("fault", "check"), FAULTS, ids=[fault.name for fault, _ in FAULTS])
def test_a_fault_is_noticed(fault: Fault, check: Check, zoo: Zoo, tmp_path: Path) -> None:
    check(zoo, tmp_path / "right")
    with pytest.MonkeyPatch.context() as patch:
        fault.plant(patch)
        with pytest.raises((AssertionError, KeyError, ValueError)):  # or the engine itself trips over it
            check(zoo, tmp_path / "faulty")
