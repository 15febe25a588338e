"""Notebooks of `examples/notebooks`, run by Jupyter in the environment of this Python.

`python -m support.notebooks FILE ...` runs notebooks and writes their outputs into them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from support.examples import PYTHONPATH, ROOT

FOLDER = ROOT / "examples" / "notebooks"


def read(path: Path) -> Any:
    """Read a notebook."""
    nbformat = pytest.importorskip("nbformat", reason="the environments of notebooks have it: make integration-engines")
    return nbformat.read(path, as_version=4)


def run_notebook(path: Path) -> Any:
    """Run all cells in a new kernel, in the notebook's folder, and return the notebook with its outputs.

    A cell that fails raises an error that shows it.
    """
    nbclient = pytest.importorskip("nbclient", reason="the environments of notebooks have it: make integration-engines")
    made = read(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", PYTHONPATH)
        patch.setenv("PYTHONWARNINGS", "ignore")  # what other packages warn of is theirs to mend
        patch.delenv("MODEL_URL", raising=False)
        nbclient.NotebookClient(
            made, timeout=300, coalesce_streams=True, resources={"metadata": {"path": str(path.parent)}}
        ).execute()
    for cell in made.cells:
        cell.metadata.pop("execution", None)  # times
    return made


def texts(notebook: Any) -> list[list[str]]:
    """Return what each code cell shows as text: printed lines, and values as they are written."""
    return [
        [output.get("text") or "".join(output.get("data", {}).get("text/plain", "")) for output in cell.outputs]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


if __name__ == "__main__":
    for name in sys.argv[1:]:
        made = run_notebook(Path(name).absolute())
        pytest.importorskip("nbformat").write(made, name)
