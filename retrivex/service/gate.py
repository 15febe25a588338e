"""What every request passes: an id, a log line, counts, a look at where it comes from, headers, and the last catch."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from typing import Any, TypeAlias

from retrivex.service.conventions.problems import members_of
from retrivex.service.draining import DRAINING
from retrivex.service.errors import DrainingError, OriginError, TooLargeError
from retrivex.service.logs import LOGGER
from retrivex.service.metrics import Metrics
from retrivex.service.problems import MEDIA_TYPE, problem_of
from retrivex.service.settings import LOOPBACK
from retrivex.service.wire import write_json

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

_ID = re.compile(r"[\w.-]{1,64}", re.ASCII)
_SECURITY = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
_UPLOADS = "/v1/documents"


class Gate:
    """An ASGI application around another one.

    Parameters
    ----------
    app : the other one
    metrics : that requests are counted in
    is_open : whether nobody needs a key, so that a browser must not be talked into asking
    hosts : names that requests may ask for; empty for any, with keys
    origins : of pages that may ask, beside its own
    most : bytes of a body
    most_uploaded : bytes of a body with files
    """

    def __init__(
        self,
        app: App,
        metrics: Metrics,
        *,
        is_open: Callable[[], bool],
        hosts: Collection[str] = (),
        origins: Collection[str] = (),
        most: int,
        most_uploaded: int,
    ) -> None:
        self._app = app
        self._metrics = metrics
        self._is_open = is_open
        self._hosts = frozenset(host.lower() for host in hosts)
        self._origins = frozenset(origins)
        self._most = most
        self._most_uploaded = most_uploaded

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; other things go to the other application as they are."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        passage = _Passage(scope, send)
        scope.setdefault("state", {})["request_id"] = passage.request_id
        self._metrics.begin()
        try:
            if DRAINING.is_set() and scope["path"] not in ("/healthz", "/metrics"):
                raise DrainingError("the service is ending: ask again, another one may answer", 1.0)
            self._check_origin(scope, passage.headers)
            most = self._most_uploaded if scope["path"] == _UPLOADS else self._most
            await self._app(scope, _limit(receive, passage.headers, most), passage.send)
        except Exception as error:  # noqa: BLE001 - the last catch: everything becomes one problem document
            await passage.refuse(error)
        finally:
            seconds = time.perf_counter() - passage.began
            route = getattr(scope.get("route"), "path", "other")
            self._metrics.end(passage.method, route, passage.status, seconds)
            LOGGER.info("request", extra={"fields": passage.describe(route, seconds)})

    def _check_origin(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        host = headers.get(b"host", b"").decode("latin-1").lower()
        name = host.rpartition(":")[0] if re.search(r":\d+$", host) else host
        allowed = self._hosts or (frozenset((*LOOPBACK, "[::1]", "")) if self._is_open() else None)
        if allowed is not None and name not in allowed:
            raise OriginError(
                f"host is {name[:80]!r}: this service answers for {', '.join(sorted(filter(None, allowed)))}"
            )
        origin = headers.get(b"origin")
        if origin is None:
            return
        text = origin.decode("latin-1")
        if text not in self._origins and text.partition("://")[2].lower() != host:
            raise OriginError(f"origin is {text[:80]!r}: pages of others may not ask; name it in the setting cors")


class _Passage:
    """One request on its way: what it is called, and what was answered."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self.began = time.perf_counter()
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        given = self.headers.get(b"x-request-id", b"").decode("latin-1")
        self.request_id = given if _ID.fullmatch(given) else secrets.token_hex(8)
        method = scope["method"]
        self.method = method if method in ("GET", "POST", "DELETE", "HEAD", "OPTIONS", "PUT", "PATCH") else "other"
        self.status = 500
        self._scope = scope
        self._send = send
        self._begun = False

    async def send(self, message: Message) -> None:
        """Send a part of the answer, with the headers that every answer has."""
        if message["type"] == "http.response.start":
            self._begun = True
            self.status = message["status"]
            headers = list(message.get("headers", ()))
            named = {name.lower() for name, _ in headers}
            headers += [pair for pair in _SECURITY if pair[0] not in named]
            headers.append((b"x-request-id", self.request_id.encode()))
            if DRAINING.is_set():
                headers.append((b"connection", b"close"))
            message = {**message, "headers": headers}
        await self._send(message)

    async def refuse(self, error: Exception) -> None:
        """Answer with a problem document; where an answer has begun, it ends there."""
        problem = problem_of(error)
        if problem.status == 500:
            LOGGER.error("failed", exc_info=error, extra={"fields": {"request_id": self.request_id}})
        if self._begun:
            return  # the server closes the connection, so that nobody takes half an answer for a whole one
        authorization = self.headers.get(b"authorization", b"").decode("latin-1")
        members = members_of(problem, self._scope["path"], authorization)
        body = write_json({**problem.to_dict(self.request_id), **members})
        headers = {"Content-Type": MEDIA_TYPE, "Content-Length": str(len(body)), **problem.headers}
        pairs = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
        await self.send({"type": "http.response.start", "status": problem.status, "headers": pairs})
        await self.send({"type": "http.response.body", "body": b"" if self.method == "HEAD" else body})

    def describe(self, route: str, seconds: float) -> dict[str, Any]:
        """Return what is logged: the route and not the path, which may name a document."""
        state = self._scope.get("state", {})
        return {
            "request_id": self.request_id,
            "method": self.method,
            "route": route,
            "status": self.status,
            "ms": round(seconds * 1000, 1),
            "key": state.get("key"),
        }


def _limit(receive: Receive, headers: dict[bytes, bytes], most: int) -> Receive:
    """Return a `receive` that refuses more than `most` bytes: those announced at once, others when they come."""
    too_large = TooLargeError(f"the body has more than {most:,} bytes, the limit: send less, or several requests")
    length = headers.get(b"content-length", b"")
    if length.isdigit() and len(length) < 20 and int(length) > most:
        raise too_large
    taken = 0

    async def limited() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > most:
            raise too_large
        return message

    return limited
