"""Chroma, against a real server on loopback and against the database in the client itself."""

from __future__ import annotations

import asyncio
import importlib
import itertools
import json
import socket
import subprocess
import sys
import tempfile
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_examples import run

from retrivex import Chunk, ChunkMetadata, RetrievalConfig, SpanComposer
from retrivex.errors import StoreError, StoreTimeoutError
from retrivex.intervals import Window
from retrivex.testing import ChunkStoreContract, StoreUnderTest, contract_chunks

pytestmark = pytest.mark.integration

chromadb = pytest.importorskip("chromadb")

from chromadb.config import Settings  # noqa: E402

from retrivex.adapters.chroma import CHROMA_LAYOUTS, ChromaChunkStore, ChromaCollection, ChromaRetriever  # noqa: E402
from retrivex.adapters.chroma_where import of_windows  # noqa: E402
from retrivex.adapters.collection import ByIds, Scan  # noqa: E402
from retrivex.adapters.fields import FieldMap, MakeId, colon_id, uuid5_id  # noqa: E402

ROOT = Path(__file__).parent.parent.parent

FIELDS = CHROMA_LAYOUTS["retrivex"]
_NUMBERS = itertools.count()


def _quiet() -> Settings:
    """Return settings for one client: it writes where it is connected to into them."""
    return Settings(anonymized_telemetry=False)


class Gate:
    """A way to a server that can be held shut (nothing passes), or taken away (nobody listens)."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._open = threading.Event()
        self._open.set()
        self._gone = False
        self._pairs: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def shut(self) -> None:
        self._open.clear()

    def take_away(self) -> None:
        """Close everything."""
        self._gone = True
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for side in self._pairs:
            with suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)
            side.close()
        self._open.set()

    def _accept(self) -> None:
        while not self._gone:
            try:
                client, _ = self._listening.accept()
                server = socket.create_connection(("127.0.0.1", self._to))
            except OSError:
                return
            self._pairs += [client, server]
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self._pass_on, args=(source, sink), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self._open.wait()
                sink.sendall(data)


class Server:
    """A server, and a client whose requests are counted as they go out."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.client = self.connect(port)
        self.requests = 0
        self.client._server._session.event_hooks["request"].append(self._count)

    def connect(self, port: int) -> Any:
        return chromadb.HttpClient("127.0.0.1", port, settings=_quiet())

    def _count(self, request: Any) -> None:
        self.requests += 1

    def fill(self, chunks: Sequence[Chunk], make_id: MakeId | None = colon_id, **options: Any) -> str:
        """Make a collection, and return its name."""
        return fill(self.client, chunks, make_id, **options)


def fill(client: Any, chunks: Sequence[Chunk], make_id: MakeId | None = colon_id, **options: Any) -> str:
    name = f"chunks-{next(_NUMBERS)}"
    made = client.create_collection(name, embedding_function=None, **options)
    for at in range(0, len(chunks), 1000):
        some = chunks[at : at + 1000]
        made.add(
            ids=[make_id(*c.key) if make_id else f"record {at + i}" for i, c in enumerate(some)],
            documents=[c.text for c in some],
            embeddings=[np.asarray(c.embedding, dtype=np.float32) for c in some],
            metadatas=[_flat(FIELDS.payload(c)["metadata"]) for c in some],
        )
    return name


def _flat(metadata: dict[str, Any]) -> dict[str, Any]:
    """Write headings as a path: older versions keep no lists."""
    headings = metadata.pop("heading_path", None)
    return metadata if headings is None else {**metadata, "heading_path": "/" + "/".join(headings)}


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        command = Path(sys.executable).with_name("chroma")
        started = subprocess.Popen(
            [str(command), "run", "--path", folder, "--host", "127.0.0.1", "--port", str(port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield _connected(port)
        finally:
            started.terminate()
            started.wait(30)


def _connected(port: int) -> Server:
    until = time.monotonic() + 60
    while True:
        try:
            return Server(port)
        except ValueError:  # chromadb's word for nobody listening
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


class _Contract(ChunkStoreContract):
    def make(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        return self._made(chunks)

    def make_with_embeddings(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        return self._made(chunks, with_vectors=True)

    @abstractmethod
    def _made(self, chunks: Sequence[Chunk], **options: Any) -> StoreUnderTest: ...


class _OverServer(_Contract):
    @pytest.fixture(autouse=True)
    def _with_server(self, server: Server) -> None:
        self.server = server

    def make_down(self) -> ChromaChunkStore:
        gate = Gate(self.server.port)
        client = self.server.connect(gate.port)
        store = ChromaChunkStore(client, self.server.fill(contract_chunks(1, 2)), make_id=colon_id, retries=0)
        gate.take_away()
        return store

    def make_hanging(self) -> ChromaChunkStore:
        gate = Gate(self.server.port)
        client = self.server.connect(gate.port)
        name = self.server.fill(contract_chunks(1, 2))
        store = ChromaChunkStore(client, name, make_id=colon_id, timeout_s=5.0)
        store.collection._timeout_s = 0.3  # type: ignore[attr-defined]  # enough time to open it, little to answer
        gate.shut()
        return store


class TestByIds(_OverServer):
    holds_duplicates = False  # ids are unique

    def _made(self, chunks: Sequence[Chunk], **options: Any) -> StoreUnderTest:
        store = ChromaChunkStore(
            self.server.client, self.server.fill(chunks), make_id=colon_id, timeout_s=60, **options
        )
        return StoreUnderTest(store, lambda: self.server.requests)


class TestByWindows(_OverServer):
    def _made(self, chunks: Sequence[Chunk], **options: Any) -> StoreUnderTest:
        store = ChromaChunkStore(self.server.client, self.server.fill(chunks, make_id=None), timeout_s=60, **options)
        return StoreUnderTest(store, lambda: self.server.requests)


class TestInTheClientItself(_Contract):
    holds_duplicates = False

    def _made(self, chunks: Sequence[Chunk], **options: Any) -> StoreUnderTest:
        client = chromadb.EphemeralClient(_quiet())
        store = ChromaChunkStore(client, fill(client, chunks, uuid5_id), make_id=uuid5_id, timeout_s=60, **options)
        asked: list[Any] = []
        ask = store.collection.ask
        store.collection.ask = lambda request: (asked.append(request), ask(request))[1]  # type: ignore[method-assign]
        return StoreUnderTest(store, lambda: len(asked))


# ---- the retriever


def test_hits_come_best_first_and_go_into_the_composer(server: Server) -> None:
    chunks = contract_chunks()
    name = server.fill(chunks, configuration={"hnsw": {"space": "cosine"}})
    wanted = chunks[17]
    retriever = ChromaRetriever(server.client, name, lambda question: wanted.embedding)
    before = server.requests
    hits = retriever.retrieve("which?", k=4)
    assert server.requests - before == 1
    assert hits[0].key == wanted.key
    assert hits[0].similarity_score == pytest.approx(1.0, abs=1e-5)
    scores = [hit.similarity_score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert len(hits) == 4
    store = ChromaChunkStore(server.client, name, make_id=colon_id)
    made = SpanComposer(RetrievalConfig(window=1)).compose(hits[:1], store, query="which?")
    assert chunks[16].text.strip() in made.text
    assert chunks[18].text.strip() in made.text


@pytest.mark.parametrize(
    ("space", "score"),
    [
        ("cosine", lambda a, b: float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))),
        ("ip", lambda a, b: float(a @ b)),
        ("l2", lambda a, b: -float(np.sum((a - b) ** 2))),
    ],
)
def test_scores_are_larger_for_nearer_vectors_in_every_metric(
    server: Server, space: str, score: Callable[[Any, Any], float]
) -> None:
    vectors = np.random.default_rng(3).standard_normal((20, 8)).astype(np.float32)
    chunks = [Chunk(f"text {n}", ChunkMetadata("d", n), vector) for n, vector in enumerate(vectors)]
    asked = np.ones(8, dtype=np.float32)
    for options in ({"configuration": {"hnsw": {"space": space}}}, {"metadata": {"hnsw:space": space}}):
        name = server.fill(chunks, **options)
        hits = ChromaRetriever(server.client, name, lambda question: asked, with_vectors=True).retrieve("x")
        expected = sorted((score(asked, vector) for vector in vectors), reverse=True)
        assert [hit.similarity_score for hit in hits] == pytest.approx(expected, rel=1e-4, abs=1e-4)
        for hit in hits:
            assert np.allclose(hit.chunk.embedding, vectors[hit.chunk.metadata.chunk_id])


def test_a_scope_finds_its_own_hits_alone(server: Server) -> None:
    chunks = [*contract_chunks(2, 10), *contract_chunks(2, 10, "acme", "acme")]
    name = server.fill(chunks)
    retriever = ChromaRetriever(server.client, name, lambda question: chunks[25].embedding)
    expected = {"acme": {"acme"}, None: {None}, ("acme", None): {"acme", None}, "nobody": set()}
    for scope, seen in expected.items():
        asked = list(scope) if isinstance(scope, tuple) else scope
        hits = retriever.retrieve("x", k=10, scope=asked)
        assert {hit.chunk.metadata.scope for hit in hits} == seen
        assert len(hits) == (10 if seen else 0)
    assert retriever.warnings == ()


def test_a_collection_whose_scope_means_something_else_is_not_filtered(server: Server) -> None:
    name = server.fill(contract_chunks(1, 10, "large"))
    retriever = ChromaRetriever(server.client, name, lambda question: np.ones(8), fields=FieldMap(scope=()))
    assert len(retriever.retrieve("x", k=7)) == 7
    store = ChromaChunkStore(server.client, name, make_id=colon_id, fields=FieldMap(scope=()))
    assert len(store.fetch([Window("doc-0", 0, 3)])) == 3


def test_records_without_a_place_are_hits_that_do_not_grow(server: Server) -> None:
    made = server.client.create_collection("unplaced", embedding_function=None)
    made.add(ids=["a", "b"], documents=["one", "two"], embeddings=[[1.0, 0.0], [0.0, 1.0]])
    retriever = ChromaRetriever(server.client, "unplaced", lambda question: [1.0, 0.1])
    assert [hit.chunk.text for hit in retriever.retrieve("x")] == ["one", "two"]
    assert "stay as they are" in retriever.warnings[0]


def test_vectors_of_another_size_are_refused_with_one_clear_error(server: Server) -> None:
    name = server.fill(contract_chunks(1, 2))
    before = server.requests
    with pytest.raises(StoreError, match=r"refused the request .*dimension of 8, got 2"):
        ChromaRetriever(server.client, name, lambda question: [1.0, 0.0]).retrieve("x")
    assert server.requests - before == 2  # looking the collection up, and asking it once


# ---- windows and limits


def test_windows_all_over_many_documents_are_one_request_and_bring_nothing_else(server: Server) -> None:
    chunks = [Chunk(f"text {d} {d * 7}", ChunkMetadata(f"d{d}", d * 7), [1.0, 0.0]) for d in range(150)]
    others = [Chunk(f"other {d}", ChunkMetadata(f"d{d}", (d + 1) * 7), [1.0, 0.0]) for d in range(150)]
    store = ChromaChunkStore(server.client, server.fill([*chunks, *others], make_id=None))
    before = server.requests
    found = store.fetch([Window(f"d{d}", d * 7, d * 7 + 2) for d in range(150)])
    assert server.requests - before == 1
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


def test_the_most_chunks_of_one_request(server: Server) -> None:
    chunks = [Chunk(f"text {n}", ChunkMetadata(f"d{n % 50}", n), [1.0, 0.0]) for n in range(6000)]
    name = server.fill(chunks)
    windows = [Window(f"d{d}", 0, 1999) for d in range(50)]
    store = ChromaChunkStore(server.client, name, make_id=colon_id, timeout_s=60)
    before = server.requests
    found = store.fetch(windows[:5])
    assert server.requests - before == 2
    assert len(found) == 5 * 40
    scattered = [Window(f"d{n % 50}", n, n + 1) for n in range(0, 6000, 7)]
    by_windows = ChromaChunkStore(server.client, name, timeout_s=60)
    before = server.requests
    assert len(by_windows.fetch(scattered)) == len(scattered)
    assert server.requests - before == 1


# ---- what frameworks write


def _write(server: Server, name: str, metadatas: Sequence[dict[str, Any]], ids: Sequence[str]) -> None:
    made = server.client.create_collection(name, embedding_function=None)
    made.add(
        ids=list(ids),
        documents=[f"text {n}" for n in range(len(ids))],
        embeddings=[[1.0, 0.0]] * len(ids),
        metadatas=list(metadatas),
    )


def test_langchain_collections(server: Server) -> None:
    metadatas = [{"source": "a.md", "chunk_id": n, "start_index": 9 * n, "title": "A"} for n in range(4)]
    _write(server, "of-langchain", metadatas, [uuid5_id("a.md", n) for n in range(4)])
    for make_id in (None, uuid5_id):
        store = ChromaChunkStore(server.client, "of-langchain", fields="langchain", make_id=make_id)
        found = sorted(store.fetch([Window("a.md", 1, 3)]), key=lambda chunk: chunk.metadata.chunk_id)
        assert [(c.text, c.metadata.char_start) for c in found] == [("text 1", 9), ("text 2", 18)]
        assert found[0].metadata.custom_metadata["title"] == "A"


def test_llamaindex_collections(server: Server) -> None:
    def metadata(n: int) -> dict[str, Any]:
        content = {"id_": f"node-{n}", "start_char_idx": 9 * n, "end_char_idx": 9 * n + 6, "text": ""}
        return {"ref_doc_id": "a.md", "doc_id": "a.md", "chunk_id": n, "_node_content": json.dumps(content)}

    _write(server, "of-llamaindex", [metadata(n) for n in range(4)], [f"node-{n}" for n in range(4)])
    store = ChromaChunkStore(server.client, "of-llamaindex", fields="llamaindex")
    found = sorted(store.fetch([Window("a.md", 1, 3)]), key=lambda chunk: chunk.metadata.chunk_id)
    assert [(c.text, c.metadata.char_start, c.metadata.char_end) for c in found] == [
        ("text 1", 9, 15),
        ("text 2", 18, 24),
    ]


def test_haystack_collections(server: Server) -> None:
    metadatas = [{"source_id": "a", "split_id": n, "split_idx_start": 9 * n, "page_number": 1} for n in range(4)]
    _write(server, "of-haystack", metadatas, [f"{n:064x}" for n in range(4)])
    store = ChromaChunkStore(server.client, "of-haystack", fields="haystack")
    found = sorted(store.fetch([Window("a", 1, 3)]), key=lambda chunk: chunk.metadata.chunk_id)
    assert [(c.text, c.metadata.char_start, c.metadata.page) for c in found] == [("text 1", 9, 1), ("text 2", 18, 1)]


def test_names_of_ones_own_with_dots_and_dollars_are_names(server: Server) -> None:
    metadatas = [{"my.doc": "a", "n$": n, "who": "me"} for n in range(4)]
    _write(server, "of-mine", metadatas, [f"id {n}" for n in range(4)])
    fields = FieldMap(doc_id="my.doc", chunk_id="n$", scope="who")
    store = ChromaChunkStore(server.client, "of-mine", fields=fields)
    assert sorted(c.text for c in store.fetch([Window("a", 1, 3)], "me")) == ["text 1", "text 2"]
    assert store.fetch([Window("a", 1, 3)]) == []


def test_an_embedding_function_of_the_collection_is_left_alone(server: Server) -> None:
    name = f"embedding-{next(_NUMBERS)}"
    default = chromadb.utils.embedding_functions.DefaultEmbeddingFunction()
    server.client.create_collection(name, embedding_function=default).add(
        ids=["d:0"], documents=["text"], embeddings=[[1.0, 0.0]], metadatas=[{"doc_id": "d", "chunk_id": 0}]
    )
    assert len(ChromaChunkStore(server.client, name).fetch([Window("d", 0, 1)])) == 1
    assert len(ChromaRetriever(server.client, name, lambda question: [1.0, 0.0]).retrieve("x")) == 1


# ---- clients


def test_an_async_client_gives_what_a_sync_one_gives(server: Server) -> None:
    chunks = [*contract_chunks(), *contract_chunks(2, 4, "acme", "acme")]
    name = server.fill(chunks)
    windows = [Window(f"doc-{d}", 2, 7) for d in range(6)]
    expected = {c.key: c.text for c in ChromaChunkStore(server.client, name, make_id=colon_id).fetch(windows)}

    async def ask() -> None:
        client = await chromadb.AsyncHttpClient("127.0.0.1", server.port, settings=_quiet())
        for make_id in (None, colon_id):
            store = ChromaChunkStore(client, name, make_id=make_id)
            answers = await asyncio.gather(*(store.afetch(windows) for _ in range(32)))
            assert all({chunk.key: chunk.text for chunk in found} == expected for found in answers)
            found = await store.afetch([Window("acme-0", 0, 2), Window("doc-0", 0, 2)], "acme")
            assert {chunk.metadata.doc_id for chunk in found} == {"acme-0"}
            with pytest.raises(StoreError, match="has only an async client"):
                store.fetch(windows)
        retriever = ChromaRetriever(client, name, lambda question: chunks[3].embedding)
        assert (await retriever.aretrieve("x", k=3))[0].key == chunks[3].key
        both = ChromaChunkStore(server.client, name, make_id=colon_id, async_client=client)
        before = server.requests
        assert {chunk.key: chunk.text for chunk in await both.afetch(windows)} == expected
        assert server.requests == before  # it went through the async client
        with pytest.raises(StoreError, match=r"refused the request .*nowhere"):
            await ChromaChunkStore(client, "nowhere").afetch(windows)
        assert len(both.fetch(windows)) == len(expected)  # ours are closed by nobody

    asyncio.run(ask())


def test_an_async_store_gives_up_in_time(server: Server) -> None:
    name = server.fill(contract_chunks(1, 3))

    async def ask() -> None:
        gate = Gate(server.port)
        client = await chromadb.AsyncHttpClient("127.0.0.1", gate.port, settings=_quiet())
        store = ChromaChunkStore(client, name, make_id=colon_id, timeout_s=2.0)
        gate.shut()
        with pytest.raises(StoreTimeoutError, match="did not answer in time"):
            await store.afetch([Window("doc-0", 0, 3)])
        gate.take_away()
        with pytest.raises(StoreError, match="is down"):
            await store.afetch([Window("doc-0", 0, 3)])

    asyncio.run(ask())


def test_a_collection_that_is_made_anew_under_its_name_is_found_again(server: Server) -> None:
    name = server.fill(contract_chunks(1, 3))
    store = ChromaChunkStore(server.client, name, make_id=colon_id)
    assert len(store.fetch([Window("doc-0", 0, 9)])) == 3
    server.client.delete_collection(name)
    with pytest.raises(StoreError, match=r"refused the request .*NotFound"):
        store.fetch([Window("doc-0", 0, 9)])
    made = server.client.create_collection(name, embedding_function=None)
    made.add(ids=["doc-0:7"], documents=["anew"], embeddings=[[1.0, 0.0]])
    assert [chunk.text for chunk in store.fetch([Window("doc-0", 0, 9)])] == ["anew"]


def test_a_server_that_is_down_at_first_is_found_later(server: Server) -> None:
    name = server.fill(contract_chunks(1, 3))
    gate = Gate(server.port)
    client = server.connect(gate.port)
    gate.take_away()
    store = ChromaChunkStore(client, name, make_id=colon_id, retries=0)
    with pytest.raises(StoreError, match="is down"):
        store.fetch([Window("doc-0", 0, 3)])


@pytest.mark.parametrize(
    ("status", "expected", "asked"),
    [(503, "is down, asked 2 times", 2), (429, "is down, asked 2 times", 2), (403, "refused the request", 1)],
)
def test_answers_of_a_proxy_are_understood(server: Server, status: int, expected: str, asked: int) -> None:
    store = ChromaChunkStore(server.client, server.fill(contract_chunks(1, 3)), make_id=colon_id, retries=1)
    session = server.client._server._session
    seen: list[Any] = []

    def answer(response: Any) -> None:
        seen.append(response)
        response.status_code = status
        response._content = b"no"

    session.event_hooks["response"].append(answer)
    try:
        with pytest.raises(StoreError, match=expected):
            store.fetch([Window("doc-0", 0, 3)])
    finally:
        session.event_hooks["response"].remove(answer)
    assert len(seen) == asked


def test_a_database_in_a_folder(tmp_path: Path) -> None:
    client = chromadb.PersistentClient(str(tmp_path), settings=_quiet())
    name = fill(client, contract_chunks(2, 5))
    found = ChromaChunkStore(client, name, make_id=colon_id).fetch([Window("doc-1", 1, 3)])
    assert sorted(chunk.key for chunk in found) == [("doc-1", 1), ("doc-1", 2)]


# ---- bad input


def test_what_is_wrong_is_said_when_the_store_is_made(server: Server) -> None:
    name = server.fill(contract_chunks(1, 2))
    wrong: list[tuple[str, Any, dict[str, Any]]] = [
        ("collection 'nowhere' is not there", "nowhere", {}),
        ("collection is int", 5, {}),
        ("timeout_s is 0", name, {"timeout_s": 0}),
        ("fields is 'mine'", name, {"fields": "mine"}),
        ("async_client is Client", name, {"async_client": server.client}),
        ("has no field for the document", name, {"fields": replace(FIELDS, doc_id=())}),
    ]
    for message, collection, options in wrong:
        with pytest.raises(StoreError, match=message):
            ChromaChunkStore(server.client, collection, **options)
    with pytest.raises(StoreError, match="client is str"):
        ChromaChunkStore("localhost", name)  # type: ignore[arg-type]


# ---- going through all of it, and writing


def test_a_scan_sees_every_record_once_in_pages(server: Server) -> None:
    collection = ChromaCollection(server.client, server.fill(contract_chunks(3, 7)))
    seen: list[str] = []
    after = None
    while True:
        page = collection.ask(Scan(after, 4))
        seen += [record.id for record in page.records]
        after = page.after
        if after is None:
            break
    assert sorted(seen) == sorted(colon_id(f"doc-{d}", n) for d in range(3) for n in range(7))


def test_writing_sets_metadata_and_leaves_the_rest(server: Server) -> None:
    _write(server, "to-write", [{"title": "A"}, {"title": "B"}], ["x", "y"])
    collection = ChromaCollection(server.client, "to-write")
    collection.write({"x": {"metadata.doc_id": "d'\"%", "metadata.chunk_id": 3}, "y": {"metadata.chunk_id": 4}})
    collection.write({})
    records = collection.ask(ByIds(("x", "y"), frozenset([None]))).records
    found = {record.id: (record.payload["document"], record.payload["metadata"]) for record in records}
    assert found == {
        "x": ("text 0", {"title": "A", "doc_id": "d'\"%", "chunk_id": 3}),
        "y": ("text 1", {"title": "B", "chunk_id": 4}),
    }


def test_without_chromadb_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "chromadb.api", None)
    monkeypatch.delitem(sys.modules, "retrivex.adapters.chroma")
    with pytest.raises(ImportError, match=r"pip install 'retrivex-rag\[chroma\]'"):
        importlib.import_module("retrivex.adapters.chroma")


def test_the_example_prints_neighbours() -> None:
    # what other packages warn of is theirs to mend
    program = "import warnings; warnings.simplefilter('ignore')\n"
    program += (ROOT / "examples/neighbours_in_chroma.py").read_text(encoding="utf-8")
    printed = run(program, "neighbours_in_chroma.py")
    assert "1 request" in printed
    assert "They shiver to keep warm." in printed
