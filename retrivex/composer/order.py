"""Puts the spans of a context in the order that the config names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from retrivex.config import RetrievalConfig
from retrivex.model.span import Span
from retrivex.ordering import AutoSettings, choose_order, group_by, place
from retrivex.ordering.strategy import ORDERS, Order, OrderingStrategy

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
        return _order_by_question(spans, config, question)
    if config.ordering_strategy is OrderingStrategy.PROFILE:
        return _order_by_profile(spans, config)
    return _apply_order(spans, config, config.ordering_strategy), {"strategy": config.ordering_strategy.value}


def _apply_order(spans: Sequence[Span], config: RetrievalConfig, strategy: OrderingStrategy) -> list[Span]:
    order = ORDERS[strategy]
    arguments = _make_arguments(order, spans, config)
    if strategy is OrderingStrategy.RELEVANCE_GROUPS:
        # spans that are about equally relevant stand as their documents do
        return order.function(sorted(spans, key=_locate), **{**arguments, "ranked": False})
    return order.function(spans, **arguments)


def _make_arguments(order: Order, spans: Sequence[Span], config: RetrievalConfig) -> dict[str, Any]:
    """Return what an order is called with: readers of what it needs, and its options as the config sets them."""
    made: dict[str, Any] = {}
    for need in order.needs:
        if need == "score":
            made["ranked"] = True  # spans come best first
        else:
            made[need] = _READERS[need](spans) if need in _READERS else _make_field_reader(need)
    made |= {parameter: _OPTIONS[option](config) for parameter, option in order.options.items() if option in _OPTIONS}
    if "field" in made:
        made["field"] = _make_field_reader(made["field"])
    return made


def _order_by_question(
    spans: Sequence[Span], config: RetrievalConfig, question: str | None
) -> tuple[list[Span], OrderNote]:
    choice = choose_order(
        spans,
        question,
        settings=config.auto_order or AutoSettings(),
        source=_read_document,
        position=_make_position_reader(spans),
        timestamp=_read_timestamp,
    )
    note = {
        "strategy": choice.strategy,
        "asked_for": OrderingStrategy.AUTO.value,
        "reason": choice.reason,
        "question_type": choice.question_type,
        "coverage": dict(choice.coverage),
        "fill": choice.fill,
    }
    if choice.strategy == "group_by":  # by document, whatever field the option group_by names for its own strategy
        return group_by(spans, _read_document, ranked=True), note
    return _apply_order(spans, config, OrderingStrategy(choice.strategy)), note


def _order_by_profile(spans: Sequence[Span], config: RetrievalConfig) -> tuple[list[Span], OrderNote]:
    made = place(spans, **_make_arguments(ORDERS[OrderingStrategy.PROFILE], spans, config))
    note = {
        "strategy": OrderingStrategy.PROFILE.value,
        "profile": config.position_profile.name,
        "value": made.value,
        "bound": made.bound,
    }
    return made.items, note


def _read_document(span: Span) -> str:
    return span.doc_id


def _count_tokens(span: Span) -> int:
    # a tokenizer of the caller's may count none
    return max(1, span.token_count)


def _read_timestamp(span: Span) -> float | None:
    known = (chunk.metadata.timestamp for chunk in span.chunks)
    return next((time for time in known if time is not None), None)


def _locate(span: Span) -> tuple[str, int, int]:
    return (span.doc_id, span.chunk_ids[0], span.char_start or 0)


def _make_position_reader(spans: Sequence[Span]) -> Callable[[Span], int]:
    """Return what reads the place of a span among those of its document; parts of one chunk go by their offsets."""
    places = {id(span): place for place, span in enumerate(sorted(spans, key=_locate))}
    return lambda span: places[id(span)]


def _make_field_reader(field: str | Callable[[Span], Any]) -> Callable[[Span], Any]:
    """Return what reads a field of a span: its own, of its first chunk's metadata, or of the custom metadata there."""
    if callable(field):
        return field

    def read(span: Span) -> Any:
        metadata = span.chunks[0].metadata
        found = getattr(span, field, getattr(metadata, field, metadata.custom_metadata.get(field)))
        return tuple(found) if isinstance(found, list) else found

    return read


_READERS: Mapping[str, Callable[[Sequence[Span]], Callable[[Span], Any]]] = {
    "source": lambda spans: _read_document,
    "position": _make_position_reader,
    "timestamp": lambda spans: _read_timestamp,
    "tokens": lambda spans: _count_tokens,
}
"""What makes the reader of each thing that an order may need; anything else is a field of the metadata."""

_OPTIONS: Mapping[str, Callable[[RetrievalConfig], Any]] = {
    "start_count": lambda config: config.edge_counts and config.edge_counts[0],
    "end_count": lambda config: config.edge_counts and config.edge_counts[1],
    "high_relevance": lambda config: config.relevance_levels[0],
    "medium_relevance": lambda config: config.relevance_levels[1],
    "chronological_order": lambda config: config.chronological_order,
    "group_by": lambda config: config.group_by,
    "key": lambda config: config.order_key,
    "profile": lambda config: config.position_profile,
}
"""What the options of orders are in a `RetrievalConfig`."""
