"""The LangChain retriever over LangChain's own vector store, splitters and callbacks."""

import asyncio
import copy
import importlib
import json
import logging
import pickle
import sys
from collections.abc import Callable, Sequence
from datetime import date
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import run_example
from support.properties import try_examples

from retrivex import Chunk, ChunkMetadata, RetrievalConfig

pytest.importorskip("langchain_core")

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore
from support.langchain_world import BEES, CONFIG, QUESTION, ROOMY, Bags, Distances, Fixed, Unscored, cut

from retrivex.adapters.langchain import RetriVexRetriever, VectorStoreChunkStore
from retrivex.errors import RerankError, RetrivexError
from retrivex.tokens.tokenizer import get_tokenizer

pytestmark = pytest.mark.integration


# ---- the published call


def test_published_call_by_position_and_by_name(vectors: InMemoryVectorStore) -> None:
    by_name = RetriVexRetriever(base_retriever=vectors.as_retriever(), config=CONFIG)
    by_position = RetriVexRetriever(vectors.as_retriever(), CONFIG)
    assert by_name.invoke(QUESTION)
    assert by_name.invoke(QUESTION) == by_position.invoke(QUESTION)


def test_the_question_has_two_names(vectors: InMemoryVectorStore) -> None:
    made = RetriVexRetriever(vectors.as_retriever(), CONFIG)
    assert made.compose(question=QUESTION).text == made.compose(query=QUESTION).text  # type: ignore[call-arg]
    assert asyncio.run(made.acompose(question=QUESTION)).question == QUESTION  # type: ignore[call-arg]
    with pytest.raises(RetrivexError, match="they are two names of the same"):
        made.compose(QUESTION, question="What else?")


def test_what_is_no_argument_is_refused_when_it_is_made(vectors: InMemoryVectorStore) -> None:
    base = vectors.as_retriever()
    for wrong, options, message in [
        (vectors, {}, r"base_retriever is InMemoryVectorStore: it must be a retriever, .* give vectors.as_retriever"),
        (InMemoryVectorStore, {}, "base_retriever is the class InMemoryVectorStore: make a retriever of it"),
        (base, {"config": 2000}, r"^config is int 2000: it must be a RetrievalConfig, as in RetrievalConfig\("),
        (base, {"config": {"token_bugdet": 5}}, r"config: token_bugdet: .* did you mean token_budget\?"),
        (base, {"fetchk": 5}, r"^fetchk: RetriVexRetriever takes no such argument; did you mean fetch_k\?"),
        (base, {"token_buget": 5}, r"^token_buget: .* did you mean token_budget\?"),
        (base, {"token_budget": 5}, r"token_budget: .* option of its config, RetrievalConfig\(token_budget=...\)"),
    ]:
        with pytest.raises(RetrivexError, match=message):
            RetriVexRetriever(wrong, **options)
    made = RetriVexRetriever(base, CONFIG)
    with pytest.raises(RetrivexError, match=r"did you mean token_budget\?"):
        made.invoke(QUESTION, token_bugdet=5)
    with pytest.raises(RetrivexError, match="config is int 5: it must be a RetrievalConfig"):
        made.config = 5  # type: ignore[assignment]
    with pytest.raises(RetrivexError, match="base_retriever is InMemoryVectorStore"):
        made.base_retriever = vectors  # type: ignore[assignment]


def test_documents_are_whole_passages_in_the_budget(
    vectors: InMemoryVectorStore, pieces: list[Document], text: str
) -> None:
    made = RetriVexRetriever(vectors.as_retriever(), CONFIG, chunk_store=pieces).invoke(QUESTION)
    assert any(len(document.metadata["chunk_ids"]) > 1 for document in made)
    for document in made:
        assert document.metadata["exact"]
        start, end = document.metadata["char_start"], document.metadata["char_end"]
        assert document.page_content == text[start:end]
    context = "\n\n".join(document.page_content for document in made)
    assert get_tokenizer("cl100k_base").count(context) <= CONFIG.token_budget


@pytest.mark.parametrize("metadata", [{}, {"source": "kettle.md"}, {"source": "kettle.md", "chunk_id": 3}])
def test_a_hit_that_ends_inside_a_sentence_comes_back_whole(metadata: dict[str, Any]) -> None:
    text = "The warranty covers parts and labour. It lasts five years from"
    base = Fixed(documents=[Document(text, metadata=metadata)])
    made = RetriVexRetriever(base, RetrievalConfig(token_budget=200)).invoke("How long does the warranty last?")
    assert [document.page_content for document in made] == [text]


def test_metadata_are_json_and_say_where_a_passage_is_from(
    vectors: InMemoryVectorStore, pieces: list[Document]
) -> None:
    made = RetriVexRetriever(vectors.as_retriever(), CONFIG, chunk_store=pieces).invoke(QUESTION)
    for document in made:
        assert json.loads(json.dumps(document.metadata, allow_nan=False)) == document.metadata
        assert document.metadata["source"] == document.metadata["doc_id"] == "wiki.md"
        assert document.metadata["lang"] == "en"
        assert document.metadata["score_source"] == "retriever"
        assert {"score", "token_count", "hits"} <= document.metadata.keys()
        assert "start_index" not in document.metadata  # true of one piece only
    assert len({document.id for document in made}) == len(made)


def test_ids_are_stable(vectors: InMemoryVectorStore, pieces: list[Document]) -> None:
    again = InMemoryVectorStore.from_documents(pieces, Bags())
    first = RetriVexRetriever(vectors.as_retriever(), CONFIG, chunk_store=pieces).invoke(QUESTION)
    second = RetriVexRetriever(again.as_retriever(), CONFIG, chunk_store=pieces).invoke(QUESTION)
    assert [document.id for document in first] == [document.id for document in second]


def test_foreign_metadata_become_json() -> None:
    odd = {"when": date(2024, 2, 29), "size": np.float32(0.5), "tags": {"b", "a"}, "bad": float("nan"), 3: (1, 2)}
    base = Fixed(documents=cut("bees", "Bees sleep.", **{str(k): v for k, v in odd.items()}))
    metadata = RetriVexRetriever(base).invoke("bees")[0].metadata
    assert metadata["when"] == "2024-02-29"
    assert (metadata["size"], metadata["tags"], metadata["bad"], metadata["3"]) == (0.5, ["a", "b"], "nan", [1, 2])
    json.dumps(metadata, allow_nan=False)


# ---- sync, async, batch, pickle, chains


def test_async_gives_the_same(vectors: InMemoryVectorStore, pieces: list[Document]) -> None:
    retriever = RetriVexRetriever(vectors.as_retriever(), CONFIG, chunk_store=pieces)
    assert asyncio.run(retriever.ainvoke(QUESTION)) == retriever.invoke(QUESTION)


def test_batch_gives_the_same(vectors: InMemoryVectorStore, pieces: list[Document]) -> None:
    retriever = RetriVexRetriever(vectors.as_retriever(), CONFIG, chunk_store=pieces)
    questions = [QUESTION, "Who won the war?", "蜜蜂?", ""]
    one_by_one = [retriever.invoke(question) for question in questions]
    assert retriever.batch(questions) == one_by_one
    assert asyncio.run(retriever.abatch(questions)) == one_by_one


def test_pickled_retriever_gives_the_same(pieces: list[Document]) -> None:
    retriever = RetriVexRetriever(Fixed(documents=pieces[3:8]), CONFIG, chunk_store=pieces)
    assert pickle.loads(pickle.dumps(retriever)).invoke(QUESTION) == retriever.invoke(QUESTION)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: one.model_copy(deep=True)])
def test_a_copy_gives_the_same_and_is_its_own(copied: Callable[[Any], Any], pieces: list[Document]) -> None:
    retriever = RetriVexRetriever(Fixed(documents=pieces[3:8]), CONFIG, chunk_store=pieces)
    expected = retriever.invoke(QUESTION)
    again = copied(retriever)
    assert again.invoke(QUESTION) == expected
    again.config = CONFIG.override(window=0)
    assert again.invoke(QUESTION) != expected
    assert retriever.invoke(QUESTION) == expected


def test_a_deep_copy_shares_nothing_that_can_change() -> None:
    retriever = RetriVexRetriever(Fixed(documents=list(BEES[1:2])), CONFIG, chunk_store=BEES)
    for again in (copy.deepcopy(retriever), copy.deepcopy([retriever, retriever])[1]):
        again.base_retriever.documents.clear()
        assert again.invoke("queen") == []
        assert retriever.invoke("queen")[0].metadata["chunk_ids"] == [0, 1, 2]
    changed = retriever.model_copy(update={"k": 1}, deep=True)
    assert (changed.k, retriever.k) == (1, None)


def drones_first(query: str, texts: Sequence[str]) -> list[float]:
    return [float("Drones" in text) for text in texts]


def test_a_reranker_scores_the_hits() -> None:
    base, options = Fixed(documents=BEES), RetrievalConfig(window=0, ordering_strategy="score_desc", scoring="weighted")
    retriever = RetriVexRetriever(base, options.override(max_spans=1, token_budget=8), reranker=drones_first)
    for made in (retriever.invoke("Who works?"), asyncio.run(retriever.ainvoke("Who works?"))):
        assert [document.page_content for document in made] == ["Drones do not work."]
    changed = retriever.model_copy(update={"reranker": None})
    assert changed.invoke("Who works?")[0].page_content != "Drones do not work."
    again = pickle.loads(pickle.dumps(retriever))
    assert again.invoke("Who works?") == retriever.invoke("Who works?")


def test_a_reranker_that_fails_is_told_and_one_that_is_none_is_refused() -> None:
    def broken(query: str, texts: Sequence[str]) -> list[float]:
        raise RerankError("no model")

    made = RetriVexRetriever(Fixed(documents=BEES[:1]), CONFIG, reranker=broken).invoke("bees")
    assert any("no model" in warning for warning in made[0].metadata["warnings"])
    with pytest.raises(RerankError, match="reranker is 5"):
        RetriVexRetriever(Fixed(documents=BEES[:1]), CONFIG, reranker=5)


def test_part_of_a_chain() -> None:
    chain = RetriVexRetriever(Fixed(documents=BEES[:1]), CONFIG) | RunnableLambda(lambda made: made[0].page_content)
    assert chain.invoke("bees") == "Bees live in hives."


def test_any_runnable_can_be_the_base() -> None:
    base = RunnableLambda(lambda question: BEES[1:2])
    made = RetriVexRetriever(base, CONFIG, chunk_store=BEES).invoke("queen")
    assert [document.metadata["chunk_ids"] for document in made] == [[0, 1, 2]]


def test_base_is_called_as_a_child_run(vectors: InMemoryVectorStore) -> None:
    class Runs(BaseCallbackHandler):
        def __init__(self) -> None:
            self.parents: dict[Any, Any] = {}

        def on_retriever_start(self, *_: Any, run_id: Any, parent_run_id: Any = None, **__: Any) -> None:
            self.parents[run_id] = parent_run_id

    for ask in ("invoke", "ainvoke"):
        runs = Runs()
        called = getattr(RetriVexRetriever(vectors.as_retriever(), CONFIG), ask)(QUESTION, config={"callbacks": [runs]})
        if ask == "ainvoke":
            asyncio.run(called)
        outer, inner = runs.parents
        assert runs.parents == {outer: None, inner: outer}


# ---- how many


@pytest.mark.parametrize("store", [InMemoryVectorStore, Unscored])
def test_base_is_asked_for_fetch_k(pieces: list[Document], store: type[InMemoryVectorStore]) -> None:
    base = store.from_documents(pieces, Bags()).as_retriever(search_kwargs={"k": 2})
    for fetch_k, hits in [(7, 7), (None, 2), (10_000, len(pieces))]:
        made = RetriVexRetriever(base, RetrievalConfig(window=0, token_budget=100_000, effort="full"), fetch_k=fetch_k)
        assert sum(len(document.metadata["hits"]) for document in made.invoke(QUESTION)) == hits
        assert base.search_kwargs == {"k": 2}


def test_fetch_k_reaches_mmr_and_plain_retrievers(vectors: InMemoryVectorStore, pieces: list[Document]) -> None:
    wide = RetrievalConfig(window=0, token_budget=100_000, effort="full")
    for base in (vectors.as_retriever(search_type="mmr"), Fixed(documents=pieces)):
        made = RetriVexRetriever(base, wide, fetch_k=30).invoke(QUESTION)
        assert sum(len(document.metadata["hits"]) for document in made) == 30
        assert {document.metadata["score_source"] for document in made} == {"rank"}


def test_k_limits_spans_and_max_spans_does_too() -> None:
    base = Fixed(documents=[cut(f"doc{n}", f"Text number {n}.")[0] for n in range(9)])
    full = RetrievalConfig(effort="full")
    assert len(RetriVexRetriever(base, full).invoke("text")) == 9
    assert len(RetriVexRetriever(base, full, k=4).invoke("text")) == 4
    assert len(RetriVexRetriever(base, RetrievalConfig(max_spans=5, effort="full")).invoke("text")) == 5
    assert len(RetriVexRetriever(base, RetrievalConfig(max_spans=5, effort="full"), k=4).invoke("text", k=2)) == 2
    assert len(RetriVexRetriever(base, full).invoke("text", fetch_k=2)) == 2


def test_more_spans_than_fetch_k_ask_for_more_hits() -> None:
    base = Fixed(documents=[cut(f"doc{n}", f"Text number {n}.")[0] for n in range(80)])
    roomy = RetrievalConfig(token_budget=100_000, effort="full")
    assert len(RetriVexRetriever(base, roomy).invoke("text", k=70)) == 70
    assert len(asyncio.run(RetriVexRetriever(base, roomy, k=70).ainvoke("text"))) == 70
    assert len(RetriVexRetriever(base, roomy.override(max_spans=60), fetch_k=3).invoke("text")) == 60
    assert len(RetriVexRetriever(base, roomy, fetch_k=None).invoke("text", k=70)) == base.k


@pytest.mark.parametrize("wrong", [0, -1, True, "5", 2.5])
def test_a_number_of_hits_for_one_call_is_checked(wrong: Any) -> None:
    with pytest.raises(RetrivexError, match=r"fetch_k is .*: it must be a whole number of at least 1, or None"):
        RetriVexRetriever(Fixed(documents=BEES)).invoke("queen", fetch_k=wrong)


def test_options_change_per_call() -> None:
    retriever = RetriVexRetriever(Fixed(documents=BEES[1:2]), CONFIG, chunk_store=BEES)
    assert retriever.invoke("queen", window=0)[0].metadata["chunk_ids"] == [1]
    assert retriever.invoke("queen")[0].metadata["chunk_ids"] == [0, 1, 2]
    with pytest.raises(ValueError, match="widnow"):
        retriever.invoke("queen", widnow=0)
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        retriever.invoke("queen", k=0)


def test_no_hits_no_documents() -> None:
    assert RetriVexRetriever(Fixed(documents=[]), CONFIG, chunk_store=BEES).invoke("queen") == []


# ---- scores


def test_direction_of_a_vector_stores_scores_is_seen(pieces: list[Document]) -> None:
    def ask(store: type[InMemoryVectorStore]) -> list[tuple[str | None, float]]:
        base = store.from_documents(pieces, Bags()).as_retriever()
        made = RetriVexRetriever(base, CONFIG, chunk_store=pieces, fetch_k=10).invoke(QUESTION)
        return [(document.id, pytest.approx(document.metadata["score"])) for document in made]

    assert ask(Distances) == ask(InMemoryVectorStore)


def test_score_threshold_is_kept(vectors: InMemoryVectorStore) -> None:
    class Relevant(InMemoryVectorStore):
        def _select_relevance_score_fn(self) -> Any:
            return lambda score: score

    base = Relevant(Bags())
    base.store = vectors.store
    best = [score for _, score in base.similarity_search_with_score(QUESTION, k=20)]
    for kind in ("similarity", "distance"):  # relevance is a similarity, whatever the config says of other scores
        ask = base.as_retriever(
            search_type="similarity_score_threshold", search_kwargs={"score_threshold": float(best[9])}
        )
        # the weighted scorer goes by the hits' scores alone
        config = RetrievalConfig(token_budget=9000, score_kind=kind, scoring="weighted")
        made = RetriVexRetriever(ask, config).invoke(QUESTION)
        assert sorted((hit["score"] for m in made for hit in m.metadata["hits"]), reverse=True) == best[:10]
        assert max(made, key=lambda m: m.metadata["score"]).metadata["hits"][0]["score"] == best[0]


@pytest.mark.parametrize("name", ["score", "relevance_score"])
def test_scores_in_metadata_are_used(name: str) -> None:
    documents = [cut(f"doc{n}", f"Text number {n}.", **{name: score})[0] for n, score in enumerate([0.1, 0.9, 0.4])]
    best = RetriVexRetriever(Fixed(documents=documents)).invoke("text", k=1)[0]
    assert best.metadata["hits"] == [{"id": "doc1:0", "chunk_id": 0, "score": 0.9}]
    lowest = RetriVexRetriever(Fixed(documents=documents), RetrievalConfig(score_kind="distance")).invoke("text", k=1)
    assert lowest[0].metadata["doc_id"] == "doc0"


@pytest.mark.parametrize("kind", ["similarity", "distance"])
def test_without_scores_rank_counts(kind: Any) -> None:
    documents = [cut(f"doc{n}", f"Text number {n}.")[0] for n in range(3)]
    documents[2].metadata["score"] = 99.0  # of one hit only: it cannot be compared with the others
    made = RetriVexRetriever(Fixed(documents=documents), RetrievalConfig(score_kind=kind)).invoke("text", k=1)
    assert made[0].metadata["doc_id"] == "doc0"
    assert made[0].metadata["score_source"] == "rank"


@pytest.mark.parametrize("bad", [float("nan"), np.complex64(0.5)])
def test_bad_score_loses_its_hit_only(bad: Any) -> None:
    documents = [cut(f"doc{n}", f"Text number {n}.", score=s)[0] for n, s in enumerate([0.5, bad])]
    made = RetriVexRetriever(Fixed(documents=documents)).invoke("text")
    assert [document.metadata["doc_id"] for document in made] == ["doc0"]
    assert any("must be a finite number" in warning for warning in made[0].metadata["warnings"])
    with pytest.raises(RetrivexError, match="must be a finite number"):
        RetriVexRetriever(Fixed(documents=documents), RetrievalConfig(strict=True)).invoke("text")
    alone = RetriVexRetriever(Fixed(documents=documents[1:])).invoke("text")
    assert any("their order counts" in warning for warning in alone[0].metadata["warnings"])


# ---- no store, no position, no scope


def test_without_a_store_touching_hits_are_merged_and_it_is_said(
    pieces: list[Document], text: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "retrivex.adapters"):
        retriever = RetriVexRetriever(Fixed(documents=[pieces[6], pieces[2], pieces[7], pieces[5]]), ROOMY)
    assert "no chunk store" in caplog.text
    made = retriever.invoke(QUESTION)
    assert sorted(len(document.metadata["hits"]) for document in made) == [1, 3]
    assert all(document.page_content in text for document in made)
    assert all("chunk_ids" not in document.metadata for document in made)  # nobody numbered them
    assert "no chunk store" in made[0].metadata["warnings"][0]
    numbered = RetriVexRetriever(Fixed(documents=[BEES[1], BEES[0], BEES[3]]), CONFIG).invoke("queen")
    assert sorted(document.metadata["chunk_ids"] for document in numbered) == [[0, 1], [3]]


def test_no_warning_where_nothing_is_to_grow(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "retrivex.adapters"):
        made = RetriVexRetriever(Fixed(documents=BEES), RetrievalConfig(window=0)).invoke("queen")
    assert not caplog.records
    assert "warnings" not in made[0].metadata


def test_offsets_that_contradict_the_texts_join_nothing() -> None:
    pieces = [Document(t, metadata={"source": "a", "start_index": s}) for t, s in [("One two.", 0), ("Six ten.", 4)]]
    made = RetriVexRetriever(Fixed(documents=pieces), RetrievalConfig(window=0)).invoke("numbers")
    assert sorted(document.page_content for document in made) == ["One two.", "Six ten."]


def test_foreign_documents_pass_as_they_are() -> None:
    foreign = [Document("Bees sleep."), Document("", metadata={"doc_id": "x"}), Document("Owls do not.", id="7")]
    made = RetriVexRetriever(Fixed(documents=[*foreign, BEES[1]]), CONFIG, chunk_store=BEES).invoke("sleep")
    assert {document.page_content for document in made} == {
        "Bees sleep.", "Owls do not.", "Bees live in hives. A hive has one queen. She lays all eggs.",
    }  # fmt: skip
    assert all("doc_id" not in d.metadata for d in made if d.page_content in ("Bees sleep.", "Owls do not."))
    warnings = made[0].metadata["warnings"]
    assert any("1 of 4 hits left out: they have no text" in warning for warning in warnings)
    assert any("2 of 3 hits stay as they are: they have no document" in warning for warning in warnings)
    assert len(warnings) == 2


@pytest.mark.parametrize("store", [None, {}, {("bees.pdf", 0): Chunk("Bees sleep.", ChunkMetadata("bees.pdf", 0))}])
def test_hits_of_one_number_with_two_texts_are_both_shown(store: Any) -> None:
    # numbers that begin anew on every page
    pages = [
        Document(text, metadata={"source": "bees.pdf", "chunk_index": 0, "page": page, "scope": scope})
        for text, page, scope in [("Theirs.", 0, "them"), ("Bees sleep.", 1, None), ("Owls hunt.", 2, None)]
    ]
    made = RetriVexRetriever(Fixed(documents=pages), ROOMY, chunk_store=store).invoke("owls")
    assert {document.page_content: len(document.metadata["hits"]) for document in made} == {
        "Bees sleep.": 1, "Owls hunt.": 1,
    }  # fmt: skip
    assert {document.metadata["source"] for document in made} == {"bees.pdf"}
    warnings = made[0].metadata["warnings"]
    # to the composer a hit that may not be seen is none
    told = f"1 of {3 if store is None else 2} hits stay as they are: they have the chunk number of another hit"
    assert [told in said for said in warnings].count(True) == 1
    assert not any("have no chunk number" in said for said in warnings)
    with pytest.raises(RetrivexError, match="their texts differ"):
        RetriVexRetriever(Fixed(documents=pages[1:]), ROOMY.override(strict=True), chunk_store=store).invoke("owls")


def test_the_same_hit_twice_is_shown_once() -> None:
    made = RetriVexRetriever(Fixed(documents=[BEES[1], BEES[1], BEES[1]]), RetrievalConfig(window=0)).invoke("queen")
    assert [document.page_content for document in made] == ["A hive has one queen."]


def test_scope_fails_closed() -> None:
    pieces = [*cut("ours", "Our plan.", "Our price.", scope="us"), *cut("theirs", "Their plan.", scope="them")]
    retriever = RetriVexRetriever(Fixed(documents=pieces), CONFIG, chunk_store=pieces)
    assert retriever.invoke("plan") == []
    assert [document.metadata["doc_id"] for document in retriever.invoke("plan", scope="us")] == ["ours"]
    both = RetriVexRetriever(Fixed(documents=pieces), CONFIG, chunk_store=pieces, scope={"us", "them"})
    assert {document.metadata["doc_id"] for document in both.invoke("plan")} == {"ours", "theirs"}


def test_nobodys_documents_are_changed(pieces: list[Document]) -> None:
    before = [piece.model_copy(deep=True) for piece in pieces]
    vectors = InMemoryVectorStore.from_documents(pieces, Bags())
    RetriVexRetriever(vectors.as_retriever(), CONFIG, chunk_store=pieces).invoke(QUESTION)
    assert pieces == before
    assert all("retrivex_score" not in entry["metadata"] for entry in vectors.store.values())


@try_examples(60)
@given(data=st.data(), token_budget=st.integers(0, 300), window=st.integers(0, 2), stored=st.booleans())
def test_any_hits_keep_budget_and_text(
    pieces: list[Document], text: str, data: st.DataObject, token_budget: int, window: int, stored: bool
) -> None:
    hits = data.draw(st.lists(st.sampled_from(pieces[:25]), max_size=12))
    config = RetrievalConfig(window=window, token_budget=token_budget)
    made = RetriVexRetriever(Fixed(documents=hits), config, chunk_store=pieces if stored else None).invoke(QUESTION)
    assert get_tokenizer("cl100k_base").count("\n\n".join(document.page_content for document in made)) <= token_budget
    ranges = sorted((d.metadata["char_start"], d.metadata["char_end"], d.page_content) for d in made)
    assert all(text[start:end] == content for start, end, content in ranges)
    assert all(left[1] <= right[0] for left, right in pairwise(ranges))


def test_without_langchain_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain_core.callbacks", None)
    for name in [name for name in sys.modules if name.startswith("retrivex.adapters.langchain")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ImportError, match=r"pip install 'retrivex-rag\[langchain\]'"):
        importlib.import_module("retrivex.adapters.langchain")
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "retrivex.adapters.base.behind", None)
    for name in [name for name in sys.modules if name.startswith("retrivex.adapters.langchain")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ImportError, match=r"^import of retrivex\.adapters\.base\.behind halted"):
        importlib.import_module("retrivex.adapters.langchain")


# ---- the example


def test_the_example_prints_whole_passages() -> None:
    printed = run_example("neighbours_in_langchain.py")
    assert "bees.md, chunks [1, 2, 3], hit bees.md:2: They form a cluster" in printed
    assert "At the edges: rank 1, rank 3, rank 5, rank 7, rank 6, rank 4, rank 2" in printed


# ---- a store that outlives the process that filled it


def test_hits_without_numbers_say_how_to_number_the_collection(vectors: InMemoryVectorStore) -> None:
    made = RetriVexRetriever(vectors.as_retriever(), CONFIG, chunk_store=VectorStoreChunkStore(vectors)).invoke(
        QUESTION
    )
    assert any("they have no chunk number" in said for said in made[0].metadata["warnings"])
    assert any("`retrivex backfill STORE ADDRESS COLLECTION --write`" in said for said in made[0].metadata["warnings"])


def test_the_ids_of_the_store_are_kept_where_the_pieces_have_none(
    vectors: InMemoryVectorStore, pieces: list[Document]
) -> None:
    assert not any(piece.id for piece in pieces)
    made = RetriVexRetriever(vectors.as_retriever(), CONFIG, chunk_store=pieces).invoke(QUESTION)
    for document in made:
        ids = [hit["id"] for hit in document.metadata["hits"]]
        assert set(ids) <= set(document.metadata.get("source_ids", ())) <= vectors.store.keys()
        assert all(vectors.store[id]["text"] == pieces[hit["chunk_id"]].page_content
                   for id, hit in zip(ids, document.metadata["hits"], strict=True))  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "direction"), [(InMemoryVectorStore, "similarity"), (Distances, "distance"), (Unscored, "similarity")]
)
def test_scores_of_hits_say_their_direction(
    kind: type[InMemoryVectorStore], direction: str, pieces: list[Document]
) -> None:
    base = kind.from_documents(pieces, Bags()).as_retriever()
    made = RetriVexRetriever(base, CONFIG, chunk_store=pieces).invoke(QUESTION)
    assert {document.metadata["score_kind"] for document in made} == {direction}


# ---- the whole composition


def test_the_composition_is_at_hand_with_numbered_sources(vectors: InMemoryVectorStore, pieces: list[Document]) -> None:
    retriever = RetriVexRetriever(vectors.as_retriever(), CONFIG, chunk_store=pieces)
    made = retriever.compose(QUESTION, token_budget=300)
    assert asyncio.run(retriever.acompose(QUESTION, token_budget=300)).text == made.text
    assert made.text.startswith("[1] ")
    assert made.trace.scorer == "calibrated"
    assert made.dropped
    cited = made.resolve("[1]")
    assert cited
    assert {one.doc_id for one in cited} == {"wiki.md"}
    assert QUESTION in made.prompt(QUESTION)
    alone = RetriVexRetriever(Fixed(documents=pieces), CONFIG).compose(QUESTION)
    assert alone.warnings[0].startswith("no chunk store: hits cannot grow")
    assert "after a restart a store over the collection, whose chunks `retrivex backfill STORE" in alone.warnings[0]
