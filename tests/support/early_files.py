"""Databases as earlier versions wrote them."""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from contextlib import closing
from pathlib import Path

from retrivex.stores.sqlite.list_file import list_files
from retrivex.stores.sqlite.vector_file import VectorReader, vector_files
from retrivex.stores.sqlite.vector_runs import vector_space
from retrivex.text.scripts import UNSPACED_INDEX


def with_vectors_inside(path: Path) -> Path:
    """Turn a closed store into one of version 1, as 0.2.0 wrote it: its vectors stand in the database itself."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        made = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone()
        space = vector_space(connection) if made else None
        if space is None or not space.generation:
            return path
        rows = VectorReader(path).rows(space)
        connection.execute("BEGIN")
        connection.execute("CREATE TABLE vectors (chunk INTEGER PRIMARY KEY, vector BLOB NOT NULL)")
        for chunk, place in connection.execute(
            "SELECT c.id, r.place + c.id - r.chunk FROM chunks c JOIN vector_runs r ON r.document = c.document"
        ).fetchall():
            connection.execute("INSERT INTO vectors VALUES (?, ?)", (chunk, rows[place].tobytes()))
        connection.execute("DROP TABLE vector_runs")
        connection.execute("DROP TABLE vector_gaps")
        connection.execute("DELETE FROM meta WHERE key IN ('vector_generation', 'vector_identity', 'vector_rows')")
        connection.execute("DELETE FROM meta WHERE key GLOB 'lists*'")
        connection.execute("PRAGMA user_version = 1")
        connection.execute("COMMIT")
    for file in [*vector_files(path), *list_files(path)]:
        file.unlink()
    return path


def with_early_words(path: Path) -> Path:
    """Turn a closed store into one whose words stand in the index as 0.2.0 read them."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        for row_id, text in connection.execute("SELECT id, text FROM chunks").fetchall():
            connection.execute("UPDATE chunks SET terms = ? WHERE id = ?", (_early_terms(text), row_id))
        connection.execute("INSERT INTO chunk_fts (chunk_fts) VALUES ('rebuild')")
        connection.execute("PRAGMA user_version = 2")
        connection.execute("COMMIT")
    return path


def _early_terms(text: str) -> str | None:
    if not re.search(f"[{UNSPACED_INDEX}\uff00-\uffef]", text):
        return None
    return re.sub(
        f"[{UNSPACED_INDEX}]+",
        lambda run: f" {' '.join(run[0][at : at + 2] for at in range(len(run[0])))} ",
        unicodedata.normalize("NFKC", text),
    )
