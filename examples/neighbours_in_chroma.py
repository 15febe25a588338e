"""Neighbours and hits out of a Chroma collection, in one request each."""

import chromadb
from chromadb.config import Settings

from retrivex import RetrievalConfig, SpanComposer
from retrivex.adapters.base.backfill import backfill
from retrivex.adapters.chroma import ChromaChunkStore, ChromaCollection, ChromaRetriever, colon_id

SENTENCES = [
    "Winter. Bees form a cluster.",
    "They shiver to keep warm.",
    "The queen stays in the middle.",
    "Drones are gone by then.",
    "In spring she lays up to 2,000 eggs a day.",
]
WORDS = ["winter", "warm", "queen", "drones", "eggs"]


def embed(text: str) -> list[float]:
    """Stand in for a model: which of a few words a text has."""
    return [float(word in text.lower()) + 0.01 for word in WORDS]


client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))  # chromadb.HttpClient(...) for a server
collection = client.create_collection(
    "bees", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
)  # fmt: skip
numbers = range(len(SENTENCES))
collection.add(
    ids=[colon_id("bees.md", n) for n in numbers],
    documents=SENTENCES,
    embeddings=[embed(sentence) for sentence in SENTENCES],
    metadatas=[{"doc_id": "bees.md", "chunk_id": n} for n in numbers],
)

retriever = ChromaRetriever(client, "bees", embed)
store = ChromaChunkStore(client, "bees", make_id=colon_id)
question = "Where is the queen?"
hits = retriever.retrieve(question, k=1)
print("hit:", hits[0].chunk.text, round(hits[0].similarity_score, 2))

made = SpanComposer(RetrievalConfig(window=1)).compose(hits, store, query=question)
print(f"with its neighbours, {made.trace.requests} request:", made.text)

numbered = backfill(ChromaCollection(client, "bees"))  # reads; with write=True it numbers chunks that have none
print(f"{numbered.records} records, {sum(numbered.documents.values())} document with numbers")
