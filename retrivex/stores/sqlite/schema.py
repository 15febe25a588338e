"""The tables of a store file, and the check of its version."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cache

from retrivex.errors import StoreError
from retrivex.stores.sqlite.connection import SchemaObject, check_objects, list_objects, write_ahead
from retrivex.stores.sqlite.fts import TOKENIZER

APPLICATION_ID = 0x52565831
"""`RVX1` in the file's header: distinguishes a store from other SQLite databases."""

SCHEMA_VERSION = 4
"""4 has the vectors of each document in a row. Files of earlier versions are brought up to date by `migration`."""

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

VECTOR_TABLE = """CREATE TABLE document_vectors (
      document INTEGER PRIMARY KEY,
      first INTEGER NOT NULL,
      vectors BLOB NOT NULL
    )"""
"""`vectors` are rows of float32, of the chunk with the row id `first` and of those that follow it."""

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
    VECTOR_TABLE,
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

COUNT_COLUMNS = {"tokens_checksum": "INTEGER", "unit_cuts": "BLOB"}
"""Columns of chunks that go with their token counts, as `StoredCount` has them; files of 0.2.0 have none of them."""

# of versions 1 to 3, whose vectors stood in a table of their own, or in a file that these describe
EARLY_TABLES = {
    "vectors": "CREATE TABLE vectors (chunk INTEGER PRIMARY KEY, vector BLOB NOT NULL)",
    "vector_runs": """CREATE TABLE vector_runs (
      document INTEGER PRIMARY KEY,
      chunk INTEGER NOT NULL,
      place INTEGER NOT NULL UNIQUE,
      count INTEGER NOT NULL,
      checksum INTEGER NOT NULL
    )""",
    "vector_gaps": "CREATE TABLE vector_gaps (place INTEGER PRIMARY KEY, count INTEGER NOT NULL)",
}


def ensure_schema(connection: sqlite3.Connection, path: str, *, read_only: bool) -> None:
    """Create the tables in an empty file; accept a store's file; refuse any other.

    Raises
    ------
    StoreError
        If the file belongs to another application or to a newer RetriVex, holds anything that no version made, is
        empty or of an earlier version and `read_only`, or lies where write-ahead logging cannot work.
    """
    if _is_store(connection, path):
        if read_only and schema_version(connection) < SCHEMA_VERSION:
            raise StoreError(
                f"{path} was written by an earlier RetriVex: open it once for writing, as `retrivex inspect --check` "
                "does, which brings it up to date"
            )
        return
    if read_only:
        raise StoreError(f"{path} is empty: there is nothing to read; index documents into it first")
    mode = write_ahead(connection)
    if mode != "wal":
        raise StoreError(
            f"{path} cannot use write-ahead logging (journal mode is {mode!r}), which keeps readers and writers "
            "apart; put the file on a local disk"
        )
    connection.execute("BEGIN IMMEDIATE")
    # another process may have been faster between the first look and the lock
    if not _is_store(connection, path):
        for statement in _TABLES:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    connection.execute("COMMIT")


def add_count_columns(connection: sqlite3.Connection) -> None:
    """Add those of `COUNT_COLUMNS` that a file lacks, inside the caller's transaction."""
    known = {name for (name,) in connection.execute("SELECT name FROM pragma_table_info('chunks')")}
    for name in sorted(COUNT_COLUMNS.keys() - known):
        connection.execute(f"ALTER TABLE chunks ADD COLUMN {name} {COUNT_COLUMNS[name]}")


@cache
def _objects() -> frozenset[SchemaObject]:
    """Return all that a file may hold, whatever version made it, before and after it was brought up to date."""
    made: set[SchemaObject] = set()
    early = [_without_count_columns(statement) for statement in _TABLES]
    for tables in (_TABLES, early):
        with closing(sqlite3.connect(":memory:")) as connection:
            for statement in (*tables, *EARLY_TABLES.values()):
                connection.execute(statement)
            made.update(list_objects(connection))
            add_count_columns(connection)
            made.update(list_objects(connection))
    return frozenset(made)


def _without_count_columns(statement: str) -> str:
    for name, kind in COUNT_COLUMNS.items():
        statement = statement.replace(f"      {name} {kind},\n", "")
    return statement


def schema_version(connection: sqlite3.Connection) -> int:
    """Return the version of the file's tables."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def _is_store(connection: sqlite3.Connection, path: str) -> bool:
    """Whether the file is a store of this or an earlier version; False where it is still empty."""
    # in one statement: another process may make the tables between two looks
    application, version, tables = connection.execute(
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master) "
        "FROM pragma_application_id, pragma_user_version"
    ).fetchone()
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
