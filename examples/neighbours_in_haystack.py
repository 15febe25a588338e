"""Haystack: whole passages in a pipeline, with neighbours out of its own document store, saved and loaded again."""

from haystack import Document, Pipeline
from haystack.components.builders import PromptBuilder
from haystack.components.preprocessors import DocumentSplitter
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from retrivex import RetrievalConfig
from retrivex.adapters.haystack import RetriVexRetriever

TEXT = (
    "Honey bees spend the winter in their hive. They form a cluster and keep it warm by shivering. "
    "The queen stays in the middle of the cluster. In spring the queen lays up to 2,000 eggs a day. "
    "Drones are driven out before the winter."
)
document_store = InMemoryDocumentStore()
pieces = DocumentSplitter(split_by="period", split_length=1).run([Document(content=TEXT)])["documents"]
document_store.write_documents(pieces)

pipeline = Pipeline()
pipeline.add_component(
    "retriever",
    RetriVexRetriever(
        InMemoryBM25Retriever(document_store),
        RetrievalConfig(window=1, token_budget=60),
        document_store=document_store,
        fetch_k=1,
    ),
)
pipeline.add_component(
    "prompt", PromptBuilder("{% for d in documents %}{{ d.content }}\n{% endfor %}Question: {{ question }}")
)
pipeline.connect("retriever.documents", "prompt.documents")

question = "Who stays in the middle of the cluster?"
asked = {"retriever": {"query": question}, "prompt": {"question": question}}
prompt = pipeline.run(asked)["prompt"]["prompt"]
print(prompt)

saved = pipeline.dumps()
again = Pipeline.loads(saved, allowed_modules=["retrivex"])  # versions before 3 take no allowed_modules
print("Saved and loaded, it answers the same:", again.run(asked)["prompt"]["prompt"] == prompt)
