"""The contents of a store file, and its integrity check."""

from __future__ import annotations

import json
import operator
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from retrivex.errors import StoreError, quoted
from retrivex.model.document import Document
from retrivex.stores.sqlite.connection import DamagedRowError, decoding
from retrivex.stores.sqlite.list_building import list_space
from retrivex.stores.sqlite.list_file import ListReader, ListSpace
from retrivex.stores.sqlite.rows import decode_mapping, decode_text
from retrivex.stores.sqlite.schema import schema_version
from retrivex.stores.sqlite.vector_file import VectorReader, VectorSpace
from retrivex.stores.sqlite.vector_runs import find_vector_problems, read_gaps, vector_space


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
class ApproximateInfo:
    """The approximate index of a store's vectors.

    Parameters
    ----------
    vectors : in its lists, deleted ones among them
    lists : how many there are
    later : rows of the file of vectors that came after it was written, and are all compared
    recall : share of the 50 nearest that it found when it was written, with 64 of the stored vectors as questions;
        questions of people lie further from what is stored, and find somewhat less
    """

    vectors: int
    lists: int
    later: int
    recall: float


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
    approximate : of the approximate index of the vectors; None where they are all compared
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
    approximate: ApproximateInfo | None
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
}

_VECTOR_RULES = {
    "document {} lacks vectors": """SELECT doc_id FROM documents d WHERE vector_count <>
        coalesce((SELECT count FROM vector_runs r WHERE r.document = d.id), 0)""",
    "the vectors of document {} are not those of its chunks": """SELECT d.doc_id FROM vector_runs r
        JOIN documents d ON d.id = r.document WHERE r.count <> d.chunk_count OR EXISTS
        (SELECT 1 FROM chunks c WHERE c.document = d.id AND c.id NOT BETWEEN r.chunk AND r.chunk + r.count - 1)""",
    "vectors of row {} belong to no document": """SELECT document FROM vector_runs
        WHERE document NOT IN (SELECT id FROM documents)""",
}

# vectors that stand in the database itself
_BLOB_RULES = {
    "document {} lacks vectors": """SELECT doc_id FROM documents d WHERE vector_count <>
        (SELECT count(*) FROM chunks c JOIN vectors v ON v.chunk = c.id WHERE c.document = d.id)""",
    "vector {} belongs to no chunk": "SELECT chunk FROM vectors WHERE chunk NOT IN (SELECT id FROM chunks)",
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


def read_info(
    connection: sqlite3.Connection, path: Path, space: VectorSpace | None, listed: ListSpace | None
) -> StoreInfo:
    """Return how much of everything there is."""
    documents, chunks, parents, vectors, characters = connection.execute(_SUMS).fetchone()
    tokenizers = connection.execute(
        "SELECT DISTINCT tokenizer FROM documents WHERE tokenizer IS NOT NULL ORDER BY tokenizer"
    )
    return StoreInfo(
        path,
        schema_version(connection),
        documents,
        chunks,
        parents,
        vectors,
        characters,
        None if space is None else space.model,
        None if space is None else space.dimension,
        None
        if space is None or listed is None
        else ApproximateInfo(listed.entries, listed.lists, space.rows - listed.rows, listed.recall),
        tuple(decode_text(row[0]) for row in tokenizers),
        tuple(
            None if row[0] is None else decode_text(row[0])
            for row in connection.execute("SELECT scope FROM scopes ORDER BY scope")
        ),
        path.stat().st_size,
    )


def find_problems(connection: sqlite3.Connection, vectors: VectorReader, lists: ListReader) -> list[str]:
    """Return what is wrong, in words: SQLite's own check, half documents, and an index that differs from the text."""
    problems = [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
    space = vector_space(connection)
    rules = {**_RULES, **({} if space is None else _VECTOR_RULES if space.generation else _BLOB_RULES)}
    for words, query in rules.items():
        problems += [words.format(repr(row[0])) for row in connection.execute(query)]
    problems += find_vector_problems(connection, vectors)
    problems += find_list_problems(connection, space, lists)
    try:
        # rank 1: compare the index with the texts it was made from, not only with itself
        connection.execute("INSERT INTO chunk_fts (chunk_fts, rank) VALUES ('integrity-check', 1)")
    except sqlite3.DatabaseError as error:
        problems.append(f"the full-text index does not match the chunks ({error}); index again into a new file")
    return problems


def find_list_problems(connection: sqlite3.Connection, space: VectorSpace | None, reader: ListReader) -> Iterator[str]:
    """Yield what is wrong with the approximate index: it must hold every row that it covers, once. Reads all of it."""
    listed = list_space(connection, space)
    if listed is None or space is None:
        return
    try:
        lists, checksum = reader.lists(listed), reader.checksum(listed)
    except StoreError as error:
        yield str(error)
        return
    if checksum != listed.checksum:
        yield "the approximate index is not the one that was written; make it anew with index_vectors()"
        return
    places = lists.places
    held = np.zeros(listed.rows, bool)
    inside = bool(places.min() >= 0 and places.max() < listed.rows)
    if inside:
        held[places] = True
    once = inside and np.count_nonzero(held) == listed.entries
    held[[place for place in read_gaps(connection, space).tolist() if place < listed.rows]] = True
    if not once or not held.all():
        yield "the approximate index does not hold each vector once; make it anew with index_vectors()"
