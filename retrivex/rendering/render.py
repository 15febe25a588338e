"""Spans -> the text a model reads, with every character traceable to its source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from retrivex.config import RetrievalConfig
from retrivex.model.chunk import Chunk
from retrivex.model.header import chunk_header
from retrivex.model.span import Span

SEPARATOR = "\n\n"


@dataclass(frozen=True, slots=True)
class Style:
    """How a context is written down.

    Parameters
    ----------
    format : plain text, Markdown, or one XML element a span
    numbered : whether spans carry a number to cite
    header : what stands above each span
    gap_markers : whether omissions between spans of one document are marked
    prefixes : whether a span's prefix (a table's header row) is repeated in front of it
    """

    format: Literal["text", "markdown", "xml"] = "text"
    numbered: bool = False
    header: Literal["none", "heading", "document", "full", "chunk"] = "none"
    gap_markers: bool = False
    prefixes: bool = False

    @classmethod
    def of(cls, config: RetrievalConfig) -> Style:
        """Style that a config asks for."""
        return cls(config.context_format, config.numbered, config.span_header, config.gap_markers, prefixes=True)


BARE = Style()
"""Spans joined by blank lines: what `retrieve` promises its budget for."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """A context and where each span's own text stands in it.

    Parameters
    ----------
    text : the context
    starts : per span, offset of `span.text` in `text`
    """

    text: str
    starts: tuple[int, ...]


def header_of(chunk: Chunk, style: Style) -> str:
    """Title line for a span that begins with `chunk`: its document, its heading path, both, or its own header."""
    if style.header == "none":
        return ""
    metadata = chunk.metadata
    if style.header == "chunk":
        return chunk_header(metadata)
    title = str(metadata.custom_metadata.get("title") or metadata.doc_id)
    headings = list(metadata.heading_path or ())
    parts = {"document": [title], "heading": headings, "full": [title, *headings]}[style.header]
    return " > ".join(" ".join(part.split()) for part in parts)


def _opening(number: int, header: str, doc_id: str, style: Style) -> str:
    if style.format == "xml":
        from xml.sax.saxutils import quoteattr  # noqa: PLC0415 - it imports urllib and http, and few write XML

        attributes = f" id={quoteattr(str(number))}" if style.numbered else ""
        attributes += f" document={quoteattr(doc_id)}"
        if header:
            attributes += f" title={quoteattr(header)}"
        return f"<source{attributes}>\n"
    if style.format == "markdown":
        line = " ".join(part for part in (f"[{number}]" if style.numbered else "", header) if part)
        return f"**{line}**\n\n" if line else ""
    if style.numbered:
        return f"[{number}] {header}\n" if header else f"[{number}] "
    return f"{header}\n" if header else ""


def _closing(style: Style) -> str:
    return "\n</source>" if style.format == "xml" else ""


def gap_marker(before: Span, after: Span) -> str | None:
    """Say how much of a document is left out between two of its spans; None where nothing is, or order is broken."""
    if before.doc_id != after.doc_id:
        return None
    if before.char_end is not None and after.char_start is not None:
        omitted = after.char_start - before.char_end
        return f"[... {omitted:,} characters omitted ...]" if omitted > 0 else None
    omitted = after.chunk_ids[0] - before.chunk_ids[-1] - 1
    return f"[... {omitted:,} chunks omitted ...]" if omitted > 0 else None


def opening_samples(chunks: Sequence[Chunk], style: Style) -> list[str]:
    """Per chunk, what opening a span at it adds around the span's text, to be counted; no gap marker is among it."""
    around = SEPARATOR + _closing(style)
    if style.header == "none" and style.format != "xml":
        plain = around + _opening(88, "", "", style)
        return [plain + (chunk.metadata.prefix or "") if style.prefixes else plain for chunk in chunks]
    return [
        around
        + _opening(88, header_of(chunk, style), chunk.metadata.doc_id, style)
        + ((chunk.metadata.prefix or "") if style.prefixes else "")
        for chunk in chunks
    ]


def render(spans: Sequence[Span], style: Style, numbers: Sequence[int] | None = None) -> Rendered:
    """Write spans down in the order given, numbered 1, 2, ... or as `numbers` says.

    Source text is never altered, not even escaped in XML, so that it can be cited letter by letter.

    Examples
    --------
    >>> from retrivex.model.chunk import ChunkMetadata
    >>> bees = Chunk("Bees sleep.", ChunkMetadata("b", 0, 0, 11))
    >>> ants = Chunk("Ants do too.", ChunkMetadata("b", 3, 40, 52))
    >>> spans = [Span("b", [0], [bees], 1.0, 0, 11, 3), Span("b", [3], [ants], 0.5, 40, 52, 4)]
    >>> print(render(spans, Style(numbered=True, gap_markers=True)).text)
    [1] Bees sleep.
    <BLANKLINE>
    [... 29 characters omitted ...]
    <BLANKLINE>
    [2] Ants do too.
    """
    parts: list[str] = []
    starts: list[int] = []
    length = 0

    def write(text: str) -> None:
        nonlocal length
        parts.append(text)
        length += len(text)

    for at, span in enumerate(spans):
        number = at + 1 if numbers is None else numbers[at]
        if at > 0:
            write(SEPARATOR)
            marker = gap_marker(spans[at - 1], span) if style.gap_markers else None
            if marker:
                write(marker + SEPARATOR)
        first = span.chunks[0]
        write(_opening(number, header_of(first, style), span.doc_id, style))
        if span.prefix and style.prefixes:
            write(span.prefix)
        starts.append(length)
        write(span.text)
        write(_closing(style))
    return Rendered("".join(parts), tuple(starts))
