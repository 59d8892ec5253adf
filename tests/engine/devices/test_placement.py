"""Every method runs with its models and heads on any devices: nothing is ever computed from tensors of two of them.

There is no accelerator here: see `pretend`.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from engine.draft import chain
from engine.lab import Lab
from engine.methods import CARDS
from engine.model import Session, load_model
from engine.model.devices import aligned
from engine.sampling import sent
from tests.engine.devices.pretend import EMBEDDED, PROMPTS, MixedDevices, Pretend, embedded, loaded, pretended
from tests.engine.drafters.heads import headed
from tests.engine.zoo import Zoo

LAYOUTS = {
    "beside": ("cuda:0", "cuda:0"),
    "apart": ("cuda:0", "cuda:1"),
    "spread": ("spread", "cuda:1"),
    "narrow": ("mps:0", "mps:0"),  # no fp64, no complex numbers
}
WAYS = [(t, r) for t in (0.0, 0.8) for r in ("full", "light")]


@pytest.fixture
def devices() -> Iterator[Pretend]:
    with pretended() as mode:
        yield mode


def run(lab: Lab, method: str, prompt: str | list[int], n: int, temperature: float, record: str) -> list[int]:
    """Token ids of a run that has come to its end."""
    options = {"max_new_tokens": n, "temperature": temperature, "record": record, "seed": 5}
    trace = lab.run(method, prompt, **options, **({"force": True} if "judge" in method else {}))
    assert trace.end and trace.end.reason != "error", trace.end
    return trace.token_ids


# --- the mode itself --------------------------------------------------------------------------------------------------


def test_two_devices_do_not_mix(devices: Pretend) -> None:
    here, there = torch.ones(3, device="cuda:0"), torch.ones(3, device="cuda:1")
    assert str((here * 2).view(3, 1).sum(1).device) == "cuda:0" and here.is_cuda and here.data.is_cuda
    for mixed in (lambda: here + there, lambda: torch.cat((here, torch.ones(1))), lambda: here[torch.tensor([1])]):
        with pytest.raises(MixedDevices, match="cuda:0"):
            mixed()
    assert str((here + there.to(here.device)).device) == "cuda:0" and (here * torch.tensor(2.0)).is_cuda
    assert [str(one.device) for one in here] == ["cuda:0"] * 3


def test_what_waits_for_a_device_is_counted(devices: Pretend) -> None:
    x = torch.tensor([1.0, 0.0]).to("cuda:1")
    waits: tuple[Callable[[], object], ...] = (
        x.tolist,
        x.cpu,
        x[0].item,
        lambda: bool(x.any()),
        lambda: float(x[1]),
        lambda: x[x > 0],
        x.nonzero,
    )
    devices.waits.clear()
    for n, wait in enumerate(waits, 1):
        wait()
        assert len(devices.waits) == n, wait
    x.to("cuda:0"), x.cpu().tolist(), len(x), x.shape
    assert len(devices.waits) == len(waits) + 1 and "test_placement" in devices.waits[0]


def test_what_is_sent_there_waits_unless_it_is_sent_so(devices: Pretend) -> None:
    x, home = torch.zeros(3, 4, device="cuda:1"), torch.device("cuda:1")
    places, mask, two, row = sent([0, 2], home), x > 1, torch.ones_like(x[:2]), torch.ones(4)
    waits: tuple[Callable[[], object], ...] = (
        lambda: torch.tensor([1, 2], device=home),
        lambda: torch.as_tensor(row, device=home),
        lambda: x.new_tensor([1.0]),
        lambda: row.to(home),
        lambda: x[0].copy_(row),
        lambda: row.copy_(x[0]),
        lambda: x[[0, 2]],
        lambda: x[:, [0, 2]],
        lambda: x[places[0]],
        lambda: x.__setitem__((0, 1), 1.0),
        lambda: x.__setitem__(places, 1.0),
        lambda: x.__setitem__([0, 2], two),
        lambda: x.__setitem__(mask, two[0, :1]),
    )
    for n, wait in enumerate(waits, 1):
        wait()
        assert len(devices.waits) == n, (n, wait)
    x[0], x[0, 1], x[:, 1], x[places], x.index_select(0, places), row.to(home, non_blocking=True), row[[0, 2]]
    x[0], x[0, 1:2], x[mask], x[places], x[..., 1] = 1.0, 1.0, 1.0, two, 1.0
    torch.full((2,), 1, device=home), torch.tensor([1.0]), x[0].copy_(row, non_blocking=True), x.to("cuda:0")
    for values in ([1, 2], (1, 2), np.array([1, 2]), torch.tensor([1, 2])):
        assert sent(values, home).device == home and sent(values, home, torch.float64).dtype == torch.float64
    assert len(devices.waits) == len(waits), devices.waits[len(waits) :]
    assert sent([1, 2], torch.device("mps")).device.type == "mps" and len(devices.waits) == len(waits) + 1


def test_a_mask_that_fused_kernels_cannot_read_is_refused(devices: Pretend) -> None:
    q = torch.ones(1, 2, 3, 8, device="cuda:0", dtype=torch.bfloat16)
    keys, kept = torch.ones(1, 2, 16, 8, device="cuda:0", dtype=torch.bfloat16), q.new_zeros(3, 40)
    attend = torch.nn.functional.scaled_dot_product_attention
    for mask in (kept[:, 5:21], kept[:, :16].contiguous()[:, :15], aligned(kept[:, 5:21])):
        if mask.shape[1] == 16 and mask.storage_offset():
            with pytest.raises(RuntimeError, match="misaligned"):
                attend(q, keys, keys, attn_mask=mask)
        else:
            attend(q, keys[:, :, : mask.shape[1]], keys[:, :, : mask.shape[1]], attn_mask=mask)


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_chains_of_all_lengths_are_read_in_half_precision(zoo: Zoo, dtype: str) -> None:
    """The mask of a chain is the end of a kept one: on an H200 its address ended the process's work there at a text of
    16 tokens. Rotations, on a GPU complex numbers of fp32, are those of cosines and sines."""
    path, ids = zoo.path("llama", vocab=32), [(3 * i) % 31 for i in range(40)]

    def told(device: str) -> Tensor:
        model = load_model(path, device, dtype)
        session = Session(model.decoder, model.vocab, model.device, 64)
        for rows in (1, 4, 7):
            for n in range(2, 30):
                session.forward(ids[:n], chain(ids[n : n + rows]))
        return session.forward(ids).logits

    with pretended():
        there = told("cuda:0")
    here = told("cpu")
    off = float((there - here).abs().max() / here.abs().max())
    assert off < (1e-5 if dtype == "float32" else 3e-2)


# --- methods ----------------------------------------------------------------------------------------------------------


def small(zoo: Zoo, folder: Path) -> Lab:
    """A random pair with heads: the target over two devices, the draft on one of them."""
    plain, path = headed(zoo, folder), zoo.path("llama", vocab=32)
    draft = loaded(zoo.draft_path(path, "noise"), "cuda:1")
    return Lab(loaded(path, "spread"), {"draft": draft}, plain.asset_paths)


@pytest.mark.thorough
def test_a_few_methods_on_a_random_pair(zoo: Zoo, tmp_path: Path, devices: Pretend) -> None:
    lab = small(zoo, tmp_path)
    assert lab.target.lean and [str(one) for one in lab.target.devices] == ["cuda:0", "cuda:1"]
    assert "Its passes are not captured: the model is spread over several devices." in lab.target.notes
    plain = run(lab, "ar", [5, 9, 12, 7], 8, 0.0, "light")
    for method in ("sd", "eagle3", "recycle"):
        assert run(lab, method, [5, 9, 12, 7], 8, 0.0, "full") == plain
        run(lab, method, [5, 9, 12, 7], 8, 0.8, "light")


def test_the_mode_has_devices_without_float64(devices: Pretend) -> None:
    for make in (lambda: torch.ones(2, device="mps").double(), lambda: torch.ones(2).double().to("xpu")):
        with pytest.raises(TypeError, match="no float64"):
            make()


ON = [(layout, pair) for pair in EMBEDDED for layout in LAYOUTS if (layout, pair) != ("spread", "crossed")]


def test_every_method_runs_on_an_embedded_pair() -> None:
    assert {method for methods in EMBEDDED.values() for method in methods} == {card.name for card in CARDS}


@pytest.fixture(scope="module", params=ON, ids="-".join)
def family(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """An embedded pair with all its heads, placed as a layout says."""
    layout, pair = request.param
    with pretended():
        yield embedded(pair, *LAYOUTS[layout])


@pytest.mark.slow
@pytest.mark.parametrize("method", [card.name for card in CARDS])
def test_every_method_on_the_embedded_pairs(family: Lab, method: str) -> None:
    if method not in EMBEDDED[str(family.preset)]:
        assert family.unavailable()[method]
        return
    for temperature, record in WAYS:
        run(family, method, PROMPTS[str(family.preset)], 16, temperature, record)
