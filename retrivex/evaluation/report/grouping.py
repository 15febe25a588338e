"""Groups rows of results for a table or a plot."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean, median
from typing import Any, TypeVar

import numpy as np

from retrivex.evaluation.compare.bootstrap import resampled_means
from retrivex.evaluation.metrics.evidence import COMPLETE
from retrivex.evaluation.run.results import Row, Way, measures_of

K = TypeVar("K", bound=Hashable)

BASELINE = "knn"
BASELINES = (BASELINE, "knn±1", "knn±2")
"""What RetriVex and other composers are compared with: nearest chunks, whole, alone or with their neighbours."""

HITS = "the hits themselves"
OF_HITS = f"*{HITS}* count a question where they hold all of its evidence, before a composer chooses among them"
RESAMPLES = 2_000
_PLACES = ("depth", "depths")
_ROUNDED = 2e-4  # by how much a sum of three figures of four decimal places may be off


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


def with_several_orders(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of the composers that were run with more than one order."""
    several = {name for name, of in grouped(rows, _composer).items() if len(values_of(of, "order")) > 1}
    return [row for row in rows if row.way.composer in several]


def _composer(row: Row) -> str:
    return row.way.composer


def with_hits(rows: Sequence[Row]) -> list[Row]:
    """Return the rows, those of each family and kind of hits after what these hits hold, whatever a composer shows.

    What they hold stands in a row for each question, as if of a composer `HITS`; its one measure is `complete`.
    """
    kinds = grouped(rows, lambda row: (family_of(row), row.way.retriever, row.way.hits))
    return [row for found in kinds.values() for row in (*_measure_hits(found), *found)]


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


def _measure_hits(rows: Iterable[Row]) -> list[Row]:
    """Return for each question whether the hits hold all of its evidence; one without evidence is left out.

    All is what `complete` calls so, 99 %, but of all passages of evidence together: rows do not tell them apart.
    """
    found: dict[tuple[str, str], Row] = {}
    for row in rows:
        asked = (row.set_name, row.question_id)
        if asked not in found and (share := held_share(row)) is not None:
            way = Way(row.way.retriever, row.way.hits, HITS, "", 0)
            found[asked] = replace(row, way=way, measures={"complete": float(share >= COMPLETE - _ROUNDED)})
    return list(found.values())


def by_depth(rows: Iterable[Row], measure: str) -> Mapping[float, list[float]]:
    """Return a measure under each depth, for the same questions at each: those that were asked at every depth.

    Questions are the same where all factors but the depth are, and those of several needles, which move together.
    """
    blocks: dict[Hashable, dict[float, list[float]]] = {}
    for row in rows:
        depth = row.factors.get("depth")
        if isinstance(depth, (int, float)) and measure in row.measures:
            others = tuple(sorted((name, str(value)) for name, value in row.factors.items() if name not in _PLACES))
            block = blocks.setdefault((row.set_name, row.way, others), {})
            block.setdefault(float(depth), []).append(row.measures[measure])
    depths = sorted({depth for block in blocks.values() for depth in block})
    whole = [block for block in blocks.values() if len(block) == len(depths)]
    return {depth: [fmean(block[depth]) for block in whole] for depth in depths} if whole else {}
