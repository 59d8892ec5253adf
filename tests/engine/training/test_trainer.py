"""Training: batches by step, exact resumption, budgets, exports."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM, PreTrainedTokenizerBase

from engine.errors import AssetError, ConfigError, ModelMismatch
from engine.tasks import load_problems
from engine.training import commands, models
from engine.training.command import main
from engine.training.data import Corpus, Mix, encode
from engine.training.record import describe
from engine.training.trainer import Settings, Trainer, read_state, settings_in, write_state
from tests.modes import alike

MIX = Mix(arithmetic=2, functions=2, sentences=2, drills=1)
SETTINGS = Settings("micro", steps=6, mix=MIX, warmup_steps=2)


@pytest.fixture(scope="module")
def words() -> PreTrainedTokenizerBase:
    return AutoTokenizer.from_pretrained("assets/tiny/tokenizer")


def test_batches_depend_on_the_step_alone(words: PreTrainedTokenizerBase) -> None:
    first, second = Corpus(words, MIX, 0), Corpus(words, MIX, 0)
    first.batches(0)
    for a, b in zip(first.batches(17), second.batches(17), strict=True):
        assert torch.equal(a.ids, b.ids) and torch.equal(a.weights, b.weights)
    assert first.digest() == second.digest() != Corpus(words, MIX, 1).digest()


def test_padding_and_prompts_weigh_little(words: PreTrainedTokenizerBase) -> None:
    batch = Corpus(words, MIX, 0).batches(0)[0]
    assert (batch.weights[batch.ids == words.pad_token_id] == 0).all()
    assert {round(w, 1) for w in batch.weights.unique().tolist()} == {0.0, 0.1, 1.0}


def test_choices_weigh_less_and_results_more_if_asked(words: PreTrainedTokenizerBase) -> None:
    problem = load_problems("arithmetic", "train", 1)[0]
    ids, weights = encode(words, problem, Mix(choice_weight=0.25, result_weight=2.0))
    light = words.decode([i for i, w in zip(ids, weights, strict=True) if w == 0.25])
    assert light == "".join(problem.solution[a:b] for a, b in problem.choices)
    heavy = [i for i, w in zip(ids, weights, strict=True) if w == 2.0]
    assert words.decode(heavy) == "".join(re.findall(r"= (\d+)", problem.solution))


def test_a_resumed_run_equals_an_unbroken_one(words: PreTrainedTokenizerBase, tmp_path: Path) -> None:
    whole = Trainer(SETTINGS, words, threads=2)
    losses = [whole.step() for _ in range(6)]
    part = Trainer(SETTINGS, words, threads=2)
    for _ in range(3):
        part.step()
    write_state(part, tmp_path)
    again = Trainer(settings_in(read_state(tmp_path), "micro"), words, threads=2)
    again.load(read_state(tmp_path))
    assert [again.step() for _ in range(3)] == losses[3:]
    assert len(again.history) == 1
    for a, b in zip(whole.model.parameters(), again.model.parameters(), strict=True):
        assert torch.equal(a, b)


def test_a_resumed_run_tells_how_it_began_and_whether_its_data_changed(
    words: PreTrainedTokenizerBase, tmp_path: Path
) -> None:
    trainer = Trainer(SETTINGS, words)
    trainer.begun = "--encoder other"
    trainer.step()
    write_state(trainer, tmp_path)
    state = read_state(tmp_path)
    same, changed = Trainer(SETTINGS, words), Trainer(SETTINGS, words)
    same.load(state)
    assert describe(same)["commands"] == describe(trainer)["commands"]
    assert describe(same)["commands"][0].endswith(" --encoder other")
    state["history"][0]["data_sha256"] = "of an older corpus"
    changed.load(state)
    told = describe(changed)
    assert told["data_sha256"] == ["of an older corpus", changed.corpus.digest()]
    assert [leg["from_step"] for leg in changed.history] == [0, 1] and "--resume (at step 1)" in told["commands"][1]


@pytest.mark.thorough
def test_checkpoints_that_cannot_be_gone_on_with_are_told(
    words: PreTrainedTokenizerBase, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_state(Trainer(SETTINGS, words), tmp_path / "work")
    made = [*("--threads", "1", "--device", "cpu"), "--out", str(tmp_path / "out")]

    def said(*given: str) -> str:
        assert main([*given, *made]) == 2 and not (tmp_path / "out").exists()
        return capsys.readouterr().err

    for command in ("train", "export"):
        other = [command, "draft", "--work", str(tmp_path / "work"), *(["--resume"] if command == "train" else [])]
        assert "The checkpoint is of micro, and draft was asked for." in said(*other)
    assert "draft has 2 layers of width 192" in said("train", "draft", "--grow", str(tmp_path / "work"))
    assert "There is no checkpoint" in said("train", "micro", "--resume", "--work", str(tmp_path / "none"))
    (tmp_path / "work" / "checkpoint.pt").write_bytes((tmp_path / "work" / "checkpoint.pt").read_bytes()[:999])
    assert "cannot be read" in said("export", "micro", "--work", str(tmp_path / "work"))
    with pytest.raises(AssetError):
        read_state(tmp_path / "work")


def test_a_grown_run_that_was_cut_off_goes_on_from_its_own_checkpoint(
    words: PreTrainedTokenizerBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command with --resume put behind it: it does not grow again."""
    monkeypatch.setitem(models.SHAPES, "deep", (2, 64, 64, 1, 1))
    monkeypatch.setattr(commands, "_publish", lambda *_: None)
    write_state(Trainer(SETTINGS, words), tmp_path / "small")
    mix = ["--mix", "arithmetic=1", "functions=1", "sentences=1", "drills=1", "--threads", "1", "--device", "cpu"]
    grown = ["train", "deep", "--grow", str(tmp_path / "small"), "--work", str(tmp_path / "work"), *mix, "--steps"]
    assert main([*grown, "2"]) == 0 and main([*grown, "3", "--resume"]) == 0
    history = read_state(tmp_path / "work")["history"]
    assert [(leg["settings"]["shape"], leg["from_step"]) for leg in history] == [("micro", 0), ("deep", 0), ("deep", 2)]


def test_a_grown_model_computes_what_the_small_one_did(
    words: PreTrainedTokenizerBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """New layers are silent at first, take part in learning at once, and the record tells how it came about."""
    monkeypatch.setitem(models.SHAPES, "deep", (3, 64, 64, 1, 1))
    small = Trainer(Settings("micro", steps=6, mix=MIX, warmup_steps=1), words)
    for _ in range(2):
        small.step()
    write_state(small, tmp_path)
    big = Trainer(Settings("deep", steps=6, mix=MIX, warmup_steps=1), words)
    big.grow(read_state(tmp_path))
    ids = torch.randint(3, 1500, (2, 9), generator=torch.Generator().manual_seed(0))
    assert len(big.model.model.layers) == 3
    assert torch.equal(big.model(ids).logits, small.model(ids).logits)
    big.step()
    assert all(layer.mlp.down_proj.weight.abs().max() > 0 for layer in big.model.model.layers)
    assert big.progress.step == 3 and "train deep" in describe(big)["commands"][1]
    assert "--grow build/micro (at step 2)" in describe(big)["commands"][1]
    with pytest.raises(ModelMismatch, match="wants more layers than 3"):
        models.grown(big.model, "micro", words, 0)


@pytest.mark.parametrize("go_on", ["load", "grow"])
def test_a_checkpoint_of_another_vocabulary_is_told(
    go_on: str, words: PreTrainedTokenizerBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(models.SHAPES, "deep", (2, 64, 64, 1, 1))
    state = Trainer(SETTINGS, words).state()
    state["model"] = {name: x[:9] if "embed_tokens" in name else x for name, x in state["model"].items()}
    trainer = Trainer(replace(SETTINGS, shape="micro" if go_on == "load" else "deep"), words)
    with pytest.raises(ModelMismatch, match="weights have other sizes: give the tokenizer it has"):
        getattr(trainer, go_on)(state)


def test_added_layers_are_spread_evenly() -> None:
    assert models.sources_of(2, 4) == [(0, False), (0, True), (1, False), (1, True)]
    assert [old for old, new in models.sources_of(8, 12) if new] == [1, 3, 5, 7]
    assert [old for old, new in models.sources_of(8, 12) if not new] == list(range(8))


@pytest.mark.thorough
def test_it_learns(words: PreTrainedTokenizerBase) -> None:
    trainer = Trainer(Settings("micro", steps=30, mix=MIX, warmup_steps=2), words)
    losses = [trainer.step() for _ in range(30)]
    assert losses[-1] < losses[0] - 1.5


@pytest.mark.thorough
def test_a_run_ends_with_its_budget_and_reports(words: PreTrainedTokenizerBase) -> None:
    trainer = Trainer(Settings("micro", steps=20, mix=MIX), words)
    lines: list[str] = []
    saves: list[int] = []
    trainer.run(lines.append, lambda: saves.append(trainer.progress.step))
    assert saves == [20]
    assert "tokens/s" in lines[0] and "100% done" in lines[0]


def test_an_export_is_a_standard_checkpoint(words: PreTrainedTokenizerBase, tmp_path: Path) -> None:
    trainer = Trainer(SETTINGS, words)
    training = describe(trainer)
    folder = tmp_path / "model"
    for _ in range(2):  # the second replaces the first
        models.export(trainer.model, words, folder, training)
        (folder / "README.md").write_text("kept")
    assert [p.name for p in tmp_path.iterdir()] == ["model"] and alike(folder)
    model = AutoModelForCausalLM.from_pretrained(folder)
    assert model.dtype == torch.bfloat16
    assert AutoTokenizer.from_pretrained(folder)("a 12").input_ids == words("a 12").input_ids
    assert model.generation_config.eos_token_id == words.eos_token_id
    assert json.loads((folder / "training.json").read_text())["settings"]["shape"] == "micro"


def test_an_export_on_a_full_disk_is_told_and_leaves_nothing(
    words: PreTrainedTokenizerBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: object, folder: Path) -> None:
        folder.mkdir()
        raise SafetensorError("I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(LlamaForCausalLM, "save_pretrained", full)
    with pytest.raises(ConfigError, match="out cannot be written: I/O error: No space left on device"):
        models.export(models.build("micro", words, 0), words, tmp_path / "out", {})
    assert not list(tmp_path.iterdir())


def test_an_export_over_another_leaves_its_cards_and_the_heads_in_it(
    words: PreTrainedTokenizerBase, tmp_path: Path
) -> None:
    trainer, folder = Trainer(SETTINGS, words), tmp_path / "model"
    models.export(trainer.model, words, folder, {})
    (folder / "medusa").mkdir()
    beside = [folder / "README.md", folder / "medusa" / "card.json"]
    for path in beside:
        path.write_text("kept")
    models.export(trainer.model, words, folder, {})
    assert [path.read_text() for path in beside] == ["kept", "kept"]


def test_the_shipped_shapes_differ_fourfold(words: PreTrainedTokenizerBase) -> None:
    sizes = {s: sum(p.numel() for p in models.build(s, words, 0).parameters()) for s in ("target", "draft")}
    assert sizes["target"] >= 4 * sizes["draft"]
    assert models.SHAPES["target"][0] >= 8
