"""At /mcp of the service: its keys, scopes, limits and logs hold for the protocol as for everything else."""

from __future__ import annotations

import json
import logging
import re
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.examples import ROOT
from support.service_process import ServiceProcess
from support.service_world import make_index

from retrivex.service.keys import Keys
from retrivex.service.logs import JsonFormatter

pytest.importorskip("mcp")

import anyio
import httpx2
from mcp import Client, MCPError

from .clients import ADDRESS, environment, over_http, over_requests, requests, serving, text_of

pytestmark = pytest.mark.integration

ROCKET = {"question": "Who plans a rocket, called Vulture or Bat?"}
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", "arguments": ROCKET}}
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


def make_keys(folder: Path, *scopes: str) -> list[str]:
    keys = Keys(folder / "keys.db")
    return [keys.create(scope, [scope])[1] for scope in scopes]


async def everything(client: Any) -> str:
    """Return all that a client is shown, whatever it asks for."""
    shown = []
    for arguments in (ROCKET, {**ROCKET, "scope": "wayne"}, {**ROCKET, "index": "wayne"}):
        shown.append((await client.call_tool("search", arguments)).model_dump_json())
    for citation in ("wayne:plan.md#0-10", "wayne:plan.md#chunk-0", "acme:plan.md#0-10"):
        shown.append((await client.call_tool("open", {"citation": citation})).model_dump_json())
    return "\n".join(shown)


def test_a_key_sees_its_own_scope_and_nothing_of_another(tmp_path: Path) -> None:
    make_index(tmp_path / "index.db")
    acme, wayne = make_keys(tmp_path, "acme", "wayne")

    async def ask() -> None:
        async with serving(tmp_path) as app:
            async with over_http(app, acme) as client:
                shown = await everything(client)
                assert "Acme plans a rocket called Vulture." in shown
                assert "Wayne plans" not in shown
            async with over_http(app, wayne) as client:
                shown = await everything(client)
                assert "Wayne plans a rocket called Bat." in shown
                assert "Acme plans" not in shown

    anyio.run(ask)


def test_without_a_key_nobody_gets_in(tmp_path: Path) -> None:
    make_index(tmp_path / "index.db")
    [acme] = make_keys(tmp_path, "acme")

    async def ask() -> None:
        async with serving(tmp_path) as app:
            for secret in (None, "nonsense", f"{acme}x"):
                async with requests(app, secret) as http:
                    answer = await http.post("/mcp", json=CALL, headers=HEADERS)
                    assert answer.status_code == 401
                    assert answer.headers["www-authenticate"] == "Bearer"
                    assert answer.json()["type"] == "urn:retrivex:problem:unauthorized"
            async with requests(app, acme) as http:
                answer = await http.post("/mcp", json=CALL, headers=HEADERS)
                assert "Vulture" in answer.json()["result"]["content"][0]["text"]
                keys = Keys(tmp_path / "keys.db")
                keys.revoke(acme.split("_")[1])
                assert (await http.post("/mcp", json=CALL, headers=HEADERS)).status_code == 401

    anyio.run(ask)


def test_pages_of_somebody_else_and_large_bodies_are_refused(tmp_path: Path) -> None:
    make_index(tmp_path / "index.db")

    async def ask() -> None:
        async with serving(tmp_path, max_body_bytes=2000) as app, requests(app) as http:
            for evil in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}):
                answer = await http.post("/mcp", json=CALL, headers={**HEADERS, **evil})
                assert answer.status_code == 403
            large = {**CALL, "params": {"name": "search", "arguments": {"question": "x" * 2000}}}
            assert (await http.post("/mcp", json=large, headers=HEADERS)).status_code == 413
            for method in ("GET", "DELETE"):  # there are no streams and no sessions that could be held open
                answer = await http.request(method, "/mcp", headers=HEADERS)
                assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
            for body in (b"", b"{", b"[]", b"\xff", b"[" * 1000, b'{"jsonrpc": "2.0", "id": 1}'):
                assert (await http.post("/mcp", content=body, headers=HEADERS)).status_code == 400
            assert (await http.post("/mcp", json=CALL, headers=HEADERS)).status_code == 200

    anyio.run(ask)


def test_the_rate_of_a_key_holds_and_the_model_is_told_when_to_come_again(tmp_path: Path) -> None:
    make_index(tmp_path / "index.db")
    [acme] = make_keys(tmp_path, "acme")

    async def ask() -> None:
        async with serving(tmp_path, key_rate=0.01) as app, over_http(app, acme) as client:
            assert not (await client.call_tool("search", ROCKET)).is_error
            second = await client.call_tool("search", ROCKET)
            assert second.is_error
            assert re.search(r"asks more than 0\.01 times a second.*\(ask again in \d+ s\)", text_of(second))

    anyio.run(ask)


def test_a_call_that_takes_too_long_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_index(tmp_path / "index.db")

    async def ask() -> None:
        async with serving(tmp_path, timeout_s=0.2) as app, over_http(app) as client:
            import threading  # noqa: PLC0415

            end = threading.Event()
            engine = app.state.service.engine
            with monkeypatch.context() as patch:
                patch.setattr(engine, "query", lambda *_: end.wait(60))
                answer = await client.call_tool("search", ROCKET)
            end.set()
            assert answer.is_error
            assert "longer than 0.2 s" in text_of(answer)

    anyio.run(ask)


def test_several_indexes_are_named_and_searched(tmp_path: Path) -> None:
    from retrivex import Document  # noqa: PLC0415

    make_index(tmp_path / "index.db")
    law = make_index(tmp_path / "law.db", Document("code.md", "Theft is forbidden."))

    async def ask() -> None:
        async with serving(tmp_path, indexes={"law": law}) as app, over_http(app) as client:
            for tool in (await client.list_tools()).tools:
                assert tool.input_schema["properties"]["index"]["enum"] == ["default", "law"]
            found = await client.call_tool("search", {"question": "Is theft forbidden?", "index": "law"})
            assert "Theft" in text_of(found)

    anyio.run(ask)


def test_logs_name_the_route_and_nothing_of_a_call(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_index(tmp_path / "index.db")

    def fail(*_: Any) -> Any:
        raise KeyError("text of a rocket")

    async def ask() -> None:
        async with serving(tmp_path) as app, over_http(app) as client:
            await client.call_tool("search", ROCKET)
            await client.call_tool("open", {"citation": "rocket.md#0-5"})
            with pytest.raises(MCPError):
                await client.call_tool("rocket", {})
            monkeypatch.setattr(app.state.service.engine, "query", fail)
            failed = await client.call_tool("search", ROCKET)
            assert failed.is_error
            assert "rocket" not in text_of(failed)
            async with requests(app) as http:
                await http.post("/mcp", content=b'{"rocket', headers=HEADERS)

    with caplog.at_level(logging.INFO):
        anyio.run(ask)
    kept = [record for record in caplog.records if record.name.partition(".")[0] in ("retrivex", "mcp", "uvicorn")]
    lines = [JsonFormatter().format(record) for record in kept]
    assert "rocket" not in "".join(lines).lower()
    routes = [json.loads(line).get("route") for line in lines]
    assert routes.count("/mcp") > 4
    assert [json.loads(line)["error"] for line in lines if '"failed"' in line] == ["KeyError"]


def test_calls_are_traced_without_a_word_of_theirs(tmp_path: Path) -> None:
    """In a process of its own, as a tracer provider is that of the whole process."""
    make_index(tmp_path / "index.db")
    program = """
import sys
from pathlib import Path
import anyio
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from service.mcp.clients import over_http, serving

spans = InMemorySpanExporter()
trace.set_tracer_provider(TracerProvider())
trace.get_tracer_provider().add_span_processor(SimpleSpanProcessor(spans))

async def ask():
    async with serving(Path(sys.argv[1])) as app:
        async def traced(scope, receive, send):
            with trace.get_tracer("app").start_as_current_span("request"):
                await app(scope, receive, send)
        for mode in ("auto", "legacy"):
            async with over_http(traced, mode=mode) as client:
                await questions(client)

async def questions(client):
    await client.call_tool("search", {"question": "Where is the treasure?"})

anyio.run(ask)
for span in spans.get_finished_spans():
    if span.kind.name == "CLIENT":
        continue  # of the client of this program
    print(span.to_json(indent=None))
"""
    paths = ":".join([str(ROOT), str(ROOT / "tests"), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        env={**environment(), "PYTHONPATH": paths}, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "treasure" not in done.stdout
    spans = [json.loads(line) for line in done.stdout.splitlines()]
    requests_seen = {span["context"]["span_id"] for span in spans if span["name"] == "request"}
    composed = [span for span in spans if span["name"] == "retrivex.compose"]
    assert len(composed) == 2
    assert {span["parent_id"] for span in composed} <= requests_seen


def test_workers_answer_in_turn_and_a_client_that_breaks_off_harms_nobody(tmp_path: Path) -> None:
    path = make_index(tmp_path / "index.db")
    with ServiceProcess(tmp_path, str(path), "--workers", "2") as service:
        host, port = service.address.removeprefix("http://").split(":")
        body = json.dumps(CALL).encode()
        head = [f"POST /mcp HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: {len(body)}"]
        head += [f"{name}: {value}" for name, value in HEADERS.items()]
        whole = "\r\n".join([*head, "", ""]).encode() + body
        for number in range(40):
            with socket.create_connection((host, int(port)), timeout=60) as broken:
                # closed by a reset, as the connections of a process that is killed in the middle
                broken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                broken.sendall(whole if number % 2 else whole[:-20])

        async def answer(client: Client) -> str:
            said = "ask again"
            while "ask again" in said:  # what was broken off may be under way still
                await anyio.sleep(0.1)
                said = text_of(await client.call_tool("search", {"question": "Who lays eggs?"}))
            return said

        async def ask() -> None:
            for mode in ("auto", "legacy"):
                async with httpx2.AsyncClient(timeout=60) as http, over_requests(http, service.address, mode) as client:
                    for _ in range(10):  # a connection each time would go to any worker; there are no sessions
                        assert "eggs" in await answer(client)

        anyio.run(ask)
        log = service.log()
    assert "rocket" not in log
    assert '"event": "failed"' not in log


def test_the_example_of_the_page_runs(tmp_path: Path) -> None:
    path = make_index(tmp_path / "index.db")
    page = (ROOT / "docs" / "howto" / "mcp.md").read_text(encoding="utf-8")
    [program] = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    with ServiceProcess(tmp_path, str(path)) as service:
        program = program.replace("http://127.0.0.1:8080", service.address)
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment(), capture_output=True, encoding="utf-8", check=False
        )
    assert done.returncode == 0, done.stderr
    assert "Sources" in done.stdout or "No passage was found" in done.stdout
    assert service.address != ADDRESS
