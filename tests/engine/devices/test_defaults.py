"""What holds for all of torch in a process, its default dtype and device, changes no run.

A program may have set them, and transformers sets the dtype for all threads while one of them builds a network.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch

from engine.errors import ConfigError
from engine.heads.block import Spec, Yarn, rope
from engine.lab import Lab
from engine.model import load_model
from engine.model.products import blocks_work, halves_work
from tests.engine.devices.pretend import EMBEDDED, PROMPTS
from tests.engine.model import tiny
from tests.engine.rows import timeless
from tests.models import COMMON

WAYS: dict[str, dict[str, Any]] = {
    "full": {"record": "full", "temperature": 0.8},
    "light": {"record": "light", "temperature": 0.0},
}
RUNS = [(pair, method) for pair, methods in EMBEDDED.items() for method in methods]
Labs = Callable[[str, str], Lab]


@contextmanager
def default(dtype: str) -> Iterator[None]:
    """Tensors of no dtype are of this one meanwhile, in all threads."""
    was = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, dtype))
    try:
        yield
    finally:
        torch.set_default_dtype(was)


@pytest.fixture(scope="module")
def labs() -> Labs:
    """An embedded pair with all its heads, loaded under a default dtype; each once."""
    made = dict[tuple[str, str], Lab]()

    def load(pair: str, dtype: str) -> Lab:
        if (pair, dtype) not in made:
            with default(dtype):
                made[pair, dtype] = Lab.load(pair)
                made[pair, dtype].prepare()
        return made[pair, dtype]

    return load


def rounds(lab: Lab, method: str, prompt: str, **options: Any) -> Any:
    """All that a short run writes down of its rounds, without times."""
    trace = lab.run(
        method, prompt, max_new_tokens=12, seed=5, **options, **({"force": True} if "judge" in method else {})
    )
    assert trace.end and trace.end.reason != "error", trace.end
    return [timeless(asdict(one)) for one in trace.rounds]


@pytest.mark.thorough
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("pair", "method"), RUNS)
def test_no_run_asks_for_the_default_dtype(pair: str, method: str, way: str, labs: Labs) -> None:
    plain = rounds(labs(pair, "float32"), method, PROMPTS[pair], **WAYS[way])
    with default("bfloat16"):
        assert rounds(labs(pair, "bfloat16"), method, PROMPTS[pair], **WAYS[way]) == plain


@pytest.mark.thorough
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("pair", "method"), RUNS)
def test_no_run_asks_for_the_default_device(pair: str, method: str, way: str, labs: Labs) -> None:
    plain = rounds(labs(pair, "float32"), method, PROMPTS[pair], **WAYS[way])
    with torch.device("meta"):  # what is there cannot be read
        assert rounds(labs(pair, "float32"), method, PROMPTS[pair], **WAYS[way]) == plain


@pytest.mark.thorough
@pytest.mark.parametrize("kind", COMMON)
def test_nor_does_transformers(kind: str, tmp_path: Path) -> None:
    """In the passes of the types in common use: a run may go on while another thread builds a network."""
    model = load_model(tiny.make(kind, tmp_path, layers=2), device="cpu", dtype="float32")
    plain = model.session(16).forward([3, 4, 5, 6, 7]).logits
    with default("bfloat16"):
        assert torch.equal(model.session(16).forward([3, 4, 5, 6, 7]).logits, plain)


def test_autocast_is_refused_in_words(toy: Lab) -> None:
    with (
        torch.autocast("cpu", dtype=torch.bfloat16),
        pytest.raises(ConfigError, match=r"autocast is on for cpu.*float"),
    ):
        toy.run("sd", [0, 1], max_new_tokens=4)
    assert toy.run("sd", [0, 1], max_new_tokens=4).end


@pytest.mark.thorough
def test_loading_leaves_the_draws_of_others_alone() -> None:
    """Systems of the embedded pair are built, with weights that their files replace, and seeded for it."""
    torch.manual_seed(7)
    wanted = torch.rand(3)
    torch.manual_seed(7)
    Lab.load("crossed").prepare()
    assert torch.equal(torch.rand(3), wanted)


def test_what_this_cpu_can_do_is_found_out_whatever_the_defaults() -> None:
    """It is asked once in a process, perhaps while another thread builds a network in half precision."""
    known = [asked.__wrapped__() for asked in (halves_work, blocks_work)]
    with default("bfloat16"), torch.device("meta"):
        assert [asked.__wrapped__() for asked in (halves_work, blocks_work)] == known


def test_rotations_of_a_stretched_head_name_their_device() -> None:
    spec, like = Spec(32, 64, 4, 2, 8, yarn=Yarn(4.0, 16.0)), torch.empty(0, dtype=torch.float32, device="cpu")
    plain = rope(spec, 40, like)
    with torch.device("meta"):
        assert all(map(torch.equal, rope(spec, 40, like), plain))
