"""Reads uploads and cuts them into chunks, in a process of its own that is ended where it takes too much."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath
from typing import Any

from retrivex.chunking import Chunker, get_chunker
from retrivex.chunking.pieces import Piece
from retrivex.errors import ChunkError, LoadError
from retrivex.loading.files import is_complex, load_bytes_parts
from retrivex.loading.sandbox import ask_worker, document_of, is_available
from retrivex.loading.worker import serve
from retrivex.model.chunk import Chunk
from retrivex.model.document import Document
from retrivex.retrieval.indexing import count_repeated, cut_document
from retrivex.service.bounds import Bounds
from retrivex.service.errors import LimitError
from retrivex.tokens.stored import StoredCount
from retrivex.tokens.tokenizer import Tokenizer, resolve_tokenizer

SMALL_BYTES = 8 * 1024
"""A text of so many bytes is cut right here: a third of a second of processor time, whatever it holds."""

_PROGRAM = "retrivex.service.cutting"


@dataclass(frozen=True, slots=True)
class Cut:
    """A document of an upload, and where it is cut.

    Parameters
    ----------
    document : as it was read
    pieces : of its chunks, in their order
    counts : of the chunks
    """

    document: Document
    pieces: tuple[Piece, ...]
    counts: tuple[StoredCount, ...]


def make_chunker(tokenizer: Tokenizer) -> Chunker:
    """Return what cuts documents that are uploaded."""
    return get_chunker("auto", tokenizer=tokenizer)


def read_and_cut(raw: bytes, name: str, tokenizer: Tokenizer, spec: str, bounds: Bounds) -> list[Cut]:
    """Return the documents of an uploaded file with their chunks.

    Parameters
    ----------
    raw : its bytes
    name : of the file, with a known ending
    tokenizer : counts the tokens of chunks
    spec : what makes the same tokenizer in another process
    bounds : of what is read, and of what may come of it

    Raises
    ------
    LoadError
        If it cannot be read, takes longer than the bounds say, or more memory.
    LimitError
        If there are too many documents or chunks in it, or its chunks repeat too much.
    """
    try:
        return _read_and_cut(raw, name, tokenizer, spec, bounds)
    except LoadError as error:
        raise LoadError(f"{name}: {error}") from error


def _read_and_cut(raw: bytes, name: str, tokenizer: Tokenizer, spec: str, bounds: Bounds) -> list[Cut]:
    # where Python cannot be started anew, there is no other process
    if not is_available() or (len(raw) <= SMALL_BYTES and not is_complex(_suffix(name))):
        return list(_cut(raw, name, tokenizer, bounds))
    job = {
        "name": name,
        "tokenizer": spec,
        "documents": bounds.documents,
        "chunks": bounds.chunks,
        "line_bytes": bounds.line_bytes,
    }
    answer = ask_worker(_PROGRAM, job, raw, bounds.load)
    if "limit" in answer:
        raise LimitError(answer["limit"])
    return [_from_dict(fields) for fields in answer["cuts"]]


def main() -> None:
    """Read and cut files until standard input ends."""
    serve(_answer)


def _answer(job: dict[str, Any], raw: bytes) -> dict[str, Any]:
    bounds = Bounds(documents=job["documents"], chunks=job["chunks"], line_bytes=job["line_bytes"])
    tokenizer, _ = resolve_tokenizer(job["tokenizer"])
    try:
        return {"cuts": [_to_dict(cut) for cut in _cut(raw, job["name"], tokenizer, bounds)]}
    except LimitError as error:
        return {"limit": str(error)}


def _cut(raw: bytes, name: str, tokenizer: Tokenizer, bounds: Bounds) -> Iterator[Cut]:
    chunker = make_chunker(tokenizer)
    chunks = repeated = 0
    parts = load_bytes_parts(raw, _suffix(name), name, None, max_line_bytes=bounds.line_bytes)
    for number, loaded in enumerate(parts, 1):
        if isinstance(loaded, LoadError):
            raise loaded
        bounds.check_count("documents in a file", number, bounds.documents)
        bounds.check_names([loaded.document.doc_id])
        try:
            made = cut_document(loaded.document, chunker, tokenizer)
        except ChunkError as error:
            raise LimitError(str(error)) from error
        carried = count_repeated(loaded.document, made.chunks)
        chunks += len(carried)
        repeated += sum(carried)
        bounds.check_chunks(chunks, repeated, max(carried, default=0))
        bounds.check_title(loaded.document.title)
        yield Cut(loaded.document, tuple(map(_piece, made.chunks)), tuple(made.token_counts))


def _piece(chunk: Chunk) -> Piece:
    meta = chunk.metadata
    assert meta.char_start is not None  # a chunker says where its chunks are
    assert meta.char_end is not None
    return Piece(meta.char_start, meta.char_end, meta.prefix, meta.heading_path)


def _suffix(name: str) -> str:
    return PurePosixPath(name).suffix.lower()


def _to_dict(cut: Cut) -> dict[str, Any]:
    pieces = [(piece.start, piece.end, piece.prefix, piece.heading_path) for piece in cut.pieces]
    counts = [
        (count.tokens, count.checksum, None if count.cuts is None else base64.b64encode(count.cuts).decode("ascii"))
        for count in cut.counts
    ]
    return {"document": asdict(cut.document), "pieces": pieces, "counts": counts}


def _from_dict(fields: dict[str, Any]) -> Cut:
    pieces = (
        Piece(start, end, prefix, None if path is None else tuple(path))
        for start, end, prefix, path in fields["pieces"]
    )
    counts = (
        StoredCount(tokens, checksum, None if cuts is None else base64.b64decode(cuts))
        for tokens, checksum, cuts in fields["counts"]
    )
    return Cut(document_of(fields["document"]), tuple(pieces), tuple(counts))
