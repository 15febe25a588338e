"""Neighbours out of a LanceDB table: no second store, one query for all hits."""

import tempfile

import lancedb

from retrivex import RetrievalConfig, SpanComposer
from retrivex.adapters.base.backfill import backfill
from retrivex.adapters.lancedb import LanceDBChunkStore, LanceDBCollection, LanceDBRetriever

SENTENCES = [
    "Honey bees spend the winter in their hive.",
    "They form a cluster and keep it warm by shivering.",
    "The queen stays in the middle of the cluster.",
    "In spring the queen lays up to 2,000 eggs a day.",
    "Drones are driven out before the winter.",
]
WORDS = ["winter", "hive", "cluster", "warm", "queen", "spring", "eggs", "drones"]


def embed(text: str) -> list[float]:
    """Stand in for a model: which of a few words are there."""
    return [float(word in text.lower()) for word in WORDS]


with tempfile.TemporaryDirectory() as folder:
    connection = lancedb.connect(folder)
    rows = [
        {"id": f"bees.md:{n}", "text": text, "vector": embed(text), "doc_id": "bees.md", "chunk_id": n}
        for n, text in enumerate(SENTENCES)
    ]
    connection.create_table("manuals", rows)

    retriever = LanceDBRetriever(connection, "manuals", embed, metric="cosine")
    store = LanceDBChunkStore(connection, "manuals")

    question = "Where in the cluster is the queen?"
    hits = retriever.retrieve(question, k=1)
    print(f"Found: {hits[0].chunk.text} (score {hits[0].similarity_score:.2f})")

    made = SpanComposer(RetrievalConfig(window=1, token_budget=60)).compose(hits, store, query=question)
    print(f"Returned: {made.text}")
    print(f"{made.tokens} of {made.token_budget} tokens, {made.trace.requests} query to LanceDB")

    numbered = backfill(
        LanceDBCollection(connection, "manuals")
    )  # reads; with write=True it numbers chunks that have none
    print(f"{numbered.records} records, {sum(numbered.documents.values())} document with numbers")
