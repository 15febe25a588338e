"""Hits scored anew by whatever reads question and chunk together, before they grow to passages."""

from collections.abc import Sequence

from retrivex import RetrievalConfig, SeedHit, SpanComposer
from retrivex.rerank import Reranking
from retrivex.utils import SentenceChunker

TEXT = (
    "Honey bees spend the winter in their hive. They form a cluster and keep it warm. The queen stays in the middle. "
    "In spring she lays up to 2,000 eggs a day. Drones are driven out in autumn. A hive may hold 50,000 bees."
)
chunks = SentenceChunker(sentences_per_chunk=1, overlap_sentences=0).chunk_text(TEXT, "bees")
chunk_store = {chunk.key: chunk for chunk in chunks}
seed_hits = [SeedHit(chunks[5], 0.8), SeedHit(chunks[3], 0.6), SeedHit(chunks[0], 0.5)]
question = "How many eggs does she lay a day?"


def shared_words(query: str, texts: Sequence[str]) -> list[float]:
    """Stand in for a model: any function of question and texts is a reranker."""
    wanted = set(query.lower().strip("?").split())
    return [float(len(wanted & set(text.lower().strip(".").split()))) for text in texts]


def no_service(query: str, texts: Sequence[str]) -> list[float]:
    raise ConnectionError("nobody is there")


config = RetrievalConfig(window=0, k=1, token_budget=100)
for reranker in (None, shared_words, Reranking(no_service, retries=0, timeout_s=2)):
    composer = SpanComposer(config, reranker=reranker)
    made = composer.compose(seed_hits, chunk_store, query=question)
    print(made.text, *made.warnings, sep="\n  ")
