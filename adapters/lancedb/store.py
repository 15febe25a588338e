"""LanceDB: chunk store and retriever over an existing table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Literal, TypeAlias, TypedDict, Unpack, get_args

import numpy as np
from numpy.typing import NDArray

from retrivex.adapters.base.clients import either_client
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
from retrivex.adapters.base.fields import LAYOUTS, FieldMap, LayoutName, MakeId, colon_id, field_map, uuid5_id
from retrivex.adapters.base.store import Embed, VectorChunkStore, VectorRetriever
from retrivex.encoders.encoder import Encoder
from retrivex.errors import StoreError, install_hint
from retrivex.model.chunk import Chunk

from .columns import Column, Columns, add_columns, inside, merge_fields, of_scopes, read_columns, rows_of_chunks

try:
    import lancedb
    from lancedb import AsyncConnection, DBConnection
    from lancedb.query import LanceQueryBuilder
    from lancedb.remote.errors import LanceDBClientError, RetryError
except ImportError as error:
    raise ImportError(f"retrivex.adapters.lancedb needs lancedb: {install_hint('lancedb')}") from error

__all__ = [
    "LANCEDB_LAYOUTS",
    "FieldMap",
    "LanceDBChunkStore",
    "LanceDBCollection",
    "LanceDBOptions",
    "LanceDBRetriever",
    "colon_id",
    "uuid5_id",
]

_EVERY = 2**31 - 1  # rows that match a filter: LanceDB's own limit of a search is 10
_LARGE = 100_000  # rows; below, an index saves a few milliseconds of about 15

Metric: TypeAlias = Literal["l2", "cosine", "dot"]

# LangChain (langchain-community 0.4) and LlamaIndex (llama-index-vector-stores-lancedb 0.6) write a struct `metadata`
# beside id, text and vector, lancedb-haystack a struct `meta`; LlamaIndex also a column doc_id.
LANCEDB_LAYOUTS: Mapping[LayoutName, FieldMap] = {
    **LAYOUTS,
    "langchain": replace(LAYOUTS["langchain"], text=("text", "page_content")),
    "llamaindex": replace(LAYOUTS["llamaindex"], doc_id=("doc_id", "ref_doc_id", "document_id")),
}
"""What frameworks write into LanceDB. Without a `root`, the fields of structs count as columns."""


class LanceDBOptions(TypedDict, total=False):
    """Arguments that `LanceDBCollection`, `LanceDBChunkStore` and `LanceDBRetriever` share."""

    async_connection: AsyncConnection | None
    fields: FieldMap | LayoutName
    id_field: str
    vector_name: str | None
    metric: Metric | None
    with_vectors: bool
    timeout_s: float | None


class LanceDBCollection(Collection):
    """A table in LanceDB as a collection.

    Parameters
    ----------
    connection : existing connection, sync or async; it stays open
    table : name of an existing table
    async_connection : for `afetch` and `aretrieve`, beside a sync `connection`; both to the same database
    fields : a FieldMap, or the layout of the framework that wrote the table. Without a root, the fields of structs
        count as columns, and a field is the first of its names that there is
    id_field : column of ids; rows of a table without it are called by their place in the table
    vector_name : which of several vector columns questions are compared with
    metric : of the comparison; None takes that of the vector index, and `l2`, LanceDB's own, where there is none
    with_vectors : read the vectors of rows as well, for scoring and continuity by embeddings
    timeout_s : of one request; None waits

    Raises
    ------
    StoreError
        If an argument breaks its rule.

    Notes
    -----
    The table is opened with the first request and stays at the version it then has, unless the connection was made
    with a `read_consistency_interval`: what others write later is only seen with one. The scope is part of every
    filter; a table without its column has only rows without a scope. Scores are `1 - distance` for cosine and dot,
    which is the cosine and the inner product, and minus the squared distance for l2.
    """

    batch_limit = 5000

    def __init__(
        self,
        connection: DBConnection | AsyncConnection,
        table: str,
        *,
        async_connection: AsyncConnection | None = None,
        fields: FieldMap | LayoutName = "retrivex",
        id_field: str = "id",
        vector_name: str | None = None,
        metric: Metric | None = None,
        with_vectors: bool = False,
        timeout_s: float | None = None,
    ) -> None:
        give = "what lancedb.connect(...) gives", "what `await lancedb.connect_async(...)` gives"
        self._sync: DBConnection | None
        self._async: AsyncConnection | None
        self._sync, self._async = either_client(
            connection, async_connection, _kind, give, ("connection", "async_connection")
        )
        if timeout_s is not None and not 0 < timeout_s <= 10**6:
            raise StoreError(f"timeout_s is {timeout_s!r}: it must be more than 0 seconds and at most 10**6, or None")
        if metric is not None and metric not in get_args(Metric):
            raise StoreError(f"metric is {metric!r}: it must be one of {', '.join(get_args(Metric))}, or None")
        self.is_sync, self.is_async = self._sync is not None, self._async is not None
        self.fields = field_map(fields, LANCEDB_LAYOUTS)
        self.name = f"LanceDB table {table!r}"
        self._table = table
        self._id_field = id_field
        self._vector_name = vector_name
        self._metric: str | None = metric
        self._with_vectors = with_vectors
        self._in_time: dict[str, Any] = {} if timeout_s is None else {"timeout": timedelta(seconds=timeout_s)}
        self._opened: tuple[Any, Columns] | None = None
        self._aopened: tuple[Any, Columns] | None = None

    # ---- asking

    def ask(self, request: Request) -> Records:
        """Answer a request."""
        if isinstance(request, Scan):
            return self._scan(request)
        table, columns = self._open()
        if isinstance(request, Nearest):
            vector = self._vector_column(columns)
            if self._metric is None:
                stats = [table.index_stats(index.name) for index in table.list_indices() if index.columns == [vector]]
                self._metric = _metric_of(stats)
            query = table.search(request.vector, vector_column_name=vector).distance_type(self._metric)
        else:
            query = table.search()
        return self._records(self._narrow(query, request, columns).to_list(**self._in_time), columns)

    async def aask(self, request: Request) -> Records:
        """Answer a request through the async connection."""
        if isinstance(request, Scan):
            return await self._ascan(request)
        table, columns = await self._aopen()
        query = table.query()
        if isinstance(request, Nearest):
            vector = self._vector_column(columns)
            if self._metric is None:
                indexes = [index for index in await table.list_indices() if index.columns == [vector]]
                self._metric = _metric_of([await table.index_stats(index.name) for index in indexes])
            query = query.nearest_to(request.vector).column(vector).distance_type(self._metric)
        return self._records(await self._narrow(query, request, columns).to_list(**self._in_time), columns)

    @staticmethod
    def connect(address: str, api_key: str | None) -> DBConnection:
        """Return a connection to a folder or to a database in LanceDB Cloud."""
        return lancedb.connect(address, api_key=api_key) if api_key else lancedb.connect(address)

    def failure(self, error: Exception) -> Failure:
        """Say what an error means: of the engine, or of LanceDB's servers."""
        if isinstance(error, TimeoutError) or (isinstance(error, RuntimeError) and "timeout" in str(error).lower()):
            return "timeout"
        if isinstance(error, LanceDBClientError) and not isinstance(error, RetryError):
            status = error.status_code
            return "down" if status is None or status == 429 or status >= 500 else "refused"
        return "down" if isinstance(error, (OSError, RetryError)) else "refused"

    # ---- the table

    def _open(self) -> tuple[Any, Columns]:
        opened = self._opened  # another thread may write meanwhile
        if opened is None:
            assert self._sync is not None
            table = self._sync.open_table(self._table)
            opened = self._opened = table, read_columns(table.schema, self.fields.root)
        elif opened[1].may_get(self.fields, "scope"):  # not knowing it would show everybody everything
            table = opened[0]
            opened = self._opened = table, read_columns(table.schema, self.fields.root)
        return opened

    async def _aopen(self) -> tuple[Any, Columns]:
        opened = self._aopened
        if opened is None:
            assert self._async is not None
            table = await self._async.open_table(self._table)
            opened = self._aopened = table, read_columns(await table.schema(), self.fields.root)
        elif opened[1].may_get(self.fields, "scope"):  # not knowing it would show everybody everything
            table = opened[0]
            opened = self._aopened = table, read_columns(await table.schema(), self.fields.root)
        return opened

    def _column(self, columns: Columns, field: str) -> Column:
        found = columns.find(self.fields, field)
        if found is None:
            raise StoreError(
                f"{self.name} has no column {' or '.join(getattr(self.fields, field))}: name it with "
                f"fields=FieldMap({field}=...), or write it with `retrivex backfill`"
            )
        return found

    def _ids(self, columns: Columns) -> Column:
        found = columns.outer.get(self._id_field)
        if found is None:
            raise StoreError(
                f"{self.name} has no column {self._id_field!r}: give id_field=..., or no make_id if it has none"
            )
        return found

    def _vector_column(self, columns: Columns) -> str:
        known = columns.vectors
        if self._vector_name is None and len(known) == 1:
            return known[0]
        if self._vector_name not in known:
            raise StoreError(
                f"{self.name} has the vector columns {known}: vector_name is {self._vector_name!r}, give one"
            )
        return self._vector_name

    # ---- requests and answers

    def _narrow(self, query: Any, request: ByIds | ByWindows | Nearest, columns: Columns) -> Any:
        """Return the query with its filter, columns and limit."""
        scope = of_scopes(request.scopes, columns.all(self.fields, "scope"))
        if isinstance(request, Nearest):
            # A small tenant may lie in none of the 20 partitions that an index looks into: on until there are k. And
            # distances are measured: those of an index may be doubled (cosine) or infinite (all rows of a small scope).
            near = self._select(query, columns, "_distance").maximum_nprobes(0).refine_factor(1)
            return near.where(scope).limit(request.k)
        if isinstance(request, ByIds):
            wanted = self._ids(columns).is_one_of(request.ids)
        else:
            wanted = inside(request.windows, self._column(columns, "doc_id"), self._column(columns, "chunk_id"))
        return self._select(query, columns).where(f"{wanted} AND {scope}").limit(_EVERY)

    def _select(self, query: Any, columns: Columns, *more: str) -> Any:
        vectors = [self._vector_column(columns)] if self._with_vectors else []
        selected = query.select([*columns.outer, *vectors, *more])
        if self._id_field in columns.outer:
            return selected
        return selected.with_row_id(True) if isinstance(selected, LanceQueryBuilder) else selected.with_row_id()

    def _records(self, rows: Iterable[dict[str, Any]], columns: Columns) -> Records:
        return Records([self._record(row, columns) for row in rows])

    def _record(self, row: dict[str, Any], columns: Columns) -> Record:
        distance, place = row.pop("_distance", None), row.pop("_rowid", None)
        vector = row.pop(self._vector_column(columns), None) if self._with_vectors else None
        return Record(
            id=str(row.get(self._id_field, place)),
            payload=columns.payload(row, self.fields),
            score=None if distance is None else float(-distance if self._metric == "l2" else 1 - distance),
            vector=None if vector is None else np.asarray(vector, dtype=np.float32),
        )

    # ---- scanning and writing

    def _scan(self, request: Scan) -> Records:
        """Return a page of the version that the first page was of, in the order of the table."""
        assert self._sync is not None
        table = self._sync.open_table(self._table)  # of its own: the other one stays at its version
        version, offset = request.after or (table.version, 0)
        table.checkout(version)
        columns = read_columns(table.schema, self.fields.root)
        query = self._select(table.search(), columns).limit(request.limit).offset(offset)
        rows = query.to_list(**self._in_time)
        return self._page(rows, columns, request, version, offset)

    async def _ascan(self, request: Scan) -> Records:
        assert self._async is not None
        table = await self._async.open_table(self._table)
        version, offset = request.after or (await table.version(), 0)
        await table.checkout(version)
        columns = read_columns(await table.schema(), self.fields.root)
        query = self._select(table.query(), columns).limit(request.limit).offset(offset)
        return self._page(await query.to_list(**self._in_time), columns, request, version, offset)

    def _page(self, rows: list[Any], columns: Columns, request: Scan, version: int, offset: int) -> Records:
        after = [version, offset + len(rows)] if len(rows) == request.limit else None
        return Records([self._record(row, columns) for row in rows], after)

    def missing_index(self) -> str | None:
        """Say how to index the document; small tables and those that cannot be opened need none."""
        try:
            table, columns = self._open()
            indexed = {tuple(index.columns) for index in table.list_indices()}
            rows = table.count_rows()
        except (ValueError, RuntimeError, OSError):
            return None  # nobody knows; the first request will say what is wrong
        return self._advice(columns, indexed, rows)

    async def amissing_index(self) -> str | None:
        """Say the same, asking through the async connection."""
        try:
            table, columns = await self._aopen()
            indexed = {tuple(index.columns) for index in await table.list_indices()}
            rows = await table.count_rows()
        except (ValueError, RuntimeError, OSError):
            return None  # as above
        return self._advice(columns, indexed, rows)

    def _advice(self, columns: Columns, indexed: set[tuple[str, ...]], rows: int) -> str | None:
        column = columns.find(self.fields, "doc_id")
        if column is None or rows < _LARGE or (".".join(column.path),) in indexed:
            return None
        command = f"table.create_scalar_index({'.'.join(column.path)!r})"
        return f"{self.name} has {rows} rows, all of which are read for neighbours: {command}"

    def put(
        self,
        doc_ids: Sequence[str],
        chunks: Sequence[Chunk],
        vectors: NDArray[np.float32],
        counts: Sequence[str] | None = None,
    ) -> None:
        """Write whole documents in place of what the table has of them, in one commit; it is made where it is missing.

        A table that was filled without counts gets their column, in a commit of its own.

        Raises
        ------
        StoreError
            If the table has other columns than those that are written.
        """
        assert self._sync is not None
        ids = [uuid5_id(*chunk.key) for chunk in chunks]
        rows = rows_of_chunks(self._id_field, ids, chunks, vectors, self.fields, counts)
        try:
            table = self._sync.open_table(self._table)
        except ValueError:  # there is none of that name
            if chunks:
                self._sync.create_table(self._table, rows)
            return
        known = read_columns(table.schema, self.fields.root).find(self.fields, "doc_id")
        new = [field for field in rows.schema if field.name not in table.schema.names]
        unknown = [field.name for field in new if field.name not in self.fields.counts]
        if known is None or (chunks and unknown):
            raise StoreError(
                f"{self.name} has no column {unknown[0] if unknown else 'doc_id'!r}: it was filled by somebody else; "
                "name a table that RetriVex fills, or a new one"
            )
        of_documents = known.is_one_of(list(doc_ids))
        if not chunks:
            table.delete(of_documents)
            return
        add_columns(table, new)
        merging = table.merge_insert(self._id_field).when_matched_update_all().when_not_matched_insert_all()
        merging.when_not_matched_by_source_delete(of_documents).execute(rows)
        self._opened = self._aopened = None  # at the version before

    def refuses_text(self, path: str) -> str | None:
        """Say why a column cannot take texts of ours: it holds ids, or is of another type or in a struct."""
        if path == self._id_field:
            return "it holds the ids"
        try:
            table, columns = self._open()
        except ValueError:
            return None  # there is no table of that name: one that is made takes them, and whoever reads it is told
        if path not in table.schema.names:
            is_inner = path in columns.named or "." in path
            return "it is in a struct, where LanceDB cannot set it" if is_inner else None
        column = Column((path,), table.schema.field(path).type)
        return None if column.is_text else f"it is a column of type {column.type}"

    def write(self, changes: Mapping[str, Mapping[str, Any]]) -> None:
        """Set columns of rows, in one merge for all rows that get the same ones; new columns are added.

        Raises
        ------
        StoreError
            If the table has no ids, a column cannot hold its values, or a field lies in a struct: LanceDB cannot add
            one there.
        """
        table, columns = self._open()
        merge_fields(self.name, table, columns, self._ids(columns), changes)
        self._opened = self._aopened = None  # with other columns than before


class LanceDBChunkStore(VectorChunkStore):
    """Fetches neighbours from a LanceDB table; parameters as in `LanceDBCollection` and `VectorChunkStore`.

    Parameters
    ----------
    make_id : `colon_id`, `uuid5_id` or your own `(doc_id, n) -> id`, where the column `id_field` was filled so. None
        asks with a filter. In a large table either is faster with an index::

            table.create_scalar_index("id")
            table.create_scalar_index("doc_id")
    """

    def __init__(
        self,
        connection: DBConnection | AsyncConnection,
        table: str,
        *,
        make_id: MakeId | None = None,
        retries: int = 2,
        batch_limit: int | None = None,
        **options: Unpack[LanceDBOptions],
    ) -> None:
        asked = LanceDBCollection(connection, table, **options)
        super().__init__(asked, make_id=make_id, retries=retries, batch_limit=batch_limit)


class LanceDBRetriever(VectorRetriever):
    """Finds hits in a LanceDB table; parameters as in `LanceDBCollection` and `VectorRetriever`."""

    def __init__(
        self,
        connection: DBConnection | AsyncConnection,
        table: str,
        embed: Encoder | Embed,
        *,
        retries: int = 2,
        **options: Unpack[LanceDBOptions],
    ) -> None:
        super().__init__(LanceDBCollection(connection, table, **options), embed, retries=retries)


def _kind(connection: Any) -> Literal["sync", "async"] | None:
    if isinstance(connection, DBConnection):
        return "sync"
    return "async" if isinstance(connection, AsyncConnection) else None


def _metric_of(stats: Sequence[Any]) -> str:
    """Return the metric of a vector column out of the statistics of its indexes."""
    return next((one.distance_type for one in stats if one is not None and one.distance_type), "l2").lower()
