"""The plots of a report; needs matplotlib, of the extra `evaluate`."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import chain, count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.report.colours import SHARES, colours_of
from benchmarks.report.suite_grouping import by_depth, with_several_orders
from benchmarks.report.suite_plots import Plot
from retrivex.errors import install_hint
from retrivex.evaluation.report.grouping import (
    family_of,
    group_equal_measures,
    grouped,
    hits_of,
    interval_of,
    mean_of,
    plain,
    values_of,
    with_several_hits,
)
from retrivex.evaluation.report.markdown import equal, words
from retrivex.evaluation.run.results import Row, measures_of

try:
    from matplotlib import colormaps
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from PIL import Image  # which matplotlib needs, too
except ImportError as error:
    raise ImportError(f"plots need matplotlib: {install_hint('evaluate')}") from error

_LINES = ("--", "-", "-", "-.", ":", "-.", ":", "-")
_POINTS = 100  # dots an inch: 12 inches, the widest, fill a page
_PALETTE = 64  # colours of a file
_CLOSE = 8  # distance of colours below which one stands for both; shades of a heat map are 10 apart and more
_SHADES = 20  # of a heat map: steps of 0.05
_BANDS = 20  # of a histogram of places


def draw(rows: Sequence[Row], *, prefix: str = "") -> list[Plot]:
    """Draw every plot that the rows allow.

    Parameters
    ----------
    rows : of a run
    prefix : of the files' names, where several runs share a folder
    """
    made: dict[str, Plot] = {}
    for section, name, shows, figure in _plots(rows):
        file = _find_unused_name(f"{prefix}{_file_name(name)}", made)
        made[file] = Plot(section, file, shows, png(figure))
    return list(made.values())


def png(figure: Figure) -> bytes:
    """Return a figure as the bytes of a PNG file: the same each time, and small.

    The most frequent colours stay as they are, none of them close to one before; others, shades at the edges of letters
    and lines, become the nearest of these.
    """
    canvas = FigureCanvasAgg(figure)
    figure.set_dpi(_POINTS)
    with warnings.catch_warnings():
        # it quotes the name of a composer, letter by letter, for whatever its font lacks
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        canvas.draw()
    red, green, blue = np.moveaxis(np.asarray(canvas.buffer_rgba()).astype(np.int64), 2, 0)[:3]
    # a number for each colour, so that they can be sorted
    colours, which, counts = np.unique(red << 16 | green << 8 | blue, return_inverse=True, return_counts=True)
    parts = np.stack([colours >> 16, colours >> 8 & 255, colours & 255], axis=1)
    palette = _palette(parts[np.argsort(-counts, kind="stable")])
    # the squared distance, less the square of the colour itself, which is the same for all of the palette
    nearest = (np.square(palette).sum(axis=1) - 2 * parts @ palette.T).argmin(axis=1).astype(np.uint8)
    image = Image.fromarray(nearest[which].reshape(red.shape))
    image.putpalette(palette.astype(np.uint8).tobytes())
    found = io.BytesIO()
    image.save(found, "PNG", optimize=True)
    return found.getvalue()


def _palette(colours: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return colours that are not close to each other, those that come first before others, shape (at most 64, 3)."""
    chosen: list[NDArray[np.int64]] = []
    while len(colours) and len(chosen) < _PALETTE:
        chosen.append(colours[0])
        colours = colours[np.square(colours - colours[0]).sum(axis=1) >= _CLOSE**2]
    return np.array(chosen)


def _file_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def _find_unused_name(name: str, taken: Container[str]) -> str:
    """Return the name of a file; sets whose names differ in nothing but signs get a number."""
    numbered = (f"{name}_{number}.png" for number in count(2))
    return next((file for file in chain([f"{name}.png"], numbered) if file not in taken), name)


def _plots(rows: Sequence[Row]) -> Iterator[tuple[str, str, str, Figure]]:
    shown = plain(rows)
    if len(values_of(shown, "budget")) > 1:
        # a measure that is the same number in every row has the same plot
        for measure, *same in group_equal_measures(shown, ("evidence_recall", "complete", "answer_in_context")):
            title = f"{equal([measure, *same])} against the token budget, with 95 % intervals"
            yield "What reaches the context", f"{measure}_by_budget", title, _by_budget(shown, measure)
    if "evidence_tokens_per_1000" in measures_of(shown):
        title = "tokens of evidence for each 1,000 tokens of context"
        yield (
            "What reaches the context",
            "evidence_per_token",
            title,
            _bars(shown, "evidence_tokens_per_1000", "evidence per 1,000 tokens"),
        )
    for family, found in grouped(shown, family_of).items():
        for measure, *same in group_equal_measures(found, ("complete", "answer_in_context")):
            of = equal([measure, *same])
            # only of questions that were asked at every depth: else depths differ in what was asked, too
            if len(by_depth(_select_swept(found, measure, "depth"), measure)) > 1:
                title = f"{family}: {of} by depth and length"
                yield (
                    "Depth of the evidence",
                    f"{family}_{measure}_by_depth",
                    title,
                    _heat_maps(found, measure, "depth"),
                )
            if len({row.factors["task"] for row in _select_swept(found, measure, "task")}) > 1:
                title = f"{family}: {of} by task and length"
                yield "By task", f"{family}_{measure}_by_task", title, _heat_maps(found, measure, "task")
    several = with_several_orders(rows)
    if "evidence_position" in measures_of(several):
        title = "where the evidence stands in the context"
        yield "Orders", "places_by_order", title, _places(several)
    if "ms" in measures_of(shown):
        yield ("Time", "milliseconds", "median milliseconds", _bars(shown, "ms", "median milliseconds"))


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
    families = grouped(there, lambda row: f"{family_of(row)}, {hits_of(row)} hits")
    figure, axes = _panels(list(families))
    composers = values_of(there, "composer")
    colours = colours_of(composers)
    lowest = 1.0
    for name, found in families.items():
        budgets = values_of(found, "budget")
        for at, composer in enumerate(composers):
            of = grouped((row for row in found if row.way.composer == composer), lambda row: row.way.budget)
            points = [interval_of(of[budget], measure) if budget in of else None for budget in budgets]
            known = [(budget, point) for budget, point in zip(budgets, points, strict=True) if point]
            if known:
                lowest = min(lowest, *(low for _, (_, low, _) in known))
                _line(axes[name], known, composer, (colours[composer], _LINES[at % len(_LINES)]))
        axes[name].set_xscale("log", base=2)
        axes[name].set_xticks(budgets, [f"{budget:,}" for budget in budgets])
        axes[name].minorticks_off()
        axes[name].grid(alpha=0.3)
    for axis in axes.values():
        axis.set_ylim(min(0.9, np.floor(10 * lowest) / 10), 1.02)  # one scale for all, from a tenth below the lowest
    figure.supxlabel("token budget", fontsize=10)
    figure.supylabel(words(measure), fontsize=10)
    _legend(figure, axes)
    return figure


def _line(
    axis: Axes, points: Sequence[tuple[float, tuple[float, float, float]]], label: str, style: tuple[str, str]
) -> None:
    x = [place for place, _ in points]
    mean, low, high = zip(*(point for _, point in points), strict=True)
    colour, line = style
    axis.plot(x, mean, line, color=colour, marker="o", markersize=3, label=label)
    axis.fill_between(x, low, high, color=colour, alpha=0.12, linewidth=0)


def _bars(rows: Sequence[Row], measure: str, label: str) -> Figure:
    several = with_several_hits(rows)
    families = grouped(
        (row for row in rows if measure in row.measures),
        lambda row: f"{family_of(row)}, {hits_of(row)} hits" if several else family_of(row),
    )
    composers = values_of(rows, "composer")
    colours = colours_of(composers)
    budgets = values_of(rows, "budget")
    figure, axes = _panels(list(families))
    width = 0.8 / len(composers)
    for name, found in families.items():
        cells = grouped(found, lambda row: (row.way.composer, row.way.budget))
        for at, composer in enumerate(composers):
            heights = [mean_of(cells.get((composer, budget), []), measure) or 0.0 for budget in budgets]
            places = np.arange(len(budgets)) + (at - (len(composers) - 1) / 2) * width
            axes[name].bar(places, heights, width, color=colours[composer], label=composer)
        axes[name].set_xticks(range(len(budgets)), [f"{budget:,}" for budget in budgets])
        axes[name].grid(alpha=0.3, axis="y")
    figure.supxlabel("token budget", fontsize=10)
    figure.supylabel(label, fontsize=10)
    _legend(figure, axes)
    return figure


def _select_swept(rows: Sequence[Row], measure: str, factor: str) -> list[Row]:
    """Return the rows of a sweep over lengths and a factor; a user's own may have these names and hold other kinds."""
    kinds = str if factor == "task" else (int, float)
    return [
        row
        for row in rows
        if measure in row.measures
        and isinstance(row.factors.get("tokens"), (int, float))
        and isinstance(row.factors.get(factor), kinds)
    ]


def _heat_maps(rows: Sequence[Row], measure: str, factor: str) -> Figure:
    """Return a map for each composer, budget and kind of hits: a line for each value, a column for each length."""
    there = _select_swept(rows, measure, factor)
    values = list(dict.fromkeys(row.factors[factor] for row in there))
    values = values if factor == "task" else sorted(values, key=float)
    lengths = sorted({int(row.factors["tokens"]) for row in there})
    several = with_several_hits(there)
    maps = grouped(
        sorted(there, key=hits_of) if several else there,
        lambda row: f"{row.way.composer}, {row.way.budget:,} tokens" + (f", {hits_of(row)} hits" if several else ""),
    )
    figure, axes = _panels(list(maps), height=0.28 * len(values) + 0.8)
    shades = colormaps[SHARES].resampled(_SHADES)
    for name, found in maps.items():
        cells = grouped(found, lambda row: (row.factors[factor], int(row.factors["tokens"])))
        means = [[_mean(cells.get((value, length)), measure) for length in lengths] for value in values]
        shown = axes[name].imshow(means, vmin=0, vmax=1, cmap=shades, aspect="auto")
        axes[name].set_xticks(range(len(lengths)), [f"{length / 1024:g}k" for length in lengths], fontsize=8)
        lines = [str(value) if factor == "task" else f"{value:g} %" for value in values]
        axes[name].set_yticks(range(len(values)), lines, fontsize=8)
        for line, row in enumerate(means):
            for column, mean in enumerate(row):
                if not np.isnan(mean):
                    ink = "black" if mean >= 0.5 else "white"
                    axes[name].text(column, line, f"{mean:.2f}", ha="center", va="center", fontsize=7, color=ink)
    figure.supxlabel("tokens of the haystack", fontsize=10)
    figure.supylabel(factor, fontsize=10)
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
    colours = colours_of(names)
    for title, found in composers.items():
        for at, order in enumerate(names):
            places = [row.measures["evidence_position"] for row in found if row.way.order == order]
            if places:
                heights, _ = np.histogram(places, bins=edges)
                line = {"color": colours[order], "linestyle": _LINES[at % len(_LINES)]}
                axes[title].stairs(heights / len(places), edges, label=order, linewidth=1.4, **line)
        axes[title].grid(alpha=0.3)
    figure.supxlabel("relative place in the context: 0 first, 1 last", fontsize=10)
    figure.supylabel("share of the questions", fontsize=10)
    _legend(figure, axes)
    return figure
