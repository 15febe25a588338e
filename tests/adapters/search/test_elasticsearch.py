"""Elasticsearch through its real client, on a server that stands in for it; see `search_server.py`.

With RETRIVEX_ELASTICSEARCH_URL set, the contract runs on that server: see `compose.stores.yaml`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("elasticsearch")

from elasticsearch import AsyncElasticsearch, Elasticsearch
from support.search.cases import Kit, SearchCases, SearchContract
from support.search.queries import Index
from support.search.server import SearchServer

from retrivex.adapters.base.collection import Scan
from retrivex.adapters.base.fields import colon_id
from retrivex.adapters.elasticsearch import ElasticsearchChunkStore, ElasticsearchCollection, ElasticsearchRetriever
from retrivex.errors import StoreError
from retrivex.model.window import Window
from retrivex.testing import contract_chunks

pytestmark = pytest.mark.integration


class ElasticsearchKit(Kit):
    flavour = "elasticsearch"
    example = "neighbours_in_elasticsearch.py"
    collection = ElasticsearchCollection
    store = ElasticsearchChunkStore
    retriever = ElasticsearchRetriever
    metrics = {  # noqa: RUF012
        "cosine": lambda a, b: float(a @ b),
        "dot_product": lambda a, b: float(a @ b),
        "max_inner_product": lambda a, b: float(a @ b),
        "l2_norm": lambda a, b: -float(np.linalg.norm(a - b)),
    }

    def client(self, url: str) -> Elasticsearch:
        return Elasticsearch(url)

    def async_client(self, url: str) -> AsyncElasticsearch:
        return AsyncElasticsearch(url)

    def vectors(self, metric: str | None = None) -> dict[str, Any]:
        return {"type": "dense_vector", "dims": 8, "index": True, "similarity": metric or "cosine"}

    def create(self, client: Any, index: str, mappings: dict[str, Any]) -> None:
        client.indices.create(index=index, mappings=mappings)

    def bulk(self, client: Any, index: str, lines: list[Any]) -> Any:
        return client.bulk(index=index, operations=lines, refresh=True)


class TestContractByWindows(SearchContract):
    kit = ElasticsearchKit()


class TestContractByIds(SearchContract):
    kit = ElasticsearchKit()
    make_id = staticmethod(colon_id)


class TestElasticsearch(SearchCases):
    kit = ElasticsearchKit()

    def test_what_is_written_during_a_scan_does_not_disturb_it(self, client: Any) -> None:
        index = self.kit.fill(client, contract_chunks(1, 6), make_id=colon_id)
        collection = ElasticsearchCollection(client, index)
        page = collection.ask(Scan(None, 4))
        self.kit.put(client, index, {f"new-{n}": {"text": "new"} for n in range(9)})
        rest = collection.ask(Scan(page.after, 4))
        assert [record.id for record in rest.records] == ["doc-0:4", "doc-0:5"]

    def test_the_clients_own_retries_are_off(self, server: SearchServer) -> None:
        client = Elasticsearch(server.url, max_retries=5, retry_on_status=(429,))
        index = self.kit.fill(client, contract_chunks(1, 3))
        store = ElasticsearchChunkStore(client, index, retries=1)
        server.failing = [429] * 9
        before = len(server.log)
        with pytest.raises(StoreError, match="asked 2 times"):
            store.fetch([Window("doc-0", 0, 3)])
        assert len(server.log) == before + 2

    def test_another_product_is_refused(self) -> None:
        with SearchServer("opensearch") as server:
            server.indices["any"] = Index({})
            client = Elasticsearch(server.url)
            with pytest.raises(StoreError, match=r"not Elasticsearch|not supported"):
                ElasticsearchChunkStore(client, "any")
