"""What language models are asked as rerankers is what OpenAI's client would send."""

from __future__ import annotations

from typing import Any

import pytest
from support.json_server import serving_json

from retrivex.rerank.llm import ListwiseReranker

openai = pytest.importorskip("openai")

pytestmark = pytest.mark.integration


def test_the_request_is_that_of_the_official_client() -> None:
    asked: list[Any] = []
    message = {"role": "assistant", "content": '{"order": [2, 1]}'}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    made = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}

    def answer(path: str, body: dict[str, Any], key: str | None) -> tuple[int, Any, dict[str, str]]:
        asked.append((path, body, key))
        return 200, made, {"Content-Type": "application/json"}

    with serving_json(answer) as address:
        with ListwiseReranker(f"{address}/v1", "m", api_key="key-1") as reranker:
            assert reranker.score("q", ["a", "b"]).tolist() == [0.5, 1]
        with openai.OpenAI(base_url=f"{address}/v1", api_key="key-1") as client:
            completion = client.chat.completions.create(**asked[0][1])
    assert completion.choices[0].message.content == '{"order": [2, 1]}'
    assert asked[0] == asked[1]
