"""At temperature 0 every lossless method writes exactly what `ar` writes, and `ar` what transformers writes.

Both are in fp32; the drafts are random (nearly nothing is accepted), copies (everything) and noised copies (the middle,
where roll-back bugs live).
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

from engine.config import Card, RunConfig
from engine.files.places import ROOT
from engine.lab import Lab
from engine.methods import get_card
from engine.runs.running import begin
from engine.trace.events import RunEnded
from engine.trace.outcome import beside
from engine.trace.store import Trace
from tests.engine.onward import onward
from tests.engine.zoo import EOS, FAMILIES, Zoo, noised

THIRD_PARTY = "DRAFTSCOPE_TEST_MODELS"
REPEAT = [20, 31, 42, 20, 31, 42, 20, 31, 42, 20, 31, 42]
PROMPTS = ([7], [50, 12], [5, 9, 33, 7, 60], [3 + (i * 29) % 93 for i in range(40)], REPEAT)
LOSSLESS: list[tuple[str, dict[str, Any]]] = [
    ("sd", {"gamma": 5}),
    ("sd", {"gamma": 1}),
    ("block_verify", {"gamma": 5}),
    ("easd", {"tau_entropy": 20.0, "gamma": 4}),
    ("easd", {"tau_overlap": 1.01}),
    ("specdec", {"top_beta": 1}),
    ("specdec", {"tau_base": 0.0, "top_beta": 50}),
    ("cm_asd", {"top_beta": 1, "k_max": 8}),
    ("cm_asd", {"tau_base": 0.0, "tau_gamma": 0.0, "lookahead": "incremental"}),
    ("topk_lossy", {"accept_k": 1}),
    ("model+confidence_chain+exact", {"k_max": 6}),
    ("model+confidence_chain+entropy_veto", {"tau_entropy": 20.0, "k_max": 6}),
    ("model+confidence_chain+top_k", {"accept_k": 1, "k_max": 6}),
    ("none+none+gap", {}),
    ("universal", {"gamma": 4}),
    ("suffix", {"spec_factor": 4.0}),
    ("lookahead", {"window": 4, "ngram": 3}),
    ("mixed", {"min_match": 2}),
    ("layer_skip", {"layers": "every:2"}),
    ("layer_skip", {"layers": "first:3", "gamma": 3}),
]


def method(lab: Lab, name: str) -> Card | str:
    """A card by name, or three parts joined by plus signs."""
    if "+" not in name:
        return name
    drafter, shape, rule = name.split("+")
    return lab.compose(drafter=drafter, shape=shape, rule=rule)


def generate(folder: Path, prompt: Sequence[int], limit: int, memo: dict[Path, Any] = {}) -> list[int]:
    """What transformers' own greedy search adds to a prompt."""
    if folder not in memo:
        memo[folder] = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    hf = memo[folder]
    ids = torch.tensor([list(prompt)])
    out = hf.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, num_beams=1, max_new_tokens=limit)
    return out[0, len(prompt) :].tolist()


def check_counts(trace: Trace, limit: int) -> None:
    """The asserts of docs/methods/checks.md#greedy-equality, on one run."""
    ids, end = trace.token_ids, trace.end
    assert end is not None and 1 <= len(ids) <= limit
    assert EOS not in ids[:-1] and (end.reason == "eos") == (ids[-1] == EOS)
    assert (end.reason == "limit") == (len(ids) == limit and ids[-1] != EOS)
    assert sum(r.emitted for r in trace.rounds) == len(ids)
    for r in trace.rounds:
        assert r.emitted - r.accepted in (0, 1) and r.accepted <= r.drafted
        assert r.fed == r.drafted + beside(r) + 1
        assert r is trace.rounds[-1] or r.emitted == r.accepted + 1  # a full round adds the target's own token
    assert sum(r.emitted == r.accepted for r in trace.rounds) <= 1


def check_greedy_equality(
    lab: Lab,
    prompts: Sequence[Sequence[int]] = PROMPTS[2:],
    limit: int = 32,
    methods: Sequence[tuple[str, dict[str, Any]]] = (("sd", {"gamma": 5}),),
) -> None:
    """Each method equals `ar` on each prompt."""
    for prompt in prompts:
        want = lab.run("ar", prompt, max_new_tokens=limit, record="light")
        assert all(r.drafted == 0 and r.emitted == 1 for r in want.rounds)
        check_counts(want, limit)
        for name, knobs in methods:
            got = lab.run(method(lab, name), prompt, max_new_tokens=limit, record="light", **knobs)
            assert got.token_ids == want.token_ids, (name, knobs, prompt)
            assert (
                got.end is not None
                and want.end is not None
                and (got.end.reason, got.text) == (want.end.reason, want.text)
            )
            check_counts(got, limit)


# --- random models ------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_every_lossless_setting_equals_ar(zoo: Zoo) -> None:
    """All of them on all prompts; and on the eight layers that feature heads need."""
    check_greedy_equality(zoo.lab("llama", draft="noise", layers=4), PROMPTS, 24, LOSSLESS)
    check_greedy_equality(zoo.lab("llama", draft="noise"), PROMPTS[3:4], 24, [LOSSLESS[0], LOSSLESS[6]])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("family", "draft"), [*((f, "noise") for f in FAMILIES[1:]), ("qwen2", "random"), ("qwen2", "copy")]
)
def test_every_family_and_draft(zoo: Zoo, family: str, draft: str) -> None:
    lab = zoo.lab(family, draft=draft, layers=4)
    check_greedy_equality(lab, PROMPTS[::2], 20, [LOSSLESS[0], LOSSLESS[6]] if draft == "noise" else [LOSSLESS[0]])
    trace = lab.run("sd", PROMPTS[2], max_new_tokens=40, record="light")
    rate = sum(r.accepted for r in trace.rounds) / sum(r.drafted for r in trace.rounds)
    assert {"noise": 0.1 < rate < 0.97, "random": rate < 0.2, "copy": rate == 1.0}[draft], rate


@pytest.mark.parametrize("family", [*FAMILIES, "gpt2"])
def test_ar_equals_transformers(zoo: Zoo, family: str) -> None:
    """Also: the comparison is not vacuous, each family says at least eight different things somewhere."""
    lab, kinds = zoo.lab(family, draft=None, layers=4), set()
    for prompt in (PROMPTS[0], PROMPTS[3], PROMPTS[4]):
        ours = lab.run("ar", prompt, max_new_tokens=24, record="light").token_ids
        assert ours == generate(zoo.path(family, layers=4), prompt, 24)
        kinds.add(len(set(ours)))
    assert max(kinds) >= 8 or family == "gpt2"


def early_eos(lab: Lab, low: int = 4, high: int = 24) -> tuple[list[int], list[int]]:
    """A prompt whose greedy answer ends early by itself, and the answer."""
    for token in range(3, 90):
        found = lab.run("ar", [token, 11], max_new_tokens=high, record="light")
        if found.end is not None and found.end.reason == "eos" and len(found.tokens) >= low:
            return [token, 11], found.token_ids
    raise AssertionError("no prompt ends early")


def check_eos_cuts(zoo: Zoo, zero_eos: bool = False) -> None:
    """An end inside an accepted span cuts it: nothing follows, and counters hold what was emitted."""
    lab = zoo.lab("qwen2", draft="copy", zero_eos=zero_eos, seed=2, layers=4)
    prompt, want = early_eos(lab)
    inside = 0
    for gamma in (2, 3, 5):
        got = onward(lab, prompt, 60, gamma)
        assert got.token_ids == want and want[-1] == EOS
        check_counts(got, 60)
        last = got.rounds[-1]
        inside += last.accepted < last.drafted
        assert last.path == list(range(last.accepted)) and last.accepted + last.start <= len(want)
        assert all(n.state == "discarded" for n in last.nodes[last.emitted :])
    assert inside, "no end fell inside a span"


def test_an_early_end_inside_an_accepted_span(zoo: Zoo) -> None:
    check_eos_cuts(zoo)
    lab = zoo.lab("qwen2", draft=None, zero_eos=False, seed=2, layers=4)
    prompt, want = early_eos(lab)
    assert generate(zoo.path("qwen2", zero_eos=False, seed=2, layers=4), prompt, 60) == want
    noisy = zoo.lab("qwen2", draft="noise", zero_eos=False, seed=2, layers=4)
    check_greedy_equality(noisy, [prompt], 60, LOSSLESS[:9])


def test_the_limit_inside_an_accepted_span(zoo: Zoo) -> None:
    """Every limit from one on, with spans of up to six: never a token too many, and always the right ones."""
    lab = zoo.lab("qwen2", draft="copy", layers=4)
    whole = lab.run("ar", PROMPTS[2], max_new_tokens=14, record="light").token_ids
    for limit in range(1, 13):
        for name, knobs in (LOSSLESS[0], LOSSLESS[6]):
            got = lab.run(name, PROMPTS[2], max_new_tokens=limit, **knobs)
            assert got.token_ids == whole[:limit] and got.end is not None and got.end.reason == "limit"
            check_counts(got, limit)


def check_rows_fed(lab: Lab) -> None:
    """After each round the target's cache holds the text but its last token, and nothing was computed twice."""
    for name, knobs in (("ar", {}), *LOSSLESS[:7:3]):
        card = get_card(name)
        config = RunConfig(name, tuple(PROMPTS[3]), max_new_tokens=20, record="light", knobs=card.resolve(knobs))
        decoding, fed, length = begin(lab, card, config), len(PROMPTS[3]) - 1, len(PROMPTS[3])
        for event in decoding.run():
            if isinstance(event, RunEnded):
                break
            fed, length = fed + event.fed, length + event.emitted
            assert decoding.target.fed == fed and len(decoding.tokens) == length
            assert decoding.target.cached == decoding.tokens[: length - event.emitted]


def test_caches_follow_the_text(zoo: Zoo) -> None:
    check_rows_fed(zoo.lab("qwen2", draft="noise", layers=4))
    check_rows_fed(zoo.lab("gpt_neox", draft="noise", layers=4))


# --- real models --------------------------------------------------------------------------------------------------------


def embedded() -> Path:
    folder = ROOT / "assets" / "tiny"
    if (
        not (folder / "target" / "model.safetensors").is_file()
        or not (folder / "draft" / "model.safetensors").is_file()
    ):
        pytest.skip("the embedded pair is not in assets/tiny")
    return folder


@pytest.mark.thorough
def test_the_embedded_pair() -> None:
    """The pair that the page starts with: lossless settings equal `ar`, and `ar` equals transformers."""
    folder = embedded()
    lab = Lab.load(target=folder / "target", draft=folder / "draft", device="cpu")
    prompts = [
        lab.target.tokenizer.encode(text) for text in ("Question: Tom has 3 apples and buys 4 more.", "Task: Give a")
    ]
    ours = lab.run("ar", prompts[0], max_new_tokens=24, record="light").token_ids
    assert ours == generate(folder / "target", prompts[0], 24)
    check_greedy_equality(lab, prompts, 20, [LOSSLESS[0], LOSSLESS[6]])


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["TinyStories-656K", "stories260K-hf"])
def test_third_party_models(name: str, tmp_path: Path) -> None:
    """Checkpoints made by others, drafting for themselves and drafted for by a noised copy."""
    root = os.environ.get(THIRD_PARTY)
    if not root:
        pytest.skip(f"{THIRD_PARTY} names no folder of third-party models")
    folder = Path(root) / name
    for draft in (folder, noised(folder, tmp_path / "noised", 0.05)):
        lab = Lab.load(target=folder, draft=draft, device="cpu")
        for text in ("Once upon a time", "The cat"):
            prompt = lab.target.tokenizer.encode(text)
            want = lab.run("ar", prompt, max_new_tokens=32, record="light").token_ids
            assert want == generate(folder, prompt, 32) and len(set(want)) >= 8
            assert not lab.target.tokenizer.stop_ids & set(want[:-1])
            for method_name, knobs in LOSSLESS[:8:2]:
                assert lab.run(method_name, prompt, max_new_tokens=32, record="light", **knobs).token_ids == want
