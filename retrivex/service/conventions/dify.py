"""Dify's External Knowledge API: `POST /retrieval`.

Published in https://docs.dify.ai/en/use-dify/knowledge/external-knowledge-api; older pages of it let a condition name
several fields at once.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from retrivex.composer.requests import RequestError
from retrivex.errors import quoted
from retrivex.service.access import Access
from retrivex.service.bodies import Body, read_body
from retrivex.service.conventions.search import MAX_CONDITIONS, Passage, field_of, find_passages
from retrivex.service.engine import Engine

_TEXTS = {"contains": "contains", "start with": "starts", "end with": "ends"}
_NUMBERS = {">": "above", "<": "below", "≥": "min", "≤": "max"}
_DATES = {"before": "below", "after": "above"}
_OPPOSITES = {"not contains": "contains", "is not": "is", "not in": "in", "≠": "=", "not empty": "empty"}

Operator = Literal[
    "contains", "not contains", "start with", "end with", "is", "is not", "in", "not in", "empty", "not empty",
    "=", "≠", ">", "<", "≥", "≤", "before", "after",
]  # fmt: skip


class RetrievalSetting(Body):
    """How much is wanted."""

    top_k: int = Field(ge=1, description="hits to start from, and records at most")
    score_threshold: float = Field(ge=0, le=1, description="records with a lower score are left out")


class Condition(Body):
    """A condition on a field, or on any of several."""

    name: str | Annotated[list[str], Field(min_length=1, max_length=MAX_CONDITIONS)] = Field(
        description="doc_id, page, timestamp, or custom metadata"
    )
    comparison_operator: Operator
    value: str | int | float | Annotated[list[str], Field(max_length=MAX_CONDITIONS)] | None = None


class MetadataCondition(Body):
    """Conditions of which all, or any, must hold."""

    logical_operator: Literal["and", "or"] | None = None
    conditions: Annotated[list[Condition], Field(max_length=MAX_CONDITIONS)] | None = None


class Retrieval(Body):
    """A question as Dify asks it."""

    knowledge_id: str = Field(min_length=1, description="name of the index")
    query: str = Field(min_length=1)
    retrieval_setting: RetrievalSetting
    metadata_condition: MetadataCondition | None = None


def retrieve_records(engine: Engine, record: Mapping[str, Any], access: Access) -> dict[str, Any]:
    """Return records, as Dify reads them.

    Parameters
    ----------
    engine : that answers
    record : by `Retrieval`
    access : who asks

    Raises
    ------
    RetrivexError
        If the request breaks a rule, there is no such index, or it fails.
    """
    body = read_body(Retrieval, record)
    condition = body.metadata_condition or MetadataCondition()
    conditions = condition.conditions or []
    logic = "any" if condition.logical_operator == "or" else "all"
    where = {logic: list(map(_where_of, conditions))} if conditions else None
    setting = body.retrieval_setting
    asked = {"question": body.query, "index": body.knowledge_id, "k": setting.top_k, "where": where}
    found = find_passages(engine, access, least=setting.score_threshold, **asked)
    return {"records": [_record_of(passage) for passage in found]}


def _record_of(passage: Passage) -> dict[str, Any]:
    metadata = {**passage.metadata, **passage.place, "doc_id": passage.doc_id}
    return {"content": passage.text, "score": passage.score, "title": passage.title, "metadata": metadata}


def _names_of(condition: Condition) -> list[str]:
    return [condition.name] if isinstance(condition.name, str) else condition.name


def _where_of(condition: Condition) -> dict[str, Any]:
    operator = condition.comparison_operator
    opposite = _OPPOSITES.get(operator)
    parts = [_compare(name, opposite or operator, condition.value) for name in _names_of(condition)]
    return {"not": {"any": parts}} if opposite else {"any": parts}


def _compare(name: str, operator: str, value: Any) -> dict[str, Any]:
    field = field_of(name)
    if operator == "empty":
        return {field: None} if field in ("page", "timestamp") else {field: [None, ""]}
    if operator == "in":
        return {field: value if isinstance(value, list) else [_one(name, operator, value)]}
    one = _one(name, operator, value)
    if operator == "is":
        return {field: one}
    if operator == "=":
        return {field: _number(name, operator, one)}
    if operator in _NUMBERS:
        return {field: {_NUMBERS[operator]: _number(name, operator, one)}}
    if operator in _TEXTS:
        return {field: {_TEXTS[operator]: str(one)}}
    return _compare_date(field, name, operator, one)


def _compare_date(field: str, name: str, operator: str, value: str | int | float) -> dict[str, Any]:
    """Compare a date with Unix seconds, and with dates as text where the field may hold them.

    Texts are compared letter by letter, which is by time for dates in UTC written as 2026-01-31 or 2026-01-31T11:00:00,
    with or without a Z. The moment itself is neither before nor after.
    """
    date, sign = _read_date(value), _DATES[operator]
    if date is None:
        raise _refuse(name, operator, value, "give a date like 2026-01-31, or Unix seconds")
    by_number = {field: {sign: date.timestamp()}}
    if field == "timestamp":
        return by_number
    written = date.replace(tzinfo=None, microsecond=0).isoformat()
    text = f"{written}Z" if operator == "after" else written.removesuffix("T00:00:00")
    return {"any": [by_number, {field: {sign: text}}]}


def _read_date(value: str | int | float) -> dt.datetime | None:
    """Return a date in UTC; None for what is none, or is in no calendar.

    Examples
    --------
    >>> [_read_date(date).timestamp() for date in ("20260131", "1769857200", "2026-01-31T12:00+01:00")]
    [1769817600.0, 1769857200.0, 1769857200.0]
    """
    try:
        if isinstance(value, str) and not re.fullmatch(r"\d{9,}(\.\d*)?|\d+\.\d*", value):
            date = dt.datetime.fromisoformat(value)
            return (date if date.tzinfo else date.replace(tzinfo=dt.UTC)).astimezone(dt.UTC)
        return dt.datetime.fromtimestamp(float(value), dt.UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _one(name: str, operator: str, value: Any) -> str | int | float:
    if isinstance(value, str | int | float):
        return value
    raise _refuse(name, operator, value, "give one text or number")


def _number(name: str, operator: str, value: str | int | float) -> int | float:
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        raise _refuse(name, operator, value, "give a number") from None


def _refuse(name: str, operator: str, value: Any, rule: str) -> RequestError:
    return RequestError(f"the condition on {name!r} is {operator} {quoted(value)}: {rule}")
