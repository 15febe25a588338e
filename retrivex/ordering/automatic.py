"""Chooses the order by the type of the question and by the metadata that the passages have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, TypeVar

from pydantic import Field as Option

from retrivex.errors import OrderingError, quoted
from retrivex.model.fields import Field, list_items, read_values
from retrivex.model.numbers import float_of, number_of
from retrivex.model.options import Options
from retrivex.ordering.chronological import chronological, is_time, may_be_time
from retrivex.ordering.cues import COMPARISON_CUES, NARRATIVE_CUES, TEMPORAL_CUES
from retrivex.ordering.documents import document
from retrivex.ordering.edges import edge_balanced
from retrivex.ordering.groups import group_by
from retrivex.ordering.questions import Detector, QuestionType, question_type
from retrivex.ordering.ranking import best_last

T = TypeVar("T")

AutoStrategy: TypeAlias = Literal["chronological", "document", "group_by", "edge_balanced", "best_last"]
"""What `auto` chooses from; `group_by` groups by document."""


class AutoSettings(Options):
    """Thresholds, cues and context window by which `auto` chooses.

    The shares are of the items that must have the field in question.

    Raises
    ------
    ConfigError
        A `ValueError` naming the option, the value given and the rule it breaks.
    """

    timestamp_coverage: float = Option(default=0.4, ge=0, le=1, description="share with a timestamp for chronological")
    source_coverage: float = Option(default=0.4, ge=0, le=1, description="share with a source for document and groups")
    section_coverage: float = Option(default=0.3, ge=0, le=1, description="share with a position for document")
    context_window: int | None = Option(default=None, ge=1, description="the model's window, in tokens; None: unknown")
    near_full: float = Option(
        default=0.8, gt=0, description="share of the window from which on best_last takes the place of edge_balanced"
    )
    temporal_cues: tuple[str, ...] = Option(default=TEMPORAL_CUES, description="words that ask about time")
    comparison_cues: tuple[str, ...] = Option(default=COMPARISON_CUES, description="words that ask for a comparison")
    narrative_cues: tuple[str, ...] = Option(default=NARRATIVE_CUES, description="words that ask how something goes")
    detector: Detector | None = Option(
        default=None, description="question -> temporal, comparison, narrative or factual, or None for the cues"
    )


DEFAULT_AUTO = AutoSettings()


@dataclass(frozen=True, slots=True)
class OrderChoice:
    """The order that `auto` chose, and its reason.

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

    def filled(self, tokens: float, settings: AutoSettings) -> OrderChoice:
        """Return the choice where the context holds so many tokens: best last if the window is nearly full."""
        if settings.context_window is None:
            return self
        fill = tokens / settings.context_window
        if self.strategy != "edge_balanced" or fill < settings.near_full:
            return replace(self, fill=fill)
        reason = f"{fill:.0%} of the context window is full: the best next to the question"
        return replace(self, strategy="best_last", reason=reason, fill=fill)


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

    Only what an order can use counts: a time that is a number or a `datetime`, a source that can be hashed. Where an
    item has something else in a field that the order reads, the next choice is taken, and the reason says so.

    Parameters
    ----------
    items : what is to be ordered
    question : as asked; None counts as factual
    settings : cues, thresholds, detector, the window
    source, position, timestamp, tokens : names or readers of the fields; `tokens` is read with a window only

    Raises
    ------
    OrderingError
        If the detector fails or returns something that is no type, the question is no text, a
        reader fails, or an item has no token count although `context_window` is set.

    Examples
    --------
    >>> notes = [{"source_id": "log", "timestamp": 5}, {"source_id": "log", "timestamp": 3}]
    >>> choose_order(notes, "When did it fail?").strategy
    'chronological'
    >>> choose_order(notes, "Who wrote it?").reason
    'factual question: the best at both edges'
    """
    items = list_items(items)
    kind = question_type(
        question,
        temporal=settings.temporal_cues,
        comparison=settings.comparison_cues,
        narrative=settings.narrative_cues,
        detector=settings.detector,
    )
    times, sources = read_values(items, timestamp, "timestamp"), read_values(items, source, "source")
    numbers = map(number_of, read_values(items, position, "position"))
    count = max(1, len(items))
    coverage = {
        "timestamp": sum(map(is_time, times)) / count,
        "source": sum(map(_is_name, sources)) / count,
        "section": sum(number is not None for number in numbers) / count,
    }
    strategy, reason = _choose_by_question(kind, times, sources, coverage, settings)
    choice = OrderChoice(strategy, reason, kind, coverage, None)
    return choice if settings.context_window is None else choice.filled(_sum_tokens(items, tokens), settings)


def _choose_by_question(
    kind: QuestionType,
    times: Sequence[Any],
    sources: Sequence[Any],
    coverage: Mapping[str, float],
    settings: AutoSettings,
) -> tuple[AutoStrategy, str]:
    dated, named, placed = coverage.values()
    edges = "the best at both edges"
    if kind == "factual":
        return "edge_balanced", f"factual question: {edges}"
    if kind == "temporal":
        odd = next((value for value in times if not may_be_time(value)), None)
        if dated < settings.timestamp_coverage:
            return "edge_balanced", f"temporal question, but only {dated:.0%} have a timestamp: {edges}"
        if odd is not None:
            return "edge_balanced", f"temporal question, but {quoted(odd)} is no time: {edges}"
        return "chronological", f"temporal question, {dated:.0%} have a timestamp: by time"
    name = "comparison" if kind == "comparison" else "narrative question"
    odd = next((value for value in sources if not _has_hash(value)), None)
    if odd is not None:
        return "edge_balanced", f"{name}, but source {quoted(odd)} cannot be compared: {edges}"
    if kind == "comparison":
        documents = len(set(filter(_is_name, sources)))
        if named >= settings.source_coverage and documents > 1:
            return "group_by", f"comparison, {named:.0%} have a source: grouped by document"
        return "edge_balanced", f"comparison, but {documents} known documents: {edges}"
    shares = f"{named:.0%} have a source and {placed:.0%} a position"
    if named >= settings.source_coverage and placed >= settings.section_coverage:
        return "document", f"narrative question, {shares}: as the documents go"
    return "edge_balanced", f"narrative question, but only {shares}: {edges}"


def _is_name(value: Any) -> bool:
    return value is not None and not (type(value) is str and not value) and _has_hash(value)


def _has_hash(value: Any) -> bool:
    try:
        hash(value)
    except Exception:  # noqa: BLE001 - a class of the caller's may raise anything
        return False
    return True


def _sum_tokens(items: Sequence[Any], tokens: Field) -> float:
    """Return the tokens of all items together."""
    counts = read_values(items, tokens, "token count")
    if not all(float_of(count) >= 0 for count in counts):
        raise OrderingError(
            f"token counts are {quoted(counts)}: context_window is set, so each item needs one; name their field with "
            "tokens=..., or leave context_window out"
        )
    return sum(map(float, counts))


def auto(
    items: Iterable[T],
    *,
    question: str | None,
    ranked: bool = False,
    score: Field = "score",
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
    items = list_items(items)
    choice = choose_order(
        items, question, settings=settings, source=source, position=position, timestamp=timestamp, tokens=tokens
    )
    if choice.strategy == "chronological":
        return chronological(items, ranked=ranked, score=score, timestamp=timestamp)
    if choice.strategy == "document":
        return document(items, ranked=ranked, score=score, source=source, position=position)
    if choice.strategy == "group_by":
        return group_by(items, source, ranked=ranked, score=score)
    order = best_last if choice.strategy == "best_last" else edge_balanced
    return order(items, ranked=ranked, score=score)
