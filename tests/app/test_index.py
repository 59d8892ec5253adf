"""Many runs opens an index alone."""

import pandas as pd
from starlette.applications import Starlette
from starlette.testclient import TestClient

from app import pooled
from engine.analysis import index
from engine.trace.store import Trace
from tests.app.test_pooled import framed, trace


def test_an_index_of_runs_is_opened(service):
    http = TestClient(Starlette(routes=pooled.routes(service)))
    rows = [index.entry(Trace.loads(trace(name)), f"{name}.jsonl") for name in ("plain", "chain")]
    table = pd.DataFrame(rows).to_parquet()
    found = http.post("/lab/pooled", content=framed(**{"index.parquet": table})).json()
    assert [row["label"] for row in found["sections"][0]["methods"]] == ["Plain decoding", "Chain of candidates"]
    assert [one["file"] for one in found["named"]] == ["plain.jsonl", "chain.jsonl"] and found["plots"]["sections"]
    rows[1]["target"] = "another"
    refused = http.post("/lab/pooled", content=framed(**{"index.parquet": pd.DataFrame(rows).to_parquet()}))
    assert refused.status_code == 400 and "different targets (1 of made-up, 1 of another)" in refused.json()["error"]
    assert "no Parquet" in http.post("/lab/pooled", content=framed(x=b"PAR1")).json()["error"]
