"""Reranking over HTTP with the APIs of Cohere, Jina, Voyage, vLLM or TEI (extra `rerank`)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from retrivex.errors import RerankError
from retrivex.model.numbers import float_of
from retrivex.rerank.endpoint import Endpoint
from retrivex.tokens.tokenizer import TokenizerSpec, get_tokenizer, without_surrogates

Shape: TypeAlias = Literal["cohere", "jina", "tei", "vllm", "voyage"]
"""Whose request and response an endpoint has."""

_SHAPES: tuple[Shape, ...] = ("cohere", "jina", "tei", "vllm", "voyage")


class HttpReranker(Endpoint):
    """Calls a `/rerank` endpoint; one request for every call of `score`.

    `Reranking` makes the batches, time limits and retries: a status 5xx, a broken connection, or status 429
    (too many requests) is a `RerankUnavailableError`, which it asks again after; any other status 4xx is not. How long
    the endpoint asks to wait (`Retry-After`, as seconds or a date) is passed on.

    Parameters
    ----------
    url : of the endpoint itself, e.g. `https://api.cohere.com/v2/rerank`, `https://api.jina.ai/v1/rerank`,
        `http://localhost:8080/rerank`
    shape : whose API it speaks: `cohere`, `jina`, `tei` (Text Embeddings Inference), `vllm` or `voyage`
    model : as the endpoint calls it; Text Embeddings Inference has only one and takes none
    api_key : sent as a bearer token
    options : further fields of the request, e.g. `{"truncate": True}` for Text Embeddings Inference, which refuses
        texts that are too long without it
    max_tokens : most tokens of question and text together that the model reads. With it, texts that the endpoint cuts
        off are reported; no endpoint says so by itself
    tokenizer : counts for `max_tokens`
    timeout_s : seconds that a single request may take

    Raises
    ------
    RerankError
        If an argument breaks its rule.
    """

    def __init__(
        self,
        url: str,
        *,
        shape: Shape,
        model: str | None = None,
        api_key: str | None = None,
        options: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        tokenizer: TokenizerSpec = None,
        timeout_s: float = 30.0,
    ) -> None:
        if shape not in _SHAPES:
            raise RerankError(f"shape is {shape!r}: choose one of {', '.join(_SHAPES)}")
        if model is None and shape != "tei":
            raise RerankError(f"model is None: an endpoint of the shape {shape!r} needs the name of its model")
        if max_tokens is not None and (not isinstance(max_tokens, int) or max_tokens < 1):
            raise RerankError(f"max_tokens is {max_tokens!r}: it must be a whole number of at least 1, or None")
        advice = f"see that url, api_key, model and shape={shape!r} are right and the texts not too long"
        super().__init__(url, api_key=api_key, timeout_s=timeout_s, advice=advice, options=options)
        self.shape = shape
        self.model = model
        self.max_tokens = max_tokens
        self._tokenizer = get_tokenizer(tokenizer) if max_tokens is not None else None

    def __repr__(self) -> str:
        return f"HttpReranker({self._address!r}, shape={self.shape!r}, model={self.model!r})"

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return one number a text, shape (len(texts),).

        Raises
        ------
        RerankUnavailableError
            If the endpoint cannot be reached, is too late, failed itself (status 5xx), or was asked too often (429).
        RerankError
            If it refused the request, or its answer does not have exactly one finite score a text.
        """
        if not texts:
            return np.zeros(0)
        return self._scores(self._post(self._body(query, texts)), texts)

    async def ascore(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return what `score` returns; cancelling it closes the connection."""
        if not texts:
            return np.zeros(0)
        return self._scores(await self._apost(self._body(query, texts)), texts)

    def too_long(self, query: str, texts: Sequence[str]) -> list[int]:
        """Return the places of texts that have more than `max_tokens`, together with the question; none without it."""
        if self._tokenizer is None or self.max_tokens is None:
            return []
        room = self.max_tokens - self._tokenizer.count(query)
        return [at for at, text in enumerate(texts) if self._tokenizer.count(text) > room]

    def _body(self, query: str, texts: Sequence[str]) -> dict[str, Any]:
        asked = without_surrogates(query)
        read = [without_surrogates(text) for text in texts]
        if self.shape == "tei":
            return {"query": asked, "texts": read, **self._options}
        # all of them are wanted: some endpoints leave out those below the best few without it
        most = "top_k" if self.shape == "voyage" else "top_n"
        return {"model": self.model, "query": asked, "documents": read, most: len(read), **self._options}

    def _scores(self, answer: Any, texts: Sequence[str]) -> NDArray[np.float64]:
        results, name = self._results(answer), "score" if self.shape == "tei" else "relevance_score"
        scores = np.full(len(texts), np.nan)
        for result in results:
            at, score = (result.get("index"), result.get(name)) if isinstance(result, dict) else (None, None)
            value = math.nan if isinstance(score, bool) else float_of(score)
            if type(at) is not int or not 0 <= at < len(texts) or not math.isnan(scores[at]) or math.isnan(value):
                raise RerankError(
                    f"{self._address} gave the result {self._quote(result)}: it needs an index from 0 to "
                    f"{len(texts) - 1}, each once, and a finite number as its {name}"
                )
            scores[at] = value
        if np.isnan(scores).any():
            scored = f"{self._address} scored {len(results)} of {len(texts)} texts"
            raise RerankError(f"{scored}: all are needed; see that no option limits them")
        return scores

    def _results(self, answer: Any) -> list[Any]:
        name = "data" if self.shape == "voyage" else "results"
        listed = answer.get(name) if isinstance(answer, dict) else None
        results = answer if self.shape == "tei" else listed
        if not isinstance(results, list):
            expected = "a list" if self.shape == "tei" else f"an object with a list {name!r}"
            rule = f"did not answer in the shape {self.shape!r}, which is {expected}"
            raise RerankError(f"{self._address} {rule}: {self._quote(answer)}")
        return results
