"""What speaks for HeteroSpec's default meta-path is what was measured with the heads and bins that are shipped."""

import json
from typing import Any

from engine.files.places import ROOT
from engine.papers.entries import chosen
from engine.papers.results import load
from engine.tasks import FAMILIES

WORDS = {6: "six", 7: "seven", 8: "eight"}
PAGE = " ".join((ROOT / "docs" / "methods" / "heterospec.md").read_text(encoding="utf-8").split())


def read(*path: str) -> Any:
    return json.loads(ROOT.joinpath(*path).read_text(encoding="utf-8"))


def test_the_page_tells_what_the_shipped_bins_were_learnt_from() -> None:
    whole, local = (read("assets", "tiny", "strata", f"{name}.json") for name in ("strata", "strata-local"))
    all_whole = read("docs", "results", "heterospec-strata.json")
    assert whole["meta_path"] == all_whole["meta_path"] == "cumulative" and local["meta_path"] == "local"
    assert f"{whole['runs']} training prompts, {whole['rounds']:,} rounds, of which {whole['kept']:,} were" in PAGE
    assert f"{local['runs']} training prompts, {local['rounds']:,} rounds, {local['kept']:,} accepted" in PAGE
    for bins, before in ((whole, "path's end"), (local, "their end")):
        assert f"{before}, {WORDS[len(bins['bins'])]} bins" in PAGE
    assert (all_whole["runs"], all_whole["rounds"]) == (local["runs"], local["rounds"])
    assert f"along whole paths {all_whole['kept']:,} of the same rounds" in PAGE


def test_both_paths_are_compared_with_bins_of_the_same_rounds() -> None:
    ((_, item),) = chosen("heterospec:T1")
    given = ",".join(f"{t:.6f}" for t in read("docs", "results", "heterospec-strata.json")["thresholds"])
    methods = {method for plan in item.plans if plan.tag == "paths" for method in plan.methods}
    assert methods == {f"heterospec:meta_path=cumulative:thresholds={given}", "heterospec:meta_path=local"}


def test_bins_of_one_family_are_those_that_were_recorded() -> None:
    ((_, item),) = chosen("heterospec:T5")
    expected = {"eagle3"}
    for family in FAMILIES:
        bins = read("docs", "results", f"heterospec-strata-{family}.json")
        assert f"strata --items 300 --tasks {family} " in bins["command"] and bins["meta_path"] == "cumulative"
        given = ",".join(f"{t:.6f}" for t in bins["thresholds"])
        expected.add(f"heterospec:meta_path=cumulative:thresholds={given}")
    assert {method for plan in item.plans for method in plan.methods} == expected


def test_the_page_tells_the_recorded_shares() -> None:
    ((paper, item),) = chosen("heterospec:T1")
    result = load(paper, item)
    assert result is not None
    cells = [
        cell
        for table in result["tables"]
        if table["title"].startswith("The local meta-path")
        for cell in table["rows"][0]["cells"]
    ]
    assert len(cells) == 4
    for cell in cells:
        low, mean, high = (f"{100 * cell[name]:.4g}" for name in ("low", "mean", "high"))
        assert f"{mean} % ({low} to {high})" in PAGE
