"""Requests as arguments of Weaviate's client, and its answers as records."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from weaviate.classes.query import Filter, MetadataQuery
from weaviate.collections.classes.filters import FilterReturn

from retrivex.errors import StoreError

from ..base.collection import ByIds, ByWindows, Nearest, Record, Records, Request, Scan, Scopes, visible, within
from ..base.fields import FieldMap
from .properties import Properties, WeaviateDialect, by_scopes, by_windows

MOST_RECORDS = 10_000
"""That one request gives: QUERY_MAXIMUM_RESULTS of a server, unless it was set otherwise."""

_OVERFETCH = 4


@dataclass(frozen=True, slots=True)
class WeaviateQuery:
    """Builds the arguments of requests to one collection.

    Parameters
    ----------
    fields : names that are looked for
    known : the properties that it has
    name : what errors call it
    vector_name : the named vector that is searched; None where vectors have no names
    include : which vectors come with the records
    """

    fields: FieldMap
    known: Properties
    name: str
    vector_name: str | None
    include: bool | list[str]

    def path(self, name: str) -> str | None:
        """Return the property for `name`: the first that the collection has."""
        paths = self.fields.paths(name)
        return next((path for path in paths if path in self.known.types), self.fields.path(name))

    # ---- there

    def call(self, request: Request) -> tuple[str, dict[str, Any]]:
        """Return the method of the client and its arguments; without a limit a server gives ten records."""
        arguments: dict[str, Any] = {"limit": self.limit(request), "include_vector": self.include}
        match request:
            case ByIds(ids, scopes):
                # as the client's own fetch_objects_by_ids, which takes no other filter beside the ids
                wanted = Filter.any_of([Filter.by_id().equal(as_uuid(id_, self.name)) for id_ in ids])
                return "fetch_objects", arguments | {"filters": self._restrict(wanted, scopes)}
            case ByWindows(windows, scopes):
                wanted = by_windows(windows, self._property("doc_id"), self._property("chunk_id"), self.known)
                return "fetch_objects", arguments | {"filters": self._restrict(wanted, scopes)}
            case Nearest(vector, _, scopes):
                asked_for = WeaviateDialect(self.known, self.fields).translate(request.where)
                arguments["filters"] = self._scopes(scopes) if asked_for is None else self._restrict(asked_for, scopes)
                near = {} if self.vector_name is None else {"target_vector": self.vector_name}
                if request.search == "vectors":
                    asked = {"near_vector": vector.tolist(), "return_metadata": MetadataQuery(distance=True)}
                    return "near_vector", arguments | asked | near
                words = {"query": request.question, "query_properties": [self._property("text")]}
                arguments |= words | {"return_metadata": MetadataQuery(score=True)}
                if request.search == "words":
                    return "bm25", arguments
                return "hybrid", arguments | near | {"vector": vector.tolist(), "alpha": 0.5}
            case Scan(after):
                return "fetch_objects", arguments | {"after": after}

    def limit(self, request: Request) -> int:
        """Return how many records are asked for."""
        match request:
            case ByIds(ids):
                return len(ids)
            case ByWindows(windows):  # room for places that are kept twice
                return min(MOST_RECORDS, 2 * sum(len(window) for window in windows) + 100)
            case Nearest(k=k, scopes=scopes):
                if k > MOST_RECORDS:
                    raise StoreError(f"k is {k}: Weaviate gives at most {MOST_RECORDS}")
                unfiltered = self._scope_paths() and self._scopes(scopes) is None
                return min(MOST_RECORDS, _OVERFETCH * k) if unfiltered else k
            case Scan(limit=limit):
                return min(MOST_RECORDS, limit)

    def _scope_paths(self) -> list[str]:
        return [path for path in self.fields.paths("scope") if path in self.known.types]

    def _scopes(self, scopes: Scopes) -> FilterReturn | None:
        paths = self._scope_paths()
        # where several properties may hold it, a filter on one would lose what the others hold
        return by_scopes(scopes, paths[0], self.known) if len(paths) == 1 else None

    def _restrict(self, wanted: FilterReturn, scopes: Scopes) -> FilterReturn:
        allowed = self._scopes(scopes)
        return wanted if allowed is None else Filter.all_of([wanted, allowed])

    def _property(self, name: str) -> str:
        path = self.path(name)
        if path is None or path not in self.known.types:
            raise StoreError(
                f"{self.name} has no property {path!r}: it has {', '.join(self.known.types)}; name it with "
                f"fields=FieldMap({name}=...), or say how ids are made with make_id=uuid5_id"
            )
        return path

    # ---- back

    def records(self, answer: Any, request: Request) -> Records:
        """Return the records of an answer that were asked for."""
        records = [self._record(found) for found in answer.objects]
        match request:
            case Nearest():
                return self._best(records, request)
            case Scan():
                return Records(records, records[-1].id if len(records) == self.limit(request) else None)
            case ByWindows():
                # what matched by its words alone: an index of words finds `a b` for `b a`
                return Records(within(records, request.windows, self.fields))
        return Records(records)

    def _best(self, records: Sequence[Record], request: Nearest) -> Records:
        seen = visible(records, request.scopes, self.fields)
        short = len(seen) < min(request.k, len(records)) and len(records) == self.limit(request)
        warning = (
            f"{self.name}: of the {len(records)} nearest records only {len(seen)} may be seen, so that fewer hits than "
            f"k={request.k} came back, as this scope cannot be part of the search: give its property "
            "tokenization=Tokenization.FIELD, and the collection index_null_state=True"
        )
        return Records(seen[: request.k], warnings=(warning,) if short else ())

    def _record(self, found: Any) -> Record:
        distance = None if found.metadata is None else found.metadata.distance
        score = None if found.metadata is None else found.metadata.score
        if distance is not None:  # a cosine distance is 1 - cosine, that of dot products has a minus already
            score = 1.0 - distance if self.known.metrics.get(self.vector_name or "default") == "cosine" else -distance
        vectors: Mapping[str, Any] = {name: vector for name, vector in (found.vector or {}).items() if vector}
        vector = vectors.get(self.vector_name or "default")
        made = None if vector is None else np.asarray(vector, dtype=np.float32)
        payload = {name: _to_json(value) for name, value in found.properties.items() if value is not None}
        return Record(str(found.uuid), payload, score, made)


def as_uuid(id_: str, name: str) -> str:
    """Return an id as Weaviate writes it.

    Raises
    ------
    StoreError
        If it is no UUID.
    """
    try:
        return str(uuid.UUID(id_))
    except ValueError as error:
        raise StoreError(f"make_id gave {id_!r}: the ids of {name} are UUIDs; take uuid5_id") from error


def _to_json(value: Any) -> Any:
    """Return a date or UUID as the text that it is in JSON."""
    if isinstance(value, list):
        return [_to_json(one) for one in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, uuid.UUID) else value
