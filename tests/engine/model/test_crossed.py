"""Encoder-decoders equal transformers: chains, trees, rejected drafts, new sources; and what cannot be run is told."""

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import MBartTokenizer

from engine.draft import Draft, chain
from engine.errors import ConfigError, ModelMismatch
from engine.model import Model, bridge, load_model
from engine.model.crossed import CrossDecoder
from engine.model.crosswhole import WholeDecoder
from engine.model.decoder import New
from engine.model.outline import outline
from engine.model.seam import Seam
from engine.model.source import SourceSession
from engine.runs.preflight import preflight
from tests.engine.crossed import LEAN, SOURCE, Crossed, generated, make_model, plain_logits
from tests.engine.model.families import near
from tests.engine.zoo import EOS, Zoo
from tests.typed import known, some

CLOSE = 1e-5  # fp32, relative to the largest logit above one
TREE = Draft((4, 9, 9, 30, 2, 7, 7), (-1, -1, 0, 0, 1, 2, 5), group=(0,) * 7)
WRITTEN = [7, 8, 9, 50, 4, 30, 12]
OTHER = [60, 60, 3, EOS]


def check_equal(model: Model, hf: Any, draft: Draft = TREE) -> None:
    """A draft, what follows after part of it was accepted, and the same after another source was read in between."""
    assert model.seam is not None
    start = list(model.seam.opening)
    session = model.session(80)
    none = session.forward(SOURCE)
    assert none.tail == 0 and not len(none.logits)
    session.forward([*SOURCE, *start, *WRITTEN[:3]])
    for source in (SOURCE, OTHER, SOURCE):
        found = session.forward([*source, *start, *WRITTEN], draft).logits
        assert found.shape == (len(draft) + 1, model.vocab)
        for node in range(-1, len(draft)):
            plain = plain_logits(hf, source, [*start, *WRITTEN, *draft.path_tokens(node)])[-1]
            assert near(found[node + 1], plain) < CLOSE, node
    for node in (0, 2):
        grown = [*start, *WRITTEN, *draft.path_tokens(node), 51]
        before = session.fed
        found = session.forward([*SOURCE, *grown], chain([5, 6])).logits
        assert session.fed - before <= 4 + len(WRITTEN)
        plain = plain_logits(hf, SOURCE, [*grown, 5, 6])[-3:]
        assert near(found, plain) < CLOSE
        assert near(session.forward([*SOURCE, *grown, 5]).logits, plain[1:2]) < CLOSE  # a row alone
        session.forward([*SOURCE, *start, *WRITTEN], draft)


def test_a_source_is_held_to_the_encoders_positions(crossed: Crossed) -> None:
    model = crossed.model("bart")
    for most, fits in ((len(SOURCE), True), (len(SOURCE) - 1, False)):
        session = replace(model, source_context=most).session(80)
        tokens = [*SOURCE, *some(model.seam).opening]
        assert (session.left(tokens) > 0) is fits
        with nullcontext() if fits else pytest.raises(ConfigError, match=f"reads at most {most}: shorten it"):
            session.forward(tokens)


def test_room_is_what_the_decoder_reads_and_slots_are_as_many_as_asked(crossed: Crossed) -> None:
    """A source takes no room from it; one that the encoder cannot read leaves none."""
    model = crossed.model("bart")
    seam, source = some(model.seam), [7, 9, 5, EOS]
    session = SourceSession(known(CrossDecoder, model.decoder), seam, (4, 6), model.vocab, model.device, 40, slots=60)
    text = [*source, *seam.opening]
    assert (session.left(source), session.left(text), session.left([7, *text])) == (
        6,
        6 - len(seam.opening),
        -len(text) - 1,
    )
    session.forward(text)
    assert (session.capacity, session.slots) == (10, 60)


def test_looks_are_of_the_rows_that_have_logits(crossed: Crossed) -> None:
    model = crossed.model("bart")
    tokens = [*SOURCE, *some(model.seam).opening, *WRITTEN]
    session, other = model.session(80), model.session(80)
    for one in (session, other):
        assert isinstance(one, SourceSession)
        one.watch()
    found = some(session.forward(tokens, chain([4, 9])).looks)
    other.forward(tokens[:-1])
    for row, more in enumerate(([], [4], [4, 9])):
        (looks,) = some(other.forward([*tokens, *more]).looks)
        torch.testing.assert_close(found[row], looks)
    assert found.shape == (3, len(SOURCE))


@pytest.mark.parametrize("family", ["bart", "t5"])
def test_sessions_equal_transformers(crossed: Crossed, family: str) -> None:
    check_equal(crossed.model(family), crossed.plain(family))


@pytest.mark.slow
@pytest.mark.parametrize("family", [f for f in LEAN if f not in ("bart", "t5")])
def test_sessions_of_all_lean_families_equal_transformers(crossed: Crossed, family: str) -> None:
    assert crossed.model(family).lean
    check_equal(crossed.model(family), crossed.plain(family))


def test_other_families_run_through_transformers_and_check_chains(crossed: Crossed) -> None:
    model = crossed.model("bert2bert", layers=1)
    assert model.only_chains and not model.lean and any("chains" in note for note in model.notes)
    check_equal(model, crossed.plain("bert2bert", layers=1), chain([4, 9, 30]))
    with pytest.raises(ConfigError, match="chains only"):
        model.session(80).forward([*SOURCE, 0, 5], TREE)


@torch.inference_mode()
def test_taps_are_what_layers_read_and_the_highest_what_the_last_one_gives(crossed: Crossed) -> None:
    model = crossed.model("t5")
    decoder = known(CrossDecoder, model.decoder)
    out = model.session(80, taps=(0, model.layers)).forward([*SOURCE, *some(model.seam).opening, *WRITTEN])
    first, highest = some(out.taps).chunk(2, -1)
    assert near(first, decoder.embed(torch.tensor([*some(model.seam).opening, *WRITTEN]))) < CLOSE
    assert near(some(decoder.final)(highest), out.last) < CLOSE < near(highest, out.last)


@pytest.mark.parametrize("family", ["bart", "t5"])
@torch.inference_mode()
def test_logits_of_states_are_the_models_own(crossed: Crossed, family: str) -> None:
    """Biases and scalings after the layers are done to states that are given, too."""
    decoder = WholeDecoder(crossed.plain(family), 1)
    cache = decoder.cache(40)
    decoder.read(cache, torch.tensor(SOURCE))
    rows = decoder.run(cache, New(torch.tensor([0, *WRITTEN]), None, 0, None), (), 1 + len(WRITTEN))
    assert near(decoder.head(rows.last), rows.logits) < CLOSE
    assert near(decoder.hf.get_output_embeddings()(rows.last), rows.logits) > 100 * CLOSE


def test_what_was_read_is_not_read_again(crossed: Crossed) -> None:
    session = crossed.model("bart").session(80)
    session.forward([*SOURCE, EOS, 4, 5], chain([6, 7, 8]))
    before = session.fed
    session.forward([*SOURCE, EOS, 4, 5, 6, 7, 20])
    assert session.fed - before == 1


def test_layers_can_be_left_out(crossed: Crossed) -> None:
    """A pass that leaves layers out is that of a model without them."""
    model, hf = crossed.model("bart"), crossed.plain("bart")
    layers = hf.model.decoder.layers
    tokens = [*SOURCE, EOS, *WRITTEN]
    try:
        hf.model.decoder.layers = torch.nn.ModuleList([layers[0], layers[2]])
        wanted = plain_logits(hf, SOURCE, tokens[len(SOURCE) :])[-1:]
    finally:
        hf.model.decoder.layers = layers
    assert near(model.session(80).skim(tokens, frozenset({1})), wanted) < CLOSE


def test_ids_that_must_not_be_written_are_not(crossed: Crossed, tmp_path: Path) -> None:
    folder = make_model(tmp_path / "barred", "marian")
    config = folder / "generation_config.json"
    usual = generated(crossed.plain("marian"), SOURCE, 1, 3)
    config.write_text(config.read_text().replace("{", f'{{"bad_words_ids": [[{usual[0]}]], ', 1))
    logits = load_model(folder, "cpu").session(40).forward([*SOURCE, 0]).logits
    assert logits[0, usual[0]] == -torch.inf and torch.isfinite(logits).sum() == logits.numel() - 1


def test_how_a_text_begins_is_told_before_weights_are_read(tmp_path: Path) -> None:
    """It may stand in the settings of generation alone, as may what is not applied."""
    folder = make_model(tmp_path / "told", "t5")
    for name, edit in (
        ("config.json", {"decoder_start_token_id": None}),
        ("generation_config.json", {"decoder_start_token_id": 5, "min_length": 9, "suppress_tokens": [7]}),
    ):
        file = folder / name
        file.write_text(json.dumps(json.loads(file.read_text()) | edit))
    loaded, seen = load_model(folder, "cpu"), outline(str(folder)).model
    assert loaded.seam and loaded.seam == seen.seam and loaded.seam.opening == (5,)
    assert loaded.notes == seen.notes and loaded.notes[-1].endswith("not applied: min_length=9.")


def test_the_seam() -> None:
    seam = Seam((0,))
    assert seam.find([5, 6, 1]) == 3 and seam.find([5, 6, 1, 0]) == 3 and seam.find([5, 6, 1, 0, 7, 0]) == 3
    twice = Seam((1,), frozenset({1}))
    assert twice.find([5, 6, 1]) == 3 and twice.find([5, 6, 1, 1, 7]) == 3
    forced = Seam((1, 40), frozenset({1}))
    assert forced.find([40, 5, 1, 1]) == 3 and forced.find([40, 5, 1, 1, 40, 8]) == 3


def test_prompts_are_sources(crossed: Crossed) -> None:
    words = crossed.model("bart").tokenizer
    assert words.encode("abc") == [*words.hf("abc")["input_ids"], EOS]
    assert words.encode([5, 6, EOS]) == [5, 6, EOS, EOS]
    assert words.encode([5, 6, EOS, EOS, 9]) == [5, 6, EOS, EOS, 9]
    with pytest.raises(ConfigError, match="ends with '<eos>'"):
        words.encode([5, 6])
    pads = crossed.model("t5").tokenizer
    assert pads.encode([5, 6]) == [5, 6, 0]
    with pytest.raises(ConfigError, match="holds no '<pad>'"):
        pads.encode("ab<pad>c")


def test_pairs_that_cannot_be(crossed: Crossed, zoo: Zoo) -> None:
    with pytest.raises(ModelMismatch, match=r"is an encoder-decoder model and .* is decoder-only"):
        bridge(crossed.model("bart"), zoo.model("llama", layers=2))
    with pytest.raises(ModelMismatch, match=r"is decoder-only and .* is an encoder-decoder"):
        bridge(zoo.model("llama", layers=2), crossed.model("bart"))
    with pytest.raises(ModelMismatch, match="begins a text with"):
        bridge(crossed.model("bart"), crossed.model("marian"))
    with pytest.raises(ModelMismatch, match="need one"):
        bridge(crossed.model("bart"), crossed.model("bart", vocab=50))
    assert bridge(crossed.model("bart"), crossed.model("bart")).kind == "same"


def test_sources_that_cannot_be_read(crossed: Crossed) -> None:
    lab = crossed.lab("bart", sigma=-1)
    with pytest.raises(ConfigError, match=r"131 tokens, and the encoder of .* reads at most 128"):
        lab.run("ar", [5] * 130 + [EOS])
    with pytest.raises(ConfigError, match="tokens are a source alone"):
        lab.target.session(40).forward([5, 6], chain([7]))
    trace = lab.run("ar", [5] * 100 + [EOS], max_new_tokens=500, record="light")
    assert trace.end is not None and trace.end.reason == "context" and len(trace.token_ids) == 127


def test_two_vocabularies_are_refused(tmp_path: Path) -> None:
    folder = make_model(
        tmp_path / "apart", "marian", layers=1, decoder_vocab_size=90, share_encoder_decoder_embeddings=False
    )
    with pytest.raises(ModelMismatch, match=r"sequences have one"):
        load_model(folder, "cpu")


def test_languages(tmp_path: Path) -> None:
    """mBART ends a source with its language and starts a text with the other; what is unknown or missing is told."""
    folder = make_model(tmp_path / "mbart", "mbart", layers=1)
    words: Any = MBartTokenizer()
    words.save_pretrained(folder)
    ids = {name: words.convert_tokens_to_ids(name) for name in ("en_XX", "de_DE", "ro_RO")}
    model = load_model(folder, "cpu", languages="en_XX:de_DE")
    assert model.seam is not None and model.seam.opening == (ids["de_DE"],)
    assert model.tokenizer.encode("a")[-3:] == [words.eos_token_id, ids["en_XX"], ids["de_DE"]]
    for given in ("en_XX:de_D", "english:de_DE"):
        with pytest.raises(ConfigError, match=r"Unknown language code.*Known: ar_AR"):
            load_model(folder, "cpu", languages=given)
    with pytest.raises(ConfigError, match="writes several languages: say from which to which"):
        load_model(folder, "cpu")
    looked = preflight(str(folder), device="cpu", languages="en_XX:de_DE")
    assert looked.fits and "de_DE" in looked.languages
    for given, reason in (("", "say from which to which"), ("en_XX:de_D", "Unknown language code")):
        looked = preflight(str(folder), device="cpu", languages=given)
        assert not looked.fits and "de_DE" in looked.languages and reason in looked.findings[0].words
    with pytest.raises(ConfigError, match="knows no languages by code"):
        load_model(make_model(tmp_path / "bart", "bart", layers=1), "cpu", languages="en_XX:de_DE")


def test_an_outline_tells_what_would_be_loaded(crossed: Crossed) -> None:
    for family, options in (("bart", {}), ("bert2bert", {"layers": 1})):
        loaded, told = crossed.model(family, **options), outline(str(crossed.path(family, **options)), "cpu").model
        for name in ("seam", "source_context", "context", "only_chains", "lean", "layers", "notes", "parameters"):
            assert getattr(told, name) == getattr(loaded, name), (family, name)


def test_encoder_and_decoder_have_contexts_of_their_own(tmp_path: Path) -> None:
    folder = make_model(tmp_path / "uneven", "marian", layers=1)
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"max_encoder_position_embeddings": 40}))
    for model in (load_model(folder, "cpu"), outline(str(folder)).model):
        assert (model.source_context, model.context) == (40, 128)
