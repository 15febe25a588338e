"""Chroma behind LangChain's vector store: its collection is found and asked for neighbours."""

from pathlib import Path

import pytest

from retrivex import RetrievalConfig

chromadb = pytest.importorskip("chromadb")
langchain_chroma = pytest.importorskip("langchain_chroma")

from support.chroma_server import quiet  # noqa: E402
from support.langchain_world import BEES, Bags  # noqa: E402

from retrivex.adapters.langchain import RetriVexRetriever  # noqa: E402

pytestmark = pytest.mark.integration


def test_two_arguments_find_the_neighbours_in_the_collection(tmp_path: Path) -> None:
    client = chromadb.PersistentClient(str(tmp_path), settings=quiet())
    pieces = [piece.model_copy(update={"id": None}) for piece in BEES]
    vectors = langchain_chroma.Chroma.from_documents(pieces, Bags(), client=client, collection_name="behind-langchain")
    made = RetriVexRetriever(vectors.as_retriever(), RetrievalConfig(window=1), fetch_k=1).compose("one queen")
    assert [span.chunk_ids for span in made.spans] == [[0, 1, 2]]
    assert made.warnings == ()
