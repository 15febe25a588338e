"""The operations over HTTP: each reads its request, calls the engine in a thread, and writes the answer."""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias, TypeVar

from retrivex.composer.requests import RequestError
from retrivex.composition.composition import Composition
from retrivex.errors import LoadError, install_hint, quoted
from retrivex.service import openapi
from retrivex.service.access import Access
from retrivex.service.answers import DocumentPage, ListedDocument, ListedIndex
from retrivex.service.bodies import DEFAULT_INDEX
from retrivex.service.bounds import Bounds
from retrivex.service.conventions.dify import retrieve_records
from retrivex.service.conventions.openai import search_vector_store
from retrivex.service.conventions.rerank import rank_texts, rerank_documents
from retrivex.service.engine import Engine
from retrivex.service.errors import BusyError, LimitError, MediaTypeError, SyntaxProblemError
from retrivex.service.keys import Keys
from retrivex.service.metrics import MEDIA_TYPE as METRICS_TYPE
from retrivex.service.metrics import Metrics
from retrivex.service.openapi import JSON, Operation
from retrivex.service.problems import problem_of
from retrivex.service.quotas import Quotas
from retrivex.service.settings import Settings
from retrivex.service.wire import read_json, write_json
from retrivex.service.work import Work
from retrivex.stores.sqlite.inspection import DocumentInfo

try:
    from fastapi import APIRouter, Path, Query, Request, Response
    from starlette.datastructures import ImmutableMultiDict, UploadFile
    from starlette.requests import ClientDisconnect
except ImportError as error:
    raise ImportError(f"the service needs packages of its own: {install_hint('serve')}") from error

T = TypeVar("T")
Record: TypeAlias = dict[str, Any]
Call: TypeAlias = Callable[[Record, Access], Any]
"""Answers a record for who asks."""

_FORM_FIELDS = 4
IndexName = Annotated[str, Query(description="name of the index", max_length=200)]
Scopes = Annotated[list[str] | None, Query(description="narrows what the key may see; empty for no scope; repeatable")]


@dataclass(frozen=True, slots=True)
class Service:
    """What the operations share.

    Parameters
    ----------
    settings, engine, keys, quotas, work, metrics : one of each in a process
    uploads : threads of their own, so that questions never wait for all of them
    """

    settings: Settings
    engine: Engine
    keys: Keys
    quotas: Quotas
    work: Work
    metrics: Metrics
    uploads: Work

    def close(self) -> None:
        """Close files, and take no more work."""
        self.work.close()
        self.uploads.close()
        self.engine.close()

    def authorize(self, request: Request) -> Access:
        """Return what a request may see.

        Raises
        ------
        UnauthorizedError
            If it brings no key where one is needed.
        """
        access = self.keys.authorize(request.headers.get("authorization"))
        request.state.key = access.key
        return access

    async def read(self, body: Awaitable[T]) -> T:
        """Wait for a body.

        Raises
        ------
        SyntaxProblemError
            If its sender is gone before it is whole.
        """
        try:
            return await body
        except ClientDisconnect:
            raise SyntaxProblemError("the connection ended before the body was whole: send it again") from None

    async def answer(self, request: Request, job: Callable[[Access], Any]) -> Response:
        """Answer a request without a body: with what a job returns."""
        access = self.authorize(request)
        with self.quotas.admit(access.key):
            return Response(await self.work.do(lambda: self.write(job(access))), media_type=JSON)

    async def answer_json(self, request: Request, job: Callable[[Record, Access], Any]) -> Response:
        """Answer a request with a JSON body; bytes are written already."""
        access = self.authorize(request)
        _check_type(request, JSON)
        with self.quotas.admit(access.key):
            raw = await self.read(request.body())
            body = await self.work.do(lambda: self.write(job(read_json(raw), access)))
            return Response(body, media_type=JSON)

    def write(self, made: Any) -> bytes:
        """Return an answer as bytes, which are bounded."""
        return made if isinstance(made, bytes) else write_json(made, self.engine.bounds.answer)


def make_router(service: Service) -> APIRouter:
    """Return the operations of a service."""
    router = APIRouter()
    _add_contexts(router, service)
    _add_conventions(router, service)
    _add_documents(router, service)
    _add_operation(router, service)
    return router


def _check_type(request: Request, wanted: str) -> None:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != wanted:
        raise MediaTypeError(f"the body is of type {media_type[:80]!r}: send Content-Type: {wanted}")


# ---- requests with a JSON body


def _add_post(router: APIRouter, service: Service, path: str, operation: Operation, call: Call) -> None:
    async def answer(request: Request) -> Response:
        return await service.answer_json(request, call)

    router.add_api_route(path, answer, methods=["POST"], **operation.arguments())


def _add_contexts(router: APIRouter, service: Service) -> None:
    engine = service.engine

    def prompt(record: Record, access: Access) -> Record:
        made, composition = engine.prompt(record, access)
        shown = {"messages": made.messages, "system": made.system, "left_out": made.left_out, "tokens": made.tokens}
        return {**shown, "composition": composition.to_dict()}

    calls: dict[str, Call] = {
        "compose": lambda record, access: _show(record, engine.compose(record, access)),
        "query": lambda record, access: _show(record, engine.query(record, access)),
        "reorder": lambda record, _: engine.reorder(record),
        "deduplicate": lambda record, _: engine.deduplicate(record),
        "prompt": prompt,
        "resolve": lambda record, access: engine.resolve(record, access),
    }

    async def view(request: Request) -> Response:
        address = str(request.base_url)
        return await service.answer_json(request, lambda record, access: engine.view(record, access, address=address))

    for operation in openapi.CONTEXTS:
        name, call = operation.name, calls[operation.name]
        _add_post(router, service, f"/v1/{name}/batch", operation.batch(), _many(service, call))
        _add_post(router, service, f"/v1/{name}", operation, call)
    router.add_api_route("/v1/view", view, methods=["POST"], **openapi.VIEW.arguments())


def _show(record: Record, made: Composition) -> Record:
    return {"id": record.get("id"), **made.to_dict(trace=record.get("trace") is True)}


def _many(service: Service, call: Call) -> Call:
    def answer(record: Record, access: Access) -> bytes:
        return _answer_all(service, _read_batch(service.engine.bounds, record), lambda one: call(one, access))

    return answer


def _read_batch(bounds: Bounds, record: Record) -> list[Any]:
    requests = record.pop("requests", None)
    if not isinstance(requests, list) or not requests:
        raise RequestError("'requests' is missing or empty: give a list of requests")
    if record:
        raise RequestError(f"the key {sorted(record)[0]!r} is unknown: a batch has requests")
    bounds.check_count("requests", len(requests), bounds.batch)
    return requests


def _answer_all(service: Service, requests: list[Any], call: Callable[[Record], Any]) -> bytes:
    """Answer requests one after the other; an error belongs to its item, also where the time or the room is over."""
    end, most = time.monotonic() + service.settings.timeout_s, service.engine.bounds.answer
    taken, made = 0, []
    for record in requests:
        try:
            if time.monotonic() > end:
                raise BusyError("the time for this batch is over: send fewer requests at once", 1.0)
            if not isinstance(record, dict):
                raise RequestError(f"the request is a {type(record).__name__}: it must be a JSON object")
            answer = service.write(call(record)) if taken <= most else b""  # nothing is computed that has no room
            taken += len(answer)
            if taken > most:
                raise LimitError(
                    f"the answers of this batch have more than {most:,} bytes, the limit: send fewer requests at once"
                )
            made.append(b'{"status":200,"answer":' + answer + b"}")
        except Exception as error:  # noqa: BLE001 - one bad item must not lose the others; it is handed back in its place
            problem = problem_of(error)
            made.append(write_json({"status": problem.status, "problem": problem.to_dict()}))
    return b'{"answers":[' + b",".join(made) + b"]}"


# ---- conventions of other tools


def _add_conventions(router: APIRouter, service: Service) -> None:
    engine = service.engine

    async def search(
        request: Request, vector_store_id: Annotated[str, Path(description="name of the index", max_length=200)]
    ) -> Response:
        return await service.answer_json(
            request, lambda record, access: search_vector_store(engine, vector_store_id, record, access)
        )

    path = "/v1/vector_stores/{vector_store_id}/search"
    router.add_api_route(path, search, methods=["POST"], **openapi.VECTOR_STORE_SEARCH.arguments())
    calls: tuple[tuple[str, Operation, Call], ...] = (
        ("/retrieval", openapi.RETRIEVAL, lambda record, access: retrieve_records(engine, record, access)),
        ("/v1/rerank", openapi.RERANK, lambda record, _: rerank_documents(engine, record)),
        (
            "/v2/rerank",
            dataclasses.replace(openapi.RERANK, name="rerank_v2"),
            lambda record, _: rerank_documents(engine, record),
        ),
        ("/rerank", openapi.RANK_TEXTS, lambda record, _: rank_texts(engine, record)),
    )
    for path, operation, call in calls:
        _add_post(router, service, path, operation, call)


# ---- documents


def _add_documents(router: APIRouter, service: Service) -> None:
    engine = service.engine

    async def list_indexes(request: Request) -> Response:
        found = [
            dataclasses.asdict(ListedIndex(index.name, index.keeps_documents, index.read_only))
            for index in engine.indexes.values()
        ]
        return await service.answer(request, lambda _: {"indexes": found})

    async def list_documents(
        request: Request,
        index: IndexName = DEFAULT_INDEX,
        scope: Scopes = None,
        after: Annotated[str, Query(description="the `next` of the page before")] = "",
        limit: Annotated[int, Query(ge=1, description="documents of a page")] = 100,
    ) -> Response:
        _check_names(request.query_params, ("index", "scope", "after", "limit"), ("scope",))

        def job(access: Access) -> Record:
            found = engine.list_documents(access, index=index, scope=_scopes(scope), after=after, most=limit)
            following = found[-1].doc_id if len(found) == limit else None
            return dataclasses.asdict(DocumentPage(tuple(map(_describe, found)), following))

        return await service.answer(request, job)

    async def add_document(request: Request) -> Response:
        access = service.authorize(request)
        _check_type(request, "multipart/form-data")
        with service.quotas.admit(access.key):
            name, raw, index, scope = await service.read(_read_form(request))

            def job() -> bytes:
                added = engine.add_file(raw, name, access, index=index or DEFAULT_INDEX, scope=scope or None)
                return write_json({"documents": [dataclasses.asdict(one) for one in added]})

            return Response(await service.uploads.do(job), media_type=JSON)

    async def delete_document(
        request: Request,
        doc_id: Annotated[str, Query(description="name of the document", min_length=1)],
        index: IndexName = DEFAULT_INDEX,
        scope: Scopes = None,
    ) -> Response:
        _check_names(request.query_params, ("doc_id", "index", "scope"), ("scope",))

        def job(access: Access) -> Record:
            engine.delete_document(doc_id, access, index=index, scope=_scopes(scope))
            return {"deleted": doc_id}

        return await service.answer(request, job)

    form = {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": openapi.UPLOAD}}}}
    path = "/v1/documents"
    router.add_api_route("/v1/indexes", list_indexes, methods=["GET"], **openapi.LIST_INDEXES.arguments())
    router.add_api_route(path, list_documents, methods=["GET"], **openapi.LIST_DOCUMENTS.arguments())
    router.add_api_route(path, delete_document, methods=["DELETE"], **openapi.DELETE_DOCUMENT.arguments())
    router.add_api_route(
        path, add_document, methods=["POST"], **{**openapi.ADD_DOCUMENT.arguments(), "openapi_extra": form}
    )


def _check_names(given: ImmutableMultiDict[str, Any], known: Sequence[str], repeatable: Sequence[str] = ()) -> None:
    """Refuse a name that is none of the operation's, or comes twice: another `scope` or `index` would be read."""
    for name, count in Counter(name for name, _ in given.multi_items()).items():
        if name not in known:
            raise RequestError(f"{quoted(name)} is unknown: this operation takes {', '.join(known)}")
        if count > 1 and name not in repeatable:
            raise RequestError(f"{quoted(name)} is given {count} times: give it once")


def _scopes(given: list[str] | None) -> list[str | None] | None:
    return None if given is None else [scope or None for scope in given]


async def _read_form(request: Request) -> tuple[str, bytes, str | None, str | None]:
    """Return the file's name and bytes, and the fields `index` and `scope`."""
    try:
        async with request.form(max_files=1, max_fields=_FORM_FIELDS) as form:
            _check_names(form, ("file", "index", "scope"))
            file, index, scope = (form.get(name) for name in ("file", "index", "scope"))
            if not isinstance(file, UploadFile):
                raise LoadError("the form has no file: send one in the field `file`")
            return file.filename or "", await file.read(), _read_field(index), _read_field(scope)
    except UnicodeError as error:  # starlette falls back for most charsets, but not for all that Python knows
        raise SyntaxProblemError("the form's charset cannot be read: send it as UTF-8") from error


def _read_field(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise RequestError("index or scope is a file: it must be text")


def _describe(info: DocumentInfo) -> ListedDocument:
    """Return what is shown of a document: not where its file lies on this machine."""
    return ListedDocument(
        info.doc_id, info.title, info.format, info.scope, info.timestamp, info.characters, info.chunk_count
    )  # fmt: skip


# ---- operation


def _add_operation(router: APIRouter, service: Service) -> None:
    async def health() -> Response:
        return Response(write_json({"status": "ok"}), media_type=JSON)

    async def ready() -> Response:
        def job() -> bytes:
            for index in service.engine.indexes.values():
                index.check()
            return write_json({"status": "ready"})

        return Response(await service.work.do(job), media_type=JSON)

    async def metrics(request: Request) -> Response:
        service.authorize(request)
        return Response(service.metrics.write(), media_type=METRICS_TYPE)

    for path, endpoint, operation in (
        ("/healthz", health, openapi.HEALTH),
        ("/readyz", ready, openapi.READY),
        ("/metrics", metrics, openapi.METRICS),
    ):
        router.add_api_route(path, endpoint, methods=["GET"], **operation.arguments())
