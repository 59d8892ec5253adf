"""Remembered rows change nothing but the cost."""

from pathlib import Path

import pytest
import torch

from engine.draft import Draft, chain
from engine.judge.memo import remembering
from engine.lab import Lab
from tests.engine.judge.chance import give_judge
from tests.engine.zoo import Zoo

PROMPT = [5, 9, 20, 33, 5, 9, 20]


@pytest.mark.thorough
def test_every_method_runs_as_without_memory(zoo: Zoo, tmp_path: Path) -> None:
    lab = zoo.lab("llama")
    give_judge(lab, tmp_path / "judge")
    again = Lab(remembering(lab.target), {"draft": remembering(lab.models["draft"])}, dict(lab.asset_paths))
    for method, knobs in (
        ("sd", {"gamma": 6}),
        ("autojudge", {"gamma": 6, "judge_threshold": 0.4}),
        ("topk_lossy", {"gamma": 9, "accept_k": 3}),
        ("sd", {"gamma": 2}),
        ("autojudge", {"gamma": 6, "judge_threshold": 0.6}),
        ("ar", {}),
    ):
        one, two = (x.run(method, PROMPT, max_new_tokens=40, **knobs) for x in (lab, again))
        assert one.token_ids == two.token_ids
        assert [(r.drafted, r.accepted, r.emitted) for r in one.rounds] == [
            (r.drafted, r.accepted, r.emitted) for r in two.rounds
        ]


def test_known_rows_are_not_run_again(zoo: Zoo) -> None:
    model = remembering(zoo.model("llama"))
    session = model.session(64)
    first = session.forward(PROMPT, chain([4, 5, 6]))
    fed = session.fed
    second = model.session(64).forward(PROMPT, chain([4, 5, 6]))
    assert torch.equal(first.logits, second.logits) and torch.equal(first.hidden, second.hidden)
    grown = session.forward(PROMPT, chain([4, 5, 6, 7]))
    assert session.fed == fed + 1 and grown.logits.shape == (5, model.vocab)
    plain = zoo.model("llama").session(64).forward(PROMPT, chain([4, 5, 6, 7]))
    torch.testing.assert_close(grown.logits, plain.logits, atol=1e-4, rtol=1e-4)
    model.forget()
    assert not model.rows


@pytest.mark.parametrize("draft", [Draft((4, 5), (-1, -1), group=(0, 0))])
def test_trees_pass_through(zoo: Zoo, draft: Draft) -> None:
    model = zoo.model("llama")
    torch.testing.assert_close(
        remembering(model).session(64).forward(PROMPT, draft).logits, model.session(64).forward(PROMPT, draft).logits
    )
