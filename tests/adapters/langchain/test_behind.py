"""LangChain: neighbours are found behind the retriever, where no chunk store is named."""

import asyncio
import copy
import logging
import pickle
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from retrivex import RetrievalConfig

pytest.importorskip("langchain_core")

from langchain_classic.retrievers import (
    ContextualCompressionRetriever,
    EnsembleRetriever,
    MultiVectorRetriever,
    ParentDocumentRetriever,
)
from langchain_classic.retrievers.document_compressors import CrossEncoderReranker, DocumentCompressorPipeline
from langchain_community.cross_encoders.base import BaseCrossEncoder
from langchain_community.retrievers import BM25Retriever
from langchain_community.vectorstores import FAISS
from langchain_core.documents import Document
from langchain_core.retrievers import RetrieverLike
from langchain_core.runnables import ConfigurableField
from langchain_core.stores import InMemoryByteStore, InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore, VectorStoreRetriever
from langchain_qdrant import QdrantVectorStore
from langchain_text_splitters import CharacterTextSplitter
from support.langchain_world import BEES, QUESTION, ROOMY, Bags, Fixed, cut

from retrivex.adapters.langchain import RetriVexRetriever

pytestmark = pytest.mark.integration

CONFIG = RetrievalConfig(window=1, token_budget=400, tokenizer="estimate")


def shown(retriever: RetriVexRetriever, question: str = "queen") -> list[str]:
    return [document.page_content for document in retriever.invoke(question)]


def stored(kind: str, pieces: list[Document]) -> VectorStore:
    if kind == "memory":
        return InMemoryVectorStore.from_documents(pieces, Bags())
    if kind == "faiss":
        return FAISS.from_documents(pieces, Bags())
    return QdrantVectorStore.from_documents(pieces, Bags(), location=":memory:", collection_name="bees")


@pytest.mark.parametrize("kind", ["memory", "faiss", "qdrant"])
def test_two_arguments_find_the_neighbours_in_the_vector_store(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    pieces = [document.model_copy(update={"id": None}) for document in BEES]
    base = stored(kind, pieces).as_retriever()
    with caplog.at_level(logging.INFO, "retrivex.adapters"):
        retriever = RetriVexRetriever(base, CONFIG, fetch_k=1)
    assert [record.levelname for record in caplog.records] == ["INFO"]
    assert "found behind the base retriever" in caplog.text
    made = retriever.invoke("one queen")
    assert [document.metadata["chunk_ids"] for document in made] == [[0, 1, 2]]
    assert "warnings" not in made[0].metadata
    assert asyncio.run(retriever.ainvoke("one queen")) == made
    assert retriever.compose("one queen").warnings == ()


@pytest.mark.parametrize("kind", ["memory", "faiss"])
def test_pieces_in_this_process_need_no_numbers(kind: str, pieces: list[Document]) -> None:
    plain = [Document(piece.page_content, metadata={"source": "wiki.md"}) for piece in pieces]
    base = stored(kind, plain).as_retriever()
    found, given = RetriVexRetriever(base, ROOMY), RetriVexRetriever(base, ROOMY, chunk_store=plain)
    assert shown(found, QUESTION) == shown(given, QUESTION)
    assert any(len(document.metadata["chunk_ids"]) > 1 for document in found.invoke(QUESTION))


def test_pieces_that_change_are_numbered_anew() -> None:
    vectors = InMemoryVectorStore.from_documents(BEES[:2], Bags())
    retriever = RetriVexRetriever(vectors.as_retriever(), CONFIG, fetch_k=1)
    assert shown(retriever) == ["Bees live in hives. A hive has one queen."]
    vectors.add_documents(BEES[2:])
    assert shown(retriever) == ["Bees live in hives. A hive has one queen. She lays all eggs."]
    vectors.add_documents(cut("bees", "Bees live in trees."))  # in the place of the first
    assert shown(retriever) == ["Bees live in trees. A hive has one queen. She lays all eggs."]


def around(kind: str) -> RetrieverLike:
    words = BM25Retriever.from_documents(BEES, k=1, preprocess_func=lambda text: text.strip(".").split())
    return words if kind == "words" else EnsembleRetriever(retrievers=[words, words])


@pytest.mark.parametrize("kind", ["words", "ensemble"])
def test_retrievers_by_words_and_ensembles_are_looked_into(kind: str) -> None:
    assert shown(RetriVexRetriever(around(kind), CONFIG, fetch_k=1)) == [
        "Bees live in hives. A hive has one queen. She lays all eggs."
    ]


class Scores(BaseCrossEncoder):
    def score(self, pairs: list[tuple[str, str]]) -> list[float]:
        return [float("queen" in text) for _, text in pairs]


@pytest.mark.parametrize("reranks", [True, False])
def test_a_reranker_keeps_no_neighbours_out_and_another_compressor_may(reranks: bool) -> None:
    base = InMemoryVectorStore.from_documents(BEES, Bags()).as_retriever(search_kwargs={"k": 3})
    reranker = CrossEncoderReranker(model=Scores(), top_n=1)
    compressor = reranker if reranks else DocumentCompressorPipeline(transformers=[reranker])
    around = ContextualCompressionRetriever(base_compressor=compressor, base_retriever=base)
    assert [document.page_content for document in around.invoke("queen")] == ["A hive has one queen."]
    made = RetriVexRetriever(around, CONFIG).compose("queen")
    assert [span.chunk_ids for span in made.spans] == [[0, 1, 2] if reranks else [1]]
    assert bool(made.warnings) is not reranks
    base.search_kwargs["filter"] = lambda one: True  # of the store that is asked
    assert len(RetriVexRetriever(around, CONFIG).compose("queen").spans[0].chunk_ids) == 1


def test_citations_name_the_document_of_hits_without_a_number() -> None:
    pieces = [Document(text, metadata={"source": "travel.md"}) for text in ("Trains first.", "Meals are paid.")]
    base = QdrantVectorStore.from_documents(pieces, Bags(), location=":memory:", collection_name="travel")
    made = RetriVexRetriever(base.as_retriever(), CONFIG).compose("Trains Meals")
    assert {citation.doc_id for citation in made.citations} == {"travel.md"}
    assert [citation.doc_id for citation in made.resolve("[1]")] == ["travel.md"]
    hit = RetriVexRetriever(base.as_retriever(), CONFIG.override(token_budget=12)).compose("Trains Meals").dropped
    assert {one.doc_id for one in hit} == {"travel.md"}


def by_parents(kind: str = "memory", *, vectors: VectorStore | None = None, **given: Any) -> ParentDocumentRetriever:
    """Sentences are found, lines are shown."""
    stores: dict[str, Any] = {"byte_store": InMemoryByteStore()} if kind == "bytes" else {"docstore": InMemoryStore()}
    return ParentDocumentRetriever(
        vectorstore=InMemoryVectorStore(Bags()) if vectors is None else vectors,
        child_splitter=CharacterTextSplitter(separator=".", chunk_size=1, chunk_overlap=0),
        parent_splitter=CharacterTextSplitter(separator="\n", chunk_size=1, chunk_overlap=0),
        search_kwargs={"k": 1},
        **{**stores, **given},
    )


LINES = Document(
    "Bees live in hives. They are warm.\nA hive has one queen. She lays eggs.\nDrones do not work. They fly.",
    metadata={"source": "bees.md"},
)


@pytest.mark.parametrize("kind", ["memory", "bytes"])
def test_parents_have_the_neighbours_that_their_docstore_holds(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    base = by_parents(kind)
    base.add_documents([LINES])
    assert [document.page_content for document in base.invoke("queen")] == ["A hive has one queen. She lays eggs."]
    with caplog.at_level(logging.INFO, "retrivex.adapters"):
        retriever = RetriVexRetriever(base, CONFIG)
    assert "found behind the base retriever" in caplog.text
    made = retriever.compose("queen")
    assert [span.chunk_ids for span in made.spans] == [[0, 1, 2]]
    assert made.warnings == ()
    base.add_documents([Document("Wasps have a queen, queen.", metadata={"source": "wasps.md"})])
    assert shown(retriever, "Wasps") == ["Wasps have a queen, queen."]


def test_hits_on_summaries_show_the_originals_with_their_neighbours() -> None:
    summaries = InMemoryVectorStore.from_documents(
        [Document(text, metadata={"doc_id": str(n)}) for n, text in enumerate(["homes", "monarchy", "work"])], Bags()
    )
    base = MultiVectorRetriever(vectorstore=summaries, docstore=InMemoryStore(), search_kwargs={"k": 1})
    base.docstore.mset(
        [(str(n), Document(piece.page_content, metadata={"source": "b"})) for n, piece in enumerate(BEES)]
    )
    # the fourth has no summary: the base can never show it, and neither is it anybody's neighbour
    assert shown(RetriVexRetriever(base, CONFIG), "work") == ["A hive has one queen. She lays all eggs."]


class OwnParents(ParentDocumentRetriever):
    """Keeps results back in a way of its own."""


class OwnStore(InMemoryStore):
    """Keeps values back in a way of its own."""


@pytest.mark.parametrize(
    "kind", ["filter", "derived", "derived store", "vectors elsewhere", "no names", "another tenant", "no documents"]
)
def test_parents_that_may_be_kept_back_are_left_alone(kind: str) -> None:
    vectors = QdrantVectorStore.from_documents([Document("x")], Bags(), location=":memory:", collection_name="bees")
    base = by_parents(**{"docstore": OwnStore()} if kind == "derived store" else {})
    if kind == "vectors elsewhere":  # of which nobody says which parents they lead to
        base = by_parents(vectors=vectors)
    if kind == "another tenant":  # whose vectors are others, with the same documents' store
        by_parents(docstore=base.docstore).add_documents([LINES])
    lines = (
        Document("A hive has one queen. She lays eggs.", metadata=LINES.metadata) if kind == "another tenant" else LINES
    )
    base.add_documents([Document(lines.page_content) if kind == "no names" else lines])
    if kind == "derived":
        base = OwnParents(
            **{name: getattr(base, name) for name in ParentDocumentRetriever.model_fields if name != "byte_store"}
        )
    if kind == "filter":
        base.search_kwargs["filter"] = lambda one: True
    if kind == "no documents":
        base.docstore.mset([("text", "only a text")])
        base.vectorstore.add_texts(["drones"], [{"doc_id": "text"}])
        assert len(RetriVexRetriever(base, CONFIG).compose("queen").spans[0].chunks) == 3
        return
    made = RetriVexRetriever(base, CONFIG).compose("queen")
    assert [span.text for span in made.spans] == ["A hive has one queen. She lays eggs."]
    assert bool(made.warnings) == (kind != "another tenant")


class Own(VectorStoreRetriever):
    """Keeps results back in a way of its own."""


def alone(kind: str) -> RetrieverLike:
    vectors = InMemoryVectorStore.from_documents(BEES, Bags())
    base = vectors.as_retriever(search_kwargs={"k": 1})
    if kind == "filter":
        return vectors.as_retriever(search_kwargs={"k": 1, "filter": lambda one: "queen" in one.page_content})
    if kind == "derived":
        return Own(vectorstore=vectors, search_kwargs={"k": 1})
    if kind == "ensemble with another kind":
        return EnsembleRetriever(retrievers=[base, Fixed(documents=BEES[1:2])])
    return ContextualCompressionRetriever(
        base_compressor=DocumentCompressorPipeline(transformers=[]), base_retriever=base
    )


@pytest.mark.parametrize("kind", ["filter", "derived", "ensemble with another kind", "compressor"])
def test_a_retriever_that_may_keep_documents_back_is_left_alone(kind: str) -> None:
    made = RetriVexRetriever(alone(kind), CONFIG, fetch_k=None).compose("queen")
    assert made.warnings[0].startswith("no chunk store: hits cannot grow")
    assert "may keep neighbours out, as by a filter" in made.warnings[0]
    assert all(len(span.chunks) == 1 for span in made.spans)


def test_a_filter_that_is_set_later_counts() -> None:
    base = InMemoryVectorStore.from_documents(BEES, Bags()).as_retriever()
    retriever = RetriVexRetriever(base, CONFIG, fetch_k=1)
    assert len(retriever.compose("one queen").spans[0].chunks) == 3
    base.search_kwargs["filter"] = lambda one: True
    assert len(retriever.compose("one queen").spans[0].chunks) == 1


def test_what_a_call_configures_reaches_the_base() -> None:
    pieces = [*cut("bees", "A hive has one queen."), *cut("wasps", "A nest has one queen.")]
    base = InMemoryVectorStore.from_documents(pieces, Bags()).as_retriever()
    of_user = base.configurable_fields(search_kwargs=ConfigurableField(id="search"))
    retriever = RetriVexRetriever(of_user, CONFIG)
    only = {"search": {"filter": lambda one: one.metadata["doc_id"] == "wasps"}}
    for made in (
        retriever.invoke("one queen", {"configurable": only}),
        asyncio.run(retriever.ainvoke("one queen", {"configurable": only})),
        retriever.batch(["one queen"], {"configurable": only})[0],
    ):
        assert [document.page_content for document in made] == ["A nest has one queen."]
    for composed in (
        retriever.compose("one queen", {"configurable": only}),
        asyncio.run(retriever.acompose("one queen", config={"configurable": only})),
        retriever.compose(question="one queen", config={"configurable": only}),  # type: ignore[call-arg]
    ):
        assert [span.text for span in composed.spans] == ["A nest has one queen."]
    assert len(retriever.invoke("one queen")) == 2


def test_threads_that_ask_first_all_see_neighbours() -> None:
    pieces = cut("bees", *(f"Bees do thing {n} in hive {n}." for n in range(3000)))
    base = InMemoryVectorStore.from_documents(pieces[:5], Bags()).as_retriever()
    base.vectorstore.store.update(  # type: ignore[attr-defined]
        {str(n): {"id": str(n), "vector": [0.0] * 64, "text": p.page_content, "metadata": p.metadata}
         for n, p in enumerate(pieces[5:], 5)}
    )  # fmt: skip
    retriever = RetriVexRetriever(base, CONFIG, fetch_k=1)
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: retriever.compose("thing 2"), range(4)))
    assert {len(one.spans[0].chunks) for one in made} == {3}


def test_what_another_tenant_has_is_not_found() -> None:
    pieces = [
        *cut("bees", "Bees live in hives.", "A hive has one queen.", scope="a"),
        *cut("bees", "x", "y", scope="b"),
    ]
    pieces = [piece.model_copy(update={"id": None}) for piece in pieces]
    base = stored("qdrant", pieces).as_retriever()
    retriever = RetriVexRetriever(base, CONFIG, fetch_k=1, scope="a")
    assert shown(retriever, "one queen") == ["Bees live in hives. A hive has one queen."]
    held = RetriVexRetriever(stored("memory", pieces).as_retriever(), CONFIG, fetch_k=1, scope="a")
    made = held.compose("one queen")  # two pieces with one number: what cannot be told apart gives no neighbours
    assert [span.text for span in made.spans] == ["A hive has one queen."]
    assert made.warnings[0].startswith("no chunk store")


def test_hits_without_numbers_are_merged_where_they_touch_as_before() -> None:
    pieces = [
        Document(text, metadata={"source": "b", "start_index": n}) for text, n in [("Bees live ", 0), ("here.", 10)]
    ]
    made = RetriVexRetriever(stored("qdrant", pieces).as_retriever(), CONFIG).compose("bees")
    assert [span.text for span in made.spans] == ["Bees live here."]
    assert made.warnings[0].startswith("no chunk store")


def test_copies_look_anew_and_another_base_is_looked_into() -> None:
    base = InMemoryVectorStore.from_documents(BEES, Bags()).as_retriever()
    retriever = RetriVexRetriever(base, CONFIG, fetch_k=1)
    before = shown(retriever)
    assert shown(copy.deepcopy(retriever)) == before
    assert shown(pickle.loads(pickle.dumps(retriever))) == before
    retriever.base_retriever = Fixed(documents=BEES[1:2])
    assert shown(retriever) == ["A hive has one queen."]
    retriever.chunk_store = BEES
    assert shown(retriever) == before


def test_a_named_chunk_store_goes_first() -> None:
    base = InMemoryVectorStore.from_documents(BEES, Bags()).as_retriever()
    assert shown(RetriVexRetriever(base, CONFIG, chunk_store=BEES[1:], fetch_k=1)) == [
        "A hive has one queen. She lays all eggs."
    ]


class Elsewhere(VectorStore):
    """A store whose pieces lie on a server, which can be asked by id."""

    def __init__(self, pieces: list[Document]) -> None:
        self._inside = InMemoryVectorStore.from_documents(pieces, Bags())

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        return self._inside.similarity_search(query, k)

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        return self._inside.get_by_ids(ids)

    @classmethod
    def from_texts(cls, *args: Any, **kwargs: Any) -> "Elsewhere":
        raise NotImplementedError


@pytest.mark.parametrize(("id_of", "chunk_ids"), [("bees:{}", [0, 1, 2]), ("other-{}", [1])])
def test_ids_of_document_and_number_are_asked_for(id_of: str, chunk_ids: list[int]) -> None:
    pieces = [piece.model_copy(update={"id": id_of.format(n)}) for n, piece in enumerate(BEES)]
    made = RetriVexRetriever(Elsewhere(pieces).as_retriever(), CONFIG, fetch_k=1).compose("one queen")
    assert made.spans[0].chunk_ids == chunk_ids
    assert bool(made.warnings) == (chunk_ids == [1])


@pytest.mark.parametrize("kind", [MultiVectorRetriever, ParentDocumentRetriever])
def test_hits_on_summaries_show_their_originals_with_neighbours(kind: type[MultiVectorRetriever]) -> None:
    questions = [Document(f"question {n} {word}", metadata={"of": str(n)}) for n, word in enumerate(("a", "monarch"))]
    originals = InMemoryStore()
    originals.mset([(str(n), piece) for n, piece in enumerate(BEES)])
    more = {"child_splitter": CharacterTextSplitter()} if kind is ParentDocumentRetriever else {}
    base = kind(
        vectorstore=InMemoryVectorStore.from_documents(questions, Bags()),
        docstore=originals, id_key="of", search_kwargs={"k": 1}, **more,
    )  # fmt: skip
    retriever = RetriVexRetriever(base, CONFIG)
    assert shown(retriever, "monarch") == [
        "Bees live in hives. A hive has one queen."
    ]  # no question leads to the third
    assert retriever.compose("monarch").warnings == ()
    base.search_kwargs["filter"] = lambda one: True
    assert shown(retriever, "monarch") == ["A hive has one queen."]
