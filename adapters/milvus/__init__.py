"""Milvus, Zilliz Cloud and Milvus Lite: chunk store and retriever over an existing collection."""

from .store import (
    MILVUS_LAYOUTS,
    FieldMap,
    MilvusChunkStore,
    MilvusCollection,
    MilvusOptions,
    MilvusRetriever,
)

__all__ = [
    "MILVUS_LAYOUTS",
    "FieldMap",
    "MilvusChunkStore",
    "MilvusCollection",
    "MilvusOptions",
    "MilvusRetriever",
]
