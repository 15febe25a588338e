"""The names of the orders."""

from __future__ import annotations

from enum import StrEnum


class OrderingStrategy(StrEnum):
    """Where in the context the best spans stand."""

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
