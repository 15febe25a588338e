"""LanceDB: tables on disk, as the engine keeps them: the contract, connections."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("lancedb")

import lancedb
import pyarrow as pa
from lancedb.remote.errors import HttpError, RetryError
from support.examples import run_example
from support.lancedb_tables import NAME, fill, keys, noting_queries
from support.vector_contract import VectorContract

from retrivex import Chunk, RetrievalConfig, SeedHit, SpanComposer
from retrivex.adapters.base.collection import Scan
from retrivex.adapters.base.fields import MakeId
from retrivex.adapters.lancedb import LanceDBChunkStore, LanceDBCollection, LanceDBRetriever, colon_id
from retrivex.errors import StoreError, StoreTimeoutError
from retrivex.model.window import Window
from retrivex.testing import StoreUnderTest, contract_chunks

pytestmark = pytest.mark.integration

# ---- the contract


class _OnDisk(VectorContract):
    make_id: MakeId | None = None

    @pytest.fixture(autouse=True)
    def _noted(self) -> Iterator[None]:
        with noting_queries() as self.asked:
            yield

    def _made(self, chunks: Sequence[Chunk], **options: Any) -> StoreUnderTest:
        folder = tempfile.TemporaryDirectory()
        db = lancedb.connect(folder.name)
        fill(db, chunks)
        other = asyncio.run(lancedb.connect_async(folder.name))
        store = LanceDBChunkStore(db, NAME, async_connection=other, make_id=type(self).make_id, **options)
        assert store.warnings == ()
        return StoreUnderTest(store, lambda: len(self.asked), folder.cleanup)

    def make_for_words(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        made = self.make(chunks)
        made.store.collection._sync.open_table(NAME).create_fts_index("text")  # type: ignore[attr-defined]
        return made


class TestByWindows(_OnDisk):
    make_id = None


class TestByIds(_OnDisk):
    make_id = staticmethod(colon_id)


# ---- what can go wrong


def test_a_query_that_takes_too_long_is_a_typed_error(lance: lancedb.DBConnection) -> None:
    fill(lance, contract_chunks())
    store = LanceDBChunkStore(lance, NAME, timeout_s=1e-6)
    with pytest.raises(StoreTimeoutError, match="LanceDB table 'manuals' did not answer in time"):
        store.fetch([Window("doc-0", 0, 3)])
    assert len(LanceDBChunkStore(lance, NAME, timeout_s=60).fetch([Window("doc-0", 0, 3)])) == 3


def test_a_table_that_is_not_there_is_one_clear_error(lance: lancedb.DBConnection) -> None:
    store = LanceDBChunkStore(lance, "nothing")
    assert store.warnings == ()
    with pytest.raises(StoreError, match="LanceDB table 'nothing' refused the request"):
        store.fetch([Window("d", 0, 2)])


def test_a_table_whose_files_are_gone_costs_the_neighbours_and_not_the_seeds(tmp_path: Path) -> None:
    db = lancedb.connect(tmp_path)
    chunks = contract_chunks(1, 4)
    fill(db, chunks)
    store = LanceDBChunkStore(db, NAME, retries=0)
    for path in (tmp_path / f"{NAME}.lance" / "data").iterdir():
        path.unlink()
    with pytest.raises(StoreError):
        store.fetch([Window("doc-0", 0, 2)])
    made = SpanComposer(RetrievalConfig(window=1)).compose([SeedHit(chunks[1], 1.0)], store)
    assert [span.text for span in made.spans] == [chunks[1].text.strip()]
    assert any("gave no neighbours" in warning for warning in made.warnings)


@pytest.mark.parametrize(
    ("missing", "asks"), [("doc_id", "has no column doc_id or document_id"), ("chunk_id", "has no column chunk_id or ")]
)
def test_columns_that_are_not_there_are_named(missing: str, asks: str, lance: lancedb.DBConnection) -> None:
    columns = {"id": ["d:0"], "text": ["x"], "doc_id": ["d"], "chunk_id": [0]}
    lance.create_table(NAME, pa.table({name: values for name, values in columns.items() if name != missing}))
    with pytest.raises(StoreError, match=f"{asks}.*retrivex backfill"):
        LanceDBChunkStore(lance, NAME).fetch([Window("d", 0, 2)])
    assert keys(LanceDBChunkStore(lance, NAME, make_id=colon_id).fetch([Window("d", 0, 2)])) == [("d", 0)]


def test_ids_are_where_id_field_says(lance: lancedb.DBConnection) -> None:
    lance.create_table(NAME, pa.table({"key": ["d:0", "d:1"], "text": ["zero", "one"]}))
    with pytest.raises(StoreError, match="has no column 'id': give id_field="):
        LanceDBChunkStore(lance, NAME, make_id=colon_id).fetch([Window("d", 0, 2)])
    store = LanceDBChunkStore(lance, NAME, make_id=colon_id, id_field="key")
    assert sorted(chunk.text for chunk in store.fetch([Window("d", 0, 2)])) == ["one", "zero"]


def test_errors_of_lancedbs_servers_mean_what_they_say(lance: lancedb.DBConnection) -> None:
    collection = LanceDBCollection(lance, NAME)
    retry = RetryError("gave up", "1", 3, 3, 3, 0, 0, 0, 503)
    errors = [HttpError("no", "1", 401), HttpError("no", "1", 503), HttpError("no", "1", 429), retry, OSError("gone")]
    assert [collection.failure(error) for error in errors] == ["refused", "down", "down", "down", "down"]
    assert collection.failure(RuntimeError("Query timeout after 5 ms")) == "timeout"
    assert collection.failure(ValueError("no such field")) == "refused"


@pytest.mark.parametrize(
    ("option", "shown"),
    [
        ({"timeout_s": 0}, "timeout_s is 0"),
        ({"metric": "hamming"}, "metric is 'hamming'"),
        ({"fields": "x"}, "fields is 'x'"),
    ],
)
def test_options_that_are_none_are_refused(option: Any, shown: str, lance: lancedb.DBConnection) -> None:
    with pytest.raises(StoreError, match=shown):
        LanceDBChunkStore(lance, NAME, **option)
    with pytest.raises(StoreError, match="connection is str"):
        LanceDBChunkStore("folder", NAME)  # type: ignore[arg-type]
    with pytest.raises(
        StoreError, match=r"async_connection is LanceDBConnection: give what `await lancedb.connect_async"
    ):
        LanceDBChunkStore(lance, NAME, async_connection=lance)
    both = asyncio.run(lancedb.connect_async(lance.uri))
    with pytest.raises(StoreError, match="beside another async one"):
        LanceDBChunkStore(both, NAME, async_connection=both)


# ---- connections


def test_an_async_connection_alone(lance: lancedb.DBConnection) -> None:
    chunks = contract_chunks()
    fill(lance, chunks)

    async def ask() -> tuple[list[Any], list[Any], int]:
        other = await lancedb.connect_async(lance.uri)
        found = await LanceDBChunkStore(other, NAME).afetch([Window("doc-1", 2, 5)])
        hits = await LanceDBRetriever(other, NAME, lambda question: chunks[7].embedding).aretrieve("x", k=1)
        page = await LanceDBCollection(other, NAME).aask(Scan(None, 50))
        rest = await LanceDBCollection(other, NAME).aask(Scan(page.after, 50))
        return keys(found), [hit.key for hit in hits], len({r.id for r in (*page.records, *rest.records)})

    assert asyncio.run(ask()) == ([("doc-1", n) for n in (2, 3, 4)], [chunks[7].key], 72)
    with pytest.raises(StoreError, match="has only an async client"):
        LanceDBChunkStore(asyncio.run(lancedb.connect_async(lance.uri)), NAME).fetch([Window("doc-1", 2, 5)])


def test_what_others_write_is_seen_as_the_connection_says(lance: lancedb.DBConnection) -> None:
    from_now = lancedb.connect(lance.uri, read_consistency_interval=timedelta(0))
    table = fill(lance, contract_chunks(1, 3))
    store = LanceDBChunkStore(from_now, NAME)
    assert len(store.fetch([Window("doc-0", 0, 9)])) == 3
    table.delete("chunk_id = 1")
    assert keys(store.fetch([Window("doc-0", 0, 9)])) == [("doc-0", 0), ("doc-0", 2)]


# ---- the example


def test_the_example_finds_a_hit_and_its_neighbours() -> None:
    printed = run_example("neighbours_in_lancedb.py")
    assert "Found: The queen stays in the middle of the cluster." in printed
    assert "warm by shivering. The queen stays in the middle of the cluster. In spring" in printed
