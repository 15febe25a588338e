"""The registry of the orders: name, function, what it reads of an item, and which options it takes.

The composer, the `Reorderer` and the command line take their orders from here. A new order is a function in a module of
its own, a name in `OrderingStrategy` and a row in `ORDERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, TypeAlias

from retrivex.ordering.chronological import chronological
from retrivex.ordering.custom import custom, shuffle
from retrivex.ordering.documents import document, document_edges
from retrivex.ordering.edges import alternating, edge_balanced
from retrivex.ordering.groups import group_by, relevance_groups
from retrivex.ordering.placement import profile
from retrivex.ordering.position_weights import position_weighted
from retrivex.ordering.ranking import back_first, best_last, front_first, score_desc

Packing: TypeAlias = Literal["prefix", "edge_aware", "best"]
"""What stays within a budget: the passages in front, those at both edges, or the most relevant wherever they stand."""


class OrderingStrategy(StrEnum):
    """Names of the orders."""

    FRONT_FIRST = "front_first"
    BACK_FIRST = "back_first"
    EDGE_BALANCED = "edge_balanced"
    SCORE_DESC = "score_desc"
    BEST_LAST = "best_last"
    DOCUMENT = "document"
    DOCUMENT_EDGES = "document_edges"
    CHRONOLOGICAL = "chronological"
    RELEVANCE_GROUPS = "relevance_groups"
    ALTERNATING = "alternating"
    POSITION_WEIGHTED = "position_weighted"
    PROFILE = "profile"
    GROUP_BY = "group_by"
    SHUFFLE = "shuffle"
    CUSTOM = "custom"
    AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Order:
    """A registered order: its function, the fields that it reads and the options that it takes.

    Parameters
    ----------
    function : `function(items, **arguments)` returns the items in order
    needs : what it reads of an item, by the name of its parameter: `score` (then it takes `ranked` as well), `source`,
        `position`, `timestamp`, `tokens`; any other name is a field of the item's metadata
    options : for each of its other parameters, the option that sets it
    best_first : whether it takes items sorted by relevance, with `ranked=True`; otherwise in the order given
    uses_values : whether the values of the scores count, as for thresholds and sums, and not only their order
    packing : what stays of it within a budget, unless an option says otherwise
    """

    function: Callable[..., list[Any]]
    needs: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    best_first: bool = False
    uses_values: bool = False
    packing: Packing = "best"

    @property
    def follows_documents(self) -> bool:
        """Whether it keeps the passages of a document together and in the document's order."""
        return {"source", "position"} <= set(self.needs)


_DOCUMENTS = ("score", "source", "position")

ORDERS: Mapping[str, Order] = {
    OrderingStrategy.FRONT_FIRST: Order(front_first, packing="prefix"),
    OrderingStrategy.BACK_FIRST: Order(back_first),
    OrderingStrategy.EDGE_BALANCED: Order(
        edge_balanced,
        ("score",),
        {"start_count": "start_count", "end_count": "end_count"},
        best_first=True,
        packing="edge_aware",
    ),
    OrderingStrategy.SCORE_DESC: Order(score_desc, ("score",), best_first=True, packing="prefix"),
    OrderingStrategy.BEST_LAST: Order(best_last, ("score",), best_first=True),
    OrderingStrategy.DOCUMENT: Order(document, _DOCUMENTS, packing="prefix"),
    OrderingStrategy.DOCUMENT_EDGES: Order(document_edges, _DOCUMENTS),
    OrderingStrategy.CHRONOLOGICAL: Order(
        chronological, ("score", "timestamp"), {"order": "chronological_order"}, packing="prefix"
    ),
    OrderingStrategy.RELEVANCE_GROUPS: Order(
        relevance_groups,
        ("score",),
        {"high": "high_relevance", "medium": "medium_relevance"},
        best_first=True,
        uses_values=True,
    ),
    OrderingStrategy.ALTERNATING: Order(alternating, ("score",), best_first=True, packing="prefix"),
    OrderingStrategy.POSITION_WEIGHTED: Order(
        position_weighted, ("score",), {"weights": "position_weights"}, best_first=True
    ),
    OrderingStrategy.PROFILE: Order(
        profile, ("score", "tokens"), {"profile": "profile"}, best_first=True, uses_values=True
    ),
    OrderingStrategy.GROUP_BY: Order(group_by, ("score",), {"field": "group_by"}),
    OrderingStrategy.SHUFFLE: Order(shuffle, options={"seed": "seed"}),
    OrderingStrategy.CUSTOM: Order(custom, options={"key": "key", "compare": "compare"}, packing="prefix"),
}
"""The orders by name; `auto` is none of its own, as it chooses one of these."""
