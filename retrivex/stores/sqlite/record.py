"""The record of a document: its chunks, parents and vectors, checked before the first row is written."""

from __future__ import annotations

import hashlib
import json
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from retrivex.errors import StoreError, quoted
from retrivex.model.chunk import MAX_CHUNK_ID, Chunk
from retrivex.model.document import Document
from retrivex.stores.memory import index_chunks
from retrivex.stores.sqlite.rows import FIELDS, encode_chunk, encode_mapping, encode_time, storable, utf8
from retrivex.stores.sqlite.vectors import Floats, unit_rows
from retrivex.tokens.stored import StoredCount


def content_hash(document: Document, *, chunker: str = "", encoder: str = "", tokenizer: str = "") -> str:
    """Return what decides whether a document must be indexed again.

    The hash covers everything about the document except its timestamp (a file that was only touched is the same
    file), and what is done to it: pass whatever identifies the chunker with its settings, the encoder and the
    tokenizer.

    Examples
    --------
    >>> page = Document("a.md", "Bees sleep.")
    >>> content_hash(page, chunker="sentence-3") == content_hash(page, chunker="sentence-3")
    True
    >>> content_hash(page, chunker="sentence-3") == content_hash(page, chunker="sentence-5")
    False
    """
    fields = (document.doc_id, document.format, document.title, document.page_starts, document.source, document.scope)
    try:
        described = repr((fields, sorted(document.metadata.items(), key=repr)))
    except Exception as error:  # digits or brackets without end, or a `repr` of somebody else's that fails
        raise StoreError(
            f"metadata {quoted(document.metadata)} of {document.doc_id!r} cannot be written ({error}); keep strings, "
            "numbers, lists and dicts"
        ) from error
    digest = hashlib.sha256(described.encode(errors="replace"))
    # half surrogate pairs are refused later, with their place
    digest.update(document.text.encode(errors="surrogatepass"))
    digest.update(repr((chunker, encoder, tokenizer)).encode(errors="replace"))
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Record:
    """A document ready to be written; nothing in it can be refused any more, except by the disk."""

    document: Document
    document_row: Mapping[str, Any]
    chunks: Sequence[Chunk]
    chunk_rows: Sequence[tuple[Any, ...]]
    token_rows: Sequence[StoredCount | tuple[None, None, None]]
    parents: Mapping[str, Chunk | str]
    parent_rows: Sequence[tuple[Any, ...]]
    vectors: Floats | None
    encoder: str | None


def prepare(
    document: Document,
    chunks: Iterable[Chunk],
    parents: Mapping[str, Chunk | str] | None,
    embeddings: ArrayLike | None,
    encoder: str | None,
    token_counts: Sequence[int | StoredCount] | None,
    tokenizer: str | None,
    known_hash: str | None,
) -> Record:
    """Check a document with everything that belongs to it, and bring it into rows.

    Raises
    ------
    StoreError
        See `SQLiteStore.put`.
    """
    given = list(chunks)
    row = _document_row(document)
    order = _order(document, given)
    vectors = _vectors(document, given, embeddings, encoder)
    tokens = _token_rows(document, given, token_counts, tokenizer)
    if vectors is not None:
        vectors = vectors[order]
    ordered = [given[i] for i in order]
    rows = [encode_chunk(chunk) for chunk in ordered]
    parents = dict(parents or {})
    parent_rows = [_parent_row(document, name, parent) for name, parent in parents.items()]
    if not known_hash:
        scopes = [chunk.metadata.scope for chunk in ordered]
        bytes_of_vectors = b"" if vectors is None else vectors.tobytes()
        contents = (rows, scopes, parents, parent_rows, hashlib.sha256(bytes_of_vectors).hexdigest())
        digest = hashlib.sha256(repr(contents).encode()).hexdigest()
        known_hash = content_hash(document, chunker=digest, encoder=encoder or "", tokenizer=tokenizer or "")
    row |= {
        "content_hash": known_hash,
        "tokenizer": tokenizer,
        "chunk_count": len(ordered),
        "parent_count": len(parents),
        "vector_count": 0 if vectors is None else len(vectors),
    }
    return Record(document, row, ordered, rows, [tokens[i] for i in order], parents, parent_rows, vectors, encoder)


def _document_row(document: Document) -> dict[str, Any]:
    """Return the columns of the documents table that its chunks do not decide, with their values."""
    row: dict[str, Any] = {
        "doc_id": storable(document.doc_id, "doc_id"),
        "text": utf8(document.text, f"text of {document.doc_id!r}"),
        "format": document.format,
        "timestamp": encode_time(document.timestamp),
        "characters": len(document.text),
        "page_starts": json.dumps(document.page_starts),
        "metadata": encode_mapping(document.metadata),
    }
    for field, check in (("title", utf8), ("source", utf8), ("scope", storable)):
        value = getattr(document, field)
        row[field] = None if value is None else check(value, f"{field} of {document.doc_id!r}")
    return row


def _order(document: Document, chunks: Sequence[Chunk]) -> list[int]:
    """Return the positions of the distinct chunks by chunk id, after checking that they fit the document."""
    first: dict[int, int] = {}
    for i, chunk in enumerate(chunks):
        _check_chunk(document, chunk)
        first.setdefault(chunk.metadata.chunk_id, i)
    if len(first) < len(chunks):
        index_chunks(chunks)
    return [first[chunk_id] for chunk_id in sorted(first)]


def _check_chunk(document: Document, chunk: Chunk) -> None:
    meta = chunk.metadata
    if meta.doc_id != document.doc_id:
        raise StoreError(f"chunk {chunk.key!r} was given with the document {document.doc_id!r}: put its own with it")
    if meta.scope is not None:
        storable(meta.scope, f"scope of {chunk.key!r}")
    elif document.scope is not None:
        raise StoreError(
            f"chunk {chunk.key!r} carries no scope, but its document is in {document.scope!r}: everybody could read "
            "it; copy the document's scope to its chunks"
        )
    # a document without text is one whose chunks came ready made: there is nothing to check them against
    if document.text and meta.char_start is not None and document.text[meta.char_start : meta.char_end] != chunk.text:
        raise StoreError(
            f"offsets of {chunk.key!r} lie: document.text[{meta.char_start}:{meta.char_end}] is not the chunk's text; "
            "correct them, or leave both None if they are not known"
        )


def _vectors(
    document: Document, chunks: Sequence[Chunk], embeddings: ArrayLike | None, encoder: str | None
) -> Floats | None:
    own = [chunk.embedding for chunk in chunks if chunk.embedding is not None]
    if not chunks or (embeddings is None and not own):
        return None
    if encoder is None:
        raise StoreError(f"{document.doc_id!r} comes with vectors without the name of their model: pass encoder=...")
    utf8(encoder, "encoder")
    if embeddings is None and len(own) < len(chunks):
        raise StoreError(f"{len(own)} of {len(chunks)} chunks of {document.doc_id!r} have an embedding: give all one")
    rows = unit_rows(own if embeddings is None else embeddings, what=repr(document.doc_id))  # type: ignore[arg-type]
    if len(rows) != len(chunks):
        raise StoreError(f"{document.doc_id!r} has {len(chunks)} chunks and {len(rows)} vectors: give one a chunk")
    return rows


def _token_rows(
    document: Document, chunks: Sequence[Chunk], counts: Sequence[int | StoredCount] | None, tokenizer: str | None
) -> Sequence[StoredCount | tuple[None, None, None]]:
    """Return count, checksum and cuts of each chunk."""
    if (counts is None) != (tokenizer is None):
        raise StoreError(f"{document.doc_id!r}: pass token_counts and tokenizer together, or neither")
    if counts is None or tokenizer is None:
        return [(None, None, None)] * len(chunks)
    if len(counts) != len(chunks):
        raise StoreError(
            f"{document.doc_id!r} has {len(chunks)} chunks and {len(counts)} token counts: give one a chunk"
        )
    return [_stored_count(count, chunk, tokenizer) for chunk, count in zip(chunks, counts, strict=True)]


def _stored_count(count: Any, chunk: Chunk, tokenizer: str) -> StoredCount:
    given, cuts = (count.tokens, count.cuts) if isinstance(count, StoredCount) else (count, None)
    try:
        tokens = operator.index(given)
    except TypeError:
        tokens = -1
    if not 0 <= tokens < MAX_CHUNK_ID:
        raise StoreError(f"token count of {chunk.key!r} is {given!r}: it must be a whole number from 0 to 2**63")
    return StoredCount.of(chunk.text, tokens, tokenizer, cuts)


def _parent_row(document: Document, name: str, parent: Chunk | str) -> tuple[Any, ...]:
    storable(name, f"parent id of {document.doc_id!r}")
    if not isinstance(parent, str):
        _check_chunk(document, parent)
        return encode_chunk(parent)
    # a parent given as plain text has no place in the document: its chunk_id stays NULL
    empty = dict.fromkeys(FIELDS)
    return tuple({**empty, "sequence_kinds": 0, "text": utf8(parent, f"parent {name!r}")}.values())
