"""Milvus, Zilliz Cloud and Milvus Lite: chunk store and retriever over an existing collection."""

from retrivex.errors import install_hint

from ..base.fields import FieldMap

try:
    from .store import MILVUS_LAYOUTS, MilvusChunkStore, MilvusCollection, MilvusRetriever
except ImportError as error:
    raise ImportError(f"retrivex.adapters.milvus needs pymilvus: {install_hint('milvus')}") from error

__all__ = ["MILVUS_LAYOUTS", "FieldMap", "MilvusChunkStore", "MilvusCollection", "MilvusRetriever"]
