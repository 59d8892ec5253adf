"""Tasks with checkable answers: problems, and how to extract, compare and score answers."""

from __future__ import annotations

from engine.tasks.catalogue import (
    FAMILIES,
    JUDGED,
    SOURCED,
    TESTED,
    Checked,
    Judged,
    Task,
    check_answer,
    family_of,
    get_task,
    load_problems,
    stream,
    tuning_problems,
)
from engine.tasks.problem import Problem, split_of

__all__ = [
    "FAMILIES",
    "JUDGED",
    "SOURCED",
    "TESTED",
    "Checked",
    "Judged",
    "Problem",
    "Task",
    "check_answer",
    "family_of",
    "get_task",
    "load_problems",
    "split_of",
    "stream",
    "tuning_problems",
]
