"""The fields of an Elasticsearch or OpenSearch index, found by name in its mapping."""

from __future__ import annotations

from dataclasses import dataclass

from retrivex.errors import StoreError

from ..base.collection import ByWindows, Nearest, Request, Scopes
from ..base.fields import FieldMap
from .mapping import IndexMapping
from .query import Clause, in_scope
from .requests import Matching


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
            case Matching():
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
