"""LangChain: the chunk store behind a retriever, where the caller names none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from typing import Any, Protocol

from langchain_core.documents import Document
from langchain_core.stores import InMemoryByteStore, InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore, VectorStoreRetriever

from retrivex.errors import ChunkError
from retrivex.stores.protocol import AnyChunkStore

from ..base.behind import HeldPieces, is_numbered, kind_of, leaves_of
from ..base.documents import NumberedChunks, Passage, number_passages
from ..base.fields import LAYOUTS, FieldMap, colon_id
from .documents import chunk_store_from_documents, read_document
from .stores import VectorStoreChunkStore

_INNER = {
    "langchain_classic.EnsembleRetriever": "retrievers",
    "langchain_classic.MultiQueryRetriever": "retriever",
    "langchain_classic.ContextualCompressionRetriever": "base_retriever",
}
_RERANKERS = ("CrossEncoderReranker", "LLMListwiseRerank", "FlashrankRerank", "CohereRerank", "JinaRerank")
_OF_PARENTS = ("langchain_classic.ParentDocumentRetriever", "langchain_classic.MultiVectorRetriever")
_BY_WORDS = ("langchain_community.BM25Retriever", "langchain_community.TFIDFRetriever")
_NO_FILTERS = frozenset({"k", "fetch_k", "lambda_mult", "score_threshold"})


class Behind(Protocol):
    """Where neighbours are, found behind a retriever."""

    @property
    def name(self) -> str:
        """What it is called where it is said."""

    def store(self, hits: Sequence[Passage]) -> AnyChunkStore | None:
        """Return the chunk store for these hits; None where their neighbours cannot be asked for there."""


@dataclass(frozen=True)
class _Held:
    """Pieces in this process."""

    name: str
    pieces: HeldPieces[Document]

    def store(self, hits: Sequence[Passage]) -> AnyChunkStore | None:
        return self.pieces.chunks()


@dataclass(frozen=True)
class _Numbered:
    """A collection that is filtered by document and number, under the names that the hits have for them."""

    name: str
    make: Callable[[FieldMap], AnyChunkStore]
    fields: FieldMap
    _made: dict[tuple[str, str], AnyChunkStore] = field(default_factory=dict, repr=False)

    def store(self, hits: Sequence[Passage]) -> AnyChunkStore | None:
        hit = next(filter(is_numbered, hits), None)
        if hit is None:
            return None
        doc_id, chunk_id = (str(hit.fields.key(hit.metadata, name)) for name in ("doc_id", "chunk_id"))
        if (doc_id, chunk_id) not in self._made:
            names = replace(
                self.fields, doc_id=(doc_id, *self.fields.doc_id), chunk_id=(chunk_id, *self.fields.chunk_id)
            )
            self._made[doc_id, chunk_id] = self.make(names)
        return self._made[doc_id, chunk_id]


@dataclass(frozen=True)
class _ById:
    """A vector store that is asked by ids, where those of the hits are `document:number`."""

    name: str
    chunks: AnyChunkStore

    def store(self, hits: Sequence[Passage]) -> AnyChunkStore | None:
        made = [None if h.doc_id is None or h.chunk_id is None else colon_id(h.doc_id, h.chunk_id) for h in hits]
        follows = any(hit.id is not None and hit.id == id for hit, id in zip(hits, made, strict=True))
        return self.chunks if follows else None


def find_behind(base: Any, fields: FieldMap) -> Behind | None:
    """Return where the neighbours of a retriever's hits are.

    Parameters
    ----------
    base : the retriever
    fields : names of metadata

    Returns
    -------
    Behind | None
        None where nothing is found, and where `keeps_back`.
    """
    if keeps_back(base):
        return None
    for retriever in leaves_of(base, _INNER, _drops):
        if isinstance(retriever, VectorStoreRetriever):
            found = _of_vectors(retriever.vectorstore, fields)
        elif kind_of(retriever) in _OF_PARENTS:
            found = _of_parents(retriever, fields)
        else:
            found = _held(type(retriever).__name__, partial(list, retriever.docs), fields)
        if found is not None:
            return found
    return None


def keeps_back(base: Any) -> bool:
    """Whether a retriever may keep documents back, by a filter or in a way of its own: neighbours may be among them."""
    return not all(map(_shows_all, leaves_of(base, _INNER, _drops)))


def _drops(retriever: Any) -> bool:
    """Whether a retriever gives its documents to a compressor, which may keep some back: rerankers order them."""
    compressor = getattr(retriever, "base_compressor", None)
    package, _, name = kind_of(compressor).partition(".")
    return compressor is not None and not (package.startswith("langchain") and name in _RERANKERS)


def _shows_all(retriever: Any) -> bool:
    if type(retriever) is VectorStoreRetriever or kind_of(retriever) in _OF_PARENTS:
        return not set(retriever.search_kwargs) - _NO_FILTERS
    return kind_of(retriever) in _BY_WORDS


def _of_vectors(vectors: VectorStore, fields: FieldMap) -> Behind | None:
    name = type(vectors).__name__
    pieces = _pieces_in(vectors)
    if pieces is not None:
        return _held(name, pieces, fields)
    make = _collection_of(vectors)
    if make is not None:
        return _Numbered(name, make, LAYOUTS["langchain"] if fields == FieldMap() else fields)
    if type(vectors).get_by_ids is not VectorStore.get_by_ids:
        return _ById(name, VectorStoreChunkStore(vectors, fields=fields))
    return None


def _pieces_in(vectors: VectorStore) -> Callable[[], list[Any]] | None:
    """Return what gives the pieces of a vector store that keeps them in this process."""
    if isinstance(vectors, InMemoryVectorStore):
        return lambda: list(vectors.store.values())
    held = getattr(getattr(vectors, "docstore", None), "_dict", None)  # InMemoryDocstore, as FAISS has it
    return (lambda: list(held.values())) if isinstance(held, Mapping) else None


def _of_parents(retriever: Any, fields: FieldMap) -> Behind | None:
    """Return the parents to which children in the vector store lead, where both stores are in this process."""
    kept: Any = retriever.docstore
    read = key_of = _as_is
    if kind_of(kept) == "langchain_classic.EncoderBackedStore":  # what `byte_store` and `create_kv_docstore` make
        kept, read, key_of = kept.store, kept.value_deserializer, kept.key_encoder
    children = _pieces_in(retriever.vectorstore)
    if children is None or type(kept) not in (InMemoryStore, InMemoryByteStore):
        return None

    def held() -> list[Any]:
        known = [child["metadata"] if isinstance(child, dict) else child.metadata for child in children()]
        found = {key_of(metadata[retriever.id_key]) for metadata in known if retriever.id_key in metadata}
        return [value for key, value in kept.store.items() if key in found]

    return _Held(type(kept).__name__, HeldPieces(held, lambda given: _number_parents(map(read, given), fields)))


def _as_is(given: Any) -> Any:
    return given


def _number_parents(given: Iterable[Any], fields: FieldMap) -> NumberedChunks:
    parents = [read_document(parent, fields) for parent in given if isinstance(parent, Document)]
    if parents and all(parent.doc_id is None for parent in parents):
        raise ChunkError("the parents name no document, and may be a document each")
    return number_passages(parents)


def _collection_of(vectors: Any) -> Callable[[FieldMap], AnyChunkStore] | None:
    """Return how to make a chunk store over the collection of a vector store whose ids say nothing of places."""
    kind = type(vectors).__name__
    if kind == "Chroma" and hasattr(vectors, "_client") and hasattr(vectors, "_collection"):
        make = import_module("retrivex.adapters.chroma").ChromaChunkStore  # its client is there, as the store is
        client, name = vectors._client, vectors._collection.name  # nothing public leads there
        return lambda names: make(client, name, fields=names)
    if kind == "QdrantVectorStore":
        make = import_module("retrivex.adapters.qdrant").QdrantChunkStore
        inside = {"text": (vectors.content_payload_key,), "root": vectors.metadata_payload_key}
        return lambda names: make(vectors.client, vectors.collection_name, fields=replace(names, **inside))
    return None


def _held(name: str, held: Callable[[], Sequence[Any]], fields: FieldMap) -> _Held:
    return _Held(name, HeldPieces(held, lambda pieces: chunk_store_from_documents(map(_as_document, pieces), fields)))


def _as_document(piece: Any) -> Document:
    """Return a piece as InMemoryVectorStore keeps it as a Document."""
    if isinstance(piece, Document):
        return piece
    return Document(page_content=piece["text"], metadata=piece["metadata"], id=piece["id"])
