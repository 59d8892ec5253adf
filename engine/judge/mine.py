"""Mining over many prompts: events as they happen, resumable, several prompts at once where the target is a server."""

import queue
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from time import perf_counter
from typing import Protocol

from engine.judge.events import Ended, MiningEvent, Progress, PromptFinished, Started
from engine.judge.search import Prompt, SearchEvent
from engine.judge.store import MinedFile


class Search(Protocol):
    """Whatever labels the mismatches of a prompt: algorithm 1, or its online variant."""

    def run(self, prompt: Prompt) -> Iterator[SearchEvent]:
        """Mine one prompt; the last event is a PromptFinished."""


def mine(
    prompts: Sequence[Prompt],
    searches: Sequence[Search],
    file: MinedFile | None = None,
    seconds: float | None = None,
    finish: Callable[[PromptFinished], None] | None = None,
    clock: Callable[[], float] = perf_counter,
) -> Generator[MiningEvent, None, None]:
    """Mine all prompts that `file` does not hold yet; each finished one is written there before it is reported.

    One search runs here; several run in threads of their own, a prompt each. Closing the iterator stops: unfinished
    prompts are forgotten, finished ones are kept. `seconds` ends it after the prompt that exceeds the time; `finish`
    may add to a prompt before it is written.
    """
    left = [p for p in prompts if file is None or p.id not in file.done]
    before = len(prompts) - len(left)
    yield Started(len(prompts), before, file.head if file else {})
    began, done, labels, important = clock(), 0, 0, 0
    running = _here(left, searches[0]) if len(searches) == 1 else _threads(left, searches)
    for event in running:
        if isinstance(event, PromptFinished):
            if finish is not None:
                finish(event)
            done += 1
            labels += len(event.labels)
            important += sum(label.important for label in event.labels)
            if file is not None:
                file.add(event)
        yield event
        if isinstance(event, PromptFinished):
            spent = clock() - began
            yield Progress(before + done, len(prompts), labels, important, spent, spent / done * (len(left) - done))
            if seconds is not None and spent > seconds:
                running.close()
                break
    yield Ended("finished" if done == len(left) else "stopped", before + done, len(prompts))


def _here(prompts: Sequence[Prompt], search: Search) -> Generator[SearchEvent, None, None]:
    for prompt in prompts:
        yield from search.run(prompt)


def _threads(prompts: Sequence[Prompt], searches: Sequence[Search]) -> Generator[SearchEvent, None, None]:
    """Each search takes the next prompt when it is free; an error in one ends all, and is raised here."""
    waiting: queue.SimpleQueue[Prompt] = queue.SimpleQueue()
    for prompt in prompts:
        waiting.put(prompt)
    events: queue.Queue[SearchEvent | BaseException | None] = queue.Queue(maxsize=100)
    stop = threading.Event()

    def put(item: SearchEvent | BaseException | None) -> None:
        while not stop.is_set():
            try:
                return events.put(item, timeout=0.1)
            except queue.Full:
                continue

    def work(search: Search) -> None:
        try:
            while not stop.is_set():
                for event in search.run(waiting.get_nowait()):
                    put(event)
                    if stop.is_set():
                        return
        except queue.Empty:
            put(None)
        except Exception as error:
            put(error)

    threads = [threading.Thread(target=work, args=(search,), daemon=True) for search in searches]
    for thread in threads:
        thread.start()
    try:
        ended = 0
        while ended < len(threads):
            item = events.get()
            if isinstance(item, BaseException):
                raise item
            if item is None:
                ended += 1
            else:
                yield item
    finally:
        stop.set()
        for thread in threads:
            thread.join()
