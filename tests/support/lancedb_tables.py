"""Tables made in LanceDB, and its queries noted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

import lancedb
import numpy as np
import pyarrow as pa
from lancedb.query import AsyncQueryBase

from retrivex import Chunk
from retrivex.adapters.base.fields import FieldMap
from retrivex.adapters.lancedb import colon_id

NAME = "manuals"


def vectors(rows: Sequence[Any]) -> pa.Array:
    flat = np.asarray(rows, dtype=np.float32)
    return pa.FixedSizeListArray.from_arrays(pa.array(flat.ravel()), flat.shape[1])


def fill(db: lancedb.DBConnection, chunks: Sequence[Chunk], fields: FieldMap | None = None) -> Any:
    """Make a table of chunks as RetriVex names their fields."""
    rows = [{"id": colon_id(*chunk.key), **(fields or FieldMap()).payload(chunk)} for chunk in chunks]
    columns = {name: pa.array([row.get(name) for row in rows]) for name in sorted({n for row in rows for n in row})}
    columns["vector"] = vectors([np.asarray(chunk.embedding) for chunk in chunks])
    return db.create_table(NAME, pa.table(columns))


def keys(chunks: Sequence[Chunk]) -> list[tuple[str, int]]:
    return sorted(chunk.key for chunk in chunks)


def table_of(rows: Sequence[dict[str, Any]]) -> pa.Table:
    columns = {name: pa.array([row[name] for row in rows]) for name in rows[0] if name != "vector"}
    return pa.table({**columns, "vector": vectors([row["vector"] for row in rows])})


@contextmanager
def noting_queries() -> Iterator[list[Any]]:
    """Note every query that is sent to the engine, whichever way it comes."""
    sent: list[Any] = []
    execute = AsyncQueryBase.to_batches

    async def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
        sent.append(self)
        return await execute(self, *args, **kwargs)

    with mock.patch.object(AsyncQueryBase, "to_batches", noted):
        yield sent
