"""A logit that is no number ends a run on a pretended device, as it does on a CPU, whoever reads it first.

On a CPU each pass is looked at. Elsewhere that would make the host wait, so whoever first reads of a pass looks.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.lab import Lab
from engine.methods import CARDS, get_card
from tests.engine.devices.pretend import EMBEDDED, PROMPTS, embedded, loaded, pretended
from tests.engine.drafters.heads import headed
from tests.engine.zoo import Zoo

METHODS = (
    *("ar", "sd", "block_verify", "easd", "specdec", "topk_lossy", "layer_skip", "pld", "recycle", "stand"),
    *("lookahead", "eagle2", "eagle3", "medusa", "medusa_typical", "hydra", "beam"),
)
SOUND = 1  # passes that are: the prompt's, or of an encoder-decoder the first


def check(lab: Lab, method: str, prompt: Any, temperature: float, record: str) -> None:
    """Of each further pass the last row, which follows what was drafted last, has a logit that is no number."""
    decoder = (lab.models["draft"] if get_card(method).writer == "draft" else lab.target).decoder
    plain, passes = decoder.run, 0

    def run(cache: Any, new: Any, taps: Any, want: int) -> Any:
        nonlocal passes
        passes += 1
        rows = plain(cache, new, taps, want)
        logits = rows.logits.clone()
        logits[-1:, 5:6] = float("nan") if passes > SOUND else 0.0
        return replace(rows, logits=logits)

    forced = {"force": True} if "judge" in method else {"reward_threshold": 1.01} if method == "rsd" else {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoder, "run", run)
        trace = lab.run(method, prompt, max_new_tokens=32, seed=5, temperature=temperature, record=record, **forced)
    assert trace.end and trace.end.reason == "error" and "NaN" in trace.end.message, trace.end


@pytest.mark.thorough
@pytest.mark.parametrize("temperature", (0.0, 0.8))
def test_a_few_methods_on_a_random_pair(zoo: Zoo, tmp_path: Path, temperature: float) -> None:
    plain, path = headed(zoo, tmp_path), zoo.path("llama", vocab=32)
    with pretended():
        draft = loaded(zoo.draft_path(path, "noise"), "cuda:0")
        lab = Lab(loaded(path, "cuda:0"), {"draft": draft}, plain.asset_paths)
        for method in METHODS:
            for record in ("light", "full"):
                check(lab, method, [5, 9, 12, 7], temperature, record)


@pytest.fixture(scope="module", params=EMBEDDED)
def family(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """An embedded pair, all on one pretended device."""
    with pretended():
        yield embedded(request.param, "cuda:0", "cuda:0")


@pytest.mark.slow
@pytest.mark.parametrize("temperature", (0.0, 0.8))
@pytest.mark.parametrize("method", [card.name for card in CARDS if card.writer != "nat"])
def test_every_method_on_the_embedded_pairs(family: Lab, method: str, temperature: float) -> None:
    pair = str(family.preset)
    if method in EMBEDDED[pair]:
        check(family, method, PROMPTS[pair], temperature, "light")
