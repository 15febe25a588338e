"""Draws the figures of the evaluation report into `docs/figures/report`.

The colours are those of Okabe and Ito, which people with colour blindness can tell apart; a colour means the same
system, or order, in every figure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.evidence.effort_summary import BASE
from benchmarks.evidence.systems import DEFAULT, FULL, KNN
from benchmarks.report import effort_tables, numbers, suite_pages
from benchmarks.report.chapters import PAIRS
from benchmarks.report.colours import COMPOSERS
from benchmarks.report.colours import ORDERS as COLOURS_OF_ORDERS
from benchmarks.report.committed import result
from benchmarks.report.numbers import Interval
from benchmarks.report.suite_figures import png
from retrivex.evaluation.run.results import Row

FOLDER = Path(__file__).parents[2] / "docs" / "figures" / "report"
COLOURS = {
    "kNN": COMPOSERS["knn"],
    "kNN±1": COMPOSERS["knn±1"],
    "best peer": "#009E73",
    "reference": "#0072B2",
    "RetriVex": COMPOSERS["balanced"],
    "full effort": "#000000",
}
ORDERS = {
    name: (COLOURS_OF_ORDERS[name], style)
    for name, style in (("edge_balanced", "o-"), ("score_desc", "s--"), ("back_first", "^:"), ("shuffle", "x-."))
}
SYSTEMS = {"knn": "kNN", "knn±1": "kNN±1", numbers.RETRIVEX: "RetriVex", "full": "full effort"}
MARKERS = {"kNN": "s--", "kNN±1": "^:", "RetriVex": "o-", "full effort": "x:"}


def evidence() -> Figure:
    """Return bars: complete questions for each set and system."""
    main = numbers.main()
    names = [*main["questions"], "mean"]
    figure, panel = _panel(9, 3.6)
    width = 0.2
    for place, (system, shown) in enumerate(PAIRS.items()):
        values = [numbers.set_figure(main, name, system) for name in main["questions"]]
        values.append(numbers.mean_figure(main, system))
        at = np.arange(len(names)) + (place - 1.5) * width
        panel.bar(at, 100 * np.array(values), width, color=COLOURS[shown], label=shown)
    panel.set_xticks(range(len(names)), [name.replace("_", "\n") for name in names], fontsize=9)
    panel.set_ylabel("complete questions, %")
    panel.set_ylim(0, 100)
    panel.grid(axis="y", alpha=0.3)
    figure.legend(loc="outside upper center", ncols=len(PAIRS), fontsize=9)
    return figure


def grid() -> Figure:
    """Return the heat map of gains on kNN."""
    cells = numbers.grid()
    budgets = sorted({cell["budget"] for cell in cells})
    rows = sorted({(cell["retrieval"] != "dense", cell["retrieval"], cell["size"], cell["hits"]) for cell in cells})
    values = np.full((len(rows), len(budgets)), np.nan)
    for cell in cells:
        row = rows.index((cell["retrieval"] != "dense", cell["retrieval"], cell["size"], cell["hits"]))
        values[row, budgets.index(cell["budget"])] = 100 * numbers.difference(cell, "kNN").mean
    figure, panel = _panel(7.5, 6.2)
    largest = float(np.nanmax(np.abs(values)))
    loses = float(np.nanmin(values)) < 0
    image = panel.imshow(
        values, cmap="BrBG" if loses else "YlGnBu", vmin=-largest if loses else 0, vmax=largest, aspect="auto"
    )
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            dark = abs(value) > 0.6 * largest
            panel.text(
                column, row, f"{value:+.0f}", ha="center", va="center", color="white" if dark else "black", size=9
            )
    panel.set_xticks(range(len(budgets)), [f"{budget:,}" for budget in budgets])
    panel.set_yticks(range(len(rows)), [f"{size}-token chunks, {hits} {kind} hits" for _, kind, size, hits in rows])
    panel.set_xlabel("token budget")
    figure.colorbar(image, ax=panel, label="RetriVex − kNN, complete questions, points")
    return figure


def encoders() -> Figure:
    """Return evidence against the budget: a panel for each encoder, with vectors and without."""
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    panels = figure.subplots(1, 2)
    variations = (("all-MiniLM-L6-v2", BASE, "no vectors"),
                  ("multilingual-e5-small", "second encoder", "second encoder, no vectors"))  # fmt: skip
    for panel, (title, base, bare) in zip(panels, variations, strict=True):
        lines = ((base, KNN.name, "kNN", "s--", COLOURS["kNN"]), (base, DEFAULT, "RetriVex", "o-", COLOURS["RetriVex"]),
                 (bare, DEFAULT, "RetriVex, no vectors", "x:", COLOURS["RetriVex"]))  # fmt: skip
        for variation, system, label, style, colour in lines:
            cells = effort_tables.curve(variation)
            budgets = [cell["budget"] for cell in cells]
            shares = [100 * effort_tables.means(cell, system)["recall"] for cell in cells]
            panel.plot(budgets, shares, style, color=colour, markersize=5, label=label)
        panel.set_xscale("log", base=2)
        panel.set_xticks(budgets, [f"{budget:,}" for budget in budgets])
        panel.set_title(f"{title}, {len(cells[0]['means'])} sets", fontsize=10)
        panel.set_xlabel("tokens asked for")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("evidence in the context, %")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, fontsize=9)
    return figure


def needles() -> Figure:
    """Return needles against the length of the haystack: shared words and other words."""
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    families = (("question shares words", "niah", True), ("other words, held out", "niah_held_out", None))
    for panel, (title, family, shares) in zip(panels, families, strict=True):
        _by_factor(panel, numbers.needles(family, shares_words=shares), "complete", "tokens")
        panel.set_title(title, fontsize=10)
        panel.set_xlabel("length of the haystack, tokens")
    panels[0].set_ylabel("needles in the context, %")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=4, fontsize=9)
    return figure


def ruler() -> Figure:
    """Return RULER's answers in the context against the length of the haystack."""
    figure, panel = _panel(6, 3.4)
    _by_factor(panel, numbers.ruler(), "answer_in_context", "tokens")
    panel.set_xlabel("length of the haystack, tokens")
    panel.set_ylabel("answers in the context, %")
    figure.legend(loc="outside upper center", ncols=4, fontsize=9)
    return figure


def longbench() -> Figure:
    """Return LongBench's answers in the context against the budget."""
    figure, panel = _panel(6, 3.4)
    budgets = sorted({row.way.budget for row in numbers.runs("longbench")})
    for system, shown in SYSTEMS.items():
        found = [numbers.share(numbers.longbench(budget), system, "answer_in_context") for budget in budgets]
        _line(panel, budgets, found, shown)
    panel.set_xscale("log", base=2)
    panel.set_xticks(budgets, [f"{budget:,}" for budget in budgets])
    panel.set_xlabel("token budget")
    panel.set_ylabel("answers in the context, %")
    figure.legend(loc="outside upper center", ncols=4, fontsize=9)
    return figure


def orders() -> Figure:
    """Return the simulated accuracy of each order against the place at which the gold passage was given."""
    figure, panel = _panel(6, 3.4)
    found = numbers.orders("given")
    for order, (colour, style) in ORDERS.items():
        places: dict[str, list[Row]] = {"first": [], "middle": [], "last": []}
        for row in found[order]:
            at = float(row.factors["gold_at"]) / (float(row.factors["documents"]) - 1)
            places["first" if at == 0 else "last" if at == 1 else "middle"].append(row)
        means = [suite_pages.simulated_accuracy(rows)[0] for rows in places.values()]
        panel.plot(list(places), means, style, color=colour, label=order)
    panel.set_xlabel("place of the gold passage among the hits as given")
    panel.set_ylabel("simulated accuracy, %")
    panel.grid(alpha=0.3)
    figure.legend(loc="outside upper center", ncols=4, fontsize=9)
    return figure


def growth() -> Figure:
    """Return time against the number of hits, with the floor where it was measured."""
    latency = result("latency")
    figure, panel = _panel(6, 3.4)
    hits = [row["k"] for row in latency["growth"]]
    panel.plot(hits, [row["ms"] for row in latency["growth"]], "o-", color=COLOURS["RetriVex"], label="compose, ±2")
    floor = sorted(
        (row["k"], sum(row["floor_us"].values()) / 1e3)
        for row in latency.get("grid", {}).get("rows", [])
        if (row["scorer"], row["window"]) == ("calibrated", 2)
    )
    panel.plot([k for k, _ in floor], [ms for _, ms in floor], ":", color="#000000", label="floor")
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.xaxis.set_major_formatter("{x:,.0f}")
    panel.yaxis.set_major_formatter("{x:g}")
    panel.set_xlabel("hits")
    panel.set_ylabel("milliseconds")
    panel.grid(alpha=0.3)
    figure.legend(loc="outside upper center", ncols=2, fontsize=9)
    return figure


def reliability() -> Figure:
    """Return how often evidence was there against the confidence."""
    found = result("calibration")["reliability"]
    figure, panel = _panel(4.6, 4)
    panel.plot([0, 1], [0, 1], ":", color="#000000", label="perfect")
    confidence = [row["confidence"] for row in found]
    panel.plot(confidence, [row["holds evidence"] for row in found], "o-", color=COLOURS["RetriVex"], label="RetriVex")
    panel.set_xlabel("confidence, mean of a tenth of the questions")
    panel.set_ylabel("share that holds evidence")
    panel.grid(alpha=0.3)
    figure.legend(loc="outside upper center", ncols=2, fontsize=9)
    return figure


def named() -> Figure:
    """Return bars: evidence for questions that name their document, and for the same without the name."""
    systems = {"kNN": COLOURS["kNN"], effort_tables.DEFAULT: COLOURS["RetriVex"], FULL: "#000000"}
    plain, naming = (effort_tables.effort_cell(1000, name) for name in (effort_tables.BASE, effort_tables.NAMED))
    figure, panel = _panel(7.2, 3.4)
    names = list(naming["means"])
    for place, (system, colour) in enumerate(systems.items()):
        at = np.arange(len(names)) + (place - 1) * 0.26
        heights = [100 * naming["means"][name][system]["recall"] for name in names]
        panel.bar(at, heights, 0.24, color=colour, label=effort_tables.SHOWN[system].replace("**", ""))
        without = [100 * plain["means"][name][system]["recall"] for name in names]
        panel.plot(at, without, "_", color="#0072B2", markersize=18, markeredgewidth=2)
    panel.plot([], [], "_", color="#0072B2", markeredgewidth=2, label="the same questions without the name")
    panel.set_xticks(range(len(names)), [name.replace("_", " ") for name in names])
    panel.set_ylabel("evidence in the context, %")
    panel.set_ylim(0, 105)
    panel.grid(axis="y", alpha=0.3)
    figure.legend(loc="outside upper center", ncols=2, fontsize=9)
    return figure


CONCEPTS: Mapping[str, Callable[[], Figure]] = {"named": named}
"""The figure of the page on concepts, drawn into `docs/figures/concepts`."""

FIGURES: Mapping[str, Callable[[], Figure]] = {
    "evidence": evidence,
    "grid": grid,
    "encoders": encoders,
    "needles": needles,
    "ruler": ruler,
    "longbench": longbench,
    "orders": orders,
    "growth": growth,
    "reliability": reliability,
}


def _panel(width: float, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def _by_factor(panel: Axes, rows: Sequence[Row], measure: str, factor: str) -> None:
    values = sorted({int(row.factors[factor]) for row in rows})
    for system, shown in SYSTEMS.items():
        found = [
            numbers.share([row for row in rows if row.factors[factor] == value], system, measure) for value in values
        ]
        _line(panel, values, found, shown)
    panel.set_xscale("log", base=2)
    panel.set_xticks(values, [f"{value // 1024}k" for value in values])


def _line(panel: Axes, at: Sequence[int], found: Sequence[Interval], shown: str) -> None:
    means, low, high = (100 * np.array([getattr(one, name) for one in found]) for name in ("mean", "low", "high"))
    panel.fill_between(at, low, high, color=COLOURS[shown], alpha=0.15, linewidth=0)
    panel.plot(at, means, MARKERS[shown], color=COLOURS[shown], label=shown)
    panel.set_ylim(0, 102)
    panel.grid(alpha=0.3)


def main() -> None:
    """Draw every figure."""
    for folder, figures in ((FOLDER, FIGURES), (FOLDER.with_name("concepts"), CONCEPTS)):
        folder.mkdir(parents=True, exist_ok=True)
        for name, draw in figures.items():
            (folder / f"{name}.png").write_bytes(png(draw()))


if __name__ == "__main__":
    main()
