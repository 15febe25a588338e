"""The fields of an Elasticsearch or OpenSearch index, found by name in its mapping."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from retrivex.errors import StoreError

from ..base.collection import ByWindows, Nearest, Request, Scopes
from ..base.fields import FieldMap
from ..base.where import Dialect, FieldTest, Group, Pushed, whole_bounds
from .mapping import FLAT, NUMBERS, IndexMapping, list_parents
from .query import Clause, all_of, any_of, in_scope, named


@dataclass(frozen=True, slots=True)
class IndexFields:
    """The location of each value in an index.

    Parameters
    ----------
    mapping : of the index
    names : what fields may be called
    vector_name : the field of the vector; None takes the first in `names` that is there
    name : what errors call the index
    """

    mapping: IndexMapping
    names: FieldMap
    vector_name: str | None
    name: str

    def path(self, name: str) -> str | None:
        """Return the field for `name`: the first that the index has, as records are read by the first they have."""
        paths = self.names.paths(name)
        return next((path for path in paths if self.mapping.is_mapped(path)), self.names.path(name))

    @property
    def vector(self) -> str | None:
        """The field of the vector."""
        return self.vector_name or self.path("embedding")

    def lacks(self, request: Request) -> str | None:
        """Say what the index lacks to answer the request; None where it lacks nothing, or nothing is known."""
        match request:
            case Nearest(search="words"):
                text = self.path("text")
                if text is None or not self.mapping.is_mapped(text):
                    return f"{self.name} has no text in {text!r}: name the field with fields=FieldMap(text=...)"
            case Nearest():
                vectors = self.mapping.vectors()
                if self.vector is None or self.vector not in vectors:
                    return (
                        f"{self.name} has no vectors in {self.vector!r}: give vector_name=... "
                        f"(its vector fields: {', '.join(vectors) or 'none'})"
                    )
            case ByWindows():
                doc_id, chunk_id = self.path("doc_id"), self.path("chunk_id")
                advice = self.mapping.advice(doc_id, chunk_id) if doc_id and chunk_id else None
                return None if advice is None else f"{self.name}: {advice}"
        return None

    def in_scope(self, scopes: Scopes) -> list[Clause]:
        """Return what matches records that `scopes` may see.

        Raises
        ------
        StoreError
            If the values of the scope cannot be distinguished.
        """
        path = self.path("scope")
        exact = () if path is None else self.mapping.exact(path)
        if path is not None and not exact:
            if self.mapping.is_mapped(path) and scopes - {None}:
                raise StoreError(
                    f"{self.name}: {path} cannot be matched letter by letter; map it as a keyword, or say "
                    "fields=FieldMap(scope=()) if it is no scope"
                )
            exact = (path, f"{path}.keyword")  # it may be written after the mapping was read
        return in_scope(path, exact, scopes)

    def has(self, part: Group | FieldTest | None) -> bool:
        """Say whether the fields that a filter names are in the mapping as it was read."""
        if isinstance(part, FieldTest):
            return any(map(self.mapping.is_mapped, part.paths(self.names)))
        return part is None or all(map(self.has, part.parts))


class SearchDialect(Dialect[Clause]):
    """Filters of Elasticsearch and OpenSearch, as fields are mapped."""

    def __init__(self, known: IndexFields) -> None:
        self._known = known

    def test(self, test: FieldTest) -> Pushed[Clause]:
        """Translate one test."""
        mapping, paths = self._known.mapping, test.paths(self._known.names)
        path = next(filter(mapping.is_mapped, paths), None)
        if path is None:  # it may be kept where nothing is mapped, or in an object or a text of JSON above it
            places = {above for one in (*paths, test.field) for above in (one, *list_parents(one))}
            none: Clause = {"match_all" if test.missing else "match_none": {}}
            return Pushed(None, False) if any(map(mapping.is_mapped, places)) else Pushed(none)
        kinds = mapping.kinds(path)
        kind, exact = next(iter(kinds), "flattened"), mapping.exact(path)
        if len(kinds) > 1 or not (exact or kind == "boolean"):
            return Pushed(None, False)
        most, is_folded = mapping.keeps(path)
        rounds = kind == "float" or (kind == "double" and test.is_rounded)
        if rounds and test.bounds is not None and not test.is_of_texts:
            test = replace(test, bounds=test.loosened)
        nowhere: Clause = {"bool": {"must_not": [{"exists": {"field": path}}]}}
        if test.titles:  # of a list; a path in one text begins with a slash
            listed = all_of([named(exact, [title]) for title in test.titles])
            return Pushed(any_of([listed, {"prefix": {exact[0]: {"value": "/"}}}, nowhere]), False)
        either: list[Clause] | None
        values: list[str] = []
        if kind in NUMBERS or kind == "boolean":
            either = _of_numbers(test, path, kind)
        elif test.bounds is not None:
            either = None if kind in FLAT or is_folded else _of_texts(test, exact[0])
        else:
            numbers = {repr(kept) for value in test.numbers for kept in (value, float(value))}
            values = [*test.texts, *sorted(numbers), *(str(t).lower() for t in test.truths)]
            either = [named(exact, values)] if values else []
        if either is None:
            return Pushed(None, False)
        is_whole = most is None or (test.bounds is None and all(len(text) <= most for text in values))
        if not is_whole:  # a keyword leaves out what is longer
            either.append({"term": {"_ignored": exact[0]}})
        if test.missing:  # or a list of nothing
            either.append(nowhere)
        is_mixed = kind not in NUMBERS and _may_be_number(test)
        is_exact = not (rounds or is_folded or test.missing or is_mixed)
        return Pushed(self.any_of(either), is_exact and is_whole)

    def any_of(self, conditions: Sequence[Clause]) -> Clause:
        """Join conditions of which one must hold."""
        return any_of(conditions) if conditions else {"match_none": {}}

    def all_of(self, conditions: Sequence[Clause]) -> Clause:
        """Join conditions that must hold together."""
        return all_of(conditions)

    def negate(self, condition: Clause) -> Clause:
        """Return the condition that the other one does not hold."""
        return {"bool": {"must_not": [condition]}}


_LONGEST = 256  # characters of a pattern
_OF_NUMBERS = frozenset("0123456789+-.eEtrufals")
_WIDTHS = {"byte": 7, "short": 15, "integer": 31, "long": 63}
_BOUNDS = {"min": "gte", "max": "lte", "above": "gt", "below": "lt"}


def _may_be_number(test: FieldTest) -> bool:
    """Whether a keyword may be a number or a truth value in the record that fits: the index has them as texts."""
    bounds = test.bounds or {}
    if test.numbers or bounds.keys() & _BOUNDS.keys():
        return True
    return any(set(str(text)) <= _OF_NUMBERS for text in (*test.texts, *bounds.values()))


def _of_numbers(test: FieldTest, path: str, kind: str) -> list[Clause] | None:
    """Return the clauses of which one must hold; None where the field rounds in a way of its own."""
    if kind in ("half_float", "scaled_float"):
        return None
    if kind == "boolean":
        return [{"terms": {path: list(test.truths)}}] if test.truths else []
    width = _WIDTHS.get(kind)
    low, high = (0, 2**64 - 1) if width is None else (-(2**width), 2**width - 1)
    is_whole = kind in _WIDTHS or kind == "unsigned_long"
    if test.bounds is None:
        held = [value for value in test.numbers if not is_whole or (isinstance(value, int) and low <= value <= high)]
        return [{"terms": {path: held}}] if held else []
    bounds = whole_bounds(test.bounds, low, high) if is_whole and not test.is_of_texts else test.bounds
    if test.is_of_texts or bounds is None:
        return []
    limits = {_BOUNDS[op]: one for op, one in bounds.items()}
    return [{"range": {path: limits}} if limits else {"exists": {"field": path}}]


def _of_texts(test: FieldTest, path: str) -> list[Clause] | None:
    """Return the clause of bounds on texts; None for numbers, which keep no order there, and for long patterns."""
    if not test.is_of_texts:
        return None
    parts: list[Clause] = []
    for op, bound in (test.bounds or {}).items():
        text = str(bound)
        if op in _BOUNDS:
            parts.append({"range": {path: {_BOUNDS[op]: text}}})
        elif len(text) > _LONGEST:
            return None
        elif op == "starts":
            parts.append({"prefix": {path: {"value": text}}})
        else:
            escaped = re.sub(r"([*?\\])", r"\\\1", text)
            parts.append({"wildcard": {path: {"value": f"*{escaped}{'*' if op == 'contains' else ''}"}}})
    return [all_of(parts)]
