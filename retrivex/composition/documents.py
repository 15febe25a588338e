"""The documents of a context, each with what is shown of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from retrivex.model.span import Span


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a document is shown.

    Parameters
    ----------
    doc_id : the document
    ranges : shown chunks as inclusive `(first, last)` pairs
    chunk_count : chunks in the whole document; None where unknown
    matched : hits that are shown, as `(chunk_id, similarity_score)`
    max_score, mean_score : of the matched; None where only neighbours or links are shown
    """

    doc_id: str
    ranges: tuple[tuple[int, int], ...]
    chunk_count: int | None
    matched: tuple[tuple[int, float], ...]
    max_score: float | None
    mean_score: float | None

    def __str__(self) -> str:
        shown = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in self.ranges)
        chunks = "chunks" if any(mark in shown for mark in ",-") else "chunk"
        # their numbers begin at 0: "chunk 2 of 3" would read as the second
        return f"{chunks} {shown}" + (f" ({self.chunk_count:,} in all)" if self.chunk_count else "")


@dataclass(frozen=True, slots=True)
class ContextDocument:
    """A document of which a context shows something.

    Parameters
    ----------
    doc_id : its name
    title : as its chunks give it; None where they give none, or several
    metadata : what all of its shown chunks say alike
    coverage : which chunks are shown, of how many; the hits among them with their scores, the largest and the mean
    spans : its passages, in the order of the document
    """

    doc_id: str
    title: str | None
    metadata: Mapping[str, Any]
    coverage: Coverage
    spans: tuple[Span, ...]

    @property
    def text(self) -> str:
        """Its passages, with a line that says which chunks are left out between two of them."""
        parts = [self.spans[0].text]
        for before, after in zip(self.spans, self.spans[1:], strict=False):
            first, last = before.chunk_ids[-1] + 1, after.chunk_ids[0] - 1
            omitted = f"chunk {first}" if first == last else f"chunks {first}-{last}"
            parts += [f"[{omitted} omitted]", after.text] if first <= last else [after.text]
        return "\n\n".join(parts)


def documents_of(coverage: Sequence[Coverage], spans: Sequence[Span]) -> tuple[ContextDocument, ...]:
    """Return the documents of a context, in the order of `coverage`: the best first."""
    made = []
    for covered in coverage:
        own = sorted((span for span in spans if span.doc_id == covered.doc_id), key=lambda span: span.chunk_ids[0])
        said: list[Mapping[str, Any]] = [chunk.metadata.custom_metadata for span in own for chunk in span.chunks]
        alike = reduce(_alike, said) if said else {}
        title = alike.get("title")
        made.append(
            ContextDocument(covered.doc_id, title if isinstance(title, str) else None, alike, covered, tuple(own))
        )
    return tuple(made)


def _alike(known: Mapping[str, Any], other: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: value for key, value in known.items() if key in other and other[key] == value}
