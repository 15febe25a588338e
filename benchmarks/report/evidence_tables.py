"""Tables of the evidence benchmark, from its committed results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.evidence.systems import FULL

RESULTS = Path(__file__).parents[1] / "results"
CALIBRATED = "RetriVex calibrated"
AGAINST = ("kNN", "best peer", "reference k")
Found = Mapping[str, Any]


def cells(name: str) -> list[dict[str, Any]]:
    """Read the cells of a committed result, its lists turned into dictionaries by the names of their columns."""
    found = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
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


def main_cell(view: str, hits: int) -> dict[str, Any]:
    """Return a cell of the main view."""
    return next(cell for cell in cells("evidence") if (cell["view"], cell["hits"]) == (view, hits))


def systems_of(cell: Found) -> list[str]:
    """Return the systems of a cell, those that ran on all sets first."""
    means = list(cell["means"].values())
    known = dict.fromkeys(system for systems in means for system in systems)
    return sorted(known, key=lambda system: sum(system in systems for systems in means) < len(means))


def pair(figures: Mapping[str, float] | None) -> str:
    """Write share of evidence / complete, in percent."""
    return f"{100 * figures['recall']:.1f} / {100 * figures['complete']:.1f}" if figures else "–"


def figures_of(cell: Found, system: str) -> dict[str, dict[str, float] | None]:
    """Return a system's means for each set; `best peer` is the set's best in share of evidence."""
    if system != "best peer":
        return {name: systems.get(system) for name, systems in cell["means"].items()}
    best = {
        line["set"]: line["other"]
        for line in cell["differences"]
        if (line["against"], line["metric"], line["system"]) == ("best peer", "recall", CALIBRATED)
    }
    return {name: systems.get(best.get(name, "")) for name, systems in cell["means"].items()}


def mean_and_worst(figures: Sequence[Mapping[str, float]]) -> tuple[dict[str, float], dict[str, float]]:
    """Return the mean over the sets and the worst of them, metric by metric."""
    mean = {metric: sum(found[metric] for found in figures) / len(figures) for metric in figures[0]}
    return mean, {metric: min(found[metric] for found in figures) for metric in figures[0]}


def whole(view: str, hits: int) -> str:
    """Return the table of all systems and sets in a cell of the main view."""
    cell = main_cell(view, hits)
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


def differences(view: str, hits: int, system: str = CALIBRATED) -> str:
    """Return the table of what the calibrated scorer gains or loses, with 95 % intervals."""
    lines = [line for line in main_cell(view, hits)["differences"] if line["system"] == system]
    rows = []
    for name in dict.fromkeys(line["set"] for line in lines):
        here = {(line["against"], line["metric"]): line for line in lines if line["set"] == name}
        found = [here.get((against, metric)) for against in AGAINST for metric in ("recall", "complete")]
        rows.append([name.replace("_", " "), *[_with_name(line) if line else "–" for line in found]])
    header = [f"{metric} against {against}" for against in AGAINST for metric in ("evidence", "complete")]
    return table(["points", *header], rows)


def _with_name(line: Found) -> str:
    return interval(line) + (f" ({line['other']})" if line["other"] != line["against"] else "")


def grid(against: str, system: str = CALIBRATED) -> str:
    """Return the table of the whole grid: a system's gain, mean of the sets; (…) where it is not sure."""
    found = cells("evidence_grid")
    budgets = sorted({cell["budget"] for cell in found})
    rows: dict[tuple[int, str, int], dict[int, str]] = {}
    for cell in found:
        row = rows.setdefault((cell["size"], cell["retrieval"], cell["hits"]), {})
        row[cell["budget"]] = _gain(cell, against, system)
    return table(
        [f"evidence / complete against {against}, points", *[f"{budget:,} tokens" for budget in budgets]],
        [
            [f"{size}-token chunks, {hits} {retrieval} hits", *[row.get(budget, "–") for budget in budgets]]
            for (size, retrieval, hits), row in sorted(rows.items())
        ],
    )


def _gain(cell: Found, against: str, system: str) -> str:
    lines = {
        line["metric"]: line
        for line in cell["differences"]
        if (line["system"], line["against"], line["set"]) == (system, against, "mean of sets")
    }
    if not lines:
        return "–"
    written = [f"{100 * line['mean']:+.1f}" for line in (lines["recall"], lines["complete"])]
    sure = [line["low"] > 0 or line["high"] < 0 for line in (lines["recall"], lines["complete"])]
    return " / ".join(text if known else f"({text})" for text, known in zip(written, sure, strict=True))


def losses(system: str = CALIBRATED) -> str:
    """Return every set and cell in which the calibrated scorer is surely below kNN or the reference."""
    rows = [
        [
            f"{cell['size']}-token chunks, {cell['hits']} {cell['retrieval']} hits, {cell['budget']:,} tokens",
            line["set"].replace("_", " "),
            line["metric"],
            f"{interval(line)} against {line['against']}",
        ]
        for cell in [*cells("evidence"), *cells("evidence_grid")]
        for line in cell["differences"]
        if line["system"] == system and line["high"] < 0 and line["against"] != "best peer"
    ]
    return table(["surely lower", "set", "metric", "points"], rows) if rows else "None."


TABLES = {
    "evidence_all_50": lambda: whole("all", 50),
    "evidence_all_20": lambda: whole("all", 20),
    "evidence_alone_50": lambda: whole("alone", 50),
    "evidence_alone_20": lambda: whole("alone", 20),
    "evidence_differences_all_50": lambda: differences("all", 50),
    "evidence_differences_all_20": lambda: differences("all", 20),
    "evidence_differences_alone_50": lambda: differences("alone", 50),
    "evidence_differences_alone_20": lambda: differences("alone", 20),
    "evidence_grid_knn": lambda: grid("kNN"),
    "evidence_grid_peer": lambda: grid("best peer"),
    "evidence_grid_reference": lambda: grid("reference k"),
    "evidence_grid_default_knn": lambda: grid("kNN", FULL),
    "evidence_grid_default_peer": lambda: grid("best peer", FULL),
    "evidence_grid_default_reference": lambda: grid("reference k", FULL),
    "evidence_losses": losses,
    "evidence_default_losses": lambda: losses(FULL),
    "evidence_default_differences_all_50": lambda: differences("all", 50, FULL),
    "evidence_default_differences_all_20": lambda: differences("all", 20, FULL),
}
