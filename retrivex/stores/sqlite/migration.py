"""Brings the file of an earlier version up to date, once, in one transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from retrivex.errors import StoreError
from retrivex.stores.sqlite.connection import WRONG_VALUE, decoding
from retrivex.stores.sqlite.ingest import DELETE_TERMS, INSERT_TERMS, terms_of
from retrivex.stores.sqlite.rows import decode_text
from retrivex.stores.sqlite.schema import EARLY_TABLES, SCHEMA_VERSION, VECTOR_TABLE, add_count_columns, schema_version
from retrivex.stores.sqlite.vector_table import count_change

_WORDS_VERSION = 3  # from which on words are read as `retrivex.text.words` reads them
_ROWS_AT_ONCE = 1000
_MAGIC, _HEADER_BYTES = b"RVXVEC01", 64  # of the file of vectors beside a database of version 2 or 3
_EARLY_META = ("vector_generation", "vector_identity", "vector_rows", "lists", "lists_number")

_Vectors = tuple[int, int, bytes]  # document, row id of its first chunk, rows of float32


def bring_up_to_date(connection: sqlite3.Connection, path: Path) -> None:
    """Take over the vectors of an earlier version, and read its words anew; earlier versions then refuse the file.

    Raises
    ------
    StoreError
        If the file of vectors beside it is missing or damaged.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        # another process may have been faster
        files = _migrate(connection, path) if schema_version(connection) < SCHEMA_VERSION else []
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    for file in files:
        with suppress(OSError):
            file.unlink()


def _migrate(connection: sqlite3.Connection, path: Path) -> list[Path]:
    """Return the files beside the database that are not needed any more."""
    add_count_columns(connection)
    connection.execute(VECTOR_TABLE)
    known = dict(connection.execute("SELECT key, value FROM meta"))
    if "vector_dimension" in known:
        _take_over_vectors(connection, path, known)
    for table in EARLY_TABLES:
        connection.execute(f"DROP TABLE IF EXISTS {table}")
    connection.executemany("DELETE FROM meta WHERE key = ?", [(key,) for key in _EARLY_META])
    if schema_version(connection) < _WORDS_VERSION:
        _read_words_anew(connection)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    numbers = (("vectors", known.get("vector_generation")), ("lists", known.get("lists_number")))
    return [path.with_name(f"{path.name}-{kind}-{n}") for kind, n in numbers if isinstance(n, int)]


def _take_over_vectors(connection: sqlite3.Connection, path: Path, known: Mapping[str, Any]) -> None:
    rows = _map_rows(path, known) if "vector_rows" in known else None
    with decoding("the vectors"):
        connection.executemany(
            "INSERT INTO document_vectors (document, first, vectors) VALUES (?, ?, ?)",
            _from_table(connection) if rows is None else _from_file(connection, rows),
        )
    count_change(connection)


def _from_table(connection: sqlite3.Connection) -> Iterator[_Vectors]:
    rows = connection.execute(
        "SELECT c.document, c.id, v.vector FROM chunks c JOIN vectors v ON v.chunk = c.id ORDER BY c.document, c.id"
    )
    for document, found in groupby(rows, key=itemgetter(0)):
        chunks = list(found)
        yield document, chunks[0][1], b"".join(blob for _, _, blob in chunks)


def _from_file(connection: sqlite3.Connection, rows: np.ndarray) -> Iterator[_Vectors]:
    for document, chunk, place, count in connection.execute("SELECT document, chunk, place, count FROM vector_runs"):
        yield document, chunk, rows[place : place + count].tobytes()


def _map_rows(path: Path, known: Mapping[str, Any]) -> np.ndarray:
    """Return the rows of the file of vectors beside a database of version 2 or 3."""
    name = f"{path.name}-vectors-{known.get('vector_generation')}"
    shape = (known["vector_rows"], known["vector_dimension"])
    try:
        file = path.with_name(name)
        if not file.is_file():  # nor a pipe, which would be waited for
            raise FileNotFoundError("there is no such file")
        with file.open("rb") as opened:
            header = opened.read(_HEADER_BYTES)
            if header[:8] != _MAGIC or header[8:24].hex() != known.get("vector_identity"):
                raise ValueError("it is of another database")
            if file.stat().st_size < _HEADER_BYTES + 4 * shape[0] * shape[1]:
                raise ValueError("it is too short")
            return np.memmap(opened, "<f4", "r", _HEADER_BYTES, shape) if shape[0] else np.empty(shape)
    except (OSError, *WRONG_VALUE) as error:
        raise StoreError(
            f"{name}, which holds the vectors of {path}, is missing or damaged ({error}): put the whole one back "
            "beside the database, or index again into a new file"
        ) from error


def _read_words_anew(connection: sqlite3.Connection) -> None:
    sql = "SELECT id, heading_path, prefix, heading_terms, text, terms FROM chunks WHERE id > ? ORDER BY id LIMIT ?"
    last = -1
    while rows := connection.execute(sql, (last, _ROWS_AT_ONCE)).fetchall():
        for row_id, headings, prefix, heading_terms, text, terms in rows:
            with decoding("a chunk"):
                above = None if headings is None else json.loads(headings)
                made = terms_of(above, None if prefix is None else decode_text(prefix), decode_text(text))
            if made != (heading_terms, terms):
                connection.execute(f"{DELETE_TERMS} id = ?", (row_id,))
                connection.execute("UPDATE chunks SET heading_terms = ?, terms = ? WHERE id = ?", (*made, row_id))
                connection.execute(f"{INSERT_TERMS} id = ?", (row_id,))
        last = rows[-1][0]
