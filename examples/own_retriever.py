"""Any retriever will do: here one that counts common words, over a store that is a class of one's own."""

from collections.abc import Iterable, Sequence

from retrivex import Chunk, RetrievalConfig, SeedHit, SpanComposer, Window
from retrivex.utils import SentenceChunker

TEXTS = {
    "bees": "Bees live in hives. A hive has one queen. She lays all the eggs. Workers feed her. Drones do nothing.",
    "ants": "Ants live in nests. A nest may have many queens. Workers dig tunnels. Soldiers guard the nest.",
}


class Shelf:
    """A chunk store: `fetch` answers all windows of a question in one request."""

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        self.chunks = {chunk.key: chunk for chunk in chunks}

    def fetch(self, windows: Sequence[Window], scope: object = None) -> list[Chunk]:
        """Return every chunk of `windows` that exists."""
        keys = [(window.doc_id, i) for window in windows for i in range(window.start, window.end)]
        return [self.chunks[key] for key in keys if key in self.chunks]

    def search(self, question: str, k: int) -> list[SeedHit]:
        """Return the k chunks that share most words with the question."""
        wanted = set(question.lower().strip("?").split())
        scores = {chunk.key: len(wanted & set(chunk.text.lower().split())) for chunk in self.chunks.values()}
        best = sorted(scores, key=lambda key: (-scores[key], key))[:k]
        return [SeedHit(self.chunks[key], scores[key]) for key in best]


chunker = SentenceChunker(sentences_per_chunk=1, overlap_sentences=0)
shelf = Shelf(chunk for name, text in TEXTS.items() for chunk in chunker.chunk_text(text, name))
question = "How many queens has a hive?"

composer = SpanComposer(RetrievalConfig(window=1, token_budget=60))
made = composer.compose(shelf.search(question, k=3), shelf, query=question)
print(made.text)
print(f"{made.tokens} of {made.token_budget} tokens, {made.trace.requests} request to the store")
for note in made.trace.notes:
    print(f"  {note.doc_id} {note.chunk_id}: {note.role}, {note.outcome} {note.reason or ''}")
