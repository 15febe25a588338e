"""Where most of a section is found anyway, show the whole section."""

from itertools import pairwise

from retrivex import Chunk, ChunkMetadata, RetrievalConfig, SeedHit, SpanComposer

SECTION = (
    "Winter. Bees form a cluster. They shiver to keep warm. The queen stays in the middle. Drones are gone by then."
)
cuts = [0, 8, 29, 55, 86, len(SECTION)]
chunks = [
    Chunk(SECTION[start:end], ChunkMetadata("bees", i, start, end, parent_id="winter", heading_path=("Winter",)))
    for i, (start, end) in enumerate(pairwise(cuts))
]
chunk_store = {chunk.key: chunk for chunk in chunks}
parent_store = {"winter": SECTION}
seed_hits = [SeedHit(chunks[1], 0.7), SeedHit(chunks[3], 0.9), SeedHit(chunks[4], 0.6)]

composer = SpanComposer(RetrievalConfig(window=0, token_budget=200))
question = "Where is the queen?"

alone = composer.retrieve(seed_hits, chunk_store, parent_store, query=question)
print([span.text for span in alone])

whole = composer.retrieve(seed_hits, chunk_store, parent_store, query=question, return_parents="auto")
print([(span.parent_id, span.text) for span in whole])
