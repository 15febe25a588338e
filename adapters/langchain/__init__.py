"""LangChain: a retriever around any other, a compressor and a reorderer, within a token budget."""

from retrivex.errors import install_hint

from ..base.fields import FieldMap, colon_id, uuid5_id

try:
    from .compressor import RetriVexCompressor
    from .documents import chunk_store_from_documents
    from .reorder import RetriVexReorder
    from .retriever import RetriVexRetriever
    from .stores import BaseStoreChunkStore, FilteredChunkStore, VectorStoreChunkStore
except ImportError as error:
    raise ImportError(f"retrivex.adapters.langchain needs langchain-core: {install_hint('langchain')}") from error

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
