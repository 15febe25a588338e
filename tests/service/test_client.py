"""The client against services that are made up: refusals, answers that are none, and what may be said of a key."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from support.client_calls import KINDS, call_operation

from retrivex import Composition
from retrivex.errors import RetrivexError

pytestmark = pytest.mark.integration  # of the extra client

httpx2 = pytest.importorskip("httpx2")

from retrivex.service.client import AsyncClient, Client, ServiceError  # noqa: E402

KEY = "rvx_0123456789ab_a-secret-that-nobody-may-see"
PROBLEM = {"type": "urn:retrivex:problem:busy", "title": "Busy", "detail": "the queue is full: ask later"}
MADE = {
    "schema": "retrivex.composition/1", "question": "Bees?", "text": "[1] Bees.", "tokens": 3, "token_budget": 9,
    "tokenizer": "estimate", "spans": [], "citations": [], "coverage": [], "dropped": [], "warnings": [],
    "confidence": None, "expected_recall": None,
    "style": {"format": "text", "numbered": True, "header": "none", "gap_markers": False, "prefixes": True},
}  # fmt: skip
Ask = Callable[..., Any]
Answer = tuple[int, bytes, dict[str, str]]


def answer(status: int = 200, body: Any = MADE, **headers: str) -> Answer:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return status, content, {name.replace("_", "-"): value for name, value in headers.items()}


def refuse(status: int, **headers: str) -> Answer:
    return answer(status, {**PROBLEM, "status": status}, **headers)


class Service:
    """Answers in turn, the last one again and again; an exception is raised."""

    def __init__(self, *answers: Answer | type[Exception]) -> None:
        self.answers = [*answers]
        self.asked: list[Any] = []

    def __call__(self, request: Any) -> Any:
        request.read()
        self.asked.append(request)
        made = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(made, type):
            raise made(f"it failed for {KEY}")
        status, content, headers = made
        return httpx2.Response(status, content=content, headers=headers)

    def client(self, **options: Any) -> Client:
        return Client("http://service", key=KEY, transport=httpx2.MockTransport(self), **options)


@pytest.fixture(params=KINDS)
def ask(request: pytest.FixtureRequest) -> Ask:
    """Return a function that calls one operation, with one client and with the other."""

    def call(service: Service, name: str, *arguments: Any, **options: Any) -> Any:
        given = {"url": "http://service", "key": KEY, **options}
        return call_operation(request.param, given, lambda client: getattr(client, name)(*arguments), service)

    return call


# ---- asked again


@pytest.mark.parametrize("status", [429, 503])
def test_a_question_is_asked_again_when_the_service_says_so(ask: Ask, status: int) -> None:
    service = Service(refuse(status, Retry_After="0"), refuse(status, Retry_After="0"), answer())
    assert ask(service, "query", "Bees?") == Composition.from_dict(MADE)
    assert len({request.content for request in service.asked}) == 1
    assert len(service.asked) == 3


def test_it_waits_as_long_as_the_service_says(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    Service(refuse(503, Retry_After="7"), answer()).client().query("Bees?")
    assert waited == [7]


@pytest.mark.parametrize(
    ("refusal", "options"),
    [
        (refuse(503), {}),  # it does not say when
        (refuse(503, Retry_After="11"), {}),  # longer than longest_wait_s
        (refuse(503, Retry_After="0"), {"retries": 0}),
        (refuse(500, Retry_After="0"), {}),
        (refuse(422, Retry_After="0"), {}),
    ],
)
def test_other_refusals_are_errors_at_once(ask: Ask, refusal: Answer, options: dict[str, Any]) -> None:
    service = Service(refusal)
    with pytest.raises(ServiceError, match="the queue is full: ask later") as caught:
        ask(service, "query", "Bees?", **options)
    assert len(service.asked) == 1
    assert (caught.value.status, caught.value.kind) == (refusal[0], "busy")


def test_it_gives_up_after_so_many_times(ask: Ask) -> None:
    service = Service(refuse(429, Retry_After="0"))
    with pytest.raises(ServiceError) as caught:
        ask(service, "query", "Bees?", retries=3)
    assert len(service.asked) == 4
    assert caught.value.retry_after_s == 0


@pytest.mark.parametrize(("name", "given"), [("add_document", "notes.md"), ("delete_document", "notes.md")])
def test_a_write_is_sent_again_only_where_nothing_can_have_happened(
    ask: Ask, name: str, given: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.md").write_text("Bees sleep.", encoding="utf-8")
    late = Service(refuse(503, Retry_After="0"))
    with pytest.raises(ServiceError):
        ask(late, name, given)
    assert len(late.asked) == 1
    often = Service(refuse(429, Retry_After="0"), answer(body={"documents": []}))
    ask(often, name, given)
    assert len(often.asked) == 2


# ---- errors


def test_an_error_has_what_the_problem_says(ask: Ask) -> None:
    body = {
        "type": "urn:retrivex:problem:limit", "title": "Too much", "status": 422,
        "detail": "5,000 hits: send fewer", "request_id": "4d51",
    }  # fmt: skip
    with pytest.raises(ServiceError) as caught:
        ask(Service(answer(422, body)), "query", "Bees?")
    error = caught.value
    assert (error.status, error.kind, error.title, error.request_id) == (422, "limit", "Too much", "4d51")
    assert str(error) == "http://service answered with status 422 (limit; request 4d51): 5,000 hits: send fewer"
    assert isinstance(error, RetrivexError)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (answer(502, b"<html>bad gateway</html>"), "status 502 and no problem document: '<html>bad gateway"),
        (answer(301, b"", Location="https://elsewhere"), "status 301 and no problem document"),
        (answer(200, b"<html>welcome</html>"), "no answer that version .* of this client reads"),
        (answer(200, {"text": "Bees."}), "no answer that version"),
        (answer(200, [1]), "no answer that version"),
        (answer(422, [1]), "no problem document"),
        (answer(422, {"status": "bad", "detail": None}), "no problem document"),
    ],
)
def test_an_answer_that_is_none_is_an_error(ask: Ask, given: Answer, words: str) -> None:
    with pytest.raises(ServiceError, match=words):
        ask(Service(given), "query", "Bees?")


@pytest.mark.parametrize("failure", [httpx2.ConnectError, httpx2.ReadTimeout, httpx2.RemoteProtocolError])
def test_a_service_that_is_not_there_is_named_with_what_to_look_at(ask: Ask, failure: type[Exception]) -> None:
    with pytest.raises(ServiceError, match="http://service cannot be reached") as caught:
        ask(Service(failure), "query", "Bees?")
    assert caught.value.status is None
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("status", [200, 401, 502])
def test_the_key_is_never_said(ask: Ask, status: int) -> None:
    said = {"status": status, "detail": f"the key {KEY} is wrong", "title": KEY, "type": "x"}
    for body in (said, KEY.encode()):
        with pytest.raises(ServiceError) as caught:
            ask(Service(answer(status, body)), "query", "Bees?")
        error = caught.value
        assert not any(KEY in str(part) for part in (error, repr(error), *vars(error).values()))
    assert KEY not in repr(Service(answer()).client())


def test_the_key_is_sent_as_a_bearer_and_the_address_keeps_its_path() -> None:
    service = Service(answer())
    with Client("http://proxy/retrivex", key=KEY, transport=httpx2.MockTransport(service)) as client:
        client.query("Bees?")
    [request] = service.asked
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert str(request.url) == "http://proxy/retrivex/v1/query"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"url": "http://u:S3 CRET@host"}, "url has white space, quotes, .* is not repeated here"),
        ({"url": "http://host:port"}, "see that url is its whole address"),
        ({"key": "two\nlines"}, "key is no printable ASCII text"),
        ({"key": ""}, "key is no printable"),
    ],
)
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_wrong_argument_of_a_client_is_refused(kind: Any, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(RetrivexError, match=words) as caught:
        kind(**arguments)
    assert "two" not in str(caught.value)


def test_what_cannot_be_sent_is_refused_before_it_is() -> None:
    service = Service(answer())
    client = service.client()
    with pytest.raises(ValueError, match="not JSON compliant"):
        client.query("Bees?", config={"token_budget": float("nan")})
    with pytest.raises(ServiceError, match="cannot be reached"):
        client.delete_document("x" * 100_000)
    assert service.asked == []


@pytest.mark.parametrize("padding", [0, 50, 70, 90, 110])
def test_half_a_key_is_not_left_where_what_a_connection_says_is_cut(padding: int) -> None:
    def fail(request: Any) -> Any:
        raise httpx2.RemoteProtocolError(f"{'x' * padding} {KEY}")

    with (
        Client("http://service", key=KEY, transport=httpx2.MockTransport(fail)) as client,
        pytest.raises(ServiceError, match="broke off") as told,
    ):
        client.query("Bees?")
    assert "rvx_" not in str(told.value)
