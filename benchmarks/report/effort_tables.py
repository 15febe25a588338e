"""Tables of the levels of effort beside version 0.2 and kNN, and of questions that name their document."""

from __future__ import annotations

from typing import Any

from benchmarks.evidence.summary import EARLIER, LOSSES, losses
from benchmarks.report.evidence_tables import (
    WIDENING,
    cells,
    figures_of,
    interval,
    main_cell,
    mean_and_worst,
    pair,
    table,
)

DEFAULT = "RetriVex default"
LEAN = "RetriVex lean"
SHOWN = {
    "kNN": "kNN",
    EARLIER: "RetriVex as in version 0.2",
    WIDENING: "RetriVex, full effort",
    DEFAULT: "**RetriVex**, as it comes",
    LEAN: "RetriVex, lean effort",
}


def effort_cell(view: str, hits: int) -> dict[str, Any]:
    """Return a cell of `results/effort.json`: a view and a number of hits."""
    return next(cell for cell in cells("effort") if (cell["view"], cell["hits"]) == (view, hits))


def means(cell: dict[str, Any], system: str) -> dict[str, float]:
    """Return a system's figures, mean of the sets."""
    return mean_and_worst([found for found in figures_of(cell, system).values() if found])[0]


def change(cell: dict[str, Any], system: str, metric: str, against: str, name: str = "mean of sets") -> str:
    """Write what a system gains on another, in points with its interval; a dash where it was not compared."""
    wanted = (system, metric, against, name)
    lines = cell["differences"]
    found = [row for row in lines if (row["system"], row["metric"], row["against"], row["set"]) == wanted]
    return interval(found[0]) if found else "–"


def efforts(view: str, hits: int) -> str:
    """Return the table of evidence against tokens, and where the rest is lost."""
    cell = effort_cell(view, hits)
    rows = []
    for system, name in SHOWN.items():
        mean, lost = means(cell, system), losses(cell, system) or {}
        rows.append(
            [
                name,
                pair(mean),
                f"{mean['tokens']:,.0f}",
                f"{mean['spans']:.1f}",
                change(cell, system, "recall", EARLIER),
                change(cell, system, "recall", "kNN"),
                *[f"{100 * lost[kind]:.1f}" for kind in LOSSES],
                f"{mean['ms']:.1f}",
            ]
        )
    header = ["evidence / complete, %", "tokens", "spans", "evidence against 0.2", "against kNN"]
    return table(["", *header, *[f"lost: {kind}" for kind in LOSSES], "ms"], rows)


def by_set(view: str, hits: int) -> str:
    """Return the table of each set: evidence and tokens, and the change against version 0.2."""
    cell = effort_cell(view, hits)
    rows = []
    for name in cell["means"]:
        row = [name.replace("_", " ")]
        for system in SHOWN:
            figures = cell["means"][name][system]
            row.append(f"{100 * figures['recall']:.1f} in {figures['tokens']:,.0f}")
        rows.append([*row, *[change(cell, system, "recall", EARLIER, name) for system in (WIDENING, DEFAULT)]])
    header = [shown.replace("**", "") for shown in SHOWN.values()]
    return table(["evidence, % in tokens", *header, "full against 0.2", "as it comes against 0.2"], rows)


def short() -> str:
    """Return the README's table: evidence, complete questions and tokens, mean of the sets."""
    cell = effort_cell("all", 50)
    peers = [found for found in figures_of(main_cell("all", 50), "best peer").values() if found]
    rows = {
        "kNN": means(cell, "kNN"),
        "best peer of each set, chosen afterwards": mean_and_worst(peers)[0],
        'RetriVex, `effort="full"`': means(cell, WIDENING),
        "**RetriVex**, as it comes": means(cell, DEFAULT),
    }
    lines = [
        [name, f"{100 * mean['recall']:.1f} %", f"{100 * mean['complete']:.1f} %", f"{mean['tokens']:,.0f}"]
        for name, mean in rows.items()
    ]
    return table(["", "evidence in the context", "questions with all of it", "tokens"], lines)


TABLES = {
    "evidence_short": short,
    "effort_all_50": lambda: efforts("all", 50),
    "effort_sets_50": lambda: by_set("all", 50),
    "effort_all_20": lambda: efforts("all", 20),
    "effort_named": lambda: efforts("named", 50),
    "effort_sets_named": lambda: by_set("named", 50),
}
