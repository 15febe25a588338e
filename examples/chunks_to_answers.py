"""Ways to cut a text, parents over a vector store, needles by depth, 20 hits reranked to 5, answers found."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from retrivex import Document, Reorderer, RetrievalConfig, RetriVex
from retrivex.chunking import ParentChildChunker, SemanticChunker, TokenChunker
from retrivex.encoders.encoder import HashingEncoder
from retrivex.evaluation.metrics import key_point_recall
from retrivex.stores import SQLiteStore

BEES = "The bees of the hive fly out to collect nectar and pollen from flowers all day. "
ANTS = "The ants of the hill carry leaves and dig long tunnels under the garden every day. "
DOCUMENT = Document("insects", BEES * 6 + "\n\n" + ANTS * 6)


class Topics:
    """Stands in for a model: sentences about bees are alike, and so are those about ants."""

    name = "topics"

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Count the two words."""
        return np.array([[text.count("bees"), text.count("ants"), 0.1] for text in texts], dtype=float)


# ---- ways to cut; with tokenizer=len sizes are characters

fixed = TokenChunker(size=300, overlap=60, tokenizer=len)
recursive = TokenChunker(size=500, tokenizer=len)  # at paragraphs, else sentences, else words
semantic = SemanticChunker(Topics(), "threshold", 1 - 0.85, min_size=256, max_size=2000, tokenizer=len)
for name, chunker in (("fixed", fixed), ("recursive", recursive), ("semantic", semantic)):
    print(name, [len(chunk.text) for chunk in chunker.chunk(DOCUMENT)])

# ---- small chunks are found in a vector store, their parents are shown

encoder = HashingEncoder()  # in place of your model
parent_child = ParentChildChunker(TokenChunker(500, tokenizer=len), TokenChunker(90, tokenizer=len))


def indexed(folder: str, *documents: Document) -> SQLiteStore:
    store = SQLiteStore(Path(folder) / "chunks.db")
    for document in documents:
        chunks, parents = parent_child.chunk_with_parents(document)
        vectors = encoder.encode([chunk.text for chunk in chunks])
        store.put(document, chunks, parents, embeddings=vectors, encoder=encoder.name)
    return store


config = RetrievalConfig(tokenizer="estimate")
with TemporaryDirectory() as folder, indexed(folder, DOCUMENT) as store:
    shown = RetriVex(store, encoder, config).ask("What do ants dig?", k=3, window=0, return_parents=0.3).spans[0]
    print(f"3 chunks found, {len(shown.text)} characters shown: the whole of {shown.parent_id}")

# ---- a needle at a depth in percent

NEEDLE = "The secret word of the beekeeper is marigold. "
filler = [f"Hive {number} was checked in week {number} and nothing was wrong. " for number in range(200)]
for depth in (0, 25, 50, 75, 100):
    at = round(len(filler) * depth / 100)
    haystack = Document("haystack", "".join([*filler[:at], NEEDLE, *filler[at:]]))
    with TemporaryDirectory() as folder, indexed(folder, haystack) as store:
        made = RetriVex(store, encoder, config).ask("What is the secret word?", k=10, token_budget=100)
    print(f"needle at {depth} %:", "found" if "marigold" in made.text else "lost")

# ---- 20 hits, reranked to 5, then ordered


def cross_encoder(query: str, texts: Sequence[str]) -> list[float]:
    """Stands in for CrossEncoderReranker("BAAI/bge-reranker-base") of retrivex.rerank.cross_encoder."""
    return [float(text.rstrip(".").split()[-1]) for text in texts]


twenty = [{"id": n, "text": f"Passage of worth {n}.", "score": 1 - n / 20} for n in range(20)]
best = Reorderer(reranker=cross_encoder, top_k=5, strategy="edge_balanced").reorder(twenty, "Which passage?")
print("reranked and ordered", [passage["id"] for passage in best])

# ---- before and after, by the answers that stand in the context: here each stands beside the chunk that is found

cities = ["Aarhus", "Bremen", "Cadiz", "Dover", "Essen", "Faro", "Ghent", "Hull"]
plants = [
    Document(city, f"The plant in {city} has one pump, beside the door. It is new and very loud. It runs on fuel{n}.")
    for n, city in enumerate(cities)
]
questions = {f"What does the pump of the plant in {city} run on?": f"fuel{n}" for n, city in enumerate(cities)}
with TemporaryDirectory() as folder, indexed(folder, *plants) as store:
    asked = RetriVex(store, encoder, config)
    before = after = 0.0
    for question, answer in questions.items():
        nearest = [hit.chunk.text for hit in asked.retriever.retrieve(question, k=2)]
        before += key_point_recall([answer], nearest)
        after += key_point_recall([answer], [asked.ask(question, k=2, token_budget=50).text])
print(f"answers in the context: {before:.0f} before, {after:.0f} after, of {len(questions)}")
