"""The contents of a store file, and its integrity check."""

from __future__ import annotations

import json
import operator
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from retrivex.errors import quoted
from retrivex.model.document import Document
from retrivex.stores.sqlite.connection import DamagedRowError, decoding
from retrivex.stores.sqlite.rows import decode_mapping, decode_text
from retrivex.stores.sqlite.schema import schema_version
from retrivex.stores.sqlite.vector_table import vector_space


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """A document in a store, without its text.

    Parameters
    ----------
    doc_id, format, title, source, timestamp, scope : see `Document`
    content_hash : see `retrivex.stores.content_hash`
    tokenizer : what counted its chunks' tokens at index time; None where nothing did
    chunk_count, parent_count, vector_count : how many of each it has
    characters : length of its text, in Unicode code points
    """

    doc_id: str
    format: str
    title: str | None
    source: str | None
    timestamp: float | None
    scope: str | None
    content_hash: str
    tokenizer: str | None
    chunk_count: int
    parent_count: int
    vector_count: int
    characters: int


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """How much of everything a store holds.

    Parameters
    ----------
    path : the file
    schema_version : of its tables
    documents, chunks, parents, vectors : how many of each
    characters : length of all documents' texts, in Unicode code points
    vector_model, vector_dimension : of the vectors; None without any
    tokenizers : names of what counted tokens at index time
    scopes : scopes that chunks carry or carried; None stands for chunks without one
    size_bytes : of the file, without its write-ahead log
    """

    path: Path
    schema_version: int
    documents: int
    chunks: int
    parents: int
    vectors: int
    characters: int
    vector_model: str | None
    vector_dimension: int | None
    tokenizers: tuple[str, ...]
    scopes: tuple[str | None, ...]
    size_bytes: int


_INFO = ", ".join(DocumentInfo.__slots__)

# as the class is annotated
_KINDS = {"str": str, "str | None": str | None, "float | None": float | int | None, "int": int}
_INFO_KINDS = [(field.name, _KINDS[str(field.type)]) for field in fields(DocumentInfo)]

_SUMS = """
SELECT count(*), coalesce(sum(chunk_count), 0), coalesce(sum(parent_count), 0), coalesce(sum(vector_count), 0),
  coalesce(sum(characters), 0)
FROM documents
"""

# What must hold after any number of interrupted writes, as queries that find rows where it does not.
_RULES = {
    "document {} lacks chunks": """SELECT doc_id FROM documents d WHERE chunk_count <>
        (SELECT count(*) FROM chunks c WHERE c.document = d.id)""",
    "document {} lacks parents": """SELECT doc_id FROM documents d WHERE parent_count <>
        (SELECT count(*) FROM parents p WHERE p.document = d.id)""",
    "chunk row {} belongs to no document": "SELECT id FROM chunks WHERE document NOT IN (SELECT id FROM documents)",
    "parent {} belongs to no document": "SELECT name FROM parents WHERE document NOT IN (SELECT id FROM documents)",
    "chunk row {} has no scope row": "SELECT id FROM chunks WHERE scope NOT IN (SELECT id FROM scopes)",
    "document {} lacks vectors": """SELECT doc_id FROM documents d WHERE 4 * vector_count *
        coalesce((SELECT value FROM meta WHERE key = 'vector_dimension'), 0) <>
        coalesce((SELECT length(vectors) FROM document_vectors v WHERE v.document = d.id), 0)""",
    "the vectors of document {} are not those of its chunks": """SELECT d.doc_id FROM document_vectors v
        JOIN documents d ON d.id = v.document WHERE d.vector_count <> d.chunk_count OR EXISTS
        (SELECT 1 FROM chunks c WHERE c.document = d.id
          AND c.id NOT BETWEEN v.first AND v.first + d.chunk_count - 1)""",
    "vectors of row {} belong to no document": """SELECT document FROM document_vectors
        WHERE document NOT IN (SELECT id FROM documents)""",
}


def read_document(connection: sqlite3.Connection, doc_id: str) -> Document | None:
    """Return the document with its text; None where there is none of that name."""
    row = connection.execute(
        "SELECT text, format, title, page_starts, source, timestamp, scope, metadata FROM documents WHERE doc_id = ?",
        (doc_id,),
    ).fetchone()
    if row is None:
        return None
    text, text_format, title, page_starts, source, timestamp, scope, metadata = row
    with decoding(f"document {doc_id!r}"):
        starts = tuple(map(operator.index, json.loads(page_starts)))
        return Document(
            doc_id, decode_text(text), text_format, title, starts, source, timestamp, scope, decode_mapping(metadata)
        )


def read_infos(connection: sqlite3.Connection, after: str = "") -> Iterator[DocumentInfo]:
    """Yield the documents behind `after`, by `doc_id`."""
    for row in connection.execute(f"SELECT {_INFO} FROM documents WHERE doc_id > ? ORDER BY doc_id", (after,)):
        yield _decode_info(row)


def find_info(connection: sqlite3.Connection, doc_id: str) -> DocumentInfo | None:
    """Return the document of that name without its text; None where there is none."""
    row = connection.execute(f"SELECT {_INFO} FROM documents WHERE doc_id = ?", (doc_id,)).fetchone()
    return None if row is None else _decode_info(row)


def _decode_info(row: Sequence[Any]) -> DocumentInfo:
    for (name, kinds), value in zip(_INFO_KINDS, row, strict=True):
        if not isinstance(value, kinds):
            raise DamagedRowError(f"document {quoted(row[0])} cannot be read: {name} is {quoted(value)}")
    return DocumentInfo(*row)


def read_info(connection: sqlite3.Connection, path: Path) -> StoreInfo:
    """Return how much of everything there is."""
    space = vector_space(connection)
    model, dimension = (None, None) if space is None else (space.model, space.dimension)
    documents, chunks, parents, vectors, characters = connection.execute(_SUMS).fetchone()
    names = "SELECT DISTINCT tokenizer FROM documents WHERE tokenizer IS NOT NULL ORDER BY tokenizer"
    tokenizers = tuple(decode_text(row[0]) for row in connection.execute(names))
    rows = connection.execute("SELECT scope FROM scopes ORDER BY scope")
    scopes = tuple(None if row[0] is None else decode_text(row[0]) for row in rows)
    version, size = schema_version(connection), path.stat().st_size
    return StoreInfo(
        path, version, documents, chunks, parents, vectors, characters, model, dimension, tokenizers, scopes, size
    )


def find_problems(connection: sqlite3.Connection) -> list[str]:
    """Return what is wrong, in words: SQLite's own check, half documents, and an index that differs from the text."""
    problems = [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
    for words, query in _RULES.items():
        problems += [words.format(repr(row[0])) for row in connection.execute(query)]
    try:
        # rank 1: compare the index with the texts it was made from, not only with itself
        connection.execute("INSERT INTO chunk_fts (chunk_fts, rank) VALUES ('integrity-check', 1)")
    except sqlite3.DatabaseError as error:
        problems.append(f"the full-text index does not match the chunks ({error}); index again into a new file")
    return problems
