"""`--rerank`: an endpoint or a cross-encoder scores the hits of `query` and `compose`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support.json_server import serving_json
from typer.testing import CliRunner

from retrivex.cli import app

run = CliRunner().invoke

TEXTS = ["Bees live in hives.", "A hive has one queen.", "Drones do not work."]
CHUNKS = [{"doc_id": "bees", "chunk_id": i, "text": text} for i, text in enumerate(TEXTS)]
REQUEST = {
    "id": 1,
    "question": "Who works?",
    "hits": [{"doc_id": "bees", "chunk_id": i, "score": 0.9 - i / 10} for i in range(3)],
    "chunks": CHUNKS,
}


def by_drones(query: str, texts: Sequence[str]) -> list[float]:
    return [float("Drones" in text) for text in texts]


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names that a cross-encoder was asked for by; it likes drones, and needs no model."""
    asked: list[str] = []

    class CrossEncoderReranker:
        score = staticmethod(by_drones)

        def __init__(self, name: str) -> None:
            asked.append(name)

    module = ModuleType("retrivex.rerank.cross_encoder")
    module.CrossEncoderReranker = CrossEncoderReranker  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "retrivex.rerank.cross_encoder", module)
    return asked


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("rerank")
    for name, text in zip("abc", TEXTS, strict=True):
        (folder / f"{name}.txt").write_text(f"{text} They work.")
    made = str(folder / "store.db")
    assert run(app, ["index", *map(str, sorted(folder.glob("*.txt"))), "--db", made]).exit_code == 0
    return made


def compose(*options: str) -> dict[str, Any]:
    result = run(app, ["compose", "--window", "0", "--k", "1", *options], input=json.dumps(REQUEST) + "\n")
    assert result.exit_code == 0, result.stderr
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


def test_a_cross_encoder_scores_the_hits_of_a_line(models: list[str]) -> None:
    assert compose()["text"] == "[1] Bees live in hives."
    assert compose("--rerank", "some/model")["text"] == "[1] Drones do not work."
    assert models == ["some/model"]


def test_a_cross_encoder_scores_the_hits_of_a_query(models: list[str], db: str) -> None:
    asked = ["query", "who do work", "--db", db, "--json", "--trace", "--set", "max_spans=1", "--window", "0"]
    result = run(app, [*asked, "--rerank", "folder/model"])
    assert result.exit_code == 0, result.stderr
    made = json.loads(result.stdout)
    assert "Drones" in made["text"]
    assert "rerank" in [step["name"] for step in made["trace"]["steps"]]
    assert models == ["folder/model"]
    assert "rerank" not in [step["name"] for step in json.loads(run(app, asked).stdout)["trace"]["steps"]]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--rerank-shape", "tei"], "belong to an endpoint"),
        (["--rerank-model", "m"], "belong to an endpoint"),
        (["--rerank", "some/model", "--rerank-shape", "tei"], "belong to an endpoint"),
        (["--rerank", "http://localhost/rerank"], "say whose API it speaks"),
    ],
)
@pytest.mark.parametrize("command", ["compose", "query"])
def test_options_that_do_not_belong_together_are_wrong_usage(
    models: list[str], command: str, options: list[str], said: str
) -> None:
    result = run(app, [command, *(["Why?"] if command == "query" else []), *options], input="")
    assert result.exit_code == 2
    assert said in result.stderr
    assert models == []


# ---- endpoints


class Endpoint:
    """A server that likes drones, and notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[dict[str, Any], str | None]] = []
        self.status = 200
        self.url = ""


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    said = Endpoint()

    def respond(path: str, body: dict[str, Any], key: str | None) -> tuple[int, Any, dict[str, str]]:
        said.asked.append((body, key))
        scores = by_drones("", body["documents"])
        return said.status, {"results": [{"index": i, "relevance_score": s} for i, s in enumerate(scores)]}, {}

    with serving_json(respond) as address:
        said.url = f"{address}/rerank"
        yield said


@pytest.mark.integration
def test_an_endpoint_scores_the_hits(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETRIVEX_RERANK_KEY", "secret")
    answer = compose("--rerank", endpoint.url, "--rerank-shape", "jina", "--rerank-model", "m")
    assert answer["text"] == "[1] Drones do not work."
    ((body, key),) = endpoint.asked
    assert (body["model"], body["query"], key) == ("m", "Who works?", "Bearer secret")


@pytest.mark.integration
def test_an_endpoint_that_refuses_is_told_and_costs_nothing(endpoint: Endpoint) -> None:
    endpoint.status = 401
    answer = compose("--rerank", endpoint.url, "--rerank-shape", "vllm", "--rerank-model", "m")
    assert answer["text"] == "[1] Bees live in hives."
    assert any("status 401" in warning for warning in answer["warnings"])


@pytest.mark.integration
@pytest.mark.parametrize("url", ["http://u:S3 CRET@127.0.0.1:9/x", "http://u:S3\nCRET@h", "http://h/?a b=S3CRET"])
def test_an_address_that_is_none_is_wrong_usage_and_not_repeated(url: str) -> None:
    for shape in ([], ["--rerank-shape", "tei"]):
        done = run(app, ["compose", "--rerank", url, *shape], input=json.dumps(REQUEST))
        assert done.exit_code == 2
        assert "not repeated here" in " ".join(done.output.split())
        assert not any(part in done.output for part in ("S3", "CRET"))


def test_parameters_of_an_address_are_in_no_warning() -> None:
    where = ["--rerank", "http://127.0.0.1:9/rerank;key=S3CRET", "--rerank-shape", "tei"]
    done = run(app, ["compose", *where], input=json.dumps(REQUEST))
    assert "http://127.0.0.1:9/rerank" in done.output
    assert "S3CRET" not in done.output


def test_an_endpoint_that_is_none_of_the_shapes_cannot_be_asked(tmp_path: Path) -> None:
    for options, said in (
        (["--rerank-shape", "openai"], "choose one of cohere, jina, tei, vllm"),
        (["--rerank-shape", "cohere"], "needs the name of its model"),
    ):
        result = run(app, ["compose", "--rerank", "http://localhost/rerank", *options], input="")
        assert result.exit_code == 3
        assert said in result.stderr


# ---- language models


@pytest.mark.parametrize("shape", ["llm-listwise", "llm-pointwise"])
def test_a_language_model_scores_the_hits(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETRIVEX_RERANK_KEY", "secret")
    asked: list[tuple[str, str, str | None]] = []

    def respond(path: str, body: dict[str, Any], key: str | None) -> tuple[int, Any, dict[str, str]]:
        asked.append((path, body["model"], key))
        given = json.loads(body["messages"][1]["content"])
        made = {"order": [3, 1, 2]} if "passages" in given else {"score": 9 if "Drones" in given["passage"] else 2}
        return 200, {"choices": [{"message": {"content": json.dumps(made)}}]}, {}

    with serving_json(respond) as address:
        answer = compose("--rerank", f"{address}/v1", "--rerank-shape", shape, "--rerank-model", "qwen3")
    assert answer["text"] == "[1] Drones do not work."
    assert asked == [("/v1/chat/completions", "qwen3", "Bearer secret")] * (1 if shape == "llm-listwise" else 3)


def test_a_language_model_needs_its_name() -> None:
    result = run(app, ["compose", "--rerank", "http://localhost/v1", "--rerank-shape", "llm-listwise"], input="")
    assert result.exit_code == 2
    assert "--rerank-model NAME" in " ".join(result.stderr.split())
