"""The OpenAPI document: what each operation takes and answers, with an example of it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from pydantic import TypeAdapter

from retrivex.service.answers import Added, DocumentPage, ListedIndex, Resolved
from retrivex.service.bodies import DeduplicateBody, PromptBody, QueryBody, ReorderBody, ResolveBody, ViewBody
from retrivex.service.conventions.dify import Retrieval
from retrivex.service.conventions.openai import VectorStoreSearch
from retrivex.service.conventions.rerank import Rerank, TextRank
from retrivex.service.problems import MEDIA_TYPE

JSON = "application/json"
_COMPONENTS = "#/components/schemas/"

_QUESTION = "Who lives in a hive?"
_CHUNKS = [
    {"doc_id": "bees", "chunk_id": 0, "text": "Bees live in hives."},
    {"doc_id": "bees", "chunk_id": 1, "text": "A hive has one queen."},
]
_COMPOSE = {"question": _QUESTION, "hits": [{"doc_id": "bees", "chunk_id": 1, "score": 0.8}], "chunks": _CHUNKS}
_QUERY = {"question": _QUESTION, "config": {"token_budget": 500}}
_PASSAGES = [
    {"id": "a", "text": "Bees live in hives.", "score": 0.9},
    {"id": "b", "text": "A hive has one queen.", "score": 0.7},
    {"id": "c", "text": "Bees live in hives.", "score": 0.5},
]
_RANKED = {"query": "Who lays eggs?", "documents": ["Bees live in hives.", "The queen lays all the eggs."]}

_OBJECT: dict[str, Any] = {"type": "object", "additionalProperties": True}
_LIST = {"type": "array", "items": {}}
_TEXT = {"type": "string"}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"{_COMPONENTS}{name}"}


def _record_of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties]}


def _list_of(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


_PROBLEM = {
    **_record_of(type=_TEXT, title=_TEXT, status={"type": "integer"}, detail=_TEXT),
    "description": "RFC 9457: the value, the rule and the way out are in `detail`; conventions of other tools have the "
    "members that their clients read beside these",
}


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation, as the document describes it.

    Parameters
    ----------
    name : its id
    summary : in words
    body : name of the schema of its JSON body; None without one
    example : of the body
    answer : schema of the answer
    media_type : of the answer
    """

    name: str
    summary: str
    body: str | None = None
    example: Any = None
    answer: dict[str, Any] = field(default_factory=lambda: _OBJECT)
    media_type: str = JSON

    def arguments(self) -> dict[str, Any]:
        """Return the arguments with which FastAPI adds the route."""
        extra: dict[str, Any] = {}
        if self.body is not None:
            content = {JSON: {"schema": _ref(self.body), "examples": {"short": {"value": self.example}}}}
            extra = {"requestBody": {"required": True, "content": content}}
        problem = {"description": "A problem", "content": {MEDIA_TYPE: {"schema": _ref("Problem")}}}
        done = {"description": "Done.", "content": {self.media_type: {"schema": dict(self.answer)}}}
        return {
            "operation_id": self.name,
            "summary": self.summary,
            "response_model": None,
            "openapi_extra": extra,
            "responses": {200: done, "default": problem},
        }

    def batch(self) -> Operation:
        """Return the operation that does many of these: an error belongs to its item."""
        item = _record_of(status={"type": "integer"})
        item["properties"] |= {"answer": self.answer, "problem": _ref("Problem")}
        return Operation(
            f"{self.name}_batch",
            f"{self.summary}, many at once: each answer has `answer` or, where it failed, `problem`",
            f"{self.body}Batch",
            {"requests": [self.example]},
            _record_of(answers=_list_of(item)),
        )


CONTEXTS = (
    Operation("compose", "Compose a context from hits", "ComposeRequest", _COMPOSE, _ref("Composition")),
    Operation("query", "Ask an index", "QueryBody", _QUERY, _ref("Composition")),
    Operation(
        "reorder", "Put passages in order", "ReorderBody",
        {"passages": _PASSAGES, "options": {"strategy": "edge_balanced", "top_k": 2}},
        _record_of(passages=_LIST, diagnostics=_OBJECT),
    ),
    Operation(
        "deduplicate", "Leave out repetitions", "DeduplicateBody", {"passages": _PASSAGES, "threshold": 0.85},
        _record_of(passages=_LIST, duplicates=_LIST),
    ),
    Operation(
        "prompt", "Write a prompt", "PromptBody", {"compose": _COMPOSE, "api": "plain", "max_tokens": 1000},
        _record_of(
            messages=_LIST, system={}, left_out=_LIST, tokens={}, composition=_ref("Composition")
        ),
    ),
    Operation(
        "resolve", "Look up a citation", "ResolveBody",
        {"doc_id": "bees.md", "char_start": 0, "char_end": 19}, _ref("Resolved"),
    ),
)  # fmt: skip
"""Operations that can be asked for one by one, and many at once."""

VIEW = Operation(
    "view", "Show an answer with every chunk and why it is there, as the page at `/` does", "ViewBody",
    {"question": _QUESTION, "settings": {"token_budget": 500}},
)  # fmt: skip
VECTOR_STORE_SEARCH = Operation(
    "search_vector_store", "Search, as OpenAI's clients do", "VectorStoreSearch",
    {"query": _QUESTION, "max_num_results": 5},
)  # fmt: skip
RETRIEVAL = Operation(
    "retrieval", "Search, as Dify does", "Retrieval",
    {"knowledge_id": "default", "query": _QUESTION, "retrieval_setting": {"top_k": 5, "score_threshold": 0.0}},
)  # fmt: skip
RERANK = Operation("rerank", "Rank documents, as Cohere's and Jina's clients ask", "Rerank", {**_RANKED, "top_n": 1})
RANK_TEXTS = Operation(
    "rank_texts", "Rank texts, as clients of Text Embeddings Inference ask", "TextRank",
    {"query": _RANKED["query"], "texts": _RANKED["documents"]}, _LIST,
)  # fmt: skip
LIST_INDEXES = Operation("list_indexes", "List indexes", answer=_record_of(indexes=_list_of(_ref("ListedIndex"))))
LIST_DOCUMENTS = Operation(
    "list_documents", "List documents that the key may see, by name", answer=_ref("DocumentPage")
)  # fmt: skip
ADD_DOCUMENT = Operation("add_document", "Add a file", answer=_record_of(documents=_list_of(_ref("Added"))))
DELETE_DOCUMENT = Operation("delete_document", "Delete a document")
HEALTH = Operation("health", "Is the process alive?")
READY = Operation("ready", "Can it answer?")
METRICS = Operation("metrics", "Counts and times", answer=_TEXT, media_type="text/plain")

UPLOAD = {
    **_record_of(file={"type": "string", "format": "binary", "description": "a file of a known type"}),
    "additionalProperties": False,
}
UPLOAD["properties"] |= {
    "index": {**_TEXT, "description": "where it goes; left out, `default`"},
    "scope": {**_TEXT, "description": "that it gets; left out, the one of the key"},
}
"""Schema of the form of an upload."""


def components() -> dict[str, Any]:
    """Return the schemas that operations refer to."""
    problem = {**_PROBLEM, "properties": {**_PROBLEM["properties"], "request_id": _TEXT}}
    made: dict[str, Any] = {"Problem": problem}
    made |= _lift("ComposeRequest", _read_schema("compose-request-1"))
    made |= _lift("Composition", _read_schema("composition-1"))
    for kind in (
        QueryBody, ReorderBody, DeduplicateBody, PromptBody, ResolveBody, ViewBody,
        VectorStoreSearch, Retrieval, Rerank, TextRank, Added, DocumentPage, ListedIndex, Resolved,
    ):  # fmt: skip
        made |= _lift(kind.__name__, TypeAdapter(kind).json_schema())
    for operation in CONTEXTS:
        batch = _record_of(requests={**_list_of(_ref(str(operation.body))), "minItems": 1})
        made[f"{operation.body}Batch"] = {**batch, "additionalProperties": False}
    return made


def _read_schema(name: str) -> dict[str, Any]:
    text = files("retrivex.composition.schemas").joinpath(f"{name}.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def _lift(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema and its definitions as components, their names behind that of the schema."""
    text = json.dumps({key: value for key, value in schema.items() if key not in ("$schema", "title")})
    plain = json.loads(text.replace("#/$defs/", f"{_COMPONENTS}{name}_"))
    definitions = plain.pop("$defs", {})
    return {name: plain, **{f"{name}_{key}": value for key, value in definitions.items()}}
