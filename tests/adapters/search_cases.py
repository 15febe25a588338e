"""What both search engines must do; `test_elasticsearch.py` and `test_opensearch.py` bring client and classes."""

from __future__ import annotations

import asyncio
import json
import os
import re
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from search_server import SearchServer
from test_examples import run

from retrivex import Chunk, ChunkMetadata, RetrievalConfig, SeedHit, SpanComposer
from retrivex.adapters.backfill import backfill
from retrivex.adapters.collection import ByWindows, Scan
from retrivex.adapters.fields import FieldMap, MakeId, colon_id
from retrivex.adapters.places import Places
from retrivex.adapters.vector_store import VectorChunkStore
from retrivex.errors import StoreError, StoreTimeoutError
from retrivex.intervals import Window
from retrivex.testing import ChunkStoreContract, StoreUnderTest, contract_chunks, vector_of

ROOT = Path(__file__).parents[2]
RECORDS = json.loads((Path(__file__).parent / "search_records.json").read_text(encoding="utf-8"))
"""What the integration packages of the frameworks wrote into an index, and how they mapped it."""

EXACT: dict[str, Any] = {
    "doc_id": {"type": "keyword"},
    "chunk_id": {"type": "integer"},
    "scope": {"type": "keyword"},
    "text": {"type": "text"},
}


class Kit(ABC):
    """One product: its client, its classes in `retrivex.adapters`, and how vectors are mapped there."""

    flavour: str
    example: str
    collection: Any
    store: Any
    retriever: Any
    metrics: dict[str, Callable[[Any, Any], float]]

    @abstractmethod
    def client(self, url: str) -> Any: ...

    @abstractmethod
    def async_client(self, url: str) -> Any: ...

    @abstractmethod
    def vectors(self, metric: str | None = None) -> dict[str, Any]:
        """Return the mapping of a field of vectors of shape (8,); None is the cosine."""

    @abstractmethod
    def create(self, client: Any, index: str, mappings: dict[str, Any]) -> None: ...

    @abstractmethod
    def bulk(self, client: Any, index: str, lines: list[Any]) -> Any: ...

    def put(self, client: Any, index: str, records: dict[str, dict[str, Any]]) -> None:
        lines = [line for id, record in records.items() for line in ({"index": {"_id": id}}, record)]
        for at in range(0, len(lines), 2000):
            answer = self.bulk(client, index, lines[at : at + 2000])
            assert not answer["errors"], answer["items"][:1]

    def fill(
        self,
        client: Any,
        chunks: Sequence[Chunk],
        *,
        make_id: MakeId | None = None,
        properties: dict[str, Any] | None = None,
        metric: str | None = None,
        fields: FieldMap | None = None,
    ) -> str:
        """Make an index of chunks; return its name."""
        index = f"retrivex-test-{uuid.uuid4().hex[:12]}"
        vectors = {"embedding": self.vectors(metric)}
        self.create(client, index, {"properties": {**(EXACT if properties is None else properties), **vectors}})
        records = {}
        for at, chunk in enumerate(chunks):
            vector = {} if chunk.embedding is None else {"embedding": [float(x) for x in chunk.embedding]}
            id = f"record-{at}" if make_id is None else make_id(*chunk.key)
            records[id] = {**(fields or FieldMap()).payload(chunk), **vector}
        self.put(client, index, records)
        return index

    @property
    def real_url(self) -> str | None:
        """Return where a real server is, as the user says."""
        return os.environ.get(f"RETRIVEX_{self.flavour.upper()}_URL")


def counted(client: Any) -> Callable[[], int]:
    """Count the requests of a client from here on."""
    sent: list[str] = []
    perform = client.transport.perform_request

    def counting(method: str, *args: Any, **kwargs: Any) -> Any:
        sent.append(method)
        return perform(method, *args, **kwargs)

    client.transport.perform_request = counting
    return lambda: len(sent)


class SearchContract(ChunkStoreContract):
    """The contract, by ids or by windows, on a real server where the environment names one."""

    kit: Kit
    make_id: MakeId | None = None
    most_in_a_request = 5000

    @pytest.fixture(autouse=True)
    def _served(self) -> Iterator[None]:
        if self.kit.real_url is not None:
            self.url = self.kit.real_url
            yield
        else:
            with SearchServer(self.kit.flavour) as server:
                self.url = server.url
                yield

    def make(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        return self._made(chunks)

    def make_with_embeddings(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        return self._made(chunks, with_vectors=True)

    def _made(self, chunks: Sequence[Chunk], **options: Any) -> StoreUnderTest:
        client = self.kit.client(self.url)
        make_id = type(self).make_id
        index = self.kit.fill(client, chunks, make_id=make_id)
        store = self.kit.store(client, index, make_id=make_id, timeout_s=60, **options)
        assert store.warnings == ()

        def close() -> None:
            client.indices.delete(index=index)
            client.close()

        return StoreUnderTest(store, counted(client), close)

    def make_down(self) -> VectorChunkStore:
        with SearchServer(self.kit.flavour) as server:
            url = server.url
        down: VectorChunkStore = self.kit.store(self.kit.client(url), "nowhere", retries=0)
        return down

    def make_hanging(self) -> VectorChunkStore:
        server = SearchServer(self.kit.flavour).__enter__()
        self.hanging = server
        server.hang_s = 1.0
        hanging: VectorChunkStore = self.kit.store(self.kit.client(server.url), "slow", timeout_s=0.1)
        return hanging

    @pytest.fixture(autouse=True)
    def _stopped(self) -> Iterator[None]:
        self.hanging: SearchServer | None = None
        yield
        if self.hanging is not None:
            self.hanging.__exit__()


class SearchCases:
    """What is tested beside the contract, on the double alone: its log and its faults are part of it."""

    kit: Kit

    @pytest.fixture
    def server(self) -> Iterator[SearchServer]:
        with SearchServer(self.kit.flavour) as server:
            yield server

    @pytest.fixture
    def client(self, server: SearchServer) -> Iterator[Any]:
        client = self.kit.client(server.url)
        yield client
        client.close()

    # ---- hits

    def test_hits_come_best_first_with_their_cosine(self, client: Any) -> None:
        chunks = contract_chunks()
        index = self.kit.fill(client, chunks)
        asked = vector_of("question")
        retriever = self.kit.retriever(client, index, lambda question: asked)
        hits = retriever.retrieve("which?", k=5)
        cosines = sorted((float(np.asarray(chunk.embedding) @ asked) for chunk in chunks), reverse=True)
        assert [hit.similarity_score for hit in hits] == pytest.approx(cosines[:5], abs=1e-5)
        made = SpanComposer(RetrievalConfig(window=1)).compose(hits[:1], self.kit.store(client, index), query="which?")
        assert len(made.spans[0].chunk_ids) > 1

    def test_scores_are_similarities_or_distances_with_a_minus(self, client: Any) -> None:
        chunks = contract_chunks(1, 8)
        asked = vector_of("question")
        for metric, of in self.kit.metrics.items():
            index = self.kit.fill(client, chunks, metric=metric)
            hits = self.kit.retriever(client, index, lambda question: asked).retrieve("which?", k=8)
            vectors = {chunk.key: np.asarray(chunk.embedding, dtype=float) for chunk in chunks}
            expected = [of(asked.astype(float), vectors[hit.key]) for hit in hits]
            assert [hit.similarity_score for hit in hits] == pytest.approx(expected, abs=1e-4), metric
            assert expected == sorted(expected, reverse=True)

    def test_the_nearest_are_looked_for_inside_the_scope(self, client: Any) -> None:
        chunks = [*contract_chunks(4, 12), *contract_chunks(1, 5, "acme", "acme")]
        index = self.kit.fill(client, chunks)
        retriever = self.kit.retriever(client, index, lambda question: chunks[0].embedding)
        assert {hit.chunk.metadata.scope for hit in retriever.retrieve("x", k=5, scope="acme")} == {"acme"}
        assert len(retriever.retrieve("x", k=5, scope="acme")) == 5
        assert {hit.chunk.metadata.scope for hit in retriever.retrieve("x", k=60)} == {None}
        assert len(retriever.retrieve("x", k=60, scope=["acme", None])) == 53
        assert retriever.retrieve("x", k=5, scope="nobody") == []

    def test_hits_by_words_need_no_model(self, client: Any, server: SearchServer) -> None:
        texts = ["The queen lays eggs in spring.", "A hive has one queen.", "Drones leave in autumn."]
        chunks = [Chunk(text, ChunkMetadata("bees", n)) for n, text in enumerate(texts)]
        chunks.append(Chunk("Eggs, eggs, eggs.", ChunkMetadata("secret", 0, scope="acme")))
        index = self.kit.fill(client, chunks)
        retriever = self.kit.retriever(client, index, search="bm25")
        hits = retriever.retrieve('how many "eggs" in spring?', k=2)
        assert [hit.chunk.text for hit in hits] == [texts[0], texts[2]]
        assert hits[0].similarity_score > hits[1].similarity_score > 0
        assert server.log[-1][2]["query"]["bool"]["must"] == [
            {"match": {"text": {"query": 'how many "eggs" in spring?'}}}
        ]
        assert retriever.retrieve("  ") == []

    def test_hits_without_a_place_stay_as_they_are_with_a_warning(self, client: Any) -> None:
        index = self.kit.fill(client, [], properties={"text": {"type": "text"}})
        self.kit.put(client, index, {"a": {"text": "one", "embedding": vector_of("a").tolist()}})
        retriever = self.kit.retriever(client, index, lambda question: vector_of("a"))
        hits = retriever.retrieve("which?")
        assert [hit.chunk.text for hit in hits] == ["one"]
        assert "stay as they are" in retriever.warnings[0]
        store = self.kit.store(client, index)
        assert "no record has doc_id or chunk_id" in store.warnings[0]
        assert "retrivex backfill" in store.warnings[0]
        made = SpanComposer().compose(hits, store, query="which?")
        assert [span.text for span in made.spans] == ["one"]

    def test_vectors_are_not_sent_back(self, client: Any, server: SearchServer) -> None:
        chunks = contract_chunks(1, 3)
        index = self.kit.fill(client, chunks)
        for chunk in self.kit.store(client, index).fetch([Window("doc-0", 0, 3)]):
            assert "embedding" not in chunk.metadata.custom_metadata
        assert "embedding" in server.log[-1][2]["_source"]["excludes"]

    def test_vectors_come_where_they_are_wanted(self, client: Any) -> None:
        chunks = contract_chunks(1, 3)
        index = self.kit.fill(client, chunks)
        asked = vector_of("question")
        retriever = self.kit.retriever(client, index, lambda question: asked, with_vectors=True)
        found = [
            *self.kit.store(client, index, with_vectors=True).fetch([Window("doc-0", 0, 3)]),
            *(hit.chunk for hit in retriever.retrieve("which?")),
        ]
        expected = {chunk.key: chunk.embedding for chunk in chunks}
        assert len(found) == 6
        for chunk in found:
            assert np.asarray(chunk.embedding) == pytest.approx(np.asarray(expected[chunk.key]), abs=1e-6)
            assert "embedding" not in chunk.metadata.custom_metadata

    def test_what_is_written_after_the_store_was_made_is_found(self, client: Any, server: SearchServer) -> None:
        index = self.kit.fill(client, [], properties={})
        store = self.kit.store(client, index)
        assert "no record has doc_id or chunk_id" in store.warnings[0]
        words = self.kit.retriever(client, index, search="bm25")
        with pytest.raises(StoreError, match="has no text in 'text'"):
            words.retrieve("sentence")
        chunks = contract_chunks(1, 3, "acme")
        payloads = [FieldMap().payload(chunk) for chunk in chunks]
        self.kit.put(client, index, {str(at): payload for at, payload in enumerate(payloads)})
        assert len(store.fetch([Window("doc-0", 0, 3)], "acme")) == 3
        assert len(words.retrieve("sentence", scope="acme")) == 3
        before = len(server.log)
        assert len(words.retrieve("sentence", scope="acme")) == 3
        assert len(server.log) == before + 1

    def test_a_field_without_vectors_is_named_with_those_that_have_some(
        self, client: Any, server: SearchServer
    ) -> None:
        index = self.kit.fill(client, contract_chunks(1, 2))
        retriever = self.kit.retriever(client, index, lambda question: vector_of("a"), vector_name="vektor")
        with pytest.raises(StoreError, match=r"no vectors in 'vektor'.*its vector fields: embedding"):
            retriever.retrieve("which?")
        server.forbidden.add("_mapping")
        blind = FieldMap(embedding=(), text=())
        with pytest.raises(StoreError, match="no vectors in None"):
            self.kit.retriever(client, index, lambda question: vector_of("a"), fields=blind).retrieve("which?")
        with pytest.raises(StoreError, match="no text in None"):
            self.kit.retriever(client, index, search="bm25", fields=blind).retrieve("which?")

    # ---- the mapping

    def test_a_text_is_asked_by_the_keyword_beside_it(self, client: Any, server: SearchServer) -> None:
        names = ["Bees.md", "bees", "the bees"]
        chunks = [Chunk(f"{name} {n}", ChunkMetadata(name, n, scope="Acme Ltd")) for name in names for n in range(3)]
        index = self.kit.fill(client, chunks, properties={})  # dynamic mapping: a text with a keyword beside it
        store = self.kit.store(client, index)
        assert store.warnings == ()
        for name in names:
            assert {c.key for c in store.fetch([Window(name, 1, 3)], "Acme Ltd")} == {(name, 1), (name, 2)}
            assert store.fetch([Window(name, 0, 3)], "Acme") == []
        assert '"doc_id.keyword"' in json.dumps(server.log[-1][2])

    def test_a_text_alone_is_told_of_and_refused(self, client: Any, server: SearchServer) -> None:
        index = self.kit.fill(client, contract_chunks(1, 3), properties={**EXACT, "doc_id": {"type": "text"}})
        store = self.kit.store(client, index)
        (warning,) = store.warnings
        assert f"PUT /{index}/_mapping" in warning
        assert "_update_by_query" in warning
        with pytest.raises(StoreError, match="cannot be matched letter by letter"):
            store.fetch([Window("doc-0", 0, 3)])
        found = re.search(r"_mapping (\{.*\}) and", warning)
        assert found is not None
        advised = {**EXACT, **json.loads(found[1])["properties"]}
        better = self.kit.store(client, self.kit.fill(client, contract_chunks(1, 3), properties=advised))
        assert better.warnings == ()
        assert len(better.fetch([Window("doc-0", 0, 3)])) == 3
        assert "no such field" not in str(server.log[-1])

    def test_numbers_kept_as_texts_are_listed_one_by_one(self, client: Any) -> None:
        properties = {**EXACT, "chunk_id": {"type": "keyword"}}
        index = self.kit.fill(client, [], properties=properties)
        records = {f"r{n}": {"text": f"text {n}", "doc_id": "d", "chunk_id": str(n)} for n in range(120)}
        self.kit.put(client, index, records)
        found = self.kit.store(client, index).fetch([Window("d", 8, 12), Window("d", 99, 101)])
        assert sorted(chunk.metadata.chunk_id for chunk in found) == [8, 9, 10, 11, 99, 100]

    def test_a_scope_that_is_a_text_alone_is_refused(self, client: Any) -> None:
        index = self.kit.fill(client, contract_chunks(1, 3), properties={**EXACT, "scope": {"type": "text"}})
        store = self.kit.store(client, index, make_id=colon_id)
        with pytest.raises(StoreError, match="scope cannot be matched letter by letter"):
            store.fetch([Window("doc-0", 0, 3)], "acme")

    def test_a_mapping_that_may_not_be_read_is_told_of(self, client: Any, server: SearchServer) -> None:
        chunks = [Chunk(f"text {n}", ChunkMetadata("Bees.md", n, scope="acme")) for n in range(3)]
        index = self.kit.fill(client, chunks, properties={})
        server.forbidden.add("_mapping")
        store = self.kit.store(client, index)
        assert "its mapping may not be read (action is unauthorized)" in store.warnings[0]
        before = len(server.log)
        assert len(store.fetch([Window("Bees.md", 0, 3)], "acme")) == 3
        assert len(server.log) == before + 1

    def test_a_mapping_is_read_later_where_the_server_is_down_at_first(self, client: Any, server: SearchServer) -> None:
        index = self.kit.fill(client, contract_chunks(1, 3))
        server.failing = [429, 429, 429]
        store = self.kit.store(client, index)
        assert len(store.fetch([Window("doc-0", 0, 3)])) == 3
        assert server.failing == []

    def test_an_index_that_is_not_there_is_an_error_at_once(self, client: Any) -> None:
        with pytest.raises(StoreError, match=r"index 'nowhere': its mapping cannot be read .*no such index"):
            self.kit.store(client, "nowhere")

    # ---- requests

    def test_windows_with_more_clauses_than_a_search_may_have_are_one_request_still(
        self, client: Any, server: SearchServer
    ) -> None:
        chunks = contract_chunks(documents=5, chunks=12)
        index = self.kit.fill(client, chunks)
        store = self.kit.store(client, index, timeout_s=60)
        windows = [Window(f"doc-{d}", n + d % 7, n + d % 7 + 1) for d in range(5) for n in range(0, 10, 2)]
        windows += [Window(f"name-{n}", n, n + 1) for n in range(1500)]
        before = len(server.log)
        found = store.fetch(windows)
        assert len(server.log) == before + 1
        assert len(server.log[-1][2]) >= 4  # several searches in it, a header and a body each
        wanted = {(w.doc_id, n) for w in windows for n in range(w.start, w.end)}
        assert {chunk.key for chunk in found} == wanted & {chunk.key for chunk in chunks}

    def test_a_part_that_fails_fails_the_whole(self, client: Any, server: SearchServer) -> None:
        index = self.kit.fill(client, contract_chunks(1, 3))
        store = self.kit.store(client, index)
        server.part_fails = 429
        with pytest.raises(StoreError, match=r"is down, asked 3 times .*as the test wants it"):
            store.fetch([Window(f"name-{n}", n, n + 1) for n in range(1500)])

    def test_places_kept_too_often_are_an_error_and_no_silent_loss(
        self, client: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        index = self.kit.fill(client, [contract_chunks(1, 1)[0]] * 4)
        store = self.kit.store(client, index)
        monkeypatch.setattr("retrivex.adapters.search_collection.MOST_HITS", 3)
        with pytest.raises(StoreError, match=r"holds 4 records .* take the copies out"):
            store.fetch([Window("doc-0", 0, 1)])

    def test_a_server_that_is_down_for_a_moment_is_asked_again(self, client: Any, server: SearchServer) -> None:
        index = self.kit.fill(client, contract_chunks(1, 3))
        store = self.kit.store(client, index)
        server.failing = [429]
        assert len(store.fetch([Window("doc-0", 0, 3)])) == 3

    def test_what_will_not_pass_is_not_asked_again(self, client: Any, server: SearchServer) -> None:
        index = self.kit.fill(client, contract_chunks(1, 3))
        store = self.kit.store(client, index)
        server.failing = [401]
        before = len(server.log)
        with pytest.raises(StoreError, match="refused the request"):
            store.fetch([Window("doc-0", 0, 3)])
        assert len(server.log) == before + 1

    def test_a_retriever_that_hangs_is_given_up_on(self, client: Any, server: SearchServer) -> None:
        index = self.kit.fill(client, contract_chunks(1, 3))
        retriever = self.kit.retriever(client, index, lambda question: vector_of("a"), timeout_s=0.1)
        server.hang_s = 0.5
        with pytest.raises(StoreTimeoutError):
            retriever.retrieve("which?")

    def test_two_tenants_and_64_threads_on_one_retriever(self, client: Any) -> None:
        chunks = [*contract_chunks(2, 6, "acme", "acme"), *contract_chunks(2, 6, "zebra", "zebra")]
        index = self.kit.fill(client, chunks)
        retriever = self.kit.retriever(client, index, lambda question: vector_of(question))
        asked = [(f"question {n % 8}", ("acme", "zebra")[n % 2]) for n in range(64)]

        def ask(question: str, scope: str) -> list[Any]:
            return [hit.key for hit in retriever.retrieve(question, k=4, scope=scope)]

        with ThreadPoolExecutor(64) as pool:
            found = list(pool.map(lambda each: ask(*each), asked))
        assert found == [ask(*each) for each in asked]
        assert all(key[0].startswith(scope) for keys, (_, scope) in zip(found, asked, strict=True) for key in keys)

    # ---- async

    def test_an_async_client_alone_does_all_of_it(self, client: Any, server: SearchServer) -> None:
        chunks = [*contract_chunks(4, 4), *contract_chunks(4, 4, "acme", "acme")]
        index = self.kit.fill(client, chunks)
        windows = [Window("doc-0", 0, 4), Window("acme-0", 1, 3)]

        async def ask() -> None:
            async_client = self.kit.async_client(server.url)
            try:
                store = self.kit.store(async_client, index)
                found = await asyncio.gather(*(store.afetch(windows, ("acme", None)[n % 2]) for n in range(64)))
                assert [sorted(c.key for c in each) for each in found[:2]] == [
                    [("acme-0", 1), ("acme-0", 2)],
                    [("doc-0", n) for n in range(4)],
                ]
                assert all(
                    sorted(c.key for c in each) == sorted(c.key for c in found[n % 2]) for n, each in enumerate(found)
                )
                retriever = self.kit.retriever(async_client, index, lambda question: chunks[3].embedding)
                assert (await retriever.aretrieve("which?", k=2))[0].key == chunks[3].key
                before = len(server.log)
                await store.afetch(windows)
                assert len(server.log) == before + 1
                with pytest.raises(StoreError, match="has only an async client"):
                    store.fetch(windows)
                with pytest.raises(StoreError, match="async_client is Async"):
                    self.kit.store(async_client, index, async_client=async_client)
            finally:
                await async_client.close()

        asyncio.run(ask())

    def test_both_clients_beside_each_other(self, client: Any, server: SearchServer) -> None:
        index = self.kit.fill(client, contract_chunks(2, 4))

        async def ask() -> list[Any]:
            async_client = self.kit.async_client(server.url)
            try:
                store = self.kit.store(client, index, async_client=async_client)
                sent = counted(client)
                found = await store.afetch([Window("doc-0", 1, 3)])
                assert sent() == 0  # the async one was asked
                assert store.fetch([Window("doc-0", 1, 3)]) == found
                server.hang_s = 0.5
                slow = self.kit.store(async_client, index, timeout_s=0.1)
                with pytest.raises(StoreTimeoutError):
                    await slow.afetch([Window("doc-0", 1, 3)])
                return list(found)
            finally:
                await async_client.close()

        assert len(asyncio.run(ask())) == 2

    def test_an_async_server_that_is_down_costs_the_neighbours_and_not_the_seeds(self) -> None:
        with SearchServer(self.kit.flavour) as server:
            url = server.url

        async def ask() -> Any:
            async_client = self.kit.async_client(url)
            try:
                store = self.kit.store(async_client, "any", retries=0)
                with pytest.raises(StoreError, match="is down"):
                    await store.afetch([Window("doc-0", 0, 1)])
                hits = [SeedHit(contract_chunks()[3], 1.0)]
                return await SpanComposer(RetrievalConfig(scoring="weighted")).acompose(hits, store)
            finally:
                await async_client.close()

        made = asyncio.run(ask())
        assert [span.text for span in made.spans] == [contract_chunks()[3].text.rstrip()]
        assert any("gave no neighbours" in warning for warning in made.warnings)

    # ---- all records, and writing

    def test_a_scan_gives_every_record_once_and_goes_on_where_it_stopped(
        self, client: Any, server: SearchServer
    ) -> None:
        chunks = contract_chunks(3, 7)
        collection = self.kit.collection(client, self.kit.fill(client, chunks, make_id=colon_id))
        seen: list[str] = []
        after = None
        while True:
            page = collection.ask(Scan(after, 5))
            assert page.records == collection.ask(Scan(after, 5)).records or after is None
            seen += [record.id for record in page.records]
            after = json.loads(json.dumps(page.after))
            if after is None:
                break
        assert sorted(seen) == sorted(colon_id(*chunk.key) for chunk in chunks)
        assert len(seen) == len(set(seen))

    def test_fields_are_written_beside_those_that_are_there(self, client: Any) -> None:
        index = self.kit.fill(client, [], properties={"text": {"type": "text"}})
        record = {"text": "Bees sleep.", "metadata": {"source": "bees.md", "author": "Ann"}}
        self.kit.put(client, index, {"a": record})
        fields = FieldMap(doc_id="source", root="metadata")
        collection = self.kit.collection(client, index, fields=fields)
        collection.write({"a": {"metadata.chunk_id": 3, "metadata.chunk_count": 9}})
        collection.write({})
        assert collection.ask(ByWindows((Window("bees.md", 3, 4),), frozenset({None}))).records[0].id == "a"
        (chunk,) = self.kit.store(client, index, fields=fields).fetch([Window("bees.md", 0, 9)])
        assert (chunk.key, chunk.metadata.chunk_count) == (("bees.md", 3), 9)
        assert chunk.metadata.custom_metadata["author"] == "Ann"

    def test_a_record_that_cannot_be_written_is_an_error(self, client: Any) -> None:
        index = self.kit.fill(client, contract_chunks(1, 1), make_id=colon_id)
        collection = self.kit.collection(client, index)
        with pytest.raises(StoreError, match=r"1 of 2 records were not written, the first of them 'nobody': .*missing"):
            collection.write({"nobody": {"chunk_id": 3}, "doc-0:0": {"chunk_count": 7}})
        (chunk,) = self.kit.store(client, index).fetch([Window("doc-0", 0, 1)])
        assert chunk.metadata.chunk_count == 7

    # ---- what frameworks wrote

    @pytest.mark.parametrize("framework", ["langchain", "llamaindex", "haystack"])
    def test_records_of_frameworks_are_read_and_found(self, client: Any, framework: str) -> None:
        written = RECORDS[self.kit.flavour][framework]
        index = f"retrivex-test-{framework}"
        self.kit.create(client, index, written["mapping"])
        self.kit.put(client, index, written["records"])
        store = self.kit.store(client, index, fields=framework)
        assert store.warnings == ()
        found = {chunk.key: chunk for chunk in store.fetch([Window("bees.md", 0, 9)])}
        assert sorted(found) == [("bees.md", n) for n in range(3)]
        assert found["bees.md", 1].text == "A hive has one queen."
        assert (found["bees.md", 1].metadata.char_start, found["bees.md", 1].metadata.char_end) == (32, 53)
        question = written["records"][next(iter(written["records"]))]
        vector = next(question[key] for key in ("vector", "vector_field", "embedding") if key in question)
        (hit,) = self.kit.retriever(client, index, lambda question: vector, fields=framework).retrieve("which?", k=1)
        assert hit.key in found

    def test_the_example_runs(self, server: SearchServer, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(f"{self.kit.flavour.upper()}_URL", server.url)
        printed = run((ROOT / self.kit.example).read_text(encoding="utf-8"), self.kit.example)
        assert printed.count("In spring she lays up to 2,000 eggs a day. Drones are driven out in autumn.") == 2
        assert server.indices == {}

    @pytest.mark.parametrize("framework", ["langchain", "llamaindex"])
    def test_records_without_numbers_get_them(self, client: Any, framework: str, tmp_path: Path) -> None:
        written = json.loads(json.dumps(RECORDS[self.kit.flavour][framework]))
        written["mapping"]["properties"]["metadata"]["properties"].pop("chunk_index")
        for record in written["records"].values():
            record["metadata"].pop("chunk_index")
        index = f"retrivex-test-{framework}"
        self.kit.create(client, index, written["mapping"])
        self.kit.put(client, index, written["records"])
        collection = self.kit.collection(client, index, fields=framework)
        with Places(tmp_path / "places.db", create=True) as places:
            done = backfill(collection, places, write=True, batch=2)
        assert (done.records, done.written) == (3, 3)
        store = self.kit.store(client, index, fields=framework)
        assert store.warnings == ()
        found = store.fetch([Window("bees.md", 1, 3)])
        assert sorted((*chunk.key, chunk.metadata.chunk_count) for chunk in found) == [
            ("bees.md", 1, 3),
            ("bees.md", 2, 3),
        ]

    # ---- arguments

    @pytest.mark.parametrize(
        ("wrong", "said"),
        [
            ({"timeout_s": 0}, "timeout_s is 0"),
            ({"timeout_s": True}, "timeout_s is True"),
            ({"index": ""}, "index is ''"),
            ({"client": "http://localhost"}, "client is str"),
            ({"async_client": "http://localhost"}, "async_client is str"),
            ({"search": "hybrid"}, "search is 'hybrid'"),
            ({"embed": None}, "embed is missing"),
            ({"fields": "elastic"}, "fields is 'elastic'"),
        ],
    )
    def test_arguments_that_are_wrong_are_refused(self, client: Any, wrong: dict[str, Any], said: str) -> None:
        index = self.kit.fill(client, contract_chunks(1, 1))
        given = {"client": client, "index": index, "embed": lambda question: vector_of("a"), **wrong}
        with pytest.raises(StoreError, match=re.escape(said)):
            self.kit.retriever(**given)

    def test_more_hits_than_the_server_gives_are_refused(self, client: Any) -> None:
        index = self.kit.fill(client, contract_chunks(1, 1))
        with pytest.raises(StoreError, match="at most 10000 hits"):
            self.kit.retriever(client, index, lambda question: vector_of("a")).retrieve("x", k=10_001)

    def test_the_client_stays_open(self, client: Any) -> None:
        index = self.kit.fill(client, contract_chunks(1, 1))
        store = self.kit.store(client, index)
        store.fetch([Window("doc-0", 0, 1)])
        del store
        assert client.info()["version"]["number"]
