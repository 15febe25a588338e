"""LanceDB: a table on disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa

from retrivex.adapters.lancedb import LanceDBChunkStore, LanceDBCollection, colon_id
from retrivex.model.chunk import Chunk

from .engine import DIMENSION, Engine, Way
from .vector_store import nearest, way


@contextmanager
def running(folder: Path, chunks: Sequence[Chunk]) -> Iterator[Engine]:
    """Make a table."""
    flat = np.concatenate([np.asarray(chunk.embedding, dtype=np.float32) for chunk in chunks])
    columns = {
        "id": [colon_id(*chunk.key) for chunk in chunks],
        "doc_id": [chunk.metadata.doc_id for chunk in chunks],
        "chunk_id": [chunk.metadata.chunk_id for chunk in chunks],
        "chunk_count": [chunk.metadata.chunk_count for chunk in chunks],
        "text": [chunk.text for chunk in chunks],
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(flat), DIMENSION),
    }
    db = lancedb.connect(folder)
    table = db.create_table("manuals", pa.table(columns))
    yield Engine(f"LanceDB {version('lancedb')}", _ways(db, table), nearest(LanceDBCollection(db, "manuals")))


def _ways(db: lancedb.DBConnection, table: Any) -> Iterator[Way]:
    yield way("ids, no index", LanceDBChunkStore(db, "manuals", make_id=colon_id))
    yield way("filter, no index", LanceDBChunkStore(db, "manuals"))
    table.create_scalar_index("id")
    table.create_scalar_index("doc_id")
    yield way("ids, index", LanceDBChunkStore(db, "manuals", make_id=colon_id))
    yield way("filter, index", LanceDBChunkStore(db, "manuals"))
