"""Every kind of model and every way to run one on pretended devices: on one, or with its layers over two of them.

What is written is what a CPU writes. See `pretend`.
"""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from engine.bench.doctor import TREE, _checks
from engine.config import Sampling
from engine.draft import Draft, chain
from engine.heads.assistant import AssistantHead
from engine.judge.gumbel import Chooser
from engine.lab import Lab
from engine.model import Model, Session, load_model, splitkv
from engine.model.crosswhole import WholeDecoder
from engine.model.generic import GenericDecoder
from engine.model.graphs import GraphedDecoder
from engine.model.onward import CopyingDecoder, RereadingDecoder
from engine.model.splitkv import split
from engine.reward.model import RewardModel, load_reward
from engine.runs import batches
from tests.engine.crossed import SOURCE, Crossed
from tests.engine.devices.pretend import Pretend, loaded, pretended, spread
from tests.engine.heads.made import medusa
from tests.engine.heads.test_assistant import OLD, assistant, target
from tests.engine.model import tiny
from tests.engine.model.families import near
from tests.engine.reward.made import make_reward
from tests.engine.zoo import Zoo, make_model, noised, save_tokenizer
from tests.typed import known

PROMPT = [5, 9, 33, 7, 60, 8, 21, 40, 9, 33]
WAYS = {  # type -> the decoder that runs it, and whether it goes on row by row; experts ask a GPU what it can do
    "olmo3": (GenericDecoder, False),
    "lfm2": (GenericDecoder, False),
    "bloom": (GenericDecoder, False),
    "gpt_neo": (GenericDecoder, False),
    "mamba": (GenericDecoder, True),
    "mamba2": (GenericDecoder, True),
    "rwkv": (CopyingDecoder, False),
    "openai-gpt": (RereadingDecoder, False),
    "recurrent_gemma": (RereadingDecoder, False),
}
Given = dict[str, Any]
FULL, LIGHT = ([Given(temperature=t, record=record) for t in (0.0, 0.8)] for record in ("full", "light"))


def wrote(lab: Lab, method: str, prompt: Sequence[int] = PROMPT, **options: Any) -> list[int]:
    """Token ids of a short run that has come to its end."""
    trace = lab.run(method, list(prompt), max_new_tokens=14, seed=5, **options)
    assert trace.end and trace.end.reason != "error", trace.end
    return trace.token_ids


@pytest.mark.thorough
@pytest.mark.parametrize("place", ("cuda:0", "spread"))
@pytest.mark.parametrize("kind", WAYS)
def test_every_way_through_transformers(kind: str, place: str, tmp_path: Path) -> None:
    path = tiny.make(kind, tmp_path / "target", layers=4)
    draft = noised(path, tmp_path / "draft", 0.02)
    plain = Lab(load_model(path, "cpu", "float32"), {"draft": load_model(draft, "cpu", "float32")})
    methods = {"sd", "layer_skip"} - plain.unavailable().keys()
    with pretended():
        lab = Lab(loaded(path, place), {"draft": loaded(draft, "cuda:1")})
        decoder = known(GenericDecoder, lab.target.decoder)
        assert (type(decoder), decoder.stepwise) == WAYS[kind]
        assert len(lab.target.devices) == (2 if place == "spread" else 1)
        for method in sorted(methods):
            for given in FULL:
                assert wrote(lab, method, **given) == wrote(plain, method, **given)


@pytest.mark.thorough
@pytest.mark.parametrize("method", ("sd", "block_verify", "mixed", "universal"))
def test_draft_models_of_other_ids(zoo: Zoo, tmp_path: Path, method: str) -> None:
    """One of fewer rows than the tokenizer has, beside the target and apart from it."""
    short, path = make_model(tmp_path, "llama", layers=2, vocab=60), zoo.path("llama")
    save_tokenizer(short, 96)
    plain = Lab(zoo.load(path, "float32"), {"draft": load_model(short, "cpu", "float32")})
    with pretended():
        for place in ("cuda:0", "cuda:1"):
            lab = Lab(loaded(path, "cuda:0"), {"draft": loaded(short, place)})
            assert lab.bridge("draft").kind == "specials"
            for given in (*FULL, *LIGHT):
                assert wrote(lab, method, **given) == wrote(plain, method, **given)


def test_where_a_bridged_draft_lies_comes_with_its_tokens(zoo: Zoo, tmp_path: Path) -> None:
    """The share of common ids, of every draft token, is that of a CPU."""
    short, path = make_model(tmp_path, "llama", layers=2, vocab=60), zoo.path("llama")
    save_tokenizer(short, 96)
    plain = Lab(zoo.load(path, "float32"), {"draft": load_model(short, "cpu", "float32")})
    with pretended():
        lab = Lab(loaded(path, "cuda:0"), {"draft": loaded(short, "cuda:0")})
        traces = [one.run("sd", PROMPT, max_new_tokens=8, seed=5) for one in (plain, lab)]
    shares = [[node.source["common"] for r in trace.rounds for node in r.nodes if node.source] for trace in traces]
    assert shares[0] and shares[1] == pytest.approx(shares[0]) and all(type(share) is float for share in shares[1])


LAYOUTS = {"beside": ("cuda:0", "cuda:0"), "host": ("cuda:0", "cpu"), "device": ("cpu", "cuda:0")}


@pytest.mark.thorough
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_pair_of_which_one_stays_on_the_host(zoo: Zoo, layout: str) -> None:
    path = zoo.path("llama", vocab=32)
    noise = zoo.draft_path(path, "noise")
    plain = Lab(zoo.load(path, "float32"), {"draft": zoo.load(noise, "float32")})
    with pretended():
        where = LAYOUTS[layout]
        lab = Lab(loaded(path, where[0]), {"draft": loaded(noise, where[1])})
        for method in ("sd", "block_verify", "easd", "specdec", "cm_asd", "adaedl", "universal", "mixed"):
            for given in (*FULL, *LIGHT):
                assert wrote(lab, method, [5, 9, 12, 7], **given) == wrote(plain, method, [5, 9, 12, 7], **given)


@pytest.mark.thorough
@pytest.mark.parametrize("place", ("cuda:0", "spread"))
@pytest.mark.parametrize("family", ("bart", "t5", "bert2bert"))
def test_encoder_decoders(crossed: Crossed, family: str, place: str) -> None:
    """Those of several devices run through transformers."""
    path = crossed.path(family)
    draft = noised(path, path / "noise", 0.03)
    plain = Lab(load_model(path, "cpu", "float32"), {"draft": load_model(draft, "cpu", "float32")})
    plain.asset_paths["medusa"] = str(medusa(path / "medusa", plain.target))
    with pretended():
        lab = Lab(loaded(path, place), {"draft": loaded(draft, "cuda:1")}, plain.asset_paths)
        assert len(lab.target.devices) == (2 if place == "spread" else 1)
        whole = isinstance(lab.target.decoder, WholeDecoder)
        assert whole == (family == "bert2bert" or place == "spread")
        for method in ("ar", "sd", "specdec", "pld", "blockwise"):
            for temperature in (0.0, 0.8):
                given = {"temperature": temperature, "record": "full"}
                assert wrote(lab, method, SOURCE, **given) == wrote(plain, method, SOURCE, **given)


@pytest.mark.thorough
@pytest.mark.parametrize("family", ("t5", "bart"))
def test_masks_of_a_source_are_read_at_all_lengths(crossed: Crossed, family: str) -> None:
    """Biases of distances (T5) came with heads side by side, which fused kernels cannot read."""
    path, ids = crossed.path(family), [(3 * i) % 31 + 3 for i in range(40)]

    def told(device: str) -> torch.Tensor:
        model = load_model(path, device, "float32")
        before, session = model.tokenizer.encode(SOURCE), model.session(120)
        rows = [session.forward(before + ids[:n], chain(ids[n : n + 4])).logits for n in range(1, 34)]
        return torch.cat(rows)

    here = told("cpu")
    with pretended():
        there = told("cuda:0").cpu()
    assert near(there, here) < 1e-5


@torch.inference_mode()
def test_long_texts_are_attended_in_pieces(zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps, chains and trees of captured passes, behind more slots than are looked at in one."""
    path, text, cut = zoo.path("llama"), [(7919 * i) % 60 + 3 for i in range(2300)], list[int]()
    drafts = (Draft(), chain([5, 9, 7]), TREE)

    def counted(*given: Any) -> torch.Tensor:
        cut.append(given[-1])
        return split(*given)

    def told(model: Model) -> list[torch.Tensor]:
        session = Session(model.decoder, model.vocab, model.device, 2400)
        return [session.forward(text[:n], draft).logits.cpu() for n in (2100, 2290) for draft in drafts]

    here = told(load_model(path, "cpu", "float32"))
    monkeypatch.setattr(splitkv, "split", counted)
    with pretended():
        model = loaded(path, "cuda:0")
        there = told(model)
        assert known(GraphedDecoder, model.decoder).captured and 16 in cut
    assert max(near(a, b) for a, b in zip(here, there, strict=True)) < 1e-4


def test_ids_that_are_barred_make_nobody_wait(crossed: Crossed) -> None:
    with pretended() as mode:
        model = loaded(crossed.path("bert2bert"), "cuda:0")
        decoder = known(WholeDecoder, model.decoder)
        decoder.never = [4, 7]
        logits = torch.ones(2, 9).to("cuda:0")
        mode.waits.clear()
        barred = decoder._allowed(logits)
        assert not mode.waits and barred[0].isinf().tolist() == [i in (4, 7) for i in range(9)] and logits.min() == 1


@pytest.mark.skipif(OLD, reason="transformers before 5.24 builds no assistant of Gemma 4")
@pytest.mark.thorough
@pytest.mark.parametrize("shared", (0, 2))
@pytest.mark.parametrize("place", ("cuda:0", "spread"))
def test_assistants_and_layers_that_share_keys(tmp_path: Path, place: str, shared: int) -> None:
    path = target(tmp_path / "target", num_kv_shared_layers=shared)
    helper = assistant(tmp_path / "assistant", seed=6)
    prompt = [5, 9, 3, 7, 6] * 6
    plain = Lab.load(target=path, mtp=helper, device="cpu", dtype="float32")
    with pretended():
        lab = Lab(loaded(path, place), {}, {"mtp": str(helper)})
        assert len(lab.target.devices) == (2 if place == "spread" else 1)
        assert isinstance(lab.asset("mtp"), AssistantHead)
        for temperature in (0.0, 0.8):
            given = {"temperature": temperature, "gamma": 3}
            assert wrote(lab, "mtp", prompt, **given) == wrote(plain, "mtp", prompt, **given)


@pytest.mark.parametrize("kind", ("tokens2", "two_layers"))
def test_reward_models_score_what_they_score_on_a_cpu(zoo: Zoo, tmp_path: Path, kind: str) -> None:
    folder, path = make_reward(tmp_path / kind, kind, "llama"), zoo.path("llama")
    want = known(RewardModel, load_reward(folder, zoo.load(path, "float32"))).reader()
    with pretended():
        reader = known(RewardModel, load_reward(folder, loaded(path, "cuda:1"))).reader()
        for text in ("a is b.", "a is b. c is dd.", "a is b. Then e."):
            assert reader.score("2 plus 2?", text) == pytest.approx(want.score("2 plus 2?", text), abs=1e-6)


def test_noise_is_shared_on_devices_without_float64() -> None:
    logits = torch.tensor([[0.5, 0.1, 2.0, -1.0], [0.1, 0.7, 0.2, 0.3]])
    chooser, prefixes = Chooser(Sampling(0.8), 3), [[1, 2], [1, 2, 3]]
    want = chooser.pick(logits, prefixes)
    with pretended():
        assert chooser.pick(logits.to("mps"), prefixes) == want


@pytest.fixture
def roomy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretended devices tell of no memory."""
    monkeypatch.setattr(batches, "available", lambda device: 1 << 40)


def joined_waits(mode: Pretend) -> list[str]:
    """Lines of joined passes that made the host wait."""
    files = ("slabs.py", "packed.py", "together.py")
    return [line for line in mode.waits if any(name in line for name in files)]


@pytest.mark.thorough
@pytest.mark.parametrize("family", ("llama", "bart", "t5"))
def test_joined_passes(zoo: Zoo, crossed: Crossed, roomy: None, family: str) -> None:
    """Rows of a batch write what they write alone, and their passes make nobody wait."""
    path = zoo.path("llama") if family == "llama" else crossed.path(family)
    prompts = [PROMPT, PROMPT[:4], PROMPT[3:]] if family == "llama" else [SOURCE, SOURCE[-3:], SOURCE[4:]]
    draft = noised(path, path / "joined", 0.03)
    with pretended() as mode:
        lab = Lab(loaded(path, "cuda:0"), {"draft": loaded(draft, "cuda:0")})
        for method in ("ar", "sd"):
            alone = [wrote(lab, method, prompt) for prompt in prompts]
            mode.waits.clear()
            found = lab.run_batch(method, prompts, max_new_tokens=14, seed=5)
            assert [trace.token_ids for trace in found] == alone
            assert not joined_waits(mode), joined_waits(mode)


@pytest.mark.thorough
@pytest.mark.parametrize("place", ("cuda:0", "spread"))
def test_the_doctor_looks_at_what_is_captured(zoo: Zoo, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Levels of heads are, where passes of the target are; of a spread model neither."""
    path = zoo.path("llama")
    with pretended():
        model = loaded(path, place)
        homes = spread(path) if place == "spread" else {"": torch.device(place)}
        monkeypatch.setattr("engine.bench.doctor.placement", lambda places: {"device_map": homes})
        checks = {check.name: check.state for check in _checks(model, str(path))}
    assert "wrong" not in checks.values(), checks
    levels = {"graph of a draft head against eager", "graph of masks against eager"}
    assert levels <= checks.keys() if place == "cuda:0" else not levels & checks.keys()
    assert checks.get("graph", checks.get("graph against eager")) == ("not here" if place == "spread" else "ok")


def test_a_text_that_is_read_again_lies_where_ids_are_sent(tmp_path: Path) -> None:
    """Also where the table of embeddings waits on disk, and has no place of its own."""
    decoder = known(RereadingDecoder, load_model(tiny.make("openai-gpt", tmp_path), "cpu").decoder)
    table = decoder.hf.get_input_embeddings()
    table.weight = torch.nn.Parameter(table.weight.to("meta"), requires_grad=False)
    table._hf_hook = SimpleNamespace(execution_device="cpu")
    assert decoder.cache(8).ids.device.type == "cpu"
