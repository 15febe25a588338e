"""Requests to compositions: one function from an Arrow table to an Arrow table, and the same as work to send away."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import pyarrow as pa

from retrivex.batch.job import OncePerProcess
from retrivex.batch.row_store import RowStore
from retrivex.batch.rows import composition_row, error_of, make_table, read_ids, read_rows, request_record
from retrivex.batch.schema import REQUEST_COLUMNS, check_columns, composition_schema
from retrivex.composer.composer import SpanComposer
from retrivex.composer.requests import RequestError, compose_record, compose_request, read_checked
from retrivex.composition.composition import Composition
from retrivex.config import RetrievalConfig
from retrivex.model.chunk import Chunk, ChunkKey
from retrivex.model.numbers import parse_whole_number
from retrivex.model.window import Window
from retrivex.stores.access import check_store
from retrivex.stores.protocol import AnyChunkStore
from retrivex.tokens.tokenizer import get_tokenizer

STORE_TIMEOUT_S = 60.0
"""Seconds to wait for the neighbours of a row, before the store has failed."""

OpenStore: TypeAlias = Callable[[], AnyChunkStore]
"""Opens a store, in the process that uses it; it can be pickled."""


def compose_table(
    table: pa.Table, composer: SpanComposer | None = None, store: AnyChunkStore | None = None
) -> pa.Table:
    """Compose every row of a table: the same rows out, in the same order, each with its composition or its error.

    What a row becomes is what `SpanComposer.compose` makes of it alone.

    Parameters
    ----------
    table : requests, by the schema `retrivex.batch.requests/1` of `docs/howto/batch.md`
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
    ids, problems = read_ids(table, schema.field("id").type)
    known = {} if store is None else check_store(store)
    over = known if isinstance(known, Mapping) else RowStore(known, STORE_TIMEOUT_S)
    answers = []
    for at, (row, problem) in enumerate(read_rows(table)):
        answers.append(_answer(row, problems.get(at, problem), used, over))
        if isinstance(over, RowStore) and over.failure is not None:
            raise over.failure
    return make_table(answers, schema.remove(0)).add_column(0, schema.field("id"), ids).cast(schema)


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


# ---- rows


def _answer(
    given: Mapping[str, Any],
    problem: RequestError | None,
    composer: SpanComposer,
    store: RowStore | Mapping[ChunkKey, Chunk],
) -> dict[str, Any]:
    """Return what a row becomes, or its error."""
    try:
        if problem is not None:
            raise problem
        record = request_record(given)
        if isinstance(store, Mapping):
            return composition_row(compose_record(record, composer, store))
        return composition_row(_compose_over(record, composer, store))
    except Exception as error:  # noqa: BLE001 - one bad row must not lose the others; it is handed back in its place
        return {"error": error_of(error)}


def _compose_over(record: Mapping[str, Any], composer: SpanComposer, store: RowStore) -> Composition:
    scope = record.get("scope")
    seen = frozenset(scope) if isinstance(scope, list) else scope
    request = read_checked(record, composer, store.find(_hit_windows(record), seen))
    store.own = request.store.own
    return compose_request(composer, request, request.scope, store)


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
