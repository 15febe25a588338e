"""Orders of the passages of a context: pure functions over anything with a score.

Each takes items and returns a new list of them. They sort by score themselves; `ranked=True` trusts the caller. What a
function reads of an item beside its score is named: a field of the item or of its `metadata`, or a callable.
"""

from retrivex.model.fields import Field
from retrivex.ordering.automatic import AutoSettings, OrderChoice, auto, choose_order
from retrivex.ordering.builtin_profiles import PROFILES, profile_of
from retrivex.ordering.chronological import TimeOrder, chronological
from retrivex.ordering.custom import custom, shuffle
from retrivex.ordering.documents import document, document_edges
from retrivex.ordering.edges import alternating, edge_balanced
from retrivex.ordering.groups import group_by, relevance_groups
from retrivex.ordering.placement import Placement, place, profile
from retrivex.ordering.position_weights import place_weights, position_weighted
from retrivex.ordering.profile import PositionProfile
from retrivex.ordering.questions import QuestionType, question_type
from retrivex.ordering.ranking import back_first, best_last, front_first, score_desc

__all__ = [
    "PROFILES",
    "AutoSettings",
    "Field",
    "OrderChoice",
    "Placement",
    "PositionProfile",
    "QuestionType",
    "TimeOrder",
    "alternating",
    "auto",
    "back_first",
    "best_last",
    "choose_order",
    "chronological",
    "custom",
    "document",
    "document_edges",
    "edge_balanced",
    "front_first",
    "group_by",
    "place",
    "place_weights",
    "position_weighted",
    "profile",
    "profile_of",
    "question_type",
    "relevance_groups",
    "score_desc",
    "shuffle",
]
