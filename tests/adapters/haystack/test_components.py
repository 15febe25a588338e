"""Haystack's components, over its own splitters, document stores and pipelines."""

import asyncio
import importlib
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import run_example
from support.properties import try_examples

from retrivex import Chunk, ChunkMetadata, RetrievalConfig
from retrivex.errors import ChunkError, ConfigError, RetrivexError, StoreError

pytest.importorskip("haystack", reason="needs haystack-ai")

import haystack
from haystack import Document, Pipeline, SuperComponent
from haystack.components.builders import PromptBuilder
from haystack.components.joiners import DocumentJoiner
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.core.errors import SerializationError
from haystack.document_stores.in_memory import InMemoryDocumentStore
from support.haystack_world import BEES, CONFIG, QUESTION, TEXT, Blocking, Counted, Found, contents, cut, filled, split

from retrivex.adapters.base.fields import FieldMap, colon_id, uuid5_id
from retrivex.adapters.base.logs import log_once
from retrivex.adapters.haystack import RetriVexRanker, RetriVexRetriever, chunk_store_from_documents

pytestmark = pytest.mark.integration


# ---- the retriever


def test_the_question_has_two_names() -> None:
    made = RetriVexRetriever(Found(split()), CONFIG)
    assert made.compose(question=QUESTION).text == made.compose(query=QUESTION).text
    with pytest.raises(RetrivexError, match="they are two names of the same"):
        made.compose(QUESTION, question="What else?")


def test_a_pipeline_gives_whole_passages_in_the_budget() -> None:
    documents = filled(split(lang="en"))
    pipeline = Pipeline()
    pipeline.add_component(
        "retriever", RetriVexRetriever(InMemoryBM25Retriever(documents), CONFIG, document_store=documents, fetch_k=4)
    )
    pipeline.add_component("prompt", PromptBuilder("{% for d in documents %}{{ d.content }}|{% endfor %}"))
    pipeline.connect("retriever.documents", "prompt.documents")
    answer = pipeline.run({"retriever": {"query": QUESTION}}, include_outputs_from={"retriever"})
    made = answer["retriever"]["documents"]
    assert made
    assert answer["prompt"]["prompt"] == "".join(f"{document.content}|" for document in made)
    assert documents.requests == 2  # the base's own, and one for all neighbours
    for document in made:
        assert document.content in TEXT
        assert document.content == TEXT[document.meta["char_start"] : document.meta["char_end"]]
        assert document.meta["exact"]
        assert document.meta["lang"] == "en"
        assert "split_id" not in document.meta
        assert document.meta["doc_id"] == document.meta["source_id"]
        assert isinstance(document.score, float)
        assert json.loads(json.dumps(document.meta, allow_nan=False)) == document.meta
        assert Document.from_dict(document.to_dict()) == document
    assert answer["retriever"]["warnings"] == []


def test_what_is_no_argument_is_refused_when_it_is_made() -> None:
    base = InMemoryBM25Retriever(filled(BEES))
    with pytest.raises(RetrivexError, match=r"retriever is Counted: .* with run; give a retriever over it"):
        RetriVexRetriever(filled(BEES))
    for config, message in [
        (800, "config is int 800: it must be a RetrievalConfig"),
        ({"token_bugdet": 3}, r"^token_bugdet: there is no such option; did you mean token_budget\?$"),
    ]:
        with pytest.raises(RetrivexError, match=message):
            RetriVexRetriever(base, config)  # type: ignore[arg-type]
        with pytest.raises(RetrivexError, match=message):
            RetriVexRanker(config)  # type: ignore[arg-type]


def test_the_composition_is_at_hand_with_numbered_sources() -> None:
    documents = filled(split())
    retriever = RetriVexRetriever(InMemoryBM25Retriever(documents), CONFIG, document_store=documents)
    made = retriever.compose(QUESTION, top_k=2)
    assert made.text.startswith("[1] ")
    assert len(made.spans) <= 2
    assert made.resolve("[1]")
    assert made.citations
    alone = RetriVexRetriever(Found(split()), CONFIG).compose(QUESTION)
    assert alone.warnings[0].endswith("pass document_store")


def test_async_gives_the_same_and_ids_are_stable() -> None:
    documents = filled(split())
    retriever = RetriVexRetriever(InMemoryBM25Retriever(documents), CONFIG, document_store=documents)
    first = retriever.run(QUESTION)
    assert asyncio.run(retriever.run_async(QUESTION)) == first
    blocking = RetriVexRetriever(
        InMemoryBM25Retriever(documents), CONFIG, document_store=Blocking(documents)  # type: ignore[arg-type]
    )  # fmt: skip
    assert asyncio.run(blocking.run_async(QUESTION)) == first
    plain = RetriVexRetriever(Found(BEES[1:2]), CONFIG, document_store=filled(BEES))
    assert asyncio.run(plain.run_async("queen")) == plain.run("queen")


def test_an_async_pipeline_gives_the_same() -> None:
    documents = filled(split())
    retriever = RetriVexRetriever(InMemoryBM25Retriever(documents), CONFIG, document_store=documents)
    # what older versions call AsyncPipeline is any Pipeline in newer ones
    pipeline = Pipeline() if hasattr(Pipeline, "run_async") else haystack.AsyncPipeline()
    pipeline.add_component("retriever", retriever)
    pipeline.add_component("ranker", RetriVexRanker(CONFIG.override(window=0)))
    pipeline.connect("retriever.documents", "ranker.documents")
    asked = {name: {"query": QUESTION} for name in ("retriever", "ranker")}
    answer = asyncio.run(pipeline.run_async(asked, include_outputs_from={"retriever"}))
    assert answer["retriever"] == retriever.run(QUESTION)
    assert contents(answer["ranker"])


def test_a_retriever_by_embedding() -> None:
    pieces = [Document(content=piece.content, meta=piece.meta, embedding=[1.0, n]) for n, piece in enumerate(BEES)]
    documents = filled(pieces)
    retriever = RetriVexRetriever(InMemoryEmbeddingRetriever(documents), CONFIG, document_store=documents, fetch_k=1)
    assert contents(retriever.run("drones", query_embedding=[0.0, 1.0])) == [
        "A hive has one queen. She lays all eggs. Drones do not work."
    ]
    with pytest.raises(RetrivexError, match="InMemoryEmbeddingRetriever needs query_embedding"):
        retriever.run("drones")


def test_a_retriever_made_of_several_components_and_one_that_is_no_component() -> None:
    inner = Pipeline()
    inner.add_component("found", Found(BEES))
    inner.add_component("join", DocumentJoiner())
    inner.connect("found", "join")

    class Plain:
        def run(self, query: str, top_k: int = 4) -> dict[str, list[Document]]:
            return {"documents": BEES[:top_k]}

    together = SuperComponent(
        inner,
        input_mapping={"query": ["found.query"], "top_k": ["found.top_k"]},
        output_mapping={"join.documents": "documents"},
    )
    expected = ["Bees live in hives. A hive has one queen."]
    for base in (together, Plain()):
        retriever = RetriVexRetriever(base, CONFIG.override(window=1), document_store=filled(BEES), fetch_k=1)
        assert contents(retriever.run("hives")) == expected
    assert contents(asyncio.run(retriever.run_async("hives"))) == expected


def test_limits() -> None:
    documents = [cut(f"doc{n}", f"Text number {n}.")[0] for n in range(9)]
    config = CONFIG.override(window=0)
    assert len(contents(RetriVexRetriever(Found(documents), config).run("text"))) == 9
    assert len(contents(RetriVexRetriever(Found(documents), config, fetch_k=3).run("text"))) == 3
    assert len(contents(RetriVexRetriever(Found(documents), config, top_k=4).run("text"))) == 4
    assert len(contents(RetriVexRetriever(Found(documents), config, top_k=4).run("text", top_k=2))) == 2
    assert contents(RetriVexRetriever(Found([]), config).run("text")) == []
    for wrong in (0, -1, True, "2"):
        with pytest.raises(RetrivexError, match="must be a whole number of at least 1"):
            RetriVexRetriever(Found(documents), config, top_k=wrong)  # type: ignore[arg-type]
        with pytest.raises(RetrivexError, match="fetch_k is"):
            RetriVexRetriever(Found(documents), config, fetch_k=wrong)  # type: ignore[arg-type]
        with pytest.raises(RetrivexError, match="top_k is"):
            RetriVexRetriever(Found(documents), config).run("text", top_k=wrong)  # type: ignore[arg-type]


def test_more_spans_than_fetch_k_ask_for_more_hits() -> None:
    base = Found([cut(f"doc{n}", f"Text number {n}.")[0] for n in range(80)])
    roomy = CONFIG.override(window=0, token_budget=100_000)
    assert len(contents(RetriVexRetriever(base, roomy).run("text", top_k=70))) == 70
    assert len(contents(asyncio.run(RetriVexRetriever(base, roomy, top_k=70).run_async("text")))) == 70
    assert len(contents(RetriVexRetriever(base, roomy.override(max_spans=60), fetch_k=3).run("text"))) == 60
    assert len(contents(RetriVexRetriever(base, roomy, fetch_k=None).run("text", top_k=70))) == 10


def test_filters_reach_a_retriever_that_takes_them() -> None:
    documents = filled([*split(lang="en"), *split(TEXT.replace("bees", "Bienen"), lang="de")])
    retriever = RetriVexRetriever(InMemoryBM25Retriever(documents), CONFIG, document_store=documents)
    german = {"field": "meta.lang", "operator": "==", "value": "de"}
    assert {document.meta["lang"] for document in retriever.run(QUESTION, filters=german)["documents"]} == {"de"}
    with pytest.raises(RetrivexError, match="Found takes no filters"):
        RetriVexRetriever(Found(BEES), CONFIG).run("queen", filters=german)


def test_wrong_arguments_are_refused_when_it_is_made() -> None:
    documents = filled(BEES)
    with pytest.raises(RetrivexError, match="retriever is dict"):
        RetriVexRetriever({})
    with pytest.raises(StoreError, match="both document_store and chunk_store"):
        RetriVexRetriever(Found(BEES), document_store=documents, chunk_store={})
    with pytest.raises(StoreError, match="make_id is given without document_store"):
        RetriVexRanker(make_id=colon_id)
    with pytest.raises(StoreError, match=r"chunk_store is int: .* a document store goes to document_store"):
        RetriVexRanker(chunk_store=7)  # type: ignore[arg-type]
    for make in (partial(RetriVexRetriever, Found(BEES)), RetriVexRanker):
        with pytest.raises(ConfigError, match=r"^config is int 2000: it must be a RetrievalConfig, as in"):
            make(config=2000)
        with pytest.raises(ConfigError, match=r"^token_budget: .* option of its config, RetrievalConfig\(token_budg"):
            make(token_budget=5)
        with pytest.raises(ConfigError, match=r"^topk: .* did you mean top_k\?"):
            make(topk=5)
    with pytest.raises(ValueError, match="widnow"):
        RetriVexRanker({"widnow": 3})
    with pytest.raises(StoreError, match="fields is 'langchian'"):
        RetriVexRanker(fields="langchian")  # type: ignore[arg-type]


def test_every_kind_of_store() -> None:
    expected = ["Bees live in hives. A hive has one queen. She lays all eggs."]
    config = CONFIG.override(window=1)
    for given_ in (
        {"document_store": filled(BEES)},
        {"document_store": filled(BEES), "make_id": colon_id},
        {"chunk_store": chunk_store_from_documents(BEES)},
        {"chunk_store": {(d.meta["source_id"], d.meta["split_id"]): Chunk(
            d.content, ChunkMetadata(d.meta["source_id"], d.meta["split_id"])) for d in BEES}},
    ):  # fmt: skip
        assert contents(RetriVexRetriever(Found([BEES[1]]), config, **given_).run("queen")) == expected


def test_other_fields() -> None:
    pieces = [Document(content=d.content, meta={"file": "b", "part": n}) for n, d in enumerate(BEES)]
    made = RetriVexRanker(
        CONFIG.override(window=1), document_store=filled(pieces), fields=FieldMap(doc_id="file", chunk_id="part")
    ).run("queen", pieces[:1])
    assert contents(made) == ["Bees live in hives. A hive has one queen."]


def test_without_a_place_nothing_is_asked_for() -> None:
    store = filled(BEES)
    foreign = [Document(content="Owls hunt.", meta={"source_id": "owls"}), Document(content="Elks roam.")]
    made = RetriVexRanker(CONFIG, document_store=store).run("owls", foreign)
    assert set(contents(made)) == {"Owls hunt.", "Elks roam."}
    assert store.requests == 0
    assert [warning.split(";")[0] for warning in made["warnings"]] == [
        "1 of 2 hits stay as they are: they have no chunk number",
        "1 of 2 hits stay as they are: they have no document",
    ]


@pytest.mark.parametrize("meta", [{}, {"source_id": "kettle.md"}, {"source_id": "kettle.md", "split_id": 3}])
def test_a_hit_that_ends_inside_a_sentence_comes_back_whole(meta: dict[str, Any]) -> None:
    hit = Document(content="The warranty covers parts and labour. It lasts five years from", meta=meta)
    question, config = "How long does the warranty last?", RetrievalConfig(token_budget=200)
    assert contents(RetriVexRetriever(Found([hit]), config).run(question)) == [hit.content]
    assert contents(RetriVexRanker(config).run(question, [hit])) == [hit.content]


def test_documents_without_a_source_are_one_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    log_once.cache_clear()
    pieces = [Document(content=text) for text in ("Bees sleep at night.", "They wake at dawn.", "Then they fly.")]
    retriever = RetriVexRetriever(Found(pieces[1:2]), CONFIG, chunk_store=chunk_store_from_documents(pieces))
    made = retriever.run("When do they wake?")
    assert contents(made) == ["Bees sleep at night. They wake at dawn. Then they fly."]
    assert "doc_id" not in made["documents"][0].meta
    (warning,) = made["warnings"]
    assert warning.startswith("none of 3 pieces names its document, under source_id, ")
    assert caplog.messages == [warning]


def test_names_that_are_neither_text_nor_numbers_are_told_of() -> None:
    foreign = Document(content="Owls hunt.", meta={"source_id": ["owls"], "split_id": 0})
    with pytest.raises(ChunkError, match="names no document: source_id is of the type list: a document's name must be"):
        chunk_store_from_documents([foreign])
    made = RetriVexRanker(CONFIG, document_store=filled(BEES)).run("owls", [foreign])
    assert ["source_id is of the type list" in warning for warning in made["warnings"]] == [True]


def test_documents_without_place_or_text_pass_with_a_warning() -> None:
    foreign = [Document(content="Bees sleep."), Document(content=None, meta={"source_id": "x"}), BEES[1]]
    made = RetriVexRanker(CONFIG.override(window=1), document_store=filled(BEES)).run("sleep", foreign)
    assert set(contents(made)) == {"Bees sleep.", "Bees live in hives. A hive has one queen. She lays all eggs."}
    assert any("1 of 3 hits left out: they have no text" in warning for warning in made["warnings"])
    assert any("1 of 2 hits stay as they are: they have no document" in warning for warning in made["warnings"])


def test_a_store_in_trouble_costs_neighbours_only() -> None:
    made = RetriVexRanker(CONFIG, document_store=Counted(error=OSError("gone fishing"))).run("queen", [BEES[1]])
    assert contents(made) == ["A hive has one queen."]
    assert any("gone fishing" in warning for warning in made["warnings"])


def test_without_a_store_it_says_so() -> None:
    made = RetriVexRetriever(Found([BEES[1], BEES[2]]), CONFIG).run("queen")
    assert contents(made) == ["A hive has one queen. She lays all eggs."]
    assert "no chunk store" in made["warnings"][0]


# ---- the ranker


def test_a_ranker_behind_a_joiner() -> None:
    documents = filled(split())
    pipeline = Pipeline()
    pipeline.add_component("words", InMemoryBM25Retriever(documents, top_k=4))
    pipeline.add_component("fixed", Found(documents.filter_documents()[:2]))
    pipeline.add_component("join", DocumentJoiner())
    pipeline.add_component("ranker", RetriVexRanker(CONFIG, document_store=documents))
    pipeline.connect("words", "join")
    pipeline.connect("fixed", "join")
    pipeline.connect("join.documents", "ranker.documents")
    asked = {name: {"query": QUESTION} for name in ("words", "fixed", "ranker")}
    made = pipeline.run(asked)["ranker"]
    assert any("flower number 17," in content for content in contents(made))
    retriever = RetriVexRetriever(InMemoryBM25Retriever(documents), CONFIG, document_store=documents, fetch_k=4)
    alone = RetriVexRanker(CONFIG, document_store=documents)
    found = InMemoryBM25Retriever(documents).run(QUESTION, top_k=4)["documents"]
    assert alone.run(QUESTION, found) == retriever.run(QUESTION)
    assert asyncio.run(alone.run_async(QUESTION, found)) == retriever.run(QUESTION)


# ---- saved and loaded


def loaded(saved: str) -> Pipeline:
    """Load it as a user does: newer versions ask which modules may be imported."""
    try:
        return Pipeline.loads(saved, allowed_modules=["retrivex", "test_haystack"])
    except TypeError:
        return Pipeline.loads(saved)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"token_budget": 5},
        {"window": 2},
        {"window": (2, 1)},
        {"weights": {"parent": 1.0}},
        {"pool_factor": 3.0},
        {"pool_factor": None},
    ],
)
def test_saved_options_are_those_that_were_given(given: dict[str, Any]) -> None:
    saved = RetriVexRanker(given).to_dict()["init_parameters"]["config"]
    assert set(saved) <= {*given, "pool_factor"}
    assert "pool_factor" not in saved or {"window", "pool_factor"} & given.keys()  # window=2 drops the pool
    assert RetrievalConfig(**saved) == RetrievalConfig(**given)


def test_a_typo_in_a_saved_pipeline_names_the_option_that_is_meant() -> None:
    pipeline = Pipeline()
    pipeline.add_component("ranker", RetriVexRanker({"token_budget": 77}))
    with pytest.raises(Exception, match=r"token_bugdet: there is no such option; did you mean token_budget\?"):
        loaded(pipeline.dumps().replace("token_budget", "token_bugdet"))


def test_a_saved_pipeline_gives_the_same() -> None:
    documents = InMemoryDocumentStore()
    documents.write_documents(split())
    config = RetrievalConfig(
        window=3, token_budget=200, scoring="weighted", ordering_strategy="score_desc", quotas=(0.5, 0.5)
    )
    pipeline = Pipeline()
    pipeline.add_component(
        "retriever",
        RetriVexRetriever(
            InMemoryBM25Retriever(documents), config, document_store=documents, fetch_k=7, top_k=2, scope=["a", None],
            fields=FieldMap(doc_id="source_id", chunk_id="split_id"),
        ),
    )  # fmt: skip
    pipeline.add_component("ranker", RetriVexRanker({"window": 0}, document_store=documents, make_id=uuid5_id))
    pipeline.connect("retriever.documents", "ranker.documents")
    asked = {"retriever": {"query": QUESTION}, "ranker": {"query": QUESTION}}
    saved = pipeline.dumps()
    again = loaded(saved)
    assert again.to_dict() == pipeline.to_dict()
    answer = pipeline.run(asked, include_outputs_from={"retriever"})
    assert again.run(asked, include_outputs_from={"retriever"}) == answer
    assert answer["retriever"]["documents"]
    assert len(answer["retriever"]["documents"]) <= 2


def test_what_no_file_can_hold_is_refused_with_a_way_out() -> None:
    chunks = chunk_store_from_documents(BEES)
    with pytest.raises(StoreError, match=r"chunk_store is NumberedChunks, without to_dict .* take a document store"):
        RetriVexRanker(CONFIG, chunk_store=chunks).to_dict()
    with pytest.raises(StoreError, match="parent_store is dict"):
        RetriVexRanker(CONFIG, parent_store={}).to_dict()
    with pytest.raises(StoreError, match="order_key is a function"):
        RetriVexRanker(CONFIG.override(ordering_strategy="custom", order_key=len), chunk_store=None).to_dict()
    said = RetriVexRanker({"exclude": ["Bees sleep.", ("d", 0, 5)]}).to_dict()["init_parameters"]["config"]
    assert said["exclude"] == ["Bees sleep.", ["d", 0, 5]]
    with pytest.raises(SerializationError):
        RetriVexRanker(CONFIG, document_store=filled([]), make_id=lambda name, n: f"{name}{n}").to_dict()


# ---- faults of peers


def test_windows_of_two_hits_come_once() -> None:
    # Haystack's SentenceWindowRetriever returns what two windows share twice (seen in haystack-ai 3.4.0)
    documents = split()
    made = RetriVexRanker(CONFIG, document_store=filled(documents)).run(QUESTION, [documents[4], documents[5]])
    assert len(made["documents"]) == 1
    assert made["documents"][0].meta["chunk_ids"] == [2, 3, 4, 5, 6, 7]
    assert made["documents"][0].content in TEXT


def test_the_ends_of_a_document_are_neither_missed_nor_overrun() -> None:
    documents, others = split(), split(TEXT.replace("bees", "wasps"))
    store = filled([*documents, *others])
    last = len(documents) - 1
    for at, expected in ((0, [0, 1, 2]), (1, [0, 1, 2, 3]), (last, [last - 2, last - 1, last])):
        made = RetriVexRanker(CONFIG, document_store=store).run(QUESTION, [documents[at]])["documents"]
        assert [document.meta["chunk_ids"] for document in made] == [expected]
        assert "wasps" not in made[0].content


@try_examples(60)
@given(data=st.data(), length=st.integers(2, 25), window=st.integers(0, 3), token_budget=st.integers(0, 300))
def test_no_overlap_repeats_or_drops_text(data: st.DataObject, length: int, window: int, token_budget: int) -> None:
    documents = split(length=length, overlap=data.draw(st.integers(0, length - 1)))
    found = data.draw(st.lists(st.sampled_from(documents), min_size=1, max_size=6))
    config = CONFIG.override(window=window, token_budget=token_budget)
    made = RetriVexRanker(config, document_store=filled(documents)).run(QUESTION, found)["documents"]
    places = sorted((d.meta["char_start"], d.meta["char_end"], d.content) for d in made)
    assert all(TEXT[start:end] == content for start, end, content in places)
    assert all(left[1] <= right[0] for left, right in pairwise(places))


# ---- many at once


def test_two_tenants_and_64_threads_and_tasks_on_one_component() -> None:
    worlds = {name: split(TEXT.replace("bees", name), scope=name) for name in ("acme", "zebra")}
    documents = filled([document for pieces in worlds.values() for document in pieces])
    retriever = RetriVexRetriever(InMemoryBM25Retriever(documents), CONFIG, document_store=documents, fetch_k=20)
    asked = [(f"Which flower has number {n % 16}?", ("acme", "zebra")[n % 2]) for n in range(64)]
    serial = [retriever.run(question, scope=name) for question, name in asked]
    with ThreadPoolExecutor(64) as pool:
        threads = list(pool.map(lambda ask: retriever.run(ask[0], scope=ask[1]), asked))

    async def all_at_once() -> list[dict[str, Any]]:
        return await asyncio.gather(*(retriever.run_async(question, scope=name) for question, name in asked))

    assert threads == serial == asyncio.run(all_at_once())
    for made, (_, name) in zip(serial, asked, strict=True):
        assert made["documents"]
        assert all(name in document.content for document in made["documents"])


def test_without_haystack_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "haystack", None)
    for name in [name for name in sys.modules if name.startswith("retrivex.adapters.haystack")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ImportError, match=r"pip install 'retrivex-rag\[haystack\]'"):
        importlib.import_module("retrivex.adapters.haystack")


# ---- the example


def test_the_example_prints_whole_passages() -> None:
    pytest.importorskip("haystack.core.serialization_security", reason="loads() takes no allowed_modules yet")
    printed = run_example("neighbours_in_haystack.py")
    assert "shivering. The queen stays in the middle of the cluster. In spring the queen lays" in printed
    assert "answers the same: True" in printed
