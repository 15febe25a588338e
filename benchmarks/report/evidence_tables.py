"""Tables of the evidence benchmark, from its committed results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import erfc, sqrt
from typing import Any

from benchmarks.evidence.effort_summary import holm
from benchmarks.evidence.systems import DEFAULT, KNN, REFERENCE
from benchmarks.report.committed import result

BEST_PEER = "best peer"
AGAINST = (KNN.name, BEST_PEER, REFERENCE)
MEAN = "mean of sets"
_QUANTILE = 1.959964  # of the normal distribution, at 97.5 %
BUDGETS = (2000, 1000)
"""Of the tables that are shown for some budgets: the default one, and half of it."""

Found = Mapping[str, Any]


def cells(name: str) -> list[dict[str, Any]]:
    """Read the cells of a committed result, its lists turned into dictionaries by the names of their columns."""
    found = result(name)
    columns = found["columns"]
    return [
        {
            **cell,
            "means": {
                name: {system: dict(zip(columns["means"], row, strict=True)) for system, row in systems.items()}
                for name, systems in cell["means"].items()
            },
            "differences": [dict(zip(columns["differences"], row, strict=True)) for row in cell["differences"]],
        }
        for cell in found["cells"]
    ]


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a Markdown table, numbers to the right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main_cell(view: str, hits: int, budget: int) -> dict[str, Any]:
    """Return a main cell."""
    return next(
        cell for cell in cells("evidence") if (cell["view"], cell["hits"], cell["budget"]) == (view, hits, budget)
    )


def curve() -> list[dict[str, Any]]:
    """Return the main cells of all budgets, ascending."""
    found = [cell for cell in cells("evidence") if (cell["view"], cell["hits"]) == ("all", 50)]
    return sorted(found, key=lambda cell: int(cell["budget"]))


def systems_of(cell: Found) -> list[str]:
    """Return the systems of a cell, those that ran on all sets first."""
    means = list(cell["means"].values())
    known = dict.fromkeys(system for systems in means for system in systems)
    return sorted(known, key=lambda system: sum(system in systems for systems in means) < len(means))


def pair(figures: Mapping[str, float] | None) -> str:
    """Write share of evidence / complete, in percent."""
    return f"{100 * figures['recall']:.1f} / {100 * figures['complete']:.1f}" if figures else "–"


def figures_of(cell: Found, system: str, metric: str = "recall") -> dict[str, dict[str, float] | None]:
    """Return a system's means for each set; `best peer` is the set's best by a metric."""
    if system != BEST_PEER:
        return {name: systems.get(system) for name, systems in cell["means"].items()}
    best = {
        line["set"]: line["other"]
        for line in cell["differences"]
        if (line["against"], line["metric"], line["system"]) == (BEST_PEER, metric, DEFAULT)
    }
    return {name: systems.get(best.get(name, "")) for name, systems in cell["means"].items()}


def mean_and_worst(figures: Sequence[Mapping[str, float]]) -> tuple[dict[str, float], dict[str, float]]:
    """Return the mean over the sets and the worst of them, metric by metric."""
    mean = {metric: sum(found[metric] for found in figures) / len(figures) for metric in figures[0]}
    return mean, {metric: min(found[metric] for found in figures) for metric in figures[0]}


def whole(view: str, hits: int, budget: int) -> str:
    """Return the table of all systems and sets in a main cell."""
    cell = main_cell(view, hits, budget)
    rows = []
    for system in systems_of(cell):
        figures = figures_of(cell, system)
        known = [found for found in figures.values() if found]
        mean, worst = mean_and_worst(known)
        everywhere = len(known) == len(figures)
        rows.append(
            [
                system,
                *[pair(found) for found in figures.values()],
                *([pair(mean), pair(worst)] if everywhere else ["–", "–"]),
                f"{mean['spans']:.1f}",
                f"{mean['tokens']:.0f}",
                f"{mean['ms']:.1f}",
            ]
        )
    names = [name.replace("_", " ") for name in cell["means"]]
    return table(["evidence / complete, %", *names, "mean", "worst", "spans", "tokens", "ms"], rows)


def interval(line: Found) -> str:
    """Write a difference in points, with its interval."""
    return f"{100 * line['mean']:+.1f} [{100 * line['low']:+.1f}, {100 * line['high']:+.1f}]"


def by_budget() -> str:
    """Return the table of all systems that ran on all sets, at each budget, mean of the sets."""
    found = curve()
    rows = []
    for system in systems_of(found[0]):
        figures = [[one for one in figures_of(cell, system).values() if one] for cell in found]
        if all(len(one) == len(cell["means"]) for one, cell in zip(figures, found, strict=True)):
            rows.append([system, *[pair(mean_and_worst(one)[0]) for one in figures]])
    return table(["evidence / complete, %", *[f"{cell['budget']:,} tokens" for cell in found]], rows)


def differences(view: str, hits: int, budget: int) -> str:
    """Return the table of what the default gains or loses, with 95 % intervals."""
    lines = [line for line in main_cell(view, hits, budget)["differences"] if line["system"] == DEFAULT]
    rows = []
    for name in dict.fromkeys(line["set"] for line in lines):
        here = {(line["against"], line["metric"]): line for line in lines if line["set"] == name}
        found = [here.get((against, metric)) for against in AGAINST for metric in ("recall", "complete")]
        rows.append([name.replace("_", " "), *[_with_name(line) if line else "–" for line in found]])
    header = [f"{metric} against {against}" for against in AGAINST for metric in ("evidence", "complete")]
    return table(["points", *header], rows)


def _with_name(line: Found) -> str:
    return interval(line) + (f" ({line['other']})" if line["other"] != line["against"] else "")


def sure(lines: Sequence[Found]) -> list[bool]:
    """Return which of several differences are significant together, by Holm's correction over all of them."""
    return holm([chance(line) for line in lines])


def chance(line: Found) -> float:
    """Return how probable a difference is by chance, from its interval: two tails of a normal distribution.

    The resampled means themselves are too few for the correction over thousands of differences.
    """
    deviation = (line["high"] - line["low"]) / (2 * _QUANTILE)
    if deviation == 0:
        return float(line["mean"] == 0)
    return erfc(abs(line["mean"]) / (deviation * sqrt(2)))


def grid(against: str) -> str:
    """Return the table of the whole grid: the default's gain, mean of the sets; (…) where it is not significant."""
    found = cells("evidence_grid")
    budgets = sorted({cell["budget"] for cell in found})
    rows: dict[tuple[int, str, int], dict[int, str]] = {}
    for cell in found:
        row = rows.setdefault((cell["size"], cell["retrieval"], cell["hits"]), {})
        row[cell["budget"]] = _gain(cell, against)
    return table(
        [f"evidence / complete against {against}, points", *[f"{budget:,} tokens" for budget in budgets]],
        [
            [f"{size}-token chunks, {hits} {retrieval} hits", *[row.get(budget, "–") for budget in budgets]]
            for (size, retrieval, hits), row in sorted(rows.items())
        ],
    )


def _gain(cell: Found, against: str) -> str:
    lines = {
        line["metric"]: line
        for line in cell["differences"]
        if (line["system"], line["against"], line["set"]) == (DEFAULT, against, MEAN)
    }
    if not lines:
        return "–"
    written = [f"{100 * line['mean']:+.1f}" for line in (lines["recall"], lines["complete"])]
    known = [line["low"] > 0 or line["high"] < 0 for line in (lines["recall"], lines["complete"])]
    return " / ".join(text if one else f"({text})" for text, one in zip(written, known, strict=True))


def losses() -> list[tuple[Found, Found]]:
    """Return each cell and line in which the default is significantly below another, by Holm's correction over all."""
    found = [
        (cell, line)
        for cell in [*cells("evidence"), *cells("evidence_grid")]
        for line in cell["differences"]
        if line["system"] == DEFAULT and line["set"] != MEAN
    ]
    return [
        one for one, known in zip(found, sure([line for _, line in found]), strict=True) if known and one[1]["mean"] < 0
    ]


def lost() -> str:
    """Return the table of `losses`."""
    rows = [
        [
            f"{cell['size']}-token chunks, {cell['hits']} {cell['retrieval']} hits, {cell['budget']:,} tokens",
            line["set"].replace("_", " "),
            line["metric"],
            f"{interval(line)} against {line['other']}",
        ]
        for cell, line in losses()
    ]
    return table(["surely lower", "set", "metric", "points"], rows) if rows else "None."


TABLES: Mapping[str, Callable[[], str]] = {
    "evidence_by_budget": by_budget,
    **{
        f"evidence_{view}_50_{budget}": partial(whole, view, 50, budget)
        for view in ("all", "alone")
        for budget in BUDGETS
    },
    **{
        f"evidence_differences_{view}_{hits}_{budget}": partial(differences, view, hits, budget)
        for view, hits in (("all", 50), ("alone", 50))
        for budget in BUDGETS
    },
    "evidence_grid_knn": partial(grid, KNN.name),
    "evidence_grid_peer": partial(grid, BEST_PEER),
    "evidence_grid_reference": partial(grid, REFERENCE),
    "evidence_losses": lost,
}
