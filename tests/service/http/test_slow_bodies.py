"""Bodies that trickle: they count for their key while they come, and have to be there in time."""

from __future__ import annotations

import json
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support.service_process import ServiceProcess
from support.service_world import COMPOSE, make_index

from retrivex.service.keys import Keys

pytestmark = pytest.mark.integration

SECONDS = 6
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

        began = time.monotonic()
        trickle = Trickle(service.address, path, kind, slow, beginning)
        while (refused := compose(slow)).status_code == 200 and time.monotonic() < began + SECONDS:
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
