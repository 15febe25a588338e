"""An index that the service answers from: a database, its encoder, and how new documents are cut."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from retrivex.chunking.pieces import make_chunks
from retrivex.composer.composer import SpanComposer
from retrivex.composer.requests import RequestError
from retrivex.composition.composition import Composition
from retrivex.errors import StoreError
from retrivex.model.chunk import MAX_CHUNK_ID, Chunk, ChunkKey, Scope
from retrivex.model.document import Document
from retrivex.model.window import Window
from retrivex.retrieval.indexing import CutDocument, Indexer
from retrivex.retrieval.stored_encoder import encoder_for_query
from retrivex.service.bodies import QueryBody, ResolveBody
from retrivex.service.cutting import Cut, make_chunker
from retrivex.service.errors import ConflictError, NotFoundError
from retrivex.service.playground.view import fetch_chunks
from retrivex.service.question import compose_question
from retrivex.stores import PutResult, SQLiteStore
from retrivex.stores.sqlite.inspection import DocumentInfo
from retrivex.tokens.tokenizer import Tokenizer

NO_PLACE = "the citation has neither offsets nor a chunk_id: give char_start and char_end"
WITHOUT_OFFSETS = {"char_start": None, "char_end": None, "before": "", "after": ""}
"""What is said of the place of a chunk that is cited by its number."""


def cut_out(text: str, begin: int, start: int, end: int, around: int) -> dict[str, Any]:
    """Return a cited stretch of a text that begins at offset `begin` of its document, with what stands around it."""
    low, high = start - begin, end - begin
    near = {"before": text[max(0, low - around) : low], "after": text[high : high + around]}
    return {"char_start": start, "char_end": end, "text": text[low:high], **near}


def known_chunks(store: SQLiteStore, doc_id: str, scope: Scope) -> str:
    """Return which chunks of a document `scope` may see, in words."""
    ids = [chunk.metadata.chunk_id for chunk in store.fetch([Window(doc_id, 0, MAX_CHUNK_ID)], scope)]
    return f"chunks {min(ids)} to {max(ids)}" if ids else "no chunks"


class Index:
    """One database; any number of threads and processes may use it at once.

    Parameters
    ----------
    name : that requests name it by
    path : of the file; made where it does not exist, unless `read_only`
    tokenizer : counts the tokens of new documents
    embed : encoder of questions; None takes the one the file was indexed with
    read_only : whether documents may be added and deleted

    Raises
    ------
    StoreError
        If the file cannot be opened.
    """

    keeps_documents = True

    def __init__(
        self, name: str, path: Path, tokenizer: Tokenizer, *, embed: str | None = None, read_only: bool = False
    ) -> None:
        self.name = name
        self.read_only = read_only
        self._store = SQLiteStore(path, read_only=read_only)
        self.encoder, self._said = encoder_for_query(embed, self._store, "auto")
        self._model = self._store.vector_model
        stored = None if self._model is None else self.encoder
        self._indexer = Indexer(self._store, make_chunker(tokenizer), tokenizer, stored)

    def close(self) -> None:
        """Close the file."""
        self._store.close()

    def check(self) -> None:
        """Read from the file, to see that it answers.

        Raises
        ------
        StoreError
            If it does not.
        """
        with self._own_name():
            self._store.is_current("", "")

    def ask(self, composer: SpanComposer, body: QueryBody, scope: Scope) -> Composition:
        """Return the context for a question."""
        by_words = body.mode == "bm25"
        with self._own_name():
            return compose_question(
                composer,
                self._store,
                body.question,
                encoder=None if by_words else self.encoder,
                k=body.k,
                mode=body.mode,
                scope=scope,
                where=body.where,
                said=None if by_words else self._said,
                sub_questions=body.sub_questions,
                whole_documents=body.whole_documents,
                **body.config,
            )

    def fetch_chunks(self, made: Composition, scope: Scope) -> dict[ChunkKey, Chunk]:
        """Return the chunks that a composition of this index looked at."""
        with self._own_name():
            return fetch_chunks(made, self._store, scope)

    def list_documents(self, scope: Collection[str | None] | None, after: str, most: int) -> list[DocumentInfo]:
        """Return at most `most` documents behind `after`, by name; all scopes where `scope` is None."""
        with self._own_name():
            visible = (info for info in self._store.documents(after) if scope is None or info.scope in scope)
            return [*islice(visible, most)]

    def add(self, cut: Cut) -> tuple[PutResult, int, int]:
        """Write a document that is cut in one transaction; return what was done, its chunks and its tokens.

        Raises
        ------
        ConflictError
            If a document of another scope has its name.
        StoreError
            If the file has vectors of a model that cannot be had here.
        """
        document = cut.document
        chunks = CutDocument(make_chunks(document, cut.pieces), cut.counts)
        with self._own_name():
            known = self._store.get_info(document.doc_id)
            if known is not None and known.scope != document.scope:
                raise ConflictError(f"the name {document.doc_id!r} is taken: give the document another one")
            model = self._store.vector_model
            if model != self._model or (model is not None and self._indexer.encoder is None):
                raise StoreError(
                    f"{self._store.path} has vectors of {model!r}, which this service cannot make: the document would "
                    "not be found by them; start the service again, with their model in `embed`"
                )
            return self._indexer.add(document, chunks)

    def delete(self, doc_id: str, scope: Scope) -> None:
        """Delete a document that `scope` may see.

        Raises
        ------
        NotFoundError
            If there is none.
        """
        self.read(doc_id, scope)
        with self._own_name():
            self._store.delete(doc_id)

    def read(self, doc_id: str, scope: Scope) -> Document:
        """Return a document with its text.

        Raises
        ------
        NotFoundError
            If there is none, or none that `scope` may see: the answer is the same.
        """
        with self._own_name():
            document = self._store.get_document(doc_id, scope)
        if document is None:
            raise NotFoundError(f"there is no document {doc_id!r} in {self.name!r}: list what there is")
        return document

    def resolve(self, body: ResolveBody, scope: Scope) -> dict[str, Any]:
        """Return what a citation points to, with the text around it.

        Raises
        ------
        NotFoundError
            If there is no such document or chunk, or none that `scope` may see.
        RequestError
            If the citation names no place, or one outside its document.
        """
        document = self.read(body.doc_id, scope)
        known = {"doc_id": document.doc_id, "title": document.title, "characters": len(document.text)}
        start, end = body.char_start, body.char_end
        if start is None or end is None:
            text = self._read_chunk(body, scope)
            return {**known, **WITHOUT_OFFSETS, "page": None, "text": text}
        if not start <= end <= len(document.text):
            raise RequestError(
                f"characters {start:,}-{end:,} are outside {body.doc_id!r}, which has {len(document.text):,}: it has "
                "changed since it was cited, or the offsets are of another document"
            )
        return {**known, "page": document.page_at(start), **cut_out(document.text, 0, start, end, body.around)}

    def _read_chunk(self, body: ResolveBody, scope: Scope) -> str:
        if body.chunk_id is None:
            raise RequestError(NO_PLACE)
        with self._own_name():
            found = self._store.fetch([Window(body.doc_id, body.chunk_id, body.chunk_id + 1)], scope)
            known = "" if found else known_chunks(self._store, body.doc_id, scope)
        if not found:
            raise NotFoundError(
                f"document {body.doc_id!r} has no chunk {body.chunk_id}, it has {known}: cite one of them"
            )
        return found[0].text

    @contextmanager
    def _own_name(self) -> Iterator[None]:
        """Say the name of the index, and not where its file lies, in what goes wrong."""
        try:
            yield
        except StoreError as error:
            raise StoreError(str(error).replace(str(self._store.path), self.name)) from error.__cause__
