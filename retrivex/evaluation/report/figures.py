"""The plots of a report. Needs matplotlib, of the extra `evaluate`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from retrivex.evaluation.report.grouping import (
    family_of,
    grouped,
    interval_of,
    mean_of,
    measures_of,
    plain,
    values_of,
)
from retrivex.evaluation.results import Row

try:
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
except ImportError as error:
    raise ImportError("plots need matplotlib: pip install 'retrivex-rag[evaluate]'") from error

_COLOURS = ("#777777", "#2277bb", "#cc2222", "#449955", "#bb8844", "#8855aa", "#22aaaa", "#dd77aa")
_LINES = ("--", "-", "-", "-.", ":", "-.", ":", "-")
_POINTS = 120  # dots an inch
_BANDS = 20  # of a histogram of places


def draw(rows: Sequence[Row], folder: Path, *, prefix: str = "") -> dict[str, list[tuple[str, str]]]:
    """Draw every plot that the rows allow.

    Parameters
    ----------
    rows : of a run
    folder : where the PNG files go; made if it is not there
    prefix : of the files' names, where several runs share a folder

    Returns
    -------
    Title of a section -> its plots, each a file name and what it shows
    """
    folder.mkdir(parents=True, exist_ok=True)
    made: dict[str, list[tuple[str, str]]] = {}
    for section, name, shows, figure in _plots(rows):
        file = f"{prefix}{_file_name(name)}.png"
        FigureCanvasAgg(figure)
        figure.savefig(folder / file, dpi=_POINTS, metadata={"Software": None})
        made.setdefault(section, []).append((file, shows))
    return made


def _file_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def _plots(rows: Sequence[Row]) -> Iterator[tuple[str, str, str, Figure]]:
    shown = plain(rows)
    for measure in ("evidence_recall", "complete", "answer_in_context"):
        if measure in measures_of(shown) and len(values_of(shown, "budget")) > 1:
            title = f"{_words(measure)} against the token budget, with 95 % intervals"
            yield "What reaches the context", f"{measure}_by_budget", title, _by_budget(shown, measure)
    if "evidence_tokens_per_1000" in measures_of(shown):
        title = "evidence for 1,000 tokens of context"
        yield "What reaches the context", "evidence_per_token", title, _bars(shown, "evidence_tokens_per_1000", title)
    for family, found in grouped(shown, family_of).items():
        for measure in ("complete", "answer_in_context"):
            if _has_depths(found, measure):
                title = f"{family}: {_words(measure)} by depth and length"
                yield "Depth of the evidence", f"{family}_{measure}_by_depth", title, _heat_maps(found, measure)
    if len(values_of(rows, "order")) > 1 and "evidence_position" in measures_of(rows):
        title = "where the evidence stands in the context"
        yield "Orders", "places_by_order", title, _places(rows)
    if "ms" in measures_of(shown):
        yield (
            "Time",
            "milliseconds",
            "median milliseconds",
            _bars(shown, "ms", "median milliseconds of making a context"),
        )


def _words(name: str) -> str:
    return name.replace("_", " ")


def _panels(names: Sequence[str], *, height: float = 3.0, most: int = 3) -> tuple[Figure, Mapping[str, Axes]]:
    columns = min(most, len(names))
    lines = -(-len(names) // columns)
    figure = Figure(figsize=(max(5.5, 4.0 * columns), height * lines + 0.6), layout="constrained")
    axes = figure.subplots(lines, columns, squeeze=False)
    for axis in axes.flat[len(names) :]:
        axis.set_visible(False)
    for name, axis in zip(names, axes.flat, strict=False):
        axis.set_title(name, fontsize=10)
    return figure, dict(zip(names, axes.flat, strict=False))


def _legend(figure: Figure, axes: Mapping[str, Axes]) -> None:
    labels: dict[str, Any] = {}
    for axis in axes.values():
        handles, names = axis.get_legend_handles_labels()
        labels |= dict(zip(names, handles, strict=True))
    figure.legend(labels.values(), labels.keys(), loc="outside upper center", ncols=min(5, len(labels)), fontsize=9)


def _by_budget(rows: Sequence[Row], measure: str) -> Figure:
    there = [row for row in rows if measure in row.measures]
    families = grouped(there, lambda row: f"{family_of(row)}, {row.way.hits} {row.way.retriever} hits")
    figure, axes = _panels(list(families))
    composers = values_of(there, "composer")
    for name, found in families.items():
        budgets = values_of(found, "budget")
        for at, composer in enumerate(composers):
            of = grouped((row for row in found if row.way.composer == composer), lambda row: row.way.budget)
            points = [interval_of(of[budget], measure) if budget in of else None for budget in budgets]
            known = [(budget, point) for budget, point in zip(budgets, points, strict=True) if point]
            if known:
                _line(axes[name], known, composer, at)
        axes[name].set_xscale("log", base=2)
        axes[name].set_xticks(budgets, [f"{budget:,}" for budget in budgets])
        axes[name].minorticks_off()
        axes[name].set_ylim(0, 1.03)
        axes[name].grid(alpha=0.3)
    figure.supxlabel("token budget", fontsize=10)
    figure.supylabel(_words(measure), fontsize=10)
    _legend(figure, axes)
    return figure


def _line(axis: Axes, points: Sequence[tuple[float, tuple[float, float, float]]], label: str, at: int) -> None:
    x = [place for place, _ in points]
    mean, low, high = zip(*(point for _, point in points), strict=True)
    colour = _COLOURS[at % len(_COLOURS)]
    axis.plot(x, mean, _LINES[at % len(_LINES)], color=colour, marker="o", markersize=3, label=label)
    axis.fill_between(x, low, high, color=colour, alpha=0.12, linewidth=0)


def _bars(rows: Sequence[Row], measure: str, label: str) -> Figure:
    families = grouped((row for row in rows if measure in row.measures), family_of)
    composers = values_of(rows, "composer")
    budgets = values_of(rows, "budget")
    figure, axes = _panels(list(families))
    width = 0.8 / len(composers)
    for name, found in families.items():
        cells = grouped(found, lambda row: (row.way.composer, row.way.budget))
        for at, composer in enumerate(composers):
            heights = [mean_of(cells.get((composer, budget), []), measure) or 0.0 for budget in budgets]
            places = np.arange(len(budgets)) + (at - (len(composers) - 1) / 2) * width
            axes[name].bar(places, heights, width, color=_COLOURS[at % len(_COLOURS)], label=composer)
        axes[name].set_xticks(range(len(budgets)), [f"{budget:,}" for budget in budgets])
        axes[name].grid(alpha=0.3, axis="y")
    figure.supxlabel("token budget", fontsize=10)
    figure.supylabel(label, fontsize=10)
    _legend(figure, axes)
    return figure


def _has_depths(rows: Sequence[Row], measure: str) -> bool:
    return len({row.factors["depth"] for row in _swept(rows, measure)}) > 1


def _swept(rows: Sequence[Row], measure: str) -> list[Row]:
    """Return the rows of a sweep; a user's own factors may have the same names and hold texts."""
    return [
        row
        for row in rows
        if measure in row.measures
        and all(isinstance(row.factors.get(name), (int, float)) for name in ("depth", "tokens"))
    ]


def _heat_maps(rows: Sequence[Row], measure: str) -> Figure:
    there = _swept(rows, measure)
    depths = sorted({float(row.factors["depth"]) for row in there})
    lengths = sorted({int(row.factors["tokens"]) for row in there})
    maps = grouped(there, lambda row: f"{row.way.composer}, {row.way.budget:,} tokens")
    figure, axes = _panels(list(maps), height=0.28 * len(depths) + 0.8)
    for name, found in maps.items():
        cells = grouped(found, lambda row: (float(row.factors["depth"]), int(row.factors["tokens"])))
        values = [[_mean(cells.get((depth, length)), measure) for length in lengths] for depth in depths]
        shown = axes[name].imshow(values, vmin=0, vmax=1, cmap="RdYlGn", aspect="auto")
        axes[name].set_xticks(range(len(lengths)), [f"{length / 1024:g}k" for length in lengths], fontsize=8)
        axes[name].set_yticks(range(len(depths)), [f"{depth:g} %" for depth in depths], fontsize=8)
        for line, row in enumerate(values):
            for column, value in enumerate(row):
                if not np.isnan(value):
                    axes[name].text(column, line, f"{value:.2f}", ha="center", va="center", fontsize=7)
    figure.supxlabel("tokens of the haystack", fontsize=10)
    figure.supylabel("depth", fontsize=10)
    figure.colorbar(shown, ax=list(axes.values()), shrink=0.8)
    return figure


def _mean(rows: Sequence[Row] | None, measure: str) -> float:
    found = mean_of(rows, measure) if rows else None
    return float("nan") if found is None else found


def _places(rows: Sequence[Row]) -> Figure:
    widest = values_of(rows, "budget")[-1]
    there = [row for row in rows if "evidence_position" in row.measures and row.way.budget == widest]
    composers = grouped(there, lambda row: f"{row.way.composer}, {row.way.budget:,} tokens")
    figure, axes = _panels(list(composers))
    edges = np.linspace(0, 1, _BANDS + 1)
    names = values_of(there, "order")
    for title, found in composers.items():
        for at, order in enumerate(names):
            places = [row.measures["evidence_position"] for row in found if row.way.order == order]
            if places:
                heights, _ = np.histogram(places, bins=edges)
                colour = _COLOURS[at % len(_COLOURS)]
                axes[title].stairs(heights / len(places), edges, color=colour, label=order, linewidth=1.4)
        axes[title].grid(alpha=0.3)
    figure.supxlabel("relative place in the context: 0 first, 1 last", fontsize=10)
    figure.supylabel("share of the questions", fontsize=10)
    _legend(figure, axes)
    return figure
