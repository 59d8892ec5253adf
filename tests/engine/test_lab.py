"""The entry that page, command line and notebooks use: refusals at once, runs that do not disturb each other."""

import copy
import dataclasses
import hashlib
import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch

import engine.runs.pair
import engine.runs.running
from engine.errors import AssetError, ConfigError, EngineFault, ModelMismatch
from engine.lab import Lab
from engine.methods import CARDS, get_card
from engine.methods.compose import build
from engine.model import Session, threads
from engine.runs.assets import describe
from engine.runs.mining import online_search
from engine.runs.running import _process, prepare
from engine.tasks import Problem
from engine.trace.events import Round, RunEnded, RunStarted
from engine.trace.store import Trace
from tests.engine.drafters.heads import headed
from tests.engine.judge.chance import give_judge
from tests.engine.toy import toy_lab
from tests.engine.zoo import Zoo, make_model


@pytest.mark.parametrize("take", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_lab_is_not_copied_and_says_what_to_do(take: Callable[[Lab], object]) -> None:
    with pytest.raises(TypeError, match=r"one process.*Lab\.load"):
        take(toy_lab())


# --- loading ------------------------------------------------------------------------------------------------------------


def test_loading_a_pair_from_folders(zoo: Zoo) -> None:
    target = zoo.path("llama")
    lab = Lab.load(target=target, draft=zoo.draft_path(target, "noise"), device="cpu")
    trace = lab.run("sd", "Hello there", max_new_tokens=8)
    assert len(trace.tokens) == 8 and trace.head.models.keys() == {"target", "draft"}
    assert str(zoo.root) not in json.dumps(dataclasses.asdict(trace.head))  # no folder of this machine in a trace
    assert Lab.load(target=str(target), device="cpu").models == {}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "Give a preset's name, or target="),
        ({"preset": "tiny", "target": "x"}, "not both"),
        ({"preset": "", "target": "x"}, "not both"),
        ({"preset": "tinny"}, "Did you mean 'tiny'"),
        ({"preset": "../presets/tiny"}, "Unknown preset"),
        ({"preset": "tiny", "drfat": "y"}, "'drfat'. Did you mean 'draft'"),
        ({"preset": "tiny", "devise": "cpu"}, "mean 'device'"),
        ({"target": "x", "eagel3": "y"}, r"'eagel3'. Did you mean 'eagle"),
        ({"target": "x", "jugde:own": "y"}, "mean 'judge'"),
        ({"target": ""}, "The name of the target is empty"),
        ({"preset": "tiny", "draft": " "}, "The name of the draft is empty"),
        ({"preset": "tiny", "device": None}, "A device is named by a text, such as 'cpu'"),
        ({"preset": "tiny", "target_device": 5}, "A device is named by a text"),
        ({"preset": 5}, "Unknown preset 5"),
        ({"preset": "models/mine"}, "a folder or Hugging Face id is given as target"),
        ({"target": "x", "eagle": "y", "eagle3": "z"}, "is given twice"),
        ({"target": 5}, "The target is named by a Hugging Face id or a folder, not by 5"),
        ({"preset": "tiny", "draft": b"x"}, "The draft is named by"),
        ({"preset": "tiny", "eagle": ["x"]}, "The eagle3 is named by"),
        ({"preset": "tiny", "medusa": 5}, "The medusa is named by"),
        ({"preset": "tiny", "dtype": ["float32"]}, "dtype must be a text, not"),
        ({"preset": "tiny", "target_endpoint": 5}, "target_endpoint must be a text, not 5"),
        ({"preset": "tiny", "languages": None}, "languages must be a text, not None"),
        ({"target": "x", "target_model": "y"}, "go with target_endpoint, which is not given"),
        ({"target": "x", "target_key": "y"}, "go with target_endpoint, which is not given"),
    ],
)
def test_loading_needs_one_name(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        Lab.load(**options)


def test_assets_are_named_by_role_with_or_without_a_task(zoo: Zoo, tmp_path: Path) -> None:
    lab = Lab.load(target=zoo.path("llama"), device="cpu", eagle=tmp_path, judge="a", **{"judge:own": "b"})
    assert lab.asset_paths == {"judge": "a", "judge:own": "b", "eagle3": str(tmp_path)}
    assert Lab.load(target=zoo.path("llama"), device="cpu", eagle=None, medusa=None).asset_paths == {}


def test_a_draft_with_another_tokenizer_drafts_but_does_not_write_alone(zoo: Zoo, tmp_path: Path) -> None:
    other = make_model(tmp_path, "llama", layers=1, vocab=100)
    lab = Lab.load(target=zoo.path("llama"), draft=other, device="cpu")
    assert lab.bridge("draft").describe() == {"ids": "pieces", "common": 96}
    assert "ids of the draft model are not the target's" in lab.unavailable()["draft_alone"]
    with pytest.raises(ConfigError, match="not the target's"):
        lab.run("draft_alone", [5])
    with pytest.raises(ConfigError, match="one tokenizer"):
        next(lab.mine("arithmetic", [], tmp_path / "mined.jsonl"))
    for wrong in (None, "ab", [5]):
        with pytest.raises(ConfigError, match=r"as `engine\.tasks\.load_problems` gives them, not"):
            lab.mine("arithmetic", cast(Any, wrong), tmp_path / "mined.jsonl")
    for solution, chat, told in ((5, False, "A solution is a text"), ("a", 1, "chat must be True or False")):
        with pytest.raises(ConfigError, match=told):
            lab.teacher_forced_entropies("a", cast(Any, solution), cast(Any, chat))


def test_a_draft_that_is_nowhere_is_refused(zoo: Zoo) -> None:
    with pytest.raises(AssetError, match="Neither a folder here"):
        Lab.load(target=zoo.path("llama"), draft="nobody/nothing", device="cpu")


def test_padded_heads_are_cut_to_the_common_ids(zoo: Zoo) -> None:
    """Wider heads with the same tokenizer: ids beyond the common ones are never written, by any method."""
    wide = zoo.load(zoo.path("llama", vocab=128, words=96, seed=5))
    narrow = zoo.load(zoo.path("qwen2", layers=2))
    lab = Lab(wide, {"draft": narrow})
    assert lab.vocab == 96 and wide.vocab == 128
    with pytest.raises(ConfigError, match="the vocabulary, not"):
        lab.run("ar", [100])
    for temperature in (0.0, 1.5):
        want = lab.run("ar", [5, 9], max_new_tokens=40, temperature=temperature, record="light")
        assert max(want.token_ids) < 96 and want.head.vocab == 96
        got = lab.run("sd", [5, 9], max_new_tokens=40, temperature=temperature, record="light")
        assert max(got.token_ids) < 96
        if not temperature:
            assert got.token_ids == want.token_ids
    drafted = Lab(narrow, {"draft": wide}).run("sd", [5, 9], max_new_tokens=12, temperature=1.5).rounds
    assert max(node.token for event in drafted for node in event.nodes) < 96
    row = wide.session(8).forward([5, 9]).logits
    assert row.shape[-1] == 128 and lab.run("ar", [5, 9], max_new_tokens=1).token_ids == [int(row[0, :96].argmax())]
    other = Lab(narrow, {"draft": wide})
    assert other.run("sd", [5, 9], max_new_tokens=30).token_ids == other.run("ar", [5, 9], max_new_tokens=30).token_ids


# --- requests -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "prompt", "options", "says"),
    [
        ("sd", "", {}, "prompt is empty"),
        ("sd", "   ", {}, "prompt is empty"),
        ("sd", [], {}, "prompt is empty"),
        ("sdd", "ab", {}, "Unknown method 'sdd'. Did you mean 'sd'"),
        ("speculative", "ab", {}, "Known: "),
        ("sd:gamma=auto", "ab", {}, "beside the method's name here: 'sd' with gamma='auto', not 'sd:gamma=auto'"),
        ("sd", "ab", {"gama": 3}, "Unknown knob of sd 'gama'. Did you mean 'gamma'"),
        ("sd", "ab", {"max_new_token": 3}, "Unknown option of a run 'max_new_token'. Did you mean 'max_new_tokens'"),
        ("sd", "ab", {"gamma": 1000}, "0 to 128 tokens"),
        ("ar", "ab", {"gamma": 3}, "Unknown knob of ar"),
        ("sd", "ab", {"correction": "both"}, "Unknown value for correction"),
        ("sd", "ab", {"temperature": -1}, "temperature"),
        ("sd", "ab", {"top_p": 2}, "top_p"),
        ("sd", "ab", {"top_k": -3}, "top_k"),
        ("sd", "ab", {"max_new_tokens": 0}, "must be an integer from 1"),
        ("sd", "ab", {"record": "heavy"}, "Unknown record mode"),
        ("sd", "ab", {"stop": ("",)}, "stop string"),
        ("sd", "ab", {"stop": 5}, "a text or several"),
        ("sd", "ab", {"stop": ""}, "stop string"),
        ("sd", "ab", {"stop": [1]}, "stop string"),
        ("sd", [0, 99], {}, "must be from 0 to 4, the vocabulary, not 99"),
        ("sd", [-1], {}, "the vocabulary, not -1"),
        ("sd", "ab", {"chat": True}, "no chat template"),
        ("sd", "ab", {"extras": 5}, "extras must be names with values"),
        ("sd", "ab", {"extras": [1]}, "extras must be names with values"),
        ("sd", "ab", {"extras": {"item": Path("x")}}, "extras.item must be a plain value, as JSON has them"),
        ("sd", "ab", {"extras": {"task": 5}}, "extras.task must be a text, not an integer"),
        ("sd", "ab", {"extras": {"row": -1}}, "extras.row must be from 0"),
        ("sd", "ab", {"extras": {5: 1}}, "Names of extras are texts, not 5"),
        ("sd", "ab", {"top_k": 2**60}, "top_k must be an integer from 0"),
        ("sd", "ab", {"seed": None}, "seed"),
        ("sd", "ab", {"seed": "1"}, "seed"),
        ("sd", "ab", {"chat": "yes"}, "chat must be True or False, not 'yes'"),
        ("sd", "ab", {"chat": 1}, "chat must be True or False, not 1"),
        ("sd", "ab", {"reuse": 5}, "a method of `Lab.living`, not 5"),
        (None, "ab", {}, "named by a text, such as 'sd', not None"),
        ("sd", "ab", {"reuse": get_card("sd")}, r"`Lab\.living`, not .{50,105}\.$"),
        ("sd", "ab", {"stop": np.array(1)}, "a text or several, not array"),
        ("sd", np.array(1), {}, "A prompt is a text or a list of token ids, not array"),
    ],
)
def test_impossible_requests_are_refused_before_anything_runs(
    toy: Lab, method: Any, prompt: Any, options: dict[str, Any], says: str
) -> None:
    with pytest.raises(ConfigError, match=says):
        toy.stream(method, prompt, **options)  # not even iterated
    again = {"keep" if name == "reuse" else name: value for name, value in options.items()}
    with pytest.raises(ConfigError, match=says):
        toy.trajectories(method, prompt, 2, **again)


def test_a_prompt_longer_than_the_context(zoo: Zoo) -> None:
    lab = zoo.lab("llama", draft=None, max_position_embeddings=24, layers=2)
    for length in (24, 25, 400):
        with pytest.raises(
            ConfigError, match=f"has {length} tokens, and the target reads 24 in all, so at most 23 before"
        ):
            lab.run("ar", [5] * length)
    last = lab.run("ar", [5] * 23, max_new_tokens=10)
    assert len(last.tokens) == 1 and last.end is not None and last.end.reason in ("context", "eos")


def test_a_role_that_nothing_has_is_refused_with_those_that_there_are(
    zoo: Zoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = zoo.lab("llama", draft="copy")
    monkeypatch.setitem(lab.asset_paths, "eagle3", "nowhere")
    for ask in (lab.asset, lab.describe_asset):
        with pytest.raises(ConfigError, match=r"No eagle is loaded with this pair; there is eagle3\."):
            ask("eagle")
    with pytest.raises(ConfigError, match=r"No drft model is loaded with this pair; there is draft\."):
        lab.bridge("drft")


def test_methods_that_cannot_run_say_what_they_need(zoo: Zoo) -> None:
    lab = zoo.lab("llama", draft=None)
    names = {card.name for card in lab.methods()}
    assert "ar" in names and "sd" not in names
    assert lab.unavailable()["sd"] == "Speculative decoding needs a draft model, and none is loaded with this pair."
    assert names | lab.unavailable().keys() == {card.name for card in CARDS}
    with pytest.raises(ConfigError, match="needs a draft model"):
        lab.run("sd", "ab")
    with pytest.raises(ConfigError, match="needs a draft model"):
        lab.living("sd")
    with pytest.raises(ConfigError, match="needs an asset of the role medusa"):
        lab.trajectories("medusa", "ab", 1)
    with pytest.raises(ConfigError, match="No eagle3 is loaded"):
        lab.asset("eagle3")


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"drafter": "modell", "shape": "chain", "rule": "exact"}, "Unknown drafter 'modell'. Did you mean 'model'"),
        ({"drafter": "model", "shape": "chian", "rule": "exact"}, "Did you mean 'chain'"),
        ({"drafter": "model", "shape": "chain", "rule": "exactly"}, "Did you mean 'exact'"),
        ({"drafter": "model", "shape": "none", "rule": "exact"}, "cannot fill shape 'none'"),
        ({"drafter": "none", "shape": "chain", "rule": "exact"}, "cannot fill shape 'chain'; it takes: none."),
        ({"drafter": "beams", "shape": "beams", "rule": "exact"}, "whose drafts are no path; it takes: beams"),
        ({"drafter": "cmlm", "shape": "canvas", "rule": "typical"}, "whose drafts are no path; it takes: canvas"),
        ({"drafter": "model", "shape": "chain", "rule": "exact", "tau": 1}, "Unknown knob"),
        ({"drafter": "model", "shape": "chain", "rule": "exact", "gamma": 999}, "gamma must be an integer from"),
    ],
)
def test_parts_that_do_not_fit_are_refused(toy: Lab, parts: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        toy.compose(**parts)


def test_composed_methods_run_and_promise_the_weakest_part(toy: Lab) -> None:
    card = toy.compose(drafter="model", shape="confidence_chain", rule="entropy_veto", k_max=4, tau_entropy=0.5)
    assert card.guarantee == "lossy" and {k.name: k.default for k in card.knobs}["k_max"] == 4
    trace = toy.run(card, "abc", max_new_tokens=12)
    assert trace.head.method == "model+confidence_chain+entropy_veto" and trace.head.knobs["tau_entropy"] == 0.5
    assert toy.compose(drafter="model", shape="chain", rule="exact").guarantee == "lossless"


# --- runs ---------------------------------------------------------------------------------------------------------------


def test_the_same_request_gives_the_same_tokens(toy: Lab) -> None:
    for name in ("ar", "sd", "easd", "cm_asd"):
        a, b, c, below = (toy.run(name, "abc", max_new_tokens=30, temperature=1.0, seed=s) for s in (4, 4, 5, -4))
        assert a.token_ids == b.token_ids != c.token_ids and below.token_ids != a.token_ids
        assert toy.run(name, "abc", max_new_tokens=30, temperature=1.0, seed=-4).token_ids == below.token_ids
        strip = [dataclasses.replace(r, draft_ms=0, verify_ms=0, other_ms=0) for r in a.rounds]
        assert strip == [dataclasses.replace(r, draft_ms=0, verify_ms=0, other_ms=0) for r in b.rounds]


def test_another_draft_changes_the_ids_not_the_rule() -> None:
    near, copy = toy_lab(V=5, seed=2), toy_lab(V=5, seed=2, draft="copy")
    a, b = (lab.run("sd", "abc", max_new_tokens=40, temperature=1.0, seed=1) for lab in (near, copy))
    assert a.token_ids != b.token_ids
    assert near.run("sd", "abc", max_new_tokens=40).token_ids == copy.run("sd", "abc", max_new_tokens=40).token_ids


def test_interleaved_streams_do_not_disturb_each_other(zoo: Zoo) -> None:
    """Two runs on the same weights, one event at a time in turns, give what each gives alone."""
    lab = zoo.lab("llama", draft="noise")
    requests: list[tuple[str, list[int], dict[str, Any]]] = [
        ("sd", [5, 9, 33, 7], {"temperature": 0.9, "seed": 1}),
        ("easd", [60, 12], {"temperature": 0.0}),
        ("ar", [8], {}),
    ]
    alone = [lab.run(m, p, max_new_tokens=16, **o).token_ids for m, p, o in requests]
    streams = [lab.stream(m, p, max_new_tokens=16, **o) for m, p, o in requests]
    together: list[list[int]] = [[] for _ in requests]
    for events in zip_longest(*streams):
        for ids, event in zip(together, events, strict=True):
            if isinstance(event, Round):
                ids += [t.token for t in event.tokens]
    assert together == alone


def test_threads_take_turns(zoo: Zoo) -> None:
    lab = zoo.lab("llama", draft="noise")
    alone = lab.run("sd", [5, 9, 33, 7], max_new_tokens=16, seed=1, temperature=0.9).token_ids
    found: list[list[int]] = []
    work = [
        threading.Thread(
            target=lambda: found.append(
                lab.run("sd", [5, 9, 33, 7], max_new_tokens=16, seed=1, temperature=0.9).token_ids
            )
        )
        for _ in range(3)
    ]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert found == [alone] * 3


def test_a_closed_stream_leaves_the_lab_usable(toy: Lab) -> None:
    for rounds in range(4):
        stream = toy.stream("sd", "abc", max_new_tokens=40)
        for _ in range(rounds):
            next(stream)
        stream.close()  # type: ignore[attr-defined]
        assert toy.lock.acquire(blocking=False)
        toy.lock.release()
    assert len(toy.run("sd", "abc", max_new_tokens=8).tokens) == 8


def test_the_lock_is_free_between_rounds(toy: Lab) -> None:
    stream = toy.stream("sd", "abc", max_new_tokens=20)
    for event in stream:
        assert not toy.lock.locked(), event.kind


@pytest.mark.parametrize("does", ["run", "living", "trajectories", "mine", "online", "batch", "costs", "settle"])
def test_no_sequence_begins_beside_a_round(
    does: str, zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that begins makes what its model keeps of all positions longer; of two at once the shorter could stay."""
    ids, problem = [5, 9, 33, 7], Problem("arithmetic", "one", "a b", "", "1")
    lab = headed(zoo, tmp_path) if does == "online" else zoo.lab("llama", draft="noise")
    lab.threads = threads.Threads(1, "measured long ago", again=0.0)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(threads, "available", lambda: 2)
    monkeypatch.setattr(torch, "set_num_threads", lambda _: None)
    held, plain = list[bool](), Session.__init__

    def begun(*given: Any, **more: Any) -> None:
        held.append(lab.lock.locked())
        plain(*given, **more)

    calls: dict[str, Callable[[], object]] = {
        "run": lambda: lab.run("sd", ids, max_new_tokens=4),
        "living": lambda: lab.living("sd"),
        "trajectories": lambda: list(lab.trajectories("sd", ids, 2, max_new_tokens=4)),
        "mine": lambda: next(lab.mine("arithmetic", [problem], tmp_path / "mined.jsonl", limit=4)),
        "online": lambda: online_search(lab, "eagle3", [], cast("Any", None), 4),
        "batch": lambda: lab.run_batch("sd", [ids, ids], max_new_tokens=4),
        "costs": lambda: lab.living("sd", gamma="auto"),
        "settle": lab.settle,
    }
    monkeypatch.setattr(Session, "__init__", begun)
    calls[does]()
    assert held and all(held)
    assert not lab.lock.locked()


@pytest.mark.parametrize("fault", ["memory", "nan"])
def test_a_broken_device_ends_one_run_not_the_lab(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = toy_lab()
    decoder = lab.target.decoder
    right, calls = type(decoder).run, 0

    def run(self: Any, *args: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls < 6:
            return right(self, *args)
        if fault == "memory":
            raise torch.OutOfMemoryError("gone")
        rows = right(self, *args)
        return dataclasses.replace(rows, logits=rows.logits * torch.nan)

    with monkeypatch.context() as patch:
        patch.setattr(type(decoder), "run", run)
        trace = lab.run("sd", "abc", max_new_tokens=40, gamma=1)
    assert trace.end is not None and trace.end.reason == "error" and trace.end.message
    spent = sum(r.draft_ms + r.verify_ms + r.other_ms for r in trace.rounds)
    assert trace.end.prefill_ms is None and trace.end.total_ms == pytest.approx(spent)
    assert trace.metrics()["prefill_s"] is None and Trace.loads(trace.to_bytes()).end == trace.end
    assert 0 < len(trace.tokens) < 40 and ("memory" in trace.end.message) == (fault == "memory")
    assert len(lab.run("sd", "abc", max_new_tokens=8).tokens) == 8


def test_the_head_tells_everything_needed_to_repeat_a_run(toy: Lab) -> None:
    trace = toy.run(
        "easd",
        "abc",
        max_new_tokens=9,
        temperature=0.7,
        top_k=3,
        seed=8,
        tau_entropy=1.0,
        extras={"task": "none"},
        stop=("zz", "yy"),
        top_n=3,
    )
    head = trace.head
    assert (head.stop, head.top_n, head.chat) == (["zz", "yy"], 3, False)
    assert isinstance(head, RunStarted) and head.sampling == {"temperature": 0.7, "top_k": 3, "top_p": 1.0}
    assert head.prompt_ids == [0, 1, 2] and head.prompt == "abc" and head.prompt_pieces == ["a", "b", "c"]
    assert head.knobs["tau_entropy"] == 1.0 and head.knobs["gamma"] == 5 and head.extras.keys() == {"task", "process"}
    assert (head.drafter, head.shape, head.rule, head.guarantee) == ("model", "chain", "entropy_veto", "lossy")
    assert (
        head.versions["torch"].split("+")[0] == torch.__version__.split("+")[0] and head.vocab == 5 and head.seed == 8
    )
    again = toy.run(
        head.method,
        head.prompt_ids,
        max_new_tokens=head.max_new_tokens,
        seed=head.seed,
        stop=head.stop,
        top_n=head.top_n,
        **head.sampling,
        **head.knobs,
    )
    assert again.token_ids == trace.token_ids
    short = toy.run("sd", "abc", max_new_tokens=9, top_n=3)
    assert short.head.top_n == 3 and {len(node.top_target or ()) for r in short.rounds for node in r.nodes} == {3}
    assert isinstance(trace.end, RunEnded) and trace.end.text == trace.text


@pytest.mark.parametrize(
    ("stop", "kept"), [(None, []), ((), []), ("ab", ["ab"]), (["ab", "c"], ["ab", "c"]), (("ab",), ["ab"])]
)
def test_a_stop_is_one_text_or_several_or_none(toy: Lab, stop: Any, kept: list[str]) -> None:
    """A plain text is not taken apart into its letters."""
    assert toy.run("sd", "abc", max_new_tokens=2, stop=stop).head.stop == kept
    assert next(iter(toy.trajectories("sd", "abc", 1, max_new_tokens=2, stop=stop))).head.stop == kept


def test_chat_is_written_down(zoo: Zoo) -> None:
    lab = zoo.lab("llama", draft=None)
    lab.target.tokenizer.hf.chat_template = "{{ messages[0]['content'] }}"
    try:
        assert lab.run("ar", "ab", max_new_tokens=1, chat=True).head.chat is True
    finally:
        lab.target.tokenizer.hf.chat_template = None


def test_runs_of_one_process_carry_its_token(toy: Lab) -> None:
    one, two = (toy.run(name, "abc", max_new_tokens=4, extras={"process": "forged"}) for name in ("ar", "sd"))
    assert one.head.extras["process"] == two.head.extras["process"] not in ("", "forged")
    assert _process(os.getpid() + 1) != one.head.extras["process"]
    assert two.metrics(one)["speedup"] > 0


@pytest.mark.thorough
@pytest.mark.installed
def test_another_process_has_another_token() -> None:
    code = "from engine.runs.running import _process; import os; print(_process(os.getpid()))"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert other and other != _process(os.getpid())


@pytest.mark.parametrize("n", [0, -1, 1.5, True, None])
def test_trajectories_are_counted_from_one(toy: Lab, n: Any) -> None:
    for ask in (toy.trajectories, toy.stream_trajectories):
        with pytest.raises(ConfigError, match="n must be an integer >= 1"):
            ask("sd", "abc", n)  # not even iterated


# --- assets -------------------------------------------------------------------------------------------------------------


def test_every_asset_of_a_run_is_named_with_its_revision(
    zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = headed(zoo, tmp_path)
    read: list[str] = []
    monkeypatch.setattr(engine.runs.pair, "describe", lambda *given: read.append(given[0]) or describe(*given))
    for _ in range(2):
        models = lab.run("heterospec", [5, 6], max_new_tokens=2).head.models
    assert models.keys() == {"target", "eagle3", "strata"} and len(read) == 2  # once an asset
    weights = (tmp_path / "eagle3" / "model.safetensors").read_bytes()
    assert models["eagle3"] == {"id": "eagle3", "revision": "sha256:" + hashlib.sha256(weights).hexdigest()[:16]}
    assert models["strata"]["id"] == "strata.json" and models["strata"]["revision"].startswith("sha256:")
    assert lab.run("medusa", [5, 6], max_new_tokens=2).head.models.keys() == {"target", "medusa"}
    assert lab.run("ar", [5, 6], max_new_tokens=2).head.models.keys() == {"target"}


def test_what_is_refused_is_refused_before_the_run_starts(zoo: Zoo, tmp_path: Path) -> None:
    lab = headed(zoo, tmp_path)
    (tmp_path / "medusa" / "model.safetensors").unlink()
    (tmp_path / "hydra" / "training.json").write_text('{"target": "sha256:0000"}')
    lab.asset_paths |= {"judge": str(tmp_path / "none"), "strata": "assets/none"}
    lab.models["draft"] = zoo.model("llama", layers=2, vocab=32)
    for method, error in (
        ("medusa", AssetError),
        ("hydra", ModelMismatch),
        ("autojudge", AssetError),
        ("heterospec", AssetError),
    ):
        with pytest.raises(error):
            lab.stream(method, [5, 6])  # not even iterated
        assert lab.unavailable()[method]
        assert not lab.lock.locked() and method not in {card.name for card in lab.methods()}
    with pytest.raises(ConfigError, match="rising"):
        lab.stream("heterospec", [5, 6], thresholds="3,2")
    reasons = lab.unavailable()
    assert reasons["blockwise"].endswith(
        "has no model.safetensors or pytorch_model.bin or medusa_lm_head.safetensors or medusa_lm_head.pt."
    )
    assert "assets/none is missing" in reasons["heterospec"] and "sha256:0000" in reasons["hydra"]
    assert "eagle2" not in reasons and "ar" not in reasons


def test_a_missing_judge_is_refused_before_the_run_starts(zoo: Zoo, tmp_path: Path) -> None:
    lab = zoo.lab("llama", draft="noise")
    give_judge(lab, tmp_path / "judge", role="judge:arithmetic")
    with pytest.raises(ConfigError, match="No judge 'functions' is loaded"):
        lab.stream("autojudge", [5, 6], judge="functions")
    assert lab.run("autojudge", [5, 6], max_new_tokens=2).head.models.keys() == {"target", "draft", "judge:arithmetic"}


def test_nothing_is_built_twice(toy: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []
    living = prepare(toy, "sd")
    monkeypatch.setattr(engine.runs.running, "build", lambda card, *rest: built.append(card.name) or build(card, *rest))
    toy.run("sd", "abc", max_new_tokens=4)
    assert built == ["sd"]
    toy.run("sd", "abc", max_new_tokens=4, reuse=living)
    assert built == ["sd"]


def test_a_method_that_lives_on_brings_its_knobs_and_runs_as_no_other(toy: Lab) -> None:
    living = toy.living("sd", gamma=3)
    trace = toy.run("sd", "abc", max_new_tokens=8, reuse=living)
    other = toy_lab().living("sd", gamma=3)  # it would draft with the other lab's models
    with pytest.raises(ConfigError, match="is of another lab"):
        toy.run("sd", "abc", max_new_tokens=8, reuse=other)
    with pytest.raises(ConfigError, match="is of another lab"):
        toy.trajectories("sd", "abc", 2, keep=other)
    assert trace.head.knobs["gamma"] == 3 and trace.rounds[0].drafted == 3
    assert toy.run("sd", "abc", max_new_tokens=8, gamma=3, reuse=living).token_ids == trace.token_ids
    with pytest.raises(ConfigError, match="lives with gamma=3, and gamma=4 is asked for"):
        toy.run("sd", "abc", max_new_tokens=8, gamma=4, reuse=living)
    with pytest.raises(ConfigError, match="is sd, not easd"):
        toy.run("easd", "abc", max_new_tokens=8, reuse=living)
    with pytest.raises(ConfigError, match="is sd, not pld"):
        toy.run("pld", "abc", max_new_tokens=8, reuse=living)
    with pytest.raises(ConfigError, match="lives with gamma=3"):
        toy.trajectories("sd", "abc", 1, keep=living, gamma=5)
    with pytest.raises(ConfigError, match="is sd, not easd"):
        toy.trajectories("easd", "abc", 2, keep=living)


@pytest.mark.parametrize("ends", ["read", "end", "close", "drop", "raise"])
def test_a_method_that_lives_on_serves_one_run_at_a_time(toy: Lab, ends: str) -> None:
    living, given = toy.living("sd"), {"max_new_tokens": 8}
    alone = toy.run("sd", "abc", **given).token_ids
    early = toy.stream("sd", "abc", reuse=living, **given)
    events: Any = toy.stream("sd", "abc", reuse=living, **given)
    before = [next(events), next(events)]
    with pytest.raises(ConfigError, match=r"`Lab\.living` \(sd\) is in use by another run: let that end or close it"):
        toy.stream("sd", "cab", reuse=living, **given)
    with pytest.raises(ConfigError, match="in use by another run"):
        toy.trajectories("sd", "cab", 2, keep=living, **given)
    with pytest.raises(ConfigError, match="in use by another run"):
        next(early)
    if ends == "read":
        assert Trace([*before, *events]).token_ids == alone
    elif ends == "end":
        while not isinstance(next(events), RunEnded):
            pass
    elif ends == "close":
        events.close()
    elif ends == "drop":
        del events
    else:
        with pytest.raises(KeyError):
            events.throw(KeyError("mine"))
    kept = [toy.stream("sd", "abc", reuse=living, **given) for _ in range(2)]
    assert [Trace(one).token_ids for one in kept] == [alone, alone], "one after the other"


@pytest.mark.thorough
@pytest.mark.installed
def test_an_abandoned_run_says_nothing_when_the_interpreter_ends() -> None:
    code = "from tests.engine.toy import toy_lab; lab = toy_lab(); events = lab.stream('sd', 'abc'); next(events); "
    done = subprocess.run([sys.executable, "-c", code + "next(events)"], capture_output=True, text=True, check=True)
    assert "Exception ignored" not in done.stderr and not done.stdout


def test_no_memory_for_a_run_is_told_at_once(toy: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> Any:
        raise torch.OutOfMemoryError("gone")

    monkeypatch.setattr(engine.runs.running, "build", full)
    with pytest.raises(EngineFault, match="out of memory"):
        toy.stream("sd", "abc")
    assert not toy.lock.locked()


def test_a_lossy_correction_is_called_lossy(toy: Lab) -> None:
    assert toy.run("sd", "ab", max_new_tokens=2).head.guarantee == "lossless"
    assert toy.run("sd", "ab", max_new_tokens=2, temperature=1.0, correction="target").head.guarantee == "lossy"
