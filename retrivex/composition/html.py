"""A composition as HTML, for notebooks: its one line, and its passages with their sources."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from retrivex.composition.headings import cite_headings
from retrivex.model.span import Span


def to_html(summary: str, spans: Sequence[Span]) -> str:
    """Return a heading line and a numbered list of passages, each behind its source.

    Parameters
    ----------
    summary : the line above the list
    spans : in the order of the context

    Examples
    --------
    >>> to_html("Composition: 0 passages", [])
    '<div><p><strong>Composition: 0 passages</strong></p><ol></ol></div>'
    """
    passages = "".join(_passage(span) for span in spans)
    return f"<div><p><strong>{escape(summary)}</strong></p><ol>{passages}</ol></div>"


def _passage(span: Span) -> str:
    headings = cite_headings(chunk.metadata.heading_path or () for chunk in span.chunks)
    source = " > ".join(filter(None, (span.doc_id, headings)))
    return (
        f'<li style="text-align: left"><em>{escape(source)}</em>'
        f'<div style="white-space: pre-wrap; text-align: left">{escape(span.text)}</div></li>'
    )
