"""An OpenAI-compatible server on a free port of this machine, with a position bias that is known."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from support.json_server import Answer, serving_json

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
        self.release.wait()
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
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
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

    def respond(path: str, body: dict[str, Any], key: str | None) -> Answer:
        if path != "/v1/chat/completions":
            return 404, {"error": {"message": f"no such path: {path}"}}, {"Content-Type": "application/json"}
        status, made, headers = said.handle(body, key)
        return status, made, {"Content-Type": "application/json"} | headers

    with serving_json(respond) as address:
        said.url = f"{address}/v1"
        try:
            yield said
        finally:
            said.release.set()
