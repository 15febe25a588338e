"""Hits and a plain dictionary in, the best context for a token budget out."""

from retrivex import Chunk, ChunkMetadata, RetrievalConfig, SeedHit, SpanComposer

SENTENCES = [
    "Honey bees spend the winter in their hive. ",
    "They form a cluster and keep it warm by shivering. ",
    "The queen stays in the middle of the cluster. ",
    "In spring the queen lays up to 2,000 eggs a day. ",
    "Drones are driven out before the winter. ",
]
chunk_store = {
    ("bees.txt", i): Chunk(text, ChunkMetadata("bees.txt", i, chunk_count=len(SENTENCES)))
    for i, text in enumerate(SENTENCES)
}
question = "Where is the queen in winter?"
seed_hits = [SeedHit(chunk_store["bees.txt", 2], 0.83), SeedHit(chunk_store["bees.txt", 4], 0.41)]

config = RetrievalConfig(window=2, k=6, token_budget=2000, ordering_strategy="edge_balanced")
composer = SpanComposer(config)
spans = composer.retrieve(seed_hits=seed_hits, chunk_store=chunk_store, query=question)
context = "\n\n".join(span.text for span in spans)
print(context)

for span in spans:
    first, last = span.span_range
    print(f"{span.doc_id}: chunks {first}-{last}, {span.token_count} tokens, score {span.score:.2f}")
