"""Tasks with checkable answers: problems, and how to extract, compare and score answers."""

from __future__ import annotations

from engine.tasks.catalogue import FAMILIES, Checked, Task, check_answer, family_of, get_task, load_problems, stream
from engine.tasks.problem import Problem, split_of

__all__ = [
    "FAMILIES",
    "Checked",
    "Problem",
    "Task",
    "check_answer",
    "family_of",
    "get_task",
    "load_problems",
    "split_of",
    "stream",
]
