"""Makes the HTTP application out of settings: indexes are opened, routes added, errors turned into problems."""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

from retrivex.errors import ConfigError, RetrivexError, install_hint, quoted
from retrivex.service import openapi
from retrivex.service.bodies import DEFAULT_INDEX
from retrivex.service.collection import CollectionIndex
from retrivex.service.conventions import operations
from retrivex.service.conventions.problems import members_of
from retrivex.service.engine import AnyIndex, Engine
from retrivex.service.index import Index
from retrivex.service.keys import NEEDED_MARK, Keys
from retrivex.service.playground import page
from retrivex.service.problems import MEDIA_TYPE, Problem, problem_of
from retrivex.service.quotas import Quotas
from retrivex.service.settings import Settings, read_settings
from retrivex.service.wire import write_json
from retrivex.service.work import Work
from retrivex.tokens.tokenizer import resolve_tokenizer
from retrivex.version import __version__

try:
    from fastapi import FastAPI, Request, Response
    from fastapi.exceptions import RequestValidationError
    from fastapi.openapi.utils import get_openapi
    from starlette.exceptions import HTTPException
    from starlette.middleware.cors import CORSMiddleware

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
_TITLES = {404: "There is no such thing", 405: "The method is another one"}


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
    app = FastAPI(
        title="RetriVex",
        version=__version__,
        description="Whole, ordered, cited passages inside a token budget.",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=_lifespan(service, door.run),
        telemetry=_NO_TELEMETRY,
    )
    app.state.service = service
    for kind in (RetrivexError, UnicodeEncodeError):
        app.add_exception_handler(kind, _answer_error)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    app.add_exception_handler(HTTPException, _answer_http)
    app.include_router(make_router(service))
    _add_document(app)
    _add_page(app)
    app.add_api_route("/mcp", door.enter, methods=["POST"], include_in_schema=False)
    if given.cors:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=given.cors,
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "X-Request-ID", *HEADERS],
            expose_headers=["X-Request-ID", "Retry-After"],
        )
    app.add_middleware(
        Gate,
        service.metrics,
        is_open=lambda: not service.keys.are_needed(),
        hosts=given.hosts,
        origins=given.cors,
        most=given.max_body_bytes,
        most_uploaded=given.max_upload_bytes,
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
    mark = os.environ.get(NEEDED_MARK)
    keys = Keys(settings.keys, None if mark is None else Path(mark))
    indexes: list[AnyIndex] = []
    try:
        if mark is None:  # under another server: `retrivex serve` has looked whether there are keys, and left a mark
            keys.are_needed()
        for name, place in settings.collections.items():
            if name in settings.indexes:
                raise ConfigError(f"the index {name!r} is in indexes and in collections: give one of them another name")
            indexes.append(CollectionIndex.open(name, **place.model_dump()))
        databases = {DEFAULT_INDEX: settings.db, **settings.indexes}
        for name, path in databases.items():
            if name in settings.collections:
                continue  # the default one, where it is a collection
            indexes.append(Index(name, path, tokenizer, embed=settings.embed, read_only=settings.read_only))
        path = settings.quotas or Path(tempfile.mkdtemp(prefix="retrivex-"), "quotas.db")
        quotas = Quotas(
            path,
            rate=settings.key_rate,
            concurrency=settings.key_concurrency,
            longest_s=2 * settings.timeout_s,
        )
    except BaseException:
        for index in indexes:
            index.close()
        keys.close()
        raise
    engine = Engine(
        indexes,
        config,
        bounds=settings.bounds,
        tokenizer=tokenizer,
        rerank_encoders=settings.rerank_encoders,
    )
    work = Work(settings.threads, settings.queue, settings.timeout_s)
    uploads = Work(max(1, settings.threads - 1), min(settings.queue, _WAITING_UPLOADS), settings.timeout_s)
    return Service(settings, engine, keys, quotas, work, Metrics(), uploads)


def _lifespan(service: Service, run: Callable[[], AbstractAsyncContextManager[None]]) -> Callable[[FastAPI], Any]:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with run():
            yield
        service.close()

    return lifespan


# ---- errors


def _respond(request: Request, problem: Problem) -> Response:
    members = members_of(problem, request.url.path, request.headers.get("authorization", ""))
    body = write_json({**problem.to_dict(request.state.request_id), **members})
    return Response(body, problem.status, problem.headers, MEDIA_TYPE)


async def _answer_error(request: Request, error: Exception) -> Response:
    return _respond(request, problem_of(error))


async def _answer_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"][1:])
    rule = first["msg"].replace("Input should", "it should", 1)
    detail = f"{name} is {quoted(first.get('input'))}: {rule}"
    return _respond(request, Problem(422, "request", "The request breaks a rule", detail))


async def _answer_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = error.status_code
    detail = {
        404: "no operation has this address: /openapi.json lists all",
        405: "this address has no such method: /openapi.json lists those it has",
    }.get(status, str(error.detail))
    kind = {400: "syntax", 404: "not-found", 405: "method"}.get(status, "http")
    title = _TITLES.get(status, "The request cannot be read")
    return _respond(request, Problem(status, kind, title, detail, dict(error.headers or {})))


# ---- the OpenAPI document, and the page


def _add_document(app: FastAPI) -> None:
    made = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    own = openapi.components() | operations.components()
    schemas = {**made.setdefault("components", {}).get("schemas", {}), **own}
    security = {"key": {"type": "http", "scheme": "bearer", "description": "of `retrivex keys create`"}}
    made["components"] = {"schemas": schemas, "securitySchemes": security}
    made["security"] = [{}, {"key": []}]
    body = write_json(made)

    async def document() -> Response:
        return Response(body, media_type=openapi.JSON)

    app.add_api_route("/openapi.json", document, include_in_schema=False)


def _add_page(app: FastAPI) -> None:
    """Serve the files of the page: those alone, read and compressed once."""
    files = page.read_files()
    compressed = {name: gzip.compress(content, mtime=0) for name, content in files.items()}
    policy = page.CONTENT_SECURITY_POLICY
    headers = {"Content-Security-Policy": policy, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}

    async def show(request: Request, name: str = page.INDEX) -> Response:
        if name not in files:
            raise HTTPException(404)
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(compressed[name], 200, {**headers, "Content-Encoding": "gzip"}, page.content_type(name))
        return Response(files[name], 200, headers, page.content_type(name))

    app.add_api_route("/", show, include_in_schema=False)
    app.add_api_route("/static/{name}", show, include_in_schema=False)
