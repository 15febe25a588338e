"""Chunk-aware retrieval in one call: the best documents, three hits of each, and neighbours for the best three."""

from retrivex import Chunk, ChunkMetadata, RetriVex, SeedHit
from retrivex.composition.documents import ContextDocument
from retrivex.stores import CachedChunkStore, InMemoryChunkStore
from retrivex.stores.cache.memory import MemoryCache  # extra cache

STEPS = {
    "reset": [
        "Open the settings.",
        "Choose Security.",
        "Press Reset password.",
        "Check your mail.",
        "Follow the link.",
    ],
    "expiry": ["Passwords last a year.", "A reset begins a new year.", "Old ones are refused."],
    "colours": ["Open the settings.", "Choose a colour."],
}
chunks = [
    Chunk(text, ChunkMetadata(name, n, chunk_count=len(texts), custom_metadata={"title": name.title()}))
    for name, texts in STEPS.items()
    for n, text in enumerate(texts)
]
store = InMemoryChunkStore(chunks)


class Search:
    """Stands in for your vector store: cosines, as it gives them."""

    def retrieve(self, question: str, k: int = 50, scope: object = None) -> list[SeedHit]:
        """Return the best `k` hits."""
        scores = {("reset", 0): 0.91, ("reset", 4): 0.84, ("expiry", 1): 0.78, ("colours", 0): 0.41}
        return [SeedHit(chunk, scores[chunk.key]) for chunk in chunks if chunk.key in scores][:k]


cached = CachedChunkStore(store, MemoryCache(ttl_s=300), name="help")  # neighbours are kept for five minutes
rag = RetriVex(cached, retriever=Search())


def search_with_context(
    query: str, limit: int = 5, chunks_per_doc: int = 3, include_adjacent: bool = True, min_score: float = 0.5
) -> tuple[ContextDocument, ...]:
    """Return the best documents with what is shown of each; one request fetches all neighbours."""
    made = rag.ask(
        query, k=50, max_documents=limit, max_chunks_per_document=chunks_per_doc, min_score=min_score,
        window=1 if include_adjacent else 0, expand_top_documents=3, effort="full",
    )  # fmt: skip
    return made.documents()


for document in search_with_context("How do I reset my password?"):
    covered = document.coverage
    print(
        f"{document.title}: {covered}, hits {covered.matched}, max {covered.max_score}, mean {covered.mean_score:.3f}"
    )
    print(document.text)
