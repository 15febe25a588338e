"""Requests to compositions: one function from an Arrow table to an Arrow table, and the same as work to send away."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import pyarrow as pa

from retrivex.batch.job import OncePerProcess
from retrivex.batch.prefetch import BatchStore
from retrivex.batch.rows import composition_row, error_of, make_table, read_ids, read_rows, request_record
from retrivex.batch.schema import REQUEST_COLUMNS, check_columns, composition_schema
from retrivex.composer.call import ComposeRequest
from retrivex.composer.composer import SpanComposer
from retrivex.composer.drive import Begun
from retrivex.composer.requests import Request, RequestError, add_losses, compose_record, read_checked
from retrivex.composition.composition import Composition
from retrivex.config import RetrievalConfig
from retrivex.model.chunk import Chunk, ChunkKey, allowed_scopes
from retrivex.model.numbers import parse_whole_number
from retrivex.model.window import Window
from retrivex.stores.access import check_store
from retrivex.stores.protocol import AnyChunkStore
from retrivex.tokens.tokenizer import get_tokenizer

ROWS_AT_ONCE = 100
"""Rows whose neighbours are asked for together: each holds some hundred chunks in memory meanwhile."""

STORE_TIMEOUT_S = 60.0
"""Seconds to wait for the neighbours of so many rows."""

OpenStore: TypeAlias = Callable[[], AnyChunkStore]
"""Opens a store, in the process that uses it; it can be pickled."""


def compose_table(
    table: pa.Table,
    composer: SpanComposer | None = None,
    store: AnyChunkStore | None = None,
) -> pa.Table:
    """Compose every row of a table: the same rows out, in the same order, each with its composition or its error.

    What a row becomes is what `SpanComposer.compose` makes of it alone. The neighbours of many rows are asked for
    together.

    Parameters
    ----------
    table : requests, by the schema `retrivex.batch.requests/1` of `docs/batch.md`
    composer : with the options of all rows; None takes the defaults
    store : where hits and their neighbours are, beside what rows bring; None: rows bring all chunks

    Returns
    -------
    pyarrow.Table
        By the schema `retrivex.batch.compositions/1`.

    Raises
    ------
    BatchError
        If the table has other columns, or of other types.
    StoreError
        If the store fails: no row is composed without the neighbours that it should have.

    Examples
    --------
    >>> import pyarrow as pa
    >>> row = {"id": 1, "question": "Do bees sleep?", "hits": [{"doc_id": "bees", "chunk_id": 0, "score": 0.8}]}
    >>> texts = [{"doc_id": "bees", "chunk_id": 0, "text": "Bees sleep."}]
    >>> made = compose_table(pa.Table.from_pylist([{**row, "chunks": texts}, {**row, "id": 2}]))
    >>> made.column("text").to_pylist(), made.column("error").to_pylist()[1]["type"]
    (['[1] Bees sleep.', None], 'RequestError')
    """
    check_columns(table.schema, REQUEST_COLUMNS, ["hits"], "requests")
    schema = composition_schema(table.schema)
    used = SpanComposer() if composer is None else composer
    parts = [
        _compose_rows(table.slice(start, ROWS_AT_ONCE), schema, used, store)
        for start in range(0, table.num_rows, ROWS_AT_ONCE)
    ]
    return pa.concat_tables(parts) if parts else schema.empty_table()


@dataclass(frozen=True)
class ComposeWork(OncePerProcess):
    """What `compose_table` does, as an object to send to other processes; each makes one composer and keeps it.

    Parameters
    ----------
    config : options of all rows; the tokenizer `auto` becomes the one that is at hand where the object is made, so that
        a worker that lacks its file refuses to work
    open_store : opens the store in the process that uses it, such as a `StoreAddress`; None: rows bring all chunks

    Examples
    --------
    >>> work = ComposeWork(RetrievalConfig(token_budget=800))
    >>> work.describe()["config"]["token_budget"]
    800
    """

    config: RetrievalConfig = field(default_factory=RetrievalConfig)
    open_store: OpenStore | None = None

    def __post_init__(self) -> None:
        if self.config.tokenizer == "auto":
            object.__setattr__(self, "config", self.config.override(tokenizer=get_tokenizer().name))

    def __call__(self, table: pa.Table) -> pa.Table:
        """Compose the rows of a table."""
        return compose_table(table, *self._resources)

    def schema(self, given: pa.Schema) -> pa.Schema:
        """Return the schema of what a table of this schema becomes.

        Raises
        ------
        BatchError
            If it is no table of requests.
        """
        check_columns(given, REQUEST_COLUMNS, ["hits"], "requests")
        return composition_schema(given)

    def describe(self) -> dict[str, Any]:
        """Return all that the result depends on, as plain JSON types without secrets."""
        return {
            "work": "compose",
            "config": self.config.model_dump(mode="json"),
            "store": None if self.open_store is None else str(self.open_store),
        }

    @cached_property
    def _resources(self) -> tuple[SpanComposer, AnyChunkStore | None]:
        return SpanComposer(self.config), None if self.open_store is None else self.open_store()


# ---- a group of rows


@dataclass(slots=True)
class _Row:
    """A row on its way: its request as read, its call as far as it has run, its answer or its error."""

    record: dict[str, Any] | None = None
    request: Request | None = None
    begun: Begun[Composition] | None = None
    answer: dict[str, Any] = field(default_factory=dict)


def _compose_rows(
    table: pa.Table,
    schema: pa.Schema,
    composer: SpanComposer,
    store: AnyChunkStore | None,
) -> pa.Table:
    ids, problems = read_ids(table, schema.field("id").type)
    rows = [_read(row, problems.get(at, problem)) for at, (row, problem) in enumerate(read_rows(table))]
    used = None if store is None else check_store(store)
    if used is None or isinstance(used, Mapping):
        for row in rows:
            _attempt(row, lambda row: _compose_alone(row, composer, used or {}))
    else:
        _compose_together(rows, composer, BatchStore(used, composer.tokenizer_name, STORE_TIMEOUT_S))
    own = schema.remove(0)
    made = make_table([row.answer for row in rows], own)
    return made.add_column(0, schema.field("id"), ids).cast(schema)


def _read(given: Mapping[str, Any], problem: RequestError | None) -> _Row:
    if problem is not None:
        return _Row(answer={"error": error_of(problem)})
    row = _Row()
    _attempt(row, lambda row: setattr(row, "record", request_record(given)))
    return row


def _attempt(row: _Row, step: Callable[[_Row], None]) -> None:
    """Take a step with a row that has no error yet; its error is kept, and the others go on."""
    if "error" in row.answer:
        return
    try:
        step(row)
    except Exception as error:  # noqa: BLE001 - one bad row must not lose the others; it is handed back in its place
        row.answer = {"error": error_of(error)}
        row.begun = None


def _compose_alone(row: _Row, composer: SpanComposer, chunks: Mapping[ChunkKey, Chunk]) -> None:
    assert row.record is not None
    row.answer = composition_row(compose_record(row.record, composer, chunks))


def _compose_together(rows: Sequence[_Row], composer: SpanComposer, store: BatchStore) -> None:
    """Compose rows over a store, which is asked for the hits of all of them, and then for all their neighbours."""
    hits: defaultdict[frozenset[str | None], list[Window]] = defaultdict(list)
    for row in rows:
        if row.record is not None:
            hits[_scope_of(row.record)] += _hit_windows(row.record)
    for scope, windows in hits.items():
        store.load(windows, scope)
    known = {scope: store.chunks(scope) for scope in hits}
    for row in rows:
        _attempt(row, lambda row: _begin(row, composer, store, known))
    neighbours: defaultdict[frozenset[str | None], list[Window]] = defaultdict(list)
    for row in rows:
        if row.begun is not None and row.request is not None:
            neighbours[allowed_scopes(row.request.scope)] += row.begun.windows
    for scope, windows in neighbours.items():
        store.load(windows, scope)
    for row in rows:
        _attempt(row, _finish)
        if store.failures:
            raise store.failures[0]


def _scope_of(record: Mapping[str, Any]) -> frozenset[str | None]:
    scope = record.get("scope")
    return allowed_scopes(frozenset(scope) if isinstance(scope, list) else scope)


def _hit_windows(record: Mapping[str, Any]) -> Iterator[Window]:
    for hit in _flat(record.get("hits") or ()):
        chunk_id = parse_whole_number(hit.get("chunk_id"))
        if isinstance(hit.get("doc_id"), str) and type(chunk_id) is int and chunk_id >= 0:
            yield Window(hit["doc_id"], chunk_id, chunk_id + 1)


def _flat(hits: Sequence[Any]) -> Iterator[Mapping[str, Any]]:
    for hit in hits:
        if isinstance(hit, list):
            yield from _flat(hit)
        elif hit is not None:
            yield hit


def _begin(
    row: _Row,
    composer: SpanComposer,
    store: BatchStore,
    known: Mapping[frozenset[str | None], Mapping[ChunkKey, Chunk]],
) -> None:
    assert row.record is not None
    row.request = request = read_checked(row.record, composer, known[_scope_of(row.record)])
    row.begun = composer.begin(
        ComposeRequest(
            request.hits,
            store.with_own(request.store.own),
            request.parents,
            request.question,
            request.query_embedding,
            request.scope,
            request.overrides,
        )
    )


def _finish(row: _Row) -> None:
    assert row.begun is not None
    assert row.request is not None
    row.answer = composition_row(add_losses(row.begun.finish(), row.request))
    row.begun = None
