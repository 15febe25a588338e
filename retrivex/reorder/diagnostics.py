"""What one call of the reorderer did, in numbers and in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeAlias, TypeVar

T = TypeVar("T")

DropReason: TypeAlias = Literal["unusable", "max_input", "min_score", "duplicate", "budget", "top_k"]


@dataclass(frozen=True, slots=True)
class DroppedPassage:
    """A passage that is not in the output.

    `index` is its place in the input, `duplicate_of` the id of the passage that is kept in its stead.
    """

    index: int
    id: str | int
    reason: DropReason
    duplicate_of: str | int | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a passage stands where it does.

    Parameters
    ----------
    strategy : the order, with `auto` resolved
    placement : where in it: `start`, `middle`, `end` with counts for the edges, `front` or `back` without, else empty
    position : in the output, from 0
    priority_rank : 0 for the most relevant, among all that were ordered
    priority_score : what its rank goes by, before diversity
    score : its score, after clamping and reranking
    group : value of the field that groups, or its document in document orders; None for none
    timestamp : where the order is chronological
    diversity_applied : whether the rank is that of diversity
    """

    strategy: str
    placement: str
    position: int
    priority_rank: int
    priority_score: float
    score: float
    group: str | None = None
    timestamp: float | None = None
    diversity_applied: bool = False


@dataclass(frozen=True, slots=True)
class ReorderDiagnostics:
    """Counts of one call.

    Parameters
    ----------
    input_count, used_count : passages given, and those that could be read and are within `max_input`
    coerced_scores : scores that were no finite number and count 0
    dropped_fields : how often a metadata field had a value of a wrong type and was left out, by name
    input_truncated : whether `max_input` cut the input
    below_min_score, duplicates_removed, pruned_by_budget : passages that these steps left out
    deduplication : `none`, `exact` or `near`
    reranked : whether a reranker's scores are used
    rerank_skipped : a reranker is set, but there was no query
    rerank_failed : it failed, and the original scores are used
    rerank_ms : milliseconds that it took
    query_length : characters of the query, None without one
    strategy, reason : the order that was used, and for `auto` why
    packing : `prefix`, `edge_aware` or `best`
    budget_unit : what was counted: `none`, `tokens` or `chars`
    tokens_used, cached_tokens_used, chars_used : of the output; cached ones came with the passages
    output_count : passages in the output
    dropped : every passage that is not in the output
    warnings : what the caller should know
    step_ms : milliseconds that each step took
    """

    input_count: int
    used_count: int
    output_count: int
    strategy: str
    reason: str
    packing: str
    budget_unit: Literal["none", "tokens", "chars"] = "none"
    tokens_used: float = 0
    cached_tokens_used: float = 0
    chars_used: float = 0
    coerced_scores: int = 0
    dropped_fields: Mapping[str, int] = field(default_factory=dict)
    input_truncated: bool = False
    below_min_score: int = 0
    deduplication: Literal["none", "exact", "near"] = "none"
    duplicates_removed: int = 0
    reranked: bool = False
    rerank_skipped: bool = False
    rerank_failed: bool = False
    rerank_ms: float | None = None
    query_length: int | None = None
    pruned_by_budget: int = 0
    dropped: tuple[DroppedPassage, ...] = ()
    warnings: tuple[str, ...] = ()
    step_ms: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReorderResult(Generic[T]):
    """The passages in their order, and how it came about.

    `explanations` stand beside `passages`, one for each.
    """

    passages: list[T]
    explanations: tuple[Explanation, ...]
    diagnostics: ReorderDiagnostics
