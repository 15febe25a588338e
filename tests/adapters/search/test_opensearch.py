"""OpenSearch through its real client, on a server that stands in for it; see `search_server.py`.

With RETRIVEX_OPENSEARCH_URL set, the contract runs on that server: see `compose.stores.yaml`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("opensearchpy")

from opensearchpy import AsyncOpenSearch, OpenSearch
from support.search.cases import EXACT, Kit, SearchCases, SearchContract
from support.search.server import SearchServer

from retrivex.adapters.base.fields import colon_id
from retrivex.adapters.opensearch import OpenSearchChunkStore, OpenSearchCollection, OpenSearchRetriever
from retrivex.testing import contract_chunks, vector_of

pytestmark = pytest.mark.integration


class OpenSearchKit(Kit):
    flavour = "opensearch"
    example = "neighbours_in_opensearch.py"
    collection = OpenSearchCollection
    store = OpenSearchChunkStore
    retriever = OpenSearchRetriever
    metrics = {  # noqa: RUF012
        "cosinesimil": lambda a, b: float(a @ b),
        "innerproduct": lambda a, b: float(a @ b),
        "l2": lambda a, b: -float(np.linalg.norm(a - b)),
    }

    def client(self, url: str) -> OpenSearch:
        return OpenSearch(url)

    def async_client(self, url: str) -> AsyncOpenSearch:
        return AsyncOpenSearch(url)

    def vectors(self, metric: str | None = None) -> dict[str, Any]:
        method = {"name": "hnsw", "engine": "lucene", "space_type": metric or "cosinesimil"}
        return {"type": "knn_vector", "dimension": 8, "method": method}

    def create(self, client: Any, index: str, mappings: dict[str, Any]) -> None:
        client.indices.create(index=index, body={"settings": {"index": {"knn": True}}, "mappings": mappings})

    def bulk(self, client: Any, index: str, lines: list[Any]) -> Any:
        return client.bulk(index=index, body=lines, refresh=True)


class TestContractByWindows(SearchContract):
    kit = OpenSearchKit()


class TestContractByIds(SearchContract):
    kit = OpenSearchKit()
    make_id = staticmethod(colon_id)


class TestOpenSearch(SearchCases):
    kit = OpenSearchKit()

    def test_an_engine_that_cannot_filter_is_asked_for_more_and_filtered_after(
        self, client: Any, server: SearchServer
    ) -> None:
        chunks = [*contract_chunks(3, 6), *contract_chunks(1, 6, "acme", "acme")]
        index = "retrivex-test-nmslib"
        vectors = {"type": "knn_vector", "dimension": 8, "method": {"name": "hnsw", "engine": "nmslib"}}
        self.kit.create(client, index, {"properties": {**EXACT, "embedding": vectors}})
        fields = OpenSearchCollection(client, index).fields
        self.kit.put(
            client,
            index,
            {colon_id(*c.key): {**fields.payload(c), "embedding": [float(x) for x in c.embedding]} for c in chunks},
        )
        retriever = OpenSearchRetriever(client, index, lambda question: vector_of("question"))
        hits = retriever.retrieve("which?", k=3, scope="acme")
        assert [hit.chunk.metadata.scope for hit in hits] == ["acme"] * 3
        assert server.log[-1][2]["query"]["bool"]["must"][0]["knn"]["embedding"]["k"] == 30
        assert hits[0].similarity_score == pytest.approx(
            -min(float(np.linalg.norm(np.asarray(c.embedding) - vector_of("question"))) for c in chunks[18:]), abs=1e-5
        )
        assert retriever.warnings == ()
        assert len(retriever.retrieve("which?", k=7, scope="acme")) < 7
        assert "looks for the nearest vectors before the scope counts" in retriever.warnings[0]
