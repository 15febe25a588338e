"""Documents to chunks and vectors: one function from an Arrow table to an Arrow table, and the same as work."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from retrivex.batch.job import OncePerProcess
from retrivex.batch.rows import chunk_row, error_of, make_table, plain_record, read_json, read_rows, write_json
from retrivex.batch.schema import CHUNK_SCHEMA, DOCUMENT_COLUMNS, check_columns
from retrivex.chunking import Chunker, get_chunker
from retrivex.encoders.encoder import Encoder, load_encoder
from retrivex.errors import BatchError, LoadError
from retrivex.loading.files import MAX_BYTES, load_parts
from retrivex.model.document import Document
from retrivex.model.serialization import chunk_from_dict
from retrivex.retrieval.headers import Headers, make_headers
from retrivex.retrieval.indexing import PreparedDocument, prepare_document
from retrivex.tokens.stored import StoredCount
from retrivex.tokens.tokenizer import Tokenizer, get_tokenizer

_FORMATS = ("text", "markdown")
_KEPT = ("doc_id", "source")
_Tools: TypeAlias = tuple[Chunker, Tokenizer, Encoder | None, Headers | None]


def chunk_table(
    table: pa.Table,
    chunker: Chunker | None = None,
    tokenizer: Tokenizer | None = None,
    encoder: Encoder | None = None,
    headers: Headers | None = None,
) -> pa.Table:
    """Cut every document of a table, count and encode its chunks: the same rows out, in the same order.

    Parameters
    ----------
    table : documents, by the schema `retrivex.batch.documents/1` of `docs/howto/batch.md`
    chunker : cuts them; None takes `get_chunker()`
    tokenizer : counts the chunks' tokens; None takes `get_tokenizer()`
    encoder : gives each chunk a vector; None leaves them out
    headers : gives each chunk its header; None leaves them out

    Returns
    -------
    pyarrow.Table
        By the schema `retrivex.batch.chunks/1`: a document a row, with the list of its chunks, or its error.

    Raises
    ------
    BatchError
        If the table has other columns, or of other types.
    EncoderError
        If the encoder fails.

    Examples
    --------
    >>> import pyarrow as pa
    >>> given = pa.table({"doc_id": ["bees"], "text": ["Bees sleep. Wasps do not."]})
    >>> made = chunk_table(given, get_chunker("sentence"), get_tokenizer("estimate"))
    >>> [chunk["text"] for chunk in made.column("chunks").to_pylist()[0]]
    ['Bees sleep. Wasps do not.']
    """
    check_columns(table.schema, DOCUMENT_COLUMNS, ["doc_id", "text"], "documents")
    counter = get_tokenizer() if tokenizer is None else tokenizer
    cutter = get_chunker(tokenizer=counter) if chunker is None else chunker
    tools = (cutter, counter, encoder, headers)
    return make_table([_row(problem or row, row, tools) for row, problem in read_rows(table)], CHUNK_SCHEMA, _KEPT)


def read_document(row: Mapping[str, Any]) -> Document:
    """Return the document that a row holds.

    Raises
    ------
    LoadError
        If it lacks its name or its text, or a value breaks a rule.
    """
    given = {name: value for name, value in row.items() if value is not None}
    for name in ("doc_id", "text"):
        if name not in given:
            raise LoadError(f"{name} is null: every document has a name and a text, which may be empty")
    if given.get("format", "text") not in _FORMATS:
        raise LoadError(f"format is {given['format']!r}: it must be one of {', '.join(_FORMATS)}, or null")
    metadata = read_json(given.pop("metadata", "{}"), "metadata")
    if not isinstance(metadata, dict):
        raise LoadError(f"metadata is {metadata!r}: it must be an object of JSON")
    page_starts = tuple(given.get("page_starts", ()))
    if None in page_starts:
        raise LoadError(f"page_starts is {list(page_starts)}: it must hold offsets and no null, ascending")
    return Document(**{**given, "page_starts": page_starts, "metadata": metadata})


@dataclass(frozen=True)
class ChunkWork(OncePerProcess):
    """What `chunk_table` does, as an object to send to other processes; each loads chunker and model once.

    Parameters
    ----------
    chunker, size, overlap : as in `get_chunker`
    tokenizer : name of what counts; `auto` becomes what is at hand where the object is made, so that a worker that
        lacks its file refuses to work
    embed : name of an encoder, as in `load_encoder`; None for no vectors
    headers : as in `make_headers`; None for none
    """

    chunker: str = "auto"
    size: int | None = None
    overlap: int | None = None
    tokenizer: str = "auto"
    embed: str | None = None
    headers: str | None = None

    def __post_init__(self) -> None:
        if self.tokenizer == "auto":
            object.__setattr__(self, "tokenizer", get_tokenizer().name)

    def __call__(self, table: pa.Table) -> pa.Table:
        """Cut the documents of a table."""
        return chunk_table(table, *self.resources)

    def schema(self, given: pa.Schema) -> pa.Schema:
        """Return the schema of chunks.

        Raises
        ------
        BatchError
            If `given` is not of documents.
        """
        check_columns(given, DOCUMENT_COLUMNS, ["doc_id", "text"], "documents")
        return CHUNK_SCHEMA

    def describe(self) -> dict[str, Any]:
        """Return all that the result depends on."""
        chunker, tokenizer, encoder, headers = self.resources
        model = None if encoder is None else encoder.name
        known = {"work": "chunk", "chunker": chunker.name, "tokenizer": tokenizer.name, "encoder": model}
        return known if headers is None else {**known, "headers": headers.name}

    @cached_property
    def resources(self) -> _Tools:
        """Chunker, tokenizer, encoder and headers, made once a process."""
        counter = get_tokenizer(self.tokenizer)
        encoder = None if self.embed is None else load_encoder(self.embed)
        cutter = get_chunker(self.chunker, size=self.size, overlap=self.overlap, tokenizer=counter, encoder=encoder)
        return cutter, counter, encoder, None if self.headers is None else make_headers(self.headers)


@dataclass(frozen=True)
class FilesWork:
    """Reads files, and does with their documents what `ChunkWork` does.

    Parameters
    ----------
    chunks : what is done with documents
    scope : of all documents; a line of JSONL that names another one is an error. None: as each line says
    """

    chunks: ChunkWork
    scope: str | None = None

    def __call__(self, table: pa.Table) -> pa.Table:
        """Read the files of a table with the columns `path` and `doc_id`: a row for each document."""
        tools = self.chunks.resources
        rows = [row for file in table.to_pylist() for row in self._rows(file["path"], file["doc_id"], tools)]
        return make_table(rows, CHUNK_SCHEMA, _KEPT)

    def schema(self, given: pa.Schema) -> pa.Schema:
        """Return the schema of chunks.

        Raises
        ------
        BatchError
            If `given` is not of files.
        """
        if given.names != ["path", "doc_id"]:
            raise BatchError(f"files have the columns path and doc_id, not {', '.join(given.names)}")
        return CHUNK_SCHEMA

    def describe(self) -> dict[str, Any]:
        """Return all that the result depends on."""
        return {**self.chunks.describe(), "work": "index", "scope": self.scope}

    def _rows(self, path: str, doc_id: str, tools: _Tools) -> Iterator[dict[str, Any]]:
        for loaded in load_parts(Path(path), doc_id, max_bytes=MAX_BYTES):
            if isinstance(loaded, LoadError):
                yield _row(loaded, {"doc_id": doc_id, "source": path}, tools)
            else:
                place = {"doc_id": loaded.document.doc_id, "source": path}
                yield _row(self._placed(loaded.document, path), place, tools, loaded.notes)

    def _placed(self, document: Document, path: str) -> Document | LoadError:
        """Return a document with the file it was read from as its source, and the scope of the job."""
        if self.scope is not None and document.scope not in (None, self.scope):
            return LoadError(
                f"doc_id {document.doc_id!r} names scope {document.scope!r}, the file is indexed for {self.scope!r}: "
                "correct the line, or index files that name their own scopes without one"
            )
        source, said = os.path.abspath(path), document.source
        metadata = document.metadata if said in (None, path, source) else {"source": said, **document.metadata}
        scope = document.scope if self.scope is None else self.scope
        return replace(document, source=source, metadata=metadata, scope=scope)


def _row(
    given: Document | Mapping[str, Any] | Exception, place: Mapping[str, Any], tools: _Tools, notes: Sequence[str] = ()
) -> dict[str, Any]:
    """Return a document, or what a row holds of one, with its chunks as a row, or its error with its name."""
    try:
        if isinstance(given, Exception):
            raise given
        document = given if isinstance(given, Document) else read_document(given)
        chunker, tokenizer, encoder, headers = tools
        made = prepare_document(document, chunker, tokenizer, encoder, headers=headers)
        return {**prepared_row(made), "notes": list(notes)}
    except Exception as error:  # noqa: BLE001 - one bad document must not lose the others; it is handed back
        return {**{name: place.get(name) for name in _KEPT}, "error": error_of(error)}


def prepared_row(made: PreparedDocument) -> dict[str, Any]:
    """Return a document with everything that a store keeps of it as a row."""
    document = made.document
    vectors = None if made.vectors is None else np.asarray(made.vectors, np.float32).tolist()
    return {
        **{name: getattr(document, name) for name in DOCUMENT_COLUMNS},
        "page_starts": list(document.page_starts),
        "metadata": write_json(dict(document.metadata)),
        "content_hash": made.content_hash,
        "tokenizer": made.tokenizer,
        "encoder": made.encoder,
        "chunks": [
            {
                **chunk_row(chunk),
                "tokens": count.tokens,
                "cuts": count.cuts,
                "embedding": None if vectors is None else vectors[at],
            }
            for at, (chunk, count) in enumerate(zip(made.chunks, made.token_counts, strict=True))
        ],
        "parents": [{"name": name, "chunk": chunk_row(parent)} for name, parent in made.parents.items()],
    }


def prepared_of(row: Mapping[str, Any]) -> PreparedDocument:
    """Return what a row without an error holds; the reverse of `prepared_row`."""
    given = [chunk.copy() for chunk in row["chunks"]]
    counts = [
        StoredCount.of(chunk["text"], chunk.pop("tokens"), row["tokenizer"], chunk.pop("cuts", None)) for chunk in given
    ]
    vectors = [chunk.pop("embedding") for chunk in given]
    named = {name: row[name] for name in DOCUMENT_COLUMNS}
    return PreparedDocument(
        read_document(named),
        [chunk_from_dict(plain_record(chunk)) for chunk in given],
        {parent["name"]: chunk_from_dict(plain_record(parent["chunk"])) for parent in row["parents"]},
        counts,
        row["tokenizer"],
        None if row["encoder"] is None or not vectors else np.array(vectors, np.float32),
        row["encoder"],
        row["content_hash"],
    )
