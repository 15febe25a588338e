"""What is put into the embedded store: idempotent, document by document, all or nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest
from support.stored_pages import everything, page

from retrivex.errors import StoreError
from retrivex.model.chunk import Chunk, ChunkMetadata
from retrivex.model.document import Document
from retrivex.stores import SQLiteStore, content_hash

# -- idempotent, incremental


def test_put_adds_then_leaves_alone_then_updates(store: SQLiteStore) -> None:
    assert store.put(*page("d", "one", "two", "three")) == "added"
    assert store.put(*page("d", "one", "two", "three")) == "unchanged"
    assert store.put(*page("d", "one", "2")) == "updated"
    assert [chunk.text for chunk in store.fetch([everything])] == ["one", "2"]
    assert store.search_text("three") == []
    assert store.check() == []


@pytest.mark.parametrize(
    "change",
    [
        {"scope": "acme"},
        {"page": 3},
        {"heading_path": ("Title",)},
        {"custom_metadata": {"a": 1}},
        {"parent_id": "p"},
        {"prefix": "head"},
        {"links": (("e", 1),)},
    ],
)
def test_a_change_of_any_field_is_an_update(store: SQLiteStore, change: dict[str, Any]) -> None:
    document, [chunk] = page("d", "one")
    store.put(document, [chunk])
    changed = Chunk(chunk.text, dataclasses.replace(chunk.metadata, **change))
    assert store.put(document, [changed]) == "updated"
    assert store.fetch([everything], {None, "acme"}) == [changed]


def test_with_a_hash_unchanged_chunks_are_not_even_read(store: SQLiteStore) -> None:
    document, chunks = page("d", "one")
    digest = content_hash(document, chunker="sentence-3", encoder="m")
    assert not store.is_current("d", digest)
    assert store.put(document, chunks, content_hash=digest) == "added"
    assert store.is_current("d", digest)

    def explode() -> Iterator[Chunk]:
        pytest.fail("chunks were read")
        yield chunks[0]

    assert store.put(document, explode(), content_hash=digest) == "unchanged"
    assert store.put(document, chunks, content_hash=content_hash(document, chunker="token-200")) == "updated"


def test_content_hash_knows_every_field_but_the_timestamp() -> None:
    base = Document("d", "text", metadata={"a": 1, "b": 2})
    changed: list[dict[str, Any]] = [
        {"doc_id": "e"},
        {"text": "other"},
        {"format": "markdown"},
        {"title": "T"},
        {"page_starts": (0, 2)},
        {"source": "s"},
        {"scope": "acme"},
        {"metadata": {"a": 2}},
    ]
    hashes = [content_hash(dataclasses.replace(base, **fields)) for fields in ({}, *changed)]
    hashes += [content_hash(base, chunker="c"), content_hash(base, encoder="c"), content_hash(base, tokenizer="c")]
    assert len(set(hashes)) == len(hashes)
    assert content_hash(dataclasses.replace(base, timestamp=5.0)) == hashes[0]
    assert content_hash(dataclasses.replace(base, metadata={"b": 2, "a": 1})) == hashes[0]


def test_delete_removes_all_that_belongs_to_the_document(store: SQLiteStore) -> None:
    store.put(*page("d", "bees sleep"), {"d#0": "bees sleep"}, [[1.0, 0.0]], encoder="m")
    store.put(*page("e", "bees fly"), {"e#0": "bees fly"}, [[0.0, 1.0]], encoder="m")
    assert store.delete("d")
    assert not store.delete("d")
    assert [hit.key for hit in store.search_text("bees")] == [("e", 0)]
    assert [hit.key for hit in store.search_vector([1.0, 0.0])] == [("e", 0)]
    assert store.fetch([everything]) == []
    assert store.fetch_parents(["d#0", "e#0"]) == {"e#0": "bees fly"}
    info = store.info()
    assert (info.documents, info.chunks, info.parents, info.vectors) == (1, 1, 1, 1)
    assert store.check() == []


def test_delete_missing_keeps_to_the_folder_it_is_told(store: SQLiteStore) -> None:
    places = {"a": "notes/a.md", "b": "notes/sub/b.md", "c": "notes-old/c.md", "d": None, "e": "notes"}
    for doc_id, source in places.items():
        store.put(*page(doc_id, "text", source=source))
    assert store.delete_missing({"a"}, under="notes") == ["b", "e"]
    assert store.delete_missing(["a"], under="notes/") == []
    assert store.delete_missing(["a", "d"]) == ["c"]
    assert [info.doc_id for info in store.documents()] == ["a", "d"]


# -- batches


def test_batches_group_documents_and_keep_them_after_an_error(store: SQLiteStore) -> None:
    def put_and_fail() -> None:
        with store.batch(chunks=3):
            for i in range(5):
                store.put(*page(f"d{i}", "one", "two"))
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        put_and_fail()
    assert store.info().documents == 5
    assert store.check() == []


def test_a_refused_document_does_not_take_its_batch_with_it(store: SQLiteStore) -> None:
    with store.batch():
        store.put(*page("a", "one"), {"p": "text"})
        with pytest.raises(StoreError, match="parent id 'p' of 'b' already names a parent of 'a'"):
            store.put(*page("b", "one"), {"p": "text"})
        store.put(*page("c", "one"))
    assert [info.doc_id for info in store.documents()] == ["a", "c"]


def test_readers_see_a_batch_once_it_is_committed(store: SQLiteStore) -> None:
    with store.batch(chunks=2):
        store.put(*page("d", "one"))
        assert store.fetch([everything]) == []
        store.put(*page("e", "one"))  # the second chunk: committed
        assert len(store.fetch([everything])) == 1


@pytest.mark.parametrize("size", [0, -1])
def test_batches_have_a_size(store: SQLiteStore, size: int) -> None:
    with pytest.raises(StoreError, match=f"batch of {size} chunks: give at least 1"), store.batch(size):
        pass


def test_batches_do_not_nest(store: SQLiteStore) -> None:
    with store.batch(), pytest.raises(StoreError, match="batches do not nest"), store.batch():
        pass


# -- what must not be stored


@pytest.mark.parametrize(
    ("document", "chunks", "complaint"),
    [
        (Document("a\0b", "x"), [], r"doc_id is 'a\\x00b': it must not hold a NUL"),
        (Document("d", "x", scope="a\0"), [], r"scope of 'd' is 'a\\x00': it must not hold a NUL"),
        (Document("d", "a\ud800"), [], r"text of 'd' holds '\\ud800' at 1, half of a surrogate pair"),
        (Document("d\udcff", "x"), [], "doc_id holds .* half of a surrogate pair"),
        (Document("d", "x", metadata={"a": (1,)}), [], "would come back changed: use lists instead of tuples"),
        (Document("d", "x", metadata={1: "a"}), [], "would come back changed"),  # type: ignore[dict-item]
        (Document("d", "x", metadata={"a": float("nan")}), [], "is not JSON"),
        (Document("d", "x", metadata={"a": object()}), [], "is not JSON"),
        (Document("d", "x", timestamp=float("nan")), [], "timestamp is NaN: give Unix seconds"),
        (Document("d", "x"), [Chunk("x", ChunkMetadata("e", 0))], r"chunk \('e', 0\) was given with the document 'd'"),
        (Document("d", "abc"), [Chunk("x", ChunkMetadata("d", 0, 0, 1))], r"offsets of \('d', 0\) lie"),
        (
            Document("d", ""),
            [Chunk("x", ChunkMetadata("d", 0)), Chunk("y", ChunkMetadata("d", 0))],
            r"two chunks share the id \('d', 0\) but not the text",
        ),
        (Document("d", ""), [Chunk("x", ChunkMetadata("d", 0, parent_id="p\0"))], "parent_id is .* NUL"),
        (Document("d", ""), [Chunk("x", ChunkMetadata("d", 0, scope="p\0"))], "scope of .* NUL"),
        (Document("d", ""), [Chunk("x", ChunkMetadata("d", 0, page=2**63))], "whole numbers must fit 64 bits"),
        (Document("d", ""), [Chunk("\udfff", ChunkMetadata("d", 0))], "text holds .* half of a surrogate pair"),
    ],
)
def test_what_cannot_be_stored_is_refused_and_nothing_is_written(
    store: SQLiteStore, document: Document, chunks: list[Chunk], complaint: str
) -> None:
    with pytest.raises(StoreError, match=complaint):
        store.put(document, chunks)
    assert store.info().documents == 0


def test_the_same_chunk_twice_counts_once(store: SQLiteStore) -> None:
    document, [chunk] = page("d", "one")
    store.put(document, [chunk, chunk], token_counts=[1, 1], tokenizer="t")
    assert store.fetch([everything]) == [chunk]
