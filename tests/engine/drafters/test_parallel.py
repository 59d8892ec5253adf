"""The parallel drafter: one pass a round, each token from its own row, lossless under the exact rule."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from engine.config import Card
from engine.costs import Costs, Curve
from engine.costs.chains import FIRST_LENGTH, ChainChoice
from engine.errors import AssetError, ModelMismatch
from engine.heads.parallel import META, load_parallel
from engine.lab import Lab
from engine.model import load_model
from engine.runs import costs as measuring
from tests.engine import zoo
from tests.engine.crossed import SOURCE, Crossed, make_model, plain_logits
from tests.engine.zoo import EOS, PAD

MASKS = 4


@pytest.fixture(scope="module")
def folder(crossed: Crossed, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model that says it fills masks, which are <pad>."""
    made = make_model(tmp_path_factory.mktemp("parallel"), "bart", seed=3, layers=1)
    (made / META).write_text(json.dumps({"mask": PAD, "masks": MASKS}))
    return made


@pytest.fixture(scope="module")
def lab(crossed: Crossed, folder: Path) -> Lab:
    return Lab(crossed.model("bart"), {}, {"parallel": str(folder)})


def card(lab: Lab, rule: str = "exact", **knobs: Any) -> Card:
    return lab.compose(drafter="parallel", shape="chain", rule=rule, **knobs)


def test_a_draft_is_the_first_choices_of_one_pass(lab: Lab, folder: Path) -> None:
    from transformers import BartForConditionalGeneration

    hf = BartForConditionalGeneration.from_pretrained(folder, dtype=torch.float32).eval()
    trace = lab.run(card(lab, gamma=8), SOURCE, max_new_tokens=12)
    ids = trace.head.prompt_ids
    for round_ in trace.rounds:
        assert round_.drafted <= MASKS + 1
        written = [EOS, *trace.token_ids[: round_.start]]
        rows = plain_logits(hf, ids[: len(SOURCE)], [*written, *[PAD] * (round_.drafted - 1)])[len(written) - 1 :]
        assert [node.token for node in round_.nodes] == rows[: round_.drafted].argmax(-1).tolist()
    assert max(r.drafted for r in trace.rounds) == MASKS + 1
    assert trace.rounds[0].nodes[0].source == {"kind": "model", "role": "parallel"}


def test_greedy_text_is_the_targets_and_sampled_runs_draw(lab: Lab) -> None:
    wanted = lab.run("ar", SOURCE, max_new_tokens=16, record="light").token_ids
    assert lab.run(card(lab), SOURCE, max_new_tokens=16, record="light").token_ids == wanted
    drawn = lab.run(card(lab), SOURCE, max_new_tokens=16, temperature=1.0)
    assert all(node.q is not None and 0 < node.q <= 1 for round_ in drawn.rounds for node in round_.nodes)
    loose = lab.run(card(lab, "gap", top_beta=96, tau_base=10.0), SOURCE, max_new_tokens=12)
    assert max(round_.accepted for round_ in loose.rounds) > 1


def test_a_chosen_length_is_asked_for_once_a_round_before_the_pass(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    costs = Costs(Curve(((1, 2.0), (16, 4.0))), start=0.5, step=0.01)
    monkeypatch.setattr(measuring, "_measured", lambda *_: costs)
    asked, limit = list[int](), ChainChoice.limit

    def spy(self: ChainChoice, *, stepwise: bool = False) -> int:
        assert not stepwise  # its steps are spent by then
        asked.append(limit(self))
        return asked[-1]

    monkeypatch.setattr(ChainChoice, "limit", spy)
    trace = lab.run(card(lab), SOURCE, max_new_tokens=12, gamma="auto")
    assert len(asked) == len(trace.rounds) and asked[0] == FIRST_LENGTH
    assert all(round_.drafted <= most for round_, most in zip(trace.rounds, asked, strict=True))


def test_what_cannot_be_a_parallel_drafter(crossed: Crossed, tmp_path: Path) -> None:
    target = crossed.model("bart")
    other = make_model(tmp_path / "other", "bart", vocab=50, layers=1)
    (other / META).write_text(json.dumps({"mask": PAD, "masks": 3}))
    with pytest.raises(ModelMismatch, match="need one"):
        load_parallel(other, target)
    damaged = make_model(tmp_path / "damaged", "bart", layers=1)
    for about in ({"mask": 96, "masks": 3}, {"mask": 5, "masks": 0}, {"mask": True, "masks": 3}):
        (damaged / META).write_text(json.dumps(about))
        with pytest.raises(AssetError, match="must name a mask, an id below 96"):
            load_parallel(damaged, target)


@pytest.mark.parametrize("graphs", ["off", "auto"])
def test_its_passes_are_captured_where_those_of_the_target_may_be(graphs: str, tmp_path: Path) -> None:
    target = load_model(zoo.make_model(tmp_path / "target", "llama"), graphs=graphs)
    (made := zoo.make_model(tmp_path / "filler", "llama", layers=1)).joinpath(META).write_text(
        '{"mask": 5, "masks": 3}'
    )
    assert load_parallel(made, target).model.graphs == graphs
