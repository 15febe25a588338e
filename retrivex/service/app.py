"""Makes the HTTP application out of settings: indexes are opened, routes added, everything put behind the gate."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NoReturn

from retrivex.errors import install_hint
from retrivex.service import openapi
from retrivex.service.bodies import DEFAULT_INDEX
from retrivex.service.collection import CollectionIndex
from retrivex.service.engine import AnyIndex, Engine
from retrivex.service.index import Index
from retrivex.service.keys import NEEDED, Keys
from retrivex.service.playground.page import STATIC
from retrivex.service.quotas import Quotas
from retrivex.service.settings import Settings, read_settings
from retrivex.service.work import Work
from retrivex.tokens.tokenizer import Tokenizer, resolve_tokenizer
from retrivex.version import __version__

try:
    from fastapi import FastAPI
    from fastapi.exceptions import RequestValidationError
    from fastapi.openapi.utils import get_openapi
    from starlette.exceptions import HTTPException
    from starlette.middleware.cors import CORSMiddleware
    from starlette.middleware.gzip import GZipMiddleware
    from starlette.responses import FileResponse
    from starlette.routing import Route
    from starlette.staticfiles import StaticFiles
    from starlette.types import Receive, Scope, Send

    from retrivex.service.gate import Gate
    from retrivex.service.mcp.http import HEADERS, Door
    from retrivex.service.metrics import Metrics
    from retrivex.service.routes import Service, make_router
except ImportError as error:
    raise ImportError(f"the service needs packages of its own: {install_hint('serve')}") from error

# Newer versions of FastAPI trace requests with their query, which may name a document, and log what was wrong in them;
# older ones ignore this. The composer's spans have no text.
_NO_TELEMETRY: Any = dict.fromkeys(("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False)
_WAITING_UPLOADS = 8  # each with its file in memory


def create_app(settings: Settings | None = None) -> FastAPI:
    """Return the application: an ASGI application, for uvicorn and other servers.

    Parameters
    ----------
    settings : None reads the environment, as each of several workers does

    Raises
    ------
    RetrivexError
        If a setting breaks its rule, or an index cannot be opened.

    Examples
    --------
    >>> app = create_app(Settings(db="handbook.db"))  # doctest: +SKIP
    """
    given = settings or read_settings()
    service = open_service(given)
    door = Door(service)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with door.run():
            yield
        service.close()

    app = FastAPI(
        title="RetriVex",
        version=__version__,
        description="Whole, ordered, cited passages inside a token budget.",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        # the gate makes the problem of every error
        exception_handlers={RequestValidationError: _hand_on, HTTPException: _hand_on},
        telemetry=_NO_TELEMETRY,
    )
    app.state.service = service
    app.include_router(make_router(service))
    app.add_api_route("/mcp", door.enter, methods=["POST"], include_in_schema=False)
    app.openapi = lambda: _describe(app)
    _add_page(app)
    app.add_middleware(Gate, given, service.metrics, lambda: not service.keys.are_needed())
    if given.cors:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=given.cors,
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "X-Request-ID", *HEADERS],
            expose_headers=["X-Request-ID", "Retry-After"],
        )
    return app


def open_service(settings: Settings) -> Service:
    """Open what the settings name.

    Raises
    ------
    RetrivexError
        If an index cannot be opened, or options are wrong.
    """
    config = settings.retrieval
    tokenizer, _ = resolve_tokenizer(config.tokenizer)
    keys = Keys(settings.keys, needed=NEEDED in os.environ)
    keys.are_needed()
    indexes = _open_indexes(settings, tokenizer)
    engine = Engine(indexes, config, bounds=settings.bounds, tokenizer=tokenizer)
    quotas = Quotas(rate=settings.key_rate, concurrency=settings.key_concurrency)
    work = Work(settings.threads, settings.queue, settings.timeout_s)
    uploads = Work(max(1, settings.threads - 1), min(settings.queue, _WAITING_UPLOADS), settings.timeout_s)
    return Service(settings, engine, keys, quotas, work, Metrics(), uploads)


def _open_indexes(settings: Settings, tokenizer: Tokenizer) -> list[AnyIndex]:
    databases = {DEFAULT_INDEX: settings.db, **settings.indexes}
    indexes: list[AnyIndex] = [
        CollectionIndex.open(name, **place.model_dump()) for name, place in settings.collections.items()
    ]
    indexes += [
        Index(name, path, tokenizer, embed=settings.embed, read_only=settings.read_only)
        for name, path in databases.items()
        if name not in settings.collections  # the default one may be a collection
    ]
    return indexes


async def _hand_on(_: Any, error: Exception) -> NoReturn:
    raise error


def _describe(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document, which is made once."""
    if not app.openapi_schema:
        made = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        security = {"key": {"type": "http", "scheme": "bearer", "description": "of `retrivex keys create`"}}
        made["components"] = {"schemas": openapi.components(), "securitySchemes": security}
        made["security"] = [{}, {"key": []}]
        app.openapi_schema = made
    document: dict[str, Any] = app.openapi_schema
    return document


def _add_page(app: FastAPI) -> None:
    async def show(scope: Scope, receive: Receive, send: Send) -> None:
        await FileResponse(STATIC / "index.html")(scope, receive, send)

    app.router.routes.append(Route("/", GZipMiddleware(show, minimum_size=0), methods=["GET"]))
    app.mount("/static", GZipMiddleware(StaticFiles(directory=STATIC), minimum_size=0))
