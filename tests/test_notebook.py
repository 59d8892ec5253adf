"""docs/notebook.ipynb runs from its first cell to its last, and shows what it says."""

import nbformat
import pytest
from nbclient import NotebookClient

from engine.files.places import ROOT


@pytest.mark.installed
def test_the_notebook_runs_and_shows_the_page(monkeypatch):
    monkeypatch.delenv("PYTHONPATH", raising=False)  # opened where it lies, as Jupyter does
    notebook = nbformat.read(ROOT / "docs/notebook.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "committed without outputs"
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(ROOT / "docs")}}).execute()
    shown = [out["data"] for cell in notebook.cells for out in cell.get("outputs", ()) if "data" in out]
    assert any("<iframe" in data.get("text/html", "") for data in shown)
    assert any("application/vnd.plotly.v1+json" in data for data in shown)
