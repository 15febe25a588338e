"""The search of vector stores as OpenAI's clients ask for it: `POST /v1/vector_stores/{id}/search`.

Published in https://platform.openai.com/docs/api-reference/vector-stores/search; tested with the official client.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from retrivex.composer.requests import RequestError
from retrivex.errors import quoted
from retrivex.service.access import Access
from retrivex.service.bodies import Body, read_body
from retrivex.service.conventions.search import MAX_CONDITIONS, Passage, field_of, find_passages
from retrivex.service.engine import Engine

_OPERATORS = {"gt": "above", "gte": "min", "lt": "below", "lte": "max"}

_Scalar = str | bool | int | float
_Text = Annotated[str, Field(min_length=1)]


class Comparison(Body):
    """A condition on one attribute."""

    type: Literal["eq", "ne", "gt", "gte", "lt", "lte", "in", "nin"]
    key: str = Field(description="doc_id, page, timestamp, or custom metadata")
    value: _Scalar | Annotated[list[_Scalar], Field(max_length=MAX_CONDITIONS)]


class Compound(Body):
    """Filters of which all, or any, must hold."""

    type: Literal["and", "or"]
    filters: list[Filter] = Field(min_length=1, max_length=MAX_CONDITIONS)


Filter = Annotated[Comparison | Compound, Field(discriminator="type")]
Compound.model_rebuild()


class RankingOptions(Body):
    """How results are ranked."""

    ranker: Literal["none", "auto", "default-2024-11-15"] = Field(
        default="auto", description="taken and without effect: this service has one ranking"
    )
    score_threshold: float = Field(default=0.0, ge=0, le=1, description="results with a lower score are left out")


class VectorStoreSearch(Body):
    """A search of an index, as OpenAI's clients ask for it."""

    query: _Text | Annotated[list[_Text], Field(min_length=1, max_length=MAX_CONDITIONS)] = Field(
        description="several are searched as one"
    )
    max_num_results: int = Field(10, ge=1, le=50, description="hits to start from, and results at most")
    filters: Filter | None = None
    ranking_options: RankingOptions = RankingOptions()
    rewrite_query: Literal[False] = Field(False, description="there is no model here that could rewrite it")


def search_vector_store(engine: Engine, index: str, record: Mapping[str, Any], access: Access) -> dict[str, Any]:
    """Return a page of results, as OpenAI's clients read it.

    Parameters
    ----------
    engine : that answers
    index : the id of the vector store
    record : by `VectorStoreSearch`
    access : who asks

    Raises
    ------
    RetrivexError
        If the request breaks a rule, there is no such index, or it fails.
    """
    body = read_body(VectorStoreSearch, record)
    queries = [body.query] if isinstance(body.query, str) else body.query
    found = find_passages(
        engine,
        access,
        question="\n".join(queries),
        index=index,
        k=body.max_num_results,
        where=None if body.filters is None else _where_of(body.filters),
        least=body.ranking_options.score_threshold,
    )
    return {
        "object": "vector_store.search_results.page",
        "search_query": queries,
        "data": [_result_of(passage) for passage in found],
        "has_more": False,
        "next_page": None,
    }


def _where_of(given: Comparison | Compound) -> dict[str, Any]:
    if isinstance(given, Compound):
        return {"all" if given.type == "and" else "any": [_where_of(one) for one in given.filters]}
    name, value = field_of(given.key), given.value
    if isinstance(value, list) != (given.type in ("in", "nin")):
        rule = "in and nin take a list of values, the others take one"
        raise RequestError(
            f"the filter on {given.key!r} has the type {given.type!r} and the value {quoted(value)}: {rule}"
        )
    if given.type in ("eq", "in"):
        return {name: value}
    if given.type in ("ne", "nin"):
        return {"not": {name: value}}
    return {name: {_OPERATORS[given.type]: value}}


def _result_of(passage: Passage) -> dict[str, Any]:
    return {
        "file_id": passage.doc_id,
        "filename": passage.doc_id,
        "score": passage.score,
        "attributes": _attributes_of({**passage.metadata, **passage.place}),
        "content": [{"type": "text", "text": passage.text}],
    }


def _attributes_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the convention has room for: plain values."""
    return {name: value for name, value in values.items() if isinstance(value, _Scalar)}
