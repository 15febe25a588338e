"""Summarises rows: the mean of each measure by set and setup."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from retrivex.evaluation.run.measures import MEASURES
from retrivex.evaluation.run.results import Row, Way


def summarise(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return, for each set and way in the order of the rows, the mean of each measure over the questions that have it.

    Returns
    -------
    list of dict
        `set_name`, the fields of the `Way`, `questions`, and `measures` by name. Of `ms` it is the median, as a few
        slow calls of a busy machine would outweigh all others.

    Examples
    --------
    >>> way = Way("bm25", 20, "knn", "score_desc", 2000)
    >>> rows = [Row("own", "1", way, {"complete": 1.0}), Row("own", "2", way, {"complete": 0.0})]
    >>> [(found["composer"], found["questions"], found["measures"]) for found in summarise(rows)]
    [('knn', 2, {'complete': 0.5})]
    """
    groups: dict[tuple[str, Way], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.set_name, row.way), []).append(row)
    return [
        {
            "set_name": name,
            **{field: getattr(way, field) for field in Way.__dataclass_fields__},
            "questions": len(some),
            "measures": _means(some),
        }
        for (name, way), some in groups.items()
    ]


def _means(rows: Sequence[Row]) -> dict[str, float]:
    names = dict.fromkeys([*MEASURES, *(name for row in rows for name in row.measures)])
    known = {name: [row.measures[name] for row in rows if name in row.measures] for name in names}
    return {
        name: statistics.median(values) if name == "ms" else statistics.fmean(values)
        for name, values in known.items()
        if values
    }
