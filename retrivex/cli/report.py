"""`retrivex report`: the results of an evaluation as pages to read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from retrivex.cli.terminal import note
from retrivex.evaluation.report import write_report


def report(
    results: Annotated[Path, typer.Argument(metavar="FOLDER", help="Results: a folder of `retrivex evaluate --out`.")],
    title: Annotated[str, typer.Option("--title", metavar="TEXT", help="Of the page.")] = "Evaluation",
) -> None:
    """Write report.md, report.html and plots beside the results of an evaluation.

    \b
    Examples:
      retrivex report results
    """
    for missing in write_report(results, title=title):
        note(missing)
    note(f"the report is in {results / 'report.md'} and {results / 'report.html'}")
