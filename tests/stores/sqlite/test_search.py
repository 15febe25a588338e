"""Search in the embedded store: by words, by vectors, and filtered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from support.properties import try_examples

from retrivex.errors import StoreError
from retrivex.model.chunk import Chunk, ChunkMetadata
from retrivex.model.document import Document
from retrivex.stores import SQLiteStore


def put(
    store: SQLiteStore, doc_id: str, *texts: str, vectors: Any = None, source: str | None = None, **meta: Any
) -> None:
    """Put a document without text, so that chunks need no offsets."""
    chunks = [Chunk(text, ChunkMetadata(doc_id, i, **meta)) for i, text in enumerate(texts)]
    encoder = None if vectors is None else "m"
    store.put(Document(doc_id, "", source=source), chunks, embeddings=vectors, encoder=encoder)


def found(store: SQLiteStore, question: str = "bees", **options: Any) -> list[str]:
    return [hit.chunk.metadata.doc_id for hit in store.search_text(question, **options)]


FILLER = ("wind", "rain", "snow", "hail", "fog")


# -- by words


def test_the_best_match_comes_first_and_higher_is_better(store: SQLiteStore) -> None:
    put(store, "long", "bees and many other words that say nothing of the matter at all")
    put(store, "short", "bees")
    put(store, "filler", *FILLER)
    hits = store.search_text("bees?")
    assert [hit.chunk.metadata.doc_id for hit in hits] == ["short", "long"]
    assert hits[0].similarity_score > hits[1].similarity_score > 0


def test_headings_and_table_headers_are_searched_too(store: SQLiteStore) -> None:
    put(store, "a", "they sleep", heading_path=("Insects", "Bees"))
    put(store, "b", "1 | 2", prefix="species | bees")
    put(store, "c", "他们睡觉", heading_path=("蜜蜂",))
    put(store, "filler", *FILLER)
    assert sorted(found(store, "bees")) == ["a", "b"]
    assert found(store, "蜜蜂") == ["c"]


@pytest.mark.parametrize(
    "question",
    [
        'bees "unclosed',
        "bees*",
        "NEAR(bees ants)",
        "bees AND",
        "NOT bees",
        "-bees",
        "body: bees",
        "heading:bees",
        "^bees",
        "bees' OR '1'='1",
        "{bees} (",
        "🐝 bees 🐝",
        "bees\0",
        "bees \ud800",
        "bees " + "x" * 100_000,
        "bees " + " ".join(f"word{i}" for i in range(15_000)),
    ],
)
def test_no_character_of_a_question_has_a_special_meaning(store: SQLiteStore, question: str) -> None:
    put(store, "a", "bees sleep")
    put(store, "filler", *FILLER)
    assert found(store, question) == ["a"]


@try_examples(200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(alphabet=st.characters() | st.sampled_from('"*()^:-+{}\0'), max_size=40))
def test_any_text_is_a_question(filled: SQLiteStore, question: str) -> None:
    for hit in filled.search_text(question):
        assert hit.similarity_score >= 0


@pytest.fixture
def filled(store: SQLiteStore) -> SQLiteStore:
    put(store, "a", "bees sleep", "wasps 0 1 2 a b c", "ants ÄÖ ß 文")
    return store


@pytest.mark.parametrize("question", ["", "  ", "?!", "🐝"])
def test_a_question_without_words_finds_nothing(filled: SQLiteStore, question: str) -> None:
    assert filled.search_text(question) == []


def test_ties_are_ordered_by_document_and_chunk_whatever_came_first(store: SQLiteStore) -> None:
    names = [f"d{i}" for i in (5, 3, 1, 4, 2)]
    for doc_id in names:
        put(store, doc_id, "bees", "bees")
    put(store, "filler", *FILLER, *FILLER, *FILLER)
    keys = [hit.key for hit in store.search_text("bees", k=5)]
    assert keys == [("d1", 0), ("d1", 1), ("d2", 0), ("d2", 1), ("d3", 0)]
    assert [hit.key for hit in store.search_text("bees", k=5, where={"doc_id": names})] == keys


@pytest.mark.parametrize("k", [-1, 1.5, "3", None, True])
def test_k_is_a_number_of_hits(store: SQLiteStore, k: Any) -> None:
    with pytest.raises(StoreError, match="it must be a whole number of hits, 0 or more"):
        store.search_text("bees", k=k)
    with pytest.raises(StoreError, match="it must be a whole number of hits, 0 or more"):
        store.search_vector([1.0], k=k)


def test_k_bounds_the_hits_and_may_be_huge(filled: SQLiteStore) -> None:
    assert filled.search_text("bees wasps", k=0) == []
    assert len(filled.search_text("bees wasps", k=1)) == 1
    assert len(filled.search_text("bees wasps", k=2**70)) == 2


def test_chinese_questions_find_the_passage_that_answers_them(store: SQLiteStore, data_dir: Path) -> None:
    lines = (data_dir / "longbench" / "passage_retrieval_zh.jsonl").read_text(encoding="utf-8").splitlines()
    right = 0
    records = [json.loads(line) for line in lines[:20]]
    for number, record in enumerate(records):
        passages = [passage for passage in record["context"].split("段落") if passage.strip()]
        put(store, f"{number}", *(passage.partition("：")[2] or passage for passage in passages))
        [best] = store.search_text(record["input"], k=1, where={"doc_id": f"{number}"})
        right += f"段落{passages[best.chunk.metadata.chunk_id].partition('：')[0]}" == record["answers"][0]
    assert right >= 18


def test_chinese_documents_are_told_apart(store: SQLiteStore, data_dir: Path) -> None:
    lines = (data_dir / "longbench" / "multifieldqa_zh.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    contexts = dict.fromkeys(record["context"] for record in records)
    for number, context in enumerate(contexts):
        put(store, f"{number}", *(context[i : i + 250] for i in range(0, len(context), 200)))
    numbers = {context: f"{number}" for number, context in enumerate(contexts)}
    best = [found(store, record["input"], k=5) for record in records]
    right = sum(numbers[record["context"]] in hits for record, hits in zip(records, best, strict=True))
    # FTS5's own tokenizer sees a sentence as one word and finds 3 of 90
    assert right >= len(records) // 2


# -- filters


def nested_not(levels: int) -> dict[str, Any]:
    where: dict[str, Any] = {"page": 1}
    for _ in range(levels):
        where = {"not": where}
    return where


@pytest.fixture
def shelf(store: SQLiteStore) -> SQLiteStore:
    english = {"lang": "en", "year": 2020}
    put(store, "a", "bees", page=1, timestamp=10.0, heading_path=("Guide", "Install"), source="x/a.md")
    put(store, "b", "bees", page=2, timestamp=20.0, heading_path=["Guide"], custom_metadata=english)
    put(store, "c", "bees", page=3, custom_metadata={"tags": ["red", "blue", 7], "year": "unknown", "draft": True})
    put(store, "d", "bees", custom_metadata={'we"ird.$[0] key': "x", "none": None, "nested": {"lang": "en"}})
    put(store, "filler", *FILLER, *FILLER)
    return store


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({}, "abcd"),
        ({"doc_id": "a"}, "a"),
        ({"doc_id": ["a", "d", "z"]}, "ad"),
        ({"doc_id": {"c", "d"}}, "cd"),
        ({"doc_id": []}, ""),
        ({"source": "x/a.md"}, "a"),
        ({"source": None}, "bcd"),
        ({"page": 2}, "b"),
        ({"page": {"min": 2}}, "bc"),
        ({"page": {"min": 1, "max": 2}}, "ab"),
        ({"page": None}, "d"),
        ({"page": [None, 3]}, "cd"),
        ({"timestamp": {"max": 15}}, "a"),
        ({"heading": "Guide"}, "ab"),
        ({"heading": ["Guide", "Install"]}, "a"),
        ({"heading": ("Install",)}, ""),
        ({"metadata.lang": "en"}, "b"),
        ({"metadata.year": {"min": 2000}}, "b"),
        ({"metadata.year": {"min": "a"}}, "c"),
        ({"metadata.tags": "blue"}, "c"),
        ({"metadata.tags": [7, 8]}, "c"),
        ({"metadata.tags": {"min": 5}}, "c"),
        ({"metadata.draft": True}, "c"),
        ({'metadata.we"ird.$[0] key': "x"}, "d"),
        ({"metadata.none": None}, "abcd"),
        ({"metadata.lang": None}, "acd"),
        ({"metadata.lang": [None, "en"]}, "abcd"),
        ({"metadata.nested": "en"}, ""),
        ({"page": {"min": 1}, "heading": "Guide", "metadata.year": 2020}, "b"),
        ({"doc_id": "a' OR '1'='1"}, ""),
        ({"page": {"above": 1, "below": 3}}, "b"),
        ({"page": {"above": 1, "max": 3}}, "bc"),
        ({"metadata.year": {"below": "v"}}, "c"),
        ({"source": {"contains": "/a"}}, "a"),
        ({"metadata.tags": {"contains": "lu"}}, "c"),
        ({"metadata.tags": {"contains": "LU"}}, ""),
        ({"metadata.lang": {"contains": "%"}}, ""),
        ({"metadata.lang": {"starts": "e", "ends": "n"}}, "b"),
        ({"metadata.lang": {"starts": "n"}}, ""),
        ({"metadata.lang": {"ends": "xen"}}, ""),
        ({"any": [{"page": 1}, {"metadata.lang": "en"}]}, "ab"),
        ({"all": [{"page": {"min": 2}}, {"page": {"max": 2}}]}, "b"),
        ({"any": [{}]}, "abcd"),
        ({"not": {}}, ""),
        ({"not": {"page": {"min": 2}}}, "ad"),  # what has no page is not from page 2 on
        ({"not": {"metadata.tags": "blue"}}, "abd"),
        ({"not": {"any": [{"page": 1}, {"not": {"page": [1, 2]}}]}}, "b"),
        ({"page": {"max": 2}, "any": [{"doc_id": "b"}, {"doc_id": "c"}]}, "b"),
        (nested_not(8), "a"),
    ],
)
def test_where(shelf: SQLiteStore, where: dict[str, Any], expected: str) -> None:
    assert sorted(found(shelf, where=where)) == list(expected)


def test_time_of_the_document_stands_in_for_the_chunks(store: SQLiteStore) -> None:
    store.put(Document("a", "bees", timestamp=50.0), [Chunk("bees", ChunkMetadata("a", 0, 0, 4))])
    put(store, "filler", *FILLER)
    assert found(store, where={"timestamp": {"min": 40}}) == ["a"]
    assert found(store, where={"timestamp": {"min": 60}}) == []


@pytest.mark.parametrize(
    ("where", "complaint"),
    [
        ({"title": "x"}, "'title': fields are doc_id, source, page, timestamp, heading and metadata"),
        ({"page; DROP TABLE chunks": 1}, "where names the field"),
        ({"page": {"gt": 3}}, r"where page is \{'gt': 3\}: the operators are min, max, above, below, contains, "),
        ({"page": {}}, "the operators are min, max, above, "),
        ({"page": {"contains": "x"}}, r"where page is \{'contains': 'x'\}: each bound must be a number"),
        ({"doc_id": {"contains": ""}}, "need a text that is not empty"),
        ({"metadata.lang": {"starts": 3}}, "need a text that is not empty"),
        ({"any": []}, r"where any is \[\]: give a list of mappings"),
        ({"all": [5]}, "where all is .*: give a list of mappings"),
        ({"not": [{"page": 1}]}, "where not is .*: give a mapping"),
        ({"any": [{"title": "x"}]}, "'title': fields are"),
        ({"any": [{"all": [{"page": 1}, {}]}] * 101}, "where names 202 fields: the limit is 200"),
        (nested_not(9), "more than 8 levels of all, any, not: flatten it"),
        ({"page": {"min": None}}, "a bound must be a number or a text"),
        ({"page": object()}, "only texts, numbers, true, false and None can be compared"),
        ({"page": 2**64}, r"page asks for 18446744073709551616: a number must lie between -2\*\*63 and 2\*\*63, about"),
        ({"page": float("nan")}, r"asks for nan: a number must lie between -2\*\*63 and 2\*\*63"),
        ({"metadata.x": 1e308}, r"metadata.x asks for 1e\+308: a number must lie between -2\*\*63 and 2\*\*63"),
        ({"metadata.x": {"min": -(2**63)}}, r"asks for -9223372036854775808: a number must lie between"),
        ({"doc_id": [["a"]]}, "only texts, numbers, true, false and None can be compared"),
        ({"doc_id": "\ud800"}, "half of a surrogate pair"),
        ({"heading": []}, "where heading is .*: give a title, or a list of titles"),
        ({"heading": 3}, "where heading is 3: give a title"),
        (5, "where is 5: give a mapping"),
        ([("page", 1)], "where is .*: give a mapping"),
        ({"page": {"min": "a"}}, r"where page is \{'min': 'a'\}: each bound must be a number"),
        ({"timestamp": {"max": "2020"}}, "where timestamp is .*: each bound must be a number"),
        ({"doc_id": {"min": 3}}, "where doc_id is .*: each bound must be a text"),
        ({"metadata.year": {"min": 3, "max": "z"}}, "where metadata.year is .*: each bound must be a number, or each"),
    ],
)
def test_where_that_cannot_be_understood_is_refused(shelf: SQLiteStore, where: dict[str, Any], complaint: str) -> None:
    with pytest.raises(StoreError, match=complaint):
        shelf.search_text("bees", where=where)


# -- by vectors


@try_examples(50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**32), st.integers(1, 60), st.integers(0, 70))
def test_vector_search_is_exact(vectors: SQLiteStore, seed: int, k: int, row: int) -> None:
    query = np.random.default_rng(seed).standard_normal(8)
    rows = np.random.default_rng(0).standard_normal((60, 8))
    cosines = rows @ query / np.linalg.norm(rows, axis=1) / np.linalg.norm(query)
    hits = vectors.search_vector(query, k)
    found = [hit.chunk.metadata.chunk_id for hit in hits]
    assert len(set(found)) == len(found)
    # vectors are kept as float32: rows closer together than its precision may change places
    np.testing.assert_allclose(cosines[found], np.sort(cosines)[::-1][:k], atol=2e-6)
    np.testing.assert_allclose([hit.similarity_score for hit in hits], np.sort(cosines)[::-1][:k], atol=2e-6)


@pytest.fixture
def vectors(store: SQLiteStore) -> SQLiteStore:
    rows = np.random.default_rng(0).standard_normal((60, 8))
    put(store, "d", *(f"text {i}" for i in range(60)), vectors=rows)
    return store


def test_more_rows_than_one_block(store: SQLiteStore) -> None:
    # a row of 16,384 numbers: 16 fill a block
    rows = np.random.default_rng(1).standard_normal((50, 16_384)).astype(np.float32)
    put(store, "d", *(f"text {i}" for i in range(50)), vectors=rows)
    for i in (0, 15, 16, 49):
        [best] = store.search_vector(rows[i], k=1)
        assert (best.key, best.similarity_score) == (("d", i), pytest.approx(1.0))


def test_vector_ties_are_ordered_by_document_and_chunk(store: SQLiteStore) -> None:
    for doc_id in ("c", "a", "b"):
        put(store, doc_id, "one", "two", vectors=[[1.0, 2.0], [1.0, 2.0]])
    assert [hit.key for hit in store.search_vector([1.0, 2.0], k=3)] == [("a", 0), ("a", 1), ("b", 0)]


def test_negative_cosines_are_legitimate(store: SQLiteStore) -> None:
    put(store, "d", "one", vectors=[[1.0, 0.0]])
    assert store.search_vector([-2.0, 0.0])[0].similarity_score == -1.0


def test_vector_search_is_filtered(shelf: SQLiteStore) -> None:
    put(shelf, "v", "one", vectors=[[1.0, 0.0]], page=1)
    put(shelf, "w", "one", vectors=[[1.0, 0.1]], page=2)
    assert [hit.key for hit in shelf.search_vector([1.0, 0.0], where={"page": 2})] == [("w", 0)]
    assert shelf.search_vector([1.0, 0.0], where={"page": 3}) == []


@pytest.mark.parametrize(
    ("vector", "encoder", "complaint"),
    [
        ([1.0, 2.0, 3.0], None, "holds vectors of 'm' with 8 dimensions, these are of an unnamed model with 3"),
        ([1.0] * 8, "other", "holds vectors of 'm' with 8 dimensions, these are of 'other' with 8"),
        ([0.0] * 8, "m", "the question's vector is zero"),
        ([float("nan")] * 8, "m", "holds NaN or infinity"),
        ([[1.0] * 8], "m", r"have the shape \(1, 1, 8\)"),
    ],
)
def test_a_vector_that_cannot_be_compared_is_refused(
    vectors: SQLiteStore, vector: Any, encoder: str | None, complaint: str
) -> None:
    with pytest.raises(StoreError, match=complaint):
        vectors.search_vector(vector, encoder=encoder)


def test_a_store_without_vectors_says_so(filled: SQLiteStore) -> None:
    with pytest.raises(StoreError, match="holds no vectors: index with an encoder, or search by text"):
        filled.search_vector([1.0])


@pytest.mark.parametrize("question", [None, 5, b"bees", ["bees"]], ids=repr)
def test_a_question_is_text(store: SQLiteStore, question: Any) -> None:
    with pytest.raises(StoreError, match=r"question is .*: it must be text"):
        store.search_text(question)


@pytest.mark.parametrize(
    "where",
    [{5: 1}, {None: 1}, {("a",): 1}, {"heading": ["\ud800"]}, {"heading": "\ud800"}, {"metadata.\ud800": 1},
     {"doc_id": "\ud800"}, {"metadata.year": {"min": "\ud800"}}, {"page": 10**400}, {"metadata.year": {"max": 10**400}},
     {"metadata.year": float("inf")}, {"metadata.year": object()}, {"heading": {"min": 1}}],
    ids=lambda where: repr(where)[:30],
)  # fmt: skip
def test_where_of_any_value_is_a_clear_error(shelf: SQLiteStore, where: Any) -> None:
    with pytest.raises(StoreError, match="where"):
        shelf.search_text("bees", where=where)


def test_where_of_nested_lists_is_a_clear_error(shelf: SQLiteStore) -> None:
    nested: list[Any] = []
    for _ in range(5_000):
        nested = [nested]
    with pytest.raises(StoreError, match="where"):
        shelf.search_text("bees", where={"metadata.year": nested})
