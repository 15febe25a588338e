"""Chroma: windows and limits, what frameworks write, scanning and writing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex import Chunk, ChunkMetadata
from retrivex.model.window import Window
from retrivex.testing import contract_chunks

pytestmark = pytest.mark.integration

chromadb = pytest.importorskip("chromadb")

from support.chroma_server import FIELDS, ChromaServer, write  # noqa: E402
from support.scanning import scanned  # noqa: E402

from retrivex.adapters.base.collection import ByIds  # noqa: E402
from retrivex.adapters.base.fields import FieldMap, colon_id, uuid5_id  # noqa: E402
from retrivex.adapters.chroma import ChromaChunkStore, ChromaCollection, ChromaRetriever  # noqa: E402
from retrivex.adapters.chroma.filters import of_windows  # noqa: E402

# ---- windows and limits


def test_windows_all_over_many_documents_are_one_request_and_bring_nothing_else(chroma: ChromaServer) -> None:
    chunks = [Chunk(f"text {d} {d * 7}", ChunkMetadata(f"d{d}", d * 7), [1.0, 0.0]) for d in range(150)]
    others = [Chunk(f"other {d}", ChunkMetadata(f"d{d}", (d + 1) * 7), [1.0, 0.0]) for d in range(150)]
    store = ChromaChunkStore(chroma.client, chroma.fill([*chunks, *others], make_id=None))
    before = chroma.requests
    found = store.fetch([Window(f"d{d}", d * 7, d * 7 + 2) for d in range(150)])
    assert chroma.requests - before == 1
    assert sorted(chunk.key for chunk in found) == sorted(chunk.key for chunk in chunks)


@given(
    st.lists(
        st.builds(
            lambda doc, start, length: Window(f"d{doc}", start, start + length),
            st.integers(0, 300),
            st.integers(0, 5000),
            st.integers(1, 40),
        ),
        min_size=1,
        max_size=300,
    )
)
def test_conditions_hold_every_place_asked_for_and_not_many_more(windows: list[Window]) -> None:
    condition = of_windows(FIELDS, windows)
    alternatives = [
        (set(both["$and"][0]["doc_id"]["$in"]), set(both["$and"][1]["chunk_id"]["$in"]))
        for both in condition.get("$or", [condition])
    ]
    assert len(alternatives) <= len(windows)
    assert all(len(documents) * len(numbers) <= 2000 for documents, numbers in alternatives)
    for window in windows:
        assert any(
            window.doc_id in documents and numbers.issuperset(range(window.start, window.end))
            for documents, numbers in alternatives
        )


def test_who_may_see_no_scope_at_all_sees_nothing(chroma: ChromaServer) -> None:
    name = chroma.fill(contract_chunks(1, 3))
    assert ChromaChunkStore(chroma.client, name).fetch([Window("doc-0", 0, 3)], []) == []
    assert ChromaRetriever(chroma.client, name, lambda question: [1.0] * 8).retrieve("x", scope=[]) == []


def test_the_most_chunks_of_one_request(chroma: ChromaServer) -> None:
    chunks = [Chunk(f"text {n}", ChunkMetadata(f"d{n % 50}", n), [1.0, 0.0]) for n in range(6000)]
    name = chroma.fill(chunks)
    windows = [Window(f"d{d}", 0, 1999) for d in range(50)]
    store = ChromaChunkStore(chroma.client, name, make_id=colon_id, timeout_s=60)
    before = chroma.requests
    found = store.fetch(windows[:5])
    assert chroma.requests - before == 2
    assert len(found) == 5 * 40
    scattered = [Window(f"d{n % 50}", n, n + 1) for n in range(0, 6000, 7)]
    by_windows = ChromaChunkStore(chroma.client, name, timeout_s=60)
    before = chroma.requests
    assert len(by_windows.fetch(scattered)) == len(scattered)
    assert chroma.requests - before == 1


# ---- what frameworks write


def test_langchain_collections(chroma: ChromaServer) -> None:
    metadatas = [{"source": "a.md", "chunk_id": n, "start_index": 9 * n, "title": "A"} for n in range(4)]
    write(chroma, "of-langchain", metadatas, [uuid5_id("a.md", n) for n in range(4)])
    for make_id in (None, uuid5_id):
        store = ChromaChunkStore(chroma.client, "of-langchain", fields="langchain", make_id=make_id)
        found = sorted(store.fetch([Window("a.md", 1, 3)]), key=lambda chunk: chunk.metadata.chunk_id)
        assert [(c.text, c.metadata.char_start) for c in found] == [("text 1", 9), ("text 2", 18)]
        assert found[0].metadata.custom_metadata["title"] == "A"


def test_llamaindex_collections(chroma: ChromaServer) -> None:
    def metadata(n: int) -> dict[str, Any]:
        content = {"id_": f"node-{n}", "start_char_idx": 9 * n, "end_char_idx": 9 * n + 6, "text": ""}
        return {"ref_doc_id": "a.md", "doc_id": "a.md", "chunk_id": n, "_node_content": json.dumps(content)}

    write(chroma, "of-llamaindex", [metadata(n) for n in range(4)], [f"node-{n}" for n in range(4)])
    store = ChromaChunkStore(chroma.client, "of-llamaindex", fields="llamaindex")
    found = sorted(store.fetch([Window("a.md", 1, 3)]), key=lambda chunk: chunk.metadata.chunk_id)
    assert [(c.text, c.metadata.char_start, c.metadata.char_end) for c in found] == [
        ("text 1", 9, 15),
        ("text 2", 18, 24),
    ]


def test_haystack_collections(chroma: ChromaServer) -> None:
    metadatas = [{"source_id": "a", "split_id": n, "split_idx_start": 9 * n, "page_number": 1} for n in range(4)]
    write(chroma, "of-haystack", metadatas, [f"{n:064x}" for n in range(4)])
    store = ChromaChunkStore(chroma.client, "of-haystack", fields="haystack")
    found = sorted(store.fetch([Window("a", 1, 3)]), key=lambda chunk: chunk.metadata.chunk_id)
    assert [(c.text, c.metadata.char_start, c.metadata.page) for c in found] == [("text 1", 9, 1), ("text 2", 18, 1)]


def test_texts_in_metadata_where_records_have_no_document(chroma: ChromaServer) -> None:
    made = chroma.client.create_collection("texts-in-metadata", embedding_function=None)
    records: list[Any] = [{"doc_id": "d", "chunk_id": n, "body": f"text {n}"} for n in range(3)]
    made.add(ids=["0", "1", "2"], embeddings=[[1.0, 0.0]] * 3, metadatas=records)  # type: ignore[arg-type]
    for fields, found in ((FieldMap(text="body"), 3), (FieldMap(), 0)):
        store = ChromaChunkStore(chroma.client, made.name, fields=fields)
        retriever = ChromaRetriever(chroma.client, made.name, lambda question: [1.0, 0.0], fields=fields)
        assert sorted(chunk.text for chunk in store.fetch([Window("d", 0, 9)])) == [f"text {n}" for n in range(found)]
        assert len(retriever.retrieve("x")) == found
        assert bool(store.warnings) == bool(retriever.warnings) == (found == 0)
    assert "name the fields with fields=FieldMap(text=" in retriever.warnings[0]


def test_names_of_ones_own_with_dots_and_dollars_are_names(chroma: ChromaServer) -> None:
    metadatas = [{"my.doc": "a", "n$": n, "who": "me"} for n in range(4)]
    write(chroma, "of-mine", metadatas, [f"id {n}" for n in range(4)])
    fields = FieldMap(doc_id="my.doc", chunk_id="n$", scope="who")
    store = ChromaChunkStore(chroma.client, "of-mine", fields=fields)
    assert sorted(c.text for c in store.fetch([Window("a", 1, 3)], "me")) == ["text 1", "text 2"]
    assert store.fetch([Window("a", 1, 3)]) == []


def test_an_embedding_function_of_the_collection_is_left_alone(chroma: ChromaServer) -> None:
    name = "with-a-function"
    default = chromadb.utils.embedding_functions.DefaultEmbeddingFunction()
    chroma.client.create_collection(name, embedding_function=default).add(
        ids=["d:0"], documents=["text"], embeddings=[[1.0, 0.0]], metadatas=[{"doc_id": "d", "chunk_id": 0}]
    )
    assert len(ChromaChunkStore(chroma.client, name).fetch([Window("d", 0, 1)])) == 1
    assert len(ChromaRetriever(chroma.client, name, lambda question: [1.0, 0.0]).retrieve("x")) == 1


# ---- going through all of it, and writing


def test_a_scan_sees_every_record_once_in_pages(chroma: ChromaServer) -> None:
    collection = ChromaCollection(chroma.client, chroma.fill(contract_chunks(3, 7)))
    seen = [record.id for record in scanned(collection)]
    assert sorted(seen) == sorted(colon_id(f"doc-{d}", n) for d in range(3) for n in range(7))


def test_writing_sets_metadata_and_leaves_the_rest(chroma: ChromaServer) -> None:
    write(chroma, "to-write", [{"title": "A"}, {"title": "B"}], ["x", "y"])
    collection = ChromaCollection(chroma.client, "to-write")
    collection.write({"x": {"metadata.doc_id": "d'\"%", "metadata.chunk_id": 3}, "y": {"metadata.chunk_id": 4}})
    collection.write({})
    records = collection.ask(ByIds(("x", "y"), frozenset([None]))).records
    found = {record.id: (record.payload["document"], record.payload["metadata"]) for record in records}
    assert found == {
        "x": ("text 0", {"title": "A", "doc_id": "d'\"%", "chunk_id": 3}),
        "y": ("text 1", {"title": "B", "chunk_id": 4}),
    }
