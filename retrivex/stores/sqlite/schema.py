"""The tables of a store file, and the check of its version."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from functools import cache

from retrivex.errors import StoreError
from retrivex.stores.sqlite.connection import SchemaObject, check_objects, list_objects
from retrivex.stores.sqlite.fts import TOKENIZER

APPLICATION_ID = 0x52565831
"""`RVX1` in the file's header: distinguishes a store from other SQLite databases."""

SCHEMA_VERSION = 3
"""3 has words as `retrivex.text.words` reads them. 2 has vectors in a file of their own, which 1 has in a table."""

_PAUSE_S = 0.01

# What a chunk and a parent section have in common. Long texts stand last: SQLite reads a row from its beginning.
_CHUNK_FIELDS = """
  scope INTEGER NOT NULL,
  char_start INTEGER,
  char_end INTEGER,
  parent_id TEXT,
  heading_path TEXT,
  page INTEGER,
  custom_metadata TEXT,
  timestamp REAL,
  chunk_count INTEGER,
  links TEXT,
  prefix TEXT,
  sequence_kinds INTEGER NOT NULL,
"""

_TABLES = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID",
    "CREATE TABLE scopes (id INTEGER PRIMARY KEY, scope TEXT)",
    "CREATE UNIQUE INDEX scopes_scope ON scopes (scope)",
    """CREATE TABLE documents (
      id INTEGER PRIMARY KEY,
      doc_id TEXT NOT NULL UNIQUE,
      content_hash TEXT NOT NULL,
      format TEXT NOT NULL,
      title TEXT,
      source TEXT,
      timestamp REAL,
      scope TEXT,
      tokenizer TEXT,
      chunk_count INTEGER NOT NULL,
      parent_count INTEGER NOT NULL,
      vector_count INTEGER NOT NULL,
      characters INTEGER NOT NULL,
      page_starts TEXT NOT NULL,
      metadata TEXT NOT NULL,
      text TEXT NOT NULL
    )""",
    f"""CREATE TABLE chunks (
      id INTEGER PRIMARY KEY,
      document INTEGER NOT NULL,
      chunk_id INTEGER NOT NULL,
      {_CHUNK_FIELDS}
      tokens INTEGER,
      tokens_checksum INTEGER,
      unit_cuts BLOB,
      heading_terms TEXT,
      text TEXT NOT NULL,
      terms TEXT,
      UNIQUE (document, chunk_id)
    )""",
    "CREATE INDEX chunks_scope ON chunks (scope)",
    f"""CREATE TABLE parents (
      name TEXT NOT NULL UNIQUE,
      document INTEGER NOT NULL,
      chunk_id INTEGER,
      {_CHUNK_FIELDS}
      text TEXT NOT NULL
    )""",
    "CREATE INDEX parents_document ON parents (document)",
    # of version 1; empty, and dropped with the first vector
    "CREATE TABLE vectors (chunk INTEGER PRIMARY KEY, vector BLOB NOT NULL)",
    # The index reads chunks through this view, when rows come and when they go: what is deleted is exactly what was
    # inserted, and no second copy of the text is kept (`terms` is set only where the text itself will not do).
    """CREATE VIEW chunk_terms AS
      SELECT id, document, coalesce(terms, text) AS body, coalesce(heading_terms, '') AS heading FROM chunks""",
    f"""CREATE VIRTUAL TABLE chunk_fts USING fts5(
      body, heading, content='chunk_terms', content_rowid='id', tokenize="{TOKENIZER}"
    )""",
    # Merging 16 pieces of the index at once instead of 4 writes each word less often: a third faster, no slower to ask.
    "INSERT INTO chunk_fts (chunk_fts, rank) VALUES ('automerge', 16)",
)

_VECTOR_TABLES = (
    # rows `place` to `place + count` of the file are the vectors of the chunks from row id `chunk` on
    """CREATE TABLE IF NOT EXISTS vector_runs (
      document INTEGER PRIMARY KEY,
      chunk INTEGER NOT NULL,
      place INTEGER NOT NULL UNIQUE,
      count INTEGER NOT NULL,
      checksum INTEGER NOT NULL
    )""",
    "CREATE TABLE IF NOT EXISTS vector_gaps (place INTEGER PRIMARY KEY, count INTEGER NOT NULL)",
)


def ensure_schema(connection: sqlite3.Connection, path: str, *, read_only: bool) -> None:
    """Create the tables in an empty file; accept a store's file; refuse any other.

    Raises
    ------
    StoreError
        If the file belongs to another application or to a newer RetriVex, holds anything that no version made, is
        empty and `read_only`, or lies where write-ahead logging cannot work.
    """
    if _is_current(connection, path):
        return
    if read_only:
        raise StoreError(f"{path} is empty: there is nothing to read; index documents into it first")
    mode = _write_ahead(connection)
    if mode != "wal":
        raise StoreError(
            f"{path} cannot use write-ahead logging (journal mode is {mode!r}), which keeps readers and writers "
            "apart; put the file on a local disk"
        )
    connection.execute("BEGIN IMMEDIATE")
    # another process may have been faster between the first look and the lock
    if not _is_current(connection, path):
        for statement in _TABLES:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    connection.execute("COMMIT")


COUNT_COLUMNS = {"tokens_checksum": "INTEGER", "unit_cuts": "BLOB"}
"""Columns of chunks that go with their token counts, as `StoredCount` has them; files of 0.2.0 have none of them."""


def count_columns(connection: sqlite3.Connection) -> frozenset[str]:
    """Return those of `COUNT_COLUMNS` that a file has."""
    found = connection.execute("SELECT name FROM pragma_table_info('chunks')")
    return frozenset(COUNT_COLUMNS).intersection(name for (name,) in found)


def add_count_columns(connection: sqlite3.Connection) -> None:
    """Add those that are missing, inside the caller's transaction.

    Versions that do not know them leave them empty, so that nothing believes the counts that they write.
    """
    for name in sorted(COUNT_COLUMNS.keys() - count_columns(connection)):
        connection.execute(f"ALTER TABLE chunks ADD COLUMN {name} {COUNT_COLUMNS[name]}")


@cache
def _objects() -> frozenset[SchemaObject]:
    """Return all that a file of any version may hold: without some columns, with those added, with vectors or not."""
    made: set[SchemaObject] = set()
    for known in range(len(COUNT_COLUMNS) + 1):
        later = sorted(COUNT_COLUMNS)[known:]
        with closing(sqlite3.connect(":memory:")) as connection:
            for statement in _TABLES:
                for name in later:
                    statement = statement.replace(f"      {name} {COUNT_COLUMNS[name]},\n", "")
                connection.execute(statement)
            made.update(list_objects(connection))
            for name in later:
                connection.execute(f"ALTER TABLE chunks ADD COLUMN {name} {COUNT_COLUMNS[name]}")
                made.update(list_objects(connection))
            add_vector_tables(connection)
            made.update(list_objects(connection))
    return frozenset(made)


def add_vector_tables(connection: sqlite3.Connection) -> None:
    """Turn a file into one whose vectors lie beside it, inside the caller's transaction."""
    for statement in _VECTOR_TABLES:
        connection.execute(statement)


def drop_vector_blobs(connection: sqlite3.Connection) -> None:
    """Remove the table in which version 1 kept vectors, inside the caller's transaction."""
    connection.execute("DROP TABLE IF EXISTS vectors")


def has_early_words(connection: sqlite3.Connection) -> bool:
    """Whether the index of a file has words as version 0.2 read them."""
    return schema_version(connection) < SCHEMA_VERSION


def schema_version(connection: sqlite3.Connection) -> int:
    """Return the version of the file's tables."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


@contextmanager
def _one_look(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN")
    try:
        yield
    finally:
        if connection.in_transaction:  # not after an error that has ended it
            connection.execute("ROLLBACK")


def _write_ahead(connection: sqlite3.Connection) -> str:
    """Switch to write-ahead logging and return the journal's mode.

    SQLite does not wait here for another process that switches at the same time: it has to be asked again.
    """
    ends = time.monotonic() + connection.execute("PRAGMA busy_timeout").fetchone()[0] / 1000
    while True:
        try:
            mode: str = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_BUSY or time.monotonic() >= ends:
                raise
            time.sleep(_PAUSE_S)
        else:
            return mode


def _is_current(connection: sqlite3.Connection, path: str) -> bool:
    """Whether the file is a store of this version; False where it is still empty."""
    # in one transaction: another process may make the tables between two looks
    with nullcontext() if connection.in_transaction else _one_look(connection):
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = schema_version(connection)
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if application == 0 and tables == 0:
        return False
    if application != APPLICATION_ID:
        raise StoreError(f"{path} is an SQLite database of another application: name a new file for the store")
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"{path} was written by a newer RetriVex (schema version {version}, this one reads {SCHEMA_VERSION}): "
            "upgrade retrivex-rag, or index again into a new file"
        )
    check_objects(connection, path, _objects())
    return True
