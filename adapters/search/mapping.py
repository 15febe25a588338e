"""The mapping of an Elasticsearch or OpenSearch index: which fields can be filtered by, and how."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Fields: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Definitions of the fields of one index by their full path."""

_EXACT = frozenset({"keyword", "constant_keyword", "wildcard", "flattened", "flat_object", "icu_collation_keyword"})
FLAT = frozenset({"flattened", "flat_object"})
_WORDS = frozenset({"text", "match_only_text", "search_as_you_type", "annotated_text"})
NUMBERS = frozenset(
    {"long", "integer", "short", "byte", "double", "float", "half_float", "scaled_float", "unsigned_long"}
)


@dataclass(frozen=True, slots=True)
class IndexMapping:
    """The mapping of the index, or of all indices behind an alias.

    Parameters
    ----------
    indices : one for each index
    """

    indices: tuple[Fields, ...] = field(default_factory=tuple)

    @classmethod
    def read(cls, answer: Mapping[str, Any]) -> IndexMapping:
        """Make one of what the server answers."""
        mappings = [index.get("mappings", {}) for index in answer.values()]
        return cls(tuple({**dict(_flatten(known)), **known.get("runtime", {})} for known in mappings))

    def definition(self, path: str) -> Mapping[str, Any] | None:
        """Return how a field is mapped; None where it is not."""
        return next((fields[path] for fields in self.indices if path in fields), None)

    def kinds(self, path: str) -> frozenset[str]:
        """Return the types of a field in the indices; none where it lies in a flattened object."""
        return frozenset(str(fields[path].get("type")) for fields in self.indices if path in fields)

    def exact(self, path: str) -> tuple[str, ...]:
        """Return the fields of which one holds the value of `path` letter by letter; none where there is no such field.

        A text comes apart into words, so that it is not its field that is asked but the keyword beside it, as in
        `source.keyword`.
        """
        known = {_find_exact(fields, path) for fields in self.indices if _is_mapped(fields, path)}
        only = known.pop() if len(known) == 1 else None
        return () if only is None else (only,)

    def is_mapped(self, path: str) -> bool:
        """Whether an index has the field."""
        return any(_is_mapped(fields, path) for fields in self.indices)

    def folds(self, path: str) -> bool:
        """Whether a field may keep letters as others, such as capitals as small ones."""
        return any(mark in str(self.definition(path)) for mark in ("'normalizer'", "icu_collation"))

    def is_number(self, path: str) -> bool:
        """Whether ranges of the field are ranges of numbers."""
        return (self.definition(path) or {}).get("type") in NUMBERS

    def vectors(self) -> tuple[str, ...]:
        """Return the fields that hold vectors."""
        kinds = ("dense_vector", "knn_vector")
        found = {path for fields in self.indices for path, known in fields.items() if known.get("type") in kinds}
        return tuple(sorted(found))

    def advice(self, doc_id: str, chunk_id: str) -> str | None:
        """Say what is missing before neighbours can be asked for by document and number; None where nothing is."""
        unmapped = [path for path in (doc_id, chunk_id) if not self.is_mapped(path)]
        if unmapped:
            return (
                f"no record has {' or '.join(unmapped)}: name the fields with fields=FieldMap(...), or write them with "
                "`retrivex backfill`"
            )
        wrong = [path for path in (doc_id, chunk_id) if not self.exact(path)]
        if wrong:
            return (
                f"{' and '.join(wrong)} cannot be matched letter by letter: put a keyword field beside it into the "
                'mapping, "fields": {"keyword": {"type": "keyword"}}, and run _update_by_query'
            )
        return None


def _flatten(mapping: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    if mapping.get("dynamic") in (False, "false"):  # what is below it may be kept and not mapped
        yield above.removesuffix("."), {"type": "object"}
    for name, known in mapping.get("properties", {}).items():
        path = f"{above}{name}"
        if "properties" in known and known.get("type") != "nested":  # what is nested cannot be asked like the rest
            yield from _flatten(known, f"{path}.")
        else:
            yield path, known


def list_parents(path: str) -> Iterator[str]:
    """Yield the paths above another, from the inside out; the record itself has an empty one."""
    while path:
        path = path.rpartition(".")[0]
        yield path


def _is_mapped(fields: Fields, path: str) -> bool:
    return path in fields or any(fields.get(above, {}).get("type") in FLAT for above in list_parents(path))


def _find_exact(fields: Fields, path: str) -> str | None:
    known = fields.get(path)
    if known is None or known.get("type") in _EXACT or known.get("type") in NUMBERS:
        return path  # without a definition of its own it lies in a flattened object
    if known.get("type") not in _WORDS:
        return None
    beside = (name for name, inner in known.get("fields", {}).items() if inner.get("type") in _EXACT)
    return next((f"{path}.{name}" for name in beside), None)
