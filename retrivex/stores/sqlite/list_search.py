"""Finds the vectors near to a question in the lists of the approximate index."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from retrivex.stores.sqlite.list_file import Lists
from retrivex.stores.sqlite.vector_file import Floats

Places = NDArray[np.int64]

_LEAST_LISTS = 48  # that are read
_QUIET_LISTS = 48  # that in a row hold none of the nearest, after which no more are read
_REACH = 0.5  # of the mean angle between a list's vectors and its centroid
_ROUNDING = 2e-6

# Numbers that are compared at once: they fit the cache of a core, and are too few for OpenBLAS to share among threads,
# which would wait for one another a hundred times a question.
_BLOCK = 2**18


def nearest_listed(lists: Lists, query: Floats, count: int, gaps: Places | None = None) -> Places:
    """Return rows of the file of vectors that hold the `count` nearest by their codes, in no order.

    Lists are read from the nearest on, until many in a row hold none of the `count` nearest so far. So a question whose
    neighbours are spread over many lists reads more of them. How near a list is, is the angle to its centroid, less
    half of the mean angle between that and what is in it: single texts of many subjects share wide lists, whose
    centroids are near to none of them.

    Parameters
    ----------
    query : shape (d,), of length one
    count : at least 1; fewer come back only where the lists hold fewer
    gaps : shape (n, 2), first row and length of what was deleted, in order; None for nothing
    """
    block = np.empty((max(1, _BLOCK // len(query)), len(query)), np.float32)
    angles = np.arccos(np.clip(_products(lists.centroids, query, block), -1, 1))
    best = np.empty(0, np.float32)
    found: list[tuple[Places, Floats]] = []
    quiet = 0
    for read, number in enumerate(np.argsort(angles - _REACH * lists.angles, kind="stable").tolist()):
        if len(best) >= count and read >= _LEAST_LISTS and quiet >= _QUIET_LISTS:
            break
        some = slice(lists.starts[number], lists.starts[number + 1])
        places, scores = lists.places[some], _products(lists.codes[some], query, block) * lists.scales[some]
        if gaps is not None and len(gaps):
            kept = ~_deleted(places, gaps)
            places, scores = places[kept], scores[kept]
        above = scores[scores > best[0]] if len(best) >= count else scores
        quiet = 0 if len(above) else quiet + 1
        if len(above):
            best = np.concatenate([best, above])
            # the lowest of the `count` highest stands first
            best = np.partition(best, max(len(best) - count, 0))[-count:]
        found.append((places, scores))
    if not found:
        return np.empty(0, np.int64)
    places = np.concatenate([part for part, _ in found])
    scores = np.concatenate([part for _, part in found])
    # equal texts have equal codes: whether they come in must not depend on the order of indexing
    return places[scores >= best[0] - _ROUNDING] if len(best) >= count else places


def _products(rows: NDArray[Any], query: Floats, block: Floats) -> Floats:
    made = np.empty(len(rows), np.float32)
    for start in range(0, len(rows), len(block)):
        some = rows[start : start + len(block)]
        block[: len(some)] = some
        made[start : start + len(some)] = block[: len(some)] @ query
    return made


def _deleted(places: Places, gaps: Places) -> NDArray[np.bool_]:
    before = np.searchsorted(gaps[:, 0], places, side="right") - 1
    inside: NDArray[np.bool_] = (before >= 0) & (places < gaps[before].sum(axis=1))
    return inside
