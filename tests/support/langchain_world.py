"""Documents, vector stores and retrievers of LangChain that its adapters are tested with."""

import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from retrivex import RetrievalConfig

pytest.importorskip("langchain_core")

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter

SMALL = "\n\n".join(
    f"Paragraph {n} speaks of {topic}. Żółw no. {n} naps; 第{n}节谈蜜蜂。 Nobody knows why {topic} stay for {n} days."
    for n, topic in enumerate(["bees", "wasps", "ants", "owls", "eels", "bats", "elks", "apes"] * 25)
)
QUESTION = "What is said about the economy, and about bees?"
CONFIG = RetrievalConfig(window=1, token_budget=400, effort="full")
ROOMY = RetrievalConfig(window=1, token_budget=4000, effort="full")


class Bags(Embeddings):
    """Words hashed into 64 numbers: enough to find what shares words with the question."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        vector = np.full(64, 0.01)
        for word, n in Counter(text.lower().split()).items():
            vector[random.Random(word).randrange(64)] += n
        return (vector / np.linalg.norm(vector)).tolist()


class Distances(InMemoryVectorStore):
    """A store whose scores are distances, as those of Chroma and FAISS are."""

    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> list[tuple[Document, float]]:
        return [(doc, 1 - score) for doc, score in super().similarity_search_with_score(query, k, **kwargs)]


class Unscored(InMemoryVectorStore):
    """A store that can search and tells no scores."""

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        return self.similarity_search_by_vector(self.embedding.embed_query(query), k)

    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> list[tuple[Document, float]]:
        raise NotImplementedError

    async def asimilarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        raise NotImplementedError


class Fixed(BaseRetriever):
    """Returns what it was told to, as many as it is asked for."""

    documents: list[Document]
    k: int = 4

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return self.documents[: self.k]


def text() -> str:
    beside = Path(__file__).parents[3] / "shared" / "data"
    corpora = Path(os.environ.get("RETRIVEX_DATA", beside)) / "chunking_evaluation" / "corpora"
    if not corpora.is_dir():
        return SMALL
    return (corpora / "wikitexts.md").read_text(encoding="utf-8")[:30_000]


def pieces(text: str) -> list[Document]:
    splitter = RecursiveCharacterTextSplitter(
        chunk_size=400, chunk_overlap=60, add_start_index=True, strip_whitespace=False
    )
    return splitter.split_documents([Document(text, metadata={"source": "wiki.md", "lang": "en"})])


def vectors(pieces: list[Document]) -> InMemoryVectorStore:
    return InMemoryVectorStore.from_documents(pieces, Bags())


def cut(doc_id: str, *texts: str, **metadata: Any) -> list[Document]:
    return [
        Document(text, metadata={"doc_id": doc_id, "chunk_id": n, **metadata}, id=f"{doc_id}:{n}")
        for n, text in enumerate(texts)
    ]


BEES = cut("bees", "Bees live in hives.", "A hive has one queen.", "She lays all eggs.", "Drones do not work.")
