"""Chunks as plain JSON types and back: one spelling for every file and message RetriVex reads or writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

import numpy as np

from retrivex.chunk import Chunk, ChunkMetadata
from retrivex.errors import ChunkError

_DEFAULTS = {f.name: f.default for f in fields(ChunkMetadata) if f.default is not MISSING}
_METADATA = tuple(f.name for f in fields(ChunkMetadata) if f.name != "custom_metadata")
KNOWN_KEYS = ("text", *_METADATA, "metadata", "embedding")
"""Keys of a chunk's JSON object; `metadata` holds what `ChunkMetadata.custom_metadata` does."""


def chunk_to_dict(chunk: Chunk, *, with_embedding: bool = True) -> dict[str, Any]:
    """Return a chunk as plain JSON types; fields at their defaults are left out.

    Examples
    --------
    >>> chunk_to_dict(Chunk("Bees sleep.", ChunkMetadata("bees", 0, 0, 11)))
    {'text': 'Bees sleep.', 'doc_id': 'bees', 'chunk_id': 0, 'char_start': 0, 'char_end': 11}
    """
    metadata = chunk.metadata
    made: dict[str, Any] = {"text": chunk.text}
    for name in _METADATA:
        value = getattr(metadata, name)
        if name in ("doc_id", "chunk_id") or value != _DEFAULTS[name]:
            made[name] = value
    if metadata.heading_path is not None:
        made["heading_path"] = list(metadata.heading_path)
    if metadata.links:
        made["links"] = [[doc_id, chunk_id] for doc_id, chunk_id in metadata.links]
    if metadata.custom_metadata:
        made["metadata"] = dict(metadata.custom_metadata)
    if with_embedding and chunk.embedding is not None:
        made["embedding"] = np.asarray(chunk.embedding, dtype=float).tolist()
    return made


def chunk_from_dict(data: Mapping[str, Any]) -> Chunk:
    """Read what `chunk_to_dict` wrote.

    Raises
    ------
    ChunkError
        If a key is unknown, `text`, `doc_id` or `chunk_id` is missing, or a value breaks a rule of `ChunkMetadata`.
    """
    if not isinstance(data, Mapping):
        raise ChunkError(f"a chunk is given as {data!r}: it must be an object with text, doc_id and chunk_id")
    unknown = [key for key in data if key not in KNOWN_KEYS]
    if unknown:
        raise ChunkError(
            f"chunk has the unknown key {unknown[0]!r}: known are {', '.join(KNOWN_KEYS)}; "
            "put your own under 'metadata'"
        )
    missing = [key for key in ("text", "doc_id", "chunk_id") if key not in data]
    if missing:
        raise ChunkError(f"chunk lacks {missing[0]!r}: text, doc_id and chunk_id are needed; it has {sorted(data)}")
    place = {name: data[name] for name in _METADATA if data.get(name) is not None}
    try:
        if "links" in place:
            place["links"] = tuple((doc_id, chunk_id) for doc_id, chunk_id in place["links"])
        metadata = ChunkMetadata(custom_metadata=dict(data.get("metadata") or {}), **place)
        embedding = data.get("embedding")
        return Chunk(data["text"], metadata, None if embedding is None else np.asarray(embedding, dtype=np.float32))
    except (TypeError, ValueError) as error:
        if isinstance(error, ChunkError):
            raise
        where = (data["doc_id"], data["chunk_id"])
        raise ChunkError(f"chunk {where!r} has a value of the wrong type: {error}; see ChunkMetadata") from error
