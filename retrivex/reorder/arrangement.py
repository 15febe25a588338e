"""Applies the registered orders to ranked passages, and resolves `auto` to one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, TypeVar

from retrivex import ordering
from retrivex.model.fields import read_field
from retrivex.ordering import OrderChoice, choose_order
from retrivex.ordering.strategy import ORDERS, Order
from retrivex.reorder.budget import Budget
from retrivex.reorder.options import ReorderOptions
from retrivex.reorder.packing import fit
from retrivex.reorder.passage import Placed, Ranked, name_group

T = TypeVar("T")


Reader = Callable[[Ranked[Any]], Any]


def arrange(ranked: Sequence[Ranked[T]], strategy: str, options: ReorderOptions) -> list[Placed[T]]:
    """Order passages by a strategy; with `group_by`, groups by their best passage, and each inside by the strategy.

    Parameters
    ----------
    ranked : in input order, or with diversity in the order in which they were picked
    strategy : any but `auto`
    """
    order = ORDERS["edge_balanced" if strategy == "group_by" else strategy]  # of each group: they are made here
    field = options.group_field
    if field is None:
        group = make_source_reader(options) if order.follows_documents else None
        return _place(_apply_order(ranked, order, options), order, options, group)
    read = partial(_read_group, field=field)
    together = ordering.group_by(ranked, read, score=_read_key, inside=list)
    return [
        placed
        for _, group in groupby(together, read)
        for placed in _place(_apply_order(list(group), order, options), order, options, read)
    ]


def _place(
    ordered: Sequence[Ranked[T]], order: Order, options: ReorderOptions, group: Reader | None
) -> list[Placed[T]]:
    placements = _name_placements(len(ordered), order, options)
    return [
        Placed(one, placement, group(one) if group else None)
        for one, placement in zip(ordered, placements, strict=True)
    ]


def _name_placements(count: int, order: Order, options: ReorderOptions) -> list[str]:
    if "start_count" not in order.options:
        return [""] * count
    head, tail = options.start_count, options.end_count
    if head is not None and tail is not None and head + tail < count:
        return ["start"] * head + ["middle"] * (count - head - tail) + ["end"] * tail
    return ["front"] * ((count + 1) // 2) + ["back"] * (count // 2)


def make_source_reader(options: ReorderOptions) -> Reader:
    """Return what reads the document of a passage."""
    if options.document_field == options.fields.source_id:
        return attrgetter("candidate.source_id")
    return partial(_read_group, field=options.document_field)


def _read_group(ranked: Ranked[Any], field: str) -> str | None:
    return name_group(read_field(ranked.candidate.metadata, field))


def _apply_order(ranked: Sequence[Ranked[T]], order: Order, options: ReorderOptions) -> list[Ranked[T]]:
    chosen: dict[str, Any] = {parameter: getattr(options, option) for parameter, option in order.options.items()}
    if order.function is ordering.custom:
        return order.function(ranked, **{name: _unwrap_passages(function) for name, function in chosen.items()})
    given = sorted(ranked, key=attrgetter("rank" if order.best_first else "place"))
    return order.function(given, **_make_readers(order, given, options), **chosen)


def _unwrap_passages(function: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """Return a function of the caller's passages as one of ranked passages."""
    return None if function is None else lambda *ranked: function(*(one.candidate.item for one in ranked))


def _make_readers(order: Order, given: list[Ranked[T]], options: ReorderOptions) -> dict[str, Any]:
    made: dict[str, Any] = {"ranked": True} if order.best_first else {}
    for need in order.needs:
        if need != "score":
            made[need] = _READERS[need](given, options) if need in _READERS else partial(_read_group, field=need)
        elif order.uses_values:
            made["score"] = _make_priority_reader(given)
        elif not order.best_first:
            made["score"] = _make_tie_reader(given) if "timestamp" in order.needs else _read_key
    return made


_read_key: Callable[[Ranked[Any]], float] = attrgetter("key")


def _make_priority_reader(ranked: list[Ranked[T]]) -> Callable[[Ranked[T]], float]:
    """Return a reader of priorities by rank: diversity changes ranks alone, and so what a passage is worth."""
    ranks = {one.place: rank for rank, one in enumerate(sorted(ranked, key=attrgetter("rank")))}
    priorities = sorted((one.priority for one in ranked), reverse=True)
    return lambda one: priorities[ranks[one.place]]


def _make_tie_reader(ranked: list[Ranked[T]]) -> Callable[[Ranked[T]], float]:
    """Return a reader by which passages of one time are ordered: by priority, and equal priorities by score."""
    ties = sorted(ranked, key=lambda one: (-one.key, -one.candidate.score, one.place))
    tie_rank = {one.place: -float(rank) for rank, one in enumerate(ties)}
    return lambda one: tie_rank[one.place]


def _make_position_reader(given: list[Ranked[Any]], options: ReorderOptions) -> Reader:
    """Return what reads a place in a document: section index; where the document has none at all, page; else input."""
    source = make_source_reader(options)
    with_sections = {source(one) for one in given if one.candidate.section_index is not None}
    without_pages = {source(one) for one in given if one.candidate.page is None}
    by_page = set(map(source, given)) - with_sections - without_pages

    def position(one: Ranked[Any]) -> float:
        found = one.candidate.page if source(one) in by_page else one.candidate.section_index
        return one.place if found is None else found

    return position


def _make_length_reader(given: list[Ranked[Any]], options: ReorderOptions) -> Reader:
    """Return what reads the tokens of a passage, or where any lacks them its characters: only proportions count."""
    counted = all(one.candidate.token_count is not None for one in given)
    return lambda one: max(one.candidate.token_count or 0.0 if counted else len(one.candidate.text), 1.0)


_READERS: dict[str, Callable[[list[Ranked[Any]], ReorderOptions], Reader]] = {
    "source": lambda given, options: make_source_reader(options),
    "position": _make_position_reader,
    "timestamp": lambda given, options: attrgetter("candidate.timestamp"),
    "tokens": _make_length_reader,
}
"""What makes the reader of each thing that an order may need; anything else is a field of the metadata."""


def choose_strategy(
    ranked: Sequence[Ranked[Any]], query: str | None, options: ReorderOptions, budget: Budget
) -> tuple[str, str, ReorderOptions]:
    """Return the order to take, why, and the options to take it with: a comparison is grouped by document."""
    if options.strategy != "auto":
        return options.strategy, "as set", options
    choice = choose_order(
        ranked,
        query,
        settings=options.auto.model_copy(update={"context_window": None}),
        source=make_source_reader(options),
        position=lambda one: one.candidate.section_index,
        timestamp=lambda one: one.candidate.timestamp,
    )
    if options.auto.context_window is not None:
        choice = _fill_window(choice, options.auto.context_window, ranked, options, budget)
    strategy, options = _apply_choice(choice, options)
    return strategy, choice.reason, options


def _fill_window(
    choice: OrderChoice, window: int, ranked: Sequence[Ranked[Any]], options: ReorderOptions, budget: Budget
) -> OrderChoice:
    """Return the choice with the share of the window that it fills; best last if that fills it nearly."""
    if choice.strategy == "edge_balanced":
        best_last = choice.filled(_count_packed_tokens(ranked, "best_last", options, budget), options.auto)
        if best_last.strategy == "best_last":
            return best_last
    return replace(choice, fill=_count_packed_tokens(ranked, *_apply_choice(choice, options), budget) / window)


def _apply_choice(choice: OrderChoice, options: ReorderOptions) -> tuple[str, ReorderOptions]:
    if choice.strategy != "group_by":
        return choice.strategy, options
    group_by = options.group_by or options.document_field
    return "edge_balanced", options.model_copy(update={"group_by": group_by})


def _count_packed_tokens(
    ranked: Sequence[Ranked[Any]], strategy: str, options: ReorderOptions, budget: Budget
) -> float:
    """Return the tokens of the passages that are shown if the order is taken."""
    placed = arrange(ranked, strategy, options)
    return sum(budget.tokens(placed[at].ranked.candidate) for at in fit(placed, strategy, options, budget).kept)
