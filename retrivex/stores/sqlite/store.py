"""The embedded store: documents, chunks, parents and full-text index in one SQLite file, vectors in one beside it."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

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
    WRITER_CACHE_KIB,
    ReaderPool,
    connect,
    nothing_left,
    remove_empty_log,
    sqlite_errors,
    store_path,
)
from retrivex.stores.sqlite.filters import Where
from retrivex.stores.sqlite.fts import match_terms
from retrivex.stores.sqlite.ingest import (
    PutResult,
    admit,
    missing_documents,
    remove,
    update_words,
    write,
)
from retrivex.stores.sqlite.inspection import (
    DocumentInfo,
    StoreInfo,
    find_info,
    find_problems,
    read_document,
    read_info,
    read_infos,
)
from retrivex.stores.sqlite.list_building import (
    LISTED_FROM,
    Places,
    adopt_part,
    drop_lists,
    list_space,
    move_lists,
    needs_lists,
    plan_lists,
    write_lists,
    write_part,
)
from retrivex.stores.sqlite.list_file import (
    ListFileError,
    ListPart,
    ListReader,
    Lists,
    ListSpace,
    ListWriter,
    NewerListFileError,
    list_files,
    list_parts,
    list_path,
    remove_parts,
)
from retrivex.stores.sqlite.record import prepare
from retrivex.stores.sqlite.rows import decode_text
from retrivex.stores.sqlite.schema import ensure_schema, has_early_words
from retrivex.stores.sqlite.vector_file import (
    Floats,
    MissingVectorFileError,
    VectorFileError,
    VectorReader,
    VectorSpace,
    VectorWriter,
    current_file,
    vector_files,
)
from retrivex.stores.sqlite.vector_runs import (
    check_vector_space,
    compact,
    drop_runs,
    move_out,
    needs_compacting,
    read_gaps,
    vector_identity,
    vector_space,
)
from retrivex.stores.sqlite.vectors import unit_rows
from retrivex.tokens.stored import StoredCount

_Answer = TypeVar("_Answer")
_ATTEMPTS = 2  # of building the approximate index beside other writers, who may move the vectors meanwhile


def store_files(path: Path) -> list[Path]:
    """Return every file that a store at `path` may consist of: the database, its log, and its vectors."""
    return [
        *(Path(f"{path}{suffix}") for suffix in SUFFIXES),
        *vector_files(path),
        *list_files(path),
        *list_parts(path),
    ]


class SQLiteStore:
    """A chunk store, parent store and search index in one SQLite file.

    Any number of threads and processes may read while one writes; readers see whole documents only. A process killed
    at any moment leaves every document either as it was or as it should be. Do not carry an open store through
    `os.fork`: open it again in the child.

    Parameters
    ----------
    path : the file; created where it does not exist. While the store is open, `-wal` and `-shm` files lie beside it.
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
        self._vectors = VectorReader(self.path)
        self._vector_writer = VectorWriter(self.path)
        self._lists = ListReader(self.path)
        self._list_writer = ListWriter(self.path)
        self._is_tidy = False  # what killed processes left beside the file is looked for once
        self._readers = ReaderPool(self.path, read_only=read_only, busy_timeout_s=busy_timeout_s)
        self._writer: sqlite3.Connection | None = None
        mode = "ro" if read_only else "rwc"
        with sqlite_errors(str(self.path)), nothing_left(self.path):
            connection = connect(self.path, mode=mode, busy_timeout_s=busy_timeout_s, cache_kib=WRITER_CACHE_KIB)
            try:
                ensure_schema(connection, str(self.path), read_only=read_only)
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
                self._vector_writer.close()
        self._vectors.close()
        self._lists.close()
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
        record = prepare(
            document,
            chunks,
            parents,
            embeddings,
            encoder=encoder,
            token_counts=token_counts,
            tokenizer=tokenizer,
            content_hash=content_hash,
        )
        with self._transaction(len(record.chunks)) as connection:
            admit(connection, record)
            return write(connection, self._vector_writer, record)

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
        keep = frozenset(keep_doc_ids)
        with self._transaction() as connection:
            gone = missing_documents(connection, keep, under)
            for document in gone.values():
                remove(connection, document)
        return list(gone)

    def drop_vectors(self) -> None:
        """Delete all vectors, so that another model's can be stored; every document then counts as changed."""
        with self._transaction(move=False) as connection:
            drop_lists(connection, self._list_writer, vector_space(connection))
            drop_runs(connection, self._vector_writer)
            connection.execute("DELETE FROM meta WHERE key = 'model_folder'")
            connection.execute("UPDATE documents SET content_hash = '', vector_count = 0 WHERE vector_count > 0")

    def index_vectors(self, from_vectors: int = LISTED_FROM) -> bool:
        """Build the approximate index of the vectors, or bring it up to date, where it saves time.

        With it, a question is compared with a share of the vectors; what that finds is compared exactly. Vectors that
        are stored later are all compared, and deleted ones are left out, so that it need not be called after each
        change: it does something where more than a twentieth of the vectors came later, or the index is missing or
        damaged. `Indexer.index`, and so `retrivex index`, calls it. A million vectors of 384 dimensions take some 20 s.
        Others can write meanwhile, but where a batch is open.

        Parameters
        ----------
        from_vectors : least number of vectors, deleted ones that are still in the file among them; 0 goes without the
            index, and removes it

        Returns
        -------
        bool
            Whether it was written.

        Raises
        ------
        StoreError
            If `from_vectors` is negative, the store is closed or read-only, or the files cannot be read or written.
        """
        if isinstance(from_vectors, bool) or not isinstance(from_vectors, int) or from_vectors < 0:
            raise StoreError(
                f"from_vectors is {from_vectors!r}: give the number of vectors from which on there is an approximate "
                f"index, {LISTED_FROM:,} as a rule, or 0 for none"
            )
        writer = self._writing_connection()  # before any work, and before a part is written
        if from_vectors == 0:
            with self._readers.snapshot() as connection:
                if self._spaces(connection)[0] is None:
                    return False
        # the vectors of a batch that is open can be seen from inside alone
        elif not writer.in_transaction:
            for _ in range(_ATTEMPTS):
                written = self._list_beside(from_vectors)
                if written is not None:
                    return written
        return self._list_inside(from_vectors)

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

        def ask(connection: sqlite3.Connection) -> list[SeedHit]:
            terms = match_terms(question, early=has_early_words(connection))
            if not terms or k == 0:
                return []
            ranked = reading.rank_text(connection, terms, k, scope, where)
            return reading.load_hits(connection, ranked, vectors=self._embeddings())

        return self._read(ask)

    def search_vector(
        self,
        vector: ArrayLike,
        k: int = 50,
        scope: Scope = None,
        where: Where | None = None,
        *,
        encoder: str | None = None,
        exact: bool = False,
    ) -> list[SeedHit]:
        """Return the `k` chunks nearest to `vector` by cosine.

        Scores are exact. Where there is an approximate index (see `index_vectors`), some of the nearest may be missing
        from the hits; there are as many of them as ever. More than 1,000 hits are always searched exactly.

        Parameters
        ----------
        vector : shape (d,), of any length but zero
        k : at most so many hits
        scope : what the caller may see
        where : see `Where`
        encoder : name of the model `vector` comes from; compared with the file's where given
        exact : compare all vectors, also where there is an approximate index

        Raises
        ------
        StoreError
            If the file has no vectors, or `vector` is of another model or dimension, is zero or not finite.
        """
        _check_k(k)
        query = unit_rows(np.asarray(vector)[np.newaxis], what="the question")[0]
        if not query.any():
            raise StoreError("the question's vector is zero: it is similar to nothing; search by text instead")

        def ask(connection: sqlite3.Connection) -> list[SeedHit]:
            space = vector_space(connection)
            if space is None:
                raise StoreError(f"{self.path} holds no vectors: index with an encoder, or search by text")
            check_vector_space(space, encoder, len(query))
            lists = None if exact else self._lists
            ranked = reading.rank_nearest(connection, self._vectors, lists, query, k, scope, where)
            return reading.load_hits(connection, ranked, vectors=self._embeddings())

        return self._read(ask)

    # -- inspection

    @property
    def vector_model(self) -> str | None:
        """Name of the model whose vectors the file holds; None while it has none."""
        with self._readers.connection() as connection:
            space = vector_space(connection)
        return None if space is None else space.model

    @property
    def has_early_words(self) -> bool:
        """Whether words are as version 0.2 read them, which some spellings do not find; until the next change."""
        with self._readers.connection() as connection:
            return has_early_words(connection)

    @property
    def model_folder(self) -> str | None:
        """Folder that the vectors' model was read from; None for a model that has a name, or where it is not known."""
        with self._readers.connection() as connection:
            row = connection.execute("SELECT value FROM meta WHERE key = 'model_folder'").fetchone()
            return decode_text(row[0]) if row else None

    def set_model_folder(self, folder: str) -> None:
        """Remember the folder that the vectors' model is read from."""
        with self._transaction(move=False) as connection:
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
            space = vector_space(connection)
            return read_info(connection, self.path, space, list_space(connection, space))

    def check(self) -> list[str]:
        """Return what is wrong with the file, in words; empty where all is well. Reads all of it."""
        with self._transaction(move=False) as connection:
            return find_problems(connection, self._vectors, self._lists)

    # -- inner workings

    def _fetch(
        self, windows: Sequence[Window], scope: Scope, tokenizer: str | None
    ) -> list[tuple[Chunk, StoredCount | None]]:
        def ask(connection: sqlite3.Connection) -> list[tuple[Chunk, StoredCount | None]]:
            return reading.fetch(connection, windows, scope, vectors=self._embeddings(), tokenizer=tokenizer)

        # rows come in this order already, but SQL promises none; sorting what is sorted costs next to nothing
        return sorted(self._read(ask), key=lambda item: item[0].key)

    def _embeddings(self) -> VectorReader | None:
        return self._vectors if self._with_embeddings else None

    def _read(self, ask: Callable[[sqlite3.Connection], _Answer]) -> _Answer:
        """Ask within one snapshot; once more where the file of vectors was replaced between the snapshot and it."""
        try:
            with self._readers.snapshot() as connection:
                return ask(connection)
        except MissingVectorFileError:
            with self._readers.snapshot() as connection:
                return ask(connection)

    @contextmanager
    def _transaction(self, size: int = 0, *, move: bool = True) -> Iterator[sqlite3.Connection]:
        """Lend the writing connection inside a transaction that covers this change, or the batch it belongs to.

        Parameters
        ----------
        size : chunks that the change writes
        move : whether a file of an earlier version is first brought up to date: its words, and vectors inside it
        """
        with self._lock, sqlite_errors(str(self.path)):
            connection = self._writing_connection()
            if not connection.in_transaction:
                connection.execute("BEGIN IMMEDIATE")
                self._tidy_up(connection)
            try:
                if move:
                    update_words(connection)
                    move_out(connection, self._vector_writer)
                yield connection
            except VectorFileError:
                self._rollback(connection)
                raise
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
                    if needs_compacting(self._writer):
                        self._compact(self._writer)
                    self._vector_writer.sync()
                    self._writer.execute("COMMIT")
                except BaseException:
                    self._rollback(self._writer)
                    raise
                self._vector_writer.committed()
                self._list_writer.committed()

    def _compact(self, connection: sqlite3.Connection) -> None:
        """Copy the vectors that are left into another file, and the approximate index with them."""
        listed, lists = self._readable_lists(connection)
        moved_to = compact(connection, self._vector_writer, self._vectors)
        space = vector_space(connection)
        if space is None or listed is None or lists is None:
            drop_lists(connection, self._list_writer, space)
        else:
            rows = VectorReader(self.path).rows(space)
            move_lists(connection, self._list_writer, listed, lists, space, rows, moved_to)

    def _readable_lists(self, connection: sqlite3.Connection) -> tuple[ListSpace | None, Lists | None]:
        listed = list_space(connection, vector_space(connection))
        try:
            return listed, None if listed is None else self._lists.lists(listed)
        except ListFileError:
            return listed, None

    def _list_beside(self, from_vectors: int) -> bool | None:
        """Write lists while others may write, and turn to them; None where the vectors were moved meanwhile."""
        unlisted = self._read(partial(self._find_unlisted, from_vectors=from_vectors))
        if unlisted is None:
            return False
        listed, space, rows, gaps = unlisted
        plan = plan_lists(self._lists, listed, rows, gaps)
        if plan is None:
            return None
        with closing(ListPart(self.path)) as part:
            made = write_part(part, space, rows, plan)
            with self._transaction() as connection:
                if not self._should_list(*self._spaces(connection), from_vectors):
                    return False  # another process was quicker
                return adopt_part(connection, self._list_writer, part, made) or None

    def _list_inside(self, from_vectors: int) -> bool:
        """Write or drop lists while others wait."""
        with self._transaction() as connection:
            listed, space = self._spaces(connection)
            if from_vectors == 0 or space is None or not space.generation:
                drop_lists(connection, self._list_writer, space)
                return False
            if not self._should_list(listed, space, from_vectors):
                return False
            # what this transaction appended is no state that another one should find mapped
            rows = VectorReader(self.path).rows(space)
            plan = plan_lists(self._lists, listed, rows, read_gaps(connection, space))
            write_lists(connection, self._list_writer, space, rows, plan)
        return True

    def _find_unlisted(
        self, connection: sqlite3.Connection, *, from_vectors: int
    ) -> tuple[ListSpace | None, VectorSpace, Floats, Places] | None:
        """Return the lists there are, and the vectors of which others are to be made; None where that saves nothing."""
        listed, space = self._spaces(connection)
        if space is None or not self._should_list(listed, space, from_vectors):
            return None
        return listed, space, VectorReader(self.path).rows(space), read_gaps(connection, space)

    def _spaces(self, connection: sqlite3.Connection) -> tuple[ListSpace | None, VectorSpace | None]:
        space = vector_space(connection)
        return list_space(connection, space), space

    def _should_list(self, listed: ListSpace | None, space: VectorSpace | None, from_vectors: int) -> bool:
        """Whether the approximate index is to be written, also because its file is missing or damaged, not newer."""
        try:
            if listed is not None:
                self._lists.lists(listed)
        except NewerListFileError:
            raise
        except ListFileError:
            return True
        return needs_lists(listed, space, from_vectors)

    def _tidy_up(self, connection: sqlite3.Connection) -> None:
        """Remove files of vectors that belong to no committed state; the caller holds the write lock."""
        if self._is_tidy:
            return
        current = current_file(self.path, vector_space(connection))
        # where the current one is missing, an older copy of the database was put here, perhaps
        if current is None or current.exists():
            self._vector_writer.remove_others(vector_identity(connection), current)
        listed = list_space(connection, vector_space(connection))
        lists = None if listed is None else list_path(self.path, listed.number)
        if lists is None or lists.exists():
            self._list_writer.remove_others(vector_identity(connection), lists)
        remove_parts(self.path, vector_identity(connection))
        self._is_tidy = True

    def _rollback(self, connection: sqlite3.Connection) -> None:
        self._pending = 0
        self._vector_writer.rolled_back()
        self._list_writer.rolled_back()
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
