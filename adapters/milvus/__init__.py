"""Milvus, Zilliz Cloud and Milvus Lite: neighbours and hits out of a collection that exists already."""

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
