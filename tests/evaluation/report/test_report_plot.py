"""The plot of a report. Needs matplotlib."""

from pathlib import Path

import pytest
from support.report_rows import needles, write

from retrivex.evaluation.report import write_report

pytestmark = pytest.mark.integration


def test_the_plot_stands_in_both_pages_and_is_the_same_each_time(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    rows = needles(lambda composer, depth, needle, budget: float(depth != 50))
    first, second = (write(tmp_path / name, rows) for name in ("first", "second"))

    assert write_report(first) == write_report(second) == []
    plot = first / "figures" / "by_budget.png"
    assert plot.read_bytes() == (second / "figures" / "by_budget.png").read_bytes()
    page = (first / "report.md").read_text(encoding="utf-8")
    assert "![evidence recall = complete at each budget](figures/by_budget.png)" in page
    assert (first / "report.html").read_text(encoding="utf-8").count("data:image/png") == 1
