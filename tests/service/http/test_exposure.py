"""Keys, scopes, other people's pages: what reaches whom."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.service_world import COMPOSE

from retrivex.service.keys import Keys
from retrivex.service.logs import JsonFormatter
from retrivex.service.mcp.citations import write_citation

pytestmark = pytest.mark.integration


@pytest.fixture
def keys(tmp_path: Path) -> Any:
    return Keys(tmp_path / "keys.db")


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def test_without_keys_a_page_of_somebody_else_may_not_ask(client: Any) -> None:
    evil = {"Origin": "https://evil.example"}
    for answer in (
        client.post("/v1/compose", json=COMPOSE, headers=evil),
        client.post("/v1/documents", files={"file": ("a.md", b"Text.")}, headers=evil),
        client.get("/v1/documents", headers={"Host": "evil.example"}),  # a name that was made to point here
    ):
        assert answer.status_code == 403
        assert answer.json()["type"] == "urn:retrivex:problem:origin"
        assert "access-control-allow-origin" not in answer.headers
    own = {"Origin": "http://localhost"}
    assert client.post("/v1/compose", json=COMPOSE, headers=own).status_code == 200


def test_pages_of_a_named_origin_may_ask(make_client: Any) -> None:
    client = make_client(cors=["https://app.example"])
    asked = {"Origin": "https://app.example"}
    before = {**asked, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    assert client.options("/v1/compose", headers=before).headers["access-control-allow-origin"] == asked["Origin"]
    for body in (COMPOSE, {}):  # a problem can be read, too
        answer = client.post("/v1/compose", json=body, headers=asked)
        assert answer.headers["access-control-allow-origin"] == asked["Origin"]
    assert client.post("/v1/compose", json=COMPOSE, headers={"Origin": "https://b.example"}).status_code == 403


def test_every_answer_has_headers_that_protect(client: Any) -> None:
    for answer in (client.get("/healthz"), client.get("/nowhere"), client.post("/v1/query", json={})):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["cache-control"] == "no-store"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert len(answer.headers["x-request-id"]) == 16
    bad = client.get("/healthz", headers={"X-Request-ID": "<script>"})
    assert bad.headers["x-request-id"] != "<script>"


def test_from_the_first_key_on_every_request_needs_one(client: Any, keys: Keys) -> None:
    assert client.post("/v1/compose", json=COMPOSE).status_code == 200
    info, secret = keys.create("shop")
    for headers in ({}, bearer("wrong"), bearer(secret[:-1] + "_"), {"Authorization": f"Basic {secret}"}):
        for answer in (
            client.post("/v1/compose", json=COMPOSE, headers=headers),
            client.get("/v1/documents", headers=headers),
            client.get("/metrics", headers=headers),
        ):
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"] == "Bearer"
            assert secret not in answer.text
    assert client.post("/v1/compose", json=COMPOSE, headers=bearer(secret)).status_code == 200
    keys.revoke(info.id)
    assert client.post("/v1/compose", json=COMPOSE, headers=bearer(secret)).status_code == 401
    assert client.get("/healthz").status_code == 200


def test_nobody_gets_in_where_the_file_of_keys_is_gone_before_the_first_request(make_client: Any, keys: Keys) -> None:
    """Under another server than that of `retrivex serve`, which leaves no mark for its workers."""
    _, secret = keys.create("shop")
    client = make_client(hosts=["localhost"])  # the check of the host looks at no key then
    away = keys.path.rename(keys.path.with_name("away.db"))
    for headers in ({}, bearer(secret)):
        assert client.get("/v1/documents", headers=headers).status_code == 503
    away.rename(keys.path)
    assert client.get("/v1/documents").status_code == 401
    assert client.get("/v1/documents", headers=bearer(secret)).status_code == 200


def test_a_key_that_asks_too_often_waits(make_client: Any, keys: Keys) -> None:
    _, secret = keys.create("shop")
    _, other = keys.create("other")
    client = make_client(key_rate=0.5)
    answers = [client.post("/v1/compose", json=COMPOSE, headers=bearer(secret)) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 429, 429]
    assert int(answers[-1].headers["retry-after"]) >= 1
    assert client.post("/v1/compose", json=COMPOSE, headers=bearer(other)).status_code == 200


def test_a_key_has_so_many_requests_under_way(make_client: Any, keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    _, secret = keys.create("shop")
    client = make_client(key_concurrency=1, threads=4)
    began, end = threading.Event(), threading.Event()
    engine = client.app.state.service.engine

    def slow(record: Any) -> dict[str, Any]:
        began.set()
        end.wait(30)
        return {}

    monkeypatch.setattr(engine, "deduplicate", slow)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(client.post, "/v1/deduplicate", json={"passages": []}, headers=bearer(secret))
        assert began.wait(30)
        refused = client.post("/v1/compose", json=COMPOSE, headers=bearer(secret))
        end.set()
        assert (refused.status_code, waiting.result().status_code) == (429, 200)
    assert client.post("/v1/compose", json=COMPOSE, headers=bearer(secret)).status_code == 200


def test_one_key_cannot_fill_the_queue_for_all(make_client: Any, keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    _, greedy = keys.create("greedy")
    _, other = keys.create("other")
    client = make_client(key_concurrency=2, threads=1, queue=3)
    service = client.app.state.service
    end = threading.Event()
    monkeypatch.setattr(service.engine, "deduplicate", lambda record: end.wait(30) and {})
    with ThreadPoolExecutor(3) as pool:
        body = {"json": {"passages": []}}
        waiting = [pool.submit(client.post, "/v1/deduplicate", headers=bearer(greedy), **body) for _ in range(2)]
        while service.work.under_way < 2:
            time.sleep(0.01)
        refused = client.post("/v1/deduplicate", headers=bearer(greedy), **body)
        taken = pool.submit(client.post, "/v1/deduplicate", headers=bearer(other), **body)
        while service.work.under_way < 3:
            time.sleep(0.01)
        end.set()
        assert refused.status_code == 429
        assert "2 requests under way" in refused.json()["detail"]
        assert [one.result().status_code for one in (*waiting, taken)] == [200, 200, 200]


def test_uploads_leave_a_thread_for_questions(make_client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    client = make_client(threads=1, queue=1)
    service = client.app.state.service
    began, end = threading.Event(), threading.Event()
    begun: list[str] = []

    def slow(raw: bytes, name: str, *_: Any, **__: Any) -> list[Any]:
        begun.append(name)
        began.set()
        end.wait(60)
        return []

    monkeypatch.setattr(service.engine, "add_file", slow)
    with ThreadPoolExecutor(2) as pool:
        try:
            sent = [
                pool.submit(client.post, "/v1/documents", files={"file": (f"{at}.md", b"Bees.")}) for at in range(2)
            ]
            assert began.wait(60)
            while service.uploads.under_way < 2:
                time.sleep(0.01)
            refused = client.post("/v1/documents", files={"file": ("more.md", b"Bees.")})
            answered = client.post("/v1/query", json={"question": "Who lays eggs?"})
            at_once = len(begun)
        finally:
            end.set()
        assert [one.result().status_code for one in sent] == [200, 200]
    assert (refused.status_code, answered.status_code, at_once) == (503, 200, 1)
    assert int(refused.headers["retry-after"]) >= 1


def test_a_key_of_another_tenant_finds_nothing(client: Any, keys: Keys) -> None:
    _, acme = keys.create("acme", ["acme"])
    headers = bearer(acme)
    assert "Vulture" in client.post("/v1/query", json={"question": "rocket"}, headers=headers).json()["text"]
    citation = {"doc_id": "wayne:plan.md", "char_start": 0, "char_end": 5}
    assert client.post("/v1/resolve", json=citation, headers=headers).status_code == 404
    assert client.delete("/v1/documents", params={"doc_id": "wayne:plan.md"}, headers=headers).status_code == 404
    for scope in ("wayne", ["acme", "wayne"], [None]):
        answer = client.post("/v1/query", json={"question": "rocket", "scope": scope}, headers=headers)
        assert answer.status_code == 403
    upload = client.post("/v1/documents", files={"file": ("a.md", b"x")}, data={"scope": "wayne"}, headers=headers)
    assert upload.status_code == 403
    assert client.get("/v1/documents", params={"scope": "wayne"}, headers=headers).status_code == 403


@pytest.fixture
def spans() -> Iterator[Any]:
    """Return what keeps the OpenTelemetry spans of the test; the provider is one of the whole process, and stays."""
    from opentelemetry import trace  # noqa: PLC0415 - the environment serve has it
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: PLC0415
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: PLC0415

    if not isinstance(trace.get_tracer_provider(), TracerProvider):
        trace.set_tracer_provider(TracerProvider())
    provider, exporter = trace.get_tracer_provider(), InMemorySpanExporter()
    assert isinstance(provider, TracerProvider)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield exporter
    exporter.shutdown()


def call_mcp(client: Any, headers: dict[str, str], method: str, **params: Any) -> Any:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return client.post("/mcp", json=message, headers={**headers, "Accept": "application/json, text/event-stream"})


def test_two_tenants_and_64_clients_share_nothing(
    make_client: Any, keys: Keys, spans: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Every operation, all at once: no word of one tenant is in an answer, a header or a count of the other.

    Logs and spans, which operators see, have no word of either.
    """
    caplog.set_level(logging.DEBUG)
    client = make_client(threads=4, queue=200, key_rate=10_000, key_concurrency=1000, timeout_s=300, embed="hashing")
    words = {"acme": "vulture", "wayne": "batcave"}
    secrets = {name: keys.create(name, [name])[1] for name in words}
    leaks: list[str] = []
    statuses: set[int] = set()

    def look(tenant: str, answer: Any) -> Any:
        other = next(word for name, word in words.items() if name != tenant)
        if other in (answer.text + str(answer.headers)).lower():
            leaks.append(answer.text)
        statuses.add(answer.status_code)
        return answer

    def work(number: int) -> None:
        random_ = random.Random(number)
        tenant, other = random_.sample(sorted(words), 2)
        word, headers = words[tenant], bearer(secrets[tenant])
        name = f"note-{number % 8}.md"
        retrieval = {
            "knowledge_id": "default",
            "query": "What is planned?",
            "retrieval_setting": {"top_k": 50, "score_threshold": 0.0},
        }
        arguments = {"question": "What is planned?"}
        place = {"citation": write_citation(f"{other}:{name}", 0, 20, 0)}
        text = f"The {word} number {number} is planned. Nobody else may know of the {word}."
        steps = [
            lambda: client.post("/v1/documents", files={"file": (name, text)}, headers=headers),
            lambda: client.post("/v1/query", json={"question": "What is planned?", "trace": True}, headers=headers),
            lambda: client.post("/v1/query", json={"question": f"the {words[other][:4]}"}, headers=headers),
            lambda: client.get("/v1/documents", headers=headers),
            lambda: client.post("/v1/view", json={"question": "What is planned?"}, headers=headers),
            lambda: client.post("/v1/resolve", json={"doc_id": f"{other}:{name}", "chunk_id": 0}, headers=headers),
            lambda: client.post("/v1/prompt", json={"query": {"question": "planned"}}, headers=headers),
            lambda: client.post("/v1/query/batch", json={"requests": [{"question": "planned"}]}, headers=headers),
            lambda: client.delete("/v1/documents", params={"doc_id": f"{other}:{name}"}, headers=headers),
            lambda: client.post("/v1/compose", json={**COMPOSE, "scope": other}, headers=headers),
            lambda: client.post("/v1/query", json={"question": 5, "nonsense": word}, headers=headers),
            lambda: client.get("/metrics", headers=headers),
            lambda: client.post("/v1/vector_stores/default/search", json={"query": "planned"}, headers=headers),
            lambda: client.post("/retrieval", json=retrieval, headers=headers),
            lambda: client.post("/v1/rerank", json={"query": word, "documents": [text, "Rain."]}, headers=headers),
            lambda: client.post("/rerank", json={"query": word, "texts": [text, 5]}, headers=headers),
            lambda: call_mcp(client, headers, "tools/call", name="search", arguments=arguments),
            lambda: call_mcp(client, headers, "tools/call", name="open", arguments=place),
            lambda: client.post(
                "/v1/view", json={"question": "planned", "compare": {"effort": "full"}}, headers=headers
            ),
            lambda: client.post(
                "/v1/prompt/batch", json={"requests": [{"query": {"question": "planned"}}]}, headers=headers
            ),
            lambda: client.post(
                "/v1/resolve/batch", json={"requests": [{"doc_id": f"{other}:{name}", "chunk_id": 0}]}, headers=headers
            ),
            lambda: client.post("/v1/documents", files={"file": (name, "x")}, data={"scope": other}, headers=headers),
            lambda: client.get("/v1/documents", params={"scope": other}, headers=headers),
            lambda: client.get("/v1/indexes", headers=headers),
            lambda: client.get("/readyz"),
        ]
        for step in random_.sample(steps, len(steps)):
            look(tenant, step())

    with ThreadPoolExecutor(64) as pool:
        list(pool.map(work, range(64)))
    assert leaks == []
    assert statuses <= {200, 403, 404, 422}
    for tenant, word in words.items():
        headers = bearer(secrets[tenant])
        made = client.post("/v1/query", json={"question": "What is planned?"}, headers=headers).json()
        assert word in made["text"]
        listed = client.get("/v1/documents", headers=headers).json()["documents"]
        assert {one["doc_id"].partition(":")[0] for one in listed} == {tenant}
        place = {"citation": write_citation(listed[0]["doc_id"], 0, 20, 0)}
        assert word in call_mcp(client, headers, "tools/call", name="open", arguments=place).text
    lines = [JsonFormatter().format(one) for one in caplog.records if not one.name.startswith("httpx")]  # the client's
    recorded = [span.to_json() for span in spans.get_finished_spans()]
    assert sum('"event": "request"' in line for line in lines) > 64
    assert sum('"retrivex.compose"' in span for span in recorded) > 64
    assert [text for text in (*lines, *recorded) for word in words.values() if word in text.lower()] == []
