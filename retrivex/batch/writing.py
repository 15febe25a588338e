"""Writes the parts of an index job into a store: each part once, and again without harm where a run was stopped."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from retrivex.adapters.base.backfill import path_of_counts
from retrivex.adapters.base.collection import ByIds, Collection
from retrivex.adapters.base.fields import uuid5_id
from retrivex.adapters.base.retries import RetryingCollection
from retrivex.batch.documents import prepared_of
from retrivex.batch.folder import OutputFolder, part_name
from retrivex.batch.job import OnPart
from retrivex.batch.prefetch import MOST_AT_ONCE
from retrivex.batch.stores import KEY_VARIABLE, SQLITE, StoreAddress
from retrivex.errors import ConfigError, StoreError
from retrivex.model.chunk import ChunkKey
from retrivex.model.window import Window
from retrivex.retrieval.indexing import PreparedDocument
from retrivex.stores import SQLiteStore
from retrivex.stores.sqlite.connection import store_path
from retrivex.text.addresses import Confidential

_MOST_PROBLEMS = 1_000  # that are kept word by word
_NOBODYS = "retrivex:is-this-store-written-to"  # the name of no document


class Writer(Protocol):
    """What takes documents, whole ones in place of what they had: writing them again changes nothing."""

    @property
    def target(self) -> str:
        """What is written into, without secrets."""

    def put(self, documents: Sequence[PreparedDocument]) -> None:
        """Write documents with their chunks."""

    @property
    def batch_limit(self) -> int:
        """Most chunks that `holds` takes."""

    @property
    def notes(self) -> Sequence[str]:
        """What the store has no place for, and why."""

    def holds(self, keys: Sequence[ChunkKey], scopes: frozenset[str | None]) -> bool:
        """Whether the store has all of these chunks, which have these scopes; one request."""

    def close(self) -> None:
        """Close the store."""


@dataclass(slots=True)
class Written:
    """The result of writing.

    Parameters
    ----------
    documents, chunks, tokens : in all parts
    problems : name or file, and why it is not in the store; the first thousand
    failed : how many there are
    notes : what the store has no place for, and why
    """

    documents: int = 0
    chunks: int = 0
    tokens: int = 0
    problems: list[tuple[str, str]] = field(default_factory=list)
    failed: int = 0
    notes: list[str] = field(default_factory=list)

    def refuse(self, name: str, reason: str) -> None:
        """Note a document that is not in the store."""
        self.failed += 1
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append((name, reason))


def write_parts(folder: OutputFolder, parts: int, writer: Writer, on_part: OnPart | None = None) -> Written:
    """Write the documents of all parts that are not in the store yet, part after part.

    A part is marked with the store's address once all of it is there. A run that is stopped in between writes that part
    again, which changes nothing: its documents take the place of themselves. So is a part that another store was given,
    and one of which the store does not have every document, by its first chunk: some were deleted, or the store was
    begun anew, since. Documents without chunks cannot be asked for, and are written each time.

    Parameters
    ----------
    folder : of the job, all of whose parts are made
    parts : how many there are
    writer : takes them
    on_part : is given how many parts are written, and of how many

    Raises
    ------
    StoreError
        If the store cannot be written.
    BatchError
        If a part is damaged.
    """
    made, seen = Written(), set[str]()
    for number in range(parts):
        mark = folder.path / f"_written-{number:05}"
        rows = folder.read(number).to_pylist()
        kept = []
        for row in rows:
            if row["error"] is not None:
                made.refuse(row["source"] or row["doc_id"] or part_name(number), row["error"]["message"])
            elif row["doc_id"] in seen:
                reason = f"doc_id {row['doc_id']!r} was used before: it must be unique; rename one of the two"
                made.refuse(row["source"] or row["doc_id"], reason)
            else:
                seen.add(row["doc_id"])
                kept.append(row)
        is_held = _read_mark(mark) == writer.target and _is_held(writer, kept)
        lacking = [row for row in kept if not (is_held and row["chunks"])]
        if lacking:
            writer.put([prepared_of(row) for row in lacking])
        if not is_held:
            mark.write_text(writer.target, encoding="utf-8", errors="surrogateescape")
        made.documents += len(kept)
        made.chunks += sum(len(row["chunks"]) for row in kept)
        made.tokens += sum(chunk["tokens"] for row in kept for chunk in row["chunks"])
        if on_part is not None:
            on_part(number + 1, parts)
    made.notes += writer.notes
    return made


def _read_mark(path: Path) -> str | None:
    """Return what a part was written into; None where it was not, or the mark itself was not finished."""
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except FileNotFoundError:
        return None


def _is_held(writer: Writer, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the store has the first chunk of every document; one without chunks cannot be asked for."""
    firsts = [row["chunks"][0] for row in rows if row["chunks"]]
    scopes = frozenset(first["scope"] for first in firsts)
    keys = [(first["doc_id"], first["chunk_id"]) for first in firsts]
    limit = writer.batch_limit
    return all(writer.holds(keys[at : at + limit], scopes) for at in range(0, len(keys), limit))


def open_writer(address: StoreAddress, *, counts: bool = True) -> Writer:
    """Open a store for writing; it is made where there is none.

    Parameters
    ----------
    address : of the store
    counts : keep in the records of a vector store what `retrivex backfill --counts` writes there, token counts and
        where texts may be cut, if they have a place for it; the embedded store always keeps them

    Raises
    ------
    StoreError
        If it cannot be opened, or stores of this kind are not filled by RetriVex.
    ImportError
        If its client is not installed; the message names the extra.
    """
    if address.kind == SQLITE:
        return _SQLiteWriter(SQLiteStore(address.address, with_embeddings=False), str(address))
    return _CollectionWriter(_open_collection(address), str(address), counts)


def _open_collection(address: StoreAddress) -> Collection:
    made: Collection = import_module("retrivex.adapters.base.opening").open_collection(
        address.kind, address.address, address.collection, address.layout, os.environ.get(KEY_VARIABLE)
    )
    return made


def check_writer(address: StoreAddress) -> None:
    """Make sure that a store can be written to, and make none: before a long job, not after it.

    Raises
    ------
    StoreError
        If it cannot be opened or reached, refuses, or is of a kind that RetriVex does not fill.
    ImportError
        If its client is not installed; the message names the extra.
    """
    if address.kind == SQLITE and not os.path.exists(address.address):
        folder = store_path(address.address, read_only=False, in_memory=None).parent
        if not os.access(folder, os.W_OK | os.X_OK):
            raise StoreError(f"{address.address} cannot be created: {folder} may not be written; name another file")
        return
    if address.kind == SQLITE:
        SQLiteStore(address.address).close()
        return
    collection = _open_collection(address)
    try:
        # nothing takes the place of what is there of a document that nobody has
        nothing = partial(collection.put, [_NOBODYS], [], np.zeros((0, 0), np.float32))
        RetryingCollection(collection).run(nothing)
    except StoreError as error:
        place = Confidential(address.address, os.environ.get(KEY_VARIABLE))
        raise StoreError(place.hide(str(error))) from error
    finally:
        collection.close()


class _SQLiteWriter:
    batch_limit = MOST_AT_ONCE
    notes: Sequence[str] = ()

    def __init__(self, store: SQLiteStore, target: str) -> None:
        self._store = store
        self.target = target

    def put(self, documents: Sequence[PreparedDocument]) -> None:
        with self._store.batch():
            for document in documents:
                document.put_into(self._store)

    def holds(self, keys: Sequence[ChunkKey], scopes: frozenset[str | None]) -> bool:
        found = self._store.fetch([Window(doc_id, number, number + 1) for doc_id, number in keys], scopes)
        return {chunk.key for chunk in found}.issuperset(keys)

    def close(self) -> None:
        self._store.close()


class _CollectionWriter:
    def __init__(self, collection: Collection, target: str, counts: bool) -> None:
        self._collection = collection
        self._retrying = RetryingCollection(collection)
        self.target = target
        self._counts = counts
        self.notes: list[str] = []
        self.batch_limit = min(collection.batch_limit, MOST_AT_ONCE)

    def put(self, documents: Sequence[PreparedDocument]) -> None:
        chunks = [chunk for document in documents for chunk in document.chunks]
        vectors = [document.vectors for document in documents if document.vectors is not None]
        if sum(map(len, vectors)) != len(chunks):
            raise StoreError(f"{self._collection.name} keeps vectors: name a model with --embed")
        if documents:
            flat = np.concatenate(vectors) if vectors else np.zeros((0, 0), np.float32)
            doc_ids = [document.document.doc_id for document in documents]
            fields = [count.to_field(made.tokenizer) for made in documents for count in made.token_counts]
            counts = fields if self._keeps_counts else None
            self._retrying.run(partial(self._collection.put, doc_ids, chunks, flat, counts))

    @cached_property
    def _keeps_counts(self) -> bool:
        keeps: bool = self._counts and self._retrying.run(self._ask_for_counts)
        return keeps

    def _ask_for_counts(self) -> bool:
        try:
            path_of_counts(self._collection, "chunks are written without them, and counted when they are composed")
        except (ConfigError, StoreError) as error:  # counts save time, and nothing else depends on them
            self.notes.append(str(error))
            return False
        return True

    def holds(self, keys: Sequence[ChunkKey], scopes: frozenset[str | None]) -> bool:
        ids = {uuid5_id(*key) for key in keys}
        found: set[str] = self._retrying.run(partial(self._ask, ids, scopes))
        return found >= ids

    def _ask(self, ids: Set[str], scopes: frozenset[str | None]) -> set[str]:
        """Return which of these ids there are."""
        try:
            return {record.id for record in self._collection.ask(ByIds(tuple(ids), scopes)).records}
        except Exception as error:
            # a collection that is gone refuses; whatever else refuses will refuse to be written to, in its own words
            if self._collection.failure(error) != "refused":
                raise
            return set()

    def close(self) -> None:
        self._collection.close()
