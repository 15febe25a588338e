"""The plot of a report: what each composer shows at each budget; needs matplotlib, of the extra `evaluate`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from retrivex.errors import install_hint
from retrivex.evaluation.report.grouping import family_of, grouped, hits_of, interval_of, plain, values_of
from retrivex.evaluation.report.markdown import words
from retrivex.evaluation.run.results import Row

try:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
except ImportError as error:
    raise ImportError(f"plots need matplotlib: {install_hint('evaluate')}") from error

_COLOURS = ("#777777", "#E69F00", "#D55E00", "#0072B2", "#56B4E9", "#009E73", "#CC79A7", "#882255")
"""Of Okabe and Ito, which people with colour blindness can tell apart ("Color Universal Design", 2008)."""


def draw(rows: Sequence[Row], measure: str, path: Path) -> None:
    """Write a plot of a measure: a panel for each family of sets and kind of hits, a bar for each composer and budget.

    Parameters
    ----------
    rows : of a run
    measure : its name
    path : of the PNG file
    """
    there = [row for row in plain(rows) if measure in row.measures]
    panels = grouped(there, lambda row: f"{family_of(row)}, {hits_of(row)} hits")
    figure = Figure(figsize=(max(6.0, 4.0 * len(panels)), 3.6), layout="constrained")
    for axis, (title, found) in zip(figure.subplots(1, len(panels), squeeze=False).flat, panels.items(), strict=True):
        axis.set_title(title, fontsize=10)
        _bars(axis, found, measure, values_of(there, "composer"))
    figure.supxlabel("token budget", fontsize=10)
    figure.supylabel(f"{words(measure)}, 95 % interval", fontsize=10)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=5, fontsize=9)
    figure.savefig(path, format="png", dpi=100)


def _bars(axis: Axes, rows: Sequence[Row], measure: str, composers: Sequence[str]) -> None:
    budgets = values_of(rows, "budget")
    width = 0.8 / len(composers)
    for at, composer in enumerate(composers):
        of = grouped((row for row in rows if row.way.composer == composer), lambda row: row.way.budget)
        points = [interval_of(of.get(budget, []), measure) or (0.0, 0.0, 0.0) for budget in budgets]
        mean, low, high = np.array(points).T
        places = np.arange(len(budgets)) + (at - (len(composers) - 1) / 2) * width
        reach = np.maximum(0.0, [mean - low, high - mean])
        axis.bar(places, mean, width, yerr=reach, color=_COLOURS[at % len(_COLOURS)], label=composer)
    axis.set_xticks(range(len(budgets)), [f"{budget:,}" for budget in budgets])
    axis.grid(alpha=0.3, axis="y")
