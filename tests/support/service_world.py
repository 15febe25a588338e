"""Indexes and requests that tests of the service share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from retrivex import Document
from retrivex.chunking import get_chunker
from retrivex.retrieval.indexing import Indexer
from retrivex.service.engine import Engine
from retrivex.service.index import Index
from retrivex.stores import SQLiteStore
from retrivex.tokens.tokenizer import get_tokenizer

BEES = "Bees live in hives. A hive has one queen. She lays all the eggs."
TEXTS = ["Bees live in hives.", "A hive has one queen.", "She lays all the eggs."]
CHUNKS = [{"doc_id": "bees", "chunk_id": number, "text": text} for number, text in enumerate(TEXTS)]
COMPOSE: dict[str, Any] = {
    "id": 7,
    "question": "Who lays eggs?",
    "hits": [{"doc_id": "bees", "chunk_id": 1, "score": 0.8}],
    "chunks": CHUNKS,
}
PASSAGES = [{"id": number, "text": text, "score": 1.0 - number / 10} for number, text in enumerate([*TEXTS, TEXTS[0]])]


def make_index(path: Path, *documents: Document) -> Path:
    """Write documents to a database; three about animals, two of them of tenants, where none are given."""
    given = documents or (
        Document("bees.md", BEES),
        Document("acme:plan.md", "Acme plans a rocket called Vulture.", scope="acme"),
        Document("wayne:plan.md", "Wayne plans a rocket called Bat.", scope="wayne"),
    )
    tokenizer = get_tokenizer("estimate")
    with SQLiteStore(path) as store:
        indexer = Indexer(store, get_chunker("auto", tokenizer=tokenizer), tokenizer)
        for document in given:
            indexer.add(document)
    return path


def make_engine(path: Path, **more: Any) -> Engine:
    """Return an engine over a database, which counts tokens by the estimate."""
    tokenizer = get_tokenizer("estimate")
    return Engine([Index("default", path, tokenizer)], tokenizer=tokenizer, **more)
