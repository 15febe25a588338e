"""Documents of a batch in vector stores that run here: written twice they are there once, and neighbours come back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from retrivex import Chunk, Document, Window
from retrivex.batch import StoreAddress, check_writer, open_writer
from retrivex.batch.writing import Writer
from retrivex.chunking import get_chunker
from retrivex.encoders.encoder import HashingEncoder
from retrivex.errors import StoreError
from retrivex.retrieval.indexing import PreparedDocument, prepare_document
from retrivex.tokens.tokenizer import get_tokenizer

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
def postgres_address() -> Iterator[StoreAddress]:
    with pytest.importorskip("support.postgres_server").serving() as server:
        server.admin.execute(
            "CREATE TABLE docs (id text PRIMARY KEY, doc_id text, chunk_id int, text text, char_start int, "
            f"char_end int, chunk_count int, scope text, year int, embedding vector({SIZE}))"
        )
        server.admin.execute("CREATE INDEX ON docs (doc_id, chunk_id)")
        yield StoreAddress("pgvector", server.uri, "docs")


def fetch(address: StoreAddress, windows: list[Window], scope: str | None = None) -> list[Chunk]:
    """Fetch with a store of its own, which is closed: the embedded Qdrant lets one in at a time."""
    store: Any = address()
    try:
        return list(store.fetch(windows, scope))
    finally:
        store.collection.close()


def holds(writer: Writer, *documents: PreparedDocument) -> bool:
    firsts = [document.chunks[0] for document in documents]
    return writer.holds([first.key for first in firsts], frozenset(first.metadata.scope for first in firsts))


def check(address: StoreAddress) -> None:
    """Write documents, write them again, write one of them shorter and one without a chunk."""
    bees, wasps = prepare("bees.txt", 5, metadata={"year": 1792}), prepare("it's wasps", 3, scope="acme")

    def write(*documents: PreparedDocument) -> None:
        writer = open_writer(address)
        writer.put(documents)
        writer.close()

    def fetched(scope: str | None) -> list[tuple[str, int]]:
        windows = [Window("bees.txt", 0, 20), Window("it's wasps", 0, 20)]
        return sorted(chunk.key for chunk in fetch(address, windows, scope))

    writer = open_writer(address)
    assert not holds(writer, bees)  # there is no collection, or nothing in it
    writer.close()
    write(bees, wasps)
    write(bees, wasps)
    writer = open_writer(address)
    assert (holds(writer, bees), holds(writer, bees, wasps)) == (True, True)
    assert not holds(writer, bees, prepare("ants", 2), wasps)
    writer.close()
    assert fetched(None) == [("bees.txt", n) for n in range(5)]
    assert fetched("acme") == [("it's wasps", n) for n in range(3)]
    [first] = fetch(address, [Window("bees.txt", 2, 3)])
    assert first.text == bees.chunks[2].text
    assert (first.metadata.char_start, first.metadata.chunk_count) == (bees.chunks[2].metadata.char_start, 5)
    assert "1792" in str(first.metadata.custom_metadata)
    write(prepare("bees.txt", 2, metadata={"year": 1792}))
    assert fetched(None) == [("bees.txt", 0), ("bees.txt", 1)]
    assert fetched("acme") == [("it's wasps", n) for n in range(3)]
    write(prepare("bees.txt", 0))
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
    assert not holds(writer, prepare("bees.txt", 1))
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
