"""The properties of a Weaviate collection, and the filters that they allow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from weaviate.classes.config import DataType, Property, Tokenization
from weaviate.classes.query import Filter
from weaviate.collections.classes.filters import FilterReturn

from retrivex.errors import StoreError
from retrivex.model.window import Window

from ..base.collection import by_range
from ..base.fields import FieldMap
from ..base.where import ROUNDED, Dialect, FieldTest, Pushed

_NUMBERS = (DataType.INT, DataType.NUMBER)
# Of Weaviate's preset "en": many servers refuse to look for one of them alone, also in texts that are kept whole, see
# https://github.com/weaviate/weaviate/issues/9054.
_STOPWORDS = frozenset({
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not", "of",
    "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will",
    "with",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Properties:
    """The properties of a collection, references aside, by name.

    Parameters
    ----------
    types : what each one holds
    exact : texts whose index keeps them whole (tokenization "field"): others are filtered by their words
    filterable : those with an index for filters
    knows_missing : whether the index knows which objects lack a property
    metrics : distance of the nearest neighbours, by name of the vector; "default" where it has none
    """

    types: dict[str, DataType]
    exact: frozenset[str]
    filterable: frozenset[str]
    knows_missing: bool
    metrics: dict[str, str]


def read_properties(config: Any) -> Properties:
    """Read the configuration of a collection."""
    named = config.vector_config
    indexes = (
        {"default": config.vector_index_config} if named is None else {n: named[n].vector_index_config for n in named}
    )
    return Properties(
        types={p.name: p.data_type for p in config.properties},
        exact=frozenset(
            p.name for p in config.properties if p.data_type is DataType.UUID or p.tokenization is Tokenization.FIELD
        ),
        filterable=frozenset(p.name for p in config.properties if p.index_filterable or p.index_range_filters),
        knows_missing=config.inverted_index_config.index_null_state,
        metrics={name: str(index.distance_metric.value) for name, index in indexes.items() if index is not None},
    )


def by_windows(windows: Sequence[Window], doc_id: str, chunk_id: str, known: Properties) -> FilterReturn:
    """Return the filter for what lies in one of these windows; documents of the same range are put together.

    Raises
    ------
    StoreError
        If the chunk number is no number there.
    """
    type_ = known.types[chunk_id]
    if type_ not in _NUMBERS:
        raise StoreError(
            f"{chunk_id!r} is of type {type_.value}: ranges need int or number; write numbers into another property, "
            "or say how ids are made with make_id=uuid5_id"
        )
    as_number = float if type_ is DataType.NUMBER else int  # the wrong one of the two is refused
    number = Filter.by_property(chunk_id)
    return Filter.any_of(
        [
            Filter.all_of(
                [
                    Filter.by_property(doc_id).contains_any(names),
                    number.greater_or_equal(as_number(start)),
                    number.less_than(as_number(end)),
                ]
            )
            for (start, end), names in by_range(windows).items()
        ]
    )


def by_scopes(scopes: frozenset[str | None], scope: str | None, known: Properties) -> FilterReturn | None:
    """Return the filter for these scopes; None where the server cannot apply it exactly, or need not."""
    if scope not in known.types or scope not in known.exact or scope not in known.filterable:
        return None
    if None in scopes and not known.knows_missing:
        return None
    if any(value.strip().lower() in _STOPWORDS for value in scopes if value is not None):
        return None
    # an empty text has no entry in the index, and asking for one is an error
    given = sorted(value for value in scopes if value is not None and value.strip())
    terms: list[FilterReturn] = [Filter.by_property(scope).contains_any(given)] if given else []
    if None in scopes:
        terms.append(Filter.by_property(scope).is_none(True))
    return Filter.any_of(terms) if terms else None


class WeaviateDialect(Dialect[FilterReturn]):
    """Filters of Weaviate: equal texts, and numbers; a text that is indexed by its words finds others, too."""

    def __init__(self, known: Properties, fields: FieldMap) -> None:
        self._known, self._fields = known, fields

    def test(self, test: FieldTest) -> Pushed[FilterReturn]:
        """Translate one test."""
        paths = test.paths(self._fields)
        path = next((one for one in paths if one in self._known.types), None)
        if path is None:
            is_inside = any(one.partition(".")[0] in self._known.types for one in (*paths, test.field))
            return Pushed(None if is_inside or test.missing else Filter.by_id().equal(_NOBODY), False)
        asked = Filter.by_property(path)
        either = None if path not in self._known.filterable else self._holds(test, path, self._known.types[path])
        if either is None or (test.missing and not self._known.knows_missing):
            return Pushed(None, False)
        missing = [asked.is_none(True)] if test.missing else []
        return Pushed(Filter.any_of([*either, *missing] or [Filter.by_id().equal(_NOBODY)]), False)

    def _holds(self, test: FieldTest, path: str, kind: DataType) -> list[FilterReturn] | None:
        asked = Filter.by_property(path)
        if kind is DataType.BOOL:
            return [asked.equal(truth) for truth in test.truths]
        if kind is DataType.TEXT and test.bounds is None and not test.titles:
            words = [set(re.findall(r"[^\W_]+", text.lower())) - _STOPWORDS for text in test.texts]
            return [asked.equal(text) for text in test.texts] if all(words) else None
        if kind not in _NUMBERS:
            return None
        as_number = float if kind is DataType.NUMBER else int  # the wrong one of the two is refused
        if test.bounds is None:
            held = [as_number(value) for value in test.numbers if value == as_number(value)]
            return [asked.contains_any(held)] if held else []
        if test.is_of_texts:
            return []
        given = test.loosened if test.is_rounded and as_number is float else test.bounds
        bounds = {op: bound if as_number is float else ROUNDED[op](bound) for op, bound in given.items()}
        return [Filter.all_of([getattr(asked, _BOUNDS[op])(as_number(bound)) for op, bound in bounds.items()])]

    def any_of(self, conditions: Sequence[FilterReturn]) -> FilterReturn:
        """Join conditions of which one must hold."""
        return Filter.any_of(list(conditions))

    def all_of(self, conditions: Sequence[FilterReturn]) -> FilterReturn:
        """Join conditions that must hold together."""
        return Filter.all_of(list(conditions))


_BOUNDS = {"min": "greater_or_equal", "max": "less_or_equal", "above": "greater_than", "below": "less_than"}
_NOBODY = "00000000-0000-0000-0000-000000000000"


def property_for(name: str, value: Any) -> Property:
    """Return a property that can hold `value`, and be filtered by."""
    if isinstance(value, str):
        return Property(name=name, data_type=DataType.TEXT, tokenization=Tokenization.FIELD)
    if isinstance(value, bool):
        return Property(name=name, data_type=DataType.BOOL)
    if isinstance(value, int):
        return Property(name=name, data_type=DataType.INT, index_range_filters=True)
    return Property(name=name, data_type=DataType.NUMBER if isinstance(value, float) else DataType.TEXT_ARRAY)
