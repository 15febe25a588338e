"""Requests that trickle: bodies count for their key while they come, and all has to be there in time."""

from __future__ import annotations

import json
import os
import select
import socket
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from support.service_process import ServiceProcess
from support.service_world import COMPOSE, make_index

from retrivex.service.keys import Keys

pytestmark = pytest.mark.integration

SECONDS = 6
MOST_LOOKS = 600
BEGINNING = b'--part\r\nContent-Disposition: form-data; name="file"; filename="a.md"\r\n\r\n'


class Trickle:
    """A request whose body comes a byte at a time, until it is answered."""

    def __init__(self, address: str, path: str, kind: str, secret: str, beginning: bytes = b"") -> None:
        host, _, port = address.removeprefix("http://").partition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=60)
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: {kind}\r\nContent-Length: 100000\r\n"
            f"Authorization: Bearer {secret}\r\nAccept: application/json, text/event-stream\r\n\r\n"
        )
        self._socket.sendall(head.encode() + beginning)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._send, daemon=True)
        self._thread.start()

    def _send(self) -> None:
        with suppress(OSError):
            while not self._ended.wait(0.1):
                self._socket.sendall(b" ")

    def is_answered(self) -> bool:
        """Return whether an answer, or the end of the connection, is there."""
        return bool(select.select([self._socket], [], [], 0)[0])

    def answer(self) -> tuple[bytes, Any]:
        """Return head and problem of the answer, behind which the connection ends."""
        read = b""
        with suppress(ConnectionResetError):  # of what was still on its way
            while part := self._socket.recv(65536):
                read += part
        self.end()
        head, _, body = read.partition(b"\r\n\r\n")
        return head, json.loads(body)

    def end(self) -> None:
        """Break off."""
        self._ended.set()
        self._thread.join()
        self._socket.close()


@pytest.mark.parametrize(
    ("path", "kind", "beginning"),
    [
        ("/v1/query", "application/json", b""),
        ("/v1/documents", "multipart/form-data; boundary=part", BEGINNING),
        ("/mcp", "application/json", b""),
    ],
)
def test_a_body_that_trickles_counts_for_its_key_and_is_given_up(
    tmp_path: Path, path: str, kind: str, beginning: bytes
) -> None:
    import httpx  # noqa: PLC0415 - of the environment serve alone

    make_index(tmp_path / "retrivex.db")
    keys = Keys(tmp_path / "keys.db")
    (_, slow), (_, other) = keys.create("slow"), keys.create("other")
    limits = {"RETRIVEX_TIMEOUT_S": str(SECONDS), "RETRIVEX_KEY_CONCURRENCY": "1"}
    with ServiceProcess(tmp_path, **limits) as service, httpx.Client(base_url=service.address, timeout=60) as client:

        def compose(secret: str) -> Any:
            return client.post("/v1/compose", json=COMPOSE, headers={"Authorization": f"Bearer {secret}"})

        trickle = Trickle(service.address, path, kind, slow, beginning)
        while (refused := compose(slow)).status_code == 200 and not trickle.is_answered():
            time.sleep(0.05)
        assert refused.status_code == 429
        assert "1 request under way" in refused.json()["detail"]
        assert compose(other).status_code == 200
        head, problem = trickle.answer()
        assert head.startswith(b"HTTP/1.1 408")
        assert (problem["status"], problem["type"]) == (408, "urn:retrivex:problem:slow")
        assert f"within {SECONDS} s" in problem["detail"]
        assert compose(slow).status_code == 200
        assert "failed" not in service.log()


def test_a_body_that_breaks_off_is_no_failure_of_the_service(tmp_path: Path) -> None:
    make_index(tmp_path / "retrivex.db")
    _, secret = Keys(tmp_path / "keys.db").create("slow")
    with ServiceProcess(tmp_path) as service:
        for path, kind in (("/v1/query", "application/json"), ("/v1/documents", "multipart/form-data; boundary=part")):
            Trickle(service.address, path, kind, secret, BEGINNING).end()
        for _ in range(200):
            if service.log().count('"status": 400') == 2:
                break
            time.sleep(0.1)
        assert service.log().count('"status": 400') == 2
        assert "failed" not in service.log()


# what is sent at once, and what trickles behind it
_POST = "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {}\r\nContent-Length: 100000\r\n\r\n"
_GET = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
SLOW = {
    "nothing": ("", b"", b""),
    "half a header": (_GET, b"", b""),
    "a header that trickles": (_GET + "X-Long: ", b"x", b""),
    "a body behind a 404": (_POST.format("/v1/nothing", "application/json"), b" ", b"404"),
    "a body behind a 415": (_POST.format("/v1/query", "text/plain"), b" ", b"415"),
    "a body of a GET": (_GET + "Content-Length: 100000\r\n\r\n", b" ", b"200"),
    "half a header behind an answer": (_GET + "\r\n" + _GET, b"", b"200"),
    "a header that trickles behind an answer": (_GET + "\r\n" + _GET + "X-Long: ", b"x", b"200"),
}


def _connect(address: str) -> socket.socket:
    host, _, port = address.removeprefix("http://").partition(":")
    return socket.create_connection((host, int(port)), timeout=60)


def _is_healthy(address: str) -> bool:
    with suppress(OSError), _connect(address) as connection:
        connection.sendall((_GET + "Connection: close\r\n\r\n").encode())
        return connection.recv(65536).startswith(b"HTTP/1.1 200")
    return False


def _outlast(address: str, sent: str, trickle: bytes) -> tuple[int, bytes]:
    """Return how often a connection was looked at until nothing could be sent or read any more, and what was read."""
    looks, read, ended = 0, b"", False
    with suppress(ConnectionResetError, BrokenPipeError), _connect(address) as connection:
        connection.sendall(sent.encode())
        connection.settimeout(0.2)
        while looks < MOST_LOOKS:
            looks += 1
            if trickle:
                connection.sendall(trickle)
            if ended:  # the other side says no more, and may still listen
                time.sleep(0.2)
                continue
            with suppress(TimeoutError):
                part = connection.recv(65536)
                read += part
                ended = not part
                if ended and not trickle:
                    break
    return looks, read


def test_a_connection_ends_where_its_request_does_not_come(tmp_path: Path) -> None:
    make_index(tmp_path / "retrivex.db")
    with ServiceProcess(tmp_path, RETRIVEX_TIMEOUT_S="5") as service:
        found: dict[str, tuple[int, bytes]] = {}

        def outlast(name: str) -> None:
            sent, trickle, _ = SLOW[name]
            found[name] = _outlast(service.address, sent, trickle)

        threads = [threading.Thread(target=outlast, args=(name,)) for name in SLOW]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for name, (_, _, status) in SLOW.items():
            looks, read = found[name]
            assert 4 < looks < MOST_LOOKS, name  # neither at once, which the fourth look sees at the latest, nor never
            assert read.startswith(b"HTTP/1.1 " + status if status else b""), name
            assert bool(read) == bool(status), name
            assert (b"connection: close" in read.lower()) == (name.startswith("a body")), name
        assert _is_healthy(service.address)


def test_a_refused_upload_can_read_why(tmp_path: Path) -> None:
    make_index(tmp_path / "retrivex.db")
    with ServiceProcess(tmp_path, RETRIVEX_MAX_BODY_BYTES="1024") as service, _connect(service.address) as connection:
        size = 20_000_000
        head = f"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n\r\n"
        connection.sendall(head.encode() + b" " * size)  # all of it before the answer is read
        assert connection.recv(65536).startswith(b"HTTP/1.1 413")


def test_an_answer_that_nobody_takes_ends_its_connection(tmp_path: Path) -> None:
    make_index(tmp_path / "retrivex.db")
    with ServiceProcess(tmp_path, RETRIVEX_TIMEOUT_S="2") as service, _connect(service.address) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        ask = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
        asks = ask * 1_000_000  # more than the buffers between the two hold
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            connection.sendall(asks)


def test_connections_beyond_the_limit_are_closed_and_the_others_answered(tmp_path: Path) -> None:
    make_index(tmp_path / "retrivex.db")
    limits = {"RETRIVEX_TIMEOUT_S": "3", "RETRIVEX_MAX_CONNECTIONS": "4"}
    with ServiceProcess(tmp_path, **limits) as service:
        waiting = [_connect(service.address) for _ in range(4)]
        for connection in waiting:
            connection.sendall(_GET.encode())
        time.sleep(0.5)
        assert not _is_healthy(service.address)
        waiting[0].sendall(b"\r\n")
        assert waiting[0].recv(65536).startswith(b"HTTP/1.1 200")
        while not _is_healthy(service.address):  # once those that wait have had their time
            time.sleep(0.2)
        for connection in waiting:
            connection.close()


@pytest.mark.skipif(os.name != "posix", reason="without limits of file descriptors")
def test_more_connections_than_descriptors_do_no_harm(tmp_path: Path) -> None:
    import resource  # noqa: PLC0415

    make_index(tmp_path / "retrivex.db")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, before[1]))
    try:
        service = ServiceProcess(tmp_path, RETRIVEX_TIMEOUT_S="3").__enter__()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    with ExitStack() as stack:
        stack.push(service)
        waiting = [_connect(service.address) for _ in range(80)]
        for connection in waiting:
            with suppress(OSError):
                connection.sendall(_GET.encode())
        while not _is_healthy(service.address):
            time.sleep(0.2)
        for connection in waiting:
            connection.close()
        lines = [json.loads(line) for line in service.log().splitlines() if line.startswith("{")]
        assert [line["event"] for line in lines if "refused" in line["event"]]
        assert [line for line in lines if line["event"] == "asyncio"] == []
        assert "Traceback" not in service.log()
