"""Rerank endpoints over HTTP: the official client of Cohere, our own of three shapes, and the published shapes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from support.service_process import ServiceProcess
from support.service_world import make_index

from retrivex.errors import RerankError
from retrivex.service import openapi
from retrivex.service.keys import Keys

pytestmark = pytest.mark.integration

QUERY = "Who lays eggs in the hive?"
TEXTS = ["Rain falls on hills.", "The queen lays all the eggs in the hive.", "A hive has wax."]
BODIES: dict[str, dict[str, Any]] = {
    "/v1/rerank": {"query": QUERY, "documents": TEXTS},
    "/v2/rerank": {"query": QUERY, "documents": TEXTS},
    "/rerank": {"query": QUERY, "texts": TEXTS},
}

# https://docs.cohere.com/reference/rerank and the reranker of https://jina.ai/reranker, of November 2026
RESULTS = {
    "type": "object",
    "required": ["results", "model", "usage"],
    "properties": {
        "model": {"type": "string"},
        "usage": {"type": "object", "required": ["total_tokens"], "properties": {"total_tokens": {"type": "integer"}}},
        "meta": {"type": "object"},
        "results": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["index", "relevance_score"],
                "properties": {
                    "index": {"type": "integer", "minimum": 0},
                    "relevance_score": {"type": "number", "minimum": 0, "maximum": 1},
                    "document": {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}},
                },
            },
        },
    },
}
# https://huggingface.github.io/text-embeddings-inference
RANKS = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["index", "score"],
        "properties": {
            "index": {"type": "integer", "minimum": 0},
            "score": {"type": "number"},
            "text": {"type": ["string", "null"]},
        },
    },
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Yield the address of a service that has an encoder and keys, and a key."""
    folder = tmp_path_factory.mktemp("served")
    path = make_index(folder / "index.db")
    keys = Keys(folder / "keys.db")
    secret = keys.create("bees", [None])[1]
    with ServiceProcess(folder, path.name, "--embed", "hashing") as service:
        yield service.address, secret


@pytest.fixture
def client(make_client: Any) -> Any:
    return make_client(embed="hashing")


# ---- clients


def test_the_official_clients_of_cohere_read_results(served: tuple[str, str]) -> None:
    import cohere  # noqa: PLC0415 - the environment of the service alone has it

    address, secret = served
    with cohere.Client(api_key=secret, base_url=address) as client:
        found: Any = client.rerank(query=QUERY, documents=TEXTS, model="rerank-v3.5", top_n=2, return_documents=True)
        fields = client.rerank(query=QUERY, documents=[{"text": text} for text in TEXTS], rank_fields=["text"])
    assert [result.index for result in found.results] == [1, 2]
    assert found.results[0].document.text == TEXTS[1]
    assert 1 >= found.results[0].relevance_score > found.results[1].relevance_score >= 0
    assert found.meta.tokens.input_tokens > 0
    assert [result.index for result in fields.results] == [1, 2, 0]
    with cohere.ClientV2(api_key=secret, base_url=address) as client:
        again = client.rerank(
            model="rerank-v3.5", query=QUERY, documents=TEXTS, top_n=2, max_tokens_per_doc=4096, priority=0
        )
        with pytest.raises(cohere.UnprocessableEntityError, match="documents is"):
            client.rerank(model="any", query=QUERY, documents=[])
    assert [(one.index, one.relevance_score) for one in again.results] == [
        (one.index, one.relevance_score) for one in found.results
    ]
    with (
        cohere.ClientV2(api_key="nonsense", base_url=address) as stranger,
        pytest.raises(cohere.UnauthorizedError, match="no key, or none"),
    ):
        stranger.rerank(model="any", query=QUERY, documents=TEXTS)


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        ("/v1/rerank", "cohere"),
        ("/v2/rerank", "cohere"),
        ("/v1/rerank", "jina"),
        ("/v1/rerank", "vllm"),
        ("/rerank", "tei"),
    ],
)
def test_our_own_client_goes_there_and_back(served: tuple[str, str], path: str, shape: Any) -> None:
    from retrivex.rerank.http import HttpReranker  # noqa: PLC0415 - of the extra `rerank`

    address, secret = served
    model = None if shape == "tei" else "any"
    with HttpReranker(f"{address}{path}", shape=shape, model=model, api_key=secret) as reranker:
        scores = reranker.score(QUERY, TEXTS)
        assert np.argsort(-scores).tolist() == [1, 2, 0]
        turned = reranker.score(QUERY, TEXTS[::-1])
        assert turned == pytest.approx(scores[::-1])
    stranger = HttpReranker(f"{address}{path}", shape=shape, model=model, api_key="nonsense")
    with stranger, pytest.raises(RerankError, match="401"):
        stranger.score(QUERY, TEXTS)


# ---- shapes


def test_answers_are_as_published(client: Any) -> None:
    for path, body in BODIES.items():
        answer = client.post(path, json=body)
        assert answer.status_code == 200, answer.text
        jsonschema.validate(answer.json(), RANKS if path == "/rerank" else RESULTS)


# ---- what goes wrong


def check(answer: Any, status: int, path: str, *words: str) -> None:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["error" if path == "/rerank" else "message"] == problem["detail"]
    jsonschema.validate(problem, openapi.components()["Problem"])
    assert all(word in problem["detail"] for word in words), problem["detail"]


@pytest.mark.parametrize(
    ("raw", "status"), [(b"{", 400), (b"[]", 400), (b"\xff", 400), (b'{"query": NaN}', 400), (b"{}", 422)]
)
def test_a_body_that_is_wrong_is_one_problem(client: Any, raw: bytes, status: int) -> None:
    for path, body in BODIES.items():
        check(client.post(path, content=raw, headers={"Content-Type": "application/json"}), status, path)
        check(client.post(path, content=raw), 415, path)
        assert client.post(path, json=body).status_code == 200  # the next request works


def test_keys_and_limits_hold(make_client: Any, tmp_path: Path) -> None:
    client = make_client(embed="hashing", max_hits=2, max_characters=100, max_body_bytes=4000, key_rate=100)
    keys = Keys(tmp_path / "keys.db")
    headers = {"Authorization": f"Bearer {keys.create('acme', ['acme'])[1]}"}
    for path, body in BODIES.items():
        name = "texts" if path == "/rerank" else "documents"
        check(client.post(path, json=body), 401, path)
        check(client.post(path, json=body, headers=headers), 422, path, "3 texts: a request may have 2")
        check(client.post(path, json={**body, name: ["x" * 101]}, headers=headers), 422, path, "101 characters")
        check(client.post(path, json={**body, name: ["x" * 5000]}, headers=headers), 413, path)
        assert client.post(path, json={**body, name: TEXTS[:2]}, headers=headers).status_code == 200
