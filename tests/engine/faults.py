"""Deliberate faults: rebuild one function, or one rule's file, from its own source with a piece replaced.

A check that still passes on the faulty engine would prove nothing; tests/engine/test_mutations.py lists the faults.
"""

import importlib
import inspect
import sys
import textwrap
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pytest

from engine import rules


@dataclass(frozen=True)
class Fault:
    """`where` is "module:function" or "module:Class.method"; `old` occurs once in its source and becomes `new`."""

    name: str
    where: str
    old: str
    new: str

    def plant(self, patch: pytest.MonkeyPatch) -> None:
        """Put the faulty function in place, wherever it was imported, until `patch` is undone."""
        module_name, _, path = self.where.partition(":")
        module = importlib.import_module(module_name)
        owner: Any = module
        *outer, name = path.split(".")
        for part in outer:
            owner = getattr(owner, part)
        right = inspect.getattr_static(owner, name)
        if isinstance(right, cached_property):
            broken = cached_property(self._broken(right.func, module))
            broken.__set_name__(owner, name)
            patch.setattr(owner, name, broken)
            return
        patch.setattr(owner, name, self._broken(right, module))
        for other in list(sys.modules.values()):
            if (
                other is not None
                and getattr(other, "__name__", "").startswith(("engine.", "tests.engine"))
                and other.__dict__.get(name) is right
            ):
                patch.setattr(other, name, getattr(owner, name))

    def _broken(self, function: Any, module: Any) -> Any:
        source = textwrap.dedent(inspect.getsource(function))
        assert source.count(self.old) == 1, (
            f"{self.name}: {self.old!r} occurs {source.count(self.old)} times in {self.where}"
        )
        lines = source.replace(self.old, self.new).splitlines()
        first = next(i for i, line in enumerate(lines) if line.startswith("def "))  # decorators are applied already
        names: dict[str, Any] = {}
        exec("\n".join(lines[first:]), module.__dict__, names)
        (broken,) = names.values()
        return broken


@dataclass(frozen=True)
class Misdeclared:
    """A rule whose file says another thing: `old` occurs once in the source of `module` and becomes `new`."""

    name: str
    module: str
    old: str
    new: str

    def plant(self, patch: pytest.MonkeyPatch) -> None:
        """Put the faulty rule wherever the right one was imported, and into the lists of rules, until `patch` is undone."""
        module = importlib.import_module(self.module)
        source = inspect.getsource(module)
        assert source.count(self.old) == 1, f"{self.name}: {self.old!r} occurs {source.count(self.old)} times"
        faulty: dict[str, Any] = {"__name__": self.module}
        exec(source.replace(self.old, self.new), faulty)
        for key, right in list(rules.RULES.items()):
            if right.__module__ == self.module:
                broken = faulty[right.__name__]
                patch.setitem(rules.RULES, key, broken)
                patch.setitem(rules.THRESHOLDS, key, broken.THRESHOLD)
                for other in list(sys.modules.values()):
                    if getattr(other, "__name__", "").startswith(("engine.", "tests.engine")):
                        for name in [name for name, value in vars(other).items() if value is right]:
                            patch.setattr(other, name, broken)
