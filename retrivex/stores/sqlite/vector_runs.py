"""Which rows of the file of vectors belong to which document, and what the database says of the file.

The vectors of a document are a run of rows, one a chunk, in the order of the chunks' row ids. A deleted run is a gap.
"""

from __future__ import annotations

import json
import re
import secrets
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retrivex.errors import StoreError, quoted
from retrivex.model.chunk import ChunkKey
from retrivex.stores.sqlite.connection import DamagedRowError, decoding
from retrivex.stores.sqlite.schema import add_vector_tables, drop_vector_blobs
from retrivex.stores.sqlite.vector_file import Floats, VectorReader, VectorSpace, VectorWriter, checksum

Places = NDArray[np.int64]
"""Numbers of rows of the file."""

_COPIED_ROWS = 4096

MIN_GAPS = 1000
"""Deleted rows from which on a file may be compacted."""

_IDENTITY = re.compile("(?:[0-9a-f]{32})?")
_MOST_GENERATIONS = 2**53
_SPACE = {"vector_model": str, "vector_dimension": int}
_FILE = {"vector_generation": int, "vector_identity": str, "vector_rows": int}


def vector_space(connection: sqlite3.Connection) -> VectorSpace | None:
    """Return what the database says of its vectors; None while it has none."""
    known = _read_meta(connection)
    if not known.keys() & _SPACE.keys():
        return None
    kinds = {**_SPACE, **(_FILE if "vector_rows" in known else {})}
    if not all(isinstance(known.get(key), kind) for key, kind in kinds.items()) or known["vector_dimension"] < 1:
        raise DamagedRowError(f"what it says of its vectors cannot be read: {quoted(known)}")
    space = VectorSpace(known["vector_model"], known["vector_dimension"])
    if "vector_rows" not in known:
        return space
    _check_file_notes(known)
    if known["vector_generation"] < 1 or known["vector_rows"] < 0:
        raise DamagedRowError(f"what it says of its vectors cannot be read: {quoted(known)}")
    return replace(
        space, generation=known["vector_generation"], identity=known["vector_identity"], rows=known["vector_rows"]
    )


def vector_identity(connection: sqlite3.Connection) -> str:
    """Return the identity that the database's files have; empty where it has had none."""
    return str(_read_meta(connection).get("vector_identity", ""))


def check_vector_space(known: VectorSpace | None, model: str | None, dimension: int) -> None:
    """Refuse vectors that cannot be compared with those of the database.

    Raises
    ------
    StoreError
        If the model's name (where given) or the dimension differs.
    """
    if known and ((model is not None and model != known.model) or dimension != known.dimension):
        raise StoreError(
            f"the store holds vectors of {known.model!r} with {known.dimension} dimensions, these are of "
            f"{'an unnamed model' if model is None else repr(model)} with {dimension}: use the same encoder, "
            "index into another file, or call drop_vectors() and index again"
        )


def add_run(
    connection: sqlite3.Connection, writer: VectorWriter, document: int | None, rows: Floats, encoder: str
) -> None:
    """Append the vectors of a document whose chunks stand in the table."""
    space = vector_space(connection)
    if space is None:
        space = _begin(connection, writer, VectorSpace(encoder, rows.shape[1]))
        drop_vector_blobs(connection)
    first, last, count = connection.execute(
        "SELECT min(id), max(id), count(*) FROM chunks WHERE document = ?", (document,)
    ).fetchone()
    if count != len(rows) or last - first != count - 1:
        raise DamagedRowError(f"the rows of its chunks are not numbered one after the other: {first} to {last}")
    connection.execute(
        "INSERT INTO vector_runs (document, chunk, place, count, checksum) VALUES (?, ?, ?, ?, ?)",
        (document, first, space.rows, count, writer.append(space, rows)),
    )
    _set_meta(connection, vector_rows=space.rows + count)


def remove_run(connection: sqlite3.Connection, document: int) -> None:
    """Turn the vectors of a document, if it has some, into a gap."""
    space = vector_space(connection)
    if space is not None and space.generation:
        connection.execute(
            "INSERT INTO vector_gaps (place, count) SELECT place, count FROM vector_runs WHERE document = ?",
            (document,),
        )
        connection.execute("DELETE FROM vector_runs WHERE document = ?", (document,))


def drop_runs(connection: sqlite3.Connection, writer: VectorWriter) -> None:
    """Delete all vectors."""
    space = vector_space(connection)
    if space is None:
        return
    if space.generation:
        connection.execute("DELETE FROM vector_runs")
        connection.execute("DELETE FROM vector_gaps")
    else:
        connection.execute("DELETE FROM vectors")
    writer.drop(space.identity)
    # generation and identity stay: the next file must not have the name of one that others still read
    connection.execute("DELETE FROM meta WHERE key IN ('vector_model', 'vector_dimension', 'vector_rows')")


def move_out(connection: sqlite3.Connection, writer: VectorWriter) -> None:
    """Move vectors that stand in the database, as those of version 0.2 do, into a file beside it."""
    space = vector_space(connection)
    if space is None or space.generation:
        return
    space = _begin(connection, writer, space)
    # by chunk id, for which there is an index; row ids come in the same order
    rows = connection.execute(
        "SELECT c.document, v.vector FROM chunks c JOIN vectors v ON v.chunk = c.id ORDER BY c.document, c.chunk_id"
    )
    for document, found in groupby(rows, key=itemgetter(0)):
        blobs = [blob for _, blob in found]
        with decoding(f"the vectors of {space.dimension} dimensions"):
            vectors = np.frombuffer(b"".join(blobs), "<f4").reshape(len(blobs), space.dimension)
        add_run(connection, writer, document, vectors, space.model)
    drop_vector_blobs(connection)


def needs_compacting(connection: sqlite3.Connection) -> bool:
    """Whether more than a quarter of the file are gaps: what is then copied is three rows for each deleted one."""
    space = vector_space(connection)
    if space is None or space.rows < MIN_GAPS:
        return False
    (gaps,) = connection.execute("SELECT coalesce(sum(count), 0) FROM vector_gaps").fetchone()
    return bool(gaps >= MIN_GAPS and 4 * gaps > space.rows)


def compact(connection: sqlite3.Connection, writer: VectorWriter, reader: VectorReader) -> Places:
    """Write the rows that are left into a file of the next generation.

    Returns
    -------
    NDArray[np.int64]
        Where each row of the file before stands now; -1 for those that are gone. Rows keep their order.
    """
    space = vector_space(connection)
    assert space is not None  # as `needs_compacting` says
    rows = reader.rows(space)
    moved_to = np.full(space.rows, -1, np.int64)
    made = _begin(connection, writer, space)
    runs = connection.execute("SELECT document, place, count FROM vector_runs ORDER BY place").fetchall()
    moved: list[tuple[int, int]] = []
    with decoding("the runs of vectors"):
        for document, place, count in runs:
            moved.append((made.rows, document))
            moved_to[place : place + count] = made.rows + np.arange(count)
            for start in range(place, place + count, _COPIED_ROWS):
                piece = rows[start : min(start + _COPIED_ROWS, place + count)]
                writer.append(made, piece)
                made = replace(made, rows=made.rows + len(piece))
    # places are unique, and runs only move to the front, in order: none meets another
    connection.executemany("UPDATE vector_runs SET place = ? WHERE document = ?", moved)
    connection.execute("DELETE FROM vector_gaps")
    _set_meta(connection, vector_rows=made.rows)
    return moved_to


def read_gaps(connection: sqlite3.Connection, space: VectorSpace) -> Places:
    """Return the places that belong to no document any more."""
    pairs = gap_runs(connection, space)
    return spread(pairs[:, 0], pairs[:, 1])


def gap_runs(connection: sqlite3.Connection, space: VectorSpace) -> Places:
    """Return first place and length of each run that belongs to no document any more, in order, shape (n, 2)."""
    found = connection.execute("SELECT place, count FROM vector_gaps ORDER BY place").fetchall()
    with decoding("the gaps among the vectors"):
        pairs = np.array(found, np.int64).reshape(-1, 2)
        if len(pairs) and (pairs.min() < 0 or (pairs.sum(axis=1) > space.rows).any()):
            raise ValueError("a gap lies outside of the file")
    return pairs


def spread(first: Places, count: Places) -> Places:
    """Return the places of all runs.

    Examples
    --------
    >>> spread(np.array([5, 20]), np.array([2, 3])).tolist()
    [5, 6, 20, 21, 22]
    """
    before = np.cumsum(count) - count
    return np.repeat(first - before, count) + np.arange(int(count.sum()))


_AT_PLACES = """FROM json_each(?) w
CROSS JOIN vector_runs r ON r.place = (SELECT max(place) FROM vector_runs WHERE place <= w.value)
CROSS JOIN chunks c ON c.id = r.chunk + w.value - r.place CROSS JOIN documents d ON d.id = c.document
WHERE w.value < r.place + r.count"""


def chunks_at(connection: sqlite3.Connection, places: Sequence[int]) -> dict[int, tuple[int, ChunkKey]]:
    """Return row id and key of the chunks whose vectors stand at `places`."""
    rows = connection.execute(f"SELECT w.value, c.id, d.doc_id, c.chunk_id {_AT_PLACES}", (json.dumps(places),))
    return {place: (row_id, (doc_id, chunk_id)) for place, row_id, doc_id, chunk_id in rows}


def places_within(
    connection: sqlite3.Connection, places: Sequence[int], restriction: str, values: Sequence[Any]
) -> Places:
    """Return those of `places` whose chunks (c) and documents (d) fit the SQL conditions."""
    rows = connection.execute(f"SELECT w.value {_AT_PLACES}{restriction}", (json.dumps(places), *values))
    return np.array([row[0] for row in rows], np.int64)


def find_vector_problems(connection: sqlite3.Connection, reader: VectorReader) -> Iterator[str]:
    """Yield what is wrong with the file of vectors and what the database says of it. Reads all of it."""
    space = vector_space(connection)
    if space is None or not space.generation:
        return
    try:
        rows = reader.rows(space)
    except StoreError as error:
        yield str(error)
        return
    ends = 0
    for place, count, said in connection.execute(
        "SELECT place, count, checksum FROM vector_runs UNION ALL SELECT place, count, NULL FROM vector_gaps "
        "ORDER BY place"
    ):
        if place != ends:
            yield f"vector rows {ends:,} to {place:,} belong to nothing, or to two documents"
        ends = place + count
        if said is not None and checksum(rows[place:ends]) != said:
            yield f"vector rows {place:,} to {ends:,} are not those that were written; index again into a new file"
    if ends != space.rows:
        yield f"there are {space.rows:,} vector rows, of which {ends:,} are accounted for"


def _begin(connection: sqlite3.Connection, writer: VectorWriter, space: VectorSpace) -> VectorSpace:
    """Begin the file of the next generation; return what it is, without rows."""
    add_vector_tables(connection)
    known = _read_meta(connection)
    _check_file_notes(known)
    identity = known.get("vector_identity") or secrets.token_hex(16)
    made = replace(space, generation=known.get("vector_generation", 0) + 1, identity=identity, rows=0)
    writer.create(made)
    _set_meta(
        connection,
        vector_model=made.model,
        vector_dimension=made.dimension,
        vector_generation=made.generation,
        vector_identity=made.identity,
        vector_rows=0,
    )
    return made


def _check_file_notes(known: Mapping[str, Any]) -> None:
    """Refuse a name or an identity of the file that nobody here wrote; they stay where the vectors are dropped."""
    generation, identity = known.get("vector_generation", 0), known.get("vector_identity", "")
    sound = isinstance(generation, int) and 0 <= generation <= _MOST_GENERATIONS and isinstance(identity, str)
    if not sound or not _IDENTITY.fullmatch(identity):
        raise DamagedRowError(f"what it says of its vectors cannot be read: {quoted(known)}")


def _read_meta(connection: sqlite3.Connection) -> dict[str, Any]:
    return dict(connection.execute("SELECT key, value FROM meta WHERE key GLOB 'vector_*'"))


def _set_meta(connection: sqlite3.Connection, **values: str | int) -> None:
    connection.executemany("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", values.items())
