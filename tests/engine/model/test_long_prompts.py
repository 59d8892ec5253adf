"""Long prompts are read in pieces: the same numbers as at once, in memory that grows with the length and not its square."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from engine.files.places import ROOT
from engine.model import Model, session
from tests.engine.zoo import Zoo, make_model

MEASURED = """
import json, resource, sys, torch
from engine.draft import chain
from engine.model import load_model
torch.set_num_threads(1)
model = load_model(sys.argv[1], "cpu")
peaks = []
for n in map(int, sys.argv[2:]):
    run = model.session(n + 8, taps=(1,))
    run.forward([3 + i % 90 for i in range(n)], chain([5, 6, 7]))
    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
    del run
print(json.dumps(peaks))
"""


@pytest.mark.parametrize("family", ["llama", "gpt_neox"])
def test_pieces_give_what_one_pass_gives(zoo: Zoo, family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model: Model = zoo.model(family)
    text = [3 + i % 90 for i in range(60)]
    whole = model.session(96, taps=(1, 4)).forward(text)
    monkeypatch.setattr(session, "PIECE", 7)
    pieces = model.session(96, taps=(1, 4))
    found = pieces.forward(text)
    assert whole.taps is not None and found.taps is not None and pieces.fed == len(text) == found.tail
    for a, b in ((whole.logits, found.logits), (whole.last, found.last), (whole.taps, found.taps)):
        assert a.shape == b.shape and float((a - b).abs().max() / a.abs().max()) < 2e-5
    assert pieces.cached == text


def test_states_of_all_layers_are_kept_only_where_they_are_tapped(zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    model = zoo.model("gpt_neox")
    hf = model.decoder.hf  # type: ignore[attr-defined]
    asked = list[bool]()
    plain = hf.forward
    monkeypatch.setattr(hf, "forward", lambda *a, **k: asked.append(k["output_hidden_states"]) or plain(*a, **k))
    a, b = (model.session(32, taps).forward([5, 9, 33, 7]) for taps in ((), (1,)))
    assert asked == [False, True] and torch.equal(a.last, b.last) and torch.equal(a.logits, b.logits)


@pytest.mark.slow
def test_memory_is_linear_in_the_length(tmp_path: Path) -> None:
    """Of 8,000, 16,000 and 32,000 tokens: the second doubling takes little more than twice what the first took."""
    folder = make_model(tmp_path, "gpt_neox", layers=1, hidden=16, max_position_embeddings=40_000)
    lengths = ("8000", "16000", "32000")
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(folder), *lengths], cwd=ROOT, capture_output=True, text=True, check=True
    )
    first, second, third = json.loads(done.stdout.splitlines()[-1])
    assert third - second < 3 * (second - first) + 50_000_000, (first, second, third)
    assert third - first < 1_500_000_000
