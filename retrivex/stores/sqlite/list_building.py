"""Builds the approximate index of vectors, and keeps what the database says of it."""

from __future__ import annotations

import json
import math
import re
import sqlite3
from dataclasses import asdict, fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retrivex.errors import StoreError, quoted
from retrivex.stores.sqlite.connection import DamagedRowError
from retrivex.stores.sqlite.list_file import ListPart, ListReader, Lists, ListSpace, ListWriter
from retrivex.stores.sqlite.list_search import nearest_listed
from retrivex.stores.sqlite.vector_file import Floats, VectorSpace
from retrivex.stores.sqlite.vector_runs import vector_space

Places = NDArray[np.int64]

LISTED_FROM = 200_000
"""Vectors from which on an approximate index is built; with fewer, comparing all of them takes less than 0.1 s."""

MEASURED_HITS = 50
MEASURED_QUESTIONS = 64

_UNLISTED_SHARE = 0.05  # rows beside the lists up to which nothing is built: they are compared one by one
_TRAINED_ROWS = 32  # a list, that the centroids are chosen by
_ROUNDS = 8
_GROWTH = 2  # times the vectors that the centroids were chosen for, from which on they are chosen anew
_BLOCK = 8192
_SEED = 20
_TIE = 2e-6  # as cosines are rounded
_IDENTITY = re.compile("[0-9a-f]{32}")
_KEY, _COUNTER = "lists", "lists_number"


def list_space(connection: sqlite3.Connection, space: VectorSpace | None) -> ListSpace | None:
    """Return what the database says of the lists of its vectors; None where it has none that fit them.

    An earlier version that copied the vectors into another file has left lists that do not.
    """
    found = connection.execute("SELECT value FROM meta WHERE key = ?", (_KEY,)).fetchone()
    if found is None or space is None:
        return None
    try:
        made = ListSpace(**json.loads(found[0]))
    except (TypeError, ValueError, RecursionError) as error:
        raise DamagedRowError(f"what it says of its approximate index cannot be read: {quoted(found[0])}") from error
    _check(made)
    if made.generation != space.generation or made.identity != space.identity:
        return None
    if made.dimension != space.dimension or made.rows > space.rows:
        raise DamagedRowError(f"its approximate index is of other vectors: {quoted(found[0])}")
    return made


def needs_lists(listed: ListSpace | None, space: VectorSpace | None, least: int) -> bool:
    """Whether there are so many vectors outside of the lists that those should be written anew."""
    if space is None or not space.generation or space.rows < least:
        return False
    return listed is None or space.rows - listed.rows > _UNLISTED_SHARE * space.rows


class ListPlan(NamedTuple):
    """Which list each vector belongs to.

    Parameters
    ----------
    centroids : shape (lists, d), of length one
    list_of, places : shape (entries,), the list of each entry and its row; rows go up
    trained : vectors there were when the centroids were chosen
    """

    centroids: Floats
    list_of: Places
    places: Places
    trained: int


def plan_lists(reader: ListReader, listed: ListSpace | None, rows: Floats, gaps: Places) -> ListPlan | None:
    """Assign rows to lists: later ones to the centroids there are, or all to others where the vectors have doubled.

    Parameters
    ----------
    reader, listed : the lists there are
    rows : the file of vectors
    gaps : rows that were deleted

    Returns
    -------
    ListPlan
        None where there is no vector.
    """
    alive = np.ones(len(rows), bool)
    alive[gaps] = False
    places = np.flatnonzero(alive)
    if not len(places):
        return None
    known = None
    if listed is not None and len(places) < _GROWTH * listed.trained:
        try:
            known = reader.lists(listed)
        except StoreError:
            known = None  # missing or damaged: this is what makes it anew
    list_of = np.full(len(rows), -1, np.int64)
    if listed is None or known is None:
        trained, centroids = len(places), _train(rows, places)
    else:
        trained, centroids = listed.trained, np.array(known.centroids)
        # places of a file that others wrote may lie anywhere
        inside = (known.places >= 0) & (known.places < len(rows))
        list_of[known.places[inside]] = np.repeat(np.arange(len(centroids)), np.diff(known.starts))[inside]
    new = places[list_of[places] < 0]
    list_of[new] = _assign(rows, new, centroids)
    return ListPlan(centroids, list_of[places], places, trained)


def write_part(part: ListPart, space: VectorSpace, rows: Floats, plan: ListPlan) -> ListSpace:
    """Write the lists of a plan without a lock: `adopt_part` is what makes them the database's. They have no number."""
    lists, checksum = part.write(space.identity, plan.centroids, plan.list_of, plan.places, rows)
    return _describe(0, space, plan, checksum, _measure(rows, plan.places, lists))


def adopt_part(connection: sqlite3.Connection, writer: ListWriter, part: ListPart, made: ListSpace) -> bool:
    """Turn the database to lists that were written before, inside the caller's transaction; return whether they fit.

    They do where the file of vectors is still the one that they are of: rows that were appended since are no part of
    them, and deleted ones are left out when they are found. Another process may have removed the part.
    """
    space = vector_space(connection)
    if space is None or (made.generation, made.identity) != (space.generation, space.identity):
        return False
    number = _next_number(connection)
    if made.rows > space.rows or not writer.adopt(part, number, space.identity):
        return False
    _keep(connection, replace(made, number=number))
    return True


def write_lists(
    connection: sqlite3.Connection, writer: ListWriter, space: VectorSpace, rows: Floats, plan: ListPlan | None
) -> None:
    """Write the lists of a plan of all rows inside the caller's transaction, which others wait for."""
    if plan is None:
        drop_lists(connection, writer, space)
    else:
        _write(connection, writer, space, rows, plan)


def move_lists(
    connection: sqlite3.Connection,
    writer: ListWriter,
    listed: ListSpace,
    lists: Lists,
    space: VectorSpace,
    rows: Floats,
    moved_to: Places,
) -> None:
    """Write the lists anew after rows were copied into the file of another generation.

    Parameters
    ----------
    listed, lists : of the file before
    space, rows : the new file of vectors
    moved_to : shape (rows of the file before,), where each row stands now; -1 for those that are gone
    """
    inside = (lists.places >= 0) & (lists.places < len(moved_to))
    places = np.where(inside, moved_to[np.where(inside, lists.places, 0)], -1)
    kept = np.flatnonzero(places >= 0)
    order = kept[np.argsort(places[kept])]
    list_of = np.repeat(np.arange(len(lists.centroids)), np.diff(lists.starts))
    found, first = np.unique(places[order], return_index=True)
    covered = int((moved_to[: listed.rows] >= 0).sum())
    if not len(found):
        drop_lists(connection, writer, space)
        return
    plan = ListPlan(np.array(lists.centroids), list_of[order][first], found, listed.trained)
    _write(connection, writer, space, rows, plan, covered=covered, recall=listed.recall)


def drop_lists(connection: sqlite3.Connection, writer: ListWriter, space: VectorSpace | None) -> None:
    """Go without lists from now on."""
    connection.execute("DELETE FROM meta WHERE key = ?", (_KEY,))
    if space is not None and space.identity:
        writer.drop(space.identity)


def _write(
    connection: sqlite3.Connection,
    writer: ListWriter,
    space: VectorSpace,
    rows: Floats,
    plan: ListPlan,
    *,
    covered: int | None = None,
    recall: float | None = None,
) -> None:
    number = _next_number(connection)
    lists, checksum = writer.write(number, space.identity, plan.centroids, plan.list_of, plan.places, rows)
    share = _measure(rows, plan.places, lists) if recall is None else recall
    made = _describe(number, space, plan, checksum, share)
    _keep(connection, made if covered is None else replace(made, rows=covered))


def _describe(number: int, space: VectorSpace, plan: ListPlan, checksum: int, recall: float) -> ListSpace:
    return ListSpace(
        number,
        space.identity,
        space.generation,
        space.dimension,
        space.rows,
        len(plan.places),
        len(plan.centroids),
        plan.trained,
        recall,
        checksum,
    )


def _keep(connection: sqlite3.Connection, made: ListSpace) -> None:
    for key, value in ((_KEY, json.dumps(asdict(made))), (_COUNTER, made.number)):
        connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (key, value))


def _next_number(connection: sqlite3.Connection) -> int:
    """Return a number that no file of the database has had: others may still read those."""
    found = connection.execute("SELECT value FROM meta WHERE key = ?", (_COUNTER,)).fetchone()
    number = 0 if found is None else found[0]
    if not isinstance(number, int) or not 0 <= number < 2**53:
        raise DamagedRowError(f"the number of its approximate index cannot be read: {quoted(number)}")
    return number + 1


def _train(rows: Floats, places: Places) -> Floats:
    """Choose centroids by spherical k-means over a sample: as many as the root of the number of vectors.

    I. Dhillon and D. Modha, Concept decompositions for large sparse text data using clustering, Machine Learning 42,
    2001.
    """
    rng = np.random.default_rng(_SEED)
    count = max(1, math.isqrt(len(places)))
    sample = rows[np.sort(rng.choice(places, min(len(places), _TRAINED_ROWS * count), replace=False))]
    centroids: Floats = sample[rng.choice(len(sample), count, replace=False)]
    for _ in range(_ROUNDS):
        list_of = _assign(sample, np.arange(len(sample)), centroids)
        order = np.argsort(list_of, kind="stable")
        used, first = np.unique(list_of[order], return_index=True)
        sums = np.add.reduceat(sample[order], first, axis=0)
        length = np.linalg.norm(sums, axis=1, keepdims=True)
        # one without members stays where it is; one whose members cancel out, too
        centroids[used] = np.divide(sums, length, out=centroids[used], where=length > 0)
    return centroids


def _assign(rows: Floats, places: Places, centroids: Floats) -> Places:
    """Return the nearest centroid of each row."""
    parts = [
        np.argmax(rows[places[start : start + _BLOCK]] @ centroids.T, axis=1) for start in range(0, len(places), _BLOCK)
    ]
    return np.concatenate([np.empty(0, np.int64), *parts])


def _measure(rows: Floats, places: Places, lists: Lists) -> float:
    """Return the share of the nearest that the lists find, over a sample of stored vectors as questions."""
    rng = np.random.default_rng(_SEED)
    asked = rows[np.sort(rng.choice(places, min(len(places), MEASURED_QUESTIONS), replace=False))]
    asked = asked[asked.any(axis=1)]
    if not len(asked):
        return 1.0
    k = min(MEASURED_HITS, len(places))
    best = np.full((len(asked), 0), 0, np.float32)
    for start in range(0, len(places), _BLOCK):
        both = np.concatenate([best, asked @ rows[places[start : start + _BLOCK]].T], axis=1)
        best = np.partition(both, both.shape[1] - min(k, both.shape[1]), axis=1)[:, -k:]
    least = best.min(axis=1)
    shares = []
    for query, lowest in zip(asked, least.tolist(), strict=True):
        found = rows[nearest_listed(lists, query, 2 * k)] @ query
        shares.append(min(int((found >= lowest - _TIE).sum()), k) / k)
    return float(np.mean(shares))


def _check(made: ListSpace) -> None:
    """Refuse what nobody here wrote: a name of another file, or numbers that fit no file."""
    kinds = {"str": str, "int": int, "float": float | int}
    sound = all(isinstance(getattr(made, field.name), kinds[str(field.type)]) for field in fields(ListSpace))
    if not sound or not _IDENTITY.fullmatch(made.identity):
        raise DamagedRowError(f"what it says of its approximate index cannot be read: {quoted(asdict(made))}")
    counts: list[Any] = [made.number, made.generation, made.dimension, made.entries, made.lists]
    if not all(1 <= count < 2**53 for count in counts) or not 0 <= made.entries <= made.rows < 2**53:
        raise DamagedRowError(f"what it says of its approximate index cannot be read: {quoted(asdict(made))}")
