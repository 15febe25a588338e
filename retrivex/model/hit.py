"""Seed hits: chunks that a retriever found with their scores, and hits that were dropped."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from retrivex.errors import HitError
from retrivex.model.chunk import Chunk, ChunkKey
from retrivex.model.numbers import real


@dataclass(frozen=True, slots=True)
class SeedHit:
    """A chunk and the score its retriever gave it.

    Parameters
    ----------
    chunk : what was found
    similarity_score : any finite number; direction and scale are declared on `RetrievalConfig`
        (`score_kind`, `score_scale`). A cosine may be negative, BM25 is unbounded.
    unplaced : why nobody knows where in the chunk store its chunk is, said in the warnings: such a hit is not asked for
        and stays as it is; beside placed hits or pinned chunks of its document it counts as one of
        `<doc_id> (unplaced)`, as its number says nothing there. None where `(doc_id, chunk_id)` is its place.

    Raises
    ------
    HitError
        If the score is NaN, infinite or not a number, `chunk` no `Chunk`, or `unplaced` neither text nor None.
    """

    chunk: Chunk
    similarity_score: float
    unplaced: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.chunk, Chunk):
            raise HitError(f"chunk is {type(self.chunk).__name__}: give a Chunk(text, ChunkMetadata(doc_id, chunk_id))")
        try:
            score = real(self.similarity_score) + 0.0  # -0.0 and 0.0 are the same score
        except (TypeError, ValueError):
            score = math.nan
        except OverflowError:  # a whole number that no float can hold, too long to be shown
            score = math.inf
        if not math.isfinite(score):
            given = score if isinstance(self.similarity_score, int) else self.similarity_score
            raise HitError(
                f"similarity_score of {self.chunk.key!r} is {given!r}: it must be a finite number; "
                "drop the hit or give it the retriever's real score"
            )
        if self.unplaced is not None and not isinstance(self.unplaced, str):
            raise HitError(f"unplaced of {self.chunk.key!r} is {self.unplaced!r}: say in words why, or leave it out")
        object.__setattr__(self, "similarity_score", score)

    @property
    def key(self) -> ChunkKey:
        """`(doc_id, chunk_id)` of the chunk."""
        metadata = self.chunk.metadata
        return (metadata.doc_id, metadata.chunk_id)


DropReason: TypeAlias = Literal[
    "beyond_k",
    "budget",
    "cut_off",
    "duplicate_id",
    "duplicate_text",
    "excluded",
    "max_spans",
    "near_duplicate",
    "no_text",
    "no_value",
    "out_of_scale",
    "scope",
]


@dataclass(frozen=True, slots=True)
class DroppedHit:
    """A hit whose chunk is not in the context, or not all of it, and why.

    Parameters
    ----------
    doc_id, chunk_id : the hit's chunk
    similarity_score : as the retriever gave it
    reason : one word to sort by
    detail : a sentence for people
    shown : share of the chunk's text that the context holds, in [0, 1)
    """

    doc_id: str
    chunk_id: int
    similarity_score: float
    reason: DropReason
    detail: str
    shown: float = 0.0
