"""The vectors of a store: one blob for each document, all read into one matrix that is kept while none changes."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from retrivex.errors import StoreError, quoted
from retrivex.stores.sqlite.connection import DamagedRowError, decoding
from retrivex.stores.sqlite.vectors import Floats

Places = NDArray[np.int64]
"""Numbers of rows of the matrix."""

_KINDS = {"vector_model": str, "vector_dimension": int, "vector_changes": int}


@dataclass(frozen=True, slots=True)
class VectorSpace:
    """What the vectors of a database are.

    Parameters
    ----------
    model : the encoder's name
    dimension : of each
    changes : how often vectors were written or deleted; a matrix is that of one such number
    """

    model: str
    dimension: int
    changes: int


def vector_space(connection: sqlite3.Connection) -> VectorSpace | None:
    """Return what the database says of its vectors; None while it has none."""
    known = dict(connection.execute("SELECT key, value FROM meta WHERE key GLOB 'vector_*'"))
    if not known.keys() & {"vector_model", "vector_dimension"}:
        return None
    if not all(isinstance(known.get(key), kind) for key, kind in _KINDS.items()) or known["vector_dimension"] < 1:
        raise DamagedRowError(f"what it says of its vectors cannot be read: {quoted(known)}")
    return VectorSpace(known["vector_model"], known["vector_dimension"], known["vector_changes"])


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


def add_vectors(connection: sqlite3.Connection, document: int | None, rows: Floats, encoder: str) -> None:
    """Write the vectors of a document whose chunks stand in the table, in the order of their row ids."""
    connection.execute(
        "INSERT INTO document_vectors (document, first, vectors) "
        "SELECT document, min(id), ? FROM chunks WHERE document = ?",
        (rows.astype("<f4", copy=False).tobytes(), document),
    )
    connection.executemany(
        "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)",
        [("vector_model", encoder), ("vector_dimension", rows.shape[1])],
    )
    count_change(connection)


def remove_vectors(connection: sqlite3.Connection, document: int) -> None:
    """Delete the vectors of a document, if it has some."""
    if connection.execute("DELETE FROM document_vectors WHERE document = ?", (document,)).rowcount:
        count_change(connection)


def drop_vectors(connection: sqlite3.Connection) -> None:
    """Delete all vectors."""
    connection.execute("DELETE FROM document_vectors")
    connection.execute("DELETE FROM meta WHERE key IN ('vector_model', 'vector_dimension')")
    count_change(connection)


def count_change(connection: sqlite3.Connection) -> None:
    """Say that the vectors are others than before."""
    connection.execute(
        "INSERT INTO meta (key, value) VALUES ('vector_changes', 1) ON CONFLICT (key) DO UPDATE SET value = value + 1"
    )


@dataclass(frozen=True, slots=True)
class Matrix:
    """All vectors of one state of a database.

    Parameters
    ----------
    changes : number of that state
    chunks : shape (n,), row ids of the chunks, ascending
    rows : shape (n, d), read-only
    """

    changes: int
    chunks: Places
    rows: Floats

    def find(self, chunks: Sequence[int]) -> Places:
        """Return the place of each chunk, shape (n,); -1 for those without a vector."""
        wanted = np.array(chunks, np.int64)
        places = np.searchsorted(self.chunks, wanted)
        there = places < len(self.chunks)
        there[there] = self.chunks[places[there]] == wanted[there]
        return np.where(there, places, -1)


class VectorCache:
    """The matrix of a database, which its threads share."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: Matrix | None = None

    def read(self, connection: sqlite3.Connection, space: VectorSpace) -> Matrix:
        """Return the matrix of the caller's snapshot: the one that is kept, or else read anew, and kept."""
        with self._lock:
            if self._kept is None or self._kept.changes != space.changes:
                self._kept = None  # before there are two of them
                self._kept = _read_matrix(connection, space)
            return self._kept

    def close(self) -> None:
        """Let go of it."""
        self._kept = None


def _read_matrix(connection: sqlite3.Connection, space: VectorSpace) -> Matrix:
    with decoding(f"the vectors of {space.dimension} dimensions"):
        sizes = "SELECT document, first, length(vectors) FROM document_vectors ORDER BY first, document"
        found = np.array(connection.execute(sizes).fetchall(), np.int64).reshape(-1, 3)
        documents, firsts, counts = found[:, 0], found[:, 1], found[:, 2] // (4 * space.dimension)
        starts = np.cumsum(counts) - counts
        rows = np.empty((int(counts.sum()), space.dimension), np.float32)
        places = dict(zip(documents.tolist(), starts.tolist(), strict=True))
        for document, blob in connection.execute("SELECT document, vectors FROM document_vectors"):
            part = np.frombuffer(blob, "<f4").reshape(-1, space.dimension)
            rows[places[document] : places[document] + len(part)] = part
    rows.flags.writeable = False
    return Matrix(space.changes, np.repeat(firsts - starts, counts) + np.arange(len(rows)), rows)


def embeddings_of(matrix: Matrix, chunks: Sequence[int]) -> list[Floats | None]:
    """Return the vector of each chunk, read-only; None where it has none."""
    places = matrix.find(chunks)
    rows = matrix.rows[places] if len(matrix.rows) else np.empty((len(places), 0), np.float32)
    rows.flags.writeable = False
    return [row if place >= 0 else None for place, row in zip(places.tolist(), rows, strict=True)]
