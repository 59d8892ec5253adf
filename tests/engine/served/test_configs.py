"""What is written for each engine: names that it documents, and settings that were advised."""

import inspect
import json
import shlex
from dataclasses import replace

import pytest

from engine.errors import ConfigError
from engine.methods import get_card
from engine.served.configs import CANDIDATES, ENGINES, VALUES, WRITERS, Setting, check, config, schedule


def test_every_method_of_every_engine_is_written_by_documented_names() -> None:
    for engine in ENGINES:
        for method in WRITERS[engine]:
            knobs = get_card(method).resolve({})
            found = config(engine, Setting(method, knobs, "a/b", True, 4))
            assert found["fields"] and found["text"]
            assert all(name in found["text"] for name in found["fields"])
    assert {"sd", "pld", "eagle3"} <= set(CANDIDATES) and set(VALUES) < set(ENGINES)


def test_what_a_run_does_not_tell_is_what_the_card_has() -> None:
    """This room knows no cards, as these know torch; so what it falls back to is held to them here."""
    for engine, writers in WRITERS.items():
        for name in writers.keys() - {"ar"}:
            knobs, length = get_card(name).resolve({}), {"gamma", "depth"}
            few = {key: value for key, value in knobs.items() if key in length}
            assert config(engine, Setting(name, few)) == config(engine, Setting(name, knobs)), (engine, name)


def test_transformers_takes_these_arguments() -> None:
    from transformers import GenerationConfig, GenerationMixin

    known = set(vars(GenerationConfig())) | set(inspect.signature(GenerationMixin.generate).parameters)
    known |= {"tokenizer", "assistant_tokenizer"}  # taken out of generate's further arguments
    for method in WRITERS["transformers"]:
        found = config("transformers", Setting(method, {"gamma": 4}))
        assert set(found["fields"]) <= known


def test_what_is_advised_is_what_is_written() -> None:
    chain = Setting("sd", {"gamma": 4}, "org/draft")
    vllm = config("vllm", chain, [(1, 8, 4), (9, 64, 0)])
    assert json.loads(shlex.split(vllm["text"])[1]) == vllm["fields"]
    assert vllm["fields"]["num_speculative_tokens"] == 4
    assert vllm["fields"]["num_speculative_tokens_per_batch_size"] == [[1, 8, 4], [9, 64, 0]]
    assert config("sglang", chain)["text"].endswith("--speculative-num-draft-tokens 5")
    assert "num_assistant_tokens=4" in config("transformers", chain)["text"]
    named = config("transformers", replace(chain, model="org/draft-0.5B"))["text"]
    assert "assistant_model=AutoModelForCausalLM.from_pretrained('org/draft-0.5B')" in named
    compile(named, "call", "eval")
    assert "max_draft_len: 4" in config("tensorrt_llm", chain)["text"]
    assert "--spec-draft-n-max 4" in config("llamacpp", chain)["text"]
    left = config("vllm", Setting("sd", {"gamma": "auto"}, usual=7))
    assert left["fields"]["num_speculative_tokens"] == 7 and "left lengths to the device" in left["note"]
    tree = config("sglang", Setting("eagle3", {"total_token": "auto", "depth": "auto"}, levels=9, usual=11))["fields"]
    assert (tree["--speculative-num-steps"], tree["--speculative-num-draft-tokens"]) == (9, 12)
    assert config("vllm", Setting("recycle", {}))["note"] == "has no counterpart of recycle"
    assert config("vllm", Setting("ar", {}))["fields"] is None


CHAIN = Setting("", {"gamma": 4, "max_ngram": 2}, levels=9, usual=7)
TREE = Setting("", {"depth": 6, "total_token": 30, "tree_top_k": 8}, levels=5, usual=7)
NUMBERS: tuple[tuple[Setting, dict[str, list[int]]], ...] = (  # what engines take of 4 tokens, or of 5 levels and 30
    (
        replace(CHAIN, method="sd"),
        {"vllm": [4], "sglang": [4, 1, 5], "llamacpp": [4, 0, 0], "tensorrt_llm": [4], "transformers": [4]},
    ),
    (
        replace(CHAIN, method="pld"),
        {"vllm": [4, 2, 1], "sglang": [4], "llamacpp": [2, 4], "tensorrt_llm": [4, 2], "transformers": [4, 2]},
    ),
    (
        replace(CHAIN, method="mtp"),
        {"vllm": [4], "sglang": [4, 1, 5], "llamacpp": [4], "tensorrt_llm": [4]},
    ),
    (replace(CHAIN, method="dflash"), {"vllm": [4], "sglang": [5], "tensorrt_llm": [4]}),
    (
        replace(TREE, method="eagle3"),
        {"vllm": [5], "sglang": [5, 8, 30], "llamacpp": [5], "tensorrt_llm": [5, 8, 30]},
    ),
    (replace(TREE, method="eagle2"), {"vllm": [5], "sglang": [5, 8, 30]}),
    (replace(TREE, method="eagle2", levels=0), {"vllm": [6], "sglang": [6, 8, 30]}),
    (Setting("medusa", {}), {"vllm": [1]}),
)


def test_the_numbers_of_chains_and_trees_are_what_each_engine_counts() -> None:
    for setting, wanted in NUMBERS:
        for engine, numbers in wanted.items():
            fields = config(engine, setting)["fields"]
            assert [value for value in fields.values() if type(value) is int] == numbers, (engine, setting.method)


def test_a_model_without_a_name_has_a_place_for_it() -> None:
    assert config("vllm", replace(CHAIN, method="sd"))["fields"]["model"] == "DRAFT_MODEL"
    assert config("sglang", replace(TREE, method="eagle3"))["fields"]["--speculative-draft-model-path"] == "HEAD"


def test_schedules_cover_all_sizes() -> None:
    rows = [{"batch": b, "method": m, "gamma": g} for b, m, g in ((1, "sd", 5), (8, "sd", 2), (64, "ar", 0))]
    assert schedule(rows, "sd") == [(1, 7, 5), (8, 63, 2), (64, 64, 0)]
    assert schedule([], "sd") == []


def test_a_name_that_is_not_documented_is_refused() -> None:
    with pytest.raises(ConfigError, match="vllm documents no gamma, method = chain"):
        check("vllm", {"gamma": 3, "method": "chain"})
