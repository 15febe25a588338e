"""An endpoint for sentences, good and bad, on a server of our own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.json_server import serving_json
from support.strategies import bare, count_words, hits_of

from retrivex import SpanComposer
from retrivex.errors import RerankError, RerankUnavailableError
from retrivex.rerank import SentenceScoring
from retrivex.rerank.http_sentences import HttpSentenceScorer
from retrivex.text.sentences import sentence_ranges

pytestmark = pytest.mark.integration

TEXT = "Ants work. Bées sleep."
Answer = tuple[int, Any]


def scored(body: dict[str, Any]) -> Answer:
    text = body["text"]
    found = [
        {"start": start, "end": end, "probability": 0.9 if body["question"] in text[start:end] else 0.1}
        for start, end in sentence_ranges(text)
    ]
    return 200, {"sentences": found[::-1]}


class Endpoint:
    """What the server answers, and what it was asked."""

    def __init__(self) -> None:
        self.answers: list[Callable[[dict[str, Any]], Answer]] = [scored]
        self.asked: list[tuple[dict[str, Any], str | None]] = []
        self.url = ""


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    said = Endpoint()

    def respond(path: str, body: dict[str, Any], key: str | None) -> tuple[int, Any, dict[str, str]]:
        said.asked.append((body, key))
        answer = said.answers.pop(0) if len(said.answers) > 1 else said.answers[0]
        return *answer(body), {}

    with serving_json(respond) as address:
        said.url = f"{address}/sentences"
        yield said


def ask(endpoint: Endpoint, answer: Callable[[dict[str, Any]], Answer], text: str = TEXT, **said: Any) -> Any:
    """Ask both ways; return the sentences, or raise, as both do."""
    made: list[Any] = []
    endpoint.answers = [answer]
    for way in ("sync", "async"):
        with HttpSentenceScorer(endpoint.url, **said) as scorer:
            try:
                found = (
                    scorer.score_sentences("Bées", text)
                    if way == "sync"
                    else asyncio.run(scorer.ascore_sentences("Bées", text))
                )
                made.append([tuple(one) for one in found])
            except RerankError as error:
                made.append(error)
    assert str(made[0]) == str(made[1])
    if isinstance(made[0], RerankError):
        raise made[0]
    return made[0]


def test_the_documented_shape_is_written_and_read(endpoint: Endpoint) -> None:
    assert ask(endpoint, scored, api_key="secret", options={"threshold": 0.1}) == [(11, 22, 0.9), (0, 10, 0.1)]
    assert endpoint.asked[0] == ({"question": "Bées", "text": TEXT, "threshold": 0.1}, "Bearer secret")
    assert "secret" not in repr(HttpSentenceScorer(endpoint.url, api_key="secret"))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ([], "object with a list 'sentences'"),
        ({"results": []}, "object with a list 'sentences'"),
        ({"sentences": [[0, 5, 0.5]]}, "object with a list 'sentences'"),
        ({"sentences": [{"start": 0, "end": 5}]}, "(0, 5, None) for a text of 22 characters"),
        ({"sentences": [{"start": 0, "end": 50, "probability": 0.5}]}, "(0, 50, 0.5) for a text of 22 characters"),
        ({"sentences": [{"start": 0, "end": 5, "probability": "0.5"}]}, "(0, 5, '0.5')"),
        ("<html>", "something else than JSON"),
    ],
)
def test_an_answer_that_is_wrong_is_refused(endpoint: Endpoint, answer: Any, said: str) -> None:
    with pytest.raises(RerankError) as caught:
        ask(endpoint, lambda body: (200, answer))
    assert said in str(caught.value)
    assert endpoint.url in str(caught.value)
    assert not isinstance(caught.value, RerankUnavailableError)


def test_a_server_that_fails_is_asked_again_and_one_that_refuses_is_not(endpoint: Endpoint) -> None:
    with pytest.raises(RerankUnavailableError, match="failed with status 503"):
        ask(endpoint, lambda body: (503, "no room"))
    scoring = SentenceScoring(HttpSentenceScorer(endpoint.url), backoff_s=0)
    endpoint.answers, endpoint.asked = [lambda body: (503, "no room"), scored], []
    assert scoring.sentences("Bées", [TEXT]).problem is None
    assert len(endpoint.asked) == 2
    endpoint.answers, endpoint.asked = [lambda body: (400, "too long")], []
    assert "refused the request with status 400" in str(scoring.sentences("Bées", [TEXT]).problem)
    assert len(endpoint.asked) == 1


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"url": "localhost:8080"}, "the whole address"),
        ({"timeout_s": 0}, "timeout_s is 0"),
        ({"api_key": "secret\n"}, "no printable ASCII text"),
    ],
)
def test_an_argument_that_breaks_its_rule_is_refused(said: dict[str, Any], words: str) -> None:
    with pytest.raises(RerankError, match=words):
        HttpSentenceScorer(**{"url": "http://localhost/sentences", **said})


@pytest.mark.parametrize("status", [200, 400])
def test_the_composer_asks_over_http_or_says_why_not(endpoint: Endpoint, status: int) -> None:
    store = bare("d", ["Ants work.", "Bees sleep.", "Wasps sting."])
    endpoint.answers = [scored if status == 200 else lambda body: (400, "no")]
    composer = SpanComposer(tokenizer=count_words, sentence_scorer=HttpSentenceScorer(endpoint.url))
    composition = composer.compose(hits_of(store, {0: 0.5, 1: 0.5, 2: 0.5}), store, query="Wasps", window=0)
    assert endpoint.asked[0][0] == {"question": "Wasps", "text": "Ants work."}
    assert bool(composition.warnings) == (status != 200)
