"""A conversation: rules that are always there, and nothing shown twice."""

from retrivex import Chunk, ChunkMetadata, RetrievalConfig, SeedHit, SpanComposer
from retrivex.utils import SentenceChunker

TEXT = (
    "Honey bees spend the winter in their hive. They form a cluster and keep it warm. The queen stays in the middle. "
    "In spring she lays up to 2,000 eggs a day. Drones are driven out in autumn."
)
chunks = SentenceChunker(sentences_per_chunk=1, overlap_sentences=0).chunk_text(TEXT, "bees")
chunk_store = {chunk.key: chunk for chunk in chunks}
rules = Chunk("Prices are in euros and include tax.", ChunkMetadata("house rules", 0))

composer = SpanComposer(RetrievalConfig(window=1, token_budget=120, pinned=(rules,)))

first = composer.compose([SeedHit(chunks[1], 0.9)], chunk_store, query="How do bees stay warm?")
print(first.text)

second = composer.compose(
    [SeedHit(chunks[2], 0.9), SeedHit(chunks[4], 0.4)], chunk_store, query="And the queen?", exclude=(first,), pinned=()
)
print("\nNext turn:", second.text, sep="\n")
for hit in second.dropped:
    print(f"not shown: chunk {hit.chunk_id}, {hit.reason}: {hit.detail}")
