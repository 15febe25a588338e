"""LlamaIndex' docstore in memory, and its postprocessor for neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from llama_index.core.postprocessor import PrevNextNodePostprocessor
from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore

from retrivex.adapters.base.fields import colon_id
from retrivex.adapters.llamaindex import DocstoreChunkStore
from retrivex.model.chunk import Chunk

from .engine import RADIUS, Engine, Key, Meter, Way


@contextmanager
def running(folder: Path, chunks: Sequence[Chunk]) -> Iterator[Engine]:
    """Fill a docstore with linked nodes."""
    docstore = SimpleDocumentStore()
    docstore.add_documents([_node(chunk) for chunk in chunks])
    yield Engine(f"llama-index-core {version('llama-index-core')}", _ways(docstore))


def _ways(docstore: SimpleDocumentStore) -> Iterator[Way]:
    window = PrevNextNodePostprocessor(docstore=docstore, num_nodes=RADIUS, mode="both")

    def previous_and_next(seeds: Sequence[Chunk]) -> set[Key]:
        hits = [NodeWithScore(node=_node(chunk), score=1.0) for chunk in seeds]
        found = window.postprocess_nodes(hits)
        return {(hit.node.metadata["doc_id"], hit.node.metadata["chunk_id"]) for hit in found}

    meter = Meter(docstore, "get_node", "get_nodes", "get_document")
    yield Way("ids", DocstoreChunkStore(docstore), meter, previous_and_next, "PrevNextNodePostprocessor")


def _node(chunk: Chunk) -> TextNode:
    doc_id, n = chunk.key
    count = chunk.metadata.chunk_count
    assert count is not None
    links = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=doc_id)}
    if n > 0:
        links[NodeRelationship.PREVIOUS] = RelatedNodeInfo(node_id=colon_id(doc_id, n - 1))
    if n < count - 1:
        links[NodeRelationship.NEXT] = RelatedNodeInfo(node_id=colon_id(doc_id, n + 1))
    return TextNode(
        id_=colon_id(doc_id, n), text=chunk.text, metadata={"doc_id": doc_id, "chunk_id": n}, relationships=links
    )
