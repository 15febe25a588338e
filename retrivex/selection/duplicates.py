"""Chunks that say almost word for word what a better one of another document says: mirrors, versions, boilerplate."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from retrivex.model.chunk import ChunkKey
from retrivex.model.run import Run
from retrivex.scoring.scorer import Valuation
from retrivex.similarity.near_duplicates import repeats


class NearCopy(NamedTuple):
    """What a chunk repeats.

    Parameters
    ----------
    of : the better chunk
    similarity : Jaccard similarity of the character trigrams of both
    """

    of: ChunkKey
    similarity: float


def near_copies(
    runs: Sequence[Run], valuation: Valuation, threshold: float, taken: Collection[ChunkKey], shortest: int
) -> dict[ChunkKey, NearCopy]:
    """Find chunks that repeat one of another document that is worth more.

    The best chunk is taken first, so that no two that are left repeat each other.

    Parameters
    ----------
    runs : m of them
    valuation : of their chunks
    threshold : least similarity, in (0, 1]
    taken : chunks that do not count, being left out anyway
    shortest : characters a chunk has at least; shorter ones recur by chance
    """
    valued = [
        (value, chunk)
        for run, row in zip(runs, valuation.chunks, strict=True)
        for chunk, value in zip(run.chunks, row, strict=True)
        if chunk.key not in taken and len(chunk.text) >= shortest
    ]
    valued.sort(key=lambda pair: (-pair[0], pair[1].key))
    keys = [chunk.key for _, chunk in valued]
    found = repeats([chunk.text for _, chunk in valued], threshold, [doc_id for doc_id, _ in keys])
    return {
        keys[position]: NearCopy(keys[other], found.similarity[position].item())
        for position, other in enumerate(found.of.tolist())
        if other != position
    }
