"""No answer is longer than may be, however small its request: alone, streamed, or with the others of a batch."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.service_world import CHUNKS, COMPOSE

pytestmark = pytest.mark.integration

MOST = 4096
ASKED = {"question": "Who lays eggs?"}
TEXT = "Bees sleep. " * 500


def check(problem: Any, words: str) -> None:
    assert problem["type"] == "urn:retrivex:problem:limit"
    assert words in problem["detail"], problem


@pytest.fixture
def client(make_client: Any) -> Any:
    made = make_client(max_answer_bytes=MOST)
    assert made.post("/v1/documents", files={"file": ("long.txt", TEXT)}).status_code == 200
    return made


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("compose", {**COMPOSE, "id": "x" * MOST}),
        ("query", {**ASKED, "id": ["x" * 100] * 100}),
        ("query", {**ASKED, "id": {"a": {"b": [{"c": "é" * MOST}]}}}),
        ("prompt", {"compose": {**COMPOSE, "chunks": [{**CHUNKS[0], "metadata": {"a": "x" * 3_000}}, *CHUNKS[1:]]}}),
        ("reorder", {"passages": [{"id": 1, "text": TEXT, "score": 1.0}]}),
        ("deduplicate", {"passages": [TEXT]}),
        ("resolve", {"doc_id": "long.txt", "char_start": 0, "char_end": 5_000}),
        ("view", {**ASKED, "settings": {"token_budget": 4_000}, "compare": {"window": 1}}),
        ("vector_stores/default/search", {"query": "eggs " * 1_000}),
    ],
)
def test_an_answer_has_a_bound(client: Any, path: str, body: Any) -> None:
    answer = client.post(f"/v1/{path}", json=body)
    assert answer.status_code == 422, answer.text[:300]
    check(answer.json(), f"the answer has more than {MOST:,} bytes, the limit: ask for fewer hits")


def test_records_and_lists_have_a_bound(client: Any) -> None:
    for number in range(30):
        name = f"{number}{'n' * 150}.txt"
        assert client.post("/v1/documents", files={"file": (name, "Bees sleep. " * 20)}).status_code == 200
    check(client.get("/v1/documents").json(), "bytes, the limit: ")
    assert len(client.get("/v1/documents?limit=5").json()["documents"]) == 5
    body = {"knowledge_id": "default", "query": "Do bees sleep?"}
    setting = {"top_k": 30, "score_threshold": 0}
    answer = client.post(
        "/retrieval", json={**body, "retrieval_setting": setting}, headers={"Authorization": "Bearer x"}
    )
    assert answer.status_code == 422
    check(answer.json(), f"{MOST:,}")


def test_the_answers_of_a_batch_have_a_bound_and_the_rest_are_not_computed(
    make_client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = make_client(max_answer_bytes=20_000)
    engine = client.app.state.service.engine
    compose, asked = engine.compose, []
    monkeypatch.setattr(engine, "compose", lambda record, *more: asked.append(record) or compose(record, *more))
    chunk = {"doc_id": "d", "chunk_id": 0, "text": "Bees sleep in winter.", "heading_path": ["h" * 2_000]}
    one = {"hits": [{"doc_id": "d", "chunk_id": 0, "score": 1.0}], "chunks": [chunk]}
    answer = client.post("/v1/compose/batch", json={"requests": [one] * 50})
    assert answer.status_code == 200
    made = answer.json()["answers"]
    assert len(answer.content) < 20_000 + 50 * 300
    statuses = [item["status"] for item in made]
    answered = statuses.count(200)
    assert 2 <= answered < 10
    assert statuses == [200] * answered + [422] * (50 - answered)
    assert len(asked) == answered + 1
    for item in made[answered:]:
        check(item["problem"], "the answers of this batch have more than 20,000 bytes, the limit: send fewer requests")


@pytest.mark.parametrize("path", ["query", "compose", "reorder", "deduplicate", "prompt", "resolve"])
def test_what_is_too_long_alone_does_not_cost_the_others_their_answers(client: Any, path: str) -> None:
    items = {
        "query": ({**ASKED, "id": "x" * MOST}, ASKED),
        "compose": ({**COMPOSE, "id": "x" * MOST}, COMPOSE),
        "reorder": (
            {"passages": [{"id": 1, "text": TEXT, "score": 1.0}]},
            {"passages": [{"id": 1, "text": "a", "score": 1.0}]},
        ),
        "deduplicate": ({"passages": [TEXT]}, {"passages": ["a"]}),
        "prompt": ({"query": {**ASKED, "config": {"token_budget": 0}}, "question": "x" * MOST}, {"query": ASKED}),
        "resolve": (
            {"doc_id": "long.txt", "char_start": 0, "char_end": 5_000},
            {"doc_id": "long.txt", "char_start": 0, "char_end": 5},
        ),
    }
    long, short = items[path]
    answer = client.post(f"/v1/{path}/batch", json={"requests": [long, short]}).json()["answers"]
    assert [item["status"] for item in answer] == [422, 200]
    check(answer[0]["problem"], f"the answer has more than {MOST:,} bytes")


def test_an_answer_of_any_length_is_written_as_json_does(make_client: Any) -> None:
    sent: Any = [{"a": [], "b": {}, "é": [1, None, {"x": "\ud800"}]}, [], [[1.5]], {"c": {"d": [True], "e": "f"}}]
    content = json.dumps({**COMPOSE, "id": sent})
    answer = make_client().post("/v1/compose", content=content, headers={"Content-Type": "application/json"})
    assert answer.json()["id"] == sent
