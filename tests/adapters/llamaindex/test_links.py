"""Rows of LlamaIndex nodes that begin, end or go on where nothing else is known, and what is missing from them."""

from collections.abc import Callable
from itertools import pairwise

import pytest

pytest.importorskip("llama_index.core", reason="needs llama-index-core", exc_type=ImportError)

from llama_index.core import Document
from llama_index.core.node_parser import HierarchicalNodeParser, get_leaf_nodes
from llama_index.core.schema import BaseNode, NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from support.llamaindex_world import QUESTION, ROOMY, Fixed, ids_of

from retrivex.adapters.llamaindex import RetriVexRetriever, chunk_store_from_nodes

pytestmark = pytest.mark.integration

HIERARCHY = Document(text=" ".join(f"Sentence {n} tells of the bees in garden {n}." for n in range(60)), doc_id="d")


@pytest.mark.parametrize("wanted", [lambda nodes: nodes, get_leaf_nodes])
def test_where_the_children_of_a_parent_begin_nothing_is_missing(wanted: Callable[..., list[BaseNode]]) -> None:
    # they are linked with each other only, so that the first one's left neighbour is not known to any of them
    parser = HierarchicalNodeParser.from_defaults(chunk_sizes=[300, 100, 60], chunk_overlap=0)
    nodes = parser.get_nodes_from_documents([HIERARCHY])
    store = chunk_store_from_nodes(wanted(nodes))
    heads = [node for node in get_leaf_nodes(nodes) if node.prev_node is None]
    assert len(heads) > 5
    for node in wanted(nodes):
        made = RetriVexRetriever(Fixed([(node, 1.0)]), ROOMY.override(window=3), store).retrieve(QUESTION)
        assert "warnings" not in made[0].node.metadata


def test_a_child_that_is_missing_among_its_siblings_is_told() -> None:
    parser = HierarchicalNodeParser.from_defaults(chunk_sizes=[300, 60], chunk_overlap=0)
    nodes = parser.get_nodes_from_documents([HIERARCHY])
    children = [node for node in nodes if node.parent_node and node.parent_node.node_id == nodes[1].node_id]
    assert len(children) > 3
    for lost, beside in pairwise(children):
        kept = [node for node in nodes if node is not lost]
        made = RetriVexRetriever(Fixed([(beside, 1.0)]), ROOMY, kept).retrieve(QUESTION)
        [warning] = made[0].node.metadata["warnings"]
        assert "neighbours missing from the chunk store" in warning


def test_a_row_that_goes_on_to_what_is_lost_is_told() -> None:
    nodes = [TextNode(text=f"Sentence {at} of the bees.", id_=f"n{at}") for at in range(5)]
    for left, right in ((0, 1), (1, 2), (3, 4)):
        nodes[left].relationships[NodeRelationship.NEXT] = RelatedNodeInfo(node_id=f"n{right}")
        nodes[right].relationships[NodeRelationship.PREVIOUS] = RelatedNodeInfo(node_id=f"n{left}")
    for node in nodes:
        node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id="d")
    kept = [node for at, node in enumerate(nodes) if at != 2]
    made = RetriVexRetriever(Fixed([(nodes[3], 1.0)]), ROOMY, kept).retrieve(QUESTION)
    [warning] = made[0].node.metadata["warnings"]
    assert "neighbours missing from the chunk store" in warning


def test_a_circle_of_relationships_ends() -> None:
    nodes = [TextNode(id_=str(n), text=f"Text {n} of three.") for n in range(3)]
    for n, node in enumerate(nodes):
        node.relationships = {
            NodeRelationship.SOURCE: RelatedNodeInfo(node_id="ring"),
            NodeRelationship.NEXT: RelatedNodeInfo(node_id=str((n + 1) % 3)),
            NodeRelationship.PREVIOUS: RelatedNodeInfo(node_id=str((n - 1) % 3)),
        }
    store = SimpleDocumentStore()
    store.add_documents(nodes)
    for given in ({"docstore": store}, {"chunk_store": nodes}):
        made = RetriVexRetriever(Fixed([(nodes[1], 1.0)]), **given).retrieve("text")  # type: ignore[arg-type]
        assert sorted(ids_of(made)[0]) == ["0", "1", "2"]
