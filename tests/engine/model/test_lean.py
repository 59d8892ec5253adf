"""The attention of few rows, which the embedded target takes by a way of its own."""

import pytest
import torch

from engine.draft import Draft
from engine.model import lean
from engine.model.load import load_model


def test_few_rows_of_one_key_head_see_what_many_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their queries are not copied; a tree shows whether the mask is that of each row."""
    model = load_model("assets/tiny/target", device="cpu")
    tree, rows = Draft((4, 9, 9, 30), (-1, -1, 0, 1), group=(0,) * 4), []
    for few in (32, 0):
        monkeypatch.setattr(lean, "FEW", few)
        rows.append(model.session(64).forward([5, 6, 7, 8], tree).logits)
    torch.testing.assert_close(rows[0], rows[1], atol=1e-3, rtol=1e-4)
