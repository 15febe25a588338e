"""The printed report: as the committed results say, and every table of the README in it."""

from __future__ import annotations

import re
from pathlib import Path

import report

ROOT = Path(__file__).parents[2]


def tables_of(page: str) -> list[str]:
    """Return the rows of figures of a page's generated tables."""
    blocks = re.findall(r"<!-- (\w+) -->\n(.*?)\n<!-- /\1 -->", page, flags=re.DOTALL)
    return [line for _, block in blocks for line in block.splitlines()[2:]]


def test_every_figure_in_the_tables_of_the_readme_is_in_the_report() -> None:
    printed = (ROOT / "EVALUATION_REPORT.md").read_text(encoding="utf-8").splitlines()
    rows = tables_of((ROOT / "README.md").read_text(encoding="utf-8"))

    assert len(rows) > 10
    assert [row for row in rows if row not in printed] == []


def test_report_is_as_the_results_say() -> None:
    assert (ROOT / "EVALUATION_REPORT.md").read_text(encoding="utf-8") == report.page()


def test_every_plot_of_the_report_is_there() -> None:
    page = (ROOT / "EVALUATION_REPORT.md").read_text(encoding="utf-8")
    files = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page)

    assert files
    assert [file for file in files if not (ROOT / file).exists()] == []
    assert page.count("data:image") == 0
    assert (ROOT / "EVALUATION_REPORT.html").read_text(encoding="utf-8").count("data:image/png") == len(files)
