"""Labels by rollouts: what each row writes, whatever is read beside it; what is kept, and what is made anew."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from transformers import AutoTokenizer, Gemma2Config, Gemma2ForCausalLM, LlamaForCausalLM, PreTrainedTokenizerBase

from engine.errors import AssetError, ConfigError
from engine.files.places import ROOT
from engine.tasks import load_problems
from engine.training import options, prmcommands, rollouts
from engine.training.command import main as command
from engine.training.rollouts import LIMIT, Labelled, Labeller, Plan, labelled_in
from tests.engine.zoo import Zoo

DRAFT = ROOT / "assets/tiny/draft"


@pytest.fixture(scope="module")
def words() -> PreTrainedTokenizerBase:
    return AutoTokenizer.from_pretrained(DRAFT)


@pytest.fixture(scope="module")
def model() -> LlamaForCausalLM:
    return LlamaForCausalLM.from_pretrained(DRAFT, dtype=torch.float32).eval()


@pytest.fixture(scope="module")
def plain() -> LlamaForCausalLM:
    """The same with transformers' own attention."""
    return LlamaForCausalLM.from_pretrained(DRAFT, dtype=torch.float32).eval()


@torch.no_grad()
def alone(model: LlamaForCausalLM, ids: list[int], end: int, room: int) -> list[int]:
    """Greedy, one token a pass over the whole text."""
    out = list[int]()
    while len(out) < room:
        token = int(model(torch.tensor([[*ids, *out]])).logits[0, -1].argmax())
        if token == end:
            break
        out.append(token)
    return out


def test_rows_are_written_as_each_would_be_alone(
    model: LlamaForCausalLM, plain: LlamaForCausalLM, words: PreTrainedTokenizerBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several beginnings of two responses of different length, of which some end and others are cut at the limit."""
    monkeypatch.setattr(rollouts, "LIMIT", 24)
    prompts = [words(p.prompt).input_ids for p in load_problems("arithmetic", "train", 2, 11)]
    prompts[1] = prompts[1][:20]
    rests = [torch.randint(3, 1500, (20,), generator=torch.Generator().manual_seed(i)).tolist() for i in range(2)]
    whole = words(" The answer is 7.", add_special_tokens=False).input_ids
    rests.append(whole), prompts.append(prompts[0])
    starts = [(0, 0), (0, 7), (1, 20), (1, 3), (0, 20), (2, len(whole))]
    labeller = Labeller({"target": model}, words, Plan((("target", 0.0),)))
    found = labeller._go_on(model, prompts, rests, starts, 0.0)
    for (s, end), out in zip(starts, found, strict=True):
        assert out == alone(plain, [*prompts[s], *rests[s][:end]], words.eos_token_id, 24 - end)
    assert {len(out) for out in found} >= {24, 17, 4} and found[-1] == []


@pytest.mark.thorough
def test_a_model_writes_with_its_own_attention_up_to_each_of_its_ends(words: PreTrainedTokenizerBase) -> None:
    """Gemma 2 caps its scores; some models have ends that their tokenizer does not tell."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2, "head_dim": 16}
    heads = {
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "initializer_range": 0.5,
        "attn_logit_softcapping": 1.0,
        "tie_word_embeddings": False,
    }
    model: Any = Gemma2ForCausalLM(Gemma2Config(vocab_size=len(words), **sizes, **heads)).eval()
    labeller = Labeller({"target": model}, words, Plan((("target", 0.0),)))
    prompts = [words(p.prompt).input_ids for p in load_problems("arithmetic", "train", 3, 11)]
    starts = [(s, 0) for s in range(3)]
    model.generation_config.eos_token_id = [words.eos_token_id]
    free = [alone(model, prompt, words.eos_token_id, LIMIT) for prompt in prompts]
    assert labeller._go_on(model, prompts, [[]] * 3, starts, 0.0) == free
    model.generation_config.eos_token_id = [words.eos_token_id, free[0][4]]
    cut = free[0].index(free[0][4])
    assert labeller._go_on(model, prompts, [[]] * 3, starts, 0.0)[0] == free[0][:cut]


def test_a_draft_with_another_tokenizer_is_refused(zoo: Zoo, capsys: pytest.CaptureFixture[str]) -> None:
    """Its ids had been read as the target's."""
    draft = ["--draft", str(zoo.path("llama", context=1024))]
    for asked in (["prm", "--items", "2", "--labels-only"], ["eval", "--no-cards", "--items", "1"]):
        assert command([*asked, *draft]) == 2
        assert "both need one tokenizer" in capsys.readouterr().err


@pytest.mark.parametrize(("right", "told"), [(0, "0 %"), (2, "100 %")])
def test_steps_that_are_all_alike_teach_nothing(
    right: int, told: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A target that never solves a problem had given a reward model that says 1 of everything, without a word."""
    one = Labelled("key", "prompt", "text", "draft", (2, 4), (right, right), 2)
    monkeypatch.setattr(prmcommands, "_pair", lambda _: (None, {}))
    monkeypatch.setattr(prmcommands, "_labels", lambda *_: [one])
    asked = ["prm", "--work", str(tmp_path), "--out", str(tmp_path / "out")]
    assert command([*asked, "--labels-only"]) == 0 and command(asked) == 2
    assert f"{told} of the rollouts from each step reached the right answer" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_command_on_a_card_names_the_pair_where_it_is_not_the_embedded_one() -> None:
    pair = {"target": options.ASSETS / "target", "draft": options.ASSETS / "draft"}
    assert options.folders_told(argparse.Namespace(**pair)) == ""
    assert options.folders_told(argparse.Namespace(**pair | {"draft": Path("own/small")})) == " --draft own/small"


def test_heads_of_a_group_read_one_key() -> None:
    """Against torch's own attention: six query heads over two keys and values."""
    rng = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(3, heads, size, 8, generator=rng) for heads, size in ((6, 2), (2, 5), (2, 5)))
    mask = torch.zeros(3, 1, 2, 5).masked_fill(torch.rand(3, 1, 2, 5, generator=rng) < 0.3, -1e9)
    found, _ = rollouts.grouped(None, q, k, v, mask, 0.4)
    wanted = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=0.4, enable_gqa=True)
    torch.testing.assert_close(found, wanted.transpose(1, 2))


def test_colder_draws_are_surer(words: PreTrainedTokenizerBase) -> None:
    torch.manual_seed(0)
    drawn = Labeller({}, words, Plan(()))._draw(torch.tensor([0.0, 1.0]).repeat(300, 1), 0.1)
    assert drawn.shape == (300,) and drawn.all()  # each is wrong once in e^10


@pytest.mark.thorough
def test_draws_follow_the_seed_and_the_chunk(model: LlamaForCausalLM, words: PreTrainedTokenizerBase) -> None:
    problems = load_problems("arithmetic", "train", 2, 11)

    def texts(seed: int, number: int) -> list[str]:
        labeller = Labeller(
            {"draft": model, "target": model}, words, Plan((("draft", 0.9), ("target", 0.9)), 1, 0.9, seed)
        )
        return [one.text for one in labeller.label(problems, number)]

    assert texts(0, 0) == texts(0, 0) and len({tuple(texts(*at)) for at in ((0, 0), (0, 1), (1, 0))}) == 3


def test_labels_count_the_right_rollouts_of_each_step(
    model: LlamaForCausalLM, words: PreTrainedTokenizerBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writers take turns over the problems; each step's tries are judged as one text with what stands before it."""
    problems = load_problems("arithmetic", "train", 3, 11)
    labeller = Labeller({"draft": model, "target": model}, words, Plan((("draft", 0.0), ("target", 0.0)), 3, 0.7))
    response = words(" Two. Three. Four", add_special_tokens=False).input_ids
    tails = iter([" yes", " no", " yes", " no", " no", " no", " yes", " yes", " yes"] * 3)

    def go_on(
        model: object, prompts: object, rests: list[list[int]], starts: list[tuple[int, int]], heat: float
    ) -> list[list[int]]:
        if len(starts) == len(rests):
            return [response for _ in rests]
        assert heat == 0.7 and len(starts) == 9 * len(rests)
        return [words(next(tails), add_special_tokens=False).input_ids for _ in starts]

    beginnings = set[str]()

    class Yes:
        @staticmethod
        def score(problem: object, text: str) -> float:
            beginnings.add(text.removesuffix(" yes").removesuffix(" no"))
            return float(text.endswith("yes"))

    monkeypatch.setattr(labeller, "_go_on", go_on)
    monkeypatch.setattr(rollouts, "get_task", lambda family: Yes)
    found = labeller.label(problems, 0)
    assert [one.writer for one in found] == ["draft", "draft", "target"]
    assert [one.key for one in found] == [problems[i].key for i in (0, 2, 1)]
    for one in found:
        assert one.text == " Two. Three. Four" and one.ends == (5, 12, 17) and one.right == (2, 0, 3)
        assert one.shares == [2 / 3, 0, 1]
    assert beginnings == {" Two.", " Two. Three.", " Two. Three. Four"}


def test_labels_of_other_or_unknown_settings_are_made_anew(
    words: PreTrainedTokenizerBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = list[str]()

    def label(self: Labeller, problems: list[object], number: int) -> list[Labelled]:
        made.append(f"{self.plan.tries}")
        return [Labelled(p.key, p.prompt, "a.", "draft", (2,), (1,), self.plan.tries) for p in problems]  # type: ignore[attr-defined]

    monkeypatch.setattr(Labeller, "label", label)
    asked = argparse.Namespace(target=DRAFT, draft=DRAFT, task="arithmetic")
    problems = load_problems("arithmetic", "train", 3, 11)

    def labelled(tries: int) -> list[int]:
        plan = Plan(prmcommands.GREEDY, tries)
        return [one.tries for one in prmcommands._labelled(asked, {}, words, problems, plan, tmp_path / "train", 11)]

    assert labelled(2) == labelled(2) == [2] * 3 and made == ["2"]
    assert labelled(4) == [4] * 3 and made == ["2", "4"]
    (tmp_path / "train" / "plan.json").unlink()
    assert labelled(3) == [3] * 3 and made == ["2", "4", "3"]
    part = tmp_path / "train" / "part-0000.jsonl"
    for text, words_ in (
        ("{", "line 1 is not JSON"),
        ('{"key": "a"}', "line 1 is no labelled response: delete the file"),
    ):
        part.write_text(text)
        with pytest.raises(ConfigError, match=words_):
            list(labelled_in(tmp_path / "train"))
    (tmp_path / "train" / "plan.json").write_text("{")
    with pytest.raises(AssetError, match=r"plan\.json cannot be read"):
        labelled(3)
    assert part.exists()
