"""A server on a free port of this machine that takes JSON and answers as a test says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Any, TypeAlias

Answer: TypeAlias = tuple[int, Any, dict[str, str]]
"""Status, body (anything but text is written as JSON), headers."""


@contextmanager
def serving_json(answer: Callable[[str, dict[str, Any], str | None], Answer]) -> Iterator[str]:
    """Yield the address, without a path; `answer` is asked with path, body and Authorization of every POST."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, made, headers = answer(self.path, body, self.headers["Authorization"])
            text = made if isinstance(made, str) else json.dumps(made)
            try:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text.encode())
            except OSError:
                pass  # whoever asked has gone

        def log_message(self, *words: Any) -> None:
            pass

    with _running(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as address:
        yield address


@contextmanager
def serving_echoes() -> Iterator[str]:
    """Yield the address of a port that sends back all that it is sent, as is no HTTP."""

    class Handler(BaseRequestHandler):
        def handle(self) -> None:
            self.request.sendall(self.request.recv(65_536))

    with _running(ThreadingTCPServer(("127.0.0.1", 0), Handler)) as address:
        yield address


@contextmanager
def _running(server: ThreadingTCPServer | ThreadingHTTPServer) -> Iterator[str]:
    """Yield the address of a server that runs in a thread."""
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
