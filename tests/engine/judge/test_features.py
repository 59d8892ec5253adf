"""Hidden states of swaps: the tree pass equals separate passes, and blocks come in the published order."""

import torch

from engine.judge.events import Label, PromptFinished
from engine.judge.features import blocks_of, matrix
from engine.judge.kind import KINDS, FeatureKind
from tests.engine.zoo import Zoo


def label(t: int, target: int, draft: int, retokenized: str = "") -> Label:
    return Label("p", t, target, draft, True, [], [], "", "", None, None, retokenized)


def test_rows_equal_separate_passes(zoo: Zoo) -> None:
    lab = zoo.lab("qwen2")
    models = {"draft": lab.models["draft"], "target": lab.target}
    first = PromptFinished("p", "", [5, 6, 7], [], [10, 11, 12, 13], None, [label(1, 11, 20), label(3, 13, 21)])
    lost = PromptFinished("q", "", [9, 9], [], [30, 31], None, [label(0, 30, 40, "dropped"), label(1, 31, 41)])
    blocks = blocks_of([first, lost], models)
    prefixes = [([5, 6, 7, 10], 20, 11), ([5, 6, 7, 10, 11, 12], 21, 13), ([9, 9, 30], 41, 31)]
    for role, model in models.items():
        for name, ids in (
            ("prev", [p for p, _, _ in prefixes]),
            ("draft", [[*p, d] for p, d, _ in prefixes]),
            ("target", [[*p, t] for p, _, t in prefixes]),
        ):
            alone = torch.stack([model.session(64).forward(i).hidden[0] for i in ids])
            torch.testing.assert_close(blocks[f"{role}:{name}"], alone, atol=3e-5, rtol=1e-4)


def test_blocks_follow_the_published_order() -> None:
    assert FeatureKind().blocks == ("draft:draft", "target:draft")
    assert FeatureKind("both", "both").blocks == ("draft:draft", "target:draft", "draft:target", "target:target")
    assert FeatureKind("prev", "target").blocks == ("target:prev",)
    assert len(KINDS) == 12 and sum(kind.online for kind in KINDS) == 6
    blocks = {"draft:draft": torch.ones(2, 3), "target:draft": torch.zeros(2, 5)}
    assert matrix(blocks, FeatureKind())[0].tolist() == [1, 1, 1, 0, 0, 0, 0, 0]


def test_no_label_gives_no_row(zoo: Zoo) -> None:
    blocks = blocks_of([], {"target": zoo.model("llama")})
    assert blocks["target:draft"].shape == (0, 48)
