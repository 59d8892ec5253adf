"""The draft trees as the page takes them."""

import json

from starlette.applications import Starlette
from starlette.testclient import TestClient

from app import trees
from engine.trees.template import best_first
from engine.tune.trees import Usage, with_card


def test_an_optimised_tree_comes_with_the_tree_it_was_chosen_from(tmp_path):
    usage = Usage(best_first(12, 4))
    usage.counts, usage.rounds = list(range(12, 0, -1)), 20
    made = {"nodes": 12, "depth": 4, "first": 0.75, "ratio": 0.5, "ranks": 10}
    with_card(usage.best(5), name="small", usage={**made, "counts": usage.counts, "kept": usage.kept(5)}).save(
        tmp_path / "small.json"
    )
    best_first(6, 3).save(tmp_path / "grown.json")
    http = TestClient(Starlette(routes=trees.routes(tmp_path)))
    grown, small = http.get("/lab/trees").json()["trees"]
    assert grown["file"] == "grown" and grown["initial"] is None
    assert small["initial"]["parents"] == list(usage.tree.parents) and small["initial"]["counts"] == usage.counts
    assert small["initial"]["kept"] == usage.kept(5) and small["nodes"] == 5 and sum(small["initial"]["profile"]) == 12


def test_counts_that_do_not_fit_are_left_out(tmp_path):
    best_first(6, 3).save(tmp_path / "odd.json")
    data = json.loads((tmp_path / "odd.json").read_text())
    data["usage"] = {"nodes": 9, "depth": 3, "first": 0.75, "ratio": 0.5, "ranks": 10, "counts": [1], "kept": [0]}
    (tmp_path / "odd.json").write_text(json.dumps(data))
    assert TestClient(Starlette(routes=trees.routes(tmp_path))).get("/lab/trees").json()["trees"][0]["initial"] is None
