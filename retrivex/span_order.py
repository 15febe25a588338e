"""The order of a context's spans, by the name that the config gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from retrivex.config import OrderingStrategy
from retrivex.ordering import back_first, document, edge_balanced, front_first, score_desc
from retrivex.span import Span


def order_spans(spans: Sequence[Span], strategy: OrderingStrategy) -> list[Span]:
    """Order spans, which come best first, by a named strategy."""
    if strategy is OrderingStrategy.DOCUMENT:
        return document(spans, ranked=True, source=_document, position=_places(spans))
    if strategy is OrderingStrategy.BACK_FIRST:
        return back_first(spans)
    if strategy is OrderingStrategy.EDGE_BALANCED:
        return edge_balanced(spans, ranked=True)
    return front_first(spans) if strategy is OrderingStrategy.FRONT_FIRST else score_desc(spans, ranked=True)


def _document(span: Span) -> str:
    return span.doc_id


def _places(spans: Sequence[Span]) -> Callable[[Span], int]:
    """Return what reads the place of a span among those of its document; parts of one chunk go by their offsets."""
    ordered = sorted(spans, key=lambda span: (span.chunk_ids[0], span.char_start or 0))
    places = {id(span): place for place, span in enumerate(ordered)}
    return lambda span: places[id(span)]
