"""Options of earlier versions: accepted for one version with a warning, as what stands for them now."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from pydantic import BaseModel, TypeAdapter, ValidationError

from retrivex.errors import RetrivexError

Fold: TypeAlias = Callable[[Any, Mapping[str, Any]], Mapping[str, Any]]
"""`fold(value, options)`: the options that stand for a retired one, given those that are set beside it."""


class Retired(NamedTuple):
    """What to write instead of an option, and what it is read as."""

    instead: str
    fold: Fold


def read_retired(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options in the form of this version; one warning names all that are of an earlier one.

    Examples
    --------
    >>> read_retired({"window": 2})
    {'window': 2}
    """
    made = {name: value for name, value in options.items() if name not in RETIRED}
    old = [name for name in RETIRED if name in options]
    for name in old:
        made |= RETIRED[name].fold(options[name], made)
    if old:
        named = "; ".join(f"{name}: {RETIRED[name].instead}" for name in old)
        message = f"options of an earlier version, which the next one refuses: {named}"
        warnings.warn(message, FutureWarning, stacklevel=3)
    return made


def _gone(why: str) -> Retired:
    return Retired(f"gone, without effect: {why}", lambda _value, _options: {})


def _half(option: str, place: int, usual: tuple[float, float], way_out: str) -> Retired:
    def fold(value: Any, options: Mapping[str, Any]) -> Mapping[str, Any]:
        given = usual if options.get(option) is None else options[option]
        pair = list(given) if isinstance(given, list | tuple) else [given, given]
        if value is None or len(pair) != 2:
            return {}
        pair[place] = value
        return {option: tuple(pair)}

    return Retired(f"write {way_out}", fold)


def _weight(name: str) -> Retired:
    def fold(value: Any, options: Mapping[str, Any]) -> Mapping[str, Any]:
        given = options.get("weights", {})
        return {"weights": {**dict(given), name: value}} if isinstance(given, Mapping | BaseModel) else {}

    return Retired(f"write weights={{{name!r}: ...}}", fold)


def _fuse(value: Any, options: Mapping[str, Any]) -> Mapping[str, Any]:
    quotas = options.get("quotas") or "equal"
    return {"quotas": None if value == "rrf" else quotas if value == "quota" else value}


def _cover(value: Any, options: Mapping[str, Any]) -> Mapping[str, Any]:
    return {} if options.get("return_parents", "never") == "never" else {"return_parents": value}


def _prefer_fewer(value: Any, _options: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        return {} if TypeAdapter(bool).validate_python(value) else {"run_cost": 0.0}
    except ValidationError:
        raise RetrivexError(
            f"prefer_fewer_spans is {value!r}: it must be true or false; run_cost=0 is its newer name for false"
        ) from None


def _stop_on_pages(value: Any, options: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        return {"stop_on_change": "page"} if TypeAdapter(bool).validate_python(value) else {}
    except ValidationError:
        raise RetrivexError(
            f"stop_on_page_change is {value!r}: it must be true or false; stop_on_change='page' is its newer name"
        ) from None


WEIGHTS = {
    "similarity_weight": "similarity",
    "adjacency_weight": "adjacency",
    "continuity_weight": "continuity",
    "parent_weight": "parent",
    "distance_decay_beta": "decay",
}
"""The options of 0.1.0 that are weights now, and their names among these."""

RETIRED: Mapping[str, Retired] = {
    "selection": _gone("what is worth most per token is chosen first"),
    "reserve_gap_markers": _gone("gap markers are counted where they are written"),
    "prefer_fewer_spans": Retired("write run_cost=0 for false", _prefer_fewer),
    "fusion": Retired("write quotas='equal', or a share per hit list, for 'quota'", _fuse),
    "rrf_k": _gone("reciprocal rank fusion has its published constant, 60"),
    "before": _half("window", 0, (2, 2), "window=(before, after)"),
    "after": _half("window", 1, (2, 2), "window=(before, after)"),
    "heading_level": _gone("heading paths are compared whole; give chunks shorter ones"),
    "min_lexical_continuity": _gone("min_continuity is for chunks without embeddings, too"),
    "continuity_floor": _gone("it lost evidence"),
    "lexical_continuity_floor": _gone("it lost evidence"),
    "stop_on_page_change": Retired("write stop_on_change='page' for true", _stop_on_pages),
    "joiner": _gone("white space that a splitter dropped is guessed"),
    "parent_coverage": Retired("write the share as return_parents", _cover),
    **{name: _weight(weight) for name, weight in WEIGHTS.items()},
    "start_count": _half("edge_counts", 0, (0, 0), "edge_counts=(first, last)"),
    "end_count": _half("edge_counts", 1, (0, 0), "edge_counts=(first, last)"),
    "high_relevance": _half("relevance_levels", 0, (0.7, 0.4), "relevance_levels=(high, medium)"),
    "medium_relevance": _half("relevance_levels", 1, (0.7, 0.4), "relevance_levels=(high, medium)"),
    "order_seed": _gone("shuffle has one order; order_key makes any other"),
}
"""The retired options, in the order in which they are read."""
