"""Neighbours out of a Qdrant collection that LangChain filled: no second store, one request for all hits."""

from qdrant_client import QdrantClient, models

from retrivex import RetrievalConfig, SpanComposer
from retrivex.adapters.base.backfill import Backfilled, backfill
from retrivex.adapters.qdrant import QdrantChunkStore, QdrantCollection, QdrantRetriever

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


client = QdrantClient(":memory:")  # QdrantClient(url=...) with a server
client.create_collection("manuals", models.VectorParams(size=len(WORDS), distance=models.Distance.COSINE))
points = [
    models.PointStruct(
        id=n, vector=embed(text), payload={"page_content": text, "metadata": {"source": "bees.md", "chunk_id": n}}
    )
    for n, text in enumerate(SENTENCES)
]
client.upsert("manuals", points)

retriever = QdrantRetriever(client, "manuals", embed, fields="langchain")
store = QdrantChunkStore(client, "manuals", fields="langchain")

question = "Where in the cluster is the queen?"
hits = retriever.retrieve(question, k=1)
print(f"Found: {hits[0].chunk.text} (score {hits[0].similarity_score:.2f})")

made = SpanComposer(RetrievalConfig(window=1, token_budget=60)).compose(hits, store, query=question)
print(f"Returned: {made.text}")
print(f"{made.tokens} of {made.token_budget} tokens, {made.trace.requests} request to Qdrant")

numbered: Backfilled = backfill(
    QdrantCollection(client, "manuals", fields="langchain")
)  # reads; with write=True it numbers chunks that have none
print(f"{numbered.records} records, {sum(numbered.documents.values())} document with numbers")
