"""Writes the results of a run as a page: Markdown, and the same as HTML in one file."""

from __future__ import annotations

import base64
import importlib
import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from textwrap import indent
from typing import Any

import yaml
from markdown_it import MarkdownIt

from retrivex.errors import LoadError
from retrivex.evaluation.report.markdown import cell, equal
from retrivex.evaluation.report.sections import sections
from retrivex.evaluation.report.verdict import failed_questions, headline, main_table, verdict
from retrivex.evaluation.run.results import Row, read_manifest, read_rows

REPORT = "report"
PLOT = "figures/by_budget.png"

_APART = ("code", "schema")  # of no use to a reader
_MOST_ODD = 20

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 1.5rem auto; max-width: 76rem; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; font-size: 14px; margin: 1rem 0; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }
td { overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
img { max-width: 100%; } h2 { margin-top: 2.5rem; } code, pre { background: #f4f4f2; padding: .1rem .3rem; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
"""
_ALIGNED = ' style="text-align:right"'  # of a cell; quotes in a text are escaped
_IMAGE = re.compile(r'<img src="((?:[\w-]+/)*[\w-]+\.png)"')  # plots; no path that leads out of the folder


def write_report(folder: Path, *, title: str = "Evaluation") -> list[str]:
    """Write `report.md`, `report.html` and a plot beside a run's results, in place of those of an earlier report.

    Parameters
    ----------
    folder : what `retrivex evaluate --out` wrote
    title : of the page

    Returns
    -------
    What is missing from the report, and why; empty where it is whole

    Raises
    ------
    LoadError
        If there are no results.
    """
    rows = read_rows(folder)
    if not rows:
        raise LoadError(f"{folder} holds no results: run `retrivex evaluate` first")
    missing = _draw(rows, folder / PLOT)
    page = markdown(rows, read_manifest(folder), title=title, plotted=not missing)
    (folder / f"{REPORT}.md").write_text(page, encoding="utf-8")
    (folder / f"{REPORT}.html").write_text(to_html(page, folder, title=title), encoding="utf-8")
    return missing


def _draw(rows: Sequence[Row], path: Path) -> list[str]:
    """Draw the plot; return why there is none."""
    path.unlink(missing_ok=True)
    measures = headline(rows)
    if not measures:
        return []
    try:
        plots = importlib.import_module("retrivex.evaluation.report.plots")  # matplotlib is an extra
    except ImportError as error:
        return [f"no plot: {error}"]
    path.parent.mkdir(exist_ok=True)
    plots.draw(rows, measures[0], path)
    return []


def markdown(rows: Sequence[Row], manifest: Mapping[str, Any], *, title: str, plotted: bool) -> str:
    """Return the page as Markdown.

    Parameters
    ----------
    rows : of the run
    manifest : what was run on what
    title : of the page
    plotted : whether there is a plot
    """
    parts = [f"# {cell(title)}", verdict(rows), main_table(rows)]
    parts += [f"![{equal(headline(rows))} at each budget]({PLOT})"] if plotted and headline(rows) else []
    for name, text in (("Questions that fail", failed_questions(rows)), *sections(rows)):
        if text:
            parts += [f"## {name}", text]
    parts += ["## What was run", _run(manifest)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _run(manifest: Mapping[str, Any]) -> str:
    """Return what was run, as indented YAML: nothing in it is read as markup."""
    sets = [
        {**found, "odd": {**odd, "records": odd.get("records", [])[:_MOST_ODD]}}
        for found in manifest.get("sets", [])
        for odd in [found.get("odd", {})]
    ]
    shown = {name: value for name, value in manifest.items() if name not in _APART}
    shown |= {"composers": list(manifest.get("composers", {})), "sets": sets}
    text: str = yaml.safe_dump(shown, sort_keys=False, allow_unicode=True, width=1_000)
    return indent(text, "    ").rstrip()


def to_html(page: str, folder: Path, *, title: str) -> str:
    """Return a Markdown page as HTML that needs no other file: its images are put into it.

    Cells stand to the left and wrap, so that no table is wider than the window.

    Parameters
    ----------
    page : Markdown
    folder : that the names of images start from
    title : of the window
    """
    body: str = MarkdownIt("commonmark", {"html": False}).enable("table").render(page)
    # a large page is mostly cells: how they are aligned is said in the style, and the next cell ends the one before
    body = body.replace(_ALIGNED, "").replace("</td>\n<td>", "\n<td>")
    body = _IMAGE.sub(lambda found: f'<img src="{_inline(folder / found[1])}"', body)
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{_STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n{body}</body></html>\n'


def _inline(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise LoadError(f"image {path} cannot be read ({error}): draw the plots first") from error
    return f"data:image/png;base64,{base64.b64encode(data).decode('ascii')}"
