"""The numbers that the evaluation report states, each computed from a committed result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.evidence.summary import COMPARED
from benchmarks.evidence.systems import DEFAULT
from benchmarks.report.committed import result, rows_of
from benchmarks.report.evidence_tables import BUDGETS, MEAN, cells, figures_of, main_cell, mean_and_worst, sure
from retrivex.evaluation.compare.bootstrap import resampled_means
from retrivex.evaluation.report.grouping import BASELINE, family_of, interval_of, per_question, plain
from retrivex.evaluation.run.results import Row

RETRIVEX = "balanced"  # the preset that runs of the evaluation harness call the default
COUNTING_TASKS = ("cwe", "fwe")

Line = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its 95 % interval, and the number of questions behind it."""

    mean: float
    low: float
    high: float
    count: int

    def points(self) -> str:
        """Write a difference in percentage points."""
        return f"{100 * self.mean:+.1f} [{100 * self.low:+.1f}, {100 * self.high:+.1f}]"

    def percent(self) -> str:
        """Write a share in percent."""
        return f"{100 * self.mean:.1f} [{100 * self.low:.1f}, {100 * self.high:.1f}]"

    def significant(self) -> bool:
        """Return whether the interval leaves 0 out."""
        return self.low > 0 or self.high < 0


def main(budget: int = BUDGETS[0]) -> dict[str, Any]:
    """Return the cell of the main result at a budget: all sets in one index, 200-token chunks, 50 dense hits."""
    return main_cell("all", 50, budget)


def difference(cell: Line, against: str, metric: str = "complete", name: str = MEAN) -> Interval:
    """Return how much the default gains on another system in a cell of the evidence benchmark."""
    return interval_of_line(difference_line(cell, against, metric, name))


def interval_of_line(line: Line) -> Interval:
    """Return a difference with its interval."""
    return Interval(line["mean"], line["low"], line["high"], line["questions"])


def difference_line(cell: Line, against: str, metric: str, name: str = MEAN) -> Line:
    """Return the line of a difference of the default, which also names the other system."""
    wanted = (DEFAULT, metric, against, name)
    found: Line = next(
        line for line in cell["differences"] if (line["system"], line["metric"], line["against"], line["set"]) == wanted
    )
    return found


def mean_figure(cell: Line, system: str, metric: str = "complete") -> float:
    """Return a system's mean over the sets."""
    mean, _ = mean_and_worst([found for found in figures_of(cell, system, _chosen_by(metric)).values() if found])
    return mean[metric]


def set_figure(cell: Line, name: str, system: str, metric: str = "complete") -> float:
    """Return a system's mean on one set."""
    found = figures_of(cell, system, _chosen_by(metric))[name]
    assert found is not None
    return found[metric]


def _chosen_by(metric: str) -> str:
    """Return by which metric the best peer of a set is chosen, where another one is shown."""
    return metric if metric in COMPARED else "complete"


def questions(cell: Line) -> int:
    """Return how many questions a cell has."""
    return int(sum(cell["questions"].values()))


def grid() -> list[dict[str, Any]]:
    """Return the cells of the grid."""
    return cells("evidence_grid")


def costs() -> list[dict[str, Any]]:
    """Return the measured times of composing with the default settings, no window named."""
    return [row for row in result("latency")["rows"] if row["scorer"] == "calibrated" and row["window"] is None]


def milliseconds() -> str:
    """Return the range of milliseconds for a context."""
    found = [row["us"]["exact count"] / 1e3 for row in costs()]
    return f"{min(found):.1f} to {max(found):.1f}"


def multiples() -> str:
    """Return the range of multiples of the floor."""
    found = [row["ratio"]["exact count"] for row in costs()]
    return f"{min(found):.1f} to {max(found):.1f}"


def gains(against: str, metric: str = "complete") -> list[Interval]:
    """Return the gain of the default in every cell of the grid, mean of the sets."""
    return [difference(cell, against, metric) for cell in grid()]


def surely(against: str, metric: str = "complete") -> tuple[int, int]:
    """Return in how many cells of the grid the default is surely above another, and below it (Holm)."""
    lines = [difference_line(cell, against, metric) for cell in grid()]
    known = [line["mean"] > 0 for line, significant in zip(lines, sure(lines), strict=True) if significant]
    return sum(known), len(known) - sum(known)


def runs(name: str, keep: Callable[[Row], bool] = lambda row: True) -> list[Row]:
    """Return the rows of a run of the evaluation harness, one order each, that `keep` accepts."""
    return [row for row in plain(rows_of(name)) if keep(row)]


def of_system(rows: Iterable[Row], system: str) -> list[Row]:
    """Return the rows of one system."""
    return [row for row in rows if row.way.composer == system]


def share(rows: Sequence[Row], system: str, measure: str) -> Interval:
    """Return a system's mean over questions with its interval."""
    found = of_system(rows, system)
    mean_and_interval = interval_of(found, measure)
    assert mean_and_interval is not None
    return Interval(*mean_and_interval, len(per_question(found, measure)))


def paired(rows: Sequence[Row], measure: str, system: str = RETRIVEX, baseline: str = BASELINE) -> Interval:
    """Return the mean paired difference of two systems over the same questions."""
    ours, theirs = (per_question(of_system(rows, name), measure) for name in (system, baseline))
    both = [asked for asked in ours if asked in theirs]
    figures = np.array([ours[asked] - theirs[asked] for asked in both])
    low, high = np.quantile(resampled_means(figures, resamples=2_000, seed=0), [0.025, 0.975])
    return Interval(float(figures.mean()), float(low), float(high), len(both))


def needles(family: str, retriever: str = "dense", shares_words: bool | None = None) -> list[Row]:
    """Return the rows of a family of needles, perhaps only those that share words with their question."""
    return runs(
        "niah",
        lambda row: (
            family_of(row) == family
            and row.way.retriever == retriever
            and (shares_words is None or row.factors.get("shares_words") is shares_words)
        ),
    )


def ruler() -> list[Row]:
    """Return the rows of RULER's tasks that a selection of passages can answer."""
    return runs("ruler", lambda row: row.factors.get("task") not in COUNTING_TASKS)


def longbench(budget: int = 2000) -> list[Row]:
    """Return the rows of LongBench at a budget."""
    return runs("longbench", lambda row: row.way.budget == budget)


def orders(retriever: str) -> dict[str, list[Row]]:
    """Return the rows under each order of lost in the middle, of full effort: it shows every passage, as all fit."""
    found: dict[str, list[Row]] = {}
    for row in rows_of("lost_in_the_middle"):
        if (row.way.retriever, row.way.composer) == (retriever, "full"):
            found.setdefault(row.way.order, []).append(row)
    return found
