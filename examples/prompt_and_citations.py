"""A whole prompt inside a model's window, and its answer traced back to the document."""

from itertools import pairwise

from retrivex import Chunk, ChunkMetadata, RetrievalConfig, SeedHit, SpanComposer

DOCUMENT = "Bees live in hives. A hive has one queen. She lays up to 2,000 eggs a day in spring. Drones do nothing."
cuts = [0, 20, 42, 85, len(DOCUMENT)]
chunks = [
    Chunk(DOCUMENT[start:end], ChunkMetadata("bees.pdf", i, start, end, page=1 + i // 2))
    for i, (start, end) in enumerate(pairwise(cuts))
]
chunk_store = {chunk.key: chunk for chunk in chunks}

composer = SpanComposer(RetrievalConfig(window=1, token_budget=100))
question = "How many eggs does a queen lay?"
made = composer.compose([SeedHit(chunks[2], 0.9)], chunk_store, query=question)
print(made.prompt(max_tokens=300, answer_reserve=100))

answer = 'She lays "up to 2,000 eggs a day" [1].'  # what a model might say
print()
for reference in ("[1]", "up to 2,000 eggs a day"):
    for cited in made.resolve(reference):
        source = DOCUMENT[cited.char_start : cited.char_end]
        place = f"{cited.doc_id}, page {cited.page}, characters {cited.char_start}-{cited.char_end}"
        print(f"{reference}: {place}: {source!r}")
