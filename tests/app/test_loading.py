"""What is being loaded is told while it is, and to whom."""

from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient

from app.routes import loading as answer
from engine import progress
from engine.errors import AssetError
from engine.runs import loading


def test_the_page_is_told_what_is_loaded_and_nothing_else(tmp_path: Path) -> None:
    client = TestClient(Starlette(routes=[Route("/lab/loading", answer)]))
    (tmp_path / "model.safetensors").write_bytes(b"x" * 30)
    assert client.get("/lab/loading").json() == {"loading": None}
    with progress.loading("eagle3 head", tmp_path):
        told = client.get("/lab/loading").json()["loading"]
    seconds = told.pop("seconds")
    assert (
        told == {"what": "eagle3 head", "step": 1, "of": 1, "size": 30, "done": 0, "read": 0, "doing": "Loading"}
        and 0 <= seconds < 60
    )
    with pytest.raises(AssetError), progress.loading("broken", tmp_path / "none"):
        raise AssetError("broken")
    assert client.get("/lab/loading").json() == {"loading": None}


def test_models_are_counted_with_the_bytes_before_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen = []
    monkeypatch.setattr(loading, "load_model", lambda *_args, **_kwargs: seen.append(progress.now()))
    monkeypatch.setattr(loading, "bridge", lambda *_models: None)
    for role, size in (("target", 40), ("draft", 7)):
        (tmp_path / role).mkdir()
        (tmp_path / role / "model.safetensors").write_bytes(b"x" * size)
    found = loading.Wanted({role: str(tmp_path / role) for role in ("target", "draft")}, {}, "auto", named=False)
    loading.load_models(found, "cpu")
    assert [(one.step, one.of, one.size, one.done) for one in seen if one] == [(1, 2, 40, 0), (2, 2, 7, 40)]
    assert seen[0] is not None and seen[0].what.startswith("target ") and progress.now() is None
