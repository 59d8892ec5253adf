"""Self-drafting with layers left out: what it drafts, and that the target's cache is none the worse."""

from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from engine.config import Sampling
from engine.draft import chain
from engine.drafters.layer_skip import kept_layers
from engine.errors import ConfigError
from engine.lab import Lab
from engine.model import load_model
from engine.parts import writing
from engine.sampling import distribution, pick
from tests.engine.model import tiny
from tests.engine.zoo import Zoo

PROMPT = [5, 9, 33, 7, 60]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("first:3", {0, 1, 2}),
        ("every:3", {0, 3, 6, 7}),
        ("every:2", {0, 2, 4, 6, 7}),
        ("0-2, 6", {0, 1, 2, 6}),
        ("7", {7}),
    ],
)
def test_layers_are_named(text: str, kept: set[int]) -> None:
    assert kept_layers(text, 8) == kept
    assert kept_layers("every:2", 2) == {0}, "of two layers one is left out"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "half",
        "first:",
        "first:9",
        "first:8",
        "first:0",
        "every:0",
        "0-7",
        "8",
        "-1",
        "a-b",
        "0-3:7",
        "0-3:",
        "every:-1",
        "0,5-3",
        "0-99999999999",
        "first:99999999999",
    ],
)
def test_other_names_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="layers"):
        kept_layers(text, 8)


@pytest.mark.parametrize("family", ["llama", "qwen2", "gpt_neox"])
@pytest.mark.parametrize("kept", [[0, 1], [0, 2, 3]])
def test_a_pass_without_layers_is_that_of_a_smaller_model(
    zoo: Zoo, family: str, kept: list[int], tmp_path: Path
) -> None:
    """On the first token, where the caches agree, it equals a model that has the kept layers only."""
    path = zoo.path(family, layers=4)
    hf = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
    stack = hf.get_decoder().layers
    small = torch.nn.ModuleList(stack[i] for i in kept)
    for i, layer in enumerate(small):
        getattr(layer, "attention" if family == "gpt_neox" else "self_attn").layer_idx = i
    hf.get_decoder().layers = small
    hf.config.num_hidden_layers = len(kept)
    for kinds in [getattr(hf.config, "layer_types", None)]:
        if kinds:
            hf.config.layer_types = kinds[: len(kept)]
    session, skip = zoo.load(path).session(32), frozenset(range(4)) - set(kept)
    with torch.inference_mode():
        for n in (1, 2, 4):
            want = hf(torch.tensor([PROMPT[:n]])).logits[0, -1]
            assert torch.allclose(session.skim(PROMPT[:n], skip)[0], want, atol=1e-4)


@pytest.mark.parametrize("family", ["llama", "gpt_neox"])
def test_the_committed_cache_is_untouched(zoo: Zoo, family: str) -> None:
    """Whole passes between and after skimming give what they give without it, after a chain that was partly right too."""
    model = zoo.load(zoo.path(family, layers=4))
    plain, mixed = model.session(40), model.session(40)
    skip = frozenset({1, 2})
    for session in (plain, mixed):
        session.forward(PROMPT[:-1])
    text = list(PROMPT)
    for more in ([11, 12, 13], [14, 15], [16, 17, 18]):
        for n in range(len(more) + 1):
            mixed.skim([*text, *more[:n]], skip)
        a, b = plain.forward(text, chain(more)), mixed.forward(text, chain(more))
        assert torch.allclose(a.logits, b.logits, atol=1e-5) and mixed.cached == plain.cached
        text = [*text, more[0], 70]  # the first held, then a correction
    assert plain.fed == mixed.fed


@pytest.mark.parametrize("kind", ["bamba", "modernbert-decoder"])
def test_layers_return_what_they_like(kind: str, tmp_path: Path) -> None:
    """Rows alone, or with some things beside them: whoever calls a layer unpacks as many. And they lie where they
    like."""
    lab = Lab(load_model(tiny.make(kind, tmp_path / kind, layers=2), "cpu"))
    plain = lab.run("ar", PROMPT, max_new_tokens=6).token_ids
    assert lab.run("layer_skip", PROMPT, max_new_tokens=6, layers="first:1").token_ids == plain


def test_layers_that_cannot_be_found_are_said(tmp_path: Path) -> None:
    """LongCat keeps them two and two together."""
    lab = Lab(load_model(tiny.make("longcat_flash", tmp_path / "longcat"), "cpu"))
    with pytest.raises(ConfigError, match="longcat cannot be left out one by one"):
        lab.run("layer_skip", PROMPT, max_new_tokens=6)
    assert "layer_skip" not in {card.name for card in lab.methods()}


def test_the_only_layer_cannot_be_left_out(zoo: Zoo) -> None:
    one, two = Lab(zoo.load(zoo.path("llama", layers=1))), Lab(zoo.load(zoo.path("llama", layers=2)))
    assert "has one layer" in one.unavailable()["layer_skip"] and "layer_skip" not in two.unavailable()
    with pytest.raises(ConfigError, match="has one layer, which cannot be left out"):
        one.run("layer_skip", PROMPT, max_new_tokens=6)


def test_skimmed_rows_serve_the_next_and_no_other(zoo: Zoo) -> None:
    model = zoo.load(zoo.path("llama", layers=4))
    session, skip = model.session(40), frozenset({2})
    session.forward(PROMPT[:-1])
    step = [session.skim([*PROMPT, *[8, 9][:n]], skip) for n in range(3)]
    fresh = model.session(40)
    fresh.forward(PROMPT[:-1])
    assert torch.allclose(step[2], fresh.skim([*PROMPT, 8, 9], skip), atol=1e-5)
    others, anew = frozenset({1}), model.session(40)
    anew.forward(PROMPT[:-1])
    assert torch.allclose(session.skim([*PROMPT, 8, 9], others), anew.skim([*PROMPT, 8, 9], others), atol=1e-5)
    assert torch.allclose(session.skim([*PROMPT, 7], skip), fresh.skim([*PROMPT, 7], skip), atol=1e-5)
    session.skim([*PROMPT, 8, 9], skip)
    for n in (2, 1):  # the same once more, and fewer
        assert torch.allclose(session.skim([*PROMPT, *[8, 9][:n]], skip), step[n], atol=1e-5)
    session.skim([*PROMPT, 8, 9], skip)
    other, tail = model.session(40), [PROMPT[-1], 8, 9]  # the same tokens as were skimmed, behind other ones
    for one in (session, other):
        one.forward(PROMPT)
    assert torch.allclose(session.skim([*PROMPT, *tail], skip), other.skim([*PROMPT, *tail], skip), atol=1e-5)


def test_what_is_read_ahead_stands_behind_what_was_skimmed(zoo: Zoo) -> None:
    model = zoo.load(zoo.path("llama", layers=4))
    session, fresh, skip = model.session(40), model.session(40), frozenset({2})
    for one in (session, fresh):
        one.forward(PROMPT[:-1])
    session.skim([*PROMPT, 8], skip)
    for n, token in enumerate((9, 4), 1):
        ahead = session.ahead(torch.tensor([token]))
        assert torch.allclose(ahead, fresh.skim([*PROMPT, 8, *[9, 4][:n]], skip), atol=1e-5)
    session.told([9, 4])
    text = [*PROMPT, 8, 9, 4, 11]
    assert torch.allclose(session.skim(text, skip), fresh.skim(text, skip), atol=1e-5)
    assert torch.allclose(session.forward(text).logits, model.session(40).forward(text).logits, atol=1e-5)


def test_no_more_is_skimmed_or_read_ahead_than_fits(zoo: Zoo) -> None:
    session, skip = zoo.load(zoo.path("llama", layers=4)).session(len(PROMPT)), frozenset({2})
    session.skim(PROMPT[:-1], skip)
    session.ahead(torch.tensor(PROMPT[-1:]))
    with pytest.raises(ConfigError, match="6 tokens do not fit the 5 positions"):
        session.ahead(torch.tensor([8]))
    with pytest.raises(ConfigError, match="6 tokens do not fit the 5 positions"):
        session.skim([*PROMPT, 8], skip)


def test_tokens_that_are_drawn_come_from_the_distribution_that_is_told(
    zoo: Zoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """K2 needs no more: q is what the token was drawn from."""
    lab, sampling = zoo.lab("llama", draft=None, layers=4), Sampling(0.8)
    told = []
    monkeypatch.setattr(writing, "pick", lambda q, u: told.append(q) or pick(q, u))
    trace = lab.run("layer_skip", PROMPT, max_new_tokens=12, temperature=0.8, layers="first:2", gamma=2)
    first = trace.rounds[0].nodes[0]
    fresh = lab.target.session(40)
    q = distribution(fresh.skim(PROMPT, frozenset({2, 3})), sampling)[0]
    assert torch.allclose(told[0], q, atol=1e-5) and first.q == pytest.approx(float(q[first.token]), abs=1e-5)
    assert any(r.accepted for r in trace.rounds)
