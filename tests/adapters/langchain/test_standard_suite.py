"""The LangChain retriever in LangChain's own suite."""

from typing import Any

import pytest

pytest.importorskip("langchain_core")
pytest.importorskip("langchain_tests.integration_tests.retrievers")  # older ones have no suite for retrievers

from langchain_core.vectorstores import InMemoryVectorStore
from langchain_tests.integration_tests import RetrieversIntegrationTests
from support.langchain_world import CONFIG, Bags, cut

from retrivex.adapters.langchain import RetriVexRetriever

pytestmark = pytest.mark.integration


# it needs pytest-asyncio's mark on its one async test, and forbids to override it
pytest.mark.asyncio(RetrieversIntegrationTests.test_ainvoke_returns_documents)


class TestStandard(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> type[RetriVexRetriever]:
        return RetriVexRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        pieces = [piece for n in range(9) for piece in cut(f"doc{n}", f"Bees, part {n}.", f"More of {n}.")]
        base = InMemoryVectorStore.from_documents(pieces, Bags()).as_retriever()
        return {"base_retriever": base, "config": CONFIG, "chunk_store": pieces}

    @property
    def retriever_query_example(self) -> str:
        return "bees"
