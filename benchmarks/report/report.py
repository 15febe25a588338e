"""Prints EVALUATION_REPORT.md, the pages beside the results, and their figures from the committed results.

Run: `make report`; `--check` says whether the pages are as the results say, and writes nothing; `--html` also writes
the report as a web page under `build/`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.report import chapters, suite_pages
from benchmarks.report.committed import RESULTS, rows_of
from benchmarks.report.suite_pages import FIGURES, RUNS
from benchmarks.report.suite_plots import write_plots
from retrivex.evaluation.report import to_html
from retrivex.evaluation.run.results import MANIFEST

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "EVALUATION_REPORT.md"
HTML = ROOT / "build" / "EVALUATION_REPORT.html"
TITLE = "Evaluation report"


def page() -> str:
    """Return the report as Markdown."""
    parts = [
        f"# {TITLE}",
        "Printed by `make report` from the committed results in [benchmarks/results](benchmarks/results/README.md). "
        "Only the words between the numbers are typed by hand.",
    ]
    for number, (heading, write) in enumerate(chapters.SECTIONS, start=1):
        parts += [f"## {number}. {heading}", write()]
    return "\n\n".join(parts) + "\n"


def pages() -> dict[Path, str]:
    """Return every printed page with its text."""
    return {PAGE: page(), **suite_pages.pages()}


def draw() -> None:
    """Draw the figures of the report and of every suite; those of suites without results are removed."""
    # matplotlib; checking the pages needs none
    from benchmarks.report import plots, report_figures, suite_figures  # noqa: PLC0415

    report_figures.main()
    plots.main()
    for name in RUNS:
        there = (RESULTS / name / MANIFEST).exists()
        write_plots(suite_figures.draw(rows_of(name), prefix=f"{name}_") if there else [], FIGURES, name=name)


def check() -> int:
    """Return 1 and say which pages are not as the results say, or 0."""
    stale = [path for path, made in pages().items() if not path.exists() or path.read_text(encoding="utf-8") != made]
    for path in stale:
        print(f"{path.relative_to(ROOT)} is not as the results say: run make report")
    return int(bool(stale))


def main() -> int:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only say whether the pages are up to date")
    parser.add_argument("--html", action="store_true", help="also write build/EVALUATION_REPORT.html")
    parser.add_argument("--no-figures", action="store_true", help="leave the figures as they are; needs no matplotlib")
    options = parser.parse_args()
    if options.check:
        return check()
    if not options.no_figures:
        draw()
    for path, made in pages().items():
        path.write_text(made, encoding="utf-8")
    if options.html:
        HTML.parent.mkdir(exist_ok=True)
        HTML.write_text(to_html(page(), ROOT, title=TITLE), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
