"""What pretended devices show of every kind of model, packed ones among them, on a real CUDA device where there is one
(`make test-gpu`)."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers.utils import is_kernels_available

from engine.model import Model, load_model
from tests.engine.crossed import Crossed
from tests.engine.devices import test_kinds as kinds
from tests.engine.heads.test_assistant import OLD
from tests.engine.model import test_families as families
from tests.engine.model import test_unpacking as unpacking
from tests.engine.model import tiny
from tests.engine.model.families import TREE, near
from tests.engine.zoo import Zoo

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device")]


@contextmanager
def nothing() -> Iterator[Any]:
    """In place of pretended devices; waits are counted elsewhere (test_cuda.py)."""
    yield SimpleNamespace(waits=[])


def there(path: Path, place: str = "cpu", *given: str) -> Model:
    """A model on the device, whichever was named; on the host where that was."""
    return load_model(path, "cpu" if place == "cpu" else "cuda", "float32")


@pytest.fixture(autouse=True)
def really(monkeypatch: pytest.MonkeyPatch) -> None:
    """The device in place of pretended ones."""
    monkeypatch.setattr(kinds, "pretended", nothing)
    monkeypatch.setattr(kinds, "loaded", there)


@pytest.mark.parametrize("kind", kinds.WAYS)
def test_every_way_through_transformers(kind: str, tmp_path: Path) -> None:
    kinds.test_every_way_through_transformers(kind, "cuda:0", tmp_path)


@pytest.mark.parametrize("method", ("sd", "block_verify", "mixed", "universal"))
def test_draft_models_of_other_ids(zoo: Zoo, tmp_path: Path, method: str) -> None:
    kinds.test_draft_models_of_other_ids(zoo, tmp_path, method)


@pytest.mark.parametrize("layout", kinds.LAYOUTS)
def test_a_pair_of_which_one_stays_on_the_host(zoo: Zoo, layout: str) -> None:
    kinds.test_a_pair_of_which_one_stays_on_the_host(zoo, layout)


@pytest.mark.parametrize("family", ("bart", "t5", "bert2bert"))
def test_encoder_decoders(crossed: Crossed, family: str) -> None:
    kinds.test_encoder_decoders(crossed, family, "cuda:0")


@pytest.mark.parametrize("family", ("t5", "bart"))
def test_masks_of_a_source_are_read_at_all_lengths(crossed: Crossed, family: str) -> None:
    kinds.test_masks_of_a_source_are_read_at_all_lengths(crossed, family)


@pytest.mark.skipif(OLD, reason="transformers before 5.24 builds no assistant of Gemma 4")
@pytest.mark.parametrize("shared", (0, 2))
def test_assistants_and_layers_that_share_keys(tmp_path: Path, shared: int) -> None:
    kinds.test_assistants_and_layers_that_share_keys(tmp_path, "cuda:0", shared)


@pytest.mark.parametrize("kind", ("tokens2", "two_layers"))
def test_reward_models_score_what_they_score_on_a_cpu(zoo: Zoo, tmp_path: Path, kind: str) -> None:
    kinds.test_reward_models_score_what_they_score_on_a_cpu(zoo, tmp_path, kind)


@pytest.mark.parametrize("family", ("llama", "bart", "t5"))
def test_joined_passes(zoo: Zoo, crossed: Crossed, family: str) -> None:
    kinds.test_joined_passes(zoo, crossed, None, family)


@pytest.mark.parametrize("kind", ("gemma3_text", "gemma2", "mistral", "qwen3", "phi3", "mixtral", "qwen3_next"))
@torch.inference_mode()
def test_types_with_windows_norms_and_experts(kind: str, tmp_path: Path) -> None:
    """Which load at all only if they stand their trial there; and give what they give on a CPU."""
    path = tiny.make(kind, tmp_path / kind, layers=2)
    ids = [(7 * i) % 60 + 3 for i in range(60)]
    here, on = (load_model(path, device, "float32") for device in ("cpu", "cuda"))
    for n in (8, 40, 60):
        a, b = (one.session(90).forward(ids[:n]).logits.cpu() for one in (here, on))
        assert near(a, b) < 1e-4


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.make("llama", tmp_path_factory.mktemp("plain") / "llama", layers=1)


@pytest.mark.parametrize("way", unpacking.WAYS)
def test_packed_weights(plain: Path, tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "load_model", lambda path, device, *more: load_model(path, "cuda", "float32"))
    unpacking.test_packed_weights_run_as_the_matrices_that_they_stand_for(plain, tmp_path, way)


@pytest.mark.skipif(is_kernels_available(), reason="there is a package that computes in FP8")
@pytest.mark.parametrize("kind", ("llama", "llava"))
@torch.inference_mode()
def test_fp8_is_unpacked(tmp_path: Path, kind: str) -> None:
    packed, plain = families.in_fp8(tiny.make(kind, tmp_path / kind, layers=1), tmp_path)
    model, whole = load_model(packed, "cuda", "float32"), load_model(plain, "cuda", "float32")
    found, wanted = (one.session(80).forward(kinds.PROMPT, TREE).logits for one in (model, whole))
    assert model.lean and torch.equal(found, wanted) and "unpacked" in model.notes[-1]
