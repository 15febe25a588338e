"""Requests to both search engines: how many, what becomes of them, sync and async."""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from support.search.kit import OnServer, counted
from support.search.server import SearchServer

from retrivex import RetrievalConfig, SeedHit, SpanComposer
from retrivex.errors import StoreError, StoreTimeoutError
from retrivex.model.window import Window
from retrivex.testing import contract_chunks, vector_of


class RequestCases(OnServer):
    """Requests and their failures."""

    # ---- requests

    def test_places_kept_too_often_are_an_error_and_no_silent_loss(
        self, client: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        index = self.kit.fill(client, [contract_chunks(1, 1)[0]] * 4)
        store = self.kit.store(client, index)
        monkeypatch.setattr("retrivex.adapters.search.collection.MOST_HITS", 3)
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

    # ---- arguments

    @pytest.mark.parametrize(
        ("wrong", "said"),
        [
            ({"timeout_s": 0}, "timeout_s is 0"),
            ({"timeout_s": True}, "timeout_s is True"),
            ({"index": ""}, "the collection is ''"),
            ({"client": "http://localhost"}, "client is str"),
            ({"async_client": "http://localhost"}, "async_client is str"),
            ({"search": "meaning"}, "search is 'meaning'"),
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
