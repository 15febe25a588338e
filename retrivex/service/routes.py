"""The operations over HTTP: each reads its request, calls the engine in a thread, and writes the answer."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias, TypeVar

from retrivex.composer.requests import RequestError
from retrivex.composition.composition import Composition
from retrivex.errors import LoadError, install_hint, quoted
from retrivex.model.chunk import Chunk, ChunkKey
from retrivex.model.serialization import chunk_from_dict
from retrivex.service import openapi
from retrivex.service.access import Access
from retrivex.service.bodies import DEFAULT_INDEX
from retrivex.service.conventions import operations
from retrivex.service.conventions.dify import retrieve_records
from retrivex.service.conventions.openai import search_vector_store
from retrivex.service.conventions.rerank import rank_texts, rerank_documents
from retrivex.service.draining import DRAINING
from retrivex.service.engine import AnyIndex, Engine
from retrivex.service.errors import BusyError, DrainingError, MediaTypeError, SlowBodyError, SyntaxProblemError
from retrivex.service.keys import Keys
from retrivex.service.metrics import MEDIA_TYPE as METRICS_TYPE
from retrivex.service.metrics import Metrics
from retrivex.service.openapi import JSON, Operation, batch_of
from retrivex.service.problems import problem_of
from retrivex.service.quotas import Quotas
from retrivex.service.settings import Settings
from retrivex.service.wire import Room, read_json, write_json
from retrivex.service.work import Work
from retrivex.stores.memory import index_chunks
from retrivex.stores.sqlite.inspection import DocumentInfo

try:
    from fastapi import APIRouter, Path, Query, Request, Response
    from fastapi.responses import StreamingResponse
    from starlette.datastructures import ImmutableMultiDict, UploadFile
    from starlette.requests import ClientDisconnect
except ImportError as error:
    raise ImportError(f"the service needs packages of its own: {install_hint('serve')}") from error

T = TypeVar("T")
Record: TypeAlias = dict[str, Any]
Call: TypeAlias = Callable[[Record, Access], Record]

_FORM_FIELDS = 4
_FEWER = "ask for fewer hits or a smaller budget, without the trace, or for a shorter part or page"
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

    def room(self) -> Room:
        """Return the room of one answer."""
        return Room(self.engine.bounds.answer, "the answer has", _FEWER)

    def close(self) -> None:
        """Close files, and take no more work."""
        self.work.close()
        self.uploads.close()
        self.engine.close()
        self.keys.close()
        self.quotas.close()

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

    async def read(self, access: Access, body: Callable[[], Awaitable[T]]) -> T:
        """Wait for a body, counted for its key: who sends slowly holds room, too.

        Raises
        ------
        RateError
            If the key has too many requests here.
        SlowBodyError
            If it is not there in time.
        SyntaxProblemError
            If its sender is gone before it is whole.
        """
        seconds = self.settings.timeout_s
        with nullcontext() if access.key is None else self.quotas.hold(access.key):
            try:
                async with asyncio.timeout(seconds):
                    return await body()
            except TimeoutError:
                raise SlowBodyError(
                    f"the body did not come within {seconds:g} s, the limit: send less, or over a faster connection"
                ) from None
            except ClientDisconnect:
                raise SyntaxProblemError("the connection ended before the body was whole: send it again") from None

    async def run(self, access: Access, job: Callable[[], T], work: Work | None = None) -> T:
        """Do a job in a thread, counted for its key: here as soon as it waits, over all workers once it runs."""
        work = work or self.work
        if access.key is None:
            return await work.do(job)
        with self.quotas.hold(access.key):
            return await work.do(self._count, access.key, job, owner=access.key)

    def _count(self, key: str, job: Callable[[], T]) -> T:
        with self.quotas.admit(key):
            return job()


def make_router(service: Service) -> APIRouter:
    """Return the operations of a service."""
    router = APIRouter()
    _add_contexts(router, service)
    _add_conventions(router, service)
    _add_documents(router, service)
    _add_operation(router, service)
    return router


# ---- requests with a JSON body


def _add_contexts(router: APIRouter, service: Service) -> None:
    engine = service.engine

    def prompt(record: Record, access: Access) -> Record:
        made, composition = engine.prompt(record, access)
        shown = {"messages": made.messages, "system": made.system, "left_out": made.left_out, "tokens": made.tokens}
        return {**shown, "composition": composition.to_dict()}

    calls: tuple[tuple[str, Operation, Call], ...] = (
        ("/v1/compose", openapi.COMPOSE, lambda record, access: _answer(record, engine.compose(record, access))),
        ("/v1/reorder", openapi.REORDER, lambda record, _: engine.reorder(record)),
        ("/v1/deduplicate", openapi.DEDUPLICATE, lambda record, _: engine.deduplicate(record)),
        ("/v1/prompt", openapi.PROMPT, prompt),
        ("/v1/resolve", openapi.RESOLVE, engine.resolve),
        ("/v1/query", openapi.QUERY, lambda record, access: _answer(record, engine.query(record, access))),
    )
    for path, operation, call in calls:
        endpoint = _stream(service, call) if operation is openapi.QUERY else _single(service, call)
        router.add_api_route(path, endpoint, methods=["POST"], **operation.arguments())
        batch = batch_of(operation, shared=operation is openapi.COMPOSE)
        many = _many_composed(service) if operation is openapi.COMPOSE else _many(service, call)
        router.add_api_route(f"{path}/batch", many, methods=["POST"], **batch.arguments())
    router.add_api_route("/v1/view", _view(service), methods=["POST"], **openapi.VIEW.arguments())


def _view(service: Service) -> Callable[..., Any]:
    async def answer(request: Request) -> Response:
        access, raw = await _read(service, request)
        address = str(request.base_url)

        def job() -> bytes:
            return write_json(service.engine.view(read_json(raw), access, address=address), service.room())

        return Response(await service.run(access, job), media_type=JSON)

    return answer


def _answer(record: Record, made: Composition) -> Record:
    return {"id": record.get("id"), **made.to_dict(trace=record.get("trace") is True)}


def _single(service: Service, call: Callable[[Record, Access], Any]) -> Callable[..., Any]:
    async def answer(request: Request) -> Response:
        access, raw = await _read(service, request)

        def job() -> bytes:
            return write_json(call(read_json(raw), access), service.room())

        return Response(await service.run(access, job), media_type=JSON)

    return answer


def _stream(service: Service, call: Call) -> Callable[..., Any]:
    async def answer(request: Request) -> Response:
        access, raw = await _read(service, request)
        wanted = openapi.EVENTS in request.headers.get("accept", "")

        def job() -> bytes:
            record = read_json(raw)
            made = call(record, access)
            if wanted or record.get("stream") is True:
                return b"".join(_events(made, service.room()))
            return write_json(made, service.room())

        body = await service.run(access, job)
        if not body.startswith(b"event: "):
            return Response(body, media_type=JSON)
        parts = (part + b"\n\n" for part in body.split(b"\n\n") if part)  # JSON holds no empty line
        return StreamingResponse(_as_async(parts), media_type=openapi.EVENTS)

    return answer


async def _as_async(parts: Iterator[bytes]) -> Any:
    for part in parts:
        yield part


def _events(made: Record, room: Room) -> Iterator[bytes]:
    for number, span in enumerate(made["spans"], start=1):
        citations = [citation for citation in made["citations"] if citation["number"] == number]
        event = {"number": number, "doc_id": span["doc_id"], "text": span["text"], "citations": citations}
        yield b"event: span\ndata: " + write_json(event, room) + b"\n\n"
    yield b"event: composition\ndata: " + write_json(made, room) + b"\n\n"


def _many(service: Service, call: Call) -> Callable[..., Any]:
    async def answer(request: Request) -> Response:
        access, raw = await _read(service, request)

        def job() -> bytes:
            return _answer_all(service, _read_batch(service, read_json(raw)), lambda record: call(record, access))

        return Response(await service.run(access, job), media_type=JSON)

    return answer


def _many_composed(service: Service) -> Callable[..., Any]:
    async def answer(request: Request) -> Response:
        access, raw = await _read(service, request)

        def job() -> bytes:
            record = read_json(raw)
            shared = _read_shared(service, record.pop("chunks", None))
            compose = service.engine.compose
            requests = _read_batch(service, record)
            return _answer_all(service, requests, lambda one: _answer(one, compose(one, access, shared)))

        return Response(await service.run(access, job), media_type=JSON)

    return answer


def _read_shared(service: Service, chunks: Any) -> Mapping[ChunkKey, Chunk]:
    if chunks is None:
        return {}
    if not isinstance(chunks, list) or not all(isinstance(chunk, dict) for chunk in chunks):
        raise RequestError("'chunks' must be a list of chunk objects, shared by all requests")
    bounds = service.engine.bounds
    bounds.check_count("chunks", len(chunks), bounds.chunks)
    bounds.check_texts(chunk.get("text") for chunk in chunks)
    bounds.check_names(chunk.get("doc_id") for chunk in chunks)
    made = [chunk_from_dict(chunk) for chunk in chunks]
    bounds.check_chunks_given(made)
    return index_chunks(made)


def _read_batch(service: Service, record: Record) -> list[Any]:
    requests = record.pop("requests", None)
    if not isinstance(requests, list) or not requests:
        raise RequestError("'requests' is missing or empty: give a list of requests")
    if record:
        raise RequestError(f"the key {sorted(record)[0]!r} is unknown: a batch has requests, and for compose chunks")
    bounds = service.engine.bounds
    bounds.check_count("requests", len(requests), bounds.batch)
    return requests


def _answer_all(service: Service, requests: list[Any], call: Callable[[Record], Record]) -> bytes:
    """Answer requests one after the other; an error belongs to its item, also where the time or the room is over."""
    end = time.monotonic() + service.settings.timeout_s
    room = Room(service.engine.bounds.answer, "the answers of this batch have", "send fewer requests at once")
    made = []
    for record in requests:
        try:
            if time.monotonic() > end:
                raise BusyError("the time for this batch is over: send fewer requests at once", 1.0)
            if not isinstance(record, dict):
                raise RequestError(f"the request is a {type(record).__name__}: it must be a JSON object")
            room.take()  # nothing is computed that has no room
            answer = write_json(call(record), service.room())
            room.take(len(answer))
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
        def call(record: Record, access: Access) -> Record:
            return search_vector_store(engine, vector_store_id, record, access)

        made: Response = await _single(service, call)(request)
        return made

    retrieve = _single(service, lambda record, access: retrieve_records(engine, record, access))
    rerank = _single(service, lambda record, _: rerank_documents(engine, record))
    rank = _single(service, lambda record, _: rank_texts(engine, record))
    for path, endpoint, operation in (
        ("/v1/vector_stores/{vector_store_id}/search", search, operations.VECTOR_STORE_SEARCH),
        ("/retrieval", retrieve, operations.RETRIEVAL),
        ("/v1/rerank", rerank, operations.RERANK),
        ("/v2/rerank", rerank, operations.RERANK_V2),
        ("/rerank", rank, operations.RANK_TEXTS),
    ):
        router.add_api_route(path, endpoint, methods=["POST"], **operation.arguments())


async def _read(service: Service, request: Request) -> tuple[Access, bytes]:
    access = service.authorize(request)
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != JSON:
        raise MediaTypeError(f"the body is of type {media_type[:80]!r}: send Content-Type: {JSON}")
    return access, await service.read(access, request.body)


# ---- documents


def _add_documents(router: APIRouter, service: Service) -> None:
    engine = service.engine
    path = "/v1/documents"

    async def list_documents(
        request: Request,
        index: IndexName = DEFAULT_INDEX,
        scope: Scopes = None,
        after: Annotated[str, Query(description="the `next` of the page before")] = "",
        limit: Annotated[int, Query(ge=1, description="documents of a page")] = 100,
    ) -> Response:
        access, narrowed = service.authorize(request), _scopes(scope)
        _check_names(request.query_params, ("index", "scope", "after", "limit"), ("scope",))

        def job() -> bytes:
            found = engine.list_documents(access, index=index, scope=narrowed, after=after, most=limit)
            following = found[-1].doc_id if len(found) == limit else None
            shown = {"documents": [_describe(info) for info in found], "next": following}
            return write_json(shown, service.room())

        return Response(await service.run(access, job), media_type=JSON)

    async def list_indexes(request: Request) -> Response:
        access = service.authorize(request)

        def job() -> bytes:
            return write_json({"indexes": [_describe_index(index) for index in engine.indexes.values()]})

        return Response(await service.run(access, job), media_type=JSON)

    async def add_document(request: Request) -> Response:
        access = service.authorize(request)
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "multipart/form-data":
            raise MediaTypeError("the body is no form: send the file as multipart/form-data, in the field `file`")
        name, raw, index, scope = await service.read(access, lambda: _read_form(request))

        def job() -> bytes:
            added = engine.add_file(raw, name, access, index=index or DEFAULT_INDEX, scope=scope or None)
            return write_json({"documents": [dataclasses.asdict(one) for one in added]})

        return Response(await service.run(access, job, service.uploads), media_type=JSON)

    async def delete_document(
        request: Request,
        doc_id: Annotated[str, Query(description="name of the document", min_length=1)],
        index: IndexName = DEFAULT_INDEX,
        scope: Scopes = None,
    ) -> Response:
        access, narrowed = service.authorize(request), _scopes(scope)
        _check_names(request.query_params, ("doc_id", "index", "scope"), ("scope",))

        def job() -> bytes:
            engine.delete_document(doc_id, access, index=index, scope=narrowed)
            return write_json({"deleted": doc_id})

        return Response(await service.run(access, job), media_type=JSON)

    router.add_api_route("/v1/indexes", list_indexes, methods=["GET"], **openapi.LIST_INDEXES.arguments())
    router.add_api_route(path, list_documents, methods=["GET"], **openapi.LIST_DOCUMENTS.arguments())
    router.add_api_route(path, delete_document, methods=["DELETE"], **openapi.DELETE_DOCUMENT.arguments())
    added = openapi.ADD_DOCUMENT.arguments()
    router.add_api_route(path, add_document, methods=["POST"], **{**added, "openapi_extra": openapi.UPLOAD})


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
            file = form.get("file")
            if not isinstance(file, UploadFile):
                raise LoadError("the form has no file: send one in the field `file`")
            index, scope = (_read_field(form, field) for field in ("index", "scope"))
            return file.filename or "", await file.read(), index, scope
    except UnicodeError as error:  # starlette falls back for most charsets, but not for all that Python knows
        raise SyntaxProblemError("the form's charset cannot be read: send it as UTF-8") from error


def _read_field(form: Mapping[str, Any], name: str) -> str | None:
    value = form.get(name)
    if value is not None and not isinstance(value, str):
        raise RequestError(f"the field {name!r} is a file: it must be text")
    return value


def _describe_index(index: AnyIndex) -> Record:
    return {"name": index.name, "keeps_documents": index.keeps_documents, "read_only": index.read_only}


def _describe(info: DocumentInfo) -> Record:
    """Return what is shown of a document: not where its file lies on this machine."""
    return {
        "doc_id": info.doc_id,
        "title": info.title,
        "format": info.format,
        "scope": info.scope,
        "timestamp": info.timestamp,
        "characters": info.characters,
        "chunks": info.chunk_count,
    }


# ---- operation


def _add_operation(router: APIRouter, service: Service) -> None:
    async def health() -> Response:
        return Response(write_json({"status": "ok"}), media_type=JSON)

    async def ready() -> Response:
        if DRAINING.is_set():
            raise DrainingError("the service is ending", 1.0)

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
