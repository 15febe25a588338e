"""The fields of an Elasticsearch or OpenSearch index, found by name in its mapping."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from retrivex.errors import StoreError

from ..base.collection import ByWindows, Nearest, Request, Scopes
from ..base.fields import FieldMap
from ..base.where import Dialect, FieldTest, Group, Pushed
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
            places = (above for one in (*paths, test.field) for above in (one, *list_parents(one)))
            is_inside = any(map(mapping.is_mapped, places))
            return Pushed(None if is_inside else {"match_all" if test.missing else "match_none": {}}, not is_inside)
        kinds = mapping.kinds(path)
        kind, exact = next(iter(kinds), "flattened"), mapping.exact(path)
        if len(kinds) > 1 or kind in _COARSE or mapping.folds(path) or not (exact or kind == "boolean"):
            return Pushed(None, False)
        rounds = kind == "float" or (kind == "double" and test.is_rounded)
        if rounds and test.bounds is not None and not test.is_of_texts:
            test = replace(test, bounds=test.loosened)
        nowhere: Clause = {"bool": {"must_not": [{"exists": {"field": path}}]}}
        if test.titles:  # of a list; a path in one text begins with a slash
            listed = all_of([named(exact, [title]) for title in test.titles])
            return Pushed(any_of([listed, {"prefix": {exact[0]: {"value": "/"}}}, nowhere]), False)
        either: list[Clause] | None
        is_short = kind in NUMBERS or test.bounds is None
        if kind in NUMBERS or kind == "boolean":
            either = _of_numbers(test, path, kind)
        elif test.bounds is not None:
            either = None if kind in FLAT else _of_texts(test, exact[0])
        else:
            numbers = dict.fromkeys(repr(kept) for value in test.numbers for kept in (value, float(value)))
            values = [*test.texts, *numbers, *(str(t).lower() for t in test.truths)]
            either = [named(exact, values)] if values else []
            is_short = all(len(text) <= _SHORT for text in values)
            rounds = any(set(text) <= _OF_NUMBERS for text in values)  # it may be a text or a number there
        if either is None:
            return Pushed(None, False)
        if not is_short and exact:  # a keyword leaves out what is longer
            either.append({"term": {"_ignored": exact[0]}})
        missing = [nowhere] if test.missing else []  # or a list of nothing
        return Pushed(self.any_of([*either, *missing]), is_short and not rounds and not missing)

    def any_of(self, conditions: Sequence[Clause]) -> Clause:
        """Join conditions of which one must hold."""
        return any_of(conditions) if conditions else {"match_none": {}}

    def all_of(self, conditions: Sequence[Clause]) -> Clause:
        """Join conditions that must hold together."""
        return all_of(conditions)

    def negate(self, condition: Clause) -> Clause:
        """Return the condition that the other one does not hold."""
        return {"bool": {"must_not": [condition]}}


_SHORT = 256  # characters that a keyword which dynamic mapping puts beside a text keeps
_COARSE = frozenset({"half_float", "scaled_float"})  # which round in a way of their own
_OF_NUMBERS = frozenset("0123456789+-.eEtrufals")
_LARGEST = {"byte": 2**7, "short": 2**15, "integer": 2**31, "long": 2**63}
_BOUNDS = {"min": "gte", "max": "lte", "above": "gt", "below": "lt"}


def _of_numbers(test: FieldTest, path: str, kind: str) -> list[Clause] | None:
    """Return the clauses of which one must hold; None for bounds beyond the field, which are an error there."""
    if kind == "boolean":
        return [{"terms": {path: list(test.truths)}}] if test.truths else []
    most = _LARGEST.get(kind)
    if test.bounds is not None and not test.is_of_texts:
        numbers = ((op, one) for op, one in test.bounds.items() if not isinstance(one, str))
        held = {_BOUNDS[op]: one for op, one in numbers if most is None or -most <= one < most}
        return [{"range": {path: held}}] if len(held) == len(test.bounds) else None
    terms = [value for value in test.numbers if most is None or (isinstance(value, int) and -most <= value < most)]
    return [{"terms": {path: terms}}] if terms else []


def _of_texts(test: FieldTest, path: str) -> list[Clause] | None:
    """Return the clause of bounds on texts; None for numbers, which keep no order there, and for long patterns."""
    if not test.is_of_texts:
        return None
    parts: list[Clause] = []
    for op, bound in (test.bounds or {}).items():
        text = str(bound)
        if op in _BOUNDS:
            parts.append({"range": {path: {_BOUNDS[op]: text}}})
        elif len(text) > _SHORT:
            return None
        elif op == "starts":
            parts.append({"prefix": {path: {"value": text}}})
        else:
            escaped = re.sub(r"([*?\\])", r"\\\1", text)
            parts.append({"wildcard": {path: {"value": f"*{escaped}{'*' if op == 'contains' else ''}"}}})
    return [all_of(parts)]
