"""The order of a context's spans, as the config asks for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from retrivex.config import RetrievalConfig
from retrivex.model.span import Span
from retrivex.ordering import (
    AutoSettings,
    alternating,
    back_first,
    best_last,
    choose_order,
    chronological,
    custom,
    document,
    document_edges,
    edge_balanced,
    front_first,
    group_by,
    place,
    position_weighted,
    relevance_groups,
    score_desc,
    shuffle,
)
from retrivex.ordering.strategy import OrderingStrategy

OrderNote: TypeAlias = Mapping[str, Any]
"""What the trace says of the order; plain JSON types."""


def order_spans(
    spans: Sequence[Span], config: RetrievalConfig, question: str | None = None
) -> tuple[list[Span], OrderNote]:
    """Order spans, which come best first, by the config's strategy.

    Returns
    -------
    tuple
        The spans in their order, and a note on it: `strategy`; of auto what it chose and its `reason`, of profile the
        `value` of the order and how far it can be from the best one.
    """
    if config.ordering_strategy is OrderingStrategy.AUTO:
        return _chosen(spans, config, question)
    if config.ordering_strategy is OrderingStrategy.PROFILE:
        return _placed(spans, config)
    return _ordered(spans, config, config.ordering_strategy), {"strategy": config.ordering_strategy.value}


def _ordered(spans: Sequence[Span], config: RetrievalConfig, strategy: OrderingStrategy) -> list[Span]:
    return _ORDERS[strategy](spans, config)


def _chosen(spans: Sequence[Span], config: RetrievalConfig, question: str | None) -> tuple[list[Span], OrderNote]:
    choice = choose_order(
        spans,
        question,
        settings=config.auto_order or AutoSettings(),
        source=_document,
        position=_places(spans),
        timestamp=_timestamp,
    )
    note = {
        "strategy": choice.strategy,
        "asked_for": OrderingStrategy.AUTO.value,
        "reason": choice.reason,
        "question_type": choice.question_type,
        "coverage": dict(choice.coverage),
        "fill": choice.fill,
    }
    if choice.strategy == "group_by":  # by document, whatever field the knob group_by names for its own strategy
        return group_by(spans, _document, ranked=True), note
    return _ordered(spans, config, OrderingStrategy(choice.strategy)), note


def _placed(spans: Sequence[Span], config: RetrievalConfig) -> tuple[list[Span], OrderNote]:
    made = place(spans, ranked=True, tokens=_tokens, profile=config.position_profile)
    note = {
        "strategy": OrderingStrategy.PROFILE.value,
        "profile": config.position_profile.name,
        "value": made.value,
        "bound": made.bound,
    }
    return made.items, note


def _document(span: Span) -> str:
    return span.doc_id


def _tokens(span: Span) -> int:
    # a tokenizer of the caller's may count none
    return max(1, span.token_count)


def _timestamp(span: Span) -> float | None:
    known = (chunk.metadata.timestamp for chunk in span.chunks)
    return next((time for time in known if time is not None), None)


def _document_and_place(span: Span) -> tuple[str, int, int]:
    return (span.doc_id, span.chunk_ids[0], span.char_start or 0)


def _places(spans: Sequence[Span]) -> Callable[[Span], int]:
    """Return what reads the place of a span among those of its document; parts of one chunk go by their offsets."""
    places = {id(span): place for place, span in enumerate(sorted(spans, key=_document_and_place))}
    return lambda span: places[id(span)]


def _field(field: str | Callable[[Span], Any]) -> Callable[[Span], Any]:
    """Return what reads a field of a span: its own, of its first chunk's metadata, or of the custom metadata there."""
    if callable(field):
        return field

    def read(span: Span) -> Any:
        metadata = span.chunks[0].metadata
        found = getattr(span, field, getattr(metadata, field, metadata.custom_metadata.get(field)))
        return tuple(found) if isinstance(found, list) else found

    return read


_ORDERS: Mapping[OrderingStrategy, Callable[[Sequence[Span], RetrievalConfig], list[Span]]] = {
    OrderingStrategy.FRONT_FIRST: lambda spans, _: front_first(spans),
    OrderingStrategy.BACK_FIRST: lambda spans, _: back_first(spans),
    OrderingStrategy.SCORE_DESC: lambda spans, _: score_desc(spans, ranked=True),
    OrderingStrategy.BEST_LAST: lambda spans, _: best_last(spans, ranked=True),
    OrderingStrategy.EDGE_BALANCED: lambda spans, config: edge_balanced(
        spans, ranked=True, start_count=config.start_count, end_count=config.end_count
    ),
    OrderingStrategy.DOCUMENT: lambda spans, _: document(spans, ranked=True, source=_document, position=_places(spans)),
    OrderingStrategy.DOCUMENT_EDGES: lambda spans, _: document_edges(
        spans, ranked=True, source=_document, position=_places(spans)
    ),
    OrderingStrategy.CHRONOLOGICAL: lambda spans, config: chronological(
        spans, ranked=True, timestamp=_timestamp, order=config.chronological_order
    ),
    OrderingStrategy.RELEVANCE_GROUPS: lambda spans, config: relevance_groups(
        sorted(spans, key=_document_and_place), high=config.high_relevance, medium=config.medium_relevance
    ),
    OrderingStrategy.ALTERNATING: lambda spans, _: alternating(spans, ranked=True),
    OrderingStrategy.POSITION_WEIGHTED: lambda spans, _: position_weighted(spans, ranked=True),
    OrderingStrategy.GROUP_BY: lambda spans, config: group_by(spans, _field(config.group_by), ranked=True),
    OrderingStrategy.SHUFFLE: lambda spans, config: shuffle(spans, seed=config.order_seed),
    OrderingStrategy.CUSTOM: lambda spans, config: custom(spans, key=config.order_key),
}
