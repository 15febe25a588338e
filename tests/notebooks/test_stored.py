"""What is stored in the notebooks: every cell was run, in order, none failed, and each is run by a test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.notebooks import FOLDER

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def _code(path: Path) -> list[dict[str, Any]]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_was_run_in_order_and_none_failed(path: Path) -> None:
    cells = _code(path)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert not [output for output in outputs if output["output_type"] == "error" or output.get("name") == "stderr"]
    assert len(outputs) >= 5


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_nothing_of_the_machine_is_stored(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert [word for word in (str(Path.home()), "/tmp/", "site-packages", "127.0.0.1") if word in text] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_each_is_run_by_a_test_and_listed_for_readers(path: Path) -> None:
    tests = [file.read_text(encoding="utf-8") for file in Path(__file__).parent.glob("test_*.py")]
    assert any(f'"{path.stem}' in text for text in tests)
    page = (FOLDER.parents[1] / "docs" / "learn" / "notebooks.md").read_text(encoding="utf-8")
    assert path.name in page


def test_a_composition_and_a_plot_are_shown() -> None:
    shown = {
        kind
        for path in NOTEBOOKS
        for cell in _code(path)
        for output in cell["outputs"]
        for kind in output.get("data", {})
    }
    assert {"text/html", "image/png", "text/markdown"} <= shown
