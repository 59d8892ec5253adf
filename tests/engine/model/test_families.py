"""Types of models that keep windows, chunks or running states: exact in pieces, far beyond every window."""

import json
import shutil
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from inspect import Parameter, Signature, signature
from pathlib import Path
from statistics import mean
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, LlamaConfig, LlamaForCausalLM, TorchAoConfig

from engine.draft import chain
from engine.errors import ConfigError, ModelMismatch
from engine.lab import Lab
from engine.model import Model, Session, generic, load_model, network, onward
from engine.model.checkpoint import weight_bytes
from engine.model.decoder import Decoder
from engine.model.generic import REFED, GenericCache, GenericDecoder
from engine.model.layers import EVERYTHING, Sight, layers_of, sights
from engine.model.lean import LeanDecoder, lean_from
from engine.model.network import CACHES, auto_class, cache_name, drop_senses
from engine.model.onward import RereadingDecoder
from engine.model.outline import outline
from engine.model.ways import ways
from engine.trace.events import RunStarted
from tests.engine.model import readers, tiny
from tests.engine.model.families import (
    CLOSE,
    FINE,
    METHODS,
    PROMPT,
    TREE,
    Outcome,
    apart,
    apart_in_doubles,
    near,
    plain_model,
)
from tests.engine.zoo import save_tokenizer
from tests.models import COMMON, FILE, tried
from tests.typed import known

SOME = {"olmo3": "sliding_attention", "llama4_text": "chunked_attention"}
# a window; layers with one; fused projections; soft caps; two ropes; sinks and experts
LEAN = ("mistral", "qwen2", "phi3", "gemma2", "gemma3_text", "gpt_oss")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """A tiny checkpoint of two layers for each of some types."""
    root = tmp_path_factory.mktemp("families")
    made = {kind: tiny.make(kind, root / kind, layers=2) for kind in (*SOME, *LEAN)}
    return made | {kind: tiny.make(kind, root / kind, layers=2) for kind in ("lfm2", "llava", "llama")}


@pytest.mark.parametrize("kind", SOME)
def test_windows_and_chunks_are_masks(folders: Mapping[str, Path], kind: str) -> None:
    """A window of 16 in a text of 40: logits of a tree and of what follows equal plain forwards, and need the mask."""
    model, hf = load_model(folders[kind], "cpu"), plain_model(folders[kind])
    assert apart(model, hf) <= CLOSE
    decoder = known(GenericDecoder, model.decoder)
    assert decoder.layers.sights[SOME[kind]] != EVERYTHING
    decoder.layers = replace(decoder.layers, sights=dict.fromkeys(decoder.layers.sights, EVERYTHING))
    assert apart(model, hf) > 100 * CLOSE


@pytest.mark.parametrize("kind", LEAN)
def test_lean_windows_are_slots_and_masks(folders: Mapping[str, Path], kind: str) -> None:
    """The same through the lean forward: trees, chains and single rows, far beyond the window."""
    model, hf = load_model(folders[kind], "cpu"), plain_model(folders[kind])
    decoder = known(LeanDecoder, model.decoder)
    assert Sight(window=tiny.WINDOW) in decoder.sights and apart(model, hf) <= CLOSE
    check_steps(model, hf)
    decoder.sights = [EVERYTHING] * len(decoder.sights)
    assert apart(model, hf) > 100 * CLOSE


@pytest.mark.parametrize("kind", ["llama", "olmo3"])
def test_what_is_settled_stays_so(folders: Mapping[str, Path], kind: str) -> None:
    """A branch of the last draft is moved in place once, and the next pass goes on behind it."""
    model = load_model(folders[kind], "cpu")
    session = model.session(len(PROMPT) + 32)
    session.forward(PROMPT, TREE)
    tokens = [*PROMPT, *TREE.path_tokens(4)]
    assert session.settled([*tokens, 50])[1] == len(tokens) == len(session.cached)
    found, whole = session.forward([*tokens, 50]), model.session(len(PROMPT) + 32).forward([*tokens, 50])
    assert near(found.logits[-1], whole.logits[-1]) <= CLOSE


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["llama4_text", "llama4"])
def test_queries_are_scaled_by_position(kind: str, tmp_path: Path) -> None:
    """Llama 4's layers without rotation scale queries by steps of 16 positions here, a tree lies across one of them: its
    nodes are at their positions, not at their slots."""
    folder = tiny.make(kind, tmp_path / kind, floor_scale=16, attn_scale=0.5, no_rope_layers=[1, 0, 1, 0])
    model, hf = load_model(folder, "cpu"), plain_model(folder)
    for size in range(41, 47):  # the root, or one of the three levels behind it, begins a step
        assert apart(model, hf, PROMPT[: size % 40] + PROMPT) <= CLOSE


@pytest.mark.parametrize("kind", ["llama", "gemma2", "gpt_oss", "gpt_neox", "opt", "lfm2"])
@torch.inference_mode()
def test_the_highest_tap_is_what_the_last_layer_gives_before_the_last_norm(kind: str) -> None:
    """Through transformers as lean; its own list of states ends with the normed ones."""
    config = tiny.config_of(kind, 2)
    torch.manual_seed(0)
    hf = auto_class(config).from_config(config, dtype=torch.float32).eval()
    head = deepcopy(hf)
    norm = next(m for name, m in head.named_modules() if name.split(".")[-1] in FINAL)
    lean = lean_from(deepcopy(hf))
    decoders: list[Decoder] = [GenericDecoder(hf, layers_of(config, 512)), *([lean] if lean else [])]
    for decoder in decoders:
        session = Session(decoder, tiny.VOCAB, torch.device("cpu"), 40, taps=(1, config.num_hidden_layers))
        for found in (session.forward(PROMPT[:5], chain([4, 5])), session.forward([*PROMPT[:5], 4, 8])):
            taps = known(torch.Tensor, found.taps).chunk(2, -1)
            assert near(norm(taps[1]), found.last) < 1e-5 < near(taps[1], found.last)


@pytest.mark.parametrize("kind", ["llama", "phi3", "gpt_oss"])
def test_a_network_that_runs_lean_is_emptied(kind: str) -> None:
    """So that no matrix is held twice; what is left is small, or the very memory that the lean forward reads."""
    config = tiny.config_of(kind, 2)
    hf = auto_class(config).from_config(config, dtype=torch.float32)
    named = [(name, p) for name, p in hf.model.layers.named_parameters() if p.dim() > 1]
    read = sum(p.nbytes for name, p in named if not name.endswith("bias") and "router" not in name)
    lean = lean_from(hf)
    assert lean is not None and lean.reads == read + hf.lm_head.weight.nbytes
    left = {name.partition("mlp.")[2] for name, p in hf.model.layers.named_parameters() if p.dim() > 1 and p.numel()}
    shared = {"router.weight", "experts.gate_up_proj_bias", "experts.down_proj", "experts.down_proj_bias"}
    assert left == (shared if kind == "gpt_oss" else set())


@pytest.mark.parametrize("name", [*CACHES, "layer_past"])
@torch.inference_mode()
def test_the_cache_is_given_by_the_name_that_a_network_has_for_it(name: str) -> None:
    """transformers 5.24 renamed it; code that comes with other networks, and 5.23, keep the old name."""
    torch.manual_seed(0)
    config = tiny.config_of("gpt2", 2)
    hf = auto_class(config).from_config(config, dtype=torch.float32).eval()
    own, forward = cache_name(hf.forward), hf.forward

    def renamed(**given: Any) -> Any:
        return forward(**{own if key == name else key: value for key, value in given.items()})

    known_names = [name if one == own else one for one in signature(forward).parameters]
    renamed.__signature__ = Signature([Parameter(one, Parameter.KEYWORD_ONLY) for one in known_names])  # type: ignore[attr-defined]
    hf.forward = renamed
    decoder = next(ways(hf, config, 512))
    assert isinstance(decoder, RereadingDecoder) is (name not in CACHES)
    assert decoder.why_chains == ("" if name in CACHES else "it keeps no key-value cache")
    session = Session(decoder, tiny.VOCAB, torch.device("cpu"), 40)
    session.forward(PROMPT[:5])
    found = session.forward([*PROMPT[:5], 4, 8])
    assert near(found.logits[-1], forward(input_ids=torch.tensor([[*PROMPT[:5], 4, 8]])).logits[0, -1]) < CLOSE


FINAL = ("norm", "final_layer_norm", "embedding_norm")
HEADED = ("gemma2", "cohere", "llama4_text")  # soft caps, scaled logits, a body that only its head knows


@pytest.mark.parametrize("kind", [*HEADED, *(pytest.param(k, marks=pytest.mark.slow) for k in ("gemma3n_text", "opt"))])
@torch.inference_mode()
def test_logits_of_states_are_the_models_own(kind: str) -> None:
    """What follows the layers is done to states that are given as to those of a pass: through transformers and lean."""
    config = tiny.config_of(kind, 2)
    torch.manual_seed(0)
    hf = auto_class(config).from_config(config, dtype=torch.float32).eval()
    decoder = GenericDecoder(hf, layers_of(config, 512))
    session = Session(decoder, tiny.VOCAB, torch.device("cpu"), 40)
    found = session.forward(PROMPT[:5], chain([4, 5]))
    assert near(decoder.head(found.hidden), found.logits) < 1e-5
    assert near(session.forward(PROMPT[:5], chain([4, 5])).logits, found.logits) < CLOSE  # nothing stays in the way
    lean = lean_from(hf)
    assert (lean is not None) == (kind == "gemma2")
    assert lean is None or near(lean.head(found.hidden), found.logits) < 1e-5


@pytest.mark.slow
@torch.inference_mode()
def test_half_types_of_experts_are_rounded_no_worse_than_by_transformers(tmp_path: Path) -> None:
    """In bf16 near ties between experts fall otherwise, so lean and transformers differ by tenths of the largest logit.
    Both are as far from transformers in fp32, which the lean forward in fp32 equals."""
    folder = tiny.make("gpt_oss", tmp_path / "gpt_oss")
    whole, half = (
        AutoModelForCausalLM.from_pretrained(folder, dtype=t).eval() for t in (torch.float32, torch.bfloat16)
    )
    lean = {t: load_model(folder, "cpu", t) for t in ("float32", "bfloat16")}
    off: dict[str, list[float]] = {"lean": [], "transformers": []}
    for seed in range(12):
        text = [3 + (i * i * 7 + 5 * i + 11 * seed) % 90 for i in range(40)]
        ids = torch.tensor([text])
        wanted = whole(input_ids=ids).logits[0]
        found = {t: model.session(64).forward(text[:1], chain(text[1:])).logits for t, model in lean.items()}
        assert near(found["float32"], wanted) < CLOSE
        off["lean"].append(near(found["bfloat16"].float(), wanted))
        off["transformers"].append(near(half(input_ids=ids).logits[0].float(), wanted))
    assert mean(off["lean"]) < 1.3 * mean(off["transformers"]), off


@torch.inference_mode()
def check_steps(model: Model, hf: torch.nn.Module) -> None:
    """Token by token and chain by chain, from before the window's end to three windows."""
    session, tokens = model.session(120), PROMPT[:12]
    for i in range(36):
        draft = chain([7 + i, 8, 9][: i % 4])
        found = session.forward(tokens, draft).logits
        whole = hf(input_ids=torch.tensor([[*tokens, *draft.tokens]])).logits[0, len(tokens) - 1 :]
        assert near(found, whole) <= CLOSE
        tokens = [*tokens, *draft.tokens[:1], 40 + i]


def test_running_states_are_set_back(folders: Mapping[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Chains equal plain forwards after any rejection; without the marks they would not."""
    model, hf = load_model(folders["lfm2"], "cpu"), plain_model(folders["lfm2"])
    assert model.only_chains and apart(model, hf) <= CLOSE
    check_rounds(model, hf)
    monkeypatch.setattr("engine.model.generic.GenericCache.back", lambda self, n: n)
    assert apart(model, hf) > 10 * CLOSE


ONE_TEXT = {  # type -> how it goes on with one text, what its limits say, and how a plain way would be wrong
    "bloom": ("takes no positions from outside: drafts are chains", ""),
    "gpt_neo": ("local attention counts slots, not positions: drafts are chains", ""),
    "mamba": ("keep one running state: drafts are chains", "one token at a time"),
    "jamba": ("keep one running state: drafts are chains", "one token at a time"),
    "openai-gpt": ("keeps no key-value cache: drafts are chains", "reads the whole text again"),
    "rwkv": ("cannot be cut back to the accepted tokens: drafts are chains", ""),
    "minimax": ("cannot be cut back to the accepted tokens: drafts are chains", ""),
    "deepseek_v4": ("cannot be cut back to the accepted tokens: drafts are chains", ""),
    "recurrent_gemma": ("cannot be cut back to the accepted tokens: drafts are chains", "reads the whole text again"),
}


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ONE_TEXT)
def test_networks_that_go_on_with_one_text_check_chains(kind: str, tmp_path: Path) -> None:
    """Whatever is accepted, far behind a window too, and in texts that begin anew."""
    folder = tiny.make(kind, tmp_path)
    model, hf = load_model(folder, "cpu"), plain_model(folder)
    assert model.only_chains and not model.lean and apart(model, hf) <= CLOSE
    check_rounds(model, hf)
    why, slow = ONE_TEXT[kind]
    assert why in model.notes[0] and why.split(":")[0] in model.one_past
    assert model.notes[1:] == () if not slow else slow in model.notes[1]


@pytest.mark.thorough
def test_states_that_go_on_with_one_token_alone_are_given_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mamba's scan begins at zero whenever it reads several tokens: that was wrong, and a trial notices it."""
    folder = tiny.make("mamba", tmp_path)
    hf = plain_model(folder)
    decoder = known(GenericDecoder, load_model(folder, "cpu").decoder)
    assert decoder.stepwise and decoder._cuts(6, 4, 0) == [0, 3, 4, 5, 6] and decoder._cuts(3, 1, 9) == [0, 1, 2, 3]
    monkeypatch.setattr("engine.model.ways.STEPWISE", ())  # as of a type that nobody has tried yet
    again = load_model(folder, "cpu")
    assert known(GenericDecoder, again.decoder).stepwise and apart(again, hf) <= CLOSE
    monkeypatch.setattr("engine.model.assembly.fault", lambda *_: "")
    assert apart(load_model(folder, "cpu"), hf) > 100 * CLOSE


def test_what_cannot_be_cut_back_is_copied_and_set_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """RWKV writes over its state; of a text of 200 tokens a rejected draft costs no more than what was accepted since."""
    folder = tiny.make("rwkv", tmp_path)
    model, hf = load_model(folder, "cpu"), plain_model(folder)
    session = model.session(240)
    session.forward(PROMPT * 5)
    before = session.fed
    for i in range(8):
        session.forward([*PROMPT * 5, 9, 7, 5][: 201 + i % 3], chain([7 + i, 8, 9]))
    assert not model.layerwise and session.fed - before <= 8 * 6 and len(session._cache._copies) <= onward.COPIES
    far = session.forward(PROMPT[:9]).logits[0]  # before all copies
    assert near(far, hf(input_ids=torch.tensor([PROMPT[:9]])).logits[0, -1]) <= CLOSE
    monkeypatch.setattr(onward, "deepcopy", lambda kept: kept)
    assert apart(model, hf) > 100 * CLOSE


def test_what_is_reread_is_cut_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a rejected draft nothing is read again; without the cut it would be."""
    folder = tiny.make("openai-gpt", tmp_path)
    model, hf = load_model(folder, "cpu"), plain_model(folder)
    whole = RereadingDecoder._given
    monkeypatch.setattr(
        RereadingDecoder, "_given", lambda one, cache, new, pos: whole(one, cache, replace(new, start=10**6), pos)
    )
    monkeypatch.setattr("engine.model.onward.Text.crop", lambda text, n: None)
    assert apart(model, hf) > 100 * CLOSE


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
    assert "one running state" in lab.unavailable()["beam"] and "recycle" not in lab.unavailable()
    with pytest.raises(ConfigError, match="one running state"):
        lab.run("beam", PROMPT)
    with pytest.raises(ConfigError, match="chains only"):
        lab.target.session(60).forward(PROMPT, TREE)


def test_a_window_of_the_whole_context_is_none() -> None:
    """Mistral's layers have no list of kinds; a window is one number for all of them."""
    config = tiny.config_of("mistral")
    assert sights(config, 512) == {"full_attention": Sight(window=tiny.WINDOW)}
    assert sights(config, tiny.WINDOW) == {"full_attention": EVERYTHING}


# --- parts of checkpoints, and weights that are packed or elsewhere ---------------------------------------------------


def test_of_a_multimodal_model_the_text_part_loads(folders: Mapping[str, Path]) -> None:
    """LLaVA holds a Llama, which the lean forward runs; what sees is neither kept nor counted, and a trace says so."""
    model, whole = load_model(folders["llava"], "cpu"), plain_model(folders["llava"])
    assert model.lean and apart(model, whole) <= CLOSE
    text = sum(p.numel() for p in (*whole.model.language_model.parameters(), whole.lm_head.weight))
    assert model.parameters == text < sum(p.numel() for p in whole.parameters())
    assert weight_bytes(str(folders["llava"])) == model.bytes  # before it is loaded too
    assert model.describe()["notes"] == ["Text only: the parts that see or hear are not used."]


def test_sparse_attention_chooses_among_the_slots_that_are_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DeepSeek's layers read 8 slots here, of a text of 40, by keys of their own: these are cut back and moved with
    the others."""
    folder = tiny.make("deepseek_v32", tmp_path, layers=2)
    model, hf = load_model(folder, "cpu"), plain_model(folder)
    assert apart(model, hf) <= CLOSE and not model.only_chains
    assert "read only the 8 positions" in model.notes[-1]
    session = model.session(len(PROMPT))
    session.forward(PROMPT)
    kept = [x for layer in session._cache.kv.layers for x in (layer.keys, layer.values, layer.indexer_keys)]
    assert outline(str(folder), "cpu").a_position * len(PROMPT) == sum(x.nbytes for x in kept)
    monkeypatch.setattr(GenericCache, "gather", lambda cache, start, slots: None)
    assert apart(model, hf) > 100 * CLOSE
    monkeypatch.undo()
    whole = generic._indexer
    monkeypatch.setattr(generic, "_indexer", lambda layer: {})
    with pytest.raises(RuntimeError):  # keys of more slots than there are
        apart(model, hf)
    places = torch.zeros(3, 1, 9)
    layer = SimpleNamespace(indexer_keys=torch.zeros(1, 9, 4), indexer_position_ids=places)
    assert {name: x.shape[dim] for name, (x, dim) in whole(layer).items()} == {
        "indexer_keys": 9,
        "indexer_position_ids": 9,
    }


@pytest.mark.parametrize("kind", ["qwen2_5_omni", "audioflamingo3", "emu3"])
def test_what_writes_is_found_in_models_of_many_parts(kind: str, tmp_path: Path) -> None:
    """What thinks in a model that speaks as well; a text model that transformers lists among those that read first;
    one whose tensors have a name before their own."""
    folder = tiny.make(kind, tmp_path / kind, layers=2)
    model = load_model(folder, "cpu")
    assert model.notes == ("Text only: the parts that see or hear are not used.",)
    assert apart(model, plain_model(folder)) <= CLOSE


def test_a_prompt_that_is_read_in_both_directions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelMismatch, match="reads its prompt in both directions"):
        load_model(tiny.make("paligemma", tmp_path / "paligemma", 2), "cpu")


def test_towers_are_dropped_where_no_text_model_stands_alone() -> None:
    hf = auto_class(config := tiny.config_of("qwen3_vl", 1)).from_config(config)
    assert drop_senses(hf) == ["visual"] and not any("visual" in name for name, _ in hf.named_parameters())
    assert drop_senses(plain_text := auto_class(c := tiny.config_of("llama", 1)).from_config(c)) == []
    assert list(plain_text.parameters())


def test_offloaded_weights_run_and_are_counted(folders: Mapping[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = load_model(folders["llama"], "cpu")
    places = {"model.embed_tokens": "cpu", "model.rotary_emb": "cpu", "model.norm": "cpu", "lm_head": "cpu"}
    monkeypatch.setattr("engine.model.load.placement", lambda *_: {"device_map": places | {"model.layers": "disk"}})
    model = load_model(folders["llama"], "cpu")
    hf = known(GenericDecoder, model.decoder).hf
    share = 100 * sum(p.numel() for p in hf.parameters() if p.is_meta) / model.parameters
    assert model.notes == (f"Offloaded: {share:.0f} % of its weights lie on disk and are read at every pass.",)
    assert not whole.notes
    assert not model.lean and 0 < share < 100
    assert (model.parameters, model.bytes, model.device) == (whole.parameters, whole.bytes, torch.device("cpu"))
    assert near(model.session(60).forward(PROMPT, TREE).logits, whole.session(60).forward(PROMPT, TREE).logits) <= CLOSE
    text = Lab(whole).run("ar", PROMPT, max_new_tokens=4).token_ids
    for method in ("layer_skip", "ar"):  # a layer that was left out finds its weights again
        knobs = {"layers": "first:1"} if method == "layer_skip" else {}
        assert Lab(model).run(method, PROMPT, max_new_tokens=4, **knobs).token_ids == text


def test_packed_weights_that_cannot_be_loaded_are_refused_in_words(folders: Mapping[str, Path], tmp_path: Path) -> None:
    """Where a package is missing, it is told with what else would do."""
    shutil.copytree(folders["llama"], tmp_path / "packed")
    file = tmp_path / "packed" / "config.json"
    packing = {"quant_method": "aqlm", "in_group_size": 8}
    file.write_text(json.dumps(json.loads(file.read_text()) | {"quantization_config": packing}))
    words = (
        "packed by aqlm, which cannot be loaded here.*pip install aqlm.*model unpacked can be, or one packed by GPTQ"
    )
    with pytest.raises(ModelMismatch, match=words):
        load_model(tmp_path / "packed", "cpu")


def test_packed_weights_go_through_transformers(folders: Mapping[str, Path], tmp_path: Path) -> None:
    """TorchAO's int8 weights: not lean, exact, and counted as what they stand for."""
    packing = TorchAoConfig(pytest.importorskip("torchao.quantization").Int8WeightOnlyConfig())
    hf = LlamaForCausalLM.from_pretrained(folders["llama"], dtype=torch.float32, quantization_config=packing)
    hf.save_pretrained(tmp_path)
    save_tokenizer(tmp_path, tiny.VOCAB)
    model, whole = load_model(tmp_path, "cpu"), load_model(folders["llama"], "cpu")
    assert not model.lean and apart(model, hf.eval()) <= CLOSE
    assert model.parameters == whole.parameters and model.bytes < whole.bytes / 2
    assert model.notes == ("The weights are packed by torchao.",)
    looked = outline(str(tmp_path), "cpu")
    assert (looked.model.parameters, looked.packing, looked.unpacked) == (whole.parameters, "torchao", False)
    assert looked.weights < whole.bytes / 2


def test_packed_weights_in_four_bits_go_through_transformers(tmp_path: Path) -> None:
    """Bitsandbytes' nf4: exact, and counted as what it stands for. It packs 64 numbers at a time."""
    pytest.importorskip("bitsandbytes")
    plain = tiny.make("llama", tmp_path / "plain", layers=2, intermediate_size=128)
    packing = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.float32)
    hf = LlamaForCausalLM.from_pretrained(plain, dtype=torch.float32, quantization_config=packing)
    hf.save_pretrained(tmp_path)
    save_tokenizer(tmp_path, tiny.VOCAB)
    model, whole = load_model(tmp_path, "cpu"), load_model(plain, "cpu")
    assert not model.lean and apart(model, hf.eval()) <= CLOSE
    assert model.parameters == whole.parameters and model.bytes < whole.bytes / 2
    assert model.notes == ("The weights are packed by bitsandbytes.",)


def in_fp8(made: Path, folder: Path) -> tuple[Path, Path]:
    """A checkpoint in FP8 as published, a block's scale beside each weight, and one of what the weights stand for."""
    packed, plain = (Path(shutil.copytree(made, folder / name)) for name in ("packed", "plain"))
    weights = load_file(packed / "model.safetensors")
    meant = dict(weights)
    for name in [name for name in weights if name.endswith("proj.weight") and "vision" not in name]:
        scale = weights[name].abs().max() / 448
        weights[name] = (weights[name] / scale).to(torch.float8_e4m3fn)
        weights[name.replace("weight", "weight_scale_inv")] = scale.reshape(1, 1)
        meant[name] = weights[name].float() * scale
    save_file(weights, packed / "model.safetensors", {"format": "pt"})
    save_file(meant, plain / "model.safetensors", {"format": "pt"})
    file = packed / "config.json"
    packing = {"quant_method": "fp8", "weight_block_size": [128, 128], "modules_to_not_convert": ["lm_head"]}
    file.write_text(json.dumps(json.loads(file.read_text()) | {"quantization_config": packing}))
    return packed, plain


@pytest.mark.parametrize("kind", ["llama", "llava"])
def test_fp8_is_unpacked_where_nothing_computes_in_it(folders: Mapping[str, Path], tmp_path: Path, kind: str) -> None:
    """What runs is what the weights stand for, in a part of a model too."""
    packed, plain = in_fp8(folders[kind], tmp_path)
    model, looked = load_model(packed, "cpu"), outline(str(packed), "cpu")
    assert model.lean and apart(model, plain_model(plain)) <= CLOSE
    assert model.notes[-1] == "The weights are stored packed by fp8 and unpacked at load."
    assert looked.lean and looked.unpacked and looked.weights == model.bytes == load_model(plain, "cpu").bytes


@pytest.mark.parametrize("there", (False, True))
def test_fp8_stays_packed_on_a_gpu_where_the_package_for_it_is(there: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it transformers would load the weights, and end at the first pass."""
    monkeypatch.setattr(network, "is_kernels_available", lambda: there)
    for how, unpacked in (("fp8", not there), ("fbgemm_fp8", False)):
        config = LlamaConfig(quantization_config={"quant_method": how})
        assert bool(network.packing_config(config).get("dequantize")) is unpacked


# --- docs/models.md ---------------------------------------------------------------------------------------------------


def test_the_table_shows_what_people_use() -> None:
    """At least 48 of the 50 types in common use are exact, and none is listed as wrong."""
    lines = [line.split("|")[1:3] for line in FILE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    said = {kind.strip(): state.strip() for kind, state in lines}
    assert len(COMMON) == len(set(COMMON)) == 50
    assert sum(said.get(kind) == "exact" for kind in COMMON) >= 48
    assert sum(state == "exact" for state in said.values()) >= 230
    assert not [kind for kind, state in said.items() if state.startswith("not exact")]


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("kind", COMMON)
def test_types_in_common_use_are_as_the_table_says(kind: str, tmp_path: Path) -> None:
    outcome = tried(kind, tmp_path / kind)
    word = "not tried" if outcome.untried else "exact" if outcome.exact else "refused"
    assert f"| {kind} | {word} |" in FILE.read_text(encoding="utf-8"), outcome


def test_a_large_difference_has_to_be_rounding_alone() -> None:
    outcome = Outcome("kimi_linear", off=1.5 * CLOSE, equal=METHODS)
    assert not outcome.exact and replace(outcome, doubled=FINE).exact
    assert not replace(outcome, doubled=2 * FINE).exact and not replace(outcome, doubled=FINE, equal=METHODS[:2]).exact


@pytest.mark.slow
def test_what_is_rounding_alone_goes_away_in_float64(tmp_path: Path) -> None:
    """Kimi Linear's plain forward sums a text in another order than its pieces; transformers holds its states in fp32.
    States that are not set back are no rounding: they show in float64 as well."""
    hf = plain_model(tiny.make("kimi_linear", tmp_path, layers=2))
    assert apart_in_doubles(hf) <= FINE
    with patch.object(GenericCache, "back", lambda cache, n: n):
        assert apart_in_doubles(hf) > CLOSE


def test_mt5_runs_though_its_configuration_lacks_what_t5s_has(tmp_path: Path) -> None:
    outcome = readers.check("mt5", readers.make("mt5", tmp_path / "mt5"))
    assert outcome.exact and outcome.lean


@pytest.mark.thorough
def test_a_multimodal_model_runs_by_its_text_part(tmp_path: Path) -> None:
    outcome = tried("qwen3_vl", tmp_path / "qwen3_vl")
    assert outcome.exact, outcome


@pytest.mark.slow
@pytest.mark.parametrize("kind", readers.KINDS)
def test_encoder_decoders_are_as_the_table_says(kind: str, tmp_path: Path) -> None:
    outcome = tried(kind, tmp_path / kind)
    word = "not tried" if outcome.untried else "exact" if outcome.exact else "refused"
    assert f"| {kind} | {word} |" in FILE.read_text(encoding="utf-8"), outcome
