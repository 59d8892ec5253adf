"""Mining with a pair that is loaded here: one call for the page, the command line and notebooks."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from engine.config import Sampling
from engine.errors import ConfigError
from engine.files.held import hold
from engine.judge.continuation import DraftView, LocalTarget
from engine.judge.criterion import Criterion
from engine.judge.equivalence import parse
from engine.judge.events import MiningEvent
from engine.judge.gumbel import Chooser
from engine.judge.mine import mine
from engine.judge.problems import judged, prompts
from engine.judge.scores import about, fitting, scorer
from engine.judge.search import Prompt, Search
from engine.judge.served import ServedTarget, is_served
from engine.judge.store import MinedFile, numbers
from engine.judge.weights import Judge
from engine.model import Model
from engine.tasks.problem import Problem

GREEDILY = "A served target is mined greedily: its noise cannot be shared with the draft (temperature 0)."


@dataclass(frozen=True, slots=True)
class Mining:
    """What decides labels; a mined file's head holds it and the models. Above temperature 0 a Gumbel field draws."""

    source: str = ""
    problem_seed: int = 0
    limit: int = 128
    chat: bool = False
    naive: bool = False
    most: int = 230
    report: bool = False
    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    seed: int = 0
    split: str = "heldout"
    equivalence: str = "answer"  # answer, bleu:MARGIN or rouge:MARGIN


def local_mine(
    task: str,
    found: Sequence[Problem],
    models: Mapping[str, Model],
    path: Path,
    settings: Mining,
    judges: Mapping[str, Judge],
    lock: AbstractContextManager[Any],
) -> Generator[MiningEvent, None, None]:
    """Mine problems into a file that is resumed; `models` holds "target" and "draft". `lock` is held around each event
    and while the search is made.

    Labels get the score of the task's own judge where one fits the pair.

    Raises:
        ConfigError: an unknown task, an equivalence that does not fit it, a temperature above 0 with a served target,
        or a file that was mined otherwise, or from other prompts.
    """
    settings = replace(settings, equivalence=str(parse(settings.equivalence)))
    criterion = judged(task, settings.report, settings.equivalence).criterion
    judge = fitting(judges, task, models)
    head = {"task": task, "models": {role: model.describe() for role, model in models.items()}, **asdict(settings)}
    head |= numbers(models["draft"])
    if settings.split == "train":
        del head["split"]  # files without it were mined there
    if settings.equivalence == "answer":
        del head["equivalence"]  # files without it were mined so
    ready = prompts(list(found), models["target"].tokenizer, settings.chat)
    with lock:
        search = local_search(
            models["target"],
            models["draft"],
            ready,
            criterion,
            settings.limit,
            vocab=min(model.vocab for model in models.values()),
            chooser=Chooser(Sampling(settings.temperature, settings.top_k, settings.top_p), settings.seed),
            naive=settings.naive,
            most=settings.most,
        )
    with hold(path):
        file = MinedFile(path, head | ({"judge": about(judge)} if judge else {}))
        file.fits({prompt.id: prompt.ids for prompt in ready})
        events = mine(ready, [search], file, finish=scorer(judge, models) if judge else None)
        try:
            while True:
                with lock:
                    event = next(events, None)
                if event is None:
                    return
                yield event
        finally:
            events.close()


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

    Raises:
        ConfigError: a chooser that samples, for a served target.
    """
    chooser = chooser or Chooser()
    if is_served(target) and not chooser.sampling.greedy:
        raise ConfigError(GREEDILY)
    capacity = max((len(prompt.ids) for prompt in prompts), default=1) + limit + 8
    ours = (ServedTarget.of if is_served(target) else LocalTarget)(target, capacity, chooser, vocab)
    return Search(ours, DraftView(draft, capacity, chooser, vocab), criterion, target.tokenizer, limit, naive, most)
