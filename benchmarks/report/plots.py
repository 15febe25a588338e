"""Draws the plots of the tables from the committed results: evidence against budgets, time against hits and windows.

Run: `python -m benchmarks.report.plots`, as `make report` does (needs matplotlib, see `requirements.txt`); writes
`docs/figures/*.png`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from benchmarks.evidence.systems import DEFAULT, FULL, KNN, REFERENCE, WEIGHTED
from benchmarks.report.committed import result
from benchmarks.report.evidence_tables import BEST_PEER, curve, figures_of, mean_and_worst
from benchmarks.report.report_figures import COLOURS
from benchmarks.report.suite_figures import png

FIGURES = Path(__file__).parents[2] / "docs" / "figures"
METRICS = {"recall": "share of the evidence", "complete": "questions with all of it"}
SHADES = ("#FDCC8A", "#FC8D59", "#D55E00", "#7F2704")
STYLES = {
    KNN.name: (COLOURS["kNN"], "--"),
    "kNN±1": (COLOURS["kNN±1"], ":"),
    "RSE without minimum": ("#CC79A7", ":"),
    "sentence window": (COLOURS["best peer"], ":"),
    REFERENCE: (COLOURS["reference"], "--"),
    WEIGHTED: ("#56B4E9", "-"),
    DEFAULT: (COLOURS["RetriVex"], "-"),
}
CURVES = {
    KNN.name: (COLOURS["kNN"], "s--", "kNN"),
    BEST_PEER: (COLOURS["best peer"], "v-.", "best peer of each set"),
    DEFAULT: (COLOURS["RetriVex"], "o-", "RetriVex"),
    FULL: ("#000000", "^:", "RetriVex, full effort"),
}


def against_budget(metric: str, found: list[dict[str, Any]]) -> Figure:
    """Return one metric: a panel for each set, a line for each system."""
    sets = list(found[0]["means"])
    figure = Figure(figsize=(11, 6))
    panels = figure.subplots(2, (len(sets) + 1) // 2, sharex=True, squeeze=False)
    for panel, name in zip(panels.flat, sets, strict=False):
        for system, (color, line) in STYLES.items():
            values = [cell["means"][name][system][metric] for cell in found if system in cell["means"][name]]
            if len(values) == len(found):
                budgets = [cell["budget"] for cell in found]
                panel.plot(budgets, values, color=color, linestyle=line, marker="o", markersize=3, label=system)
        panel.set_title(name.replace("_", " "), fontsize=10)
        panel.set_xscale("log", base=2)
        panel.set_xticks([cell["budget"] for cell in found], [f"{cell['budget']:,}" for cell in found])
        panel.set_ylim(bottom=0)
        panel.grid(alpha=0.3)
    for panel in panels.flat[len(sets) :]:
        panel.set_visible(False)
    figure.supxlabel("token budget")
    figure.supylabel(METRICS[metric])
    figure.legend(*panels.flat[0].get_legend_handles_labels(), loc="upper center", ncols=len(STYLES), fontsize=9)
    figure.tight_layout(rect=(0, 0, 1, 0.95))
    return figure


def against_hits(found: list[dict[str, Any]]) -> Figure:
    """Return milliseconds of composing: a panel for each scorer, a line for each window; dotted the floor."""
    scorers = list(dict.fromkeys(row["scorer"] for row in found))
    windows = sorted({row["window"] for row in found})
    figure = Figure(figsize=(8.5, 3.8), layout="constrained")
    panels = figure.subplots(1, len(scorers), sharey=True, squeeze=False)
    for panel, scorer in zip(panels.flat, scorers, strict=True):
        for color, window in zip(SHADES, windows, strict=False):
            rows = sorted((row for row in found if (row["scorer"], row["window"]) == (scorer, window)), key=hits_of)
            hits = [row["k"] for row in rows]
            panel.plot(hits, [row["us"] / 1e3 for row in rows], "o-", color=color, markersize=3, label=f"L = {window}")
            panel.plot(hits, [sum(row["floor_us"].values()) / 1e3 for row in rows], ":", color=color, linewidth=1)
        panel.set_title(scorer, fontsize=10)
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_xticks(hits, [str(k) for k in hits])
        panel.minorticks_off()
        panel.yaxis.set_major_formatter("{x:g}")
        panel.grid(alpha=0.3)
    figure.supxlabel("hits k")
    figure.supylabel("milliseconds (dotted: floor)")
    figure.legend(
        *panels.flat[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(windows), fontsize=9
    )
    return figure


def more_budget(found: Sequence[Mapping[str, Any]]) -> Figure:
    """Return what more budget buys: evidence against the budget asked for, and against the tokens used."""
    budgets = [cell["budget"] for cell in found]
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for system, (colour, style, name) in CURVES.items():
        means = [_mean(cell, system) for cell in found]
        evidence = [100 * mean["recall"] for mean in means]
        panels[0].plot(budgets, evidence, style, color=colour, markersize=5, label=name)
        panels[1].plot([mean["tokens"] for mean in means], evidence, style, color=colour, markersize=5)
    for panel, shows in zip(panels, ("tokens asked for", "tokens used, mean of sets"), strict=True):
        panel.set_xscale("log", base=2)
        panel.set_xticks(budgets, [f"{budget:,}" for budget in budgets])
        panel.minorticks_off()
        panel.set_xlabel(shows)
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("evidence in the context, %")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(CURVES), fontsize=9)
    return figure


def _mean(cell: Mapping[str, Any], system: str) -> Mapping[str, float]:
    return mean_and_worst([found for found in figures_of(cell, system).values() if found])[0]


def hits_of(row: dict[str, Any]) -> int:
    """Return k."""
    return int(row["k"])


def main() -> None:
    """Draw every plot whose results are there."""
    found = curve()
    made = {f"evidence_{metric}": against_budget(metric, found) for metric in METRICS}
    made["budget"] = more_budget(found)
    grid = result("latency").get("grid")
    if grid:
        made["latency"] = against_hits(grid["rows"])
    FIGURES.mkdir(parents=True, exist_ok=True)
    for name, figure in made.items():
        (FIGURES / f"{name}.png").write_bytes(png(figure))


if __name__ == "__main__":
    main()
