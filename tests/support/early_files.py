"""Databases as version 0.2.0 wrote them."""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from contextlib import closing
from pathlib import Path

from retrivex.stores.sqlite.schema import COUNT_COLUMNS, EARLY_VECTORS
from retrivex.text.scripts import UNSPACED_INDEX


def early_file(path: Path) -> Path:
    """Turn a closed store into one of 0.2.0: its vectors stand in rows of their own."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        if not _is_current(connection):
            return path
        connection.execute("BEGIN")
        connection.execute(EARLY_VECTORS)
        for chunk, rows, dimension in _vectors(connection):
            for at, start in enumerate(range(0, len(rows), 4 * dimension)):
                connection.execute(
                    "INSERT INTO vectors VALUES (?, ?)", (chunk + at, rows[start : start + 4 * dimension])
                )
        connection.execute("DROP TABLE document_vectors")
        for name in COUNT_COLUMNS:
            connection.execute(f"ALTER TABLE chunks DROP COLUMN {name}")
        connection.execute("DELETE FROM meta WHERE key = 'vector_changes'")
        connection.execute("PRAGMA user_version = 1")
        connection.execute("COMMIT")
    return path


def with_early_words(path: Path) -> Path:
    """Turn a closed store into one of 0.2.0 whose words stand in the index as that read them."""
    early_file(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for row_id, text in connection.execute("SELECT id, text FROM chunks").fetchall():
            connection.execute("UPDATE chunks SET terms = ? WHERE id = ?", (_early_terms(text), row_id))
        connection.execute("INSERT INTO chunk_fts (chunk_fts) VALUES ('rebuild')")
    return path


def _is_current(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'document_vectors'").fetchone())


def _vectors(connection: sqlite3.Connection) -> list[tuple[int, bytes, int]]:
    return connection.execute(
        "SELECT first, vectors, value FROM document_vectors, meta WHERE key = 'vector_dimension' ORDER BY first"
    ).fetchall()


def _early_terms(text: str) -> str | None:
    if not re.search(f"[{UNSPACED_INDEX}\uff00-\uffef]", text):
        return None
    return re.sub(
        f"[{UNSPACED_INDEX}]+",
        lambda run: f" {' '.join(run[0][at : at + 2] for at in range(len(run[0])))} ",
        unicodedata.normalize("NFKC", text),
    )
