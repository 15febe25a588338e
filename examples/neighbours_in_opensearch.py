"""OpenSearch: hits by words and by vectors, and their neighbours with one request, out of an index that is there."""

from opensearchpy import OpenSearch
from stand_ins import search_url

from retrivex import RetrievalConfig, SpanComposer
from retrivex.adapters.base.backfill import backfill
from retrivex.adapters.opensearch import OpenSearchChunkStore, OpenSearchCollection, OpenSearchRetriever
from retrivex.encoders.encoder import HashingEncoder

TEXT = (
    "Honey bees spend the winter in their hive. They form a cluster and keep it warm. The queen stays in the middle. "
    "In spring she lays up to 2,000 eggs a day. Drones are driven out in autumn. A hive may hold 50,000 bees."
)
client = OpenSearch(search_url("opensearch"))  # such as "http://localhost:9200"
encoder = HashingEncoder(256)  # in place of a model

# An index as many have it: dynamic mapping, chunk numbers, vectors.
sentences = TEXT.replace(". ", ".|").split("|")
method = {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil"}
vectors = {"type": "knn_vector", "dimension": 256, "method": method}
settings, mappings = {"index": {"knn": True}}, {"properties": {"embedding": vectors}}
client.indices.create(index="bees", body={"settings": settings, "mappings": mappings})
for n, (text, vector) in enumerate(zip(sentences, encoder.encode(sentences), strict=True)):
    record = {"text": text, "source": "bees.md", "chunk_index": n, "embedding": vector.tolist()}
    client.index(index="bees", id=f"bees.md:{n}", body=record, refresh=True)

question = "How many eggs a day in spring?"
composer = SpanComposer(RetrievalConfig(window=1, token_budget=60, scoring="weighted"))
store = OpenSearchChunkStore(client, "bees")
for search in ("bm25", "knn"):
    hits = OpenSearchRetriever(client, "bees", encoder, search=search).retrieve(question, k=1)
    made = composer.compose(hits, store, query=question)
    print(f"{search}: {hits[0].chunk.text}", *(f"  {span.text}" for span in made.spans), *made.warnings, sep="\n")

numbered = backfill(OpenSearchCollection(client, "bees"))  # reads; with write=True it numbers chunks that have none
print(f"{numbered.records} records, {sum(numbered.documents.values())} document with numbers")
client.indices.delete(index="bees")
client.close()
