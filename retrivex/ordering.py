"""In which order the passages of a context stand; pure functions over anything with a score.

A model reads the edges of a long context best (Liu et al., "Lost in the Middle", TACL 2024): `edge_balanced` puts
the best passages there. How much that helps depends on the model; it is offered, measured, and never oversold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from retrivex.config import OrderingStrategy
from retrivex.span import Span

T = TypeVar("T")


def _score(item: Any) -> float:
    return float(item.score)


def score_desc(items: Sequence[T], *, ranked: bool = False, score: Callable[[T], float] = _score) -> list[T]:
    """Best first; items with equal scores keep their order.

    Parameters
    ----------
    items : anything with a `score`, or what `score` understands
    ranked : the caller says that they are sorted already
    score : reads an item's score
    """
    return list(items) if ranked else sorted(items, key=score, reverse=True)


def edge_balanced(items: Sequence[T], *, ranked: bool = False, score: Callable[[T], float] = _score) -> list[T]:
    """Best first, second best last, and so on inwards: the weakest stand in the middle.

    The same for odd and even numbers of items: rank 1 is always first and rank 2 always last.

    Examples
    --------
    >>> edge_balanced(range(1, 10), ranked=True)
    [1, 3, 5, 7, 9, 8, 6, 4, 2]
    """
    best_first = score_desc(items, ranked=ranked, score=score)
    return best_first[0::2] + best_first[1::2][::-1]


def front_first(items: Sequence[T]) -> list[T]:
    """Return the order given."""
    return list(items)


def back_first(items: Sequence[T]) -> list[T]:
    """Return the order given, reversed: what stood first comes last, next to the question."""
    return list(items)[::-1]


def document_order(spans: Sequence[Span]) -> list[Span]:
    """Documents by their best span, spans of a document by position.

    For texts that are understood only in sequence: narratives, minutes, instructions.
    """
    best: dict[str, float] = {}
    for span in spans:
        best[span.doc_id] = max(span.score, best.get(span.doc_id, span.score))
    return sorted(spans, key=lambda span: (-best[span.doc_id], span.doc_id, span.chunk_ids[0], span.char_start or 0))


def order_spans(spans: Sequence[Span], strategy: OrderingStrategy) -> list[Span]:
    """Order spans, which come best first, by a named strategy."""
    if strategy is OrderingStrategy.DOCUMENT:
        return document_order(spans)
    if strategy is OrderingStrategy.BACK_FIRST:
        return back_first(spans)
    if strategy is OrderingStrategy.EDGE_BALANCED:
        return edge_balanced(spans, ranked=True)
    return front_first(spans) if strategy is OrderingStrategy.FRONT_FIRST else score_desc(spans, ranked=True)
