"""LangChain: neighbours out of the vector store that is searched anyway, one request for all hits of a question."""

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore

from retrivex import RetrievalConfig
from retrivex.adapters.langchain import RetriVexReorder, RetriVexRetriever, VectorStoreChunkStore

SENTENCES = [
    "Honey bees spend the winter in their hive.",
    "They form a cluster and keep it warm by shivering.",
    "The queen stays in the middle of the cluster.",
    "In spring the queen lays up to 2,000 eggs a day.",
    "Drones are driven out before the winter.",
]
WORDS = ["winter", "hive", "cluster", "warm", "queen", "spring", "eggs", "drones"]


class WordVectors(Embeddings):
    """Stands in for a model: which of a few words are there."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a vector for each text."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a text."""
        return [float(word in text.lower()) + 0.01 for word in WORDS]


pieces = [Document(text, metadata={"source": "bees.md", "chunk_id": n}) for n, text in enumerate(SENTENCES)]
vectors = InMemoryVectorStore(WordVectors())
vectors.add_documents(pieces, ids=[f"bees.md:{n}" for n in range(len(pieces))])  # ids that follow from the place

retriever = RetriVexRetriever(
    vectors.as_retriever(),
    RetrievalConfig(window=1, token_budget=60),
    chunk_store=VectorStoreChunkStore(vectors),
    fetch_k=1,
)
question = "Where is the queen in the cluster?"
for document in retriever.invoke(question):
    known = document.metadata
    print(f"{known['source']}, chunks {known['chunk_ids']}, hit {known['hits'][0]['id']}: {document.page_content}")

ranked = [Document(f"rank {rank}") for rank in range(1, 8)]
print("At the edges:", ", ".join(document.page_content for document in RetriVexReorder().transform_documents(ranked)))
