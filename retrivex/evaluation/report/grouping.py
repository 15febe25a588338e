"""Groups rows of results for a table or a plot."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from statistics import fmean, median
from typing import Any, TypeVar

import numpy as np

from retrivex.evaluation.compare.bootstrap import resampled_means
from retrivex.evaluation.run.results import Row, measures_of

K = TypeVar("K", bound=Hashable)

BASELINE = "knn"
BASELINES = (BASELINE, "knn±1", "knn±2")
"""What RetriVex and other composers are compared with: nearest chunks, whole, alone or with their neighbours."""

HITS = "the hits themselves"
RESAMPLES = 2_000


def grouped(rows: Iterable[Row], key: Callable[[Row], K]) -> dict[K, list[Row]]:
    """Return the rows under their keys, in order of first appearance."""
    found: dict[K, list[Row]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def values_of(rows: Iterable[Row], field: str) -> list[Any]:
    """Return what a field of `Way` takes, numbers in order and names as they come."""
    found = list(dict.fromkeys(getattr(row.way, field) for row in rows))
    return sorted(found) if all(isinstance(value, int) for value in found) else found


def family_of(row: Row) -> str:
    """Return the family of the row's set: "niah" of "niah/4096"."""
    return row.set_name.split("/")[0]


def hits_of(row: Row) -> str:
    """Return what composers were given: "50 dense"."""
    return f"{row.way.hits} {row.way.retriever}"


def with_several_hits(rows: Iterable[Row]) -> bool:
    """Whether composers were given hits of several kinds, whose means say little together."""
    return len({hits_of(row) for row in rows}) > 1


def group_equal_measures(rows: Sequence[Row], measures: Iterable[str]) -> list[list[str]]:
    """Return the measures that the rows have, together those that are the same number in every row.

    Examples
    --------
    >>> from retrivex.evaluation.run.results import Way
    >>> rows = [Row("own", "1", Way("bm25", 20, "knn", "score_desc", 2000), {"complete": 1.0, "f1": 0.5, "em": 1.0})]
    >>> group_equal_measures(rows, ["complete", "em", "f1", "score"])
    [['complete', 'em'], ['f1']]
    """
    there = measures_of(rows)
    found: dict[tuple[float | None, ...], list[str]] = {}
    for name in measures:
        if name in there:
            found.setdefault(tuple(row.measures.get(name) for row in rows), []).append(name)
    return list(found.values())


def per_question(rows: Iterable[Row], measure: str) -> dict[tuple[str, str], float]:
    """Return a measure of every question: the mean over what else the rows vary."""
    found: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if measure in row.measures:
            found.setdefault((row.set_name, row.question_id), []).append(row.measures[measure])
    return {asked: fmean(figures) for asked, figures in found.items()}


def mean_of(rows: Iterable[Row], measure: str) -> float | None:
    """Return the mean over the questions, for milliseconds the median; None where nothing was measured."""
    figures = list(per_question(rows, measure).values())
    if not figures:
        return None
    return median(figures) if measure == "ms" else fmean(figures)


def interval_of(rows: Iterable[Row], measure: str) -> tuple[float, float, float] | None:
    """Return the mean over the questions with its 95 % bootstrap interval: mean, low, high."""
    figures = np.array(list(per_question(rows, measure).values()))
    if not len(figures):
        return None
    low, high = np.quantile(resampled_means(figures, resamples=RESAMPLES, seed=0), [0.025, 0.975])
    return float(figures.mean()), float(low), float(high)


def baseline_of(composers: Sequence[str]) -> str:
    """Return the composer that others are compared with: kNN, or the first."""
    return BASELINE if BASELINE in composers else composers[0]


def plain(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of one order for each composer, its first: what is shown does not depend on the order."""
    first: dict[str, str] = {}
    for row in rows:
        first.setdefault(row.way.composer, row.way.order)
    return [row for row in rows if row.way.order == first[row.way.composer]]


def held_share(row: Row) -> float | None:
    r"""Return the share of a question's evidence that the hits hold, in [0, 1]; None where it was not measured.

    With the evidence :math:`G`, what is shown :math:`S` and the hits :math:`H`, any composer's row says how much they
    hold: recall + lost - rescued :math:`= (|S \cap G| + |(H \setminus S) \cap G| - |(S \setminus H) \cap G|) / |G|
    = |H \cap G| / |G|`.
    """
    measures = row.measures
    if not {"evidence_recall", "lost", "rescued_by_neighbours"} <= measures.keys():
        return None
    # of figures of four decimal places
    return max(0.0, measures["evidence_recall"] + measures["lost"] - measures["rescued_by_neighbours"])
