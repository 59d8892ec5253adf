"""Distributions with few entries answer like a dense tensor."""

import torch

from engine.draft import SparseDistributions


def test_rows_equal_a_dense_tensor():
    entries = [[(3, 0.5), (1, 0.5)], [], [(0, 1.0)]]
    distributions, dense = SparseDistributions(entries, 5), torch.zeros(3, 5, dtype=torch.float64)
    for g, row in enumerate(entries):
        for token, p in row:
            dense[g, token] = p
    assert len(distributions) == 3
    for g in (0, 2, 0, 1):
        assert torch.equal(distributions[g], dense[g])
