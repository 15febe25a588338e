"""Endpoints that are compatible with OpenAI's chat completions (extra `evaluate`)."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from retrivex.errors import EndpointError, quoted
from retrivex.evaluation.answers.answer_cache import AnswerCache, KeptAnswer, cache_key
from retrivex.evaluation.answers.completions import ChatCompletions, Failure
from retrivex.evaluation.answers.limits import RateLimit, SpendCap
from retrivex.evaluation.answers.model import ModelReply, ModelRequest, Usage
from retrivex.text.addresses import find_fault, without_credentials
from retrivex.timeouts import Backoff
from retrivex.tokens.tokenizer import get_tokenizer, without_surrogates

_IN_A_ROW = 8
"""Requests without an answer, none answered between them, after which asking on is of no use."""

_LONGEST_WAIT_S = 600.0
_STOPPED = "not asked: the run was stopped"
_FIXED = {"messages", "model", "n", "stream"}
_ROOM = ("max_completion_tokens", "max_tokens")


class Endpoint:
    """Calls a model, several requests at a time, and caches its answers.

    Status 401, 403 and 404, and a quota that is used up, end everything at once with an `EndpointError`; so do 8
    requests in a row that are not answered. Status 408, 409, 429 and 5xx, broken connections, time-outs and answers
    that cannot be read are asked again; what is refused otherwise (400: a prompt that is too long), or fails to the
    last, is a reply with a `problem`.

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
    backoff_s : seconds before the first of them, doubled for every further one; `Retry-After` is heeded
    timeout_s : seconds that one attempt may take
    requests_per_minute, tokens_per_minute : None for no limit
    spend_cap : tokens of prompts and answers that may be spent; None for no cap. What a request will cost is estimated,
        on the high side, before it is sent: the cap is passed by no more than the estimate is wrong

    Raises
    ------
    EndpointError
        If an argument breaks its rule.
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
        backoff_s: float = 1.0,
        timeout_s: float = 120.0,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        spend_cap: int | None = None,
    ) -> None:
        _check_names(url, model, api_key, options)
        _check_numbers(concurrency=(concurrency, 1), retries=(retries, 0), seed=(seed, 0))
        limits = {"requests_per_minute": (requests_per_minute, 1), "tokens_per_minute": (tokens_per_minute, 1)}
        limits["spend_cap"] = (spend_cap, 0)
        _check_numbers(**{name: pair for name, pair in limits.items() if pair[0] is not None})
        _check_seconds(backoff_s=backoff_s, timeout_s=timeout_s)
        self.url = url
        self.model = model
        self._options = dict(options or {})
        self._seed = seed
        self._concurrency = concurrency
        self._retries = retries
        self._backoff = Backoff(backoff_s, _LONGEST_WAIT_S)
        self._limit = RateLimit(requests_per_minute, tokens_per_minute)
        self._spend = SpendCap(spend_cap)
        self._estimate = get_tokenizer("estimate")
        self._lock = threading.Lock()
        self._usage = Usage()
        self._in_a_row = 0
        self._was_reached = False
        self._cache = None if cache is None else AnswerCache(cache)
        self._completions = ChatCompletions(url, api_key, timeout_s)

    def __repr__(self) -> str:
        return f"Endpoint({without_credentials(self.url)!r}, {self.model!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close connections and cache; the endpoint may not be asked afterwards."""
        self._completions.close()
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
        settings = {"temperature": 0, "seed": self._seed, "max_tokens": request.max_tokens, **self._options}
        sent = {name: value for name, value in settings.items() if value is not None}
        return {**sent, "model": self.model, "messages": messages}

    def _answer(self, body: Mapping[str, Any], answer_tokens: int, stop: threading.Event) -> KeptAnswer | str:
        """Return the answer, or why there is none."""
        prompt_tokens = sum(self._estimate.count_many([message["content"] for message in body["messages"]]))
        room = next((body[name] for name in _ROOM if body.get(name) is not None), answer_tokens)
        attempt = 0
        while True:
            if not self._enter(prompt_tokens + room, stop):
                return _STOPPED if stop.is_set() else self._describe_cap()
            made = self._completions.attempt(body)
            self._was_reached |= not (isinstance(made, Failure) and made.unreached)
            self._settle(made, prompt_tokens + room, prompt_tokens)
            if isinstance(made, KeptAnswer):
                return made
            if made.fatal:
                raise EndpointError(made.message)
            if made.unreached and not self._was_reached:
                raise EndpointError(f"{made.message}: start the server, or see that the address is right")
            if not made.again or attempt == self._retries:
                return self._give_up(made)
            if stop.wait(self._pause(made, attempt)):
                return _STOPPED
            attempt += 1

    def _enter(self, tokens: int, stop: threading.Event) -> bool:
        """Wait for one's turn; False where it does not come."""
        if stop.is_set() or not self._spend.reserve(tokens):
            return False
        while pause := self._limit.enter(tokens):
            if stop.wait(pause):
                self._spend.settle(tokens, 0)
                return False
        return True

    def _settle(self, made: KeptAnswer | Failure, reserved: int, prompt_tokens: int) -> None:
        """Count what an attempt has cost, estimated where the endpoint does not say."""
        said: tuple[int | None, int | None] = (None, None)
        guess = (prompt_tokens if isinstance(made, Failure) and made.costs else 0, 0)
        if isinstance(made, KeptAnswer):
            said = (made.prompt_tokens, made.answer_tokens)
            guess = (prompt_tokens, self._estimate.count(made.text))
        spent = [known if known is not None else guessed for known, guessed in zip(said, guess, strict=True)]
        guessed = sum(tokens for known, tokens in zip(said, spent, strict=True) if known is None)
        self._spend.settle(reserved, sum(spent))
        answered = int(isinstance(made, KeptAnswer))
        self._count(sent=1, answered=answered, prompt_tokens=spent[0], answer_tokens=spent[1], estimated_tokens=guessed)
        if answered:
            with self._lock:
                self._in_a_row = 0

    def _give_up(self, failure: Failure) -> str:
        with self._lock:
            self._in_a_row += 1
            useless = self._in_a_row >= _IN_A_ROW
        if useless:
            raise EndpointError(
                f"{_IN_A_ROW} requests in a row were not answered, the last one because {failure.message}"
            )
        return failure.message

    def _pause(self, failure: Failure, attempt: int) -> float:
        """Seconds to wait before the next attempt; if the endpoint sends Retry-After, all requests wait."""
        if failure.wait_s is not None:
            if failure.wait_s > _LONGEST_WAIT_S:
                raise EndpointError(f"{failure.message}; it asks to wait {failure.wait_s:,.0f} s: run again after that")
            self._limit.hold(failure.wait_s)
        return self._backoff.pause(attempt, failure.wait_s)

    def _describe_cap(self) -> str:
        return f"not asked: the spend cap of {self._spend.most:,} tokens is reached; raise it and run again"

    def _count(self, **more: int) -> None:
        with self._lock:
            self._usage = replace(
                self._usage, **{name: getattr(self._usage, name) + number for name, number in more.items()}
            )


def _check_names(url: object, model: object, api_key: object, options: object) -> None:
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        raise EndpointError(f"url is {quoted(url)}: give the endpoint's address, e.g. http://localhost:8000/v1")
    if fault := find_fault(url):
        raise EndpointError(f"url {fault}")
    if not isinstance(model, str) or not model.strip():
        raise EndpointError(f"model is {quoted(model)}: give the name that the endpoint knows it by")
    if api_key is not None and not (isinstance(api_key, str) and api_key.isascii() and api_key.isprintable()):
        raise EndpointError("api_key is no printable ASCII text: see that the key alone was copied, without line ends")
    if options is not None and (not _is_json(options) or not isinstance(options, Mapping) or _FIXED & set(options)):
        raise EndpointError(
            f"options are {quoted(options)}: give a mapping of further fields of a request, as JSON has them, without "
            f"{', '.join(sorted(_FIXED))}"
        )
    for name in _ROOM:
        if options and options.get(name) is not None:
            _check_numbers(**{name: (options[name], 1)})


def _is_json(value: object) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _check_numbers(**given: tuple[object, int]) -> None:
    for name, (value, least) in given.items():
        if type(value) is not int or value < least:
            raise EndpointError(f"{name} is {quoted(value)}: it must be a whole number of at least {least}")


def _check_seconds(**given: object) -> None:
    for name, value in given.items():
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not 0 <= cast("float", value) <= threading.TIMEOUT_MAX or (name == "timeout_s" and not value):
            raise EndpointError(
                f"{name} is {quoted(value)}: it must be seconds, not negative, and timeout_s more than 0"
            )
