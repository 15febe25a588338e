"""Documents: what a loader read, before a chunker cuts it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from retrivex.errors import LoadError

TextFormat: TypeAlias = Literal["text", "markdown"]


@dataclass(frozen=True, slots=True)
class Document:
    """One document's text; every offset in RetriVex counts in `text`.

    Parameters
    ----------
    doc_id : any non-empty string, unique in its store; loaders use the path relative to the folder
    text : the whole text. HTML and office files are converted to Markdown when they are loaded, so their
        offsets count in that Markdown
    format : how to read headings, tables, lists and code in `text`
    title : for the line above a span; None where the document names none
    page_starts : offset in `text` at which page 1, 2, ... begins, ascending; empty where there are no pages
    source : where it was read from (a path or address)
    timestamp : Unix seconds
    scope : see `ChunkMetadata.scope`
    metadata : anything else, copied to every chunk's `custom_metadata`

    Raises
    ------
    LoadError
        If `doc_id` is empty or `page_starts` do not ascend.
    """

    doc_id: str
    text: str
    format: TextFormat = "text"
    title: str | None = None
    page_starts: tuple[int, ...] = ()
    source: str | None = None
    timestamp: float | None = None
    scope: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.doc_id:
            raise LoadError("doc_id is empty: every document needs a name; loaders use the path")
        if any(b < a for a, b in zip(self.page_starts, self.page_starts[1:], strict=False)):
            raise LoadError(f"page_starts of {self.doc_id!r} do not ascend; give offsets in page order")

    def page_at(self, offset: int) -> int | None:
        """Page number, from 1, on which the character at `offset` stands; None without pages."""
        return max(1, bisect_right(self.page_starts, offset)) if self.page_starts else None
