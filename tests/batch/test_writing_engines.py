"""Documents of a batch in vector stores that run here: written twice they are there once, and neighbours come back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from retrivex import Chunk, Document, Window
from retrivex.adapters.base import retries
from retrivex.adapters.base.backfill import backfill
from retrivex.adapters.base.collection import Scan
from retrivex.adapters.base.opening import open_collection
from retrivex.batch import StoreAddress, check_writer, open_writer
from retrivex.chunking import get_chunker
from retrivex.cli import app
from retrivex.encoders.encoder import HashingEncoder
from retrivex.errors import StoreError
from retrivex.retrieval.indexing import PreparedDocument, prepare_document
from retrivex.timeouts import Backoff
from retrivex.tokens import tokenizer as tokenizers
from retrivex.tokens.tokenizer import EstimateTokenizer, get_tokenizer

pytestmark = pytest.mark.integration

COUNTER = get_tokenizer("estimate")
SIZE = 16


def prepare(doc_id: str, sentences: int, **more: Any) -> PreparedDocument:
    text = "".join(f"Sentence {n} of {doc_id} tells of bees. " for n in range(sentences))
    chunker = get_chunker("sentence", size=1, tokenizer=COUNTER)
    return prepare_document(Document(doc_id, text, **more), chunker, COUNTER, HashingEncoder(SIZE))


def lancedb(folder: Path) -> StoreAddress:
    return StoreAddress("lancedb", str(folder / "lance"), "docs")


def qdrant(folder: Path) -> StoreAddress:
    return StoreAddress("qdrant", str(folder / "qdrant"), "docs")


@pytest.fixture(scope="module")
def postgres() -> Iterator[Any]:
    """A server with a table that has no place for counts, and one that has."""
    with pytest.importorskip("support.postgres_server").serving() as server:
        for table, more in (("docs", ""), ("counted", "chunk_counts text, ")):
            server.admin.execute(
                f"CREATE TABLE {table} (id text PRIMARY KEY, doc_id text, chunk_id int, text text, char_start int, "
                f"char_end int, chunk_count int, scope text, year int, {more}embedding vector({SIZE}))"
            )
            server.admin.execute(f"CREATE INDEX ON {table} (doc_id, chunk_id)")
        yield server


@pytest.fixture
def postgres_address(postgres: Any) -> StoreAddress:
    return StoreAddress("pgvector", postgres.uri, "docs")


def fetch(address: StoreAddress, windows: list[Window], scope: str | None = None) -> list[Chunk]:
    """Fetch with a store of its own, which is closed: the embedded Qdrant lets one in at a time."""
    store: Any = address()
    try:
        return list(store.fetch(windows, scope))
    finally:
        store.collection.close()


def write(address: StoreAddress, *documents: PreparedDocument, counts: bool = True) -> list[str]:
    """Write documents and return what the writer notes."""
    writer = open_writer(address, counts=counts)
    writer.put(documents)
    writer.close()
    return list(writer.notes)


def check(address: StoreAddress) -> None:
    """Write documents, write them again, write one of them shorter and one without a chunk."""
    bees, wasps = prepare("bees.txt", 5, metadata={"year": 1792}), prepare("it's wasps", 3, scope="acme")

    def fetched(scope: str | None) -> list[tuple[str, int]]:
        windows = [Window("bees.txt", 0, 20), Window("it's wasps", 0, 20)]
        return sorted(chunk.key for chunk in fetch(address, windows, scope))

    write(address, bees, wasps)
    write(address, bees, wasps)
    assert fetched(None) == [("bees.txt", n) for n in range(5)]
    assert fetched("acme") == [("it's wasps", n) for n in range(3)]
    [first] = fetch(address, [Window("bees.txt", 2, 3)])
    assert first.text == bees.chunks[2].text
    assert (first.metadata.char_start, first.metadata.chunk_count) == (bees.chunks[2].metadata.char_start, 5)
    assert "1792" in str(first.metadata.custom_metadata)
    write(address, prepare("bees.txt", 2, metadata={"year": 1792}))
    assert fetched(None) == [("bees.txt", 0), ("bees.txt", 1)]
    assert fetched("acme") == [("it's wasps", n) for n in range(3)]
    write(address, prepare("bees.txt", 0))
    assert fetched(None) == []


@pytest.mark.parametrize("make", [lancedb, qdrant])
def test_what_is_written_twice_is_there_once(tmp_path: Path, make: Callable[[Path], StoreAddress]) -> None:
    check(make(tmp_path))


def test_a_table_of_postgresql_gets_documents_in_one_transaction(postgres_address: StoreAddress) -> None:
    check(postgres_address)
    writer = open_writer(postgres_address)
    with pytest.raises(StoreError, match="no column for 'author'"):
        writer.put([prepare("bees.txt", 2), prepare("ants.txt", 1, metadata={"author": "Huber"})])
    writer.close()
    assert fetch(postgres_address, [Window("bees.txt", 0, 9)]) == []


def test_a_table_that_somebody_else_filled_is_refused(tmp_path: Path) -> None:
    import lancedb  # noqa: PLC0415 - of the environment of this file alone

    lancedb.connect(tmp_path / "lance").create_table("docs", [{"doc_id": "a", "vector": [0.0, 1.0]}])
    writer = open_writer(StoreAddress("lancedb", str(tmp_path / "lance"), "docs"))
    with pytest.raises(StoreError, match=r"has no column .*filled by somebody else"):
        writer.put([prepare("bees.txt", 1)])


def test_documents_without_vectors_and_stores_that_are_not_filled_are_refused(tmp_path: Path) -> None:
    plain = prepare_document(Document("a", "Bees sleep."), get_chunker("sentence", tokenizer=COUNTER), COUNTER)
    writer = open_writer(StoreAddress("lancedb", str(tmp_path / "lance"), "docs"))
    with pytest.raises(StoreError, match="keeps vectors: name a model with --embed"):
        writer.put([plain])


@pytest.mark.parametrize("make", [lancedb, qdrant])
def test_looking_at_a_store_makes_and_changes_nothing(tmp_path: Path, make: Callable[[Path], StoreAddress]) -> None:
    address = make(tmp_path)
    check_writer(address)
    writer = open_writer(address)
    writer.put([prepare("bees.txt", 3)])
    writer.close()
    check_writer(address)
    assert len(fetch(address, [Window("bees.txt", 0, 9)])) == 3


def test_a_server_that_is_not_there_and_a_table_that_is_missing_are_said_at_once(
    postgres_address: StoreAddress,
) -> None:
    check_writer(postgres_address)
    with pytest.raises(StoreError, match="nothing_like_it"):
        check_writer(StoreAddress("pgvector", postgres_address.address, "nothing_like_it"))
    with pytest.raises(StoreError, match=r"cannot be opened: .*refused"):
        check_writer(StoreAddress("pgvector", "host=127.0.0.1 port=9 dbname=docs", "docs"))


def test_a_table_that_somebody_else_filled_is_said_at_once(tmp_path: Path) -> None:
    import lancedb  # noqa: PLC0415 - of the environment of this file alone

    lancedb.connect(tmp_path / "lance").create_table("docs", [{"name": "a", "vector": [0.0, 1.0]}])
    with pytest.raises(StoreError, match=r"has no column .*filled by somebody else"):
        check_writer(StoreAddress("lancedb", str(tmp_path / "lance"), "docs"))


@pytest.mark.parametrize("fails", [1, 9])
def test_a_store_that_is_down_is_asked_again_and_then_named(
    fails: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import httpx  # noqa: PLC0415 - what the client sends with
    from qdrant_client import QdrantClient  # noqa: PLC0415 - of the environment of this file alone
    from qdrant_client.http.exceptions import ResponseHandlingException  # noqa: PLC0415

    monkeypatch.setattr(retries, "_BACKOFF", Backoff(0.0))
    address, upsert = qdrant(tmp_path), QdrantClient.upsert
    left = [ResponseHandlingException(httpx.ConnectError("gone"))] * fails

    def failing(client: Any, *given: Any, **more: Any) -> Any:
        if left:
            raise left.pop()
        return upsert(client, *given, **more)

    monkeypatch.setattr(QdrantClient, "upsert", failing)
    if fails == 1:
        write(address, prepare("bees.txt", 3))
        assert len(stored_counts(address)) == 3
    else:
        writer = open_writer(address)
        with pytest.raises(StoreError, match="Qdrant collection 'docs' is down, asked 3 times"):
            writer.put([prepare("bees.txt", 3)])
        writer.close()


# ---- counts


def stored_counts(address: StoreAddress) -> dict[str, Any]:
    """Return what each record has in its field for counts."""
    collection = open_collection(address.kind, address.address, address.collection, address.layout, None)
    records = collection.ask(Scan(None, 1_000)).records
    collection.close()
    return {record.id: record.payload.get("chunk_counts") for record in records}


def counted(address: StoreAddress, *windows: Window) -> list[bool]:
    """Say of each chunk whether the store has a count that holds, and where it may be cut."""
    store: Any = address()
    found = store.fetch_counted(windows, tokenizer=COUNTER.name)
    store.collection.close()
    return [one is not None and one.holds(chunk.text, COUNTER.name) and bool(one.cuts) for chunk, one in found]


def check_counts(address: StoreAddress) -> None:
    """Write with counts; then without them, and let `retrivex backfill` write the same."""
    documents = prepare("bees.txt", 5), prepare("wasps", 3)
    assert write(address, *documents) == []
    made = stored_counts(address)
    assert len(made) == 8
    assert counted(address, Window("bees.txt", 0, 9), Window("wasps", 0, 9)) == [True] * 8
    [first] = fetch(address, [Window("bees.txt", 0, 1)])
    assert "chunk_counts" not in first.metadata.custom_metadata
    write(address, *(prepare(one.document.doc_id, 0) for one in documents))
    assert stored_counts(address) == {}
    write(address, *documents, counts=False)
    assert not any(stored_counts(address).values())
    collection = open_collection(address.kind, address.address, address.collection, address.layout, None)
    assert backfill(collection, write=True, tokenizer=COUNTER).counted == 8
    collection.close()
    assert stored_counts(address) == made


@pytest.mark.parametrize("make", [lancedb, qdrant])
def test_counts_are_those_that_backfill_writes(tmp_path: Path, make: Callable[[Path], StoreAddress]) -> None:
    check_counts(make(tmp_path))


def test_a_table_of_postgresql_with_a_column_gets_counts_and_one_without_is_noted(postgres: Any) -> None:
    check_counts(StoreAddress("pgvector", postgres.uri, "counted"))
    address = StoreAddress("pgvector", postgres.uri, "docs")
    [note] = write(address, prepare("bees.txt", 2))
    assert "cannot keep counts in 'chunk_counts': there is no such column: add it first, of type text" in note
    assert note.endswith("chunks are written without them, and counted when they are composed")
    assert counted(address, Window("bees.txt", 0, 9)) == [False, False]


def test_a_table_that_was_filled_without_counts_gets_their_column(tmp_path: Path) -> None:
    address = lancedb(tmp_path)
    write(address, prepare("bees.txt", 5), prepare("wasps", 2), counts=False)
    assert write(address, prepare("wasps", 3)) == []
    assert counted(address, Window("bees.txt", 0, 9)) == [False] * 5
    assert counted(address, Window("wasps", 0, 9)) == [True] * 3


@pytest.mark.parametrize("make", [lancedb, qdrant])
def test_metadata_of_a_documents_own_are_not_overwritten(tmp_path: Path, make: Callable[[Path], StoreAddress]) -> None:
    address = make(tmp_path)
    assert write(address, prepare("bees.txt", 2, metadata={"chunk_counts": "seven"})) == []
    if make is qdrant:
        assert set(stored_counts(address).values()) == {"seven"}
    else:  # which keeps metadata in a column of their own
        [first] = fetch(address, [Window("bees.txt", 0, 1)])
        assert "seven" in str(first.metadata.custom_metadata)


def test_a_column_of_another_type_is_left_alone(tmp_path: Path) -> None:
    import lancedb as client  # noqa: PLC0415 - of the environment of this file alone
    import pyarrow as pa  # noqa: PLC0415

    address = lancedb(tmp_path)
    write(address, prepare("bees.txt", 5), counts=False)
    client.connect(address.address).open_table("docs").add_columns(pa.schema([pa.field("chunk_counts", pa.int64())]))
    [note] = write(address, prepare("bees.txt", 2))
    assert "cannot keep counts in 'chunk_counts': it is a column of type int64" in note
    assert set(stored_counts(address).values()) == {None}


@pytest.mark.parametrize(("tokenizer", "holding"), [("auto", False), ("estimate", True)])
def test_estimates_are_kept_where_they_are_asked_for(
    tokenizer: str, holding: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(tokenizers._named, "auto", (EstimateTokenizer(), ()))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "empty"))  # of the processes that it starts
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "bees.txt").write_text("Bees sleep at night.")
    address = lancedb(tmp_path)
    said = ["batch", "index", str(tmp_path / "docs"), "-o", str(tmp_path / "out"), "--embed", "hashing"]
    said += ["--tokenizer", tokenizer, "--store", "lancedb", "--address", address.address, "--collection", "docs"]
    result = CliRunner().invoke(app, [*said, "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["notes"] == []
    assert counted(address, Window("bees.txt", 0, 1)) == [holding]


def test_the_command_notes_a_store_that_cannot_keep_counts(tmp_path: Path) -> None:
    import lancedb as client  # noqa: PLC0415 - of the environment of this file alone
    import pyarrow as pa  # noqa: PLC0415

    address = lancedb(tmp_path)
    write(address, prepare("bees.txt", 5), counts=False)
    client.connect(address.address).open_table("docs").add_columns(pa.schema([pa.field("chunk_counts", pa.int64())]))
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "ants.txt").write_text("Ants sleep at night.")
    said = ["batch", "index", str(tmp_path / "files"), "-o", str(tmp_path / "out"), "--embed", f"hashing-{SIZE}"]
    said += ["--store", "lancedb", "--address", address.address, "--collection", "docs"]
    result = CliRunner().invoke(app, said, env={"COLUMNS": "300"})
    assert result.exit_code == 0, result.output
    assert "cannot keep counts in 'chunk_counts': it is a column of type int64" in result.stderr
