"""The OpenAPI document: schemas of bodies and answers, with an example of every operation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from retrivex.service.bodies import DeduplicateBody, PromptBody, QueryBody, ReorderBody, ResolveBody, ViewBody
from retrivex.service.problems import MEDIA_TYPE

JSON = "application/json"
EVENTS = "text/event-stream"
_COMPONENTS = "#/components/schemas/"

_HITS = [{"doc_id": "bees", "chunk_id": 1, "score": 0.8}]
_CHUNKS = [
    {"doc_id": "bees", "chunk_id": 0, "text": "Bees live in hives."},
    {"doc_id": "bees", "chunk_id": 1, "text": "A hive has one queen."},
]
_PASSAGES = [
    {"id": "a", "text": "Bees live in hives.", "score": 0.9},
    {"id": "b", "text": "A hive has one queen.", "score": 0.7},
    {"id": "c", "text": "Bees live in hives.", "score": 0.5},
]
COMPOSE_EXAMPLE: dict[str, Any] = {"question": "Who lives in a hive?", "hits": _HITS, "chunks": _CHUNKS}
_QUERY_EXAMPLE = {"question": "Who lives in a hive?", "config": {"token_budget": 500}}

_STATUSES = {
    400: "The body cannot be read.",
    401: "A key is needed.",
    403: "The key does not allow this.",
    404: "There is no such index or document.",
    408: "The body comes too slowly.",
    409: "The name is taken.",
    413: "The body is too large.",
    415: "The body is of another type.",
    422: "The request breaks a rule.",
    429: "The key asks too often.",
    500: "The service failed.",
    503: "The service is busy or ending, or the index does not answer.",
}

_OBJECT: dict[str, Any] = {"type": "object", "additionalProperties": True}
_TEXT = {"type": "string"}
_MAYBE_TEXT = {"type": ["string", "null"]}
_MAYBE_COUNT = {"type": ["integer", "null"], "minimum": 0}
_COUNT = {"type": "integer", "minimum": 0}


def record_of(**properties: Any) -> dict[str, Any]:
    """Return the schema of an object that has these properties, all of them and no others."""
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def list_of(items: Any) -> dict[str, Any]:
    """Return the schema of a list."""
    return {"type": "array", "items": items}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"{_COMPONENTS}{name}"}


DOCUMENT = record_of(
    doc_id=_TEXT, title=_MAYBE_TEXT, format=_TEXT, scope=_MAYBE_TEXT, timestamp={"type": ["number", "null"]},
    characters=_COUNT, chunks=_COUNT,
)  # fmt: skip
_DUPLICATE = record_of(position=_COUNT, kept=_COUNT, like=_COUNT, similarity={"type": "number"})
_ADDED = record_of(
    doc_id=_TEXT, result={"enum": ["added", "updated", "unchanged"]}, chunks=_COUNT, tokens=_COUNT
)  # fmt: skip
PROBLEM = {
    **record_of(type=_TEXT, title=_TEXT, status={"type": "integer"}, detail=_TEXT),
    "description": "RFC 9457: the value, the rule and the way out are in `detail`",
}
PROBLEM["properties"] = {**PROBLEM["properties"], "request_id": _TEXT}
"""Schema of a problem document."""


_EVENT = {**record_of(event={"enum": ["span", "composition"]}, data=_TEXT), "description": "of each event"}


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation, as the document describes it.

    Parameters
    ----------
    name : its id
    summary, description : in words
    body : name of the schema of its JSON body; None without one
    example : of the body
    answer : schema of the answer
    answered : example of the answer
    media_type : of the answer
    streams : whether it can also be answered with events
    statuses : of problems that it may answer with
    problem : name of their schema
    """

    name: str
    summary: str
    description: str
    body: str | None = None
    example: Any = None
    answer: Mapping[str, Any] = field(default_factory=dict)
    answered: Any = None
    media_type: str = JSON
    streams: bool = False
    statuses: tuple[int, ...] = (401, 403, 422, 429, 500, 503)
    problem: str = "Problem"

    def arguments(self) -> dict[str, Any]:
        """Return the arguments with which FastAPI adds the route."""
        return {
            "operation_id": self.name,
            "summary": self.summary,
            "description": self.description,
            "response_model": None,
            "openapi_extra": {} if self.body is None else {"requestBody": self._body()},
            "responses": {200: self._answer(), **{status: self._describe(status) for status in self.statuses}},
        }

    def _body(self) -> dict[str, Any]:
        content = {JSON: {"schema": _ref(str(self.body)), "examples": {"short": {"value": self.example}}}}
        return {"required": True, "content": content}

    def _answer(self) -> dict[str, Any]:
        content: dict[str, Any] = {"schema": dict(self.answer)}
        if self.answered is not None:
            content["examples"] = {"short": {"value": self.answered}}
        events = {EVENTS: {"schema": _EVENT}} if self.streams else {}
        return {"description": "Done.", "content": {self.media_type: content, **events}}

    def _describe(self, status: int) -> dict[str, Any]:
        return {"description": _STATUSES[status], "content": {MEDIA_TYPE: {"schema": _ref(self.problem)}}}


ALL_PROBLEMS = (400, 401, 403, 404, 408, 413, 415, 422, 429, 500, 503)
"""Statuses of the problems of operations that read a body and an index."""

COMPOSE = Operation(
    "compose",
    "Compose a context from hits",
    "Hits and chunks in the body, as `retrivex compose` reads a line; a composition comes back.",
    "ComposeRequest",
    COMPOSE_EXAMPLE,
    _ref("Composition"),
    statuses=ALL_PROBLEMS,
)
QUERY = Operation(
    "query",
    "Ask an index",
    "A question; the context for it comes back. With `stream`, server-sent events: a `span` each, and then the "
    "`composition`.",
    "QueryBody",
    _QUERY_EXAMPLE,
    _ref("Composition"),
    streams=True,
    statuses=ALL_PROBLEMS,
)
REORDER = Operation(
    "reorder",
    "Put passages in order",
    "Passages of any retriever come back in a better order, filtered and within a budget where that is asked for.",
    "ReorderBody",
    {"passages": _PASSAGES, "options": {"strategy": "edge_balanced", "top_k": 2}},
    record_of(passages=list_of(_OBJECT), diagnostics=_OBJECT),
    statuses=ALL_PROBLEMS,
)
DEDUPLICATE = Operation(
    "deduplicate",
    "Leave out repetitions",
    "Passages without those that are equal, or alike by their character trigrams.",
    "DeduplicateBody",
    {"passages": _PASSAGES, "threshold": 0.85},
    record_of(passages=list_of({}), duplicates=list_of(_DUPLICATE)),
    statuses=ALL_PROBLEMS,
)
PROMPT = Operation(
    "prompt",
    "Write a prompt",
    "Messages for a model, out of a composition, a question to an index, or hits.",
    "PromptBody",
    {"compose": COMPOSE_EXAMPLE, "api": "plain", "max_tokens": 1000},
    record_of(
        messages=list_of(_OBJECT), system=_MAYBE_TEXT, left_out=list_of(_COUNT), tokens=_MAYBE_COUNT,
        composition=_ref("Composition"),
    ),
    statuses=ALL_PROBLEMS,
)  # fmt: skip
VIEW = Operation(
    "view",
    "Show an answer",
    "A question, and the answer with every chunk and why it is there or not, as the page at `/` shows it.",
    "ViewBody",
    {"question": "Who lives in a hive?", "settings": {"token_budget": 500}},
    record_of(schema=_TEXT, answers=list_of(_OBJECT)),
    statuses=ALL_PROBLEMS,
)
RESOLVE = Operation(
    "resolve",
    "Look up a citation",
    "The text that a citation points to, and what stands around it in its document.",
    "ResolveBody",
    {"doc_id": "bees.md", "char_start": 0, "char_end": 19},
    record_of(
        doc_id=_TEXT, title=_MAYBE_TEXT, characters=_MAYBE_COUNT, char_start=_MAYBE_COUNT, char_end=_MAYBE_COUNT,
        page=_MAYBE_COUNT, text=_TEXT, before=_TEXT, after=_TEXT,
    ),
    statuses=ALL_PROBLEMS,
)  # fmt: skip
LIST_INDEXES = Operation(
    "list_indexes",
    "List indexes",
    "The indexes that questions go to; whether each lists and resolves whole documents, and whether it takes new ones.",
    answer=record_of(
        indexes=list_of(record_of(name=_TEXT, keeps_documents={"type": "boolean"}, read_only={"type": "boolean"}))
    ),
    answered={"indexes": [{"name": "default", "keeps_documents": True, "read_only": False}]},
    statuses=(401, 429, 500, 503),
)
LIST_DOCUMENTS = Operation(
    "list_documents",
    "List documents",
    "Documents that the key may see, by name; `next` is the `after` of the next page, null on the last one.",
    answer=record_of(documents=list_of(DOCUMENT), next=_MAYBE_TEXT),
    answered={"documents": [], "next": None},
    statuses=(401, 403, 404, 422, 429, 500, 503),
)
ADD_DOCUMENT = Operation(
    "add_document",
    "Add a file",
    "A form with a `file` of a known type. Each document in it is written in one transaction, in place of its older "
    "version.",
    answer=record_of(documents=list_of(_ADDED)),
    answered={"documents": [{"doc_id": "bees.md", "result": "added", "chunks": 1, "tokens": 16}]},
    statuses=(*ALL_PROBLEMS, 409),
)
DELETE_DOCUMENT = Operation(
    "delete_document",
    "Delete a document",
    "Deletes it with everything that belongs to it.",
    answer=record_of(deleted=_TEXT),
    answered={"deleted": "bees.md"},
    statuses=(401, 403, 404, 422, 429, 500, 503),
)
HEALTH = Operation(
    "health", "Is the process alive?", "Answers while the process does.",
    answer=record_of(status={"const": "ok"}), answered={"status": "ok"}, statuses=(500,),
)  # fmt: skip
READY = Operation(
    "ready", "Can it answer?", "Reads from every index; 503 where one does not answer, or the service is ending.",
    answer=record_of(status={"const": "ready"}), answered={"status": "ready"}, statuses=(500, 503),
)  # fmt: skip
METRICS = Operation(
    "metrics", "Counts and times", "For Prometheus; wants a key where keys are needed.",
    answer=_TEXT, answered="# HELP ...", media_type="text/plain", statuses=(401, 500, 503),
)  # fmt: skip


def batch_of(operation: Operation, *, shared: bool = False) -> Operation:
    """Return the batch of an operation: an error belongs to its item."""
    example = {"requests": [operation.example]}
    item = {
        "type": "object",
        "properties": {"status": {"type": "integer"}, "answer": dict(operation.answer), "problem": _ref("Problem")},
        "required": ["status"],
    }
    return Operation(
        f"{operation.name}_batch",
        f"{operation.summary}, many at once",
        "Answers in the order of the requests; each has `answer` or, where it failed or there was no room left for it, "
        "`problem`." + (" `chunks` are shared by all of them." if shared else ""),
        _batch_name(operation),
        example,
        record_of(answers=list_of(item)),
        statuses=ALL_PROBLEMS,
    )


def _batch_name(operation: Operation) -> str:
    return f"{str(operation.body).removesuffix('Body').removesuffix('Request')}Batch"


def components() -> dict[str, Any]:
    """Return the schemas that operations refer to."""
    made: dict[str, Any] = {"Problem": PROBLEM}
    made |= lift("ComposeRequest", _read_schema("compose-request-1"))
    made |= lift("Composition", _read_schema("composition-1"))
    for model in (QueryBody, ReorderBody, DeduplicateBody, PromptBody, ResolveBody, ViewBody):
        made |= lift(model.__name__, model.model_json_schema())
    for operation in (COMPOSE, QUERY, REORDER, DEDUPLICATE, PROMPT, RESOLVE):
        requests = {**list_of(_ref(str(operation.body))), "minItems": 1}
        schema = {"type": "object", "properties": {"requests": requests}, "required": ["requests"]}
        if operation is COMPOSE:
            schema["properties"]["chunks"] = list_of(_ref("ComposeRequest_chunk"))  # type: ignore[index]
        made[_batch_name(operation)] = {**schema, "additionalProperties": False}
    return made


def _read_schema(name: str) -> dict[str, Any]:
    text = files("retrivex.composition.schemas").joinpath(f"{name}.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def lift(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema and its definitions as components, their names behind that of the schema."""
    text = json.dumps({key: value for key, value in schema.items() if key not in ("$schema", "title")})
    plain = json.loads(text.replace("#/$defs/", f"{_COMPONENTS}{name}_"))
    definitions = plain.pop("$defs", {})
    return {name: plain, **{f"{name}_{key}": value for key, value in definitions.items()}}


UPLOAD = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "file": {"type": "string", "format": "binary", "description": "a file of a known type"},
                        "index": {"type": "string", "description": "where it goes; left out, `default`"},
                        "scope": {"type": "string", "description": "that it gets; left out, the one of the key"},
                    },
                    "required": ["file"],
                }
            }
        },
    }
}
"""The body of an upload."""
