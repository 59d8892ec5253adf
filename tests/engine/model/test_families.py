"""Types of models that keep windows, chunks or running states: exact in pieces, far beyond every window."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from engine.draft import chain
from engine.errors import ConfigError
from engine.lab import Lab
from engine.model import Model, load_model
from engine.model.generic import REFED, GenericDecoder
from engine.model.layers import EVERYTHING, Sight, sights
from engine.trace.events import RunStarted
from tests.engine.model import tiny
from tests.engine.model.families import CLOSE, PROMPT, TREE, apart, near, plain_model
from tests.typed import known

SOME = {"gemma3_text": "sliding_attention", "llama4_text": "chunked_attention", "mistral": "full_attention"}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """A tiny checkpoint of two layers for each of some types."""
    root = tmp_path_factory.mktemp("families")
    made = {kind: tiny.make(kind, root / kind, layers=2) for kind in SOME}
    return made | {"lfm2": tiny.make("lfm2", root / "lfm2", layers=2)}


@pytest.mark.parametrize("kind", SOME)
def test_windows_and_chunks_are_masks(folders: Mapping[str, Path], kind: str) -> None:
    """A window of 16 in a text of 40: logits of a tree and of what follows equal plain forwards, and need the mask."""
    model, hf = load_model(folders[kind], "cpu"), plain_model(folders[kind])
    assert apart(model, hf) <= CLOSE
    decoder = known(GenericDecoder, model.decoder)
    assert decoder.layers.sights[SOME[kind]] != EVERYTHING
    decoder.layers = replace(decoder.layers, sights=dict.fromkeys(decoder.layers.sights, EVERYTHING))
    assert apart(model, hf) > 100 * CLOSE


def test_running_states_are_set_back(folders: Mapping[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Chains equal plain forwards after any rejection; without the marks they would not."""
    model, hf = load_model(folders["lfm2"], "cpu"), plain_model(folders["lfm2"])
    assert model.only_chains and apart(model, hf) <= CLOSE
    check_rounds(model, hf)
    monkeypatch.setattr("engine.model.generic.GenericCache.back", lambda self, n: n)
    assert apart(model, hf) > 10 * CLOSE


@torch.inference_mode()
def check_rounds(model: Model, hf: torch.nn.Module) -> None:
    """Many rounds of one rejected draft after another: refed rows stay bounded, and every pass is right."""
    session, tokens, fed = model.session(120), PROMPT[:6], list[int]()
    session.forward(tokens[:-1])
    for i in range(20):
        before = session.fed
        found = session.forward(tokens, chain([7 + i, 8, 9])).logits
        fed.append(session.fed - before)
        assert near(found[3], hf(input_ids=torch.tensor([[*tokens, 7 + i, 8, 9]])).logits[0, -1]) <= CLOSE
        tokens = [*tokens, 7 + i, 8, 40 + i] if i % 3 else [*tokens, 60 + i]
    assert max(fed) <= REFED + 8 and fed[0] == 4  # the prompt but its last token is no part of the first round
    again = session.forward(tokens[:10], chain([3, 4])).logits  # far back
    assert near(again[2], hf(input_ids=torch.tensor([[*tokens[:10], 3, 4]])).logits[0, -1]) <= CLOSE


def test_trees_become_chains_where_states_run(folders: Mapping[str, Path]) -> None:
    """Tree methods draft chains there and say so; beams, which need branches, are refused with the reason."""
    lab = Lab(load_model(folders["lfm2"], "cpu"))
    wanted = lab.run("ar", PROMPT, max_new_tokens=24).token_ids
    for method in ("recycle", "stand", "sam_recycle"):
        trace = lab.run(method, PROMPT, max_new_tokens=24)
        assert trace.token_ids == wanted and any(r.drafted > 1 for r in trace.rounds)
        assert all(node.parent == i - 1 for r in trace.rounds for i, node in enumerate(r.nodes))
        assert "keep one running state" in known(RunStarted, trace.head).extras["adapted"]
    assert "cannot share" in lab.unavailable()["beam"] and "recycle" not in lab.unavailable()
    with pytest.raises(ConfigError, match="one running state"):
        lab.run("beam", PROMPT)
    with pytest.raises(ConfigError, match="chains only"):
        lab.target.session(60).forward(PROMPT, TREE)


def test_a_window_of_the_whole_context_is_none() -> None:
    """Mistral's layers have no list of kinds; a window is one number for all of them."""
    config = tiny.config_of("mistral")
    assert sights(config, 512) == {"full_attention": Sight(window=tiny.WINDOW)}
    assert sights(config, tiny.WINDOW) == {"full_attention": EVERYTHING}
