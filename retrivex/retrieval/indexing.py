"""Incremental indexing: files are loaded, chunked and stored, each only when it has changed."""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retrivex.chunking import Chunker, ParentChildChunker
from retrivex.chunking.links import has_links
from retrivex.chunking.pictures import has_pictures
from retrivex.encoders.encoder import Encoder
from retrivex.errors import ChunkError, StoreError, quoted
from retrivex.loading import LoadProblem, LoadReport, find_files, iter_documents
from retrivex.loading.limits import most_characters
from retrivex.merging.stored_cuts import count_and_cut
from retrivex.model.chunk import Chunk
from retrivex.model.cues import without_cues
from retrivex.model.document import Document
from retrivex.model.header import indexed_text
from retrivex.model.media import without_media
from retrivex.retrieval.headers import Headers, put_headers
from retrivex.stores import DocumentInfo, PutResult, SQLiteStore, content_hash
from retrivex.tokens.stored import StoredCount
from retrivex.tokens.tokenizer import Tokenizer

CHUNKER_KEY = "retrivex_chunker"
"""Key of a stored document's metadata that names what cut it; its chunks do not carry it."""

# Encoding is slow: with it, fewer chunks wait for a commit that a killed process would lose.
_BATCH_CHUNKS = 10_000
_BATCH_ENCODED_CHUNKS = 500
_ENCODED_AT_ONCE = 64  # chunks, after which progress is reported

_AnyPath = str | os.PathLike[str]


@dataclass(slots=True)
class IndexReport:
    """The result of indexing, file by file.

    Parameters
    ----------
    added, updated, unchanged : documents that are in the store now
    chunks, tokens : of the added and updated ones
    moved : how many of the updated ones went from one scope to another, by both; None is no scope
    removed : ids of documents that are gone from the store, because their files are
    unselected : ids of documents under the given paths that this run did not look for and left as they were
    problems : what could not be read or stored; an older version of it stays in the store
    notes : what was read, but not quite as it is (a guessed encoding, pages without text)
    passed_over : files of a folder whose kind is not read
    """

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    chunks: int = 0
    tokens: int = 0
    moved: Counter[tuple[str | None, str | None]] = field(default_factory=Counter)
    removed: list[str] = field(default_factory=list)
    unselected: list[str] = field(default_factory=list)
    problems: list[LoadProblem] = field(default_factory=list)
    notes: list[LoadProblem] = field(default_factory=list)
    passed_over: list[str] = field(default_factory=list)

    @property
    def documents(self) -> int:
        """Documents of this run that are in the store now."""
        return self.added + self.updated + self.unchanged


@dataclass(frozen=True, slots=True)
class CutDocument:
    """The chunks of a document, counted.

    Parameters
    ----------
    chunks : in their order
    token_counts : of the chunks, with where each may be cut
    parents : by parent id
    """

    chunks: Sequence[Chunk]
    token_counts: Sequence[StoredCount]
    parents: Mapping[str, Chunk] = field(default_factory=dict)


def cut_document(document: Document, chunker: Chunker, tokenizer: Tokenizer) -> CutDocument:
    """Cut a document, and count its chunks.

    Raises
    ------
    ChunkError
        If it cannot be cut, or if its chunks would repeat far more than it holds.
    """
    if isinstance(chunker, ParentChildChunker):
        chunks, parents = chunker.chunk_with_parents(document)
    else:
        chunks, parents = chunker.chunk(document), {}
    _check_repeated(document, [*chunks, *parents.values()])
    return CutDocument(chunks, count_and_cut([chunk.text for chunk in chunks], tokenizer), parents)


def count_repeated(document: Document, chunks: Sequence[Chunk]) -> list[int]:
    """Return the characters that are kept with each chunk beside its text: headings, head of the table, metadata."""
    metadata = _metadata_size(replace(document, metadata=without_media(without_cues(document.metadata))))
    return [
        metadata + len(chunk.metadata.prefix or "") + sum(map(len, chunk.metadata.heading_path or ()))
        for chunk in chunks
    ]


def _metadata_size(document: Document) -> int:
    if not document.metadata:
        return 0
    try:
        return len(json.dumps(document.metadata, default=str))
    except Exception as error:  # keys that JSON has not, itself inside itself, or a `str` of somebody else's that fails
        raise ChunkError(
            f"metadata {quoted(document.metadata)} of {document.doc_id!r} is not JSON ({error}); keep strings, "
            "numbers, lists and dicts"
        ) from error


def _check_repeated(document: Document, chunks: Sequence[Chunk]) -> None:
    """Refuse a document whose chunks say the same so often that a small file would fill a disk."""
    repeated = sum(count_repeated(document, chunks))
    held = len(document.text) + _metadata_size(document)
    most = most_characters(held)
    if repeated > most:
        raise ChunkError(
            f"its chunks would repeat {repeated:,} characters of headings, heads of tables and metadata: the limit for "
            f"a document of {held:,} is {most:,}; shorten those, or split the file"
        )


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A document with everything that a store keeps of it.

    Parameters
    ----------
    document : with what cut it in its metadata
    chunks : in their order
    parents : by parent id
    token_counts : of the chunks, by `tokenizer`, with where each may be cut
    tokenizer : name of what counted
    vectors : shape (n, d), of the chunks; None without an encoder
    encoder : name of their model
    content_hash : of document, chunker, encoder and tokenizer
    """

    document: Document
    chunks: Sequence[Chunk]
    parents: Mapping[str, Chunk]
    token_counts: Sequence[StoredCount]
    tokenizer: str
    vectors: NDArray[np.floating[Any]] | None
    encoder: str | None
    content_hash: str

    def put_into(self, store: SQLiteStore) -> PutResult:
        """Write the document into a store; errors as in `SQLiteStore.put`."""
        return store.put(
            self.document,
            self.chunks,
            self.parents,
            self.vectors,
            encoder=self.encoder,
            token_counts=self.token_counts,
            tokenizer=self.tokenizer,
            content_hash=self.content_hash,
        )


def prepare_document(
    document: Document,
    chunker: Chunker,
    tokenizer: Tokenizer,
    encoder: Encoder | None = None,
    on_encoded: Callable[[int, int], None] | None = None,
    cut: CutDocument | None = None,
    headers: Headers | None = None,
) -> PreparedDocument:
    """Cut a document, count and encode its chunks.

    Parameters
    ----------
    document : what to cut
    chunker, tokenizer, encoder : as in `Indexer`
    on_encoded : called with how many chunks are encoded, and of how many
    cut : its chunks, where they were made elsewhere, by this chunker and tokenizer
    headers : as in `Indexer`

    Raises
    ------
    ChunkError
        If it cannot be cut, or a header cannot be had.
    EncoderError
        If the encoder fails.
    """
    made = cut or cut_document(document, chunker, tokenizer)
    chunks = made.chunks if headers is None else put_headers(document, made.chunks, headers)
    return PreparedDocument(
        replace(document, metadata={**document.metadata, CHUNKER_KEY: chunker.name}),
        chunks,
        made.parents,
        made.token_counts,
        tokenizer.name,
        _encode(chunks, encoder, on_encoded or _ignore),
        None if encoder is None else encoder.name,
        _digest(document, chunker, tokenizer, encoder, headers),
    )


def _digest(
    document: Document, chunker: Chunker, tokenizer: Tokenizer, encoder: Encoder | None, headers: Headers | None
) -> str:
    model = "" if encoder is None else encoder.name
    # version 0.2 cut without links: documents that have some are cut anew
    cut = f"{chunker.name} with links" if has_links(document) else chunker.name
    cut = f"{cut} with pictures" if has_pictures(document) else cut
    cut = cut if headers is None else f"{cut} under {headers.name}"
    return content_hash(document, chunker=cut, encoder=model, tokenizer=tokenizer.name)


def _encode(
    chunks: Sequence[Chunk], encoder: Encoder | None, on_encoded: Callable[[int, int], None]
) -> NDArray[np.floating[Any]] | None:
    if encoder is None or not chunks:
        return None
    texts = [indexed_text(chunk) for chunk in chunks]
    parts = []
    for start in range(0, len(texts), _ENCODED_AT_ONCE):
        on_encoded(start, len(texts))
        parts.append(encoder.encode(texts[start : start + _ENCODED_AT_ONCE]))
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


@dataclass(frozen=True, slots=True)
class Indexer:
    """Chunks, counts and encodes documents, and writes them to a store.

    Parameters
    ----------
    store : where they go
    chunker : cuts them
    tokenizer : counts each chunk's tokens, so that no query has to
    encoder : gives each chunk a vector; None for words only
    headers : gives each chunk a line that it is found by, encoded with it and in the full-text index; None for none

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from retrivex.chunking import get_chunker
    >>> from retrivex.tokens.tokenizer import get_tokenizer
    >>> with tempfile.TemporaryDirectory() as folder, SQLiteStore(f"{folder}/store.db") as store:
    ...     page = Path(folder, "bees.txt")
    ...     written = page.write_text("Bees sleep at night.")
    ...     tokenizer = get_tokenizer("estimate")
    ...     indexer = Indexer(store, get_chunker("sentence"), tokenizer)
    ...     first, again = indexer.index([page]), indexer.index([page])
    >>> first.added, first.chunks, again.unchanged, again.chunks
    (1, 1, 1, 0)
    """

    store: SQLiteStore
    chunker: Chunker
    tokenizer: Tokenizer
    encoder: Encoder | None = None
    headers: Headers | None = None

    def index(
        self,
        paths: Iterable[_AnyPath],
        *,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        scope: str | None = None,
        prune: bool = False,
        on_progress: Callable[[str, int, int], None] | None = None,
    ) -> IndexReport:
        """Bring the store up to date with files and folders.

        Parameters
        ----------
        paths : files and folders
        include, exclude : patterns, see `retrivex.loading.iter_documents`
        scope : of all documents; a line of JSONL that names another one is a problem. None: as each line says
        prune : remove also documents under `paths` whose files exist, but were not looked for in this run
        on_progress : called with the file that is being read, the bytes that are done, and those of all files

        Returns
        -------
        IndexReport
            With a problem for everything that could not be read, chunked or stored; the rest goes on.

        Raises
        ------
        StoreError
            If the store cannot be written at all; documents are then whole or not there.
        EncoderError, EndpointError
            If the encoder fails, or the model that writes headers.
        """
        # stored as absolute, so that a later run from another folder knows its own documents again
        given = list(paths)
        roots = [os.path.abspath(path) for path in given]
        report = IndexReport()
        loading = LoadReport()
        sizes = {} if on_progress is None else _sizes(given, include, exclude)
        reading = _Reading(sizes, sum(sizes.values()), on_progress or _ignore)
        documents = iter_documents(given, loading, include=include, exclude=exclude, on_file=reading.begin)
        stored = {info.doc_id: info for info in self.store.documents()}
        taken = _TakenNames(stored, roots)
        run = _Run(report, {doc_id: info.scope for doc_id, info in stored.items()})
        with self.store.batch(_BATCH_CHUNKS if self.encoder is None else _BATCH_ENCODED_CHUNKS):
            for document in documents:
                self._take(reading.place(document), scope, taken, run, reading)
        reading.end()
        report.problems = [*loading.problems, *report.problems]
        report.notes, report.passed_over = loading.notes, loading.passed_over
        self._remove_stale(stored, roots, run, prune=prune)
        return report

    def add(self, document: Document, cut: CutDocument | None = None) -> tuple[PutResult, int, int]:
        """Put one document into the store, unless it is there already.

        Parameters
        ----------
        document : what to put
        cut : its chunks, where they were made elsewhere, by the chunker and tokenizer of this indexer

        Returns
        -------
        result : `added`, `updated` or `unchanged`
        chunks : how many were written
        tokens : how many they have
        """
        return self._add(document, _ignore, cut)

    def _add(
        self, document: Document, on_encoded: Callable[[int, int], None], cut: CutDocument | None = None
    ) -> tuple[PutResult, int, int]:
        digest = _digest(document, self.chunker, self.tokenizer, self.encoder, self.headers)
        if self.store.is_current(document.doc_id, digest):
            return "unchanged", 0, 0
        tools = (self.chunker, self.tokenizer, self.encoder)
        made = prepare_document(document, *tools, on_encoded, cut, self.headers)
        return made.put_into(self.store), len(made.chunks), sum(count.tokens for count in made.token_counts)

    def _take(self, document: Document, scope: str | None, taken: _TakenNames, run: _Run, reading: _Reading) -> None:
        file = str(reading.path)
        if scope is not None and document.scope not in (None, scope):
            run.refuse(
                file,
                f"doc_id {document.doc_id!r} names scope {document.scope!r}, the file is indexed for {scope!r}: "
                "correct the line, or index files that name their own scopes without one",
            )
            return
        document = replace(document, scope=document.scope if scope is None else scope)
        refusal = taken.refusal(document)
        if refusal is not None:
            run.refuse(file, refusal)
            return
        try:
            result, chunks, tokens = self._add(document, reading.advance)
        except (StoreError, ChunkError) as error:
            if isinstance(error.__cause__, sqlite3.Error | OSError):
                raise  # the disk, not the document: the next one would fare no better
            run.refuse(file, str(error))
            return
        run.accept(document, result, chunks, tokens)

    def _remove_stale(
        self, stored: Mapping[str, DocumentInfo], roots: Sequence[str], run: _Run, *, prune: bool
    ) -> None:
        report = run.report
        unread = [os.path.abspath(problem.path) for problem in report.problems]
        for doc_id, info in stored.items():
            source = info.source
            if doc_id in run.seen or source is None or not _lies_under(source, roots) or _lies_under(source, unread):
                continue
            if prune or source in run.sources or not os.path.lexists(source):
                report.removed.append(doc_id)
            else:
                report.unselected.append(doc_id)
        if report.removed:
            with self.store.batch():
                for doc_id in report.removed:
                    self.store.delete(doc_id)


@dataclass(slots=True)
class _Run:
    """One run: its report, the scopes of the documents before it, and the documents and files it has seen."""

    report: IndexReport
    scopes: Mapping[str, str | None]
    seen: set[str] = field(default_factory=set)
    sources: set[str] = field(default_factory=set)

    def accept(self, document: Document, result: PutResult, chunks: int, tokens: int) -> None:
        setattr(self.report, result, getattr(self.report, result) + 1)
        self.report.chunks += chunks
        self.report.tokens += tokens
        # a name may come twice in a run: only what was there before it has moved
        before = self.scopes.get(document.doc_id, document.scope)
        if result == "updated" and before != document.scope and document.doc_id not in self.seen:
            self.report.moved[before, document.scope] += 1
        self.seen.add(document.doc_id)
        if document.source is not None:
            self.sources.add(document.source)

    def refuse(self, source: str, reason: str) -> None:
        self.report.problems.append(LoadProblem(source, reason))


@dataclass(frozen=True, slots=True)
class _TakenNames:
    """Names of stored documents, with the files they came from and the scopes they are in."""

    documents: Mapping[str, DocumentInfo]
    roots: Sequence[str]

    def refusal(self, document: Document) -> str | None:
        """Return why `document`, whose source is the file it was read from, may not take its name; None if it may."""
        known = self.documents.get(document.doc_id)
        if known is None or (source := known.source) == document.source:
            return None
        if source is not None and _lies_under(source, self.roots):
            return None
        if known.scope != document.scope:
            return (
                f"doc_id {document.doc_id!r} belongs to a document of another scope: give this one another name, use "
                "another database, or delete that one first"
            )
        # a folder that was moved takes its names along
        if source is None or not os.path.exists(source):
            return None
        return (
            f"doc_id {document.doc_id!r} belongs to {source}: index both folders in one command, which keeps them "
            "apart, or use another database"
        )


def _lies_under(source: str, roots: Iterable[str]) -> bool:
    return any(source == root or source.startswith(root.rstrip(os.sep) + os.sep) for root in roots)


def _sizes(paths: Iterable[_AnyPath], include: Sequence[str], exclude: Sequence[str]) -> dict[Path, int]:
    """Return the bytes of each file that will be read; what cannot be listed is reported by the reading."""
    found = find_files(paths, LoadReport(), include=include, exclude=exclude)
    return {file.path: os.path.getsize(file.path) if os.path.isfile(file.path) else 0 for file in found}


def _ignore(*_: Any) -> None:
    """Take no notice of progress."""


@dataclass(slots=True)
class _Reading:
    """The file that is being read, and how many bytes are done; `tell` gets both."""

    sizes: Mapping[Path, int]
    total: int
    tell: Callable[[str, int, int], None]
    path: Path | None = None
    before: int = 0
    document_start: int = 0
    document_end: int = 0

    def begin(self, path: Path) -> None:
        """Go on to a file."""
        self.before += self._size()
        self.path = path
        self.document_start = self.document_end = 0
        self.advance(0, 1)

    def place(self, document: Document) -> Document:
        """Return the document with the file it was read from, as an absolute path, for its source.

        What a line of JSONL calls its source says nothing of whose document it is: it goes into the metadata.
        """
        self.document_start, self.document_end = self.document_end, self.document_end + len(document.text)
        file, said = str(self.path), document.source
        metadata = document.metadata if said in (None, file) else {"source": said, **document.metadata}
        return replace(document, source=os.path.abspath(file), metadata=metadata)

    def advance(self, chunks: int, of: int) -> None:
        """Report that so many chunks of the document are encoded; its characters count as bytes of the file."""
        within = self.document_start + (self.document_end - self.document_start) * chunks // of
        self.tell(str(self.path), self.before + min(within, self._size()), self.total)

    def end(self) -> None:
        """Report that all is done."""
        self.tell("", self.total, self.total)

    def _size(self) -> int:
        return 0 if self.path is None else self.sizes.get(self.path, 0)
