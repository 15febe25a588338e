"""What all vector stores share, over a collection in memory; the contract over that, and over the core's own stores."""

from __future__ import annotations

import asyncio
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.memory_collection import MemoryCollection
from support.vector_contract import CountsContract

from retrivex import Chunk, ChunkMetadata, RetrievalConfig, SeedHit, SpanComposer
from retrivex.adapters.base.collection import ByWindows, Record, Records, Request
from retrivex.adapters.base.fields import LAYOUTS, FieldMap, MakeId, colon_id, uuid5_id
from retrivex.adapters.base.store import VectorChunkStore, VectorRetriever
from retrivex.errors import EncoderError, StoreError, StoreTimeoutError
from retrivex.model.document import Document
from retrivex.model.window import Window
from retrivex.stores.memory import InMemoryChunkStore
from retrivex.stores.sqlite.store import SQLiteStore
from retrivex.testing import ChunkStoreContract, StoreUnderTest, contract_chunks


class Unreachable(MemoryCollection):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def ask(self, request: Request) -> Records:
        if isinstance(self.error, TimeoutError):
            time.sleep(0.15)  # as a client waits before it gives up
        raise self.error


class _OverMemory(CountsContract):
    make_id: Callable[..., MakeId | None]

    def make(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        make_id = self.make_id()
        collection = MemoryCollection(chunks, make_id or colon_id)
        return StoreUnderTest(VectorChunkStore(collection, make_id=make_id), lambda: len(collection.asked))

    def make_down(self) -> VectorChunkStore:
        return VectorChunkStore(Unreachable(ConnectionRefusedError("nobody listens")), retries=0)

    def make_hanging(self) -> VectorChunkStore:
        return VectorChunkStore(Unreachable(TimeoutError("too late")))


class TestByWindows(_OverMemory):
    make_id = staticmethod(lambda: None)


class TestByIds(_OverMemory):
    make_id = staticmethod(lambda: colon_id)


class TestByUuids(_OverMemory):
    make_id = staticmethod(lambda: uuid5_id)


class TestInMemoryStore(ChunkStoreContract):
    holds_duplicates = False

    def make(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        store = _Counting(chunks)
        return StoreUnderTest(store, lambda: store.requests)


class _Counting(InMemoryChunkStore):
    def __init__(self, chunks: Sequence[Chunk]) -> None:
        super().__init__(chunks)
        self.requests = 0

    def fetch(self, windows: Sequence[Window], scope: Any = None) -> list[Chunk]:
        self.requests += 1
        return super().fetch(windows, scope)


class _CountingSQLite(SQLiteStore):
    requests = 0

    def fetch(self, windows: Sequence[Window], scope: Any = None) -> list[Chunk]:
        self.requests += 1
        return super().fetch(windows, scope)

    def fetch_counted(self, windows: Sequence[Window], scope: Any = None, *, tokenizer: str) -> Any:
        self.requests += 1
        return super().fetch_counted(windows, scope, tokenizer=tokenizer)


class TestSQLiteStore(ChunkStoreContract):
    holds_duplicates = False
    holds_nul = False  # refused when it is written, with a clear error

    def make(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        folder = tempfile.TemporaryDirectory()
        store = _CountingSQLite(Path(folder.name) / "store.db")
        by_document: dict[str, list[Chunk]] = {}
        for chunk in chunks:
            by_document.setdefault(chunk.metadata.doc_id, []).append(chunk)
        for doc_id, own in by_document.items():
            store.put(Document(doc_id, "", scope=own[0].metadata.scope), own, encoder="test")

        def close() -> None:
            store.close()
            folder.cleanup()

        return StoreUnderTest(store, lambda: store.requests, close)


# ---- asking


def test_a_store_that_is_down_for_a_moment_is_asked_again() -> None:
    collection = MemoryCollection(contract_chunks(1, 3))
    collection.failures = [ConnectionError("no"), ConnectionError("not yet")]
    assert len(VectorChunkStore(collection, make_id=colon_id).fetch([Window("doc-0", 0, 3)])) == 3
    assert len(collection.asked) == 3


@pytest.mark.parametrize(
    ("error", "expected", "asked"),
    [
        (ConnectionError("no"), "is down, asked 2 times", 2),
        (PermissionError("key"), "refused the request .PermissionError: key", 1),
    ],
)
def test_what_will_not_pass_is_one_clear_error(error: Exception, expected: str, asked: int) -> None:
    collection = MemoryCollection(contract_chunks(1, 3))
    collection.failures = [error, error, error]
    with pytest.raises(StoreError, match=expected):
        VectorChunkStore(collection, make_id=colon_id, retries=1).fetch([Window("doc-0", 0, 3)])
    assert len(collection.asked) == asked


def test_a_timeout_is_not_asked_again() -> None:
    collection = MemoryCollection(contract_chunks(1, 3))
    collection.failures = [TimeoutError("late")]
    with pytest.raises(StoreTimeoutError, match="memory 'test' did not answer in time"):
        VectorChunkStore(collection).fetch([Window("doc-0", 0, 3)])
    assert len(collection.asked) == 1


def test_many_chunks_are_asked_for_in_batches() -> None:
    collection = MemoryCollection(contract_chunks(1, 12))
    store = VectorChunkStore(collection, batch_limit=5)
    assert len(store.fetch([Window("doc-0", 0, 12)])) == 12
    assert [sum(map(len, asked.windows)) for asked in collection.asked if isinstance(asked, ByWindows)] == [5, 5, 2]


@pytest.mark.parametrize("bad", [0, -1, True, 2.5, "many"])
def test_limits_that_are_none_are_refused(bad: Any) -> None:
    with pytest.raises(StoreError, match="batch_limit is"):
        VectorChunkStore(MemoryCollection(), batch_limit=bad)
    if bad != 0:
        with pytest.raises(StoreError, match="retries is"):
            VectorChunkStore(MemoryCollection(), retries=bad)


def test_what_is_no_collection_is_refused() -> None:
    store = VectorChunkStore(MemoryCollection())
    with pytest.raises(StoreError, match="collection is VectorChunkStore: it must be a Collection, such as"):
        VectorRetriever(store, lambda _: [1.0])  # type: ignore[arg-type]
    with pytest.raises(StoreError, match="collection is VectorRetriever: it must be a Collection"):
        VectorChunkStore(VectorRetriever(MemoryCollection(), lambda _: [1.0]))  # type: ignore[arg-type]


def test_a_window_without_end_is_refused() -> None:
    with pytest.raises(StoreError, match="at most 100000 in one call"):
        VectorChunkStore(MemoryCollection(), make_id=colon_id).fetch([Window("d", 0, 10**12)])


def test_a_collection_without_chunk_numbers_needs_ids() -> None:
    collection = MemoryCollection(fields=FieldMap(chunk_id=()))
    with pytest.raises(StoreError, match="has no field for the document or the chunk number"):
        VectorChunkStore(collection)
    assert VectorChunkStore(collection, make_id=colon_id).fetch([]) == []


# ---- reading


def test_ids_alone_place_records_that_know_nothing_of_it() -> None:
    collection = MemoryCollection()
    collection.fields = FieldMap(chunk_id=())
    collection.records = [Record(f"d:{n}", {"text": f"text {n}"}) for n in range(3)]
    found = VectorChunkStore(collection, make_id=colon_id).fetch([Window("d", 1, 3)])
    assert [(chunk.key, chunk.text) for chunk in found] == [(("d", 1), "text 1"), (("d", 2), "text 2")]


def test_records_that_cannot_be_read_are_left_out_and_told_of() -> None:
    collection = MemoryCollection(contract_chunks(1, 3))
    collection.records.append(Record("doc-0:3", {"text": "", "doc_id": "doc-0", "chunk_id": 3}))
    collection.records.append(Record("doc-0:4", {"text": "another's", "doc_id": "elsewhere", "chunk_id": 4}))
    store = VectorChunkStore(collection, make_id=colon_id)
    assert len(store.fetch([Window("doc-0", 0, 9)])) == 3
    assert "records left out" in store.warnings[0]


def test_records_of_another_scope_are_left_out_even_if_the_server_sends_them() -> None:
    collection = MemoryCollection([*contract_chunks(1, 2), *contract_chunks(1, 2, "acme", "acme")])
    collection.checks_scope = False
    store = VectorChunkStore(collection)
    assert {c.metadata.doc_id for c in store.fetch([Window("doc-0", 0, 2), Window("acme-0", 0, 2)])} == {"doc-0"}
    assert "another scope" in store.warnings[0]


@pytest.mark.parametrize("layout", list(LAYOUTS))
@pytest.mark.parametrize("root", [None, "metadata"])
def test_every_layout_reads_what_it_writes(layout: Any, root: str | None) -> None:
    fields = LAYOUTS[layout].under(root)
    chunk = Chunk("Bees sleep.", ChunkMetadata("bees.md", 3, 7, 18, custom_metadata={"author": "Ann"}), [1.0, 0.0])
    collection = MemoryCollection([chunk], fields=fields)
    found = VectorChunkStore(collection, make_id=colon_id).fetch([Window("bees.md", 0, 9)])
    assert [(c.key, c.text, c.metadata.custom_metadata["author"]) for c in found] == [(chunk.key, chunk.text, "Ann")]


def test_a_node_of_llamaindex_is_read_out_of_its_json() -> None:
    content = (
        '{"text": "Bees sleep.", "start_char_idx": 7, "end_char_idx": 18, "relationships": {"3": {"node_id": "n"}}}'
    )
    record = {"ref_doc_id": "bees.md", "_node_content": content}
    names = LAYOUTS["llamaindex"]
    read = {name: names.read(record, name) for name in ("text", "doc_id", "char_start", "char_end", "after", "before")}
    assert read == {
        "text": "Bees sleep.",
        "doc_id": "bees.md",
        "char_start": 7,
        "char_end": 18,
        "after": "n",
        "before": None,
    }


# ---- the retriever


def test_hits_come_best_first_and_go_into_the_composer() -> None:
    chunks = contract_chunks()
    collection = MemoryCollection(chunks)
    wanted = chunks[17]
    hits = VectorRetriever(collection, lambda question: wanted.embedding).retrieve("which?", k=4)
    assert hits[0].key == wanted.key
    assert [hit.similarity_score for hit in hits] == sorted((hit.similarity_score for hit in hits), reverse=True)
    made = SpanComposer(RetrievalConfig(window=1)).compose(hits[:1], VectorChunkStore(collection), query="which?")
    assert wanted.text.strip() in made.text
    assert asyncio.run(VectorRetriever(collection, lambda question: wanted.embedding).aretrieve("which?", k=4)) == hits


def test_hits_without_a_place_stay_as_they_are_with_a_warning() -> None:
    collection = MemoryCollection()
    vector = np.ones(8, dtype=np.float32)
    collection.records = [Record("a", {"text": "one"}, None, vector), Record("b", {"text": "two"}, None, vector)]
    retriever = VectorRetriever(collection, lambda question: vector)
    hits = retriever.retrieve("which?")
    assert [hit.chunk.text for hit in hits] == ["one", "two"]
    assert len(retriever.warnings) == 1
    assert "stay as they are: they have no document or no chunk number" in retriever.warnings[0]
    asked = len(collection.asked)
    made = SpanComposer().compose(hits, VectorChunkStore(collection), query="which?")
    assert sorted(span.text for span in made.spans) == ["one", "two"]
    assert (len(collection.asked), made.trace.requests) == (asked, 0)
    (warning,) = made.warnings
    assert warning.startswith("2 of 2 hits stay as they are: they have no document or no chunk number; name the fields")


def test_hits_without_a_place_are_the_same_in_every_list_and_no_others() -> None:
    collection = MemoryCollection()
    axes = np.eye(3, dtype=np.float32)
    texts = ["Owls hunt.", "Bees sleep.", "Elks roam."]
    collection.records = [
        Record(f"r{n}", {"text": text, "doc_id": "zoo"}, None, axis)
        for n, (text, axis) in enumerate(zip(texts, axes, strict=True))
    ]

    def best(*question: float) -> list[SeedHit]:
        return VectorRetriever(collection, lambda _: question).retrieve("which?", k=2)

    owls_bees, elks_owls = best(1.0, 0.5, 0.0), best(0.5, 0.0, 1.0)
    made = SpanComposer().compose([owls_bees, elks_owls], VectorChunkStore(collection))
    assert sorted(span.text for span in made.spans) == sorted(texts)
    assert made.dropped == ()
    assert made.warnings[0].startswith("3 of 3 hits")


def test_parents_of_hits_without_a_place_are_not_asked_for() -> None:
    # the chunks around a hit tell what of its parent may be seen: here the second half is another tenant's
    own, foreign = "Bees sleep five to eight hours a day, and longer in winter.", " Acme's secret."
    collection = MemoryCollection()
    vector = np.ones(8, dtype=np.float32)
    collection.records = [
        Record("a", {"text": own, "doc_id": "d", "parent_id": "p"}, None, vector),
        Record("b", {"text": foreign, "doc_id": "d", "parent_id": "p", "scope": "acme"}, None, vector),
    ]
    hits = VectorRetriever(collection, lambda question: vector).retrieve("which?")
    asked = len(collection.asked)
    composer = SpanComposer(RetrievalConfig(return_parents="auto"))
    made = composer.compose(hits, VectorChunkStore(collection), {"p": own + foreign}, query="How long do bees sleep?")
    assert [span.text for span in made.spans] == [own]
    assert (len(collection.asked), made.trace.requests) == (asked, 0)


@pytest.mark.parametrize(
    ("name", "given"),
    [(uuid.UUID(int=7), "of the type UUID"), (7.5, "of the type float"), (["a"], "of the type list"), ("", "empty")],
)
def test_a_name_that_is_none_is_told_of(name: Any, given: str) -> None:
    collection = MemoryCollection()
    vector = np.ones(8, dtype=np.float32)
    collection.records = [Record("a", {"text": "one", "doc_id": name, "chunk_id": 0}, None, vector)]
    retriever = VectorRetriever(collection, lambda question: vector)
    (hit,) = retriever.retrieve("which?")
    assert hit.unplaced is not None
    assert f"doc_id is {given}: a document's name must be text that is not empty, or a whole number" in hit.unplaced
    assert retriever.warnings == (f"memory 'test': hits stay as they are: {hit.unplaced}",)


def test_hits_of_another_scope_and_what_the_store_says_are_told_of() -> None:
    collection = MemoryCollection([*contract_chunks(1, 3), *contract_chunks(1, 3, "acme", "acme")])
    collection.checks_scope = False
    ask = collection.ask
    collection.ask = lambda request: replace(ask(request), warnings=("half of it is missing",))  # type: ignore[method-assign]
    retriever = VectorRetriever(collection, lambda question: np.ones(8))
    assert {hit.chunk.metadata.scope for hit in retriever.retrieve("x", scope="acme")} == {"acme"}
    said = ("half of it is missing", "memory 'test' returned hits of another scope: left out")
    assert retriever.warnings == said
    store = VectorChunkStore(collection)
    assert len(store.fetch([Window("doc-0", 0, 3)])) == 3
    assert store.warnings == said[:1]


def test_a_scope_finds_its_own_hits_alone() -> None:
    collection = MemoryCollection([*contract_chunks(1, 2), *contract_chunks(1, 2, "acme", "acme")])
    collection.checks_scope = False
    retriever = VectorRetriever(collection, lambda question: np.ones(8))
    assert {hit.chunk.metadata.scope for hit in retriever.retrieve("x", scope="acme")} == {"acme"}
    assert {hit.chunk.metadata.scope for hit in retriever.retrieve("x")} == {None}


@pytest.mark.parametrize("bad", [[], [float("nan")], [[1.0], [2.0]], 3.0])
def test_an_embedding_that_is_none_is_refused(bad: Any) -> None:
    with pytest.raises(EncoderError, match="one finite vector"):
        VectorRetriever(MemoryCollection(), lambda question: bad).retrieve("x")


@pytest.mark.parametrize("bad", [0, -1, True, "5"])
def test_k_must_be_a_number(bad: Any) -> None:
    with pytest.raises(StoreError, match="k is"):
        VectorRetriever(MemoryCollection(), lambda question: [1.0]).retrieve("x", k=bad)


def test_an_empty_question_finds_nothing_without_a_request() -> None:
    collection = MemoryCollection(contract_chunks(1, 2))
    assert VectorRetriever(collection, lambda question: [1.0]).retrieve("  ") == []
    assert collection.asked == []


# ---- data that nobody cleaned


@pytest.mark.parametrize("metadata", ['{"doc_id": "d", "chunk_id": 0, "scope": "zebra"}', "no mapping", ["zebra"], 5])
def test_a_record_whose_scope_nobody_knows_is_not_shown(metadata: Any) -> None:
    """Metadata as JSON in a text are read; what is neither mapping nor JSON may hold anybody's scope."""
    collection = MemoryCollection(fields=FieldMap(root="metadata"))
    collection.checks_scope = False
    vector = np.ones(8, dtype=np.float32)
    collection.records = [Record("d:0", {"text": "SECRET", "metadata": metadata}, None, vector)]
    assert VectorChunkStore(collection, make_id=colon_id).fetch([Window("d", 0, 1)]) == []
    assert VectorRetriever(collection, lambda question: vector).retrieve("which?") == []


def test_metadata_that_are_json_in_a_text_are_read() -> None:
    collection = MemoryCollection(fields=FieldMap(root="metadata"))
    collection.checks_scope = False
    metadata = '{"doc_id": "d", "chunk_id": 0, "scope": "zebra", "page": 3}'
    collection.records = [Record("d:0", {"text": "own", "metadata": metadata})]
    (chunk,) = VectorChunkStore(collection, make_id=colon_id).fetch([Window("d", 0, 1)], "zebra")
    assert (chunk.key, chunk.metadata.page, chunk.metadata.scope) == (("d", 0), 3, "zebra")


@pytest.mark.parametrize(
    "odd",
    [
        {"char_start": 50, "char_end": 3},
        {"timestamp": float("nan")},
        {"timestamp": float("inf")},
        {"timestamp": 10**400},
        {"timestamp": True},
        {"chunk_count": 10**400},
        {"page": 1e300},
    ],
)
def test_one_odd_record_costs_neither_hits_nor_neighbours(odd: dict[str, Any]) -> None:
    vector = np.ones(8, dtype=np.float32)
    collection = MemoryCollection()
    collection.records = [
        Record(f"d:{n}", {"text": f"text {n}", "doc_id": "d", "chunk_id": n, **known}, None, vector)
        for n, known in enumerate(({}, odd))
    ]
    found = VectorChunkStore(collection).fetch([Window("d", 0, 2)])
    assert [chunk.text for chunk in found] == ["text 0", "text 1"]
    assert len(VectorRetriever(collection, lambda question: vector).retrieve("which?")) == 2


@pytest.mark.parametrize("number", ["9" * 5000, 10**30, -1, "x", 2.5])
def test_a_number_that_is_none_leaves_a_hit_as_it_is(number: Any) -> None:
    vector = np.ones(8, dtype=np.float32)
    collection = MemoryCollection()
    collection.records = [Record("a", {"text": "text", "doc_id": "d", "chunk_id": number}, None, vector)]
    (hit,) = VectorRetriever(collection, lambda question: vector).retrieve("which?")
    assert (hit.chunk.text, hit.chunk.metadata.doc_id) == ("text", "d (unnumbered a)")


# ---- what is told of


def test_hits_that_other_scopes_crowded_out_are_told_of() -> None:
    collection = MemoryCollection([*contract_chunks(1, 2), *contract_chunks(3, 4, "acme", "acme")])
    collection.checks_scope = False
    retriever = VectorRetriever(collection, lambda question: contract_chunks(1, 1, "acme", "acme")[0].embedding)
    assert len(retriever.retrieve("which?", k=20)) == 2  # all that there are
    assert not any("fewer than" in warning for warning in retriever.warnings)
    assert len(retriever.retrieve("which?", k=1)) == 0
    assert any("fewer than k=1 came back" in warning for warning in retriever.warnings)


@pytest.mark.parametrize(
    ("metadata", "key"),
    [
        ({"a.b": 7}, "a.b"),
        ({"a": {"b": 7}}, "a.b"),
        ({"a.b": {"c": 7}}, "a.b.c"),
        ({"a": {"b.c": 7}}, "a.b.c"),
        ({"a": {"x": 1}, "a.b": {"c": 7}}, "a.b.c"),
        ({"a": '{"b.c": 7}'}, "a.b.c"),
        ({"a": {"b": {"c": 7}}, "a.b": {}}, "a.b.c"),
    ],
)
def test_a_name_with_dots_is_found_wherever_the_dots_are(metadata: dict[str, Any], key: str) -> None:
    assert FieldMap(page=key).read(metadata, "page") == 7


def test_metadata_written_with_dots_keep_their_scope() -> None:
    fields = FieldMap(root="metadata")
    assert fields.inside({"text": "x", "metadata.scope": "acme"}) == {"scope": "acme"}
    assert fields.inside({"metadata": {"page": 1}, "metadata.scope": "acme"}) == {"scope": "acme", "page": 1}
    assert fields.inside({"metadata": "nothing known", "metadata.scope": "acme"}) is None
    assert fields.inside({"text": "x"}) == {}


def test_what_llamaindex_writes_for_itself_is_not_handed_on() -> None:
    node = '{"start_char_idx": 5, "end_char_idx": 16, "text": "Bees sleep."}'
    record = {"ref_doc_id": "d", "chunk_id": 0, "author": "me", "_node_type": "TextNode", "_node_content": node}
    fields = LAYOUTS["llamaindex"]
    collection = MemoryCollection(fields=fields)
    collection.records = [Record("d:0", record, None, None)]
    [chunk] = VectorChunkStore(collection, make_id=colon_id).fetch([Window("d", 0, 1)])
    assert (chunk.text, chunk.metadata.char_start, chunk.metadata.char_end) == ("Bees sleep.", 5, 16)
    assert set(chunk.metadata.custom_metadata) == {"ref_doc_id", "chunk_id", "author", "retrivex_id"}


@pytest.mark.parametrize("odd", [{"text": None}, {"text": ""}, {"text": 5}])
def test_hits_that_cannot_be_read_are_told_of(odd: dict[str, Any]) -> None:
    vector = np.ones(8, dtype=np.float32)
    collection = MemoryCollection()
    collection.records = [
        Record(f"d:{n}", {"text": f"text {n}", "doc_id": "d", "chunk_id": n, **known}, None, vector)
        for n, known in enumerate(({}, odd))
    ]
    retriever = VectorRetriever(collection, lambda question: vector)
    assert [hit.chunk.text for hit in retriever.retrieve("which?")] == ["text 0"]
    assert len(retriever.warnings) == 1
    assert "hits left out that have no text" in retriever.warnings[0]
