"""Over standard input and output: the protocol alone on it, one client, and its end."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.examples import ROOT
from support.service_world import make_index

from retrivex.stores import SQLiteStore

pytest.importorskip("mcp")

import anyio
from mcp import Client, StdioServerParameters, stdio_client

from .clients import environment, options, over_stdio, text_of

pytestmark = pytest.mark.integration

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a test", "version": "1"}},
}


def call(number: int, tool: str, **arguments: object) -> dict[str, object]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def test_nothing_but_the_protocol_is_written_to_standard_output(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "bees.md").write_text("# Bees\n\nA hive has one queen, Zenobia.", encoding="utf-8")
    (docs / "broken.pdf").write_bytes(b"%PDF-1.7 nothing")  # which is reported
    command = [sys.executable, "-m", "retrivex", "mcp", "docs", "--config", str(options(tmp_path))]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None
        messages = [HELLO, {"jsonrpc": "2.0", "method": "notifications/initialized"}]
        messages += [call(2, "search", question="Who is Zenobia?"), call(3, "open", citation="Zenobia")]
        lines = [json.dumps(message).encode() for message in messages]
        lines[2:2] = [b"no JSON", b"\xff\xfe", b"[]", b'{"jsonrpc": "2.0", "id": 9, "method": "Zenobia"}']
        server.stdin.write(b"\n".join(lines) + b"\n")
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(4)]
        server.stdin.close()
        assert server.stdout.read() == b""
        log = server.stderr.read().decode()
        assert server.wait(60) == 0
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)
    by_id = {answer["id"]: answer for answer in answers}
    assert "one queen" in by_id[2]["result"]["content"][0]["text"]
    assert by_id[3]["result"]["isError"] is True
    assert by_id[9]["error"]["code"] == -32601
    assert "1 added" in log
    assert "Zenobia" not in log


def test_a_scope_is_chosen_where_it_is_started_and_by_nobody_else(tmp_path: Path) -> None:
    make_index(tmp_path / "index.db")

    async def ask() -> None:
        arguments = [str(tmp_path / "index.db"), "--scope", "acme"]
        async with over_stdio(tmp_path, *arguments) as client:
            found = text_of(await client.call_tool("search", {"question": "Who plans a rocket?"}))
            assert "Vulture" in found
            assert "Bat" not in found
            assert (await client.call_tool("open", {"citation": "wayne:plan.md#0-5"})).is_error

    anyio.run(ask)


@pytest.mark.parametrize("program", ["claude", "cursor", "vscode"])
def test_the_printed_configuration_starts_a_server_from_anywhere(tmp_path: Path, program: str) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "docs" / "bees.md").write_text("A hive has one queen.", encoding="utf-8")
    command = [sys.executable, "-m", "retrivex", "mcp", "docs", "--config", options(tmp_path).name]
    given = {"cwd": tmp_path, "env": environment(), "capture_output": True, "encoding": "utf-8", "check": True}
    done = subprocess.run([*command, "--print-config", "--client", program], **given)
    block = json.loads(done.stdout)
    assert list(block) == ["servers" if program == "vscode" else "mcpServers"]
    server = next(iter(block.values()))["retrivex"]
    assert Path(server["command"]).is_absolute()
    assert not (tmp_path / "retrivex.db").exists()

    async def ask() -> None:
        where = StdioServerParameters(
            command=server["command"], args=server["args"], env=environment(), cwd=tmp_path / "elsewhere"
        )
        async with Client(stdio_client(where)) as client:
            found = await client.call_tool("search", {"question": "How many queens has a hive?"})
            assert "one queen" in text_of(found)

    anyio.run(ask)
    assert (tmp_path / "retrivex.db").exists()


CLIENT = """
import subprocess, sys, time
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
server.stdin.write(sys.stdin.buffer.read())
server.stdin.flush()
print(len(server.stdout.readline()), flush=True)
time.sleep(600)
"""


def test_the_server_of_a_client_that_is_killed_ends(tmp_path: Path) -> None:
    path = make_index(tmp_path / "index.db")
    server = [sys.executable, "-m", "retrivex", "mcp", str(path), "--config", str(options(tmp_path))]
    held, log = os.pipe()  # standard error of the server: at its end when no process holds it any more
    with subprocess.Popen(
        [sys.executable, "-c", CLIENT, *server],
        env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
    ) as client:  # fmt: skip
        os.close(log)
        assert client.stdin is not None
        assert client.stdout is not None
        client.stdin.write(json.dumps(HELLO).encode() + b"\n" + json.dumps(call(2, "search", question="eggs")).encode())
        client.stdin.write(b'\n{"jsonrpc": "2.0", "id": 3, "meth')  # and a message that it never ends
        client.stdin.close()
        assert int(client.stdout.readline()) > 0
        client.send_signal(signal.SIGKILL)
    said = b""
    while part := os.read(held, 65536) if select.select([held], [], [], 120)[0] else b"the server is still there":
        said += part
        assert b"still there" not in said
    os.close(held)
    assert b"Traceback" not in said
    with SQLiteStore(path, read_only=True) as store:
        assert store.get_document("bees.md") is not None


def test_the_blocks_of_the_page_are_what_is_printed(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "howto" / "mcp.md").read_text(encoding="utf-8")
    blocks = [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)]
    stdio = next(block for block in blocks if "command" in str(block))
    assert set(stdio) == {"mcpServers"}
    assert set(stdio["mcpServers"]["retrivex"]) == {"command", "args"}
