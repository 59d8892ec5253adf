"""What a prefill has shown of a prompt: the target's logits after each of its tokens, some rows at a time."""

from collections.abc import Callable, Iterator

from torch import Tensor

ROOM = 2**24  # logits at a time: 64 MB in fp32, where those of 32,768 tokens over a vocabulary of 151,936 take 20 GB


def pieces(head: Callable[[Tensor], Tensor], last_ND: Tensor, vocab: int) -> Iterator[tuple[range, Tensor]]:
    """The rows of each piece, and their logits [rows, V]; `head` makes them of final-normed rows."""
    size = max(1, ROOM // vocab)
    for start in range(0, len(last_ND), size):
        rows = range(start, min(start + size, len(last_ND)))
        yield rows, head(last_ND[rows.start : rows.stop])[:, :vocab]
