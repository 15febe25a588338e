"""A client of the service, for threads and for event loops (extra `client`): the library's objects in and out."""

from __future__ import annotations

import asyncio
import functools
import itertools
import json
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Generic, ParamSpec, Self, TypeVar, overload

from retrivex.errors import ConfigError, describe_cause, install_hint
from retrivex.service import calls
from retrivex.service.answers import (
    Added,
    DocumentPage,
    Item,
    ListedDocument,
    ListedIndex,
    Resolved,
    ServiceError,
    error_of,
)
from retrivex.service.calls import Call
from retrivex.text.addresses import Confidential, find_fault
from retrivex.timeouts import retry_after
from retrivex.version import __version__

try:
    import httpx2
except ImportError as error:
    raise ImportError(f"the client of the service needs httpx2: {install_hint('client')}") from error

__all__ = [
    "Added",
    "AsyncClient",
    "Client",
    "DocumentPage",
    "Item",
    "ListedDocument",
    "ListedIndex",
    "Resolved",
    "ServiceError",
]

P = ParamSpec("P")
T = TypeVar("T")

DEFAULT_URL = "http://127.0.0.1:8080"
"""Where `retrivex serve` listens, where nothing else is set."""

_MISREAD = (AttributeError, KeyError, TypeError, ValueError, RecursionError)
_SHOWN = 200
"""Characters of an answer in an error, where it is no problem document."""


class _Operation(Generic[P, T]):
    """A method of both clients: what it sends, and how its answer is read, is written once, in `calls`."""

    def __init__(self, make: Callable[P, Call[T]]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Client, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncClient, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, client: Client | AsyncClient | None, owner: type) -> Any:
        if client is None:
            return self

        @functools.wraps(self._make)
        def method(*arguments: P.args, **named: P.kwargs) -> Any:
            return client._send(self._make(*arguments, **named))

        return method


class _Operations:
    """What both clients can do, and all that they share but for the sending itself."""

    query = _Operation(calls.query)
    query_batch = _Operation(calls.query_batch)
    resolve = _Operation(calls.resolve)
    resolve_batch = _Operation(calls.resolve_batch)
    list_indexes = _Operation(calls.list_indexes)
    add_document = _Operation(calls.add_document)
    list_documents = _Operation(calls.list_documents)
    delete_document = _Operation(calls.delete_document)
    check_ready = _Operation(calls.check_ready)

    _kind: type[httpx2.Client] | type[httpx2.AsyncClient]
    _http: httpx2.Client | httpx2.AsyncClient

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        key: str | None = None,
        timeout_s: float = 60.0,
        retries: int = 2,
        longest_wait_s: float = 10.0,
        transport: Any = None,
    ) -> None:
        if fault := find_fault(url):
            raise ConfigError(f"url {fault}")
        if key is not None and not (isinstance(key, str) and key.isascii() and key.isprintable() and key.strip()):
            raise ConfigError("key is no printable ASCII text: see that it alone was copied, without line ends")
        self._place = Confidential(url, key)
        self._retries = retries
        self._longest_wait_s = longest_wait_s
        headers = {"User-Agent": f"retrivex/{__version__}", **({"Authorization": f"Bearer {key}"} if key else {})}
        with self._explain():
            self._http = self._kind(base_url=url, timeout=timeout_s, headers=headers, transport=transport)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._place.address!r})"

    def _request(self, call: Call[Any]) -> httpx2.Request:
        headers = {} if call.body is None else {"Content-Type": "application/json"}
        content = None if call.body is None else json.dumps(call.body, allow_nan=False).encode()
        files = None if call.file is None else {"file": call.file}
        return self._http.build_request(
            call.method, call.path, content=content, params=call.parameters, data=call.form, files=files,
            headers=headers,
        )  # fmt: skip

    def _judge(self, response: httpx2.Response, call: Call[Any], attempt: int) -> float | None:
        """Return None for an answer, or the seconds after which the request is sent again; all else is an error."""
        if response.status_code == 200:
            return None
        pause = retry_after(response.headers.get("Retry-After"))
        may_be_repeated = response.status_code in call.repeated_after and attempt < self._retries
        if may_be_repeated and pause is not None and pause <= self._longest_wait_s:
            return pause
        try:
            problem = json.loads(response.content)
            known = {
                name: self._place.hide(value) if isinstance(value, str) else value for name, value in problem.items()
            }
            error = error_of(known, self._place.address, retry_after_s=pause)
        except _MISREAD:
            error = ServiceError(
                f"{self._place.address} answered with status {response.status_code} and no problem document: "
                f"{self._place.hide(response.text, _SHOWN)!r}; see that url is that of the service itself, and what "
                "stands in front of it",
                status=response.status_code,
                retry_after_s=pause,
            )
        raise error

    @contextmanager
    def _explain(self) -> Iterator[None]:
        """Turn what goes wrong on the way into one error that says what to look at."""
        try:
            yield
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            raise ServiceError(
                f"{self._place.address} cannot be reached, or broke off "
                f"({describe_cause(error, hide=self._place.hide)}): see that url is its whole address, that it "
                "runs there, and that timeout_s is long enough"
            ) from error

    def _read(self, content: bytes, call: Call[T]) -> T:
        try:
            return call.read(json.loads(content))
        except _MISREAD as error:
            shown = self._place.hide(content.decode("utf-8", "replace"), _SHOWN)
            raise ServiceError(
                f"{self._place.address} gave no answer that version {__version__} of this client reads "
                f"({describe_cause(error, hide=self._place.hide)}): {shown!r}; see that url is that of the service, "
                "and of the same version",
                status=200,
            ) from error


class Client(_Operations):
    """A client of the service; safe to share between threads.

    Parameters
    ----------
    url : of the service, e.g. `http://127.0.0.1:8080`; it may have a path, where a proxy puts the service below one
    key : of `retrivex keys create`, where the service wants one
    timeout_s : seconds to wait for a connection, and for each part of an answer
    retries : how often a request is sent again that the service was too busy for, where it says when to come again
    longest_wait_s : a request that is to come again later than that fails at once
    transport : of httpx2, for certificates or proxies of your own

    Raises
    ------
    ConfigError
        If an argument breaks its rule.

    Examples
    --------
    >>> with Client("http://127.0.0.1:8080") as client:  # doctest: +SKIP
    ...     made = client.query("Who signs a claim?", config={"token_budget": 500})
    ...     places = [client.resolve(citation) for citation in made.citations]
    """

    _kind = httpx2.Client
    _http: httpx2.Client

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; nothing may be asked afterwards."""
        self._http.close()

    def _send(self, call: Call[T]) -> T:
        for attempt in itertools.count():
            with self._explain():
                response = self._http.send(self._request(call))
            pause = self._judge(response, call, attempt)
            if pause is None:
                break
            time.sleep(pause)
        return self._read(response.content, call)


class AsyncClient(_Operations):
    """A client of the service for an event loop: the same operations, to be awaited.

    Parameters
    ----------
    url, key, timeout_s, retries, longest_wait_s, transport : see `Client`

    Raises
    ------
    ConfigError
        If an argument breaks its rule.

    Examples
    --------
    >>> async def ask() -> None:
    ...     async with AsyncClient("http://127.0.0.1:8080") as client:
    ...         made = await client.query("Who signs a claim?")
    """

    _kind = httpx2.AsyncClient
    _http: httpx2.AsyncClient

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections; nothing may be asked afterwards."""
        await self._http.aclose()

    async def _send(self, call: Call[T]) -> T:
        for attempt in itertools.count():
            with self._explain():
                response = await self._http.send(self._request(call))
            pause = self._judge(response, call, attempt)
            if pause is None:
                break
            await asyncio.sleep(pause)
        return self._read(response.content, call)
