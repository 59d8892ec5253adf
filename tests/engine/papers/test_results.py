"""Committed results follow from their rows; verdicts are decided by intervals."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.analysis.intervals import Interval
from engine.analysis.words import estimate
from engine.errors import AssetError, ConfigError
from engine.papers.entries import Check, Item, Ours, Quantity, chosen
from engine.papers.measures import measured
from engine.papers.paths import value_at
from engine.papers.records import Record, Records, from_json, to_json
from engine.papers.results import follows, load, place, save
from engine.papers.summary import decided, verdict
from engine.papers.words import evidence, form

RECORDED = [(p, i) for p, i in chosen("") if place(p, i).is_file()]


LONG = ("cm_asd:T2", "cm_asd:T3", "cm_asd:T4", "cm_asd:T5")  # BLEU and ROUGE, method by method


def marked(name: str) -> list[pytest.MarkDecorator]:
    return [pytest.mark.slow] if name in LONG else []


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("one", "item"),
    [pytest.param(p, i, id=f"{p.key}:{i.id}", marks=marked(f"{p.key}:{i.id}")) for p, i in RECORDED],
)
def test_a_committed_result_follows_from_its_rows(one: Any, item: Item) -> None:
    """Tables, statements and verdict, computed anew from the runs in the file, or from the files that it names."""
    result = load(one, item)
    assert result is not None and result["command"].startswith(f"python -m engine reproduce {one.key}:{item.id}")
    assert {name: result[name] for name in ("tables", "checks", "verdict")} == follows(item, result)


def test_no_veto_at_the_calibrated_threshold_changes_a_text_as_easd_s_entries_say() -> None:
    """Tables 1, 3 and 5: token for token speculative decoding, so that what is equal there is so by that."""
    for one, item in (pair for name in ("T1", "T3", "T5") for pair in chosen(f"easd:{name}")):
        result = load(one, item)
        assert result is not None
        runs = {run["label"]: run for run in result["runs"]}
        assert sum(runs["easd"]["penalised"]) > 0, item.id
        assert all(runs["easd"][name] == runs["sd"][name] for name in ("output", "calls")), item.id
        assert "none" in item.larger and "the target's first choice" in item.larger, item.id


def test_seven_of_ten_measurable_items_have_a_result() -> None:
    """Of those that need neither other hardware nor models of 70 B."""
    counted = [(p, i) for p, i in chosen("") if not i.hardware and not i.illustration]
    assert sum(place(p, i).is_file() for p, i in counted) >= 0.7 * len(counted)
    assert all(place(p, i).is_file() is False for p, i in chosen("") if not (i.plans or i.source))


def test_a_file_that_was_not_made_yet_gives_no_numbers(tmp_path: Path) -> None:
    """Statements and points from it are missing, those from another are as ever."""
    source, path = ("a.json", "b.json"), "{}.rows[k=1].v"
    checks = tuple(Check("It is.", Quantity(path=path.format(name)), "above", exact=True) for name in "ab")
    ours = Ours("x", "y", (), tuple((name, f"{name}.rows[k=1]") for name in "ab"), form="points", at=("k", "v"))
    item = Item("T1", "Table 1", "x", "y.", ours=(ours,), checks=checks, source=source)
    (tmp_path / "b.json").write_text('{"rows": [{"k": 1, "v": 2}]}')
    found = follows(item, {}, tmp_path)
    assert [told["outcome"] for told in found["checks"]] == ["missing", "holds"] and found["verdict"] == "confirmed"
    assert [len(row["points"]) for row in found["tables"][0]["rows"]] == [0, 1]
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(AssetError):
        follows(item, {}, tmp_path)


def check(relation: Any = "above", **more: Any) -> Check:
    return Check("It is.", Quantity("tau", "sd"), relation, **more)


@pytest.mark.parametrize(
    ("found", "asked", "outcome"),
    [
        (Interval(2, 1, 3, 9), check(value=0.5), "holds"),
        (Interval(2, 1, 3, 9), check(value=2.5), "open"),
        (Interval(2, 1, 3, 9), check(value=1), "open"),
        (Interval(2, 1, 3, 9), check(value=3.5), "fails"),
        (Interval(2, 1, 3, 9), check("below", value=3.5), "holds"),
        (Interval(2, 1, 3, 9), check("below", value=0.5), "fails"),
        (Interval(2, 1, 3, 9), check("below", value=2), "open"),
        (Interval(2, 1, 3, 9), check("within", value=1, high=3), "holds"),
        (Interval(2, 1, 3, 9), check("within", value=1.5, high=3), "open"),
        (Interval(2, 1, 3, 9), check("within", value=4, high=5), "fails"),
        (Interval(2, 1, 3, 9), check("equal", value=2), "holds"),
        (Interval(2, None, None, 1), check(value=0), "open"),
        (Interval(2, None, None, 1), check("below", value=1), "open"),
        (Interval(2, None, None, 1), check(value=2, exact=True), "fails"),
        (Interval(2, None, None, 1), check(value=1.99, exact=True), "holds"),
        (Interval(2, None, None, 1), check(value=1.7, scatter=0.1), "holds"),
        (Interval(2, None, None, 1), check(value=1.9, scatter=0.1), "open"),
        (Interval(2, None, None, 1), check("below", value=1.7, scatter=0.1), "fails"),
        (Interval(2, None, None, 1), check(value=2.2, scatter=0.1), "open"),
        (Interval(2, None, None, 1), check(value=2.21, scatter=0.1), "open"),  # a tenth of the larger of the two
        (Interval(2, None, None, 1), check(value=1.99, margin=0.1), "open"),
        (Interval(2, None, None, 1), check(value=2, margin=0.1), "open"),
        (None, check(), "missing"),
    ],
)
def test_a_statement_is_decided_by_the_whole_interval(found: Interval | None, asked: Check, outcome: str) -> None:
    """What lies on both sides of a bound is open."""
    assert decided(asked, lambda _: found)["outcome"] == outcome


def test_numbers_are_told_with_five_digits_and_counts_whole() -> None:
    told = decided(check(value=0), lambda _: Interval(1.2345678, 0.12345678, 12345.678, 1234567))
    assert told["ours"] == {"mean": 1.2346, "low": 0.12346, "high": 12346.0, "n": 1234567}


def test_two_numbers_are_compared_by_both_intervals() -> None:
    """Apart they hold or fail, overlapping they leave it open."""
    spans = {"a": Interval(5, 4, 6, 9), "b": Interval(2, 1, 3, 9), "c": Interval(4.5, 3.5, 5.5, 9)}

    def outcome(of: str, than: str) -> str:
        asked = Check("It is.", Quantity("tau", of), "above", than=Quantity("tau", than))
        return str(decided(asked, lambda q: spans.get(q.of))["outcome"])

    assert [outcome("a", "b"), outcome("b", "a"), outcome("a", "c"), outcome("a", "d")] == [
        "holds",
        "fails",
        "open",
        "missing",
    ]


def test_a_number_is_compared_with_so_many_times_another() -> None:
    """Its interval too is so many times as far."""
    spans = {"a": Interval(5, 4, 6, 9), "b": Interval(2, 1, 3, 9), "one": Interval(2, None, None, 1)}

    def told(than: str, times: float) -> dict[str, Any]:
        asked = Check("It is.", Quantity("tau", "a"), "above", than=Quantity("tau", than), times=times)
        return decided(asked, lambda q: spans.get(q.of))

    assert [told("b", times)["outcome"] for times in (1.3, 2.0, 7.0)] == ["holds", "open", "fails"]
    assert told("b", 2.0)["than"] == {"mean": 4.0, "low": 2.0, "high": 6.0, "n": 9}
    assert told("one", 1.5)["than"] == {"mean": 3.0, "low": None, "high": None, "n": 1}
    assert told("missing", 2.0)["outcome"] == "missing"


def factor(than: Quantity, times: float, relation: Any = "above") -> str:
    """What is told of 5 (4 to 6) tokens a call beside 2 (1 to 3)."""
    asked = Check("It is.", Quantity(path="a.rows[name=x].tau"), relation, than=than, times=times)
    return evidence(asked, decided(asked, lambda q: Interval(2, 1, 3, 9) if q == than else Interval(5, 4, 6, 9)))


def test_a_factor_is_told_beside_the_number_that_it_multiplies() -> None:
    """What was measured, the other's own number and the factor that was wanted; never the product of the two."""
    sd = Quantity(path="judge.rows[name=sd].tau")
    ours = "5 (4 to 6) tokens a target call"
    assert factor(sd, 1.3) == f"holds: {ours}, 2.50 times SD's 2 (1 to 3); at least 1.3 was wanted"
    assert factor(sd, 2.499) == f"left open: {ours}, 2.500 times SD's 2 (1 to 3); at least 2.499 was wanted"
    assert factor(sd, 7, "below").endswith(", 2.50 times SD's 2 (1 to 3); at most 7 was wanted")
    assert " times EAGLE-3's 2 " in factor(Quantity(path="a.rows[label=EAGLE-3,k=8].tau"), 0.8)
    assert " times the other's 2 " in factor(Quantity(path="a.rows[method=stand:tree=x,k=8].tau"), 1.02)
    assert " times the other's 2 " in factor(Quantity(path="a.tau"), 1.02)
    assert factor(sd, 1.0) == f"holds: {ours} against 2 (1 to 3)"


@pytest.mark.parametrize(
    ("ours", "more", "told"),
    [
        (
            0.86,
            {"value": 0.89, "margin": 0.05},
            "left open: 0.860, wanted above 0.89; up to 0.05 apart decides nothing",
        ),
        (0.86, {"value": 0.9, "scatter": 0.1}, "left open: 0.860, wanted above 0.9; up to 10 % apart decides nothing"),
        (0.96, {"value": 0.89, "margin": 0.05}, "holds: 0.960, wanted above 0.89"),
        (0.86, {"value": 0.89}, "left open: 0.860, wanted above 0.89"),
    ],
)
def test_numbers_without_an_interval_say_how_near_is_too_near(ours: float, more: dict[str, Any], told: str) -> None:
    asked = Check("It is.", Quantity(path="a.overlap"), "above", **more)
    assert evidence(asked, decided(asked, lambda _: Interval(ours, None, None, 1))) == told


@pytest.mark.parametrize(
    ("measure", "asked", "told"),
    [
        ("tau", ("within", 0.1, 0.8), "0.500 (0.200 to 0.700) tokens a target call, wanted 0.1 to 0.8"),
        ("tau", ("equal", 0.5), "0.500 (0.200 to 0.700) tokens a target call, wanted 0.5"),
        ("accuracy", ("above", 0.1), "50 (20 to 70) % right, wanted above 10"),
        ("accuracy_difference", ("below", 0.75), "50 (20 to 70) points right, difference, wanted below 75"),
        ("tau_quotient", ("below", 0.75), "0.500 (0.200 to 0.700) times the tokens a target call, wanted below 0.75"),
    ],
)
def test_what_was_wanted_is_told_in_the_unit_of_what_was_found(measure: str, asked: tuple[Any, ...], told: str) -> None:
    relation, value, *high = asked
    asking = Check("It is.", Quantity(measure, "a"), relation, value, *high)
    assert evidence(asking, decided(asking, lambda _: Interval(0.5, 0.2, 0.7, 9))) == f"holds: {told}, 9 prompts"


@pytest.mark.parametrize(
    ("outcomes", "told"),
    [
        (["holds", "holds", "missing"], "confirmed"),
        (["fails", "open"], "refuted"),
        (["fails"], "refuted"),
        (["holds", "fails"], "mixed"),
        (["holds", "open"], "mixed"),
        (["open", "open"], "not confirmed"),
        (["missing"], "to do"),
        ([], "to do"),
    ],
)
def test_the_verdict_over_several_statements(outcomes: list[Any], told: str) -> None:
    """What could not be measured does not count."""
    assert verdict(Item("T1", "Table 1", "x", "y"), outcomes) == told
    assert verdict(Item("T1", "Table 1", "x", "y", untestable="No."), outcomes) == "not testable here"


def two() -> Records:
    runs = [
        Record(
            "sentences",
            "ar",
            1,
            [4, 4],
            [4, 4],
            [4, 4],
            [0, 0],
            [0, 0],
            ["a", "b"],
            answer=["ein Hund", "zwei Hunde und eine Katze"],
        ),
        Record(
            "sentences", "sd", 1, [4, 6], [2, 2], [5, 9], [4, 8], [2, 4], ["a", "c"], answer=["ein Hund", "drei Hunde"]
        ),
        Record(
            "arithmetic",
            "sd",
            2,
            [4, 6, 4, 2],
            [2, 2, 1, 1],
            [5, 9, 3, 3],
            [4, 8, 2, 2],
            [2, 4, 3, 1],
            ["a", "c", "d", "e"],
            right=[1, 0, 1, 1],
            answer=["3", "4", "5", "5"],
        ),
    ]
    return Records(
        {(one.task, one.label): one for one in runs}, {"sentences": ["ein Hund", "zwei Hunde und eine Katze"]}
    )


def once() -> Records:
    """One response a prompt, so that there is nothing to vote on."""
    one = Record("arithmetic", "sd", 1, [4, 6], [2, 2], [5, 9], [4, 8], [2, 4], ["a", "c"], right=[1, 0])
    return Records({("arithmetic", "sd"): one})


def test_measures_are_pooled_over_prompts_and_paired() -> None:
    """Quotients of sums, differences on the same prompts; BLEU against references, or against plain decoding."""
    found = two()

    def value(name: str, of: str = "sd", against: str = "", task: str = "sentences") -> float | None:
        told = measured(found, name, of, against, task)
        return None if told is None else round(told.mean, 6)

    assert (
        value("tau") == 2.5
        and value("tau_difference", against="ar") == 1.5
        and value("tau_quotient", against="ar") == 2.5
    )
    assert value("calls_each") == 2 and value("fed_each_quotient", against="ar") == 14 / 8
    assert value("same_as_ar", against="ar") == 0.5
    assert value("bleu", of="ar") == 100 and value("bleu_to_ar") == value("bleu")
    assert value("bleu_to_ar_difference", against="ar") == value("bleu_difference", against="ar")
    assert value("accuracy", task="arithmetic") == 0.75 and value("majority", task="arithmetic") == 1.0
    assert value("voted", task="arithmetic") == 1.0 and measured(once(), "voted", "sd", "", "arithmetic").mean == 0.5  # type: ignore[union-attr]
    assert value("tau", task="arithmetic") == round(16 / 6, 6)
    interval = measured(found, "tau", "sd", "", "arithmetic")
    assert interval is not None and interval.n == 2  # prompts, not repeats
    timed = replace(found.by_name["sentences", "sd"], ms=[10.0, 40.0], draft_ms=[4.0, 8.0])
    told = Records({("sentences", "sd"): timed})
    assert measured(told, "tokens_per_s", "sd", "", "sentences").mean == 200  # type: ignore[union-attr]
    assert measured(told, "draft_ms_per_call", "sd", "", "sentences").mean == 3  # type: ignore[union-attr]
    assert value("tokens_per_s") is None and value("penalised_rate") is None and value("tau", of="pld") is None
    with pytest.raises(ConfigError, match="Did you mean 'tau'"):
        value("tao")


def test_no_share_of_few_prompts_is_told_beyond_what_it_can_be() -> None:
    mine = Record("sentences", "sd", 1, [4, 6], [2, 2], [5, 9], [4, 8], [4, 5], ["a", "c"], penalised=[4, 5])
    other = replace(mine, label="easd", accepted=[0, 8], penalised=[0, 6])
    found = Records({("sentences", "sd"): mine, ("sentences", "easd"): other})
    for name, most in (("accept_rate", 1), ("penalised_rate", 100)):
        own = measured(found, name, "sd", "", "sentences")
        apart = measured(found, f"{name}_difference", "sd", "easd", "sentences")
        assert own is not None and own.low is not None and own.low > 0 and own.high == most
        assert apart is not None and (apart.low, apart.high) == (-most, most)


def test_records_survive_the_file(tmp_path: Any) -> None:
    """Written a run a line, read as they were; a file of another item is refused."""
    one, item = chosen("easd:T1")[0]
    found = {"verdict": "confirmed", "tables": [], "checks": [], **to_json(two())}
    path = save(one, item, found, tmp_path)
    back = load(one, item, tmp_path)
    assert back is not None and from_json(back) == two()
    assert sum(line.startswith('  {"task"') for line in path.read_text().splitlines()) == 3
    path.rename(tmp_path / "easd-T2.json")
    with pytest.raises(ConfigError, match="another item"):
        load(one, chosen("easd:T2")[0][1], tmp_path)


def test_a_place_in_a_file_of_results() -> None:
    """Fields, entries with these values (a comma may stand in one), places of a list, names in brackets."""
    data = {
        "a": {
            "rows": [
                {"k": 8, "name": "x, low 0", "v": 2.5},
                {"k": 4, "name": "y=1", "v": {"mean": 1, "low": 0, "high": 2, "n": 3}},
            ],
            "by_c": {"0.1": 7},
        }
    }
    assert value_at(data, "a.rows[name=x, low 0,k=8].v") == Interval(2.5, None, None, 1)
    assert value_at(data, "a.rows[name=y=1].v") == Interval(1, 0, 2, 3)
    assert value_at({"v": {"median": 2, "low": 0, "high": 3, "n": 5}}, "v") == Interval(2, 0, 3, 5)
    assert value_at(data, "a.rows[1].k") == Interval(4, None, None, 1) and value_at(data, "a.by_c[0.1]") == Interval(
        7, None, None, 1
    )
    assert value_at(data, "a.rows[k=5].v") is None and value_at(data, "b.c") is None
    with pytest.raises(ConfigError, match="no path"):
        value_at(data, "a..b")
    with pytest.raises(ConfigError, match="no number"):
        value_at(data, "a.rows[0].name")


@pytest.mark.parametrize(
    ("means", "told"),
    [
        ((8.0, 14.0), ["8", "14"]),
        ((959.8, 1503.2), ["960", "1503"]),
        ((100.0, 93.14), ["100.0", "93.1"]),
        ((14.61, 4.5), ["14.61", "4.50"]),
        ((0.9654, 0.9661), ["0.965", "0.966"]),
        ((0.0612, -0.00001), ["0.0612", "0.0000"]),
        ((-150.2, 3.1), ["-150", "3"]),
    ],
)
def test_numbers_of_one_kind_have_as_many_decimals(means: tuple[float, ...], told: list[str]) -> None:
    cells = [{"mean": mean, "low": None, "high": None} for mean in means]
    assert [estimate(cell, form(cells)) for cell in cells] == told
