"""Databases as earlier versions wrote them."""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from contextlib import closing
from pathlib import Path

from retrivex.stores.sqlite.schema import EARLY_TABLES
from retrivex.text.scripts import UNSPACED_INDEX

IDENTITY = "0123456789abcdef" * 2


def with_vectors_inside(path: Path) -> Path:
    """Turn a closed store into one of version 1, as 0.2.0 wrote it: its vectors stand in rows of their own."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        if not _is_current(connection):
            return path
        connection.execute("BEGIN")
        connection.execute(EARLY_TABLES["vectors"])
        for chunk, rows, dimension in _vectors(connection):
            for at, start in enumerate(range(0, len(rows), 4 * dimension)):
                connection.execute(
                    "INSERT INTO vectors VALUES (?, ?)", (chunk + at, rows[start : start + 4 * dimension])
                )
        _end(connection, 1)
    return path


def with_vectors_beside(path: Path) -> Path:
    """Turn a closed store into one of version 3: its vectors lie in a file beside it, with gaps, and are listed."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        for statement in EARLY_TABLES.values():
            connection.execute(statement)
        [model] = connection.execute("SELECT value FROM meta WHERE key = 'vector_dimension'").fetchall()
        dimension = model[0]
        content = b"RVXVEC01" + bytes.fromhex(IDENTITY) + dimension.to_bytes(4, "little")
        content = content.ljust(64, b"\0") + bytes(4 * dimension)
        for chunk, rows, _ in reversed(_vectors(connection)):
            place, count = (len(content) - 64) // (4 * dimension), len(rows) // (4 * dimension)
            connection.execute(
                "INSERT INTO vector_runs SELECT document, ?, ?, ?, 0 FROM chunks WHERE id = ?",
                (chunk, place, count, chunk),
            )
            content += rows
        connection.execute("INSERT INTO vector_gaps VALUES (0, 1)")
        notes = {
            "vector_generation": 2,
            "vector_identity": IDENTITY,
            "vector_rows": (len(content) - 64) // (4 * dimension),
            "lists": "{}",
            "lists_number": 3,
        }
        connection.executemany("INSERT INTO meta VALUES (?, ?)", notes.items())
        _end(connection, 3)
    Path(f"{path}-vectors-2").write_bytes(content)
    Path(f"{path}-lists-3").write_bytes(b"lists")
    return path


def with_early_words(path: Path) -> Path:
    """Turn a closed store into one whose words stand in the index as 0.2.0 read them."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        for row_id, text in connection.execute("SELECT id, text FROM chunks").fetchall():
            connection.execute("UPDATE chunks SET terms = ? WHERE id = ?", (_early_terms(text), row_id))
        connection.execute("INSERT INTO chunk_fts (chunk_fts) VALUES ('rebuild')")
        _end(connection, 2)
    return path


def _is_current(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'document_vectors'").fetchone())


def _vectors(connection: sqlite3.Connection) -> list[tuple[int, bytes, int]]:
    return connection.execute(
        "SELECT first, vectors, value FROM document_vectors, meta WHERE key = 'vector_dimension' ORDER BY first"
    ).fetchall()


def _end(connection: sqlite3.Connection, version: int) -> None:
    connection.execute("DROP TABLE document_vectors")
    connection.execute("DELETE FROM meta WHERE key = 'vector_changes'")
    connection.execute(f"PRAGMA user_version = {version}")
    connection.execute("COMMIT")


def _early_terms(text: str) -> str | None:
    if not re.search(f"[{UNSPACED_INDEX}\uff00-\uffef]", text):
        return None
    return re.sub(
        f"[{UNSPACED_INDEX}]+",
        lambda run: f" {' '.join(run[0][at : at + 2] for at in range(len(run[0])))} ",
        unicodedata.normalize("NFKC", text),
    )
