"""Sentence scores over HTTP, in a shape of our own (extra `rerank`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from retrivex.errors import RerankError
from retrivex.rerank.endpoint import Endpoint
from retrivex.rerank.protocol import ScoredSentence
from retrivex.rerank.sentences import check_sentences
from retrivex.tokens.tokenizer import without_surrogates


class HttpSentenceScorer(Endpoint):
    """Calls an endpoint that scores the sentences of a text; one request for each text.

    The request is `{"question": "...", "text": "..."}`, the answer `{"sentences": [{"start": 0, "end": 21,
    "probability": 0.93}, ...]}`: places are characters (Unicode code points) of the text, ends are exclusive, in any
    order; sentences may be left out. `SentenceScoring` makes the time limits, retries and concurrency; which failures
    are tried again is as with `HttpReranker`.

    Parameters
    ----------
    url : of the endpoint itself, e.g. `http://localhost:8080/sentences`
    api_key : sent as a bearer token
    options : further fields of the request
    timeout_s : seconds that a single request may take

    Raises
    ------
    RerankError
        If an argument breaks its rule.
    """

    def __init__(
        self, url: str, *, api_key: str | None = None, options: Mapping[str, Any] | None = None, timeout_s: float = 30.0
    ) -> None:
        advice = "see that url, api_key and options are right and the texts not too long"
        super().__init__(url, api_key=api_key, timeout_s=timeout_s, advice=advice, options=options)

    def score_sentences(self, question: str, text: str) -> tuple[ScoredSentence, ...]:
        """Return the sentences of a text with their probabilities.

        Raises
        ------
        RerankUnavailableError
            If the endpoint cannot be reached, is too late, failed itself (status 5xx), or was asked too often (429).
        RerankError
            If it refused the request, or its answer is not of the shape above.
        """
        return self._sentences(self._post(self._body(question, text)), text)

    async def ascore_sentences(self, question: str, text: str) -> tuple[ScoredSentence, ...]:
        """Return what `score_sentences` returns; cancelling it closes the connection."""
        return self._sentences(await self._apost(self._body(question, text)), text)

    def _body(self, question: str, text: str) -> dict[str, Any]:
        return {"question": without_surrogates(question), "text": without_surrogates(text), **self._options}

    def _sentences(self, answer: Any, text: str) -> tuple[ScoredSentence, ...]:
        listed = answer.get("sentences") if isinstance(answer, dict) else None
        if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
            raise RerankError(
                f"{self._address} gave {self._quote(answer)}: it must answer with an object with a list 'sentences' of "
                "objects with start, end and probability"
            )
        fields = [tuple(map(one.get, ("start", "end", "probability"))) for one in listed]
        try:
            return check_sentences(fields, len(text))
        except RerankError as error:
            raise RerankError(f"{self._address}: {error}") from error
