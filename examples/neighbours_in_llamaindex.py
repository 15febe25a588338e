"""LlamaIndex: a query engine whose passages are whole, with neighbours along the nodes' own PREVIOUS and NEXT."""

from llama_index.core import Document, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.retrievers import BaseRetriever

from retrivex import RetrievalConfig
from retrivex.adapters.llamaindex import RetriVexPostprocessor, RetriVexRetriever

TEXT = (
    "Honey bees spend the winter in their hive. They form a cluster and keep it warm by shivering. "
    "The queen stays in the middle of the cluster. In spring the queen lays up to 2,000 eggs a day. "
    "Drones are driven out before the winter."
)
WORDS = ["winter", "hive", "cluster", "warm", "queen", "spring", "eggs", "drones"]


class WordVectors(BaseEmbedding):
    """Stands in for a model: which of a few words are there."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return [float(word in text.lower()) + 0.01 for word in WORDS]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


splitter = SentenceSplitter(chunk_size=18, chunk_overlap=0, include_metadata=False)
nodes = splitter.get_nodes_from_documents([Document(text=TEXT, doc_id="bees.md")])
index = VectorStoreIndex(nodes, embed_model=WordVectors())
config = RetrievalConfig(window=1, token_budget=60)
question = "Where is the queen in the cluster?"


def show(title: str, retriever: BaseRetriever) -> None:
    for found in retriever.retrieve(question):
        print(f"{title}: {' '.join(found.text.split())} (score {found.score:.2f})")


show("Node found", index.as_retriever(similarity_top_k=1))
show("Passage", RetriVexRetriever(index.as_retriever(), config, docstore=index.docstore, fetch_k=1))

found = index.as_retriever(similarity_top_k=2).retrieve(question)
passages = RetriVexPostprocessor(config, docstore=index.docstore).postprocess_nodes(found, query_str=question)
print(f"As a postprocessor: {len(found)} nodes in, {len(passages)} passage out")
