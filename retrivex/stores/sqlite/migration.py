"""Brings a file of version 0.2.0 up to date, once, in one transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from retrivex.stores.sqlite.connection import decoding
from retrivex.stores.sqlite.fts import index_terms
from retrivex.stores.sqlite.ingest import DELETE_TERMS, INSERT_TERMS, join_headings
from retrivex.stores.sqlite.rows import decode_text
from retrivex.stores.sqlite.schema import SCHEMA_VERSION, VECTOR_TABLE, add_count_columns, schema_version
from retrivex.stores.sqlite.vector_table import count_change

_ROWS_AT_ONCE = 1000


def bring_up_to_date(connection: sqlite3.Connection) -> None:
    """Move the vectors of a file of 0.2.0, and read its words anew; 0.2.0 then refuses the file."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        # another process may have been faster
        if schema_version(connection) < SCHEMA_VERSION:
            _migrate(connection)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _migrate(connection: sqlite3.Connection) -> None:
    add_count_columns(connection)
    connection.execute(VECTOR_TABLE)
    with decoding("the vectors"):
        connection.executemany("INSERT INTO document_vectors VALUES (?, ?, ?)", _vectors_by_document(connection))
    count_change(connection)
    connection.execute("DROP TABLE vectors")
    _read_words_anew(connection)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _vectors_by_document(connection: sqlite3.Connection) -> Iterator[tuple[int, int, bytes]]:
    """Yield each document, the row id of its first chunk, and its rows of float32."""
    rows = connection.execute(
        "SELECT c.document, c.id, v.vector FROM chunks c JOIN vectors v ON v.chunk = c.id ORDER BY c.document, c.id"
    )
    for document, found in groupby(rows, key=itemgetter(0)):
        chunks = list(found)
        yield document, chunks[0][1], b"".join(blob for _, _, blob in chunks)


def _read_words_anew(connection: sqlite3.Connection) -> None:
    sql = "SELECT id, heading_path, prefix, heading_terms, text, terms FROM chunks WHERE id > ? ORDER BY id LIMIT ?"
    last = -1
    while rows := connection.execute(sql, (last, _ROWS_AT_ONCE)).fetchall():
        for row_id, headings, prefix, heading_terms, text, terms in rows:
            made = _read_words(headings, prefix, text)
            if made != (heading_terms, terms):
                connection.execute(f"{DELETE_TERMS} id = ?", (row_id,))
                connection.execute("UPDATE chunks SET heading_terms = ?, terms = ? WHERE id = ?", (*made, row_id))
                connection.execute(f"{INSERT_TERMS} id = ?", (row_id,))
        last = rows[-1][0]


def _read_words(headings: str | None, prefix: str | None, text: str) -> tuple[str | None, str | None]:
    with decoding("a chunk"):
        above = () if headings is None else json.loads(headings)
        return join_headings(above, None if prefix is None else decode_text(prefix)), index_terms(decode_text(text))
