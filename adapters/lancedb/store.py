"""LanceDB: chunk store and retriever over an existing table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Literal, TypeAlias, get_args

import lancedb
import numpy as np
import pyarrow as pa
from lancedb import AsyncConnection, AsyncTable, DBConnection
from lancedb.query import LanceQueryBuilder, MatchQuery
from lancedb.remote.errors import RetryError
from numpy.typing import NDArray

from retrivex.errors import StoreError
from retrivex.model.chunk import Chunk

from ..base.collection import ByIds, ByWindows, ClientCollection, Nearest, Record, Records, Request, Scan, Steps
from ..base.failures import Failure
from ..base.fields import LAYOUTS, FieldMap, LayoutName, uuid5_id
from ..base.store import ClientChunkStore, ClientRetriever
from .columns import Column, Columns, SqlDialect, inside, merge_fields, of_scopes, read_columns, rows_of_chunks

_MATCH_QUERY: Any = MatchQuery  # its defaults are not known to type checkers
_EVERY = 2**31 - 1  # rows that match a filter: LanceDB's own limit of a search is 10

Metric: TypeAlias = Literal["l2", "cosine", "dot"]

# LangChain (langchain-community 0.4) and LlamaIndex (llama-index-vector-stores-lancedb 0.6) write a struct `metadata`
# beside id, text and vector, lancedb-haystack a struct `meta`; LlamaIndex also a column doc_id.
LANCEDB_LAYOUTS: Mapping[LayoutName, FieldMap] = {
    **LAYOUTS,
    "langchain": replace(LAYOUTS["langchain"], text=("text", "page_content")),
    "llamaindex": replace(LAYOUTS["llamaindex"], doc_id=("doc_id", "ref_doc_id", "document_id")),
}
"""What frameworks write into LanceDB. Without a `root`, the fields of structs count as columns."""


class LanceDBCollection(ClientCollection):
    """A table in LanceDB as a collection; other parameters as in `ClientCollection`.

    Parameters
    ----------
    connection : existing connection, sync or async; it stays open
    table : name of an existing table
    async_connection : for `afetch` and `aretrieve`, beside a sync `connection`; both to the same database
    id_field : column of ids; rows of a table without it are called by their place in the table
    metric : of the comparison; None takes that of the vector index, and `l2`, LanceDB's own, where there is none
    options : `fields`, `vector_name`, `with_vectors`, `timeout_s`. In a FieldMap without a root, the fields of structs
        count as columns, and a field is the first of its names that there is

    Notes
    -----
    The table is opened with the first request and stays at the version it then has, unless the connection was made
    with a `read_consistency_interval`: what others write later is only seen with one. The scope is part of every
    filter; a table without its column has only rows without a scope. Scores are `1 - distance` for cosine and dot,
    which is the cosine and the inner product, and minus the squared distance for l2.
    """

    batch_limit = 5000
    searches = frozenset({"vectors", "words"})
    title = "LanceDB table"
    kinds = ("DBConnection",), ("AsyncConnection",)
    give = "what lancedb.connect(...) gives", "what `await lancedb.connect_async(...)` gives"
    called = "connection", "async_connection"
    layouts = LANCEDB_LAYOUTS

    def __init__(
        self,
        connection: DBConnection | AsyncConnection,
        table: str,
        *,
        async_connection: AsyncConnection | None = None,
        id_field: str = "id",
        metric: Metric | None = None,
        **options: Any,
    ) -> None:
        if metric is not None and metric not in get_args(Metric):
            raise StoreError(f"metric is {metric!r}: it must be one of {', '.join(get_args(Metric))}, or None")
        self._id_field = id_field
        self._metric: str | None = metric
        super().__init__(connection, table, async_client=async_connection, **options)
        self._in_time = {"timeout": timedelta(seconds=self._timeout_s or 0)}
        self._tables: dict[bool, Any] = {}  # by whether they are of the sync connection

    # ---- asking

    def _steps(self, request: Request) -> Steps[Records]:
        table, columns = yield from self._open()
        query = table.query() if isinstance(table, AsyncTable) else table.search()
        if isinstance(request, Scan):
            return (yield from self._scan(query, request, columns))
        if isinstance(request, Nearest) and request.search == "words":
            asked = _MATCH_QUERY(request.question, ".".join(self._column(columns, "text").path))
            is_async = isinstance(table, AsyncTable)
            query = query.nearest_to_text(asked) if is_async else table.search(asked, query_type="fts")
        elif isinstance(request, Nearest):
            vector = self._vector_column(columns)
            if self._metric is None:
                self._metric = yield from self._metric_of(table, vector)
            if isinstance(table, AsyncTable):
                query = query.nearest_to(request.vector).column(vector).distance_type(self._metric)
            else:
                query = table.search(request.vector, vector_column_name=vector).distance_type(self._metric)
        rows = yield lambda _: self._narrow(query, request, columns).to_list(**self._in_time)
        return Records([self._record(row, columns) for row in rows])

    @staticmethod
    def connect(address: str, api_key: str | None) -> DBConnection:
        """Return a connection to a folder or to a database in LanceDB Cloud."""
        return lancedb.connect(address, api_key=api_key) if api_key else lancedb.connect(address)

    def failure(self, error: Exception) -> Failure:
        """Say what an error means: of the engine, or of LanceDB's servers."""
        if isinstance(error, RuntimeError) and "timeout" in str(error).lower():
            return "timeout"
        return "down" if isinstance(error, RetryError) else super().failure(error)

    # ---- the table

    def _open(self) -> Steps[tuple[Any, Columns]]:
        """Open the table, once for each connection; its columns may have changed since."""
        is_sync = (yield None) is self._sync
        table = self._tables.get(is_sync)
        if table is None:
            table = self._tables[is_sync] = yield lambda connection: connection.open_table(self._collection)
        return table, read_columns((yield lambda _: _value(table.schema)), self.fields.root)

    def _metric_of(self, table: Any, vector: str) -> Steps[str]:
        """Return the metric of a vector column out of the statistics of its indexes."""
        indexes = yield lambda _: table.list_indices()
        for index in indexes:
            if index.columns == [vector]:
                stats = yield lambda _, name=index.name: table.index_stats(name)
                if stats is not None and stats.distance_type:
                    return str(stats.distance_type).lower()
        return "l2"

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
            by_words = request.search == "words"
            near = self._select(query, columns, "_score" if by_words else "_distance")
            near = near if by_words else near.maximum_nprobes(0).refine_factor(1)
            wanted = SqlDialect(columns, self.fields).translate(request.where)
            return near.where(scope if wanted is None else f"{wanted} AND {scope}").limit(request.k)
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

    def _record(self, row: dict[str, Any], columns: Columns) -> Record:
        distance, place = row.pop("_distance", None), row.pop("_rowid", None)
        score = row.pop("_score", None)
        vector = row.pop(self._vector_column(columns), None) if self._with_vectors else None
        return Record(
            id=str(row.get(self._id_field, place)),
            payload=columns.payload(row, self.fields),
            score=score if distance is None else float(-distance if self._metric == "l2" else 1 - distance),
            vector=None if vector is None else np.asarray(vector, dtype=np.float32),
        )

    # ---- scanning and writing

    def _scan(self, query: Any, request: Scan, columns: Columns) -> Steps[Records]:
        """Return a page of the version that was opened, in the order of the table."""
        offset = request.after or 0
        page = self._select(query, columns).limit(request.limit).offset(offset)
        rows = yield lambda _: page.to_list(**self._in_time)
        after = offset + len(rows) if len(rows) == request.limit else None
        return Records([self._record(row, columns) for row in rows], after)

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
            table = self._sync.open_table(self._collection)
        except ValueError:  # there is none of that name
            if chunks:
                self._sync.create_table(self._collection, rows)
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
        if new:
            table.add_columns(pa.schema(new))
        merging = table.merge_insert(self._id_field).when_matched_update_all().when_not_matched_insert_all()
        merging.when_not_matched_by_source_delete(of_documents).execute(rows)
        self._tables.clear()  # at the version before

    def refuses_text(self, path: str) -> str | None:
        """Say why a column cannot take texts of ours: it is of another type."""
        try:
            table, _ = self._run(self._open())
        except ValueError:
            return None  # there is no table of that name: one that is made takes them, and reading it is an error
        if path not in table.schema.names:
            return None
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
        table, columns = self._run(self._open())
        merge_fields(self.name, table, columns, self._ids(columns), changes)
        self._tables.clear()  # with other columns than before


class LanceDBChunkStore(ClientChunkStore):
    """Fetches neighbours from a LanceDB table; parameters as in `LanceDBCollection` and `VectorChunkStore`.

    Parameters
    ----------
    make_id : `colon_id`, `uuid5_id` or your own `(doc_id, n) -> id`, where the column `id_field` was filled so. None
        asks with a filter. In a large table either is faster with an index::

            table.create_scalar_index("id")
            table.create_scalar_index("doc_id")
    """

    kind = LanceDBCollection


class LanceDBRetriever(ClientRetriever):
    """Finds hits in a LanceDB table; parameters as in `LanceDBCollection` and `VectorRetriever`."""

    kind = LanceDBCollection


def _value(known: Any) -> Any:
    """Return what an async table has as a method and a sync one as a property."""
    return known() if callable(known) else known
