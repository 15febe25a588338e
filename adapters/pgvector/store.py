"""PostgreSQL with pgvector: chunk store and retriever over an existing table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any
from uuid import UUID

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg.sql import SQL, Composable, Composed

from retrivex.errors import StoreError
from retrivex.model.chunk import Chunk

from ..base.collection import ClientCollection, Nearest, Record, Records, Request, Scan, Steps
from ..base.failures import Failure
from ..base.fields import LAYOUTS, FieldMap, LayoutName, uuid5_id
from ..base.store import ClientChunkStore, ClientRetriever
from .client import AsyncClient, SyncClient, TimedClient
from .query import FLOATS, OPERATORS, Metric, Statement, TableQuery, replacements, updates
from .table import LEARN, TEXTS, Table, learned, name, shown

PGVECTOR_LAYOUTS: Mapping[LayoutName, FieldMap] = {
    **LAYOUTS,
    # langchain-postgres 0.0.19, PGVector: langchain_pg_embedding(id, collection_id, embedding, document, cmetadata)
    "langchain": FieldMap(
        doc_id=("source", "doc_id", "file_path"), text=("document",), root="cmetadata"
    ),
    # llama-index-vector-stores-postgres 0.9: data_<table>(id, text, metadata_, node_id, embedding)
    "llamaindex": LAYOUTS["llamaindex"].under("metadata_"),
    # pgvector-haystack 8.1: haystack_documents(id, embedding, content, blob_data, blob_meta, blob_mime_type, meta)
    "haystack": LAYOUTS["haystack"].under("meta"),
}  # fmt: skip
"""What frameworks write into PostgreSQL; `langchain` gives way to `PGVECTORSTORE` where the table is of that kind."""

PGVECTORSTORE = FieldMap(doc_id=("source", "doc_id", "file_path"), text=("content",), root="langchain_metadata")
"""What the newer store of langchain-postgres writes, PGVectorStore: (langchain_id, content, embedding,
langchain_metadata). Metadata in columns of their own are named: `FieldMap(doc_id="source", text="content")`."""


class PgvectorCollection(ClientCollection):
    """One table, or the part of it that `only` selects; other parameters as in `ClientCollection`.

    Parameters
    ----------
    client, async_client : psycopg `Connection` with `autocommit=True`, `ConnectionPool`, or the async one of either
    table : its name; in `schema`, or where the connection's search path finds it
    id_name : column of the ids; None takes `node_id` for LlamaIndex, otherwise `id` or `langchain_id`
    vector_name : column of type `vector` or `halfvec`
    metric : the distance of the vectors and of their index
    only : values that columns have in all rows asked for; LangChain keeps many collections in one table:
        `{"collection_id": uuid}`
    words : PostgreSQL's text search configuration, for `search="words"`: with the table's column of type tsvector,
        where it has one, or else of the text
    options : `fields`, `with_vectors`, `timeout_s` (time for a free connection included). A dot in a field steps into
        JSON or JSONB, `root` is the column that holds all metadata; `langchain` takes the names of whichever of
        LangChain's two stores made the table

    Notes
    -----
    The columns are learnt by one more statement: when the collection is made with a sync client, with the first
    request otherwise. Filters on scopes are part of every statement. Numbers in JSON are compared as they are written,
    so that `3` is found and `3.0` is not. An id, document or scope that the column's type cannot hold (a NUL in a text,
    letters in a number) is not there.

    A single connection does one thing at a time: give a pool to many threads or tasks.
    """

    batch_limit = 5000
    searches = frozenset({"vectors", "words"})
    title = "PostgreSQL table"
    kinds = ("Connection", "ConnectionPool"), ("AsyncConnection", "AsyncConnectionPool")
    give = (
        "psycopg's Connection (with autocommit=True) or ConnectionPool",
        "an AsyncConnection or AsyncConnectionPool",
    )
    layouts = PGVECTOR_LAYOUTS

    def __init__(
        self,
        client: SyncClient | AsyncClient,
        table: str,
        *,
        async_client: AsyncClient | None = None,
        schema: str | None = None,
        fields: FieldMap | LayoutName = "retrivex",
        id_name: str | None = None,
        vector_name: str = "embedding",
        metric: Metric = "cosine",
        only: Mapping[str, str | int | UUID] = MappingProxyType({}),
        words: str = "english",
        **options: Any,
    ) -> None:
        parts = [part for part in (schema, table) if part is not None]
        if not all(isinstance(part, str) and part and "\0" not in part for part in parts):
            raise StoreError(f"table is {table!r}, schema is {schema!r}: both must be names")
        if metric not in OPERATORS:
            raise StoreError(f"metric is {metric!r}: it must be one of {', '.join(OPERATORS)}")
        self._is_langchain = fields == "langchain" or fields is PGVECTOR_LAYOUTS["langchain"]
        self._written = ".".join(map(shown, parts))
        self._quoted: Composable = SQL(".").join(map(name, parts))
        self._ids = (id_name,) if id_name else ("node_id",) if fields == "llamaindex" else ("id", "langchain_id")
        self._metric: Metric = metric
        self._only = {column: str(value) for column, value in only.items()}
        self._words = words
        self._table: Table | None = None
        named = ".".join(parts)
        super().__init__(client, named, async_client=async_client, fields=fields, vector_name=vector_name, **options)

    def _steps(self, request: Request) -> Steps[Records]:
        query = yield from self._learn()
        rows = yield query.statement(request)
        return self._records(query, rows, request)

    def _send(self, call: Any) -> Any:
        return self._timed.rows(*call)

    async def _asend(self, call: Any) -> Any:
        return await self._timed.arows(*call)

    @cached_property
    def _timed(self) -> TimedClient:
        return TimedClient(self._sync, self._async, self._timeout_s or 0)

    @staticmethod
    def connect(address: str, api_key: str | None) -> psycopg.Connection[Any]:
        """Return a connection after a connection string; the password is part of that."""
        return psycopg.connect(address, autocommit=True)

    def failure(self, error: Exception) -> Failure:
        """Say what an error of psycopg or its pool means."""
        if isinstance(error, (psycopg.errors.UndefinedColumn, psycopg.errors.UndefinedTable)):
            self._table = None  # it was changed under our hands: look again next time
        if isinstance(error, (psycopg.errors.QueryCanceled, psycopg.errors.LockNotAvailable)):
            return "timeout"
        found = super().failure(error)
        return "down" if found == "refused" and isinstance(error, psycopg.OperationalError) else found

    def put(
        self,
        doc_ids: Sequence[str],
        chunks: Sequence[Chunk],
        vectors: NDArray[np.float32],
        counts: Sequence[str] | None = None,
    ) -> None:
        """Write whole documents in place of what the table has of them, in one transaction; the table has to exist.

        Raises
        ------
        StoreError
            If the table lacks a column for something that the chunks have.
        """
        query = self._run(self._learn())
        each: Sequence[str | None] = counts or [None] * len(chunks)
        rows = [
            {
                **self.fields.payload(chunk, count),
                query.id_name: uuid5_id(*chunk.key),
                self._vector_name: str(vector.tolist()),
            }
            for chunk, vector, count in zip(chunks, vectors, each, strict=True)
        ]
        self._write_all(replacements(query.table, self.fields.path("doc_id") or "doc_id", doc_ids, rows))

    def refuses_text(self, path: str) -> str | None:
        """Say why a column cannot take texts of ours: it is not there, holds ids or vectors, or is of another type."""
        query = self._run(self._learn())
        found = query.table.field(path)
        if found is None:
            return "there is no such column: add it first, of type text"
        return None if found.type in TEXTS else f"it is a column of type {found.type}"

    def write(self, changes: Mapping[str, Mapping[str, Any]]) -> None:
        """Set columns, or keys inside JSON, in one transaction."""
        query = self._run(self._learn())
        self._write_all(updates(query.table, query.id, changes))

    def _write_all(self, statements: Sequence[Statement]) -> None:
        def send(connection: psycopg.Connection[Any]) -> None:
            with connection.transaction(), connection.cursor() as cursor:
                for statement, values in statements:
                    cursor.executemany(statement, values)

        self._timed.run(send)

    # ---- the table

    def _learn(self) -> Steps[TableQuery]:
        table = self._table
        if table is None:
            table = self._describe((yield Composed([LEARN]), {"table": self._written}))
        return TableQuery(
            table,
            self.fields,
            self._id_name(table),
            self._vector_name or "",
            self._metric,
            self._with_vectors,
            self._only,
            self._words,
        )

    def _describe(self, rows: Iterable[tuple[Any, ...]]) -> Table:
        table = learned(self._written, self._quoted, rows)
        table.require(self._id_name(table), "ids, which id_name names")
        for column in self._only:
            table.require(column, "only")
        if self._is_langchain and "collection_id" in set(table.columns) - set(self._only):
            raise StoreError(
                f"{self.name} keeps all of LangChain's collections: say which one with only={{'collection_id': uuid}}; "
                "SELECT uuid FROM langchain_pg_collection WHERE name = '...'"
            )
        is_newer = "cmetadata" not in table.columns and "langchain_metadata" in table.columns
        if is_newer and self.fields is PGVECTOR_LAYOUTS["langchain"]:
            self.fields = PGVECTORSTORE
        self._table = table
        return table

    def _id_name(self, table: Table) -> str:
        return next((given for given in self._ids if given in table.columns), self._ids[0])

    # ---- rows

    def _records(self, query: TableQuery, rows: Sequence[tuple[Any, ...]], request: Request) -> Records:
        by_words = isinstance(request, Nearest) and request.search == "words"
        records = [
            Record(str(id), json.loads(row), distance if by_words else self._score(distance), _floats(query, sent))
            for id, row, sent, distance in rows
            if distance is None or distance == distance  # a vector without direction is near to nothing: NaN
        ]
        if isinstance(request, Nearest):
            records.sort(key=lambda record: -(record.score or 0.0))  # relaxed order is only nearly right
        full = isinstance(request, Scan) and len(rows) == request.limit
        return Records(records, rows[-1][0] if full else None)

    def _score(self, distance: float | None) -> float | None:
        if distance is None:
            return None
        return 1.0 - distance if self._metric == "cosine" else -distance  # <#> is the product with a minus


class PgvectorChunkStore(ClientChunkStore):
    """Fetches neighbours from a table; parameters as in `PgvectorCollection` and `VectorChunkStore`.

    Examples
    --------
    By ids that follow from document and number (the primary key is the index)::

        store = PgvectorChunkStore(pool, "chunks", make_id=colon_id)

    By document and number, in the table that LangChain's PGVectorStore made::

        CREATE INDEX CONCURRENTLY ON "docs" (("langchain_metadata" ->> 'source'), ("langchain_metadata" ->> 'chunk_index'))

        store = PgvectorChunkStore(pool, "docs", fields="langchain")
    """  # noqa: E501 - a command is copied as a whole

    kind = PgvectorCollection


class PgvectorRetriever(ClientRetriever):
    """Finds hits in a table; parameters as in `PgvectorCollection` and `VectorRetriever`."""

    kind = PgvectorCollection


def _floats(query: TableQuery, sent: bytes | None) -> NDArray[np.float32] | None:
    if sent is None:
        return None
    # four bytes tell the dimension, the rest are the numbers
    return np.frombuffer(sent, dtype=FLOATS[query.vector.kind], offset=4).astype(np.float32)
