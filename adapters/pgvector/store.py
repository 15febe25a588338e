"""PostgreSQL with pgvector: chunk store and retriever over an existing table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Literal, TypedDict, Unpack
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from retrivex.adapters.base.clients import either_client
from retrivex.adapters.base.collection import ByWindows, Collection, Failure, Nearest, Record, Records, Request, Scan
from retrivex.adapters.base.fields import LAYOUTS, FieldMap, LayoutName, MakeId, colon_id, field_map, uuid5_id
from retrivex.adapters.base.layouts import DEFAULT_LAYOUT, LayoutFinder, StorageLayout
from retrivex.adapters.base.store import Embed, VectorChunkStore, VectorRetriever
from retrivex.encoders.encoder import Encoder
from retrivex.errors import StoreError, install_hint
from retrivex.model.chunk import Chunk

from .client import AsyncClient, SyncClient, TimedClient
from .query import FLOATS, OPERATORS, Metric, TableQuery, replacements, updates
from .table import ADDED, LEARN, TEXTS, Field, Table, Values, learned, name, shown

try:
    import psycopg
    from psycopg.sql import SQL, Composable, Composed
    from psycopg_pool import AsyncConnectionPool, ConnectionPool
except ImportError as error:
    raise ImportError(
        f"retrivex.adapters.pgvector needs psycopg 3 and psycopg-pool: {install_hint('pgvector')}"
    ) from error

__all__ = [
    "PGVECTORSTORE",
    "PGVECTOR_LAYOUTS",
    "FieldMap",
    "PgvectorChunkStore",
    "PgvectorCollection",
    "PgvectorOptions",
    "PgvectorRetriever",
    "colon_id",
    "uuid5_id",
]

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


class PgvectorOptions(TypedDict, total=False):
    """Arguments that `PgvectorCollection`, `PgvectorChunkStore` and `PgvectorRetriever` share."""

    async_client: AsyncClient | None
    schema: str | None
    fields: FieldMap | LayoutName
    id_name: str | None
    vector_name: str
    metric: Metric
    only: Mapping[str, str | int | UUID]
    with_vectors: bool
    timeout_s: float


class PgvectorCollection(Collection):
    """One table, or the part of it that `only` selects.

    Parameters
    ----------
    client : psycopg `Connection` with `autocommit=True`, `ConnectionPool`, or the async one of either
    table : its name; in `schema`, or where the connection's search path finds it
    async_client : one more, so that both `fetch` and `afetch` have their own
    fields : names of columns; a dot steps into JSON or JSONB, `root` is the column that holds all metadata. `langchain`
        takes the names of whichever of LangChain's two stores made the table
    id_name : column of the ids; None takes `node_id` for LlamaIndex, otherwise `id` or `langchain_id`
    vector_name : column of type `vector` or `halfvec`
    metric : the distance of the vectors and of their index
    only : values that columns have in all rows asked for; LangChain keeps many collections in one table:
        `{"collection_id": uuid}`
    with_vectors : read the vectors of neighbours too, for continuity by embeddings
    timeout_s : longest wait for an answer, time for a free connection included

    Raises
    ------
    StoreError
        If an argument breaks its rule, or the table is not there.

    Notes
    -----
    The columns are learnt by one more statement: when the collection is made with a sync client, with the first
    request otherwise. Filters on scopes are part of every statement. Numbers in JSON are compared as they are written,
    so that `3` is found and `3.0` is not. An id, document or scope that the column's type cannot hold (a NUL in a text,
    letters in a number) is not there.

    A single connection does one thing at a time: give a pool to many threads or tasks.
    """

    batch_limit = 5000

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
        with_vectors: bool = False,
        timeout_s: float = 10.0,
    ) -> None:
        give = (
            "psycopg's Connection (with autocommit=True) or ConnectionPool",
            "an AsyncConnection or AsyncConnectionPool",
        )
        sync_client, async_client = either_client(client, async_client, _kind, give)
        self._client = TimedClient(sync_client, async_client, timeout_s)
        self.is_sync, self.is_async = sync_client is not None, async_client is not None
        self.fields = field_map(fields, PGVECTOR_LAYOUTS)
        self._is_langchain = fields == "langchain" or fields is PGVECTOR_LAYOUTS["langchain"]
        parts = [part for part in (schema, table) if part is not None]
        if not all(isinstance(part, str) and part and "\0" not in part for part in parts):
            raise StoreError(f"table is {table!r}, schema is {schema!r}: both must be names")
        self.name = f"PostgreSQL table {'.'.join(parts)!r}"
        self._written = ".".join(map(shown, parts))
        self._quoted: Composable = SQL(".").join(map(name, parts))
        self._ids = (id_name,) if id_name else ("node_id",) if fields == "llamaindex" else ("id", "langchain_id")
        if metric not in OPERATORS:
            raise StoreError(f"metric is {metric!r}: it must be one of {', '.join(OPERATORS)}")
        self._vector_name, self._metric, self._with_vectors = vector_name, metric, with_vectors
        self._only = {column: str(value) for column, value in only.items()}
        self._table: Table | None = None
        self._layouts = LayoutFinder()
        self._learn_at_once()

    def ask(self, request: Request) -> Records:
        """Answer a request with one statement."""
        query = self._query(self._table or self._learn(self._client.rows(*self._make_learn_query())))

        def send(layout: StorageLayout) -> Records:
            read = replace(query, layout=layout)
            return self._records(read, self._client.rows(*read.statement(request)), request)

        return self._layouts.ask(query.layouts, send) if isinstance(request, ByWindows) else send(DEFAULT_LAYOUT)

    async def aask(self, request: Request) -> Records:
        """Answer a request through the async client."""
        query = self._query(self._table or self._learn(await self._client.arows(*self._make_learn_query())))

        async def send(layout: StorageLayout) -> Records:
            read = replace(query, layout=layout)
            return self._records(read, await self._client.arows(*read.statement(request)), request)

        return await (
            self._layouts.aask(query.layouts, send) if isinstance(request, ByWindows) else send(DEFAULT_LAYOUT)
        )

    @staticmethod
    def connect(address: str, api_key: str | None) -> psycopg.Connection[Any]:
        """Return a connection after a connection string; the password is part of that."""
        return psycopg.connect(address, autocommit=True)

    def failure(self, error: Exception) -> Failure:
        """Say what an error of psycopg or its pool means."""
        if isinstance(error, (psycopg.errors.UndefinedColumn, psycopg.errors.UndefinedTable)):
            self._table = None  # it was changed under our hands: look again next time
        if isinstance(error, psycopg.errors.InvalidTextRepresentation) and ADDED in str(error):
            self._table = None
            return "down"  # asked again with what the table has now
        late = (TimeoutError, psycopg.errors.QueryCanceled, psycopg.errors.LockNotAvailable)
        if isinstance(error, late) or type(error).__name__ in ("PoolTimeout", "ConnectionTimeout"):
            return "timeout"
        return "down" if isinstance(error, (psycopg.OperationalError, OSError)) else "refused"

    def missing_index(self) -> str | None:
        """Say how to index the document and the chunk number."""
        path, number = self.fields.path("doc_id"), self.fields.path("chunk_id")
        if self._table is None or path is None or number is None:
            return None
        query = self._query(self._table)
        if query.is_indexed or query.table.contains(self.fields):
            return None
        columns = ", ".join(
            _write_indexed(field, known) for field, known in ((query.doc, path), (query.number, number))
        )
        return (
            f"{self.name} has no index on the document, so that the whole table is read: "
            f"CREATE INDEX CONCURRENTLY ON {self._written} ({columns})"
        )

    async def amissing_index(self) -> str | None:
        """Say the same: the table has been read by then."""
        return self.missing_index()

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
        table = self._table or self._learn(self._client.rows(*self._make_learn_query()))
        each: Sequence[str | None] = counts or [None] * len(chunks)
        rows = [
            {
                **self.fields.payload(chunk, count),
                self._id_name(table): uuid5_id(*chunk.key),
                self._vector_name: str(vector.tolist()),
            }
            for chunk, vector, count in zip(chunks, vectors, each, strict=True)
        ]
        statements = replacements(table, self.fields.path("doc_id") or "doc_id", doc_ids, rows)

        def send(connection: psycopg.Connection[Any]) -> None:
            with connection.transaction(), connection.cursor() as cursor:
                for statement, values in statements:
                    cursor.executemany(statement, values)

        self._client.run(send)

    def refuses_text(self, path: str) -> str | None:
        """Say why a column cannot take texts of ours: it is not there, holds ids or vectors, or is of another type."""
        query = self._query(self._table or self._learn(self._client.rows(*self._make_learn_query())))
        found = query.table.field(path)
        if found is None:
            return "there is no such column: add it first, of type text"
        if found == query.id or path == self._vector_name:
            return f"it holds the {'ids' if found == query.id else 'vectors'}"
        return None if found.type in TEXTS else f"it is a column of type {found.type}"

    def write(self, changes: Mapping[str, Mapping[str, Any]]) -> None:
        """Set columns, or keys inside JSON, in one transaction."""
        query = self._query(self._table or self._learn(self._client.rows(*self._make_learn_query())))
        statements = updates(query.table, query.id, changes)

        def send(connection: psycopg.Connection[Any]) -> None:
            with connection.transaction(), connection.cursor() as cursor:
                for statement, values in statements:
                    cursor.executemany(statement, values)

        self._client.run(send)

    # ---- the table

    def _learn_at_once(self) -> None:
        if not self.is_sync:
            return
        try:
            self._learn(self._client.rows(*self._make_learn_query()))
        except (psycopg.OperationalError, TimeoutError, OSError):
            return  # down just now: the first request asks again, and says so if it still is

    def _make_learn_query(self) -> tuple[Composed, Values]:
        return Composed([LEARN]), {"table": self._written}

    def _learn(self, rows: Iterable[tuple[Any, ...]]) -> Table:
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

    def _query(self, table: Table) -> TableQuery:
        id_name = self._id_name(table)
        return TableQuery(table, self.fields, id_name, self._vector_name, self._metric, self._with_vectors, self._only)

    # ---- rows

    def _records(self, query: TableQuery, rows: Sequence[tuple[Any, ...]], request: Request) -> Records:
        spelled = query.spelled(request)
        records = [
            Record(spelled.id(str(id)), spelled.row(json.loads(row)), self._score(distance), _floats(query, sent))
            for id, row, sent, distance in rows
            if distance is None or distance == distance  # a vector without direction is near to nothing: NaN
        ]
        if isinstance(request, Nearest):
            records.sort(key=lambda record: -(record.score or 0.0))  # relaxed order is only nearly right
            reason = query.shortage(len(rows), request.k)
            said = f"{self.name}: {len(rows)} of {request.k} hits came back: {reason}"
            return Records(records, warnings=() if reason is None else (said,))
        full = isinstance(request, Scan) and len(rows) == request.limit
        return Records(records, rows[-1][0] if full else None)

    def _score(self, distance: float | None) -> float | None:
        if distance is None:
            return None
        return 1.0 - distance if self._metric == "cosine" else -distance  # <#> is the product with a minus


class PgvectorChunkStore(VectorChunkStore):
    """Fetches neighbours from a table; parameters as in `PgvectorCollection` and `VectorChunkStore`.

    Examples
    --------
    By ids that follow from document and number (the primary key is the index)::

        store = PgvectorChunkStore(pool, "chunks", make_id=colon_id)

    By document and number, in the table that LangChain's PGVectorStore made::

        CREATE INDEX CONCURRENTLY ON "docs" (("langchain_metadata" ->> 'source'), ("langchain_metadata" ->> 'chunk_index'))

        store = PgvectorChunkStore(pool, "docs", fields="langchain")
    """  # noqa: E501 - a command is copied as a whole

    def __init__(
        self,
        client: SyncClient | AsyncClient,
        table: str,
        *,
        make_id: MakeId | None = None,
        retries: int = 2,
        batch_limit: int | None = None,
        **options: Unpack[PgvectorOptions],
    ) -> None:
        asked = PgvectorCollection(client, table, **options)
        super().__init__(asked, make_id=make_id, retries=retries, batch_limit=batch_limit)


class PgvectorRetriever(VectorRetriever):
    """Finds hits in a table; parameters as in `PgvectorCollection` and `VectorRetriever`."""

    def __init__(
        self,
        client: SyncClient | AsyncClient,
        table: str,
        embed: Encoder | Embed,
        *,
        retries: int = 2,
        **options: Unpack[PgvectorOptions],
    ) -> None:
        super().__init__(PgvectorCollection(client, table, **options), embed, retries=retries)


def _kind(client: Any) -> Literal["sync", "async"] | None:
    if isinstance(client, (psycopg.Connection, ConnectionPool)):
        return "sync"
    return "async" if isinstance(client, (psycopg.AsyncConnection, AsyncConnectionPool)) else None


def _floats(query: TableQuery, sent: bytes | None) -> NDArray[np.float32] | None:
    if sent is None:
        return None
    # four bytes tell the dimension, the rest are the numbers
    return np.frombuffer(sent, dtype=FLOATS[query.vector.kind], offset=4).astype(np.float32)


def _write_indexed(field: Field, path: str) -> str:
    """Return a field as `CREATE INDEX` wants it."""
    if not field.inside:
        return shown(path)
    keys = ["'" + key.replace("'", "''") + "'" for key in field.inside]
    return f"({shown(path.split('.')[0])}{''.join(f' -> {key}' for key in keys[:-1])} ->> {keys[-1]})"
