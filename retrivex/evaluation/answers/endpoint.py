"""Endpoints that are compatible with OpenAI's chat completions, through OpenAI's client (extra `evaluate`)."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from retrivex.errors import EndpointError, describe_cause, install_hint, quoted
from retrivex.model.asking import ModelReply, ModelRequest, Usage
from retrivex.stores.answer_cache import AnswerCache, KeptAnswer, cache_key
from retrivex.text.addresses import Confidential, find_fault, without_credentials
from retrivex.tokens.spend_cap import SpendCap
from retrivex.tokens.tokenizer import get_tokenizer, without_surrogates

try:
    import openai
except ImportError as error:
    raise ImportError(f"asking a model needs openai: {install_hint('evaluate')}") from error

_IN_A_ROW = 8
"""Requests without an answer, none answered between them, after which asking on is of no use."""

_FATAL = {
    401: "see that the API key is right",
    403: "see that the key may use this model",
    404: "see that the url, which mostly ends in /v1, and the model's name are right",
}
_SHOWN = 200  # characters of an endpoint's own words in a message
_LOCAL_KEY = "none"  # the client insists on a key, servers at home do not read it
_STOPPED = "not asked: the run was stopped"
_ROOM = ("max_completion_tokens", "max_tokens")


class Endpoint:
    """Calls a model, several requests at a time, and caches its answers.

    OpenAI's client asks again after status 408, 409, 429 and 5xx, time-outs and broken connections, with growing
    pauses or after what `Retry-After` says. Status 401, 403 and 404, and a quota that is used up, end everything with
    an `EndpointError`; so do 8 requests in a row that are not answered. What is refused otherwise (400: a prompt that
    is too long), fails to the last or cannot be read is a reply with a `problem`.

    Parameters
    ----------
    url : up to where `/chat/completions` follows, e.g. `http://localhost:8000/v1`
    model : as the endpoint calls it
    api_key : None where the endpoint asks for none
    cache : file of the answers; None keeps none. An answer is found again by model, messages and settings, not by
        `url`: models of one name at several places need a file each
    options : further fields of a request, in place of `temperature` 0, `seed` and `max_tokens`; None leaves a field
        out, as for models that take `max_completion_tokens` and no temperature
    seed : sent along
    concurrency : requests under way at the same time
    retries : new attempts after a failure that may pass
    timeout_s : seconds that one attempt may take
    spend_cap : tokens of prompts and answers that may be spent; None for no cap. What a request will cost is estimated,
        on the high side, before it is sent: the cap is passed by no more than the estimate is wrong

    Raises
    ------
    EndpointError
        If url, model or key break their rule.
    StoreError
        If `cache` cannot be opened.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        api_key: str | None = None,
        cache: str | Path | None = None,
        options: Mapping[str, Any] | None = None,
        seed: int = 0,
        concurrency: int = 4,
        retries: int = 5,
        timeout_s: float = 120.0,
        spend_cap: int | None = None,
    ) -> None:
        _check(url, model, api_key)
        self.url = url
        self.model = model
        self._settings = {"temperature": 0, "seed": seed, **(options or {})}
        self._concurrency = concurrency
        self._retries = retries
        self._spend = SpendCap(spend_cap)
        self._estimate = get_tokenizer("estimate")
        self._lock = threading.Lock()
        self._usage = Usage()
        self._in_a_row = 0
        self._was_reached = False
        self._cache = None if cache is None else AnswerCache(cache)
        self._place = Confidential(url, api_key)
        self._client = openai.OpenAI(base_url=url, api_key=api_key or _LOCAL_KEY, timeout=timeout_s)

    def __repr__(self) -> str:
        return f"Endpoint({without_credentials(self.url)!r}, {self.model!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close connections and cache; the endpoint may not be asked afterwards."""
        self._client.close()
        if self._cache is not None:
            self._cache.close()

    @property
    def usage(self) -> Usage:
        """What has been asked and spent so far."""
        with self._lock:
            return self._usage

    def ask(self, requests: Sequence[ModelRequest]) -> list[ModelReply]:
        """Return a reply for each request, in their order.

        Raises
        ------
        EndpointError
            If there is no use in asking on; answers that came before are in the cache.
        """
        stop = threading.Event()
        pool = ThreadPoolExecutor(self._concurrency, thread_name_prefix="endpoint")
        try:
            # the same prompt is asked once: two orders of passages often come to the same context
            futures = {request: pool.submit(self._reply, request, stop) for request in dict.fromkeys(requests)}
            self._count(cached=len(requests) - len(futures))
            return [futures[request].result() for request in requests]
        finally:
            stop.set()  # for those that wait, where one has failed or the user has had enough
            pool.shutdown(wait=True, cancel_futures=True)

    def _reply(self, request: ModelRequest, stop: threading.Event) -> ModelReply:
        body = self._body(request)
        key = cache_key(body)
        kept = self._cache.read(key) if self._cache is not None else None
        if kept is not None:
            self._count(cached=1)
            return ModelReply(kept.text, cut=kept.cut)
        try:
            made = self._answer(body, request.max_tokens, stop)
        except EndpointError:
            stop.set()
            raise
        if isinstance(made, str):
            self._count(unanswered=1)
            return ModelReply(None, made)
        answer = self._cache.write(key, made) if self._cache is not None else made
        self._count(cut=int(answer.cut))
        return ModelReply(answer.text, cut=answer.cut)

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        said = [("system", request.system), ("user", request.prompt)]
        messages = [{"role": role, "content": without_surrogates(text)} for role, text in said if text is not None]
        settings = {"max_tokens": request.max_tokens, **self._settings}
        sent = {name: value for name, value in settings.items() if value is not None}
        return {**sent, "model": self.model, "messages": messages}

    def _answer(self, body: Mapping[str, Any], answer_tokens: int, stop: threading.Event) -> KeptAnswer | str:
        """Return the answer, or why there is none."""
        prompt_tokens = sum(self._estimate.count_many([message["content"] for message in body["messages"]]))
        room = next((body[name] for name in _ROOM if body.get(name) is not None), answer_tokens)
        if stop.is_set():
            return _STOPPED
        if not self._spend.reserve(prompt_tokens + room):
            return f"not asked: the spend cap of {self._spend.most:,} tokens is reached; raise it and run again"
        made = self._complete(body)
        self._settle(made, prompt_tokens + room, prompt_tokens)
        return made

    def _settle(self, made: KeptAnswer | str, reserved: int, prompt_tokens: int) -> None:
        """Count what a request has cost, estimated where the endpoint does not say."""
        if isinstance(made, str):
            self._spend.settle(reserved, 0)
            self._count(sent=1)
            self._in_a_row += 1
            if self._in_a_row >= _IN_A_ROW:
                raise EndpointError(f"{_IN_A_ROW} requests in a row were not answered, the last one because {made}")
            return
        self._in_a_row = 0
        said = (made.prompt_tokens, made.answer_tokens)
        guess = (prompt_tokens, self._estimate.count(made.text))
        spent = [known if known is not None else guessed for known, guessed in zip(said, guess, strict=True)]
        guessed = sum(tokens for known, tokens in zip(said, spent, strict=True) if known is None)
        self._spend.settle(reserved, sum(spent))
        self._count(sent=1, answered=1, prompt_tokens=spent[0], answer_tokens=spent[1], estimated_tokens=guessed)

    def _complete(self, body: Mapping[str, Any]) -> KeptAnswer | str:
        address = self._place.address
        try:
            made = self._send(body)
        except openai.APITimeoutError:
            return f"{address} did not answer in time: raise timeout_s"
        except openai.APIConnectionError as error:
            cause = describe_cause(error.__cause__ or error, hide=self._place.hide)
            if not self._was_reached:
                raise EndpointError(
                    f"{address} cannot be reached ({cause}): start the server, or see that the address is right"
                ) from error
            return f"{address} cannot be reached ({cause})"
        except openai.APIStatusError as error:
            return self._refusal(error)
        except (openai.OpenAIError, ValueError, TypeError, AttributeError) as error:  # a body that is none
            return self._unreadable(error)
        return self._read(made)

    def _send(self, body: Mapping[str, Any]) -> object:
        """Send a request; the first of all only once, so that a wrong address is reported at once."""
        extra = {name: value for name, value in body.items() if name not in ("model", "messages")}

        def create(retries: int) -> object:
            client = self._client.with_options(max_retries=retries)
            return client.chat.completions.create(model=body["model"], messages=body["messages"], extra_body=extra)

        if self._was_reached:
            return create(self._retries)
        try:
            made = create(0)
        except (openai.APITimeoutError, openai.RateLimitError, openai.InternalServerError):
            self._was_reached = True  # somebody is there
            return create(self._retries)
        self._was_reached = True
        return made

    def _refusal(self, error: openai.APIStatusError) -> str:
        status, words = error.status_code, self._shorten(error.response.text)
        if status in _FATAL:
            raise EndpointError(f"{self._place.address} refused with status {status}: {_FATAL[status]} ({words})")
        if error.code == "insufficient_quota":
            raise EndpointError(f"{self._place.address} says that the quota is used up ({words})")
        if status >= 500 or isinstance(error, openai.RateLimitError):
            return f"{self._place.address} failed with status {status} ({words})"
        return (
            f"{self._place.address} refused a request with status {status} ({words}): see that the prompt is not too "
            "long for the model, and that it takes these options"
        )

    def _read(self, made: object) -> KeptAnswer | str:
        # a server may send anything, and the client checks nothing of it
        choices = getattr(made, "choices", None)
        message = getattr(choices[0], "message", None) if isinstance(choices, list) and choices else None
        text = getattr(message, "content", None)
        if not isinstance(choices, list) or message is None or not isinstance(text, str | None):
            return self._unreadable(made)
        usage = getattr(made, "usage", None)
        cut = getattr(choices[0], "finish_reason", None) == "length"
        words = without_surrogates(text or "")  # half a character can be written nowhere
        return KeptAnswer(words, cut, _number(usage, "prompt_tokens"), _number(usage, "completion_tokens"))

    def _unreadable(self, what: object) -> str:
        return f"{self._place.address} gave no answer that can be read ({self._shorten(what)})"

    def _shorten(self, words: object) -> str:
        return " ".join(self._place.hide(str(words)).split())[:_SHOWN] or "it said nothing"

    def _count(self, **more: int) -> None:
        with self._lock:
            self._usage = replace(
                self._usage, **{name: getattr(self._usage, name) + number for name, number in more.items()}
            )


def _number(usage: object, name: str) -> int | None:
    number = getattr(usage, name, None)
    return number if type(number) is int and number >= 0 else None


def _check(url: str, model: str, api_key: str | None) -> None:
    if not url.startswith(("http://", "https://")):
        raise EndpointError(f"url is {quoted(url)}: give the endpoint's address, e.g. http://localhost:8000/v1")
    if fault := find_fault(url):
        raise EndpointError(f"url {fault}")
    if not model.strip():
        raise EndpointError(f"model is {quoted(model)}: give the name that the endpoint knows it by")
    # the client would quote a key that no header can hold
    if api_key is not None and not (api_key.isascii() and api_key.isprintable()):
        raise EndpointError("api_key is no printable ASCII text: see that the key alone was copied, without line ends")
