"""A fixed slice of `python -m tests.fuzz`; the whole of it is in docs/results/fuzz.json."""

import json
import random
import subprocess
import sys

import pytest

from tests.fuzz import mutate


@pytest.mark.thorough
def test_a_slice_of_damaged_inputs_finds_no_fault() -> None:
    command = [sys.executable, "-m", "tests.fuzz", "--inputs", "40", "--seed", "7"]
    done = subprocess.run(command, capture_output=True, text=True)
    found = json.loads(done.stdout)
    assert found["faults"] == [] and done.returncode == 0
    assert found["inputs"] == 40 == found["refused"] + found["accepted"] and found["accepted"] > 5
    assert len(found["kinds"]) >= 15


def test_the_same_seed_gives_the_same_damage() -> None:
    sound = {"a": [1, 2.5, {"b": "text"}], "c": None}
    first, again = (mutate.text(sound, random.Random("x")) for _ in range(2))
    other = {mutate.text(sound, random.Random(i)) for i in range(50)}
    assert first == again and len(other) > 30
