"""The embedded store: documents, chunks, parents, full-text index and vectors in one SQLite file."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from retrivex.errors import StoreError
from retrivex.model.chunk import Chunk, Scope, allowed_scopes
from retrivex.model.document import Document
from retrivex.model.hit import SeedHit
from retrivex.model.window import Window
from retrivex.stores.sqlite import reading
from retrivex.stores.sqlite.connection import (
    SUFFIXES,
    ReaderPool,
    connect,
    nothing_left,
    remove_empty_log,
    sqlite_errors,
    store_path,
)
from retrivex.stores.sqlite.filters import Where
from retrivex.stores.sqlite.fts import match_terms
from retrivex.stores.sqlite.ingest import PutResult, admit, lies_under, remove, write
from retrivex.stores.sqlite.inspection import (
    DocumentInfo,
    StoreInfo,
    find_info,
    find_problems,
    read_document,
    read_info,
    read_infos,
)
from retrivex.stores.sqlite.migration import bring_up_to_date
from retrivex.stores.sqlite.record import prepare
from retrivex.stores.sqlite.rows import decode_text
from retrivex.stores.sqlite.schema import SCHEMA_VERSION, ensure_schema, schema_version
from retrivex.stores.sqlite.vector_table import VectorCache, check_vector_space, drop_vectors, vector_space
from retrivex.stores.sqlite.vectors import unit_rows
from retrivex.tokens.stored import StoredCount


def store_files(path: Path) -> list[Path]:
    """Return every file that a store at `path` may consist of: the database and its log."""
    return [Path(f"{path}{suffix}") for suffix in SUFFIXES]


class SQLiteStore:
    """A chunk store, parent store and search index in one SQLite file.

    Any number of threads and processes may read while one writes; readers see whole documents only. A process killed
    at any moment leaves every document either as it was or as it should be. Do not carry an open store through
    `os.fork`: open it again in the child.

    Parameters
    ----------
    path : the file; created where it does not exist, and brought up to date where an earlier version wrote it. While
        the store is open, `-wal` and `-shm` files lie beside it.
    read_only : the file must exist and is not written; closing leaves no files beside it that were not there. Where its
        folder cannot be written either, it is read as it is, without locks: nobody may write it meanwhile
    with_embeddings : whether chunks come with their vectors (of length one) where the file has them
    busy_timeout_s : seconds to wait for another program's write lock

    Raises
    ------
    StoreError
        If the file is not a store, was written by a newer version, or cannot be opened.

    Examples
    --------
    >>> import tempfile
    >>> from retrivex.model.chunk import ChunkMetadata
    >>> page = Document("bees.txt", "Bees sleep. Wasps do not. Ants may.")
    >>> cuts = [(0, 12), (12, 26), (26, 35)]
    >>> pieces = [Chunk(page.text[a:b], ChunkMetadata("bees.txt", i, a, b)) for i, (a, b) in enumerate(cuts)]
    >>> with tempfile.TemporaryDirectory() as folder, SQLiteStore(f"{folder}/store.db") as store:
    ...     first, again = store.put(page, pieces), store.put(page, pieces)
    ...     neighbours = store.fetch([Window("bees.txt", 0, 9)])
    ...     hits = store.search_text("What do wasps do?", k=1)
    >>> first, again, neighbours == pieces, hits[0].chunk.text
    ('added', 'unchanged', True, 'Wasps do not. ')
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        read_only: bool = False,
        with_embeddings: bool = True,
        busy_timeout_s: float = 10.0,
    ) -> None:
        self.path = store_path(path, read_only=read_only, in_memory="InMemoryChunkStore")
        self._with_embeddings = with_embeddings
        self._lock = threading.RLock()
        self._batch_limit = 0
        self._pending = 0
        self._read_only = read_only
        self._busy_timeout_s = busy_timeout_s
        self._vectors = VectorCache()
        self._readers = ReaderPool(self.path, read_only=read_only, busy_timeout_s=busy_timeout_s)
        self._writer: sqlite3.Connection | None = None
        mode = "ro" if read_only else "rwc"
        with sqlite_errors(str(self.path)), nothing_left(self.path):
            connection = connect(self.path, mode=mode, busy_timeout_s=busy_timeout_s)
            try:
                ensure_schema(connection, str(self.path), read_only=read_only)
                if schema_version(connection) < SCHEMA_VERSION:
                    bring_up_to_date(connection, self.path)
            except BaseException:
                connection.close()
                self.close()
                raise
        if read_only:
            connection.close()
        else:
            self._writer = connection

    def __enter__(self) -> SQLiteStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection; what was not committed is gone. A closed store cannot be used again."""
        self._readers.close()
        with self._lock:
            if self._writer is not None:
                self._writer.close()
                self._writer = None
        self._vectors.close()
        if self._read_only:
            remove_empty_log(self.path, self._busy_timeout_s)

    # -- writing

    def put(
        self,
        document: Document,
        chunks: Iterable[Chunk],
        parents: Mapping[str, Chunk | str] | None = None,
        embeddings: ArrayLike | None = None,
        *,
        encoder: str | None = None,
        token_counts: Sequence[int | StoredCount] | None = None,
        tokenizer: str | None = None,
        content_hash: str | None = None,
    ) -> PutResult:
        """Write a document with everything that belongs to it, in place of its older version, in one transaction.

        Parameters
        ----------
        document : its text is kept; may be empty where chunks came ready made
        chunks : all of the document's, in any order
        parents : sections by `parent_id`, as chunks or plain text; ids are unique in the whole store
        embeddings : shape (n, d), one row a chunk; the chunks' own embeddings are taken where this is None
        encoder : name of the embeddings' model
        token_counts : one a chunk, whole numbers of at least 0, by `tokenizer`; as `StoredCount` also where each may
            be cut
        tokenizer : name of what counted
        content_hash : from `content_hash()`; where it equals the stored one nothing is done and `chunks` is not even
            read. Without it, all that is given here is compared with what is stored.

        Returns
        -------
        str
            `added`, `updated` or `unchanged`

        Raises
        ------
        StoreError
            If chunks do not belong to the document, share an id but not the text, lie about their offsets, lack the
            document's scope; if an id holds NUL; if vectors are not finite, or of another model or dimension than the
            file's; if the file cannot be written. Nothing is written then.
        """
        if content_hash is not None and self.is_current(document.doc_id, content_hash):
            return "unchanged"
        record = prepare(document, chunks, parents, embeddings, encoder, token_counts, tokenizer, content_hash)
        with self._transaction(len(record.chunks)) as connection:
            admit(connection, record)
            return write(connection, record)

    def is_current(self, doc_id: str, content_hash: str) -> bool:
        """Whether the store holds `doc_id` with this `content_hash()`, so that it need not be chunked again."""
        with self._readers.connection() as connection:
            row = connection.execute("SELECT content_hash FROM documents WHERE doc_id = ?", (doc_id,)).fetchone()
        return row is not None and row[0] == content_hash

    def delete(self, doc_id: str) -> bool:
        """Delete a document; False where there is none of that name."""
        with self._transaction() as connection:
            row = connection.execute("SELECT id FROM documents WHERE doc_id = ?", (doc_id,)).fetchone()
            if row:
                remove(connection, row[0])
        return row is not None

    def delete_missing(self, keep_doc_ids: Collection[str], under: str | os.PathLike[str] | None = None) -> list[str]:
        """Delete the documents that are gone from where they were read, and return their ids.

        Parameters
        ----------
        keep_doc_ids : documents that still exist
        under : only documents whose `source` is this path or lies below it, compared as written; None for all. So
            indexing one folder never deletes what came from another.
        """
        keep, gone = frozenset(keep_doc_ids), list[str]()
        with self._transaction() as connection:
            rows = connection.execute("SELECT doc_id, id, source FROM documents ORDER BY doc_id").fetchall()
            for doc_id, document, source in rows:
                if doc_id not in keep and (under is None or lies_under(source, os.fspath(under))):
                    remove(connection, document)
                    gone.append(doc_id)
        return gone

    def drop_vectors(self) -> None:
        """Delete all vectors, so that another model's can be stored; every document then counts as changed."""
        with self._transaction() as connection:
            drop_vectors(connection)
            connection.execute("DELETE FROM meta WHERE key = 'model_folder'")
            connection.execute("UPDATE documents SET content_hash = '', vector_count = 0 WHERE vector_count > 0")

    @contextmanager
    def batch(self, chunks: int = 10_000) -> Iterator[None]:
        """Group documents into transactions of some `chunks` chunks: faster, and still no document half written.

        Other threads' writes wait until the batch ends. If a write fails for want of disk space or the like, the
        documents since the last commit are lost with it; indexing again brings them back and skips the others.

        Raises
        ------
        StoreError
            If a batch is open already, or `chunks` is less than 1.
        """
        if chunks < 1:
            raise StoreError(f"batch of {chunks} chunks: give at least 1; 10,000 is usual")
        with self._lock:
            if self._batch_limit:
                raise StoreError("a batch is open already: batches do not nest; use the outer one")
            self._batch_limit = chunks
            try:
                yield
            finally:
                # also after an error: each document put so far is whole
                self._batch_limit = 0
                self._commit()

    # -- reading

    def fetch(self, windows: Sequence[Window], scope: Scope = None) -> list[Chunk]:
        """Return the chunks of `windows` that exist and `scope` may see, by document and chunk id, in one statement."""
        return [chunk for chunk, _ in self._fetch(windows, scope, None)]

    async def afetch(self, windows: Sequence[Window], scope: Scope = None) -> list[Chunk]:
        """Do the same as `fetch` in a thread."""
        return await asyncio.to_thread(self.fetch, windows, scope)

    def fetch_counted(
        self, windows: Sequence[Window], scope: Scope = None, *, tokenizer: str
    ) -> list[tuple[Chunk, StoredCount | None]]:
        """Do the same as `fetch`, with the token counts stored at index time; None where `tokenizer` did not count."""
        return self._fetch(windows, scope, tokenizer)

    def fetch_parents(self, parent_ids: Sequence[str], scope: Scope = None) -> dict[str, Chunk | str]:
        """Return the parents that exist and `scope` may see, in one statement."""
        with self._readers.connection() as connection:
            return reading.fetch_parents(connection, parent_ids, scope)

    def search_text(self, question: str, k: int = 50, scope: Scope = None, where: Where | None = None) -> list[SeedHit]:
        """Return the best `k` chunks by BM25 over text, headings and prefix; higher scores are better.

        The words of the question are searched as they are: no character of it has a special meaning. A question
        without words finds nothing. Word statistics are those of the whole file, whatever `scope` may see.

        Parameters
        ----------
        question : any text
        k : at most so many hits
        scope : what the caller may see
        where : see `Where`

        Raises
        ------
        StoreError
            If `question` is no text, `k` no number of hits or `where` no filter.
        """
        _check_k(k)
        if not isinstance(question, str):
            raise StoreError(f"question is {question!r}: it must be text; a vector goes to search_vector")
        terms = match_terms(question)
        if not terms or k == 0:
            return []
        with self._readers.snapshot() as connection:
            ranked = reading.rank_text(connection, terms, k, scope, where)
            return reading.load_hits(connection, ranked, vectors=self._embeddings())

    def search_vector(
        self,
        vector: ArrayLike,
        k: int = 50,
        scope: Scope = None,
        where: Where | None = None,
        *,
        encoder: str | None = None,
    ) -> list[SeedHit]:
        """Return the `k` chunks nearest to `vector` by cosine, which is compared with all vectors.

        The first question reads them all into memory, where they stay until some of them change.

        Parameters
        ----------
        vector : shape (d,), of any length but zero
        k : at most so many hits
        scope : what the caller may see
        where : see `Where`
        encoder : name of the model `vector` comes from; compared with the file's where given

        Raises
        ------
        StoreError
            If the file has no vectors, or `vector` is of another model or dimension, is zero or not finite.
        """
        _check_k(k)
        query = unit_rows(np.asarray(vector)[np.newaxis], what="the question")[0]
        if not query.any():
            raise StoreError("the question's vector is zero: it is similar to nothing; search by text instead")

        with self._readers.snapshot() as connection:
            space = vector_space(connection)
            if space is None:
                raise StoreError(f"{self.path} holds no vectors: index with an encoder, or search by text")
            check_vector_space(space, encoder, len(query))
            ranked = reading.rank_nearest(connection, self._vectors, query, k, scope, where)
            return reading.load_hits(connection, ranked, vectors=self._embeddings())

    # -- inspection

    @property
    def vector_model(self) -> str | None:
        """Name of the model whose vectors the file holds; None while it has none."""
        with self._readers.connection() as connection:
            space = vector_space(connection)
        return None if space is None else space.model

    @property
    def model_folder(self) -> str | None:
        """Folder that the vectors' model was read from; None for a model that has a name, or where it is not known."""
        with self._readers.connection() as connection:
            row = connection.execute("SELECT value FROM meta WHERE key = 'model_folder'").fetchone()
            return decode_text(row[0]) if row else None

    def set_model_folder(self, folder: str) -> None:
        """Remember the folder that the vectors' model is read from."""
        with self._transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('model_folder', ?)", (folder,))

    def get_document(self, doc_id: str, scope: Scope = None) -> Document | None:
        """Return a document with its text; None where it does not exist or `scope` may not see it."""
        with self._readers.connection() as connection:
            document = read_document(connection, doc_id)
        return document if document is not None and document.scope in allowed_scopes(scope) else None

    def documents(self, after: str = "") -> Iterator[DocumentInfo]:
        """Yield what is known of documents but their texts, by `doc_id`. For the file's owner: no scope applies.

        Parameters
        ----------
        after : only documents whose `doc_id` sorts behind it, for lists in pages
        """
        with self._readers.connection() as connection:
            yield from read_infos(connection, after)

    def get_info(self, doc_id: str) -> DocumentInfo | None:
        """Return what is known of a document but its text; None where there is none. No scope applies."""
        with self._readers.connection() as connection:
            return find_info(connection, doc_id)

    def info(self) -> StoreInfo:
        """Return how much of everything the file holds. For the file's owner: no scope applies."""
        with self._readers.snapshot() as connection:
            return read_info(connection, self.path)

    def check(self) -> list[str]:
        """Return what is wrong with the file, in words; empty where all is well. Reads all of it."""
        with self._transaction() as connection:
            return find_problems(connection)

    # -- inner workings

    def _fetch(
        self, windows: Sequence[Window], scope: Scope, tokenizer: str | None
    ) -> list[tuple[Chunk, StoredCount | None]]:
        with self._readers.snapshot() as connection:
            found = reading.fetch(connection, windows, scope, vectors=self._embeddings(), tokenizer=tokenizer)
        # rows come in this order already, but SQL promises none; sorting what is sorted costs next to nothing
        return sorted(found, key=lambda item: item[0].key)

    def _embeddings(self) -> VectorCache | None:
        return self._vectors if self._with_embeddings else None

    @contextmanager
    def _transaction(self, size: int = 0) -> Iterator[sqlite3.Connection]:
        """Lend the writing connection inside a transaction that covers this change, or the batch it belongs to.

        Parameters
        ----------
        size : chunks that the change writes
        """
        with self._lock, sqlite_errors(str(self.path)):
            connection = self._writing_connection()
            if not connection.in_transaction:
                connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except StoreError:
                # refused before anything was written: a batch goes on
                if not self._batch_limit:
                    self._rollback(connection)
                raise
            except BaseException:
                self._rollback(connection)
                raise
            self._pending += size
            if self._pending >= self._batch_limit:
                self._commit()

    def _commit(self) -> None:
        with sqlite_errors(str(self.path)):
            self._pending = 0
            if self._writer is not None and self._writer.in_transaction:
                try:
                    self._writer.execute("COMMIT")
                except BaseException:
                    self._rollback(self._writer)
                    raise

    def _rollback(self, connection: sqlite3.Connection) -> None:
        self._pending = 0
        # a full disk makes SQLite roll back by itself
        if connection.in_transaction:
            connection.execute("ROLLBACK")

    def _writing_connection(self) -> sqlite3.Connection:
        if self._writer is None:
            raise StoreError(f"{self.path} is closed or was opened read-only: open it with read_only=False")
        return self._writer


def _check_k(k: Any) -> None:
    if isinstance(k, bool) or not isinstance(k, int) or k < 0:
        raise StoreError(f"k is {k!r}: it must be a whole number of hits, 0 or more")
