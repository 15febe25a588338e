"""RetriVex' own store."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from retrivex.model.chunk import Chunk
from retrivex.model.document import Document
from retrivex.stores import SQLiteStore

from .engine import CHUNKS_PER_DOCUMENT, Engine, Meter, Way, batches


@contextmanager
def running(folder: Path, chunks: Sequence[Chunk]) -> Iterator[Engine]:
    """Fill a file."""
    with SQLiteStore(folder / "chunks.db", with_embeddings=False) as store:
        with store.batch():
            for of_one in batches(chunks, CHUNKS_PER_DOCUMENT):
                text = "\n".join(chunk.text for chunk in of_one)
                vectors = np.stack([np.asarray(chunk.embedding) for chunk in of_one])
                store.put(Document(of_one[0].metadata.doc_id, text), list(of_one), embeddings=vectors, encoder="random")
        # every fetch is one statement
        ways = (Way("places", store, Meter(store, "_fetch")) for _ in range(1))
        yield Engine(
            f"SQLite {sqlite3.sqlite_version}", ways, lambda vector: store.search_vector(np.array(vector), k=20)
        )
