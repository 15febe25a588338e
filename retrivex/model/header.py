"""The header of a chunk: a line that it is found by, and that is no part of its document."""

from __future__ import annotations

from dataclasses import replace

from retrivex.model.chunk import Chunk, ChunkMetadata

CHUNK_HEADER = "chunk_header"
"""Key of a chunk's custom metadata that holds its header."""

MAX_HEADER = 1000
"""Characters of a header that are kept: each chunk repeats its own."""


def chunk_header(metadata: ChunkMetadata) -> str:
    """Return the header of a chunk; empty where it has none."""
    header = metadata.custom_metadata.get(CHUNK_HEADER)
    return header if isinstance(header, str) else ""


def with_header(chunk: Chunk, header: str) -> Chunk:
    """Return a chunk with a header, put into one line; without any where it is empty."""
    line = " ".join(header.split())[:MAX_HEADER]
    custom = {name: value for name, value in chunk.metadata.custom_metadata.items() if name != CHUNK_HEADER}
    known = {**custom, CHUNK_HEADER: line} if line else custom
    return Chunk(chunk.text, replace(chunk.metadata, custom_metadata=known), chunk.embedding)


def indexed_text(chunk: Chunk) -> str:
    r"""Return what is embedded of a chunk: its header, its prefix, and its text.

    Examples
    --------
    >>> indexed_text(with_header(Chunk("They sleep.", ChunkMetadata("d", 0)), "Bees > Night"))
    'Bees > Night\nThey sleep.'
    """
    header = chunk_header(chunk.metadata)
    # the rows of a table mean little without its head
    return (f"{header}\n" if header else "") + (chunk.metadata.prefix or "") + chunk.text
