"""The LlamaIndex retriever over LlamaIndex's own parsers, docstore and vector index."""

import asyncio
import importlib
import json
import logging
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.examples import run_example

from retrivex import Chunk, ChunkMetadata, RetrievalConfig

pytest.importorskip("llama_index.core", reason="needs llama-index-core", exc_type=ImportError)

from llama_index.core import Document, MockEmbedding, VectorStoreIndex
from llama_index.core.node_parser import HierarchicalNodeParser, MarkdownNodeParser, SentenceSplitter
from llama_index.core.schema import BaseNode, MetadataMode, NodeRelationship, QueryBundle, RelatedNodeInfo, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from support.llamaindex_world import QUESTION, ROOMY, Fixed, ids_of

from retrivex.adapters.base.logs import log_once
from retrivex.adapters.llamaindex import FieldMap, RetriVexPostprocessor, RetriVexRetriever, chunk_store_from_nodes
from retrivex.errors import ChunkError, ConfigError, HitError, RerankError, RetrivexError, StoreError
from retrivex.stores.memory import InMemoryChunkStore
from retrivex.tokens.tokenizer import get_tokenizer

pytestmark = pytest.mark.integration

SMALL = "\n\n".join(
    f"Paragraph {n} speaks of {topic}. Żółw no. {n} naps; 第{n}节谈蜜蜂。 Nobody knows why {topic} stay for {n} days."
    for n, topic in enumerate(["bees", "wasps", "ants", "owls", "eels", "bats", "elks", "apes"] * 25)
)
CONFIG = RetrievalConfig(window=1, token_budget=600, effort="full")


@pytest.fixture(scope="session")
def text() -> str:
    beside = Path(__file__).parents[4] / "shared" / "data"
    corpora = Path(os.environ.get("RETRIVEX_DATA", beside)) / "chunking_evaluation" / "corpora"
    if not corpora.is_dir():
        return SMALL
    return (corpora / "state_of_the_union.md").read_text(encoding="utf-8")[:20_000]


@pytest.fixture(scope="session")
def nodes(text: str) -> list[BaseNode]:
    document = Document(text=text, doc_id="speech", metadata={"file_name": "speech.md"})
    return SentenceSplitter(chunk_size=100, chunk_overlap=20).get_nodes_from_documents([document])


@pytest.fixture(scope="session")
def docstore(nodes: list[BaseNode]) -> SimpleDocumentStore:
    store = SimpleDocumentStore()
    store.add_documents(nodes)
    return store


def hits(nodes: list[BaseNode], *positions: int) -> Fixed:
    return Fixed([(nodes[at], 0.9 - 0.1 * rank) for rank, at in enumerate(positions)])


def numbered(doc_id: str, *texts: str, **metadata: Any) -> list[BaseNode]:
    source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=doc_id)}
    return [
        TextNode(id_=f"{doc_id}:{n}", text=text, metadata={"chunk_index": n, **metadata}, relationships=dict(source))
        for n, text in enumerate(texts)
    ]


BEES = numbered("bees", "Bees live in hives.", "A hive has one queen.", "She lays all eggs.", "Drones do not work.")


# ---- the published call, and what comes out


def test_what_is_no_argument_is_refused_when_it_is_made(nodes: list[BaseNode]) -> None:
    index = VectorStoreIndex(nodes[:2], embed_model=MockEmbedding(3))
    with pytest.raises(RetrivexError, match=r"base_retriever is VectorStoreIndex: .* give index.as_retriever\(\)"):
        RetriVexRetriever(index)  # type: ignore[arg-type]
    with pytest.raises(RetrivexError, match="config is int 800: it must be a RetrievalConfig"):
        RetriVexRetriever(index.as_retriever(), 800)  # type: ignore[arg-type]


def test_the_question_has_two_names(nodes: list[BaseNode]) -> None:
    made = RetriVexRetriever(Fixed([(node, 0.5) for node in nodes[:3]]), CONFIG)
    assert made.compose(question=QUESTION).text == made.compose(query=QUESTION).text  # type: ignore[call-arg]
    assert asyncio.run(made.acompose(question=QUESTION)).question == QUESTION  # type: ignore[call-arg]
    with pytest.raises(RetrivexError, match="they are two names of the same"):
        made.compose(QUESTION, question="What else?")  # type: ignore[call-arg]


def test_published_call_by_position_and_by_name(nodes: list[BaseNode]) -> None:
    base = hits(nodes, 3, 5)
    made = RetriVexRetriever(base_retriever=base, config=CONFIG).retrieve(QUESTION)
    assert made
    assert made == RetriVexRetriever(base, CONFIG).retrieve(QUESTION)


@pytest.mark.parametrize("by", ["docstore", "nodes"])
def test_neighbours_are_merged_to_whole_passages(
    nodes: list[BaseNode], docstore: SimpleDocumentStore, text: str, by: str
) -> None:
    given: dict[str, Any] = {"docstore": docstore} if by == "docstore" else {"chunk_store": nodes}
    made = RetriVexRetriever(hits(nodes, 3, 5, 12), ROOMY, **given).retrieve(QUESTION)
    wanted = [[node.node_id for node in nodes[start:end]] for start, end in [(2, 7), (11, 14)]]
    assert sorted(ids_of(made)) == sorted(wanted)
    for hit in made:
        start, end = hit.node.start_char_idx, hit.node.end_char_idx
        assert "".join(hit.node.text.split()) == "".join(text[start:end].split())
        if hit.node.metadata["exact"]:
            assert hit.node.text == text[start:end]


def test_docstore_and_nodes_give_the_same_passages(nodes: list[BaseNode], docstore: SimpleDocumentStore) -> None:
    # by formula: the calibrated scorer also looks at how far the hits are apart, which a walk along links cannot tell
    for config in (CONFIG, ROOMY, RetrievalConfig(window=(0, 3)), RetrievalConfig(window=0)):
        config = config.override(scoring="weighted")
        base = hits(nodes, 3, 5, 12, 0, len(nodes) - 1)
        walked = RetriVexRetriever(base, config, docstore=docstore).retrieve(QUESTION)
        stored = RetriVexRetriever(base, config, nodes).retrieve(QUESTION)
        assert [(m.text, m.score) for m in walked] == [(m.text, m.score) for m in stored]


def test_budget_holds(nodes: list[BaseNode], docstore: SimpleDocumentStore) -> None:
    made = RetriVexRetriever(hits(nodes, *range(0, 30, 3)), CONFIG, docstore=docstore, fetch_k=10).retrieve(QUESTION)
    count = get_tokenizer("cl100k_base").count("\n\n".join(hit.text for hit in made))
    assert 0.6 * CONFIG.token_budget < count <= CONFIG.token_budget


def test_nodes_have_scores_stable_ids_and_json_metadata(nodes: list[BaseNode], docstore: SimpleDocumentStore) -> None:
    retriever = RetriVexRetriever(hits(nodes, 3, 5, 12), CONFIG, docstore=docstore)
    first, second = retriever.retrieve(QUESTION), retriever.retrieve(QUESTION)
    assert [hit.node_id for hit in first] == [hit.node_id for hit in second]
    for hit in first:
        assert isinstance(hit.score, float)
        assert hit.node.ref_doc_id == hit.node.metadata["doc_id"] == "speech"
        assert json.loads(json.dumps(hit.node.metadata, allow_nan=False)) == hit.node.metadata


def test_a_prompt_shows_the_metadata_it_showed_before_and_no_more(nodes: list[BaseNode]) -> None:
    made = RetriVexRetriever(hits(nodes, 3), CONFIG, nodes).retrieve(QUESTION)[0].node
    assert made.get_content(MetadataMode.LLM) == f"file_name: speech.md\n\n{made.text}"
    assert made.get_content(MetadataMode.EMBED) == made.get_content(MetadataMode.LLM)
    assert made.get_content(MetadataMode.NONE) == made.text


def test_async_gives_the_same(nodes: list[BaseNode], docstore: SimpleDocumentStore) -> None:
    for given in ({"docstore": docstore}, {"chunk_store": nodes}, {}):
        retriever = RetriVexRetriever(hits(nodes, 3, 5, 12), CONFIG, **given)  # type: ignore[arg-type]
        assert asyncio.run(retriever.aretrieve(QUESTION)) == retriever.retrieve(QUESTION)


def test_over_a_vector_index(nodes: list[BaseNode], text: str) -> None:
    index = VectorStoreIndex(nodes, embed_model=MockEmbedding(embed_dim=8))
    base = index.as_retriever(similarity_top_k=3)
    retriever = RetriVexRetriever(base, RetrievalConfig(max_spans=2), docstore=index.docstore, fetch_k=6)
    made = retriever.retrieve(QUESTION)
    assert 1 <= len(made) <= 2
    assert all("".join(hit.text.split()) in "".join(text.split()) for hit in made)
    assert base.similarity_top_k == 3  # a copy is asked for more
    assert made == asyncio.run(retriever.aretrieve(QUESTION))


# ---- how many, and how good


def test_base_is_asked_for_fetch_k(nodes: list[BaseNode]) -> None:
    base = hits(nodes, *range(9))
    for fetch_k, found in [(5, 5), (None, 2), (50, 9)]:
        made = RetriVexRetriever(base, RetrievalConfig(window=0), fetch_k=fetch_k).retrieve(QUESTION)
        assert sum(len(hit.node.metadata["hits"]) for hit in made) == found
    assert base.similarity_top_k == 2
    for wrong in (0, -1, True, "5"):
        with pytest.raises(RetrivexError, match=f"fetch_k is {wrong!r}: it must be a whole number of at least 1"):
            RetriVexRetriever(base, fetch_k=wrong)  # type: ignore[arg-type]


def test_more_spans_than_fetch_k_ask_for_more_hits() -> None:
    base = Fixed([(numbered(f"doc{n}", f"Text number {n}.")[0], 1 - n / 100) for n in range(80)])
    config = RetrievalConfig(window=0, token_budget=100_000, max_spans=70)
    for fetch_k, found in [(50, 70), (3, 70), (None, base.similarity_top_k)]:
        retriever = RetriVexRetriever(base, config, fetch_k=fetch_k)
        assert len(retriever.retrieve(QUESTION)) == len(asyncio.run(retriever.aretrieve(QUESTION))) == found


def test_at_most_max_spans(nodes: list[BaseNode]) -> None:
    config = RetrievalConfig(max_spans=3, window=0, effort="full")
    assert len(RetriVexRetriever(hits(nodes, *range(0, 16, 2)), config).retrieve(QUESTION)) == 3
    assert len(RetriVexRetriever(hits(nodes, 4, 8), config).retrieve(QUESTION)) == 2
    assert RetriVexRetriever(hits(nodes), config).retrieve(QUESTION) == []


def test_without_scores_rank_counts(nodes: list[BaseNode]) -> None:
    base = Fixed([(nodes[at], score) for at, score in [(9, None), (2, 0.8), (5, None)]])
    made = RetriVexRetriever(base, RetrievalConfig(window=0, max_spans=1, scoring="weighted")).retrieve(QUESTION)
    assert ids_of(made) == [[nodes[9].node_id]]
    assert made[0].node.metadata["score_source"] == "rank"
    assert made[0].score is not None


@pytest.mark.parametrize("scores", [[float("nan")], [float("nan"), float("inf")]])
def test_hits_of_which_none_has_a_score_that_is_one_are_ranked(nodes: list[BaseNode], scores: list[float]) -> None:
    base = Fixed([(nodes[9 - 4 * at], score) for at, score in enumerate(scores)])
    made = RetriVexRetriever(base, RetrievalConfig(window=0, max_spans=1, scoring="weighted")).retrieve(QUESTION)
    assert ids_of(made) == [[nodes[9].node_id]]
    assert made[0].score is not None
    assert "no hit has a score that is a finite number (nan)" in made[0].node.metadata["warnings"][0]
    with pytest.raises(HitError, match="nan"):
        RetriVexRetriever(base, RetrievalConfig(window=0, strict=True)).retrieve(QUESTION)


def test_best_hit_stays_the_best_when_neighbours_join(nodes: list[BaseNode], docstore: SimpleDocumentStore) -> None:
    base = Fixed([(nodes[20], 0.95), (nodes[3], 0.2), (nodes[8], 0.1)])
    made = RetriVexRetriever(base, ROOMY, docstore=docstore).retrieve(QUESTION)
    assert nodes[20].node_id in max(made, key=lambda hit: hit.score or 0).node.metadata["source_ids"]


def test_question_and_its_embedding_reach_the_base_unchanged(nodes: list[BaseNode]) -> None:
    base = hits(nodes, 1)
    bundle = QueryBundle("What of 蜜蜂?", embedding=[0.1, 0.2])
    RetriVexRetriever(base, CONFIG).retrieve(bundle)
    assert base.asked == [bundle]


# ---- along the relationships


def test_one_request_a_step_and_only_for_the_window(nodes: list[BaseNode]) -> None:
    class Counting(SimpleDocumentStore):
        asked: list[int] = []  # noqa: RUF012

        def get_nodes(self, node_ids: list[str], raise_error: bool = True) -> list[BaseNode]:
            self.asked.append(len(node_ids))
            return super().get_nodes(node_ids, raise_error)

    store = Counting()
    store.add_documents(nodes)
    RetriVexRetriever(hits(nodes, 10, 20), RetrievalConfig(window=(1, 3)), docstore=store).retrieve(QUESTION)
    assert store.asked == [4, 2, 2]


def test_walk_ends_where_nodes_are_missing(nodes: list[BaseNode]) -> None:
    store = SimpleDocumentStore()
    store.add_documents([node for at, node in enumerate(nodes) if at != 9])
    made = RetriVexRetriever(hits(nodes, 10), RetrievalConfig(window=3), docstore=store).retrieve(QUESTION)
    assert ids_of(made) == [[node.node_id for node in nodes[10:14]]]
    [warning] = made[0].node.metadata["warnings"]
    assert warning.startswith(f"1 neighbours missing from the node store, first {nodes[9].node_id!r}: spans end there")


def test_a_docstore_that_was_never_filled_is_told_of(nodes: list[BaseNode]) -> None:
    retriever = RetriVexRetriever(hits(nodes, 10, 20), ROOMY, docstore=SimpleDocumentStore())
    for made in (retriever.retrieve(QUESTION), asyncio.run(retriever.aretrieve(QUESTION))):
        [warning] = made[0].node.metadata["warnings"]
        assert warning.startswith("4 neighbours missing from the node store")
    as_found = RetrievalConfig(window=0)
    [alone] = RetriVexRetriever(hits(nodes, 10), as_found, docstore=SimpleDocumentStore()).retrieve("x")
    assert "warnings" not in alone.node.metadata


def test_hits_without_links_are_told_of(docstore: SimpleDocumentStore) -> None:
    foreign: list[BaseNode] = [TextNode(id_=f"f{n}", text=f"Foreign text {n}.") for n in range(2)]
    pieces, whole = numbered("cut", "One.", "Two."), numbered("whole", "All of it.")
    base = Fixed([(node, 0.5) for node in (*foreign, *pieces, *whole)])
    made = RetriVexRetriever(base, ROOMY, docstore=docstore).retrieve("text")
    [warning] = made[0].node.metadata["warnings"]
    assert warning.startswith("4 of 5 hits stay as they are: they have no PREVIOUS and no NEXT")
    with pytest.raises(HitError, match="4 of 5 hits stay as they are"):
        RetriVexRetriever(base, ROOMY.override(strict=True), docstore=docstore).retrieve("text")


def test_neighbours_of_another_document_are_none() -> None:
    ours, theirs = numbered("ours", "Our plan."), numbered("theirs", "Their plan.")
    for node in (*ours, *theirs):
        del node.metadata["chunk_index"]
    ours[0].relationships[NodeRelationship.NEXT] = theirs[0].as_related_node_info()
    store = SimpleDocumentStore()
    store.add_documents([*ours, *theirs])
    assert ids_of(RetriVexRetriever(Fixed([(ours[0], 1.0)]), docstore=store).retrieve("plan")) == [["ours:0"]]
    made = RetriVexRetriever(Fixed([(ours[0], 1.0)]), chunk_store=[*ours, *theirs]).retrieve("plan")
    assert ids_of(made) == [["ours:0"]]


def test_levels_of_a_hierarchy_are_not_mixed(text: str) -> None:
    parser = HierarchicalNodeParser.from_defaults(chunk_sizes=[400, 100], chunk_overlap=0)
    nodes = parser.get_nodes_from_documents([Document(text=text[:8000], doc_id="speech")])
    leaves = [node for node in nodes if node.parent_node]
    at = next(n for n in range(1, len(leaves) - 1) if leaves[n].prev_node and leaves[n + 1].prev_node)
    store = SimpleDocumentStore()
    store.add_documents(nodes)
    # this parser tells leaves only what comes before them: the other way is known to their parents
    for given in ({"docstore": store}, {"chunk_store": nodes}):
        made = RetriVexRetriever(Fixed([(leaves[at], 1.0)]), ROOMY, **given).retrieve(QUESTION)  # type: ignore[arg-type]
        assert ids_of(made) == [[leaf.node_id for leaf in leaves[at - 1 : at + 2]]]
        # offsets in the parent are none in the document
        assert not made[0].node.metadata["exact"]
        assert "".join(made[0].text.split()) in "".join(text.split())


def test_headings_guard() -> None:
    guide = "# Bees\n\n## Sleep\n\nAt night.\n\n## Food\n\nNectar mostly.\n\n# Cars\n\n## Motor\n\nBurns petrol.\n"
    nodes = MarkdownNodeParser().get_nodes_from_documents([Document(text=guide, doc_id="guide")])
    made = RetriVexRetriever(Fixed([(nodes[1], 1.0)]), RetrievalConfig(window=4), nodes).retrieve("night")
    assert "".join(made[0].text.split()) == "##SleepAtnight.##FoodNectarmostly."
    assert made[0].node.metadata["heading_path"] == ["Bees"]


# ---- stores


@pytest.mark.parametrize("kind", ["dict", "store", "nodes", "docstore"])
def test_every_kind_of_store_for_numbered_nodes(kind: str) -> None:
    chunks = [Chunk(node.get_content(MetadataMode.NONE), ChunkMetadata("bees", n)) for n, node in enumerate(BEES)]
    docstore = SimpleDocumentStore()
    docstore.add_documents(BEES)
    given: dict[str, Any] = {
        "dict": {"chunk_store": {chunk.key: chunk for chunk in chunks}},
        "store": {"chunk_store": InMemoryChunkStore(chunks)},
        "nodes": {"chunk_store": iter(BEES)},
        "docstore": {"docstore": docstore},  # numbers without relationships: there is nothing to follow
    }[kind]
    made = RetriVexRetriever(Fixed([(BEES[2], 1.0)]), CONFIG, **given).retrieve("eggs")
    assert made[0].node.metadata["chunk_ids"] == ([2] if kind == "docstore" else [1, 2, 3])


def test_what_is_no_store_is_refused() -> None:
    for wrong in (7, "bees.db", [1], ["bees"], InMemoryChunkStore):
        with pytest.raises(StoreError, match=r"chunk_store is .* a vector store to vector_store"):
            RetriVexRetriever(Fixed([]), chunk_store=wrong)  # type: ignore[arg-type]
    with pytest.raises(StoreError, match="both chunk_store and docstore"):
        RetriVexRetriever(Fixed([]), chunk_store={}, docstore=SimpleDocumentStore())


@pytest.mark.parametrize(
    "make", [lambda *a, **k: RetriVexRetriever(Fixed([]), *a, **k), RetriVexPostprocessor], ids=["retriever", "post"]
)
def test_what_is_no_argument_is_refused(make: Any) -> None:
    with pytest.raises(ConfigError, match=r"^config is int 2000: it must be a RetrievalConfig, as in"):
        make(2000)
    with pytest.raises(ConfigError, match=r"^token_budget: .* option of its config, RetrievalConfig\(token_budget="):
        make(token_budget=5)
    with pytest.raises(ConfigError, match=r"^docstor: .* did you mean docstore\?"):
        make(docstor=5)


def drones_first(query: str, texts: Sequence[str]) -> list[float]:
    return [float("Drones" in text) for text in texts]


def test_a_reranker_scores_the_hits() -> None:
    options = RetrievalConfig(window=0, ordering_strategy="score_desc", scoring="weighted", max_spans=1, token_budget=8)
    retriever = RetriVexRetriever(hits(BEES, 0, 1, 2, 3), options, BEES, reranker=drones_first)
    for made in (retriever.retrieve("Who works?"), asyncio.run(retriever.aretrieve("Who works?"))):
        assert [hit.node.text for hit in made] == ["Drones do not work."]
    plain = RetriVexRetriever(hits(BEES, 0, 1, 2, 3), options, BEES)
    assert plain.retrieve("Who works?")[0].node.text != "Drones do not work."
    with pytest.raises(RerankError, match="reranker is 5"):
        RetriVexRetriever(hits(BEES, 0), options, BEES, reranker=5)


@pytest.mark.parametrize("trouble", ["raises", "hangs", "cancels"])
def test_docstore_in_trouble_costs_neighbours_only(nodes: list[BaseNode], trouble: str) -> None:
    class Broken(SimpleDocumentStore):
        def get_nodes(self, node_ids: list[str], raise_error: bool = True) -> list[BaseNode]:
            if trouble == "raises":
                raise OSError("gone fishing")
            if trouble == "cancels":
                raise asyncio.CancelledError("a task of its own")
            threading.Event().wait()
            return []

        async def aget_nodes(self, node_ids: list[str], raise_error: bool = True) -> list[BaseNode]:
            if trouble == "raises":
                raise OSError("gone fishing")
            if trouble == "cancels":
                raise asyncio.CancelledError("a task of its own")
            await asyncio.Event().wait()
            return []

    config = RetrievalConfig(window=1, store_timeout_s=0.05)
    retriever = RetriVexRetriever(hits(nodes, 3), config, docstore=Broken())
    for made in (retriever.retrieve(QUESTION), asyncio.run(retriever.aretrieve(QUESTION))):
        assert ids_of(made) == [[nodes[3].node_id]]
        assert any("gave no more neighbours" in warning for warning in made[0].node.metadata["warnings"])
    strict = RetriVexRetriever(hits(nodes, 3), config.override(strict=True), docstore=Broken())
    with pytest.raises(StoreError, match="gave no more neighbours"):
        strict.retrieve(QUESTION)
    with pytest.raises(StoreError, match="gave no more neighbours"):
        asyncio.run(strict.aretrieve(QUESTION))


def test_what_a_docstore_says_of_its_address_is_not_repeated(nodes: list[BaseNode]) -> None:
    class Broken(SimpleDocumentStore):
        def get_nodes(self, node_ids: list[str], raise_error: bool = True) -> list[BaseNode]:
            raise RuntimeError(f"{'x' * 90} https://S3CRET:S3CRET@db.example/v1?api_key=S3CRET")

    [made] = RetriVexRetriever(hits(nodes, 3), RetrievalConfig(window=1), docstore=Broken()).retrieve(QUESTION)
    assert any("RuntimeError: xxx" in warning for warning in made.node.metadata["warnings"])
    assert "S3C" not in str(made.node.metadata)


def test_nodes_are_numbered_along_their_relationships(nodes: list[BaseNode]) -> None:
    store = chunk_store_from_nodes(reversed(nodes))
    assert [store["speech", n].text for n in range(len(nodes))] == [node.get_content() for node in _bare(nodes)]
    assert store["speech", 0].metadata.chunk_count == len(nodes)


def _bare(nodes: list[BaseNode]) -> list[TextNode]:
    return [TextNode(text=node.get_content(MetadataMode.NONE)) for node in nodes]


@pytest.mark.parametrize("metadata", [{}, {"source": "kettle.md"}, {"source": "kettle.md", "chunk_id": 3}])
def test_a_hit_that_ends_inside_a_sentence_comes_back_whole(metadata: dict[str, Any]) -> None:
    node = TextNode(text="The warranty covers parts and labour. It lasts five years from", metadata=metadata)
    retriever = RetriVexRetriever(Fixed([(node, 0.9)]), RetrievalConfig(token_budget=200))
    assert [hit.node.text for hit in retriever.retrieve("How long does the warranty last?")] == [node.text]


def test_nodes_without_a_document_are_one_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    log_once.cache_clear()
    nodes = [TextNode(text=text) for text in ("Bees sleep at night.", "They wake at dawn.", "Then they fly.")]
    (found,) = RetriVexRetriever(Fixed([(nodes[1], 1.0)]), CONFIG, chunk_store=nodes).retrieve("When do they wake?")
    assert found.node.text == "Bees sleep at night. They wake at dawn. Then they fly."
    assert found.node.ref_doc_id is None
    (warning,) = found.node.metadata["warnings"]
    assert warning.startswith("none of 3 pieces names its document, under doc_id, document_id, source, file_path: all")
    assert caplog.messages == [warning]


def test_some_nodes_without_a_document_cannot_be_numbered() -> None:
    named = TextNode(text="Bees sleep.", metadata={"source": "bees.txt"})
    with pytest.raises(ChunkError, match=r"^'Owls hunt.' names no document: its metadata have nothing under doc_id"):
        chunk_store_from_nodes([named, TextNode(text="Owls hunt.")])
    with pytest.raises(ChunkError, match="names no document: source is of the type float: a document's name must be"):
        chunk_store_from_nodes([TextNode(text="Bees sleep.", metadata={"source": 7.5})])
    named = TextNode(text="Bees sleep.", metadata={"file": "bees.txt"})
    assert list(chunk_store_from_nodes([named], FieldMap(doc_id="file"))) == [("bees.txt", 0)]


# ---- no store, no position, no scope


def test_without_a_store_touching_hits_are_merged_and_it_is_said(
    nodes: list[BaseNode], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "retrivex.adapters"):
        retriever = RetriVexRetriever(hits(nodes, 6, 2, 7), ROOMY)
    assert "no chunk store" in caplog.text
    made = retriever.retrieve(QUESTION)
    assert sorted(ids_of(made)) == sorted([[nodes[2].node_id], [nodes[6].node_id, nodes[7].node_id]])
    assert "no chunk store" in made[0].node.metadata["warnings"][0]


def test_foreign_nodes_pass_as_they_are() -> None:
    foreign: list[tuple[BaseNode, float | None]] = [
        (TextNode(text="Bees sleep."), 0.9), (TextNode(text=""), 0.8), (TextNode(text="Owls do not."), 0.7),
        (BEES[1], 0.6),
    ]  # fmt: skip
    made = RetriVexRetriever(Fixed(foreign), CONFIG, BEES).retrieve("sleep")
    assert {hit.text for hit in made} == {
        "Bees sleep.", "Owls do not.", "Bees live in hives. A hive has one queen. She lays all eggs.",
    }  # fmt: skip
    assert [hit.node.ref_doc_id for hit in made if hit.text == "Owls do not."] == [None]
    warnings = made[0].node.metadata["warnings"]
    assert any("1 of 4 hits left out" in warning for warning in warnings)
    assert any("2 of 3 hits stay as they are: they have no document" in warning for warning in warnings)
    assert len(warnings) == 2


def test_scope_fails_closed() -> None:
    ours, theirs = numbered("ours", "Our plan.", scope="us"), numbered("theirs", "Their plan.", scope="them")
    base = Fixed([(ours[0], 0.9), (theirs[0], 0.8)])
    assert RetriVexRetriever(base, CONFIG).retrieve("plan") == []
    made = RetriVexRetriever(base, CONFIG, [*ours, *theirs], scope="us").retrieve("plan")
    assert [hit.node.ref_doc_id for hit in made] == ["ours"]


def test_nobodys_nodes_are_changed(nodes: list[BaseNode], docstore: SimpleDocumentStore) -> None:
    before = [node.to_dict() for node in nodes]
    RetriVexRetriever(hits(nodes, 3, 5), CONFIG, docstore=docstore).retrieve(QUESTION)
    assert [node.to_dict() for node in nodes] == before


def test_without_llamaindex_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llama_index.core.schema", None)
    for name in [name for name in sys.modules if name.startswith("retrivex.adapters.llamaindex")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ImportError, match=r"pip install 'retrivex-rag\[llamaindex\]'"):
        importlib.import_module("retrivex.adapters.llamaindex")


# ---- the example


def test_the_example_prints_whole_passages() -> None:
    printed = run_example("neighbours_in_llamaindex.py")
    assert "Node found: The queen stays in the middle of the cluster." in printed
    assert "Passage: They form a cluster and keep it warm by shivering. The queen stays" in printed
    assert "nodes in, 1 passage out" in printed


def test_the_composition_is_at_hand_with_numbered_sources(nodes: list[BaseNode]) -> None:
    retriever = RetriVexRetriever(Fixed([(node, 0.5) for node in nodes[3:6]]), ROOMY, chunk_store=nodes)
    made = retriever.compose(QUESTION)
    assert made.text.startswith("[1] ")
    assert asyncio.run(retriever.acompose(QueryBundle(QUESTION))).text == made.text
    assert made.resolve("[1]")
    assert made.trace.scorer == "calibrated"
    alone = RetriVexRetriever(Fixed([(node, 0.5) for node in nodes[3:6]]), ROOMY).compose(QUESTION)
    assert alone.warnings[0].endswith("pass docstore=index.docstore, or chunk_store")
