"""Conventions of other tools over HTTP: the official client of OpenAI, and requests in Dify's published shape."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from support.service_process import ServiceProcess
from support.service_world import BEES, make_index

from retrivex.service.keys import Keys

pytestmark = pytest.mark.integration

SEARCH = "/v1/vector_stores/default/search"
EGGS = "Who lays all the eggs?"

# https://docs.dify.ai/en/use-dify/knowledge/external-knowledge-api, of June 2026; metadata must be an object, as Dify
# fails on null. Dify reads these four fields of a record.
DIFY_ANSWER = {
    "type": "object",
    "required": ["records"],
    "properties": {
        "records": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["content", "score", "title"],
                "properties": {
                    "content": {"type": "string"},
                    "score": {"type": "number", "minimum": 0, "maximum": 1},
                    "title": {"type": "string"},
                    "metadata": {"type": "object"},
                },
            },
        }
    },
}
DIFY_PROBLEM = {
    "type": "object",
    "required": ["error_code", "error_msg"],
    "properties": {"error_code": {"type": "integer"}, "error_msg": {"type": "string", "minLength": 1}},
}


def retrieval(**more: Any) -> dict[str, Any]:
    """Return a body as Dify sends it."""
    setting = {"top_k": 2, "score_threshold": 0.0}
    return {"knowledge_id": "default", "query": EGGS, "retrieval_setting": setting, **more}


# ---- the official client


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the address of a service with keys, and a key of each tenant."""
    folder = tmp_path_factory.mktemp("served")
    path = make_index(folder / "index.db")
    keys = Keys(folder / "keys.db")
    secrets = {name: keys.create(name, [scope])[1] for name, scope in (("bees", None), ("acme", "acme"))}
    with ServiceProcess(folder, path.name) as service:
        yield service.address, secrets


def client_of(served: tuple[str, dict[str, str]], name: str, **more: Any) -> Any:
    import openai  # noqa: PLC0415 - the environment of the service alone has it

    address, secrets = served
    return openai.OpenAI(base_url=f"{address}/v1", api_key=secrets.get(name, name), max_retries=0, **more)


def test_the_official_client_reads_a_page(served: Any) -> None:
    with client_of(served, "bees") as client:
        page = client.vector_stores.search(
            "default", query=EGGS, max_num_results=3, ranking_options={"ranker": "auto", "score_threshold": 0.0}
        )
        [result] = page
        assert (result.file_id, result.filename) == ("bees.md", "bees.md")
        assert [(part.type, part.text) for part in result.content] == [("text", BEES)]
        assert 0 <= result.score <= 1
        assert result.attributes == {"char_start": 0, "char_end": len(BEES)}
        assert not page.has_next_page()


def test_the_official_client_filters(served: Any) -> None:
    def found(*parts: Any) -> list[str]:
        filters = {"type": "and", "filters": [{"type": kind, "key": "doc_id", "value": value} for kind, value in parts]}
        return [
            result.file_id
            for result in client.vector_stores.search("default", query=["eggs", "queen"], filters=filters)
        ]

    with client_of(served, "bees") as client:
        assert found(("eq", "bees.md")) == ["bees.md"]
        assert found(("in", ["bees.md", "wasps.md"]), ("ne", "wasps.md")) == ["bees.md"]
        assert found(("nin", ["bees.md"])) == []


def test_the_official_client_without_blocking(served: Any) -> None:
    import openai  # noqa: PLC0415

    address, secrets = served

    async def search() -> list[str]:
        async with openai.AsyncOpenAI(base_url=f"{address}/v1", api_key=secrets["bees"]) as client:
            return [result.file_id async for result in client.vector_stores.search("default", query=EGGS)]

    assert asyncio.run(search()) == ["bees.md"]


def test_the_official_client_raises_its_own_exceptions(served: Any) -> None:
    import openai  # noqa: PLC0415

    with client_of(served, "bees") as client:
        with pytest.raises(openai.NotFoundError, match="there is no index 'vs_1'") as caught:
            client.vector_stores.search("vs_1", query=EGGS)
        assert caught.value.code == "not-found"
        with pytest.raises(openai.UnprocessableEntityError, match="max_num_results is 99") as caught:
            client.vector_stores.search("default", query=EGGS, max_num_results=99)
        assert caught.value.type == "invalid_request_error"
    with client_of(served, "nonsense") as client, pytest.raises(openai.AuthenticationError, match="no key, or none"):
        client.vector_stores.search("default", query=EGGS)
    with client_of(served, "acme") as client:
        with pytest.raises(openai.UnprocessableEntityError, match="a filter on 'scope' is refused"):
            client.vector_stores.search("default", query=EGGS, filters={"type": "eq", "key": "scope", "value": ""})
        assert [one.file_id for one in client.vector_stores.search("default", query="rocket eggs")] == ["acme:plan.md"]


# ---- Dify


def test_records_are_as_dify_publishes_them(client: Any) -> None:
    bodies: list[dict[str, Any]] = [
        retrieval(),
        retrieval(metadata_condition=None),
        retrieval(
            metadata_condition={"conditions": [{"name": "doc_id", "comparison_operator": "is", "value": "bees.md"}]}
        ),
        retrieval(
            metadata_condition={
                "logical_operator": "or",
                "conditions": [{"name": ["title", "doc_id"], "comparison_operator": "contains", "value": "bee"}],
            }
        ),
    ]
    for body in bodies:
        answer = client.post("/retrieval", json=body)
        assert answer.status_code == 200, answer.text
        jsonschema.validate(answer.json(), DIFY_ANSWER)
        [record] = answer.json()["records"]
        assert (record["content"], record["title"], record["metadata"]["doc_id"]) == (BEES, "bees.md", "bees.md")
    nothing = client.post("/retrieval", json=retrieval(query="zebras"))
    assert (nothing.status_code, nothing.json()) == (200, {"records": []})


def test_problems_have_the_codes_of_dify(make_client: Any, tmp_path: Path) -> None:
    client = make_client(max_body_bytes=5000, key_rate=100)
    keys = Keys(tmp_path / "keys.db")
    _, secret = keys.create("acme", ["acme"])
    good, scope = (
        {"Authorization": f"Bearer {secret}"},
        {"name": "scope", "comparison_operator": "is", "value": "wayne"},
    )
    for body, headers, status, code in (
        (retrieval(), {}, 401, 1001),
        (retrieval(), {"Authorization": f"Basic {secret}"}, 401, 1001),
        (retrieval(), {"Authorization": "Bearer nonsense"}, 401, 1002),
        (retrieval(metadata_condition={"conditions": [scope]}), good, 422, 422),
        (retrieval(knowledge_id="other"), good, 404, 2001),
        (retrieval(query=5), good, 422, 422),
        (retrieval(query="x" * 6000), good, 413, 413),
    ):
        answer = client.post("/retrieval", json=body, headers=headers)
        assert answer.status_code == status, answer.text
        problem = answer.json()
        jsonschema.validate(problem, DIFY_PROBLEM)
        assert problem["error_code"] == code
        assert problem["error_msg"] == problem["detail"]
        assert problem["type"].startswith("urn:retrivex:problem:")


# ---- both


def test_other_addresses_have_no_members_of_a_convention(client: Any) -> None:
    for path in ("/v1/query", "/v1/vector_stores", "/v1/retrieval"):
        assert set(client.post(path, json={}).json()) == {"type", "title", "status", "detail", "request_id"}


@pytest.mark.parametrize(
    ("raw", "status"), [(b"{", 400), (b"[]", 400), (b"\xff", 400), (b'{"query": NaN}', 400), (b"{}", 422)]
)
def test_a_body_that_is_wrong_is_one_problem(client: Any, raw: bytes, status: int) -> None:
    for path in (SEARCH, "/retrieval"):
        answer = client.post(path, content=raw, headers={"Content-Type": "application/json"})
        assert answer.status_code == status
        assert answer.headers["content-type"] == "application/problem+json"
        assert client.post(path, content=raw).status_code == 415
