"""A composition as HTML, for notebooks: its line, the budget as a bar, passages with sources, what is left out."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from retrivex.composition.headings import cite_headings
from retrivex.model.hit import DroppedHit
from retrivex.model.span import Span

MAX_DROPPED = 20
"""Hits that are listed; what is more is counted."""


def to_html(
    summary: str,
    spans: Sequence[Span],
    tokens: int,
    budget: int,
    dropped: Sequence[DroppedHit],
    warnings: Sequence[str],
) -> str:
    """Return a heading line with a bar, a numbered list of passages behind their sources, and what folds out below.

    Parameters
    ----------
    summary : the line above the list
    spans : in the order of the context
    tokens, budget : of the context, and the most that it may have
    dropped : hits that are not shown, or in part
    warnings : of the composition

    Examples
    --------
    >>> to_html("Composition: 0 passages", [], 0, 2000, [], [])
    '<div><p><strong>Composition: 0 passages</strong> <progress value="0" max="2000"></progress></p><ol></ol></div>'
    """
    bar = f'<progress value="{tokens}" max="{max(budget, 1)}"></progress>'
    left_out = [f"{hit.doc_id}, chunk {hit.chunk_id}: {hit.reason}; {hit.detail}" for hit in dropped[:MAX_DROPPED]]
    more = [f"and {len(dropped) - MAX_DROPPED:,} more"] if len(dropped) > MAX_DROPPED else []
    return (
        f"<div><p><strong>{escape(summary)}</strong> {bar}</p><ol>{''.join(map(_passage, spans))}</ol>"
        f"{_fold(f'Warnings: {len(warnings)}', warnings)}"
        f"{_fold(f'Hits left out, or shown in part: {len(dropped):,}', [*left_out, *more])}</div>"
    )


def _passage(span: Span) -> str:
    headings = cite_headings(chunk.metadata.heading_path or () for chunk in span.chunks)
    source = " > ".join(filter(None, (span.doc_id, headings)))
    first, last = span.span_range
    place = f"chunk {first}" if first == last else f"chunks {first}-{last}"
    return (
        f'<li style="text-align: left"><em>{escape(source)}</em>, {place}, {span.token_count:,} tokens'
        f'<div style="white-space: pre-wrap; text-align: left">{escape(span.text)}</div></li>'
    )


def _fold(title: str, lines: Sequence[str]) -> str:
    listed = "".join(f'<li style="text-align: left">{escape(line)}</li>' for line in lines)
    return f"<details><summary>{title}</summary><ul>{listed}</ul></details>" if lines else ""
