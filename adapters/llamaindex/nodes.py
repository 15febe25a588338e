"""LlamaIndex: converts nodes to passages and a chunk store, and spans to nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from llama_index.core.schema import BaseNode, MetadataMode, NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

from retrivex.composition.composition import Composition
from retrivex.stores.protocol import AnyChunkStore

from ..base.documents import NumberedChunks, Passage, as_chunk_store, number_passages, read_passage
from ..base.fields import FieldMap
from ..base.hits import Placed
from ..base.results import span_id, span_metadata


def chunk_store_from_nodes(nodes: Iterable[BaseNode], fields: FieldMap | None = None) -> NumberedChunks:
    """Make a chunk store of nodes that a node parser made.

    Nodes of one document are numbered by their `chunk_id` or `chunk_index` where they have one, else along their
    PREVIOUS and NEXT relationships, else in the order given.

    Parameters
    ----------
    nodes : of any number of documents
    fields : names of metadata, where they differ from the usual ones

    Raises
    ------
    ChunkError
        If only some nodes name a document, or only some nodes of a document have a number.
    StoreError
        If two nodes of a document have the same number and different texts.
    """
    names = fields or FieldMap()
    return number_passages(read_node(node, names) for node in nodes)


def read_node(node: BaseNode, names: FieldMap, score: float | None = None) -> Passage:
    """Return a node without its framework."""
    # hierarchical parsers count a child's offsets from the start of its parent: they are none in the document
    whole = node.parent_node is None
    return read_passage(
        node.get_content(metadata_mode=MetadataMode.NONE),
        node.metadata,
        names,
        id=node.node_id,
        doc_id=node.ref_doc_id,
        char_start=getattr(node, "start_char_idx", None) if whole else None,
        char_end=getattr(node, "end_char_idx", None) if whole else None,
        before=_read_relationship(node, NodeRelationship.PREVIOUS),
        after=_read_relationship(node, NodeRelationship.NEXT),
        parent_id=_read_relationship(node, NodeRelationship.PARENT),
        children=tuple(child.node_id for child in node.child_nodes or ()),
        embedding=node.embedding,
        score=score,
    )


def _read_relationship(node: BaseNode, relationship: NodeRelationship) -> str | None:
    related = node.relationships.get(relationship)
    return related.node_id if isinstance(related, RelatedNodeInfo) else None


def as_store(given: AnyChunkStore | Iterable[BaseNode] | None, names: FieldMap) -> AnyChunkStore | None:
    """Return what is meant as a chunk store; nodes become one. Raises as `as_chunk_store` does."""
    way_out = "give the nodes themselves; a docstore goes to docstore, a vector store to vector_store"
    # an abstract class: mypy takes it for no type of a value
    return as_chunk_store(given, BaseNode, lambda nodes: chunk_store_from_nodes(nodes, names), way_out)  # type: ignore[type-abstract]


def nodes_of(
    made: Composition, placed: Placed, names: FieldMap, found: Sequence[NodeWithScore], warnings: Sequence[str]
) -> list[NodeWithScore]:
    """Return a node for each span, in their order.

    Its metadata are shown in prompts where those of the nodes found were; warnings go into the first one's.
    """
    hidden = {key for hit in found for key in hit.node.excluded_llm_metadata_keys}
    shown = {key for hit in found for key in hit.node.metadata} - hidden
    nodes: list[NodeWithScore] = []
    for span in made.spans:
        metadata = span_metadata(span, placed, names)
        if warnings and not nodes:
            metadata["warnings"] = list(warnings)
        node = TextNode(
            id_=span_id(span, placed),
            text=span.text,
            metadata=metadata,
            excluded_llm_metadata_keys=sorted(metadata.keys() - shown),
            excluded_embed_metadata_keys=sorted(metadata.keys() - shown),
            start_char_idx=span.char_start,
            end_char_idx=span.char_end,
        )
        if "doc_id" in metadata:
            node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=metadata["doc_id"])
        nodes.append(NodeWithScore(node=node, score=span.score))
    return nodes
