"""Heads and trees that do not fit, through the page's own entry: the run ends with a sentence, the next one works."""

import json
from pathlib import Path
from typing import Any

import pytest

from app import request as requests
from app.build import Handlers
from app.service import Service
from engine.analysis.explain import why
from engine.lab import Lab
from engine.methods import CARDS
from tests.engine.drafters.heads import headed
from tests.engine.heads import made
from tests.engine.zoo import Zoo


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    folder = tmp_path_factory.mktemp("heads")
    return headed(Zoo(folder / "zoo"), folder, max_position_embeddings=96)


def sent(lab: Lab, *lanes: Any, **more: Any) -> list[dict[str, Any]]:
    """The messages that a page gets for this request."""
    service = Service(CARDS, {"toy": lambda: lab}, why)
    given = {"prompt": "abcdabcdabcd", "lanes": list(lanes), "max_new_tokens": 12, "id": requests.fresh_id(), **more}
    handlers = Handlers(service, None, why)  # type: ignore[arg-type]
    found = [json.loads(text) for text in handlers.stream(json.dumps(given))]
    again = json.dumps({**given, "lanes": ["ar"], "max_new_tokens": 4, "id": requests.fresh_id()})
    assert json.loads(list(handlers.stream(again))[-1])["done"], "the engine is free again"
    return found


def ends(messages: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {key: event for message in messages for key, event in message.get("ev", ()) if event["kind"] == "end"}


@pytest.fixture
def foreign(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A head that was made for a wider target."""
    wider = Zoo(tmp_path / "zoo").lab("llama", draft=None, vocab=32, hidden=64).target
    monkeypatch.setitem(lab.asset_paths, "eagle3", str(made.eagle(tmp_path / "foreign", wider, "eagle3")))
    monkeypatch.setattr(lab, "_assets", {})


def test_a_head_for_another_target_ends_its_lane_alone(lab: Lab, foreign: None) -> None:
    found = ends(sent(lab, "ar", "eagle3"))
    assert found["ar"]["reason"] == "limit" and len(found["ar"]["text"]) == 12
    assert found["eagle3"]["reason"] == "error"
    assert "64" in found["eagle3"]["message"] and "48" in found["eagle3"]["message"], found["eagle3"]["message"]


def test_a_tree_larger_than_the_context_is_refused_with_what_would_do(lab: Lab) -> None:
    tree = {"method": "eagle3", "knobs": {"total_token": 200}}
    found = ends(sent(lab, "ar", tree))
    assert found["ar"]["reason"] == "limit"
    assert found["eagle3"]["reason"] == "error" and "lower total_token" in found["eagle3"]["message"]
    alone = sent(lab, tree)
    assert not ends(alone) and "lower total_token" in alone[-1]["notice"], (
        "nothing has run, so the whole request is refused"
    )


@pytest.mark.parametrize("method", ["eagle3", "heterospec", "medusa", "adaedl_eagle"])
def test_a_tree_larger_than_what_is_left_shrinks_and_the_text_stays_the_same(lab: Lab, method: str) -> None:
    found = sent(lab, "ar", method, prompt="abcd" * 18, max_new_tokens=60)
    last = ends(found)
    assert last[method]["text"] == last["ar"]["text"] and last[method]["reason"] == last["ar"]["reason"] == "context"
    fed = [
        event["fed"]
        for message in found
        for key, event in message.get("ev", ())
        if key == method and event["kind"] == "round"
    ]
    assert min(fed) < max(fed) <= 96 - 72 + 1
