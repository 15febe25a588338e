"""Writes the parts of an index job into a store: each part once, and again without harm where a run was stopped."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib import import_module
from typing import Protocol

import numpy as np

from retrivex.adapters.base.backfill import path_of_counts
from retrivex.adapters.base.collection import Collection
from retrivex.adapters.base.retries import RetryingCollection
from retrivex.batch.documents import prepared_of
from retrivex.batch.folder import OutputFolder, part_name
from retrivex.batch.job import OnPart
from retrivex.batch.stores import KEY_VARIABLE, SQLITE, StoreAddress
from retrivex.errors import ConfigError, StoreError
from retrivex.retrieval.indexing import PreparedDocument
from retrivex.stores import SQLiteStore
from retrivex.text.addresses import Confidential

_NOBODYS = "retrivex:is-this-store-written-to"  # the name of no document, which asks a store and changes nothing


class Writer(Protocol):
    """What takes documents, whole ones in place of what they had: writing them again changes nothing."""

    def put(self, documents: Sequence[PreparedDocument]) -> None:
        """Write documents with their chunks."""

    @property
    def notes(self) -> Sequence[str]:
        """What the store has no place for, and why."""

    def close(self) -> None:
        """Close the store."""


@dataclass(slots=True)
class Written:
    """The result of writing.

    Parameters
    ----------
    documents, chunks, tokens : in all parts
    problems : name or file, and why it is not in the store
    notes : what the store has no place for, and why
    """

    documents: int = 0
    chunks: int = 0
    tokens: int = 0
    problems: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def write_parts(folder: OutputFolder, parts: int, writer: Writer, on_part: OnPart | None = None) -> Written:
    """Write the documents of all parts, part after part.

    A run that was stopped in between is run again, which changes nothing of what was written: documents take the place
    of themselves.

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
        rows = folder.read(number).to_pylist()
        kept = []
        for row in rows:
            if row["error"] is not None:
                made.problems.append((row["source"] or row["doc_id"] or part_name(number), row["error"]["message"]))
            elif row["doc_id"] in seen:
                reason = f"doc_id {row['doc_id']!r} was used before: it must be unique; rename one of the two"
                made.problems.append((row["source"] or row["doc_id"], reason))
            else:
                seen.add(row["doc_id"])
                kept.append(row)
        writer.put([prepared_of(row) for row in kept])
        made.documents += len(kept)
        made.chunks += sum(len(row["chunks"]) for row in kept)
        made.tokens += sum(chunk["tokens"] for row in kept for chunk in row["chunks"])
        if on_part is not None:
            on_part(number + 1, parts)
    made.notes += writer.notes
    return made


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
        return _SQLiteWriter(SQLiteStore(address.address, with_embeddings=False))
    return _CollectionWriter(
        import_module("retrivex.adapters.base.opening").open_collection(
            address.kind, address.address, address.collection, address.layout, os.environ.get(KEY_VARIABLE)
        ),
        counts,
    )


def check_writer(address: StoreAddress) -> None:
    """Make sure that a store can be opened for writing, before a long job and not after it; errors as `open_writer`.

    The file of an embedded store is made where there is none.
    """
    writer = open_writer(address)
    try:
        writer.put([])
    except StoreError as error:
        place = Confidential(address.address, os.environ.get(KEY_VARIABLE))
        raise StoreError(place.hide(str(error))) from error
    finally:
        writer.close()


class _SQLiteWriter:
    notes: Sequence[str] = ()

    def __init__(self, store: SQLiteStore) -> None:
        self._store = store

    def put(self, documents: Sequence[PreparedDocument]) -> None:
        with self._store.batch():
            for document in documents:
                document.put_into(self._store)

    def close(self) -> None:
        self._store.close()


class _CollectionWriter:
    def __init__(self, collection: Collection, counts: bool) -> None:
        self._collection = collection
        self._retrying = RetryingCollection(collection)
        self._counts = counts
        self.notes: list[str] = []

    def put(self, documents: Sequence[PreparedDocument]) -> None:
        chunks = [chunk for document in documents for chunk in document.chunks]
        vectors = [document.vectors for document in documents if document.vectors is not None]
        if sum(map(len, vectors)) != len(chunks):
            raise StoreError(f"{self._collection.name} keeps vectors: name a model with --embed")
        flat = np.concatenate(vectors) if vectors else np.zeros((0, 0), np.float32)
        doc_ids = [document.document.doc_id for document in documents] or [_NOBODYS]
        fields = [count.to_field(made.tokenizer) for made in documents for count in made.token_counts]
        counts = fields if fields and self._keeps_counts else None
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

    def close(self) -> None:
        self._collection.close()
