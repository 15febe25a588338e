"""Converts the answers of Chroma to records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from chromadb.api.models.AsyncCollection import AsyncCollection
from chromadb.api.models.Collection import Collection as SyncCollection
from numpy.typing import NDArray

from retrivex.adapters.base.collection import Record, Records, Scan
from retrivex.errors import StoreError

from .filters import METADATA

TEXT = "document"

_MOST_RESTARTS = 5


def records_of(answer: Mapping[str, Any]) -> list[Record]:
    """Return what `get` answered."""
    vectors = _vectors(answer["embeddings"], len(answer["ids"]))
    found = zip(answer["ids"], answer["documents"], answer["metadatas"], vectors, strict=True)
    return [Record(id, {TEXT: text, METADATA: metadata or {}}, None, vector) for id, text, metadata, vector in found]


def hits_of(answer: Mapping[str, Any], space: str) -> list[Record]:
    """Return what `query` answered to one question, with scores by the metric `space`."""
    embeddings, (ids,) = answer["embeddings"], answer["ids"]
    vectors = _vectors(None if embeddings is None else embeddings[0], len(ids))
    found = zip(ids, answer["documents"][0], answer["metadatas"][0], answer["distances"][0], vectors, strict=True)
    return [
        Record(id, {TEXT: text, METADATA: metadata or {}}, _score(distance, space), vector)
        for id, text, metadata, distance, vector in found
    ]


def scored(records: Sequence[Record], asked: NDArray[np.float32], space: str) -> list[Record]:
    """Return those records that have a vector, with the scores that `query` would give them."""
    scores = []
    at = np.asarray(asked, dtype=np.float64)
    for record in records:
        if record.vector is None:
            continue
        vector = record.vector.astype(np.float64)
        if space == "l2":
            distance = float(np.sum((at - vector) ** 2))
        else:
            lengths = float(np.linalg.norm(at) * np.linalg.norm(vector)) if space == "cosine" else 1.0
            distance = 1.0 - float(at @ vector) / (lengths or 1.0)
        scores.append(replace(record, score=_score(distance, space)))
    return scores


def space_of(opened: SyncCollection | AsyncCollection) -> str:
    """Return the metric of a collection: `l2`, `cosine` or `ip`."""
    # as JSON: read in, it would bring the collection's embedding function to life
    configured = opened.configuration_json
    index = configured.get("hnsw") or configured.get("spann") or {}
    return str(index.get("space") or (opened.metadata or {}).get("hnsw:space") or "l2")


def pages_of(request: Scan) -> dict[str, int]:
    """Return which records a scan asks for: Chroma knows positions alone, so the last one read is asked for again."""
    at, last, _ = request.after or (0, None, 0)
    return {"limit": request.limit, "offset": at} if last is None else {"limit": request.limit + 1, "offset": at - 1}


def page_of(name: str, found: list[Record], request: Scan) -> Records:
    """Return a page; one with nothing in it that begins anew where the last record read is no longer in its place.

    Raises
    ------
    StoreError
        If that happens again and again.
    """
    at, last, restarts = request.after or (0, None, 0)
    if last is not None:
        if not found or found[0].id != last:
            if restarts == _MOST_RESTARTS:
                raise StoreError(
                    f"{name}: records are deleted while it is read; run again when no records are being deleted"
                )
            return Records([], [0, None, restarts + 1], again=True)
        found = found[1:]
    ended = len(found) < request.limit
    return Records(found, None if ended else [at + len(found), found[-1].id, restarts])


def _score(distance: float, space: str) -> float:
    """Return a distance as a score: those of `cosine` and `ip` are 1 minus the product, that of `l2` is squared."""
    return -float(distance) if space == "l2" else 1.0 - float(distance)


def _vectors(given: Any, count: int) -> Sequence[NDArray[np.float32] | None]:
    return [None] * count if given is None else [np.asarray(vector, dtype=np.float32) for vector in given]
