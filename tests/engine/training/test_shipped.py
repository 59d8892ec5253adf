"""The shipped pair is what its cards say: files, sums, sizes, data."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from engine.tasks import load_problems
from engine.training.data import Mix, digest
from engine.training.probe import complete

ROOT = Path("assets/tiny")
ROLES = ("target", "draft")


def test_the_files_have_the_listed_sums() -> None:
    listed = {
        name: wanted for wanted, name in (line.split("  ") for line in (ROOT / "SHA256SUMS").read_text().splitlines())
    }
    for name, wanted in listed.items():
        assert hashlib.sha256((ROOT / name).read_bytes()).hexdigest() == wanted, (
            f"{name}: run `python -m engine.training sums`"
        )
    assert {str(path.relative_to(ROOT)) for path in ROOT.rglob("*.safetensors")} <= set(listed)


@pytest.mark.parametrize("role", ROLES)
def test_the_corpus_has_not_changed_since_the_model_was_trained(role: str) -> None:
    training = json.loads((ROOT / role / "training.json").read_text())
    tokenizer = AutoTokenizer.from_pretrained(ROOT / role)
    assert (
        digest(tokenizer, Mix(**training["settings"]["mix"]), training["settings"]["seed"])
        == training["data_sha256"][-1]
    )


@pytest.mark.parametrize("role", ROLES)
def test_cards_are_made_from_the_records(role: str) -> None:
    training = json.loads((ROOT / role / "training.json").read_text())
    card = json.loads((ROOT / role / "card.json").read_text())
    page = (ROOT / role / "README.md").read_text()
    assert card["training"] == training
    assert card["evaluation"]["items"] >= 300
    for check in card["evaluation"]["checks"]:
        assert f"{'met' if check['met'] else 'MISSED'}: {check['what']}: {check['value']:.3f}" in page


def test_both_share_one_tokenizer() -> None:
    tokenizers = {(ROOT / name / "tokenizer.json").read_bytes() for name in (*ROLES, "tokenizer")}
    assert len(tokenizers) == 1


@pytest.mark.slow
def test_the_target_answers_most_word_problems() -> None:
    tokenizer = AutoTokenizer.from_pretrained(ROOT / "target")
    model = AutoModelForCausalLM.from_pretrained(ROOT / "target", dtype=torch.float32)
    problems = load_problems("arithmetic", "heldout", 30, seed=7)
    lines = complete(model, tokenizer, problems)
    texts = [tokenizer.decode(list(line.rest), skip_special_tokens=True) for line in lines]
    right = sum(text.endswith(f"The answer is {p.answer}.") for p, text in zip(problems, texts, strict=True))
    assert right >= 22  # far below the 0.90 of the card, so only a broken model fails
