"""An OpenAI-compatible server on a free port of this machine, with a position bias that is known."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

Answer: TypeAlias = tuple[int, Any, dict[str, str]]
"""Status, body (anything but text is written as JSON), headers."""

QUESTION = re.compile(r"Question: What is the registration number of the (.+)\?")
NUMBER = re.compile(r"The registration number of the (.+?) is (\d+)\.")


class ModelServer:
    """What the server is to do, and what it was asked.

    `faults` are given in place of answers, one after another; then `answer` is asked for the text of an answer.
    """

    def __init__(self, answer: Callable[[dict[str, Any]], str]) -> None:
        self.answer = answer
        self.faults: list[Answer | Callable[[dict[str, Any]], Answer]] = []
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.most_at_once = 0
        self.counts_tokens = True
        self.release = threading.Event()
        self.url = ""
        self._at_once = 0
        self._lock = threading.Lock()

    def hang(self, body: dict[str, Any]) -> Answer:
        self.release.wait(20)
        return 200, {}, {}

    def handle(self, body: dict[str, Any], key: str | None) -> Answer:
        with self._lock:
            self.asked.append(body)
            self.keys.append(key)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            fault = self.faults.pop(0) if self.faults else None
        try:
            if fault is not None:
                return fault if isinstance(fault, tuple) else fault(body)
            return 200, self.completion(body), {}
        finally:
            with self._lock:
                self._at_once -= 1

    def completion(self, body: dict[str, Any]) -> dict[str, Any]:
        text = self.answer(body)
        made: dict[str, Any] = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [
                {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"},
            ],
        }
        if self.counts_tokens:
            made["usage"] = {
                "prompt_tokens": sum(len(message["content"].split()) for message in body["messages"]),
                "completion_tokens": len(text.split()),
                "total_tokens": 0,
            }
        return made


def prompt_of(body: dict[str, Any]) -> str:
    return str(body["messages"][-1]["content"])


def draw(text: str) -> float:
    """Return a number in [0, 1) that is always the same for a text, and looks random."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") / 2**48


def biased(right_at: Callable[[float], float]) -> Callable[[dict[str, Any]], str]:
    """Answer rightly with a probability that depends on the relative place of the needle among the words."""

    def answer(body: dict[str, Any]) -> str:
        prompt = prompt_of(body)
        text = prompt.partition("<text>\n")[2].partition("\n</text>")[0]
        asked = QUESTION.search(prompt)
        assert asked is not None
        found = next(needle for needle in NUMBER.finditer(text) if needle[1] == asked[1])
        place = (len(text[: found.start()].split()) + len(found[0].split()) / 2) / len(text.split())
        return f"It is {found[2]}." if draw(prompt) < right_at(place) else "It is 1234."

    return answer


@contextmanager
def serving(answer: Callable[[dict[str, Any]], str]) -> Iterator[ModelServer]:
    said = ModelServer(answer)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path != "/v1/chat/completions":
                self.reply(404, {"error": {"message": f"no such path: {self.path}"}}, {})
                return
            self.reply(*said.handle(body, self.headers["Authorization"]))

        def reply(self, status: int, made: Any, headers: dict[str, str]) -> None:
            text = made if isinstance(made, str) else json.dumps(made)
            try:
                self.send_response(status)
                for name, value in ({"Content-Type": "application/json"} | headers).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text.encode())
            except OSError:
                pass  # whoever asked has gone

        def log_message(self, *words: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    said.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield said
    finally:
        said.release.set()
        server.shutdown()
        server.server_close()
        thread.join()
