"""mine, judge-train and judge-eval end to end on a random pair: files, resume, refusals, results."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from engine.cli import main
from engine.cli.judging import _contents, page
from engine.errors import ConfigError
from engine.files.held import hold
from engine.files.places import ROOT
from engine.judge.classifier import Settings, scores_of
from engine.judge.problems import limit_of
from engine.judge.store import read_mined
from engine.judge.training import OPTIMISTIC
from engine.judge.weights import load_judge
from engine.lab import Lab
from engine.papers.entries import chosen
from engine.papers.results import follows
from engine.tasks.marking import OWN
from engine.trace.store import Trace
from tests.engine.crossed import Crossed
from tests.engine.judge.server import serving
from tests.engine.zoo import Zoo, make_model, noised


def mine(pair: list[str], out: Path, *more: str) -> int:
    return main(["mine", *pair, "--task", "arithmetic", "--limit", "12", "--out", str(out), *more])


def mixed(mined: Path) -> None:
    """Labels of both kinds by hand: a random pair gives hardly any important ones."""
    lines = [json.loads(line) for line in mined.read_text().splitlines()]
    for i, line in enumerate(lines[1:]):
        for label in line["labels"]:
            label["important"] = bool((label["t"] + i) % 3)
    mined.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.thorough
def test_from_a_task_to_results(
    pair: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    mined = tmp_path / "mined.jsonl"
    assert mine(pair, mined, "--items", "4") == 0 and "finished: 4 of 4 prompts" in capsys.readouterr().out
    assert mine(pair, mined, "--items", "12", "--json") == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (events[0]["kind"], events[0]["done"], events[-1]["done"]) == ("started", 4, 12)
    head, prompts = read_mined(mined)
    assert head["task"] == "arithmetic" and len(prompts) == 12 and sum(len(p.labels) for p in prompts) > 12
    assert mine(pair, mined, "--items", "12", "--seed", "1") == 2 and "other settings" in capsys.readouterr().err
    with hold(mined):
        assert mine(pair, mined, "--items", "12") == 2
        assert "mined.jsonl is being written by process" in capsys.readouterr().err
        with pytest.raises(ConfigError, match=r"mined\.jsonl is being written"):
            next(Lab.load(target=pair[1], draft=pair[3], device="cpu").mine("arithmetic", [], mined))

    mixed(mined)
    judge = tmp_path / "judge"
    results = tmp_path / "docs" / "results" / "judge-ablations-arithmetic.json"
    more = ["--split", "folds", "--ablations", "--nested", "--results", str(results)]
    assert main(["judge-train", *pair, "--mined", str(mined), "--out", str(judge), *more]) == 0
    card = capsys.readouterr().out
    assert OPTIMISTIC in card and "| held out | " in card and ", the largest of 8 |" in card
    assert "| ROC area, nested folds | " in card and "The rows of nested folds are estimates" in card
    assert "| equivalence | the answer is right or wrong alike" in card
    assert "# Judge for arithmetic" in card and "| forest |" in card and "prev token, target model" in card
    made = load_judge(judge)
    assert json.loads(results.read_text())["auc_by_c"] == made.meta["auc_by_c"]
    for _, figure in (*chosen("autojudge:F6"), *chosen("autojudge:F7")):
        cells = [c for t in follows(figure, {}, tmp_path)["tables"] for row in t["rows"] for c in row["cells"]]
        assert cells and all(cells), "every number of the figure is there"
    assert (
        made.meta["optimistic"] == OPTIMISTIC and made.meta["nested"]["area"]["n"] == made.meta["told_from"]["prompts"]
    )
    assert made.meta["labels"] == sum(len(p.labels) for p in prompts) and 0 <= made.threshold <= 1

    asset = ["--asset", f"judge:arithmetic={judge}"]
    options = ["--tasks", "arithmetic", "--window", "4", "--max-new-tokens", "10", "--out", str(tmp_path / "results")]
    assert main(["judge-eval", *pair, *asset, *options, "--items", "1"]) == 0
    recorded = json.loads((tmp_path / "results" / "judge-arithmetic.json").read_text())["command"]
    assert recorded.startswith(f"python -m engine judge-eval {pair[0]}"), "of this call, not of the process"
    written = capsys.readouterr()
    assert (
        "on 1 held-out problems" in written.out
        and f"arithmetic: the judge in {judge} (judge:arithmetic)" in written.err
    )
    (kept,) = (tmp_path / "build" / "judge").glob("eval-arithmetic-*/rows-0-of-1.ndjson")
    whole = kept.read_text()
    assert main(["judge-eval", *pair, *asset, *options, "--items", "2"]) == 0
    both = kept.read_text()
    kept.write_text(both[:-9])
    assert main(["judge-eval", *pair, *asset, *options, "--items", "3", "--json"]) == 0
    assert kept.read_text().startswith(both) and both.startswith(whole) and kept.read_text().count("\n") == 3
    found = json.loads((tmp_path / "results" / "judge-arithmetic.json").read_text())
    assert (
        found["problems"] == 3
        and found["rows"][0]["name"] == "sd"
        and "AutoJudge" in (tmp_path / "results" / "judge-arithmetic.md").read_text()
    )
    own = ["--asset", f"judge={judge}"]
    assert main(["judge-eval", *pair, *own, *options, "--tasks", "functions", "--items", "1"]) == 2
    assert "trained for arithmetic" in capsys.readouterr().err
    another = tmp_path / "another"
    shutil.copytree(judge, another)
    (another / "judge.json").write_text(
        json.dumps(json.loads((judge / "judge.json").read_text()) | {"task": "functions"})
    )
    preset = ["--asset", f"judge:arithmetic={judge}", "--asset", f"judge:functions={another}"]
    assert main(["judge-eval", *pair, *own, *preset, *options, "--items", "1"]) == 0
    assert f"the judge in {judge} (judge)" in capsys.readouterr().err
    groups = [row["group"] for row in json.loads((tmp_path / "results" / "judge-arithmetic.json").read_text())["rows"]]
    assert "transfer" in groups, "the other task's judge is still the one to compare with"
    assert main(["judge-eval", *pair, *own, *preset, *options, "--tasks", "functions", "--items", "1"]) == 0
    assert f"the judge in {another} (judge:functions)" in capsys.readouterr().err
    kept.write_text('{"unit": 0, "line": [1]}\n')
    assert main(["judge-eval", *pair, *asset, *options, "--items", "1"]) == 2
    assert f"{kept.name}, line 1 is damaged: it does not hold the numbers of 24 results" in capsys.readouterr().err


@pytest.mark.thorough
def test_another_type_of_numbers_makes_results_and_labels_of_its_own(
    pair: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """A finished evaluation in float32 had been given out as one in bfloat16."""
    monkeypatch.chdir(tmp_path)
    mined, judge, half = tmp_path / "mined.jsonl", tmp_path / "judge", ["--dtype", "bfloat16"]
    assert mine(pair, mined, "--items", "8") == 0
    assert mine(pair, mined, "--items", "8", *half) == 2 and "other settings" in capsys.readouterr().err
    mixed(mined)
    assert main(["judge-train", *pair, "--mined", str(mined), "--out", str(judge)]) == 0
    assert "in float32 |" in capsys.readouterr().out
    told = [*pair, "--asset", f"judge:arithmetic={judge}", "--tasks", "arithmetic", "--window", "4", "--limit", "10"]
    out = ["--items", "1", "--out", str(tmp_path / "results")]
    assert main(["judge-eval", *told, *out]) == 0 and "learnt from states" not in capsys.readouterr().err
    assert main(["judge-eval", *told, *out, *half]) == 0
    assert "learnt from states in float32, and reads states in bfloat16" in capsys.readouterr().err
    assert len(list((tmp_path / "build" / "judge").glob("eval-arithmetic-*"))) == 2
    assert {path.name for path in (tmp_path / "results").glob("*.json")} == {
        "judge-arithmetic.json",
        "judge-arithmetic-bfloat16.json",
    }
    other = ["--draft", pair[1]]
    assert main(["judge-train", *pair[:2], *other, "--mined", str(mined), "--out", str(judge), "--force"]) == 0
    assert main(["judge-eval", *told, *other, *out]) == 0, "and another draft model"
    assert len(list((tmp_path / "build" / "judge").glob("eval-arithmetic-*"))) == 3
    card = json.loads((judge / "judge.json").read_text())
    (judge / "judge.json").write_text(json.dumps(card | {"threshold": card["threshold"] / 2}))
    assert main(["judge-eval", *told, *other, *out]) == 0, "and another threshold of the card, by the same weights"
    assert len(list((tmp_path / "build" / "judge").glob("eval-arithmetic-*"))) == 4


def test_refusals_are_sentences(pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert mine(pair[:2], tmp_path / "a.jsonl") == 2 and "needs a draft" in capsys.readouterr().err
    assert main(["mine", *pair, "--task", "arithmetik", "--out", str(tmp_path / "b.jsonl")]) == 2
    assert "Did you mean 'arithmetic'" in capsys.readouterr().err
    assert main(["mine", *pair, "--task", "gsm8k", "--source", "nowhere.jsonl"]) == 2
    assert mine(pair, tmp_path / "c.jsonl", "--endpoint", "http://127.0.0.1:1/v1", "--temperature", "1") == 2
    for option, needed in (
        ("--window=3", "--eagle-online"),
        ("--unlikely=.1", "--eagle-online"),
        ("--endpoint-model=m", "--endpoint"),
        ("--send-ids", "--endpoint"),
        ("--anchor", "--endpoint"),
        ("--judge-model=m", "--judge-endpoint"),
    ):
        assert mine(pair, tmp_path / "e.jsonl", option) == 2
        assert f"{option.partition('=')[0]} goes with {needed}, which is not given" in capsys.readouterr().err
    assert mine(pair, tmp_path / "d.jsonl", "--items", "1") == 0
    train = ["judge-train", "--mined", str(tmp_path / "d.jsonl"), "--out", str(tmp_path / "j")]
    assert main([*train, *pair]) == 2
    assert "too few to learn from" in capsys.readouterr().err
    for more in ([], ["--read", "target", "--ablations"]):
        assert main([*train, *pair[:2], *more]) == 2
        assert "reads a draft model" in capsys.readouterr().err
    assert main(["judge-eval", *pair, "--tasks", "arithmetic"]) == 2
    assert "No judge for arithmetic" in capsys.readouterr().err


def test_what_cannot_be_mined_begins_no_file(pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """A draft with ids of its own had altered responses by tokens that the target reads as others, and a served target
    had been mined with noise that only the draft had."""
    out, other = tmp_path / "m.jsonl", make_model(tmp_path / "other", "llama", layers=1, vocab=100)
    assert mine([*pair[:2], "--draft", str(other), *pair[4:]], out, "--items", "1") == 2
    assert "both need one tokenizer" in capsys.readouterr().err and not out.exists()
    served = ("--target-endpoint", "http://127.0.0.1:1/v1", "--target-model", "m")
    assert mine(pair, out, *served, "--items", "1", "--temperature", "0.7") == 2
    assert "mined greedily" in capsys.readouterr().err and not out.exists()


@pytest.mark.thorough
def test_what_is_refused_begins_no_file(pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    out = tmp_path / "m.jsonl"
    remote = ("--endpoint", "http://127.0.0.1:1/v1")
    for more in (
        ("--endpoint", "nowhere"),
        (*remote, "--temperature", "1"),
        ("--temperature", "-1"),
        ("--judge-endpoint", "x:/"),
    ):
        assert mine(pair, out, "--items", "1", *more) == 2
        assert capsys.readouterr().err.startswith("error: ") and not out.exists()
    assert mine(pair, out, "--items", "1", *remote, "--requests", "1") == 2 and len(out.read_text().splitlines()) == 1
    assert mine(pair, out, "--items", "1") == 0, "a head without prompts is replaced"
    for flags, words in ((("--cases",), "(cases differ)"), ((*remote, "--anchor"), "(anchor, models")):
        assert mine(pair, out, "--items", "1", *flags) == 2
        assert words in capsys.readouterr().err
    assert read_mined(out)[0].keys().isdisjoint({"cases", "anchor"})


def test_each_task_has_its_own_limit() -> None:
    assert [limit_of(task) for task in ("arithmetic", "functions", "sentences")] == [128] * 3
    assert [limit_of(task) for task in ("gsm8k", "humaneval", "mbpp")] == [2048, 1024, 1024]
    with pytest.raises(ConfigError, match="gsm8k"):
        limit_of("gsm8")


def test_published_problems_are_mined_with_their_limit(
    pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    rows, out = tmp_path / "rows.jsonl", tmp_path / "m.jsonl"
    rows.write_text("".join(json.dumps({"question": "?" * n, "answer": "#### 1"}) + "\n" for n in (1, 3000)))
    assert main(["mine", *pair, "--task", "gsm8k", "--source", str(rows), "--out", str(out)]) == 0
    head, prompts = read_mined(out)
    assert head["limit"] == 2048 and [p.skipped for p in prompts] == ["no answer", "too long"]


def verdicts(messages: list[dict[str, str]], n: int) -> str:
    return ("[[A>B]]", "[[B>A]]")[n % 2]


@pytest.mark.thorough
def test_prompts_of_ones_own_are_mined_where_a_chat_model_compares(
    pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    rows, out, folder = tmp_path / "rows.jsonl", tmp_path / "m.jsonl", tmp_path / "judge"
    rows.write_text("".join(json.dumps({"id": f"q{n}", "turns": ["?" * n, "And?"]}) + "\n" for n in (1, 2, 3, 4)))
    own = ["mine", *pair, "--prompts", str(rows), "--limit", "12", "--out", str(out)]
    with serving(chat=verdicts) as (url, seen):
        votes = ["--judge-endpoint", url, "--judge-model", "arbiter", "--votes", "1"]
        for more, why in (
            ([], "give --judge-endpoint"),
            ([*votes, "--source", str(rows)], "--source is for a --task"),
            ([*votes, "--equivalence", "bleu"], "leave --equivalence bleu:5 out"),
            ([*votes, "--report"], "leave --report out"),
        ):
            assert main([*own, *more]) == 2 and why in capsys.readouterr().err and not out.exists()
        assert main([*own, *votes]) == 0
        assert "4 of 4 prompts go on with further turns" in capsys.readouterr().err
    head, prompts = read_mined(out)
    assert (head["task"], head["source"], head["judge_model"]) == (OWN, str(rows), "arbiter")
    assert [(p.key, p.text) for p in prompts] == [(f"q{n}", "?" * n) for n in (1, 2, 3, 4)]
    assert sum(len(p.labels) for p in prompts) and any("[Request]\n??\n" in s["messages"][1]["content"] for s in seen)
    mixed(out)
    train = ["judge-train", *pair, "--mined", str(out), "--out", str(folder), "--split", "folds"]
    assert main(train) == 0
    assert "| equivalence | a chat model (arbiter) does not find it worse " in capsys.readouterr().out
    assert main(["judge-eval", *pair, "--asset", f"judge={folder}", "--tasks", OWN]) == 2
    assert "have no answers by which a response could be right" in capsys.readouterr().err
    assert limit_of(OWN) == 1024


def test_a_mined_file_does_not_tell_the_password_of_a_server(zoo: Zoo, pair: list[str], tmp_path: Path) -> None:
    mined = tmp_path / "mined.jsonl"
    with serving(zoo.model("llama", layers=2, hidden=32)) as (url, _):
        assert mine(pair, mined, "--endpoint", url.replace("http://", "http://me:secret@"), "--items", "1") == 0
        assert json.loads(mined.read_text().splitlines()[0])["models"]["target"]["revision"] == url
    assert "secret" not in mined.read_text()


def test_a_mined_file_that_names_no_task_teaches_nothing(
    pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    mined = tmp_path / "mined.jsonl"
    assert mine(pair, mined, "--items", "2") == 0
    head, *rest = mined.read_text().splitlines()
    mined.write_text("\n".join([json.dumps({k: v for k, v in json.loads(head).items() if k != "task"}), *rest]) + "\n")
    assert (
        main(["judge-train", *pair, "--mined", str(mined), "--out", str(tmp_path / "judge"), "--split", "folds"]) == 2
    )
    assert "does not say for which task it was mined" in capsys.readouterr().err


@pytest.mark.thorough
def test_a_judge_can_be_read_back_whatever_its_mined_file_calls_the_models(
    pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """A head without a model's name had been learned from, and the judge refused by every command that reads it."""
    mined, judge = tmp_path / "mined.jsonl", tmp_path / "judge"
    assert mine(pair, mined, "--items", "12") == 0
    mixed(mined)
    head, *rest = mined.read_text().splitlines()
    models = json.loads(head)["models"]
    given = ["judge-train", *pair, "--mined", str(mined), "--out", str(judge), "--split", "folds"]
    for target in ({"revision": models["target"]["revision"]}, models["target"] | {"id": None}):
        mined.write_text(
            "\n".join([json.dumps(json.loads(head) | {"models": models | {"target": target}}), *rest]) + "\n"
        )
        assert main(given) == 0
        assert load_judge(judge).meta["models"] == models
    mined.write_text("\n".join([json.dumps(json.loads(head) | {"models": models | {"other": 5}}), *rest]) + "\n")
    capsys.readouterr()
    assert main(given) == 2 and "is no mined file of schema 1" in capsys.readouterr().err


@pytest.mark.thorough
def test_labels_of_a_server_can_be_learned_from_with_force(
    pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    mined, judge = tmp_path / "mined.jsonl", tmp_path / "judge"
    assert mine(pair, mined, "--items", "12") == 0
    mixed(mined)
    head, *rest = mined.read_text().splitlines()
    models = json.loads(head)["models"] | {"target": {"id": "big", "revision": "http://127.0.0.1:1/v1"}}
    mined.write_text("\n".join([json.dumps(json.loads(head) | {"models": models}), *rest]) + "\n")
    train = ["judge-train", *pair, "--mined", str(mined), "--out", str(judge), "--split", "folds"]
    assert main(train) == 2
    assert "--force" in capsys.readouterr().err and not judge.exists()
    assert main([*train, "--force"]) == 0
    assert "| mined with other models | target big (http://127.0.0.1:1/v1) |" in capsys.readouterr().out
    made = load_judge(judge)
    assert made.meta["mined_with"] == {"target": models["target"]} and made.meta["models"]["draft"] == models["draft"]
    assert made.meta["models"]["target"]["revision"] != models["target"]["revision"]
    run = ["run", "autojudge", "abc", *pair, "--max-new-tokens", "4", "--asset", f"judge={judge}"]
    assert main(run) == 0, "it may be used with the models whose states it read"


def test_files_that_do_not_fit_the_models_are_refused(
    pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    mined = tmp_path / "mined.jsonl"
    assert mine(pair, mined, "--items", "2") == 0
    whole = mined.read_text()
    for field, value, words in (("final", [10**6], "beyond the"), ("final", [], "beyond the response")):
        head, first, *_ = map(json.loads, whole.splitlines())
        first[field] = value
        mined.write_text(json.dumps(head) + "\n" + json.dumps(first) + "\n")
        assert main(["judge-train", *pair, "--mined", str(mined), "--out", str(tmp_path / "j")]) == 2
        assert words in capsys.readouterr().err


def test_ablations_of_too_few_labels_say_so() -> None:
    x, y = np.arange(8.0).reshape(8, 1), [True, False] * 4
    with pytest.raises(ConfigError, match=r"8 labels are too few for the ablation 'mlp'"):
        scores_of("mlp", x, y, [f"p{i // 2}" for i in range(8)], 1.0, Settings())


@pytest.mark.thorough
def test_mining_along_an_eagle_heads_windows(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """With the embedded pair: resumed under the same settings only, scored by no draft model, and refused beside its opposites."""
    given = [
        "mine",
        "--preset",
        "tiny",
        "--task",
        "arithmetic",
        "--eagle-online",
        "eagle2",
        "--out",
        str(tmp_path / "m.jsonl"),
    ]
    assert main([*given, "--items", "1"]) == 0
    head, prompts = read_mined(tmp_path / "m.jsonl")
    assert (head["eagle_online"], head["window"], head["unlikely"]) == ("eagle2", 8, 0.01)
    assert set(head["models"]) == {"target", "eagle2"} and prompts[0].labels and prompts[0].answer is not None
    assert main([*given, "--items", "2"]) == 0 and len(read_mined(tmp_path / "m.jsonl")[1]) == 2
    assert main([*given, "--items", "2", "--window", "4"]) == 2
    for other in ("--naive", "--temperature=0.5", "--endpoint=http://127.0.0.1:1"):
        assert main([*given, other]) == 2
    capsys.readouterr()
    assert main(["judge-train", "--mined", str(tmp_path / "m.jsonl"), "--out", str(tmp_path / "judge")]) == 2
    assert "along eagle2, without a draft model: --read target" in capsys.readouterr().err


def judge_of(pair: list[str], mined: Path, out: Path, *more: str) -> Path:
    """A judge trained on labels mined with `more`, mixed by hand."""
    assert mine(pair, mined, "--items", "12", *more) == 0
    mixed(mined)
    assert main(["judge-train", *pair, "--mined", str(mined), "--out", str(out), "--split", "folds"]) == 0
    return out


@pytest.mark.thorough
def test_a_judge_of_chats_is_evaluated_on_chats(
    pair: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    judge = judge_of(pair, tmp_path / "m.jsonl", tmp_path / "judge")
    seen: list[dict[str, object]] = []

    def watched(lab: Lab, method: str, prompt: str, **options: object) -> Trace:
        seen.append(options)
        return run(lab, method, prompt, **(options | {"chat": False}))

    run = Lab.run
    monkeypatch.setattr(Lab, "run", watched)
    given = ["judge-eval", *pair, "--asset", f"judge={judge}", "--tasks", "arithmetic", "--items", "1", "--limit", "6"]
    given += ["--window", "4", "--thresholds", "1", "--out", str(tmp_path / "results"), "--json"]
    for chat, more, temperature in ((False, [], 0.0), (True, ["--temperature", "0.7"], 0.7)):
        meta = json.loads((judge / "judge.json").read_text())
        (judge / "judge.json").write_text(json.dumps(meta | {"mining": meta["mining"] | {"chat": chat}}))
        seen.clear()
        assert main([*given, *more]) == 0
        assert {(o["chat"], o["temperature"], o["max_new_tokens"]) for o in seen} == {(chat, temperature, 6)}
    sampled = json.loads((tmp_path / "results" / "judge-arithmetic-t0.7.json").read_text())
    assert sampled["decoding"]["chat"] is True and "mined at temperature 0" in sampled["notes"][0]
    assert json.loads((tmp_path / "results" / "judge-arithmetic.json").read_text())["notes"] == []
    seen.clear()
    assert main([*given, *more, "--items", "3"]) == 0
    assert {o["seed"] for o in seen} == {1, 2}, "a seed for each problem: the first is kept from before"
    assert main([*given, "--times"]) == 0
    timed = json.loads((tmp_path / "results" / "judge-arithmetic-timed.json").read_text())
    assert all(row["tokens_per_s"] > 0 for row in timed["rows"])
    assert "tokens/s against the target alone" in (tmp_path / "results" / "judge-arithmetic-timed.md").read_text()


@pytest.mark.thorough
def test_a_judge_meets_an_eagle_head_and_says_what_it_was_mined_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    given = ["judge-eval", "--preset", "tiny", "--method", "autojudge_eagle", "--tasks", "arithmetic", "--items", "1"]
    given += ["--window", "8", "--thresholds", "1", "--limit", "24", "--threads", "1", "--out", str(tmp_path)]
    assert main(given) == 0
    told = capsys.readouterr()
    found = json.loads((tmp_path / "judge-arithmetic-eagle.json").read_text())
    assert found["rows"][0]["method"] == "eagle2" and {row["group"] for row in found["rows"]} >= {"own", "topk", "math"}
    note = "This judge was mined along the draft model, and is evaluated on the drafts of eagle2."
    assert note in found["notes"] and note in told.err and note in told.out
    assert "than EAGLE2 with the same window" in told.out


def test_mining_takes_worked_examples(pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    rows, out = tmp_path / "rows.jsonl", tmp_path / "m.jsonl"
    rows.write_text("".join(json.dumps({"question": f"q{n}?", "answer": f"#### {n}"}) + "\n" for n in range(3)))
    given = ["mine", *pair, "--task", "gsm8k", "--source", str(rows), "--out", str(out), "--limit", "8"]
    assert main([*given, "--shots", "1"]) == 0
    head, prompts = read_mined(out)
    assert head["shots"] == 1 and [p.text.count("The final answer is") for p in prompts] == [3, 3]
    assert main(given) == 2 and "other settings" in capsys.readouterr().err
    assert main(["mine", *pair, "--task", "arithmetic", "--shots", "1"]) == 2
    assert "no worked examples" in capsys.readouterr().err


@pytest.mark.thorough
def test_a_judge_is_evaluated_behind_worked_examples(
    pair: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps({"question": f"q{n}?", "answer": f"#### {n}"}) + "\n" for n in range(2)))
    judge = judge_of(pair, tmp_path / "m.jsonl", tmp_path / "judge")
    meta = json.loads((judge / "judge.json").read_text())
    (judge / "judge.json").write_text(json.dumps(meta | {"task": "gsm8k"}))
    asked = set[str]()
    run = Lab.run

    def watched(lab: Lab, method: str, prompt: str, **options: object) -> Trace:
        asked.add(prompt)
        return run(lab, method, prompt, **options)

    monkeypatch.setattr(Lab, "run", watched)
    given = ["judge-eval", *pair, "--asset", f"judge={judge}", "--tasks", "gsm8k", "--source", str(rows)]
    given += ["--shots", "1", "--limit", "6", "--window", "4", "--thresholds", "1", "--out", str(tmp_path / "results")]
    assert main(given) == 0
    (text,) = asked  # the first row is the example
    assert [text.count(f"q{n}?") for n in range(2)] == [1, 1] and text.count("The final answer is") == 3
    (told,) = (tmp_path / "results").glob("judge-gsm8k*.json")
    assert json.loads(told.read_text())["problems"] == 1


@pytest.fixture(scope="module")
def crossed_pair(crossed: Crossed) -> list[str]:
    target = crossed.path("bart")
    return ["--target", str(target), "--draft", str(noised(target, target / "noise-0.2", 0.2)), "--device", "cpu"]


def mine_translations(pair: list[str], out: Path, *more: str) -> int:
    return main(["mine", *pair, "--task", "translation", "--limit", "8", "--items", "8", "--out", str(out), *more])


def test_the_equivalence_is_recorded(crossed_pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    mined = tmp_path / "mined.jsonl"
    assert mine_translations(crossed_pair, mined, "--equivalence", "bleu:2.50") == 0
    head, prompts = read_mined(mined)
    assert head["equivalence"] == "bleu:2.5" and len(prompts) == 8
    answers = [prompt.answer for prompt in prompts if prompt.answer is not None]
    assert answers and all(answer.endswith(" BLEU") for answer in answers)
    capsys.readouterr()
    for how, why in (("rouge", "measures summaries"), ("bleu:x", "from 0 to 100"), ("blue", "Did you mean 'bleu'")):
        assert mine_translations(crossed_pair, mined, "--equivalence", how) == 2 and why in capsys.readouterr().err


@pytest.mark.slow
def test_from_translations_to_results(
    crossed_pair: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    mined, judge = tmp_path / "mined.jsonl", tmp_path / "judge"
    assert mine_translations(crossed_pair, mined, "--equivalence", "bleu:2.5") == 0
    assert mine_translations(crossed_pair, mined, "--equivalence", "bleu") == 2
    assert "equivalence differ" in capsys.readouterr().err
    mixed(mined)
    assert main(["judge-train", *crossed_pair, "--mined", str(mined), "--out", str(judge), "--split", "folds"]) == 0
    assert "| equivalence | sentence BLEU falls by at most 2.5 points of 100" in (judge / "README.md").read_text()
    options = ["--tasks", "translation", "--window", "3", "--limit", "6", "--items", "2", "--out", str(tmp_path)]
    asset = ["--asset", f"judge:translation={judge}"]
    assert main(["judge-eval", *crossed_pair, *asset, *options, "--thresholds", "1"]) == 0
    rows = json.loads((tmp_path / "judge-translation.json").read_text())["rows"]
    assert "math" not in {row["group"] for row in rows} and all(row["bleu_drop"]["n"] == 2 for row in rows[1:])
    assert "BLEU's drop against SD" in (tmp_path / "judge-translation.md").read_text()


def test_recorded_evaluations_are_told_in_points() -> None:
    """The pages of docs/results are what their numbers give; a loss of right answers is no per cent of them."""
    pages = sorted((ROOT / "docs/results").glob("judge-*.md"))
    for path in pages:
        result = json.loads(path.with_suffix(".json").read_text())
        assert path.read_text() == f"# AutoJudge on {result['task']}\n\n{page(result)}", path.name
        assert len({row["name"] for row in result["rows"]}) == len(result["rows"]), path.name
    text = (ROOT / "docs/results/judge-arithmetic.md").read_text()
    assert len(pages) == 5 and "accuracy drops by 7.3 (5.6 to 9.0) points on 1000" in text
    assert "drop against SD, points, 95 % interval" in text and "| +42.4 (+39.1 to +45.6) |" in text


def test_an_edited_file_of_problems_is_another_evaluation(tmp_path: Path) -> None:
    file = tmp_path / "g.jsonl"
    file.write_text("one")
    before = _contents(str(file))
    file.write_text("two")
    assert before and _contents(str(file)) not in ("", before)
    assert _contents("") == _contents("datasets:gsm8k:main:test") == ""
