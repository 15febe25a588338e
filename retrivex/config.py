"""All options of the composer, grouped by the step that reads them.

`RetrievalConfig` is flat: every option has one name and may be set by itself. It is declared as one class per step, in
the order in which the steps run.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, InstanceOf, PlainSerializer, model_validator

from retrivex.errors import ConfigError, RetrivexError, quoted
from retrivex.model.chunk import Chunk
from retrivex.model.options import Options, suggest
from retrivex.model.renamed import warn_renamed
from retrivex.model.retired import WEIGHTS, read_retired
from retrivex.ordering import PROFILES, AutoSettings, PositionProfile, TimeOrder, profile_of
from retrivex.ordering.strategy import OrderingStrategy
from retrivex.text.files import read_small_file

MAX_NUMBER = 10**15
"""Largest number of an option: beyond it whole numbers are no longer exact as floats."""

MAX_WINDOW = 10_000
"""Upper limit of window sizes, in chunks: longer than documents are, and small enough to bound the memory."""

SIDES = range(MAX_WINDOW + 1)
"""What each side of a window may be, in chunks."""

GrowPolicy: TypeAlias = Literal["table", "list", "code", "steps", "auto"]
GrowUntil: TypeAlias = Callable[[Chunk, Chunk], bool]
"""`grow_until(inner, outer)`: True stops the walk before `outer`, the chunk next to `inner` on the outside."""

Shape: TypeAlias = Annotated[re.Pattern[str], InstanceOf()]
"""A shape of lines: only out of Python, as a request could bring one that takes for ever."""

StopOnChange: TypeAlias = Callable[[Chunk, Chunk], bool]
"""`stop(left, right)`: True lets no window grow across the boundary between two neighbouring chunks."""

Boost: TypeAlias = Callable[[Chunk], float]
"""`boost(chunk)`: what is added to the log-odds of the chunk's units; 0.0 leaves them as they are."""

ScorerName: TypeAlias = Literal["weighted", "calibrated"]

Effort: TypeAlias = Literal["lean", "standard", "full"]
"""How far the budget is filled, see `retrivex.scoring.effort`."""

PresetName: TypeAlias = Literal["speed", "balanced", "quality", "0.2", "published"]


def _as_tuple(value: Any) -> Any:
    one = isinstance(value, (str, re.Pattern))
    return (value,) if one else tuple(value) if isinstance(value, (list, tuple)) else value


def _as_items(value: Any) -> Any:
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def _check_sides(window: int | tuple[int, int]) -> int | tuple[int, int]:
    sides = window if isinstance(window, tuple) else (window,)
    if not all(side in SIDES for side in sides):
        raise RetrivexError(
            f"window is {window}: it must be from 0 to {MAX_WINDOW:,} chunks, or a pair (before, after) of such numbers"
        )
    return window


COMMON_OPTIONS = (
    "token_budget",
    "window",
    "max_spans",
    "ordering_strategy",
    "numbered",
    "context_format",
    "scoring",
    "effort",
    "tokenizer",
    "strict",
)
"""The options that are changed most often; help and documentation show them first."""

WIDTHS = ("window", "before", "after")
"""Options, two of them retired, that set the size of the windows: with one of them, `pool_factor` gets no default."""

_POOL_FACTOR = 8.0  # of the token budget; measured by benchmarks/evidence/__main__.py


class _Options(Options):
    """Options of one step of the composer."""

    model_config = ConfigDict(defer_build=True)


class HitOptions(_Options):
    """Options of the hits: how many are used, what their scores mean, and how several lists become one."""

    k: int | None = Field(default=None, ge=1, description="Use only the best k hits. None uses all of them.")
    score_kind: Literal["similarity", "distance"] = Field(
        default="similarity",
        description="Meaning of the hit scores: with similarity a larger score is better, with distance a smaller one.",
    )
    score_scale: Literal["unbounded", "cosine", "unit"] = Field(
        default="unbounded",
        description="Range of the hit scores: unbounded (BM25, fused scores, logits), cosine (-1 to 1; as a distance "
        "0 to 2) or unit (0 to 1). A hit outside the declared range is dropped and listed.",
    )
    quotas: Literal["equal"] | tuple[Annotated[float, Field(ge=0)], ...] | None = Field(
        default=None,
        description="Share of the token budget for each hit list, in list order, not all 0, or equal. None combines "
        "several lists by reciprocal rank fusion.",
    )


class ExpansionOptions(_Options):
    """Options of the expansion: how many neighbouring chunks are fetched around each hit."""

    window: Annotated[int | tuple[int, int], AfterValidator(_check_sides), SIDES] = Field(
        default=2,
        description="Neighbours fetched on each side of a hit (L), in chunks, or a pair (before, after). 0 switches "
        "expansion off.",
    )
    pool_factor: float | None = Field(
        default=None,
        gt=0,
        le=1000,
        description="Size of the candidate pool of the calibrated scorer, as a multiple of the token budget: windows "
        "widen by up to 40 chunks on each side until it is reached. 8 if window and pool_factor are both left unset; "
        "None keeps the windows as they are set.",
    )
    expand_top: int | None = Field(
        default=None, ge=0, description="Expand only the best n hits. None expands all of them."
    )
    expand_top_documents: int | None = Field(
        default=None, ge=0, description="Expand only the hits of the n best documents. None expands those of all."
    )
    grow_until: GrowUntil | Annotated[tuple[GrowPolicy | Shape, ...], BeforeValidator(_as_tuple)] | None = Field(
        default=None,
        description="Extend windows beyond their size, up to max_window, while a structure continues: any of table, "
        "list, code and steps, compiled patterns of lines, auto (by the question), or a callable (inner chunk, outer "
        "chunk) that returns True to stop.",
    )
    max_window: int = Field(
        default=8, ge=0, le=MAX_WINDOW, description="Most neighbours on each side of a hit with grow_until, in chunks."
    )
    follow_links: int = Field(
        default=0,
        ge=0,
        description="Hops along the links of chunks to other chunks. Each hop is one more request to the store.",
    )


class GuardOptions(_Options):
    """Options of the guards: the boundaries at which the expansion stops."""

    stop_on_heading_change: bool = Field(
        default=True,
        description="Stop at a chunk under another heading path, unless its continuity with its neighbour is high.",
    )
    min_continuity: float = Field(
        default=0.5,
        ge=-1,
        le=1,
        description="Least cosine similarity of the embeddings of two neighbours at which a window may cross a "
        "heading; without embeddings, 0.7 of it is the least share of common words.",
    )
    stop_on_change: Annotated[tuple[str | StopOnChange, ...], BeforeValidator(_as_items)] = Field(
        default=(),
        description="Stop at a chunk whose metadata differ from its neighbour's: names of fields, such as page or one "
        "of your own, or callables (left chunk, right chunk) that return True to stop.",
    )


class MergingOptions(_Options):
    """Options of the merging: how chunks are joined to runs, and when a run becomes its parent."""

    max_gap_chars: int = Field(
        default=4,
        ge=0,
        description="Widest gap between two chunks that is closed, in characters; a wider gap ends the span. A gap of "
        "3 or more characters is closed with a warning: it may have contained a word.",
    )
    return_parents: Literal["never", "auto"] | Annotated[float, Field(gt=0, le=1)] = Field(
        default="never",
        description="auto replaces a span with its parent where half of the parent is covered and the budget allows; "
        "a number is the share of its characters that must be covered.",
    )
    max_parent_chars: int = Field(
        default=2000, ge=0, description="Longest parent that may replace a span, in characters."
    )


class FormulaWeights(_Options):
    """Weights of the weighted formula, w0 to w3, and its decay; see `retrivex.scoring.weighted`."""

    _example: ClassVar[str] = "similarity=1.0"

    similarity: float = Field(default=1.0, ge=0, description="Weight of the best hit's similarity (w0).")
    adjacency: float = Field(default=0.6, ge=0, description="Weight of the distance to the hits (w1).")
    continuity: float = Field(default=0.2, ge=0, description="Weight of the similarity of neighbouring chunks (w2).")
    parent: float = Field(default=0.1, ge=0, description="Weight of covering a whole parent (w3).")
    decay: float = Field(
        default=0.7,
        ge=0,
        description="Decay of a neighbour's value per chunk of distance from its hit (beta). 0 ignores the distance.",
    )


class ScoringOptions(_Options):
    """Options of the scoring: which scorer values the candidates, and its weights."""

    scoring: Literal["auto", "weighted", "calibrated"] = Field(
        default="auto",
        description="calibrated estimates for every group of sentences the probability that it holds evidence, and "
        "needs the question. weighted is the published formula. auto is calibrated whenever the question is given.",
    )
    coefficients: Path | None = Field(
        default=None,
        description="File of coefficients for the calibrated scorer. None takes those that come with RetriVex, 0.2 "
        "those that came with version 0.2.",
    )
    boosts: Annotated[tuple[Boost, ...], BeforeValidator(_as_items)] = Field(
        default=(),
        description="Custom features of the calibrated scorer: each is a callable from a chunk to a number that is "
        "added to the log-odds of the chunk's units, e.g. for recent or trusted documents.",
    )
    hedge: float = Field(
        default=0.9,
        ge=0,
        le=1,
        description="Weight of the nearest-neighbour fallback, which applies where less than 0.7 of the question's "
        "words occur in the candidates: the nearest hit then counts at least this share of the best unit, further hits "
        "down to 0.6 of it. 0 switches it off.",
    )
    weights: FormulaWeights = Field(
        default=FormulaWeights(),
        description="Weights of the weighted formula by name: similarity (w0), adjacency (w1), continuity (w2), parent "
        "(w3), and decay, of a neighbour's value per chunk of distance from its hit (beta). Left out, one is as "
        "published.",
    )


class SelectionOptions(_Options):
    """Options of the selection: how much is selected, and which candidates are preferred or left out."""

    token_budget: int = Field(default=2000, ge=0, description="Hard upper bound on the rendered context, in tokens.")
    effort: Effort = Field(
        default="standard",
        description="When a context stops with the calibrated scorer: standard leaves out what the budget still has "
        "room for where all of it together is expected to hold less than 0.05 % of the evidence, lean less than 10 %. "
        "full fills the budget, and shows all hits whole where they fit it together.",
    )
    selection_unit: Literal["auto", "unit", "chunk", "span"] = Field(
        default="auto",
        description="What is selected: units (groups of whole sentences), chunks, or whole spans. auto takes units "
        "with the calibrated scorer and chunks with the weighted one.",
    )
    run_cost: float = Field(
        default=0.0,
        ge=0,
        description="Price of opening one more span (gamma), in best units (or chunks) of mean length. A higher price "
        "gives fewer, longer spans.",
    )
    min_value: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="Value per token above which a unit (or chunk) may be selected, as a share of the best.",
    )
    max_spans: int | None = Field(default=None, ge=1, description="Most spans in the context. None sets no limit.")
    max_tokens_per_document: int | None = Field(
        default=None,
        ge=1,
        description="Most tokens selected from one document, not counting pinned passages and whole parents.",
    )
    keep_top: int = Field(
        default=0, ge=0, description="Always select the best n hits whole, best first, as far as the budget allows."
    )
    dedupe_overlaps: bool = Field(
        default=True,
        description="Drop passages whose text is contained in a better one, e.g. of a document indexed twice.",
    )
    near_duplicate_threshold: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="Drop chunks that nearly repeat a better chunk of another document: least Jaccard similarity of "
        "their character trigrams, e.g. 0.9. None keeps them.",
    )
    diversity: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="Discount of chunks that resemble a better chunk of another span: the value is multiplied by "
        "1 - diversity * similarity (cosine of embeddings, otherwise common trigrams). 0 switches it off.",
    )
    pinned: Annotated[tuple[Any, ...], BeforeValidator(_as_items)] = Field(
        default=(), description="Chunks or spans that always come first. They count towards the token budget."
    )
    exclude: Annotated[tuple[Any, ...], BeforeValidator(_as_items)] = Field(
        default=(),
        description="What must not be shown again: texts, spans, chunks, compositions or (doc_id, char_start, "
        "char_end).",
    )


class OrderOptions(_Options):
    """Options of the order: the order of the spans in the context, and what each order needs."""

    ordering_strategy: OrderingStrategy = Field(
        default=OrderingStrategy.EDGE_BALANCED,
        description="Order of the spans. edge_balanced puts the best at both ends of the context, where models read "
        "best.",
    )
    edge_counts: tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]] | None = Field(
        default=None,
        description="edge_balanced: number of the best spans that come first, and of the next best that come last.",
    )
    position_profile: Annotated[
        InstanceOf[PositionProfile], BeforeValidator(profile_of), PlainSerializer(PositionProfile.to_dict)
    ] = Field(
        default=PROFILES["lost_in_the_middle"],
        description="profile: attention of the model over the context. u_curve, lost_in_the_middle, flat, recency, "
        "a saved file or a PositionProfile.",
    )
    chronological_order: TimeOrder = Field(
        default="asc", description="chronological: asc puts the oldest first, desc the newest."
    )
    relevance_levels: tuple[float, float] = Field(
        default=(0.7, 0.4), description="relevance_groups: least scores of the groups of high and of medium relevance."
    )
    group_by: str | Callable[[Any], Any] = Field(
        default="doc_id",
        description="group_by: field of a span, of its metadata or of its custom metadata, or a callable that returns "
        "the group of a span.",
    )
    order_key: Callable[[Any], Any] | None = Field(
        default=None, description="custom: callable that returns the sort key of a span; the smallest comes first."
    )
    auto_order: AutoSettings | None = Field(
        default=None,
        description="auto: thresholds, cue words, question detector and context window. None takes the defaults of "
        "AutoSettings.",
    )


class RenderingOptions(_Options):
    """Options of the rendering: how the selected spans become text."""

    context_format: Literal["text", "markdown", "xml"] = Field(
        default="text", description="Format of the rendered context: plain text, Markdown or XML."
    )
    numbered: bool = Field(
        default=True, description="Put [1], [2], ... in front of the spans, so that an answer can cite them."
    )
    span_header: Literal["none", "heading", "document", "full", "chunk"] = Field(
        default="none",
        description="Line above each span: its heading path, its document, both (full), or the header that its first "
        "chunk was indexed with (chunk). It counts towards the token budget.",
    )
    gap_markers: bool = Field(
        default=True, description="Say how much text is left out between two spans of one document."
    )


class RunOptions(_Options):
    """Options of a call as a whole: how tokens are counted, how long stores may take, how bad hits are treated."""

    tokenizer: str = Field(
        default="auto",
        description="Tokenizer that counts the budget: auto, the name of a tiktoken encoding or model, the path of a "
        "tokenizer.json, or estimate.",
    )
    store_timeout_s: float | None = Field(
        default=10.0,
        gt=0,
        description="Most seconds that a store may take; after that the hits are used without neighbours. None waits "
        "without a limit.",
    )
    strict: bool = Field(default=False, description="Raise an error at the first bad hit instead of listing it.")


# pydantic collects the fields of the last base first
class RetrievalConfig(
    RunOptions,
    RenderingOptions,
    OrderOptions,
    SelectionOptions,
    ScoringOptions,
    MergingOptions,
    GuardOptions,
    ExpansionOptions,
    HitOptions,
):
    """All options of the composer, checked together when they are set.

    A config is frozen. Each option may be overridden for one call: `composer.compose(hits, store, token_budget=500)`.

    Raises
    ------
    ConfigError
        A `ValueError` naming the option, the value given and the rule it breaks.

    Examples
    --------
    >>> RetrievalConfig(window=1, token_budget=500).window
    1
    >>> RetrievalConfig.preset("speed").scoring
    'weighted'
    """

    model_config = ConfigDict(defer_build=False)

    _example: ClassVar[str] = "token_budget=2000"

    @classmethod
    def option_groups(cls) -> dict[str, tuple[str, ...]]:
        """Return the names of the options of each step, in the order of the steps.

        Examples
        --------
        >>> list(RetrievalConfig.option_groups())
        ['hits', 'expansion', 'guards', 'merging', 'scoring', 'selection', 'order', 'rendering', 'run']
        >>> RetrievalConfig.option_groups()["run"]
        ('tokenizer', 'store_timeout_s', 'strict')
        """
        return {step: tuple(options.model_fields) for step, options in _STEPS.items()}

    if not TYPE_CHECKING:  # type checkers read the names of the options from the fields

        def __getattr__(self, name: str) -> Any:
            weight = WEIGHTS.get(name)
            if weight is None:
                return super().__getattr__(name)
            warn_renamed(f"config.{name}", f"config.weights.{weight}")
            return getattr(self.weights, weight)

    @model_validator(mode="before")
    @classmethod
    def _check_numbers(cls, options: Any) -> Any:
        # pydantic reads True as 1, which is never meant as a number
        given = options.items() if isinstance(options, dict) else ()
        for name, number in [(name, one) for name, value in given if name in _NUMBERS for one in _numbers_in(value)]:
            if isinstance(number, bool):
                raise RetrivexError(f"{name} is {options[name]}: it must be a number; True and False are none")
            if isinstance(number, int) and abs(number) > MAX_NUMBER:
                raise RetrivexError(f"{name} is {quoted(options[name])}: no number may be beyond {MAX_NUMBER:,}")
        return options

    @model_validator(mode="before")
    @classmethod
    def _read_old_names(cls, options: Any) -> Any:
        if not isinstance(options, dict):
            return options
        kept = read_retired(options)
        if kept.get("run_cost", 0.0) is None:
            del kept["run_cost"]  # what an earlier version wrote for its own default
        return kept

    @model_validator(mode="before")
    @classmethod
    def _fill_pool(cls, options: Any) -> Any:
        # A window that was set is kept. Otherwise windows follow the budget: too few candidates lose evidence.
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
        shares = self.quotas if isinstance(self.quotas, tuple) else (1.0,)
        if not 0 < sum(shares) < math.inf:
            raise RetrivexError(f"quotas are {shares}: give one share per hit list, not all zero")
        self._check_order()
        return self

    def _check_order(self) -> None:
        high, medium = self.relevance_levels
        if high < medium:
            raise RetrivexError(
                f"relevance_levels are {self.relevance_levels}: the level of high relevance, which comes first, must "
                "be at least that of medium relevance"
            )
        if self.ordering_strategy is OrderingStrategy.CUSTOM and self.order_key is None:
            raise RetrivexError("ordering_strategy is 'custom' without an order_key: give order_key=span -> value")

    @property
    def reach(self) -> tuple[int, int]:
        """Neighbours before and after a seed, in chunks."""
        return self.window if isinstance(self.window, tuple) else (self.window, self.window)

    @property
    def parent_coverage(self) -> float:
        """Least share of a parent's characters that must be covered before it replaces a span."""
        return self.return_parents if isinstance(self.return_parents, float) else 0.5

    def override(self, **changes: Any) -> Self:
        """Return a checked copy with `changes`; the config itself never changes.

        Examples
        --------
        >>> RetrievalConfig().override(window=0).window
        0
        """
        if any(name in changes for name in WIDTHS):
            changes.setdefault("pool_factor", None)
        return type(self).model_validate({**self.__dict__, **changes}) if changes else self

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy as pydantic's models do, with changes checked as in `override`.

        Raises
        ------
        ConfigError
            If a name in `update` is no option, or a value breaks its rule.
        """
        changed = self.override(**update) if update else self
        return super(RetrievalConfig, changed).model_copy(deep=deep)

    @classmethod
    def preset(cls, name: PresetName, **changes: Any) -> RetrievalConfig:
        """Return a named set of options, with `changes` on top.

        `speed` fetches one neighbour and scores with the weighted formula. `balanced` is the default.
        `quality` fetches more neighbours, scores more candidates and replaces spans with their parents. `0.2`
        values units as version 0.2 did, and fills the budget. `published` is the behaviour of the first published
        version: whole windows.

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
        ConfigError
            If an option in it does not exist or breaks its rule.
        """
        if not isinstance(path, str | Path):
            raise RetrivexError(f"path is {path!r}: give the path of a .json or .toml file")
        import tomllib  # noqa: PLC0415 - few read a config from a file

        path = Path(path)
        if path.suffix.lower() in {".yaml", ".yml"}:
            raise RetrivexError(f"config file {path} is YAML: write it as .toml or .json, such as token_budget = 1500")
        try:
            text = read_small_file(path).decode("utf-8")
            options = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
        except (OSError, RecursionError, ValueError) as error:
            said = error.strerror if isinstance(error, OSError) else error
            raise RetrivexError(f"config file {path} cannot be read: {said}; give a .json or .toml file") from error
        if not isinstance(options, dict):
            raise RetrivexError(f"config file {path} holds {type(options).__name__}: it must hold one table of options")
        if isinstance(options.get("coefficients"), str):
            options["coefficients"] = path.parent / options["coefficients"]
        profile = options.get("position_profile")
        if isinstance(profile, str) and profile not in PROFILES:
            options["position_profile"] = path.parent / profile
        preset = options.pop("preset", "balanced")
        try:
            return cls.model_validate(_changed(_preset_options(preset), options))
        except ConfigError as error:
            raise ConfigError(f"config file {path}: {error}") from None


def check_config(given: Any) -> RetrievalConfig:
    """Return `given` if it is a config, and the default one for None.

    Raises
    ------
    ConfigError
        If it is anything else.
    """
    if given is None or isinstance(given, RetrievalConfig):
        return RetrievalConfig() if given is None else given
    raise ConfigError(
        f"config is {type(given).__name__} {quoted(given)}: it must be a RetrievalConfig, as in "
        "RetrievalConfig(token_budget=2000)"
    )


def refuse_unknown(kind: str, known: Iterable[str], given: Mapping[str, Any]) -> None:
    """Refuse arguments that a class with a config does not know: most often they are options of the config.

    Parameters
    ----------
    kind : name of the class
    known : names of its arguments
    given : arguments by name, whose names it may not know

    Raises
    ------
    ConfigError
        If there is one that it does not know.
    """
    own = set(known)
    for name in given:
        if name in own:
            continue
        options = RetrievalConfig.model_fields
        if name in options:
            raise ConfigError(f"{name}: {kind} takes it as an option of its config, RetrievalConfig({name}=...)")
        way_out = suggest(name, [*own, *options], f"{kind} and RetrievalConfig")
        raise ConfigError(f"{name}: {kind} takes no such argument; {way_out}")


_STEPS: dict[str, type[_Options]] = {
    "hits": HitOptions,
    "expansion": ExpansionOptions,
    "guards": GuardOptions,
    "merging": MergingOptions,
    "scoring": ScoringOptions,
    "selection": SelectionOptions,
    "order": OrderOptions,
    "rendering": RenderingOptions,
    "run": RunOptions,
}


_NUMBERS = frozenset(
    name
    for name, option in RetrievalConfig.model_fields.items()
    if re.search(r"\b(int|float|FormulaWeights)\b", str(option.annotation))
)


def _numbers_in(value: Any) -> Iterable[Any]:
    """Return the numbers of an option: itself, or those of a pair, a list or a mapping."""
    return value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else (value,)


def _changed(preset: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return a preset's options with `changes` on top; a window among them drops the preset's `pool_factor`."""
    dropped = "pool_factor" if any(name in changes for name in WIDTHS) else None
    return {**{name: value for name, value in preset.items() if name != dropped}, **changes}


def _preset_options(name: Any) -> dict[str, Any]:
    if not isinstance(name, str) or name not in PRESETS:
        raise RetrivexError(f"preset {name!r} does not exist: choose one of {', '.join(map(repr, PRESETS))}")
    return PRESETS[name]


PRESETS: dict[str, dict[str, Any]] = {
    "speed": {"window": 1, "scoring": "weighted"},
    "balanced": {},
    "quality": {
        "window": 3,
        "pool_factor": 16.0,
        "return_parents": "auto",
        "grow_until": ("table", "list", "code", "steps"),
    },
    "0.2": {"coefficients": Path("0.2"), "effort": "full"},
    "published": {
        "window": 2,
        "scoring": "weighted",
        "selection_unit": "span",
        "numbered": False,
        "gap_markers": False,
    },
}
