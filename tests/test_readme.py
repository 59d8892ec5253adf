"""README.md, docs/numbers.md and docs/results/README.md are what `python -m engine readme` writes."""

import json
from pathlib import Path

import pytest

from engine.cli import autosaid, benchsaid, gpus, pagesaid, qualitysaid
from engine.cli.autosaid import AUTO
from engine.cli.benchsaid import BENCH
from engine.cli.gpus import FOLDER as GPUS
from engine.cli.measured import whole
from engine.cli.pagesaid import PAGE
from engine.cli.qualitysaid import quality
from engine.cli.readme import NUMBERS, README, RESULTS, filled, numbers
from engine.cli.sampledsaid import sampled, sampled_said
from engine.papers.systems import FOLDER as QUALITY
from engine.papers.systems import recorded


def test_generated_parts_are_up_to_date() -> None:
    text = README.read_text(encoding="utf-8")
    assert text == filled(text), "run `python -m engine readme`"
    assert NUMBERS.read_text(encoding="utf-8") == numbers(), "run `python -m engine readme`"
    assert RESULTS.read_text(encoding="utf-8") == whole(), "run `python -m engine readme`"


def test_what_readme_shows_in_short_hides_no_goal_that_was_missed(tmp_path: Path) -> None:
    """Each name that the whole tables mark as missed stands in the short forms, and nothing is said where all is well."""
    found = json.loads(BENCH.read_text(encoding="utf-8"))
    slow = {c["method"] for c in found["lookups"] if max(c["both"], c["worst"]) > 1}
    slow |= {name for name, cost in found["trees"].items() if cost["share"]["high"] > 0.15}
    besides = benchsaid.bench_said([BENCH]).split("Besides")[1]
    assert slow and all(f"`{name}`" in besides for name in slow) and "`pld`" not in besides
    for one in found["lookups"]:
        one["both"] = one["worst"] = 0.5
    for cost in found["trees"].values():
        cost["share"] = dict.fromkeys(cost["share"], 0.1)
    well = tmp_path / "bench.json"
    well.write_text(json.dumps(found))
    assert "Besides" not in benchsaid.bench_said([well])

    auto = json.loads(AUTO.read_text(encoding="utf-8"))
    rows = auto["tasks"]["sentences"]["auto"]
    rows[0]["over_best"]["median"], total = 0.5, sum(len(part["auto"]) for part in auto["tasks"].values())
    changed = tmp_path / "auto.json"
    changed.write_text(json.dumps(auto))
    marked = autosaid.left(changed).count("**missed**")
    said = autosaid.left_said([changed])
    assert f"{total - marked} of {total} reached it" in said and "on sentences (0.500 of" in said

    page = json.loads(PAGE.read_text(encoding="utf-8"))
    page["frames_per_s"] = 12.0
    slow_page = tmp_path / "page.json"
    slow_page.write_text(json.dumps(page))
    goals = [line for line in pagesaid.page(slow_page).splitlines() if line.endswith(("reached |", "**missed** |"))]
    missed = sum("**missed**" in line for line in goals)
    said = pagesaid.page_said(slow_page)
    assert f"{len(goals) - missed} of {len(goals)} goals reached" in said and "12 a second (at least 50)" in said


def test_sampled_runs_as_recorded(tmp_path: Path) -> None:
    """Every number is a field of the recording, and the command is what was asked for."""
    spread = {"median": 1.914, "low": 1.86, "high": 2.07, "n": 5}
    found = {
        **{
            "device": "a cpu",
            "dtype": "float32",
            "threads": 2,
            "task": "arithmetic",
            "prompts": 8,
            "max_new_tokens": 96,
        },
        "sampling": {"temperature": 0.7, "top_p": 0.95, "top_k": 0},
        "counts": {name: {"calls": 3, "verify_tokens": 18, "tokens": 12, "tau": 4.0} for name in ("ar", "sd")},
        "tokens_per_s": {"ar": spread | {"median": 267.2}, "sd": spread | {"median": 511.0}},
        "ratios": {"sd / ar": spread, "sd / hf assisted 5": spread | {"median": 3.39}},
    }
    path = tmp_path / "sampled-avx2.json"
    path.write_text(json.dumps(found))
    whole_table = sampled(path)
    asked = "--temperature 0.7 --top-p 0.95 --items 8 --repetitions 5 --max-new-tokens 96 --no-busy --no-lookups --json"
    told = f"`python -m engine bench --threads 2 {asked} > docs/results/sampled-avx2.json`: float32 on a cpu, threads: 2, 8"
    assert told in whole_table
    assert "| `sd` | 511 | 1.91 | 1.86 to 2.07 | 3 | 18 | 4.00 |" in whole_table
    assert "Beside transformers: sd / hf assisted 5 3.39 (1.86 to 2.07)." in whole_table
    said = sampled_said([path])
    assert (
        "temperature 0.7 and top-p 0.95 on a cpu" in said and "of `ar` (267): `sd` 1.91 (1.86 to 2.07). All 2" in said
    )
    assert "Not measured yet" in sampled_said([])


def test_methods_at_a_glance_are_rows_of_the_whole_table() -> None:
    def cells(text: str) -> list[list[str]]:
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]

    (names, _, *rows), (all_names, _, *all_rows) = cells(qualitysaid.glance(QUALITY)), cells(quality(QUALITY))
    whole_rows = dict[str, dict[str, str]]()
    for row in all_rows:
        whole_rows.setdefault(row[0], dict(zip(all_names, row, strict=False)))  # those of the first task
    assert [row[0].strip("`") for row in rows] == list(qualitysaid.SHOWN)
    assert all(whole_rows[row[0]][name] == cell for row in rows for name, cell in zip(names, row, strict=True))


def test_a_stale_part_is_noticed() -> None:
    text = README.read_text(encoding="utf-8")
    assert filled(text.replace("| `sd` |", "| `sd!` |")) == text


def test_quality_as_recorded(tmp_path: Path) -> None:
    assert "Not measured yet" in quality(tmp_path)
    span = {"mean": 0.75, "low": 0.5, "high": 0.875, "n": 8}
    row = {
        "intervals": {"rounds": span | {"mean": 12.0}, "tau": span | {"mean": 4.0}},
        "quality": {"responses": 8, "prompts": 8, "repeats": 1, "accuracy": span},
    }
    (tmp_path / "quality-arithmetic.json").write_text(json.dumps({"sd": row}))
    written = quality(tmp_path)
    assert (
        "<details open><summary>arithmetic: 1 method</summary>\n\n8 held-out prompts, recorded" in written
        and "BLEU" not in written
    )
    assert not any(word in written for word in ("reward", "peed", "draft_alone")), "nothing was scored or timed"
    assert "| `sd` | 75.0 (50.0 to 87.5) | 12.0 (0.5 to 0.9) | 4.00 (0.50 to 0.88) |" in written


def test_quality_of_methods_that_lack_a_measure_or_call_a_reward_model(tmp_path: Path) -> None:
    """A row a method, as long as the heading; what one has not is a dash, never a zero."""

    def span(mean: float) -> dict[str, float]:
        return {"mean": mean, "low": mean - 0.25, "high": mean + 0.25, "n": 8}

    counts = {"responses": 8, "prompts": 8, "repeats": 1, "response_tokens": span(32)}
    ar = {"accuracy": span(0.5), "accuracy_difference": span(0), "same_as_ar": span(0.75)}
    table = {
        "ar": {"intervals": {"rounds": span(256), "tau": span(1)}, "quality": counts | ar},
        "rsd": {
            "speedup": 1.5,
            "intervals": {"rounds": span(40), "reward_calls": span(24), "tau": span(6.25), "speedup": span(1.5)},
            "quality": counts | {"accuracy": span(0.25), "accuracy_difference": span(-0.25)},
        },
        "draft_alone": {"intervals": {"rounds": span(0), "tau": None}, "quality": counts},
    }
    (tmp_path / "quality-arithmetic.json").write_text(json.dumps(table))
    _, _, said, _, *rows, _, _ = quality(tmp_path).splitlines()
    assert "Speed is that of these same runs" in said and "`draft_alone` calls no target" in said
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert cells[0][1:] == [
        *("right, %", "less `ar`'s, points", "same output, %", "tokens a response"),
        *("target calls", "tokens a call", "reward calls", "speed, x `ar`'s"),
    ]
    length = "32.0 (31.8 to 32.2)"
    assert cells[2:] == [
        [
            *("`ar`", "50.0 (25.0 to 75.0)", "0.0 (-25.0 to 25.0)", "75.0 (50.0 to 100.0)", length),
            *("256.0 (255.8 to 256.2)", "1.00 (0.75 to 1.25)", "-", "-"),
        ],
        [
            *("`rsd`", "25.0 (0.0 to 50.0)", "-25.0 (-50.0 to 0.0)", "-", length),
            *("40.0 (39.8 to 40.2)", "6.25 (6.00 to 6.50)", "24.0 (23.8 to 24.2)", "1.50 (1.25 to 1.75)"),
        ],
        ["`draft_alone`", "-", "-", "-", length, "0.0 (-0.2 to 0.2)", "-", "-", "-"],
    ]


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [(0.06, 18.0, "1.00 (0.06 to 18.00)"), (0.0001, 17.4, "-"), (0.5, 20.1, "-"), (None, None, "-")],
)
def test_a_speed_whose_interval_says_nothing_is_left_out(
    tmp_path: Path, low: float | None, high: float | None, told: str
) -> None:
    """As of a run during which the machine slept: the quotient of sums is then that of its pause."""
    counts = {"responses": 8, "prompts": 8, "repeats": 1}
    span = {"mean": 1.0, "low": low, "high": high, "n": 8}
    table = {"sd": {"intervals": {"speedup": span | {"low": 0.9, "high": 1.1}}, "quality": counts}}
    table["rsd"] = {"intervals": {"speedup": span}, "quality": counts}
    (tmp_path / "quality-arithmetic.json").write_text(json.dumps(table))
    written = quality(tmp_path)
    assert f"| `rsd` | {told} |" in written and "| `sd` | 1.00 (0.90 to 1.10) |" in written
    assert ("That of `rsd` is left out" in written) == (told == "-")
    (sheet,) = recorded(tmp_path)
    assert (sheet.numbers["rsd"]["speedup"] is None) == (told == "-"), "nor is it drawn"


def test_quality_of_translations_is_told_in_points_less_those_of_ar(tmp_path: Path) -> None:
    span = {"mean": 92.5, "low": 91.0, "high": 94.0, "n": 8}
    found = {"responses": 8, "prompts": 8, "repeats": 1, "bleu": span, "bleu_difference": span | {"mean": -1.75}}
    row = {"intervals": {"rounds": {"mean": 12, "low": 11, "high": 13, "n": 8}}, "quality": found}
    (tmp_path / "quality-sentences.json").write_text(json.dumps({"specdec": row}))
    written = quality(tmp_path)
    assert "| method | BLEU | less `ar`'s, points | target calls |" in written
    assert "| `specdec` | 92.5 (91.0 to 94.0) | -1.8 (91.0 to 94.0) | 12.0 (11.0 to 13.0) |" in written


def test_what_gpus_measured_is_told_as_it_was_recorded(tmp_path: Path) -> None:
    """Each method's median, what transformers reached, and what the doctor found wrong."""
    bench = json.loads((GPUS / "bench-7b.json").read_text(encoding="utf-8"))
    text = gpus.gpu_said(GPUS)
    for name, spread in bench["tokens_per_s"].items():
        assert name.endswith(" full") or f"{spread['median']:.0f}" in text, name
    assert bench["device"] in text and "engine enlarge FOLDER" in text and "7 of 7 checks hold" in text
    doctor = json.loads((GPUS / "doctor-7b.json").read_text(encoding="utf-8"))
    doctor["checks"][-1]["state"] = "wrong"
    bench["ratios"]["sd / ar"]["median"] = 0.5
    (tmp_path / "doctor-7b.json").write_text(json.dumps(doctor))
    assert gpus.gpu_said(tmp_path) == gpus.NOT_YET
    (tmp_path / "bench-7b.json").write_text(json.dumps(bench))
    text = gpus.gpu_whole(tmp_path)
    assert "6 of 7 checks hold" in text and "| 0.50 |" in text and "Behind" not in text
    doctor["figures"] |= {
        f"captured pass behind {n} tokens, milliseconds": ms for n, ms in ((2000, 6.04), (32000, 107.5))
    }
    (tmp_path / "doctor-7b.json").write_text(json.dumps(doctor))
    assert " Behind 2,000, 32,000 tokens one takes 6.04, 107.50 ms." in gpus.gpu_whole(tmp_path)


def test_what_the_doctor_did_not_measure_is_said(tmp_path: Path) -> None:
    """A path that gave no numbers has no times, and a time of 100 ms is written as such."""
    doctor = json.loads((GPUS / "doctor-7b.json").read_text(encoding="utf-8"))
    figures = {name: ms for name, ms in doctor["figures"].items() if not name.startswith("plain pass")}
    figures |= {f"captured pass over {n} tokens, milliseconds": ms for n, ms in ((1, 100.0), (8, 120.0))}
    del figures["captured pass over 64 tokens, milliseconds"]
    path = tmp_path / "doctor-7b.json"
    path.write_text(json.dumps(doctor | {"figures": figures, "checks": doctor["checks"][:-1]}))
    told = gpus._doctor(path)
    assert "6 of 6 checks hold; of the methods none was run." in told
    assert told.endswith("1, 8, 64 tokens: captured 100.00 ms, 120.00 ms, not measured, plain not measured.")
