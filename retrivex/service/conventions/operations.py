"""How the OpenAPI document describes the conventions of other tools."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from retrivex.service.conventions.dify import Retrieval
from retrivex.service.conventions.openai import VectorStoreSearch
from retrivex.service.conventions.problems import TEI_TYPES
from retrivex.service.conventions.rerank import Rerank, TextRank
from retrivex.service.openapi import ALL_PROBLEMS, PROBLEM, Operation, lift, list_of, record_of

_TEXT = {"type": "string"}
_SCORE = {"type": "number", "minimum": 0, "maximum": 1}
_OPENAI_PROBLEM, _DIFY_PROBLEM = "OpenAIProblem", "DifyProblem"
_COHERE_PROBLEM, _TEI_PROBLEM = "CohereProblem", "TEIProblem"

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
_COUNT = {"type": "integer", "minimum": 0}
_DOCUMENT = {"type": "object", "properties": {"text": _TEXT}, "required": ["text"]}
_RANKED = record_of(index=_COUNT, relevance_score=_SCORE)
_RANKED["properties"]["document"] = _DOCUMENT
_BEES = {"query": "Who lays eggs?", "documents": ["Bees live in hives.", "The queen lays all the eggs."]}

RERANK = Operation(
    "rerank",
    "Rank documents, as Cohere's and Jina's clients ask",
    "Best first, each with the probability that it holds evidence. The index `default` needs a measured encoder.",
    "Rerank",
    {**_BEES, "top_n": 1},
    record_of(
        model=_TEXT, results=list_of(_RANKED), usage=record_of(prompt_tokens=_COUNT, total_tokens=_COUNT),
        meta=record_of(tokens=record_of(input_tokens=_COUNT)),
    ),
    {
        "model": "retrivex+all-MiniLM-L6-v2",
        "results": [{"index": 1, "relevance_score": 0.62, "document": {"text": "The queen lays all the eggs."}}],
        "usage": {"prompt_tokens": 15, "total_tokens": 15},
        "meta": {"tokens": {"input_tokens": 15}},
    },
    statuses=ALL_PROBLEMS,
    problem=_COHERE_PROBLEM,
)  # fmt: skip
RERANK_V2 = replace(RERANK, name="rerank_v2", summary="Rank documents, as newer clients of Cohere ask")
_RANK = record_of(index=_COUNT, score={"type": "number"})
_RANK["properties"]["text"] = _TEXT
RANK_TEXTS = Operation(
    "rank_texts",
    "Rank texts, as clients of Text Embeddings Inference ask",
    "Best first, each with the probability that it holds evidence. The index `default` needs a measured encoder.",
    "TextRank",
    {"query": _BEES["query"], "texts": _BEES["documents"]},
    list_of(_RANK),
    [{"index": 1, "score": 0.62}, {"index": 0, "score": 0.03}],
    statuses=ALL_PROBLEMS,
    problem=_TEI_PROBLEM,
)


def components() -> dict[str, Any]:
    """Return the schemas that the operations refer to."""
    error = record_of(message=_TEXT, type=_TEXT, param={"type": "null"}, code=_TEXT)
    made = {
        _OPENAI_PROBLEM: _problem_with(error=error),
        _DIFY_PROBLEM: _problem_with(error_code={"type": "integer"}, error_msg=_TEXT),
        _COHERE_PROBLEM: _problem_with(message=_TEXT),
        _TEI_PROBLEM: _problem_with(error=_TEXT, error_type={"enum": [*TEI_TYPES]}),
    }
    for model in (VectorStoreSearch, Retrieval, Rerank, TextRank):
        made |= lift(model.__name__, model.model_json_schema())
    return made


def _problem_with(**members: Any) -> dict[str, Any]:
    return {
        **PROBLEM,
        "properties": {**PROBLEM["properties"], **members},
        "required": [*PROBLEM["required"], *members],
    }
