"""A run of neighbouring chunks of one document."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Window:
    """A run of neighbouring chunks of one document, half-open like `range`.

    Parameters
    ----------
    doc_id : the document
    start : first chunk_id, inclusive
    end : last chunk_id, exclusive
    """

    doc_id: str
    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start

    def __contains__(self, chunk_id: int) -> bool:
        return self.start <= chunk_id < self.end
