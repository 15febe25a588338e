"""From the rows of the levels of effort to their committed results: means, differences, and where less is shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from benchmarks.evidence.run import Cell
from benchmarks.evidence.summary import COMPARED, FIGURES, RESAMPLES, SEED, interval_of, rounded
from benchmarks.evidence.systems import DEFAULT, FULL, KNN, LEAN
from retrivex.evaluation.compare.bootstrap import resampled_means
from retrivex.evaluation.compare.comparison import EVERY_SET, Comparison, compare
from retrivex.evaluation.run.results import Row
from retrivex.evaluation.run.summary import summarise

BASE = "base"
SYSTEMS = (KNN.name, DEFAULT, LEAN, FULL)
PAIRS = ((DEFAULT, KNN.name), (DEFAULT, FULL), (FULL, KNN.name))
DIFFERENCE = ("system", "against", "metric", "set", "mean", "low", "high", "p")
LEVEL = 0.05
LOST, LOST_AT_LEAST = -0.01, -0.015  # what the default may show less than full effort: mean, end of the interval


def summary(variation: str, cell: Cell, rows: Sequence[Row], resamples: int = RESAMPLES) -> dict[str, Any]:
    """Return the means of a variation at a budget for each set and system, and the differences of `PAIRS`."""
    means: dict[str, dict[str, dict[str, float]]] = {}
    questions: dict[str, int] = {}
    for line in summarise(rows):
        means.setdefault(line["set_name"], {})[line["composer"]] = rounded(line["measures"])
        questions.setdefault(line["set_name"], line["questions"])
    by_system = {system: [row for row in rows if row.way.composer == system] for system in SYSTEMS}
    differences = [
        {"system": ours, "against": theirs, "metric": found.measure, "set": found.set_name,
         **interval_of(found.difference), "p": chance(found, resamples)}
        for ours, theirs in PAIRS
        for found in compare(by_system[ours], by_system[theirs], COMPARED, resamples=resamples, seed=SEED)
    ]  # fmt: skip
    return {"variation": variation, **asdict(cell), "questions": questions, "means": means, "differences": differences}


def chance(found: Comparison, resamples: int) -> float | None:
    """Return how probable such a difference is by chance, in one set: twice the share of resampled means beyond 0."""
    if found.set_name == EVERY_SET:
        return None
    values = np.array([pair.difference for pair in found.pairs])
    drawn = resampled_means(values, resamples=resamples, seed=SEED)
    tail = min(int(np.sum(drawn >= 0)), int(np.sum(drawn <= 0)))
    return round(min(1.0, 2 * (tail + 1) / (resamples + 1)), 5)


def holm(chances: Sequence[float], level: float = LEVEL) -> list[bool]:
    """Return which of several tests are significant together (Holm, 1979).

    Examples
    --------
    >>> holm([0.03, 0.001, 0.02])
    [True, True, True]
    >>> holm([0.03, 0.001, 0.04])
    [False, True, False]
    """
    significant = [False] * len(chances)
    for rank, at in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        if chances[at] > level / (len(chances) - rank):
            break
        significant[at] = True
    return significant


def below(
    cells: Sequence[Mapping[str, Any]], system: str, metric: str, against: str = KNN.name
) -> tuple[list[tuple[str, int]], int]:
    """Return the sets and budgets at which a system is significantly below another, and how many were tested.

    Parameters
    ----------
    cells : of one variation; Holm's correction is over all their sets and budgets
    """
    lines = [
        (line, cell["budget"])
        for cell in cells
        for line in cell["differences"]
        if (line["system"], line["against"], line["metric"]) == (system, against, metric) and line["set"] != EVERY_SET
    ]
    significant = holm([line["p"] for line, _ in lines])
    found = [
        (line["set"], budget)
        for (line, budget), sure in zip(lines, significant, strict=True)
        if sure and line["mean"] < 0
    ]
    return found, len(lines)


def difference(
    cell: Mapping[str, Any], system: str, against: str, metric: str, name: str = EVERY_SET
) -> dict[str, Any]:
    """Return the line of a difference; where one set was asked alone, its own is the mean of the sets."""
    wanted = (system, against, metric)
    lines = [line for line in cell["differences"] if (line["system"], line["against"], line["metric"]) == wanted]
    return next((line for line in lines if line["set"] == name), lines[0])


def misses(cells: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield where the default falls short of what it must reach: `LOST` of full effort, kNN in the mean and by set."""
    for cell in cells:
        at = f"{cell['variation']}, {cell['budget']:,} tokens"
        full = difference(cell, DEFAULT, FULL, "recall")
        if full["mean"] < LOST or full["low"] < LOST_AT_LEAST:
            yield f"{at}: {points(full)} against full effort"
        knn = difference(cell, DEFAULT, KNN.name, "recall")
        if knn["low"] <= 0:
            yield f"{at}: {points(knn)} against kNN"
    for name in dict.fromkeys(cell["variation"] for cell in cells):
        for set_name, budget in below(of(cells, name), DEFAULT, "recall")[0]:
            yield f"{name}, {budget:,} tokens: significantly below kNN in {set_name}"


def of(cells: Sequence[Mapping[str, Any]], variation: str) -> list[Mapping[str, Any]]:
    """Return the cells of a variation."""
    return [cell for cell in cells if cell["variation"] == variation]


def points(line: Mapping[str, Any]) -> str:
    """Write a difference in points, with its interval."""
    return f"{100 * line['mean']:+.1f} [{100 * line['low']:+.1f}, {100 * line['high']:+.1f}]"


def packed(cell: Mapping[str, Any]) -> dict[str, Any]:
    """Return a cell with lists in the order of the columns instead of dictionaries."""
    means = {
        name: {system: [figures[column] for column in FIGURES] for system, figures in systems.items()}
        for name, systems in cell["means"].items()
    }
    lines = [[line[column] for column in DIFFERENCE] for line in cell["differences"]]
    return {**cell, "means": means, "differences": lines}
