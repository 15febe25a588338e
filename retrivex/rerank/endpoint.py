"""An HTTP endpoint of a model, which takes and returns JSON (extra `rerank`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Self

from retrivex.errors import RerankError, RerankUnavailableError, describe_cause, install_hint, quoted
from retrivex.rerank.policy import check_seconds
from retrivex.text.addresses import Confidential, find_fault
from retrivex.timeouts import retry_after

try:
    import httpx2
except ImportError as error:
    raise ImportError(f"reranking over HTTP needs httpx2: {install_hint('rerank')}") from error

MAX_ANSWER_BYTES = 64 * 1024 * 1024
"""Longest answer that is read, unpacked; scores take some bytes a text."""

SHOWN = 200
"""Characters of an endpoint's own words in an error."""

_TOO_MANY = 429
_LONG = 100_000  # characters of an answer that are searched for secrets


class Endpoint:
    """Posts JSON and returns the JSON of the answer; one connection pool for all threads.

    Errors name the address without user, password and query, and hide those and the key wherever the endpoint repeats
    them.

    A status 5xx, a broken connection, or status 429 (too many requests) is a `RerankUnavailableError`, with the time
    that the endpoint asks to wait (`Retry-After`, as seconds or a date); any other status is a `RerankError`.

    Parameters
    ----------
    url : of the endpoint itself
    api_key : sent as a bearer token
    timeout_s : seconds that a single request may take
    advice : what to look at where the endpoint refuses a request
    options : further fields of each request

    Raises
    ------
    RerankError
        If an argument breaks its rule.
    """

    def __init__(
        self, url: str, *, api_key: str | None, timeout_s: float, advice: str, options: Mapping[str, Any] | None
    ) -> None:
        check_seconds("timeout_s", timeout_s)
        if api_key is not None and not (isinstance(api_key, str) and api_key.isascii() and api_key.isprintable()):
            raise RerankError(
                "api_key is no printable ASCII text: see that the key alone was copied, without line ends"
            )
        if not isinstance(url, str) or not url.startswith(("http://", "https://")):
            raise RerankError(
                f"url is {quoted(url)}: give the whole address of the endpoint, e.g. http://localhost:8080/rerank"
            )
        if fault := find_fault(url):
            raise RerankError(f"url {fault}")
        self.url = url
        self._options = dict(options or {})
        self._place = Confidential(url, api_key)
        self._address = self._place.address
        self._advice = advice
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._timeout = httpx2.Timeout(timeout_s)
        self._ssl = httpx2.create_ssl_context()  # made once: it takes longer than many a request
        self._client = httpx2.Client(headers=self._headers, timeout=self._timeout, verify=self._ssl)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._address!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections that are kept open; the endpoint may not be asked afterwards."""
        self._client.close()

    def _quote(self, answer: Any) -> str:
        """Return the beginning of an answer for an error, without the secrets that the endpoint was sent."""
        return self._place.hide(quoted(answer, _LONG), SHOWN)

    def _post(self, body: Mapping[str, Any]) -> Any:
        """Return the answer to a request.

        Raises
        ------
        RerankUnavailableError
            If the endpoint cannot be reached, is too late, failed itself (status 5xx), or was asked too often (429).
        RerankError
            If it refused the request, or answered with something else than JSON.
        """
        content = bytearray()
        try:
            with self._client.stream("POST", self.url, json=body) as response:
                for part in response.iter_bytes():
                    self._take(part, content)
        except httpx2.RequestError as error:
            raise self._explain_unreachable(error) from error
        return self._read(response, bytes(content))

    async def _apost(self, body: Mapping[str, Any]) -> Any:
        """Return what `_post` returns; cancelling it closes the connection."""
        # a client of its own, as connections belong to the event loop that opened them
        async with httpx2.AsyncClient(headers=self._headers, timeout=self._timeout, verify=self._ssl) as client:
            content = bytearray()
            try:
                async with client.stream("POST", self.url, json=body) as response:
                    async for part in response.aiter_bytes():
                        self._take(part, content)
            except httpx2.RequestError as error:
                raise self._explain_unreachable(error) from error
        return self._read(response, bytes(content))

    def _take(self, part: bytes, content: bytearray) -> None:
        if len(content) + len(part) > MAX_ANSWER_BYTES:
            raise RerankError(
                f"{self._address} answered with more than {MAX_ANSWER_BYTES:,} bytes, the limit: see that it is the "
                "endpoint meant, and ask for no texts back"
            )
        content += part

    def _read(self, response: httpx2.Response, content: bytes) -> Any:
        words = repr(self._place.hide(content[:_LONG].decode("utf-8", "replace"), SHOWN))
        if response.status_code == _TOO_MANY or response.status_code >= 500:
            what = "wants to be asked less often," if response.status_code == _TOO_MANY else "failed with"
            raise RerankUnavailableError(
                f"{self._address} {what} status {response.status_code}: {words}",
                retry_after(response.headers.get("Retry-After")),
            )
        if response.status_code != 200:
            raise RerankError(
                f"{self._address} refused the request with status {response.status_code}: {words}; {self._advice}"
            )
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            raise RerankError(f"{self._address} answered with something else than JSON: {words}") from error

    def _explain_unreachable(self, error: Exception) -> RerankUnavailableError:
        return RerankUnavailableError(
            f"{self._address} cannot be reached ({describe_cause(error, hide=self._place.hide)})"
        )
