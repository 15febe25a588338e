"""LlamaIndex's node postprocessor, faults that its peers are known for, and one retriever that many ask at once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from retrivex import RetrievalConfig
from retrivex.errors import StoreError

pytest.importorskip("llama_index.core", reason="needs llama-index-core", exc_type=ImportError)

from llama_index.core import Document, MockEmbedding, VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import BaseNode, NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore

from retrivex.adapters.llamaindex import FieldMap, RetriVexPostprocessor, RetriVexRetriever, ScopedQuery

pytestmark = pytest.mark.integration

CONFIG = RetrievalConfig(window=1, token_budget=2000, scoring="weighted")
TEXT = " ".join(f"Sentence {n} says that bees like flower number {n}, and nothing else." for n in range(80))


class Found(BaseRetriever):
    def __init__(self, hits: Sequence[NodeWithScore]) -> None:
        self.hits = list(hits)
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self.hits


def split(doc_id: str = "bees", text: str = TEXT, **metadata: Any) -> list[BaseNode]:
    document = Document(text=text, doc_id=doc_id, metadata=metadata)
    return SentenceSplitter(chunk_size=60, chunk_overlap=0).get_nodes_from_documents([document])


def stored(*nodes: BaseNode) -> SimpleDocumentStore:
    docstore = SimpleDocumentStore()
    docstore.add_documents(list(nodes))
    return docstore


def hit(node: BaseNode, score: float | None = 0.9) -> NodeWithScore:
    return NodeWithScore(node=node, score=score)


def ids_of(made: Sequence[NodeWithScore]) -> list[list[str]]:
    return [found.node.metadata["source_ids"] for found in made]


NODES = split()
DOCSTORE = stored(*NODES)


# ---- the postprocessor


def test_a_node_that_ends_inside_a_sentence_comes_back_whole() -> None:
    node = TextNode(text="The warranty covers parts and labour. It lasts five years from")
    made = RetriVexPostprocessor().postprocess_nodes([hit(node)], query_str="How long does the warranty last?")
    assert [found.node.text for found in made] == [node.text]


def test_it_gives_what_the_retriever_gives() -> None:
    found = [hit(NODES[3]), hit(NODES[9], 0.8)]
    for given in ({"docstore": DOCSTORE}, {"chunk_store": NODES}):
        expected = RetriVexRetriever(Found(found), CONFIG, **given).retrieve("flower")  # type: ignore[arg-type]
        processor = RetriVexPostprocessor(CONFIG, **given)  # type: ignore[arg-type]
        assert processor.postprocess_nodes(found, query_str="flower") == expected
        assert asyncio.run(processor.apostprocess_nodes(found, query_str="flower")) == expected
        assert ids_of(expected) == [[n.node_id for n in NODES[2:5]], [n.node_id for n in NODES[8:11]]]


def test_in_a_query_engine() -> None:
    index = VectorStoreIndex(NODES, embed_model=MockEmbedding(embed_dim=8))
    engine = RetrieverQueryEngine.from_args(
        index.as_retriever(similarity_top_k=3),
        llm=MockLLM(),
        node_postprocessors=[RetriVexPostprocessor(CONFIG, docstore=index.docstore)],
    )
    answer = engine.query("What do bees like?")
    assert answer.source_nodes
    assert all(len(found.node.metadata["source_ids"]) > 1 for found in answer.source_nodes)


def test_without_a_question_and_without_hits() -> None:
    processor = RetriVexPostprocessor(RetrievalConfig(window=1), chunk_store=NODES)
    assert ids_of(processor.postprocess_nodes([hit(NODES[3])])) == [[n.node_id for n in NODES[2:5]]]
    assert processor.postprocess_nodes([]) == []


def test_limits_scope_and_fields_are_those_of_the_retriever() -> None:
    ours, theirs = split("ours", "Our plan.", scope="us"), split("theirs", "Their plan.", scope="them")
    found = [hit(*ours), hit(*theirs)]
    assert [n.text for n in RetriVexPostprocessor(CONFIG, scope="us").postprocess_nodes(found)] == ["Our plan."]
    assert RetriVexPostprocessor(CONFIG).postprocess_nodes(found) == []
    anyone = RetriVexPostprocessor(CONFIG.override(max_spans=1), fields=FieldMap(scope=()))
    assert len(anyone.postprocess_nodes(found)) == 1
    with pytest.raises(StoreError, match="both chunk_store and docstore are given"):
        RetriVexPostprocessor(CONFIG, NODES, docstore=DOCSTORE)
    with pytest.raises(StoreError, match="is no docstore and no vector store"):
        RetriVexPostprocessor(CONFIG, docstore={})  # type: ignore[arg-type]


def test_it_is_told_apart_in_traces_and_files() -> None:
    processor = RetriVexPostprocessor(CONFIG, chunk_store=NODES)
    assert processor.class_name() == "RetriVexPostprocessor"
    assert json.loads(processor.to_json())["class_name"] == "RetriVexPostprocessor"


def test_a_reranker_scores_the_hits() -> None:
    first, *others = split()
    options = RetrievalConfig(window=0, max_spans=1, scoring="weighted", ordering_strategy="score_desc")

    def last_first(query: str, texts: Sequence[str]) -> list[float]:
        return [float(text == others[-1].get_content()) for text in texts]

    found = [hit(first, 0.9), hit(others[-1], 0.1)]
    for said, shown in (({}, first), ({"reranker": last_first}, others[-1])):
        made = RetriVexPostprocessor(options, **said).postprocess_nodes(found, query_str="Who?")
        assert ids_of(made) == [[shown.node_id]]


def test_without_a_store_it_says_so() -> None:
    made = RetriVexPostprocessor(CONFIG).postprocess_nodes([hit(NODES[3])], query_str="flower")
    assert ids_of(made) == [[NODES[3].node_id]]
    assert "no chunk store" in made[0].node.metadata["warnings"][0]


# ---- faults of peers, as seen in llama-index-core 0.14.25


@pytest.mark.parametrize("order", [(3, 4), (4, 3)])
def test_no_hit_loses_its_score_to_its_neighbours(order: tuple[int, int]) -> None:
    # PrevNextNodePostprocessor puts neighbours, which have no score, in place of hits found before
    found = [hit(NODES[at], 0.9 - 0.1 * rank) for rank, at in enumerate(order)]
    made = RetriVexPostprocessor(CONFIG, docstore=DOCSTORE).postprocess_nodes(found, query_str="flower")
    assert len(made) == 1
    assert isinstance(made[0].score, float)
    scores = {known["id"]: known["score"] for known in made[0].node.metadata["hits"]}
    assert scores == {found.node.node_id: found.score for found in found}


def test_nodes_without_a_score_come_back_with_one() -> None:
    made = RetriVexPostprocessor(CONFIG, docstore=DOCSTORE).postprocess_nodes([hit(NODES[3], None)])
    assert isinstance(made[0].score, float)


def test_neighbours_that_are_gone_are_no_error() -> None:
    # PrevNextNodePostprocessor raises where a node that is linked to is not in the docstore
    made = RetriVexPostprocessor(CONFIG, docstore=stored(NODES[3])).postprocess_nodes([hit(NODES[3])])
    assert ids_of(made) == [[NODES[3].node_id]]


@pytest.mark.parametrize("at", [0, len(NODES) - 1])
@pytest.mark.parametrize("by", ["docstore", "chunk_store"])
def test_the_ends_of_a_document_are_neither_missed_nor_overrun(at: int, by: str) -> None:
    others = split("wasps", TEXT.replace("bees", "wasps"))
    given: dict[str, Any] = (
        {"docstore": stored(*NODES, *others)} if by == "docstore" else {"chunk_store": [*NODES, *others]}
    )
    near = NODES[1 if at == 0 else at - 1]
    for found, size in ((NODES[at], 2), (near, 3)):
        made = RetriVexPostprocessor(CONFIG, **given).postprocess_nodes([hit(found)], query_str="flower")
        assert [len(ids) for ids in ids_of(made)] == [size]
        assert NODES[at].node_id in ids_of(made)[0]
        assert "wasps" not in made[0].text


def test_a_link_into_another_document_or_tenant_is_not_followed() -> None:
    ours, theirs = split("plan", "Our plan.", scope="us")[0], split("plan", "Their plan.", scope="them")[0]
    ours.relationships[NodeRelationship.NEXT] = theirs.as_related_node_info()
    theirs.relationships[NodeRelationship.PREVIOUS] = ours.as_related_node_info()
    stranger = TextNode(
        id_="x", text="A stranger.", relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id="y")}
    )
    ours.relationships[NodeRelationship.PREVIOUS] = stranger.as_related_node_info()
    processor = RetriVexPostprocessor(CONFIG, docstore=stored(ours, theirs, stranger), scope="us")
    made = processor.postprocess_nodes([hit(ours)], query_str="plan")
    assert [found.text for found in made] == ["Our plan."]


# ---- many at once


def test_two_tenants_and_64_threads_and_tasks_on_one_retriever() -> None:
    worlds = {name: split(name, TEXT.replace("bees", name), scope=name) for name in ("acme", "zebra")}
    everything = [node for nodes in worlds.values() for node in nodes]

    class Mixed(BaseRetriever):
        """As a vector store without a filter: hits of both tenants."""

        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            at = int(query_bundle.query_str.split()[-1])
            return [hit(nodes[at], 0.9) for nodes in worlds.values()]

        async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            await asyncio.sleep(0)
            return self._retrieve(query_bundle)

    asked = [ScopedQuery(f"flower {n % 16}", scope=("acme", "zebra")[n % 2]) for n in range(64)]
    for given in ({"docstore": stored(*everything)}, {"chunk_store": everything}):
        retriever = RetriVexRetriever(Mixed(), CONFIG, **given)  # type: ignore[arg-type]
        serial = [retriever.retrieve(question) for question in asked]
        with ThreadPoolExecutor(64) as pool:
            threads = list(pool.map(retriever.retrieve, asked))

        async def all_at_once(retriever: RetriVexRetriever = retriever) -> list[list[NodeWithScore]]:
            return await asyncio.gather(*(retriever.aretrieve(question) for question in asked))

        assert threads == serial == asyncio.run(all_at_once())
        for made, question in zip(serial, asked, strict=True):
            assert made
            assert all(question.scope in found.text and found.node.ref_doc_id == question.scope for found in made)


def test_a_scope_comes_with_the_question_through_a_query_engine() -> None:
    worlds = {name: split(name, f"The plan of {name}.", scope=name) for name in ("acme", "zebra")}
    everything = [node for nodes in worlds.values() for node in nodes]
    index = VectorStoreIndex(everything, embed_model=MockEmbedding(embed_dim=8))
    processor = RetriVexPostprocessor(CONFIG, docstore=index.docstore)
    engine = RetrieverQueryEngine.from_args(index.as_retriever(), llm=MockLLM(), node_postprocessors=[processor])
    assert [found.text for found in engine.query(ScopedQuery("plan", scope="acme")).source_nodes] == [
        "The plan of acme."
    ]
    own = RetriVexRetriever(index.as_retriever(), CONFIG, scope="zebra")
    assert [found.text for found in own.retrieve(ScopedQuery("plan"))] == ["The plan of zebra."]


@pytest.mark.parametrize("name", ["config", "chunk_store", "docstore", "scope", "fields", "reranker"])
def test_arguments_that_are_set_later_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        setattr(RetriVexPostprocessor(), name, None)
