"""The named orders, applied to ranked passages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby, repeat
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar

from retrivex import ordering
from retrivex.model.fields import read_field
from retrivex.reorder.options import DOCUMENT_ORDERS, ReorderOptions
from retrivex.reorder.passage import Ranked, group_key, rows

T = TypeVar("T")

Order = Callable[[list[Ranked[T]]], list[Ranked[T]]]


class Placed(NamedTuple, Generic[T]):
    """A passage in its place: which part of the order that is, and which group it stands in."""

    ranked: Ranked[T]
    placement: str
    group: str | None


def arrange(ranked: Sequence[Ranked[T]], strategy: str, options: ReorderOptions) -> list[Placed[T]]:
    """Order passages by a strategy; with `group_by`, groups by their best passage, and each inside by the strategy.

    Parameters
    ----------
    ranked : in input order, or with diversity in the order in which they were picked
    strategy : any but `auto`
    """
    order = partial(ORDERS[strategy], options=options)
    field = options.group_field
    if field is None:
        return _placed(order(list(ranked)), strategy, options)
    read = partial(_group, field=field)
    together = ordering.group_by(ranked, read, score=_key, inside=list)
    return [
        placed
        for _, group in groupby(together, read)
        for placed in _placed(order(list(group)), strategy, options, read)
    ]


def _placed(
    ordered: Sequence[Ranked[T]],
    strategy: str,
    options: ReorderOptions,
    group: Callable[[Ranked[T]], str | None] | None = None,
) -> list[Placed[T]]:
    if group is None and strategy in DOCUMENT_ORDERS:
        group = partial(_group, field=options.document_field)
    groups = map(group, ordered) if group else repeat(None)
    return rows(Placed, ordered, _placements(len(ordered), strategy, options), groups)


def _placements(count: int, strategy: str, options: ReorderOptions) -> list[str]:
    if strategy not in ("edge_balanced", "group_by"):
        return [""] * count
    head, tail = options.start_count, options.end_count
    if head is not None and tail is not None and head + tail < count:
        return ["start"] * head + ["middle"] * (count - head - tail) + ["end"] * tail
    return ["front"] * ((count + 1) // 2) + ["back"] * (count // 2)


def _group(ranked: Ranked[Any], field: str) -> str | None:
    return group_key(read_field(ranked.candidate.metadata, field))


_key: Callable[[Ranked[Any]], float] = attrgetter("key")


def _best_first(ranked: list[Ranked[T]]) -> list[Ranked[T]]:
    return sorted(ranked, key=attrgetter("rank"))


def _as_given(ranked: list[Ranked[T]]) -> list[Ranked[T]]:
    return sorted(ranked, key=attrgetter("place"))


def _worth(ranked: list[Ranked[T]]) -> Callable[[Ranked[T]], float]:
    """Return a reader of priorities by rank: diversity changes ranks alone, and so what a passage is worth."""
    ranks = {one.place: rank for rank, one in enumerate(_best_first(ranked))}
    priorities = sorted((one.priority for one in ranked), reverse=True)
    return lambda one: priorities[ranks[one.place]]


def _edge_balanced(ranked: list[Ranked[T]], options: ReorderOptions) -> list[Ranked[T]]:
    head, tail = options.start_count, options.end_count
    return ordering.edge_balanced(_best_first(ranked), ranked=True, start_count=head, end_count=tail)


def _in_documents(
    order: Callable[..., list[Ranked[T]]], ranked: list[Ranked[T]], options: ReorderOptions
) -> list[Ranked[T]]:
    """Inside a document by section index; where it has none at all, by page; else by input order."""
    given = _as_given(ranked)
    sources = {one.place: _group(one, options.document_field) for one in given}
    with_sections = {sources[one.place] for one in given if one.candidate.section_index is not None}
    without_pages = {sources[one.place] for one in given if one.candidate.page is None}
    by_page = set(sources.values()) - with_sections - without_pages

    def position(one: Ranked[T]) -> float:
        found = one.candidate.page if sources[one.place] in by_page else one.candidate.section_index
        return one.place if found is None else found

    return order(given, score=_key, source=lambda one: sources[one.place], position=position)


def _chronological(ranked: list[Ranked[T]], options: ReorderOptions) -> list[Ranked[T]]:
    # equal times by priority, and equal priorities by score
    ties = sorted(ranked, key=lambda one: (-one.key, -one.candidate.score, one.place))
    tie_rank = {one.place: -float(rank) for rank, one in enumerate(ties)}
    return ordering.chronological(
        _as_given(ranked),
        score=lambda one: tie_rank[one.place],
        timestamp=lambda one: one.candidate.timestamp,
        order=options.chronological_order,
    )


def _by_profile(ranked: list[Ranked[T]], options: ReorderOptions) -> list[Ranked[T]]:
    counted = all(one.candidate.token_count is not None for one in ranked)

    def tokens(one: Ranked[T]) -> float:
        # only the proportions count, and characters have those as well
        return max(one.candidate.token_count or 0.0 if counted else len(one.candidate.text), 1.0)

    worth = _worth(ranked)
    return ordering.profile(_best_first(ranked), ranked=True, score=worth, tokens=tokens, profile=options.profile)


def _custom(ranked: list[Ranked[T]], options: ReorderOptions) -> list[Ranked[T]]:
    key, compare = options.key, options.compare
    return ordering.custom(
        ranked,
        key=None if key is None else lambda one: key(one.candidate.item),
        compare=None if compare is None else lambda a, b: compare(a.candidate.item, b.candidate.item),
    )


ORDERS: dict[str, Callable[..., list[Ranked[Any]]]] = {
    "edge_balanced": _edge_balanced,
    "score_desc": lambda ranked, options: _best_first(ranked),
    "front_first": lambda ranked, options: _as_given(ranked),
    "back_first": lambda ranked, options: _as_given(ranked)[::-1],
    "best_last": lambda ranked, options: _best_first(ranked)[::-1],
    "document": partial(_in_documents, ordering.document),
    "document_edges": partial(_in_documents, ordering.document_edges),
    "shuffle": lambda ranked, options: ordering.shuffle(_as_given(ranked), seed=options.seed),
    "chronological": _chronological,
    "relevance_groups": lambda ranked, options: ordering.relevance_groups(
        _best_first(ranked),
        ranked=True,
        score=_worth(ranked),
        high=options.high_relevance,
        medium=options.medium_relevance,
    ),
    "group_by": _edge_balanced,  # of each group: `arrange` has made them
    "alternating": lambda ranked, options: ordering.alternating(_best_first(ranked), ranked=True),
    "position_weighted": lambda ranked, options: ordering.position_weighted(
        _best_first(ranked), ranked=True, weights=options.position_weights
    ),
    "profile": _by_profile,
    "custom": _custom,
}
