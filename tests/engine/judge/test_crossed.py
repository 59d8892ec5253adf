"""Judges on encoder-decoder pairs: mining against a search over transformers alone, features, the rule, memory."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForSeq2SeqLM

from engine.judge.continuation import LocalTarget
from engine.judge.criterion import SameAnswer
from engine.judge.events import Label, PromptFinished
from engine.judge.features import blocks_of
from engine.judge.gumbel import Chooser
from engine.judge.local import local_search
from engine.judge.memo import remembering
from engine.judge.search import Prompt
from engine.lab import Lab
from engine.tasks.problem import Problem
from tests.engine.crossed import SOURCE, Crossed, plain_logits
from tests.engine.judge.chance import give_judge
from tests.engine.zoo import EOS, noised
from tests.typed import known, some

LIMIT, SIGMA = 14, 0.05
Swap = tuple[int, int, int, bool]  # position, the target's token, the draft's, whether it is important


def answer(text: str) -> str:
    """How often the commonest letter comes: some swaps change it, others do not."""
    return str(max(map(text.count, text), default=0))


def mined(lab: Lab, source: list[int], limit: int = LIMIT) -> PromptFinished:
    opening = list(some(lab.target.seam).opening)
    prompt = Prompt("p", Problem("toy", "k", "", "", ""), [*source, *opening])
    same = SameAnswer(answer, lambda a, b: a == b)
    *_, last = local_search(lab.target, lab.models["draft"], [prompt], same, limit, vocab=lab.vocab).run(prompt)
    return known(PromptFinished, last)


def by_force(target: Any, draft: Any, source: list[int], opening: list[int], says: Callable[[list[int]], str]) -> Any:
    """Algorithm 1 token by token with transformers, without any cache: the labels, and the last response."""

    def next_of(hf: Any, written: Sequence[int]) -> int:
        return int(plain_logits(hf, source, [*opening, *written])[-1].argmax())

    def whole(written: list[int]) -> list[int]:
        while len(written) < LIMIT and EOS not in written:
            written = [*written, next_of(target, written)]
        return written

    response, found = whole([]), list[Swap]()
    first = says(response)
    t = 0
    while t < len(response):
        token = next_of(draft, response[:t])
        if token != response[t]:
            other = whole([*response[:t], token])
            found.append((t, response[t], token, says(other) != first))
            response = response if found[-1][3] else other
        t += 1
    return found, response


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_labels_are_those_of_a_search_by_force(crossed: Crossed, seed: int) -> None:
    lab, folder = crossed.lab("bart", SIGMA), crossed.path("bart")
    draft: Any = AutoModelForSeq2SeqLM.from_pretrained(
        noised(folder, folder / f"noise-{SIGMA}", SIGMA), dtype=torch.float32
    )
    source = [*torch.randint(5, 90, (7,), generator=torch.Generator().manual_seed(seed)).tolist(), EOS]
    opening = list(some(lab.target.seam).opening)
    done = mined(lab, source)
    labels, response = by_force(
        crossed.plain("bart"), draft.eval(), source, opening, lambda ids: answer(lab.target.tokenizer.decode(ids))
    )
    assert [(x.t, x.target_token, x.draft_token, x.important) for x in done.labels] == labels
    assert done.final == response and len({label[3] for label in labels}) == 2, "both kinds must be there to be told"


def test_a_source_that_the_encoder_cannot_read_is_skipped(crossed: Crossed) -> None:
    assert mined(crossed.lab("bart", SIGMA), [*[5] * 200, EOS]).skipped == "too long"


def test_a_response_leaves_room_for_the_tokens_of_a_label(crossed: Crossed) -> None:
    lab = crossed.lab("bart", SIGMA)
    done = mined(lab, [5, EOS], 200)
    assert len(some(lab.target.seam).opening) + len(done.first) == lab.target.context - 1


def test_room_is_that_of_the_source_at_hand(crossed: Crossed) -> None:
    """A session that last read a short source gives a long one no less room."""
    model = crossed.model("bart")
    opening = list(some(model.seam).opening)
    target = LocalTarget(model, 256, Chooser())
    target.generate([6, EOS, *opening], 2)
    assert target.session.capacity < 256
    long = [*[7, 8] * 60, EOS, *opening]
    assert target.generate(long, 24) == LocalTarget(model, 256, Chooser()).generate(long, 24)


@pytest.mark.parametrize("family", ["bart", "bert2bert"])
def test_features_equal_separate_passes(crossed: Crossed, family: str) -> None:
    """Of a family whose decoder checks chains only, by two passes."""
    model = crossed.model(family, **({"layers": 1} if family == "bert2bert" else {}))
    assert model.only_chains is (family == "bert2bert")
    prompt = [*SOURCE, *some(model.seam).opening]
    labels = [Label("p", t, a, b, True, [], [], "", "", None, None) for t, a, b in ((0, 10, 20), (2, 12, 30))]
    blocks = blocks_of([PromptFinished("p", "", prompt, [], [10, 11, 12], None, labels)], {"target": model})
    prefixes = [prompt, [*prompt, 10, 11]]
    for name, follow in (("prev", ([], [])), ("draft", ([20], [30])), ("target", ([10], [12]))):
        for row, prefix, more in zip(blocks[f"target:{name}"], prefixes, follow, strict=True):
            alone = model.session(64).forward([*prefix, *more]).hidden[-1]
            torch.testing.assert_close(row, alone, atol=3e-5, rtol=1e-4)


def test_the_rule_lies_between_sd_and_the_draft(crossed: Crossed, tmp_path: Path) -> None:
    """And remembered rows change nothing: methods write and accept the same with them."""
    lab = crossed.lab("bart", 0.03)
    give_judge(lab, tmp_path / "judge")
    again = Lab(remembering(lab.target), {"draft": remembering(lab.models["draft"])}, dict(lab.asset_paths))
    found = {}
    for method, knobs in (
        ("sd", {}),
        ("autojudge", {"judge_threshold": 0.0}),
        ("autojudge", {"judge_threshold": 0.4}),
        ("autojudge", {"judge_threshold": 1.01}),
        ("ar", {}),
    ):
        options: dict[str, Any] = {"max_new_tokens": 20, "record": "light"} | ({} if method == "ar" else {"gamma": 5})
        for source in ([6, 5, EOS], SOURCE):
            one, two = (x.run(method, source, **options, **knobs) for x in (lab, again))
            assert one.token_ids == two.token_ids
            assert [(r.drafted, r.accepted) for r in one.rounds] == [(r.drafted, r.accepted) for r in two.rounds]
            found[f"{method} {knobs.get('judge_threshold', '')}".strip()] = one
    assert found["autojudge 0.0"].token_ids == found["sd"].token_ids == found["ar"].token_ids
    counts = {name: sum(r.accepted for r in trace.rounds) for name, trace in found.items()}
    assert counts["sd"] < counts["autojudge 1.01"] == sum(r.drafted for r in found["autojudge 1.01"].rounds)
