"""One list of hits for each sub-question: fused by rank, or a share of the budget for each."""

from retrivex import RetrievalConfig, SeedHit, SpanComposer
from retrivex.utils import SentenceChunker

TEXT = (
    "Bees live in hives. A hive has one queen. She lays all the eggs. Workers live for six weeks in summer. "
    "Winter bees live for six months. Drones die after mating. Honey is made from nectar. Wax comes from glands. "
    "Varroa mites weaken colonies. Pesticides kill foragers. Beekeepers treat mites with acids in winter."
)
chunks = SentenceChunker(sentences_per_chunk=1, overlap_sentences=0).chunk_text(TEXT, "bees")
chunk_store = {chunk.key: chunk for chunk in chunks}

how_long = [SeedHit(chunks[4], 0.82), SeedHit(chunks[3], 0.80), SeedHit(chunks[5], 0.55)]
what_harms = [SeedHit(chunks[8], 14.1), SeedHit(chunks[9], 12.7), SeedHit(chunks[4], 2.0)]  # another retriever, BM25

composer = SpanComposer(RetrievalConfig(window=0, token_budget=70, gap_markers=False))
question = "How long do bees live, and what harms them?"

fused = composer.compose([how_long, what_harms], chunk_store, query=question)
print("Fused by rank:", fused.text, sep="\n")

shared = composer.compose([how_long, what_harms], chunk_store, query=question, quotas=(1, 2))
print("\nA third for the first, two thirds for the second:", shared.text, sep="\n")
