"""A target on a server that really generates: the same runs, labels and judges' inputs as with the model here."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from engine.cli import main
from engine.errors import AssetError, ConfigError, ModelMismatch
from engine.judge.client import Endpoint
from engine.judge.events import PromptFinished
from engine.judge.served import _first, served_model
from engine.judge.store import read_mined
from engine.lab import Lab
from engine.methods import get_card
from engine.model import load_model
from engine.model.outline import outline
from engine.tasks import load_problems
from tests.engine.judge.server import serving
from tests.engine.model import tiny
from tests.engine.zoo import Zoo

PROMPT = "Question: 2 and 3?"
GREEDY = {"max_new_tokens": 14, "record": "light"}


@pytest.fixture(scope="module")
def paths(zoo: Zoo) -> dict[str, str]:
    target = zoo.path("llama", layers=2, hidden=32)
    return {"target": str(target), "draft": str(zoo.draft_path(target, "noise", sigma=0.3))}


@pytest.fixture(scope="module")
def here(paths: dict[str, str]) -> Lab:
    return Lab.load(**paths, device="cpu")


@pytest.mark.thorough
@pytest.mark.parametrize("place", ["/v1", "/generate"])
def test_runs_and_labels_are_those_of_the_model_here(
    paths: dict[str, str], here: Lab, tmp_path: Path, place: str
) -> None:
    problems = load_problems("arithmetic", "heldout", 2)
    with serving(here.target) as (url, seen):
        there = Lab.load(**paths, target_endpoint=url.removesuffix("/v1") + place, target_model="m", target_key="k")
        for method in ("ar", "sd", "pld"):
            ours, theirs = (lab.run(method, PROMPT, **GREEDY) for lab in (here, there))
            assert ours.token_ids == theirs.token_ids and len(theirs.tokens) > 3
            assert [r.accepted for r in ours.rounds] == [r.accepted for r in theirs.rounds]
        assert theirs.head.dtype == "served" and theirs.head.models["target"]["revision"].endswith(place)
        for name, lab in (("here", here), ("there", there)):
            list(lab.mine("arithmetic", problems, tmp_path / f"{name}.jsonl", limit=10))
    assert all(one["key"] == "Bearer k" for one in seen)
    found = [[_labels(prompt) for prompt in read_mined(tmp_path / f"{name}.jsonl")[1]] for name in ("here", "there")]
    assert found[0] == found[1] and any(labels for _, _, labels in found[0])


def _labels(prompt: PromptFinished) -> tuple[Any, ...]:
    return prompt.first, prompt.final, [(one.t, one.important, one.draft_token) for one in prompt.labels]


def test_texts_end_as_with_the_model_here_where_its_whole_configuration_says_how(tmp_path: Path) -> None:
    """That of a multimodal model, whose text part names another id, with no file of settings beside it."""
    folder = tiny.make("llava", tmp_path / "llava", layers=1)
    (folder / "generation_config.json").unlink()
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"eos_token_id": [7, 9]}))
    here, there = load_model(folder, "cpu"), served_model(folder, Endpoint("http://127.0.0.1:1/v1", "m"))
    looked = outline(str(folder)).model
    assert looked.tokenizer.stop_ids == there.tokenizer.stop_ids == here.tokenizer.stop_ids >= {7, 9}


def test_texts_begin_and_end_as_with_the_model_here(paths: dict[str, str], tmp_path: Path) -> None:
    """Of Phi-3 and Gemma 2 the generation config alone names the id that ends a turn."""
    folder = shutil.copytree(paths["target"], tmp_path / "copy")
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": [7, 9]}))
    template = "{% for m in messages %}[{{ m['content'] }}]{% endfor %}"
    (folder / "chat_template.json").write_text(json.dumps({"chat_template": template}))
    here, there = load_model(folder, "cpu"), served_model(folder, Endpoint("http://127.0.0.1:1/v1", "m"))
    assert there.tokenizer.stop_ids == here.tokenizer.stop_ids >= {7, 9}
    assert there.tokenizer.encode("hi", chat=True) == here.tokenizer.encode("hi", chat=True)


@pytest.mark.parametrize(
    ("config", "kind", "words"),
    [
        (None, AssetError, "^Neither a folder here nor a model that the hub gives: '.*none'"),
        ("{", AssetError, "^The folder .* is not a complete model: .*valid JSON"),
        ('{"model_type": "vit"}', ModelMismatch, "is of type vit, which is no model that writes text"),
        (
            '{"model_type": "gpt2", "n_positions": -1}',
            AssetError,
            r"n_positions in its config\.json must be .* not -1\.$",
        ),
    ],
)
def test_a_served_model_that_cannot_be_read_is_told_in_one_sentence(
    paths: dict[str, str], tmp_path: Path, config: str | None, kind: type[Exception], words: str
) -> None:
    """As with a model here; a configuration of what writes no text had ended in an AttributeError."""
    folder = tmp_path / "none" if config is None else shutil.copytree(paths["target"], tmp_path / "copy")
    if config is not None:
        (folder / "config.json").write_text(config)
    with pytest.raises(kind, match=words) as told:
        served_model(folder, Endpoint("http://127.0.0.1:1/v1", "m"))
    assert "\n" not in str(told.value)


def test_what_a_server_does_not_tell_is_refused(paths: dict[str, str], here: Lab, tmp_path: Path) -> None:
    def spoil(answer: dict[str, Any]) -> dict[str, Any]:
        return json.loads(json.dumps(answer).replace("prompt_logprobs", "none"))

    with serving(here.target, spoil=spoil) as (url, _):
        there = Lab.load(**paths, target_endpoint=url)
        with pytest.raises(ConfigError, match="first choices only"):
            there.run("sd", PROMPT, temperature=0.7, **GREEDY)
        with pytest.raises(ConfigError, match="record lightly"):
            there.run("sd", PROMPT, max_new_tokens=3)
        assert {"ar", "sd", "pld", "suffix"} <= {card.name for card in there.methods()}
        assert "reads more of the target" in there.hindrance(get_card("recycle"))
        with pytest.raises(ConfigError, match="mined greedily"):
            next(there.mine("arithmetic", load_problems("arithmetic", "heldout", 1), tmp_path / "m", temperature=1.0))
        end = there.run("sd", PROMPT, **GREEDY).end
        assert end is not None and end.reason == "error" and "prompt_logprobs and return_token_ids" in end.message
    with pytest.raises(ConfigError, match="no http address"):
        Lab.load(**paths, target_endpoint="here")


@pytest.mark.thorough
def test_the_command_line_reaches_a_server(
    paths: dict[str, str],
    here: Lab,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("SERVED_KEY", "k")
    models = ["--target", paths["target"], "--draft", paths["draft"], "--device", "cpu", "--threads", "1"]
    compare = ["compare", "--methods", "ar,sd,pld", "--prompt", PROMPT, "--max-new-tokens", "14", "--json"]
    mine = ["mine", "--task", "arithmetic", "--limit", "10", "--items", "2", "--json"]
    tables, labels = list[dict[str, Any]](), list[list[Any]]()
    with serving(here.target) as (url, seen):
        served = ["--target-endpoint", url, "--target-model", "m", "--target-key-env", "SERVED_KEY"]
        for name, more in (("here", []), ("there", served)):
            capsys.readouterr()
            assert main([*compare, *models, *more]) == 0
            tables.append(json.loads(capsys.readouterr().out))
            assert bool(seen) == bool(more), "the server is asked where it is named, and only there"
            assert main([*mine, *models, *more, "--out", str(tmp_path / name)]) == 0
            labels.append([_labels(prompt) for prompt in read_mined(tmp_path / name)[1]])
    assert labels[0] == labels[1] and any(found for _, _, found in labels[0])
    assert {(one["key"], one["model"]) for one in seen} == {("Bearer k", "m")}
    with serving(here.target) as (url, _):
        served = ["--target-endpoint", url, "--target-model", "m", "--target-key-env", "SERVED_KEY"]
        every = ["compare", "--methods", "all", *compare[3:]]
        capsys.readouterr()
        assert main([*every, *models, *served]) == 0
        said = capsys.readouterr()
        assert {"ar", "sd", "pld"} <= json.loads(said.out).keys() and "record" not in said.err
    counts = ("tokens", "rounds", "accepted", "drafted", "same_output_as_ar")
    told = [{name: [row[count] for count in counts] for name, row in table.items()} for table in tables]
    assert told[0] == told[1] and told[0]["sd"][2] > 0


def test_of_tied_first_choices_the_lowest_counts() -> None:
    """vLLM names the prompt's own token first, and gives all that are tied rank 1."""
    row = {"9": {"rank": 1, "logprob": -1.0}, "2": {"rank": 1, "logprob": -1.0}, "1": {"rank": 3, "logprob": -3.0}}
    assert _first(row) == 2 and _first({"4": {"rank": 2}}) is None and _first(None) is None
