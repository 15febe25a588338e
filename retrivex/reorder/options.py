"""All options of the Reorderer, validated together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import BeforeValidator, ConfigDict, Field, InstanceOf, model_validator

from retrivex.errors import RetrivexError
from retrivex.model.fields import FieldNames, as_field_names
from retrivex.model.options import Options
from retrivex.ordering import PROFILES, AutoSettings, PositionProfile, profile_of
from retrivex.ordering.strategy import ORDERS, OrderingStrategy, Packing
from retrivex.reorder.diagnostics import ReorderDiagnostics
from retrivex.reorder.priority import Normalization, Weights
from retrivex.reorder.reading import Validation
from retrivex.rerank import Reranking
from retrivex.tokens.tokenizer import resolve_tokenizer

Strategy: TypeAlias = Literal[tuple(strategy.value for strategy in OrderingStrategy)]  # type: ignore[valid-type]


class Diversity(Options):
    """Options of maximal marginal relevance: passages that repeat others, or their source, lose rank.

    Examples
    --------
    >>> Diversity(source_penalty=0.2).relevance_weight
    0.7
    """

    model_config = ConfigDict(use_attribute_docstrings=True)

    relevance_weight: float = Field(default=0.7, ge=0, le=1)
    """Weight of relevance against difference (lambda): 1 ranks by relevance alone, 0 by difference alone."""

    source_penalty: float = Field(default=0.15, ge=0)
    """Discount of a passage for each better passage of the same source, in relevance."""

    source_field: str | None = None
    """Field that names the source. None takes fields.source_id."""

    embedding_field: str | None = None
    """Field of the embeddings, which are compared by cosine. None compares the trigrams of the texts."""

    max_candidates: int | None = Field(default=None, ge=2)
    """Only the best n passages take part; the others follow in their order. None takes all."""


def _as_diversity(value: Any) -> Any:
    return Diversity() if value is True else None if value is False else value


def _as_reranking(value: Any) -> Any:
    return None if value is None else Reranking.of(value)


def _as_tokenizer(value: Any) -> Any:
    """Wrap callables at once, so that what cannot count is an error here; names are looked up when they are used."""
    return value if value is None or isinstance(value, str) else resolve_tokenizer(value)[0]


class ReorderOptions(Options):
    """All options of a `Reorderer`; frozen, and each may be overridden per call.

    Raises
    ------
    ConfigError
        A `ValueError` naming the option, the value given and the rule it breaks.
    """

    model_config = ConfigDict(use_attribute_docstrings=True)

    # ---- input
    fields: Annotated[FieldNames, BeforeValidator(as_field_names)] = FieldNames()
    """Names of the passages' fields, or the name of a known layout: langchain, llamaindex, haystack or hits."""

    validation: Validation = "strict"
    """strict raises an error at the first malformed passage; coerce repairs what it can and reports it."""

    max_input: int | None = Field(default=None, ge=1)
    """Most passages taken. None sets no limit."""

    max_input_behavior: Literal["raise", "truncate"] = "raise"
    """With more passages than max_input: raise an error, or truncate and take only the first."""

    # ---- filtering
    score_clamp: tuple[float, float] | None = None
    """(low, high): scores outside this range are moved to its nearer end. None leaves scores as they are."""

    min_score: float | None = None
    """Drop passages with lower scores. None keeps all."""

    deduplicate: bool = False
    """Drop duplicates."""

    deduplicate_threshold: float = Field(default=1.0, ge=0, le=1)
    """Least Jaccard similarity of trigrams at which two passages are duplicates. 1 means equal texts."""

    deduplicate_keep: Literal["highest_score", "first", "last"] = "highest_score"
    """Which of several duplicates is kept."""

    # ---- relevance
    weights: Weights = Weights()
    """Weights of score, time, section and source reliability in the priority of a passage."""

    score_normalization: Normalization = "none"
    """How the scores are normalised before they are weighted."""

    softmax_temperature: float = Field(default=1.0, gt=0)
    """Temperature of the softmax normalisation, in units of the scores."""

    diversity: Annotated[Diversity | None, BeforeValidator(_as_diversity)] = None
    """Rank by maximal marginal relevance: True for the usual settings, or a Diversity. None ranks by relevance
    alone."""

    reranker: Annotated[Reranking | None, BeforeValidator(_as_reranking)] = None
    """Scores the passages anew when a query is given: a function (query, texts) -> scores, an object with
    score(query, texts), or a Reranking with limits and time-out."""

    # ---- order
    strategy: Strategy = "edge_balanced"
    """Order of the passages. edge_balanced puts the best at both ends, where models read best."""

    start_count: int | None = Field(default=None, ge=0)
    """edge_balanced: number of the best passages that come first."""

    end_count: int | None = Field(default=None, ge=0)
    """edge_balanced: number of the next best passages that come last."""

    chronological_order: Literal["asc", "desc"] = "asc"
    """chronological: asc puts the oldest first, desc the newest."""

    source_field: str | None = None
    """Field that names the document, for the orders by document. None takes fields.source_id."""

    group_by: str | None = None
    """Metadata field whose equal values stay together, each group ordered by the strategy. None groups only with
    strategy='group_by', by document."""

    high_relevance: float = 0.7
    """relevance_groups: least priority of the group of high relevance."""

    medium_relevance: float = 0.4
    """relevance_groups: least priority of the group of medium relevance."""

    position_weights: tuple[float, ...] | None = None
    """position_weighted: one weight per position. None gives 1 to the first tenth, 0.9 to the last and 0.5 between."""

    profile: Annotated[InstanceOf[PositionProfile], BeforeValidator(profile_of)] = PROFILES["lost_in_the_middle"]
    """profile: attention of the model by token position. A PositionProfile, its file, or the name of a built-in one."""

    seed: int = 0
    """shuffle: seed of the random order. The same seed gives the same order."""

    key: Callable[[Any], Any] | None = None
    """custom: callable that returns the sort key of a passage; the smallest comes first."""

    compare: Callable[[Any, Any], float] | None = None
    """custom: callable (a, b) that returns a number below 0 where a comes first."""

    auto: AutoSettings = AutoSettings()
    """auto: thresholds, cue words and question detector."""

    # ---- budget
    max_tokens: float | None = Field(default=None, ge=0)
    """Most tokens of all texts together, without separators. None sets no limit."""

    tokenizer: Annotated[Any, BeforeValidator(_as_tokenizer)] = "auto"
    """Tokenizer that counts max_tokens. None uses max_chars instead."""

    max_chars: int | None = Field(default=None, ge=0)
    """Most characters of all texts together, used where max_tokens is not. None sets no limit."""

    count_chars: Callable[[str], float] = len
    """Callable that counts the characters of a text for max_chars."""

    top_k: int | None = Field(default=None, ge=1)
    """Most passages returned. None sets no limit."""

    min_top_k: int | None = Field(default=None, ge=1)
    """Least number of passages returned, even where they exceed the budget. None sets no minimum."""

    packing: Packing | Literal["auto"] = "auto"
    """What stays within a budget: prefix from the front, edge_aware from both ends, best by relevance. auto follows
    the strategy."""

    # ---- output
    include_priority_score: bool = False
    """Return copies of the passages with priority_score in their metadata."""

    include_explanation: bool = False
    """Return copies of the passages with explanation in their metadata."""

    window_size: int = Field(default=128, ge=1)
    """reorder_stream: number of passages that are ordered at a time."""

    on_diagnostics: Callable[[ReorderDiagnostics], None] | None = None
    """Callable that receives the diagnostics of every call, and of every window of a stream."""

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        for broken, rule in (
            (
                (self.start_count is None) != (self.end_count is None),
                "start_count and end_count go together: give both or neither",
            ),
            (self.score_clamp and self.score_clamp[0] > self.score_clamp[1], "score_clamp is (low, high), in order"),
            ((self.min_top_k or 0) > (self.top_k or self.min_top_k or 0), "min_top_k cannot exceed top_k"),
            (self.high_relevance < self.medium_relevance, "high_relevance must be at least medium_relevance"),
            (
                self.max_tokens is not None and self.tokenizer is None and self.max_chars is None,
                "max_tokens needs a tokenizer, or max_chars to take its place",
            ),
            (
                self.max_input is None and self.max_input_behavior == "truncate",
                "max_input_behavior='truncate' needs max_input",
            ),
            (
                (self.strategy == "custom") != ((self.key is None) != (self.compare is None)),
                "strategy='custom' needs either key or compare, and only it reads them",
            ),
            (
                self._follows_documents and self.group_by == self.document_field,
                f"group_by={self.group_by!r} is what document orders group by anyway: leave it out",
            ),
        ):
            if broken:
                raise RetrivexError(rule)
        return self

    @property
    def group_field(self) -> str | None:
        """Field whose equal values stay together; None where nothing does."""
        return self.document_field if self.group_by is None and self.strategy == "group_by" else self.group_by

    @property
    def document_field(self) -> str:
        """Field that names the document in document orders."""
        return self.source_field or self.fields.source_id

    @property
    def _follows_documents(self) -> bool:
        return self.strategy in ORDERS and ORDERS[self.strategy].follows_documents

    def override(self, **changes: Any) -> ReorderOptions:
        """Return a checked copy with `changes`; weights, fields and diversity take single settings too.

        `key` and `compare` of a custom order are dropped with its strategy, and a `top_k` below the `min_top_k`
        that was set before lowers that.

        Examples
        --------
        >>> ReorderOptions(weights={"time": 0.5}).override(weights={"section": 0.1}).weights.time
        0.5
        """
        if not changes:
            return self
        for name in ("weights", "fields", "diversity", "auto"):
            current = getattr(self, name)
            if isinstance(changes.get(name), Mapping) and current is not None:
                changes[name] = {**current.model_dump(), **changes[name]}
        if self.strategy == "custom" and changes.get("strategy", "custom") != "custom":
            changes = {"key": None, "compare": None, **changes}
        top_k = changes.get("top_k")
        if isinstance(top_k, int) and "min_top_k" not in changes and self.min_top_k is not None:
            changes["min_top_k"] = max(1, min(self.min_top_k, top_k))
        return type(self).model_validate({**self.__dict__, **changes})
