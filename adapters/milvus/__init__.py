"""Milvus, Zilliz Cloud and Milvus Lite: chunk store and retriever over an existing collection."""

from ..base.clients import needs_client
from ..base.fields import FieldMap

with needs_client("milvus", "pymilvus"):
    from .store import MILVUS_LAYOUTS, MilvusChunkStore, MilvusCollection, MilvusRetriever

__all__ = ["MILVUS_LAYOUTS", "FieldMap", "MilvusChunkStore", "MilvusCollection", "MilvusRetriever"]
