"""What every request passes: an id, a log line, counts, a look at where it comes from, headers, and the last catch."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from retrivex.composer.requests import RequestError
from retrivex.errors import install_hint
from retrivex.service.bodies import describe_fault
from retrivex.service.conventions.problems import members_of
from retrivex.service.errors import OriginError, TooLargeError
from retrivex.service.logs import LOGGER
from retrivex.service.metrics import Metrics
from retrivex.service.problems import MEDIA_TYPE, Problem, problem_of
from retrivex.service.settings import LOOPBACK, Settings
from retrivex.service.wire import write_json

try:
    from fastapi.exceptions import RequestValidationError
    from starlette.datastructures import Headers, MutableHeaders
    from starlette.exceptions import HTTPException
    from starlette.responses import Response
except ImportError as error:
    raise ImportError(f"the service needs packages of its own: {install_hint('serve')}") from error

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

_ID = re.compile(r"[\w.-]{1,64}", re.ASCII)
_METHODS = ("GET", "POST", "DELETE", "HEAD", "OPTIONS", "PUT", "PATCH")
_SECURITY = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
    # of the page, too: nothing inline, nothing from elsewhere
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}
_UPLOADS = "/v1/documents"
_HTTP_PROBLEMS = {
    400: ("syntax", "The body cannot be read", None),
    404: ("not-found", "There is no such thing", "no operation has this address: /openapi.json lists all"),
    405: ("method", "The method is another one", "this address has no such method: /openapi.json lists those it has"),
}


class Gate:
    """An ASGI application around another one.

    Parameters
    ----------
    app : the other one
    settings : of the service
    metrics : that requests are counted in
    is_open : whether nobody needs a key, so that a browser must not be talked into asking
    """

    def __init__(self, app: App, settings: Settings, metrics: Metrics, is_open: Callable[[], bool]) -> None:
        self._app = app
        self._settings = settings
        self._metrics = metrics
        self._is_open = is_open
        self._hosts = frozenset(host.lower() for host in settings.hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; other things go to the other application as they are."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, headers, status = time.perf_counter(), Headers(scope=scope), 0
        given = headers.get("x-request-id", "")
        request_id = given if _ID.fullmatch(given) else secrets.token_hex(8)

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                sent = MutableHeaders(scope=message)
                for name, value in {**_SECURITY, "x-request-id": request_id}.items():
                    sent.setdefault(name, value)
            await send(message)

        try:
            self._check_origin(headers)
            await self._app(scope, self._limit(scope, receive, headers), send_on)
        except Exception as error:  # noqa: BLE001 - the last catch: everything becomes one problem document
            problem = _explain(error)
            if problem.status == 500:
                LOGGER.error("failed", exc_info=error, extra={"fields": {"request_id": request_id}})
            # where an answer has begun, the server closes the connection: nobody takes half of it for a whole one
            if not status:
                members = members_of(problem, scope["path"], headers.get("authorization", ""))
                body = write_json({**problem.to_dict(request_id), **members})
                await Response(body, problem.status, problem.headers, MEDIA_TYPE)(scope, receive, send_on)
        finally:
            self._record(scope, request_id, status or 500, time.perf_counter() - began)

    def _record(self, scope: Scope, request_id: str, status: int, seconds: float) -> None:
        """Count and log a request: by its route and not its path, which may name a document."""
        method = scope["method"] if scope["method"] in _METHODS else "other"
        route = getattr(scope.get("route"), "path", "other")
        self._metrics.count(method, route, status, seconds)
        fields = {"request_id": request_id, "method": method, "route": route, "status": status}
        more = {"ms": round(seconds * 1000, 1), "key": scope.get("state", {}).get("key")}
        LOGGER.info("request", extra={"fields": fields | more})

    def _check_origin(self, headers: Headers) -> None:
        host = headers.get("host", "").lower()
        name = host.rpartition(":")[0] if re.search(r":\d+$", host) else host
        allowed = self._hosts or (frozenset((*LOOPBACK, "[::1]", "")) if self._is_open() else None)
        if allowed is not None and name not in allowed:
            raise OriginError(
                f"host is {name[:80]!r}: this service answers for {', '.join(sorted(filter(None, allowed)))}"
            )
        origin = headers.get("origin")
        if origin and origin not in self._settings.cors and origin.partition("://")[2].lower() != host:
            raise OriginError(f"origin is {origin[:80]!r}: pages of others may not ask; name it in the setting cors")

    def _limit(self, scope: Scope, receive: Receive, headers: Headers) -> Receive:
        """Return a `receive` that refuses too many bytes: those announced at once, others when they come."""
        most = self._settings.max_upload_bytes if scope["path"] == _UPLOADS else self._settings.max_body_bytes
        too_large = TooLargeError(f"the body has more than {most:,} bytes, the limit: send less, or several requests")
        length = headers.get("content-length", "")
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


def _explain(error: Exception) -> Problem:
    """Return the problem that an error is, be it one of FastAPI's."""
    if isinstance(error, RequestValidationError):
        return problem_of(RequestError(describe_fault(error.errors()[0], skip=1)))
    if isinstance(error, HTTPException):
        usual = ("http", "The request cannot be read", None)
        kind, title, detail = _HTTP_PROBLEMS.get(error.status_code, usual)
        return Problem(error.status_code, kind, title, detail or str(error.detail), dict(error.headers or {}))
    return problem_of(error)
