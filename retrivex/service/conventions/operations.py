"""How the OpenAPI document describes the conventions of other tools."""

from __future__ import annotations

from typing import Any

from retrivex.service.conventions.dify import Retrieval
from retrivex.service.conventions.openai import VectorStoreSearch
from retrivex.service.openapi import ALL_PROBLEMS, PROBLEM, Operation, lift, list_of, record_of

_TEXT = {"type": "string"}
_SCORE = {"type": "number", "minimum": 0, "maximum": 1}
_OPENAI_PROBLEM, _DIFY_PROBLEM = "OpenAIProblem", "DifyProblem"

_PASSAGE = "Bees live in hives. A hive has one queen."
_RESULT = record_of(
    file_id=_TEXT, filename=_TEXT, score=_SCORE,
    attributes={
        "type": "object",
        "maxProperties": 16,
        "additionalProperties": {"type": ["string", "number", "boolean"], "maxLength": 512},
    },
    content=list_of(record_of(type={"const": "text"}, text=_TEXT)),
)  # fmt: skip

_PAGE = record_of(
    object={"const": "vector_store.search_results.page"}, search_query=list_of(_TEXT), data=list_of(_RESULT),
    has_more={"const": False},
)  # fmt: skip
_PAGE["properties"]["next_page"] = {"type": "null"}  # FastAPI leaves null out of the example

VECTOR_STORE_SEARCH = Operation(
    "search_vector_store",
    "Search, as OpenAI's clients do",
    "The id of the vector store is the name of the index. Results are whole passages, best first.",
    "VectorStoreSearch",
    {"query": "Who lives in a hive?", "max_num_results": 5},
    _PAGE,
    {
        "object": "vector_store.search_results.page",
        "search_query": ["Who lives in a hive?"],
        "data": [
            {
                "file_id": "bees.md",
                "filename": "bees.md",
                "score": 0.41,
                "attributes": {"char_start": 0, "char_end": 41},
                "content": [{"type": "text", "text": _PASSAGE}],
            }
        ],
        "has_more": False,
    },
    statuses=ALL_PROBLEMS,
    problem=_OPENAI_PROBLEM,
)  # fmt: skip
RETRIEVAL = Operation(
    "retrieval",
    "Search, as Dify does",
    "Dify's External Knowledge API: `knowledge_id` is the name of the index. Records are whole passages, best first.",
    "Retrieval",
    {
        "knowledge_id": "default",
        "query": "Who lives in a hive?",
        "retrieval_setting": {"top_k": 5, "score_threshold": 0.0},
    },
    record_of(records=list_of(record_of(content=_TEXT, score=_SCORE, title=_TEXT, metadata={"type": "object"}))),
    {"records": [{"content": _PASSAGE, "score": 0.41, "title": "Bees", "metadata": {"doc_id": "bees.md"}}]},
    statuses=ALL_PROBLEMS,
    problem=_DIFY_PROBLEM,
)


def components() -> dict[str, Any]:
    """Return the schemas that the operations refer to."""
    error = record_of(message=_TEXT, type=_TEXT, param={"type": "null"}, code=_TEXT)
    made = {
        _OPENAI_PROBLEM: _problem_with(error=error),
        _DIFY_PROBLEM: _problem_with(error_code={"type": "integer"}, error_msg=_TEXT),
    }
    for model in (VectorStoreSearch, Retrieval):
        made |= lift(model.__name__, model.model_json_schema())
    return made


def _problem_with(**members: Any) -> dict[str, Any]:
    return {
        **PROBLEM,
        "properties": {**PROBLEM["properties"], **members},
        "required": [*PROBLEM["required"], *members],
    }
