"""Torch's threads in forks, which `multiprocessing` makes on Linux up to Python 3.13.

A fork has none of its parent's threads, and OpenMP waits for them without end. So where models were loaded before the
fork, torch has one thread there. A process that is spawned, or forks before it loads any, has as many as it likes.
"""

import os
from dataclasses import dataclass

import torch


@dataclass
class Forks:
    """What a process must know of its threads."""

    begun: bool = False  # models were loaded here, or in what this is a fork of: torch may have begun threads
    lost: bool = False  # and those are not here

    def use(self, count: int) -> None:
        """Let torch have so many threads, or one where others would be waited for."""
        torch.set_num_threads(1 if self.lost else count)

    def child(self) -> None:
        """This is a fork from now on."""
        self.lost = self.begun
        if self.lost:
            torch.set_num_threads(1)


FORKS = Forks()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=FORKS.child)
