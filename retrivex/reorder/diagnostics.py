"""Diagnostics of one call: counts, times, warnings, and the explanation of each passage."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, is_dataclass, replace
from typing import Any, Generic, Literal, TypeAlias, TypeVar, cast

from pydantic import BaseModel

from retrivex.errors import PassageError
from retrivex.model.fields import FieldNames
from retrivex.reorder.passage import Candidate, split_pair

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
    """The reason for a passage's place in the output.

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
    """Counts, choices, warnings and times of one call.

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
    """The ordered passages, with explanations and diagnostics.

    `explanations` stand beside `passages`, one for each.
    """

    passages: list[T]
    explanations: tuple[Explanation, ...]
    diagnostics: ReorderDiagnostics


@dataclass(slots=True)
class CallLog:
    """Collects the dropped passages, warnings and times of one call."""

    dropped: list[DroppedPassage] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    step_ms: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Note how long a step takes, in milliseconds."""
        started = time.perf_counter()
        yield
        self.step_ms[name] = (time.perf_counter() - started) * 1000

    def drop(self, candidates: Iterable[Candidate[Any]], reason: DropReason) -> None:
        """Note candidates that are left out."""
        self.dropped.extend(DroppedPassage(one.place, one.id, reason) for one in candidates)

    def count(self, *reasons: DropReason) -> int:
        """Return how many passages were left out for `reasons`."""
        return sum(passage.reason in reasons for passage in self.dropped)


def annotate(candidate: Candidate[T], notes: Mapping[str, Any], fields: FieldNames) -> T:
    """Return a copy of the candidate's passage with `notes` added to its metadata.

    Raises
    ------
    PassageError
        If it is of a kind that cannot be copied with other metadata.
    """
    item, score = split_pair(candidate.item)
    metadata = {**candidate.metadata, **notes}
    try:
        if isinstance(item, Mapping):
            made: Any = {**item, fields.metadata: metadata}
        elif is_dataclass(item):
            made = replace(item, **{fields.metadata: metadata})  # type: ignore[type-var]
        elif isinstance(item, BaseModel):
            made = item.model_copy(update={fields.metadata: metadata})
        else:
            made = copy.copy(item)
            setattr(made, fields.metadata, metadata)
    except (AttributeError, TypeError, ValueError) as error:
        raise PassageError(
            f"a {type(item).__name__} cannot be copied with more metadata ({error}): leave include_priority_score and "
            "include_explanation off, and read both from reorder_with_diagnostics(...).explanations"
        ) from error
    pair: Any = candidate.item
    return cast("T", made if score is None else (made, pair[1]))
