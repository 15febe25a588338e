"""The properties of a Weaviate collection, and the filters that they allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from weaviate.classes.config import DataType, Property, Tokenization
from weaviate.classes.query import Filter
from weaviate.collections.classes.filters import FilterReturn

from retrivex.errors import StoreError
from retrivex.model.window import Window

from ..base.collection import by_range

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


def property_for(name: str, value: Any) -> Property:
    """Return a property that can hold `value`, and be filtered by."""
    if isinstance(value, str):
        return Property(name=name, data_type=DataType.TEXT, tokenization=Tokenization.FIELD)
    if isinstance(value, bool):
        return Property(name=name, data_type=DataType.BOOL)
    if isinstance(value, int):
        return Property(name=name, data_type=DataType.INT, index_range_filters=True)
    return Property(name=name, data_type=DataType.NUMBER if isinstance(value, float) else DataType.TEXT_ARRAY)
