"""An enlarged pair writes what the small one writes, whatever drafts for it; what cannot be enlarged is refused."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.bench.enlarged import HEADS, Enlarging, Size, bytes_of, enlarge, enlarge_head
from engine.cli import main
from engine.errors import AssetError, ConfigError
from engine.files.places import locate
from engine.files.presets import get_preset
from engine.lab import Lab
from engine.model import Session
from tests.engine.model.families import near

PROMPT = "Question: Mia has 34 pens. She buys 3 bags with 12 in each. How many pens does Mia have now?\nAnswer:"
NEW = ["ar", "sd", *HEADS]


@pytest.fixture(scope="module")
def enlarged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The embedded pair with all its heads, four times as wide and a little deeper, by the command."""
    folder = tmp_path_factory.mktemp("enlarged") / "pair"
    assert main(["enlarge", str(folder), "--target", "1024,14,800", "--draft", "768,3,500"]) == 0
    yield folder
    shutil.rmtree(folder)  # some hundred MB


@pytest.fixture(scope="module")
def labs(enlarged: Path) -> tuple[Lab, Lab]:
    """The embedded pair and the enlarged one."""
    heads = {role: str(enlarged / role) for role in HEADS}
    large = Lab.load(target=str(enlarged / "target"), draft=str(enlarged / "draft"), dtype="float32", **heads)
    return Lab.load(preset="tiny", dtype="float32"), large


@pytest.mark.thorough
def test_passes_are_the_small_model_s(labs: tuple[Lab, Lab]) -> None:
    """Of target and draft, while residual channels, heads, neurons and layers are what was asked for."""
    small, large = labs
    assert (large.target.layers, large.target.width, large.models["draft"].width) == (14, 1024, 768)
    ids = small.target.tokenizer.encode(PROMPT)
    for a, b in ((small.target, large.target), (small.models["draft"], large.models["draft"])):
        one, other = (Session(m.decoder, m.vocab, m.device, 200).forward(ids).logits for m in (a, b))
        assert near(one, other) < 1e-5
    assert large.target.parameters > 2 * small.target.parameters


@pytest.mark.thorough
@pytest.mark.parametrize("method", NEW)
def test_methods_draft_what_they_drafted(labs: tuple[Lab, Lab], method: str) -> None:
    one, other = (lab.run(method, PROMPT, max_new_tokens=24) for lab in labs)
    assert one.token_ids == other.token_ids
    assert [(r.fed, r.levels) for r in one.rounds] == [(r.fed, r.levels) for r in other.rounds]


@pytest.mark.thorough
def test_what_is_added_is_not_silent_but_writes_nothing(enlarged: Path) -> None:
    """Weights that read are random everywhere, so that a pass costs what such a pass costs; those that write are zero
    beyond what the small model wrote."""
    whole = json.loads((enlarged / "target" / "model.safetensors.index.json").read_text())
    index, small = whole["weight_map"], Path(locate(get_preset("tiny").models["target"]))
    layers = bytes_of(small, Size(1024, 14, 800))
    assert layers < whole["metadata"]["total_size"] < 1.1 * layers  # norms and the small vocabulary besides
    assert whole["metadata"]["total_size"] == sum(
        tensor.nbytes for file in set(index.values()) for tensor in load_file(enlarged / "target" / file).values()
    )
    last = load_file(enlarged / "target" / index["model.layers.13.mlp.down_proj.weight"])
    assert not last["model.layers.13.mlp.down_proj.weight"].any()
    assert not last["model.layers.13.self_attn.o_proj.weight"].any()
    assert last["model.layers.13.mlp.up_proj.weight"].ne(0).float().mean() > 0.99
    first = load_file(enlarged / "target" / index["model.layers.0.mlp.down_proj.weight"])
    assert not first["model.layers.0.mlp.down_proj.weight"][256:].any()
    assert first["model.layers.0.self_attn.q_proj.weight"][300:, 300:].ne(0).float().mean() > 0.99


@pytest.mark.parametrize(
    ("size", "message"),
    [("128,14,800", "128 width are asked"), ("512,9,800", "9 layers"), ("400,14,800", "multiples of 256")],
)
def test_sizes_that_do_not_fit_are_refused(
    size: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["enlarge", str(tmp_path / "x"), "--target", size]) == 2
    assert message in capsys.readouterr().err


def test_nothing_is_begun_that_cannot_be_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A draft's size that does not fit is told before the target is written, and a disk that is too small."""
    assert main(["enlarge", str(tmp_path / "x"), "--draft", "100,3,500"]) == 2
    assert "100 width" in capsys.readouterr().err and not (tmp_path / "x").exists()
    monkeypatch.setattr("engine.cli.enlarge.shutil.disk_usage", lambda _: SimpleNamespace(free=10**10))
    assert main(["enlarge", str(tmp_path / "y")]) == 2
    assert "About 19.6 GB are needed" in capsys.readouterr().err and not list((tmp_path / "y").iterdir())
    monkeypatch.undo()
    for begun in ("enlarge", "enlarge_head"):
        monkeypatch.setattr(f"engine.cli.enlarge.{begun}", lambda *_: None)
    monkeypatch.setattr("engine.cli.enlarge.shutil.disk_usage", lambda _: SimpleNamespace(free=10**11))
    assert main(["enlarge", str(tmp_path / "z")]) == 0
    assert f"about 19.6 GB will be written in {tmp_path / 'z'}" in capsys.readouterr().err


def test_other_refusals(enlarged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["enlarge", str(tmp_path / "x"), "--target", "wide"])
    assert "three whole numbers" in capsys.readouterr().err
    assert main(["enlarge", str(enlarged)]) == 2 and "is not empty" in capsys.readouterr().err
    assert main(["enlarge", str(tmp_path / "x"), "--preset", "easd_helps"]) == 2
    assert "no pair" in capsys.readouterr().err
    target = Path(locate(get_preset("tiny").models["target"]))
    with pytest.raises(AssetError, match="weights in one file"):
        enlarge(enlarged / "target", tmp_path / "y", Size(1024, 20, 900))
    other = tmp_path / "other"
    other.mkdir()
    (other / "config.json").write_text('{"model_type": "mamba"}')
    with pytest.raises(AssetError, match=r"'mamba'.*can be enlarged"):
        enlarge_head(other, tmp_path / "z", target, Size(512, 14, 800))
    (other / "config.json").write_text('{"model_type": "llama", "hidden_size": 256}')
    save_file({"odd.weight": torch.zeros(3, 5)}, other / "model.safetensors")
    with pytest.raises(AssetError, match=r"odd.weight of shape \(3, 5\)"):
        enlarge_head(other, tmp_path / "z", target, Size(512, 14, 800))
    with pytest.raises(ConfigError, match="has 256 already"):
        Enlarging({"hidden_size": 256}, Size(128, 14, 800), 14)
