"""The fields of an Elasticsearch or OpenSearch index, found by name in its mapping."""

from __future__ import annotations

import math
from dataclasses import dataclass

from retrivex.adapters.base.collection import ByWindows, Nearest, Request, Scopes
from retrivex.adapters.base.fields import FieldMap
from retrivex.errors import StoreError

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
    index : its name
    product : whose index it is, in errors
    """

    mapping: IndexMapping
    names: FieldMap
    vector_name: str | None
    index: str
    product: str

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
        guessed = self.mapping.problem is not None
        match request:
            case Matching():
                text = self.path("text")
                if text is None or not self.mapping.is_mapped(text):
                    return f"{self._name} has no text in {text!r}: name the field with fields=FieldMap(text=...)"
            case Nearest():
                vectors = self.mapping.vectors()
                if self.vector is None or (self.vector not in vectors and not guessed):
                    return (
                        f"{self._name} has no vectors in {self.vector!r}: give vector_name=... "
                        f"(its vector fields: {', '.join(vectors) or 'none'})"
                    )
            case ByWindows() if not guessed:
                return self.advice()
        return None

    def advice(self) -> str | None:
        """Say how the document and the chunk number must be mapped; None where they are."""
        doc_id, chunk_id = self.path("doc_id"), self.path("chunk_id")
        if doc_id is None or chunk_id is None:
            return None
        advice = self.mapping.advice(self.index, doc_id, chunk_id)
        return None if advice is None else f"{self._name}: {advice}"

    def unfindable(self, request: ByWindows) -> str | None:
        """Say which documents have names too long for the index; None where all of them can be found."""
        path = self.path("doc_id")
        limits = {exact: self.mapping.longest(exact) for exact in (() if path is None else self.mapping.exact(path))}
        exact, limit = min(limits.items(), key=lambda item: item[1], default=("", math.inf))
        long = [window.doc_id for window in request.windows if _units(window.doc_id) > limit]
        if not long:
            return None
        return (
            f"{self._name}: {exact} leaves out what is longer than {limit:g} characters (ignore_above), so that "
            f"nothing of {long[0][:60]!r}... is found; map it without ignore_above, or ask by ids with make_id=..."
        )

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
                    f"{self._name}: {path} cannot be matched letter by letter; map it as a keyword, or say "
                    "fields=FieldMap(scope=()) if it is no scope"
                )
            exact = (path, f"{path}.keyword")  # it may be written after the mapping was read
        return in_scope(path, exact, scopes)

    @property
    def _name(self) -> str:
        return f"{self.product} index {self.index!r}"


def _units(name: str) -> int:
    """Count as `ignore_above` does: a letter beyond the basic plane is two."""
    return len(name.encode("utf-16-le", "surrogatepass")) // 2
