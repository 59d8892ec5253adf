"""The lock: every package that the requirements name is in it at a version they allow, with hashes and without a host's name."""

import re
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

from tests.lock import without_torch


def locked() -> dict[str, Version]:
    text = Path("requirements.lock").read_text("utf-8")
    return {name.lower(): Version(version) for name, version in re.findall(r"(?m)^([\w.-]+)==([^\s;]+)", text)}


def test_the_lock_holds_what_the_requirements_ask_for() -> None:
    found = locked()
    asked = [
        Requirement(line) for line in Path("requirements.txt").read_text("utf-8").splitlines() if line[:1].isalpha()
    ]
    assert len(asked) > 10
    for requirement in asked:
        if requirement.name != "torch":
            assert requirement.specifier.contains(found[requirement.name.lower()]), requirement


def test_every_entry_has_hashes_and_none_names_a_host() -> None:
    text = Path("requirements.lock").read_text("utf-8")
    entries = re.findall(r"(?m)^[\w.-]+==.*(?:\n +--hash=sha256:[0-9a-f]{64}.*)*", text)
    assert len(entries) == len(re.findall(r"(?m)^[\w.-]+==", text)) > 50
    assert all("--hash=sha256:" in entry for entry in entries)
    assert "://" not in text and "index" not in text and "find-links" not in text
    assert not {"torch", "triton"} & set(locked())


def test_what_comes_with_torch_is_left_out_whole() -> None:
    text = "a==1 \\\n    --hash=sha256:0\nnvidia-x==2 ; m \\\n    --hash=sha256:1 \\\n    --hash=sha256:2\nb==3 \\\n    --hash=sha256:3\n"
    assert without_torch(text) == "a==1 \\\n    --hash=sha256:0\nb==3 \\\n    --hash=sha256:3\n"


def test_the_floor_starts_at_the_lowest_torch() -> None:
    (lowest,) = re.findall(r"(?m)^torch>=([\d.]+)", Path("requirements.txt").read_text("utf-8"))
    (taken,) = re.findall(r"(?m)^FLOOR_TORCH \?= torch==([\d.]+)", Path("Makefile").read_text("utf-8"))
    assert Version(lowest) == Version(taken)
