"""An endpoint that fails in every way, on a server of our own, asked through the official client."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.model_server import ModelServer, prompt_of, serving

from retrivex.errors import EndpointError, StoreError
from retrivex.evaluation.answers import ModelReply, ModelRequest

endpoint_module = pytest.importorskip("retrivex.evaluation.answers.endpoint", exc_type=ImportError)
Endpoint = endpoint_module.Endpoint

pytestmark = pytest.mark.integration

ASKED = [ModelRequest(f"Say {number}.", 16) for number in range(12)]


def echo(body: dict[str, Any]) -> str:
    return prompt_of(body).removeprefix("Say ")


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the client ask again at once."""
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.0)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serving(echo) as made:
        yield made


def ask(server: ModelServer, requests: list[ModelRequest] | None = None, **said: Any) -> tuple[list[ModelReply], Any]:
    with Endpoint(server.url, "m", **said) as endpoint:
        return endpoint.ask(ASKED if requests is None else requests), endpoint.usage


def fault(status: int, made: Any = None, **headers: str) -> Any:
    words = {"error": {"message": "no room", "code": None}} if made is None else made
    return status, words, {name.replace("_", "-"): value for name, value in headers.items()}


def test_replies_come_in_the_order_of_the_requests(server: ModelServer) -> None:
    replies, usage = ask(server, concurrency=4)
    assert [reply.text for reply in replies] == [f"{number}." for number in range(12)]
    assert (usage.sent, usage.answered, usage.prompt_tokens, usage.answer_tokens) == (12, 12, 24, 12)
    assert usage.estimated_tokens == 0


def test_so_many_requests_are_under_way_as_may_be(server: ModelServer) -> None:
    meeting = threading.Barrier(4, timeout=600)

    def wait(body: dict[str, Any]) -> str:
        meeting.wait()  # breaks if there are fewer
        return "together"

    server.answer = wait
    replies, _ = ask(server, concurrency=4)
    assert [reply.text for reply in replies] == ["together"] * 12
    assert server.most_at_once == 4


def test_what_is_sent(server: ModelServer) -> None:
    ask(server, [ModelRequest("Say a.", 16, system="Be short.")], api_key="secret", seed=7, concurrency=1)
    assert server.asked == [
        {
            "model": "m",
            "messages": [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Say a."}],
            "temperature": 0,
            "seed": 7,
            "max_tokens": 16,
        }
    ]
    assert server.keys == ["Bearer secret"]


def test_options_take_the_place_of_settings(server: ModelServer) -> None:
    ask(server, ASKED[:1], options={"temperature": None, "max_tokens": None, "max_completion_tokens": 500, "top_k": 1})
    sent = {name: value for name, value in server.asked[0].items() if name not in ("model", "messages")}
    assert sent == {"seed": 0, "max_completion_tokens": 500, "top_k": 1}


def test_the_key_is_not_shown(server: ModelServer) -> None:
    with Endpoint(server.url, "m", api_key="secret") as endpoint:
        assert "secret" not in repr(endpoint)


def test_half_a_surrogate_pair_is_no_hindrance(server: ModelServer) -> None:
    (reply,), _ = ask(server, [ModelRequest("Say \ud800.", 5)])
    assert reply.text is not None


# ---- failures that may pass


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_what_may_pass_is_asked_again(server: ModelServer, status: int) -> None:
    server.faults = [fault(200, server.completion(_body())), fault(status), fault(status)]
    (_, reply), usage = ask(server, ASKED[:2], concurrency=1)
    assert reply == ModelReply("1.")
    assert (usage.answered, usage.unanswered, len(server.asked)) == (2, 0, 4)


@pytest.mark.parametrize("body", ["<html>busy</html>", "", "{", "[]", "null", '{"choices": []}', '{"choices": [{}]}'])
def test_an_answer_that_is_none_is_a_problem(server: ModelServer, body: str) -> None:
    server.faults = [fault(200, body)]
    (reply, other), _ = ask(server, ASKED[:2], concurrency=1)
    assert "no answer that can be read" in str(reply.problem)
    assert other == ModelReply("1.")


def test_what_fails_to_the_last_is_a_reply_with_a_problem(server: ModelServer) -> None:
    server.faults = [fault(500)] * 3
    (reply, other), usage = ask(server, ASKED[:2], retries=1, concurrency=1)
    assert reply.text is None
    assert "failed with status 500" in str(reply.problem)
    assert "no room" in str(reply.problem)
    assert other.text == "1."
    assert (usage.answered, usage.unanswered) == (1, 1)


def test_a_time_out_is_asked_again(server: ModelServer) -> None:
    server.faults = [server.hang]
    (reply,), _ = ask(server, ASKED[:1], timeout_s=2.0)
    assert reply.text == "0."


def test_where_nobody_answers_it_is_told_at_once() -> None:
    said = r"9/v1 cannot be reached \(Connection refused\): start the server"
    with Endpoint("http://127.0.0.1:9/v1", "m") as endpoint, pytest.raises(EndpointError, match=said):
        endpoint.ask(ASKED)


def test_a_server_that_goes_away_ends_the_run(server: ModelServer) -> None:
    with Endpoint(server.url, "m", retries=0) as endpoint:
        assert endpoint.ask(ASKED[:1])[0].text is not None
        endpoint._client.base_url = "http://127.0.0.1:9/v1"
        with pytest.raises(EndpointError, match=r"8 requests in a row were not answered.*cannot be reached"):
            endpoint.ask(ASKED)
        assert endpoint.usage.answered == 1


def test_failures_with_answers_between_them_do_not_end_the_run(server: ModelServer) -> None:
    server.answer = lambda body: "fine"
    server.faults = [fault(400) if number % 2 else fault(200, server.completion(_body())) for number in range(40)]
    replies, usage = ask(server, [ModelRequest(f"Say {number}.", 5) for number in range(40)], concurrency=1)
    assert sum(reply.text is None for reply in replies) == usage.unanswered == 20


def _body() -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": "Say a."}]}


# ---- failures that do not pass


@pytest.mark.parametrize(("status", "said"), [(401, "API key"), (403, "may use this model"), (404, "ends in /v1")])
def test_a_refusal_ends_everything_at_once(server: ModelServer, status: int, said: str) -> None:
    server.faults = [fault(status)]
    with pytest.raises(EndpointError, match=rf"refused with status {status}: .*{said}.*no room") as caught:
        ask(server, concurrency=1)
    assert len(server.asked) == 1
    assert "\n" not in str(caught.value)


def test_a_quota_that_is_used_up_ends_everything(server: ModelServer) -> None:
    server.faults = [fault(429, {"error": {"message": "pay", "code": "insufficient_quota"}})] * 2
    with pytest.raises(EndpointError, match="quota is used up"):
        ask(server, concurrency=1, retries=0)


def test_a_wrong_path_is_said(server: ModelServer) -> None:
    server.url = server.url.removesuffix("/v1")
    with pytest.raises(EndpointError, match=r"404.*ends in /v1"):
        ask(server, ASKED[:1])


def test_a_prompt_that_is_refused_does_not_stop_the_others(server: ModelServer) -> None:
    server.faults = [fault(400, {"error": {"message": "maximum context length"}})]
    (first, second), usage = ask(server, ASKED[:2], concurrency=1)
    assert first.text is None
    assert "maximum context length" in str(first.problem)
    assert second.text == "1."
    assert usage.sent == 2  # not asked again


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"url": "localhost:8000"}, "url is 'localhost:8000'"),
        ({"url": "http://u:S3 CRET@host"}, "url has white space, quotes, .* is not repeated here"),
        ({"model": " "}, "model is ' '"),
        ({"api_key": "a\n"}, "api_key"),
    ],
)
def test_what_cannot_be_asked_is_one_clear_error(said: dict[str, Any], message: str) -> None:
    with pytest.raises(EndpointError, match=message):
        Endpoint(**{"url": "http://localhost/v1", "model": "m", **said})


# ---- the cap


def test_the_cap_is_kept_and_what_is_done_is_returned(server: ModelServer) -> None:
    # each prompt is some 4 tokens by the estimate, and 16 more are kept free for its answer
    replies, usage = ask(server, spend_cap=40, concurrency=1)
    done = [reply.text for reply in replies if reply.text is not None]
    assert 0 < len(done) < 12
    assert done == [f"{number}." for number in range(len(done))]
    assert "spend cap of 40 tokens is reached" in str(replies[-1].problem)
    assert usage.tokens <= 40
    assert usage.unanswered == 12 - len(done) == 12 - len(server.asked)


def test_a_cap_of_nothing_asks_nothing(server: ModelServer) -> None:
    replies, _ = ask(server, spend_cap=0)
    assert all(reply.text is None for reply in replies)
    assert server.asked == []


def test_tokens_that_are_not_counted_are_estimated(server: ModelServer) -> None:
    server.counts_tokens = False
    _, usage = ask(server)
    assert usage.tokens == usage.estimated_tokens > 0


def test_an_answer_that_was_cut_is_said(server: ModelServer) -> None:
    made = server.completion(_body())
    made["choices"][0]["finish_reason"] = "length"
    server.faults = [fault(200, made)]
    (reply,), usage = ask(server, ASKED[:1])
    assert reply.cut
    assert usage.cut == 1


def test_half_a_surrogate_pair_in_an_answer_can_be_written(server: ModelServer) -> None:
    server.answer = lambda body: "hives \ud83d"
    (reply,), _ = ask(server, ASKED[:1])
    assert reply.text == "hives \ufffd"


def test_an_answer_of_nothing_is_an_answer(server: ModelServer) -> None:
    made = server.completion(_body())
    made["choices"][0]["message"]["content"] = None
    server.faults = [fault(200, made)]
    (reply,), _ = ask(server, ASKED[:1])
    assert reply == ModelReply("")


# ---- the cache


def test_nothing_is_asked_twice(server: ModelServer, tmp_path: Path) -> None:
    first, _ = ask(server, cache=tmp_path / "answers.db")
    again, usage = ask(server, cache=tmp_path / "answers.db", spend_cap=0)
    assert again == first
    assert len(server.asked) == 12
    assert (usage.sent, usage.cached, usage.tokens) == (0, 12, 0)


@pytest.mark.parametrize("other", [{"seed": 1}, {"options": {"top_k": 1}}, {"model": "n"}])
def test_another_request_is_another_answer(server: ModelServer, tmp_path: Path, other: dict[str, Any]) -> None:
    ask(server, ASKED[:1], cache=tmp_path / "answers.db")
    with Endpoint(server.url, **{"model": "m", "cache": tmp_path / "answers.db", **other}) as endpoint:
        endpoint.ask(ASKED[:1])
    assert len(server.asked) == 2


def test_the_same_prompt_is_asked_once(server: ModelServer) -> None:
    replies, usage = ask(server, [*ASKED[:2], *ASKED[:2], ASKED[0]])
    assert [reply.text for reply in replies] == ["0.", "1.", "0.", "1.", "0."]
    assert (len(server.asked), usage.cached) == (2, 3)


def test_failures_are_not_kept(server: ModelServer, tmp_path: Path) -> None:
    server.faults = [fault(400)]
    (first,), _ = ask(server, ASKED[:1], cache=tmp_path / "answers.db")
    (second,), _ = ask(server, ASKED[:1], cache=tmp_path / "answers.db")
    assert (first.text, second.text) == (None, "0.")


def test_a_file_that_is_something_else_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no database, but long enough to be looked at " * 20)
    with pytest.raises(StoreError, match="not an SQLite database"):
        Endpoint("http://localhost/v1", "m", cache=tmp_path / "notes.txt")


ONE = """
import sys
from retrivex.evaluation.answers import ModelRequest
from retrivex.evaluation.answers.endpoint import Endpoint
with Endpoint(sys.argv[1], "m", cache=sys.argv[2], concurrency=2) as endpoint:
    for start in range(0, 60, 4):
        replies = endpoint.ask([ModelRequest(f"Say {n}.", 16) for n in range(start, start + 4)])
        assert [reply.text for reply in replies] == [f"{n}." for n in range(start, start + 4)], replies
        print(start, flush=True)
"""


def _run(server: ModelServer, path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", ONE, server.url, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )


def test_several_processes_share_a_file(server: ModelServer, tmp_path: Path) -> None:
    path = tmp_path / "answers.db"
    with ThreadPoolExecutor(3) as pool:
        done = list(pool.map(lambda _: _finished(_run(server, path)), range(3)))
    assert [code for code, _ in done] == [0, 0, 0], done
    _, usage = ask(server, [ModelRequest(f"Say {n}.", 16) for n in range(60)], cache=path)
    assert (usage.cached, usage.sent) == (60, 0)


def _finished(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, errors = process.communicate()
    return process.returncode, errors


def test_a_run_that_was_killed_goes_on(server: ModelServer, tmp_path: Path) -> None:
    path = tmp_path / "answers.db"
    process = _run(server, path)
    assert process.stdout is not None
    for _ in range(5):
        process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = len(server.asked)
    assert before >= 20

    _, usage = ask(server, [ModelRequest(f"Say {n}.", 16) for n in range(60)], cache=path)
    assert usage.cached >= 20
    assert usage.cached + usage.answered == 60
    prompts = [json.dumps(body) for body in server.asked]
    # at most the requests that were under way when it died are asked a second time
    assert len(prompts) - len(set(prompts)) <= 2
