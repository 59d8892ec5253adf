"""Assistants of Gemma 4: draft for draft what transformers drafts, from what the target keeps."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoModelForCausalLM
from transformers.generation.candidate_generator import SinglePositionMultiTokenCandidateGenerator
from transformers.models.gemma4.configuration_gemma4 import Gemma4TextConfig
from transformers.models.gemma4_assistant.configuration_gemma4_assistant import Gemma4AssistantConfig

from engine.errors import AssetError, ModelMismatch
from engine.heads.assistant import AssistantHead
from engine.lab import Lab
from engine.model.outline import outline
from engine.runs.assets import load_asset
from tests.engine.model import tiny
from tests.engine.zoo import EOS, Zoo, save_tokenizer

OLD = tuple(map(int, transformers.__version__.split(".")[:2])) < (5, 24)
pytestmark = pytest.mark.skipif(OLD, reason="transformers before 5.24 builds no assistant of Gemma 4")
VOCAB = 16  # so few that some drafts of a random assistant hold
PROMPT = [5, 9, 3, 7, 6] * 6  # longer than the window
Pair = Callable[..., tuple[Path, Path]]


def target(folder: Path, **more: Any) -> Path:
    sizes = {"vocab_size": VOCAB, "vocab_size_per_layer_input": VOCAB, "tie_word_embeddings": False}
    tiny.make("gemma4_text", folder, 4, **sizes | more)
    save_tokenizer(folder, VOCAB)
    return folder


def assistant(
    folder: Path, *, seed: int = 7, ordered: bool = False, width: int = 64, vocab: int = VOCAB, window: int = 16
) -> Path:
    none = {
        "hidden_size_per_layer_input": 0,
        "vocab_size_per_layer_input": 0,
    }  # all its layers share keys: its configuration says so
    plain = {"enable_moe_block": False, "use_double_wide_mlp": False, "vocab_size": vocab, "hidden_size": 32}
    kinds = {"layer_types": ["sliding_attention", "full_attention"], "num_hidden_layers": 2, "sliding_window": window}
    text = tiny._small(Gemma4TextConfig, "gemma4_text", 2, none | plain | kinds)
    clusters = {"use_ordered_embeddings": ordered, "num_centroids": 8, "centroid_intermediate_top_k": 4}
    torch.manual_seed(seed)
    hf = AutoModelForCausalLM.from_config(
        Gemma4AssistantConfig(text_config=text.to_dict(), backbone_hidden_size=width, **clusters), dtype=torch.float32
    )
    if ordered:
        hf.masked_embedding.token_ordering.copy_(torch.randperm(vocab))
    hf.save_pretrained(folder)
    return folder


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    def made(*, ordered: bool = False, seed: int = 7, **more: Any) -> tuple[Path, Path]:
        own = {"ordered": ordered, "seed": seed, "window": more.get("sliding_window", 16)}
        return target(tmp_path / "target", **more), assistant(tmp_path / "assistant", **own)

    return made


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("shared", "ordered", "window", "seed"),  # random assistants whose drafts hold now and then
    [(0, False, 128, 7), (2, False, 128, 6), (0, True, 128, 12), (0, False, 16, 7), (2, True, 16, 12)],
)
def test_drafts_are_those_of_transformers(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, shared: int, ordered: bool, window: int, seed: int
) -> None:
    """In every round, with layers that share keys or none, and with tokens in clusters. transformers leaves the assistant
    keys of rejected tokens, which are taken away here; and its cache forgets what is outside of a window, so that a
    short one is compared right after the prompt, where it is still there."""
    folder, helper = pair(ordered=ordered, seed=seed, num_kv_shared_layers=shared, sliding_window=window)
    lab = Lab.load(target=folder, mtp=helper, device="cpu")
    ours = lab.run("mtp", PROMPT, max_new_tokens=40, gamma=3)
    assert isinstance(lab.asset("mtp"), AssistantHead)
    assert ours.token_ids == lab.run("ar", PROMPT, max_new_tokens=40).token_ids
    seen = list[list[int]]()
    plain = SinglePositionMultiTokenCandidateGenerator.get_candidates

    def spy(self: Any, input_ids: Tensor, model_kwargs: Any, model_outputs: Any, *rest: Any, **more: Any) -> Any:
        if model_outputs is not None:
            given = model_outputs.shared_kv_states
            more_than = given["full_attention"][0].shape[2] - (input_ids.shape[1] - 1)
            model_outputs.shared_kv_states = {
                kind: tuple(x[:, :, : x.shape[2] - more_than] for x in both) for kind, both in given.items()
            }
        found = plain(self, input_ids, model_kwargs, model_outputs, *rest, **more)
        seen.append(found[0][0, input_ids.shape[1] :].tolist())
        return found

    monkeypatch.setattr(SinglePositionMultiTokenCandidateGenerator, "get_candidates", spy)
    hf = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    draft = AutoModelForCausalLM.from_pretrained(helper, dtype=torch.float32).eval()
    draft.generation_config.num_assistant_tokens = 3
    draft.generation_config.num_assistant_tokens_schedule = "constant"
    ids = torch.tensor([PROMPT])
    out = hf.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=40, assistant_model=draft
    )
    assert ours.token_ids == out[0, len(PROMPT) :].tolist()
    drafts = [found for r in ours.rounds[1:] if (found := [n.token for n in r.nodes])]  # theirs begin a call later
    theirs = [draft for draft in seen if draft]
    assert len(theirs) > 10 and ours.rounds[0].accepted == 0 < sum(r.accepted for r in ours.rounds)
    rounds = 1 if window < len(PROMPT) else len(theirs)
    assert drafts[:rounds] == [draft[: draft.index(EOS) + 1] if EOS in draft else draft for draft in theirs[:rounds]]


@pytest.mark.thorough
def test_it_reads_what_was_accepted_and_nothing_behind(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """A round's draft is the one that a fresh run over the same text writes, whatever was drafted before."""
    folder, helper = pair()
    lab = Lab.load(target=folder, mtp=helper, device="cpu")
    whole = lab.run("mtp", PROMPT, max_new_tokens=40, gamma=3)
    at = next(i for i, r in enumerate(whole.rounds) if r.accepted and i + 1 < len(whole.rounds)) + 1
    before = [*PROMPT, *whole.token_ids[: whole.rounds[at].start]]
    fresh = lab.run("mtp", before, max_new_tokens=8, gamma=3)
    assert [n.token for n in fresh.rounds[0].nodes] == [n.token for n in whole.rounds[at].nodes]


def test_the_assistant_of_another_target_is_refused_in_words(pair: Pair, zoo: Zoo, tmp_path: Path) -> None:
    folder, helper = pair()
    lab = Lab.load(target=folder, device="cpu")
    with pytest.raises(ModelMismatch, match="knows states 48 wide"):
        load_asset("mtp", str(assistant(tmp_path / "wide", width=48)), lab.target)
    with pytest.raises(ModelMismatch, match="knows 24 tokens"):
        load_asset("mtp", str(assistant(tmp_path / "many", vocab=24)), lab.target)
    with pytest.raises(ModelMismatch, match="reads what a target of type gemma4 keeps"):
        load_asset("mtp", str(helper), zoo.model("llama", layers=3))
    weights = load_file(helper / "model.safetensors")
    save_file({name: x for name, x in weights.items() if "layers.1.mlp.up" not in name}, helper / "model.safetensors")
    with pytest.raises(AssetError, match="not complete: 1 tensors are missing"):  # and would be random
        load_asset("mtp", str(helper), lab.target)
    (helper / "model.safetensors").write_bytes(b"no tensors")
    with pytest.raises(AssetError, match="cannot be loaded"):
        load_asset("mtp", str(helper), lab.target)


def test_an_assistant_that_is_taken_for_a_model_is_told_its_role(pair: Pair) -> None:
    folder, helper = pair()
    with pytest.raises(ModelMismatch, match=r"is an assistant.*mtp="):
        Lab.load(target=folder, draft=helper, device="cpu")
    with pytest.raises(ModelMismatch, match=r"is an assistant.*mtp="):  # before anything is fetched
        outline(str(helper), "cpu")
