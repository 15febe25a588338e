"""LangChain: a retriever around any other, a compressor and a reorderer, within a token budget."""

from ..base.clients import needs_client
from ..base.fields import FieldMap, colon_id, uuid5_id

with needs_client("langchain", "langchain-core"):
    from .compressor import RetriVexCompressor
    from .documents import chunk_store_from_documents
    from .reorder import RetriVexReorder
    from .retriever import RetriVexRetriever
    from .stores import BaseStoreChunkStore, FilteredChunkStore, VectorStoreChunkStore

__all__ = [
    "BaseStoreChunkStore",
    "FieldMap",
    "FilteredChunkStore",
    "RetriVexCompressor",
    "RetriVexReorder",
    "RetriVexRetriever",
    "VectorStoreChunkStore",
    "chunk_store_from_documents",
    "colon_id",
    "uuid5_id",
]
