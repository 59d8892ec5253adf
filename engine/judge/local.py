"""Mining with a pair that is loaded here: one call for the page, the command line and notebooks."""

from collections.abc import Sequence

from engine.judge.continuation import DraftView, LocalTarget
from engine.judge.criterion import Criterion
from engine.judge.gumbel import Chooser
from engine.judge.search import Prompt, Search
from engine.model import Model


def local_search(
    target: Model,
    draft: Model,
    prompts: Sequence[Prompt],
    criterion: Criterion,
    limit: int,
    *,
    vocab: int | None = None,
    chooser: Chooser | None = None,
    naive: bool = False,
    most: int = 0,
) -> Search:
    """A search with room for these prompts and `limit` tokens of response, to give to `mine`.

    Use it from one thread at a time; a page that shares the pair with runs takes the lab's lock around each event.
    """
    capacity = max((len(prompt.ids) for prompt in prompts), default=1) + limit + 8
    chooser = chooser or Chooser()
    ours, theirs = LocalTarget(target, capacity, chooser, vocab), DraftView(draft, capacity, chooser, vocab)
    return Search(ours, theirs, criterion, target.tokenizer, limit, naive, most)
