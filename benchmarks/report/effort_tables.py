"""Tables of what more budget buys: the levels of effort beside kNN, by budget, by set, and in other situations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from benchmarks.evidence.effort_summary import BASE, LEAN, SYSTEMS, below, difference, of, points
from benchmarks.evidence.systems import DEFAULT, FULL
from benchmarks.evidence.systems import KNN as NEAREST
from benchmarks.report.evidence_tables import cells, mean_and_worst, pair, table

KNN = NEAREST.name
SHOWN = {KNN: "kNN", DEFAULT: "**RetriVex**", LEAN: "lean effort", FULL: "full effort"}
NAMED = "documents named"
README_BUDGETS = (2000, 1000)
SITUATION_BUDGET = 2000


@cache
def measured() -> Sequence[dict[str, Any]]:
    """Return the cells of `results/effort.json`."""
    return cells("effort")


def curve(variation: str = BASE) -> list[Mapping[str, Any]]:
    """Return the cells of a variation, by budget."""
    return sorted(of(measured(), variation), key=lambda cell: int(cell["budget"]))


def effort_cell(budget: int, variation: str = BASE) -> Mapping[str, Any]:
    """Return the cell of a variation at a budget."""
    return next(cell for cell in curve(variation) if cell["budget"] == budget)


def means(cell: Mapping[str, Any], system: str) -> dict[str, float]:
    """Return a system's figures, mean of the sets."""
    return mean_and_worst([systems[system] for systems in cell["means"].values()])[0]


def shown(figures: Mapping[str, float]) -> str:
    """Write evidence / complete, in percent, and the tokens used."""
    return f"{pair(figures)} in {figures['tokens']:,.0f}"


def lower(variation: str, system: str = DEFAULT) -> str:
    """Say in how many sets and budgets a system is significantly below kNN."""
    found, tested = below(curve(variation), system, "recall")
    return f"{len(found)} of {tested}"


def budgets(variation: str = BASE) -> str:
    """Return the table of a row for each budget: what each level shows, and what the default gains."""
    rows = [
        [
            f"{cell['budget']:,}",
            *[shown(means(cell, system)) for system in SYSTEMS],
            *[points(difference(cell, DEFAULT, against, "recall")) for against in (KNN, FULL)],
            points(difference(cell, FULL, KNN, "recall")),
        ]
        for cell in curve(variation)
    ]
    header = ["evidence / complete, % in tokens", *SHOWN.values()]
    return table([*header, "RetriVex − kNN", "RetriVex − full", "full − kNN"], rows)


def levels() -> str:
    """Return the table of what each level of effort shows of the evidence, and uses of the tokens, at each budget."""
    rows = [[f"{cell['budget']:,}", *[_level(means(cell, system)) for system in SHOWN]] for cell in curve()]
    return table(["budget", "kNN", "`standard`", "`lean`", "`full`"], rows)


def _level(figures: Mapping[str, float]) -> str:
    return f"{100 * figures['recall']:.1f} % in {figures['tokens']:,.0f}"


def by_set(variation: str = BASE) -> str:
    """Return the table of each set at each budget: kNN, the default, full effort."""
    found = curve(variation)
    rows = []
    for name in found[0]["means"]:
        row = [name.replace("_", " ")]
        for cell in found:
            figures = cell["means"][name]
            row.append(" · ".join(pair(figures[system]) for system in (KNN, DEFAULT, FULL)))
        rows.append(row)
    return table(["kNN · RetriVex · full effort", *[f"{cell['budget']:,} tokens" for cell in found]], rows)


def lost() -> str:
    """Return every set and budget, of all variations, at which a level is significantly below kNN."""
    rows = [
        [variation, name.replace("_", " "), f"{budget:,}", SHOWN[system].replace("**", ""),
         points(difference(effort_cell(budget, variation), system, KNN, "recall", name))]
        for variation in variations()
        for system in (DEFAULT, FULL)
        for name, budget in below(curve(variation), system, "recall")[0]
    ]  # fmt: skip
    return table(["significantly below kNN", "set", "budget", "", "evidence, points"], rows) if rows else "None."


def variations() -> Iterator[str]:
    """Yield the variations that were measured."""
    yield from dict.fromkeys(str(cell["variation"]) for cell in measured())


def situations() -> str:
    """Return the table of all variations at all budgets: what the default gains on kNN and loses on full effort."""
    rows = [
        [
            variation,
            f"{cell['budget']:,}",
            *[shown(means(cell, system)) for system in (KNN, DEFAULT, FULL)],
            *[points(difference(cell, DEFAULT, against, "recall")) for against in (KNN, FULL)],
            points(difference(cell, DEFAULT, KNN, "complete")),
            lower(variation),
        ]
        for variation in variations()
        for cell in curve(variation)
    ]
    header = ["", "budget", "kNN", SHOWN[DEFAULT], SHOWN[FULL], "RetriVex − kNN", "RetriVex − full"]
    return table([*header, "complete: RetriVex − kNN", "below kNN"], rows)


def short() -> str:
    """Return the README's table: evidence, complete questions and tokens at two budgets, mean of the sets."""
    both = [effort_cell(budget) for budget in README_BUDGETS]
    rows = []
    for system, name in {KNN: "kNN", FULL: 'RetriVex, `effort="full"`', DEFAULT: SHOWN[DEFAULT]}.items():
        row = [name]
        for cell in both:
            mean = means(cell, system)
            row += [f"{100 * mean['recall']:.1f} %", f"{100 * mean['complete']:.1f} %", f"{mean['tokens']:,.0f}"]
        rows.append(row)
    header = [
        column.format(f"{budget:,}")
        for budget in README_BUDGETS
        for column in ("evidence, at most {} tokens", "questions with all of it", "tokens used")
    ]
    return table(["", *header], rows)


TABLES = {
    "evidence_short": short,
    "effort_levels": levels,
    "effort_budgets": budgets,
    "effort_sets": by_set,
    "effort_situations": situations,
    "effort_lost": lost,
    "effort_named": lambda: budgets(NAMED),
}
