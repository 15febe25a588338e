"""Rerank endpoints as translations: shapes, limits, and what has no encoder; no HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.service_world import make_index

from retrivex.composer.requests import RequestError
from retrivex.config import RetrievalConfig
from retrivex.encoders.encoder import HashingEncoder
from retrivex.errors import EncoderError, RetrivexError
from retrivex.scoring.calibrated import shipped_coefficients
from retrivex.service.bounds import Bounds
from retrivex.service.conventions.problems import members_of
from retrivex.service.conventions.rerank import rank_texts, rerank_documents
from retrivex.service.engine import Engine
from retrivex.service.errors import NotFoundError
from retrivex.service.index import Index
from retrivex.service.problems import problem_of
from retrivex.tokens.tokenizer import get_tokenizer

QUERY = "Who lays eggs in the hive?"
TEXTS = ["Rain falls on hills.", "The queen lays all the eggs in the hive.", "A hive has wax.", "Rain falls on hills."]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_index(tmp_path_factory.mktemp("index") / "index.db")


def make(path: Path, embed: str | None, **more: Any) -> Engine:
    tokenizer = get_tokenizer("estimate")
    return Engine([Index("default", path, tokenizer, embed=embed)], tokenizer=tokenizer, **more)


@pytest.fixture(scope="module")
def engine(path: Path) -> Iterator[Engine]:
    made = make(path, "hashing", bounds=Bounds(hits=20, characters=200))
    yield made
    made.close()


def rerank(engine: Engine, **more: Any) -> dict[str, Any]:
    return rerank_documents(engine, {"query": QUERY, "documents": TEXTS, **more})


def rank(engine: Engine, **more: Any) -> list[dict[str, Any]]:
    return rank_texts(engine, {"query": QUERY, "texts": TEXTS, **more})


def test_results_are_probabilities_best_first_and_ties_in_their_order(engine: Engine) -> None:
    made = rerank(engine)
    results = made["results"]
    assert [result["index"] for result in results] == [1, 2, 0, 3]
    scores = [result["relevance_score"] for result in results]
    assert scores == sorted(scores, reverse=True)
    assert 0 <= scores[-1] == scores[-2] < 0.5 < scores[0] <= 1
    assert [result["document"] for result in results] == [{"text": TEXTS[result["index"]]} for result in results]
    assert made["model"] == "retrivex+hashing-256"
    tokens = sum(map(get_tokenizer("estimate").count, [QUERY, *TEXTS]))
    assert made["usage"] == {"prompt_tokens": tokens, "total_tokens": tokens}
    assert made["meta"] == {"tokens": {"input_tokens": tokens}}


@pytest.mark.parametrize(("most", "count"), [(1, 1), (3, 3), (4, 4), (99, 4), (None, 4)])
def test_no_more_than_asked_for(engine: Engine, most: int | None, count: int) -> None:
    assert rerank(engine, top_n=most)["results"] == rerank(engine)["results"][:count]


def test_documents_come_back_as_they_were_or_not_at_all(engine: Engine) -> None:
    documents = [{"text": text, "id": at} for at, text in enumerate(TEXTS)]
    made = rerank(engine, documents=documents, rank_fields=["text"])["results"]
    assert [result["document"] for result in made] == [documents[result["index"]] for result in made]
    plain = rerank(engine)["results"]
    assert [result["relevance_score"] for result in made] == [result["relevance_score"] for result in plain]
    for result in rerank(engine, return_documents=False)["results"]:
        assert set(result) == {"index", "relevance_score"}
    mixed = rerank(engine, documents=[TEXTS[1], {"text": TEXTS[0]}])["results"]
    assert [result["index"] for result in mixed] == [0, 1]


def test_fields_of_other_models_change_nothing(engine: Engine) -> None:
    more = {
        "model": "rerank-v3.5",
        "max_tokens_per_doc": 10,
        "max_chunks_per_doc": 1,
        "priority": 0,
        "truncation": False,
    }
    assert rerank(engine, **more) == rerank(engine)
    assert rank(engine, truncate=True, truncation_direction="Left") == rank(engine)


def test_ranks_are_those_of_the_other_shape(engine: Engine) -> None:
    expected = [(result["index"], result["relevance_score"]) for result in rerank(engine)["results"]]
    assert [(one["index"], one["score"]) for one in rank(engine)] == expected
    raw = rank(engine, raw_scores=True, return_text=True)
    assert [one["text"] for one in raw] == [TEXTS[at] for at, _ in expected]
    assert [1 / (1 + np.exp(-one["score"])) for one in raw] == pytest.approx([score for _, score in expected])
    assert all(set(one) == {"index", "score"} for one in rank(engine))


def test_a_text_without_anything_to_read_is_last(engine: Engine) -> None:
    made = rank(engine, texts=["", TEXTS[0], TEXTS[1], " "], raw_scores=True)
    assert [one["index"] for one in made] == [2, 1, 0, 3]
    assert np.isfinite([one["score"] for one in made]).all()
    only = rank(engine, texts=[""])
    assert only == [{"index": 0, "score": pytest.approx(0.0, abs=1e-12)}]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"documents": []}, "documents is"),
        ({"documents": "text"}, "documents is 'text'"),
        ({"documents": [5]}, "documents.0"),
        ({"documents": [{"title": "x"}]}, "documents.0"),
        ({"documents": [None]}, "documents.0"),
        ({"query": ""}, "query is ''"),
        ({"query": 5}, "query is 5"),
        ({"top_n": 0}, "top_n is 0"),
        ({"top_n": "3"}, "top_n is '3'"),
        ({"top_n": True}, "top_n is True"),
        ({"return_documents": 1}, "return_documents is 1"),
        ({"rank_fields": ["text", "title"]}, "rank_fields.1 is 'title'"),
        ({"rank_fields": "text"}, "rank_fields is 'text'"),
        ({"relevant_spans": False}, "relevant_spans is False"),
    ],
)
def test_what_is_wrong_is_said(engine: Engine, more: dict[str, Any], words: str) -> None:
    with pytest.raises(RequestError, match=words):
        rerank(engine, **more)


@pytest.mark.parametrize(
    ("more", "words"),
    [({"texts": []}, "texts is"), ({"texts": [{"text": "a"}]}, "texts.0"), ({"raw_scores": None}, "raw_scores is")],
)
def test_what_is_wrong_with_texts_is_said(engine: Engine, more: dict[str, Any], words: str) -> None:
    with pytest.raises(RequestError, match=words):
        rank(engine, **more)


def test_a_blank_query_is_refused(engine: Engine) -> None:
    for query in (" ", "?!"):
        with pytest.raises(RetrivexError, match="query is"):
            rerank(engine, query=query)


def test_without_an_encoder_nothing_is_ranked(path: Path) -> None:
    engine = make(path, None)
    for call in (rerank, rank):
        with pytest.raises(
            NotFoundError, match="'default' has no encoder, which ranks texts: start the service with --embed MODEL"
        ):
            call(engine)
    engine.close()
    with pytest.raises(NotFoundError, match="no index 'default'"):
        rank(Engine())


def test_the_encoder_of_the_default_index_ranks(path: Path) -> None:
    tokenizer = get_tokenizer("estimate")
    indexes = [Index("default", path, tokenizer, embed="hashing-64"), Index("other", path, tokenizer, embed="hashing")]
    engine = Engine(indexes, tokenizer=tokenizer)
    assert rerank(engine)["model"] == "retrivex+hashing-64"
    engine.close()


def test_an_encoder_that_fails_is_a_model_that_does_not_answer(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = make(path, "hashing")
    monkeypatch.setattr(HashingEncoder, "encode", lambda self, texts: np.full((len(texts), 4), np.nan))
    with pytest.raises(EncoderError) as caught:
        rank(engine)
    assert problem_of(caught.value).status == 503
    engine.close()


def test_tuned_coefficients_of_the_service_count(path: Path, tmp_path: Path) -> None:
    shipped = shipped_coefficients().to_dict()
    file = tmp_path / "tuned.json"
    file.write_text(json.dumps({**shipped, "intercept": shipped["intercept"] + 1}), encoding="utf-8")
    plain, tuned = make(path, "hashing"), make(path, "hashing", config=RetrievalConfig(coefficients=file))
    before, after = rank(plain, raw_scores=True), rank(tuned, raw_scores=True)
    assert [one["score"] + 1 for one in before] == pytest.approx([one["score"] for one in after])
    plain.close()
    tuned.close()


@pytest.mark.parametrize(
    ("error", "kind"),
    [(RequestError("wrong"), "Validation"), (EncoderError("down"), "Overloaded"), (KeyError("x"), "Backend")],
)
def test_problems_have_the_members_of_each_shape(error: Exception, kind: str) -> None:
    problem = problem_of(error)
    assert members_of(problem, "/rerank") == {"error": problem.detail, "error_type": kind}
    for path in ("/v1/rerank", "/v2/rerank"):
        assert members_of(problem, path) == {"message": problem.detail}
