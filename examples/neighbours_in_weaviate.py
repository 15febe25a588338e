"""Neighbours out of a Weaviate collection, by ids made of document and number: one request for all hits."""

import weaviate
from stand_ins import weaviate_ports
from weaviate.classes.config import Configure, DataType, Property, Tokenization
from weaviate.classes.data import DataObject

from retrivex import RetrievalConfig, SpanComposer
from retrivex.adapters.base.backfill import backfill
from retrivex.adapters.base.fields import uuid5_id
from retrivex.adapters.weaviate import WeaviateChunkStore, WeaviateCollection, WeaviateRetriever

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


client = weaviate.connect_to_local(**weaviate_ports(), skip_init_checks=True)  # such as port=8080, grpc_port=50051
manuals = client.collections.create(
    "Manuals",
    properties=[
        Property(name="text", data_type=DataType.TEXT),
        Property(name="doc_id", data_type=DataType.TEXT, tokenization=Tokenization.FIELD),
        Property(name="chunk_id", data_type=DataType.INT, index_range_filters=True),
    ],
    vector_config=Configure.Vectors.self_provided(),
)
manuals.data.insert_many(
    [
        DataObject(
            uuid=uuid5_id("bees.md", n),
            properties={"text": text, "doc_id": "bees.md", "chunk_id": n},
            vector=embed(text),
        )
        for n, text in enumerate(SENTENCES)
    ]
)

retriever = WeaviateRetriever(client, "Manuals", embed)
store = WeaviateChunkStore(client, "Manuals", make_id=uuid5_id)

question = "Where in the cluster is the queen?"
hits = retriever.retrieve(question, k=1)
print(f"Found: {hits[0].chunk.text} (score {hits[0].similarity_score:.2f})")

made = SpanComposer(RetrievalConfig(window=1, token_budget=60)).compose(hits, store, query=question)
print(f"Returned: {made.text}")
print(f"{made.tokens} of {made.token_budget} tokens, {made.trace.requests} request to Weaviate")
numbered = backfill(WeaviateCollection(client, "Manuals"))  # reads; with write=True it numbers chunks that have none
print(f"{numbered.records} records, {sum(numbered.documents.values())} document with numbers")
client.collections.delete("Manuals")
client.close()
