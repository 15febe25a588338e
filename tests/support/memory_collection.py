"""A collection as the server of a vector store would keep it, in memory: what adapters are tested with."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from retrivex import Chunk
from retrivex.adapters.base.collection import (
    ByIds,
    ByWindows,
    Collection,
    Failure,
    Nearest,
    Record,
    Records,
    Request,
    Scan,
)
from retrivex.adapters.base.fields import FieldMap, MakeId, colon_id
from retrivex.model.window import Window


class MemoryCollection(Collection):
    """A collection as a server would keep it: records by id, asked with requests."""

    name = "memory 'test'"
    batch_limit = 5000
    is_sync = True

    def __init__(
        self, chunks: Sequence[Chunk] = (), make_id: MakeId = colon_id, fields: FieldMap | None = None
    ) -> None:
        self.fields = fields or FieldMap()
        self.records = [
            Record(make_id(*chunk.key), self.fields.payload(chunk), None, np.asarray(chunk.embedding, dtype=np.float32))
            for chunk in chunks
        ]
        self.asked: list[Request] = []
        self.failures: list[Exception] = []
        self.written: list[dict[str, Mapping[str, Any]]] = []
        self.checks_scope = True

    def ask(self, request: Request) -> Records:
        self.asked.append(request)
        if self.failures:
            raise self.failures.pop(0)
        if isinstance(request, Scan):
            end = (request.after or 0) + request.limit
            return Records(self._found(request), end if end < len(self.records) else None)
        return Records([record for record in self._found(request) if self._may(record, request)])

    def _found(self, request: Request) -> list[Record]:
        match request:
            case ByIds(ids):
                return [record for record in self.records if record.id in set(ids)]
            case ByWindows(windows):
                return [record for record in self.records if any(self._inside(record, w) for w in windows)]
            case Scan(after, limit):
                return self.records[after or 0 : (after or 0) + limit]
            case Nearest(vector, k):
                scored = [
                    (float(record.vector @ vector), record) for record in self.records if record.vector is not None
                ]
                scored.sort(key=lambda pair: -pair[0])
                return [Record(r.id, r.payload, score) for score, r in scored[:k]]
        raise AssertionError(request)

    def _inside(self, record: Record, window: Window) -> bool:
        known = record.payload if self.fields.root is None else record.payload[self.fields.root]
        number = self.fields.read(known, "chunk_id")
        return self.fields.read(known, "doc_id") == window.doc_id and number is not None and int(number) in window

    def _may(self, record: Record, request: Request) -> bool:
        known = record.payload if self.fields.root is None else record.payload[self.fields.root]
        return not self.checks_scope or self.fields.read(known, "scope") in request.scopes  # type: ignore[union-attr]

    def write(self, changes: Mapping[str, Mapping[str, Any]]) -> None:
        self.written.append(dict(changes))
        for at, record in enumerate(self.records):
            if record.id in changes:
                payload = json.loads(json.dumps(record.payload))
                for path, value in changes[record.id].items():
                    *parents, last = path.split(".")
                    inner = payload
                    for parent in parents:
                        inner = inner.setdefault(parent, {})
                    inner[last] = value
                self.records[at] = Record(record.id, payload, None, record.vector)

    def failure(self, error: Exception) -> Failure:
        if isinstance(error, TimeoutError):
            return "timeout"
        return "down" if isinstance(error, ConnectionError) else "refused"
