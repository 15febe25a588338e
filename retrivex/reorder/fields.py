"""Under which names a program keeps what a passage consists of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from retrivex.errors import RetrivexError, quoted

MISSING: Final = object()
"""What `read_field` gives where there is no such field; None is a value of its own."""


class FieldNames(BaseModel):
    """Names of the fields of passages: keys of dictionaries, or attributes of objects.

    A dot steps inside: `score="metadata.score"`. The last five are looked up in the metadata.

    Examples
    --------
    >>> FieldNames(text="page_content", timestamp="updated").timestamp
    'updated'
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str | None = Field(
        default="id", min_length=1, description="what names the passage in diagnostics; None: its place names it"
    )
    text: str = Field(default="text", min_length=1, description="its text")
    score: str | None = Field(
        default="score", min_length=1, description="its score; None: the passages come best first and have none"
    )
    metadata: str = Field(default="metadata", min_length=1, description="mapping with what else is known")
    token_count: str = Field(
        default="token_count", min_length=1, description="its tokens, where counted; also looked up in the metadata"
    )
    source_id: str = Field(default="source_id", min_length=1, description="the document it is from")
    section_index: str = Field(default="section_index", min_length=1, description="its position in the document")
    timestamp: str = Field(default="timestamp", min_length=1, description="its time, a number, e.g. Unix seconds")
    page: str = Field(default="page", min_length=1, description="its page; orders a document without section indexes")
    source_reliability: str = Field(
        default="source_reliability", min_length=1, description="how far its source is trusted, a number"
    )


FRAMEWORK_FIELDS: dict[str, FieldNames] = {
    "langchain": FieldNames(id=None, text="page_content", score="metadata.score"),
    "llamaindex": FieldNames(id="node_id"),
    "haystack": FieldNames(text="content", metadata="meta"),
    "hits": FieldNames(
        id=None,
        text="chunk.text",
        score="similarity_score",
        metadata="chunk.metadata",
        source_id="doc_id",
        section_index="chunk_id",
    ),
}
"""Names of the documents of LangChain and Haystack, of LlamaIndex's nodes with scores, and of RetriVex's `SeedHit`."""


def as_field_names(value: Any) -> Any:
    """Return the names that a framework's name stands for; anything else is left to pydantic."""
    if not isinstance(value, str):
        return value
    if value not in FRAMEWORK_FIELDS:
        raise RetrivexError(
            f"fields={quoted(value)} is no known set of names: choose one of {', '.join(FRAMEWORK_FIELDS)}, or give "
            "the names that differ, as in fields={'text': 'content'}"
        )
    return FRAMEWORK_FIELDS[value]


def read_field(item: Any, name: str) -> Any:
    """Return what `item` holds under `name`, or `MISSING`.

    Examples
    --------
    >>> read_field({"metadata": {"score": 0.5}}, "metadata.score")
    0.5
    >>> read_field({"a.b": 1}, "a.b")
    1
    """
    # asking for dict by its type first: asking whether it is a Mapping takes longer than all the rest
    is_mapping = type(item) is dict or isinstance(item, Mapping)
    found = item.get(name, MISSING) if is_mapping else getattr(item, name, MISSING)
    if found is not MISSING or "." not in name:
        return found
    first, rest = name.split(".", 1)
    inner = read_field(item, first)
    return MISSING if inner is MISSING else read_field(inner, rest)
