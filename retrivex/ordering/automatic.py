"""The order that suits the question, as far as the metadata of the passages allows it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict
from pydantic import Field as Knob

from retrivex.errors import OrderingError, quoted
from retrivex.ordering.documents import document
from retrivex.ordering.edges import edge_balanced
from retrivex.ordering.fields import Field, float_of, listed, number_of, score_of, values_of
from retrivex.ordering.groups import group_by
from retrivex.ordering.questions import (
    COMPARISON_CUES,
    NARRATIVE_CUES,
    TEMPORAL_CUES,
    Detector,
    QuestionType,
    question_type,
)
from retrivex.ordering.ranking import best_last
from retrivex.ordering.times import chronological

T = TypeVar("T")

AutoStrategy: TypeAlias = Literal["chronological", "document", "group_by", "edge_balanced", "best_last"]
"""What `auto` chooses from; `group_by` groups by document."""


class AutoSettings(BaseModel):
    """What `auto` goes by.

    The shares are of the items that must have the field in question.

    Raises
    ------
    pydantic.ValidationError
        A `ValueError` naming the field, the value given and the rule it breaks.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, allow_inf_nan=False)

    timestamp_coverage: float = Knob(default=0.4, ge=0, le=1, description="share with a timestamp for chronological")
    source_coverage: float = Knob(default=0.4, ge=0, le=1, description="share with a source for document and groups")
    section_coverage: float = Knob(default=0.3, ge=0, le=1, description="share with a position for document")
    context_window: int | None = Knob(default=None, ge=1, description="the model's window, in tokens; None: unknown")
    near_full: float = Knob(
        default=0.8, gt=0, description="share of the window from which on best_last takes the place of edge_balanced"
    )
    temporal_cues: tuple[str, ...] = Knob(default=TEMPORAL_CUES, description="words that ask about time")
    comparison_cues: tuple[str, ...] = Knob(default=COMPARISON_CUES, description="words that ask for a comparison")
    narrative_cues: tuple[str, ...] = Knob(default=NARRATIVE_CUES, description="words that ask how something goes")
    detector: Detector | None = Knob(
        default=None, description="question -> temporal, comparison, narrative or factual, or None for the cues"
    )


DEFAULT_AUTO = AutoSettings()


@dataclass(frozen=True, slots=True)
class OrderChoice:
    """What `auto` chose, and why.

    Parameters
    ----------
    strategy : the order
    reason : one sentence
    question_type : temporal, comparison, narrative or factual
    coverage : shares of the items that have a timestamp, a source and a position (`section`), in [0, 1]
    fill : share of the context window that the items take; None where the window is not known
    """

    strategy: AutoStrategy
    reason: str
    question_type: QuestionType
    coverage: Mapping[str, float]
    fill: float | None


def choose_order(
    items: Iterable[Any],
    question: str | None,
    *,
    settings: AutoSettings = DEFAULT_AUTO,
    source: Field = "source_id",
    position: Field = "section_index",
    timestamp: Field = "timestamp",
    tokens: Field = "token_count",
) -> OrderChoice:
    """Choose an order by the type of the question and by what is known of the items.

    A question about time gets chronological order, one that compares its passages grouped by document, one about how
    something goes document order, each where enough items have the fields that it needs; everything else is edge
    balanced, or best last where the context window is nearly full: there models read the end better than the
    beginning (Veseli et al., "Positional Biases Shift as Inputs Approach Context Window Limits", arXiv 2508.07479).

    Parameters
    ----------
    items : what is to be ordered
    question : as asked; None counts as factual
    settings : cues, thresholds, detector, the window
    source, position, timestamp, tokens : names or readers of the fields; `tokens` is read with a window only

    Raises
    ------
    OrderingError
        If the settings' detector fails or returns something that is no type, the question is no text, a reader fails,
        or an item has no token count although
        `context_window` is set.

    Examples
    --------
    >>> notes = [{"source_id": "log", "timestamp": 5}, {"source_id": "log", "timestamp": 3}]
    >>> choose_order(notes, "When did it fail?").strategy
    'chronological'
    >>> choose_order(notes, "Who wrote it?").reason
    'factual question: the best at both edges'
    """
    items = listed(items)
    kind = question_type(
        question,
        temporal=settings.temporal_cues,
        comparison=settings.comparison_cues,
        narrative=settings.narrative_cues,
        detector=settings.detector,
    )
    sources = [value for value in values_of(items, source, "source") if value not in (None, "")]
    coverage = {
        "timestamp": _share(values_of(items, timestamp, "timestamp"), _is_time),
        "source": len(sources) / len(items) if items else 0.0,
        "section": _share(values_of(items, position, "position"), _is_number),
    }
    strategy, reason = _by_question(kind, coverage, len(set(map(str, sources))), settings)
    fill = _fill(items, tokens, settings.context_window)
    if strategy == "edge_balanced" and fill is not None and fill >= settings.near_full:
        strategy, reason = "best_last", f"{fill:.0%} of the context window is full: the best next to the question"
    return OrderChoice(strategy, reason, kind, coverage, fill)


def _by_question(
    kind: QuestionType, coverage: Mapping[str, float], sources: int, settings: AutoSettings
) -> tuple[AutoStrategy, str]:
    dated, named, placed = coverage["timestamp"], coverage["source"], coverage["section"]
    if kind == "temporal":
        if dated >= settings.timestamp_coverage:
            return "chronological", f"temporal question, {dated:.0%} have a timestamp: by time"
        return "edge_balanced", f"temporal question, but only {dated:.0%} have a timestamp: the best at both edges"
    if kind == "comparison":
        if named >= settings.source_coverage and sources > 1:
            return "group_by", f"comparison, {named:.0%} have a source: grouped by document"
        return "edge_balanced", f"comparison, but {sources} known documents: the best at both edges"
    if kind == "narrative":
        known = f"{named:.0%} have a source and {placed:.0%} a position"
        if named >= settings.source_coverage and placed >= settings.section_coverage:
            return "document", f"narrative question, {known}: as the documents go"
        return "edge_balanced", f"narrative question, but only {known}: the best at both edges"
    return "edge_balanced", "factual question: the best at both edges"


def _share(values: Sequence[Any], known: Callable[[Any], bool]) -> float:
    return sum(map(known, values)) / len(values) if values else 0.0


def _is_time(value: Any) -> bool:
    return isinstance(value, datetime) or not math.isnan(float_of(value))


def _is_number(value: Any) -> bool:
    return number_of(value) is not None


def _fill(items: Sequence[Any], tokens: Field, window: int | None) -> float | None:
    if window is None:
        return None
    counts = values_of(items, tokens, "token count")
    if not all(float_of(count) >= 0 for count in counts):
        raise OrderingError(
            f"token counts are {quoted(counts)}: context_window is set, so each item needs one; name their field with "
            "tokens=..., or leave context_window out"
        )
    return float(sum(counts) / window)


def auto(
    items: Iterable[T],
    *,
    question: str | None,
    ranked: bool = False,
    score: Field = score_of,
    source: Field = "source_id",
    position: Field = "section_index",
    timestamp: Field = "timestamp",
    tokens: Field = "token_count",
    settings: AutoSettings = DEFAULT_AUTO,
) -> list[T]:
    """Order items by what `choose_order` chooses, with the same parameters.

    Examples
    --------
    >>> notes = [{"score": 0.9, "timestamp": 5}, {"score": 0.5, "timestamp": 3}]
    >>> [note["timestamp"] for note in auto(notes, question="When did it fail?", score="score")]
    [3, 5]
    """
    items = listed(items)
    choice = choose_order(
        items, question, settings=settings, source=source, position=position, timestamp=timestamp, tokens=tokens
    )
    orders: Mapping[AutoStrategy, Callable[[], list[T]]] = {
        "chronological": lambda: chronological(items, ranked=ranked, score=score, timestamp=timestamp),
        "document": lambda: document(items, ranked=ranked, score=score, source=source, position=position),
        "group_by": lambda: group_by(items, source, ranked=ranked, score=score),
        "edge_balanced": lambda: edge_balanced(items, ranked=ranked, score=score),
        "best_last": lambda: best_last(items, ranked=ranked, score=score),
    }
    return orders[choice.strategy]()
