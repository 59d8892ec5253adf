"""Heads that learn from a user's own prompts, and are measured on them."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from engine.lab import Lab
from engine.model import load_model
from engine.training import features
from engine.training.asked import Asked
from engine.training.command import main as command
from engine.training.features import Features
from tests.engine.zoo import Zoo

TEMPLATE = "{% for message in messages %}<{{ message.content }}>{% endfor %}"
ROWS = [{"id": f"q{i}", "question": text, "answer": "7 = 8"} for i, text in enumerate(("1 + 2", "a b c d e f", "9"))]


@pytest.fixture
def target(zoo: Zoo, tmp_path: Path) -> Path:
    """A random target that chats, and can tap three layers."""
    folder = tmp_path / "target"
    shutil.copytree(zoo.path("llama", context=512), folder)
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    return folder


@pytest.fixture
def file(tmp_path: Path) -> Path:
    place = tmp_path / "mine.jsonl"
    place.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return place


def texts(folder: Path) -> list[tuple[list[int], list[int]]]:
    """Prompts and answers of a cache, in its order."""
    return [
        (part["ids"][at : at + start].tolist(), part["ids"][at + start : end].tolist())
        for part, at, end, start in Features(folder).rows
    ]


@pytest.mark.parametrize("chat", [False, True])
def test_the_target_answers_a_user_s_own_prompts_as_a_run_would(
    chat: bool, target: Path, file: Path, tmp_path: Path
) -> None:
    made = tmp_path / "made"
    features.build(target, made, None, 1.0, 0, lambda _: None, asked=Asked(file, chat, limit=12))
    lab = Lab(load_model(target, device="cpu", dtype="float32"), {})
    runs = [lab.run("ar", row["question"], max_new_tokens=12, chat=chat) for row in ROWS]
    assert texts(made) == [(run.head.prompt_ids, run.token_ids) for run in runs]
    written = [lab.target.tokenizer.hf.decode(prompt) for prompt, _ in texts(made)]
    assert all(text.startswith("<") == chat for text in written)


def test_no_text_gets_longer_than_the_context(zoo: Zoo, file: Path, tmp_path: Path) -> None:
    short = zoo.path("llama", max_position_embeddings=40)
    features.build(short, tmp_path / "made", None, 1.0, 0, lambda _: None, asked=Asked(file, limit=4000))
    sizes = [len(prompt) + len(answer) for prompt, answer in texts(tmp_path / "made")]
    assert max(sizes) == 40


def test_prompts_with_a_solution_can_be_learnt_from_as_they_are(target: Path, file: Path, tmp_path: Path) -> None:
    model = load_model(target, device="cpu", dtype="float32")
    features.build(target, tmp_path / "made", 2, 0.0, 0, lambda _: None, asked=Asked(file))
    assert [answer for _, answer in texts(tmp_path / "made")] == [
        [*model.tokenizer.hf("7 = 8", add_special_tokens=False).input_ids, model.tokenizer.hf.eos_token_id]
    ] * 2


def test_states_too_large_for_fp16_are_kept(zoo: Zoo, tmp_path: Path) -> None:
    """They had become infinite: from such nothing can be learnt."""
    model, lines = zoo.model("llama", layers=8), [([3, 4], [5, 6, 7]), ([8], [9])]
    parts = [features._states(model, [line]) for line in lines]
    wide = parts[0]["taps"].float() * 1e9
    parts[0]["taps"] = features._small(wide)
    for number, part in enumerate(parts):
        save_file(part, tmp_path / f"part-{number:04d}.safetensors")
    (tmp_path / "features.json").write_text(json.dumps({"target": "", "texts": 2, "greedy": 0, "seed": 0}))
    cache, orders = Features(tmp_path), set[tuple[int, ...]]()
    for step in range(8):
        batch = cache.batch(step, 2, 0)
        sizes = batch.size.tolist()
        orders.add(tuple(sizes))
        assert torch.equal(batch.taps[sizes.index(5)].float(), wide)
        assert torch.equal(batch.taps[sizes.index(2), :2].float(), parts[1]["taps"].float())
    assert len(orders) == 2 and parts[1]["taps"].dtype == torch.float16


def test_other_prompts_are_another_cache(target: Path, file: Path, tmp_path: Path) -> None:
    made, asked = tmp_path / "made", Asked(file, limit=3)
    told = list[str]()
    for _ in range(2):
        features.build(target, made, None, 1.0, 0, told.append, asked=asked)
    assert len(told) == 1, "what is finished is kept"
    file.write_text(json.dumps({"prompt": "other"}) + "\n")
    for other in (asked, Asked(file, limit=4), Asked(file, chat=True, limit=4)):
        features.build(target, made, None, 1.0, 0, told.append, asked=other)
    assert len(told) == 4 and len(texts(made)) == 1


@pytest.mark.thorough
def test_a_head_of_one_s_own_from_prompts_to_card(
    target: Path, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other, heads, of_target = tmp_path / "other.jsonl", tmp_path / "heads", ["--target", str(target)]
    other.write_text(json.dumps({"prompt": "2 + 2"}) + "\n" + json.dumps({"prompt": "7"}) + "\n")
    cache = ["--features", str(tmp_path / "made"), *of_target]
    assert command(["features", "--threads", "1", *cache, "--prompts", str(file), "--chat", "--limit", "12"]) == 0
    places = ["--work", str(tmp_path / "work"), "--out", str(heads / "medusa")]
    assert command(["head", "medusa", "--threads", "1", *cache, "--steps", "2", "--heads", "2", *places]) == 0
    for asked, on in ((other, "other.jsonl."), (file, "mine.jsonl, from which the head learned.")):
        assert (
            command(
                ["head-eval", "medusa", "--threads", "1", *of_target, "--folder", str(heads), "--prompts", str(asked)]
            )
            == 0
        )
        assert f"medusa    {asked.stem}" in capsys.readouterr().out
        told = (heads / "medusa" / "README.md").read_text()
        assert f"--folder {heads} --prompts {asked}`: greedy, fp32, prompts of {on}" in told
        assert f"features --texts 3 --greedy 1 --seed 0 --target {target} --prompts {file} --chat --limit 12`" in told
        assert list(json.loads((heads / "medusa" / "card.json").read_text())["evaluation"])[1:] == [asked.stem]


def test_further_turns_are_told_to_be_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "turns.jsonl"
    file.write_text(json.dumps({"turns": ["one", "two"]}) + "\n" + json.dumps({"prompt": "three"}) + "\n")
    assert [prompt.text for prompt in Asked(file).prompts()] == ["one", "three"]
    assert capsys.readouterr().err.startswith("1 of 2 prompts go on with further turns. Only the first is asked here")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("features --chat", "--chat and --limit are for --prompts"),
        ("features --prompts {none}", "There is no file"),
        ("features --prompts {bare} --greedy 0.5", "Prompt 2 has no solution or answer field to learn from"),
        ("features --prompts {bare} --chat --target {plain}", "no chat template"),
        ("features --prompts {long} --target {plain}", "there is no room for an answer to learn from (prompt 1)"),
    ],
)
def test_what_cannot_be_learnt_from_is_told(
    given: str, told: str, zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = {"bare": ["one", "two"], "long": ["one " * 200]}
    for name, lines in rows.items():
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    words = given.format(
        none=tmp_path / "none", plain=zoo.path("llama", context=512), **{n: tmp_path / n for n in rows}
    )
    assert command([*words.split(), "--threads", "1", "--features", str(tmp_path / "made")]) == 2
    assert told in capsys.readouterr().err
    assert not list(tmp_path.glob("made/part-*"))
