from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest
from support.service_world import COMPOSE, make_index

from retrivex import Composition, Document
from retrivex.service import openapi
from retrivex.service.keys import Keys

pytestmark = pytest.mark.integration

COMPOSITION = openapi.components()["Composition"]


def post(client: Any, path: str, body: Any, **more: Any) -> Any:
    answer = client.post(path, json=body, **more)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_compose_answers_as_the_command_does(client: Any) -> None:
    made = post(client, "/v1/compose", COMPOSE)
    assert made["id"] == 7
    assert made["text"] == "[1] Bees live in hives. A hive has one queen. She lays all the eggs."
    assert Composition.from_dict({key: value for key, value in made.items() if key != "id"}).text == made["text"]


def test_a_question_is_answered_and_its_citations_resolve(client: Any) -> None:
    made = post(client, "/v1/query", {"question": "Who lays eggs?", "id": "q1", "trace": True})
    assert made["id"] == "q1"
    assert "trace" in made
    for citation in made["citations"]:
        found = post(client, "/v1/resolve", citation)
        assert found["text"] == made["text"][citation["start"] : citation["end"]]


@pytest.mark.parametrize("api", ["plain", "openai", "openai_chat", "anthropic"])
def test_a_prompt_in_the_shape_of_each_api(client: Any, api: str) -> None:
    made = post(client, "/v1/prompt", {"query": {"question": "Who lays eggs?"}, "api": api})
    assert "She lays all the eggs." in json.dumps(made["messages"])
    again = post(client, "/v1/prompt", {"composition": made["composition"], "api": api})
    assert again["messages"] == made["messages"]


def test_an_error_of_a_batch_belongs_to_its_item(client: Any) -> None:
    requests = [{"question": "Who lays eggs?"}, {"question": 5}, {"question": "Bees?", "index": "other"}, 7]
    answers = post(client, "/v1/query/batch", {"requests": requests})["answers"]
    assert [answer["status"] for answer in answers] == [200, 422, 404, 422]
    assert "eggs" in answers[0]["answer"]["text"]
    assert answers[1]["problem"]["detail"] == "question is 5: it should be a valid string"


@pytest.mark.parametrize("operation", ["compose", "query", "reorder", "deduplicate", "prompt"])
def test_the_example_of_the_document_answers_alone_and_in_a_batch(client: Any, operation: str) -> None:
    document = client.get("/openapi.json").json()
    for suffix in ("", "/batch"):
        content = document["paths"][f"/v1/{operation}{suffix}"]["post"]["requestBody"]["content"]["application/json"]
        made = post(client, f"/v1/{operation}{suffix}", content["examples"]["short"]["value"])
        assert all(answer["status"] == 200 for answer in made.get("answers", []))


def test_every_json_body_has_an_example(client: Any) -> None:
    document = client.get("/openapi.json").json()
    operations = [operation for methods in document["paths"].values() for operation in methods.values()]
    contents = [one["requestBody"]["content"] for one in operations if "requestBody" in one]
    assert all("examples" in content.get("application/json", {"examples": {}}) for content in contents)


def test_answers_are_as_their_schemas_say(client: Any) -> None:
    schema = {"$ref": "#/components/schemas/Composition", "components": {"schemas": openapi.components()}}
    jsonschema.validate(post(client, "/v1/query", {"question": "Who lays eggs?", "trace": True}), schema)
    jsonschema.validate(post(client, "/v1/compose", COMPOSE), schema)


# ---- the page


def test_the_page_and_its_files_come_with_a_strict_policy(client: Any) -> None:
    page = client.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    named = re.findall(r'(?:src|href)="(static/[^"]+)"', page.text)
    assert named
    for answer in (page, *(client.get(f"/{name}") for name in named)):
        assert answer.status_code == 200
        assert "script-src 'self'" in answer.headers["content-security-policy"]
        assert "unsafe" not in answer.headers["content-security-policy"]
    for outside in ("/static/../page.py", "/static/%2e%2e%2fpage.py", "/static/nothing.js"):
        assert client.get(outside).status_code == 404


def test_an_answer_is_shown_alone_and_beside_another(client: Any) -> None:
    body = {"question": "Who lays eggs?", "settings": {"token_budget": 100, "order": "document"}}
    [alone] = post(client, "/v1/view", body)["answers"]
    assert alone["settings"]["token_budget"] == 100
    assert "eggs" in "".join(piece["text"] for piece in alone["context"])
    assert "http://localhost/v1/query" in alone["code"]["curl"]
    assert "Authorization" not in alone["code"]["curl"]
    first, second = post(client, "/v1/view", {**body, "compare": {"token_budget": 5}})["answers"]
    assert (first["settings"]["token_budget"], second["settings"]["token_budget"]) == (100, 5)
    for wrong in ({"window": 10_000}, {"token_budget": -1}, {"nonsense": 1}):
        assert client.post("/v1/view", json={"question": "Bees?", "settings": wrong}).status_code == 422


def test_indexes_are_listed_and_what_is_copied_names_the_one_that_was_asked(
    make_client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    law = make_index(tmp_path / "law.db", Document("law.md", "Bees belong to who catches them."))
    client = make_client(indexes={"law": law}, read_only=True)
    assert client.get("/v1/indexes").json()["indexes"] == [
        {"name": name, "keeps_documents": True, "read_only": True} for name in ("default", "law")
    ]
    body = {"question": 'Who "owns" bees?', "index": "law", "settings": {"token_budget": 99}}
    [answer] = post(client, "/v1/view", body)["answers"]
    assert [document["doc_id"] for document in answer["documents"]] == ["law.md"]
    sent = json.loads(answer["code"]["json"])
    assert (sent["index"], sent["question"]) == ("law", 'Who "owns" bees?')
    shown = "".join(piece["text"] for piece in answer["context"])
    assert post(client, "/v1/query", sent)["text"] == shown
    words = shlex.split(answer["code"]["curl"])
    assert words[:3] == ["curl", "http://localhost/v1/query", "--json"]
    assert json.loads(words[3]) == sent
    # the copied Python, asking the same application
    from retrivex.service import client as module  # noqa: PLC0415

    class Here:
        def __init__(self, url: str, key: str | None) -> None:
            assert url == "http://localhost"

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *_: Any) -> None:
            """Leave the application open."""

        def query(self, question: str, **given: Any) -> Any:
            return SimpleNamespace(text=post(client, "/v1/query", {"question": question, **given})["text"])

    monkeypatch.setattr(module, "Client", Here)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(answer["code"]["python"], "copied", "exec"), {})
    assert printed.getvalue().removesuffix("\n") == shown


def test_indexes_are_listed_and_calls_copied_with_a_key_where_keys_are_needed(make_client: Any, tmp_path: Path) -> None:
    _, secret = Keys(tmp_path / "keys.db").create("shop")
    client = make_client()
    assert client.get("/v1/indexes").status_code == 401
    headers = {"Authorization": f"Bearer {secret}"}
    assert client.get("/v1/indexes", headers=headers).status_code == 200
    [answer] = client.post("/v1/view", json={"question": "Who lays eggs?"}, headers=headers).json()["answers"]
    assert '-H "Authorization: Bearer $RETRIVEX_KEY"' in answer["code"]["curl"]
    assert 'key=os.environ.get("RETRIVEX_KEY")' in answer["code"]["python"]
    assert secret not in json.dumps(answer)


# ---- documents


def test_documents_are_added_listed_and_deleted(client: Any) -> None:
    text = "# Wasps\n\nWasps build nests of paper."
    added = client.post("/v1/documents", files={"file": ("wasps.md", text)}).json()["documents"]
    assert [(one["doc_id"], one["result"]) for one in added] == [("wasps.md", "added")]
    assert "paper" in post(client, "/v1/query", {"question": "What do wasps build?"})["text"]
    listed = client.get("/v1/documents", params={"scope": ""}).json()["documents"]
    assert [document["doc_id"] for document in listed] == ["bees.md", "wasps.md"]
    assert "source" not in listed[0]
    assert client.delete("/v1/documents", params={"doc_id": "wasps.md"}).json() == {"deleted": "wasps.md"}
    assert client.delete("/v1/documents", params={"doc_id": "wasps.md"}).status_code == 404


# ---- operation


def test_health_readiness_and_metrics(client: Any, tmp_path: Path) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready"}
    post(client, "/v1/query", {"question": "A question of secret words"})
    counted = client.get("/metrics").text
    assert 'retrivex_requests_total{method="POST",route="/v1/query",status="200"} 1.0' in counted
    assert "secret" not in counted
    assert str(tmp_path) not in counted


def test_an_index_that_is_gone_is_not_ready_but_alive(client: Any) -> None:
    client.app.state.service.engine.close()
    for answer in (client.get("/readyz"), client.post("/v1/query", json={"question": "Bees?"})):
        assert answer.status_code == 503
        assert answer.json()["type"] == "urn:retrivex:problem:store"
        assert int(answer.headers["retry-after"]) >= 1
    assert client.get("/healthz").status_code == 200
    assert client.post("/v1/compose", json=COMPOSE).status_code == 200
