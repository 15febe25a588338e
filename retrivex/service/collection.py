"""An index that is a collection of a vector store: it is asked, and filled by whoever fills it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from typing import Any

from retrivex.adapters.base.collection import Collection, Scan
from retrivex.adapters.base.opening import open_collection
from retrivex.adapters.base.retries import RetryingCollection
from retrivex.adapters.base.store import VectorChunkStore, VectorRetriever
from retrivex.composer.composer import SpanComposer
from retrivex.composer.requests import RequestError
from retrivex.composition.composition import Composition
from retrivex.encoders.encoder import Encoder, load_encoder
from retrivex.encoders.queries import encode_question
from retrivex.errors import StoreError
from retrivex.model.chunk import Chunk, ChunkKey, Scope
from retrivex.model.window import Window
from retrivex.service.bodies import QueryBody, ResolveBody
from retrivex.service.errors import CollectionError, NotFoundError
from retrivex.service.index import NO_PLACE, WITHOUT_OFFSETS, cut_out
from retrivex.service.logs import LOGGER
from retrivex.service.playground.view import fetch_chunks
from retrivex.service.question import retrieve_each

KEY_VARIABLE = "RETRIVEX_API_KEY"
"""Where the key of a vector store's server is read from; `retrivex backfill` and `batch` read the same."""

_REACH = 50  # chunks on each side of a cited one that are read for what stands around it
_MOST = 5_000  # chunks of a document that are read where no chunk is named


class CollectionIndex:
    """A collection whose chunks other programs wrote, as an index of the service: it can be asked, and not changed.

    Parameters
    ----------
    name : that requests name it by
    collection : of the vector store; closed with this index
    encoder : that its vectors come from
    """

    read_only = True
    keeps_documents = False

    def __init__(self, name: str, collection: Collection, encoder: Encoder) -> None:
        self.name = name
        self._collection = collection
        self.encoder = encoder
        self._store = VectorChunkStore(collection)

    @classmethod
    def open(cls, name: str, *, store: str, address: str, collection: str, layout: str, embed: str) -> CollectionIndex:
        """Open a collection by its address; the key of its server stands in `RETRIVEX_API_KEY`.

        Raises
        ------
        StoreError
            If the store cannot be reached, or has no such collection.
        EncoderError
            If the encoder cannot be loaded.
        ImportError
            If a client or a model needs a package that is not installed.
        """
        encoder = load_encoder(embed)
        return cls(name, open_collection(store, address, collection, layout, os.environ.get(KEY_VARIABLE)), encoder)

    def close(self) -> None:
        """Close the client."""
        self._collection.close()

    def check(self) -> None:
        """Read a record, to see that the store answers.

        Raises
        ------
        CollectionError
            If it does not.
        """
        with self._reported():
            RetryingCollection(self._collection, 0).ask(Scan(None, 1))

    def ask(self, composer: SpanComposer, body: QueryBody, scope: Scope) -> Composition:
        """Return the context for a question, by meaning: the vector store does not search by words.

        Raises
        ------
        RequestError
            If `where` is given, or a mode that needs words.
        CollectionError
            If the store does not answer.
        """
        if body.where is not None:
            raise RequestError(f"where is given: {self.name!r} is a collection of a vector store, so leave it out")
        if body.mode not in ("auto", "dense"):
            raise RequestError(f"mode is {body.mode!r}: {self.name!r} is searched by meaning alone; leave it out")
        encode = cache(partial(encode_question, self.encoder))
        retriever = VectorRetriever(self._collection, encode)
        with self._reported():
            hits = retrieve_each(lambda one: retriever.retrieve(one, body.k, scope), body.question, body.sub_questions)
            given: dict[str, Any] = {"query_embedding": encode(body.question), "whole_documents": body.whole_documents}
            made = composer.compose(hits, self._store, query=body.question, scope=scope, **given, **body.config)
        said = [warning for warning in retriever.warnings if warning not in made.warnings]
        return replace(made, warnings=(*said, *made.warnings))

    def fetch_chunks(self, made: Composition, scope: Scope) -> dict[ChunkKey, Chunk]:
        """Return the chunks that a composition of this index looked at."""
        with self._reported():
            return fetch_chunks(made, self._store, scope)

    def resolve(self, body: ResolveBody, scope: Scope) -> dict[str, Any]:
        """Return what a citation points to; text around it as far as chunks beside it touch.

        Raises
        ------
        RequestError
            If the citation names no place, or one that no chunk holds.
        NotFoundError
            If there is no such chunk, or none that `scope` may see.
        CollectionError
            If the store does not answer.
        """
        start, end = body.char_start, body.char_end
        if start is None or end is None:
            if body.chunk_id is None:
                raise RequestError(NO_PLACE)
            [chunk] = self._fetch(body.doc_id, body.chunk_id, body.chunk_id + 1, scope)
            return {**_describe(chunk), **WITHOUT_OFFSETS, "text": chunk.text}
        near = (0, _MOST) if body.chunk_id is None else (max(0, body.chunk_id - _REACH), body.chunk_id + _REACH + 1)
        chunks = self._fetch(body.doc_id, *near, scope)
        begin, text = _stretch(chunks, start)
        if not begin <= start <= end <= begin + len(text):
            raise RequestError(
                f"characters {start:,}-{end:,} of {body.doc_id!r} are in no chunk of {self.name!r}: it has changed "
                "since it was cited, or its chunks have no offsets; name the chunk_id alone"
            )
        holder = max((chunk for chunk in chunks if _begin(chunk) <= start), key=_begin)
        return {**_describe(holder), **cut_out(text, begin, start, end, body.around)}

    def _fetch(self, doc_id: str, first: int, end: int, scope: Scope) -> list[Chunk]:
        with self._reported():
            found: list[Chunk] = self._store.fetch([Window(doc_id, first, end)], scope)
        if not found:
            which = f"chunk {first}" if end == first + 1 else "chunk"
            raise NotFoundError(f"document {doc_id!r} has no {which} in {self.name!r}: cite one that an answer names")
        return found

    @contextmanager
    def _reported(self) -> Iterator[None]:
        """Say that the store does not answer, and not where it is; the log has the kind of error."""
        try:
            yield
        except StoreError as error:
            LOGGER.warning("vector store", exc_info=error, extra={"fields": {"index": self.name}})
            raise CollectionError(
                f"the vector store of {self.name!r} does not answer, or refuses: ask later"
            ) from error


def _describe(chunk: Chunk) -> dict[str, Any]:
    title = (chunk.metadata.custom_metadata or {}).get("title")
    known = str(title) if title else None
    return {"doc_id": chunk.metadata.doc_id, "title": known, "characters": None, "page": chunk.metadata.page}


def _begin(chunk: Chunk) -> int:
    return -1 if chunk.metadata.char_start is None else chunk.metadata.char_start


def _stretch(chunks: Iterable[Chunk], start: int) -> tuple[int, str]:
    """Return where the text that holds `start` begins, and the text as far as chunks touch or overlap."""
    begin, text = 0, ""
    for chunk in sorted(chunks, key=_begin):
        low, end = _begin(chunk), chunk.metadata.char_end
        if low < 0 or (end is not None and end - low != len(chunk.text)):
            continue  # a text that is not the document's letter by letter
        if text and low <= begin + len(text):
            text += chunk.text[begin + len(text) - low :]
        elif low <= start:
            begin, text = low, chunk.text
        else:
            break
    return begin, text
