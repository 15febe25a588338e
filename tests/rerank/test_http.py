"""Endpoints of five shapes, good and bad, on a server of our own."""

from __future__ import annotations

import asyncio
import math
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from support.json_server import serving_echoes, serving_json
from support.strategies import bare, count_words, hits_of

from retrivex import SpanComposer
from retrivex.errors import RerankError, RerankUnavailableError
from retrivex.rerank import Reranking
from retrivex.rerank.http import HttpReranker

pytestmark = pytest.mark.integration

TEXTS = ["Bees 1.", "Wasps 2.", "Ants 0."]
Answer = tuple[int, Any]


def digits(texts: Sequence[str]) -> list[float]:
    return [int(text[-2]) / 10 for text in texts]


def ranked(body: dict[str, Any], score: str, **more: Callable[[str], Any]) -> list[dict[str, Any]]:
    """Results best first, as endpoints give them: not in the order of the texts."""
    texts = body.get("documents") or body["texts"]
    results = [
        {"index": at, score: value, **{name: make(texts[at]) for name, make in more.items()}}
        for at, value in enumerate(digits(texts))
    ]
    return sorted(results, key=lambda result: -result[score])


def cohere(body: dict[str, Any]) -> Any:
    assert set(body) == {"model", "query", "documents", "top_n"}
    assert body["top_n"] == len(body["documents"])
    return {"id": "07734bd2", "results": ranked(body, "relevance_score"), "meta": {"api_version": {"version": "2"}}}


def jina(body: dict[str, Any]) -> Any:
    results = ranked(body, "relevance_score", document=lambda text: {"text": text})
    return {"model": body["model"], "usage": {"total_tokens": 9}, "results": results}


def tei(body: dict[str, Any]) -> Any:
    assert set(body) == {"query", "texts"}
    return ranked(body, "score")


def vllm(body: dict[str, Any]) -> Any:
    results = ranked(body, "relevance_score", document=lambda text: {"text": text})
    return {"id": "rerank-1", "model": body["model"], "usage": {"total_tokens": 9}, "results": results}


def voyage(body: dict[str, Any]) -> Any:
    assert set(body) == {"model", "query", "documents", "top_k"}
    assert body["top_k"] == len(body["documents"])
    data = ranked(body, "relevance_score")
    return {"object": "list", "data": data, "model": body["model"], "usage": {"total_tokens": 9}}


SHAPES = {"cohere": cohere, "jina": jina, "tei": tei, "vllm": vllm, "voyage": voyage}


class Endpoint:
    """What the server answers, one after another, the last one for good; and what it was asked."""

    def __init__(self) -> None:
        self.answers: list[Callable[[dict[str, Any]], Any]] = []
        self.asked: list[tuple[dict[str, Any], str | None]] = []
        self.release = threading.Event()
        self.headers: dict[str, str] = {}
        self.url = ""

    def hang(self, body: dict[str, Any]) -> Any:
        self.release.wait()
        return []

    def handle(self, body: dict[str, Any], key: str | None) -> Answer:
        self.asked.append((body, key))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        made = answer(body)
        return made if isinstance(made, tuple) else (200, made)


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    said = Endpoint()

    def respond(path: str, body: dict[str, Any], key: str | None) -> tuple[int, Any, dict[str, str]]:
        status, made = said.handle(body, key)
        return status, made, {} if status == 200 else said.headers

    with serving_json(respond) as address:
        said.url = f"{address}/rerank"
        yield said
        said.release.set()


def ask(endpoint: Endpoint, answers: Sequence[Callable[[dict[str, Any]], Any]], shape: Any = "tei", **said: Any) -> Any:
    """Ask both ways, with a new row of answers each; return the scores, or raise, as both do."""
    made = []
    for way in ("sync", "async"):
        endpoint.answers = list(answers)
        with HttpReranker(endpoint.url, shape=shape, model=None if shape == "tei" else "m", **said) as reranker:
            try:
                scores = reranker.score("q", TEXTS) if way == "sync" else asyncio.run(reranker.ascore("q", TEXTS))
                made.append(scores.tolist())
            except RerankError as error:
                made.append(error)
    assert str(made[0]) == str(made[1])
    if isinstance(made[0], RerankError):
        raise made[0]
    return made[0]


@pytest.mark.parametrize("shape", SHAPES)
def test_each_shape_is_read_in_the_order_of_the_texts(endpoint: Endpoint, shape: str) -> None:
    assert ask(endpoint, [SHAPES[shape]], shape) == [0.1, 0.2, 0.0]


def test_the_key_and_the_options_are_sent(endpoint: Endpoint) -> None:
    ask(endpoint, [lambda body: ranked(body, "score")], api_key="secret", options={"truncate": True})
    body, key = endpoint.asked[0]
    assert body["truncate"] is True
    assert key == "Bearer secret"


@pytest.mark.parametrize(
    "url", ["http://u:S3 CRET@h", "http://u:S3\x00CRET@h", "http://u:S3'CRET@h", "http://h/?a b=S3CRET"]
)
def test_an_address_with_what_no_address_has_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(RerankError, match=r"url has white space, quotes, .* is not repeated here") as told:
        HttpReranker(url, shape="tei")
    assert "CRET" not in str(told.value)


SECRETS = ("s3cret-user", "s3cret-word", "s3cret-token", "s3cret-key")


@pytest.mark.parametrize("status", [200, 400, 429, 500])
def test_no_secret_is_in_errors_warnings_traces_and_reprs(endpoint: Endpoint, status: int) -> None:
    """The endpoint repeats all that it was sent, as some do."""
    user, word, token, key = SECRETS
    safe = endpoint.url
    endpoint.url = endpoint.url.replace("http://", f"http://{user}:{word}@") + f"?token={token}"
    echo = {"error": f"wrong key {key} or {user}:{word} for {endpoint.url} " * 3, "results": [{"index": word}]}
    with pytest.raises(RerankError, match=re.escape(safe)) as told:
        ask(endpoint, [lambda body: (status, echo)], api_key=key)
    reranker = HttpReranker(endpoint.url, shape="cohere", model="m", api_key=key)
    store = bare("d", ["Bees sleep.", "Wasps do not."])
    hits = hits_of(store, {0: 0.3, 1: 0.2})
    way = Reranking(reranker, retries=0)
    made = SpanComposer(tokenizer=count_words, reranker=way).compose(hits, store, query="Do bees sleep?")
    assert made.warnings
    everything = f"{told.value} {reranker!r} {way!r} {made!r} {made.to_json(trace=True)} {SpanComposer(reranker=way)!r}"
    assert [secret for secret in SECRETS if secret in everything] == []


@pytest.mark.parametrize("length", [10, 86, 300])
def test_a_key_that_comes_back_in_place_of_an_answer_is_hidden_whole(length: int) -> None:
    """What is no HTTP is quoted by the client, and cut."""
    secret = "".join(f"k{number:03d}" for number in range(99))[:length]
    with serving_echoes() as address:
        for url, key in ((f"{address}/rerank?key={secret}", None), (f"{address}/{'x' * 50}/rerank;k={secret}", secret)):
            reranker = HttpReranker(url, shape="tei", api_key=key)
            with reranker, pytest.raises(RerankError, match=r"cannot be reached .*illegal status line") as told:
                reranker.score("q", TEXTS)
            assert secret[:8] not in str(told.value)


def test_an_endless_answer_is_not_read_to_its_end(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrivex.rerank.endpoint.MAX_ANSWER_BYTES", 100_000)
    with pytest.raises(RerankError, match="answered with more than 100,000 bytes, the limit: see that it is the endpo"):
        ask(endpoint, [lambda body: [0.5] * 100_000])


def test_no_texts_ask_nobody(endpoint: Endpoint) -> None:
    reranker = HttpReranker(endpoint.url, shape="tei")
    assert reranker.score("q", []).tolist() == []
    assert asyncio.run(reranker.ascore("q", [])).tolist() == []
    assert endpoint.asked == []


# ---- answers that are wrong


def results(*pairs: tuple[Any, Any]) -> Callable[[dict[str, Any]], Any]:
    return lambda body: [{"index": index, "score": score} for index, score in pairs]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (results((0, 0.1), (1, 0.2)), "scored 2 of 3 texts"),
        (results(), "scored 0 of 3 texts"),
        (results((0, 0.1), (1, 0.2), (1, 0.3)), "each once"),
        (results((0, 0.1), (1, 0.2), (3, 0.3)), "an index from 0 to 2"),
        (results((0, 0.1), (1, 0.2), (-1, 0.3)), "an index from 0 to 2"),
        (results((0, 0.1), (1, 0.2), ("2", 0.3)), "an index from 0 to 2"),
        (results((0, 0.1), (1, 0.2), (2, math.nan)), "a finite number as its score"),
        (results((0, 0.1), (1, 0.2), (2, None)), "a finite number as its score"),
        (results((0, 0.1), (1, 0.2), (2, "0.3")), "a finite number as its score"),
        (lambda body: ["no"], "an index from 0 to 2"),
        (lambda body: "<html>", "something else than JSON"),
        (lambda body: {"results": []}, "did not answer in the shape 'tei', which is a list"),
        (results((0, 0.1), (1, 0.2), (2, 10**400)), "a finite number as its score"),
        (lambda body: "[" * 100_000, "something else than JSON"),
    ],
)
def test_an_answer_that_is_wrong_is_refused(endpoint: Endpoint, answer: Any, said: str) -> None:
    with pytest.raises(RerankError, match=said) as caught:
        ask(endpoint, [answer])
    assert not isinstance(caught.value, RerankUnavailableError)


@pytest.mark.parametrize("shape", ["cohere", "jina", "vllm"])
def test_an_answer_of_another_shape_is_refused(endpoint: Endpoint, shape: str) -> None:
    with pytest.raises(RerankError, match="an object with a list 'results'"):
        ask(endpoint, [lambda body: [{"index": 0, "score": 0.5}]], shape)


def test_an_answer_of_another_shape_than_voyage_is_refused(endpoint: Endpoint) -> None:
    with pytest.raises(RerankError, match="an object with a list 'data'"):
        ask(endpoint, [cohere_of_any], "voyage")


def cohere_of_any(body: dict[str, Any]) -> Any:
    return {"results": ranked(body, "relevance_score")}


# ---- failures


def failing(status: int) -> Callable[[dict[str, Any]], Answer]:
    return lambda body: (status, {"error": "no room"})


def reranking(endpoint: Endpoint, **said: Any) -> Reranking:
    return Reranking(HttpReranker(endpoint.url, shape="tei"), **{"backoff_s": 0.0, **said})


def both(endpoint: Endpoint, answers: Sequence[Callable[[dict[str, Any]], Any]], **said: Any) -> tuple[Any, int]:
    """Ask the patient way, sync and async; return scores or problem, and how often the server was asked."""
    made = []
    for way in ("sync", "async"):
        endpoint.answers, endpoint.asked = list(answers), []
        asked = reranking(endpoint, **said)
        reply = asked.scores("q", TEXTS) if way == "sync" else asyncio.run(asked.ascores("q", TEXTS))
        # the seconds until a date are fewer for whoever asks later
        said_of = re.sub(r"wait \S+ s", "wait", str(reply.problem))
        known = said_of if reply.scores is None else reply.scores.tolist()
        made.append((known, len(endpoint.asked)))
    assert made[0] == made[1]
    return made[0]


def test_a_server_that_fails_once_is_asked_again(endpoint: Endpoint) -> None:
    assert both(endpoint, [failing(500), tei]) == ([0.1, 0.2, 0.0], 2)


def test_a_server_that_keeps_failing_is_given_up_on(endpoint: Endpoint) -> None:
    said, asked = both(endpoint, [failing(503)], retries=2)
    assert "failed with status 503" in said
    assert "no room" in said
    assert asked == 3


@pytest.mark.parametrize("status", [400, 401, 404, 408, 413, 422])
def test_a_refusal_is_final(endpoint: Endpoint, status: int) -> None:
    said, asked = both(endpoint, [failing(status), tei])
    assert f"refused the request with status {status}" in said
    assert asked == 1


def test_a_server_that_is_asked_too_often_is_asked_again(endpoint: Endpoint) -> None:
    assert both(endpoint, [failing(429), tei]) == ([0.1, 0.2, 0.0], 2)
    said, asked = both(endpoint, [failing(429)], retries=1)
    assert "wants to be asked less often, status 429" in said
    assert asked == 2


def in_an_hour() -> str:
    return format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("wanted", ["3600", in_an_hour(), "9" * 5000], ids=["seconds", "date", "too many digits"])
def test_a_wait_that_there_is_no_time_for_is_not_begun(endpoint: Endpoint, status: int, wanted: str) -> None:
    endpoint.headers = {"Retry-After": wanted}
    said, asked = both(endpoint, [failing(status), tei], timeout_s=30)
    assert "it asks to wait, which timeout_s=30 does not leave" in said
    assert asked == 1


@pytest.mark.parametrize(
    ("wanted", "seconds"),
    [
        ("2", 2.0), ("0", 0.0), ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0), ("Wed, 21 Oct 2015 07:28:00 -0000", 0.0),
        ("soon", None), ("-1", None), ("1.5", None), ("²", None), ("", None),
        ("Wed, 21 Oct 99999999999999999999 07:28:00 GMT", None),
    ],
)  # fmt: skip
def test_how_long_to_wait_is_read(endpoint: Endpoint, wanted: str, seconds: float | None) -> None:
    endpoint.headers = {"Retry-After": wanted.encode().decode("latin-1")}
    with pytest.raises(RerankUnavailableError) as caught:
        ask(endpoint, [failing(429)])
    assert caught.value.retry_after_s == seconds
    if seconds == 0.0:
        assert both(endpoint, [failing(429), tei]) == ([0.1, 0.2, 0.0], 2)


def test_a_server_that_hangs_is_given_up_on(endpoint: Endpoint) -> None:
    said, asked = both(endpoint, [endpoint.hang], timeout_s=1.0)
    assert "no answer within timeout_s=1" in said
    assert asked == 1


def test_a_request_that_is_too_late_may_be_repeated(endpoint: Endpoint) -> None:
    endpoint.answers = [endpoint.hang, tei]
    reranker = HttpReranker(endpoint.url, shape="tei", timeout_s=2.0)
    assert Reranking(reranker, backoff_s=0).scores("q", TEXTS).scores is not None


def test_nobody_at_the_address(endpoint: Endpoint) -> None:
    reranker = HttpReranker("http://127.0.0.1:9/rerank", shape="tei", timeout_s=2)
    with pytest.raises(RerankUnavailableError, match="cannot be reached"):
        reranker.score("q", TEXTS)


def test_batches_go_out_at_once(endpoint: Endpoint) -> None:
    barrier = threading.Barrier(3, timeout=600)

    def together(body: dict[str, Any]) -> Any:
        barrier.wait()
        return tei(body)

    endpoint.answers = [together]
    for ask_ in (Reranking.scores, lambda *given: asyncio.run(Reranking.ascores(*given))):
        reply = ask_(reranking(endpoint, batch_size=1, concurrency=3), "q", TEXTS)
        assert reply.scores is not None
        assert reply.scores.tolist() == [0.1, 0.2, 0.0]


# ---- what is cut off, and the whole way


def test_texts_longer_than_the_limit_are_reported(endpoint: Endpoint) -> None:
    reranker = HttpReranker(endpoint.url, shape="tei", max_tokens=6, tokenizer=count_words)
    texts = ["four words are short", "but these are six words, too", "one"]
    assert reranker.too_long("two words", texts) == [1]
    assert HttpReranker(endpoint.url, shape="tei").too_long("two words", texts) == []


def test_lone_surrogates_do_not_stop_a_request(endpoint: Endpoint) -> None:
    endpoint.answers = [results((0, 0.5))]
    assert HttpReranker(endpoint.url, shape="tei").score("q \ud83d", ["\udc00 text"]).tolist() == [0.5]


@pytest.mark.parametrize("status", [200, 400])
def test_the_composer_reranks_over_http_or_says_why_not(endpoint: Endpoint, status: int) -> None:
    store = bare("d", ["Bees 1.", "Wasps 2.", "Ants 0."])
    hits = hits_of(store, {0: 0.3, 1: 0.2, 2: 0.9})
    endpoint.answers = [tei if status == 200 else failing(status)]
    composer = SpanComposer(tokenizer=count_words, reranker=HttpReranker(endpoint.url, shape="tei"))
    composition = composer.compose(hits, store, query="q", window=0, k=1)
    assert composition.spans[0].text == ("Wasps 2." if status == 200 else "Ants 0.")
    assert bool(composition.warnings) == (status != 200)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"url": "localhost:8080", "shape": "tei"}, "the whole address"),
        ({"url": "http://localhost", "shape": "openai"}, "choose one of cohere, jina, tei, vllm, voyage"),
        ({"url": "http://localhost", "shape": "cohere"}, "model is None"),
        ({"url": "http://localhost", "shape": "tei", "timeout_s": 0}, "timeout_s is 0"),
        ({"url": "http://localhost", "shape": "tei", "timeout_s": 10**400}, "timeout_s is 1000"),
        ({"url": "http://localhost", "shape": "tei", "api_key": "secret\n"}, "api_key is no printable ASCII text"),
        ({"url": "http://localhost", "shape": "tei", "api_key": "schlüssel"}, "api_key is no printable ASCII text"),
        ({"url": "http://localhost", "shape": "tei", "timeout_s": "5"}, "timeout_s is '5'"),
        ({"url": "http://localhost", "shape": "tei", "max_tokens": 0}, "max_tokens is 0"),
    ],
)
def test_an_argument_that_breaks_its_rule_is_refused(said: dict[str, Any], words: str) -> None:
    with pytest.raises(RerankError, match=words) as caught:
        HttpReranker(said.pop("url"), **said)
    assert said.get("api_key", "no key") not in str(caught.value)
