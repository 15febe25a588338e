"""A retriever of LlamaIndex with fixed hits, and what tests of its adapters share."""

from __future__ import annotations

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import BaseNode, NodeWithScore, QueryBundle

from retrivex import RetrievalConfig

QUESTION = "What is said about the economy, and about bees?"
ROOMY = RetrievalConfig(window=1, token_budget=6000)


class Fixed(BaseRetriever):
    """Returns what it was told to, as many as it is asked for."""

    def __init__(self, hits: list[tuple[BaseNode, float | None]]) -> None:
        self.hits = hits
        self.similarity_top_k = 2
        self.asked: list[QueryBundle] = []
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        self.asked.append(query_bundle)
        return [NodeWithScore(node=node, score=score) for node, score in self.hits[: self.similarity_top_k]]


def ids_of(made: list[NodeWithScore]) -> list[list[str]]:
    return [hit.node.metadata["source_ids"] for hit in made]
