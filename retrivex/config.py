"""Every option of the composer, in one place, checked once."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, InstanceOf, PlainSerializer, model_validator

from retrivex.errors import RetrivexError
from retrivex.model.chunk import Chunk
from retrivex.ordering import PROFILES, AutoSettings, PositionProfile, TimeOrder, profile_of
from retrivex.ordering.strategy import OrderingStrategy

MAX_WINDOW = 10_000
"""Most neighbours on each side: more than documents have chunks, and few enough that memory stays bounded."""


GrowPolicy: TypeAlias = Literal["table", "list", "code", "steps"]
GrowUntil: TypeAlias = Callable[[Chunk, Chunk], bool]
"""`grow_until(inner, outer)`: True stops the walk before `outer`, the chunk next to `inner` on the outside."""

Boost: TypeAlias = Callable[[Chunk], float]
"""`boost(chunk)`: what is added to the log-odds of the chunk's units; 0.0 leaves them as they are."""

PresetName: TypeAlias = Literal["speed", "balanced", "quality", "published"]


def _as_tuple(value: Any) -> Any:
    return (value,) if isinstance(value, str) else tuple(value) if isinstance(value, (list, tuple)) else value


def _as_items(value: Any) -> Any:
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


WIDTHS = ("window", "before", "after")
"""Options that say how wide windows are: with one of them, `pool_factor` is no longer filled in."""

_POOL_FACTOR = 8.0  # of the token budget; measured by benchmarks/evidence/__main__.py


class RetrievalConfig(BaseModel):
    """Every option, validated when built; frozen; each may be overridden per call.

    Raises
    ------
    pydantic.ValidationError
        A `ValueError` naming the field, the value given and the rule it breaks.

    Examples
    --------
    >>> RetrievalConfig(window=1, token_budget=500).window
    1
    >>> RetrievalConfig.preset("speed").selection
    'greedy'
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, allow_inf_nan=False)

    # ---- hits
    k: int | None = Field(default=None, ge=1, description="use only the best k hits; None uses all")
    score_kind: Literal["similarity", "distance"] = Field(
        default="similarity", description="whether a larger hit score is better (similarity) or worse (distance)"
    )
    score_scale: Literal["unbounded", "cosine", "unit"] = Field(
        default="unbounded",
        description="range of the hit scores: anything (BM25, fused, logits), cosine (-1 to 1; as a distance 0 to 2) "
        "or unit (0 to 1); a hit outside its declared range is dropped and listed",
    )
    fusion: Literal["rrf", "quota"] = Field(
        default="rrf", description="several hit lists: reciprocal rank fusion, or a share of the budget for each"
    )
    rrf_k: int = Field(default=60, ge=0, description="reciprocal rank fusion: a hit at rank r adds 1 / (rrf_k + r)")
    quotas: Annotated[tuple[float, ...], BeforeValidator(_as_items)] | None = Field(
        default=None,
        description="under fusion='quota', each hit list's share of the budget, in list order; None: equal",
    )

    # ---- expansion
    window: int = Field(
        default=2,
        ge=0,
        le=MAX_WINDOW,
        description="L: neighbours on each side of a seed, in chunks; 0 switches growth off",
    )
    before: int | None = Field(
        default=None, ge=0, le=MAX_WINDOW, description="neighbours before a seed, where it differs from window"
    )
    after: int | None = Field(
        default=None, ge=0, le=MAX_WINDOW, description="neighbours after a seed, where it differs from window"
    )
    pool_factor: float | None = Field(
        default=None,
        gt=0,
        le=1000,
        description="for the calibrated scorer: windows widen, by at most 40 chunks on each side, until the candidates "
        "could hold so many times the token budget. 8 where window, before, after and pool_factor are all left alone; "
        "None: windows are as wide as they say",
    )
    expand_top: int | None = Field(
        default=None, ge=0, description="grow only the best n hits; the others stay as they are"
    )
    expand_top_documents: int | None = Field(default=None, ge=0, description="grow only hits of the n best documents")
    grow_until: GrowUntil | Annotated[tuple[GrowPolicy, ...], BeforeValidator(_as_tuple)] | None = Field(
        default=None,
        description="go on past the window, up to max_window: shapes (table, list, code, steps) while one "
        "of them goes on, or a callable (inner chunk, outer chunk) -> True to stop",
    )
    max_window: int = Field(
        default=8,
        ge=0,
        le=MAX_WINDOW,
        description="most neighbours on each side when grow_until goes on, in chunks",
    )
    follow_links: int = Field(
        default=0, ge=0, description="hops along chunks' links to other chunks; one request a hop"
    )
    store_timeout_s: float | None = Field(
        default=10.0, gt=0, description="seconds a store may take; then the seeds go on alone. None waits for ever"
    )

    # ---- guards
    stop_on_heading_change: bool = Field(
        default=True, description="stop at another heading path unless continuity is high"
    )
    heading_level: int | None = Field(
        default=None, ge=1, description="compare only the first n levels of heading paths"
    )
    min_continuity: float = Field(
        default=0.5, ge=-1, le=1, description="cosine with the neighbour that may cross a heading"
    )
    min_lexical_continuity: float = Field(
        default=0.35, ge=0, le=1, description="the same where there are no embeddings: share of common words"
    )
    stop_on_page_change: bool = Field(default=False, description="stop at another page")
    continuity_floor: float | None = Field(
        default=None, ge=-1, le=1, description="stop wherever the cosine with the next neighbour falls below this"
    )
    lexical_continuity_floor: float | None = Field(
        default=None, ge=0, le=1, description="the same where there are no embeddings: share of common words"
    )

    # ---- text
    joiner: str | None = Field(
        default=None,
        description="closes a gap between chunks whose splitter dropped the white space; None guesses: a space, a "
        "line break before a heading, table row or list item, an empty line for a wider gap",
    )
    max_gap_chars: int = Field(
        default=4,
        ge=0,
        description="widest gap, in characters, that counts as dropped white space; a wider one ends the span, and one "
        "of more than 2 that is closed is warned of, as it may have held a word",
    )

    # ---- scoring
    scoring: Literal["auto", "weighted", "calibrated"] = Field(
        default="auto",
        description="calibrated: a fitted model gives every group of sentences its probability of holding evidence; "
        "needs the question. weighted: the published formula. auto: calibrated whenever the question is given",
    )
    coefficients: Path | None = Field(
        default=None, description="file of the calibrated scorer's coefficients; None: those that come with RetriVex"
    )
    boosts: Annotated[tuple[Boost, ...], BeforeValidator(_as_items)] = Field(
        default=(),
        description="own features of the calibrated scorer: callables chunk -> number added to the log-odds of its "
        "units, e.g. for recent or trusted documents",
    )
    hedge: float = Field(
        default=0.9,
        ge=0,
        le=1,
        description="what the nearest hit counts at least, as a share of the best unit, where the calibrated scorer "
        "has lost its bearings (words of the question are missing, few special ones are found, and those there are "
        "have little to do with what is near to it); the next ones that plain nearest neighbours would show count "
        "less, down to 0.6 of that, and the scorer's own values lose up to a third of it; 0 is off",
    )
    similarity_weight: float = Field(default=1.0, ge=0, description="w0: weight of the best seed's similarity")
    adjacency_weight: float = Field(default=0.6, ge=0, description="w1: weight of nearness to seeds")
    continuity_weight: float = Field(default=0.2, ge=0, description="w2: weight of the likeness of neighbouring chunks")
    parent_weight: float = Field(default=0.1, ge=0, description="w3: weight of holding a whole parent")
    distance_decay_beta: float = Field(
        default=0.7, ge=0, description="beta: decay of a neighbour's value per chunk away"
    )

    # ---- parents
    return_parents: Literal["never", "auto"] = Field(
        default="never",
        description="auto: swap a span for its parent where most of it is covered and the budget allows",
    )
    parent_coverage: float = Field(
        default=0.5, gt=0, le=1, description="share of a parent's characters that must be covered for a swap"
    )
    max_parent_chars: int = Field(default=2000, ge=0, description="longest parent that is swapped in, in characters")

    # ---- selection
    token_budget: int = Field(default=2000, ge=0, description="hard upper bound on the rendered context, in tokens")
    selection: Literal["exact", "greedy"] = Field(
        default="exact", description="the best set under the budget, or best first"
    )
    selection_unit: Literal["auto", "unit", "chunk", "span"] = Field(
        default="auto",
        description="what is picked: units (groups of whole sentences), chunks, or spans whole; auto: units with the "
        "calibrated scorer, chunks with the weighted one",
    )
    run_cost: float = Field(
        default=0.25, ge=0, description="gamma: price of one more span, in best units (or chunks) of mean length"
    )
    prefer_fewer_spans: bool = Field(default=True, description="False sets the cost of opening a span to 0")
    min_value: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="price of a token, as a share of the best unit's (or chunk's) value; higher stops early",
    )
    max_spans: int | None = Field(default=None, ge=1, description="most spans in the context")
    max_tokens_per_document: int | None = Field(
        default=None,
        ge=1,
        description="most tokens that are picked of one document; pinned passages and whole parents aside",
    )
    keep_top: int = Field(
        default=0, ge=0, description="show the best n hits whole, best first, as far as they fit the budget"
    )
    dedupe_overlaps: bool = Field(
        default=True, description="drop passages whose text stands in a better one, e.g. a document indexed twice"
    )
    near_duplicate_threshold: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="drop chunks that are almost word for word those of a better one of another document: least "
        "Jaccard similarity of their character trigrams, e.g. 0.9; None keeps them",
    )
    diversity: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="what a chunk loses by how alike a better one of another passage is: its value is multiplied by "
        "1 - diversity * likeness (cosine of embeddings, else common trigrams); 0 is off",
    )
    pinned: Annotated[tuple[Any, ...], BeforeValidator(_as_items)] = Field(
        default=(), description="chunks or spans that always come first; they count in the budget"
    )
    exclude: Annotated[tuple[Any, ...], BeforeValidator(_as_items)] = Field(
        default=(), description="not shown again: texts, spans, chunks, compositions or (doc_id, char_start, char_end)"
    )

    # ---- order and rendering
    ordering_strategy: OrderingStrategy = Field(
        default=OrderingStrategy.EDGE_BALANCED, description="order of the spans"
    )
    start_count: int | None = Field(
        default=None, ge=0, description="edge_balanced: how many of the best come first; needs end_count"
    )
    end_count: int | None = Field(default=None, ge=0, description="edge_balanced: how many of the next best come last")
    position_profile: Annotated[
        InstanceOf[PositionProfile], BeforeValidator(profile_of), PlainSerializer(PositionProfile.to_dict)
    ] = Field(
        default=PROFILES["lost_in_the_middle"],
        description="profile: attention over the context; u_curve, lost_in_the_middle, flat, recency, a saved file or "
        "a PositionProfile",
    )
    chronological_order: TimeOrder = Field(default="asc", description="chronological: asc, oldest first, or desc")
    high_relevance: float = Field(default=0.7, description="relevance_groups: scores from here on are high")
    medium_relevance: float = Field(default=0.4, description="relevance_groups: scores from here on are medium")
    group_by: str | Callable[[Any], Any] = Field(
        default="doc_id",
        description="group_by: field of a span, its metadata or custom metadata, or a callable that reads it",
    )
    order_key: Callable[[Any], Any] | None = Field(
        default=None, description="custom: callable span -> what it is sorted by, smallest first"
    )
    order_seed: int = Field(default=0, description="shuffle: the seed; the same one gives the same order")
    auto_order: AutoSettings | None = Field(
        default=None,
        description="auto: its thresholds, cues, detector and the context window; None: the defaults of AutoSettings",
    )
    context_format: Literal["text", "markdown", "xml"] = Field(
        default="text", description="how compose renders the context"
    )
    numbered: bool = Field(default=True, description="compose puts [1], [2], ... in front of the spans, for citations")
    span_header: Literal["none", "heading", "document", "full"] = Field(
        default="none", description="line above each span: its heading path, its document or both; in the budget"
    )
    gap_markers: bool = Field(
        default=True, description="compose says how much is left out between spans of one document"
    )
    tokenizer: str = Field(
        default="auto",
        description="whose tokens the budget counts: auto, a tiktoken encoding or model, a tokenizer.json, estimate",
    )
    strict: bool = Field(default=False, description="raise at the first bad hit instead of listing it")

    @model_validator(mode="before")
    @classmethod
    def _check_numbers(cls, options: Any) -> Any:
        # pydantic reads True as 1, which nobody means by a budget
        given = options.items() if isinstance(options, dict) else ()
        wrong = [name for name, value in given if isinstance(value, bool) and name in _NUMBERS]
        if wrong:
            raise RetrivexError(f"{wrong[0]} is {options[wrong[0]]}: it must be a number; True and False are none")
        return options

    @model_validator(mode="before")
    @classmethod
    def _fill_pool(cls, options: Any) -> Any:
        # who names a window means it; otherwise it follows the budget, as candidates that cannot fill it lose evidence
        if isinstance(options, dict) and not any(name in options for name in (*WIDTHS, "pool_factor")):
            return {**options, "pool_factor": _POOL_FACTOR}
        return options

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        if self.grow_until is not None and self.max_window < max(self.reach):
            raise RetrivexError(
                f"max_window is {self.max_window}: with grow_until it must be at least the window {self.reach}; "
                "raise max_window or lower window"
            )
        if self.quotas is not None and (not self.quotas or min(self.quotas) < 0 or not 0 < sum(self.quotas) < math.inf):
            raise RetrivexError(f"quotas are {self.quotas}: give one non-negative share per hit list, not all zero")
        self._check_order()
        return self

    def _check_order(self) -> None:
        if (self.start_count is None) != (self.end_count is None):
            raise RetrivexError(
                f"start_count is {self.start_count} and end_count {self.end_count}: give both of them, or neither"
            )
        if self.high_relevance < self.medium_relevance:
            raise RetrivexError(
                f"high_relevance is {self.high_relevance} and medium_relevance {self.medium_relevance}: "
                "high_relevance must be at least medium_relevance"
            )
        if self.ordering_strategy is OrderingStrategy.CUSTOM and self.order_key is None:
            raise RetrivexError("ordering_strategy is 'custom' without an order_key: give order_key=span -> value")

    @property
    def reach(self) -> tuple[int, int]:
        """Neighbours before and after a seed, in chunks."""
        before = self.window if self.before is None else self.before
        after = self.window if self.after is None else self.after
        return before, after

    @property
    def opening_cost(self) -> float:
        """Gamma as the selection uses it."""
        return self.run_cost if self.prefer_fewer_spans else 0.0

    def override(self, **changes: Any) -> RetrievalConfig:
        """Return a checked copy with `changes`; the config itself never changes.

        Examples
        --------
        >>> RetrievalConfig().override(window=0).window
        0
        """
        if any(name in changes for name in WIDTHS):
            changes.setdefault("pool_factor", None)
        return type(self).model_validate({**self.__dict__, **changes}) if changes else self

    @classmethod
    def preset(cls, name: PresetName, **changes: Any) -> RetrievalConfig:
        """Return a named set of options, with `changes` on top.

        `speed` takes one neighbour, scores by the weighted formula and picks greedily, `balanced` is the default,
        `quality` looks further, has more to choose from and swaps in parents, `published` is the behaviour of the first
        published version: whole windows, greedy.

        Raises
        ------
        RetrivexError
            If there is no such preset.
        """
        return cls.model_validate(_changed(_preset_options(name), changes))

    @classmethod
    def from_file(cls, path: str | Path) -> RetrievalConfig:
        """Read a config from JSON or TOML; a `preset` key names the preset to start from.

        A relative path of `coefficients` or of a `position_profile` counts from the folder of the file.

        Raises
        ------
        RetrivexError
            If the file cannot be read, or is neither JSON nor TOML.
        """
        if not isinstance(path, str | Path):
            raise RetrivexError(f"path is {path!r}: give the path of a .json or .toml file")
        import tomllib  # noqa: PLC0415 - few read a config from a file

        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
            options = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
        except (OSError, ValueError) as error:
            raise RetrivexError(f"config file {path} cannot be read: {error}; give a .json or .toml file") from error
        if not isinstance(options, dict):
            raise RetrivexError(f"config file {path} holds {type(options).__name__}: it must hold one table of options")
        if isinstance(options.get("coefficients"), str):
            options["coefficients"] = path.parent / options["coefficients"]
        profile = options.get("position_profile")
        if isinstance(profile, str) and profile not in PROFILES:
            options["position_profile"] = path.parent / profile
        preset = options.pop("preset", "balanced")
        return cls.model_validate(_changed(_preset_options(preset), options))


_NUMBERS = frozenset(
    name
    for name, option in RetrievalConfig.model_fields.items()
    if option.annotation in (int, float, int | None, float | None)
)


def _changed(preset: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return a preset's options with changes on top; who names a window means it, whatever the preset widens to."""
    dropped = "pool_factor" if any(name in changes for name in WIDTHS) else None
    return {**{name: value for name, value in preset.items() if name != dropped}, **changes}


def _preset_options(name: Any) -> dict[str, Any]:
    if not isinstance(name, str) or name not in PRESETS:
        raise RetrivexError(f"preset {name!r} does not exist: choose one of {', '.join(PRESETS)}")
    return PRESETS[name]


PRESETS: dict[str, dict[str, Any]] = {
    "speed": {"window": 1, "scoring": "weighted", "selection": "greedy"},
    "balanced": {},
    "quality": {
        "window": 3,
        "pool_factor": 16.0,
        "return_parents": "auto",
        "grow_until": ("table", "list", "code", "steps"),
    },
    "published": {
        "window": 2,
        "scoring": "weighted",
        "selection": "greedy",
        "selection_unit": "span",
        "run_cost": 0.0,
        "numbered": False,
        "gap_markers": False,
    },
}
