"""Documents made of texts, with chunks of exact offsets."""

from __future__ import annotations

from typing import Any

from retrivex.model.chunk import Chunk, ChunkMetadata
from retrivex.model.document import Document
from retrivex.model.window import Window


def page(doc_id: str, *texts: str, scope: str | None = None, **fields: Any) -> tuple[Document, list[Chunk]]:
    """Return a document made of `texts` joined by spaces, and its chunks with exact offsets."""
    chunks, start = [], 0
    for i, text in enumerate(texts):
        chunks.append(Chunk(text, ChunkMetadata(doc_id, i, start, start + len(text), scope=scope)))
        start += len(text) + 1
    return Document(doc_id, " ".join(texts), scope=scope, **fields), chunks


everything = Window("d", 0, 2**63)
