"""Writes one checked document into the tables, or deletes it, inside the caller's transaction."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Sequence
from typing import Literal, TypeAlias

from retrivex.errors import StoreError
from retrivex.model.chunk import Chunk, ChunkMetadata
from retrivex.model.document import Document
from retrivex.model.header import chunk_header
from retrivex.stores.sqlite.fts import index_terms
from retrivex.stores.sqlite.record import Record
from retrivex.stores.sqlite.rows import FIELDS
from retrivex.stores.sqlite.schema import COUNT_COLUMNS
from retrivex.stores.sqlite.vector_table import add_vectors, check_vector_space, remove_vectors, vector_space

PutResult: TypeAlias = Literal["added", "updated", "unchanged"]
"""What `put` did with a document."""

_CHUNK_COLUMNS = ("document", "scope", *FIELDS, "tokens", *COUNT_COLUMNS, "heading_terms", "terms")
_PARENT_COLUMNS = ("document", "scope", *FIELDS, "name")

INSERT_TERMS = "INSERT INTO chunk_fts (rowid, body, heading) SELECT id, body, heading FROM chunk_terms WHERE"
DELETE_TERMS = (
    "INSERT INTO chunk_fts (chunk_fts, rowid, body, heading) SELECT 'delete', id, body, heading FROM chunk_terms WHERE"
)


def admit(connection: sqlite3.Connection, record: Record) -> None:
    """Refuse a record that does not fit what the file already holds; nothing is written.

    Raises
    ------
    StoreError
        If a parent id belongs to another document, or the vectors are of another model or dimension.
    """
    # of another document: `fetch_parents` finds parents by id alone
    taken = connection.execute(
        "SELECT p.name, d.doc_id FROM json_each(?) wanted CROSS JOIN parents p ON p.name = wanted.value "
        "JOIN documents d ON d.id = p.document WHERE d.doc_id <> ? LIMIT 1",
        (json.dumps(list(record.parents)), record.document.doc_id),
    ).fetchone()
    if taken:
        already = f"parent id {taken[0]!r} of {record.document.doc_id!r} already names a parent of {taken[1]!r}"
        raise StoreError(f"{already}: parent ids are unique in a store; put the doc_id in front")
    if record.vectors is not None:
        check_vector_space(vector_space(connection), record.encoder, record.vectors.shape[1])


def write(connection: sqlite3.Connection, record: Record) -> PutResult:
    """Write `record` in place of the document of the same name."""
    doc_id = record.document.doc_id
    old = connection.execute("SELECT id, content_hash FROM documents WHERE doc_id = ?", (doc_id,)).fetchone()
    if old and old[1] == record.document_row["content_hash"]:
        return "unchanged"
    if old:
        remove(connection, old[0])
    columns = record.document_row
    document = connection.execute(_insert("documents", tuple(columns)), tuple(columns.values())).lastrowid
    scopes = _scope_ids(connection, record)
    connection.executemany(
        _insert("chunks", _CHUNK_COLUMNS),
        (
            (
                document,
                scopes[chunk.metadata.scope],
                *row,
                *tokens,
                *terms_of(_above(chunk.metadata), chunk.metadata.prefix, chunk.text),
            )
            for chunk, row, tokens in zip(record.chunks, record.chunk_rows, record.token_rows, strict=True)
        ),
    )
    connection.executemany(
        _insert("parents", _PARENT_COLUMNS),
        (
            (document, scopes[_parent_scope(record.document, parent)], *row, name)
            for (name, parent), row in zip(record.parents.items(), record.parent_rows, strict=True)
        ),
    )
    connection.execute(f"{INSERT_TERMS} document = ?", (document,))
    if record.vectors is not None:
        assert record.encoder is not None  # `prepare` refuses vectors without
        add_vectors(connection, document, record.vectors, record.encoder)
    return "updated" if old else "added"


def remove(connection: sqlite3.Connection, document: int) -> None:
    """Delete a document by its row id with everything that belongs to it."""
    connection.execute(f"{DELETE_TERMS} document = ?", (document,))
    remove_vectors(connection, document)
    for table, column in (("chunks", "document"), ("parents", "document"), ("documents", "id")):
        connection.execute(f"DELETE FROM {table} WHERE {column} = ?", (document,))


def lies_under(source: str | None, root: str) -> bool:
    """Whether `source` is the path `root` or lies below it, compared as written."""
    return source is not None and (
        source == root or source.startswith((root.rstrip("/") + "/", root.rstrip(os.sep) + os.sep))
    )


def _insert(table: str, columns: Sequence[str]) -> str:
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"


def terms_of(headings: Sequence[str] | None, prefix: str | None, text: str) -> tuple[str | None, str | None]:
    """Return what full-text search reads of the headings above a chunk with its prefix, and of its text."""
    above = "\n".join([*(headings or ()), *([prefix] if prefix else ())])
    return index_terms(above) or above or None, index_terms(text)


def _above(metadata: ChunkMetadata) -> Sequence[str]:
    """Return the header of a chunk, and the headings above it that the header does not name."""
    header, headings = chunk_header(metadata), metadata.heading_path or ()
    return [header, *(heading for heading in headings if heading not in header)] if header else headings


def _parent_scope(document: Document, parent: Chunk | str) -> str | None:
    return document.scope if isinstance(parent, str) else parent.metadata.scope


def _scope_ids(connection: sqlite3.Connection, record: Record) -> dict[str | None, int]:
    """Return the row ids of the scopes that `record` uses, new ones included."""
    used = {chunk.metadata.scope for chunk in record.chunks}
    used |= {_parent_scope(record.document, parent) for parent in record.parents.values()}
    ids = {}
    for scope in used:
        # IS, not =: the row of unscoped chunks holds NULL, and the unique index would let in any number of those
        find = ("SELECT id FROM scopes WHERE scope IS ?", (scope,))
        if connection.execute(*find).fetchone() is None:
            connection.execute("INSERT INTO scopes (scope) VALUES (?)", (scope,))
        ids[scope] = connection.execute(*find).fetchone()[0]
    return ids
