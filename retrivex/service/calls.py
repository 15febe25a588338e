"""The operations of the service as a client calls them: what is sent, and how the answer is read.

Nothing here sends anything: `client.py` does, in a thread or in an event loop.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

from retrivex.composition.composition import Citation, Composition
from retrivex.model.chunk import Scope
from retrivex.model.question import takes_both_names
from retrivex.retrieval.local import RetrievalMode
from retrivex.service.answers import Added, DocumentPage, Item, ListedDocument, ListedIndex, Resolved, error_of

T = TypeVar("T")
Options: TypeAlias = Mapping[str, Any]

_DOCUMENTS = "/v1/documents"
_ANY_REFUSAL = frozenset((429, 503))
_REFUSED_BEFORE = frozenset((429,))
"""Statuses after which nothing was done for sure: a write that took too long may still end well."""


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request, and how its answer is read.

    Parameters
    ----------
    method, path : of the request
    read : makes the result of the JSON that comes back
    body : that is sent as JSON
    parameters : in the address
    form : fields of a form
    file : of a form: its name and its bytes
    repeated_after : statuses after which it may be sent again, where the service says when
    """

    method: str
    path: str
    read: Callable[[Any], T]
    body: Mapping[str, Any] | None = None
    parameters: Mapping[str, Any] | None = None
    form: Mapping[str, str] | None = None
    file: tuple[str, bytes] | None = None
    repeated_after: frozenset[int] = _ANY_REFUSAL


def _given(**fields: Any) -> dict[str, Any]:
    """Return the fields that are given: what the others are, the service decides."""
    return {name: value for name, value in fields.items() if value is not None}


def _scope(scope: Scope) -> str | list[str | None] | None:
    return scope if scope is None or isinstance(scope, str) else list(scope)


# ---- contexts


@takes_both_names
def query(
    question: str,
    *,
    index: str | None = None,
    k: int | None = None,
    mode: RetrievalMode | None = None,
    scope: Scope = None,
    where: Mapping[str, Any] | None = None,
    sub_questions: Sequence[str] | None = None,
    whole_documents: int | None = None,
    config: Options | None = None,
    trace: bool = False,
) -> Call[Composition]:
    """Return the context for a question to an index; what is left out, the service decides.

    Parameters
    ----------
    question : in the asker's own words; `query=` means the same
    index : its name; left out, the one called `default`
    k : hits to start from
    mode : by words (`bm25`), by meaning (`dense`), both (`hybrid`), or `auto`
    scope : narrows what the key may see; None in a collection stands for what has no scope
    where : field to value, list of values, or `{"min": ..., "max": ...}`
    sub_questions, whole_documents : as in `RetriVex.ask`
    config : options of `RetrievalConfig` for this question
    trace : whether the composition comes with its trace

    Raises
    ------
    ServiceError
        If there is no such index, an option is wrong, or the service does not answer.
    """
    fields = _given(
        index=index, k=k, mode=mode, scope=_scope(scope), where=where, sub_questions=sub_questions,
        whole_documents=whole_documents, config=config, trace=trace or None,
    )  # fmt: skip
    return Call("POST", "/v1/query", Composition.from_dict, {"question": question, **fields})


# ---- documents


def resolve(
    citation: Citation | Mapping[str, Any], *, around: int | None = None, index: str | None = None, scope: Scope = None
) -> Call[Resolved]:
    """Return what a citation points to, with the text around it.

    Parameters
    ----------
    citation : of a composition, or an object with doc_id, char_start and char_end
    around : characters of the document on each side
    index : where the document is
    scope : narrows what the key may see

    Raises
    ------
    ServiceError
        If there is no such document, or the citation points outside it, or the service does not answer.
    """
    record = asdict(citation) if isinstance(citation, Citation) else citation
    fields = _given(around=around, index=index, scope=_scope(scope))
    return Call("POST", "/v1/resolve", lambda found: Resolved(**found), {**_given(**record), **fields})


def add_document(
    file: str | os.PathLike[str] | bytes, *, name: str | None = None, index: str | None = None, scope: str | None = None
) -> Call[tuple[Added, ...]]:
    """Add the documents of a file, each in place of its older version.

    Parameters
    ----------
    file : its path, or its bytes
    name : of the file, whose ending says its type; needed with bytes
    index : where it goes
    scope : that it gets; None where the key carries one

    Raises
    ------
    ServiceError
        If the service cannot read it, may not write it, or does not answer.
    """
    if isinstance(file, bytes):
        content, known = file, name or ""
    else:
        content, known = Path(file).read_bytes(), name or Path(file).name

    def read(record: Any) -> tuple[Added, ...]:
        return tuple(Added(**document) for document in record["documents"])

    form = _given(index=index, scope=scope)
    return Call("POST", _DOCUMENTS, read, form=form, file=(known, content), repeated_after=_REFUSED_BEFORE)


def list_indexes() -> Call[tuple[ListedIndex, ...]]:
    """Return the indexes that questions go to.

    Raises
    ------
    ServiceError
        If the service does not answer.
    """
    return Call("GET", "/v1/indexes", lambda found: tuple(ListedIndex(**index) for index in found["indexes"]))


def list_documents(
    *, index: str | None = None, scope: Scope = None, after: str | None = None, limit: int | None = None
) -> Call[DocumentPage]:
    """Return a page of the documents that the key may see, by name.

    Parameters
    ----------
    index : its name; None for the one called `default`
    scope : narrows what the key may see
    after : `next` of the page before
    limit : documents of a page

    Raises
    ------
    ServiceError
        If there is no such index, or the service does not answer.
    """

    def read(record: Any) -> DocumentPage:
        return DocumentPage(tuple(ListedDocument(**document) for document in record["documents"]), record["next"])

    fields = _given(index=index, scope=_write_scopes(scope), after=after, limit=limit)
    return Call("GET", _DOCUMENTS, read, parameters=fields)


def delete_document(doc_id: str, *, index: str | None = None, scope: Scope = None) -> Call[None]:
    """Delete a document.

    Parameters
    ----------
    doc_id : its name
    index : where it is
    scope : narrows what the key may see

    Raises
    ------
    ServiceError
        If there is none that the key may see, or the service does not answer.
    """
    fields = {"doc_id": doc_id, **_given(index=index, scope=_write_scopes(scope))}
    return Call("DELETE", _DOCUMENTS, lambda _: None, parameters=fields, repeated_after=_REFUSED_BEFORE)


def _write_scopes(scope: Scope) -> list[str] | None:
    """Return scopes for an address, where an empty one stands for none."""
    return None if scope is None else [name or "" for name in ([scope] if isinstance(scope, str) else scope)]


# ---- operation


def check_ready() -> Call[None]:
    """Return where the service can answer.

    Raises
    ------
    ServiceError
        If it cannot: it ends, an index does not answer, or nothing answers there. It is asked once.
    """
    return Call("GET", "/readyz", lambda _: None, repeated_after=frozenset())


# ---- many at once


def _call(make: Callable[..., Call[T]], request: Any) -> Call[T]:
    """Return the call that arguments by name make, or one argument alone."""
    return make(**request) if isinstance(request, Mapping) else make(request)


def _read_item(call: Call[T], answer: Mapping[str, Any]) -> Item[T]:
    if "problem" in answer:
        return Item(None, error_of(answer["problem"], "the service"))
    return Item(call.read(answer["answer"]), None)


def _batch_of(make: Callable[..., Call[T]]) -> Callable[[Iterable[Any]], Call[list[Item[T]]]]:
    """Return the operation that does many of these, each given by one argument, or by its arguments by name."""

    def batch(requests: Iterable[Any]) -> Call[list[Item[T]]]:
        calls = [_call(make, request) for request in requests]

        def read(record: Any) -> list[Item[T]]:
            return list(map(_read_item, calls, record["answers"]))

        return Call("POST", f"/v1/{make.__name__}/batch", read, {"requests": [call.body for call in calls]})

    batch.__doc__ = f"Do many at once: requests as for `{make.__name__}`; the error of one is in its item."
    return batch


query_batch = _batch_of(query)
resolve_batch = _batch_of(resolve)
