"""Collections of vector stores that run here, opened as the settings name them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from retrivex.encoders.encoder import HashingEncoder
from retrivex.errors import StoreError
from retrivex.service.collection import CollectionIndex
from retrivex.service.engine import Engine
from retrivex.tokens.tokenizer import get_tokenizer

pytestmark = pytest.mark.integration

SENTENCES = ["Bees live in hives.", "A hive has one queen.", "She lays all the eggs.", "Drones leave in autumn."]


def fill_chroma(folder: Path) -> dict[str, Any]:
    chromadb = pytest.importorskip("chromadb", reason="make integration-engines installs it")
    collection = chromadb.PersistentClient(path=str(folder)).create_collection("bees")
    places = [{"doc_id": "bees.md", "chunk_id": number} for number in range(len(SENTENCES))]
    ids = [f"bees.md:{number}" for number in range(len(SENTENCES))]
    vectors = HashingEncoder().encode(SENTENCES).tolist()
    collection.add(ids=ids, documents=SENTENCES, metadatas=places, embeddings=vectors)
    return {"store": "chroma", "address": str(folder), "collection": "bees"}


def fill_lancedb(folder: Path) -> dict[str, Any]:
    lancedb = pytest.importorskip("lancedb", reason="make integration-engines installs it")
    vectors = HashingEncoder().encode(SENTENCES).tolist()
    rows = [
        {"id": f"bees.md:{number}", "text": text, "doc_id": "bees.md", "chunk_id": number, "vector": vector}
        for number, (text, vector) in enumerate(zip(SENTENCES, vectors, strict=True))
    ]
    lancedb.connect(str(folder)).create_table("bees", rows)
    return {"store": "lancedb", "address": str(folder), "collection": "bees"}


@pytest.mark.parametrize("fill", [fill_chroma, fill_lancedb])
def test_a_question_is_answered_and_cited_from_the_store(fill: Any, tmp_path: Path) -> None:
    place = fill(tmp_path / "store")
    index = CollectionIndex.open("manuals", **place, layout="retrivex", embed="hashing")
    engine = Engine([index], tokenizer=get_tokenizer("estimate"))
    index.check()
    asked = {"question": "Who is the queen of a hive?", "index": "manuals", "k": 1, "config": {"window": 1}}
    made = engine.query(asked)
    assert "A hive has one queen. She lays all the eggs." in made.text
    for citation in made.to_dict()["citations"]:
        found = engine.resolve({**citation, "index": "manuals"})
        assert found["text"] == SENTENCES[citation["chunk_id"]]
    engine.close()


def test_a_collection_that_is_not_there_is_an_error_at_once(tmp_path: Path) -> None:
    place = fill_chroma(tmp_path / "store")
    with pytest.raises(StoreError, match="wasps"):
        CollectionIndex.open("manuals", **{**place, "collection": "wasps"}, layout="retrivex", embed="hashing").check()
