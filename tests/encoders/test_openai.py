"""`openai:MODEL`: an endpoint of our own that speaks OpenAI's embeddings, asked through the official client."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.json_server import serving_json
from typer.testing import CliRunner

from retrivex.cli import app
from retrivex.encoders.encoder import Encoder, HashingEncoder, load_encoder
from retrivex.encoders.queries import QueryEncoder
from retrivex.errors import EncoderError

openai_module = pytest.importorskip("retrivex.encoders.openai", exc_type=ImportError)
OpenAIEncoder = openai_module.OpenAIEncoder

pytestmark = pytest.mark.integration

Respond = Callable[[dict[str, Any]], tuple[int, Any, dict[str, str]]]


def embeddings(vectors: Any, **item: Any) -> tuple[int, Any, dict[str, str]]:
    rows = [{"object": "embedding", "index": at, "embedding": row, **item} for at, row in enumerate(vectors)]
    made = {"object": "list", "data": rows[::-1], "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}}
    return 200, made, {"Content-Type": "application/json"}


def hashed(body: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
    return embeddings(HashingEncoder(16).encode(body["input"]).tolist())


class Server:
    """Answers by `respond`, and notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any], str | None]] = []
        self.respond: Respond = hashed
        self.url = ""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.0)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    made = Server()

    def answer(path: str, body: dict[str, Any], key: str | None) -> tuple[int, Any, dict[str, str]]:
        made.asked.append((path, body, key))
        return made.respond(body)

    with serving_json(answer) as address:
        made.url = f"{address}/v1"
        monkeypatch.setenv("OPENAI_BASE_URL", made.url)
        yield made


def test_texts_go_in_batches_and_come_back_in_order(server: Server) -> None:
    texts = [f"text {number}" for number in range(5)] + ["", "\ud800"]
    with OpenAIEncoder("bge-m3", server.url, "key-123", batch_size=3) as encoder:
        assert encoder.encode([]).shape == (0, 0)
        rows = encoder.encode(texts)
        assert encoder.encode([]).shape == (0, 16)
    expected = HashingEncoder(16).encode([*texts[:5], " ", "\ufffd"])
    np.testing.assert_allclose(rows, expected, atol=1e-6)
    assert rows.dtype == np.float32
    assert [len(body["input"]) for _, body, _ in server.asked] == [3, 3, 1]
    assert server.asked[0] == (
        "/v1/embeddings",
        {"model": "bge-m3", "input": texts[:3], "encoding_format": "float"},
        "Bearer key-123",
    )


def test_by_name_with_address_and_key_of_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-environment")
    encoder = load_encoder("openai:intfloat/multilingual-e5-small")
    assert isinstance(encoder, Encoder)
    assert isinstance(encoder, QueryEncoder)
    assert encoder.name == "openai:intfloat/multilingual-e5-small"
    encoder.encode(["Bees."])
    encoder.encode_queries(["Who?"])
    assert [body["input"] for _, body, _ in server.asked] == [["passage: Bees."], ["query: Who?"]]
    assert server.asked[0][2] == "Bearer key-of-environment"


def test_the_key_of_the_environment_goes_to_no_other_address(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-environment")
    OpenAIEncoder("m", server.url).encode(["a"])
    assert server.asked[0][2] == "Bearer none"


def test_what_belongs_to_openai_goes_to_no_other_address(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-environment")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-of-environment")
    sent: list[str] = []
    seen = BaseHTTPRequestHandler.parse_request

    def note(self: BaseHTTPRequestHandler) -> bool:
        read = seen(self)
        sent.append(str(self.headers).lower())
        return read

    monkeypatch.setattr(BaseHTTPRequestHandler, "parse_request", note)
    OpenAIEncoder("m", server.url).encode(["a"])
    assert "authorization: bearer none" in sent[0]
    assert "of-environment" not in sent[0]


def test_failures_that_may_pass_are_tried_again(server: Server) -> None:
    server.respond = lambda body: hashed(body) if len(server.asked) > 2 else (503, {}, {})
    assert OpenAIEncoder("m", server.url).encode(["a"]).shape == (1, 16)
    assert len(server.asked) == 3
    server.respond = lambda body: (500, {"error": "down"}, {})
    with pytest.raises(EncoderError, match="refused with status 500: try again later"):
        OpenAIEncoder("m", server.url, retries=0).encode(["a"])


@pytest.mark.parametrize(
    ("status", "said"),
    [(401, "see that the API key is right"), (404, "mostly ends in /v1"), (413, "smaller chunks"), (429, "quota")],
)
def test_a_refusal_says_the_way_out_and_no_secret(server: Server, status: int, said: str) -> None:
    server.respond = lambda body: (status, {"error": {"message": "no key-123456 for secret-word"}}, {})
    url = server.url.replace("http://", "http://me:secret-word@")
    encoder = OpenAIEncoder("m", url, "key-123456", retries=0)
    with pytest.raises(EncoderError, match=said) as raised:
        encoder.encode(["a"])
    assert "key-123456" not in f"{raised.value}{encoder!r}"
    assert "secret-word" not in f"{raised.value}{encoder!r}"
    assert "no *** for ***" in str(raised.value)


def test_a_server_that_is_not_there() -> None:
    with serving_json(lambda path, body, key: (200, {}, {})) as address:
        pass
    with pytest.raises(EncoderError, match=r"cannot be reached \(Connection refused\): start the server"):
        OpenAIEncoder("m", f"{address}/v1", retries=0).encode(["a"])


def test_a_server_that_is_too_late(server: Server) -> None:
    import threading  # noqa: PLC0415 - for this test alone

    gate = threading.Event()
    server.respond = lambda body: (gate.wait(60), hashed(body))[1]  # type: ignore[func-returns-value]
    try:
        with pytest.raises(EncoderError, match="did not answer in time: raise timeout_s"):
            OpenAIEncoder("m", server.url, retries=0, timeout_s=0.2).encode(["a"])
    finally:
        gate.set()


@pytest.mark.parametrize(
    "made",
    [
        embeddings([[1.0, 2.0]]),
        embeddings([[1.0, 2.0]] * 3),
        embeddings([[1.0, 2.0], [1.0]]),
        embeddings([[], []]),
        embeddings([[1.0], [1.0]], index=0),
        embeddings([["a"], ["b"]]),
        embeddings([[1.0], [float("nan")]]),
        (200, {"data": None}, {"Content-Type": "application/json"}),
        (200, {"data": [1, 2]}, {"Content-Type": "application/json"}),
        (200, [], {"Content-Type": "application/json"}),
        (200, "<html>", {"Content-Type": "text/html"}),
        (200, "{", {"Content-Type": "application/json"}),
    ],
)
def test_what_is_no_vector_for_each_text_is_an_error(server: Server, made: Any) -> None:
    server.respond = lambda body: made
    with pytest.raises(EncoderError, match="did not answer with"):
        OpenAIEncoder("m", server.url, retries=0).encode(["a", "b"])


def test_a_model_that_changes_its_dimension_is_an_error(server: Server) -> None:
    encoder = OpenAIEncoder("m", server.url)
    encoder.encode(["a"])
    server.respond = lambda body: embeddings([[1.0, 2.0]])
    with pytest.raises(EncoderError, match="gave vectors of 2 numbers, and of 16 before: see that 'm' is one model"):
        encoder.encode(["a"])


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"model": " "}, "give its name at the endpoint"),
        ({"batch_size": 0}, "batch_size=0: a batch holds at least 1 text"),
        ({"base_url": "localhost"}, "base_url is 'localhost': give the endpoint's address"),
        ({"base_url": "http://a b/"}, "base_url has white space"),
        ({"api_key": "secret\n"}, "api_key is no printable ASCII text"),
    ],
)
def test_wrong_arguments(said: dict[str, Any], message: str) -> None:
    with pytest.raises(EncoderError, match=message) as raised:
        OpenAIEncoder(**{"model": "m", "base_url": "http://localhost/v1", **said})
    assert "secret" not in str(raised.value)


def test_without_address_and_key_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(EncoderError, match="no endpoint for 'm' is known: set OPENAI_BASE_URL"):
        load_encoder("openai:m")


def test_the_command_line_indexes_and_asks_with_it(server: Server, tmp_path: Path) -> None:
    (tmp_path / "bees.txt").write_text("Bees live in hives.")
    (tmp_path / "pumps.txt").write_text("A pump moves water.")
    db = str(tmp_path / "a.db")
    run = CliRunner().invoke
    made = run(app, ["index", str(tmp_path), "--db", db, "--embed", "openai:nomic-embed-text"])
    assert made.exit_code == 0, made.stderr
    assert all(text.startswith("search_document: ") for text in server.asked[0][1]["input"])
    server.asked.clear()
    # a database says by which model it is asked
    asked = run(app, ["query", "where do bees live", "--db", db, "--mode", "dense", "--json", "--k", "1"])
    assert asked.exit_code == 0, asked.stderr
    assert json.loads(asked.stdout)["text"].endswith("Bees live in hives.")
    assert {text for _, body, _ in server.asked for text in body["input"]} == {"search_query: where do bees live"}
