"""nginx with the configuration of `deploy/` in front of the service: what is slow, or too much, does not reach it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from support.examples import ROOT
from support.service_process import ServiceProcess
from support.service_world import COMPOSE, make_index

pytestmark = pytest.mark.integration

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
if NGINX is None and not os.environ.get("CI"):
    pytest.skip("nginx is not installed: .ci/install_nginx", allow_module_level=True)

_HEAD = "POST /v1/compose HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n"
Start = Callable[..., tuple[int, ServiceProcess]]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


def _connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=60)


def _read(connection: socket.socket) -> bytes:
    read = b""
    with suppress(ConnectionResetError):
        while part := connection.recv(65536):
            read += part
    return read


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Return what starts the service and a proxy in front of it, some of whose settings are changed for the test."""
    make_index(tmp_path / "retrivex.db")
    with ExitStack() as stack:

        def begin(changes: dict[str, str], **environment: str) -> tuple[int, ServiceProcess]:
            service = stack.enter_context(ServiceProcess(tmp_path, **environment))
            port = _free_port()
            given = {"listen 8000": f"listen 127.0.0.1:{port}", "127.0.0.1:8080": service.address[len("http://") :]}
            text = (ROOT / "deploy" / "nginx.conf").read_text(encoding="utf-8")
            for old, new in {**given, "/tmp/retrivex-nginx.pid": str(tmp_path / "nginx.pid"), **changes}.items():
                assert text.count(old) == 1, old
                text = text.replace(old, new)
            (tmp_path / "nginx.conf").write_text(text, encoding="utf-8")
            command = [str(NGINX), "-c", str(tmp_path / "nginx.conf"), "-g", "daemon off;"]
            proxy = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            stack.callback(proxy.wait)
            stack.callback(proxy.terminate)
            for _ in range(300):
                with suppress(OSError), _connect(port):
                    return port, service
                time.sleep(0.1)
            raise AssertionError("nginx does not listen")

        yield begin


def _requests(service: ServiceProcess) -> int:
    return service.log().count('"route": "/v1/compose"')


def test_a_request_is_handed_on_with_its_host_and_answered(start: Start) -> None:
    import httpx  # noqa: PLC0415 - of the environment serve alone

    port, service = start({})
    address = f"http://localhost:{port}"
    answer = httpx.post(f"{address}/v1/compose", json=COMPOSE, headers={"Origin": address})
    assert "queen" in answer.json()["text"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    elsewhere = httpx.post(f"{address}/v1/compose", json=COMPOSE, headers={"Host": "evil.example"})
    assert elsewhere.json()["type"] == "urn:retrivex:problem:origin"
    assert httpx.post(f"{address}/v1/compose", content=b" " * 40 * 1024**2).status_code == 413
    assert _requests(service) <= 2  # what is too large never came


def test_a_slow_sender_does_not_reach_the_service(start: Start) -> None:
    port, service = start({"client_body_timeout 10s": "client_body_timeout 1s"}, RETRIVEX_MAX_CONNECTIONS="4")
    slow = [_connect(port) for _ in range(30)]
    for connection in slow:  # more than the service has connections for
        connection.sendall(_HEAD.format(1000).encode() + b"{")
    answered: list[bytes] = []
    for _ in range(3):
        with _connect(port) as other:
            other.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            answered.append(_read(other).split(b"\r\n")[0])
    assert answered == [b"HTTP/1.1 200 OK"] * 3
    assert {_read(connection) for connection in slow} == {b""}  # closed, as nobody would read why
    for connection in slow:
        connection.close()
    assert _requests(service) == 0


def test_a_flood_of_connections_is_turned_away_before_the_service(start: Start) -> None:
    slower = {"limit_conn connections 50": "limit_conn connections 5"}
    port, service = start({**slower, "client_body_timeout 10s": "client_body_timeout 2s"})
    flood = [_connect(port) for _ in range(40)]
    for connection in flood:
        connection.sendall(_HEAD.format(1000).encode() + b"{")
    statuses = [_read(connection)[9:12] for connection in flood]
    for connection in flood:
        connection.close()
    assert statuses.count(b"429") >= 30
    assert set(statuses) == {b"429", b""}  # those that were let in are too slow
    assert _requests(service) == 0
