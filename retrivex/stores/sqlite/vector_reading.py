"""Vectors as a query reads them: those of chunks, and the chunks whose vectors are nearest to a question's."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from retrivex.stores.sqlite.connection import DamagedRowError, decoding
from retrivex.stores.sqlite.list_building import list_space
from retrivex.stores.sqlite.list_file import ListReader, ListSpace
from retrivex.stores.sqlite.list_search import nearest_listed
from retrivex.stores.sqlite.vector_file import VectorReader, VectorSpace
from retrivex.stores.sqlite.vector_runs import Places, chunks_at, gap_runs, places_within, read_gaps
from retrivex.stores.sqlite.vectors import Floats, nearest

Scored: TypeAlias = list[tuple[int, float]]
"""(row id of a chunk, score)."""

_GATHERED_ROWS = 16_384  # copied at once, where few rows of many are compared
_GATHERED_SHARE = 0.25  # of the rows, up to which copying those is quicker than multiplying all

MOST_LISTED = 1000
"""Hits up to which the approximate index is asked."""

# times the hits that are asked for: rows that are compared exactly, more of them where a restriction leaves few
_CANDIDATES = (2, 8, 32)


def vector_columns(space: VectorSpace | None) -> tuple[str, str]:
    """Return the SQL of what `read_embeddings` needs of each chunk (c), and the join for it."""
    if space is None:
        return "NULL", ""
    if space.generation:
        return "r.place + c.id - r.chunk", "LEFT JOIN vector_runs r ON r.document = c.document"
    return "v.vector", "LEFT JOIN vectors v ON v.chunk = c.id"


def read_embeddings(space: VectorSpace, reader: VectorReader, values: Sequence[Any]) -> list[Floats | None]:
    """Return the vector of each chunk, read-only; None where it has none.

    Parameters
    ----------
    values : of the column of `vector_columns`
    """
    there = [i for i, value in enumerate(values) if value is not None]
    found: list[Floats | None] = [None] * len(values)
    if not there:
        return found
    every = reader.rows(space) if space.generation else None
    with decoding(f"the vectors of {space.dimension} dimensions"):
        if every is not None:
            rows = every[_checked(np.array([values[i] for i in there]), space)]
        else:
            rows = np.frombuffer(b"".join(values[i] for i in there), "<f4").reshape(len(there), space.dimension)
    rows.flags.writeable = False
    for i, row in zip(there, rows, strict=True):
        found[i] = row
    return found


def rank_vectors(
    connection: sqlite3.Connection,
    space: VectorSpace,
    reader: VectorReader,
    lists: ListReader | None,
    query: Floats,
    k: int,
    restriction: str,
    values: Sequence[Any],
) -> Scored:
    """Return the `k` chunks nearest to the unit vector `query` by cosine, inside the caller's snapshot.

    Parameters
    ----------
    lists : the approximate index, which is asked where there is one; None compares all vectors
    restriction, values : SQL conditions on chunks (c) and documents (d), and what they bind; empty for all
    """
    if not space.generation:
        return _rank_blobs(connection, space, query, k, restriction, values)
    rows = reader.rows(space)
    listed = None if lists is None or k > MOST_LISTED else list_space(connection, space)
    places = None
    if lists is not None and listed is not None:
        places = _listed(connection, space, rows, (listed, lists), query, k, restriction, values)
    if places is None and restriction:
        places = _allowed(connection, space, restriction, values)
    exact = query.astype(np.float64)
    if places is not None:
        best, scores = nearest(_cosines(rows, query, places), k, lambda at: rows[places[at]].astype(np.float64) @ exact)
        best = places[best]
    else:
        cosines = rows @ query
        cosines[read_gaps(connection, space)] = -np.inf
        best, scores = nearest(cosines, k, lambda at: rows[at].astype(np.float64) @ exact)
    chunks = chunks_at(connection, best.tolist())
    if len(chunks) < len(best):
        raise DamagedRowError("vectors belong to no chunk")
    scored = [(-score, *reversed(chunks[place])) for place, score in zip(best.tolist(), scores.tolist(), strict=True)]
    return [(row_id, -score) for score, _, row_id in sorted(scored)[:k]]


def _allowed(connection: sqlite3.Connection, space: VectorSpace, restriction: str, values: Sequence[Any]) -> Places:
    """Return the places of all vectors that a restriction leaves."""
    found = connection.execute(
        "SELECT r.place + c.id - r.chunk FROM vector_runs r JOIN chunks c ON c.document = r.document "
        f"JOIN documents d ON d.id = c.document WHERE 1{restriction}",
        values,
    )
    with decoding("the places of vectors"):
        return _checked(np.array([row[0] for row in found], np.int64), space)


def _listed(
    connection: sqlite3.Connection,
    space: VectorSpace,
    rows: Floats,
    index: tuple[ListSpace, ListReader],
    query: Floats,
    k: int,
    restriction: str,
    values: Sequence[Any],
) -> Places | None:
    """Return places among which the `k` nearest are; None where a restriction leaves few of those that are near.

    Rows that came after the lists were written are all compared.
    """
    listed, reader = index
    lists = reader.lists(listed)
    gaps = gap_runs(connection, space)
    later = rows[listed.rows :] @ query
    dead = read_gaps(connection, space) - listed.rows
    later[dead[dead >= 0]] = -np.inf
    for factor in _CANDIDATES:
        latest, scores = nearest(later, factor * k)
        found = [nearest_listed(lists, query, factor * k, gaps), latest[scores > -np.inf] + listed.rows]
        with decoding("the approximate index"):
            places = _checked(np.unique(np.concatenate(found)), space)
        if not restriction:
            return places
        # later rows that are farther than all that the lists gave have nearer ones before them, which were not given
        best, _ = nearest(_cosines(rows, query, places), factor * k)
        within = places_within(connection, places[best].tolist(), restriction, values)
        if len(within) >= k:
            return within
        if len(within) * _CANDIDATES[-1] < k * factor:
            break  # nor would it leave enough of the most that are looked at
    return None


def _cosines(rows: Floats, query: Floats, places: Places) -> Floats:
    if len(places) > _GATHERED_SHARE * len(rows):
        everywhere: Floats = rows @ query
        return everywhere[places]
    parts = [rows[places[i : i + _GATHERED_ROWS]] @ query for i in range(0, len(places), _GATHERED_ROWS)]
    return np.concatenate(parts) if parts else np.empty(0, np.float32)


def _checked(places: Places, space: VectorSpace) -> Places:
    if len(places) and (places.min() < 0 or places.max() >= space.rows):
        raise ValueError("a vector lies outside of the file")
    return places


def _rank_blobs(
    connection: sqlite3.Connection, space: VectorSpace, query: Floats, k: int, restriction: str, values: Sequence[Any]
) -> Scored:
    """Do the same with vectors that stand in the database, as those of version 0.2 do."""
    rows = connection.execute(
        "SELECT v.chunk, v.vector FROM vectors v JOIN chunks c ON c.id = v.chunk "
        f"JOIN documents d ON d.id = c.document WHERE 1{restriction}",
        values,
    )
    ids: list[int] = []
    parts: list[Floats] = []
    while block := rows.fetchmany(_GATHERED_ROWS):
        with decoding(f"the vectors of {space.dimension} dimensions"):
            matrix = np.frombuffer(b"".join(blob for _, blob in block), "<f4").reshape(len(block), space.dimension)
        ids += [row_id for row_id, _ in block]
        parts.append(matrix @ query)
    if not parts:
        return []
    best, scores = nearest(np.concatenate(parts), k)
    scored = {ids[i]: score for i, score in zip(best.tolist(), scores.tolist(), strict=True)}
    keys = connection.execute(
        "SELECT d.doc_id, c.chunk_id, c.id FROM documents d JOIN chunks c ON c.document = d.id "
        f"WHERE c.id IN ({','.join(map(str, scored))})"
    )
    ranked = sorted((-scored[row_id], (doc_id, chunk_id), row_id) for doc_id, chunk_id, row_id in keys)
    return [(row_id, -score) for score, _, row_id in ranked[:k]]
